//! What every answer passes: general headers, one line in the log, and at the end of the process a farewell.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONNECTION};
use axum::middleware::Next;
use axum::response::Response;
use opentelemetry::context::FutureExt as _;
use tower_http::request_id::RequestId;
use tracing::Instrument;

use crate::state::App;

/// Gives the answer its general headers, and the log a line with the request's id. The line is at `info` for what
/// went wrong and at `debug` for the rest: at tens of thousands of hits a second the log would cost more than the
/// cache.
pub async fn edge(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok());
    let span = tracing::error_span!("request", request.id = id.unwrap_or_default());
    let method = request.method().clone();
    let uri = request.uri().clone();
    let traced = app.traces().and_then(|traces| traces.begin(&request));
    let answering = next.run(request).instrument(span.clone());
    let mut response = match traced {
        None => answering.await,
        Some(served) => {
            let response = Box::pin(answering.with_context(served.context())).await;
            served.answered(response)
        }
    };
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-store"));
    if app.is_leaving() {
        // The client connects anew for its next request, by then to another replica.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let status = response.status().as_u16();
    let duration_ms = started.elapsed().as_secs_f64() * 1e3;
    if status >= 500 {
        tracing::info!(parent: &span, %method, path = uri.path(), status, duration_ms, "request failed");
    } else {
        tracing::debug!(parent: &span, %method, path = uri.path(), status, duration_ms, "request answered");
    }
    response
}
