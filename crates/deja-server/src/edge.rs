//! What every answer passes: general headers, one line in the log, and at the end of the process a farewell.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONNECTION, HOST};
use axum::http::{HeaderName, HeaderValue, Version};
use axum::middleware::Next;
use axum::response::Response;
use deja_wire::Wire;
use futures::FutureExt as _;
use opentelemetry::context::FutureExt as _;
use tower_http::request_id::RequestId;
use tracing::Instrument;

use crate::api::error::{ApiError, ERROR_CODE};
use crate::api::wire::{refuse, shape_of};
use crate::request_id;
use crate::state::App;

/// Where Anthropic's SDKs read the name of a request.
const ANTHROPICS_ID: HeaderName = HeaderName::from_static("request-id");
/// Causes of refusals that have no line each in the log.
const TOLD_APART: [&str; 3] = ["overloaded", "provider_down", "unavailable"];

/// Gives the answer its general headers, and the log a line with the request's id. The line is at `info` for what
/// went wrong and at `debug` for the rest: at tens of thousands of hits a second the log would cost more than the
/// cache. A refusal because there is too much to do, or because storage or a provider is down, is at `debug` too: they come by the
/// thousand. The log says every few seconds how many requests were refused, and when a provider's failure began and ended.
pub async fn edge(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let span = tracing::error_span!("request", request.id = request_id::of(request.extensions()));
    let method = request.method().clone();
    let uri = request.uri().clone();
    let wire = shape_of(&request);
    let named = request.extensions().get::<RequestId>().filter(|_| wire == Some(Wire::Messages)).cloned();
    let traced = app.traces().and_then(|traces| traces.begin(&request));
    let answered = async move {
        if names_host(&request) {
            return next.run(request).await;
        }
        refuse(wire, ApiError::BadRequest("a request has one Host header".into()))
    };
    let answering = caught(wire, answered).instrument(span.clone());
    let mut response = match traced {
        None => answering.await,
        Some(served) => {
            let response = Box::pin(answering.with_context(served.context())).await;
            served.answered(response)
        }
    };
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-store"));
    if let Some(id) = named {
        headers.insert(ANTHROPICS_ID, id.into_header_value());
    }
    if app.is_leaving() {
        // The client connects anew for its next request, by then to another replica.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let cause = response.headers().get(ERROR_CODE);
    let told_apart = cause.is_some_and(|cause| TOLD_APART.iter().any(|told| cause == told));
    let status = response.status().as_u16();
    let duration_ms = started.elapsed().as_secs_f64() * 1e3;
    if status >= 500 && !told_apart {
        tracing::info!(parent: &span, %method, path = uri.path(), status, duration_ms, "request failed");
    } else {
        tracing::debug!(parent: &span, %method, path = uri.path(), status, duration_ms, "request answered");
    }
    response
}

/// Whether a request says which host it is for, and no two (RFC 9112, 3.2). In HTTP/1.0, as some health checks of load balancers
/// are, it need not.
fn names_host(request: &Request) -> bool {
    match request.headers().get_all(HOST).iter().count() {
        0 => request.version() < Version::HTTP_11,
        hosts => hosts == 1,
    }
}

/// A handler that panics is a bug, told like one in the shape of its path, and the server goes on.
async fn caught(wire: Option<Wire>, answering: impl Future<Output = Response>) -> Response {
    let answered = AssertUnwindSafe(answering).catch_unwind().await;
    answered.unwrap_or_else(|_| refuse(wire, ApiError::Internal("a handler panicked".into())))
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use serde_json::Value;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_told_in_the_shape_of_its_path() {
        for (path, member) in [
            ("/v1/cache/query", "detail"),
            ("/console", "detail"),
            ("/v1/chat/completions", "error"),
            ("/p/x/v1/messages", "error"),
            ("/v1beta/models/gemini-2.5-flash:generateContent", "error"),
        ] {
            let request = Request::builder().uri(path).body(axum::body::Body::empty()).unwrap();
            let response = caught(shape_of(&request), async { panic!("on purpose") }).await;
            assert_eq!(response.status(), 500, "{path}");
            assert_eq!(response.headers()[ERROR_CODE], "internal", "{path}");
            let body = to_bytes(response.into_body(), 10_000).await.unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert!(body.get(member).is_some(), "{path}: {body}");
        }
    }
}
