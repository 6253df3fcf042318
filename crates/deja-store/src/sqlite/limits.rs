//! The rate limiter's buckets: in memory only, full again after a restart.
//!
//! A bucket holds a minute or so of history. Writing it for each request would cost an fsync a request, and
//! losing it gives a project at most one burst too many.

use std::collections::HashMap;

use async_trait::async_trait;
use deja_core::clock::Timestamp;
use deja_core::id::ProjectId;
use deja_core::rate_limit::{Bucket, Decision, Quota, take};
use deja_core::store::{Limits, StoreError};
use parking_lot::Mutex;

use super::SqliteStore;

/// The buckets. One lock: it is held for a few nanoseconds.
#[derive(Default)]
pub(super) struct Buckets {
    buckets: Mutex<HashMap<ProjectId, Bucket>>,
}

impl Buckets {
    fn take(&self, project: ProjectId, quota: Quota, now: Timestamp) -> Decision {
        let mut buckets = self.buckets.lock();
        let bucket = buckets.entry(project).or_default();
        let (left, decision) = take(*bucket, quota, now);
        *bucket = left;
        decision
    }

    pub(super) fn forget(&self, project: ProjectId) {
        self.buckets.lock().remove(&project);
    }
}

#[async_trait]
impl Limits for SqliteStore {
    async fn take(&self, project: ProjectId, quota: Quota, now: Timestamp) -> Result<Decision, StoreError> {
        Ok(self.memory.buckets.take(project, quota, now))
    }
}
