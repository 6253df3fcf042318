//! Moments as people read them.

use deja_core::clock::Timestamp;

/// To the second.
pub(crate) fn whole(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_second(at.as_secs()).unwrap_or_default()
}
