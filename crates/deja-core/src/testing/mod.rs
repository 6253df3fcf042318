//! For tests: the reference store, a clock and randomness to command, and the store contract suite.

mod clock;
#[expect(clippy::unwrap_used, reason = "a case of the suite fails by panicking")]
pub mod contract;
mod entropy;
mod memory;

pub use clock::ManualClock;
pub use entropy::SeededEntropy;
pub use memory::MemoryStore;
