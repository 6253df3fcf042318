//! The upstream side of a flight for a request in a wire format: sent as it came, read along by everybody, recorded, and
//! stored if all of it came.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use deja_wire::{
    Completion, Finish, Record, TAIL, Unrecorded, Wire, is_event_stream, may_have_ended, record, so_far,
    usage_in,
};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryFutureExt as _};
use opentelemetry::context::FutureExt as _;
use tokio::time::{sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::cache::Entry;
use crate::cache::policy::{NotStored, may_store};
use crate::engine::call::{Call, Partial, provider_of};
use crate::engine::claim::Claim;
use crate::engine::count::Ended;
use crate::engine::flight::{Completed, Fresh, Leader, ended_early};
use crate::engine::live::{END, Head, ReplayBuffer};
use crate::engine::relay::WireQuery;
use crate::engine::upstream::Upstream;
use crate::engine::{Engine, Parts, QueryError, Reply};
use crate::id::ProjectId;
use crate::project::{OnHangup, OptIn};
use crate::provider::{Endpoint, Forwarded, ProviderError, content_type};
use crate::room_to_parse;
use crate::shares::Held;
use crate::store::Unanswered;

/// The size up to which an answer is read on for the cache when nobody wants it any more: some 4,096 tokens, each in an
/// event of its own.
const READ_ON_BYTES: usize = 1024 * 1024;
/// A record of up to so many bytes is read in less time than another thread takes to begin.
pub(super) const SHORT: usize = 64 * 1024;
/// How long the end of a body is waited for behind the end mark of its stream.
const BEHIND_MARK: Duration = Duration::from_secs(1);

/// How reading an answer ended.
enum Read {
    /// With all of it: the last byte, or the end mark of a stream, however its connection ended behind that.
    Whole,
    /// It broke off.
    Broken(ProviderError),
    /// Nobody wants it any more, or calls are cut.
    Abandoned,
}

/// How an answer came.
#[derive(Clone, Copy)]
struct Received {
    streamed: bool,
    bytes: usize,
    /// The time from the request to its last byte.
    time: Duration,
}

impl Engine {
    /// Sends the request as it came. Everybody who asks the same reads the answer along.
    pub(super) async fn forward(
        &self,
        leader: &Leader,
        call: &Call,
        wired: &WireQuery,
        claim: Option<&Claim<'_>>,
    ) -> Result<Completed, QueryError> {
        let provider = provider_of(call)?;
        let _slot = self.slots.one(call.caller.project.id).ok_or(QueryError::Overloaded)?;
        let Parts { hangup_timeout, cut, .. } = &*self.parts;
        let mut patience = Patience::new(leader, call, wired, *hangup_timeout, cut);
        let mut upstream = Upstream::begin(provider.name(), wired.forward.endpoint, &call.query.model);
        let asked = provider.forward(wired.forward.clone()).with_context(upstream.context());
        let asked = self.unless_down(call.caller.project.id, provider, asked);
        let asked = asked.inspect_err(|error| upstream.answered(Err(error))).map_err(QueryError::from);
        let answer = patience.with(asked).await;
        let (answer, timed) = answer.unwrap_or(Err(QueryError::Unfinished))?;
        upstream.status(answer.status);
        let streamed = is_event_stream(content_type(&answer.headers));
        let Forwarded { status, error, headers, asked_usage, body } = answer;
        let usage = asked_usage || wired.rendering.usage;
        let head = Head { status, error, headers, usage, provider: provider.name().to_owned() };
        let buffer = ReplayBuffer::new(head, &self.room, call.caller.project.id);
        leader.begin(Arc::clone(&buffer));
        let mut begun = CountOnDrop { engine: self, leader, call, buffer: &buffer, is_counted: false };

        // Gemini's streams have no end mark: more may always come.
        let wire = wired.forward.endpoint.wire();
        let marked = (streamed && wire != Wire::Gemini).then_some(wire);
        // An answer that is not recorded goes on in step with its slowest reader. Whoever waits for the whole answer gets none.
        let unshared = async {
            buffer.unrecorded().await;
            leader.unshare();
            if let Some(claim) = claim {
                claim.release(&Unanswered { model: call.query.model.clone(), failure: None }).await;
            }
            std::future::pending().await
        };
        let mut bytes = 0;
        let ended = tokio::select! {
            ended = read(body, &buffer, marked, &mut patience, &mut bytes) => ended,
            never = unshared => never,
        };
        let came = Received { streamed, bytes, time: timed.end() };
        upstream.end();
        let landed = match &ended {
            Read::Broken(error) => {
                upstream.answered(Err(error));
                Err(error.clone().into())
            }
            // It is not known whether all of the answer came.
            Read::Abandoned if marked.is_none() || !buffer.is_recorded() => Err(QueryError::Unfinished),
            // OpenAI's clients hang up at the end mark, often before the body ends. A stream without its end mark is no record.
            Read::Whole | Read::Abandoned => self.land(call, wired, &buffer, came, claim, &upstream).await,
        };
        let began = wired.began(call.started, buffer.first_byte());
        if let Ok(fresh) = &landed {
            upstream.bought(fresh);
            let reply = self.reply_of_leader(call, fresh, began);
            begun.is_counted = true;
            self.count_query(&call.caller, &call.query, call.started, Ok(&reply));
        }
        // Whoever has read to the end finds the stored answer, or makes a call of their own: nobody joins to get an error.
        leader.leave();
        let cut = !matches!(ended, Read::Whole);
        buffer.end(match ended {
            Read::Broken(error) => Err(error.into()),
            Read::Abandoned if landed.is_err() => Err(QueryError::Unfinished),
            Read::Whole | Read::Abandoned => Ok(()),
        });
        if let Err(error) = &landed {
            // The readers do not wait for the tokens to be counted.
            let part = self.part(call, wired, &buffer, came, cut).await;
            let part = part.map(|part| {
                upstream.bought(&part);
                self.reply_of_leader(call, &part, began)
            });
            let ended = Ended::of(&call.query, Err(error), part.as_ref());
            begun.is_counted = true;
            self.count_ended(&call.caller, &call.query, call.started, ended, call.near.opinion);
        }
        // If the answer broke off, whoever waits for all of it gets none, and asks again.
        Ok(landed.map_or_else(Completed::Unshared, |fresh| Completed::Answered(Arc::new(fresh))))
    }

    /// Stores the answer if it is one complete answer that may be stored.
    async fn land(
        &self,
        call: &Call,
        wired: &WireQuery,
        buffer: &ReplayBuffer,
        came: Received,
        claim: Option<&Claim<'_>>,
        upstream: &Upstream,
    ) -> Result<Fresh, QueryError> {
        if buffer.head.status >= 400 {
            return Err(QueryError::Declined(buffer.head.error));
        }
        if buffer.head.status != 200 {
            return Err(QueryError::Unfinished);
        }
        let Some((whole, room)) = whole(buffer).await else {
            let part = self.part(call, wired, buffer, came, true).await;
            return part.ok_or(QueryError::Unfinished);
        };
        let wire = wired.forward.endpoint.wire();
        let demand = wired.demand;
        let record = reading_within(room, whole, move |body| {
            let record = record(wire, came.streamed, body)?;
            Ok((demand.is_met_by(&record.completion), record))
        });
        let (is_met, record) = match record.await.ok_or(QueryError::Unfinished)? {
            Ok(record) => record,
            Err(Unrecorded::Failed(_)) => return Err(QueryError::Declined(None)),
            Err(_) => return Err(QueryError::Unfinished),
        };
        let Record { body, completion, renderable } = record;
        upstream.answered(Ok(&completion));
        let verdict = wired.stores().and_then(|()| match may_store(&completion) {
            Err(NotStored::ToolCalls) if keeps_calls(call) => Ok(()),
            verdict => verdict,
        });
        let verdict = verdict.and(if is_met { Ok(()) } else { Err(NotStored::NotAsAsked) });
        let verdict = verdict.and(if renderable { Ok(()) } else { Err(NotStored::NotRenderable) });
        let told = completion.usage;
        let entry = self.entry_of(call, &buffer.head.provider, completion, Some(body)).await?;
        Ok(self.fresh(call, claim, entry, told, verdict, came.time).await)
    }

    /// What came of an answer that is not whole, was not recorded, or is of an endpoint that is not cached: it is paid for all
    /// the same. `None` if there is nothing to count. A plain answer is whole unless it is `cut`. If an answer that was too long
    /// tells no tokens, they are estimated from the tokens of its beginning. A whole answer that cannot be read counts what it tells.
    async fn part(
        &self,
        call: &Call,
        wired: &WireQuery,
        buffer: &ReplayBuffer,
        came: Received,
        cut: bool,
    ) -> Option<Fresh> {
        if buffer.head.status != 200 {
            return None;
        }
        let is_cut_text = wired.forward.endpoint.is_written() && (came.streamed || cut);
        let part = if is_cut_text {
            Partial::read(wired, buffer, came).await?
        } else {
            Partial::read_usage(wired, buffer).await?
        };
        let verdict = wired.stores().and(Err(part.why));
        self.fresh_part(call, &buffer.head.provider, part, verdict, came.time).await
    }

    /// The reply to the request that began the call.
    fn reply_of_leader(&self, call: &Call, fresh: &Fresh, began: Option<Duration>) -> Reply {
        let mut reply = self.reply_of_provider(&call.caller, &call.query, fresh, fresh.spent);
        (reply.trace.total, reply.trace.began) = (call.started.elapsed(), began);
        reply.trace.too_long = call.too_long;
        reply.trace.called(fresh);
        reply
    }
}

/// An answer that readers have begun to read. If the task of its flight panics, they get an error, and the request is counted:
/// nobody else would do either.
struct CountOnDrop<'a> {
    engine: &'a Engine,
    leader: &'a Leader,
    call: &'a Call,
    buffer: &'a ReplayBuffer,
    is_counted: bool,
}

impl Drop for CountOnDrop<'_> {
    fn drop(&mut self) {
        let Self { engine, leader, call, buffer, is_counted } = self;
        leader.leave();
        buffer.give_up(ended_early());
        if !*is_counted {
            let error = ended_early();
            let ended = Ended::of(&call.query, Err(&error), None);
            engine.count_ended(&call.caller, &call.query, call.started, ended, call.near.opinion);
        }
    }
}

impl Partial {
    /// Of an answer that no model wrote, or that is whole, the tokens that it tells. Embeddings that tell none have cost their
    /// request; an answer that counts tokens has bought none.
    async fn read_usage(wired: &WireQuery, buffer: &ReplayBuffer) -> Option<Self> {
        let endpoint = wired.forward.endpoint;
        let body = buffer.whole().unwrap_or_else(|| buffer.ends());
        let told = reading_answer(buffer.project, body, move |body| {
            let told = usage_in(endpoint.wire(), body);
            let embeds = || String::from_utf8_lossy(body).contains("\"embedding\"");
            (told.is_some() || endpoint == Endpoint::Embeddings && embeds()).then_some(told)
        });
        let completion = Completion::unread(String::new(), told.await??);
        Some(Self { completion, why: NotStored::NotRecorded, beginning: None })
    }

    async fn read(wired: &WireQuery, buffer: &ReplayBuffer, came: Received) -> Option<Self> {
        let wire = wired.forward.endpoint.wire();
        let Some((body, room)) = whole(buffer).await else {
            return Self::read_ends(wire, buffer, came).await;
        };
        if body.is_empty() {
            return None;
        }
        let said = move |body: &Bytes| so_far(wire, came.streamed, body);
        let said = reading_within(room, body, said).await?;
        // A plain answer that said nothing yet has cost its request.
        let nothing = || Completion::unread(String::new(), None);
        Some(Self::cut_off(said.or_else(|| (!came.streamed).then(nothing))?))
    }

    /// Of an answer that was too long, its tokens, or else its beginning.
    async fn read_ends(wire: Wire, buffer: &ReplayBuffer, came: Received) -> Option<Self> {
        let (ends, why) = (buffer.ends(), NotStored::NotRecorded);
        let told = reading(ends.clone(), move |ends| usage_in(wire, ends)).await?;
        if told.is_some() {
            return Some(Self { completion: Completion::unread(String::new(), told), why, beginning: None });
        }
        let beginning = beginning(&ends, came.streamed);
        let length = beginning.len();
        let said = move |body: &Bytes| {
            if came.streamed {
                so_far(wire, true, body)
            } else {
                Some(Completion::unread(String::from_utf8_lossy(body).into_owned(), None))
            }
        };
        let said = reading(beginning, said).await?;
        let completion = said.unwrap_or_else(|| Completion::unread(String::new(), None));
        Some(Self { completion, why, beginning: Some((length, came.bytes)) })
    }
}

/// Whether the project wants answers that call tools to be stored.
fn keeps_calls(call: &Call) -> bool {
    call.caller.project.settings.opt_ins.contains(&OptIn::StoreToolCalls)
}

/// Whether the answer of an entry, with its record, calls tools. Then it answers the very same request only.
pub(super) async fn calls_tools(project: ProjectId, wired: &WireQuery, entry: &Entry) -> bool {
    let (wire, body) = (wired.forward.endpoint.wire(), entry.answer.record.clone().unwrap_or_default());
    let read = reading_answer(project, body, move |body| record(wire, false, body)).await;
    read.is_some_and(|read| read.is_ok_and(|record| record.completion.finish == Finish::ToolCalls))
}

/// The beginning of an answer that is not recorded, by which the tokens of all of it are estimated. That of a stream goes up to
/// the end of a line.
fn beginning(ends: &Bytes, streamed: bool) -> Bytes {
    let beginning = ends.slice(..ends.len().min(END));
    let line = beginning.iter().rposition(|byte| streamed && *byte == b'\n');
    line.map_or_else(|| beginning.clone(), |end| beginning.slice(..=end))
}

/// What `read` makes of a body; `None` if it fails.
pub(super) async fn reading<T: Send + 'static>(
    body: Bytes,
    read: impl FnOnce(&Bytes) -> T + Send + 'static,
) -> Option<T> {
    if body.len() <= SHORT {
        return Some(read(&body));
    }
    tokio::task::spawn_blocking(move || read(&body)).await.ok()
}

/// What `read` makes of an answer that `project` asked for, when there is room.
async fn reading_answer<T: Send + 'static>(
    project: ProjectId,
    body: Bytes,
    read: impl FnOnce(&Bytes) -> T + Send + 'static,
) -> Option<T> {
    let room = room_to_parse(Some(project), body.len()).await;
    reading_within(room, body, read).await
}

/// What `read` makes of a body for which there is `room`.
async fn reading_within<T: Send + 'static>(
    room: Option<Held>,
    body: Bytes,
    read: impl FnOnce(&Bytes) -> T + Send + 'static,
) -> Option<T> {
    reading(body, move |body| {
        let _until_it_is_read = room;
        read(body)
    })
    .await
}

/// All of an answer that was recorded, and room to parse it. It is copied when there is room, and not before.
async fn whole(buffer: &ReplayBuffer) -> Option<(Bytes, Option<Held>)> {
    let room = room_to_parse(Some(buffer.project), buffer.recorded()?).await;
    Some((buffer.whole()?, room))
}

/// The next piece of an answer, if there is one. The streams of the wire `marked` have an end mark. Behind it some servers break
/// the connection off or leave it open: that is no part of the answer.
async fn next(
    body: &mut BoxStream<'static, Result<Bytes, ProviderError>>,
    buffer: &ReplayBuffer,
    marked: Option<Wire>,
) -> Option<Result<Bytes, ProviderError>> {
    let Some(wire) = marked else { return body.next().await };
    let next = timeout(BEHIND_MARK, body.next()).await;
    if matches!(next, Err(_) | Ok(Some(Err(_)))) && is_whole(buffer, wire).await {
        return None;
    }
    match next {
        Ok(next) => next,
        Err(_) => body.next().await,
    }
}

/// Whether all of a stream has come, by its end mark. A stream may pause often: all of it is read only if it looks like its end.
async fn is_whole(buffer: &ReplayBuffer, wire: Wire) -> bool {
    let may_be_whole = |tail: Vec<u8>| may_have_ended(wire, &tail);
    if buffer.head.status != 200 || !buffer.tail(TAIL).is_some_and(may_be_whole) {
        return false;
    }
    let Some((body, room)) = whole(buffer).await else { return false };
    reading_within(room, body, move |body| record(wire, true, body).is_ok()).await.unwrap_or(false)
}

/// Reads the answer to its end, or until nobody wants it, and counts its bytes.
async fn read(
    mut body: BoxStream<'static, Result<Bytes, ProviderError>>,
    buffer: &ReplayBuffer,
    marked: Option<Wire>,
    patience: &mut Patience<'_>,
    bytes: &mut usize,
) -> Read {
    loop {
        let next = async {
            let next = next(&mut body, buffer, marked).await;
            if let Some(Ok(piece)) = &next {
                buffer.push(piece).await;
            }
            next
        };
        match patience.with(next).await {
            None => return Read::Abandoned,
            Some(None) => return Read::Whole,
            Some(Some(Err(error))) => return Read::Broken(error),
            Some(Some(Ok(piece))) => *bytes += piece.len(),
        }
        if *bytes > READ_ON_BYTES && patience.leader.abandon() {
            return Read::Abandoned;
        }
    }
}

/// How long a call goes on: until calls are cut, or for a while after the last client hung up. The prompt is paid for, and after
/// a time-out applications ask the same again.
struct Patience<'a> {
    leader: &'a Leader,
    cut: &'a CancellationToken,
    /// For how long the answer is worth having without a client.
    reads_on: Option<Duration>,
    ends: Option<tokio::time::Instant>,
}

impl<'a> Patience<'a> {
    fn new(
        leader: &'a Leader,
        call: &Call,
        wired: &WireQuery,
        timeout: Duration,
        cut: &'a CancellationToken,
    ) -> Self {
        let wanted = call.caller.project.settings.on_hangup == OnHangup::Store && wired.stores().is_ok();
        // An answer that may be a call of a tool is worth nothing without the application that runs the tool.
        let tools = wired.has_tools && !keeps_calls(call);
        Self { leader, cut, reads_on: (wanted && !tools).then_some(timeout), ends: None }
    }

    /// Until when the answer is worth having if no client comes any more.
    fn worth_until(&self) -> Option<tokio::time::Instant> {
        Some(self.leader.audience().left_at()? + self.reads_on?)
    }

    /// The outcome of `work`; `None` if it is given up.
    async fn with<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        loop {
            let ends = self.ends;
            tokio::select! {
                biased;
                () = self.cut.cancelled() => return None,
                done = &mut work => return Some(done),
                () = self.leader.audience().gone(), if ends.is_none() => match self.worth_until() {
                    Some(ends) => self.ends = Some(ends),
                    None if self.leader.abandon() => return None,
                    // A client came.
                    None => {}
                },
                () = until(ends), if ends.is_some() => {
                    // A client may have come and gone meanwhile.
                    self.ends = self.worth_until().filter(|ends| *ends > tokio::time::Instant::now());
                    if self.ends.is_none() && self.leader.abandon() {
                        return None;
                    }
                }
            }
        }
    }
}

async fn until(ends: Option<tokio::time::Instant>) {
    if let Some(ends) = ends {
        sleep_until(ends).await;
    }
}
