//! A project's cache: purge and counts, single entries, and pairs of prompts that must not meet.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::names::shown;
use super::transfer::{self, Batch, EntryRecord, Imported, Open, Record};
use super::{Acting, AdminError, projects};
use crate::analytics::{EntryHits, Totals, UsageBatch};
use crate::cache::{EntryDetail, Labelled};
use crate::clock::Timestamp;
use crate::engine::Engine;
use crate::id::{EntryId, ProjectId};
use crate::money::NanoUsd;
use crate::project::{Project, ProjectSettings};
use crate::store::{EntryFilter, NewLabel, StaleCount, StoreError};

/// How long a deletion can be undone.
pub const UNDO_WITHIN: Duration = Duration::from_secs(10);

/// What a project's cache holds and did.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheStats {
    /// Entries that are served.
    pub entries: u64,
    /// Entries without a vector of the embedder in use; `None` if the process is a command, which has no embedder.
    pub stale: Option<StaleCount>,
    /// The project's settings: how many entries it keeps, and for how long.
    pub settings: ProjectSettings,
    /// The last seven days.
    pub week: Totals,
}

/// Deletes entries of the project's cache, and says how many.
pub async fn purge(by: &Acting<'_>, slug: &str, filter: &EntryFilter) -> Result<u64, AdminError> {
    let project = by.project(slug).await?;
    let found = match by.store().count_matching(project.id, filter).await {
        // A purge by model or context may take longer than counting may.
        Err(StoreError::SearchTimeout) if filter.text.is_none() => "not counted".to_owned(),
        found => format!("{} found", found?),
    };
    let change = by.change("cache.purge").within(project.id).of(slug);
    let change = change.how(format!("{}; {found}", audit_detail(filter)));
    Ok(by.store().purge(project.id, filter, &change).await?)
}

/// What the project's cache holds and did.
pub async fn stats(by: &Acting<'_>, slug: &str) -> Result<CacheStats, AdminError> {
    let project = by.project(slug).await?;
    Ok(CacheStats {
        entries: by.store().count(project.id).await?,
        stale: stale(by, project.id).await?,
        week: projects::week_of(by, project.id).await?,
        settings: project.settings,
    })
}

/// How many entries of a project have no vector of the embedder in use; `None` where there is no server.
pub async fn stale(by: &Acting<'_>, project: ProjectId) -> Result<Option<StaleCount>, AdminError> {
    let Some(embedder) = &by.admin.embedder else { return Ok(None) };
    Ok(Some(by.store().stale_count(Some(project), embedder, by.now()).await?))
}

/// Deletes one entry. The [`Deleted`] entry can be [brought back](restore); `None` if it cannot, because it is in quarantine or
/// expired.
pub async fn delete(by: &Acting<'_>, slug: &str, entry: EntryId) -> Result<Option<Deleted>, AdminError> {
    let project = by.project(slug).await?;
    let kept = kept_in(by, &project, entry).await?;
    let change = by.change("entry.delete").within(project.id).of(entry.to_string());
    if by.store().delete(project.id, entry, &change).await? { Ok(kept) } else { Err(gone(entry)) }
}

/// An entry that was deleted, with all that is needed to bring it back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deleted {
    /// When it was deleted.
    pub at: Timestamp,
    /// The entry.
    pub record: Box<EntryRecord>,
    /// Its hits.
    pub hits: u64,
    /// The time of the last hit.
    pub last_hit: Option<Timestamp>,
    /// Dollars that its hits saved.
    pub saved: NanoUsd,
}

impl Deleted {
    /// The bytes of its texts.
    pub fn bytes(&self) -> usize {
        let EntryRecord { prompt, answer, .. } = &*self.record;
        prompt.len() + answer.text.len() + answer.record.as_ref().map_or(0, String::len)
    }
}

/// What would bring an entry back if it was deleted now; `None` if nothing would.
pub async fn kept(by: &Acting<'_>, slug: &str, entry: EntryId) -> Result<Option<Deleted>, AdminError> {
    let project = by.project(slug).await?;
    kept_in(by, &project, entry).await
}

async fn kept_in(by: &Acting<'_>, project: &Project, entry: EntryId) -> Result<Option<Deleted>, AdminError> {
    let detail = by.store().entry(project.id, entry).await?.ok_or_else(|| gone(entry))?;
    if by.store().quarantined(project.id, entry).await?.is_some() {
        return Ok(None);
    }
    let record = transfer::entry(by, project, &detail.entry).await?;
    let EntryDetail { hits, last_hit, saved, .. } = detail;
    Ok(record.map(|record| Deleted { at: by.now(), record, hits, last_hit, saved }))
}

/// Brings an entry back that was deleted less than [`UNDO_WITHIN`] ago, with its counts. Its labels stay forgotten.
pub async fn restore(by: &Acting<'_>, slug: &str, deleted: Deleted) -> Result<EntryId, AdminError> {
    let project = by.project(slug).await?;
    let Deleted { at, record, hits, last_hit, saved } = deleted;
    let invalid = |text: &str| Err(AdminError::Invalid(text.into()));
    if by.now().since(at) > UNDO_WITHIN {
        return invalid("The entry stays deleted: it could be brought back for ten seconds.");
    }
    let Some(id) = record.id.parse().ok().filter(|_| record.project == slug) else {
        return invalid("This is no entry of this project.");
    };
    let batch =
        Batch { records: vec![Record::Entry(record)], skip_bad: false, first: false, open: Open::default() };
    match transfer::import(by, batch).await?.pop() {
        Some(Imported::Stored) => {}
        Some(Imported::Bad(reason)) => return Err(AdminError::Failed(reason)),
        Some(Imported::Expired) => return invalid("The entry stays deleted: it expired meanwhile."),
        Some(Imported::There) if by.store().entry(project.id, id).await?.is_some() => {
            return invalid("The entry is back already.");
        }
        Some(Imported::There | Imported::WithoutSecret | Imported::LeftOut) | None => {
            return invalid("The entry stays deleted: its prompt has another answer meanwhile.");
        }
    }
    if let Some(last_hit) = last_hit {
        let mut counts = UsageBatch::default();
        counts.entries.insert((project.id, id), EntryHits { hits, last_hit, saved });
        by.store().record(&counts).await?;
    }
    by.store().note(&by.change("entry.restore").within(project.id).of(id.to_string())).await?;
    Ok(id)
}

/// Keeps what an operator says of an entry and a prompt, with what follows from it ([`Labels::label`]).
///
/// [`Labels::label`]: crate::store::Labels::label
pub async fn label(
    by: &Acting<'_>,
    engine: &Engine,
    project: ProjectId,
    label: NewLabel<'_>,
) -> Result<Labelled, AdminError> {
    let entry = label.entry;
    let change = by.change(if label.answers { "entry.right" } else { "entry.wrong" });
    let change = change.within(project).of(entry.to_string());
    let change = change.how(format!("similarity {:.3}", label.similarity.get()));
    engine.label(project, label, &change).await?.ok_or_else(|| gone(entry))
}

/// Allows a pair of prompts that was found wrong to meet again, whoever found it so.
pub async fn allow(by: &Acting<'_>, slug: &str, number: u64) -> Result<(), AdminError> {
    let project = by.project(slug).await?;
    let change = by.change("pair.allow").within(project.id).of(number.to_string());
    let missing = || AdminError::NotFound("this pair is allowed already".into());
    if by.store().allow(project.id, number, &change).await? { Ok(()) } else { Err(missing()) }
}

/// Ends the quarantine of an entry.
pub async fn release(by: &Acting<'_>, slug: &str, entry: EntryId) -> Result<(), AdminError> {
    let project = by.project(slug).await?;
    let change = by.change("entry.release").within(project.id).of(entry.to_string());
    let missing = || AdminError::NotFound(format!("the entry {entry} is in no quarantine"));
    if by.store().end_quarantine(project.id, entry, &change).await? { Ok(()) } else { Err(missing()) }
}

fn gone(entry: EntryId) -> AdminError {
    AdminError::NotFound(format!("there is no entry {entry} any more"))
}

/// Whether a purge with this detail in the audit log may have met an entry of this model and context: which context it was for,
/// and which text, is not told.
pub fn may_have_purged(detail: &str, model: &str, context: Option<&str>) -> bool {
    let meant = detail.rsplit_once("; ").map_or(detail, |(meant, _)| meant);
    meant.split(", ").all(|word| match word {
        "without context" => context.is_none(),
        "one context" => context.is_some(),
        word => word.strip_prefix("model ").is_none_or(|purged| purged == shown(model)),
    })
}

/// Which entries a filter means, in a few words: [`may_have_purged`] reads them.
fn audit_detail(filter: &EntryFilter) -> String {
    let mut words = Vec::new();
    if let Some(model) = &filter.model {
        words.push(format!("model {}", shown(model)));
    }
    match &filter.context {
        None => {}
        Some(None) => words.push("without context".to_owned()),
        Some(Some(_)) => words.push("one context".to_owned()),
    }
    if filter.text.is_some() {
        words.push("with a text".to_owned());
    }
    if words.is_empty() { "all entries".to_owned() } else { words.join(", ") }
}
