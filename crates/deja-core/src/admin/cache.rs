//! A project's cache: purge and counts, single entries, and pairs of prompts that must not meet.

use super::names::shown;
use super::{Acting, AdminError, projects};
use crate::analytics::Totals;
use crate::embedding::Similarity;
use crate::id::EntryId;
use crate::project::ProjectSettings;
use crate::store::{EntryFilter, WrongHit};

/// What a project's cache holds and did.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheStats {
    /// Entries that are served.
    pub entries: u64,
    /// How many it may hold, and for how long.
    pub settings: ProjectSettings,
    /// The last seven days.
    pub week: Totals,
}

/// Deletes entries of the project's cache, and says how many.
pub async fn purge(by: &Acting<'_>, slug: &str, filter: &EntryFilter) -> Result<u64, AdminError> {
    let project = by.project(slug).await?;
    let change = by.change("cache.purge").within(project.id).of(slug).how(told(filter));
    Ok(by.store().purge(project.id, filter, &change).await?)
}

/// What the project's cache holds and did.
pub async fn stats(by: &Acting<'_>, slug: &str) -> Result<CacheStats, AdminError> {
    let project = by.project(slug).await?;
    Ok(CacheStats {
        entries: by.store().count(project.id).await?,
        week: projects::week_of(by, project.id).await?,
        settings: project.settings,
    })
}

/// Deletes one entry.
pub async fn delete(by: &Acting<'_>, slug: &str, entry: EntryId) -> Result<(), AdminError> {
    let project = by.project(slug).await?;
    let change = by.change("entry.delete").within(project.id).of(entry.to_string());
    if by.store().delete(project.id, entry, &change).await? { Ok(()) } else { Err(gone(entry)) }
}

/// Forbids an entry to answer a prompt that it should not have answered, and the other way round.
pub async fn wrong(
    by: &Acting<'_>,
    slug: &str,
    entry: EntryId,
    asked: &str,
    similarity: Similarity,
) -> Result<(), AdminError> {
    let project = by.project(slug).await?;
    let detail = by.store().entry(project.id, entry).await?.ok_or_else(|| gone(entry))?;
    if detail.entry.prompt == asked {
        let own = "this is the entry's own prompt, which it always answers; if the answer is wrong, delete the entry";
        return Err(AdminError::Invalid(own.into()));
    }
    let change = by.change("entry.wrong").within(project.id).of(entry.to_string());
    let change = change.how(format!("similarity {:.3}", similarity.get()));
    let hit = WrongHit { entry, asked, similarity };
    if by.store().mark_wrong(project.id, hit, &change).await? { Ok(()) } else { Err(gone(entry)) }
}

fn gone(entry: EntryId) -> AdminError {
    AdminError::NotFound(format!("there is no entry {entry} any more"))
}

/// Which entries a filter means, in a few words.
fn told(filter: &EntryFilter) -> String {
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
