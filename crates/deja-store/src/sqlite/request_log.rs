//! The log of requests.

use std::num::NonZeroUsize;
use std::time::Duration;

use async_trait::async_trait;
use deja_core::analytics::{ContextKey, Outcome};
use deja_core::cache::PromptHash;
use deja_core::clock::{Timestamp, nanos};
use deja_core::id::{EntryId, KeyId, ProjectId};
use deja_core::money::NanoUsd;
use deja_core::project::Project;
use deja_core::request_log::{
    DEFAULT_LOGGED, LOGGED_FOR, LogFilter, LogRow, LoggedRequest, Logging, MetEntry,
};
use deja_core::store::{Cursor, LogColumn, LogOrder, RequestLog, StoreError};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params};

use super::rows::{count, limit_of, signed, similarity, time, word};
use super::writer::{PART, Writer, each, numbers};
use super::{Done, SqliteStore};
use crate::lists::{log_order, log_reads_through};

const SELECT: &str =
    "SELECT number, at, request, key_id, surface, model, context, asked_hash, asked, outcome, cause,
                             joined, entry_id, similarity, met, reason, latency, saved FROM request_log";

#[async_trait]
impl RequestLog for SqliteStore {
    async fn log_requests(&self, requests: &[LoggedRequest]) -> Result<(), StoreError> {
        if requests.is_empty() {
            return Ok(());
        }
        let requests = requests.to_vec();
        self.writer.write_if_room(move |connection| Ok(Done::quiet(insert(connection, &requests)?))).await
    }

    async fn logged(
        &self,
        project: ProjectId,
        filter: &LogFilter,
        order: LogOrder,
        after: Option<Cursor<u64>>,
        limit: NonZeroUsize,
    ) -> Result<Vec<LogRow>, StoreError> {
        let filter = filter.clone();
        let readers = if log_reads_through(&filter, order) { &self.searches } else { &self.readers };
        readers
            .read(move |connection| {
                let (behind, by) = log_order(order, "?2", "?14", "IS");
                let sql = format!(
                    "{SELECT} WHERE project_id = ?1 AND {behind} AND (?4 IS NULL OR outcome = ?4)
                         AND (?5 IS NULL OR key_id = ?5) AND (?6 IS NULL OR model = ?6) AND (?7 IS NULL OR context = ?7)
                         AND {} AND {} AND (?12 IS NULL OR at >= ?12) AND (?13 IS NULL OR at < ?13)
                         AND (?9 IS NULL OR asked_hash IN (?9, ?10) OR instr(folded(asked), folded(?11)) > 0)
                     ORDER BY {by} LIMIT ?3",
                    // The entry's own index is used where there is one.
                    if filter.entry.is_some() { "entry_id = ?8" } else { "?8 IS NULL" },
                    if filter.joined { "joined" } else { "true" },
                );
                let (as_asked, trimmed) = filter.hashes().map(|[as_asked, trimmed]| (as_asked, trimmed)).unzip();
                let params = params![
                    project.as_bytes(),
                    after.map(|after| signed(after.id)),
                    limit_of(limit),
                    filter.outcome.map(Outcome::as_str),
                    filter.key.as_ref().map(KeyId::as_bytes),
                    filter.model,
                    filter.context.map(|context| context.0),
                    filter.entry.as_ref().map(EntryId::as_bytes),
                    as_asked.map(|hash| hash.0),
                    trimmed.map(|hash| hash.0),
                    filter.part(),
                    filter.within.from.map(Timestamp::as_nanos),
                    filter.within.until.map(Timestamp::as_nanos),
                    after.and_then(|after| after.value).map(|value| of_column(order.by, value)),
                ];
                // By number the value says nothing more.
                let params = if order.by == LogColumn::Number { &params[..13] } else { params };
                connection.prepare_cached(&sql)?.query_map(params, |row| from_row(project, row))?.collect()
            })
            .await
    }

    async fn logged_request(&self, project: ProjectId, number: u64) -> Result<Option<LogRow>, StoreError> {
        let sql = format!("{SELECT} WHERE project_id = ?1 AND number = ?2");
        let values = (*project.as_bytes(), signed(number));
        self.readers.one(sql, values, move |row| from_row(project, row)).await
    }

    async fn logged_beyond(
        &self,
        project: ProjectId,
        allowed: Logging,
        now: Timestamp,
    ) -> Result<(u64, u64), StoreError> {
        let sql = "SELECT count(*) - ?2,
                          (SELECT count(*) FROM request_log
                           WHERE project_id = ?1 AND asked IS NOT NULL AND (?3 IS NULL OR at < ?3))
                   FROM request_log WHERE project_id = ?1";
        let values = (
            *project.as_bytes(),
            signed(allowed.requests),
            allowed.texts_since(now).map(Timestamp::as_nanos),
        );
        let found = self.readers.one(sql, values, |row| Ok((count(row, 0)?, count(row, 1)?))).await?;
        Ok(found.unwrap_or_default())
    }

    async fn sweep_logged(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError> {
        let projects = self.memory.catalog.projects();
        let find = move |connection: &Connection| {
            let mut of_projects = Vec::new();
            for project in projects {
                let logging = Logging::from(&project.settings);
                of_projects.push((
                    surplus(connection, project.id, logging.requests, limit)?,
                    old_texts(connection, project.id, logging, now, limit)?,
                ));
            }
            Ok((old(connection, now, limit)?, of_projects))
        };
        let (old, of_projects) = self.readers.read(find).await?;
        let mut most = self.writer.each(DELETE, old).await?;
        for (surplus, texts) in of_projects {
            most = most.max(self.writer.each(DELETE, surplus).await?);
            most = most.max(self.writer.each(FORGET_TEXT, texts).await?);
        }
        Ok(most)
    }
}

/// What a cursor has, as the column has it.
fn of_column(column: LogColumn, value: i64) -> Value {
    match column {
        LogColumn::Similarity => Value::Real(f32::from_bits(value as u32).into()),
        LogColumn::Number | LogColumn::Latency | LogColumn::Saved => Value::Integer(value),
    }
}

/// Deletes what a project that was just changed lets go for good: nothing of it is written any more. What it only has less of is swept.
pub(super) async fn let_go(writer: &Writer, project: &Project, now: Timestamp) -> Result<(), StoreError> {
    let (id, logging) = (project.id, Logging::from(&project.settings));
    if logging.requests == 0 {
        let part = move |connection: &Connection| each(connection, DELETE, surplus(connection, id, 0, PART)?);
        writer.in_parts(part).await?;
    }
    if logging.texts.is_zero() {
        let part = move |connection: &Connection| {
            each(connection, FORGET_TEXT, old_texts(connection, id, logging, now, PART)?)
        };
        writer.in_parts(part).await?;
    }
    Ok(())
}

/// Inserts what the settings of each project allow now: they may have changed since these requests ended.
fn insert(connection: &Connection, requests: &[LoggedRequest]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(&format!(
        "INSERT INTO request_log (project_id, at, request, key_id, surface, model, context, asked_hash, asked, outcome,
                                  cause, joined, entry_id, similarity, met, reason, latency, saved)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, iif(json_extract(settings, '$.request_texts_days') > 0, ?9, NULL), ?10,
                ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18
         FROM projects
         WHERE project_id = ?1 AND coalesce(json_extract(settings, '$.request_log'), {DEFAULT_LOGGED}) > 0"
    ))?;
    for one in requests {
        let met = one.met.as_ref();
        insert.execute(params![
            one.project.as_bytes(),
            one.at.as_nanos(),
            one.request,
            one.key.as_bytes(),
            one.surface.as_str(),
            one.model,
            one.context.0,
            one.asked.map(|hash| hash.0),
            one.text,
            one.outcome.as_str(),
            one.cause,
            one.joined,
            met.map(|met| *met.entry.as_bytes()),
            met.map(|met| f64::from(met.similarity.get())),
            met.map(|met| met.met.as_str()),
            met.and_then(|met| met.reason.as_deref()),
            one.latency.map(nanos),
            signed(one.saved.as_nanos()),
        ])?;
    }
    Ok(())
}

const DELETE: &str = "DELETE FROM request_log WHERE number = ?1";
const FORGET_TEXT: &str = "UPDATE request_log SET asked = NULL WHERE number = ?1";

/// Numbers of requests, as a statement takes them.
type Numbers = Vec<[i64; 1]>;

/// Requests that are too old.
fn old(connection: &Connection, now: Timestamp, limit: NonZeroUsize) -> rusqlite::Result<Numbers> {
    let sql = "SELECT number FROM request_log WHERE at < ?1 LIMIT ?2";
    numbers(connection, sql, params![now.minus(LOGGED_FOR).as_nanos(), limit_of(limit)])
}

/// What a project has beyond its newest.
fn surplus(
    connection: &Connection,
    project: ProjectId,
    newest: u64,
    limit: NonZeroUsize,
) -> rusqlite::Result<Numbers> {
    let sql = "SELECT number FROM request_log WHERE project_id = ?1 ORDER BY number DESC LIMIT ?3 OFFSET ?2";
    numbers(connection, sql, params![project.as_bytes(), signed(newest), limit_of(limit)])
}

/// Requests of a project whose texts are older than it keeps them.
fn old_texts(
    connection: &Connection,
    project: ProjectId,
    logging: Logging,
    now: Timestamp,
    limit: NonZeroUsize,
) -> rusqlite::Result<Numbers> {
    let sql =
        "SELECT number FROM request_log WHERE project_id = ?1 AND asked IS NOT NULL AND at < ?2 LIMIT ?3";
    // No text has such a time: where none is kept all are too old.
    let since = logging.texts_since(now).map_or(i64::MAX, Timestamp::as_nanos);
    numbers(connection, sql, params![project.as_bytes(), since, limit_of(limit)])
}

fn from_row(project: ProjectId, row: &Row<'_>) -> rusqlite::Result<LogRow> {
    let entry: Option<[u8; 16]> = row.get(12)?;
    let met = match entry {
        Some(entry) => Some(MetEntry {
            entry: EntryId::from_bytes(entry),
            similarity: similarity(row, 13)?,
            met: word(row, 14)?,
            reason: row.get(15)?,
        }),
        None => None,
    };
    Ok(LogRow {
        number: count(row, 0)?,
        logged: LoggedRequest {
            project,
            at: time(row, 1)?,
            request: row.get(2)?,
            key: KeyId::from_bytes(row.get(3)?),
            surface: word(row, 4)?,
            model: row.get(5)?,
            context: ContextKey(row.get(6)?),
            asked: row.get::<_, Option<[u8; 32]>>(7)?.map(PromptHash),
            text: row.get(8)?,
            outcome: word(row, 9)?,
            cause: row.get(10)?,
            joined: row.get(11)?,
            met,
            latency: row.get::<_, Option<i64>>(16)?.map(|nanos| Duration::from_nanos(nanos.unsigned_abs())),
            saved: NanoUsd::from_nanos(count(row, 17)?),
        },
    })
}
