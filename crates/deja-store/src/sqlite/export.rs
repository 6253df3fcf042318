//! Taking entries out whole, page by page.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::cache::PromptHash;
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding};
use deja_core::id::ProjectId;
use deja_core::store::{EntryCursor, Export, PAGE_BYTES, StoreError, WholeEntry};
use half::f16;
use rusqlite::{Row, params};

use super::SqliteStore;
use super::entries::texts::{self, WIDTH};
use super::rows::{limit_of, parameters, unreadable, word};

#[async_trait]
impl Export for SqliteStore {
    async fn export(
        &self,
        project: ProjectId,
        after: Option<EntryCursor>,
        now: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<WholeEntry>, StoreError> {
        let after = after.unwrap_or(EntryCursor::OLDEST);
        self.readers
            .read(move |connection| {
                let mut select = connection.prepare_cached(&format!(
                    "SELECT {}, e.record, e.prompt_hash, s.kind, s.context, s.parameters, e.entry FROM entries e INDEXED BY entries_by_age
                     CROSS JOIN scopes s ON s.scope = e.scope
                     WHERE e.project_id = ?1 AND (e.created, e.entry_id) > (?2, ?3)
                       AND (e.expires IS NULL OR e.expires > ?4)
                     ORDER BY e.created, e.entry_id LIMIT ?5",
                    texts::COLUMNS
                ))?;
                let mut rows = select.query(params![
                    project.as_bytes(),
                    after.created.as_nanos(),
                    after.id.as_bytes(),
                    now.as_nanos(),
                    limit_of(limit),
                ])?;
                let mut vectors = connection.prepare_cached(
                    "SELECT b.name, v.vector FROM vectors v JOIN embedders b ON b.embedder = v.embedder
                     WHERE v.entry = ?1 ORDER BY b.name",
                )?;
                let (mut page, mut bytes) = (Vec::new(), 0);
                while let Some(row) = rows.next()? {
                    let whole = WholeEntry {
                        entry: texts::whole_from_row(row)?,
                        prompt_hash: PromptHash(row.get(WIDTH + 1)?),
                        kind: word(row, WIDTH + 2)?,
                        context: row.get(WIDTH + 3)?,
                        parameters: parameters(row, WIDTH + 4)?,
                        vectors: vectors
                            .query_map([row.get::<_, i64>(WIDTH + 5)?], vector)?
                            .collect::<rusqlite::Result<_>>()?,
                    };
                    bytes += whole.bytes();
                    page.push(whole);
                    if bytes >= PAGE_BYTES {
                        break;
                    }
                }
                Ok(page)
            })
            .await
    }
}

fn vector(row: &Row<'_>) -> rusqlite::Result<(EmbedderId, Option<Embedding>)> {
    let vector = row.get_ref(1)?.as_blob_or_null()?.map(embedding).transpose()?;
    Ok((EmbedderId::new(row.get::<_, String>(0)?), vector))
}

fn embedding(bytes: &[u8]) -> rusqlite::Result<Embedding> {
    let values: Vec<f32> =
        bytes.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f32()).collect();
    Embedding::new(values).map_err(|error| unreadable(1, error))
}
