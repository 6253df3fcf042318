//! Writing counts, and forgetting old ones.

use std::num::NonZeroUsize;

use deja_core::analytics::{Step, UsageBatch};
use deja_core::clock::Timestamp;
use deja_core::id::ProjectId;
use deja_core::store::StoreError;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::super::connections::{Connections, Params};
use super::super::rows::{count, limit_of, signed, uuid};
use super::{COUNT_BITS, Names, buckets, seconds};
use crate::sums::{SUMS, plus, sums};

/// All of a batch in one statement, and so in one transaction. Rows are locked in the order of their keys, so
/// that the batches of two replicas do not deadlock. What is gone is joined away; so is everything if the batch was
/// written before. If that is going on in another connection, its row of `recorders` is waited for.
fn statement() -> String {
    // Parameters before those of the sums. Three come behind them.
    const HEAD: usize = 22;
    let arrays: Vec<String> = (1..=SUMS.len()).map(|at| format!("${}::bigint[]", HEAD + at)).collect();
    let [lasts, recorder, taken] = [1, 2, 3].map(|at| HEAD + SUMS.len() + at);
    format!(
        "WITH first AS (
             INSERT INTO recorders AS r (recorder_id, taken)
             SELECT ${recorder}::uuid, ${taken}::bigint WHERE ${recorder}::uuid IS NOT NULL
             ON CONFLICT (recorder_id) DO UPDATE SET taken = excluded.taken WHERE r.taken < excluded.taken
             RETURNING 1),
         held AS (SELECT project_id FROM projects
                  WHERE project_id = ANY ($1::uuid[] || $5::uuid[] || $10::uuid[] || $14::uuid[])
                  ORDER BY project_id FOR KEY SHARE),
         -- None of the projects goes until this is written. First of all, as who deletes a project locks it.
         due AS MATERIALIZED (
             SELECT (SELECT count(*) FROM held) FROM (SELECT FROM first UNION ALL SELECT WHERE ${recorder}::uuid IS NULL) d),
         used_keys AS (
             SELECT k.project_id, k.key_id, u.requests, u.last_used
             FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[])
                  AS u (project_id, key_id, requests, last_used)
                  JOIN keys k ON k.project_id = u.project_id AND k.key_id = u.key_id, due
             ORDER BY k.project_id, k.key_id FOR NO KEY UPDATE OF k),
         counted_keys AS (
             UPDATE keys k SET requests = k.requests + u.requests,
                               last_used = greatest(k.last_used, u.last_used)
             FROM used_keys u WHERE k.project_id = u.project_id AND k.key_id = u.key_id),
         hit_entries AS (
             SELECT e.project_id, e.entry_id, u.hits, u.last_hit, u.saved
             FROM unnest($5::uuid[], $6::uuid[], $7::bigint[], $8::bigint[], $9::bigint[])
                  AS u (project_id, entry_id, hits, last_hit, saved)
                  JOIN entries e ON e.project_id = u.project_id AND e.entry_id = u.entry_id, due
             ORDER BY e.project_id, e.entry_id FOR NO KEY UPDATE OF e),
         counted_entries AS (
             UPDATE entries e SET hits = e.hits + u.hits, last_used = greatest(e.last_used, u.last_hit),
                                  saved = {}
             FROM hit_entries u WHERE e.project_id = u.project_id AND e.entry_id = u.entry_id),
         labelled AS (
             INSERT INTO context_labels AS t (project_id, context, label, hour)
             SELECT u.* FROM unnest($10::uuid[], $11::bigint[], $12::bytea[], $13::bigint[])
                             AS u (project_id, context, label, hour)
                        JOIN held USING (project_id), due
             ORDER BY u.project_id, u.context
             ON CONFLICT (project_id, context) DO UPDATE SET hour = greatest(t.hour, excluded.hour))
         INSERT INTO rollups AS t (project_id, step, dimensions, period, key_id, model, context, histograms, {})
         SELECT u.project_id, u.step, u.dimensions, u.period, u.key_id, u.model, u.context,
                coalesce(($22::bigint[])[u.first:u.last], '{{}}'), {}
         FROM unnest($14::uuid[], $15::integer[], $16::smallint[], $17::bigint[], $18::uuid[], $19::bytea[],
                     $20::bigint[], $21::integer[], ${lasts}::integer[], {})
              AS u (project_id, step, dimensions, period, key_id, model, context, first, last, {})
              JOIN held USING (project_id), due
         ORDER BY u.project_id, u.step, u.dimensions, u.period, u.key_id, u.model, u.context
         ON CONFLICT (project_id, step, dimensions, period, key_id, model, context) DO UPDATE SET
             histograms = (
                 SELECT coalesce(array_agg(bucket << {COUNT_BITS} | number ORDER BY bucket), '{{}}')
                 FROM (SELECT v >> {COUNT_BITS} AS bucket, sum(v & {mask})::bigint AS number
                       FROM unnest(t.histograms || excluded.histograms) AS v GROUP BY 1) merged),
             {}",
        plus("least", "e.saved", "u.saved"),
        sums(str::to_owned),
        sums(|column| format!("u.{column}")),
        arrays.join(", "),
        sums(str::to_owned),
        sums(|column| {
            let more = plus("least", &format!("t.{column}"), &format!("excluded.{column}"));
            format!("{column} = {more}")
        }),
        mask = (1i64 << COUNT_BITS) - 1,
    )
}

/// Adds a batch.
pub(super) async fn record(connections: &Connections, batch: &UsageBatch) -> Result<(), StoreError> {
    let (keys, entries) = (Counts::of_keys(batch), Counts::of_entries(batch));
    let (labels, rollups) = (Labels::of(batch), batch.rollups());
    let mut columns = Rollups::default();
    for (key, rollup) in &rollups {
        let names = Names::of(&key.slice);
        columns.projects.push(uuid(key.project.as_bytes()));
        columns.steps.push(seconds(key.step));
        columns.dimensions.push(i16::from(key.slice.dimensions()));
        columns.periods.push(key.period);
        columns.keys.push(names.key);
        columns.models.push(names.model);
        columns.contexts.push(names.context);
        // A slice of all the buckets, counted from 1.
        columns.firsts.push(columns.buckets.len() as i32 + 1);
        columns.buckets.extend(buckets(&rollup.histograms));
        columns.lasts.push(columns.buckets.len() as i32);
        for (column, sum) in columns.sums.iter_mut().zip(rollup.totals.as_array()) {
            column.push(signed(sum));
        }
    }
    let head: Params<'_> = &[
        &keys.projects, &keys.ids, &keys.numbers, &keys.times, &entries.projects, &entries.ids,
        &entries.numbers, &entries.times, &entries.saved, &labels.projects, &labels.contexts, &labels.texts,
        &labels.hours, &columns.projects, &columns.steps, &columns.dimensions, &columns.periods,
        &columns.keys, &columns.models, &columns.contexts, &columns.firsts, &columns.buckets,
    ];
    let sums = columns.sums.iter().map(|column| column as &(dyn ToSql + Sync));
    let recorder = batch.id.map(|id| uuid(id.recorder.as_bytes()));
    let taken = batch.id.map(|id| id.taken.as_nanos());
    let tail: Params<'_> = &[&columns.lasts, &recorder, &taken];
    let params: Vec<&(dyn ToSql + Sync)> =
        head.iter().copied().chain(sums).chain(tail.iter().copied()).collect();
    connections.bulk(&statement(), &params).await.map(drop)
}

/// Every choice of the three dimensions.
const ALL_SLICES: [i16; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Deletes up to `limit` rollups of old periods, the labels of contexts that no rollup names any more, claims that are over, and what
/// requests under way left of projects that were deleted meanwhile: limits and claims have no foreign key, which each request
/// would pay for.
pub(super) async fn sweep(
    connections: &Connections,
    now: Timestamp,
    at_most: NonZeroUsize,
) -> Result<u64, StoreError> {
    let labels = "DELETE FROM context_labels WHERE hour < $1";
    connections.bulk(labels, &[&Step::Hour.oldest(now)]).await?;
    let recorders = "DELETE FROM recorders WHERE taken < $1";
    connections.bulk(recorders, &[&Step::Hour.start_of(Step::Hour.oldest(now)).as_nanos()]).await?;
    // Who waits for one reads how it ended, at once. One that is taken over this moment is none of them.
    let over = "DELETE FROM flights WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM flights WHERE until < (extract(epoch FROM now()) - 60) * 1000000000 FOR UPDATE SKIP LOCKED))";
    connections.bulk(over, &[]).await?;
    for table in ["buckets", "key_buckets", "feedback_buckets", "flights"] {
        let strays = format!(
            "DELETE FROM {table} t WHERE NOT EXISTS (SELECT FROM projects p WHERE p.project_id = t.project_id)"
        );
        connections.bulk(&strays, &[]).await?;
    }
    // Project by project and slice by slice: so the primary key finds what is old, and nothing else is read.
    let sql = "WITH old AS (
                   SELECT o.ctid FROM projects p CROSS JOIN LATERAL (
                       SELECT r.ctid FROM rollups r
                       WHERE r.project_id = p.project_id AND r.step = $1 AND r.dimensions = ANY ($2) AND r.period < $3
                       LIMIT $4 FOR UPDATE SKIP LOCKED) o
                   LIMIT $4),
               gone AS (DELETE FROM rollups WHERE ctid IN (SELECT ctid FROM old) RETURNING 1)
               SELECT count(*) FROM gone";
    let mut gone = 0;
    for step in Step::ALL {
        let Some(left) = NonZeroUsize::new(at_most.get() - usize::try_from(gone).unwrap_or(0)) else { break };
        let params: Params<'_> =
            &[&super::seconds(step), &&ALL_SLICES[..], &step.oldest(now), &limit_of(left)];
        gone += connections.bulk(sql, params).await?.first().map_or(Ok(0), |row| count(row, 0))?;
    }
    Ok(gone)
}

/// Counts of keys or entries, column by column.
#[derive(Default)]
struct Counts {
    projects: Vec<Uuid>,
    ids: Vec<Uuid>,
    numbers: Vec<i64>,
    times: Vec<Option<i64>>,
    saved: Vec<i64>,
}

impl Counts {
    fn of_keys(batch: &UsageBatch) -> Self {
        let mut columns = Self::default();
        for ((project, id), usage) in batch.keys() {
            let last_used = usage.last_used.map(Timestamp::as_nanos);
            columns.push(&project, id.as_bytes(), usage.requests, last_used);
        }
        columns
    }

    fn of_entries(batch: &UsageBatch) -> Self {
        let mut columns = Self::default();
        for ((project, id), hits) in &batch.entries {
            columns.push(project, id.as_bytes(), hits.hits, Some(hits.last_hit.as_nanos()));
            columns.saved.push(signed(hits.saved.as_nanos()));
        }
        columns
    }

    fn push(&mut self, project: &ProjectId, id: &[u8; 16], count: u64, time: Option<i64>) {
        self.projects.push(uuid(project.as_bytes()));
        self.ids.push(uuid(id));
        self.numbers.push(signed(count));
        self.times.push(time);
    }
}

/// Labels of contexts, column by column.
#[derive(Default)]
struct Labels<'a> {
    projects: Vec<Uuid>,
    contexts: Vec<i64>,
    texts: Vec<&'a [u8]>,
    hours: Vec<i64>,
}

impl<'a> Labels<'a> {
    fn of(batch: &'a UsageBatch) -> Self {
        let mut columns = Self::default();
        for ((project, context), label) in &batch.contexts {
            columns.projects.push(uuid(project.as_bytes()));
            columns.contexts.push(context.0);
            columns.texts.push(label.text.as_bytes());
            columns.hours.push(label.hour);
        }
        columns
    }
}

/// Rollups, column by column; the buckets of all of them in one.
#[derive(Default)]
struct Rollups<'a> {
    projects: Vec<Uuid>,
    steps: Vec<i32>,
    dimensions: Vec<i16>,
    periods: Vec<i64>,
    keys: Vec<Uuid>,
    models: Vec<&'a [u8]>,
    contexts: Vec<i64>,
    firsts: Vec<i32>,
    lasts: Vec<i32>,
    buckets: Vec<i64>,
    sums: [Vec<i64>; SUMS.len()],
}
