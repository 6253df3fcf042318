//! The tables of the analytics page: who and what asked most, and which prompts saved most.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use deja_core::analytics::{ContextKey, Dimension, OTHER_MODELS, Slice, Totals};
use deja_core::api_key::ApiKey;
use deja_core::money::NanoUsd;
use deja_core::project::Project;
use deja_core::store::EntryFilter;

use super::analytics::Asked;
use super::chart::{self, Unit};
use super::error::ConsoleError;
use super::format;
use super::page::Visit;
use super::range::Span;

/// Rows of a table.
const RANKED: NonZeroUsize = NonZeroUsize::new(20).unwrap();
/// Contexts of a cache that are looked through for the one of a number.
const CONTEXTS: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// A ranking.
pub(super) struct Table {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) csv: String,
    /// What one must know to read it.
    pub(super) note: Option<&'static str>,
    pub(super) none: &'static str,
    pub(super) head: Vec<&'static str>,
    pub(super) rows: Vec<Ranked>,
}

pub(super) struct Ranked {
    pub(super) name: String,
    pub(super) href: Option<String>,
    pub(super) cells: Vec<Cell>,
}

/// What stands in a cell: for people on the page, for machines in a CSV file.
pub(super) enum Cell {
    Text(String),
    Number(Unit, Option<f64>),
}

impl Cell {
    fn count(number: u64) -> Self {
        Self::Number(Unit::Count, Some(number as f64))
    }

    fn money(amount: NanoUsd) -> Self {
        Self::Number(Unit::Dollars, Some(amount.as_dollars()))
    }

    pub(super) fn show(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(unit, number) => number.map_or("–".into(), |number| unit.show(number)),
        }
    }

    fn plain(&self) -> String {
        match self {
            Self::Text(text) => chart::cell(text),
            Self::Number(_, number) => number.map(|number| number.to_string()).unwrap_or_default(),
        }
    }
}

impl Table {
    pub(super) fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.head)?;
        for row in &self.rows {
            writer.write_record(
                std::iter::once(chart::cell(&row.name)).chain(row.cells.iter().map(Cell::plain)),
            )?;
        }
        writer.into_inner().map_err(|error| error.into_error().into())
    }
}

/// The rankings, and the names that filters offer.
pub(super) struct Rankings {
    pub(super) tables: Vec<Table>,
    pub(super) models: Vec<String>,
    pub(super) contexts: Vec<(ContextKey, String)>,
}

pub(super) async fn rankings(
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
        note: None,
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

fn cells(totals: &Totals) -> Vec<Cell> {
    vec![
        Cell::count(totals.requests()),
        Cell::Number(Unit::Percent, totals.hit_rate()),
        Cell::money(totals.saved),
        Cell::money(totals.spent),
        Cell::count(totals.unanswered()),
    ]
}

/// The entries that saved most. They know their model and context; which key asked they do not, nor when each hit
/// was: so their figures are told since they were stored.
async fn top_prompts(
    visit: &Visit,
    project: &Project,
    asked: &Asked,
    span: &Span,
) -> Result<Table, ConsoleError> {
    let (found, none) = match entry_filter(visit, project, &asked.slice()).await? {
        Some(filter) => {
            let store = &visit.console.admin.store;
            let found = store.top_entries(project.id, &filter, span.from(), RANKED).await?;
            (found, "No entry was hit since this range began.")
        }
        None => (Vec::new(), "No entry of this context is known."),
    };
    let slug = project.slug.as_str();
    let rows = found.iter().map(|top| Ranked {
        name: format::excerpt(&top.entry.prompt),
        href: Some(format!("/console/p/{slug}/cache/{}", top.entry.id)),
        cells: vec![Cell::Text(top.entry.model.clone()), Cell::count(top.hits), Cell::money(top.saved)],
    });
    Ok(Table {
        id: "prompts",
        title: "Top prompts by savings",
        csv: format!("/console/p/{slug}/analytics/prompts.csv{}", asked.query()),
        note: Some(
            "Hits and savings are counted since each entry was stored, not in the range alone: the range chooses the \
             entries that were hit since it began. Which key asked is not kept with an entry, so the filter by key \
             leaves this table as it is.",
        ),
        none,
        head: vec!["Prompt", "Model", "Hits since stored", "Saved since stored"],
        rows: rows.collect(),
    })
}

/// The entries of a slice. Its context is a number, and entries have the text: `None` if it is known nowhere, as for
/// the other contexts together.
async fn entry_filter(
    visit: &Visit,
    project: &Project,
    slice: &Slice,
) -> Result<Option<EntryFilter>, ConsoleError> {
    let store = &visit.console.admin.store;
    let model = slice.model.as_deref().map(str::to_owned);
    let Some(key) = slice.context else {
        return Ok(Some(EntryFilter { model, ..EntryFilter::default() }));
    };
    let is_wanted = |text: &Option<String>| ContextKey::of(text.as_deref()) == key;
    // A short context is its own label.
    let label = store.context_labels(project.id, &[key]).await?.remove(&key);
    let mut context = [None, label].into_iter().find(is_wanted);
    if context.is_none() {
        let contexts = store.contexts_of(project.id, CONTEXTS).await?;
        context = contexts.into_iter().map(|(context, _)| context).find(is_wanted);
    }
    Ok(context.map(|context| EntryFilter { model, context: Some(context), text: None }))
}

fn key_name(slice: &Slice, keys: &[ApiKey]) -> String {
    match keys.iter().find(|key| Some(key.id) == slice.key) {
        Some(key) => format!("{} ({}…)", key.name, key.shown),
        None => "Console".into(),
    }
}

pub(super) fn model_name(model: &str) -> String {
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
