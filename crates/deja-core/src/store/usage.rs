//! The port to counts.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;

use async_trait::async_trait;

use crate::analytics::{ContextKey, Dimension, Rollup, Slice, Step, Totals, UsageBatch};
use crate::cache::EntryDetail;
use crate::clock::Timestamp;
use crate::id::ProjectId;
use crate::store::{EntryFilter, StoreError};

/// Counts of requests. Answered from rollups: no method reads a request, and the time each takes goes with the
/// number of periods asked for, not with the number of requests.
#[async_trait]
pub trait Usage: Send + Sync {
    /// Adds a batch to keys, entries and rollups, all of it or nothing. What is counted for keys, entries or
    /// projects that are gone is dropped. Sums stop at the largest number that is kept. A batch with an id is counted once, however often it is given; those of one
    /// recorder come in the order in which they were taken.
    async fn record(&self, batch: &UsageBatch) -> Result<(), StoreError>;

    /// Totals by project over the hours `from..until` (hours since the epoch).
    async fn totals(&self, from: i64, until: i64) -> Result<BTreeMap<ProjectId, Totals>, StoreError>;

    /// The rollups of one slice of a project's requests over these periods, by period; empty ones are left out.
    async fn usage_series(
        &self,
        project: ProjectId,
        slice: &Slice,
        step: Step,
        periods: Range<i64>,
    ) -> Result<BTreeMap<i64, Rollup>, StoreError>;

    /// The totals of a slice over these periods, told apart `by` a dimension that the slice leaves open: as
    /// slices with that dimension filled in, most requests first, equal ones in the order of slices; at most
    /// `limit`. A slice that gives the dimension already is the only one.
    async fn usage_by(
        &self,
        project: ProjectId,
        slice: &Slice,
        by: Dimension,
        step: Step,
        periods: Range<i64>,
        limit: NonZeroUsize,
    ) -> Result<Vec<(Slice, Totals)>, StoreError>;

    /// The project's entries that pass the filter and were hit at `since` or later, those that saved most first,
    /// equal ones by id; at most `limit`. What an entry saved counts from its storing on. In the embedded store what a filter finds is
    /// read through as by a search ([`Browse`](crate::store::Browse)).
    async fn top_entries(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        since: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<EntryDetail>, StoreError>;

    /// The first words of these contexts. Unknown ones are left out.
    async fn context_labels(
        &self,
        project: ProjectId,
        contexts: &[ContextKey],
    ) -> Result<BTreeMap<ContextKey, String>, StoreError>;

    /// Deletes up to `limit` rollups of periods before the oldest that is kept ([`Step::oldest`]), and says how
    /// many; with the last hour of a context goes its label, with that of a recorder what is known of it. What requests under way
    /// left of a project that was deleted meanwhile goes too.
    async fn sweep_usage(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError>;
}
