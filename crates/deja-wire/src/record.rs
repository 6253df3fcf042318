//! What is kept of an answer, and how answers are read: the only reader there is.

mod chat;
mod chat_fold;
mod counts;
mod cut;
mod gemini;
mod gemini_fold;
mod messages;
mod messages_fold;
mod responses;

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sse_stream::SseByteStream;

pub(crate) use self::chat::{SIGNED, THOUGHTS};
use crate::json::{Object, is_silent};
use crate::{Completion, Finish, TokenUsage, Wire};

/// One complete answer.
#[derive(Clone, Debug)]
pub struct Record {
    /// The answer as plain JSON of its format. Of a plain answer, the very bytes that came.
    pub body: Bytes,
    /// Its content, in terms that all formats share.
    pub completion: Completion,
    /// Whether all of it can be given again, plain and streamed: text, and calls of the application's tools. What cannot be
    /// is not stored.
    pub renderable: bool,
}

/// Why there is no record of an answer.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum Unrecorded {
    /// The body, or an event that is not the last, is not JSON.
    #[error("it is not JSON")]
    NotJson,
    /// It is JSON of another form.
    #[error("it is not of the documented form")]
    NotAnAnswer,
    /// It says that the call failed; what it says may quote the prompt.
    #[error("it says that the call failed")]
    Failed(Value),
    /// It ends before the answer does.
    #[error("it ends before the answer does")]
    Unfinished,
    /// There is more behind its end mark.
    #[error("it goes on behind its end mark")]
    Overrun,
}

/// Without what the provider said: it may quote the prompt.
impl fmt::Debug for Unrecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotJson => "NotJson",
            Self::NotAnAnswer => "NotAnAnswer",
            Self::Failed(_) => "Failed",
            Self::Unfinished => "Unfinished",
            Self::Overrun => "Overrun",
        })
    }
}

/// Why a stream gave no answer.
#[derive(Debug)]
pub enum StreamError<E> {
    /// Reading it failed.
    Read(E),
    /// It was read, but it is no answer.
    Unrecorded(Unrecorded),
}

/// A stream that gave no answer.
#[derive(Debug)]
pub struct Cut<E> {
    /// Why.
    pub why: StreamError<E>,
    /// What it said; `None` if that is nothing. See [`so_far`].
    pub part: Option<Box<Completion>>,
}

/// Names of one object that a fold keeps: each is looked for among them. An answer with more cannot be given again.
const MOST_NAMES: usize = 256;

/// A streamed answer while it comes in.
trait Fold: Send {
    /// Takes the next event, or the end mark of chat completions.
    fn event(&mut self, event: Event<'_>) -> Next;

    /// Whether everything that belongs to the answer has come.
    fn is_whole(&self) -> bool;

    /// The answer as far as it has come.
    fn plain(&self) -> Folded;
}

/// What a fold is told.
enum Event<'a> {
    /// An object.
    Object(&'a Object<'a>),
    /// `[DONE]`.
    Done,
}

/// Whether more events belong to a streamed answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// There may be more.
    More,
    /// This was the last one.
    Last,
}

/// A streamed answer as the plain one it stands for.
#[derive(Debug)]
struct Folded {
    body: Bytes,
    /// Whether nothing was lost.
    faithful: bool,
}

/// Whether a body of this `Content-Type` is server-sent events.
pub fn is_event_stream(content_type: &str) -> bool {
    content_type.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

/// The record of a whole `body`, which is server-sent events if it is `streamed`. Only a complete answer has one.
pub fn record(wire: Wire, streamed: bool, body: &Bytes) -> Result<Record, Unrecorded> {
    if !streamed {
        return plain(wire, body.clone());
    }
    let chunks = stream::iter([Ok::<_, std::convert::Infallible>(body.clone())]);
    let mut fold = fold(wire);
    match folded(wire, chunks, &mut *fold, true).now_or_never() {
        Some(Ok(record)) => Ok(record),
        Some(Err(StreamError::Unrecorded(why))) => Err(why),
        Some(Err(StreamError::Read(never))) => match never {},
        // All of the body was there.
        None => Err(Unrecorded::Unfinished),
    }
}

/// The record of server-sent events that come in `chunks`. Nothing is read behind the end mark: some servers leave the
/// connection open.
pub async fn read<E>(
    wire: Wire,
    chunks: impl Stream<Item = Result<Bytes, E>> + Send,
) -> Result<Record, Cut<E>>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let mut fold = fold(wire);
    let read = folded(wire, chunks, &mut *fold, false).await;
    read.map_err(|why| Cut { why, part: part(wire, &*fold).map(Box::new) })
}

/// What an answer says that broke off, which came in server-sent events if it is `streamed`; `None` if that is nothing. Why it
/// ended is not known.
pub fn so_far(wire: Wire, streamed: bool, body: &Bytes) -> Option<Completion> {
    if !streamed {
        return cut_off(wire, cut::closed(body)?);
    }
    let chunks = stream::iter([Ok::<_, std::convert::Infallible>(body.clone())]);
    let mut fold = fold(wire);
    // What it ends with is of no interest: all of it was there.
    let _ended = feed(wire, chunks, &mut *fold, true).now_or_never();
    part(wire, &*fold)
}

/// What a streamed answer says as far as it has come.
fn part(wire: Wire, fold: &dyn Fold) -> Option<Completion> {
    cut_off(wire, serde_json::from_slice(&fold.plain().body).ok()?)
}

fn cut_off(wire: Wire, body: Value) -> Option<Completion> {
    Some(Completion { finish: Finish::Unknown, ..completion(wire, body)? })
}

/// The tokens that are told in `parts` of an answer, cut anywhere: each number as it was told last.
pub fn usage_in(wire: Wire, parts: &[u8]) -> Option<TokenUsage> {
    let parts = String::from_utf8_lossy(parts);
    // What the answer quotes does not look like this: quotes in a text are escaped.
    let name = if wire == Wire::Gemini { "\"usageMetadata\"" } else { "\"usage\"" };
    let mut told = serde_json::Map::new();
    for (at, _) in parts.match_indices(name) {
        let value = parts[at + name.len()..].trim_start().strip_prefix(':').unwrap_or_default();
        let value = serde_json::Deserializer::from_str(value).into_iter().next();
        if let Some(Ok(Value::Object(counts))) = value {
            told.extend(counts.into_iter().filter(|(_, count)| !count.is_null()));
        }
    }
    let told = Value::Object(told);
    match wire {
        Wire::Chat | Wire::Responses => counts::usage(told),
        Wire::Messages => messages::usage(told),
        Wire::Gemini => gemini::usage(told),
    }
}

async fn folded<E>(
    wire: Wire,
    chunks: impl Stream<Item = Result<Bytes, E>> + Send,
    fold: &mut dyn Fold,
    to_the_end: bool,
) -> Result<Record, StreamError<E>>
where
    E: std::error::Error + Send + Sync + 'static,
{
    feed(wire, chunks, fold, to_the_end).await?;
    finished(wire, fold).map_err(StreamError::Unrecorded)
}

/// Hands the events in `chunks` to `fold`: up to the end mark, or `to_the_end`, where nothing may stand behind it.
async fn feed<E>(
    wire: Wire,
    chunks: impl Stream<Item = Result<Bytes, E>> + Send,
    fold: &mut dyn Fold,
    to_the_end: bool,
) -> Result<(), StreamError<E>>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let ended = AtomicBool::new(false);
    // Servers exist that leave out the blank line behind the last event.
    let blank_line = stream::once(async {
        ended.store(true, Ordering::Relaxed);
        Ok(Bytes::from_static(b"\n\n"))
    });
    let mut events = pin!(SseByteStream::new(chunks.chain(blank_line)));
    let mut last = false;
    while let Some(event) = events.next().await {
        let next = match event {
            Ok(event) => take(wire, event.data.as_deref().unwrap_or("").trim(), fold, last),
            Err(sse_stream::Error::Body(error)) => {
                return Err(error
                    .downcast()
                    .map_or(StreamError::Unrecorded(Unrecorded::Unfinished), |error| {
                        StreamError::Read(*error)
                    }));
            }
            Err(_) => Err(Unrecorded::NotJson),
        };
        match next {
            Ok(Next::More) => {}
            Ok(Next::Last) if to_the_end => last = true,
            Ok(Next::Last) => break,
            // It was cut by the end of the body.
            Err(Unrecorded::NotJson) if ended.load(Ordering::Relaxed) => {
                return Err(StreamError::Unrecorded(Unrecorded::Unfinished));
            }
            Err(why) => return Err(StreamError::Unrecorded(why)),
        }
    }
    Ok(())
}

fn fold(wire: Wire) -> Box<dyn Fold> {
    match wire {
        Wire::Chat => Box::new(chat_fold::ChatFold::default()),
        Wire::Responses => Box::new(responses::ResponsesFold::default()),
        Wire::Messages => Box::new(messages_fold::MessageFold::default()),
        Wire::Gemini => Box::new(gemini_fold::GeminiFold::default()),
    }
}

/// Hands the event in `data` to `fold`, unless it says that the call failed.
fn take(wire: Wire, data: &str, fold: &mut dyn Fold, last: bool) -> Result<Next, Unrecorded> {
    if data.is_empty() {
        return Ok(Next::More);
    }
    if data == "[DONE]" && wire != Wire::Chat {
        // Gateways put it behind every stream.
        return Ok(Next::More);
    }
    if last {
        return Err(Unrecorded::Overrun);
    }
    if data == "[DONE]" {
        return Ok(fold.event(Event::Done));
    }
    let raw: &RawValue = serde_json::from_str(data).map_err(|_| Unrecorded::NotJson)?;
    let Some(event) = Object::of(raw) else {
        // Gemini reports some errors as an array.
        let value = serde_json::from_str(data).map_err(|_| Unrecorded::NotJson)?;
        return if is_error(&value) { Err(Unrecorded::Failed(value)) } else { Ok(Next::More) };
    };
    let named = |name: &str| event.text(name).as_deref() == Some("error");
    if event.get("error").is_some() || named("type") || named("object") {
        let value = serde_json::from_str(data).map_err(|_| Unrecorded::NotJson)?;
        if is_error(&value) {
            return Err(Unrecorded::Failed(value));
        }
    }
    Ok(fold.event(Event::Object(&event)))
}

fn finished(wire: Wire, fold: &dyn Fold) -> Result<Record, Unrecorded> {
    if !fold.is_whole() {
        return Err(Unrecorded::Unfinished);
    }
    let folded = fold.plain();
    let record = plain(wire, folded.body)?;
    Ok(Record { renderable: record.renderable && folded.faithful, ..record })
}

/// The record of a plain answer.
fn plain(wire: Wire, body: Bytes) -> Result<Record, Unrecorded> {
    let body = if body.starts_with(b"\xef\xbb\xbf") { body.slice(3..) } else { body };
    let value: Value = serde_json::from_slice(&body).map_err(|_| Unrecorded::NotJson)?;
    if is_error(&value) {
        return Err(Unrecorded::Failed(value));
    }
    let renderable = match wire {
        Wire::Chat => chat::renderable(&value),
        Wire::Responses => responses::renderable(&value),
        Wire::Messages => messages::renderable(&value),
        Wire::Gemini => gemini::renderable(&value),
    };
    let completion = completion(wire, value).ok_or(Unrecorded::NotAnAnswer)?;
    Ok(Record { body, completion, renderable })
}

/// What a plain answer says; `None` if it is none.
fn completion(wire: Wire, body: Value) -> Option<Completion> {
    match wire {
        Wire::Chat => chat::completion(body),
        Wire::Responses => responses::completion(body),
        Wire::Messages => messages::completion(body),
        Wire::Gemini => gemini::completion(body),
    }
}

/// Whether `body` says that the call failed, whatever its status: checked before any answer is looked for.
pub fn is_error(body: &Value) -> bool {
    match body {
        Value::Array(items) => items.first().is_some_and(is_error),
        Value::Object(members) => {
            let named = members.get("error").is_some_and(|error| match error {
                Value::Object(members) => !members.is_empty(),
                Value::String(text) => !text.is_empty(),
                Value::Array(items) => !items.is_empty(),
                _ => false,
            });
            let kind = |name: &str| members.get(name).and_then(Value::as_str) == Some("error");
            named || kind("object") || kind("type")
        }
        _ => false,
    }
}

/// Whether the model itself calls the tool. A call may say that code calls which the provider runs.
fn is_direct(call: &Value) -> bool {
    call.get("caller").is_none_or(|caller| caller.is_null() || *caller == json!({"type": "direct"}))
}

/// Whether this is a reason for the end of an answer. A stream without one is a stream that broke off.
fn is_reason(value: &Value) -> bool {
    value.as_str().is_some_and(|reason| !reason.is_empty())
}

/// Whether the arguments of a call are JSON, or none. The arguments of two calls in one are not. An application that cannot read them asks
/// again, and would get them again.
fn is_arguments(value: &Value) -> bool {
    let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
    value.as_str().is_some_and(|text| text.is_empty() || is_json(text))
}

/// `values` as text: strings as they are, other JSON as it is written, nothing of null.
fn joined<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    values.into_iter().map(text).collect()
}

/// Whether an object has no member but the `known` and such as say nothing.
fn only(object: &Value, known: &[&[&str]]) -> bool {
    object.as_object().is_some_and(|members| {
        let mut members = members.iter();
        members
            .all(|(name, value)| known.iter().any(|known| known.contains(&name.as_str())) || is_silent(value))
    })
}
