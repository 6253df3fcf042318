//! Single-flight: one upstream call for a prompt, and for paraphrases of it, however many callers wait.
//!
//! A flight is run by a task of its own. Callers only watch it, so a caller that hangs up changes nothing,
//! and a flight that panics is an error for its watchers, never a hang.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::cache::policy::NotStored;
use crate::cache::{Entry, Judge, ScopeKey, Verdict};
use crate::embedding::{Embedding, Similarity};
use crate::engine::{Query, QueryError};
use crate::money::NanoUsd;

/// How a flight ended.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// With an answer.
    Landed(Arc<Landed>),
    /// The answer was stored by somebody else meanwhile: look again.
    LookAgain,
    /// Without one.
    Failed(QueryError),
}

/// A fresh answer.
#[derive(Debug)]
pub(super) struct Landed {
    /// The answer, as an entry even when it was not stored.
    pub entry: Arc<Entry>,
    /// Whether it was stored, and if not, why.
    pub stored: Result<(), NotStored>,
    /// What the call cost, where the price is known.
    pub spent: NanoUsd,
    /// Similarity of the best entry that was there and not similar enough.
    pub near_miss: Option<Similarity>,
    /// How long the provider took.
    pub provider_time: std::time::Duration,
}

/// A place to see how a flight ends.
pub(super) struct Watch(watch::Receiver<Option<Outcome>>);

impl Watch {
    /// Waits for the end.
    pub(super) async fn outcome(mut self) -> Outcome {
        match self.0.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Outcome::LookAgain),
            Err(_gone) => Outcome::Failed(QueryError::Internal("the upstream task ended early".into())),
        }
    }
}

/// How a caller takes part in a flight.
pub(super) enum Boarding {
    /// It has to run the flight, and watches it like all others.
    Lead(Pilot, Watch),
    /// It waits for one under way, for a prompt this similar to its own; 1 is the same prompt.
    Follow(Watch, Similarity),
}

struct Flight {
    query: Arc<Query>,
    vector: Option<Embedding>,
    outcome: watch::Receiver<Option<Outcome>>,
}

/// All flights under way.
#[derive(Default)]
pub(super) struct Flights {
    by_scope: Mutex<HashMap<ScopeKey, Vec<Flight>>>,
}

impl Flights {
    /// Joins the flight of the same prompt in `scope`, else the one of the most similar prompt whose answer
    /// `judge` would take, else starts one.
    pub(super) fn board(
        self: &Arc<Self>,
        scope: ScopeKey,
        query: &Arc<Query>,
        vector: Option<&Embedding>,
        judge: Judge<'_>,
    ) -> Boarding {
        let mut by_scope = self.lock();
        let flights = by_scope.entry(scope).or_default();
        if let Some(same) = flights.iter().find(|flight| flight.query.prompt == query.prompt) {
            return Boarding::Follow(Watch(same.outcome.clone()), Similarity::ONE);
        }
        let nearest = flights
            .iter()
            .filter_map(|flight| Some((flight, flight.vector.as_ref()?.similarity(vector?))))
            .filter(|(flight, similarity)| {
                judge.verdict(&flight.query.prompt, *similarity, false) == Verdict::Semantic
            })
            .max_by(|a, b| a.1.get().total_cmp(&b.1.get()));
        if let Some((flight, similarity)) = nearest {
            return Boarding::Follow(Watch(flight.outcome.clone()), similarity);
        }
        let (sender, outcome) = watch::channel(None);
        flights.push(Flight { query: query.clone(), vector: vector.cloned(), outcome: outcome.clone() });
        Boarding::Lead(Pilot { flights: Arc::clone(self), scope, sender }, Watch(outcome))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ScopeKey, Vec<Flight>>> {
        // The map is whole after every statement under the lock, so a panic elsewhere leaves it usable.
        self.by_scope.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right and duty to end a flight. Dropping it ends the flight as failed.
pub(super) struct Pilot {
    flights: Arc<Flights>,
    scope: ScopeKey,
    sender: watch::Sender<Option<Outcome>>,
}

impl Pilot {
    /// Ends the flight. New callers no longer find it once its watchers know.
    pub(super) fn land(self, outcome: Outcome) {
        self.leave();
        self.sender.send_replace(Some(outcome));
    }

    fn leave(&self) {
        let mut by_scope = self.flights.lock();
        if let Some(flights) = by_scope.get_mut(&self.scope) {
            let own = self.sender.subscribe();
            flights.retain(|flight| !flight.outcome.same_channel(&own));
            if flights.is_empty() {
                by_scope.remove(&self.scope);
            }
        }
    }
}

impl Drop for Pilot {
    fn drop(&mut self) {
        self.leave();
    }
}
