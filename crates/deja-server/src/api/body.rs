//! Reading a request's body: JSON of bounded size in bounded time, and its members one by one.

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use bytes::BytesMut;
use deja_core::provider::content_type;
use deja_core::shares::Held;
use http_body_util::BodyExt;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use crate::api::error::ApiError;
use crate::state::RequestLimits;

/// Why there is no body.
pub(crate) enum Unread {
    TooLong,
    NoRoom,
    Late,
    /// It ended early.
    Broken,
}

/// All of a body of up to `most` bytes. `deadline` says until when the next piece has to come, by the bytes that came. `room` says
/// whether there is room for so many more bytes. Pieces are joined as they come: many small ones take many times their bytes.
pub(crate) async fn collect(
    mut body: Body,
    most: usize,
    deadline: impl Fn(usize) -> Instant,
    mut room: impl FnMut(usize) -> bool,
) -> Result<BytesMut, Unread> {
    let mut bytes = BytesMut::new();
    loop {
        let next = timeout_at(deadline(bytes.len()), body.frame());
        let Some(frame) = next.await.map_err(|_| Unread::Late)? else { return Ok(bytes) };
        let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(Unread::TooLong);
        }
        if !room(data.len()) {
            return Err(Unread::NoRoom);
        }
        bytes.extend_from_slice(&data);
    }
}

/// Reads a JSON body of bounded size in bounded time. Its bytes are taken from `room`.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    limits: &RequestLimits,
    room: &mut Held,
) -> Result<Bytes, ApiError> {
    let bad = |detail: String| Err(ApiError::BadRequest(detail));
    if is_packed(headers) {
        return bad("the body is compressed: send no Content-Encoding".into());
    }
    let kind = content_type(headers).split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return bad("Content-Type must be application/json".into());
    }
    let max = limits.body_bytes;
    let too_large = || format!("the body is larger than the limit of {max} bytes");
    if announced(headers).is_some_and(|length| length > max as u64) {
        return bad(too_large());
    }
    let deadline = Instant::now() + limits.body_timeout;
    match collect(body, max, |_| deadline, |more| room.try_take(more)).await {
        Ok(body) => Ok(body.freeze()),
        Err(Unread::TooLong) => bad(too_large()),
        Err(Unread::NoRoom) => Err(ApiError::Overloaded),
        Err(Unread::Broken) => bad("the body ended early".into()),
        Err(Unread::Late) => {
            bad(format!("the body did not arrive within {} seconds", limits.body_timeout.as_secs_f64()))
        }
    }
}

/// A body of up to so many bytes is read in less than a millisecond.
pub(crate) const SHORT: usize = 128 * 1024;

/// Whether the body is compressed. The names of encodings have no case (RFC 9110, 8.4.1).
pub(super) fn is_packed(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// How long the body says it is.
pub(crate) fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok())
}

/// The text of a JSON object; `members` says which ones a body must have.
pub(super) fn object<'a>(body: &'a [u8], members: &str) -> Result<&'a str, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the body is not valid UTF-8")?;
    if text.trim_ascii().is_empty() {
        return Err(format!("the body is empty: send a JSON object with {members}"));
    }
    if !text.trim_ascii_start().starts_with('{') {
        // serde would take an array for the fields in order.
        let _: serde::de::IgnoredAny = serde_json::from_str(text).map_err(|error| invalid_json(&error))?;
        return Err("the body must be a JSON object".into());
    }
    Ok(text)
}

/// What is wrong with a JSON text, without quoting it.
pub(super) fn invalid_json(error: &serde_json::Error) -> String {
    // serde names a member that comes twice; everything else is told by place.
    let text = error.to_string();
    if text.starts_with("duplicate field") {
        return format!("invalid JSON: {text}");
    }
    format!("invalid JSON at line {} column {}", error.line(), error.column())
}

/// A text that must be there and say something.
pub(super) fn required(name: &str, raw: Option<&RawValue>) -> Result<String, String> {
    let text = string(name, raw.ok_or_else(|| format!("{name} is required"))?)?;
    if text.trim().is_empty() { Err(format!("{name} must not be empty")) } else { Ok(text) }
}

/// A text. A JSON string that is no text holds half of a surrogate pair: it was cut within an emoji.
pub(super) fn string(name: &str, raw: &RawValue) -> Result<String, String> {
    serde_json::from_str(raw.get()).map_err(|_| {
        let wrong =
            if raw.get().starts_with('"') { "holds half of a surrogate pair" } else { "must be a string" };
        format!("{name} {wrong}")
    })
}

/// Whether a text is within its limit.
pub(super) fn at_most(name: &str, text: &str, max: usize) -> Result<(), String> {
    if text.len() > max { Err(format!("{name} is longer than the limit of {max} bytes")) } else { Ok(()) }
}

/// `true` or `false`; `None` if the member is not there.
pub(super) fn boolean(name: &str, raw: Option<&RawValue>) -> Result<Option<bool>, String> {
    match raw.map(RawValue::get) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(format!("{name} must be true or false")),
    }
}
