//! The name of a request in the log and in its answer: the caller's own, if it is fit for a log, else a new one.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Request};
use tower_http::request_id::{MakeRequestId, RequestId};

/// The header, of requests and of answers.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The name of a request.
pub fn of(extensions: &Extensions) -> &str {
    let id = extensions.get::<RequestId>().and_then(|id| id.header_value().to_str().ok());
    id.unwrap_or_default()
}

/// The name of a request, where only its headers are at hand.
pub fn in_headers(headers: &HeaderMap) -> Option<&str> {
    headers.get(REQUEST_ID).and_then(|id| id.to_str().ok())
}

/// Removes an id that is not fit for a log, so that the request gets a new one.
pub fn only_fit<B>(mut request: Request<B>) -> Request<B> {
    let fit = |value: &HeaderValue| {
        (1..=64).contains(&value.len())
            && value.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
    };
    if request.headers().get(REQUEST_ID).is_some_and(|value| !fit(value)) {
        request.headers_mut().remove(REQUEST_ID);
    }
    request
}

/// Makes ids that are unique in this process, and across processes by their first half: no randomness needed on the
/// hot path.
#[derive(Clone, Copy, Debug)]
pub struct Numbered;

impl MakeRequestId for Numbered {
    fn make_request_id<B>(&mut self, _request: &Request<B>) -> Option<RequestId> {
        HeaderValue::from_str(&new()).ok().map(RequestId::new)
    }
}

/// A new id.
pub fn new() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: OnceLock<u32> = OnceLock::new();
    let process = PROCESS.get_or_init(|| RandomState::new().hash_one(std::process::id()) as u32);
    format!("{process:08x}-{:x}", NEXT.fetch_add(1, Ordering::Relaxed))
}
