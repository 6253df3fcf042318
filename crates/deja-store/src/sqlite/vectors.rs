//! Vectors after a change of embedder: which entries lack one, and giving it to them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use deja_core::cache::ScopeKey;
use deja_core::embedding::{EmbedderId, Embedding};
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{StaleEntry, StoreError, Vectors};
use rusqlite::{Connection, OptionalExtension, params};

use super::entries::embedder_number;
use super::fault::fault;
use super::index::{EmbedderNumber, Row, Vector};
use super::{Done, SqliteStore};

#[async_trait]
impl Vectors for SqliteStore {
    async fn stale_count(&self, embedder: &EmbedderId) -> Result<u64, StoreError> {
        let embedder = embedder.clone();
        let count: i64 = self
            .readers
            .read(move |connection| {
                let mut counts = 0;
                for other in others(connection, &embedder)? {
                    counts += connection
                        .prepare_cached("SELECT count(*) FROM vectors WHERE embedder IS ?1")?
                        .query_row([other], |row| row.get::<_, i64>(0))?;
                }
                Ok(counts)
            })
            .await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    async fn stale(&self, embedder: &EmbedderId, limit: NonZeroUsize) -> Result<Vec<StaleEntry>, StoreError> {
        let embedder = embedder.clone();
        self.readers.read(move |connection| stale(connection, &embedder, limit)).await
    }

    async fn replace_vector(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        vector: Option<&Embedding>,
    ) -> Result<bool, StoreError> {
        let memory = Arc::clone(&self.memory);
        let embedder = embedder.clone();
        let vector = vector
            .map(|vector| {
                Vector::new(vector).ok_or_else(|| {
                    StoreError::Internal("the vector has no direction at half precision".into())
                })
            })
            .transpose()?;
        self.writer
            .write(move |connection| {
                let Some(before) = stored(connection, project, entry).map_err(fault)? else {
                    return Ok(Done::quiet(false));
                };
                let number = embedder_number(connection, &embedder).map_err(fault)?;
                connection
                    .prepare_cached("UPDATE vectors SET embedder = ?2, vector = ?3 WHERE entry = ?1")
                    .and_then(|mut update| {
                        let bytes = vector.as_ref().map(Vector::to_bytes);
                        update.execute(params![before.row, number, bytes])
                    })
                    .map_err(fault)?;
                Ok(Done::then(true, move || {
                    let index = &memory.index;
                    if let Some((old, dimension)) = before.vector {
                        index.remove_vector(before.scope, old, dimension, before.row);
                    }
                    index.learn(embedder, number);
                    if let Some(vector) = vector {
                        index.add_vector(before.scope, number, &vector, before.row, entry, before.expires);
                    }
                }))
            })
            .await
    }
}

/// An entry's vector as it is before it is replaced.
struct Stored {
    row: Row,
    scope: ScopeKey,
    expires: i64,
    vector: Option<(EmbedderNumber, usize)>,
}

fn stored(connection: &Connection, project: ProjectId, entry: EntryId) -> rusqlite::Result<Option<Stored>> {
    connection
        .prepare_cached(
            "SELECT e.entry, s.scope_key, e.expires, v.embedder, length(v.vector)
             FROM entries e JOIN scopes s ON s.scope = e.scope JOIN vectors v ON v.entry = e.entry
             WHERE e.project_id = ?1 AND e.entry_id = ?2",
        )?
        .query_row(params![project.as_bytes(), entry.as_bytes()], |row| {
            let bytes: Option<u32> = row.get(4)?;
            Ok(Stored {
                row: row.get(0)?,
                scope: ScopeKey(row.get(1)?),
                expires: row.get::<_, Option<i64>>(2)?.unwrap_or(i64::MAX),
                vector: row.get::<_, Option<i64>>(3)?.zip(bytes.map(|bytes| bytes as usize / 2)),
            })
        })
        .optional()
}

/// The embedders other than this one, none included. There are few, and the index is by embedder: asking for
/// each is quick however many entries have the right one.
fn others(connection: &Connection, embedder: &EmbedderId) -> rusqlite::Result<Vec<Option<EmbedderNumber>>> {
    let mut others = vec![None];
    let mut select = connection.prepare_cached("SELECT embedder FROM embedders WHERE name <> ?1")?;
    for number in select.query_map([embedder.as_str()], |row| row.get(0))? {
        others.push(Some(number?));
    }
    Ok(others)
}

fn stale(
    connection: &Connection,
    embedder: &EmbedderId,
    limit: NonZeroUsize,
) -> rusqlite::Result<Vec<StaleEntry>> {
    let count = i64::try_from(limit.get()).unwrap_or(i64::MAX);
    let mut oldest: Vec<(i64, EntryId, ProjectId, Row)> = Vec::new();
    for other in others(connection, embedder)? {
        let mut select = connection.prepare_cached(
            "SELECT created, entry_id, project_id, entry FROM vectors WHERE embedder IS ?1
             ORDER BY created, entry_id LIMIT ?2",
        )?;
        let rows = select.query_map(params![other, count], |row| {
            let (id, project) = (EntryId::from_bytes(row.get(1)?), ProjectId::from_bytes(row.get(2)?));
            Ok((row.get(0)?, id, project, row.get(3)?))
        })?;
        for row in rows {
            oldest.push(row?);
        }
    }
    oldest.sort_unstable();
    oldest.truncate(limit.get());
    let mut select = connection.prepare_cached("SELECT prompt FROM entries WHERE entry = ?1")?;
    let entries = oldest.into_iter().map(|(_, id, project, row)| {
        let prompt = select.query_row([row], |row| row.get(0)).optional()?;
        Ok(prompt.map(|prompt| StaleEntry { project, id, prompt }))
    });
    entries.filter_map(Result::transpose).collect()
}
