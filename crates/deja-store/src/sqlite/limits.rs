//! The rate limiter's buckets: in memory only, full again after a restart.
//!
//! A bucket holds a minute or so of history. Writing it for each request would cost an fsync a request, and
//! losing it gives a project, or a key with a limit of its own, at most one burst too many.

use std::collections::HashMap;
use std::hash::Hash;

use async_trait::async_trait;
use deja_core::clock::Timestamp;
use deja_core::id::{KeyId, ProjectId};
use deja_core::rate_limit::{Bucket, Decision, Quota, take};
use deja_core::store::{Limits, StoreError};
use parking_lot::Mutex;

use super::SqliteStore;

/// The buckets of projects, or of keys. One lock: it is held for a few nanoseconds.
pub(super) struct Buckets<K = ProjectId> {
    buckets: Mutex<HashMap<K, Bucket>>,
}

impl<K> Default for Buckets<K> {
    fn default() -> Self {
        Self { buckets: Mutex::default() }
    }
}

impl<K: Copy + Eq + Hash> Buckets<K> {
    /// Takes a request from the bucket `of` it. A new bucket is kept if `is_there` says so of the project or key, asked under
    /// the lock: a deletion or revocation that comes meanwhile forgets the bucket after that.
    fn take(&self, of: K, quota: Quota, now: Timestamp, is_there: impl FnOnce() -> bool) -> Decision {
        let mut buckets = self.buckets.lock();
        let known = buckets.get(&of).copied();
        let (left, decision) = take(known.unwrap_or_default(), quota, now);
        if known.is_some() || is_there() {
            buckets.insert(of, left);
        }
        decision
    }

    fn give_back(&self, of: K, quota: Quota) {
        if let Some(bucket) = self.buckets.lock().get_mut(&of) {
            *bucket = bucket.with_one_back(quota);
        }
    }

    pub(super) fn forget(&self, is_gone: impl Fn(&K) -> bool) {
        self.buckets.lock().retain(|of, _| !is_gone(of));
    }
}

#[async_trait]
impl Limits for SqliteStore {
    async fn take(&self, project: ProjectId, quota: Quota, now: Timestamp) -> Result<Decision, StoreError> {
        let memory = &self.memory;
        Ok(memory.buckets.take(project, quota, now, || memory.catalog.has_project(project)))
    }

    async fn take_of_key(
        &self,
        project: ProjectId,
        key: KeyId,
        quota: Quota,
        now: Timestamp,
    ) -> Result<Decision, StoreError> {
        let memory = &self.memory;
        Ok(memory.key_buckets.take((project, key), quota, now, || memory.catalog.has_key(project, key)))
    }

    async fn give_back_to_key(&self, project: ProjectId, key: KeyId, quota: Quota) -> Result<(), StoreError> {
        self.memory.key_buckets.give_back((project, key), quota);
        Ok(())
    }

    async fn take_feedback(
        &self,
        project: ProjectId,
        quota: Quota,
        now: Timestamp,
    ) -> Result<Decision, StoreError> {
        let memory = &self.memory;
        Ok(memory.feedback_buckets.take(project, quota, now, || memory.catalog.has_project(project)))
    }
}

#[cfg(test)]
mod tests {
    use deja_core::store::{Keys as _, Projects as _};
    use deja_core::testing::{self, change};

    use super::*;
    use crate::StoreSettings;
    use crate::sqlite::fixtures::{NOW, project};

    #[tokio::test]
    async fn a_key_that_was_revoked_keeps_no_bucket_and_gets_none_again() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&StoreSettings::new(directory.path())).unwrap();
        let (key, other) = (testing::key(1, project().id, NOW), testing::key(2, project().id, NOW));
        let quota = Quota::new(60, 10).unwrap();
        store.create_project(&project(), &change()).await.unwrap();
        for key in [&key, &other] {
            store.create_key(key, &change()).await.unwrap();
            store.take_of_key(key.project, key.id, quota, NOW).await.unwrap();
        }
        store.revoke_key(key.project, key.id, &change()).await.unwrap();
        // Of a request that was admitted before.
        assert!(store.take_of_key(key.project, key.id, quota, NOW).await.unwrap().allowed);
        let kept: Vec<_> = store.memory.key_buckets.buckets.lock().keys().copied().collect();
        assert_eq!(kept, [(other.project, other.id)]);
    }

    #[test]
    fn a_project_that_is_gone_gets_no_bucket_again() {
        let (buckets, project) = (Buckets::<ProjectId>::default(), ProjectId::from_bytes([1; 16]));
        let (quota, now) = (Quota::new(60, 10).unwrap(), Timestamp::from_secs(1_700_000_000));
        buckets.take(project, quota, now, || true);
        assert_eq!(buckets.take(project, quota, now, || true).remaining, 8);
        // The last request was admitted before the project was deleted.
        buckets.forget(|of| *of == project);
        assert!(buckets.take(project, quota, now, || false).allowed);
        assert!(buckets.buckets.lock().is_empty());
    }
}
