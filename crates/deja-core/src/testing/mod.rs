//! For tests: the reference store, a clock and randomness to command, nouns, and the store contract suite.

mod clock;
#[expect(clippy::unwrap_used, reason = "a case of the suite fails by panicking")]
pub mod contract;
mod entropy;
mod memory;
mod nouns;

use std::sync::LazyLock;

use crate::cache::Readings;
use crate::id::ProjectId;

pub use clock::ManualClock;
pub use entropy::SeededEntropy;
pub use memory::MemoryStore;
/// Readings of a project whose pairs nobody reads.
pub fn unread() -> (&'static Readings, ProjectId) {
    static UNREAD: LazyLock<Readings> = LazyLock::new(|| Readings::new(|_: &str, _: &str| None));
    (&UNREAD, ProjectId::from_bytes([1; 16]))
}

pub use nouns::{
    bytes, change, change_at, entry, key, logged, new_entry, operator, project, provider, sample, wrong,
};
