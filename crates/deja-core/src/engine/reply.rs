//! What is asked of the engine and what it answers.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use deja_wire::Mode;

use crate::cache::policy::NotStored;
use crate::cache::{Entry, Hit, PromptHash, Refusal, Scope};
use crate::clock::Timestamp;
use crate::embedding::{Similarity, Threshold};
use crate::engine::flight::Fresh;
use crate::engine::savings::Cost;
use crate::engine::search::Near;
use crate::engine::{NearMiss, Opinion, QueryError, WireQuery};
use crate::log_throttle::LogThrottle;
use crate::money::NanoUsd;
use crate::project::Project;
use crate::provider::{Endpoint, Route};
use crate::shares::Held;

/// A query: a prompt for a model, and what it asks of the cache.
#[derive(Clone, Debug)]
pub struct Query {
    /// The prompt, not blank.
    pub prompt: String,
    /// The model, by the name its provider knows.
    pub model: String,
    /// Smallest similarity that counts as a hit.
    pub threshold: Threshold,
    /// The context. It segments the cache. In deja's own API it also goes to the model as system text.
    pub context: Option<String>,
    /// The name of the request. Feedback needs it.
    pub request: Option<String>,
    /// The request in its wire format; `None` for deja's own API.
    pub wire: Option<Box<WireQuery>>,
    /// The room that its body takes, held as long as anything works on it; `None` if the room is not counted, or the
    /// body itself holds it.
    pub room: Option<Arc<Held>>,
}

impl Query {
    /// Whether the query `other`, of the same scope, has the same prompt.
    pub(super) fn asks_the_same(&self, other: &Self) -> bool {
        match (&self.wire, &other.wire) {
            (None, None) => self.prompt == other.prompt,
            (Some(own), Some(other)) => own.hash == other.hash,
            _ => false,
        }
    }

    /// Whether an answer may be looked up. Without that it cannot be a hit.
    pub(super) fn looks_up(&self) -> bool {
        self.wire.as_ref().is_none_or(|wired| !wired.is_passed() && wired.control.look_up)
    }

    /// Whether the query is matched by meaning: it looks for similar prompts, and they may find its answer.
    pub(super) fn is_semantic(&self) -> bool {
        let by_meaning = |wired: &WireQuery| wired.mode == Mode::Semantic && wired.control.semantic;
        self.wire.as_deref().is_none_or(by_meaning)
    }

    /// Whether the query may share a call with other queries. A query that wants a fresh answer does not.
    pub(super) fn is_shared(&self) -> bool {
        self.looks_up() && self.wire.as_ref().is_none_or(|wired| wired.stores().is_ok())
    }

    /// Whether the query may read along the answer that `other` gets, which has the same prompt.
    pub(super) fn reads_along(&self, other: &Self) -> bool {
        self.wire.as_ref().zip(other.wire.as_ref()).is_some_and(|(own, other)| own.reads_along(other))
    }

    /// The hash that an exact hit has to have.
    pub(super) fn hash(&self) -> PromptHash {
        self.wire.as_ref().map_or_else(|| PromptHash::of(&self.prompt), |wired| wired.hash)
    }

    /// The scope of its answers.
    pub(super) fn scope(&self, project: &Project) -> Cow<'_, Scope> {
        match &self.wire {
            None => Cow::Owned(project.scope(&self.model, self.context.as_deref())),
            Some(wired) => Cow::Borrowed(&wired.scope),
        }
    }

    /// The provider's endpoint that the request is for; `None` for deja's own API.
    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        self.wire.as_ref().map(|wired| wired.forward.endpoint)
    }

    /// The system text that the model gets.
    pub(super) fn instructions(&self) -> Option<&str> {
        match &self.wire {
            None => self.context.as_deref(),
            Some(wired) => wired.scope.frame().instructions(),
        }
    }

    /// Refuses the query if the provider of its `route` does not serve it.
    pub(super) fn can_take(&self, route: &Route) -> Result<(), QueryError> {
        match (route, &self.wire) {
            (Route::Unsupported, _) => Err(QueryError::ModelNotSupported { model: self.model.clone() }),
            (Route::To(provider), Some(wired)) if !provider.serves(wired.forward.endpoint) => {
                Err(QueryError::WrongEndpoint { model: self.model.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Whether the query accepts an entry of this age.
    pub(super) fn takes(&self, entry: &Entry, now: Timestamp) -> bool {
        let max_age = self.wire.as_ref().and_then(|wired| wired.control.max_age);
        max_age.is_none_or(|age| entry.created >= now.minus(age))
    }

    /// The result of a look into the cache. A request in a wire format goes to its provider even if the cache failed.
    pub(super) fn or_open<T: Default>(&self, looked: Result<T, QueryError>) -> Result<T, QueryError> {
        match looked {
            Err(error) if self.wire.is_some() => {
                static LINE: LogThrottle = LogThrottle::new();
                if let Some(requests) = LINE.turn() {
                    tracing::warn!(error = %error, requests, "the cache failed: requests go to their providers");
                }
                Ok(T::default())
            }
            looked => looked,
        }
    }
}

/// The answer to a query.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The answer, as an entry. After a miss the entry may not be stored.
    pub entry: Arc<Entry>,
    /// Where it came from.
    pub source: Source,
    /// Tokens and price: what the hit saved, or what the miss cost.
    pub cost: Cost,
    /// What happened on the way.
    pub trace: Trace,
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// From the cache, the same prompt.
    Exact,
    /// From the cache, a prompt this similar.
    Semantic(Similarity),
    /// From the provider; stored, or not and why.
    Provider(Result<(), NotStored>),
}

impl From<&Hit> for Source {
    fn from(hit: &Hit) -> Self {
        if hit.is_exact() { Self::Exact } else { Self::Semantic(hit.similarity()) }
    }
}

impl Reply {
    /// Whether the answer came from the cache.
    pub const fn is_hit(&self) -> bool {
        !matches!(self.source, Source::Provider(_))
    }

    /// The similarity, on a hit.
    pub const fn similarity(&self) -> Option<Similarity> {
        match self.source {
            Source::Exact => Some(Similarity::ONE),
            Source::Semantic(similarity) => Some(similarity),
            Source::Provider(_) => None,
        }
    }

    /// The similarity of the entry that answered, or on a miss of the nearest one.
    pub fn nearest_similarity(&self) -> Option<Similarity> {
        self.similarity().or(self.trace.near_miss.map(|near| near.similarity))
    }

    /// What was spent: on the answer of a miss, and on the project's model as far as its cost is not taken off the savings.
    pub fn spent(&self) -> NanoUsd {
        let cost = self.cost.amount;
        if self.is_hit() { self.judging().minus(cost) } else { cost.plus(self.judging()) }
    }

    fn judging(&self) -> NanoUsd {
        self.trace.opinion.map_or(NanoUsd::ZERO, |opinion| opinion.cost)
    }

    /// What the guard refused, on a miss that it caused.
    pub fn refused(&self) -> Option<Refusal> {
        self.trace.refused.filter(|_| !self.is_hit())
    }

    /// What the hit saved, less the cost of asking the project's model about it; nothing on a miss.
    pub fn saved(&self) -> NanoUsd {
        if self.is_hit() { self.cost.amount.minus(self.judging()) } else { NanoUsd::ZERO }
    }
}

/// What happened on the way to an answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trace {
    /// Time to embed the prompt; zero if that was not needed.
    pub embedding: Duration,
    /// Time of the look-ups, exact and nearest.
    pub search: Duration,
    /// Time of the provider's call, if this query waited for one.
    pub provider: Option<Duration>,
    /// Time of the whole query.
    pub total: Duration,
    /// Time until the answer began, if it is a stream.
    pub began: Option<Duration>,
    /// Whether the answer came from a call that another query had begun.
    pub joined: bool,
    /// The best entry that did not answer, if this query called the provider and one was near.
    pub near_miss: Option<NearMiss>,
    /// The best of the entries that were similar enough and that the guard refused.
    pub refused: Option<Refusal>,
    /// What the project's model said where the guard was uncertain.
    pub opinion: Option<Opinion>,
    /// Set if the prompt is too long for a vector, so only the same prompt can be found: tokens and window.
    pub too_long: Option<(u32, u32)>,
}

impl Trace {
    /// Takes over the figures of the call that the query began.
    pub(super) fn called(&mut self, fresh: &Fresh) {
        self.provider = Some(fresh.provider_time);
        let Near { best, refused, opinion } = fresh.near;
        (self.near_miss, self.refused, self.opinion) = (best, refused, opinion);
    }
}
