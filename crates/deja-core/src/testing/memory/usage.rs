//! Counts of the reference store.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::MemoryStore;
use crate::analytics::{Totals, UsageBatch};
use crate::id::ProjectId;
use crate::store::{StoreError, Usage};

#[async_trait]
impl Usage for MemoryStore {
    async fn record(&self, batch: &UsageBatch) -> Result<(), StoreError> {
        let mut state = self.state();
        for (key, usage) in &mut state.keys {
            if let Some(more) = batch.keys.get(&(key.project, key.id)) {
                usage.requests += more.requests;
                usage.last_used = usage.last_used.max(more.last_used);
            }
        }
        for (id, hits) in &batch.entries {
            if let Some(stored) = state.entries.get_mut(id) {
                stored.last_used = stored.last_used.max(hits.last_hit);
            }
        }
        for (id, totals) in &batch.rollups {
            if state.projects.contains_key(&id.0) {
                state.usage.entry(id.clone()).or_default().add(totals);
            }
        }
        Ok(())
    }

    async fn totals(&self, from: i64, until: i64) -> Result<BTreeMap<ProjectId, Totals>, StoreError> {
        let mut sums: BTreeMap<ProjectId, Totals> = BTreeMap::new();
        for ((project, _, hour), totals) in &self.state().usage {
            if (from..until).contains(hour) {
                sums.entry(*project).or_default().add(totals);
            }
        }
        Ok(sums)
    }
}
