//! Browsing and searching a project's cache, by text and by meaning.

use std::num::NonZeroUsize;

use askama::Template;
use deja_core::cache::{EntryDetail, Kind, context};
use deja_core::embedding::Similarity;
use deja_core::project::Project;
use deja_core::store::{EntryColumn, EntryFilter, EntryOrder, StoreError};
use serde::Deserialize;

use super::error::{ConsoleError, SEARCH_TIMEOUT, SORT_TIMEOUT};
use super::filter::{Filter, Select};
use super::form::{Path, Query};
use super::page::{Answer, Frame, Visit};
use super::paging::{cursor, cursor_text};
use super::sort::{Column, Content, Sort, Sortable, heads};
use super::transcript;
use crate::format::{self, Moment};

/// Entries of a page.
pub(super) const PAGE: usize = 50;
const NEAREST: NonZeroUsize = NonZeroUsize::new(25).unwrap();
/// Entries in quarantine of a page.
const HELD: usize = 20;
/// The most that are passed over: the store reads them all.
const MOST_HELD: usize = 10_000;

/// The columns of the list.
const COLUMNS: [Sortable<EntryColumn>; 6] = [
    ("Prompt", Content::Text, None),
    ("Model", Content::Text, None),
    ("Context", Content::Text, None),
    ("Hits", Content::Number, Some(EntryColumn::Hits)),
    ("Last used", Content::Moment, Some(EntryColumn::LastUsed)),
    ("Created", Content::Moment, Some(EntryColumn::Created)),
];
/// The order of the list if the address names none.
const NEWEST: Sort = Sort::by(5);

const BY_USE: &str = "An entry that was never hit stands where it was stored. When the cache is full, the entries that were not \
                      used for longest go first.";

#[derive(Template)]
#[template(path = "cache.html")]
struct CachePage {
    frame: Frame,
    slug: String,
    total: String,
    form: Filter,
    query: String,
    /// Where what is ticked is deleted.
    delete: String,
    /// Why there was no search, or no end of it.
    problem: Option<&'static str>,
    filtered: bool,
    by_meaning: bool,
    /// Whether the entries are those nearest to a text.
    nearest: bool,
    selects: Vec<Select>,
    /// What one must know of the selects.
    offered: Option<&'static str>,
    head: Vec<Column>,
    sort: String,
    /// What one must know of the order.
    note: Option<&'static str>,
    entries: Vec<Row>,
    next: Option<String>,
    first: Option<String>,
    quarantine: Vec<Held>,
    /// Where more entries in quarantine are, and where the first of them.
    held_next: Option<String>,
    held_first: Option<String>,
}

/// An entry in a list.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) prompt: String,
    pub(super) answer: String,
    pub(super) model: String,
    /// The wire format that it is of.
    pub(super) kind: Option<&'static str>,
    pub(super) context: Option<String>,
    pub(super) hits: String,
    pub(super) last_hit: Option<Moment>,
    pub(super) created: Moment,
    pub(super) expired: bool,
    /// How near the searched prompt is, in a search by meaning.
    pub(super) similarity: String,
    /// The query of the link to the entry's page: the searched prompt.
    pub(super) query: String,
}

impl Row {
    pub(super) fn of(visit: &Visit, detail: &EntryDetail) -> Self {
        let entry = &detail.entry;
        Self {
            id: entry.id.to_string(),
            prompt: transcript::line(detail),
            kind: (detail.kind != Kind::Query).then(|| detail.kind.as_str()),
            answer: format::excerpt(&entry.answer.text),
            model: entry.model.clone(),
            context: context(detail.context.as_deref(), &detail.parameters)
                .map(|text| if text.is_empty() { "(empty text)".into() } else { format::line(text) }),
            hits: format::count(detail.hits),
            last_hit: detail.last_hit.map(|at| visit.moment(at)),
            created: visit.moment(entry.created),
            expired: !entry.is_live(visit.now()),
            similarity: String::new(),
            query: String::new(),
        }
    }
}

/// An entry in quarantine.
struct Held {
    id: String,
    prompt: String,
    model: String,
    since: Moment,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Search {
    #[serde(flatten)]
    filter: Filter,
    by: String,
    /// What the list is sorted by.
    sort: String,
    /// The place of the last entry of the page before.
    after: String,
    /// How many entries in quarantine are passed over.
    held: String,
}

impl Search {
    /// Whether the entries nearest to a text are asked for.
    fn is_near(&self) -> bool {
        self.by == "meaning" && !self.filter.q.trim().is_empty()
    }

    /// What the list is sorted by, and as the store has it.
    fn sort(&self) -> (Sort, EntryOrder) {
        let asked = Sort::read(&self.sort).and_then(|sort| Some((sort, sort.order(&COLUMNS)?)));
        asked.unwrap_or((NEWEST, EntryOrder::NEWEST))
    }

    /// The address of the list as it was asked for, or of what is done with it.
    pub(super) fn here(&self, slug: &str, below: &str) -> String {
        self.at_held(slug, below, &self.held)
    }

    /// The same with other entries in quarantine.
    fn at_held(&self, slug: &str, below: &str, held: &str) -> String {
        let more = [("by", self.by.as_str()), ("sort", &self.sort), ("after", &self.after), ("held", held)];
        format!("/console/p/{slug}/cache{below}{}", self.filter.query(&more))
    }

    /// The address of these filters in this order, from here on.
    fn place(&self, slug: &str, sort: &str, after: &str) -> String {
        format!("/console/p/{slug}/cache{}", self.filter.query(&[("sort", sort), ("after", after)]))
    }
}

/// `GET /console/p/{slug}/cache`.
pub(super) async fn get(visit: Visit, Path(slug): Path<String>, Query(search): Query<Search>) -> Answer {
    let project = visit.project()?;
    let found = find(&visit, &project, &search).await?;
    let total = visit.store().count(project.id).await?;
    let (selects, offered) = search.filter.selects(&visit.console, &project, total).await?;
    let (nearest, (sort, order)) = (search.is_near(), search.sort());
    let links = (!nearest).then_some(sort);
    let passed = search.held.parse().unwrap_or(0).min(MOST_HELD);
    let (quarantine, more) = quarantine(&visit, &project, passed).await?;
    let held = |held: &str| format!("{}#quarantine", search.at_held(&slug, "", held));
    let page = CachePage {
        frame: visit.frame_in(&project, "Cache", "Cache").complaining(found.problem),
        total: entries_of(total),
        query: search.filter.query(&[]),
        delete: search.here(&slug, "/delete"),
        problem: found.problem,
        filtered: !search.filter.is_empty(),
        by_meaning: search.by == "meaning",
        nearest,
        selects,
        offered,
        head: heads(&COLUMNS, links, |sort| search.place(&slug, sort, "")),
        note: (!nearest && order.by == EntryColumn::LastUsed).then_some(BY_USE),
        entries: found.rows,
        next: found.next,
        first: (!search.after.is_empty()).then(|| search.place(&slug, &search.sort, "")),
        quarantine,
        held_next: (more && passed < MOST_HELD).then(|| held(&(passed + HELD).to_string())),
        held_first: (passed > 0).then(|| held("")),
        sort: search.sort,
        form: search.filter,
        slug,
    };
    Ok(visit.page(&page))
}

/// What a search found.
#[derive(Default)]
struct Found {
    rows: Vec<Row>,
    /// Where the next page is.
    next: Option<String>,
    /// What is missing to look for them.
    problem: Option<&'static str>,
}

async fn find(visit: &Visit, project: &Project, search: &Search) -> Result<Found, ConsoleError> {
    if search.is_near() {
        return near(visit, project, &search.filter).await;
    }
    let limit = NonZeroUsize::MIN.saturating_add(PAGE);
    let (filter, (_, order), after) = (search.filter.entries(), search.sort(), cursor(&search.after));
    let mut found = match visit.store().browse(project.id, &filter, order, after, limit).await {
        Err(StoreError::SearchTimeout) => {
            let problem = if filter.text.is_some() { SEARCH_TIMEOUT } else { SORT_TIMEOUT };
            return Ok(Found { problem: Some(problem), ..Found::default() });
        }
        found => found?,
    };
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let next = found
        .last()
        .filter(|_| more)
        .map(|last| search.place(project.slug.as_str(), &search.sort, &cursor_text(order.cursor(last))));
    Ok(Found { rows: found.iter().map(|detail| Row::of(visit, detail)).collect(), next, problem: None })
}

/// Entries in quarantine, the latest first without those that are passed over, and whether there are more.
async fn quarantine(
    visit: &Visit,
    project: &Project,
    passed: usize,
) -> Result<(Vec<Held>, bool), ConsoleError> {
    let store = visit.store();
    let limit = NonZeroUsize::MIN.saturating_add(passed).saturating_add(HELD);
    let mut all = store.quarantine(project.id, limit).await?;
    let more = all.len() == limit.get();
    all.truncate(limit.get() - 1);
    let mut held = Vec::new();
    for one in all.into_iter().skip(passed) {
        // An entry that went meanwhile is left out.
        let Some(detail) = store.entry(project.id, one.entry).await? else { continue };
        held.push(Held {
            id: one.entry.to_string(),
            prompt: format::excerpt(&detail.entry.prompt),
            model: detail.entry.model,
            since: visit.moment(one.since),
        });
    }
    Ok((held, more))
}

/// The entries that pass the filter, of all models and contexts if it names none, nearest to the searched text.
async fn near(visit: &Visit, project: &Project, filter: &Filter) -> Result<Found, ConsoleError> {
    let missing = |what| Ok(Found { problem: Some(what), ..Found::default() });
    let (engine, asked) = (visit.console.app.engine(), filter.q.trim());
    let Some(vector) = engine.vector_of(project.id, asked).await? else {
        return missing("This text is too long to be searched by meaning. Search for a part of it.");
    };
    let filter = EntryFilter { text: None, ..filter.entries() };
    let found = match visit.store().similar(project.id, &filter, engine.embedder(), &vector, NEAREST).await {
        Err(StoreError::SearchTimeout) => return missing(SEARCH_TIMEOUT),
        found => found?,
    };
    let query = super::filter::query(&[("asked", asked)]);
    let row = |(detail, similarity): &(EntryDetail, Similarity)| Row {
        similarity: format!("{:.3}", similarity.get()),
        query: query.clone(),
        ..Row::of(visit, detail)
    };
    Ok(Found { rows: found.iter().map(row).collect(), ..Found::default() })
}

/// `12 entries`.
pub(super) fn entries_of(number: u64) -> String {
    format!("{} {}", format::count(number), if number == 1 { "entry" } else { "entries" })
}
