//! Counts on their way into a database, which has signed numbers only.

use std::num::NonZeroUsize;

/// A count.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A limit.
pub(crate) fn limit_of(limit: NonZeroUsize) -> i64 {
    i64::try_from(limit.get()).unwrap_or(i64::MAX)
}

/// The number that all rows of a page lie below: without one, all are meant.
pub(crate) fn number_before(before: Option<u64>) -> i64 {
    before.map_or(i64::MAX, signed)
}
