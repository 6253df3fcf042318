//! The name of a request in the log and in its answer: the caller's own, if it is fit for a log, else a new one.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
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

/// Makes ids that tell neither how many requests there were nor what the next one is called: who knows a request's id may
/// say that its answer was wrong.
#[derive(Clone, Copy, Debug)]
pub struct Hashed;

impl MakeRequestId for Hashed {
    fn make_request_id<B>(&mut self, _request: &Request<B>) -> Option<RequestId> {
        HeaderValue::from_str(&new()).ok().map(RequestId::new)
    }
}

/// A new id: a count, hashed with a key of this process (SipHash), which costs less than randomness. The first half tells
/// processes apart.
pub fn new() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: LazyLock<(u32, RandomState)> = LazyLock::new(|| {
        let key = RandomState::new();
        (RandomState::new().hash_one(std::process::id()) as u32, key)
    });
    let (process, key) = &*PROCESS;
    format!("{process:08x}-{:016x}", key.hash_one(NEXT.fetch_add(1, Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_differ_and_do_not_count() {
        let ids: Vec<String> = (0..10_000).map(|_| new()).collect();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
        let numbers = ids.iter().map(|id| u64::from_str_radix(id.split_once('-').unwrap().1, 16).unwrap());
        let numbers: Vec<u64> = numbers.collect();
        let near = numbers.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 1 << 32).count();
        assert_eq!(near, 0, "of 10,000 random pairs one in 200,000 runs");
    }
}
