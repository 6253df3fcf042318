//! For tests: the reference store, a clock and randomness to command, and the store contract suite.

mod clock;
#[expect(clippy::unwrap_used, reason = "a case of the suite fails by panicking")]
pub mod contract;
mod entropy;
mod memory;

use crate::audit::{Actor, Change};
use crate::clock::Timestamp;
use crate::id::ProjectId;
use crate::project::{Project, ProjectSettings, Tier};

pub use clock::ManualClock;
pub use entropy::SeededEntropy;
pub use memory::MemoryStore;

/// A project as they begin.
#[expect(clippy::unwrap_used, reason = "a test knows what a slug is")]
pub fn project(id: ProjectId, slug: &str, created: Timestamp) -> Project {
    Project {
        id,
        slug: slug.parse().unwrap(),
        name: slug.to_owned(),
        tier: Tier::Free,
        custom_quota: None,
        suspended: false,
        settings: ProjectSettings::default(),
        created,
    }
}

/// A change that a test makes at the epoch.
pub fn change() -> Change {
    change_at(Timestamp::default())
}

/// A change that a test makes.
pub fn change_at(at: Timestamp) -> Change {
    Change::new(at, Actor::System, "test")
}
