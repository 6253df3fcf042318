//! What every request passes: a request id, one line in the log, and at the end of the process a farewell.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONNECTION};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use crate::app::App;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives the request an id, the answer its general headers, and the log a line. The line is at `info` for
/// what went wrong and at `debug` for the rest: at tens of thousands of hits a second the log would cost more
/// than the cache.
pub async fn edge(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let started = Instant::now();
    let span = tracing::error_span!("request", request.id = id.to_str().unwrap_or_default());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let mut response = next.run(request).instrument(span.clone()).await;
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-store"));
    if app.is_leaving() {
        // The client connects anew for its next request, by then to another replica.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let status = response.status().as_u16();
    let duration_ms = started.elapsed().as_secs_f64() * 1e3;
    if status >= 500 {
        tracing::info!(parent: &span, %method, path, status, duration_ms, "request failed");
    } else {
        tracing::debug!(parent: &span, %method, path, status, duration_ms, "request answered");
    }
    response
}

/// The caller's own id, if it is fit for a log, else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let usable = |value: &&HeaderValue| {
        (1..=64).contains(&value.len())
            && value.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
    };
    headers.get(&REQUEST_ID).filter(usable).cloned().unwrap_or_else(new_request_id)
}

/// Unique in this process, and across processes by its first half: no randomness needed on the hot path.
pub(crate) fn new_request_id() -> HeaderValue {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let process = PROCESS.get_or_init(|| {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(std::process::id()) as u32
    });
    let id = format!("{process:08x}-{:x}", NEXT.fetch_add(1, Ordering::Relaxed));
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("none"))
}
