//! What queries met in the cache, off the request path: kept in memory and written in batches, for feedback.

use parking_lot::Mutex;

use crate::cache::Answered;
use crate::store::{Store, StoreError};

/// The most that waits to be written: requests, and bytes of their prompts. Feedback cannot name requests beyond that.
const MOST: usize = 4096;
const MOST_BYTES: usize = 16 << 20;

/// What is not written yet.
#[derive(Default)]
pub(super) struct MetLog {
    pending: Mutex<Pending>,
    writing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Pending {
    met: Vec<Answered>,
    bytes: usize,
    /// What found no room since the last write.
    dropped: u64,
}

impl Pending {
    fn add(&mut self, met: Answered) {
        let bytes = self.bytes + met.asked.len() + met.request.len();
        if self.met.len() < MOST && bytes <= MOST_BYTES {
            self.bytes = bytes;
            self.met.push(met);
        } else {
            self.dropped += 1;
        }
    }

    /// Puts back a batch that was not written, before the requests that came since.
    fn put_back(&mut self, batch: Vec<Answered>) {
        let later = std::mem::take(self);
        self.dropped = later.dropped;
        batch.into_iter().chain(later.met).for_each(|met| self.add(met));
    }
}

impl MetLog {
    /// Keeps what a query met.
    pub(super) fn keep(&self, met: Answered) {
        self.pending.lock().add(met);
    }

    /// Writes all that was kept before this call. A batch that cannot be written now is kept for the next call. A batch that can
    /// never be written is given up: it would keep all later ones from being written.
    pub(super) async fn flush(&self, store: &dyn Store) -> Result<(), StoreError> {
        let _one_at_a_time = self.writing.lock().await;
        let Pending { met: batch, dropped, .. } = std::mem::take(&mut *self.pending.lock());
        if !batch.is_empty()
            && let Err(error) = store.keep_answered(&batch).await
        {
            if error.may_pass() {
                let mut pending = self.pending.lock();
                pending.dropped += dropped;
                pending.put_back(batch);
                return Err(error);
            }
            let requests = batch.len();
            tracing::error!(
                error = %error,
                requests,
                "answered requests could not be written for feedback, and are given up: feedback cannot name them"
            );
        }
        if dropped > 0 {
            tracing::warn!(
                requests = dropped,
                "too many answered requests wait to be written for feedback: feedback cannot name these"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Met;
    use crate::clock::Timestamp;
    use crate::embedding::Similarity;
    use crate::id::{EntryId, ProjectId};

    fn met(request: &str, asked: usize) -> Answered {
        Answered {
            project: ProjectId::from_bytes([1; 16]),
            request: request.into(),
            at: Timestamp::from_secs(1),
            asked: "x".repeat(asked),
            entry: EntryId::from_bytes([1; 16]),
            similarity: Similarity::ONE,
            met: Met::Served,
        }
    }

    #[test]
    fn what_waits_is_bounded_and_the_rest_is_counted() {
        let mut pending = Pending::default();
        (0..MOST + 3).for_each(|_| pending.add(met("r", 1)));
        assert_eq!((pending.met.len(), pending.bytes, pending.dropped), (MOST, 2 * MOST, 3));
        let mut pending = Pending::default();
        (0..20).for_each(|_| pending.add(met("", 1 << 20)));
        assert_eq!((pending.met.len(), pending.bytes, pending.dropped), (16, MOST_BYTES, 4));
    }

    #[test]
    fn what_was_not_written_comes_first_and_takes_no_more_room() {
        let mut pending = Pending::default();
        (0..MOST).for_each(|_| pending.add(met("old", 1)));
        let batch = std::mem::take(&mut pending).met;
        (0..10).for_each(|_| pending.add(met("new", 1)));
        pending.put_back(batch);
        assert_eq!((pending.met.len(), pending.dropped), (MOST, 10));
        assert!(pending.bytes == 4 * MOST && pending.met.iter().all(|met| met.request == "old"));
    }
}
