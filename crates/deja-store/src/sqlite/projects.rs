//! Projects: read from memory, written to the database first.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::id::ProjectId;
use deja_core::project::Project;
use deja_core::quality::Band;
use deja_core::rate_limit::Quota;
use deja_core::store::{Projects, StoreError};
use rusqlite::{Connection, Row, params};

use super::audit;
use super::entries::{PURGED_AT_ONCE, remove, removed};
use super::fault::{Failed, conflict};
use super::rows::{count, quota, signed, time, unreadable, word};
use super::writer::PART;
use super::{Done, Memory, SqliteStore, Writer, members, request_log, samples};
use crate::to_the_end;

#[async_trait]
impl Projects for SqliteStore {
    async fn create_project(&self, project: &Project, change: &Change) -> Result<(), StoreError> {
        let (project, memory) = (project.clone(), Arc::clone(&self.memory));
        let maker = change.actor.operator();
        self.audited(change, move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO projects (project_id, slug, name, tier, quota_per_minute, quota_burst,
                                               suspended, settings, created)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                )?
                .execute(params![
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
                .map_err(|error| conflict(error, || format!("a project called '{}'", project.slug)))?;
            if let Some(maker) = maker {
                members::add_owner(connection, project.id, maker)?;
            }
            Ok(Done::then(true, move || memory.catalog.put_project(project)))
        })
        .await
        .map(drop)
    }

    async fn project(&self, slug: &str) -> Result<Option<Project>, StoreError> {
        Ok(self.memory.catalog.by_slug(slug).map(Arc::unwrap_or_clone))
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        Ok(self.memory.catalog.projects().into_iter().map(Arc::unwrap_or_clone).collect())
    }

    async fn update_project(&self, project: &Project, change: &Change) -> Result<bool, StoreError> {
        let (given, memory) = (project.clone(), Arc::clone(&self.memory));
        let update = move |connection: &Connection| {
            let changed = connection
                .prepare_cached(&format!(
                    "UPDATE projects SET name = ?2, tier = ?3, quota_per_minute = ?4, quota_burst = ?5,
                                             suspended = ?6, settings = ?7
                         WHERE project_id = ?1 AND slug <> {MARK}"
                ))?
                .execute(params![
                    given.id.as_bytes(),
                    given.name,
                    given.tier.as_str(),
                    given.custom_quota.map(Quota::per_minute),
                    given.custom_quota.map(Quota::burst),
                    given.suspended,
                    settings_json(&given)?,
                ])?;
            if changed == 0 {
                return Ok(Done::quiet(false));
            }
            // Slug, creation and purges are those of the database, whatever was given.
            let kept = read(connection, given.id)?;
            samples::trim(connection, Band::all().map(|band| (given.id, band)))?;
            Ok(Done::then(true, move || memory.catalog.put_project(kept)))
        };
        let (writer, change, project) = (self.writer.clone(), change.clone(), project.clone());
        to_the_end(async move {
            let at = change.at;
            let updated = writer.write(audit::with_row(change, update)).await?;
            if updated {
                request_log::let_go(&writer, &project, at).await?;
            }
            Ok(updated)
        })
        .await
    }

    async fn delete_project(&self, project: ProjectId, change: &Change) -> Result<bool, StoreError> {
        let (change, memory, writer) = (change.clone(), Arc::clone(&self.memory), self.writer.clone());
        to_the_end(async move {
            let marked = mark(Arc::clone(&memory), &writer, project, change).await?;
            if marked {
                remove_marked(memory, &writer, project).await?;
            }
            Ok(marked)
        })
        .await
    }
}

impl SqliteStore {
    /// Removes what a stop left of projects whose deletion had begun.
    pub(crate) fn finish_deletions(&self) -> impl Future<Output = ()> + Send + use<> {
        let (memory, writer) = (Arc::clone(&self.memory), self.writer.clone());
        async move {
            let all = |connection: &Connection| Ok(Done::quiet(marked(connection)?));
            // A store that is closed at once leaves them to the next.
            for project in writer.write(all).await.unwrap_or_default() {
                if let Err(error) = remove_marked(Arc::clone(&memory), &writer, project).await {
                    tracing::warn!(%error, "the rest of a deleted project is deleted after the next start");
                }
            }
        }
    }
}

/// The slug of a project whose deletion has begun. It frees the slug that the project had. By it the next start finds projects
/// whose deletion was stopped: nothing else in the row says so. Nobody knows an id beforehand, so nobody takes such a slug by chance.
const MARK: &str = "'deleted-' || lower(hex(project_id))";

/// A conflict if the project is gone or its deletion has begun: nothing may be added to it.
pub(super) fn must_be_there(connection: &Connection, project: ProjectId) -> Result<(), Failed> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM projects WHERE project_id = ?1 AND slug <> {MARK})");
    if connection.prepare_cached(&sql)?.query_row([project.as_bytes()], |row| row.get(0))? {
        return Ok(());
    }
    Err(StoreError::Conflict(format!("there is no project {project} any more")).into())
}

/// A conflict if all of the project's cache was purged since it `was` purged so often.
pub(super) fn must_not_be_purged_since(
    connection: &Connection,
    project: ProjectId,
    was: u64,
) -> Result<(), Failed> {
    let sql = "SELECT purges = ?2 FROM projects WHERE project_id = ?1";
    if connection
        .prepare_cached(sql)?
        .query_row(params![project.as_bytes(), signed(was)], |row| row.get(0))?
    {
        return Ok(());
    }
    Err(StoreError::Conflict(format!("the cache of project {project} was purged since the call began"))
        .into())
}

/// Notes that all of the project's cache is purged: an answer whose call began before is not stored any more.
pub(super) async fn note_purge(
    memory: Arc<Memory>,
    writer: &Writer,
    project: ProjectId,
) -> Result<(), StoreError> {
    let sql = format!("UPDATE projects SET purges = purges + 1 WHERE project_id = ?1 AND slug <> {MARK}");
    let work = move |connection: &Connection| {
        if connection.execute(&sql, [project.as_bytes()])? == 0 {
            return Ok(Done::quiet(()));
        }
        let noted = read(connection, project)?;
        Ok(Done::then((), move || memory.catalog.put_project(noted)))
    };
    writer.write(work).await
}

/// Begins a deletion: from now on the project is not there for anybody. Whether it was.
async fn mark(
    memory: Arc<Memory>,
    writer: &Writer,
    project: ProjectId,
    change: Change,
) -> Result<bool, StoreError> {
    let sql = format!(
        "UPDATE projects SET slug = {MARK}, suspended = TRUE WHERE project_id = ?1 AND slug <> {MARK}"
    );
    let work = move |connection: &Connection| {
        let begun = connection.execute(&sql, [project.as_bytes()])? > 0;
        audit::write_if(connection, &change, begun)?;
        Ok(Done::then(begun, move || memory.catalog.remove_project(project)))
    };
    writer.write(work).await
}

/// Projects whose deletion has begun.
fn marked(connection: &Connection) -> rusqlite::Result<Vec<ProjectId>> {
    connection
        .prepare(&format!("SELECT project_id FROM projects WHERE slug = {MARK}"))?
        .query_map([], |row| Ok(ProjectId::from_bytes(row.get(0)?)))?
        .collect()
}

/// Tables in which a project may have many rows beside its entries, and what a row is known by. What belongs to an entry goes with it.
const LARGE: [(&str, &str); 6] = [
    ("rollups", "project_id, step, dimensions, period, key_id, model, context"),
    ("request_log", "number"),
    ("context_labels", "project_id, context"),
    ("wrong_answers", "number"),
    ("opinions", "project_id, pair"),
    ("questions", "project_id, day"),
];

/// Removes a project that is marked, in parts, since what one transaction removes takes a time that grows with its square, and all
/// others wait. The last takes what came meanwhile, and all else with the project.
async fn remove_marked(memory: Arc<Memory>, writer: &Writer, project: ProjectId) -> Result<(), StoreError> {
    let part = move |connection: &Connection| Ok(remove::rows_of(connection, project, PURGED_AT_ONCE)?);
    while removed(Arc::clone(&memory), writer, part).await? > 0 {}
    for (table, key) in LARGE {
        let sql = format!(
            "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE project_id = ?1 LIMIT {PART})"
        );
        let part = move |connection: &Connection| {
            connection.prepare_cached(&sql)?.execute([project.as_bytes()]).map(|gone| gone as u64)
        };
        writer.in_parts(part).await?;
    }
    let last = move |connection: &Connection| {
        let rows = remove::rows_of(connection, project, usize::MAX)?;
        let gone = remove::remove(connection, memory.own_embedder(), &rows)?;
        connection.execute("DELETE FROM projects WHERE project_id = ?1", [project.as_bytes()])?;
        Ok(Done::then((), move || {
            // Once more: a provider that was changed meanwhile is in the catalog again.
            memory.catalog.remove_project(project);
            memory.buckets.forget(|of| *of == project);
            memory.key_buckets.forget(|(of, _)| *of == project);
            memory.feedback_buckets.forget(|of| *of == project);
            memory.forbidden.forget(project);
            memory.forget(&gone);
        }))
    };
    writer.write(last).await
}

const SELECT: &str =
    "SELECT project_id, slug, name, tier, quota_per_minute, quota_burst, suspended, settings,
                             created, purges
                      FROM projects";

/// Entries of each project that has some.
pub(super) fn entry_counts(connection: &Connection) -> rusqlite::Result<HashMap<ProjectId, u64>> {
    connection
        .prepare("SELECT project_id, entry_count FROM projects WHERE entry_count > 0")?
        .query_map([], |row| Ok((ProjectId::from_bytes(row.get(0)?), count(row, 1)?)))?
        .collect()
}

/// All projects but those whose deletion has begun.
pub(super) fn load(connection: &Connection) -> rusqlite::Result<Vec<Project>> {
    connection.prepare(&format!("{SELECT} WHERE slug <> {MARK}"))?.query_map([], from_row)?.collect()
}

fn read(connection: &Connection, project: ProjectId) -> rusqlite::Result<Project> {
    let sql = format!("{SELECT} WHERE project_id = ?1");
    connection.prepare_cached(&sql)?.query_row([project.as_bytes()], from_row)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Project> {
    let settings: String = row.get(7)?;
    Ok(Project {
        id: ProjectId::from_bytes(row.get(0)?),
        slug: word(row, 1)?,
        name: row.get(2)?,
        tier: word(row, 3)?,
        custom_quota: quota(row, 4)?,
        suspended: row.get(6)?,
        settings: serde_json::from_str(&settings).map_err(|error| unreadable(7, error))?,
        created: time(row, 8)?,
        purges: count(row, 9)?,
    })
}

fn settings_json(project: &Project) -> rusqlite::Result<String> {
    serde_json::to_string(&project.settings)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use deja_core::store::{Entries as _, Keys as _, Store};
    use deja_core::testing::{self, change};

    use super::*;
    use crate::StoreSettings;
    use crate::sqlite::fixtures::{NOW, embedder, entry, hash, project, scope};

    #[tokio::test]
    async fn a_deletion_that_was_stopped_serves_nothing_and_is_finished_by_the_next_start() {
        let directory = tempfile::tempdir().unwrap();
        let settings = StoreSettings { embedder: Some(embedder()), ..StoreSettings::new(directory.path()) };
        let key = testing::key(1, project().id, NOW);
        let store = SqliteStore::open(&settings).unwrap();
        store.create_project(&project(), &change()).await.unwrap();
        store.create_key(&key, &change()).await.unwrap();
        store.insert(entry(1)).await.unwrap();
        let begin = async || mark(Arc::clone(&store.memory), &store.writer, project().id, change()).await;
        assert_eq!((begin().await.unwrap(), begin().await.unwrap()), (true, false));

        let is_away = async |store: &dyn Store| {
            assert_eq!(store.projects().await.unwrap(), []);
            assert!(store.key_by_hash(&key.hash).await.unwrap().is_none());
            assert!(
                !store.update_project(&project(), &change()).await.unwrap(),
                "nor does a change bring it back"
            );
        };
        is_away(&store).await;
        // The slug is free at once.
        let other = Project { id: ProjectId::from_bytes([2; 16]), ..project() };
        store.create_project(&other, &change()).await.unwrap();
        store.delete_project(other.id, &change()).await.unwrap();
        is_away(&store).await;
        store.close().await.unwrap();
        let store = SqliteStore::open(&settings).unwrap();
        is_away(&store).await;
        store.close().await.unwrap();

        let store = crate::open(&settings).await.unwrap();
        let began = Instant::now();
        // Its id is free once all of it is gone.
        while let Err(error) = store.create_project(&project(), &change()).await {
            assert!(matches!(error, StoreError::Conflict(_)) && began.elapsed() < Duration::from_mins(1));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(store.keys(project().id).await.unwrap(), []);
        assert_eq!(store.count(project().id).await.unwrap(), 0);
        assert_eq!(store.exact(&scope(), &hash(1), NOW).await.unwrap(), None);
    }

    /// More rows than one job deletes.
    const MANY: u64 = 2 * PART.get() as u64 + 1;

    async fn write_many(store: &SqliteStore, sql: &'static str) {
        let sql = format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT {MANY}) INSERT INTO {sql} FROM n"
        );
        let write = move |connection: &Connection| {
            Ok(Done::quiet(connection.execute(&sql, [project().id.as_bytes()])?))
        };
        assert_eq!(store.writer.write(write).await.unwrap() as u64, MANY);
    }

    /// How many rows of each table other jobs see that are done beside `work`, until there are none.
    async fn seen_beside<const N: usize>(
        store: &SqliteStore,
        tables: [&'static str; N],
        work: impl Future<Output = Result<bool, StoreError>>,
    ) -> Vec<[u64; N]> {
        let count = move |connection: &Connection| {
            let of = |table| {
                let sql = format!("SELECT count(*) FROM {table} WHERE project_id = ?1");
                connection.query_row(&sql, [project().id.as_bytes()], |row| row.get::<_, i64>(0)).unwrap()
            };
            Ok(Done::quiet(tables.map(|table| of(table) as u64)))
        };
        let look = async {
            let mut seen = Vec::new();
            while seen.last() != Some(&[0; N]) {
                seen.push(store.writer.write(count).await.unwrap());
            }
            seen
        };
        let (done, seen) = tokio::join!(work, look);
        assert!(done.unwrap());
        assert_eq!(store.writer.write(count).await.unwrap(), [0; N], "nothing is left at the end");
        seen
    }

    #[tokio::test]
    async fn other_writes_go_on_while_a_project_that_has_much_is_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&StoreSettings::new(directory.path())).unwrap();
        store.create_project(&project(), &change()).await.unwrap();
        for sql in [
            "rollups (project_id, step, dimensions, period, key_id, model, context, exact_hits, semantic_hits, misses,
                      errors, refused, rate_limited, input_tokens, output_tokens, saved_input_tokens,
                      saved_output_tokens, saved, spent, histograms)
             SELECT ?1, 60, 0, n, x'', '', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, x''",
            "request_log (project_id, at, key_id, surface, model, context, outcome, joined, saved)
             SELECT ?1, n, x'', '', '', 0, '', 0, 0",
            "context_labels SELECT ?1, n, '', 0",
            "wrong_answers (project_id, at, asked, matched, similarity, model) SELECT ?1, 0, n, '', 0, ''",
            "opinions SELECT ?1, CAST(n AS BLOB), 0, 0",
            "questions SELECT ?1, n, 0, 0",
        ] {
            write_many(&store, sql).await;
        }
        let (tables, deletion) = (LARGE.map(|(table, _)| table), change());
        let seen = seen_beside(&store, tables, store.delete_project(project().id, &deletion)).await;
        for (place, table) in tables.into_iter().enumerate() {
            let between = seen.iter().any(|rows| (1..MANY).contains(&rows[place]));
            assert!(between, "{table} goes in one transaction: {seen:?}");
        }
    }

    #[tokio::test]
    async fn other_writes_go_on_while_a_long_log_is_let_go() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&StoreSettings::new(directory.path())).unwrap();
        store.create_project(&project(), &change()).await.unwrap();
        let logged =
            "request_log (project_id, at, key_id, surface, model, context, outcome, joined, saved, asked)
                      SELECT ?1, n, x'', '', '', 0, '', 0, 0, 'asked'";
        write_many(&store, logged).await;
        let texts = "(SELECT * FROM request_log WHERE asked IS NOT NULL)";
        for (requests, table) in [(10, texts), (0, "request_log")] {
            let (mut changed, change) = (project(), change());
            changed.settings.request_log = requests;
            let seen = seen_beside(&store, [table], store.update_project(&changed, &change)).await;
            assert!(seen.iter().any(|[rows]| (1..MANY).contains(rows)), "{table}: {seen:?}");
        }
    }
}
