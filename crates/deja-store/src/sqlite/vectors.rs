//! The vectors of entries: which entries lack one, who is about to make it, and giving it to them.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use deja_core::cache::ScopeKey;
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding};
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{EntryPlace, StaleCount, StaleEntry, StoreError, Vectors};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};

use super::entries::{embedder_number, put_vector, remove};
use super::index::{Row, Vector};
use super::rows::unreadable;
use super::{Done, EmbedderNumber, SqliteStore};

/// Until when stale entries are claimed, and which of them were set aside: in memory only, since no other process
/// shares the work. After a restart all are tried again.
#[derive(Default)]
pub(super) struct StaleClaims {
    claims: Mutex<HashMap<(EmbedderId, Row), Claim>>,
}

#[derive(Clone, Copy)]
struct Claim {
    until: Timestamp,
    failed: bool,
}

/// The stale entries `h` for the embedder called ?1.
const STALE: &str = "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.entry = h.entry
    AND v.embedder = (SELECT embedder FROM embedders WHERE name = ?1))
    AND NOT (SELECT exact FROM scopes s WHERE s.scope = h.scope)";

#[async_trait]
impl Vectors for SqliteStore {
    async fn stale_count(
        &self,
        project: Option<ProjectId>,
        embedder: &EmbedderId,
        now: Timestamp,
    ) -> Result<StaleCount, StoreError> {
        let (memory, embedder) = (Arc::clone(&self.memory), embedder.clone());
        // All entries are looked at: hits do not wait for it.
        self.searches
            .read_to_the_end(move |connection| {
                let failed = memory.stale_claims.failed(&embedder, now);
                count(connection, project, &embedder, &failed)
            })
            .await
    }

    async fn claim_stale(
        &self,
        embedder: &EmbedderId,
        after: Option<EntryPlace>,
        now: Timestamp,
        until: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<StaleEntry>, StoreError> {
        let (memory, embedder) = (Arc::clone(&self.memory), embedder.clone());
        self.readers
            .read(move |connection| {
                let lease = Claim { until, failed: false };
                memory.stale_claims.claim(connection, &embedder, after, now, lease, limit)
            })
            .await
    }

    async fn put_vector(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        vector: Option<&Embedding>,
    ) -> Result<bool, StoreError> {
        let memory = Arc::clone(&self.memory);
        let embedder = embedder.clone();
        let vector = vector.map(halved).transpose()?;
        self.writer
            .write_if_room(move |connection| {
                let number = embedder_number(connection, &embedder)?;
                let Some(before) = stored(connection, project, entry, number)? else {
                    return Ok(Done::quiet(false));
                };
                put_vector(connection, before.row, number, vector.as_ref())?;
                Ok(Done::then(true, move || {
                    memory.stale_claims.claims.lock().remove(&(embedder, before.row));
                    if memory.own_embedder() == Some(number) {
                        let index = &memory.index;
                        if let Some(dimension) = before.dimension {
                            index.remove_vector(before.scope, dimension, before.row);
                        }
                        if let Some(vector) = vector {
                            index.add_vector(before.scope, vector, before.row, entry, before.expires);
                        }
                    }
                }))
            })
            .await
    }

    async fn set_aside(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let row = self.readers.read(move |connection| remove::row_of(connection, project, entry)).await?;
        if let Some(row) = row {
            let mut claims = self.memory.stale_claims.claims.lock();
            claims.insert((embedder.clone(), row), Claim { until, failed: true });
        }
        Ok(row.is_some())
    }
}

impl StaleClaims {
    /// The entries that were set aside.
    fn failed(&self, embedder: &EmbedderId, now: Timestamp) -> Vec<Row> {
        let claims = self.claims.lock();
        let failed =
            claims.iter().filter(|((by, _), claim)| by == embedder && claim.failed && now < claim.until);
        failed.map(|((_, row), _)| *row).collect()
    }

    /// Claims stale entries. Locked all the time: what one call sees free, no other one claims.
    fn claim(
        &self,
        connection: &Connection,
        embedder: &EmbedderId,
        after: Option<EntryPlace>,
        now: Timestamp,
        lease: Claim,
        limit: NonZeroUsize,
    ) -> rusqlite::Result<Vec<StaleEntry>> {
        let mut claims = self.claims.lock();
        claims.retain(|_, claim| now < claim.until);
        // The empty blob comes before all.
        let (project, id) = after.map_or((Vec::new(), Vec::new()), |(project, id)| {
            (project.as_bytes().to_vec(), id.as_bytes().to_vec())
        });
        let sql = format!(
            "SELECT h.entry, h.project_id, h.entry_id, h.prompt FROM entries h
             WHERE (h.project_id, h.entry_id) > (?2, ?3) AND {STALE} ORDER BY h.project_id, h.entry_id"
        );
        let mut select = connection.prepare_cached(&sql)?;
        let mut rows = select.query(params![embedder.as_str(), project, id])?;
        let mut stale = Vec::new();
        while let Some(row) = rows.next()? {
            let key = (embedder.clone(), row.get(0)?);
            if claims.contains_key(&key) {
                continue;
            }
            claims.insert(key, lease);
            stale.push(StaleEntry {
                project: ProjectId::from_bytes(row.get(1)?),
                id: EntryId::from_bytes(row.get(2)?),
                prompt: row.get(3)?,
            });
            if stale.len() == limit.get() {
                break;
            }
        }
        Ok(stale)
    }
}

/// A vector as it is kept.
pub(super) fn halved(embedding: &Embedding) -> Result<Vector, StoreError> {
    let none = || StoreError::Internal("the vector has no direction at half precision".into());
    Vector::new(embedding).ok_or_else(none)
}

/// The vector of an entry as it is stored; `None` if there is none, or the entry is gone.
pub(super) fn read(
    connection: &Connection,
    entry: Row,
    embedder: Option<EmbedderNumber>,
) -> rusqlite::Result<Option<Vector>> {
    let sql = "SELECT vector FROM vectors WHERE entry = ?1 AND embedder = ?2 AND vector IS NOT NULL";
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query(params![entry, embedder])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let vector = Vector::from_bytes(row.get_ref(0)?.as_blob()?);
    vector.map(Some).ok_or_else(|| unreadable(0, format!("the vector of entry {entry} cannot be read")))
}

fn count(
    connection: &Connection,
    project: Option<ProjectId>,
    embedder: &EmbedderId,
    set_aside: &[Row],
) -> rusqlite::Result<StaleCount> {
    let of = if project.is_some() { "h.project_id = ?2" } else { "?2 IS NULL" };
    let project = project.map(|project| project.as_bytes().to_vec());
    let number = |sql: &str, row: Option<Row>| -> rusqlite::Result<u64> {
        let values = params![embedder.as_str(), project, row];
        connection.prepare_cached(sql)?.query_row(values, |row| super::rows::count(row, 0))
    };
    let all = number(&format!("SELECT count(*) FROM entries h WHERE {of} AND {STALE} AND ?3 IS NULL"), None)?;
    let one = format!("SELECT count(*) FROM entries h WHERE h.entry = ?3 AND {of} AND {STALE}");
    let mut failed = 0;
    for row in set_aside {
        failed += number(&one, Some(*row))?;
    }
    Ok(StaleCount { waiting: all.saturating_sub(failed), failed })
}

/// An entry, and the dimension of the vector of an embedder that it has already.
struct Stored {
    row: Row,
    scope: ScopeKey,
    expires: i64,
    dimension: Option<usize>,
}

fn stored(
    connection: &Connection,
    project: ProjectId,
    entry: EntryId,
    embedder: EmbedderNumber,
) -> rusqlite::Result<Option<Stored>> {
    connection
        .prepare_cached(
            "SELECT e.entry, s.scope_key, e.expires, length(v.vector)
             FROM entries e JOIN scopes s ON s.scope = e.scope
                  LEFT JOIN vectors v ON v.entry = e.entry AND v.embedder = ?3
             WHERE e.project_id = ?1 AND e.entry_id = ?2",
        )?
        .query_row(params![project.as_bytes(), entry.as_bytes(), embedder], |row| {
            Ok(Stored {
                row: row.get(0)?,
                scope: ScopeKey(row.get(1)?),
                expires: row.get::<_, Option<i64>>(2)?.unwrap_or(i64::MAX),
                dimension: row.get::<_, Option<u32>>(3)?.map(|bytes| bytes as usize / 2),
            })
        })
        .optional()
}
