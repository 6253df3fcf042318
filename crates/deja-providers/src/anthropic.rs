//! Anthropic's Messages API. Source: the SDK's types of 2026-08 and the API reference.

use std::sync::Arc;

use async_trait::async_trait;
use deja_core::pricing::PriceBook;
use deja_core::provider::{BRIEF, Completion, Endpoint, Forward, Forwarded, Length, Provider, ProviderError};
use deja_wire::Wire;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::exchange::{Request, Upstream};
use crate::family::thinks;
use crate::openai::endpoint;

/// Where Anthropic is.
pub(crate) const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

/// What a base URL may end in, and the paths of this format begin with.
pub(crate) const VERSIONS: &[&str] = &["/v1"];

/// The version of the API whose shapes deja reads. Anthropic requires that a request names one.
const VERSION: &str = "2023-06-01";

/// The header with [`VERSION`].
const VERSION_HEADER: HeaderName = HeaderName::from_static("anthropic-version");

/// Anthropic, or a server that speaks its format. The base URL is without `/v1`.
#[derive(Debug)]
pub(crate) struct Anthropic {
    pub(crate) upstream: Upstream,
    /// Says how much each model can write.
    pub(crate) prices: Arc<PriceBook>,
}

#[async_trait]
impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.upstream.name
    }

    fn base_url(&self) -> &str {
        self.upstream.place()
    }

    async fn ask(
        &self,
        model: &str,
        context: Option<&str>,
        prompt: &str,
        length: Length,
    ) -> Result<Completion, ProviderError> {
        let max_tokens = match length {
            // What a model thinks counts as output.
            Length::Brief if !thinks(model) => BRIEF,
            Length::Brief | Length::Full => self.max_tokens(model),
        };
        let mut headers = self.upstream.key_header(HeaderName::from_static("x-api-key"), "");
        headers.insert(VERSION_HEADER, HeaderValue::from_static(VERSION));
        let body = message_request(model, max_tokens, context, prompt);
        let request = Request { url: endpoint(self.upstream.base()?, "v1/messages"), headers, body };
        self.upstream.complete(&request, Wire::Messages).await
    }

    fn serves(&self, endpoint: Endpoint) -> bool {
        path(endpoint).is_some()
    }

    async fn forward(&self, request: Forward) -> Result<Forwarded, ProviderError> {
        let path = path(request.endpoint).ok_or_else(|| self.upstream.serves_not())?;
        let mut headers = self.upstream.key_header(HeaderName::from_static("x-api-key"), "");
        // The application's version decides the shape of the answer.
        if !request.headers.contains(&VERSION_HEADER) {
            headers.insert(VERSION_HEADER, HeaderValue::from_static(VERSION));
        }
        self.upstream.forward(endpoint(self.upstream.base()?, path), headers, request).await
    }
}

fn message_request(model: &str, max_tokens: u32, context: Option<&str>, prompt: &str) -> Value {
    let messages = json!([{"role": "user", "content": prompt}]);
    let mut request = json!({"model": model, "max_tokens": max_tokens, "messages": messages});
    if let Some(context) = context {
        request["system"] = context.into();
    }
    request
}

/// Where an endpoint is.
fn path(endpoint: Endpoint) -> Option<&'static str> {
    match endpoint {
        Endpoint::Messages => Some("v1/messages"),
        Endpoint::CountTokens => Some("v1/messages/count_tokens"),
        _ => None,
    }
}

impl Anthropic {
    /// The output limit, which Anthropic wants to be told. An answer that runs into it is not stored, so it is the most
    /// that the model can write, by the price table; more is refused. Models that the table does not know: every one
    /// since Claude 3.5 writes 8192, the older ones 4096.
    fn max_tokens(&self, model: &str) -> u32 {
        const OLD: [&str; 5] =
            ["claude-3-haiku", "claude-3-sonnet", "claude-3-opus", "claude-2", "claude-instant"];
        let known = self.prices.current().table.output_limit(&self.upstream.name, model);
        known.unwrap_or_else(|| if OLD.iter().any(|old| model.starts_with(old)) { 4096 } else { 8192 })
    }
}
