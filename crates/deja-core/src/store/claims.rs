//! The port to flights that several processes share.

use std::time::Duration;

use async_trait::async_trait;

use crate::cache::{PromptHash, ScopeKey};
use crate::id::{FlightId, ProjectId};
use crate::store::StoreError;

/// What a flight is about: a prompt in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlightKey {
    /// The project.
    pub project: ProjectId,
    /// The scope.
    pub scope: ScopeKey,
    /// The prompt.
    pub prompt: PromptHash,
}

/// Claims on flights, so that of several processes with one database only one asks the provider.
#[async_trait]
pub trait Claims: Send + Sync {
    /// Claims the flight for `owner` for the time of `lease`; claiming again prolongs. `false` while another owner's
    /// claim has not run out, by the store's own clock: those of the processes may differ.
    async fn claim(&self, flight: &FlightKey, owner: FlightId, lease: Duration) -> Result<bool, StoreError>;

    /// Gives the claim up and wakes who waits for it. Does nothing to another owner's claim.
    async fn release(&self, flight: &FlightKey, owner: FlightId) -> Result<(), StoreError>;

    /// Waits until the flight is released, by any process, or until `patience` is over. May return early.
    async fn released(&self, flight: &FlightKey, patience: Duration);
}
