//! Taking entries out whole, page by page.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::cache::PromptHash;
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding};
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{EntryCursor, Export, PAGE_BYTES, StoreError, WholeEntry};
use pgvector::HalfVector;
use tokio_postgres::Row;

use super::PostgresStore;
use super::entries::{self, WIDTH};
use super::rows::{get, hash, id, limit_of, parameters, text_or_none, unreadable, uuid, word};

#[async_trait]
impl Export for PostgresStore {
    async fn export(
        &self,
        project: ProjectId,
        after: Option<EntryCursor>,
        now: Timestamp,
        at_most: NonZeroUsize,
    ) -> Result<Vec<WholeEntry>, StoreError> {
        let after = after.unwrap_or(EntryCursor::OLDEST);
        // Which entries first, by their lengths alone: no text is read that the page has no room for.
        let sql = format!(
            "WITH live AS (
                 SELECT entry_id, created, octet_length(prompt) + octet_length(answer) + coalesce(octet_length(record), 0)
                        + coalesce(octet_length(context), 0) + coalesce(octet_length(parameters), 0) AS bytes
                 FROM entries
                 WHERE project_id = $1 AND (created, entry_id) > ($2, $3) AND (expires IS NULL OR expires > $4)
                 ORDER BY created, entry_id LIMIT $5),
             summed AS (
                 SELECT entry_id, sum(bytes) OVER (ORDER BY created, entry_id) - bytes AS before FROM live)
             SELECT {}, e.record, e.prompt_hash, e.kind, e.context, e.parameters, v.embedder, v.vector
             FROM summed s JOIN entries e ON e.project_id = $1 AND e.entry_id = s.entry_id
                  LEFT JOIN vectors v ON v.project_id = $1 AND v.entry_id = s.entry_id
             WHERE s.before < $6 ORDER BY e.created, e.entry_id, v.embedder",
            entries::COLUMNS
        );
        let (created, last_id) = (after.created.as_nanos(), uuid(after.id.as_bytes()));
        let (now, limit, bytes) = (now.as_nanos(), limit_of(at_most), PAGE_BYTES as i64);
        let rows = self
            .connections
            .bulk(&sql, &[&uuid(project.as_bytes()), &created, &last_id, &now, &limit, &bytes])
            .await?;
        let mut page: Vec<WholeEntry> = Vec::new();
        for row in &rows {
            // One row for each vector.
            let id = EntryId::from_bytes(id(row, 0)?);
            if page.last().is_none_or(|last| last.entry.id != id) {
                page.push(WholeEntry {
                    entry: entries::whole_from_row(row, 0)?,
                    prompt_hash: PromptHash(hash(row, WIDTH + 1)?),
                    kind: word(row, WIDTH + 2)?,
                    context: text_or_none(row, WIDTH + 3)?,
                    parameters: parameters(row, WIDTH + 4)?,
                    vectors: Vec::new(),
                });
            }
            if let (Some(last), Some(vector)) = (page.last_mut(), vector(row)?) {
                last.vectors.push(vector);
            }
        }
        Ok(page)
    }
}

fn vector(row: &Row) -> Result<Option<(EmbedderId, Option<Embedding>)>, StoreError> {
    let first = WIDTH + 5;
    let Some(embedder) = get::<Option<&str>>(row, first)? else { return Ok(None) };
    let embedding = |vector: HalfVector| {
        let values: Vec<f32> = vector.to_vec().iter().map(|value| value.to_f32()).collect();
        Embedding::new(values).map_err(|error| unreadable(first + 1, error))
    };
    let vector = get::<Option<HalfVector>>(row, first + 1)?.map(embedding).transpose()?;
    Ok(Some((EmbedderId::new(embedder), vector)))
}
