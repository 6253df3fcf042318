//! The span of a provider's call, where its request is traced, under OpenTelemetry's names for calls of language models.
//! It holds no prompt and no answer. Where the request is not traced nothing here costs anything.

use std::time::SystemTime;

use opentelemetry::trace::{SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value, global};

use crate::engine::flight::Fresh;
use crate::provider::{Completion, Endpoint, Finish, ProviderError, TokenUsage};

/// A call, until [`Self::end`]. A call that is given up ends when this is dropped.
pub(crate) struct Upstream {
    span: Context,
    ended: Option<SystemTime>,
}

impl Upstream {
    /// A call of `provider`, for the request whose span is in force.
    pub(crate) fn begin(provider: &str, endpoint: Endpoint, model: &str) -> Self {
        let request = Context::current();
        if !request.has_active_span() {
            return Self { span: request, ended: None };
        }
        let (tracer, operation) = (global::tracer("deja"), operation(endpoint));
        let span = tracer.span_builder(format!("{operation} {model}")).with_kind(SpanKind::Client);
        let span = span.with_attributes([
            KeyValue::new("gen_ai.operation.name", operation),
            KeyValue::new("gen_ai.provider.name", provider_name(provider).to_owned()),
            KeyValue::new("gen_ai.request.model", model.to_owned()),
        ]);
        let span = span.start_with_context(&tracer, &request);
        Self { span: request.with_span(span), ended: None }
    }

    /// The context of the call: a request that is sent in it names the span.
    pub(crate) fn context(&self) -> Context {
        self.span.clone()
    }

    /// The status of an answer that is passed on.
    pub(crate) fn status(&self, status: u16) {
        self.set("http.response.status_code", i64::from(status));
        if status >= 400 {
            self.fail(status.to_string());
        }
    }

    /// What an answer says of itself, or why there is none.
    pub(crate) fn answered(&self, answer: Result<&Completion, &ProviderError>) {
        let completion = match answer {
            Ok(completion) => completion,
            Err(error) => return self.fail(error.class.code()),
        };
        self.read(completion.model.as_ref(), completion.usage.as_ref());
        let reasons = Array::String(vec![StringValue::from(finish_reason(completion.finish))]);
        self.set("gen_ai.response.finish_reasons", Value::Array(reasons));
    }

    /// What the call bought: an answer, or what came of one. deja counted the tokens if nobody told them.
    pub(in crate::engine) fn bought(&self, fresh: &Fresh) {
        self.read(fresh.bought.answer.served_model.as_ref(), Some(&fresh.usage));
    }

    fn read(&self, model: Option<&String>, usage: Option<&TokenUsage>) {
        if let Some(model) = model {
            self.set("gen_ai.response.model", model.clone());
        }
        let Some(usage) = usage else { return };
        let tokens = |count| i64::try_from(count).unwrap_or(i64::MAX);
        self.set("gen_ai.usage.input_tokens", tokens(usage.input_total));
        self.set("gen_ai.usage.output_tokens", tokens(usage.output_total));
        // Parts of these, of which the first two have prices of their own.
        let parts = [
            ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
            ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
            ("gen_ai.usage.reasoning.output_tokens", usage.reasoning.unwrap_or(0)),
        ];
        for (name, count) in parts.into_iter().filter(|(_, count)| *count > 0) {
            self.set(name, tokens(count));
        }
    }

    /// Says that the call failed, and with what kind of error.
    pub(crate) fn fail(&self, kind: impl Into<Value>) {
        self.set("error.type", kind);
        self.span.span().set_status(Status::error(""));
    }

    /// The call ended. What it bought may be said until this is dropped: it takes a while to count that.
    #[expect(clippy::disallowed_methods, reason = "the span began by the clock of the process")]
    pub(crate) fn end(&mut self) {
        self.ended = Some(SystemTime::now());
    }

    fn set(&self, name: &'static str, value: impl Into<Value>) {
        self.span.span().set_attribute(KeyValue::new(name, value));
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        if let Some(ended) = self.ended {
            self.span.span().end_with_timestamp(ended);
        }
    }
}

const fn operation(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Chat | Endpoint::Responses | Endpoint::Messages => "chat",
        Endpoint::Gemini { .. } => "generate_content",
        Endpoint::CountTokens => "count_tokens",
        Endpoint::Embeddings => "embeddings",
        Endpoint::Completions => "text_completion",
    }
}

/// The conventions' name of a built-in provider; a project's own provider has the name that the project gave it.
fn provider_name(provider: &str) -> &str {
    if provider == "google" { "gcp.gemini" } else { provider }
}

const fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
        Finish::ContentFilter => "content_filter",
        Finish::Refusal => "refusal",
        Finish::Unknown => "unknown",
    }
}
