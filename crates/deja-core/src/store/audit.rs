//! The port to the audit log. Its rows come from the changes themselves; this is how they are read.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use crate::audit::{AuditFilter, AuditRow, Change};
use crate::clock::Timestamp;
use crate::store::StoreError;

/// The audit log.
///
/// A method that takes a [`Change`] writes its row in the transaction of the change: together or not at all,
/// and not where the method says that there was nothing to change.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Writes a row that goes with no other write: a refused sign-in, an export.
    async fn note(&self, change: &Change) -> Result<(), StoreError>;

    /// Up to `limit` rows that pass the filter, newest first; with `before` those of a smaller number only, so that paging is
    /// stable while rows are added. Rows outlive what they are about. A filter by anything but the project may read all rows, as
    /// in a search by text of [`Browse`](crate::store::Browse): it ends with [`StoreError::SearchTimeout`] if it takes too long.
    async fn changes(
        &self,
        filter: &AuditFilter,
        before: Option<u64>,
        limit: NonZeroUsize,
    ) -> Result<Vec<AuditRow>, StoreError>;

    /// Removes up to `limit` rows of one action, the oldest first, that are from before `before` or not among the
    /// `newest` of that action, and says how many.
    async fn sweep_changes(
        &self,
        action: &str,
        before: Timestamp,
        newest: u64,
        limit: NonZeroUsize,
    ) -> Result<u64, StoreError>;
}
