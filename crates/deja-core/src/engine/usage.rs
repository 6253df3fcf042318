//! Counting, off the request path: events are added up in memory and written in batches.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::analytics::{BatchId, UsageBatch, UsageEvent};
use crate::api_key::ApiKey;
use crate::clock::{Clock, Timestamp};
use crate::id::{Entropy, RecorderId};
use crate::store::{Store, StoreError};

/// Minutes of keys, models and contexts that are written at a time, whatever has gathered while nothing could be
/// written: 24 rows each.
const MINUTES_AT_ONCE: usize = 256;
/// Entries whose hits are written at a time: two rows each. A commit costs as much as some hundred of them.
const ENTRIES_AT_ONCE: usize = 2048;

/// How much is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flush {
    /// All that was counted.
    All,
    /// All requests, and the hits of some entries, so that many popular entries do not cost a row each every time:
    /// their hits go on being added up, unless there is soon no room for more.
    Share,
}

/// Counts that are not written yet. Bounded by the number of keys, entries and models in use, and by a fixed number
/// while nothing can be written.
#[derive(Default)]
pub(super) struct UsageBuffer {
    pending: Mutex<UsageBatch>,
    writing: tokio::sync::Mutex<Writing>,
    dropped: AtomicU64,
}

/// What is on its way into the store.
#[derive(Default)]
struct Writing {
    /// The id of the last batch.
    id: Option<BatchId>,
    /// The batch that was given to the store without an answer. The store may have it: so the very same batch is given again.
    batch: Option<UsageBatch>,
}

impl UsageBuffer {
    /// Counts one request.
    pub(super) fn count(&self, event: &UsageEvent<'_>) {
        self.add(|pending| pending.add(event));
    }

    /// Counts a request with this key that asks for no answer.
    pub(super) fn count_other(&self, key: &ApiKey, at: Timestamp) {
        self.add(|pending| pending.add_other(key.project, key.id, at));
    }

    fn add(&self, count: impl FnOnce(&mut UsageBatch) -> bool) {
        let counted = count(&mut self.pending.lock());
        self.dropped.fetch_add(u64::from(!counted), Ordering::Relaxed);
    }

    /// Requests since the last call that were not counted, wholly or for their entry, because too much waits to be
    /// written, or the store will never take them.
    pub(super) fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    /// Writes what was counted since the last call. What cannot be written now is kept for the next call. A batch that
    /// will never be written is given up: it has requests of all projects, and would keep all later ones from being counted.
    pub(super) async fn flush(
        &self,
        flush: Flush,
        store: &dyn Store,
        clock: &dyn Clock,
        entropy: &dyn Entropy,
    ) -> Result<(), StoreError> {
        let mut writing = self.writing.lock().await;
        let mut more_entries = true;
        loop {
            if writing.batch.is_none() {
                let mut batch = {
                    let mut pending = self.pending.lock();
                    let entries = if more_entries || pending.is_crowded() { ENTRIES_AT_ONCE } else { 0 };
                    pending.take(MINUTES_AT_ONCE, entries)
                };
                more_entries = flush == Flush::All;
                if batch.is_empty() {
                    return Ok(());
                }
                // Without random bytes it has no id, and is counted twice at worst.
                writing.id = next_id(writing.id, clock.now(), entropy);
                batch.id = writing.id;
                writing.batch = Some(batch);
            }
            if let Some(batch) = &writing.batch
                && let Err(error) = store.record(batch).await
            {
                if error.may_pass() {
                    return Err(error);
                }
                let requests = batch.requests();
                tracing::error!(error = %error, requests, "counts cannot be written and are given up");
                self.dropped.fetch_add(requests, Ordering::Relaxed);
            }
            writing.batch = None;
        }
    }
}

/// The id of the batch after `last`.
fn next_id(last: Option<BatchId>, now: Timestamp, entropy: &dyn Entropy) -> Option<BatchId> {
    match last {
        Some(last) => {
            let later = Timestamp::from_nanos(last.taken.as_nanos().saturating_add(1));
            Some(BatchId { taken: now.max(later), ..last })
        }
        None => Some(BatchId { recorder: RecorderId::generate(now, entropy).ok()?, taken: now }),
    }
}
