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
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::connections::Params;
use super::entries::{has, searched};
use super::rows::{
    count, get, id, limit_of, signed, similarity, text, text_or_none, time, total, unreadable, uuid, word,
};
use crate::lists::{log_order, log_reads_through};

const SELECT: &str =
    "SELECT number, at, request, key_id, surface, model, context, asked_hash, asked, outcome, cause,
                             joined, entry_id, similarity, met, reason, latency, saved FROM request_log";
const DAY: i64 = 24 * 3600 * 1_000_000_000;
/// For how many days the settings of the project `p` allow texts of prompts.
const TEXTS_DAYS: &str = "coalesce((p.settings::json->>'request_texts_days')::bigint, 0)";

/// How many requests the settings of the project `p` allow.
fn allowed() -> String {
    format!("coalesce((p.settings::json->>'request_log')::bigint, {DEFAULT_LOGGED})")
}

/// A part of a statement that changes the project $1: deletes what it lets go for good. What it only has less of is
/// swept, and so is a batch that is being written at that moment. Nothing, if it lets nothing go.
pub(super) fn let_go(project: &Project) -> &'static str {
    let logging = Logging::from(&project.settings);
    match (logging.requests, logging.texts.is_zero()) {
        (0, _) => "log_gone AS (DELETE FROM request_log WHERE project_id = $1),",
        (_, true) => {
            "log_gone AS (UPDATE request_log SET asked = NULL WHERE project_id = $1 AND asked IS NOT NULL),"
        }
        (_, false) => "",
    }
}

#[async_trait]
impl RequestLog for PostgresStore {
    async fn log_requests(&self, requests: &[LoggedRequest]) -> Result<(), StoreError> {
        if requests.is_empty() {
            return Ok(());
        }
        let columns = Columns::of(requests);
        // The project's settings may have changed since these requests ended: what it no longer logs is left out. Its row is locked,
        // so that the settings stay as they are, and its batches come one after the other. Without that a number may become visible
        // after greater ones: whoever reads pages from the oldest on would never see it.
        let sql = format!(
            "WITH held AS (
                SELECT p.project_id, {} > 0 AS logs, {TEXTS_DAYS} > 0 AS keeps_texts
                FROM projects p WHERE p.project_id = ANY ($1::uuid[])
                ORDER BY p.project_id FOR NO KEY UPDATE)
            INSERT INTO request_log (project_id, at, request, key_id, surface, model, context, asked_hash, asked,
                                     outcome, cause, joined, entry_id, similarity, met, reason, latency, saved)
            SELECT g.project_id, g.at, g.request, g.key_id, g.surface, g.model, g.context, g.asked_hash,
                   CASE WHEN held.keeps_texts THEN g.asked END,
                   g.outcome, g.cause, g.joined, g.entry_id, g.similarity, g.met, g.reason, g.latency, g.saved
            FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::uuid[], $5::text[], $6::bytea[], $7::bigint[],
                        $8::bytea[], $9::bytea[], $10::text[], $11::text[], $12::boolean[], $13::uuid[], $14::real[],
                        $15::text[], $16::text[], $17::bigint[], $18::bigint[])
                 WITH ORDINALITY
                 AS g (project_id, at, request, key_id, surface, model, context, asked_hash, asked, outcome, cause,
                       joined, entry_id, similarity, met, reason, latency, saved, place)
                 JOIN held USING (project_id)
            WHERE held.logs
            ORDER BY g.place",
            allowed()
        );
        let params: Params<'_> = &[
            &columns.projects, &columns.times, &columns.names, &columns.keys, &columns.surfaces,
            &columns.models, &columns.contexts, &columns.hashes, &columns.texts, &columns.outcomes,
            &columns.causes, &columns.joined, &columns.entries, &columns.similarities, &columns.mets,
            &columns.reasons, &columns.latencies, &columns.saved,
        ];
        self.connections.bulk(&sql, params).await.map(drop)
    }

    async fn logged(
        &self,
        project: ProjectId,
        filter: &LogFilter,
        order: LogOrder,
        after: Option<Cursor<u64>>,
        at_most: NonZeroUsize,
    ) -> Result<Vec<LogRow>, StoreError> {
        let value = match order.by {
            LogColumn::Similarity => "$13::text::real",
            LogColumn::Number | LogColumn::Latency | LogColumn::Saved => "$13::text::bigint",
        };
        let (behind, by) = log_order(order, "$2::bigint", value, "IS NOT DISTINCT FROM");
        let sql = format!(
            "{SELECT} WHERE project_id = $1 AND {behind} AND ($4::text IS NULL OR outcome = $4)
                 AND ($5::uuid IS NULL OR key_id = $5) AND ($6::bytea IS NULL OR model = $6)
                 AND ($7::bigint IS NULL OR context = $7) AND {} AND {}
                 AND ($11::bigint IS NULL OR at >= $11) AND ($12::bigint IS NULL OR at < $12)
                 AND ($9::bytea[] IS NULL OR asked_hash = ANY($9) OR {})
             ORDER BY {by} LIMIT $3",
            // The entry's own index is used where there is one.
            if filter.entry.is_some() { "entry_id = $8" } else { "$8::uuid IS NULL" },
            if filter.joined { "joined" } else { "true" },
            has("asked", "$10"),
        );
        let hashes = filter.hashes();
        let (number, text) = after.map(|after| (signed(after.id), of_column(order.by, after.value))).unzip();
        let params: Params<'_> = &[
            &uuid(project.as_bytes()),
            &number,
            &limit_of(at_most),
            &filter.outcome.map(Outcome::as_str),
            &filter.key.map(|key| uuid(key.as_bytes())),
            &filter.model.as_ref().map(String::as_bytes),
            &filter.context.map(|context| context.0),
            &filter.entry.map(|entry| uuid(entry.as_bytes())),
            &hashes.as_ref().map(|hashes| hashes.iter().map(|hash| hash.0.as_slice()).collect::<Vec<_>>()),
            &filter.part().map(searched),
            &filter.within.from.map(Timestamp::as_nanos),
            &filter.within.until.map(Timestamp::as_nanos),
            &text.flatten(),
        ];
        // By number the value says nothing more.
        let params = if order.by == LogColumn::Number { &params[..12] } else { params };
        let rows = if log_reads_through(filter, order) {
            self.connections.search(&sql, params).await?
        } else {
            self.connections.query(&sql, params).await?
        };
        rows.iter().map(|row| from_row(project, row)).collect()
    }

    async fn logged_request(&self, project: ProjectId, number: u64) -> Result<Option<LogRow>, StoreError> {
        let sql = format!("{SELECT} WHERE project_id = $1 AND number = $2");
        let row = self.connections.query_opt(&sql, &[&uuid(project.as_bytes()), &signed(number)]).await?;
        row.map(|row| from_row(project, &row)).transpose()
    }

    async fn logged_beyond(
        &self,
        project: ProjectId,
        allowed: Logging,
        now: Timestamp,
    ) -> Result<(u64, u64), StoreError> {
        let sql = "SELECT count(*) - $2::bigint,
                          count(*) FILTER (WHERE asked IS NOT NULL AND ($3::bigint IS NULL OR at < $3))
                   FROM request_log WHERE project_id = $1";
        let since = allowed.texts_since(now).map(Timestamp::as_nanos);
        let params: Params<'_> = &[&uuid(project.as_bytes()), &signed(allowed.requests), &since];
        let row = self.connections.query_one(sql, params).await?;
        Ok((count(&row, 0)?, count(&row, 1)?))
    }

    async fn sweep_logged(&self, now: Timestamp, at_most: NonZeroUsize) -> Result<u64, StoreError> {
        let old = "WITH old AS (SELECT ctid FROM request_log WHERE at < $1 LIMIT $2),
                        gone AS (DELETE FROM request_log WHERE ctid IN (SELECT ctid FROM old) RETURNING 1)
                   SELECT count(*) FROM gone";
        let surplus = format!(
            "WITH old AS (
                 SELECT o.ctid FROM projects p CROSS JOIN LATERAL (
                     SELECT l.ctid FROM request_log l WHERE l.project_id = p.project_id
                     ORDER BY l.number DESC
                     OFFSET {} LIMIT $1) o
                 LIMIT $1),
             gone AS (DELETE FROM request_log WHERE ctid IN (SELECT ctid FROM old) RETURNING 1)
             SELECT count(*) FROM gone",
            allowed()
        );
        let texts = format!(
            "WITH old AS (
                 SELECT l.ctid FROM projects p JOIN request_log l ON l.project_id = p.project_id
                 WHERE l.asked IS NOT NULL
                       AND l.at < $1 - least({TEXTS_DAYS}, 30) * {DAY}
                 LIMIT $2),
             gone AS (UPDATE request_log SET asked = NULL WHERE ctid IN (SELECT ctid FROM old) RETURNING 1)
             SELECT count(*) FROM gone"
        );
        let (since, at_most) = (now.minus(LOGGED_FOR).as_nanos(), limit_of(at_most));
        let mut most = 0;
        let sweeps: [(&str, Params<'_>); 3] =
            [(old, &[&since, &at_most]), (&surplus, &[&at_most]), (&texts, &[&now.as_nanos(), &at_most])];
        for (sql, params) in sweeps {
            let rows = self.connections.bulk(sql, params).await?;
            most = total(&rows)?.max(most);
        }
        Ok(most)
    }
}

/// What a cursor has, as the column reads it from a text: exact, of whatever type it is.
fn of_column(column: LogColumn, value: Option<i64>) -> Option<String> {
    value.map(|value| match column {
        LogColumn::Similarity => f32::from_bits(value as u32).to_string(),
        LogColumn::Number | LogColumn::Latency | LogColumn::Saved => value.to_string(),
    })
}

/// Requests, column by column.
#[derive(Default)]
struct Columns<'a> {
    projects: Vec<Uuid>,
    times: Vec<i64>,
    names: Vec<Option<&'a str>>,
    keys: Vec<Uuid>,
    surfaces: Vec<&'a str>,
    models: Vec<&'a [u8]>,
    contexts: Vec<i64>,
    hashes: Vec<Option<&'a [u8]>>,
    texts: Vec<Option<&'a [u8]>>,
    outcomes: Vec<&'a str>,
    causes: Vec<Option<&'a str>>,
    joined: Vec<bool>,
    entries: Vec<Option<Uuid>>,
    similarities: Vec<Option<f32>>,
    mets: Vec<Option<&'a str>>,
    reasons: Vec<Option<&'a str>>,
    latencies: Vec<Option<i64>>,
    saved: Vec<i64>,
}

impl<'a> Columns<'a> {
    fn of(requests: &'a [LoggedRequest]) -> Self {
        let mut columns = Self::default();
        for one in requests {
            let met = one.met.as_ref();
            columns.projects.push(uuid(one.project.as_bytes()));
            columns.times.push(one.at.as_nanos());
            columns.names.push(one.request.as_deref());
            columns.keys.push(uuid(one.key.as_bytes()));
            columns.surfaces.push(one.surface.as_str());
            columns.models.push(one.model.as_bytes());
            columns.contexts.push(one.context.0);
            columns.hashes.push(one.asked.as_ref().map(|hash| hash.0.as_slice()));
            columns.texts.push(one.text.as_deref().map(str::as_bytes));
            columns.outcomes.push(one.outcome.as_str());
            columns.causes.push(one.cause.as_deref());
            columns.joined.push(one.joined);
            columns.entries.push(met.map(|met| uuid(met.entry.as_bytes())));
            columns.similarities.push(met.map(|met| met.similarity.get()));
            columns.mets.push(met.map(|met| met.met.as_str()));
            columns.reasons.push(met.and_then(|met| met.reason.as_deref()));
            columns.latencies.push(one.latency.map(nanos));
            columns.saved.push(signed(one.saved.as_nanos()));
        }
        columns
    }
}

fn from_row(project: ProjectId, row: &Row) -> Result<LogRow, StoreError> {
    let met = match get::<Option<Uuid>>(row, 12)? {
        Some(entry) => Some(MetEntry {
            entry: EntryId::from_bytes(entry.into_bytes()),
            similarity: similarity(row, 13)?,
            met: word(row, 14)?,
            reason: get(row, 15)?,
        }),
        None => None,
    };
    let hash: Option<&[u8]> = get(row, 7)?;
    let hash = hash.map(|bytes| bytes.try_into().map_err(|_| unreadable(7, "not 32 bytes"))).transpose()?;
    Ok(LogRow {
        number: count(row, 0)?,
        logged: LoggedRequest {
            project,
            at: time(row, 1)?,
            request: get(row, 2)?,
            key: KeyId::from_bytes(id(row, 3)?),
            surface: word(row, 4)?,
            model: text(row, 5)?,
            context: ContextKey(get(row, 6)?),
            asked: hash.map(PromptHash),
            text: text_or_none(row, 8)?,
            outcome: word(row, 9)?,
            cause: get(row, 10)?,
            joined: get(row, 11)?,
            met,
            latency: get::<Option<i64>>(row, 16)?.map(|nanos| Duration::from_nanos(nanos.unsigned_abs())),
            saved: NanoUsd::from_nanos(count(row, 17)?),
        },
    })
}
