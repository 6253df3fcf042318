//! The port to the rate limiter's buckets.

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::id::{KeyId, ProjectId};
use crate::rate_limit::{Decision, Quota};
use crate::store::StoreError;

/// Rate limits.
#[async_trait]
pub trait Limits: Send + Sync {
    /// Takes one request from the project's bucket by [`crate::rate_limit::take`], atomically: concurrent
    /// calls never let more through than one after the other would. A project that is gone has no bucket.
    async fn take(&self, project: ProjectId, quota: Quota, now: Timestamp) -> Result<Decision, StoreError>;

    /// Takes one request from the bucket of one key of the project. `quota` is the key's own limit.
    async fn take_of_key(
        &self,
        project: ProjectId,
        key: KeyId,
        quota: Quota,
        now: Timestamp,
    ) -> Result<Decision, StoreError>;

    /// Gives one request back to the bucket of the key: the limit of its project refused it.
    async fn give_back_to_key(&self, project: ProjectId, key: KeyId, quota: Quota) -> Result<(), StoreError>;

    /// Takes one request from the project's bucket for feedback.
    async fn take_feedback(
        &self,
        project: ProjectId,
        quota: Quota,
        now: Timestamp,
    ) -> Result<Decision, StoreError>;
}
