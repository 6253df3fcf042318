//! The audit log: list it.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::names::shown;
use super::{Acting, AdminError, must_last};
use crate::audit::{ACTIONS, AuditFilter, AuditRow, UnknownActor};
use crate::clock::TimeRange;
use crate::id::ProjectId;
use crate::project::Project;
use crate::store::StoreError;

/// Rows in one answer at most.
const MOST: usize = 10_000;

/// Which rows, in the words of people. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuditQuery {
    /// Only changes in this project ([`project_of`]).
    pub project: Option<String>,
    /// Only this one of [`ACTIONS`].
    pub action: Option<String>,
    /// Only changes by this [`ActorFilter`](crate::audit::ActorFilter).
    pub actor: Option<String>,
    /// Only changes of this time.
    pub within: TimeRange,
}

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

impl AuditQuery {
    /// As the store takes it.
    fn filter(&self, projects: &[Project]) -> Result<AuditFilter, AdminError> {
        let missing = |name: &str| AdminError::NotFound(format!("there is no project '{}'", shown(name)));
        let project = self.project.as_deref();
        let project = project.map(|name| project_of(projects, name).ok_or_else(|| missing(name)));
        if let Some(action) = self.action.as_deref().filter(|action| !ACTIONS.contains(action)) {
            let problem = format!("there is no action '{}': known are {}", shown(action), ACTIONS.join(", "));
            return Err(AdminError::Invalid(problem).about("action"));
        }
        let by = self.actor.as_deref().map(str::parse).transpose();
        let by = by.map_err(|error: UnknownActor| AdminError::Invalid(error.to_string()).about("actor"))?;
        must_last(self.within)?;
        Ok(AuditFilter {
            project: project.transpose()?,
            action: self.action.clone(),
            by,
            within: self.within,
        })
    }
}

/// For owners: the last changes that are wanted, newest first; with `before` those of a smaller number only.
pub async fn list(
    by: &Acting<'_>,
    wanted: &AuditQuery,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<AuditLine>, AdminError> {
    by.owners_only()?;
    let projects = by.store().projects().await?;
    let filter = wanted.filter(&projects)?;
    let beyond = || AdminError::Invalid(format!("the limit must be from 1 to {MOST}")).about("limit");
    let limit = NonZeroUsize::new(limit).filter(|limit| limit.get() <= MOST).ok_or_else(beyond)?;
    let slug_of = |row: &AuditRow| {
        let id = row.change.project?;
        let known = projects.iter().find(|project| project.id == id);
        Some(known.map_or_else(|| id.to_string(), |project| project.slug.to_string()))
    };
    let too_long = || {
        let less = if filter.project.is_none() { "choose a project as well, or " } else { "" };
        AdminError::TookTooLong(format!(
            "going through the audit log took too long: {less}raise search_timeout_ms"
        ))
    };
    let rows = by.store().changes(&filter, before, limit).await.map_err(|error| match error {
        StoreError::SearchTimeout => too_long(),
        error => error.into(),
    })?;
    Ok(rows.into_iter().map(|row| AuditLine { project: slug_of(&row), row }).collect())
}
