//! The tables of the analytics page: who and what asked most, and which prompts saved most.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::iter;
use std::num::NonZeroUsize;
use std::sync::Arc;

use deja_core::admin::{AdminError, prices};
use deja_core::analytics::{ContextKey, Dimension, Rollup, Slice, Surface, SurfaceTotals, Totals};
use deja_core::money::NanoUsd;
use deja_core::project::Project;
use deja_core::store::{EntryFilter, StoreError, folded};

use crate::console::analytics_query::Asked;
use crate::console::chart::Unit;
use crate::console::error::ConsoleError;
use crate::console::file;
use crate::console::filter::NEWEST;
use crate::console::names::Names;
use crate::console::page::Visit;
use crate::console::prices as prices_of;
use crate::console::range::Counts;
use crate::console::sort::{Column, Content};
use crate::format;

/// Rows of a table on the page.
const SHOWN: usize = 20;
/// Rows of a table's CSV file.
const LISTED: usize = 1000;
/// Top prompts, on the page and in the file.
const TOP: NonZeroUsize = NonZeroUsize::new(SHOWN).unwrap();

/// A table of the page.
pub(super) struct Table {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) csv: String,
    /// What one must know to read it.
    pub(super) note: Option<&'static str>,
    pub(super) none: &'static str,
    pub(super) head: Vec<Column>,
    pub(super) rows: Vec<Row>,
}

/// A row of a table: a name and its figures.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) href: Option<String>,
    pub(super) cells: Vec<Cell>,
}

impl Row {
    /// The order of two rows by a column. What is not known is least.
    fn compare(&self, other: &Self, column: usize) -> Ordering {
        let Some(at) = column.checked_sub(1) else {
            return folded(&self.name).cmp(&folded(&other.name));
        };
        let number = |row: &Self| match row.cells.get(at) {
            Some(Cell::Number(_, Some(number))) => *number,
            _ => f64::NEG_INFINITY,
        };
        number(self).total_cmp(&number(other))
    }
}

/// What stands in a cell: for people on the page, for machines in a CSV file.
pub(super) enum Cell {
    Text(String),
    Number(Unit, Option<f64>),
    /// Why there is no number; empty in a file.
    Unknown(&'static str),
}

impl Cell {
    fn count(number: u64) -> Self {
        Self::Number(Unit::Count, Some(number as f64))
    }

    fn money(amount: NanoUsd) -> Self {
        Self::Number(Unit::Dollars, Some(amount.as_dollars()))
    }

    pub(super) const fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    pub(super) fn show(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(unit, number) => number.map_or("–".into(), |number| unit.show(number)),
            Self::Unknown(why) => (*why).into(),
        }
    }

    fn plain(&self) -> String {
        match self {
            Self::Text(text) => file::cell(text),
            Self::Number(_, number) => number.map(|number| number.to_string()).unwrap_or_default(),
            Self::Unknown(_) => String::new(),
        }
    }
}

/// The heads of a first column of names, and of columns of numbers.
fn head<const N: usize>(name: &'static str, numbers: [&'static str; N]) -> Vec<Column> {
    let numbers = numbers.map(|name| Column::new(name, Content::Number));
    std::iter::once(Column::new(name, Content::Text)).chain(numbers).collect()
}

impl Table {
    /// A table of this range, sorted as the address says, with links in its head. A table that lacks rows is not sorted: the first
    /// rows of another order may be among those that it lacks.
    fn sorted(
        project: &Project,
        asked: &Asked,
        (id, title): (&'static str, &'static str),
        note: Option<&'static str>,
        mut head: Vec<Column>,
        rows: impl Iterator<Item = Row>,
    ) -> Self {
        let mut rows: Vec<_> = rows.collect();
        if (2..=LISTED).contains(&rows.len()) {
            let sort = asked.sort_of(id).filter(|sort| sort.column < head.len());
            if let Some(sort) = sort {
                let descends = sort.descends(if sort.column == 0 { Content::Text } else { Content::Number });
                rows.sort_by(|one, other| {
                    let order = one.compare(other, sort.column);
                    if descends { order.reverse() } else { order }
                });
            }
            let place = |sort: &str| {
                let query = asked.sorted(&format!("{id}.{sort}"));
                format!("/console/p/{}/analytics{query}#{id}", project.slug)
            };
            let columns = head.into_iter().enumerate();
            head = columns.map(|(at, column)| column.sorted(at, sort, place)).collect();
        }
        let csv = file(project, asked, id);
        Self { id, title, csv, note, none: "Nothing in this range.", head, rows }
    }

    /// The cells of a row, each with the name of its column.
    pub(super) fn named<'a>(&self, row: &'a Row) -> impl Iterator<Item = (&'static str, &'a Cell)> {
        self.head.iter().skip(1).map(|column| column.name).zip(&row.cells)
    }

    /// Whether the column of names has most of the width.
    pub(super) fn is_narrow(&self) -> bool {
        self.head.len() <= 4
    }

    /// The rows that the page shows.
    pub(super) fn shown(&self) -> &[Row] {
        self.rows.get(..SHOWN).unwrap_or(&self.rows)
    }

    /// What the page says of the rows that it does not show.
    pub(super) fn rest(&self) -> Option<String> {
        match self.rows.len() {
            ..=SHOWN => None,
            all @ ..=LISTED => {
                Some(format!("{SHOWN} of {} shown; the CSV file has all.", format::count(all as u64)))
            }
            _ => {
                let listed = format::count(LISTED as u64);
                Some(format!("{SHOWN} of more than {listed} shown; the CSV file has the first {listed}."))
            }
        }
    }

    pub(super) fn csv(&self) -> Result<Vec<u8>, AdminError> {
        let head = self.head.iter().map(|column| column.name.to_owned()).collect::<Vec<_>>();
        let row =
            |row: &Row| iter::once(file::cell(&row.name)).chain(row.cells.iter().map(Cell::plain)).collect();
        file::lines(iter::once(head).chain(self.rows.iter().take(LISTED).map(row)))
    }
}

/// What a table of usage needs: one row more than a file has, to know whether there are more.
pub(super) async fn usage(
    visit: &Visit,
    project: &Project,
    asked: &Asked,
    by: Dimension,
) -> Result<Counts, ConsoleError> {
    const READ: NonZeroUsize = NonZeroUsize::new(LISTED + 1).unwrap();
    asked.span.counts(visit, project, &asked.slice, by, READ).await
}

/// The dimension that the table of this id is about.
pub(super) fn dimension(id: &str) -> Option<Dimension> {
    [Dimension::Key, Dimension::Model, Dimension::Context].into_iter().find(|by| titles(*by).0 == id)
}

/// Id and title.
fn titles(by: Dimension) -> (&'static str, &'static str) {
    match by {
        Dimension::Key => ("keys", "Usage per key"),
        Dimension::Model => ("models", "Usage per model"),
        Dimension::Context => ("contexts", "Usage per context"),
    }
}

pub(super) fn usage_table(
    project: &Project,
    asked: &Asked,
    by: Dimension,
    counts: &Counts,
    names: &Names,
    unpriced: &BTreeSet<Arc<str>>,
) -> Table {
    let (id, title) = titles(by);
    let row = |(slice, totals): &(Slice, Totals)| Row {
        name: names.of(slice, by),
        href: None,
        cells: cells(totals, slice.model.as_ref().is_none_or(|model| !unpriced.contains(model))),
    };
    let head = head("Name", ["Requests", "Hit rate", "Saved", "Spent", "Refused", "Not answered"]);
    Table::sorted(project, asked, (id, title), None, head, counts.iter().map(row))
}

/// The tables of all requests together.
pub(super) fn of_all(project: &Project, asked: &Asked, all: &Rollup) -> [Table; 3] {
    [surfaces(project, asked, all), scopes(project, asked, all), refusals(project, asked, all)]
}

/// The requests that got an answer, told apart by what they came through. What was passed on is no part of the hit rate, so it
/// stands apart from what was answered.
fn surfaces(project: &Project, asked: &Asked, all: &Rollup) -> Table {
    let row = |surface: Surface| {
        let of = all.of_surface(surface);
        let cells = vec![
            Cell::count(of.hits + of.misses),
            Cell::count(of.hits),
            Cell::Number(Unit::Percent, of.hit_rate()),
            Cell::count(of.passed),
        ];
        (of != SurfaceTotals::default()).then(|| Row { name: surface.as_str().into(), href: None, cells })
    };
    let titles = ("surfaces", "Usage per surface");
    let note = "A surface is the endpoint that an application calls. “query” is deja’s own API.";
    let head = head("Surface", ["Answered", "Hits", "Hit rate", "Passed on"]);
    Table::sorted(project, asked, titles, Some(note), head, Surface::ALL.into_iter().filter_map(row))
}

/// Why scopes were new, and how many for that reason.
pub(super) fn causes(totals: &Totals) -> [(&'static str, u64); 6] {
    [
        ("new instructions, such as a date or a name in them", totals.new_instructions),
        ("other turns before the question", totals.new_turns),
        ("a new X-Deja-Context", totals.new_contexts),
        ("a new end user", totals.new_end_users),
        ("another parameter, such as a temperature", totals.new_parameters),
        ("a new model, or known parts in a new combination", totals.new_models()),
    ]
}

/// The scopes that were new, told apart by what of them was.
fn scopes(project: &Project, asked: &Asked, all: &Rollup) -> Table {
    let row = |(cause, scopes): (&'static str, u64)| Row {
        name: cause.into(),
        href: None,
        cells: vec![Cell::count(scopes), Cell::Number(Unit::Count, all.per_1000(scopes).map(f64::round))],
    };
    let note = "Of requests in wire formats. A similar question is looked for within its scope: the same instructions, \
                parameters and end user. In a new scope nothing is found. Put what changes with each request into the \
                question; Settings can leave end users out. What was seen is remembered until the server restarts.";
    let rows = causes(&all.totals).into_iter().filter(|(_, scopes)| *scopes > 0).map(row);
    let head = head("Cause", ["New scopes", "Per 1,000 requests"]);
    Table::sorted(project, asked, ("scopes", "New scopes"), Some(note), head, rows)
}

/// Why requests were refused.
fn refusals(project: &Project, asked: &Asked, all: &Rollup) -> Table {
    let totals = &all.totals;
    let reasons = [
        ("a model that nobody serves, or not at this endpoint (400, 404)", totals.unknown_models),
        ("a model that the key is not for (403)", totals.forbidden_models),
        ("a body or header that is wrong (400)", totals.unreadable()),
        ("the project: suspended, or another one was named (403)", totals.closed_projects),
        ("nothing in the cache, and the provider was not to be asked (504)", totals.not_cached),
        ("over the limit (429)", totals.rate_limited),
    ];
    let row = |(reason, requests): (&'static str, u64)| Row {
        name: reason.into(),
        href: None,
        cells: vec![Cell::count(requests)],
    };
    let note = "The models that were asked for stand under Usage per model; of those that nobody serves 16 an hour are told \
                apart. What could not be read, or came over the limit, has no model.";
    let rows = reasons.into_iter().filter(|(_, requests)| *requests > 0).map(row);
    let head = head("Reason", ["Requests"]);
    Table::sorted(project, asked, ("refusals", "Refused requests"), Some(note), head, rows)
}

/// Where the CSV file of a chart or table is.
pub(super) fn file(project: &Project, asked: &Asked, id: &str) -> String {
    format!("/console/p/{}/analytics/{id}.csv{}", project.slug, asked.query())
}

/// Models of these counts with answers whose price was not known: that is no price of zero, even if there is a price by now.
/// Old counts do not say it. For them the price of today decides, and a model with some money had a price.
pub(super) async fn unpriced(
    visit: &Visit,
    project: &Project,
    counts: &Counts,
) -> Result<BTreeSet<Arc<str>>, ConsoleError> {
    let free = counts.iter().filter(|(_, totals)| {
        totals.hits() + totals.misses + totals.passed > 0 && totals.saved.plus(totals.spent) == NanoUsd::ZERO
    });
    let models = free.filter_map(|(slice, _)| slice.model.clone()).collect();
    let mut unknown = prices::unknown(&visit.acting(), project, models).await?;
    let told = counts.iter().filter(|(_, totals)| totals.unpriced > 0);
    unknown.extend(told.filter_map(|(slice, _)| slice.model.clone()));
    Ok(unknown)
}

fn cells(totals: &Totals, priced: bool) -> Vec<Cell> {
    let known = priced && totals.unpriced == 0;
    let money = |amount| match amount {
        NanoUsd::ZERO if !known => Cell::Unknown("no price"),
        amount => Cell::money(amount),
    };
    vec![
        Cell::count(totals.requests()),
        Cell::Number(Unit::Percent, totals.hit_rate()),
        money(totals.saved),
        money(totals.spent),
        Cell::count(totals.refused),
        Cell::count(totals.unanswered()),
    ]
}

/// The entries that saved most. They know their model and context; which key asked they do not, nor when each hit
/// was: so their figures are told since they were stored.
pub(super) async fn top_prompts(
    visit: &Visit,
    project: &Project,
    asked: &Asked,
) -> Result<Table, ConsoleError> {
    let (found, none) = match entry_filter(visit, project, &asked.slice).await? {
        Some(filter) => match visit.store().top_entries(project.id, &filter, asked.span.from(), TOP).await {
            Err(StoreError::SearchTimeout) => (Vec::new(), "Looking for them took too long, and was ended."),
            found => (found?, "No entry was hit since this range began."),
        },
        None => (Vec::new(), "No entry of this context is known."),
    };
    let slug = project.slug.as_str();
    let rows = found.iter().map(|top| Row {
        name: format::excerpt(&top.entry.prompt),
        href: Some(format!("/console/p/{slug}/cache/{}", top.entry.id)),
        cells: vec![
            Cell::Text(top.entry.model.clone()),
            Cell::Text(top.context.as_deref().map(format::excerpt).unwrap_or_default()),
            Cell::count(top.hits),
            prices_of::saved(visit, project, top).map_or(Cell::Unknown("no price"), Cell::money),
        ],
    });
    Ok(Table {
        id: "prompts",
        title: "Top prompts by savings",
        csv: file(project, asked, "prompts"),
        note: Some(
            "Hits and savings are counted since each entry was stored, not in the range alone: the range chooses the \
             entries that were hit since it began. Which key asked is not kept with an entry, so the filter by key \
             leaves this table as it is.",
        ),
        none,
        head: vec![
            Column::new("Prompt", Content::Text),
            Column::new("Model", Content::Text),
            Column::new("Context", Content::Text),
            Column::new("Hits since stored", Content::Number),
            Column::new("Saved since stored", Content::Number),
        ],
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
    let store = visit.store();
    let model = slice.model.as_deref().map(str::to_owned);
    let Some(key) = slice.context else {
        return Ok(Some(EntryFilter { model, ..EntryFilter::default() }));
    };
    let is_wanted = |text: &Option<String>| ContextKey::of(text.as_deref()) == key;
    // A short context is its own label.
    let label = store.context_labels(project.id, &[key]).await?.remove(&key);
    let mut context = [None, label].into_iter().find(is_wanted);
    if context.is_none() {
        let contexts = store.contexts_of(project.id, NEWEST, NEWEST).await?;
        context = contexts.into_iter().map(|(context, _)| context).find(is_wanted);
    }
    Ok(context.map(|context| EntryFilter { model, context: Some(context), text: None }))
}
