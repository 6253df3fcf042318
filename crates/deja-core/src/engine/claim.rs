//! Flights among several processes with one database: who holds the claim asks the provider, the others wait.
//!
//! The claim is a lease that its owner prolongs. If the owner dies, another takes over when the lease has run
//! out, so a prompt costs two calls at most.

use std::future::Future;
use std::time::Duration;

use crate::cache::{Hit, Inserted, NewEntry, Scope};
use crate::engine::{Engine, Query, QueryError};
use crate::id::FlightId;
use crate::store::{Claimed, Claims, FlightKey, StoreError, Unanswered};

/// How long a claim holds unless it is prolonged: what a request waits for at most when an owner dies.
const LEASE: Duration = Duration::from_secs(6);
const PROLONG_EVERY: Duration = Duration::from_secs(2);
/// How often a waiter looks: a lost notification costs it so much more time.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The outcome of claiming a flight that other processes may lead.
pub(super) enum Turn<'a> {
    /// This process alone may ask.
    Ours(Claim<'a>),
    /// The answer is there.
    Found(Hit),
    /// Another process asked, and there is no entry.
    Unanswered(Unanswered),
    /// Nobody can claim the flight, since there is an entry that this query does not take; or it waited for two calls, and would wait
    /// for a third one. It asks without a claim.
    Unclaimed,
}

/// A flight that this process alone may lead, until it is released.
pub(super) struct Claim<'a> {
    claims: &'a dyn Claims,
    flight: FlightKey,
    owner: FlightId,
    /// Whether another process had it before.
    pub(super) waited: bool,
}

impl Engine {
    /// Claims a flight before all other processes. While another process leads it, this waits.
    pub(super) async fn claim<'a>(
        &'a self,
        claims: &'a dyn Claims,
        flight: FlightKey,
        query: &Query,
        scope: &Scope,
    ) -> Result<Turn<'a>, QueryError> {
        let owner = FlightId::generate(self.parts.clock.now(), &*self.parts.entropy)
            .map_err(|error| QueryError::Internal(error.to_string()))?;
        let (mut awaited, mut waited, mut missed) = (None::<FlightId>, false, false);
        let mut was_taken_over = false;
        loop {
            match claims.claim(&flight, owner, LEASE, awaited, self.parts.clock.now()).await? {
                Claimed::Ours => {
                    return Ok(Turn::Ours(Claim { claims, flight, owner, waited }));
                }
                Claimed::Unanswered(unanswered) => return Ok(Turn::Unanswered(unanswered)),
                Claimed::Theirs(other) => {
                    waited = true;
                    // The owner died, and another took over; or how its call ended was overwritten before this process looked, for
                    // notifications may be late or lost. The second may go on for ever, so it is borne once. The own name means:
                    // somebody's call ended just now.
                    if other != owner && awaited.replace(other).is_some_and(|before| before != other) {
                        if was_taken_over {
                            return Ok(Turn::Unclaimed);
                        }
                        was_taken_over = true;
                    }
                    claims.released(&flight, other, LOOK_EVERY).await;
                }
                Claimed::Answered => match self.exact(None, query, scope, flight.prompt).await? {
                    Some(hit) => return Ok(Turn::Found(hit)),
                    // The entry may have been deleted since.
                    None if !missed => missed = true,
                    // The entry is too old for this query.
                    None => return Ok(Turn::Unclaimed),
                },
            }
        }
    }
}

impl Claim<'_> {
    /// Does `work` while the claim is prolonged. A claim that cannot be prolonged does not stop the work: at
    /// worst another process does it too.
    pub(super) async fn hold<T>(&self, work: impl Future<Output = T>) -> T {
        let prolong = async {
            loop {
                tokio::time::sleep(PROLONG_EVERY).await;
                match self.claims.prolong(&self.flight, self.owner, LEASE).await {
                    Ok(true) => {}
                    // The claim ran out. Another process has it, and asks too.
                    Ok(false) => std::future::pending().await,
                    Err(error) => tracing::warn!(error = %error, "a claim could not be prolonged"),
                }
            }
        };
        tokio::select! {
            done = work => done,
            never = prolong => never,
        }
    }

    /// Stores an answer and lets the others go on.
    pub(super) async fn store(&self, new: NewEntry) -> Result<Inserted, StoreError> {
        self.claims.store_and_release(new, self.owner).await
    }

    /// Lets the others go on after a flight that stored nothing.
    pub(super) async fn release(&self, ended: &Unanswered) {
        if let Err(error) = self.claims.release(&self.flight, self.owner, ended).await {
            tracing::warn!(error = %error, "a claim could not be released; it runs out by itself");
        }
    }
}
