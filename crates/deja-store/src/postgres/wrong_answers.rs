//! Answers that people found wrong, and the entries that gave too many.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::cache::{PromptHash, WrongAnswer};
use deja_core::clock::Timestamp;
use deja_core::embedding::Similarity;
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{Probe, Quarantined, StoreError, WrongAnswers};
use pgvector::Vector;

use super::PostgresStore;
use super::connections::Params;
use super::rows::{count, get, id, limit_of, number_before, signed, similarity, text, time, uuid, word};
use super::vectors::dimension;

/// A prompt that is asked in the project $1, in the parameters of a statement.
pub(super) struct Asked {
    /// Its hash.
    pub(super) hash: &'static str,
    /// Its vector.
    pub(super) vector: &'static str,
    /// Who made that.
    pub(super) embedder: &'static str,
    /// How many components it has.
    pub(super) dimension: &'static str,
}

impl Asked {
    /// Whether it must not be answered by an entry of the prompt with the hash `matched`, whose vector has the cosine
    /// `score` to it. Vectors of other dimensions have none: the server takes that for an error.
    pub(super) fn is_forbidden(&self, matched: &str, score: &str) -> String {
        let Self { hash, vector, embedder, dimension } = self;
        format!(
            "({matched} <> {hash} AND EXISTS (
                 SELECT FROM wrong_answers w WHERE w.project_id = $1
                 AND (w.asked_hash = {hash} AND w.matched_hash = {matched}
                      OR w.asked_hash = {matched} AND w.matched_hash = {hash}
                      OR w.matched_hash = {matched} AND w.embedder = {embedder}
                         AND CASE WHEN vector_dims(w.vector) = {dimension}
                                  THEN -(w.vector::vector <#> {vector}) / l2_norm(w.vector) > greatest({score}, 0)
                                  ELSE false END)))"
        )
    }
}

#[async_trait]
impl WrongAnswers for PostgresStore {
    async fn is_forbidden(
        &self,
        project: ProjectId,
        probe: Probe<'_>,
        matched: &PromptHash,
        similarity: Similarity,
    ) -> Result<bool, StoreError> {
        let asked = Asked { hash: "$2::bytea", vector: "$3", embedder: "$4", dimension: "$5" };
        let sql = format!("SELECT {}", asked.is_forbidden("$6::bytea", "$7::double precision"));
        let params: Params<'_> = &[
            &uuid(project.as_bytes()),
            &probe.prompt.0.as_slice(),
            &Vector::from(probe.embedding.as_slice().to_vec()),
            &probe.embedder.as_str(),
            &dimension(probe.embedding),
            &matched.0.as_slice(),
            &f64::from(similarity.get()),
        ];
        get(&self.connections.of(project).query_one(&sql, params).await?, 0)
    }

    async fn wrong_answers(
        &self,
        project: ProjectId,
        before_number: Option<u64>,
        at_most: NonZeroUsize,
    ) -> Result<Vec<WrongAnswer>, StoreError> {
        let sql = "SELECT number, at, asked, matched, similarity, model, source FROM wrong_answers
                   WHERE project_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3";
        let params: Params<'_> =
            &[&uuid(project.as_bytes()), &number_before(before_number), &limit_of(at_most)];
        let rows = self.connections.query(sql, params).await?;
        rows.iter()
            .map(|row| {
                Ok(WrongAnswer {
                    number: count(row, 0)?,
                    at: time(row, 1)?,
                    asked: text(row, 2)?,
                    matched: text(row, 3)?,
                    similarity: similarity(row, 4)?,
                    model: text(row, 5)?,
                    source: word(row, 6)?,
                })
            })
            .collect()
    }

    async fn allow(&self, project: ProjectId, number: u64, change: &Change) -> Result<bool, StoreError> {
        let parts = "pair AS (
            SELECT asked_hash, matched_hash FROM wrong_answers WHERE project_id = $1 AND number = $2),
        done AS (
            DELETE FROM wrong_answers w USING pair p WHERE w.project_id = $1
            AND (w.asked_hash = p.asked_hash AND w.matched_hash = p.matched_hash
                 OR w.asked_hash = p.matched_hash AND w.matched_hash = p.asked_hash) RETURNING 1),
        unsaid AS (
            DELETE FROM labels l USING pair p, entries e
            WHERE l.project_id = $1 AND e.project_id = $1 AND e.entry_id = l.entry_id
            AND l.source <> 'judge' AND l.met = 'served' AND NOT l.answers
            AND (l.asked_hash = p.asked_hash AND sha256(e.prompt) = p.matched_hash
                 OR l.asked_hash = p.matched_hash AND sha256(e.prompt) = p.asked_hash))";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &signed(number)];
        Ok(self.change(parts, params, change).await? > 0)
    }

    async fn quarantine(
        &self,
        project: ProjectId,
        at_most: NonZeroUsize,
    ) -> Result<Vec<Quarantined>, StoreError> {
        let sql = "SELECT entry_id, since FROM quarantine WHERE project_id = $1
                   ORDER BY since DESC, entry_id DESC LIMIT $2";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &limit_of(at_most)];
        let rows = self.connections.query(sql, params).await?;
        rows.iter()
            .map(|row| Ok(Quarantined { entry: EntryId::from_bytes(id(row, 0)?), since: time(row, 1)? }))
            .collect()
    }

    async fn quarantined(&self, project: ProjectId, entry: EntryId) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT since FROM quarantine WHERE project_id = $1 AND entry_id = $2";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(entry.as_bytes())];
        let row = self.connections.query_opt(sql, params).await?;
        row.map(|row| time(&row, 0)).transpose()
    }

    async fn end_quarantine(
        &self,
        project: ProjectId,
        entry: EntryId,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let parts = "done AS (DELETE FROM quarantine WHERE project_id = $1 AND entry_id = $2 RETURNING 1)";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(entry.as_bytes())];
        Ok(self.change(parts, params, change).await? > 0)
    }
}
