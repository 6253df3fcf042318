//! The port to samples of queries.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use crate::clock::Timestamp;
use crate::id::ProjectId;
use crate::quality::{NewSample, Sample, SamplePlace};
use crate::store::StoreError;

/// Samples of what was asked and what came near. One goes with its entry and its project, and ends at its own time.
#[async_trait]
pub trait Samples: Send + Sync {
    /// Keeps these samples, and then of each project and band those with the smallest numbers: as many as the samples
    /// that the project's settings allow, divided by [`BANDS`](crate::quality::BANDS) and rounded down. A sample that ended
    /// by `now`, whose entry is gone, or whose number is there already, is dropped.
    async fn keep_samples(&self, samples: &[NewSample], now: Timestamp) -> Result<(), StoreError>;

    /// Up to `limit` of the project's samples that did not end by `now`, by place, those behind `after` if it is given. Those of an
    /// entry that expired are left out.
    async fn samples(
        &self,
        project: ProjectId,
        after: Option<SamplePlace>,
        now: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<Sample>, StoreError>;

    /// One of them; `None` if it is not there any more.
    async fn sample(
        &self,
        project: ProjectId,
        place: SamplePlace,
        now: Timestamp,
    ) -> Result<Option<Sample>, StoreError>;

    /// The places of all of them, in order.
    async fn sample_places(&self, project: ProjectId, now: Timestamp)
    -> Result<Vec<SamplePlace>, StoreError>;

    /// How many of the project's samples would go if its settings allowed so many.
    async fn samples_beyond(&self, project: ProjectId, allowed: u64) -> Result<u64, StoreError>;

    /// Deletes up to `limit` samples that ended by `now`, and all that a project has whose settings allow none. Says
    /// how many.
    async fn sweep_samples(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError>;
}
