//! The whole request path, from an admitted query to its reply.
//!
//! Exact look-up, embedding, nearest neighbours, judgement; on a miss one shared call to the provider, whose
//! answer is stored before anybody gets it. Admission (key, limit) and parsing happen before, at the edge.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::analytics::{RefusedFor, Surface};
use crate::cache::{Candidate, Hit, Judge, PromptHash, Scope, ScopeKey};
use crate::embedding::{Embedded, Embedding, Similarity, Threshold};
use crate::engine::call::Call;
use crate::engine::count::{Counting, Ended, QueryProgress};
use crate::engine::flight::{Begun, Completed, Fresh, Joined, Reach, Watch};
use crate::engine::forward::calls_tools;
use crate::engine::relay::Answered;
use crate::engine::search::Near;
use crate::engine::{
    Cause, Cost, Engine, LookedAhead, NotAllowed, Query, QueryError, Reply, SendBuffer, Source, Trace,
};
use crate::money::NanoUsd;
use crate::provider::Route;
use crate::store::{Admission, OwnProviders};

impl Engine {
    /// Reads a query with `read`, and answers it for an admitted caller. A request that cannot be read is counted as refused,
    /// under the name `request`. `looked` is what the admission looked up. Besides the reply there are the room that it takes
    /// until it is sent, and what else `read` gave. The room is for as many bytes as `written` says that the reply has at most. A
    /// query without it is counted as failed.
    pub async fn request<T, E: Cause + From<QueryError>>(
        &self,
        looked: Option<LookedAhead>,
        caller: &Admission,
        request: &str,
        read: impl Future<Output = Result<(Query, T), E>>,
        written: impl FnOnce(&Reply, &T) -> usize,
    ) -> Result<(Reply, SendBuffer<'_>, T), E> {
        let (query, rest) = self.read(caller, Surface::Query, request, read).await?;
        let written = |reply: &Reply| written(reply, &rest);
        let (reply, buffer) = self.query_after(looked, caller, query, written).await?;
        Ok((reply, buffer, rest))
    }

    /// Reads a request of an admitted caller, which came through `surface`, with `read`. A request that cannot be read is
    /// counted: as failed if there is no room for it, else as refused.
    pub async fn read<T, E: Cause>(
        &self,
        caller: &Admission,
        surface: Surface,
        request: &str,
        read: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let busy = QueryError::Overloaded;
        read.await.inspect_err(|error| {
            let ended = match error.cause() {
                cause if cause == busy.cause() => Ended::Failed(&busy, None),
                cause => Ended::Refused(RefusedFor::Shape, cause),
            };
            self.count(caller, surface, Some(request), ended);
        })
    }

    /// Answers `query` for an admitted caller within the deadline of a query, and counts it.
    pub async fn query(&self, caller: &Admission, query: Query) -> Result<Reply, QueryError> {
        let written = |reply: &Reply| reply.entry.answer.text.len();
        self.query_after(None, caller, query, written).await.map(|(reply, _)| reply)
    }

    /// Answers `query` as [`Self::query`] does. `looked` is what the admission looked up. The reply has room for as many bytes as
    /// `written` says.
    pub(super) async fn query_after(
        &self,
        looked: Option<LookedAhead>,
        caller: &Admission,
        query: Query,
        written: impl FnOnce(&Reply) -> usize,
    ) -> Result<(Reply, SendBuffer<'_>), QueryError> {
        let started = looked.as_ref().map_or_else(Instant::now, |looked| looked.began);
        let query = Arc::new(query);
        let mut counting = Counting::new(self, caller, &query, started);
        // A flight that is under way goes on: its answer is paid for.
        let answering = self.answer(looked, caller, &query, started, &mut counting.progress);
        let answered = timeout(self.parts.query_timeout, answering).await;
        let trace = Trace { total: started.elapsed(), ..counting.progress.trace };
        let (answered, unsent) = match answered.unwrap_or(Err(QueryError::DeadlineExceeded)) {
            Ok(Answered::Whole(reply)) => {
                let reply = Reply { trace, ..reply };
                match self.buffered(caller.project.id, written(&reply)) {
                    Ok(buffer) => (Ok((reply, buffer)), None),
                    Err(error) => (Err(error), Some(reply)),
                }
            }
            Ok(Answered::Hit(..) | Answered::Live(_)) => {
                (Err(QueryError::Internal("an answer in a wire format".into())), None)
            }
            Err(error) => {
                let part = counting.progress.part.take();
                (Err(error), part.map(|part| Reply { trace, ..part }))
            }
        };
        counting.end(answered.as_ref().map(|(reply, _)| reply), unsent.as_ref());
        answered
    }

    /// The path of every request for an answer, of deja's own API and of the wire formats.
    pub(super) async fn answer(
        &self,
        looked: Option<LookedAhead>,
        caller: &Admission,
        query: &Arc<Query>,
        started: Instant,
        progress: &mut QueryProgress,
    ) -> Result<Answered, QueryError> {
        let project = &caller.project;
        if project.suspended {
            return Err(QueryError::Forbidden(NotAllowed::Suspended));
        }
        if !caller.key.allows_model(&query.model) {
            return Err(QueryError::Forbidden(NotAllowed::Model));
        }
        let (scope, prompt_hash) = (query.scope(project), query.hash());

        progress.trace.search += looked.as_ref().map_or(Duration::ZERO, |looked| looked.took);
        // The entry of the same prompt: no embedding needed.
        let trace = &mut progress.trace;
        if let Some(answered) = self.answer_of_same(looked, caller, query, &scope, prompt_hash, trace).await?
        {
            return Ok(answered);
        }
        // In a box: it has kilobytes, which an exact hit would move from place to place for nothing.
        Box::pin(self.answer_of_similar_or_provider(caller, query, &scope, prompt_hash, started, progress))
            .await
    }

    /// The answer of the entry of the same prompt, if there is one. `looked` is what the admission looked up.
    async fn answer_of_same(
        &self,
        looked: Option<LookedAhead>,
        caller: &Admission,
        query: &Arc<Query>,
        scope: &Scope,
        prompt_hash: PromptHash,
        trace: &mut Trace,
    ) -> Result<Option<Answered>, QueryError> {
        let searched = Instant::now();
        let exact = self.exact(looked, query, scope, prompt_hash).await;
        trace.search += searched.elapsed();
        match query.or_open(exact)? {
            Some(hit) => self.answer_with(caller, scope.key(), query, &hit).await,
            None => Ok(None),
        }
    }

    /// The answer of the entry of a similar prompt, or the provider's.
    async fn answer_of_similar_or_provider(
        &self,
        caller: &Admission,
        query: &Arc<Query>,
        scope: &Scope,
        prompt_hash: PromptHash,
        started: Instant,
        progress: &mut QueryProgress,
    ) -> Result<Answered, QueryError> {
        let project = &caller.project;
        let (mut providers, mut reach) = (caller.providers, Reach::Similar);
        loop {
            // The entry of a similar prompt.
            let trace = &mut progress.trace;
            let vector = query.or_open(self.vector(caller, query, prompt_hash, trace).await)?;
            // A judge for each search: it reads so many pairs of prompts and no more.
            let judge = self.judge(query, project);
            let searched = Instant::now();
            let floor = self.first_floor(&judge);
            let found = self.nearest(query, scope, vector.as_ref(), &judge, floor).await;
            trace.search += searched.elapsed();
            let found = query.or_open(found)?;
            // What a word cost that was asked for an answer which could not be given is spent. It is remembered now, for nothing.
            let opinion = trace.opinion.filter(|opinion| opinion.cost > NanoUsd::ZERO).or(found.near.opinion);
            let near = Near { opinion, ..found.near };
            (trace.refused, trace.opinion) = (near.refused, opinion);
            if let Some(hit) = found.hit
                && let Some(answered) = self.answer_with(caller, scope.key(), query, &hit).await?
            {
                return Ok(answered);
            }
            if query.wire.as_ref().is_some_and(|wired| wired.control.only) {
                return Err(QueryError::NotCached);
            }

            // Only now is the provider looked for: a hit needs none. Whoever waited asks the provider as it is now.
            let asking = Admission { providers, ..caller.clone() };
            let route = self.route(&asking, query).await?;

            // No entry answers: one call to the provider, shared with everybody who asks the same meanwhile.
            let call = Call {
                caller: asking,
                query: query.clone(),
                started,
                scope: scope.clone(),
                prompt_hash,
                vector,
                too_long: trace.too_long,
                route,
                near,
                uncertain: found.uncertain,
            };
            if let Some(answered) = self.take_part(caller, call, reach, progress).await? {
                return Ok(answered);
            }
            reach = reach.narrower();
            providers = self.still_serves(caller, query).await?;
            let trace = &mut progress.trace;
            if let Some(answered) =
                self.answer_of_same(None, caller, query, scope, prompt_hash, trace).await?
            {
                return Ok(answered);
            }
        }
    }

    /// The provider of a query, which has to serve it.
    pub(super) async fn route(&self, caller: &Admission, query: &Query) -> Result<Route, QueryError> {
        let route = self.parts.providers.route(caller, &query.model, query.endpoint()).await?;
        query.can_take(&route)?;
        Ok(route)
    }

    /// Refuses a query whose project was deleted or suspended while it waited: deja buys nothing more for such a project. Its own
    /// providers may have changed too: what is known of them from now on.
    pub(super) async fn still_serves(
        &self,
        caller: &Admission,
        query: &Query,
    ) -> Result<OwnProviders, QueryError> {
        let project = &caller.project;
        let now = self.parts.store.project(project.slug.as_str()).await.map_err(QueryError::from);
        match query.or_open(now.map(Some))? {
            Some(Some(now)) if now.id == project.id && !now.suspended => Ok(OwnProviders::Unknown),
            Some(_) => Err(QueryError::Forbidden(NotAllowed::Suspended)),
            // The store cannot tell now.
            None => Ok(caller.providers),
        }
    }

    /// The least similarity that the first search looks for. Where a search is a round trip to a database, a miss has no
    /// second one: the first goes as far down as analytics shows.
    fn first_floor(&self, judge: &Judge<'_>) -> Threshold {
        let floor = judge.threshold();
        if self.parts.store.claims().is_some() { floor.min(Threshold::NEAR) } else { floor }
    }

    /// The prompt's vector; `None` if the prompt is too long for one, or the query is not matched by meaning.
    async fn vector(
        &self,
        caller: &Admission,
        query: &Query,
        prompt_hash: PromptHash,
        trace: &mut Trace,
    ) -> Result<Option<Embedding>, QueryError> {
        if !query.is_semantic() {
            return Ok(None);
        }
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

    /// Makes the call, or takes part in one under way that asks the same or a similar prompt. `None` if the call has no
    /// answer to this query.
    async fn take_part(
        &self,
        caller: &Admission,
        call: Call,
        reach: Reach,
        progress: &mut QueryProgress,
    ) -> Result<Option<Answered>, QueryError> {
        let (query, scope) = (&call.query, call.scope.key());
        let joined = if query.is_shared() {
            self.flights.join(scope, query, call.vector.as_ref(), &self.judge_of(&call), reach)
        } else {
            let (leader, watch) = self.flights.alone(scope);
            Joined::Leads(leader, watch)
        };
        progress.trace.joined = matches!(joined, Joined::Follows { .. });
        match joined {
            Joined::Leads(leader, watch) => {
                let query = query.clone();
                self.lead(leader, call, reach != Reach::Similar);
                self.await_own_call(caller, scope, &query, watch, progress).await
            }
            Joined::Follows { watch, led, similarity } => {
                self.await_call_of(&led, similarity, watch, &call, &mut progress.trace).await
            }
        }
    }

    /// The answer to the query that began the call.
    async fn await_own_call(
        &self,
        caller: &Admission,
        scope: ScopeKey,
        query: &Arc<Query>,
        watch: Watch,
        progress: &mut QueryProgress,
    ) -> Result<Option<Answered>, QueryError> {
        progress.leads = Some(Box::pin(watch.uncounted()));
        let completed = match watch.begun().await {
            Begun::Live(live) => return Ok(live.map(|live| Answered::Live(*live))),
            Begun::Ended(completed) => completed,
        };
        progress.leads = None;
        let trace = &mut progress.trace;
        match completed {
            Completed::Answered(fresh) => {
                trace.called(&fresh);
                let reply = self.reply_of_provider(caller, query, &fresh, fresh.spent);
                Ok(Some(Answered::Whole(reply)))
            }
            Completed::Found(hit, opinion) => {
                trace.opinion = opinion;
                // The entry was not there a moment ago. Another call, mostly of another process, has stored it since.
                trace.joined = hit.is_exact();
                self.answer_with(caller, scope, query, &hit).await
            }
            Completed::Unshared(_) => Ok(None),
            Completed::Failed(error, opinion, part) => {
                trace.opinion = opinion;
                progress.part = part.map(|part| {
                    trace.called(&part);
                    self.reply_of_provider(caller, query, &part, part.spent)
                });
                Err(error)
            }
        }
    }

    /// The answer to a query that takes part in the call of `led`.
    async fn await_call_of(
        &self,
        led: &Query,
        similarity: Similarity,
        watch: Watch,
        call: &Call,
        trace: &mut Trace,
    ) -> Result<Option<Answered>, QueryError> {
        let query = &call.query;
        let same_prompt = led.asks_the_same(query);
        // An answer that was found wrong for this prompt is not waited for.
        if !same_prompt && self.is_forbidden(call, &led.prompt, similarity).await? {
            return Ok(None);
        }
        let completed = if same_prompt && query.reads_along(led) {
            let ended = watch.unseated();
            match watch.begun().await {
                Begun::Live(live) => {
                    let Some(live) = live else { return Ok(None) };
                    self.count_reader(call, Arc::clone(live.buffer()), ended);
                    return Ok(Some(Answered::Live(*live)));
                }
                Begun::Ended(completed) => completed,
            }
        } else {
            watch.completed().await
        };
        self.answer_of(led, similarity, completed, call, trace).await
    }

    /// What the ended call of `led` answers to `call`, which took part in it. An answer that was not stored serves the same
    /// prompt to the same model only. An error that is about the leader's own request is nobody else's.
    async fn answer_of(
        &self,
        led: &Query,
        similarity: Similarity,
        completed: Completed,
        call: &Call,
        trace: &mut Trace,
    ) -> Result<Option<Answered>, QueryError> {
        let (caller, query) = (&call.caller, &call.query);
        let (same_prompt, same_model) = (led.asks_the_same(query), led.model == query.model);
        let fresh = match completed {
            Completed::Answered(fresh) => fresh,
            // This query looks for a stored answer itself. It may accept fewer than the leader, and newer feedback counts.
            Completed::Found(..) | Completed::Unshared(_) => return Ok(None),
            Completed::Failed(error, ..) => {
                let is_leaders_own = !(same_prompt && same_model) && error.is_callers_own(same_model);
                return if is_leaders_own { Ok(None) } else { Err(error) };
            }
        };
        trace.provider = Some(fresh.provider_time);
        // A request in a wire format needs a record, and an answer that was not stored has none to be given again.
        if fresh.stored.is_err() && query.wire.is_some() {
            return Ok(None);
        }
        let entry = fresh.entry.clone();
        let hit = if same_prompt {
            Hit::of_the_same(entry)
        } else {
            let forbidden = self.is_forbidden(call, &led.prompt, similarity).await?;
            let judged = self.judge_of(call).judge(Candidate { entry, similarity, forbidden });
            let Ok(hit) = judged else { return Ok(None) };
            hit
        };
        if fresh.stored.is_ok() {
            return self.answer_with(caller, call.scope.key(), query, &hit).await;
        }
        // The caller that began the call pays for it.
        let reply = || self.reply_of_provider(caller, query, &fresh, NanoUsd::ZERO);
        Ok((hit.is_exact() && same_model).then(|| Answered::Whole(reply())))
    }

    /// The answer of an entry. `None` if the request is in a wire format, and the entry has no record that can be given to it.
    async fn answer_with(
        &self,
        caller: &Admission,
        scope: ScopeKey,
        query: &Arc<Query>,
        hit: &Hit,
    ) -> Result<Option<Answered>, QueryError> {
        let (project, mut entry, mut body) = (&caller.project, hit.entry().clone(), None);
        if let Some(wired) = &query.wire {
            if entry.answer.record.is_none() {
                // A search does not read the records of the entries that it compares.
                let whole = self.parts.store.whole(project.id, entry.id).await;
                let Some(whole) = query.or_open(whole.map_err(QueryError::from))? else { return Ok(None) };
                entry = whole;
            }
            // A similar question may need another call of a tool.
            if !hit.is_exact() && calls_tools(project.id, wired, &entry).await {
                return Ok(None);
            }
            let Some(rendered) = self.rendered(project, wired, &entry).await? else { return Ok(None) };
            body = Some(rendered);
        }
        let cost = self.avoided(caller, scope, query, hit).await;
        let reply = Reply { entry, source: Source::from(hit), cost, trace: Trace::default() };
        Ok(Some(match body {
            Some(body) => Answered::Hit(reply, body),
            None => Answered::Whole(reply),
        }))
    }

    /// A reply from the provider, for a caller that pays `spent` for it.
    pub(super) fn reply_of_provider(
        &self,
        caller: &Admission,
        query: &Query,
        fresh: &Fresh,
        spent: NanoUsd,
    ) -> Reply {
        let list_price = self.list_price(&caller.project, &query.model, &fresh.bought.answer);
        let cost = Cost { amount: spent, ..list_price };
        let source = Source::Provider(fresh.stored);
        Reply { entry: fresh.entry.clone(), source, cost, trace: Trace::default() }
    }
}
