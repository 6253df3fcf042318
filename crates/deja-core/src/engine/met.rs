//! What queries met in the cache, off the request path: kept in memory and written in batches, for feedback.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cache::Answered;
use crate::store::{Store, StoreError};

/// What waits to be written at most: some MB. What is met beyond it cannot be judged by its request's name.
const MOST: usize = 4096;

/// What is not written yet.
#[derive(Default)]
pub(super) struct MetLog {
    pending: Mutex<Vec<Answered>>,
    writing: tokio::sync::Mutex<()>,
}

impl MetLog {
    /// Keeps what a query met.
    pub(super) fn keep(&self, met: Answered) {
        let mut pending = self.pending();
        if pending.len() < MOST {
            pending.push(met);
        }
    }

    /// Writes all that was kept before this call. What cannot be written is kept for the next call.
    pub(super) async fn flush(&self, store: &dyn Store) -> Result<(), StoreError> {
        let _one_at_a_time = self.writing.lock().await;
        let batch = std::mem::take(&mut *self.pending());
        if batch.is_empty() {
            return Ok(());
        }
        let written = store.keep_answered(&batch).await;
        if written.is_err() {
            let mut pending = self.pending();
            let later = std::mem::replace(&mut *pending, batch);
            pending.extend(later);
            pending.truncate(MOST);
        }
        written
    }

    fn pending(&self) -> MutexGuard<'_, Vec<Answered>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
