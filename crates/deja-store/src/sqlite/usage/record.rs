//! Writing counts.

use std::collections::{BTreeMap, HashMap};

use deja_core::analytics::{
    BatchId, ContextKey, ContextLabel, EntryHits, Histograms, Rollup, RollupKey, Totals, UsageBatch,
};
use deja_core::api_key::KeyUsage;
use deja_core::clock::Timestamp;
use deja_core::id::{EntryId, KeyId, ProjectId};
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::{Connection, OptionalExtension, params, params_from_iter, types::Value};

use super::super::rows::signed;
use super::names;
use crate::sums::{plus, sums};

/// Teaches the connection to add histograms, `add_histograms(a, b)`, and the numbers of many rows, `add_up(column)`.
pub(in super::super) fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_aggregate_function("add_up", 1, flags, AddUp)?;
    connection.create_scalar_function("add_histograms", 2, flags, |context| {
        let read = |at: usize| {
            Histograms::from_bytes(context.get_raw(at).as_blob()?)
                .ok_or_else(|| rusqlite::Error::UserFunctionError("the histograms are cut".into()))
        };
        let mut sum = read(0)?;
        sum.add(&read(1)?);
        Ok(sum.to_bytes())
    })
}

/// SQLite's own `sum` fails where the sum is too large. This one stops at the maximum, and is 0 without any row.
struct AddUp;

impl Aggregate<i64, i64> for AddUp {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<i64> {
        Ok(0)
    }

    fn step(&self, row: &mut Context<'_>, sum: &mut i64) -> rusqlite::Result<()> {
        *sum = sum.saturating_add(row.get(0)?);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<i64>) -> rusqlite::Result<i64> {
        Ok(sum.unwrap_or(0))
    }
}

/// A batch on its way into the database.
pub(super) struct Rows {
    id: Option<BatchId>,
    keys: HashMap<(ProjectId, KeyId), KeyUsage>,
    entries: BTreeMap<(ProjectId, EntryId), EntryHits>,
    contexts: HashMap<(ProjectId, ContextKey), ContextLabel>,
    rollups: BTreeMap<RollupKey, Rollup>,
}

impl Rows {
    pub(super) fn of(batch: &UsageBatch) -> Self {
        Self {
            id: batch.id,
            keys: batch.keys(),
            // In the order of their keys: neighbours share pages.
            entries: batch.entries.iter().map(|(entry, hits)| (*entry, *hits)).collect(),
            contexts: batch.contexts.clone(),
            rollups: batch.rollups(),
        }
    }

    pub(super) fn write(self, connection: &Connection) -> rusqlite::Result<()> {
        if !self.is_due(connection)? {
            return Ok(());
        }
        self.write_keys(connection)?;
        self.write_entries(connection)?;
        self.write_contexts(connection)?;
        self.write_rollups(connection)
    }

    /// Whether it was not written before.
    fn is_due(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let Some(id) = self.id else { return Ok(true) };
        let mut take = connection.prepare_cached(
            "INSERT INTO recorders (recorder_id, taken) VALUES (?1, ?2)
             ON CONFLICT (recorder_id) DO UPDATE SET taken = excluded.taken WHERE taken < excluded.taken",
        )?;
        Ok(take.execute(params![id.recorder.as_bytes(), id.taken.as_nanos()])? > 0)
    }

    fn write_keys(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut update = connection.prepare_cached(
            "UPDATE keys SET requests = requests + ?3, last_used = max(coalesce(last_used, ?4), ?4)
             WHERE project_id = ?1 AND key_id = ?2",
        )?;
        for ((project, id), usage) in &self.keys {
            let last_used = usage.last_used.map_or(i64::MIN, Timestamp::as_nanos);
            update.execute(params![project.as_bytes(), id.as_bytes(), signed(usage.requests), last_used])?;
        }
        Ok(())
    }

    /// Single rows by number only. `INSERT ... SELECT`, an upsert and `RETURNING` each open a savepoint for their
    /// statement, whose end looks through all that the transaction changed before.
    fn write_entries(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut find =
            connection.prepare_cached("SELECT entry FROM entries WHERE project_id = ?1 AND entry_id = ?2")?;
        let mut update = connection.prepare_cached(
            "UPDATE entries SET hits = hits + ?2, last_used = max(last_used, ?3) WHERE entry = ?1",
        )?;
        let mut save = connection.prepare_cached(&format!(
            "UPDATE savings SET saved = {} WHERE entry = ?1",
            plus("min", "saved", "?2")
        ))?;
        let mut insert = connection.prepare_cached(
            "INSERT INTO savings (entry, project_id, entry_id, saved) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for ((project, id), hits) in &self.entries {
            let (project, id) = (project.as_bytes(), id.as_bytes());
            let found = find.query_row(params![project, id], |row| row.get::<_, i64>(0)).optional()?;
            let Some(entry) = found else { continue };
            update.execute(params![entry, signed(hits.hits), hits.last_hit.as_nanos()])?;
            let saved = signed(hits.saved.as_nanos());
            if save.execute(params![entry, saved])? == 0 {
                insert.execute(params![entry, project, id, saved])?;
            }
        }
        Ok(())
    }

    fn write_contexts(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO context_labels (project_id, context, label, hour)
             SELECT project_id, ?2, ?3, ?4 FROM projects WHERE project_id = ?1
             ON CONFLICT (project_id, context) DO UPDATE SET hour = excluded.hour WHERE hour < excluded.hour",
        )?;
        for ((project, context), label) in &self.contexts {
            insert.execute(params![project.as_bytes(), context.0, label.text, label.hour])?;
        }
        Ok(())
    }

    fn write_rollups(self, connection: &Connection) -> rusqlite::Result<()> {
        // Selected from the table of projects, so that nothing is counted for a project that is gone.
        let (mut number, last) = (7, 8 + Totals::FIELDS);
        let values = sums(|_| {
            number += 1;
            format!("?{number}")
        });
        let mut upsert = connection.prepare_cached(&format!(
            "INSERT INTO rollups (project_id, step, dimensions, period, key_id, model, context, {}, histograms)
             SELECT project_id, ?2, ?3, ?4, ?5, ?6, ?7, {values}, ?{last} FROM projects WHERE project_id = ?1
             ON CONFLICT DO UPDATE SET {}, histograms = add_histograms(histograms, excluded.histograms)",
            sums(str::to_owned),
            sums(|column| format!("{column} = {}", plus("min", column, &format!("excluded.{column}")))),
        ))?;
        for (row, rollup) in self.rollups {
            let (key, model, context) = names(&row.slice);
            let head = [
                Value::from(row.project.as_bytes().to_vec()),
                row.step.seconds().into(),
                i64::from(row.slice.dimensions()).into(),
                row.period.into(),
                key.into(),
                model.into(),
                context.into(),
            ];
            let sums = rollup.totals.as_array().map(|sum| Value::from(signed(sum)));
            let last = [Value::from(rollup.histograms.to_bytes())];
            upsert.execute(params_from_iter(head.into_iter().chain(sums).chain(last)))?;
        }
        Ok(())
    }
}
