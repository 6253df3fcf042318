//! Counting, off the request path: events are added up in memory and written in batches.

use std::sync::{Mutex, PoisonError};

use crate::analytics::{UsageBatch, UsageEvent};
use crate::store::{Store, StoreError};

/// Counts that are not written yet. Bounded by the number of keys, entries and models in use.
#[derive(Default)]
pub struct Recorder {
    pending: Mutex<UsageBatch>,
}

impl Recorder {
    /// Counts one request.
    pub fn count(&self, event: &UsageEvent<'_>) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).add(event);
    }

    /// Writes what was counted since the last call. What cannot be written is kept for the next call.
    pub async fn flush(&self, store: &dyn Store) -> Result<(), StoreError> {
        let batch = self.pending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if batch.is_empty() {
            return Ok(());
        }
        let written = store.record(&batch).await;
        if written.is_err() {
            self.pending.lock().unwrap_or_else(PoisonError::into_inner).merge(batch);
        }
        written
    }
}
