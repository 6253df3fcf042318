//! Answers that people found wrong.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::cache::{PromptHash, WrongAnswer};
use deja_core::embedding::Similarity;
use deja_core::id::ProjectId;
use deja_core::store::{StoreError, WrongAnswers, WrongHit};

use super::PostgresStore;
use super::connections::Params;
use super::rows::{before, count, get, limit, text, time, unreadable, uuid};

#[async_trait]
impl WrongAnswers for PostgresStore {
    async fn mark_wrong(
        &self,
        project: ProjectId,
        hit: WrongHit<'_>,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let parts = "done AS (
            INSERT INTO wrong_answers (project_id, at, asked, matched, similarity, model)
            SELECT project_id, $3::bigint, $4::bytea, prompt, $5::real, model FROM entries
            WHERE project_id = $1 AND entry_id = $2 RETURNING 1)";
        let (at, asked, similarity) = (change.at.as_nanos(), hit.asked.as_bytes(), hit.similarity.get());
        let params: Params<'_> =
            &[&uuid(project.as_bytes()), &uuid(hit.entry.as_bytes()), &at, &asked, &similarity];
        Ok(self.change(parts, params, change).await? > 0)
    }

    async fn forbidden(
        &self,
        project: ProjectId,
        prompt: &PromptHash,
    ) -> Result<Vec<PromptHash>, StoreError> {
        let sql = "SELECT matched_hash FROM wrong_answers
                   WHERE project_id = $1 AND asked_hash = $2 AND matched_hash <> $2
                   UNION SELECT asked_hash FROM wrong_answers
                   WHERE project_id = $1 AND matched_hash = $2 AND asked_hash <> $2";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &prompt.0.as_slice()];
        let rows = self.connections.query(sql, params).await?;
        rows.iter()
            .map(|row| {
                let hash = get::<&[u8]>(row, 0)?;
                hash.try_into().map(PromptHash).map_err(|error| unreadable(0, error))
            })
            .collect()
    }

    async fn wrong_answers(
        &self,
        project: ProjectId,
        before_number: Option<u64>,
        at_most: NonZeroUsize,
    ) -> Result<Vec<WrongAnswer>, StoreError> {
        let sql = "SELECT number, at, asked, matched, similarity, model FROM wrong_answers
                   WHERE project_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &before(before_number), &limit(at_most)];
        let rows = self.connections.query(sql, params).await?;
        rows.iter()
            .map(|row| {
                Ok(WrongAnswer {
                    number: count(row, 0)?,
                    at: time(row, 1)?,
                    asked: text(row, 2)?,
                    matched: text(row, 3)?,
                    similarity: Similarity::from_cosine(get(row, 4)?),
                    model: text(row, 5)?,
                })
            })
            .collect()
    }
}
