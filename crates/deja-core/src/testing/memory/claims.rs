//! Claims on flights.

use std::collections::hash_map::Entry as Slot;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::MemoryStore;
use crate::id::FlightId;
use crate::store::{Claims, FlightKey, StoreError};

#[async_trait]
impl Claims for MemoryStore {
    async fn claim(&self, flight: &FlightKey, owner: FlightId, lease: Duration) -> Result<bool, StoreError> {
        let now = Instant::now();
        match self.state().claims.entry(*flight) {
            Slot::Occupied(held) if held.get().0 != owner && held.get().1 > now => Ok(false),
            slot => {
                slot.insert_entry((owner, now + lease));
                Ok(true)
            }
        }
    }

    async fn release(&self, flight: &FlightKey, owner: FlightId) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.claims.get(flight).is_some_and(|held| held.0 == owner) {
            state.claims.remove(flight);
            self.released.notify_waiters();
        }
        Ok(())
    }

    async fn released(&self, flight: &FlightKey, patience: Duration) {
        let notified = self.released.notified();
        let held = self.state().claims.contains_key(flight);
        if held {
            // Either end means the same: look again.
            let _ = tokio::time::timeout(patience, notified).await;
        }
    }
}
