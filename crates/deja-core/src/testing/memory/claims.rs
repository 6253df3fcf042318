//! Claims on flights.

use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::MemoryStore;
use crate::cache::{Inserted, NewEntry};
use crate::clock::Timestamp;
use crate::id::FlightId;
use crate::store::{Claimed, Claims, Entries, FlightKey, StoreError, Unanswered};

/// A claim, and how its flight ended if it did.
pub(super) struct Held {
    owner: FlightId,
    until: Instant,
    ended: Option<Unanswered>,
}

#[async_trait]
impl Claims for MemoryStore {
    async fn claim(
        &self,
        flight: &FlightKey,
        owner: FlightId,
        lease: Duration,
        awaited: Option<FlightId>,
        now: Timestamp,
    ) -> Result<Claimed, StoreError> {
        let mut state = self.state();
        if let Some(held) = state.claims.get(flight) {
            match &held.ended {
                Some(ended) if awaited == Some(held.owner) => return Ok(Claimed::Unanswered(ended.clone())),
                None if held.owner != owner && held.until > Instant::now() => {
                    return Ok(Claimed::Theirs(held.owner));
                }
                _ => {}
            }
        }
        let answered = state.entries.values().any(|stored| {
            stored.scope.key() == flight.scope
                && stored.prompt_hash == flight.prompt
                && stored.entry.is_live(now)
        });
        if answered {
            return Ok(Claimed::Answered);
        }
        state.claims.insert(*flight, Held { owner, until: Instant::now() + lease, ended: None });
        Ok(Claimed::Ours)
    }

    async fn prolong(
        &self,
        flight: &FlightKey,
        owner: FlightId,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let own = state.claims.get_mut(flight).filter(|held| held.owner == owner && held.ended.is_none());
        let found = own.is_some();
        if let Some(held) = own {
            held.until = Instant::now() + lease;
        }
        Ok(found)
    }

    async fn store_and_release(&self, new: NewEntry, owner: FlightId) -> Result<Inserted, StoreError> {
        let flight =
            FlightKey { project: new.scope.project(), scope: new.scope.key(), prompt: new.prompt_hash };
        let inserted = self.insert(new).await?;
        let mut state = self.state();
        if state.claims.get(&flight).is_some_and(|held| held.owner == owner) {
            state.claims.remove(&flight);
            self.released.notify_waiters();
        }
        Ok(inserted)
    }

    async fn release(
        &self,
        flight: &FlightKey,
        owner: FlightId,
        ended: &Unanswered,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        if let Some(held) = state.claims.get_mut(flight).filter(|held| held.owner == owner) {
            held.ended = Some(ended.clone());
            self.released.notify_waiters();
        }
        Ok(())
    }

    async fn released(&self, flight: &FlightKey, owner: FlightId, patience: Duration) {
        let notified = self.released.notified();
        let held =
            (self.state().claims.get(flight)).is_some_and(|held| held.owner == owner && held.ended.is_none());
        if held {
            // Whichever ends first, the caller looks again.
            let _ = tokio::time::timeout(patience, notified).await;
        }
    }
}
