//! What is counted about requests. Numbers only: no prompt, no answer, no key.
//!
//! An [`event`](UsageEvent) is added to a [`batch`](UsageBatch) in memory; a batch is written as rollups: rows of
//! sums per minute, hour and day, one for each [`Slice`] of a project's requests that can be asked for. Why:
//! `docs/adr/0010-rollups.md`.

mod batch;
mod histogram;
mod names;
mod rollup;
mod scopes;

use std::str::FromStr;
use std::time::Duration;

use deja_wire::{Endpoint, Wire};

use crate::cache::{Frame, ScopeKey};
use crate::clock::Timestamp;
use crate::embedding::Similarity;
use crate::id::{EntryId, KeyId, ProjectId};
use crate::money::NanoUsd;
use crate::words::{UnknownWord, words};

pub use batch::{BatchId, ContextLabel, EntryHits, UsageBatch};
pub(crate) use histogram::similarity_bucket;
pub use histogram::{Distribution, Histograms, SIMILARITY_BUCKETS, WireOutcome, quantile};
pub use names::{ContextKey, MAX_REFUSED_PER_HOUR, OTHER_MODELS};
pub use rollup::{Dimension, Rollup, RollupKey, Slice, Step, SurfaceTotals, Totals};
pub use scopes::Cause;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Answered from the cache, the same prompt.
    ExactHit,
    /// Answered from the cache, a similar prompt.
    SemanticHit,
    /// Answered by the provider.
    Miss,
    /// Passed on to the provider: it could not have been a hit.
    Passed,
    /// Not answered: deja or the provider failed.
    Error,
    /// Refused: a wrong shape, a model or project that is not for the key.
    Refused,
    /// Refused: over the rate limit.
    RateLimited,
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusedFor {
    /// It could not be read.
    Shape,
    /// Nobody serves its model, or not at this endpoint.
    UnknownModel,
    /// Its key is not for its model.
    ForbiddenModel,
    /// Its project is suspended, or not the one that was named.
    Project,
    /// Nothing in the cache answered it, and the provider was not to be asked.
    NotCached,
}

words! {
    Outcome, "is no outcome or surface of a request",
    ExactHit = "exact_hit",
    SemanticHit = "semantic_hit",
    Miss = "miss",
    Passed = "passed",
    Error = "error",
    Refused = "refused",
    RateLimited = "rate_limited",
}

/// The endpoint that a request came by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Surface {
    /// deja's own API.
    #[default]
    Query,
    /// An endpoint of this wire format that is answered from the cache.
    Wire(Wire),
    /// An endpoint that is passed on only, such as embeddings.
    Other,
}

impl Surface {
    /// All surfaces.
    pub const ALL: [Self; 6] = [
        Self::Query,
        Self::Wire(Wire::Chat),
        Self::Wire(Wire::Responses),
        Self::Wire(Wire::Messages),
        Self::Wire(Wire::Gemini),
        Self::Other,
    ];

    /// The name in listings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Wire(wire) => wire.as_str(),
            Self::Other => "other",
        }
    }
}

impl FromStr for Surface {
    type Err = UnknownWord;

    fn from_str(name: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|surface| surface.as_str() == name);
        found.ok_or_else(|| UnknownWord(format!("'{name}' is no outcome or surface of a request")))
    }
}

impl From<Endpoint> for Surface {
    fn from(endpoint: Endpoint) -> Self {
        match endpoint {
            Endpoint::CountTokens | Endpoint::Embeddings | Endpoint::Completions => Self::Other,
            cached => Self::Wire(cached.wire()),
        }
    }
}

/// The place of an answer: its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    /// The scope.
    pub scope: ScopeKey,
    /// The frame that the scope is made of.
    pub frame: &'a Frame,
}

/// One request of a project: what the rollups are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsageEvent<'a> {
    /// The project.
    pub project: ProjectId,
    /// The key it came with.
    pub key: KeyId,
    /// The asked model; empty if the request did not get so far.
    pub model: &'a str,
    /// The asked context.
    pub context: Option<&'a str>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, if it was refused.
    pub refused: Option<RefusedFor>,
    /// The endpoint that it came by.
    pub surface: Surface,
    /// Where its answer belongs, if it could have been a hit: of requests in wire formats.
    pub placed: Option<Placed<'a>>,
    /// How long it took until the answer began, if it was a stream.
    pub began: Option<Duration>,
    /// The entry that answered, on a hit.
    pub entry: Option<EntryId>,
    /// The similarity of a hit; on a miss, that of the best entry below the threshold, if one was looked for.
    pub similarity: Option<Similarity>,
    /// How long it took; counted for misses, and for hits that waited for no call.
    pub latency: Duration,
    /// Whether it waited for a call that another one had begun.
    pub joined: bool,
    /// Tokens of the prompt and its context; on a hit, those that were not sent; of an error, those of an answer that broke off.
    pub input_tokens: u64,
    /// Tokens of the answer; on a hit, those that were not bought.
    pub output_tokens: u64,
    /// Money that a hit saved.
    pub saved: NanoUsd,
    /// Money that the call cost, if the price is known.
    pub spent: NanoUsd,
    /// Whether there were tokens whose price nobody knew.
    pub unpriced: bool,
    /// Whether the prompt was longer than the embedding model reads, so that only the same one could answer.
    pub too_long: bool,
    /// When it was answered.
    pub at: Timestamp,
}

impl UsageEvent<'_> {
    /// A request that ended in this way, and nothing more to tell.
    pub const fn bare(project: ProjectId, key: KeyId, outcome: Outcome, at: Timestamp) -> Self {
        UsageEvent {
            project,
            key,
            model: "",
            context: None,
            outcome,
            refused: None,
            surface: Surface::Query,
            placed: None,
            began: None,
            entry: None,
            similarity: None,
            latency: Duration::ZERO,
            joined: false,
            input_tokens: 0,
            output_tokens: 0,
            saved: NanoUsd::ZERO,
            spent: NanoUsd::ZERO,
            unpriced: false,
            too_long: false,
            at,
        }
    }
}

/// The hour that `at` lies in, as hours since the epoch.
pub const fn hour_of(at: Timestamp) -> i64 {
    Step::Hour.period_of(at)
}
