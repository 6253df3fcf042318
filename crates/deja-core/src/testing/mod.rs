//! For tests: the reference store, a clock and randomness to command, nouns, and the store contract suite.

mod clock;
#[expect(clippy::unwrap_used, reason = "a case of the suite fails by panicking")]
pub mod contract;
mod entropy;
mod memory;
mod nouns;

pub use clock::ManualClock;
pub use entropy::SeededEntropy;
pub use memory::MemoryStore;
pub use nouns::{
    bytes, change, change_at, entry, key, logged, new_entry, operator, project, provider, sample, wrong,
};
