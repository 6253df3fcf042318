//! The whole request path, from an admitted query to its reply.
//!
//! Exact look-up, embedding, nearest neighbours, judgement; on a miss one shared call to the provider, whose
//! answer is stored before anybody gets it. Admission (key, limit) and parsing happen before, at the edge.

use std::sync::Arc;
use std::time::Instant;

use tokio::time::timeout;

use crate::cache::{Candidate, Hit, Judge, PromptHash, Scope};
use crate::embedding::{Embedded, Embedding, Similarity, Threshold};
use crate::engine::call::Call;
use crate::engine::flight::{Completed, Fresh, Joined, Reach};
use crate::engine::search::Near;
use crate::engine::{Engine, Query, QueryError, Reply, Source, Trace};
use crate::money::NanoUsd;
use crate::provider::{Endpoint, Route};
use crate::store::Admission;

impl Engine {
    /// Answers `query` for an admitted caller within the deadline of a query, and counts it.
    pub async fn query(&self, caller: &Admission, query: Query) -> Result<Reply, QueryError> {
        let started = Instant::now();
        let query = Arc::new(query);
        let mut trace = Trace::default();
        // A flight that is under way goes on: its answer is paid for.
        let answered = timeout(self.parts.query_timeout, self.answer(caller, &query, &mut trace)).await;
        let answered = answered.unwrap_or(Err(QueryError::DeadlineExceeded));
        trace.total = started.elapsed();
        let answered = answered.map(|reply| Reply { trace, ..reply });
        self.count_query(caller, &query, answered.as_ref());
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
        let mut reach = Reach::Similar;
        loop {
            // The same prompt: no embedding needed.
            let looked = Instant::now();
            let exact = self.exact(&scope, prompt_hash, &judge).await?;
            trace.search += looked.elapsed();
            if let Some(hit) = exact {
                return Ok(self.reply_with(caller, &scope, query, &hit).await);
            }

            // Only now is the provider looked for: an answer that is there needs none.
            let route = match &route {
                Some(route) => route,
                None => route.insert(self.parts.providers.route(caller, &query.model, Endpoint::Chat).await?),
            };
            if matches!(route, Route::Unsupported) {
                return Err(QueryError::ModelNotSupported { model: query.model.clone() });
            }

            // A similar one.
            let vector = self.vector(caller, query, prompt_hash, trace).await?;
            let looked = Instant::now();
            let floor = self.first_floor(&judge);
            let found = self.nearest(&scope, prompt_hash, vector.as_ref(), &judge, floor).await?;
            trace.search += looked.elapsed();
            (trace.refused, trace.opinion) = (found.near.refused, found.near.opinion);
            if let Some(hit) = found.hit {
                return Ok(self.reply_with(caller, &scope, query, &hit).await);
            }

            // Neither: one call to the provider, shared with everybody who asks the same meanwhile.
            let call = Call {
                caller: caller.clone(),
                query: query.clone(),
                scope: scope.clone(),
                prompt_hash,
                vector,
                route: route.clone(),
                near: found.near,
                uncertain: found.uncertain,
            };
            if let Some(reply) = self.take_part(caller, call, reach, trace).await? {
                return Ok(reply);
            }
            reach = reach.narrower();
        }
    }

    /// How far down the first search looks. Where searches are round trips to a database it is the only one of a miss,
    /// and goes as far as analytics wants to see.
    fn first_floor(&self, judge: &Judge<'_>) -> Threshold {
        let floor = judge.threshold();
        if self.parts.store.claims().is_some() { floor.min(Threshold::NEAR) } else { floor }
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

    /// Leads the call or waits for somebody else's. `None` if what came of that is no answer to this query.
    async fn take_part(
        &self,
        caller: &Admission,
        call: Call,
        reach: Reach,
        trace: &mut Trace,
    ) -> Result<Option<Reply>, QueryError> {
        let (query, scope) = (call.query.clone(), call.scope.clone());
        let joined = self.flights.join(call.scope.key(), &query, call.vector.as_ref(), &call.judge(), reach);
        trace.joined = matches!(joined, Joined::Follows(..));
        match joined {
            Joined::Leads(leader, watch) => {
                self.lead(leader, call, reach != Reach::Similar);
                match watch.completed().await {
                    Completed::Answered(fresh) => {
                        trace.provider = Some(fresh.provider_time);
                        let Near { best, refused, opinion } = fresh.near;
                        (trace.near_miss, trace.refused, trace.opinion) = (best, refused, opinion);
                        Ok(Some(self.reply_of_provider(caller, &query, &fresh, fresh.spent)))
                    }
                    Completed::Found(hit, opinion) => {
                        trace.opinion = opinion;
                        Ok(Some(self.reply_with(caller, &scope, &query, &hit).await))
                    }
                    Completed::Unshared => Ok(None),
                    Completed::Failed(error) => Err(error),
                }
            }
            Joined::Follows(watch, leader, similarity) => {
                // Its answer would be none: that is not waited for.
                if leader.prompt != query.prompt
                    && self.is_forbidden(&call, &leader.prompt, similarity).await?
                {
                    return Ok(None);
                }
                let completed = watch.completed().await;
                self.follow(caller, &call, &leader, similarity, completed, trace).await
            }
        }
    }

    /// What the end of a flight is to a caller that did not begin it. What may not be stored answers the same prompt
    /// only, and a failure that is the leader's own is nobody else's.
    async fn follow(
        &self,
        caller: &Admission,
        call: &Call,
        leader: &Query,
        similarity: Similarity,
        completed: Completed,
        trace: &mut Trace,
    ) -> Result<Option<Reply>, QueryError> {
        let (query, judge) = (&call.query, call.judge());
        let (same_prompt, same_model) = (leader.prompt == query.prompt, leader.model == query.model);
        let hit = match completed {
            Completed::Answered(fresh) => {
                trace.provider = Some(fresh.provider_time);
                let forbidden = !same_prompt && self.is_forbidden(call, &leader.prompt, similarity).await?;
                let candidate = Candidate { entry: fresh.entry.clone(), similarity, forbidden };
                let hit = judge.judge(candidate).ok();
                if fresh.stored.is_err() {
                    // The call is paid for by the caller that began it.
                    let same = hit.filter(Hit::is_exact);
                    return Ok(same.map(|_| self.reply_of_provider(caller, query, &fresh, NanoUsd::ZERO)));
                }
                hit
            }
            // How similar the entry is to another prompt than the leader's is not known.
            Completed::Found(hit, opinion) if same_prompt => {
                let (entry, similarity) = (hit.entry().clone(), hit.similarity());
                let candidate = Candidate { entry, similarity, forbidden: false };
                judge.settle(candidate, opinion.is_some()).ok()
            }
            Completed::Found(..) | Completed::Unshared => None,
            Completed::Failed(error) if !same_prompt || !same_model => {
                if !error.is_callers_own(same_model) {
                    return Err(error);
                }
                None
            }
            Completed::Failed(error) => return Err(error),
        };
        Ok(match hit {
            Some(hit) => Some(self.reply_with(caller, &call.scope, query, &hit).await),
            None => None,
        })
    }

    /// A reply from the cache.
    async fn reply_with(&self, caller: &Admission, scope: &Scope, query: &Arc<Query>, hit: &Hit) -> Reply {
        let cost = self.avoided(&caller.project, scope.key(), query, hit).await;
        Reply { entry: hit.entry().clone(), source: Source::from(hit), cost, trace: Trace::default() }
    }

    /// A reply from the provider, for a caller that pays `spent` for it.
    fn reply_of_provider(&self, caller: &Admission, query: &Query, fresh: &Fresh, spent: NanoUsd) -> Reply {
        let answer = &fresh.entry.answer;
        let (tokens, estimated) = (answer.input_tokens, answer.tokens_estimated);
        let mut cost = self.cost(&caller.project, &query.model, &fresh.entry, tokens, estimated);
        cost.amount = spent;
        let source = Source::Provider(fresh.stored);
        Reply { entry: fresh.entry.clone(), source, cost, trace: Trace::default() }
    }
}
