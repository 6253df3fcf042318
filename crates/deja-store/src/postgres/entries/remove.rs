//! Removing entries. Vectors go with them by the foreign key; counts in the same statement.
//!
//! Rows are locked in the order of their keys, so that two statements that remove many do not deadlock.

use std::num::NonZeroUsize;

use deja_core::audit::Change;
use deja_core::cache::NewEntry;
use deja_core::clock::Timestamp;
use deja_core::id::ProjectId;
use deja_core::store::{EntryFilter, StoreError};
use uuid::Uuid;

use super::super::audit::{Noted, When};
use super::super::connections::{Connections, Params, Transaction};
use super::super::rows::{get, id, limit_of, total, uuid};
use super::filter::{Filter, passes};
use super::surplus;

/// Entries that one statement of a purge removes: a tenth of a second.
const PART: usize = 2000;

/// The parts of a statement that removes the entries which `choose` gives with project_id and entry_id; the one
/// called `done` has a row for each. Slots are by connection, so that writers at the same time use different ones.
pub(in super::super) fn removing(choose: &str) -> String {
    format!(
        "chosen AS ({choose}),
         done AS (
             DELETE FROM entries e USING chosen c
             WHERE e.project_id = c.project_id AND e.entry_id = c.entry_id RETURNING e.project_id),
         counted AS (
             INSERT INTO entry_counts AS t (project_id, slot, entries)
             SELECT project_id, pg_backend_pid() & 15, -count(*) FROM done GROUP BY project_id
             ORDER BY project_id
             ON CONFLICT (project_id, slot) DO UPDATE SET entries = t.entries + excluded.entries)"
    )
}

/// The entry of a scope and prompt, if it expired before now or `new` replaces it.
pub(super) async fn twin_of(transaction: &mut Transaction, new: &NewEntry) -> Result<u64, StoreError> {
    let choose = "SELECT project_id, entry_id FROM entries
                  WHERE project_id = $1 AND scope_key = $2 AND prompt_hash = $3 AND (expires <= $4 OR $5) FOR UPDATE";
    let (project, scope_key) = (uuid(new.scope.project().as_bytes()), new.scope.key().0);
    let params: Params<'_> =
        &[&project, &scope_key.as_slice(), &new.prompt_hash.0.as_slice(), &new.now.as_nanos(), &new.replaces];
    let sql = format!("WITH {} SELECT count(*) FROM done", removing(choose));
    total(&transaction.query(&sql, params).await?)
}

/// The entries of a project that pass the filter.
pub(in super::super) async fn found(
    connections: &Connections,
    project: ProjectId,
    filter: &EntryFilter,
) -> Result<Vec<Uuid>, StoreError> {
    // In one row: a million of them would take more memory than all they say.
    let sql = format!("SELECT array_agg(e.entry_id) FROM entries e WHERE {}", passes());
    let rows = Filter::of(project, filter).rows(connections, &sql, &[]).await?;
    Ok(rows.first().map_or(Ok(None), |row| get(row, 0))?.unwrap_or_default())
}

/// Removes these entries of a project, a part at a time, the first part with the change, which is written in any case. One statement
/// for a million entries would be ended by its deadline, and have removed none.
pub(in super::super) async fn in_parts(
    connections: Connections,
    project: ProjectId,
    entries: Vec<Uuid>,
    change: Option<Change>,
) -> Result<u64, StoreError> {
    let project = uuid(project.as_bytes());
    let removing = removing(
        "SELECT project_id, entry_id FROM entries WHERE project_id = $1 AND entry_id = ANY ($2)
         ORDER BY project_id, entry_id FOR UPDATE",
    );
    let (mut removed, mut parts) = (0, entries.chunks(PART));
    if let Some(change) = &change {
        let (first, noted) = (parts.next().unwrap_or_default(), Noted::of(change));
        let sql = Noted::statement(&removing, 2, When::Always);
        removed += total(&connections.bulk(&sql, &noted.after(&[&project, &first])).await?)?;
    }
    let sql = format!("WITH {removing} SELECT count(*) FROM done");
    for part in parts {
        removed += total(&connections.bulk(&sql, &[&project, &part]).await?)?;
    }
    Ok(removed)
}

/// Entries that may no longer be served, the longest expired first; then those beyond the maximum of their projects. Those
/// that were used after `now` were used now.
pub(super) async fn swept(
    connections: &Connections,
    now: Timestamp,
    at_most: NonZeroUsize,
) -> Result<u64, StoreError> {
    // Skipping locked ones: replicas that sweep at the same time share the work. The earliest first, so that they stay in their
    // order.
    let used = "UPDATE entries e SET last_used = $1
                FROM projects p CROSS JOIN LATERAL (
                         SELECT project_id, entry_id FROM entries WHERE project_id = p.project_id AND last_used > $1
                         ORDER BY last_used LIMIT $2 FOR UPDATE SKIP LOCKED) later
                WHERE e.project_id = later.project_id AND e.entry_id = later.entry_id";
    connections.bulk(used, &[&now.as_nanos(), &limit_of(at_most)]).await?;
    let choose = "SELECT project_id, entry_id FROM entries WHERE expires <= $1
                  ORDER BY expires, project_id, entry_id LIMIT $2 FOR UPDATE SKIP LOCKED";
    let sql = format!("WITH {} SELECT count(*) FROM done", removing(choose));
    let mut removed = total(&connections.bulk(&sql, &[&now.as_nanos(), &limit_of(at_most)]).await?)?;
    let at_most = at_most.get() as u64;
    if removed >= at_most {
        return Ok(removed);
    }
    let over = format!(
        "SELECT p.project_id FROM projects p JOIN entry_counts c ON c.project_id = p.project_id
         GROUP BY p.project_id HAVING sum(c.entries) > {}",
        surplus::allowed("p.settings")
    );
    for row in connections.bulk(&over, &[]).await? {
        let left = at_most.saturating_sub(removed);
        if left == 0 {
            break;
        }
        let project = ProjectId::from_bytes(id(&row, 0)?);
        removed += surplus::evict(connections, project, None, left).await?;
    }
    Ok(removed)
}
