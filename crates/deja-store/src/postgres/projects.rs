//! Projects.

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::id::ProjectId;
use deja_core::member::Rank;
use deja_core::project::{Project, Slug};
use deja_core::store::{EntryFilter, Projects, StoreError};
use tokio_postgres::Row;

use super::PostgresStore;
use super::audit::{Noted, When};
use super::connections::{Connections, Params};
use super::entries::{found, in_parts};
use super::fault::conflict;
use super::rows::{count, get, id, json, quota, quota_columns, signed, time, to_json, total, uuid, word};
use super::{request_log, samples};
use crate::to_the_end;

/// Columns of a project, for [`from_row`].
pub(super) const COLUMNS: &str =
    "p.project_id, p.slug, p.name, p.tier, p.quota_per_minute, p.quota_burst, p.suspended,
                                  p.settings, p.created, p.purges";
/// How many they are.
pub(super) const WIDTH: usize = 10;

#[async_trait]
impl Projects for PostgresStore {
    async fn create_project(&self, project: &Project, change: &Change) -> Result<(), StoreError> {
        let (per_minute, burst) = quota_columns(project.custom_quota);
        let parts = "done AS (
            INSERT INTO projects (project_id, slug, name, tier, quota_per_minute, quota_burst, suspended,
                                  settings, created)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING 1),
            maker AS (
            INSERT INTO members (project_id, operator_id, rank)
            SELECT $1, operator_id, $11 FROM operators WHERE operator_id = $10)";
        let maker = change.actor.operator().as_ref().map(|id| uuid(id.as_bytes()));
        let params: Params<'_> = &[
            &uuid(project.id.as_bytes()),
            &project.slug.as_str(),
            &project.name,
            &project.tier.as_str(),
            &per_minute,
            &burst,
            &project.suspended,
            &to_json(&project.settings)?,
            &project.created.as_nanos(),
            &maker,
            &Rank::Owner.as_str(),
        ];
        let created = self.change(parts, params, change).await;
        created.map(drop).map_err(|error| conflict(error, || format!("a project called '{}'", project.slug)))
    }

    async fn project(&self, slug: &str) -> Result<Option<Project>, StoreError> {
        // What is no slug is no project's, and may hold what PostgreSQL takes in no text.
        let Ok(slug) = slug.parse::<Slug>() else { return Ok(None) };
        let sql = format!("SELECT {COLUMNS} FROM projects p WHERE slug = $1 AND slug <> {MARK}");
        let row = self.connections.query_opt(&sql, &[&slug.as_str()]).await?;
        row.map(|row| from_row(&row, 0)).transpose()
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM projects p WHERE slug <> {MARK} ORDER BY slug");
        let rows = self.connections.query(&sql, &[]).await?;
        rows.iter().map(|row| from_row(row, 0)).collect()
    }

    async fn update_project(&self, project: &Project, change: &Change) -> Result<bool, StoreError> {
        let (per_minute, burst) = quota_columns(project.custom_quota);
        let parts = format!(
            "{}done AS (
                 UPDATE projects SET name = $2, tier = $3, quota_per_minute = $4, quota_burst = $5, suspended = $6,
                                     settings = $7
                 WHERE project_id = $1 AND slug <> {MARK} RETURNING 1),
             {}",
            request_log::let_go(project),
            samples::beyond("$8")
        );
        let params: Params<'_> = &[
            &uuid(project.id.as_bytes()),
            &project.name,
            &project.tier.as_str(),
            &per_minute,
            &burst,
            &project.suspended,
            &to_json(&project.settings)?,
            &signed(project.settings.samples),
        ];
        // It may delete all texts of the log, and samples.
        Ok(self.change_much(&parts, params, change).await? > 0)
    }

    async fn delete_project(&self, project: ProjectId, change: &Change) -> Result<bool, StoreError> {
        let (connections, change) = (self.connections.clone(), change.clone());
        to_the_end(async move {
            let marked = mark(&connections, project, &change).await?;
            if marked {
                remove_marked(&connections, project).await?;
            }
            Ok(marked)
        })
        .await
    }
}

/// The slug of a project whose deletion has begun, as in the embedded store: nobody knows an id beforehand, so nobody takes such a
/// slug by chance. A replica of an earlier version lists such a project, and refuses its requests because it is suspended.
const MARK: &str = "'deleted-' || replace(project_id::text, '-', '')";

/// The parts of a statement that give a row, called `there`, unless the project $1 is gone or its deletion has begun. A deletion
/// waits for who has that row, and the other way round.
pub(super) fn there() -> String {
    format!("there AS (SELECT FROM projects WHERE project_id = $1 AND slug <> {MARK} FOR KEY SHARE)")
}

/// Begins a deletion: from now on the project is not there for anybody. Whether it was.
async fn mark(connections: &Connections, project: ProjectId, change: &Change) -> Result<bool, StoreError> {
    let mut transaction = connections.begin().await?;
    let id = uuid(project.as_bytes());
    let sql = format!(
        "UPDATE projects SET slug = {MARK}, suspended = true WHERE project_id = $1 AND slug <> {MARK} RETURNING 1"
    );
    if transaction.query(&sql, &[&id]).await?.is_empty() {
        transaction.rollback().await?;
        return Ok(false);
    }
    // A statement of its own: it sees the keys of those for whom the first one waited. Without keys no replica admits a request.
    let parts = "done AS (DELETE FROM keys WHERE project_id = $1 RETURNING 1)";
    let sql = Noted::statement(parts, 1, When::Always);
    transaction.query(&sql, &Noted::of(change).after(&[&id])).await?;
    transaction.commit().await?;
    Ok(true)
}

/// Removes what a stop, or a statement that failed, left of projects whose deletion had begun.
pub(super) async fn finish_deletions(connections: &Connections) -> Result<(), StoreError> {
    let sql = format!("SELECT project_id FROM projects WHERE slug = {MARK}");
    for row in connections.query(&sql, &[]).await? {
        remove_marked(connections, ProjectId::from_bytes(id(&row, 0)?)).await?;
    }
    Ok(())
}

/// Tables in which a project may have many rows beside its entries. What belongs to an entry goes with it.
const LARGE: [&str; 6] =
    ["rollups", "request_log", "context_labels", "wrong_answers", "opinions", "questions"];
/// Rows that one statement removes of them.
const PART: i64 = 5000;

/// Removes a project that is marked, in parts: the last statement has the project's row, for which the counts, logs and samples of
/// all projects wait that are written together. Nothing, if another replica is at it.
async fn remove_marked(connections: &Connections, project: ProjectId) -> Result<(), StoreError> {
    let id = uuid(project.as_bytes());
    // The half of an id that is random.
    let (_, own) = id.as_u64_pair();
    let Some(connections) = connections.alone_if_free(own.cast_signed()).await? else {
        return Ok(());
    };
    let entries = found(&connections, project, &EntryFilter::default()).await?;
    in_parts(connections.clone(), project, entries, None).await?;
    for table in LARGE {
        let part = format!("SELECT ctid FROM {table} WHERE project_id = $1 LIMIT {PART}");
        let sql = format!(
            "WITH gone AS (DELETE FROM {table} WHERE project_id = $1 AND ctid = ANY (ARRAY({part})) RETURNING 1)
             SELECT count(*) FROM gone"
        );
        let part = async || {
            let rows = connections.bulk(&sql, &[&id]).await?;
            total(&rows)
        };
        while part().await? > 0 {}
    }
    // All else, and what came meanwhile, goes by the foreign keys.
    let sql = format!(
        "WITH bucket AS (DELETE FROM buckets WHERE project_id = $1),
              key_bucket AS (DELETE FROM key_buckets WHERE project_id = $1),
              feedback_bucket AS (DELETE FROM feedback_buckets WHERE project_id = $1),
              flight AS (DELETE FROM flights WHERE project_id = $1)
         DELETE FROM projects WHERE project_id = $1 AND slug = {MARK}"
    );
    connections.bulk(&sql, &[&id]).await?;
    // A connection that is dropped gives its lock back a moment later: whoever deletes the next project of this id would find it taken.
    let _else_with_the_connection = connections.query("SELECT pg_advisory_unlock_all()", &[]).await;
    Ok(())
}

/// A project whose columns begin at number `first`.
pub(super) fn from_row(row: &Row, first: usize) -> Result<Project, StoreError> {
    let at = |column| first + column;
    Ok(Project {
        id: ProjectId::from_bytes(id(row, at(0))?),
        slug: word(row, at(1))?,
        name: get(row, at(2))?,
        tier: word(row, at(3))?,
        custom_quota: quota(row, at(4))?,
        suspended: get(row, at(6))?,
        settings: json(row, at(7))?,
        created: time(row, at(8))?,
        purges: count(row, at(9))?,
    })
}
