//! Analytics: figures, charts with their table twins, and tables. Read from rollups, so that the time it takes goes
//! with the span and not with the number of requests.

mod charts;
mod figures;
mod tables;

use std::time::Duration;

use askama::Template;
use deja_core::analytics::{Dimension, Rollup, Slice, Step};
use deja_core::member::Rank;
use deja_core::project::Project;
use deja_core::store::Questions;

use super::analytics_query::{Asked, Wanted};
use super::chart::{Chart, Label};
use super::error::ConsoleError;
use super::filter::Select;
use super::form::{Path, Query};
use super::names::{Names, Offered, model_name};
use super::page::{Answer, CSV, Frame, Visit, download};
use super::range::{self, Span};
use crate::format;
use charts::charts;
use figures::figures;
use tables::{Table, top_prompts, usage_table};

#[derive(Template)]
#[template(path = "analytics.html")]
struct AnalyticsPage {
    frame: Frame,
    slug: String,
    range: &'static str,
    ranges: Vec<RangeLink>,
    from: String,
    until: String,
    /// What is shown instead of the range that was typed.
    widened: Option<[Label; 2]>,
    selects: Vec<Select>,
    /// What one must know of the selects.
    offered: Option<String>,
    empty: bool,
    figures: Vec<Figure>,
    /// The span that the figures are compared with.
    before: Option<[Label; 2]>,
    /// Each chart with the address of its CSV file.
    charts: Vec<(Chart, String)>,
    tables: Vec<Table>,
    /// The models whose answers cost and save nothing because their price is unknown.
    unpriced: Option<String>,
}

/// A figure: what, how much, a remark, and how much it was in the span before.
struct Figure {
    what: &'static str,
    value: String,
    sub: String,
    before: Option<String>,
}

struct RangeLink {
    name: &'static str,
    href: String,
    current: bool,
}

/// `GET /console/p/{slug}/analytics`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Query(wanted): Query<Wanted>) -> Answer {
    let seen = visit.seen()?;
    let (project, texts) = (&seen.project, seen.texts());
    let asked = if wanted.has_range() {
        wanted.read(visit.now())
    } else {
        first_with_data(&visit, project, &wanted).await?
    };
    let span = &asked.span;
    let bars = bars(&visit, project, &asked.slice, span).await?;
    let all = sum(&bars);
    let usage = |by| tables::usage(&visit, project, &asked, by);
    let (keys, models) = (usage(Dimension::Key).await?, usage(Dimension::Model).await?);
    let contexts = usage(Dimension::Context).await?;
    let offered = Offered::read(&visit, project, &asked, [&keys, &models, &contexts]).await?;
    let told = contexts.iter().filter_map(|(slice, _)| slice.context);
    let names = Names::read(&visit, told.chain(offered.contexts.iter().copied())).await?;
    let unpriced = tables::unpriced(&visit, project, &models).await?;
    let table = |by, counts| usage_table(project, &asked, by, counts, &names, &unpriced);
    let mut tables = Vec::from(tables::of_all(project, &asked, &all));
    if texts {
        tables.push(top_prompts(&visit, project, &asked).await?);
    }
    tables.extend([
        table(Dimension::Key, &keys),
        table(Dimension::Model, &models),
        table(Dimension::Context, &contexts),
    ]);
    let charts = charts(span, &bars, &all, project.settings.threshold(None)).into_iter();
    let with_file = |chart: Chart| {
        let file = tables::file(project, &asked, chart.id);
        (chart, file)
    };
    let problem = asked.problem.as_ref().map(|what| format!("{what} The figures are shown without it."));
    let page = AnalyticsPage {
        frame: visit.frame_in(project, "Analytics", "Analytics").complaining(problem.as_deref()),
        range: span.key,
        ranges: ranges(&asked),
        from: range::input(span.from()),
        until: range::input(span.until()),
        widened: span.widened.then(|| span.ends()),
        selects: offered.selects(&asked, &names),
        empty: all.totals.requests() == 0,
        figures: compared(&visit, project, &asked, &all).await?,
        before: span.before(visit.now()).map(|before| before.ends()),
        charts: charts.map(with_file).collect(),
        tables,
        unpriced: format::listed(&unpriced.iter().map(|model| model_name(model)).collect::<Vec<_>>()),
        offered: offered.note,
        slug,
    };
    Ok(visit.page(&page))
}

/// What the address without a range means: the shortest one on offer in which there is something.
async fn first_with_data(visit: &Visit, project: &Project, wanted: &Wanted) -> Result<Asked, ConsoleError> {
    for (range, _) in range::OFFERED {
        let asked = wanted.within(range).read(visit.now());
        if sum(&bars(visit, project, &asked.slice, &asked.span).await?).totals.requests() > 0 {
            return Ok(asked);
        }
    }
    Ok(wanted.clone().read(visit.now()))
}

/// The figures, and what they were in the span of the same length before.
async fn compared(
    visit: &Visit,
    project: &Project,
    asked: &Asked,
    all: &Rollup,
) -> Result<Vec<Figure>, ConsoleError> {
    let before = match asked.span.before(visit.now()) {
        Some(span) => Some(sum(&bars(visit, project, &asked.slice, &span).await?)),
        None => None,
    };
    let mut before = before.map(|before| figures(&before).into_iter());
    let mut told = Vec::new();
    for (what, value, sub) in figures(all) {
        let before = before.as_mut().and_then(Iterator::next).map(|(_, value, _)| value);
        told.push(Figure { what, value, sub, before });
    }
    // It is counted for the whole project only.
    if asked.slice == Slice::default()
        && let Some((what, value, sub)) = guard_model(visit, project, &asked.span).await?
    {
        told.push(Figure { what, value, sub, before: None });
    }
    Ok(told)
}

fn ranges(asked: &Asked) -> Vec<RangeLink> {
    let link = |(key, name)| RangeLink { name, href: asked.with_range(key), current: key == asked.span.key };
    range::OFFERED.into_iter().map(link).collect()
}

/// `GET /console/p/{slug}/analytics/{chart}.csv`.
pub(super) async fn csv(
    visit: Visit,
    Path((slug, file)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
) -> Answer {
    let seen = visit.seen()?;
    let project = &seen.project;
    let name = file.strip_suffix(".csv").ok_or(ConsoleError::NotFound)?;
    let asked = wanted.read(visit.now());
    // A file cannot say that it is not what was asked for.
    if let Some(problem) = asked.problem {
        return Err(ConsoleError::Refused(problem));
    }
    let bytes = if name == "prompts" {
        seen.clone().least(Rank::Editor)?;
        top_prompts(&visit, project, &asked).await?.csv()
    } else if let Some(by) = tables::dimension(name) {
        let counts = tables::usage(&visit, project, &asked, by).await?;
        let told = counts.iter().filter_map(|(slice, _)| slice.context);
        let names = Names::read(&visit, told).await?;
        let unpriced = tables::unpriced(&visit, project, &counts).await?;
        usage_table(project, &asked, by, &counts, &names, &unpriced).csv()
    } else {
        let bars = bars(&visit, project, &asked.slice, &asked.span).await?;
        let all = sum(&bars);
        let table = tables::of_all(project, &asked, &all).into_iter().find(|table| table.id == name);
        let charts = charts(&asked.span, &bars, &all, project.settings.threshold(None));
        match (table, charts.into_iter().find(|chart| chart.id == name)) {
            (Some(table), _) => table.csv(),
            (None, Some(chart)) => chart.csv(),
            (None, None) => return Err(ConsoleError::NotFound),
        }
    };
    Ok(download(CSV, &format!("{slug}-{name}.csv"), bytes?))
}

/// The rollups of each bar.
async fn bars(
    visit: &Visit,
    project: &Project,
    slice: &Slice,
    span: &Span,
) -> Result<Vec<Rollup>, ConsoleError> {
    let series = visit.store().usage_series(project.id, slice, span.step, span.periods.clone()).await?;
    let mut bars = vec![Rollup::default(); span.bars()];
    for (period, rollup) in series {
        if let Some(bar) = span.bar_of(period).and_then(|bar| bars.get_mut(bar)) {
            bar.add(&rollup);
        }
    }
    Ok(bars)
}

fn sum(bars: &[Rollup]) -> Rollup {
    let mut all = Rollup::default();
    for bar in bars {
        all.add(bar);
    }
    all
}

/// What asking the project's model cost on the days of the span; `None` where nothing was asked. It is counted by day
/// alone, apart from the rollups, for its budget.
async fn guard_model(
    visit: &Visit,
    project: &Project,
    span: &Span,
) -> Result<Option<(&'static str, String, String)>, ConsoleError> {
    let day = |at| Step::Day.period_of(at);
    // A span that ends at midnight has nothing of the day that begins then.
    let last = span.until().minus(Duration::from_nanos(1));
    let days = day(span.from())..day(last) + 1;
    let Questions { asked, cost } = visit.store().questions(project.id, days).await?;
    let questions = match asked {
        0 => return Ok(None),
        1 => "1 question".into(),
        asked => format!("{} questions", format::count(asked)),
    };
    let told =
        format!("{questions}, all of these days; off what is saved if it made a hit, else in what is spent");
    Ok(Some(("Guard model", format::money(cost), told)))
}
