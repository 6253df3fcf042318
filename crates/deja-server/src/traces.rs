//! Traces over OTLP: a span for each request and, below it, one for each call of a provider (`deja-core`, `engine/upstream.rs`).
//! Off unless a collector is named; then nothing of this costs anything. No span holds a prompt, an answer or a key: of
//! an address the route is told, and not the path.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use axum::body::{Body, HttpBody as _};
use axum::extract::MatchedPath;
use axum::extract::Request;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use deja_core::analytics::{Outcome, UsageEvent};
use deja_core::engine::Ended;
use deja_core::store::Admission;
use deja_providers::SpanSender;
use http_body_util::BodyExt as _;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue, Value, global};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use url::Url;

use crate::api::error::ERROR_CODE;
use crate::request_id;

/// How long the last spans may take to be sent when the process ends.
const LAST_SPANS: Duration = Duration::from_secs(5);
/// What watches over the process asks these, all the time.
const PROBES: [&str; 2] = ["/livez", "/readyz"];

/// Where spans go.
#[derive(Clone)]
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: Arc<SdkTracer>,
}

impl Traces {
    /// Sends spans to the collector at `endpoint` from now on, some seconds' worth at a time. What waits is bounded; what
    /// finds no room is lost.
    pub fn start(endpoint: &Url, sender: SpanSender) -> Result<Self, ExporterBuildError> {
        let exporter = SpanExporter::builder().with_http().with_http_client(sender);
        let exporter =
            exporter.with_protocol(Protocol::HttpBinary).with_endpoint(endpoint.as_str()).build()?;
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource());
        let provider = provider.build();
        // The engine's calls of providers are spans of the same provider.
        global::set_tracer_provider(provider.clone());
        let tracer = Arc::new(provider.tracer("deja"));
        Ok(Self { provider, tracer })
    }

    /// Begins the span of a request, in the trace that its caller names; `None` for a probe.
    pub fn begin(&self, request: &Request) -> Option<Served> {
        let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        if route.is_some_and(|route| PROBES.contains(&route)) {
            return None;
        }
        let method = known(request.method());
        let name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
        let mut attributes = vec![
            KeyValue::new("http.request.method", method),
            KeyValue::new("deja.request.id", request_id::of(request.extensions()).to_owned()),
        ];
        attributes.extend(route.map(|route| KeyValue::new("http.route", route.to_owned())));
        let callers = TraceContextPropagator::new()
            .extract_with_context(&Context::new(), &Traceparent(request.headers()));
        let span = self.tracer.span_builder(name).with_kind(SpanKind::Server).with_attributes(attributes);
        let span = callers.with_span(span.start_with_context(&*self.tracer, &callers));
        let ends = Ends { span: span.clone(), at: OnceLock::new() };
        Some(Served(span.with_value(ends)))
    }

    /// Sends what waits, and ends.
    pub async fn stop(self) {
        let stopped = move || self.provider.shutdown_with_timeout(LAST_SPANS);
        match tokio::task::spawn_blocking(stopped).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the last spans could not be sent"),
            Err(error) => tracing::warn!(%error, "the last spans could not be sent"),
        }
    }
}

/// Who sends the spans: `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say so, else it is deja.
fn resource() -> Resource {
    const NAME: &str = "service.name";
    let environment = Resource::builder().build();
    let named = environment
        .iter()
        .any(|(key, value)| key.as_str() == NAME && !value.as_str().starts_with("unknown_service"));
    let mut resource = Resource::builder();
    if !named {
        resource = resource.with_service_name("deja");
    }
    resource.with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))).build()
}

/// A method may be any word of the client's.
fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        "PATCH" => "PATCH",
        _ => "_OTHER",
    }
}

/// The one header that says which trace a request belongs to. `tracestate` is free text of others.
struct Traceparent<'a>(&'a HeaderMap);

impl Extractor for Traceparent<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).filter(|_| key == "traceparent")?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent"]
    }
}

/// The span of a request that is being served. Its context holds its [`Ends`].
pub struct Served(Context);

/// Ends a span at the last byte of the answer. Who counts a request may do so after that: the span is sent when the last of them
/// has told the span what became of the request.
struct Ends {
    span: Context,
    at: OnceLock<SystemTime>,
}

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(at) = self.at.get() {
            self.span.span().end_with_timestamp(*at);
        }
    }
}

impl Served {
    /// What the request is answered in.
    pub fn context(&self) -> Context {
        self.0.clone()
    }

    /// Takes in how it was answered.
    pub fn answered(self, response: Response) -> Response {
        let span = self.0.span();
        let status = response.status();
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
        let told = |name: &str| response.headers().get(name)?.to_str().ok().map(str::to_owned);
        if let Some(cache) = told("x-deja-cache") {
            span.set_attribute(KeyValue::new("deja.cache", cache));
        }
        if let Some(cause) = told(ERROR_CODE.as_str()) {
            span.set_attribute(KeyValue::new("error.type", cause));
        }
        if status.is_server_error() {
            span.set_status(Status::error(""));
        }
        if response.body().size_hint().exact().is_some() {
            return response;
        }
        // A stream holds the span until it was read, or nobody reads it any more.
        response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let _held = &self;
                frame
            }))
        })
    }
}

impl Drop for Served {
    #[expect(clippy::disallowed_methods, reason = "the span began by the clock of the process")]
    fn drop(&mut self) {
        if let Some(ends) = self.0.get::<Ends>() {
            // Nobody else sets it.
            let _first = ends.at.set(SystemTime::now());
        }
    }
}

/// Says in the span of a request what the engine made of it. Of what was refused the model is the caller's free text.
pub fn tell(caller: &Admission, counted: &UsageEvent<'_>, ended: Ended<'_>) {
    Context::map_current(|context| {
        let span = context.span();
        if !span.is_recording() {
            return;
        }
        let tell = |name: &'static str, value: Value| span.set_attribute(KeyValue::new(name, value));
        tell("deja.project", caller.project.slug.as_str().to_owned().into());
        tell("deja.outcome", counted.outcome.as_str().into());
        if !matches!(counted.outcome, Outcome::Refused | Outcome::RateLimited) {
            tell("gen_ai.request.model", counted.model.to_owned().into());
        }
        if let Ended::Answered(reply) = ended {
            if let Some(similarity) = reply.similarity() {
                tell("deja.similarity", f64::from(similarity.get()).into());
            }
            if let Some(refusal) = reply.refused() {
                tell("deja.guard", refusal.reason.as_str().into());
            }
        }
    });
}
