//! Counting: each request once, when it ended, here and nowhere else. Whoever else wants to hear of it is a [`Listener`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use opentelemetry::Context;
use opentelemetry::context::FutureExt as _;
use tokio::runtime::Handle;

use crate::analytics::{Outcome, Placed, RefusedFor, Surface, UsageEvent};
use crate::cache::Labelled;
use crate::engine::flight::Completed;
use crate::engine::log::Ending;
use crate::engine::{Cause, Engine, Opinion, Query, QueryError, Reply, Source, Trace};
use crate::money::NanoUsd;
use crate::rate_limit::LimitOf;
use crate::store::{Admission, NewLabel};

/// How a request ended.
#[derive(Clone, Copy, Debug)]
pub enum Ended<'a> {
    /// With an answer.
    Answered(&'a Reply),
    /// Passed on: it could not have been a hit. With the answer, if deja could read it.
    Passed(Option<&'a Reply>),
    /// Without an answer: deja or the provider failed. With the part of the answer that came before it broke off: the part is
    /// paid for.
    Failed(&'a QueryError, Option<&'a Reply>),
    /// Before the provider was asked: why, and the cause by its name.
    Refused(RefusedFor, &'static str),
    /// Over this rate limit.
    RateLimited(LimitOf),
}

impl<'a> Ended<'a> {
    /// The end of a query. `part` is what came of an answer that broke off or was not sent.
    pub(super) fn of(
        query: &Query,
        answered: Result<&'a Reply, &'a QueryError>,
        part: Option<&'a Reply>,
    ) -> Self {
        let is_passed = query.wire.as_ref().is_some_and(|wired| wired.is_passed());
        match answered {
            // It could not have been a hit: a fresh answer was wished for, perhaps.
            Ok(reply) if !query.looks_up() => Self::Passed(Some(reply)),
            // An answer that is passed on is not read, so deja does not know whether it is complete.
            Err(QueryError::Unfinished) if is_passed => Self::Passed(part),
            Ok(reply) => Self::Answered(reply),
            Err(error) => match error.refusal() {
                Some(why) => Self::Refused(why, error.cause()),
                None => Self::Failed(error, part),
            },
        }
    }

    /// The outcome that it counts as.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Answered(reply) => match reply.source {
                Source::Exact => Outcome::ExactHit,
                Source::Semantic(_) => Outcome::SemanticHit,
                Source::Provider(_) => Outcome::Miss,
            },
            Self::Passed(_) => Outcome::Passed,
            Self::Failed(..) => Outcome::Error,
            Self::Refused(..) => Outcome::Refused,
            Self::RateLimited(_) => Outcome::RateLimited,
        }
    }

    /// The answer, as far as there is one.
    pub(super) const fn reply(self) -> Option<&'a Reply> {
        match self {
            Self::Answered(reply) => Some(reply),
            Self::Passed(reply) | Self::Failed(_, reply) => reply,
            Self::Refused(..) | Self::RateLimited(_) => None,
        }
    }
}

/// What is known of a query while it is answered.
#[derive(Default)]
pub(super) struct QueryProgress {
    pub trace: Trace,
    /// The end of the call that it began and waits for; `None` if the call counts it.
    pub leads: Option<BoxFuture<'static, Option<Completed>>>,
    /// What came of the answer to the call that it began.
    pub part: Option<Reply>,
}

/// The duty to count a query once: when it is answered, or when its caller is gone. A call that the query began by then is
/// counted when its cost is known.
pub(super) struct Counting<'a> {
    engine: &'a Engine,
    caller: &'a Admission,
    query: Arc<Query>,
    started: Instant,
    pub progress: QueryProgress,
    is_counted: bool,
    /// That of the query's span. It is not current when the query is dropped with its connection.
    context: Context,
}

impl<'a> Counting<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        caller: &'a Admission,
        query: &Arc<Query>,
        started: Instant,
    ) -> Self {
        let (query, progress) = (Arc::clone(query), QueryProgress::default());
        Self { engine, caller, query, started, progress, is_counted: false, context: Context::current() }
    }

    /// Counts the query with its end. A provider's answer that is `unsent`, or what came of it, is paid for all the same.
    pub(super) fn end(mut self, answered: Result<&Reply, &QueryError>, unsent: Option<&Reply>) {
        self.is_counted = true;
        match (answered, self.progress.leads.take()) {
            (Err(late), Some(call)) => self.count_after(call, Some(late.clone())),
            (answered, _) => self.count(answered, unsent.filter(|reply| !reply.is_hit())),
        }
    }

    /// Leaves the counting to the call, whose answer is passed on as it comes.
    pub(super) fn leave_to_call(mut self) {
        self.is_counted = true;
    }

    /// Counts the query now.
    fn count(&self, answered: Result<&Reply, &QueryError>, part: Option<&Reply>) {
        let ended = Ended::of(&self.query, answered, part);
        self.engine.count_ended(self.caller, &self.query, self.started, ended, self.progress.trace.opinion);
    }

    /// Counts the query when its call has ended: with the error that it got if it was `late`, else with the end of the call.
    fn count_after(&self, call: BoxFuture<'static, Option<Completed>>, late: Option<QueryError>) {
        let (engine, caller) = (self.engine.clone(), self.caller.clone());
        let (query, started, mut trace) = (Arc::clone(&self.query), self.started, self.progress.trace);
        let counting = async move {
            let Some(completed) = call.await else { return };
            trace.total = started.elapsed();
            let (reply, opinion) = match &completed {
                Completed::Answered(fresh) | Completed::Failed(_, _, Some(fresh)) => {
                    trace.called(fresh);
                    let reply = engine.reply_of_provider(&caller, &query, fresh, fresh.spent);
                    (Some(Reply { trace, ..reply }), None)
                }
                Completed::Found(_, opinion) | Completed::Failed(_, opinion, None) => (None, *opinion),
                Completed::Unshared(_) => (None, None),
            };
            let answered = match (&late, &reply, &completed) {
                (Some(error), ..) | (None, _, Completed::Failed(error, ..)) => Err(error),
                (None, Some(reply), _) => Ok(reply),
                (None, None, _) => Err(&QueryError::Unfinished),
            };
            let ended = Ended::of(&query, answered, reply.as_ref());
            engine.count_ended(&caller, &query, started, ended, opinion);
        };
        // There is no runtime when the last requests are dropped with it.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(self.engine.tasks.track_future(counting.with_current_context()));
        }
    }
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        if self.is_counted {
            return;
        }
        let _current = self.context.clone().attach();
        match self.progress.leads.take() {
            Some(call) => self.count_after(call, None),
            None => self.count(Err(&QueryError::Unfinished), None),
        }
    }
}

/// Is told of each counted request, and of each feedback of a person, once.
pub trait Listener: Send + Sync {
    /// A request of `caller` ended, with `counted` of it. Called on the request path: it must not wait.
    fn ended(&self, caller: &Admission, counted: &UsageEvent<'_>, ended: Ended<'_>);

    /// The project's model said this, or nothing, on the way of one request, however that ended.
    fn judged(&self, opinion: &Opinion);

    /// A call of a provider ended after this time, with an answer or without. Called on the request path, too.
    fn called(&self, took: Duration);

    /// A person said whether an entry answers a prompt, and that was kept.
    fn labelled(&self, label: &NewLabel<'_>, came_of_it: Labelled);
}

/// A call of a provider under way. The listener hears how long it took when this is dropped.
pub(super) struct Timed<'a> {
    listener: &'a dyn Listener,
    began: Instant,
}

impl<'a> Timed<'a> {
    pub(super) fn begin(listener: &'a dyn Listener) -> Self {
        Self { listener, began: Instant::now() }
    }

    /// The call ended, and took so long.
    pub(super) fn end(self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        self.listener.called(self.began.elapsed());
    }
}

/// A listener that does nothing.
impl Listener for () {
    fn ended(&self, _: &Admission, _: &UsageEvent<'_>, _: Ended<'_>) {}

    fn judged(&self, _: &Opinion) {}

    fn called(&self, _: Duration) {}

    fn labelled(&self, _: &NewLabel<'_>, _: Labelled) {}
}

impl Engine {
    /// Counts a request, of this name, that came through `surface` and did not become a query.
    pub(super) fn count(
        &self,
        caller: &Admission,
        surface: Surface,
        request: Option<&str>,
        ended: Ended<'_>,
    ) {
        let event = UsageEvent { surface, ..self.bare(caller, ended) };
        self.count_as(caller, &event, Ending::Unread(request), ended);
    }

    /// Counts a request of an admitted caller that asks for no answer: its key was used. No figure of the project has it.
    pub fn count_other(&self, caller: &Admission) {
        self.usage.count_other(&caller.key, self.parts.clock.now());
    }

    /// Counts a query, and samples it.
    pub(super) fn count_query(
        &self,
        caller: &Admission,
        query: &Query,
        started: Instant,
        answered: Result<&Reply, &QueryError>,
    ) {
        self.count_ended(caller, query, started, Ended::of(query, answered, None), None);
    }

    /// Counts a query that began at `started` and ended so now. What the project's model said is paid for without an answer, too.
    pub(super) fn count_ended(
        &self,
        caller: &Admission,
        query: &Query,
        started: Instant,
        ended: Ended<'_>,
        opinion: Option<Opinion>,
    ) {
        let named = UsageEvent {
            model: &query.model,
            context: query.context.as_deref(),
            latency: started.elapsed(),
            ..self.bare(caller, ended)
        };
        let named = match &query.wire {
            Some(wired) => UsageEvent {
                surface: wired.forward.endpoint.into(),
                placed: query
                    .looks_up()
                    .then(|| Placed { scope: wired.scope.key(), frame: wired.scope.frame() }),
                ..named
            },
            None => named,
        };
        let opinion = ended.reply().and_then(|reply| reply.trace.opinion).or(opinion);
        let judging = opinion.map_or(NanoUsd::ZERO, |opinion| opinion.cost);
        if let Some(opinion) = opinion {
            self.parts.listener.judged(&opinion);
        }
        let event = match ended {
            Ended::Answered(reply) => {
                self.sample(&caller.project, query, reply);
                of_reply(&named, reply)
            }
            Ended::Passed(Some(reply)) | Ended::Failed(_, Some(reply)) => of_reply(&named, reply),
            Ended::Passed(None) | Ended::Failed(_, None) => UsageEvent { spent: judging, ..named },
            // No entry was looked for.
            Ended::Refused(..) | Ended::RateLimited(_) => {
                UsageEvent { placed: None, spent: judging, ..named }
            }
        };
        self.count_as(caller, &event, Ending::Read(query), ended);
        if let Ended::Answered(reply) = ended {
            self.keep_met(caller, query, reply);
        }
    }

    fn bare(&self, caller: &Admission, ended: Ended<'_>) -> UsageEvent<'static> {
        let bare =
            UsageEvent::bare(caller.project.id, caller.key.id, ended.outcome(), self.parts.clock.now());
        let refused = if let Ended::Refused(why, _) = ended { Some(why) } else { None };
        UsageEvent { refused, ..bare }
    }

    fn count_as(&self, caller: &Admission, event: &UsageEvent<'_>, ending: Ending<'_>, ended: Ended<'_>) {
        self.usage.count(event);
        self.log(&caller.project.settings, event, ending, ended);
        self.parts.listener.ended(caller, event, ended);
    }
}

fn of_reply<'a>(named: &UsageEvent<'a>, reply: &Reply) -> UsageEvent<'a> {
    // The tokens of a call are bought once: by the request that began it.
    let bought_before = reply.trace.joined && !reply.is_hit();
    let [input_tokens, output_tokens] =
        if bought_before { [0; 2] } else { [reply.cost.input_tokens, reply.cost.output_tokens] };
    UsageEvent {
        entry: reply.is_hit().then_some(reply.entry.id),
        similarity: reply.nearest_similarity(),
        latency: reply.trace.total,
        joined: reply.trace.joined,
        began: reply.trace.began,
        input_tokens,
        output_tokens,
        saved: reply.saved(),
        spent: reply.spent(),
        unpriced: reply.cost.price.is_none() && !bought_before,
        too_long: reply.trace.too_long.is_some(),
        ..*named
    }
}
