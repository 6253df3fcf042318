//! The audit log: list it.

use std::num::NonZeroUsize;

use deja_core::audit::AuditRow;

use super::{AdminContext, AdminError, AuditView, Reply};
use crate::moment;

/// Rows in one answer at most.
const MOST: usize = 10_000;

pub(super) async fn list(
    context: &AdminContext,
    slug: Option<&str>,
    limit: usize,
) -> Result<Reply, AdminError> {
    let project = match slug {
        Some(slug) => Some(context.project(slug).await?.id),
        None => None,
    };
    let limit = NonZeroUsize::new(limit.min(MOST)).unwrap_or(NonZeroUsize::MIN);
    let names = context.store.projects().await?;
    let slug_of = |row: &AuditRow| {
        let id = row.change.project?;
        let known = names.iter().find(|project| project.id == id);
        Some(known.map_or_else(|| id.to_string(), |project| project.slug.to_string()))
    };
    let rows = context.store.changes(project, None, limit).await?;
    let views = rows.into_iter().map(|row| AuditView {
        number: row.number,
        at: moment::whole(row.change.at),
        actor: row.change.actor.name().to_owned(),
        project: slug_of(&row),
        action: row.change.action.into_owned(),
        subject: row.change.subject,
        detail: row.change.detail,
    });
    Ok(Reply::Audit(views.collect()))
}
