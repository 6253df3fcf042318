//! The whole request path, from an admitted query to its reply.
//!
//! Exact look-up, embedding, nearest neighbour, decision; on a miss one shared call to the provider, whose
//! answer is stored before anybody gets it. Admission (key, limit) and parsing happen before, at the edge.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::analytics::{Outcome as Counted, UsageEvent};
use crate::cache::policy::NotStored;
use crate::cache::{Candidate, Entry, Hit, Judge, PromptHash, Scope};
use crate::embedding::{EmbedError, Embedded, Embedding, Similarity, Threshold};
use crate::engine::flight::{Boarding, Landed, Outcome};
use crate::engine::savings::Cost;
use crate::engine::upstream::Miss;
use crate::engine::{CANDIDATES, Engine};
use crate::id::ProjectId;
use crate::money::NanoUsd;
use crate::provider::{ProviderError, Route};
use crate::store::{Admission, Probe, StoreError};

/// A caller that finds, time after time, that the answer it waited for is gone again gets an error instead
/// of an endless loop. Needs that many deletions at just the wrong moments.
const MAX_ROUNDS: usize = 8;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Query {
    /// The prompt, not blank.
    pub prompt: String,
    /// The model, by the name its provider knows.
    pub model: String,
    /// Smallest similarity that counts as a hit.
    pub threshold: Threshold,
    /// Segments the cache, and goes to the model as system text.
    pub context: Option<String>,
}

/// What is answered.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The answer; on a miss it may not be stored.
    pub entry: Arc<Entry>,
    /// Where it came from.
    pub source: Source,
    /// What the hit saved, or what the miss cost.
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

    /// What the hit saved; nothing on a miss.
    pub fn saved(&self) -> NanoUsd {
        if self.is_hit() { self.cost.amount } else { NanoUsd::ZERO }
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
    /// All of it.
    pub total: Duration,
    /// Whether the answer came from a call that another query had begun.
    pub joined: bool,
    /// Similarity of the best entry below the threshold, if this query called the provider and one was near.
    pub near_miss: Option<Similarity>,
    /// Set if the prompt is too long for a vector, so only the same prompt can be found: tokens and window.
    pub too_long: Option<(u32, u32)>,
}

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum QueryError {
    /// The project is suspended, or the key may not ask for this model.
    #[error("the key may not ask this")]
    Forbidden,
    /// No provider is known for the model.
    #[error("model '{model}' is not supported")]
    ModelNotSupported {
        /// As asked.
        model: String,
    },
    /// The model's provider has no credentials here.
    #[error("deja has no credentials for provider {provider}")]
    NoCredentials {
        /// The provider's name.
        provider: &'static str,
    },
    /// Too much to do: try again in a moment.
    #[error("overloaded")]
    Overloaded,
    /// The embedding model or storage does not work now.
    #[error("{0}")]
    Unavailable(String),
    /// The provider gave no answer.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// A bug.
    #[error("{0}")]
    Internal(String),
}

impl From<StoreError> for QueryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::Unavailable(error.to_string()),
            _ => Self::Internal(error.to_string()),
        }
    }
}

impl From<EmbedError> for QueryError {
    fn from(error: EmbedError) -> Self {
        match error {
            EmbedError::Overloaded => Self::Overloaded,
            EmbedError::Timeout | EmbedError::Failed(_) => Self::Unavailable(error.to_string()),
        }
    }
}

/// What a search found.
pub(super) struct Found {
    /// What answers.
    pub hit: Option<Hit>,
    /// The similarity of the best candidate, whether it answers or not.
    pub best: Option<Similarity>,
}

impl Engine {
    /// Answers `query` for an admitted caller, and counts it.
    pub async fn query(&self, caller: &Admission, query: Query) -> Result<Reply, QueryError> {
        let started = Instant::now();
        let query = Arc::new(query);
        let mut trace = Trace::default();
        let answered = self.answer(caller, &query, &mut trace).await;
        trace.total = started.elapsed();
        let answered = answered.map(|reply| Reply { trace, ..reply });
        self.record(caller, &query, &trace, answered.as_ref());
        answered
    }

    async fn answer(
        &self,
        caller: &Admission,
        query: &Arc<Query>,
        trace: &mut Trace,
    ) -> Result<Reply, QueryError> {
        let project = &caller.project;
        if project.suspended || !caller.key.allows_model(&query.model) {
            return Err(QueryError::Forbidden);
        }
        let scope = project.scope(&query.model, query.context.as_deref());
        let prompt_hash = PromptHash::of(&query.prompt);
        let judge = Judge::new(&query.prompt, query.threshold, &project.settings);

        let mut route = None;
        for _round in 0..MAX_ROUNDS {
            // The same prompt: no embedding needed.
            let looked = Instant::now();
            let exact = self.exact(&scope, prompt_hash, judge).await?;
            trace.search += looked.elapsed();
            if let Some(hit) = exact {
                return Ok(self.reply_with(caller, query, &hit));
            }

            // Only now is the provider looked for: an answer that is there needs none.
            let route = match &route {
                Some(route) => route,
                None => route.insert(self.parts.providers.route(project, &query.model).await?),
            };
            if matches!(route, Route::Unsupported) {
                return Err(QueryError::ModelNotSupported { model: query.model.clone() });
            }

            // A similar one.
            let vector = self.vector(caller, query, prompt_hash, trace).await?;
            let looked = Instant::now();
            let found = self.search(&scope, prompt_hash, vector.as_ref(), judge, judge.threshold()).await?;
            trace.search += looked.elapsed();
            if let Some(hit) = found.hit {
                return Ok(self.reply_with(caller, query, &hit));
            }

            // Neither: one call to the provider, shared with everybody who asks the same meanwhile.
            let boarding = self.flights.board(scope.key(), query, vector.as_ref(), judge);
            let (watch, likeness) = match boarding {
                Boarding::Follow(watch, likeness) => (watch, Some(likeness)),
                Boarding::Lead(pilot, watch) => {
                    let miss = Miss {
                        project: project.clone(),
                        query: query.clone(),
                        scope: scope.clone(),
                        prompt_hash,
                        vector,
                        route: route.clone(),
                    };
                    self.take_off(pilot, miss);
                    (watch, None)
                }
            };
            trace.joined = likeness.is_some();
            let landed = match watch.outcome().await {
                Outcome::Landed(landed) => landed,
                Outcome::LookAgain => continue,
                Outcome::Failed(error) => return Err(error),
            };
            trace.provider = Some(landed.provider_time);
            trace.near_miss = landed.near_miss.filter(|_| likeness.is_none());
            let forbidden = self.is_forbidden(project.id, query, &landed.entry.prompt).await?;
            if let Some(reply) = self.shared(caller, query, judge, &landed, likeness, forbidden) {
                return Ok(reply);
            }
        }
        Err(QueryError::Internal("the answer was gone each time it was looked for".into()))
    }

    /// The entry of the same prompt.
    async fn exact(
        &self,
        scope: &Scope,
        prompt_hash: PromptHash,
        judge: Judge<'_>,
    ) -> Result<Option<Hit>, QueryError> {
        let entry = self.parts.store.exact(scope, &prompt_hash, self.parts.clock.now()).await?;
        let candidate = entry.map(|entry| Candidate { entry, similarity: Similarity::ONE, forbidden: false });
        Ok(candidate.and_then(|candidate| judge.judge(candidate).ok()))
    }

    /// What answers, the same prompt or a similar one, and the best of those down to `floor`.
    pub(super) async fn search(
        &self,
        scope: &Scope,
        prompt_hash: PromptHash,
        vector: Option<&Embedding>,
        judge: Judge<'_>,
        floor: Threshold,
    ) -> Result<Found, QueryError> {
        if let Some(hit) = self.exact(scope, prompt_hash, judge).await? {
            return Ok(Found { hit: Some(hit), best: Some(Similarity::ONE) });
        }
        let Some(embedding) = vector else { return Ok(Found { hit: None, best: None }) };
        let embedder = self.parts.embedder.id();
        let (prompt, threshold, limit) = (prompt_hash, floor, CANDIDATES);
        let probe = Probe { embedder, embedding, prompt, threshold, limit };
        let candidates = self.parts.store.nearest(scope, probe, self.parts.clock.now()).await?;
        let best = candidates.first().map(|candidate| candidate.similarity);
        let hit = candidates.into_iter().find_map(|candidate| judge.judge(candidate).ok());
        Ok(Found { hit, best })
    }

    /// The prompt's vector; `None` if it is too long for one.
    async fn vector(
        &self,
        caller: &Admission,
        query: &Query,
        prompt_hash: PromptHash,
        trace: &mut Trace,
    ) -> Result<Option<Embedding>, QueryError> {
        let began = Instant::now();
        let embedded = self.embeddings.of(caller.project.id, prompt_hash, &query.prompt).await?;
        trace.embedding += began.elapsed();
        Ok(match &*embedded {
            Embedded::Vector { embedding, .. } => Some(embedding.clone()),
            Embedded::TooLong { tokens, window } => {
                trace.too_long = Some((*tokens, *window));
                None
            }
        })
    }

    /// Whether the answer to `prompt` was found wrong for what is asked.
    async fn is_forbidden(
        &self,
        project: ProjectId,
        query: &Query,
        prompt: &str,
    ) -> Result<bool, QueryError> {
        if prompt == query.prompt {
            return Ok(false);
        }
        let forbidden = self.parts.store.forbidden(project, &PromptHash::of(&query.prompt)).await?;
        Ok(forbidden.contains(&PromptHash::of(prompt)))
    }

    /// A reply from the cache.
    fn reply_with(&self, caller: &Admission, query: &Query, hit: &Hit) -> Reply {
        let cost = self.avoided(&caller.project, query, hit.entry(), hit.is_exact());
        let source = if hit.is_exact() { Source::Exact } else { Source::Semantic(hit.similarity()) };
        Reply { entry: hit.entry().clone(), source, cost, trace: Trace::default() }
    }

    /// The reply to one of the callers of a flight. The caller that began it (`likeness` is `None`) has a
    /// miss. The others have a hit on what it stored. What may not be stored answers the same prompt only:
    /// `None` sends a caller with another prompt on its way again.
    fn shared(
        &self,
        caller: &Admission,
        query: &Query,
        judge: Judge<'_>,
        landed: &Landed,
        likeness: Option<Similarity>,
        forbidden: bool,
    ) -> Option<Reply> {
        let similarity = likeness.unwrap_or(Similarity::ONE);
        let candidate = Candidate { entry: landed.entry.clone(), similarity, forbidden };
        let hit = judge.judge(candidate).ok()?;
        if likeness.is_some() && landed.stored.is_ok() {
            return Some(self.reply_with(caller, query, &hit));
        }
        if !hit.is_exact() {
            return None;
        }
        let answer = &landed.entry.answer;
        let mut cost = self.cost(
            &caller.project,
            &query.model,
            &landed.entry,
            answer.input_tokens,
            answer.tokens_estimated,
        );
        cost.amount = if likeness.is_none() { landed.spent } else { NanoUsd::ZERO };
        let source = Source::Provider(landed.stored);
        Some(Reply { entry: landed.entry.clone(), source, cost, trace: Trace::default() })
    }

    /// Counts an admitted request that did not become a query: a body that does not parse, a foreign project.
    pub fn count_refused(&self, caller: &Admission) {
        self.count_bare(caller, Counted::Refused);
    }

    /// Counts a request over the rate limit.
    pub fn count_rate_limited(&self, caller: &Admission) {
        self.count_bare(caller, Counted::RateLimited);
    }

    fn count_bare(&self, caller: &Admission, outcome: Counted) {
        let now = self.parts.clock.now();
        self.recorder.count(&UsageEvent::bare(caller.project.id, caller.key.id, outcome, now));
    }

    fn record(
        &self,
        caller: &Admission,
        query: &Query,
        trace: &Trace,
        answered: Result<&Reply, &QueryError>,
    ) {
        let reply = match answered {
            Ok(reply) => reply,
            // A name nobody knows is the caller's free text: it must not become a row, or a label.
            Err(QueryError::ModelNotSupported { .. } | QueryError::Forbidden) => {
                return self.count_refused(caller);
            }
            Err(_) => {
                let bare = UsageEvent::bare(
                    caller.project.id,
                    caller.key.id,
                    Counted::Error,
                    self.parts.clock.now(),
                );
                let context = query.context.as_deref();
                return self.recorder.count(&UsageEvent { model: &query.model, context, ..bare });
            }
        };
        let (outcome, similarity) = match reply.source {
            Source::Exact => (Counted::ExactHit, Some(Similarity::ONE)),
            Source::Semantic(similarity) => (Counted::SemanticHit, Some(similarity)),
            Source::Provider(_) => (Counted::Miss, trace.near_miss),
        };
        self.recorder.count(&UsageEvent {
            project: caller.project.id,
            key: caller.key.id,
            model: &query.model,
            context: query.context.as_deref(),
            outcome,
            entry: reply.is_hit().then_some(reply.entry.id),
            similarity,
            latency: trace.total,
            input_tokens: reply.cost.input_tokens,
            output_tokens: reply.cost.output_tokens,
            saved: reply.saved(),
            spent: if reply.is_hit() { NanoUsd::ZERO } else { reply.cost.amount },
            at: self.parts.clock.now(),
        });
    }
}
