//! What is said of answers, and what requests were answered with.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::cache::{Answered, Label, LabelSource, Labelled, Met, PromptHash, ShortLabel};
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Similarity};
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{CLOCK_SKEW, Labels, NewLabel, QUARANTINE_FROM, QUARANTINE_WITHIN, StoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::entries::{embedder_number, remove};
use super::fault::Failed;
use super::forbidden::Pair;
use super::index::{Row, Vector};
use super::rows::{count, limit_of, similarity, time, word};
use super::writer::numbers;
use super::{Done, Memory, SqliteStore, audit};

/// A label on its way into the database.
struct Said {
    project: ProjectId,
    entry: EntryId,
    asked: String,
    vector: Option<(EmbedderId, Vector)>,
    similarity: Similarity,
    met: Met,
    answers: bool,
    source: LabelSource,
    note: Option<String>,
}

impl Said {
    fn of(project: ProjectId, label: &NewLabel<'_>) -> Self {
        let vector = |(by, vector): (&EmbedderId, _)| Some((by.clone(), Vector::new(vector)?));
        Self {
            project,
            entry: label.entry,
            asked: label.asked.to_owned(),
            vector: label.vector.and_then(vector),
            similarity: label.similarity,
            met: label.met,
            answers: label.answers,
            source: label.source,
            note: label.note.map(str::to_owned),
        }
    }

    /// Writes all of it, for the entry of this number.
    fn write(&self, connection: &Connection, row: Row, change: &Change) -> rusqlite::Result<Labelled> {
        self.write_label(connection, row, change.at)?;
        let forbids = !self.answers && self.met == Met::Served;
        if self.source == LabelSource::Judge || !(forbids || self.answers) {
            return Ok(Labelled::Kept);
        }
        let taken_back = self.take_back(connection, row)?;
        if self.answers {
            audit::write_if(connection, change, taken_back)?;
            return Ok(if taken_back { Labelled::Allowed } else { Labelled::Kept });
        }
        self.forbid(connection, row, change.at)?;
        audit::write(connection, change)?;
        if !self.quarantine(connection, row, change.at)? {
            return Ok(Labelled::Forbidden);
        }
        audit::write(connection, &change.quarantining())?;
        Ok(Labelled::Quarantined)
    }

    fn write_label(&self, connection: &Connection, row: Row, at: Timestamp) -> rusqlite::Result<()> {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO labels
                     (project_id, entry, source, asked_hash, at, met, answers, similarity, asked, note)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                self.project.as_bytes(),
                row,
                self.source.as_str(),
                PromptHash::of(&self.asked).0,
                at.as_nanos(),
                self.met.as_str(),
                self.answers,
                f64::from(self.similarity.get()),
                self.asked,
                self.note,
            ])
            .map(drop)
    }

    /// Deletes the pair that the same source made.
    fn take_back(&self, connection: &Connection, row: Row) -> rusqlite::Result<bool> {
        let gone = connection
            .prepare_cached(
                "DELETE FROM wrong_answers WHERE project_id = ?1 AND source = ?2 AND asked = ?3
                        AND matched = (SELECT prompt FROM entries WHERE entry = ?4)",
            )?
            .execute(params![self.project.as_bytes(), self.source.as_str(), self.asked, row])?;
        Ok(gone > 0)
    }

    fn forbid(&self, connection: &Connection, row: Row, at: Timestamp) -> rusqlite::Result<()> {
        let vector = match &self.vector {
            Some((by, vector)) => Some((embedder_number(connection, by)?, vector.to_bytes())),
            None => None,
        };
        let (embedder, vector) = vector.unzip();
        connection
            .prepare_cached(
                "INSERT INTO wrong_answers
                     (project_id, at, asked, matched, similarity, model, source, embedder, vector)
                 SELECT project_id, ?2, ?3, prompt, ?4, model, ?5, ?6, ?7 FROM entries WHERE entry = ?1",
            )?
            .execute(params![
                row,
                at.as_nanos(),
                self.asked,
                f64::from(self.similarity.get()),
                self.source.as_str(),
                embedder,
                vector,
            ])
            .map(drop)
    }

    /// Puts the entry into quarantine if enough was said of it. `false` if it is in it already, too.
    fn quarantine(&self, connection: &Connection, row: Row, at: Timestamp) -> rusqlite::Result<bool> {
        let put = connection
            .prepare_cached(
                "INSERT INTO quarantine (entry, project_id, since) SELECT ?1, ?2, ?3
                 WHERE NOT EXISTS (SELECT 1 FROM quarantine WHERE entry = ?1)
                       AND (SELECT count(DISTINCT asked_hash) FROM labels
                            WHERE entry = ?1 AND source <> 'judge' AND met = 'served' AND NOT answers AND at > ?4) >= ?5",
            )?
            .execute(params![
                row,
                self.project.as_bytes(),
                at.as_nanos(),
                at.minus(QUARANTINE_WITHIN).as_nanos(),
                QUARANTINE_FROM as i64,
            ])?;
        Ok(put > 0)
    }
}

#[async_trait]
impl Labels for SqliteStore {
    async fn label(
        &self,
        project: ProjectId,
        label: NewLabel<'_>,
        change: &Change,
    ) -> Result<Option<Labelled>, StoreError> {
        let (memory, change, said) = (Arc::clone(&self.memory), change.clone(), Said::of(project, &label));
        self.writer
            .write(move |connection| {
                let Some(row) = remove::row_of(connection, project, said.entry)? else {
                    return Ok(Done::quiet(None));
                };
                let labelled = said.write(connection, row, &change)?;
                if labelled == Labelled::Kept {
                    return Ok(Done::quiet(Some(labelled)));
                }
                // Only this pair: reading all pairs of the project would take longer the more there are, while other writes wait.
                let matched: String = connection
                    .prepare_cached("SELECT prompt FROM entries WHERE entry = ?1")?
                    .query_row([row], |row| row.get(0))?;
                let pair = Pair::read(connection, project, memory.own_embedder(), [&said.asked, &matched])?;
                Ok(Done::then(Some(labelled), move || {
                    memory.forbidden.set(project, pair);
                    if labelled == Labelled::Quarantined {
                        memory.forbidden.quarantine(row);
                    }
                }))
            })
            .await
    }

    async fn labels(
        &self,
        project: ProjectId,
        since: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<Label>, StoreError> {
        let sql = "SELECT l.number, l.at, l.source, l.asked, e.entry_id, e.prompt, l.similarity, l.met, l.answers, l.note
                   FROM labels l JOIN entries e ON e.entry = l.entry
                   WHERE l.project_id = ?1 AND l.at >= ?2 ORDER BY l.number DESC LIMIT ?3";
        let label = |row: &rusqlite::Row<'_>| {
            Ok(Label {
                number: count(row, 0)?,
                at: time(row, 1)?,
                source: word(row, 2)?,
                asked: row.get(3)?,
                entry: EntryId::from_bytes(row.get(4)?),
                matched: row.get(5)?,
                similarity: similarity(row, 6)?,
                met: word(row, 7)?,
                answers: row.get(8)?,
                note: row.get(9)?,
            })
        };
        self.readers.all(sql, (*project.as_bytes(), since.as_nanos(), limit_of(limit)), label).await
    }

    async fn short_labels(
        &self,
        project: ProjectId,
        limit: NonZeroUsize,
    ) -> Result<Vec<ShortLabel>, StoreError> {
        let sql = "SELECT l.asked_hash, e.entry_id, l.source, l.answers
                   FROM labels l JOIN entries e ON e.entry = l.entry
                   WHERE l.project_id = ?1 ORDER BY l.number DESC LIMIT ?2";
        let label = |row: &rusqlite::Row<'_>| {
            Ok(ShortLabel {
                asked: PromptHash(row.get(0)?),
                entry: EntryId::from_bytes(row.get(1)?),
                source: word(row, 2)?,
                answers: row.get(3)?,
            })
        };
        self.readers.all(sql, (*project.as_bytes(), limit_of(limit)), label).await
    }

    async fn keep_answered(&self, answered: &[Answered]) -> Result<(), StoreError> {
        let answered = answered.to_vec();
        let write = move |connection: &Connection| {
            let mut insert = connection.prepare_cached(
                "INSERT OR REPLACE INTO answered (project_id, request, entry, at, met, similarity, asked)
                 SELECT ?1, ?2, entry, ?4, ?5, ?6, ?7 FROM entries WHERE project_id = ?1 AND entry_id = ?3",
            )?;
            for one in &answered {
                insert.execute(params![
                    one.project.as_bytes(),
                    one.request,
                    one.entry.as_bytes(),
                    one.at.as_nanos(),
                    one.met.as_str(),
                    f64::from(one.similarity.get()),
                    one.asked,
                ])?;
            }
            Ok(Done::quiet(()))
        };
        self.writer.write_if_room(write).await
    }

    async fn answered(&self, project: ProjectId, request: &str) -> Result<Option<Answered>, StoreError> {
        let sql = "SELECT a.request, a.at, a.asked, e.entry_id, a.similarity, a.met
                   FROM answered a JOIN entries e ON e.entry = a.entry
                   WHERE a.project_id = ?1 AND a.request = ?2";
        let answered = move |row: &rusqlite::Row<'_>| {
            Ok(Answered {
                project,
                request: row.get(0)?,
                at: time(row, 1)?,
                asked: row.get(2)?,
                entry: EntryId::from_bytes(row.get(3)?),
                similarity: similarity(row, 4)?,
                met: word(row, 5)?,
            })
        };
        self.readers.one(sql, (*project.as_bytes(), request.to_owned()), answered).await
    }

    async fn sweep_labels(
        &self,
        now: Timestamp,
        newest: NonZeroUsize,
        limit: NonZeroUsize,
    ) -> Result<u64, StoreError> {
        let ahead = now.plus(CLOCK_SKEW);
        let find = move |connection: &Connection| {
            numbers(connection, LATER, (now.as_nanos(), limit_of(limit), ahead.as_nanos()))
        };
        loop {
            let later: Vec<[i64; 2]> = self.readers.read(find).await?;
            let more = later.len() == limit.get();
            self.writer.each("UPDATE answered SET at = ?2 WHERE rowid = ?1 AND at > ?2", later).await?;
            if !more {
                break;
            }
        }
        let mut swept = 0;
        let find = move |connection: &Connection| surplus(connection, newest, limit);
        for Surplus { project, answered, labels, wrong } in self.readers.read(find).await? {
            swept += self.writer.each("DELETE FROM answered WHERE rowid = ?1 AND at = ?2", answered).await?;
            swept += self.writer.each("DELETE FROM labels WHERE number = ?1", labels).await?;
            for part in wrong.chunks(PAIRS_AT_ONCE) {
                let (part, memory) = (part.to_vec(), Arc::clone(&self.memory));
                swept += self
                    .writer
                    .write(move |connection| forget_wrong(connection, memory, project, part))
                    .await?;
            }
        }
        Ok(swept)
    }
}

/// Requests that were answered well after now. The join is crossed so that each project takes a look into its index.
const LATER: &str = "SELECT a.rowid, ?1 FROM projects p CROSS JOIN answered a
                     WHERE a.project_id = p.project_id AND a.at > ?3 LIMIT ?2";

/// Wrong answers that one job deletes: the texts of each are read, and its pair.
const PAIRS_AT_ONCE: usize = 250;

/// What a project has beyond its newest, by its numbers.
struct Surplus {
    project: ProjectId,
    /// With their age: the number of one that is gone may become that of another one.
    answered: Vec<[i64; 2]>,
    labels: Vec<[i64; 1]>,
    wrong: Vec<[i64; 1]>,
}

/// What projects have beyond the newest, of those that have any.
fn surplus(
    connection: &Connection,
    newest: NonZeroUsize,
    limit: NonZeroUsize,
) -> rusqlite::Result<Vec<Surplus>> {
    const ANSWERED: &str =
        "SELECT rowid, at FROM answered WHERE project_id = ?1 ORDER BY at DESC LIMIT ?3 OFFSET ?2";
    const LABELS: &str =
        "SELECT number FROM labels WHERE project_id = ?1 ORDER BY number DESC LIMIT ?3 OFFSET ?2";
    const WRONG: &str =
        "SELECT number FROM wrong_answers WHERE project_id = ?1 ORDER BY number DESC LIMIT ?3 OFFSET ?2";
    let mut projects = connection.prepare_cached("SELECT project_id FROM projects")?;
    let mut all = Vec::new();
    for project in projects.query_map([], |row| row.get(0).map(ProjectId::from_bytes))? {
        let project = project?;
        let beyond = (*project.as_bytes(), limit_of(newest), limit_of(limit));
        let surplus = Surplus {
            project,
            answered: numbers(connection, ANSWERED, beyond)?,
            labels: numbers(connection, LABELS, beyond)?,
            wrong: numbers(connection, WRONG, beyond)?,
        };
        if !(surplus.answered.is_empty() && surplus.labels.is_empty() && surplus.wrong.is_empty()) {
            all.push(surplus);
        }
    }
    Ok(all)
}

/// Deletes wrong answers. In memory their pairs become what they are then, and no others: reading all pairs of the project would take
/// longer the more there are, while other writes wait.
fn forget_wrong(
    connection: &Connection,
    memory: Arc<Memory>,
    project: ProjectId,
    numbers: Vec<[i64; 1]>,
) -> Result<Done<u64>, Failed> {
    let mut select =
        connection.prepare_cached("SELECT asked, matched FROM wrong_answers WHERE number = ?1")?;
    let mut delete = connection.prepare_cached("DELETE FROM wrong_answers WHERE number = ?1")?;
    let mut prompts = BTreeSet::new();
    let mut gone = 0;
    for number in numbers {
        let pair: Option<[String; 2]> =
            select.query_row(number, |row| Ok([row.get(0)?, row.get(1)?])).optional()?;
        prompts.extend(pair);
        gone += delete.execute(number)? as u64;
    }
    let pair = |prompts: &[String; 2]| {
        Pair::read(connection, project, memory.own_embedder(), prompts.each_ref().map(String::as_str))
    };
    let pairs = prompts.iter().map(pair).collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(Done::then(gone, move || {
        for pair in pairs {
            memory.forbidden.set(project, pair);
        }
    }))
}

#[cfg(test)]
mod tests {
    use deja_core::store::{Entries as _, Projects as _};
    use deja_core::testing::{self, change};

    use super::*;
    use crate::StoreSettings;
    use crate::sqlite::fixtures::{NOW, entry, id, project};

    #[tokio::test]
    async fn a_sweep_reads_the_pairs_that_go_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&StoreSettings::new(directory.path())).unwrap();
        store.create_project(&project(), &change()).await.unwrap();
        store.insert(entry(1)).await.unwrap();
        for asked in ["oldest", "second", "third"] {
            store.label(project().id, testing::wrong(id(1), asked), &change()).await.unwrap();
        }
        // As if memory did not follow: only who reads this pair again notices.
        let sql = "UPDATE wrong_answers SET asked = 'changed' WHERE asked = ?1";
        store.writer.execute(sql, ["second"]).await.unwrap();
        let two = NonZeroUsize::new(2).unwrap();
        assert_eq!(store.sweep_labels(NOW, two, NonZeroUsize::MAX).await.unwrap(), 2, "a label and a pair");
        let pairs = store.memory.forbidden.of(project().id).unwrap();
        let forbidden = |asked| pairs.read().forbid_pair(&PromptHash::of(asked), &PromptHash::of("1"));
        assert_eq!(["oldest", "second", "third"].map(forbidden), [false, true, true]);
    }
}
