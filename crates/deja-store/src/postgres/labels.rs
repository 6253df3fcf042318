//! What is said of answers, and what requests were answered with.

use std::num::NonZeroUsize;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::cache::{Answered, Label, Labelled, PromptHash, ShortLabel};
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Similarity};
use deja_core::id::{EntryId, ProjectId};
use deja_core::store::{CLOCK_SKEW, Labels, NewLabel, QUARANTINE_FROM, QUARANTINE_WITHIN, StoreError};
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::audit::Noted;
use super::connections::Params;
use super::rows::{
    count, get, hash, id, limit_of, similarity, text, text_or_none, time, total, unreadable, uuid, word,
};
use super::vectors::stored;

/// Keeps a label, and writes what it changed. $1 to $13 are the parameters of the function. Behind them come those of the
/// change, and those of the quarantine, which is written if it begins.
fn statement() -> String {
    format!(
        "WITH kept AS MATERIALIZED (
             SELECT keep_label($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) AS state),
         noted AS (INSERT INTO changes ({})
                   SELECT {} FROM kept WHERE state IN ('forbidden', 'quarantined', 'allowed')
                   UNION ALL SELECT {} FROM kept WHERE state = 'quarantined')
         SELECT state FROM kept",
        Noted::COLUMNS,
        Noted::values(13),
        Noted::values(13 + Noted::WIDTH),
    )
}

#[async_trait]
impl Labels for PostgresStore {
    async fn label(
        &self,
        project: ProjectId,
        label: NewLabel<'_>,
        change: &Change,
    ) -> Result<Option<Labelled>, StoreError> {
        // A vector without a direction at half precision is nearer to nothing.
        let vector = label.vector.and_then(|(by, vector)| Some((by, stored(vector).ok()?)));
        let (by, vector) = vector.unzip();
        let params: Params<'_> = &[
            &uuid(project.as_bytes()),
            &uuid(label.entry.as_bytes()),
            &change.at.as_nanos(),
            &label.source.as_str(),
            &label.met.as_str(),
            &label.answers,
            &label.asked.as_bytes(),
            &label.similarity.get(),
            &label.note.map(str::as_bytes),
            &by.map(EmbedderId::as_str),
            &vector,
            &(QUARANTINE_FROM as i32),
            &change.at.minus(QUARANTINE_WITHIN).as_nanos(),
        ];
        let (noted, quarantined) = (Noted::of(change), Noted::of(&change.quarantining()));
        let params = noted.after(params);
        let connections = self.connections.of(project);
        let row = connections.query_one(&statement(), &quarantined.after(&params)).await?;
        match get(&row, 0)? {
            None => Ok(None),
            Some("kept") => Ok(Some(Labelled::Kept)),
            Some("forbidden") => Ok(Some(Labelled::Forbidden)),
            Some("quarantined") => Ok(Some(Labelled::Quarantined)),
            Some("allowed") => Ok(Some(Labelled::Allowed)),
            Some(_) => Err(unreadable(0, "no state of a label")),
        }
    }

    async fn labels(
        &self,
        project: ProjectId,
        since: Timestamp,
        at_most: NonZeroUsize,
    ) -> Result<Vec<Label>, StoreError> {
        let sql = "SELECT l.number, l.at, l.source, l.asked, e.entry_id, e.prompt, l.similarity, l.met, l.answers, l.note
                   FROM labels l JOIN entries e ON e.project_id = l.project_id AND e.entry_id = l.entry_id
                   WHERE l.project_id = $1 AND l.at >= $2 ORDER BY l.number DESC LIMIT $3";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &since.as_nanos(), &limit_of(at_most)];
        let rows = self.connections.bulk(sql, params).await?;
        rows.iter()
            .map(|row| {
                Ok(Label {
                    number: count(row, 0)?,
                    at: time(row, 1)?,
                    source: word(row, 2)?,
                    asked: text(row, 3)?,
                    entry: EntryId::from_bytes(id(row, 4)?),
                    matched: text(row, 5)?,
                    similarity: similarity(row, 6)?,
                    met: word(row, 7)?,
                    answers: get(row, 8)?,
                    note: text_or_none(row, 9)?,
                })
            })
            .collect()
    }

    async fn short_labels(
        &self,
        project: ProjectId,
        at_most: NonZeroUsize,
    ) -> Result<Vec<ShortLabel>, StoreError> {
        let sql = "SELECT asked_hash, entry_id, source, answers FROM labels
                   WHERE project_id = $1 ORDER BY number DESC LIMIT $2";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &limit_of(at_most)];
        let rows = self.connections.bulk(sql, params).await?;
        rows.iter()
            .map(|row| {
                Ok(ShortLabel {
                    asked: PromptHash(hash(row, 0)?),
                    entry: EntryId::from_bytes(id(row, 1)?),
                    source: word(row, 2)?,
                    answers: get(row, 3)?,
                })
            })
            .collect()
    }

    async fn keep_answered(&self, answered: &[Answered]) -> Result<(), StoreError> {
        // Entries are locked in the order of their keys, as everywhere, and cannot go before this ends.
        let sql = "
            WITH given AS (
                SELECT DISTINCT ON (project_id, request) project_id, request, entry_id, at, met, similarity, asked
                FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::bigint[], $5::text[], $6::real[], $7::bytea[])
                     WITH ORDINALITY AS g (project_id, request, entry_id, at, met, similarity, asked, place)
                     JOIN (SELECT project_id, entry_id FROM entries) e USING (project_id, entry_id)
                ORDER BY project_id, request, place DESC),
            held AS (
                SELECT e.project_id, e.entry_id FROM entries e
                WHERE (e.project_id, e.entry_id) IN (SELECT project_id, entry_id FROM given)
                ORDER BY e.project_id, e.entry_id FOR KEY SHARE)
            INSERT INTO answered (project_id, request, entry_id, at, met, similarity, asked)
            SELECT project_id, request, entry_id, at, met, similarity, asked FROM given JOIN held USING (project_id, entry_id)
            ORDER BY project_id, request
            ON CONFLICT (project_id, request) DO UPDATE SET entry_id = excluded.entry_id, at = excluded.at,
                met = excluded.met, similarity = excluded.similarity, asked = excluded.asked";
        let (mut projects, mut requests, mut entries, mut times) = (vec![], vec![], vec![], vec![]);
        let (mut met, mut similarities, mut asked) = (vec![], vec![], vec![]);
        for one in answered {
            projects.push(uuid(one.project.as_bytes()));
            requests.push(&*one.request);
            entries.push(uuid(one.entry.as_bytes()));
            times.push(one.at.as_nanos());
            met.push(one.met.as_str());
            similarities.push(one.similarity.get());
            asked.push(one.asked.as_bytes());
        }
        let params: Params<'_> = &[&projects, &requests, &entries, &times, &met, &similarities, &asked];
        self.connections.bulk(sql, params).await.map(drop)
    }

    async fn answered(&self, project: ProjectId, request: &str) -> Result<Option<Answered>, StoreError> {
        // PostgreSQL takes no NUL in a text, and no request has one in its name.
        if request.contains('\0') {
            return Ok(None);
        }
        let sql = "SELECT at, asked, entry_id, similarity, met FROM answered WHERE project_id = $1 AND request = $2";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &request];
        let row = self.connections.of(project).query_opt(sql, params).await?;
        row.map(|row| {
            Ok(Answered {
                project,
                request: request.to_owned(),
                at: time(&row, 0)?,
                asked: text(&row, 1)?,
                entry: EntryId::from_bytes(id(&row, 2)?),
                similarity: Similarity::from_cosine(get(&row, 3)?),
                met: word(&row, 4)?,
            })
        })
        .transpose()
    }

    async fn sweep_labels(
        &self,
        now: Timestamp,
        newest: NonZeroUsize,
        at_most: NonZeroUsize,
    ) -> Result<u64, StoreError> {
        // Skipping locked ones: replicas sweep at the same time.
        let answered_now = "WITH later AS (
                 SELECT l.ctid FROM projects p CROSS JOIN LATERAL (
                     SELECT ctid FROM answered WHERE project_id = p.project_id AND at > $3
                     LIMIT $2 FOR UPDATE SKIP LOCKED) l
                 LIMIT $2),
             done AS (UPDATE answered SET at = $1 WHERE ctid IN (SELECT ctid FROM later) RETURNING 1)
             SELECT count(*) FROM done";
        let later: [&(dyn ToSql + Sync); 3] =
            [&now.as_nanos(), &limit_of(at_most), &now.plus(CLOCK_SKEW).as_nanos()];
        while total(&self.connections.bulk(answered_now, &later).await?)? >= at_most.get() as u64 {}
        let mut gone = 0;
        for (table, age) in [("answered", "at"), ("labels", "number"), ("wrong_answers", "number")] {
            let sql = format!(
                "WITH old AS (
                     SELECT o.ctid FROM projects p CROSS JOIN LATERAL (
                         SELECT t.ctid FROM {table} t WHERE t.project_id = p.project_id
                         ORDER BY t.{age} DESC OFFSET $1 LIMIT $2) o
                     LIMIT $2),
                 gone AS (DELETE FROM {table} WHERE ctid IN (SELECT ctid FROM old) RETURNING 1)
                 SELECT count(*) FROM gone"
            );
            let params: [&(dyn ToSql + Sync); 2] = [&limit_of(newest), &limit_of(at_most)];
            let rows = self.connections.bulk(&sql, &params).await?;
            gone += total(&rows)?;
        }
        Ok(gone)
    }
}
