//! The audit log: list it.

use std::num::NonZeroUsize;

use super::names::shown;
use super::{Acting, AdminError};
use crate::audit::AuditRow;
use crate::id::ProjectId;
use crate::project::Project;

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

/// The project that is called `name` in the log: by its slug, or by its id if it is gone.
pub fn project_of(projects: &[Project], name: &str) -> Option<ProjectId> {
    let known = projects.iter().find(|project| project.slug.as_str() == name);
    known.map_or_else(|| name.parse().ok(), |project| Some(project.id))
}

/// For owners: the last changes, newest first: those in the project ([`project_of`]), or all.
pub async fn list(by: &Acting<'_>, name: Option<&str>, limit: usize) -> Result<Vec<AuditLine>, AdminError> {
    by.owners_only()?;
    let projects = by.store().projects().await?;
    let missing = |name: &str| AdminError::NotFound(format!("there is no project '{}'", shown(name)));
    let project = name.map(|name| project_of(&projects, name).ok_or_else(|| missing(name))).transpose()?;
    let beyond = || AdminError::Invalid(format!("the limit must be from 1 to {MOST}")).about("limit");
    let limit = NonZeroUsize::new(limit).filter(|limit| limit.get() <= MOST).ok_or_else(beyond)?;
    let slug_of = |row: &AuditRow| {
        let id = row.change.project?;
        let known = projects.iter().find(|project| project.id == id);
        Some(known.map_or_else(|| id.to_string(), |project| project.slug.to_string()))
    };
    let rows = by.store().changes(project, None, limit).await?;
    Ok(rows.into_iter().map(|row| AuditLine { project: slug_of(&row), row }).collect())
}
