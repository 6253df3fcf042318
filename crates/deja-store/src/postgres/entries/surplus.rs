//! Entries beyond the maximum of their project, which was lowered or stayed behind. Whoever stores an entry evicts one itself.

use deja_core::cache::NewEntry;
use deja_core::id::{EntryId, ProjectId};
use deja_core::project::DEFAULT_MAX_ENTRIES;
use deja_core::store::StoreError;

use super::super::connections::{Connections, Params};
use super::super::rows::{get, signed, total, uuid};
use super::remove::removing;

/// How many entries the `settings` of a project allow.
pub(super) fn allowed(settings: &str) -> String {
    format!("greatest(coalesce(({settings}::json->>'max_entries')::bigint, {DEFAULT_MAX_ENTRIES}), 1)")
}

/// How many the project $1 may have now. Whoever stores an entry may have read its settings before they were changed.
pub(super) fn most() -> String {
    format!("(SELECT {} FROM projects WHERE project_id = $1)", allowed("settings"))
}

/// Whether a project has room for so many entries more.
pub(super) async fn has_room(
    connections: &Connections,
    project: ProjectId,
    more: usize,
) -> Result<bool, StoreError> {
    let sql = format!(
        "SELECT coalesce(coalesce(sum(entries), 0)::bigint + $2::bigint <= {}, false)
         FROM entry_counts WHERE project_id = $1",
        most()
    );
    get(&connections.query_one(&sql, &[&uuid(project.as_bytes()), &signed(more as u64)]).await?, 0)
}

/// Evicts behind `newest`, which is stored. If that fails, the next entry does it.
pub(super) async fn evict_behind(connections: &Connections, newest: &NewEntry, at_most: u64) {
    let project = newest.scope.project();
    if let Err(error) = evict(connections, project, Some(newest.entry.id), at_most).await {
        tracing::warn!(%error, %project, "a project keeps more entries than its maximum until the next one is stored");
    }
}

/// Evicts what a project has beyond its maximum, those that nobody used for longest, `at_most` of them and never `newest`. It does
/// nothing while another does so, who counts what is there.
///
/// Two statements: a statement counts what was there when it began. If it took the lock itself, it could have begun before
/// another's eviction and take the lock after it, and both would evict the same surplus.
pub(super) async fn evict(
    connections: &Connections,
    project: ProjectId,
    newest: Option<EntryId>,
    at_most: u64,
) -> Result<u64, StoreError> {
    let mut transaction = connections.begin_bulk().await?;
    let project = uuid(project.as_bytes());
    let lock = "SELECT pg_try_advisory_xact_lock(hashtextextended($1::uuid::text, 0))";
    let locked = transaction.query(lock, &[&project]).await?;
    if !locked.first().map_or(Ok(false), |row| get(row, 0))? {
        transaction.rollback().await?;
        return Ok(0);
    }
    // Those that another statement holds are passed over.
    let oldest = format!(
        "SELECT project_id, entry_id FROM entries
         WHERE project_id = $1 AND ($2::uuid IS NULL OR entry_id <> $2)
         ORDER BY last_used, entry_id
         LIMIT (SELECT least(greatest(coalesce(sum(entries), 0)::bigint - {}, 0), $3::bigint)
                FROM entry_counts WHERE project_id = $1)
         FOR UPDATE SKIP LOCKED",
        most()
    );
    let newest = newest.map(|entry| uuid(entry.as_bytes()));
    let params: Params<'_> = &[&project, &newest, &signed(at_most)];
    let sql = format!("WITH {} SELECT count(*) FROM done", removing(&oldest));
    let evicted = total(&transaction.query(&sql, params).await?)?;
    transaction.commit().await?;
    Ok(evicted)
}
