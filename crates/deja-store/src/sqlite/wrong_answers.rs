//! Answers that people found wrong. The pairs that they forbid are in memory too, so that a hit asks for them
//! without a look at the database.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::cache::{PromptHash, WrongAnswer};
use deja_core::embedding::Similarity;
use deja_core::id::ProjectId;
use deja_core::store::{StoreError, WrongAnswers, WrongHit};
use parking_lot::RwLock;
use rusqlite::{Connection, OptionalExtension, params};

use super::entries::remove;
use super::fault::fault;
use super::rows::{count, limit_of, number_before, time};
use super::{Done, SqliteStore, audit};

/// The prompts whose entries must not answer a prompt, by project and prompt. The writer thread keeps it as the
/// table is.
#[derive(Default)]
pub(super) struct Forbidden {
    pairs: RwLock<HashMap<(ProjectId, PromptHash), Vec<PromptHash>>>,
}

impl Forbidden {
    /// What the database holds.
    pub(super) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let forbidden = Self::default();
        let mut select = connection.prepare("SELECT project_id, asked, matched FROM wrong_answers")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let (asked, matched) = (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
            let project = ProjectId::from_bytes(row.get(0)?);
            forbidden.add(project, PromptHash::of(asked), PromptHash::of(matched));
        }
        Ok(forbidden)
    }

    fn add(&self, project: ProjectId, one: PromptHash, other: PromptHash) {
        // A prompt always answers itself.
        if one == other {
            return;
        }
        let mut pairs = self.pairs.write();
        for (prompt, of) in [(one, other), (other, one)] {
            let others = pairs.entry((project, prompt)).or_default();
            if !others.contains(&of) {
                others.push(of);
            }
        }
    }

    /// The prompts whose entries must not answer this one.
    pub(super) fn of(&self, project: ProjectId, prompt: &PromptHash) -> Vec<PromptHash> {
        self.pairs.read().get(&(project, *prompt)).cloned().unwrap_or_default()
    }

    pub(super) fn forget(&self, project: ProjectId) {
        self.pairs.write().retain(|(owner, _), _| *owner != project);
    }
}

#[async_trait]
impl WrongAnswers for SqliteStore {
    async fn mark_wrong(
        &self,
        project: ProjectId,
        hit: WrongHit<'_>,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let (asked, entry, similarity) = (hit.asked.to_owned(), hit.entry, f64::from(hit.similarity.get()));
        let change = change.clone();
        let memory = Arc::clone(&self.memory);
        self.writer
            .write(move |connection| {
                let Some(row) = remove::row_of(connection, project, entry).map_err(fault)? else {
                    return Ok(Done::quiet(false));
                };
                let matched: Option<String> = connection
                    .prepare_cached(
                        "INSERT INTO wrong_answers (project_id, at, asked, matched, similarity, model)
                         SELECT project_id, ?2, ?3, prompt, ?4, model FROM entries WHERE entry = ?1
                         RETURNING matched",
                    )
                    .and_then(|mut insert| {
                        let values = params![row, change.at.as_nanos(), asked, similarity];
                        insert.query_row(values, |row| row.get(0)).optional()
                    })
                    .map_err(fault)?;
                audit::write(connection, &change)?;
                Ok(Done::then(true, move || {
                    if let Some(matched) = matched {
                        memory.forbidden.add(project, PromptHash::of(&asked), PromptHash::of(&matched));
                    }
                }))
            })
            .await
    }

    async fn forbidden(
        &self,
        project: ProjectId,
        prompt: &PromptHash,
    ) -> Result<Vec<PromptHash>, StoreError> {
        Ok(self.memory.forbidden.of(project, prompt))
    }

    async fn wrong_answers(
        &self,
        project: ProjectId,
        before: Option<u64>,
        limit: NonZeroUsize,
    ) -> Result<Vec<WrongAnswer>, StoreError> {
        self.readers
            .read(move |connection| {
                connection
                    .prepare_cached(
                        "SELECT number, at, asked, matched, similarity, model FROM wrong_answers
                         WHERE project_id = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3",
                    )?
                    .query_map(params![project.as_bytes(), number_before(before), limit_of(limit)], |row| {
                        Ok(WrongAnswer {
                            number: count(row, 0)?,
                            at: time(row, 1)?,
                            asked: row.get(2)?,
                            matched: row.get(3)?,
                            similarity: Similarity::from_cosine(row.get::<_, f64>(4)? as f32),
                            model: row.get(5)?,
                        })
                    })?
                    .collect()
            })
            .await
    }
}
