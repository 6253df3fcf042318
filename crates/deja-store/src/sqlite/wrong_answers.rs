//! Answers that people found wrong, and the entries that gave too many. What they forbid is in memory too
//! ([`super::forbidden`]).

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::cache::{PromptHash, WrongAnswer};
use deja_core::clock::Timestamp;
use deja_core::embedding::Similarity;
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{Probe, Quarantined, StoreError, WrongAnswers};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::entries::remove;
use super::forbidden::Pair;
use super::rows::{count, limit_of, number_before, signed, similarity, time, word};
use super::{Done, SqliteStore};

/// Deletes the pair ?2, ?3 of the project ?1, whoever made it and whichever of the two was asked.
const ALLOW: &str = "DELETE FROM wrong_answers
     WHERE project_id = ?1 AND asked IN (?2, ?3) AND (asked, matched) IN (VALUES (?2, ?3), (?3, ?2))";
/// Deletes what people said that made this pair.
const UNSAY: &str = "DELETE FROM labels WHERE number IN (
         SELECT l.number FROM labels l JOIN entries e ON e.entry = l.entry
         WHERE l.project_id = ?1 AND l.source <> 'judge' AND l.met = 'served' AND NOT l.answers
               AND (l.asked, e.prompt) IN (VALUES (?2, ?3), (?3, ?2)))";

/// Allows the pair of this number, and gives its prompts; `None` if there is none.
fn allow(connection: &Connection, project: ProjectId, number: u64) -> rusqlite::Result<Option<[String; 2]>> {
    let pair: Option<(String, String)> = connection
        .prepare_cached("SELECT asked, matched FROM wrong_answers WHERE project_id = ?1 AND number = ?2")?
        .query_row(params![project.as_bytes(), signed(number)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((asked, matched)) = pair else { return Ok(None) };
    for sql in [ALLOW, UNSAY] {
        connection.prepare_cached(sql)?.execute(params![project.as_bytes(), asked, matched])?;
    }
    Ok(Some([asked, matched]))
}

#[async_trait]
impl WrongAnswers for SqliteStore {
    async fn is_forbidden(
        &self,
        project: ProjectId,
        probe: Probe<'_>,
        matched: &PromptHash,
        similarity: Similarity,
    ) -> Result<bool, StoreError> {
        let own = self.memory.embedder.as_ref().is_some_and(|(own, _)| own == probe.embedder);
        Ok(self.memory.forbidden.of(project).is_some_and(|pairs| {
            let pairs = pairs.read();
            if own {
                pairs.forbid(&probe, matched, similarity)
            } else {
                pairs.forbid_pair(&probe.prompt, matched)
            }
        }))
    }

    async fn wrong_answers(
        &self,
        project: ProjectId,
        before: Option<u64>,
        limit: NonZeroUsize,
    ) -> Result<Vec<WrongAnswer>, StoreError> {
        let sql = "SELECT number, at, asked, matched, similarity, model, source FROM wrong_answers
                   WHERE project_id = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3";
        let values = (*project.as_bytes(), number_before(before), limit_of(limit));
        let wrong_answer = |row: &Row<'_>| {
            Ok(WrongAnswer {
                number: count(row, 0)?,
                at: time(row, 1)?,
                asked: row.get(2)?,
                matched: row.get(3)?,
                similarity: similarity(row, 4)?,
                model: row.get(5)?,
                source: word(row, 6)?,
            })
        };
        self.readers.all(sql, values, wrong_answer).await
    }

    async fn allow(&self, project: ProjectId, number: u64, change: &Change) -> Result<bool, StoreError> {
        let memory = Arc::clone(&self.memory);
        self.audited(change, move |connection| {
            let Some(prompts) = allow(connection, project, number)? else { return Ok(Done::quiet(false)) };
            let prompts = prompts.each_ref().map(String::as_str);
            let pair = Pair::read(connection, project, memory.own_embedder(), prompts)?;
            Ok(Done::then(true, move || memory.forbidden.set(project, pair)))
        })
        .await
    }

    async fn quarantine(
        &self,
        project: ProjectId,
        limit: NonZeroUsize,
    ) -> Result<Vec<Quarantined>, StoreError> {
        let sql = "SELECT e.entry_id, q.since FROM quarantine q JOIN entries e ON e.entry = q.entry
                   WHERE q.project_id = ?1 ORDER BY q.since DESC, e.entry_id DESC LIMIT ?2";
        let quarantined =
            |row: &Row<'_>| Ok(Quarantined { entry: EntryId::from_bytes(row.get(0)?), since: time(row, 1)? });
        self.readers.all(sql, (*project.as_bytes(), limit_of(limit)), quarantined).await
    }

    async fn quarantined(&self, project: ProjectId, entry: EntryId) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT q.since FROM entries e JOIN quarantine q ON q.entry = e.entry
                   WHERE e.project_id = ?1 AND e.entry_id = ?2";
        self.readers.one(sql, (*project.as_bytes(), *entry.as_bytes()), |row| time(row, 0)).await
    }

    async fn end_quarantine(
        &self,
        project: ProjectId,
        entry: EntryId,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let memory = Arc::clone(&self.memory);
        self.audited(change, move |connection| {
            let Some(row) = remove::row_of(connection, project, entry)? else {
                return Ok(Done::quiet(false));
            };
            let released =
                connection.prepare_cached("DELETE FROM quarantine WHERE entry = ?1")?.execute([row])?;
            Ok(Done::then(released > 0, move || memory.forbidden.release(row)))
        })
        .await
    }
}
