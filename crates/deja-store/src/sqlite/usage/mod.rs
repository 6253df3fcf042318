//! Counts, answered from rollups. How they lie: `0002_console.sql`; why: `docs/adr/0010-rollups.md`.

mod record;
mod sweep;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;

use async_trait::async_trait;
use deja_core::analytics::{ContextKey, Dimension, Histograms, Rollup, Slice, Step, Totals, UsageBatch};
use deja_core::cache::EntryDetail;
use deja_core::clock::Timestamp;
use deja_core::id::{KeyId, ProjectId};
use deja_core::store::{EntryFilter, StoreError, Usage};
use rusqlite::{OptionalExtension, Row, params};

use super::browse::{detail_columns, listed};
use super::entries::remove::{self, passes};
use super::rows::{count, limit_of, unreadable};
use super::{Done, SqliteStore};
use crate::sums::sums;

pub(super) use record::add_functions;

/// The totals whose columns begin at `first`.
fn totals(row: &Row<'_>, first: usize) -> rusqlite::Result<Totals> {
    let mut sums = [0; Totals::FIELDS];
    for (at, sum) in sums.iter_mut().enumerate() {
        *sum = count(row, first + at)?;
    }
    Ok(Totals::from_array(sums))
}

/// The names of a slice as the table has them: key, model, context.
fn names(slice: &Slice) -> (Vec<u8>, String, i64) {
    (
        slice.key.map(|key| key.as_bytes().to_vec()).unwrap_or_default(),
        slice.model.as_deref().unwrap_or_default().to_owned(),
        slice.context.map_or(0, |context| context.0),
    )
}

#[async_trait]
impl Usage for SqliteStore {
    async fn record(&self, batch: &UsageBatch) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        let rows = record::Rows::of(batch);
        self.writer.write_if_room(move |connection| Ok(Done::quiet(rows.write(connection)?))).await
    }

    async fn totals(&self, from: i64, until: i64) -> Result<BTreeMap<ProjectId, Totals>, StoreError> {
        let sql = format!(
            "SELECT r.project_id, {} FROM {} GROUP BY r.project_id",
            sums(|column| format!("add_up(r.{column})")),
            of_all()
        );
        let of_one = |row: &Row<'_>| Ok((ProjectId::from_bytes(row.get(0)?), totals(row, 1)?));
        self.readers.all(sql, [from, until], of_one).await
    }

    async fn usage_series(
        &self,
        project: ProjectId,
        slice: &Slice,
        step: Step,
        periods: Range<i64>,
    ) -> Result<BTreeMap<i64, Rollup>, StoreError> {
        let dimensions = slice.dimensions();
        let (key, model, context) = names(slice);
        // The slice of all requests says which periods there are; each of them is one look into the key.
        let sql = format!(
            "SELECT r.period, r.histograms, {} FROM rollups p CROSS JOIN rollups r
                  ON r.project_id = p.project_id AND r.step = p.step AND r.dimensions = ?5
                     AND r.period = p.period AND r.key_id = ?6 AND r.model = ?7 AND r.context = ?8
             WHERE p.project_id = ?1 AND p.step = ?2 AND p.dimensions = 0 AND p.period >= ?3 AND p.period < ?4",
            sums(|column| format!("r.{column}"))
        );
        let Range { start, end } = periods;
        let values = (*project.as_bytes(), step.seconds(), start, end, dimensions, key, model, context);
        let rollup = |row: &Row<'_>| {
            let histograms = Histograms::from_bytes(row.get_ref(1)?.as_blob()?)
                .ok_or_else(|| unreadable(1, "the histograms are cut"))?;
            Ok((row.get(0)?, Rollup { totals: totals(row, 2)?, histograms }))
        };
        self.readers.all(sql, values, rollup).await
    }

    async fn usage_by(
        &self,
        project: ProjectId,
        slice: &Slice,
        by: Dimension,
        step: Step,
        periods: Range<i64>,
        limit: NonZeroUsize,
    ) -> Result<Vec<(Slice, Totals)>, StoreError> {
        let slice = slice.clone();
        let sql = by_sql(&slice, by);
        let (key, model, context) = names(&slice);
        let values = (
            *project.as_bytes(),
            step.seconds(),
            periods.start,
            periods.end,
            by.bit(),
            slice.dimensions() | by.bit(),
            key,
            model,
            context,
            limit_of(limit),
        );
        let part = move |row: &Row<'_>| Ok((filled_in(&slice, by, row)?, totals(row, 1)?));
        self.readers.all(sql, values, part).await
    }

    async fn top_entries(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        since: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<EntryDetail>, StoreError> {
        let filter = filter.clone();
        self.readers_for(&filter)
            .read(move |connection| {
                let sql = format!(
                    "SELECT {} FROM savings v INDEXED BY savings_by_amount
                     CROSS JOIN entries e ON e.entry = v.entry JOIN scopes s ON s.scope = e.scope
                     WHERE v.project_id = ?1 AND {} AND e.hits > 0 AND e.last_used >= ?6
                     ORDER BY v.saved DESC, v.entry_id LIMIT ?7",
                    detail_columns(),
                    passes()
                );
                let (any_context, context) = remove::context_of(&filter);
                let values = params![
                    project.as_bytes(),
                    filter.model,
                    any_context,
                    context,
                    filter.text,
                    since.as_nanos(),
                    limit_of(limit),
                ];
                connection.prepare_cached(&sql)?.query_map(values, listed)?.collect()
            })
            .await
    }

    async fn context_labels(
        &self,
        project: ProjectId,
        contexts: &[ContextKey],
    ) -> Result<BTreeMap<ContextKey, String>, StoreError> {
        let contexts = contexts.to_vec();
        self.readers
            .read(move |connection| {
                let sql = "SELECT label FROM context_labels WHERE project_id = ?1 AND context = ?2";
                let mut select = connection.prepare_cached(sql)?;
                let mut labels = BTreeMap::new();
                for context in contexts {
                    let values = params![project.as_bytes(), context.0];
                    if let Some(label) = select.query_row(values, |row| row.get(0)).optional()? {
                        labels.insert(context, label);
                    }
                }
                Ok(labels)
            })
            .await
    }

    async fn sweep_usage(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError> {
        sweep::sweep(self, now, limit).await
    }
}

/// The hours ?1..?2 of all projects. The join makes it one range of the primary key for each project.
fn of_all() -> String {
    format!(
        "projects p CROSS JOIN rollups r
            ON r.project_id = p.project_id AND r.step = {} AND r.dimensions = 0
               AND r.period >= ?1 AND r.period < ?2",
        Step::Hour.seconds()
    )
}

const fn column(by: Dimension) -> &'static str {
    match by {
        Dimension::Key => "key_id",
        Dimension::Model => "model",
        Dimension::Context => "context",
    }
}

/// Totals by a dimension. The rows that give only this dimension say which names there are in each period; the
/// wanted row of each is one look into the key.
fn by_sql(slice: &Slice, by: Dimension) -> String {
    let name = column(by);
    let given = slice.dimensions() & by.bit() > 0;
    let conditions = [Dimension::Key, Dimension::Model, Dimension::Context].map(|dimension| {
        let (column, value) = (column(dimension), 6 + dimension.bit().ilog2() + 1);
        if dimension == by && !given {
            format!("r.{column} = v.{column}")
        } else {
            format!("r.{column} = ?{value}")
        }
    });
    let only = if given { format!("AND v.{name} = r.{name}") } else { String::new() };
    format!(
        "SELECT v.{name}, {} FROM rollups v CROSS JOIN rollups r
              ON r.project_id = v.project_id AND r.step = v.step AND r.dimensions = ?6 AND r.period = v.period
                 AND {} {only}
         WHERE v.project_id = ?1 AND v.step = ?2 AND v.dimensions = ?5 AND v.period >= ?3 AND v.period < ?4
         GROUP BY v.{name}
         ORDER BY sum(r.exact_hits + r.semantic_hits + r.misses + r.passed + r.errors + r.refused + r.rate_limited) DESC,
                  v.{name}
         LIMIT ?10",
        sums(|column| format!("add_up(r.{column})")),
        conditions.join(" AND "),
    )
}

/// The slice with the name of column 0.
fn filled_in(slice: &Slice, by: Dimension, row: &Row<'_>) -> rusqlite::Result<Slice> {
    let mut slice = slice.clone();
    match by {
        Dimension::Key => slice.key = Some(KeyId::from_bytes(row.get(0)?)),
        Dimension::Model => slice.model = Some(row.get::<_, String>(0)?.into()),
        Dimension::Context => slice.context = Some(ContextKey(row.get(0)?)),
    }
    Ok(slice)
}
