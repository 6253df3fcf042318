//! Traces: the header that ties a call to the trace of its request, and the way of spans to their collector.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::runtime::Handle;
use tokio::time::timeout;
use url::Url;

use crate::http::{Client, ClientError, HttpSettings, Trust, chain};

/// The header in which W3C's Trace Context names a trace, and the span that a call was made in.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// Longest time for a collector to take spans.
const LIMIT: Duration = Duration::from_secs(10);
/// What a collector says is a few bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// A collector that takes nothing is told of once in this time.
const TOLD_EVERY: Duration = Duration::from_mins(1);

/// Names the span in force, if there is one, in the place of what the application sent.
pub(crate) fn name_span(headers: &mut HeaderMap) {
    let value = Context::map_current(|context| {
        let span = context.span();
        let span = span.span_context();
        span.is_valid().then(|| {
            let flags = u8::from(span.is_sampled());
            HeaderValue::try_from(format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id())).ok()
        })
    });
    if let Some(value) = value.flatten() {
        headers.insert(TRACEPARENT, value);
    }
}

/// Sends spans to a collector, for an exporter that works on a thread of its own.
#[derive(Debug)]
pub struct SpanSender {
    client: Client,
    runtime: Handle,
    /// When it was last told that spans are lost.
    told: Mutex<Option<Instant>>,
}

impl SpanSender {
    /// Sends on the runtime that this is called on.
    pub fn new(settings: &HttpSettings) -> Result<Self, ClientError> {
        let settings =
            HttpSettings { max_response_bytes: MAX_ANSWER_BYTES, idle_timeout: LIMIT, ..settings.clone() };
        let client = Client::new(Trust::Operator, settings)?;
        Ok(Self { client, runtime: Handle::current(), told: Mutex::default() })
    }

    fn tell(&self, why: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
            *told = Some(Instant::now());
            tracing::warn!(why, "the collector takes no spans: these spans are lost");
        }
    }
}

#[async_trait]
impl HttpClient for SpanSender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        // The exporter's thread is on no runtime, and has no timer either.
        let sending = async move { timeout(LIMIT, send(client, request)).await };
        let answer = match self.runtime.spawn(sending).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(format!("no answer within {} s", LIMIT.as_secs()).into()),
            Err(error) => Err(error.into()),
        };
        match &answer {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => self.tell(&format!("it answered with status {}", answer.status().as_u16())),
            Err(error) => self.tell(&chain(&**error)),
        }
        answer
    }
}

async fn send(client: Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let (head, body) = request.into_parts();
    let call = client.request(head.method, Url::parse(&head.uri.to_string())?)?;
    let sent = call.headers(head.headers).body(body).send().await;
    let answer = sent.map_err(reqwest::Error::without_url)?;
    let status = answer.status();
    let body = client.body(answer).await?;
    let mut response = Response::new(body.bytes.clone());
    *response.status_mut() = status;
    Ok(response)
}
