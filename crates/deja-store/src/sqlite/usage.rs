//! Counts: of keys, of entries (what eviction goes by), and the hourly rollups.

use std::collections::BTreeMap;

use async_trait::async_trait;
use deja_core::analytics::{Totals, UsageBatch};
use deja_core::clock::Timestamp;
use deja_core::id::ProjectId;
use deja_core::money::NanoUsd;
use deja_core::store::{StoreError, Usage};
use rusqlite::{Connection, params};

use super::fault::fault;
use super::rows::{count, signed};
use super::{Done, SqliteStore};

#[async_trait]
impl Usage for SqliteStore {
    async fn record(&self, batch: &UsageBatch) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        let batch = batch.clone();
        self.writer.write(move |connection| record(connection, &batch).map(Done::quiet).map_err(fault)).await
    }

    async fn totals(&self, from: i64, until: i64) -> Result<BTreeMap<ProjectId, Totals>, StoreError> {
        self.readers
            .read(move |connection| {
                // The join makes it one range of the primary key for each project.
                connection
                    .prepare_cached(
                        "SELECT u.project_id, sum(u.exact_hits), sum(u.semantic_hits), sum(u.misses),
                                sum(u.errors), sum(u.saved), sum(u.spent)
                         FROM projects p CROSS JOIN usage u
                              ON u.project_id = p.project_id AND u.hour >= ?1 AND u.hour < ?2
                         GROUP BY u.project_id",
                    )?
                    .query_map([from, until], |row| {
                        let totals = Totals {
                            exact_hits: count(row, 1)?,
                            semantic_hits: count(row, 2)?,
                            misses: count(row, 3)?,
                            errors: count(row, 4)?,
                            saved: NanoUsd::from_nanos(count(row, 5)?),
                            spent: NanoUsd::from_nanos(count(row, 6)?),
                        };
                        Ok((ProjectId::from_bytes(row.get(0)?), totals))
                    })?
                    .collect()
            })
            .await
    }
}

fn record(connection: &Connection, batch: &UsageBatch) -> rusqlite::Result<()> {
    let mut key = connection.prepare_cached(
        "UPDATE keys SET requests = requests + ?3, last_used = max(coalesce(last_used, ?4), ?4)
         WHERE project_id = ?1 AND key_id = ?2",
    )?;
    for ((project, id), usage) in &batch.keys {
        let last_used = usage.last_used.map_or(i64::MIN, Timestamp::as_nanos);
        key.execute(params![project.as_bytes(), id.as_bytes(), signed(usage.requests), last_used])?;
    }
    let mut entry = connection.prepare_cached(
        "UPDATE entries SET hits = hits + ?3, last_used = max(last_used, ?4)
         WHERE project_id = ?1 AND entry_id = ?2",
    )?;
    for ((project, id), hits) in &batch.entries {
        let last_hit = hits.last_hit.as_nanos();
        entry.execute(params![project.as_bytes(), id.as_bytes(), signed(hits.hits), last_hit])?;
    }
    // From the table of projects, so that nothing is counted for one that is gone.
    let mut rollup = connection.prepare_cached(
        "INSERT INTO usage (project_id, hour, model, exact_hits, semantic_hits, misses, errors, saved, spent)
         SELECT project_id, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM projects WHERE project_id = ?1
         ON CONFLICT (project_id, hour, model) DO UPDATE SET
             exact_hits = exact_hits + excluded.exact_hits,
             semantic_hits = semantic_hits + excluded.semantic_hits,
             misses = misses + excluded.misses,
             errors = errors + excluded.errors,
             saved = saved + excluded.saved,
             spent = spent + excluded.spent",
    )?;
    for ((project, model, hour), totals) in &batch.rollups {
        rollup.execute(params![
            project.as_bytes(),
            hour,
            model,
            signed(totals.exact_hits),
            signed(totals.semantic_hits),
            signed(totals.misses),
            signed(totals.errors),
            signed(totals.saved.as_nanos()),
            signed(totals.spent.as_nanos()),
        ])?;
    }
    Ok(())
}
