//! Counts of the reference store.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;

use async_trait::async_trait;

use super::{MemoryStore, State, Stored};
use crate::analytics::{ContextKey, Dimension, Rollup, RollupKey, Slice, Step, Totals, UsageBatch};
use crate::cache::EntryDetail;
use crate::clock::Timestamp;
use crate::id::ProjectId;
use crate::store::{EntryFilter, StoreError, Usage};

impl State {
    /// The rollups of a project and span whose slices give exactly these dimensions.
    fn rows(
        &self,
        project: ProjectId,
        step: Step,
        periods: &Range<i64>,
        dimensions: u8,
    ) -> impl Iterator<Item = (&RollupKey, &Rollup)> {
        self.rollups.iter().filter(move |(key, _)| {
            (key.project, key.step, key.slice.dimensions()) == (project, step, dimensions)
                && periods.contains(&key.period)
        })
    }
}

#[async_trait]
impl Usage for MemoryStore {
    async fn record(&self, batch: &UsageBatch) -> Result<(), StoreError> {
        let mut state = self.state();
        if let Some(id) = batch.id {
            if state.recorders.get(&id.recorder).is_some_and(|taken| *taken >= id.taken) {
                return Ok(());
            }
            state.recorders.insert(id.recorder, id.taken);
        }
        let used = batch.keys();
        for (key, usage) in &mut state.keys {
            if let Some(more) = used.get(&(key.project, key.id)) {
                usage.requests += more.requests;
                usage.last_used = usage.last_used.max(more.last_used);
            }
        }
        for (id, hits) in &batch.entries {
            if let Some(stored) = state.entries.get_mut(id) {
                stored.last_used = stored.last_used.max(hits.last_hit);
                stored.hits += hits.hits;
                stored.saved = stored.saved.plus(hits.saved);
            }
        }
        for (key, rollup) in batch.rollups() {
            if state.projects.contains_key(&key.project) {
                state.rollups.entry(key).or_default().add(&rollup);
            }
        }
        for (id, label) in &batch.contexts {
            if state.projects.contains_key(&id.0) {
                let kept = state.contexts.entry(*id).or_insert_with(|| label.clone());
                kept.hour = kept.hour.max(label.hour);
            }
        }
        Ok(())
    }

    async fn totals(&self, from: i64, until: i64) -> Result<BTreeMap<ProjectId, Totals>, StoreError> {
        let mut sums: BTreeMap<ProjectId, Totals> = BTreeMap::new();
        for (key, rollup) in &self.state().rollups {
            if (key.step, key.slice.dimensions()) == (Step::Hour, 0) && (from..until).contains(&key.period) {
                sums.entry(key.project).or_default().add(&rollup.totals);
            }
        }
        Ok(sums)
    }

    async fn usage_series(
        &self,
        project: ProjectId,
        slice: &Slice,
        step: Step,
        periods: Range<i64>,
    ) -> Result<BTreeMap<i64, Rollup>, StoreError> {
        let state = self.state();
        let rows = state.rows(project, step, &periods, slice.dimensions());
        Ok(rows
            .filter(|(key, _)| key.slice == *slice)
            .map(|(key, rollup)| (key.period, rollup.clone()))
            .collect())
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
        let state = self.state();
        let dimensions = slice.dimensions() | by.bit();
        let mut sums: BTreeMap<Slice, Totals> = BTreeMap::new();
        for (key, rollup) in state.rows(project, step, &periods, dimensions) {
            if lies_in(&key.slice, slice) {
                sums.entry(key.slice.clone()).or_default().add(&rollup.totals);
            }
        }
        let mut ranked: Vec<_> = sums.into_iter().collect();
        ranked.sort_by_key(|(_, totals)| Reverse(totals.requests()));
        ranked.truncate(limit.get());
        Ok(ranked)
    }

    async fn top_entries(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        since: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<EntryDetail>, StoreError> {
        let state = self.state();
        let mut top: Vec<EntryDetail> = state.matching(project, filter).map(Stored::listed).collect();
        top.retain(|detail| detail.last_hit.is_some_and(|last| last >= since));
        top.sort_by_key(|detail| (Reverse(detail.saved), detail.entry.id));
        top.truncate(limit.get());
        Ok(top)
    }

    async fn context_labels(
        &self,
        project: ProjectId,
        contexts: &[ContextKey],
    ) -> Result<BTreeMap<ContextKey, String>, StoreError> {
        let state = self.state();
        let label = |key: &ContextKey| Some((*key, state.contexts.get(&(project, *key))?.text.to_string()));
        Ok(contexts.iter().filter_map(label).collect())
    }

    async fn sweep_usage(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError> {
        let mut state = self.state();
        let old = |key: &&RollupKey| key.period < key.step.oldest(now);
        let gone: Vec<RollupKey> = state.rollups.keys().filter(old).take(limit.get()).cloned().collect();
        for key in &gone {
            state.rollups.remove(key);
        }
        state.contexts.retain(|_, label| label.hour >= Step::Hour.oldest(now));
        state.recorders.retain(|_, taken| Step::Hour.period_of(*taken) >= Step::Hour.oldest(now));
        Ok(gone.len() as u64)
    }
}

/// Whether `slice` says the same as `filter` in all that `filter` gives.
fn lies_in(slice: &Slice, filter: &Slice) -> bool {
    (filter.key.is_none() || slice.key == filter.key)
        && (filter.model.is_none() || slice.model == filter.model)
        && (filter.context.is_none() || slice.context == filter.context)
}
