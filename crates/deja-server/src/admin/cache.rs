//! A project's cache: purge and counts, single entries, and those that answered wrongly.

use deja_core::embedding::Similarity;
use deja_core::id::EntryId;
use deja_core::store::{EntryFilter, WrongHit};

use super::{Acting, AdminError, CacheView, ContextFilter, Hidden, Reply, TotalsView, projects, shown};

pub(super) async fn purge(
    context: &Acting<'_>,
    slug: &str,
    model: Option<String>,
    filter: ContextFilter,
    text: Option<String>,
) -> Result<Reply, AdminError> {
    let project = context.project(slug).await?;
    let filter = EntryFilter {
        model,
        context: match filter {
            ContextFilter::Any => None,
            ContextFilter::Without => Some(None),
            ContextFilter::Is(text) => Some(Some(text)),
        },
        text,
    };
    let change = context.change("cache.purge").within(project.id).of(slug).how(told(&filter));
    Ok(Reply::Purged { entries: context.store.purge(project.id, &filter, &change).await? })
}

pub(super) async fn stats(context: &Acting<'_>, slug: &str) -> Result<Reply, AdminError> {
    let project = context.project(slug).await?;
    let totals = projects::week(context).await?;
    Ok(Reply::Cache(CacheView {
        entries: context.store.count(project.id).await?,
        max_entries: project.settings.max_entries,
        ttl_seconds: project.settings.ttl_seconds,
        week: TotalsView::from(totals.get(&project.id).copied().unwrap_or_default()),
    }))
}

pub(super) async fn delete(context: &Acting<'_>, slug: &str, entry: EntryId) -> Result<Reply, AdminError> {
    let project = context.project(slug).await?;
    let change = context.change("entry.delete").within(project.id).of(entry.to_string());
    if context.store.delete(project.id, entry, &change).await? { Ok(Reply::Done) } else { Err(gone(entry)) }
}

pub(super) async fn wrong(
    context: &Acting<'_>,
    slug: &str,
    entry: EntryId,
    asked: &Hidden,
    similarity: f32,
) -> Result<Reply, AdminError> {
    let project = context.project(slug).await?;
    let similarity = Similarity::from_cosine(similarity);
    let change = context.change("entry.wrong").within(project.id).of(entry.to_string());
    let change = change.how(format!("similarity {:.3}", similarity.get()));
    let hit = WrongHit { entry, asked: asked.expose(), similarity };
    if context.store.mark_wrong(project.id, hit, &change).await? { Ok(Reply::Done) } else { Err(gone(entry)) }
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
