//! Requests in the wire formats of providers: what they add to a query.
//!
//! They take the path of every query ([`Engine::answer`](super::query)). What differs: the body goes to the provider as it
//! came, the answer is read along as it comes, and the cache fails open: what goes wrong with it is no reason not to ask.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use deja_wire::{Demand, Identity, Mode, Rendering, STORED_RESPONSE, render};
use opentelemetry::context::FutureExt as _;

use crate::audit::{Actor, Change};
use crate::cache::policy::NotStored;
use crate::cache::{CONTEXT, Entry, Frame, Hit, Kind, Parameters, PromptHash, Scope, ScopeKey};
use crate::embedding::Threshold;
use crate::engine::call::Call;
use crate::engine::count::{Counting, Ended};
use crate::engine::flight::{Completed, Fresh};
use crate::engine::forward::SHORT;
use crate::engine::live::{Live, ReplayBuffer};
use crate::engine::{Engine, LookedAhead, Parts, Query, QueryError, Reply, Source, Trace};
use crate::id::ProjectId;
use crate::money::NanoUsd;
use crate::project::{HitUsage, Project};
use crate::provider::Forward;
use crate::store::{Admission, LookUp};
use crate::{block_in_place_if, room_to_parse};

/// A request in a wire format.
#[derive(Clone, Debug)]
pub struct Relay {
    /// What the cache compares: the question, and all else that has to be the same.
    pub identity: Identity,
    /// The request as it goes to the provider.
    pub forward: Forward,
    /// Smallest similarity that counts as a hit.
    pub threshold: Threshold,
    /// What the application asks of the cache in headers.
    pub control: Control,
    /// The context. It segments the cache, and the provider does not see it.
    pub context: Option<String>,
    /// The name of the request. Feedback needs it.
    pub request: Option<String>,
}

/// What an application asks of the cache in headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of its own in the headers of a request")]
pub struct Control {
    /// Whether a stored answer may serve the request.
    pub look_up: bool,
    /// Whether the stored answer to a similar question may serve it too.
    pub semantic: bool,
    /// Whether a fresh answer is stored.
    pub store: bool,
    /// Whether only a stored answer is wanted: the provider is not asked.
    pub only: bool,
    /// The greatest age of a stored answer that may serve it.
    pub max_age: Option<Duration>,
    /// How long a fresh answer is served, at most as long as the project says.
    pub ttl: Option<Duration>,
}

impl Default for Control {
    fn default() -> Self {
        Self { look_up: true, semantic: true, store: true, only: false, max_age: None, ttl: None }
    }
}

/// The answer to a request in a wire format.
pub enum Relayed {
    /// From the cache, with the body as it is wanted.
    Hit(Reply, Bytes),
    /// From the provider, as it comes.
    Live(Live),
}

/// The part of a query that only a request in a wire format has.
#[derive(Clone, Debug)]
pub struct WireQuery {
    /// How far the request is answered from the cache.
    pub(super) mode: Mode,
    /// The hash of all members that have to be the same.
    pub(super) hash: PromptHash,
    /// The scope of its answers.
    pub(super) scope: Scope,
    /// Why the request is not matched by meaning.
    pub(super) reasons: Vec<&'static str>,
    pub(super) rendering: Rendering,
    /// The hash of the labels that its provider repeats in the answer.
    labels: Option<[u8; 32]>,
    /// Whether the answer may be a call of a tool.
    pub(super) has_tools: bool,
    /// What the answer has to be.
    pub(super) demand: Demand,
    pub(super) forward: Forward,
    pub(super) control: Control,
}

impl WireQuery {
    /// Whether the request is passed on: nothing is looked up or stored for it.
    pub(super) const fn is_passed(&self) -> bool {
        matches!(self.mode, Mode::Bypass) || !(self.control.look_up || self.control.store)
    }

    /// The time from `started` until the `first` byte of a streamed answer.
    pub(super) fn began(&self, started: Instant, first: Option<Instant>) -> Option<Duration> {
        let first = first.filter(|_| self.rendering.stream)?;
        Some(first.saturating_duration_since(started))
    }

    /// Whether fresh answers to the request are stored, and if not, why.
    pub(super) const fn stores(&self) -> Result<(), NotStored> {
        if self.is_passed() || !self.control.store {
            return Err(NotStored::NotWanted);
        }
        Ok(())
    }

    /// Whether the answer has the provider's id of a response, which a next request may name. Such a request gets the answer to
    /// an equal request only.
    pub(super) fn keeps_id(&self) -> bool {
        self.reasons.contains(&STORED_RESPONSE)
    }

    /// Whether a fresh answer takes the place of a stored one, which was not looked for or is too old for the request.
    pub(super) const fn replaces(&self) -> bool {
        !self.control.look_up || self.control.max_age.is_some()
    }

    /// Whether this request may read the answer of `other` along, which asks the same. The rendering has to be the same, the
    /// answer has to tell the tokens if this request wants them, and it must not have another caller's labels.
    pub(super) fn reads_along(&self, other: &Self) -> bool {
        let (own, others) = (self.rendering, other.rendering);
        own.stream == others.stream && (!own.usage || others.usage) && self.labels == other.labels
    }
}

impl Relay {
    /// What the request looks up in a project, if anything.
    pub fn look_up(&self, project: ProjectId) -> Option<LookUp> {
        let is_passed = matches!(self.identity.mode, Mode::Bypass);
        (!is_passed && self.control.look_up).then(|| {
            let scope = self.scope(project, self.identity.parameters.clone());
            LookUp::new(&scope, PromptHash(self.identity.hash))
        })
    }

    /// The scope of its answers in a project. `parameters` are those of its identity.
    fn scope(&self, project: ProjectId, parameters: Parameters) -> Scope {
        let Identity { mode, model, instructions, .. } = &self.identity;
        let kind = Kind::from(self.forward.endpoint.wire());
        let frame = match mode {
            Mode::Semantic => Frame::of_wire(kind, model, instructions.as_deref(), parameters),
            // A request that is compared as a whole needs no scope of its own.
            Mode::Exact | Mode::Bypass => Frame::exact(kind, model),
        };
        let frame = match &self.context {
            Some(context) => frame.with_parameter(CONTEXT, context),
            None => frame,
        };
        Scope::new(project, frame)
    }

    /// The request as a query of a project.
    pub(super) fn into_query(mut self, project: ProjectId) -> Query {
        let parameters = std::mem::take(&mut self.identity.parameters);
        let scope = self.scope(project, parameters);
        let Self { identity, forward, threshold, control, context, request } = self;
        let Identity { mode, model, hash, text, reasons, rendering, labels, has_tools, demand, .. } =
            identity;
        let hash = PromptHash(hash);
        let wired =
            WireQuery { mode, hash, scope, reasons, rendering, labels, has_tools, demand, forward, control };
        Query { prompt: text, model, threshold, context, request, wire: Some(Box::new(wired)), room: None }
    }
}

impl Engine {
    /// Answers a request in a wire format for an admitted caller: from the cache, or with the provider's answer as it comes.
    /// `looked` is what the admission looked up. The request is counted when it has ended.
    pub async fn relay(
        &self,
        looked: Option<LookedAhead>,
        caller: &Admission,
        relay: Relay,
    ) -> Result<Relayed, QueryError> {
        let started = looked.as_ref().map_or_else(Instant::now, |looked| looked.began);
        let query = Arc::new(relay.into_query(caller.project.id));
        let mut counting = Counting::new(self, caller, &query, started);
        let answered = self.answer(looked, caller, &query, started, &mut counting.progress).await;
        let mut trace = Trace { total: started.elapsed(), ..counting.progress.trace };
        let error = match answered {
            Ok(Answered::Hit(reply, body)) => {
                let now = Some(Instant::now());
                trace.began = query.wire.as_ref().and_then(|wired| wired.began(started, now));
                let reply = Reply { trace, ..reply };
                counting.end(Ok(&reply), None);
                return Ok(Relayed::Hit(reply, body));
            }
            Ok(Answered::Live(mut live)) => {
                live.trace = trace;
                counting.leave_to_call();
                return Ok(Relayed::Live(live));
            }
            Ok(Answered::Whole(_)) => QueryError::Internal("an answer without a body".into()),
            Err(error) => error,
        };
        counting.end(Err(&error), None);
        Err(error)
    }

    /// The body of an answer from the cache, which has room until it is sent. `None` if the entry's record cannot be given:
    /// then the entry is deleted, since it would keep the fresh answer out.
    pub(super) async fn rendered(
        &self,
        project: &Project,
        wired: &WireQuery,
        entry: &Entry,
    ) -> Result<Option<Bytes>, QueryError> {
        let Parts { store, clock, entropy, .. } = &*self.parts;
        let now = clock.now();
        let mut seed = [0; 16];
        if let Err(error) = entropy.fill(&mut seed) {
            tracing::error!(error = %error, "no random bytes for the id of an answer; the provider is asked");
            return Ok(None);
        }
        let fresh = deja_wire::NewValues {
            seed,
            created: now.as_secs(),
            input_tokens: entry.answer.input_tokens,
            output_tokens: entry.answer.output_tokens,
            zero_usage: project.settings.hit_usage == HitUsage::Zero,
            keeps_id: wired.keeps_id(),
            labelled: wired.labels.map(|_| &*wired.forward.body),
        };
        let record = entry.answer.record.as_deref().unwrap_or_default();
        // Room is taken before the body is made: a body that is being made takes as much memory as one that waits.
        let mut buffer = self.buffered(project.id, record.len())?;
        let _room = room_to_parse(Some(project.id), record.len()).await;
        let is_long = record.len() + fresh.labelled.map_or(0, <[u8]>::len) > SHORT;
        match block_in_place_if(is_long, || {
            render(wired.forward.endpoint.wire(), record, &wired.rendering, &fresh)
        }) {
            Ok(body) => {
                buffer.grow(body.len().saturating_sub(record.len()))?;
                Ok(Some(buffer.hold(body)))
            }
            Err(error) => {
                tracing::error!(project.id = %project.id, entry.id = %entry.id, error = %error, "the stored answer of an entry cannot be given: the entry is deleted");
                let change = Change::new(now, Actor::System, "entry.delete").within(project.id);
                let change = change.of(entry.id.to_string()).how(error.to_string());
                if let Err(error) = store.delete(project.id, entry.id, &change).await {
                    tracing::warn!(entry.id = %entry.id, error = %error, "the entry could not be deleted");
                }
                Ok(None)
            }
        }
    }

    /// Counts the request of `call`, which reads the answer of another request's call along from `buffer`, when that call has
    /// `ended`.
    pub(super) fn count_reader(
        &self,
        call: &Call,
        buffer: Arc<ReplayBuffer>,
        ended: impl Future<Output = Completed> + Send + 'static,
    ) {
        let (engine, caller, query) = (self.clone(), call.caller.clone(), call.query.clone());
        let (scope, started, joined) = (call.scope.key(), call.started, Instant::now());
        let opinion = call.near.opinion;
        let counting = async move {
            let completed = ended.await;
            let first = buffer.first_byte().map(|first| first.max(joined));
            let began = query.wire.as_ref().and_then(|wired| wired.began(started, first));
            let reply = match &completed {
                Completed::Answered(fresh) => Ok(engine.reply_of_reader(&caller, scope, &query, fresh).await),
                Completed::Failed(error, ..) | Completed::Unshared(error) => Err(error.clone()),
                Completed::Found(..) => Err(QueryError::Unfinished),
            };
            let reply = reply.map(|mut reply| {
                (reply.trace.total, reply.trace.joined) = (started.elapsed(), true);
                (reply.trace.began, reply.trace.opinion) = (began, opinion);
                reply
            });
            engine.count_ended(&caller, &query, started, Ended::of(&query, reply.as_ref(), None), opinion);
        };
        self.tasks.spawn(counting.with_current_context());
    }

    /// The reply to a request that read the answer `fresh` along: a hit if the answer was stored.
    async fn reply_of_reader(
        &self,
        caller: &Admission,
        scope: ScopeKey,
        query: &Arc<Query>,
        fresh: &Fresh,
    ) -> Reply {
        if fresh.stored.is_ok() {
            let hit = Hit::of_the_same(fresh.entry.clone());
            let cost = self.avoided(caller, scope, query, &hit).await;
            let entry = Arc::clone(hit.entry());
            return Reply { entry, source: Source::from(&hit), cost, trace: Trace::default() };
        }
        self.reply_of_provider(caller, query, fresh, NanoUsd::ZERO)
    }
}

/// What a query is answered with.
pub(super) enum Answered {
    /// All of it, to a query of deja's own API.
    Whole(Reply),
    /// From the cache, to a request in a wire format, with the body as it is wanted.
    Hit(Reply, Bytes),
    /// The provider's answer to a request in a wire format, as it comes.
    Live(Live),
}
