//! Single-flight: one upstream call for a prompt, and for paraphrases of it, however many callers wait.
//!
//! A flight is run by a task of its own. Callers only watch it, so a caller that hangs up changes nothing,
//! and a flight that panics is an error for its watchers, never a hang.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::cache::policy::NotStored;
use crate::cache::{Entry, Hit, Judge, ScopeKey, Verdict};
use crate::embedding::{Embedding, Similarity};
use crate::engine::search::Near;
use crate::engine::{CANDIDATES, Opinion, Query, QueryError};
use crate::money::NanoUsd;

/// How a flight ended.
#[derive(Clone, Debug)]
pub(super) enum Completed {
    /// With a fresh answer.
    Answered(Arc<Fresh>),
    /// The answer to the leader's query was in the cache: meanwhile, or as the project's model said.
    Found(Hit, Option<Opinion>),
    /// Another process asked and got nothing that answers others: everybody asks for themselves.
    Unshared,
    /// Without an answer.
    Failed(QueryError),
}

/// A fresh answer.
#[derive(Debug)]
pub(super) struct Fresh {
    /// The answer, as an entry even when it was not stored.
    pub entry: Arc<Entry>,
    /// Whether it was stored, and if not, why.
    pub stored: Result<(), NotStored>,
    /// What the call cost, where the price is known.
    pub spent: NanoUsd,
    /// What was there and did not answer.
    pub near: Near,
    /// How long the provider took.
    pub provider_time: Duration,
}

/// Whose flights a caller takes part in. A completion that gave it nothing makes that narrower, so that nobody waits
/// for more than two calls: one of somebody else, and then its own or the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those of the same prompt and of paraphrases.
    Similar,
    /// Those of the same prompt to the same model that ask the provider at once, as this caller does from now on.
    Same,
    /// None.
    Own,
}

impl Reach {
    /// After a completion that gave the caller nothing.
    pub(super) const fn narrower(self) -> Self {
        match self {
            Self::Similar => Self::Same,
            Self::Same | Self::Own => Self::Own,
        }
    }
}

/// A place to see how a flight ends.
pub(super) struct Watch(watch::Receiver<Option<Completed>>);

impl Watch {
    /// Waits for the end.
    pub(super) async fn completed(mut self) -> Completed {
        let ended_early = || Completed::Failed(QueryError::Internal("the upstream task ended early".into()));
        match self.0.wait_for(Option::is_some).await {
            Ok(completed) => completed.clone().unwrap_or_else(ended_early),
            Err(_gone) => ended_early(),
        }
    }
}

/// How a caller takes part in a flight.
pub(super) enum Joined {
    /// It has to run the flight, and watches it like all others.
    Leads(Leader, Watch),
    /// It waits for this query's flight, with a prompt this similar to its own; 1 is the same prompt.
    Follows(Watch, Arc<Query>, Similarity),
}

struct Flight {
    query: Arc<Query>,
    vector: Option<Embedding>,
    reach: Reach,
    completed: watch::Receiver<Option<Completed>>,
}

impl Flight {
    fn follow(&self, similarity: Similarity) -> Joined {
        Joined::Follows(Watch(self.completed.clone()), self.query.clone(), similarity)
    }

    fn is_open_to(&self, query: &Query, reach: Reach) -> bool {
        let same_prompt = self.query.prompt == query.prompt;
        match reach {
            Reach::Similar => same_prompt,
            Reach::Same => same_prompt && self.query.model == query.model && self.reach != Reach::Similar,
            Reach::Own => false,
        }
    }
}

/// All flights under way.
#[derive(Default)]
pub(super) struct Flights {
    by_scope: Mutex<HashMap<ScopeKey, Vec<Flight>>>,
}

impl Flights {
    /// Joins a flight of `scope` within `reach`: that of the same prompt, else the one of the most similar prompt whose
    /// answer `judge` would take. If there is none, starts one.
    pub(super) fn join(
        self: &Arc<Self>,
        scope: ScopeKey,
        query: &Arc<Query>,
        vector: Option<&Embedding>,
        judge: &Judge<'_>,
        reach: Reach,
    ) -> Joined {
        let mut by_scope = self.lock();
        let flights = by_scope.entry(scope).or_default();
        if let Some(same) = flights.iter().find(|flight| flight.is_open_to(query, reach)) {
            return same.follow(Similarity::ONE);
        }
        if reach == Reach::Similar
            && let Some((flight, similarity)) = nearest(flights, vector, judge)
        {
            return flight.follow(similarity);
        }
        let (sender, completed) = watch::channel(None);
        let flight =
            Flight { query: query.clone(), vector: vector.cloned(), reach, completed: completed.clone() };
        flights.push(flight);
        Joined::Leads(Leader { flights: Arc::clone(self), scope, sender }, Watch(completed))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ScopeKey, Vec<Flight>>> {
        // The map is whole after every statement under the lock, so a panic elsewhere leaves it usable.
        self.by_scope.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The flight of the most similar prompt whose answer `judge` would take. As many are judged as a search finds.
fn nearest<'a>(
    flights: &'a [Flight],
    vector: Option<&Embedding>,
    judge: &Judge<'_>,
) -> Option<(&'a Flight, Similarity)> {
    let vector = vector?;
    let similar = |flight: &'a Flight| {
        let similarity = flight.vector.as_ref()?.similarity(vector);
        judge.threshold().reached_by(similarity).then_some((flight, similarity))
    };
    let mut near: Vec<_> = flights.iter().filter_map(similar).collect();
    near.sort_by(|a, b| b.1.get().total_cmp(&a.1.get()));
    let answers = |(flight, similarity): &(&Flight, Similarity)| {
        judge.verdict(&flight.query.prompt, *similarity, false) == Verdict::Semantic
    };
    near.into_iter().take(CANDIDATES.get()).find(answers)
}

/// The right and duty to end a flight. Dropping it ends the flight as failed.
pub(super) struct Leader {
    flights: Arc<Flights>,
    scope: ScopeKey,
    sender: watch::Sender<Option<Completed>>,
}

impl Leader {
    /// Ends the flight. New callers no longer find it once its watchers know.
    pub(super) fn complete(self, completed: Completed) {
        self.leave();
        self.sender.send_replace(Some(completed));
    }

    fn leave(&self) {
        let own = self.sender.subscribe();
        let mut by_scope = self.flights.lock();
        if let Some(flights) = by_scope.get_mut(&self.scope) {
            flights.retain(|flight| !flight.completed.same_channel(&own));
            if flights.is_empty() {
                by_scope.remove(&self.scope);
            }
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.leave();
    }
}
