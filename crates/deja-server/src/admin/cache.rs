//! A project's cache: purge and counts.

use deja_core::store::EntryFilter;

use super::{Acting, AdminError, CacheView, ContextFilter, Reply, TotalsView, projects, shown};

pub(super) async fn purge(
    context: &Acting<'_>,
    slug: &str,
    model: Option<String>,
    filter: ContextFilter,
) -> Result<Reply, AdminError> {
    let project = context.project(slug).await?;
    let filter = EntryFilter {
        model,
        context: match filter {
            ContextFilter::Any => None,
            ContextFilter::Without => Some(None),
            ContextFilter::Is(text) => Some(Some(text)),
        },
        text: None,
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
