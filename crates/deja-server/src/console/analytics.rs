//! Analytics: figures, charts with their table twins, and rankings. Read from rollups, so that the time it takes goes
//! with the span and not with the number of requests.

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use deja_core::analytics::{ContextKey, Distribution, Rollup, SIMILARITY_BUCKETS, Slice, Totals, quantile};
use deja_core::api_key::ApiKey;
use deja_core::embedding::Threshold;
use deja_core::project::Project;
use serde::Deserialize;

use super::chart::{Chart, Kind, Label, Series, Unit};
use super::error::ConsoleError;
use super::filter::{Select, query};
use super::format;
use super::page::{Answer, Frame, Visit};
use super::range::{self, Span};
use super::ranking::{Rankings, Table, model_name, rankings};

#[derive(Template)]
#[template(path = "analytics.html")]
struct AnalyticsPage {
    frame: Frame,
    slug: String,
    range: &'static str,
    ranges: Vec<RangeLink>,
    from: String,
    until: String,
    selects: Vec<Select>,
    empty: bool,
    figures: Vec<(&'static str, String, String)>,
    /// Each with the address of its CSV file.
    charts: Vec<(Chart, String)>,
    tables: Vec<Table>,
}

struct RangeLink {
    name: &'static str,
    href: String,
    current: bool,
}

/// What is asked for, as it stands in the address.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    range: String,
    from: String,
    until: String,
    /// A key's id.
    key: String,
    pub(super) model: String,
    /// A context's number.
    context: String,
}

impl Asked {
    fn span(&self, visit: &Visit) -> Span {
        let custom =
            (self.range == "custom").then(|| Span::custom(&self.from, &self.until, visit.now())).flatten();
        custom.unwrap_or_else(|| Span::named(&self.range, visit.now()))
    }

    pub(super) fn slice(&self) -> Slice {
        Slice {
            key: self.key.parse().ok(),
            model: (!self.model.is_empty()).then(|| self.model.as_str().into()),
            context: self.context.parse().ok().map(ContextKey),
        }
    }

    /// The same filters with another range.
    fn with_range(&self, range: &str) -> String {
        query(&[("range", range), ("key", &self.key), ("model", &self.model), ("context", &self.context)])
    }

    pub(super) fn query(&self) -> String {
        let span = [("range", self.range.as_str()), ("from", &self.from), ("until", &self.until)];
        query(
            &[&span[..], &[("key", &self.key), ("model", &self.model), ("context", &self.context)]].concat(),
        )
    }
}

/// `GET /console/p/{slug}/analytics`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Query(asked): Query<Asked>) -> Answer {
    let project = visit.project(&slug).await?;
    let span = asked.span(&visit);
    let bars = bars(&visit, &project, &asked, &span).await?;
    let all = sum(&bars);
    let keys: Vec<ApiKey> =
        visit.console.admin.store.keys(project.id).await?.into_iter().map(|(key, _)| key).collect();
    let rankings = rankings(&visit, &project, &asked, &span, &keys).await?;
    let ranges = range::OFFERED.into_iter().map(|(key, name)| RangeLink {
        name,
        href: asked.with_range(key),
        current: key == span.key,
    });
    let csv = |chart: Chart| {
        let address = format!("/console/p/{slug}/analytics/{}.csv{}", chart.id, asked.query());
        (chart, address)
    };
    let problem = (asked.range == "custom" && span.key != "custom")
        .then_some("A custom range goes from one moment to a later one. These are the last 24 hours.");
    let page = AnalyticsPage {
        frame: visit.frame_in(&project, "Analytics", "Analytics").complaining(problem),
        range: span.key,
        ranges: ranges.collect(),
        from: range::input(span.from()),
        until: range::input(span.until()),
        selects: selects(&asked, &keys, &rankings),
        empty: all.totals.requests() == 0,
        figures: figures(&all),
        charts: charts(&span, &bars, &all, project.settings.threshold(None)).into_iter().map(csv).collect(),
        tables: rankings.tables,
        slug,
    };
    Ok(visit.page(&page))
}

/// `GET /console/p/{slug}/analytics/{chart}.csv`.
pub(super) async fn csv(
    visit: Visit,
    Path((slug, file)): Path<(String, String)>,
    Query(asked): Query<Asked>,
) -> Answer {
    let project = visit.project(&slug).await?;
    let name = file.strip_suffix(".csv").ok_or(ConsoleError::NotFound)?;
    let span = asked.span(&visit);
    let bars = bars(&visit, &project, &asked, &span).await?;
    let chart = charts(&span, &bars, &sum(&bars), project.settings.threshold(None))
        .into_iter()
        .find(|chart| chart.id == name);
    let bytes = if let Some(chart) = chart {
        chart.csv()
    } else {
        let keys = visit.console.admin.store.keys(project.id).await?;
        let keys: Vec<ApiKey> = keys.into_iter().map(|(key, _)| key).collect();
        let rankings = rankings(&visit, &project, &asked, &span, &keys).await?;
        let table = rankings.tables.into_iter().find(|table| table.id == name);
        table.ok_or(ConsoleError::NotFound)?.csv()
    };
    let bytes = bytes.map_err(|error| ConsoleError::Failed(error.to_string()))?;
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{slug}-{name}.csv\"")),
    ];
    Ok((headers, bytes).into_response())
}

/// The rollups of each bar.
async fn bars(
    visit: &Visit,
    project: &Project,
    asked: &Asked,
    span: &Span,
) -> Result<Vec<Rollup>, ConsoleError> {
    let store = &visit.console.admin.store;
    let series = store.usage_series(project.id, &asked.slice(), span.step, span.periods.clone()).await?;
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

/// A latency in milliseconds.
fn latency(rollup: &Rollup, of: Distribution, q: f64) -> Option<f64> {
    quantile(&rollup.histograms.counts(of), q).map(|latency| latency.as_secs_f64() * 1e3)
}

fn figures(all: &Rollup) -> Vec<(&'static str, String, String)> {
    let totals = &all.totals;
    let count = format::count;
    let ms = |of, q| latency(all, of, q).map_or("–".into(), format::millis);
    let percentiles = |of| format!("p95 {}, p99 {}", ms(of, 0.95), ms(of, 0.99));
    vec![
        ("Requests", count(totals.requests()), format!("{} answered by the provider", count(totals.misses))),
        (
            "Hits",
            count(totals.hits()),
            format!("{} exact, {} semantic", count(totals.exact_hits), count(totals.semantic_hits)),
        ),
        ("Hit rate", format::percent(totals.hit_rate()), "of answered requests".into()),
        ("Saved", format::money(totals.saved), format!("{} spent", format::money(totals.spent))),
        (
            "Tokens saved",
            format::short((totals.saved_input_tokens + totals.saved_output_tokens) as f64),
            format!("{} bought", format::short((totals.input_tokens + totals.output_tokens) as f64)),
        ),
        ("Latency of hits", ms(Distribution::HitLatency, 0.5), percentiles(Distribution::HitLatency)),
        ("Latency of misses", ms(Distribution::MissLatency, 0.5), percentiles(Distribution::MissLatency)),
        (
            "Not answered",
            count(totals.unanswered()),
            format!(
                "{} errors, {} refused, {} over the limit",
                count(totals.errors),
                count(totals.refused),
                count(totals.rate_limited)
            ),
        ),
    ]
}

fn charts(span: &Span, bars: &[Rollup], all: &Rollup, threshold: Threshold) -> Vec<Chart> {
    let total = |name, colour, value: fn(&Totals) -> f64| {
        Series::new(name, colour, bars.iter().map(|bar| value(&bar.totals)))
    };
    let quantiles = |of| {
        [("p50", 1, 0.5), ("p95", 2, 0.95), ("p99", 4, 0.99)]
            .map(|(name, colour, q)| Series::gaps(name, colour, bars.iter().map(|bar| latency(bar, of, q))))
            .to_vec()
    };
    let labels = span.labels();
    let chart = |id, title, kind, unit, series| Chart {
        id,
        title,
        by: "From (UTC)",
        kind,
        unit,
        labels: labels.clone(),
        series,
        mark: None,
    };
    vec![
        chart(
            "requests",
            "Answered requests",
            Kind::Stack,
            Unit::Count,
            vec![
                total("exact hits", 1, |t| t.exact_hits as f64),
                total("semantic hits", 2, |t| t.semantic_hits as f64),
                total("misses", 3, |t| t.misses as f64),
            ],
        ),
        chart(
            "hit-rate",
            "Hit rate",
            Kind::Lines,
            Unit::Percent,
            vec![Series::gaps("hits per answered request", 1, bars.iter().map(|bar| bar.totals.hit_rate()))],
        ),
        chart(
            "dollars",
            "Dollars",
            Kind::Stack,
            Unit::Dollars,
            vec![total("saved", 2, |t| t.saved.as_dollars()), total("spent", 3, |t| t.spent.as_dollars())],
        ),
        chart(
            "tokens",
            "Tokens",
            Kind::Stack,
            Unit::Count,
            vec![
                total("saved", 2, |t| (t.saved_input_tokens + t.saved_output_tokens) as f64),
                total("bought, in", 3, |t| t.input_tokens as f64),
                total("bought, out", 1, |t| t.output_tokens as f64),
            ],
        ),
        chart(
            "hit-latency",
            "Latency of hits",
            Kind::Lines,
            Unit::Millis,
            quantiles(Distribution::HitLatency),
        ),
        chart(
            "miss-latency",
            "Latency of misses",
            Kind::Lines,
            Unit::Millis,
            quantiles(Distribution::MissLatency),
        ),
        chart(
            "errors",
            "Errors and refusals",
            Kind::Stack,
            Unit::Count,
            vec![
                total("errors", 4, |t| t.errors as f64),
                total("refused (400, 403)", 3, |t| t.refused as f64),
                total("over the limit (429)", 1, |t| t.rate_limited as f64),
            ],
        ),
        similarities(all, threshold),
    ]
}

/// How similar the prompts of hits were, and how near misses came. The line is the project's threshold.
fn similarities(all: &Rollup, threshold: Threshold) -> Chart {
    let counts = |of| all.histograms.counts(of).into_iter().map(|count| count as f64).collect::<Vec<_>>();
    let bound = |bucket: usize| bucket as f64 / SIMILARITY_BUCKETS as f64;
    Chart {
        id: "similarity",
        title: "Similarity",
        by: "From",
        kind: Kind::Stack,
        unit: Unit::Count,
        labels: (0..SIMILARITY_BUCKETS).map(|bucket| Label::plain(format!("{:.2}", bound(bucket)))).collect(),
        series: vec![
            Series::new("hits", 2, counts(Distribution::HitSimilarity).into_iter()),
            Series::new("near misses", 3, counts(Distribution::NearMiss).into_iter()),
        ],
        mark: Some(threshold.get()),
    }
}

fn selects(asked: &Asked, keys: &[ApiKey], rankings: &Rankings) -> Vec<Select> {
    let keys = keys.iter().map(|key| (key.id.to_string(), format!("{} ({}…)", key.name, key.shown)));
    let models = rankings
        .models
        .iter()
        .filter(|model| !model.is_empty())
        .map(|model| (model.clone(), model_name(model)));
    let contexts = rankings.contexts.iter().map(|(key, name)| (key.0.to_string(), name.clone()));
    vec![
        Select::new("key", "Key", &asked.key, keys),
        Select::new("model", "Model", &asked.model, models),
        Select::new("context", "Context", &asked.context, contexts),
    ]
}
