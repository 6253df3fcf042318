//! A project's cache: purge and counts.

use deja_core::store::PurgeFilter;

use super::{AdminContext, AdminError, CacheView, ContextFilter, Reply, TotalsView, projects};

pub(super) async fn purge(
    context: &AdminContext,
    slug: &str,
    model: Option<String>,
    filter: ContextFilter,
) -> Result<Reply, AdminError> {
    let project = context.project(slug).await?;
    let filter = PurgeFilter {
        model,
        context: match filter {
            ContextFilter::Any => None,
            ContextFilter::Without => Some(None),
            ContextFilter::Is(text) => Some(Some(text)),
        },
    };
    Ok(Reply::Purged { entries: context.store.purge(project.id, &filter).await? })
}

pub(super) async fn stats(context: &AdminContext, slug: &str) -> Result<Reply, AdminError> {
    let project = context.project(slug).await?;
    let totals = projects::week(context).await?;
    Ok(Reply::Cache(CacheView {
        entries: context.store.count(project.id).await?,
        max_entries: project.settings.max_entries,
        ttl_seconds: project.settings.ttl_seconds,
        week: TotalsView::from(totals.get(&project.id).copied().unwrap_or_default()),
    }))
}
