//! Analytics: figures, charts with their table twins, and rankings. Read from rollups, so that the time it takes goes
//! with the span and not with the number of requests.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use deja_core::analytics::{
    ContextKey, Dimension, Distribution, OTHER_MODELS, Rollup, SIMILARITY_BUCKETS, Slice, Totals, quantile,
};
use deja_core::api_key::ApiKey;
use deja_core::embedding::Threshold;
use deja_core::project::Project;
use deja_core::store::EntryFilter;
use serde::Deserialize;

use super::chart::{Chart, Kind, Series, Unit, cell};
use super::error::ConsoleError;
use super::filter::{Select, query};
use super::format;
use super::page::{Answer, Frame, Visit};
use super::range::{self, Span};

const RANKED: NonZeroUsize = NonZeroUsize::new(20).unwrap();

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

/// A ranking.
struct Table {
    id: &'static str,
    title: &'static str,
    csv: String,
    none: &'static str,
    head: Vec<&'static str>,
    rows: Vec<Ranked>,
}

struct Ranked {
    name: String,
    href: Option<String>,
    cells: Vec<String>,
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
    model: String,
    /// A context's number.
    context: String,
}

impl Asked {
    fn span(&self, visit: &Visit) -> Span {
        let custom =
            (self.range == "custom").then(|| Span::custom(&self.from, &self.until, visit.now())).flatten();
        custom.unwrap_or_else(|| Span::named(&self.range, visit.now()))
    }

    fn slice(&self) -> Slice {
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

    fn query(&self) -> String {
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
    let page = AnalyticsPage {
        frame: visit.frame_in(&project, "Analytics", "Analytics"),
        range: span.key,
        ranges: ranges.collect(),
        from: range::input(span.from()),
        until: range::input(span.until()),
        selects: selects(&asked, &keys, &rankings),
        empty: all.totals.requests() + all.totals.rate_limited == 0,
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
            count(totals.errors + totals.refused + totals.rate_limited),
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
            "Requests",
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
        labels: (0..SIMILARITY_BUCKETS).map(|bucket| format!("{:.2}", bound(bucket))).collect(),
        series: vec![
            Series::new("hits", 2, counts(Distribution::HitSimilarity).into_iter()),
            Series::new("near misses", 3, counts(Distribution::NearMiss).into_iter()),
        ],
        mark: Some(threshold.get()),
    }
}

/// The rankings, and the names that filters offer.
struct Rankings {
    tables: Vec<Table>,
    models: Vec<String>,
    contexts: Vec<(ContextKey, String)>,
}

async fn rankings(
    visit: &Visit,
    project: &Project,
    asked: &Asked,
    span: &Span,
    keys: &[ApiKey],
) -> Result<Rankings, ConsoleError> {
    let store = &visit.console.admin.store;
    let slice = asked.slice();
    let by =
        |dimension| store.usage_by(project.id, &slice, dimension, span.step, span.periods.clone(), RANKED);
    let (by_key, by_model, by_context) =
        (by(Dimension::Key).await?, by(Dimension::Model).await?, by(Dimension::Context).await?);
    let contexts: Vec<ContextKey> = by_context.iter().filter_map(|(slice, _)| slice.context).collect();
    let labels = store.context_labels(project.id, &contexts).await?;
    let slug = project.slug.as_str();
    let table = |id, title, rows: Vec<Ranked>| Table {
        id,
        title,
        csv: format!("/console/p/{slug}/analytics/{id}.csv{}", asked.query()),
        none: "Nothing in this range.",
        head: vec!["Name", "Requests", "Hit rate", "Saved", "Spent", "Not answered"],
        rows,
    };
    let rows = |found: &[(Slice, Totals)], name: &dyn Fn(&Slice) -> String| {
        let row = |(slice, totals): &(Slice, Totals)| Ranked {
            name: name(slice),
            href: None,
            cells: cells(totals),
        };
        found.iter().map(row).collect::<Vec<_>>()
    };
    let tables = vec![
        top_prompts(visit, project, asked, span).await?,
        table("keys", "Usage per key", rows(&by_key, &|slice| key_name(slice, keys))),
        table(
            "models",
            "Usage per model",
            rows(&by_model, &|slice| model_name(slice.model.as_deref().unwrap_or_default())),
        ),
        table(
            "contexts",
            "Usage per context",
            rows(&by_context, &|slice| context_name(slice.context, &labels)),
        ),
    ];
    Ok(Rankings {
        tables,
        models: by_model.iter().filter_map(|(slice, _)| slice.model.as_deref().map(str::to_owned)).collect(),
        contexts: contexts.into_iter().map(|key| (key, context_name(Some(key), &labels))).collect(),
    })
}

fn cells(totals: &Totals) -> Vec<String> {
    vec![
        format::count(totals.requests()),
        format::percent(totals.hit_rate()),
        format::money(totals.saved),
        format::money(totals.spent),
        format::count(totals.errors + totals.refused + totals.rate_limited),
    ]
}

/// The entries that saved most. They know their model and context; which key asked they do not.
async fn top_prompts(
    visit: &Visit,
    project: &Project,
    asked: &Asked,
    span: &Span,
) -> Result<Table, ConsoleError> {
    let store = &visit.console.admin.store;
    let model = (!asked.model.is_empty()).then(|| asked.model.clone());
    let filter = EntryFilter { model, ..EntryFilter::default() };
    let found = store.top_entries(project.id, &filter, span.from(), RANKED).await?;
    let wanted = asked.slice().context;
    let found =
        found.iter().filter(|top| wanted.is_none_or(|key| ContextKey::of(top.context.as_deref()) == key));
    let slug = project.slug.as_str();
    let rows = found.map(|top| Ranked {
        name: format::excerpt(&top.entry.prompt),
        href: Some(format!("/console/p/{slug}/cache/{}", top.entry.id)),
        cells: vec![top.entry.model.clone(), format::count(top.hits), format::money(top.saved)],
    });
    Ok(Table {
        id: "prompts",
        title: "Top prompts by savings",
        csv: format!("/console/p/{slug}/analytics/prompts.csv{}", asked.query()),
        none: "No entry was hit in this range.",
        head: vec!["Prompt", "Model", "Hits", "Saved"],
        rows: rows.collect(),
    })
}

fn key_name(slice: &Slice, keys: &[ApiKey]) -> String {
    match keys.iter().find(|key| Some(key.id) == slice.key) {
        Some(key) => format!("{} ({}…)", key.name, key.shown),
        None => "Console".into(),
    }
}

fn model_name(model: &str) -> String {
    match model {
        "" => "(none: refused before)".into(),
        OTHER_MODELS => "(other models)".into(),
        model => model.into(),
    }
}

fn context_name(context: Option<ContextKey>, labels: &BTreeMap<ContextKey, String>) -> String {
    match context {
        None | Some(ContextKey::WITHOUT) => "(no context)".into(),
        Some(ContextKey::OTHER) => "(other contexts)".into(),
        Some(key) => labels
            .get(&key)
            .filter(|label| !label.is_empty())
            .cloned()
            .unwrap_or_else(|| "(empty text)".into()),
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

impl Table {
    fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.head)?;
        for row in &self.rows {
            writer.write_record(
                std::iter::once(cell(&row.name)).chain(row.cells.iter().map(|text| cell(text))),
            )?;
        }
        writer.into_inner().map_err(|error| error.into_error().into())
    }
}
