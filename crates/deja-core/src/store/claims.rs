//! The port to flights that several processes share.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::cache::{Inserted, NewEntry, PromptHash, ScopeKey};
use crate::clock::Timestamp;
use crate::id::{FlightId, ProjectId};
use crate::provider::ProviderError;
use crate::store::StoreError;

/// The key of a flight: a prompt in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlightKey {
    /// The project.
    pub project: ProjectId,
    /// The scope.
    pub scope: ScopeKey,
    /// The prompt.
    pub prompt: PromptHash,
}

/// The end of a flight that left no entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unanswered {
    /// The model that was asked.
    pub model: String,
    /// Why there is no answer; `None` if there was one that may not be stored, or something else went wrong.
    pub failure: Option<ProviderError>,
}

/// The outcome of claiming a flight.
#[derive(Clone, Debug)]
pub enum Claimed {
    /// It is the caller's until the lease has run out.
    Ours,
    /// It is this owner's.
    Theirs(FlightId),
    /// It is nobody's: the scope has a live entry for the prompt.
    Answered,
    /// It is nobody's: the flight that the caller waited for ended without an entry.
    Unanswered(Unanswered),
}

/// Claims on flights, so that of several processes with one database only one asks the provider.
#[async_trait]
pub trait Claims: Send + Sync {
    /// Claims the flight for `owner` for the time of `lease`, unless another owner's claim still runs. The store's own clock
    /// counts: the clocks of processes may differ. The new claim sees every entry that was stored before an earlier claim was
    /// released. A caller that waited for the flight of `awaited` is told how that flight ended, if it was released without an
    /// entry and nobody has claimed since. For all other callers such a flight is free.
    async fn claim(
        &self,
        flight: &FlightKey,
        owner: FlightId,
        lease: Duration,
        awaited: Option<FlightId>,
        now: Timestamp,
    ) -> Result<Claimed, StoreError>;

    /// Prolongs a claim. `false` if it is gone or another owner's: it does not come back.
    async fn prolong(&self, flight: &FlightKey, owner: FlightId, lease: Duration)
    -> Result<bool, StoreError>;

    /// [`Entries::insert`](crate::store::Entries::insert), and gives the owner's claim up, both or neither. Wakes who
    /// waits for it.
    async fn store_and_release(&self, new: NewEntry, owner: FlightId) -> Result<Inserted, StoreError>;

    /// Gives the claim up, leaves word how the flight ended, and wakes who waits for it. Does nothing to another owner's
    /// claim.
    async fn release(
        &self,
        flight: &FlightKey,
        owner: FlightId,
        ended: &Unanswered,
    ) -> Result<(), StoreError>;

    /// Waits until the owner's claim is released, by any process, or until `patience` is over. May return early.
    async fn released(&self, flight: &FlightKey, owner: FlightId, patience: Duration);
}
