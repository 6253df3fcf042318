//! Vectors: as they are kept, and after a change of embedder.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::embedding::{EmbedderId, Embedding, Similarity};
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{StaleEntry, StoreError, Vectors};
use half::f16;
use pgvector::HalfVector;

use super::PostgresStore;
use super::rows::{count, id, text, uuid};

/// A vector is kept at f16, as in every backend.
pub(super) fn stored(embedding: &Embedding) -> Result<HalfVector, StoreError> {
    let values: Vec<f16> = embedding.as_slice().iter().map(|value| f16::from_f32(*value)).collect();
    if values.iter().all(|value| *value == f16::ZERO) {
        return Err(StoreError::Internal("the vector has no direction at half precision".into()));
    }
    Ok(HalfVector::from(values))
}

/// Nearer to 1 than rounding to f16 can tell counts as 1.
const ONE: f32 = 1.0 - 1.0 / 1_048_576.0;

/// The similarity of a stored vector to a probe, computed at full precision.
pub(super) fn similarity(stored: &[f16], probe: &Embedding) -> Similarity {
    let (mut dot, mut square) = (0f64, 0f64);
    for (value, other) in stored.iter().zip(probe.as_slice()) {
        let value = f64::from(value.to_f32());
        dot += value * f64::from(*other);
        square += value * value;
    }
    let cosine = (dot / square.sqrt()) as f32;
    if cosine >= ONE { Similarity::ONE } else { Similarity::from_cosine(cosine) }
}

/// Not of this embedder, as ranges of the index that begins with it.
const STALE: &str = "(embedder IS NULL OR embedder < $1 OR embedder > $1)";

#[async_trait]
impl Vectors for PostgresStore {
    async fn stale_count(&self, embedder: &EmbedderId) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM vectors WHERE {STALE}");
        let rows = self.connections.bulk(&sql, &[&embedder.as_str()]).await?;
        rows.first().map_or(Ok(0), |row| count(row, 0))
    }

    async fn stale(&self, embedder: &EmbedderId, limit: NonZeroUsize) -> Result<Vec<StaleEntry>, StoreError> {
        let limit = i64::try_from(limit.get()).unwrap_or(i64::MAX);
        let sql = format!(
            "SELECT s.project_id, s.entry_id, e.prompt
             FROM (SELECT project_id, entry_id, created FROM vectors WHERE {STALE}
                   ORDER BY created, entry_id LIMIT $2) s
                  JOIN entries e ON e.project_id = s.project_id AND e.entry_id = s.entry_id
             ORDER BY s.created, s.entry_id"
        );
        let rows = self.connections.bulk(&sql, &[&embedder.as_str(), &limit]).await?;
        rows.iter()
            .map(|row| {
                Ok(StaleEntry {
                    project: ProjectId::from_bytes(id(row, 0)?),
                    id: EntryId::from_bytes(id(row, 1)?),
                    prompt: text(row, 2)?,
                })
            })
            .collect()
    }

    async fn replace_vector(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        vector: Option<&Embedding>,
    ) -> Result<bool, StoreError> {
        let dimension = vector.map(|vector| i32::try_from(vector.dimension()).unwrap_or(i32::MAX));
        let vector = vector.map(stored).transpose()?;
        let replaced = self
            .connections
            .query(
                "UPDATE vectors SET embedder = $3, dimension = $4, vector = $5
                 WHERE project_id = $1 AND entry_id = $2 RETURNING entry_id",
                &[
                    &uuid(project.as_bytes()),
                    &uuid(entry.as_bytes()),
                    &embedder.as_str(),
                    &dimension,
                    &vector,
                ],
            )
            .await?;
        Ok(!replaced.is_empty())
    }
}
