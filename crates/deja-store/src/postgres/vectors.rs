//! Vectors: as they are kept, and which entries lack one.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding, Similarity};
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{EntryPlace, StaleCount, StaleEntry, StoreError, Vectors};
use half::f16;
use pgvector::HalfVector;
use uuid::Uuid;

use super::PostgresStore;
use super::connections::Params;
use super::rows::{count, get, id, limit_of, text, uuid};

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

/// How many components it has.
pub(super) fn dimension(embedding: &Embedding) -> i32 {
    i32::try_from(embedding.dimension()).unwrap_or(i32::MAX)
}

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

/// The stale entries `e` for the embedder $1.
const STALE: &str = "NOT EXISTS (SELECT FROM vectors v
    WHERE v.project_id = e.project_id AND v.entry_id = e.entry_id AND v.embedder = $1) AND NOT e.exact";

#[async_trait]
impl Vectors for PostgresStore {
    async fn stale_count(
        &self,
        project: Option<ProjectId>,
        embedder: &EmbedderId,
        now: Timestamp,
    ) -> Result<StaleCount, StoreError> {
        let of = if project.is_some() { "e.project_id = $3" } else { "$3::uuid IS NULL" };
        let sql = format!(
            "SELECT count(*) FILTER (WHERE c.failed IS NULL), count(c.failed)
             FROM entries e LEFT JOIN stale_claims c
                  ON c.project_id = e.project_id AND c.entry_id = e.entry_id AND c.embedder = $1
                     AND c.failed AND c.until > $2
             WHERE {of} AND {STALE}"
        );
        let project = project.map(|project| uuid(project.as_bytes()));
        let rows = self.connections.bulk(&sql, &[&embedder.as_str(), &now.as_nanos(), &project]).await?;
        let Some(row) = rows.first() else { return Ok(StaleCount::default()) };
        Ok(StaleCount { waiting: count(row, 0)?, failed: count(row, 1)? })
    }

    async fn claim_stale(
        &self,
        embedder: &EmbedderId,
        after: Option<EntryPlace>,
        now: Timestamp,
        until: Timestamp,
        at_most: NonZeroUsize,
    ) -> Result<Vec<StaleEntry>, StoreError> {
        // Two replicas that look at the same time see the same entries as free. One gets them, the other looks further.
        let sql = format!(
            "WITH free AS (
                 SELECT e.project_id, e.entry_id, e.prompt FROM entries e
                 WHERE (e.project_id, e.entry_id) > ($4, $5) AND {STALE}
                   AND NOT EXISTS (SELECT FROM stale_claims c
                                   WHERE c.project_id = e.project_id AND c.entry_id = e.entry_id
                                         AND c.embedder = $1 AND c.until > $2)
                 ORDER BY e.project_id, e.entry_id LIMIT $6 FOR KEY SHARE SKIP LOCKED),
             claimed AS (
                 INSERT INTO stale_claims AS c (project_id, entry_id, embedder, until, failed)
                 SELECT project_id, entry_id, $1, $3::bigint, false FROM free ORDER BY project_id, entry_id
                 ON CONFLICT (project_id, entry_id, embedder)
                 DO UPDATE SET until = excluded.until, failed = false WHERE c.until <= $2
                 RETURNING c.project_id, c.entry_id)
             SELECT f.project_id, f.entry_id, f.prompt, c.entry_id IS NOT NULL
             FROM free f LEFT JOIN claimed c ON c.project_id = f.project_id AND c.entry_id = f.entry_id
             ORDER BY f.project_id, f.entry_id"
        );
        let mut after = after.map_or((Uuid::nil(), Uuid::nil()), |(project, entry)| {
            (uuid(project.as_bytes()), uuid(entry.as_bytes()))
        });
        loop {
            let (embedder, now, until, limit) =
                (embedder.as_str(), now.as_nanos(), until.as_nanos(), limit_of(at_most));
            let rows =
                self.connections.bulk(&sql, &[&embedder, &now, &until, &after.0, &after.1, &limit]).await?;
            let Some(last) = rows.last() else { return Ok(Vec::new()) };
            after = (get(last, 0)?, get(last, 1)?);
            let mut mine = Vec::new();
            for row in &rows {
                if get(row, 3)? {
                    mine.push(StaleEntry {
                        project: ProjectId::from_bytes(id(row, 0)?),
                        id: EntryId::from_bytes(id(row, 1)?),
                        prompt: text(row, 2)?,
                    });
                }
            }
            if !mine.is_empty() {
                return Ok(mine);
            }
        }
    }

    async fn put_vector(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        vector: Option<&Embedding>,
    ) -> Result<bool, StoreError> {
        let dimension = vector.map(dimension);
        let vector = vector.map(stored).transpose()?;
        let sql = "
            WITH owner AS (
                SELECT project_id, entry_id, scope_key, created, expires FROM entries
                WHERE project_id = $1 AND entry_id = $2 FOR KEY SHARE),
            ended AS (
                DELETE FROM stale_claims WHERE project_id = $1 AND entry_id = $2 AND embedder = $3)
            INSERT INTO vectors (project_id, entry_id, scope_key, created, expires, embedder, dimension, vector)
            SELECT project_id, entry_id, scope_key, created, expires, $3, $4::integer, $5::halfvec FROM owner
            ON CONFLICT (project_id, entry_id, embedder)
            DO UPDATE SET dimension = excluded.dimension, vector = excluded.vector
            RETURNING 1";
        let params: Params<'_> =
            &[&uuid(project.as_bytes()), &uuid(entry.as_bytes()), &embedder.as_str(), &dimension, &vector];
        Ok(!self.connections.query(sql, params).await?.is_empty())
    }

    async fn set_aside(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "
            INSERT INTO stale_claims (project_id, entry_id, embedder, until, failed)
            SELECT project_id, entry_id, $3, $4::bigint, true FROM entries
            WHERE project_id = $1 AND entry_id = $2 FOR KEY SHARE
            ON CONFLICT (project_id, entry_id, embedder) DO UPDATE SET until = excluded.until, failed = true
            RETURNING 1";
        let params: Params<'_> =
            &[&uuid(project.as_bytes()), &uuid(entry.as_bytes()), &embedder.as_str(), &until.as_nanos()];
        Ok(!self.connections.query(sql, params).await?.is_empty())
    }
}
