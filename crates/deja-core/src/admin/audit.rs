//! The audit log: list it.

use std::num::NonZeroUsize;

use super::{Acting, AdminError};
use crate::audit::AuditRow;

/// Rows in one answer at most.
const MOST: usize = 10_000;

/// A row of the audit log, and what people call its project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    /// The row.
    pub row: AuditRow,
    /// The project's slug, or its id if it is gone; `None` where the change is in no project.
    pub project: Option<String>,
}

/// For owners: the last changes, newest first: those in the project, or all.
pub async fn list(by: &Acting<'_>, slug: Option<&str>, limit: usize) -> Result<Vec<AuditLine>, AdminError> {
    by.owners_only()?;
    let project = match slug {
        Some(slug) => Some(by.project(slug).await?.id),
        None => None,
    };
    let beyond = || AdminError::Invalid(format!("the limit must be from 1 to {MOST}")).about("limit");
    let limit = NonZeroUsize::new(limit).filter(|limit| limit.get() <= MOST).ok_or_else(beyond)?;
    let names = by.store().projects().await?;
    let slug_of = |row: &AuditRow| {
        let id = row.change.project?;
        let known = names.iter().find(|project| project.id == id);
        Some(known.map_or_else(|| id.to_string(), |project| project.slug.to_string()))
    };
    let rows = by.store().changes(project, None, limit).await?;
    Ok(rows.into_iter().map(|row| AuditLine { project: slug_of(&row), row }).collect())
}
