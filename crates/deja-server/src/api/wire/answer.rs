//! Answers: hits, rendered as they were asked for, and live ones, passed on as they come. What deja knows of an answer stands
//! in its headers, which are there before the first byte of a stream.

use std::fmt::Display;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{AGE, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use deja_core::clock::Timestamp;
use deja_core::embedding::Similarity;
use deja_core::engine::{Control, Live, Relay, Reply, SendBuffer, Source, Trace};
use deja_core::provider::UPSTREAM_IDS;
use deja_core::{block_in_place_if, room_to_parse};
use deja_wire::{Mode, Rendering, UsageFilter, Wire, is_event_stream, json_as_stream, record};
use futures::{StreamExt, TryStreamExt, stream};

use super::control::CACHE;
use super::error::WireError;
use super::events;
use crate::api::body::SHORT;
use crate::api::error::{ApiError, ERROR_CODE};
use crate::api::query::{ENTRY, GUARD};

const EVENTS: &str = "text/event-stream; charset=utf-8";
const JSON: &str = "application/json";
// Names that are made once: a name that is looked at for each answer costs as much as its value.
const REASON: HeaderName = HeaderName::from_static("x-deja-reason");
const MATCH: HeaderName = HeaderName::from_static("x-deja-match");
const SIMILARITY: HeaderName = HeaderName::from_static("x-deja-similarity");
const PROVIDER: HeaderName = HeaderName::from_static("x-deja-provider");
const SAVED: HeaderName = HeaderName::from_static("x-deja-saved");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const UPSTREAM_ID: HeaderName = HeaderName::from_static("x-deja-upstream-id");
/// What [`four_digits`] makes of an exact hit's similarity, which most hits have.
const EXACT: &str = "1.0000";
/// Headers that an answer has in the end, about: a map that grows is made anew.
const HEADERS: usize = 20;
/// Largest answer that is read whole before it is rendered otherwise, in bytes.
const MOST_COLLECTED: usize = 8 * 1024 * 1024;

/// How an answer is wanted.
pub(super) struct Wanted {
    wire: Wire,
    /// Whether deja can read the answers of the endpoint. All others pass as they come.
    is_cached: bool,
    rendering: Rendering,
    mode: Mode,
    control: Control,
    reasons: Vec<&'static str>,
    debug: bool,
    pace: Option<u32>,
    /// How long a stream may be silent.
    keep_alive: Duration,
}

impl Wanted {
    pub(super) fn of(relay: &Relay, debug: bool, pace: Option<u32>, keep_alive: Duration) -> Self {
        Self {
            wire: relay.forward.endpoint.wire(),
            is_cached: relay.forward.endpoint.is_cached(),
            rendering: relay.identity.rendering,
            mode: relay.identity.mode,
            control: relay.control,
            reasons: relay.identity.reasons.clone(),
            debug,
            pace,
            keep_alive,
        }
    }

    /// What the cache did for a live answer, as `x-deja-cache` has it.
    fn cache(&self, live: &Live) -> &'static str {
        match self.mode {
            _ if live.joined => "joined",
            Mode::Bypass => "bypass",
            _ if self.control.look_up => "miss",
            _ if self.control.store => "refresh",
            _ => "bypass",
        }
    }

    /// The headers that say how it went.
    fn headers(&self, cache: &'static str, trace: &Trace) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.insert(CACHE, HeaderValue::from_static(cache));
        if !self.reasons.is_empty() {
            say(&mut headers, REASON, self.reasons.join(","));
        }
        if let Some(refusal) = trace.refused {
            headers.insert(GUARD, HeaderValue::from_static(refusal.reason.as_str()));
        }
        if self.debug {
            say(&mut headers, SERVER_TIMING, timing(trace));
        }
        headers
    }
}

/// An answer from the cache.
pub(super) fn hit(wanted: &Wanted, reply: &Reply, body: Bytes, now: Timestamp) -> Response {
    let entry = &reply.entry;
    let mut headers = wanted.headers("hit", &reply.trace);
    let matched = if reply.source == Source::Exact { "exact" } else { "semantic" };
    headers.insert(MATCH, HeaderValue::from_static(matched));
    if reply.source == Source::Exact {
        headers.insert(SIMILARITY, HeaderValue::from_static(EXACT));
    } else if let Some(similarity) = reply.similarity() {
        say(&mut headers, SIMILARITY, four_digits(similarity));
    }
    say(&mut headers, ENTRY, entry.id);
    say(&mut headers, PROVIDER, &entry.answer.provider);
    headers.insert(AGE, HeaderValue::from(now.since(entry.created).as_secs()));
    if reply.cost.price.is_some() {
        say(&mut headers, SAVED, dollars(reply.saved().as_nanos()));
    }
    if wanted.rendering.stream {
        unbuffered(&mut headers);
    }
    let kind = if wanted.rendering.stream { EVENTS } else { JSON };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let body = match wanted.pace.filter(|_| wanted.rendering.stream) {
        Some(pace) => {
            let tokens = shown_tokens(&entry.answer.text, entry.answer.output_tokens);
            events::paced(body, Duration::from_secs(tokens) / pace, wanted.keep_alive)
        }
        None => Body::from(body),
    };
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    response
}

fn four_digits(similarity: Similarity) -> String {
    format!("{:.4}", similarity.get())
}

/// The tokens of an answer that are seen. The count of a provider has those of hidden reasoning in it; a text has hardly ever more
/// tokens than a third of its bytes. An answer without a text calls a tool.
fn shown_tokens(text: &str, counted: u64) -> u64 {
    if text.is_empty() { counted } else { counted.min(text.len().div_ceil(3) as u64) }
}

/// An answer of the provider, as it comes. An answer that is read whole before it is sent takes room in `buffer`.
pub(super) async fn live(
    wanted: &Wanted,
    mut live: Live,
    mut buffer: SendBuffer<'_>,
) -> Result<Response, WireError> {
    let kind = live.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.trim().to_ascii_lowercase();
    let (is_stream, is_json) = (is_event_stream(&kind), kind.contains("json"));
    let mut headers = wanted.headers(wanted.cache(&live), &live.trace);
    say(&mut headers, PROVIDER, &live.provider);
    if let Some(class) = live.error {
        headers.insert(ERROR_CODE, HeaderValue::from_static(class.code()));
    }
    // The provider's own name of the request: deja's stands in `X-Request-Id`.
    let id = UPSTREAM_IDS.iter().find_map(|name| live.headers.get(name));
    headers.extend(id.map(|id| (UPSTREAM_ID, id.clone())));
    let others = live.headers.iter().filter(|(name, _)| !UPSTREAM_IDS.contains(name));
    headers.extend(others.map(|(name, value)| (name.clone(), value.clone())));
    if live.status >= 400 && !is_json {
        // A page for people, of a proxy mostly: no client of the wire reads it.
        let (head, body) = WireError::Unreadable(live.status).into_response(wanted.wire).into_parts();
        headers.extend(head.headers);
        return Ok((head.status, headers, body).into_response());
    }
    let status = StatusCode::from_u16(live.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let wants_stream = wanted.rendering.stream;
    let is_other = wanted.is_cached && is_stream != wants_stream && (is_stream || is_json);
    let body = if status == StatusCode::OK && is_other {
        let body = collect(&mut live, &mut buffer).await?;
        let rendering = || other_rendering(wanted, &body);
        // As with requests: meanwhile others go on.
        let room = room_to_parse(Some(buffer.owner()), body.len()).await;
        let other = block_in_place_if(body.len() > SHORT, rendering);
        drop(room);
        let collected = body.len();
        let other = other.unwrap_or(Whole { body, is_stream });
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(if other.is_stream { EVENTS } else { JSON }));
        buffer.grow(other.body.len().saturating_sub(collected))?;
        Body::from(buffer.hold(other.body))
    } else if is_stream {
        let drops_usage = wanted.wire == Wire::Chat && live.usage && !wanted.rendering.usage;
        events::body(live, wanted.wire, drops_usage.then(UsageFilter::default), wanted.keep_alive)
    } else {
        // An answer that breaks off before its first byte can still be told as an error.
        let first = live.next().await.transpose()?;
        let first = stream::iter(first.map(Ok));
        Body::from_stream(first.chain(live.map_err(io::Error::other)))
    };
    if is_stream || wants_stream {
        unbuffered(&mut headers);
    }
    Ok((status, headers, body).into_response())
}

/// All of an answer.
async fn collect(live: &mut Live, buffer: &mut SendBuffer<'_>) -> Result<Bytes, WireError> {
    let mut body = BytesMut::new();
    while let Some(piece) = live.next().await {
        let piece = piece?;
        buffer.grow(piece.len())?;
        body.extend_from_slice(&piece);
        if body.len() > MOST_COLLECTED {
            let cause = "an answer in the other rendering is too large to be read whole".into();
            return Err(ApiError::Provider { code: "provider_bad_response", cause, retry_after: None }.into());
        }
    }
    Ok(body.freeze())
}

/// A whole body, and what it is.
struct Whole {
    body: Bytes,
    is_stream: bool,
}

/// An answer in the rendering that was asked for, if the provider gave it in the other one: SDKs take JSON for an empty stream,
/// and a stream for no answer. `None` if it is no complete answer.
fn other_rendering(wanted: &Wanted, body: &Bytes) -> Option<Whole> {
    let is_stream = wanted.rendering.stream;
    let answer = record(wanted.wire, !is_stream, body).ok()?.body;
    let body = if is_stream { json_as_stream(wanted.wire, &answer, &wanted.rendering).ok()? } else { answer };
    Some(Whole { body, is_stream })
}

/// Reverse proxies that hold streams back are told not to.
fn unbuffered(headers: &mut HeaderMap) {
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
}

/// A header with a text that may not fit into one; then it is left out.
fn say(headers: &mut HeaderMap, name: HeaderName, text: impl Display) {
    if let Ok(value) = HeaderValue::try_from(text.to_string()) {
        headers.insert(name, value);
    }
}

/// Nano-dollars as dollars, without an exponent.
fn dollars(nanos: u64) -> String {
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    let trimmed = text.trim_end_matches('0');
    trimmed.strip_suffix('.').unwrap_or(trimmed).to_owned()
}

/// The times of an answer, as `Server-Timing` has them.
fn timing(trace: &Trace) -> String {
    let mut times = vec![("embedding", trace.embedding), ("search", trace.search), ("total", trace.total)];
    times.extend(trace.provider.map(|time| ("provider", time)));
    let of = |(name, time): (&str, Duration)| format!("{name};dur={:.3}", time.as_secs_f64() * 1e3);
    times.into_iter().map(of).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_hit_has_the_similarity_of_others_in_form() {
        assert_eq!(EXACT, four_digits(Similarity::ONE));
    }

    #[test]
    fn hidden_reasoning_is_no_part_of_what_is_shown() {
        assert_eq!(shown_tokens("eight words that stand for ten tokens, perhaps", 500), 16);
        assert_eq!(shown_tokens("eight words that stand for ten tokens, perhaps", 10), 10);
        assert_eq!(shown_tokens("", 500), 500);
    }
}
