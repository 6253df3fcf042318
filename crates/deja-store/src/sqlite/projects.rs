//! Projects: read from memory, written to the database first.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::id::ProjectId;
use deja_core::project::{Project, Slug, Tier};
use deja_core::quality::Band;
use deja_core::rate_limit::Quota;
use deja_core::store::{Projects, StoreError};
use rusqlite::{Connection, Row, params};

use super::audit;
use super::entries::{purged, remove};
use super::fault::{conflict, fault};
use super::rows::{count, quota, time, unreadable};
use super::{Done, SqliteStore, members, request_log, samples};

#[async_trait]
impl Projects for SqliteStore {
    async fn create_project(&self, project: &Project, change: &Change) -> Result<(), StoreError> {
        let (project, change) = (project.clone(), change.clone());
        let memory = Arc::clone(&self.memory);
        self.writer
            .write(move |connection| {
                connection
                    .prepare_cached(
                        "INSERT INTO projects (project_id, slug, name, tier, quota_per_minute, quota_burst,
                                               suspended, settings, created)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                    )
                    .and_then(|mut insert| {
                        insert.execute(params![
                            project.id.as_bytes(),
                            project.slug.as_str(),
                            project.name,
                            project.tier.as_str(),
                            project.custom_quota.map(Quota::per_minute),
                            project.custom_quota.map(Quota::burst),
                            project.suspended,
                            settings_json(&project)?,
                            project.created.as_nanos(),
                        ])
                    })
                    .map_err(|error| conflict(error, || format!("a project called '{}'", project.slug)))?;
                members::add_maker(connection, project.id, &change).map_err(fault)?;
                audit::write(connection, &change)?;
                Ok(Done::then((), move || memory.catalog.put_project(project)))
            })
            .await
    }

    async fn project(&self, slug: &str) -> Result<Option<Project>, StoreError> {
        Ok(self.memory.catalog.by_slug(slug).map(Arc::unwrap_or_clone))
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        Ok(self.memory.catalog.projects().into_iter().map(Arc::unwrap_or_clone).collect())
    }

    async fn update_project(&self, project: &Project, change: &Change) -> Result<bool, StoreError> {
        let (given, change) = (project.clone(), change.clone());
        let memory = Arc::clone(&self.memory);
        self.writer
            .write(move |connection| {
                let changed = connection
                    .prepare_cached(
                        "UPDATE projects SET name = ?2, tier = ?3, quota_per_minute = ?4, quota_burst = ?5,
                                             suspended = ?6, settings = ?7
                         WHERE project_id = ?1",
                    )
                    .and_then(|mut update| {
                        update.execute(params![
                            given.id.as_bytes(),
                            given.name,
                            given.tier.as_str(),
                            given.custom_quota.map(Quota::per_minute),
                            given.custom_quota.map(Quota::burst),
                            given.suspended,
                            settings_json(&given)?,
                        ])
                    })
                    .map_err(fault)?;
                if changed == 0 {
                    return Ok(Done::quiet(false));
                }
                // Slug and creation are those of the database, whatever was given.
                let sql = format!("{SELECT} WHERE project_id = ?1");
                let kept = connection
                    .prepare_cached(&sql)
                    .and_then(|mut select| select.query_row([given.id.as_bytes()], from_row))
                    .map_err(fault)?;
                samples::trim(connection, Band::all().map(|band| (given.id, band))).map_err(fault)?;
                request_log::let_go(connection, &kept, change.at).map_err(fault)?;
                audit::write(connection, &change)?;
                Ok(Done::then(true, move || memory.catalog.put_project(kept)))
            })
            .await
    }

    async fn delete_project(&self, project: ProjectId, change: &Change) -> Result<bool, StoreError> {
        let (change, memory, writer) = (change.clone(), Arc::clone(&self.memory), self.writer.clone());
        // In parts first: what one transaction removes takes a time that grows with its square, and all others wait.
        let rows = self.readers.read(move |connection| remove::rows_of(connection, project)).await?;
        let delete = async move {
            purged(Arc::clone(&memory), writer.clone(), rows, None).await?;
            let last = move |connection: &Connection| {
                let rows = remove::rows_of(connection, project).map_err(fault)?;
                let gone = remove::remove(connection, memory.own_embedder(), &rows).map_err(fault)?;
                let deleted = connection
                    .execute("DELETE FROM projects WHERE project_id = ?1", [project.as_bytes()])
                    .map_err(fault)?;
                audit::write_if(connection, &change, deleted > 0)?;
                Ok(Done::then(deleted > 0, move || {
                    memory.catalog.remove_project(project);
                    memory.buckets.forget(|of| *of == project);
                    memory.key_buckets.forget(|(of, _)| *of == project);
                    memory.feedback_buckets.forget(|of| *of == project);
                    memory.forbidden.forget(project);
                    memory.forget(&gone);
                }))
            };
            writer.write(last).await
        };
        #[expect(clippy::disallowed_methods, reason = "a caller that goes away leaves no half of a project")]
        tokio::spawn(delete).await.map_err(|error| StoreError::Internal(Box::new(error)))?
    }
}

const SELECT: &str =
    "SELECT project_id, slug, name, tier, quota_per_minute, quota_burst, suspended, settings,
                             created
                      FROM projects";

/// Entries of each project that has some.
pub(super) fn entry_counts(connection: &Connection) -> rusqlite::Result<HashMap<ProjectId, u64>> {
    connection
        .prepare("SELECT project_id, entry_count FROM projects WHERE entry_count > 0")?
        .query_map([], |row| Ok((ProjectId::from_bytes(row.get(0)?), count(row, 1)?)))?
        .collect()
}

/// All projects.
pub(super) fn load(connection: &Connection) -> rusqlite::Result<Vec<Project>> {
    connection.prepare(SELECT)?.query_map([], from_row)?.collect()
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Project> {
    let slug: String = row.get(1)?;
    let tier: String = row.get(3)?;
    let settings: String = row.get(7)?;
    Ok(Project {
        id: ProjectId::from_bytes(row.get(0)?),
        slug: slug.parse::<Slug>().map_err(|error| unreadable(1, error))?,
        name: row.get(2)?,
        tier: tier.parse::<Tier>().map_err(|error| unreadable(3, error))?,
        custom_quota: quota(row, 4)?,
        suspended: row.get(6)?,
        settings: serde_json::from_str(&settings).map_err(|error| unreadable(7, error))?,
        created: time(row, 8)?,
    })
}

fn settings_json(project: &Project) -> rusqlite::Result<String> {
    serde_json::to_string(&project.settings)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}
