//! The port to counts.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::analytics::{Totals, UsageBatch};
use crate::id::ProjectId;
use crate::store::StoreError;

/// Counts of requests.
#[async_trait]
pub trait Usage: Send + Sync {
    /// Adds a batch to keys, entries and rollups, all of it or nothing. What is counted for keys, entries or
    /// projects that are gone is dropped.
    async fn record(&self, batch: &UsageBatch) -> Result<(), StoreError>;

    /// Totals by project over the hours `from..until` (hours since the epoch).
    async fn totals(&self, from: i64, until: i64) -> Result<BTreeMap<ProjectId, Totals>, StoreError>;
}
