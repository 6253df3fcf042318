//! Counts, answered from rollups. How they lie: `0001_first.sql`; why: `docs/adr/0010-rollups.md`.

mod record;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;

use async_trait::async_trait;
use deja_core::analytics::{ContextKey, Dimension, Histograms, Rollup, Slice, Step, Totals, UsageBatch};
use deja_core::cache::EntryDetail;
use deja_core::clock::Timestamp;
use deja_core::id::{KeyId, ProjectId};
use deja_core::store::{EntryFilter, StoreError, Usage};
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::browse::{listed, listed_columns};
use super::connections::Params;
use super::entries::{Filter, passes};
use super::rows::{count, get, id, limit_of, sum_of, text, uuid};
use crate::sums::sums;

/// Bits of a count in a bucket; the number of the bucket is above them.
const COUNT_BITS: u32 = 48;

/// The totals whose columns begin at `first`.
fn totals(row: &Row, first: usize) -> Result<Totals, StoreError> {
    let mut sums = [0; Totals::FIELDS];
    for (at, sum) in sums.iter_mut().enumerate() {
        *sum = count(row, first + at)?;
    }
    Ok(Totals::from_array(sums))
}

/// The names of a slice as the table has them.
struct Names<'a> {
    key: Uuid,
    model: &'a [u8],
    context: i64,
}

impl<'a> Names<'a> {
    fn of(slice: &'a Slice) -> Self {
        Self {
            key: slice.key.map(|key| uuid(key.as_bytes())).unwrap_or_default(),
            model: slice.model.as_deref().unwrap_or_default().as_bytes(),
            context: slice.context.map_or(0, |context| context.0),
        }
    }
}

#[async_trait]
impl Usage for PostgresStore {
    async fn record(&self, batch: &UsageBatch) -> Result<(), StoreError> {
        if batch.is_empty() { Ok(()) } else { record::record(&self.connections, batch).await }
    }

    async fn totals(&self, from: i64, until: i64) -> Result<BTreeMap<ProjectId, Totals>, StoreError> {
        let sql = format!("SELECT p.project_id, {} FROM {} GROUP BY p.project_id", sums(sum_of), of_all());
        let rows = self.connections.bulk(&sql, &[&from, &until]).await?;
        rows.iter().map(|row| Ok((ProjectId::from_bytes(id(row, 0)?), totals(row, 1)?))).collect()
    }

    async fn usage_series(
        &self,
        project: ProjectId,
        slice: &Slice,
        step: Step,
        periods: Range<i64>,
    ) -> Result<BTreeMap<i64, Rollup>, StoreError> {
        let sql = format!(
            "SELECT period, histograms, {} FROM rollups
             WHERE project_id = $1 AND step = $2 AND dimensions = $3 AND period >= $4 AND period < $5
                   AND key_id = $6 AND model = $7 AND context = $8",
            sums(str::to_owned)
        );
        let names = Names::of(slice);
        let params: Params<'_> = &[
            &uuid(project.as_bytes()),
            &seconds(step),
            &i16::from(slice.dimensions()),
            &periods.start,
            &periods.end,
            &names.key,
            &names.model,
            &names.context,
        ];
        let rows = self.connections.bulk(&sql, params).await?;
        rows.iter()
            .map(|row| {
                let histograms = histograms(&get::<Vec<i64>>(row, 1)?);
                Ok((get(row, 0)?, Rollup { totals: totals(row, 2)?, histograms }))
            })
            .collect()
    }

    async fn usage_by(
        &self,
        project: ProjectId,
        slice: &Slice,
        by: Dimension,
        step: Step,
        periods: Range<i64>,
        at_most: NonZeroUsize,
    ) -> Result<Vec<(Slice, Totals)>, StoreError> {
        let column = match by {
            Dimension::Key => "key_id",
            Dimension::Model => "model",
            Dimension::Context => "context",
        };
        // The dimension asked for is left open, unless the slice gives it.
        let open = if slice.dimensions() & by.bit() > 0 { 0 } else { by.bit() };
        let sql = format!(
            "SELECT {column}, {} FROM rollups
             WHERE project_id = $1 AND step = $2 AND dimensions = $3 AND period >= $4 AND period < $5
                   AND ($9::smallint = 1 OR key_id = $6) AND ($9 = 2 OR model = $7) AND ($9 = 4 OR context = $8)
             GROUP BY {column}
             ORDER BY sum(exact_hits + semantic_hits + misses + passed + errors + refused + rate_limited) DESC, {column}
             LIMIT $10",
            sums(sum_of)
        );
        let names = Names::of(slice);
        let params: Params<'_> = &[
            &uuid(project.as_bytes()),
            &seconds(step),
            &i16::from(slice.dimensions() | by.bit()),
            &periods.start,
            &periods.end,
            &names.key,
            &names.model,
            &names.context,
            &i16::from(open),
            &limit_of(at_most),
        ];
        let rows = self.connections.bulk(&sql, params).await?;
        rows.iter().map(|row| Ok((filled_in(slice, by, row)?, totals(row, 1)?))).collect()
    }

    async fn top_entries(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        since: Timestamp,
        at_most: NonZeroUsize,
    ) -> Result<Vec<EntryDetail>, StoreError> {
        let sql = format!(
            "SELECT {} FROM entries e WHERE {} AND e.hits > 0 AND e.last_used >= $6
             ORDER BY e.saved DESC, e.entry_id LIMIT $7",
            listed_columns(),
            passes(),
        );
        let (filter, since, at_most) = (Filter::of(project, filter), since.as_nanos(), limit_of(at_most));
        let rows = filter.rows(&self.connections, &sql, &[&since, &at_most]).await?;
        rows.iter().map(listed).collect()
    }

    async fn context_labels(
        &self,
        project: ProjectId,
        contexts: &[ContextKey],
    ) -> Result<BTreeMap<ContextKey, String>, StoreError> {
        let contexts: Vec<i64> = contexts.iter().map(|context| context.0).collect();
        let sql = "SELECT context, label FROM context_labels WHERE project_id = $1 AND context = ANY ($2)";
        let rows = self.connections.query(sql, &[&uuid(project.as_bytes()), &contexts]).await?;
        rows.iter().map(|row| Ok((ContextKey(get(row, 0)?), text(row, 1)?))).collect()
    }

    async fn sweep_usage(&self, now: Timestamp, at_most: NonZeroUsize) -> Result<u64, StoreError> {
        record::sweep(&self.connections, now, at_most).await
    }
}

/// The hours $1..$2 of all projects, found project by project by the primary key.
fn of_all() -> String {
    let step = Step::Hour.seconds();
    format!(
        "projects p CROSS JOIN LATERAL (
             SELECT * FROM rollups r WHERE r.project_id = p.project_id AND step = {step} AND dimensions = 0
                                           AND period >= $1 AND period < $2) r"
    )
}

fn seconds(step: Step) -> i32 {
    i32::try_from(step.seconds()).unwrap_or(i32::MAX)
}

/// The distributions that were kept as buckets.
fn histograms(buckets: &[i64]) -> Histograms {
    let mask = (1 << COUNT_BITS) - 1;
    Histograms::from_buckets(buckets.iter().filter_map(|bucket| {
        Some((u16::try_from(bucket >> COUNT_BITS).ok()?, (bucket & mask).unsigned_abs()))
    }))
}

/// The buckets to keep.
fn buckets(histograms: &Histograms) -> impl Iterator<Item = i64> + '_ {
    let most = (1u64 << COUNT_BITS) - 1;
    histograms.buckets().map(move |(bucket, count)| i64::from(bucket) << COUNT_BITS | count.min(most) as i64)
}

/// The slice with the name of column 0.
fn filled_in(slice: &Slice, by: Dimension, row: &Row) -> Result<Slice, StoreError> {
    let mut slice = slice.clone();
    match by {
        Dimension::Key => slice.key = Some(KeyId::from_bytes(id(row, 0)?)),
        Dimension::Model => slice.model = Some(text(row, 0)?.into()),
        Dimension::Context => slice.context = Some(ContextKey(get(row, 0)?)),
    }
    Ok(slice)
}
