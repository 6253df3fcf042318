//! Flights among several processes with one database: who holds the claim asks the provider, the others wait.
//!
//! The claim is a lease that its owner prolongs. If the owner dies, another takes over when the lease has run
//! out, so a prompt costs two calls at most.

use std::future::Future;
use std::time::Duration;

use crate::cache::{Hit, Judge, Scope};
use crate::engine::{Engine, QueryError};
use crate::id::FlightId;
use crate::store::{Claims, FlightKey};

/// How long a claim holds unless it is prolonged: what a request waits for at most when an owner dies.
const LEASE: Duration = Duration::from_secs(6);
const PROLONG_EVERY: Duration = Duration::from_secs(2);
/// A word that gets lost costs the waiting so much more.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What came of claiming a flight.
pub(super) enum Claimed<'a> {
    /// This process alone may ask.
    Ours(Claim<'a>),
    /// The answer is there.
    Found(Hit),
}

/// A flight that this process alone may lead, until it is [ended](Claim::end).
pub(super) struct Claim<'a> {
    claims: &'a dyn Claims,
    flight: FlightKey,
    owner: FlightId,
}

impl Engine {
    /// Claims a flight from all other processes, which may take as long as one of them leads it.
    pub(super) async fn claim<'a>(
        &'a self,
        claims: &'a dyn Claims,
        flight: FlightKey,
        scope: &Scope,
        judge: Judge<'_>,
    ) -> Result<Claimed<'a>, QueryError> {
        let owner = FlightId::generate(self.parts.clock.now(), &*self.parts.entropy)
            .map_err(|error| QueryError::Internal(error.to_string()))?;
        let claim = Claim { claims, flight, owner };
        loop {
            let taken = claim.take().await?;
            if let Some(hit) = self.exact(scope, flight.prompt, judge).await? {
                if taken {
                    claim.end().await;
                }
                return Ok(Claimed::Found(hit));
            }
            if taken {
                return Ok(Claimed::Ours(claim));
            }
            claims.released(&flight, LOOK_EVERY).await;
        }
    }
}

impl Claim<'_> {
    async fn take(&self) -> Result<bool, QueryError> {
        Ok(self.claims.claim(&self.flight, self.owner, LEASE).await?)
    }

    /// Does `work` while the claim is prolonged. A claim that cannot be prolonged does not stop the work: at
    /// worst another process does it too.
    pub(super) async fn hold<T>(&self, work: impl Future<Output = T>) -> T {
        let prolong = async {
            loop {
                tokio::time::sleep(PROLONG_EVERY).await;
                if let Err(error) = self.take().await {
                    tracing::warn!(error = %error, "a claim could not be prolonged");
                }
            }
        };
        tokio::select! {
            done = work => done,
            never = prolong => never,
        }
    }

    /// Lets the others go on.
    pub(super) async fn end(self) {
        if let Err(error) = self.claims.release(&self.flight, self.owner).await {
            tracing::warn!(error = %error, "a claim could not be released; it runs out by itself");
        }
    }
}
