//! Google's Gemini API, `generateContent`. Source: the SDK's types of 2026-08 and the API reference.

use async_trait::async_trait;
use deja_core::provider::{
    BRIEF, Completion, Endpoint, Forward, Forwarded, Length, Provider, ProviderError, ProviderKind,
};
use deja_wire::Wire;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName};
use serde_json::{Value, json};

use crate::exchange::{Request, Upstream};
use crate::failure::Failure;
use crate::family::thinks;
use crate::openai::endpoint;

/// Where the Gemini API is.
pub(crate) const DEFAULT_BASE_URL: &str = "https://generativelanguage.googleapis.com";

/// What a base URL may end in; the paths of this format begin with the first.
pub(crate) const VERSIONS: &[&str] = &["/v1beta", "/v1"];

/// The header with the key. In the URL, where the API takes it too, it would end up in logs.
pub(crate) const KEY_HEADER: HeaderName = HeaderName::from_static("x-goog-api-key");

/// The Gemini API, at Google or elsewhere. The base URL is without `/v1beta`.
#[derive(Debug)]
pub(crate) struct Gemini {
    pub(crate) upstream: Upstream,
    /// Whether OpenAI's chat completions are there too, as Google has them.
    pub(crate) chat: bool,
}

#[async_trait]
impl Provider for Gemini {
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
        let url = self.method(model, "generateContent")?;
        let headers = self.upstream.key_header(KEY_HEADER, "");
        let mut body = generate_request(context, prompt);
        if length == Length::Brief && !thinks(model) {
            body["generationConfig"] = json!({"maxOutputTokens": BRIEF});
        }
        let request = Request { url, headers, body };
        self.upstream.complete(&request, Wire::Gemini).await
    }

    fn serves(&self, endpoint: Endpoint) -> bool {
        matches!(endpoint, Endpoint::Gemini { .. }) || (self.chat && endpoint == Endpoint::Chat)
    }

    async fn forward(&self, request: Forward) -> Result<Forwarded, ProviderError> {
        let (url, secret) = match request.endpoint {
            Endpoint::Gemini { stream } => {
                let method = if stream { "streamGenerateContent" } else { "generateContent" };
                (self.method(&request.model, method)?, self.upstream.key_header(KEY_HEADER, ""))
            }
            Endpoint::Chat if self.chat => {
                let url = endpoint(self.upstream.base()?, "v1beta/openai/chat/completions");
                (url, self.upstream.key_header(AUTHORIZATION, "Bearer "))
            }
            _ => return Err(self.upstream.serves_not()),
        };
        self.upstream.forward(url, secret, request).await
    }
}

impl Gemini {
    /// The URL of `model`'s `method`.
    fn method(&self, model: &str, name: &str) -> Result<Url, ProviderError> {
        let impossible = || Failure::invalid_request(self.name(), "this cannot be the name of a model").error;
        method(self.upstream.base()?, model, name).ok_or_else(impossible)
    }
}

fn generate_request(context: Option<&str>, prompt: &str) -> Value {
    let mut request = json!({"contents": [{"role": "user", "parts": [{"text": prompt}]}]});
    if let Some(context) = context {
        request["systemInstruction"] = json!({"parts": [{"text": context}]});
    }
    request
}

/// The URL of `model`'s `method`. `None` for a name that would lead to another path.
pub(crate) fn method(base: &Url, model: &str, method: &str) -> Option<Url> {
    if !ProviderKind::Gemini.can_name(model) {
        return None;
    }
    let mut url = base.clone();
    let segments = ["v1beta", "models", &format!("{model}:{method}")];
    url.path_segments_mut().ok()?.pop_if_empty().extend(segments);
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_stays_one_segment_of_the_path() {
        let base = Url::parse("https://h/").unwrap();
        let url = |model| method(&base, model, "generateContent").map(|url| url.to_string());
        assert_eq!(
            url("gemini-2.5-flash").unwrap(),
            "https://h/v1beta/models/gemini-2.5-flash:generateContent"
        );
        assert_eq!(url("gemini-ü").unwrap(), "https://h/v1beta/models/gemini-%C3%BC:generateContent");
        for odd in ["", ".", "..", "a/b", "../x", "a\\b", "a?b", "a#b", "a%2fb", "a:b", "a b", "a\n", "a..b"]
        {
            assert_eq!(url(odd), None, "{odd:?}");
        }
        for (bytes, fits) in [(256, true), (257, false)] {
            assert_eq!(method(&base, &"m".repeat(bytes), "generateContent").is_some(), fits, "{bytes}");
        }
    }
}
