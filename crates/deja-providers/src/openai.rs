//! OpenAI's wire formats: chat completions, which half the world speaks, and Responses for the models that are
//! only there. Sources: OpenAI's OpenAPI description 2.3.0 and the documentation of the compatible servers.

use async_trait::async_trait;
use bytes::Bytes;
use deja_core::provider::{BRIEF, Completion, Endpoint, Forward, Forwarded, Length, Provider, ProviderError};
use deja_wire::Wire;
use reqwest::Url;
use reqwest::header::AUTHORIZATION;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exchange::{Request, Upstream};
use crate::family::thinks;

/// Where OpenAI is.
pub(crate) const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// The host of [`DEFAULT_BASE_URL`]. The hosts of its regions end in it.
const HOST: &str = "api.openai.com";

/// Which of the two endpoints a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoints {
    /// OpenAI itself: chat completions, and Responses for some models.
    Both,
    /// A compatible server: chat completions for every model.
    ChatOnly,
}

/// OpenAI, or a server that speaks its format.
#[derive(Debug)]
pub(crate) struct OpenAi {
    /// The base URL goes up to and with `/v1`.
    pub(crate) upstream: Upstream,
    pub(crate) endpoints: Endpoints,
}

#[async_trait]
impl Provider for OpenAi {
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
        let (path, wire, body) = if self.endpoints == Endpoints::Both && is_responses_only(model) {
            ("responses", Wire::Responses, responses_request(model, context, prompt))
        } else {
            let mut body = chat_request(model, context, prompt);
            if length == Length::Brief && !thinks(model) {
                body[self.limit()] = BRIEF.into();
            }
            ("chat/completions", Wire::Chat, body)
        };
        let headers = self.upstream.key_header(AUTHORIZATION, "Bearer ");
        let request = Request { url: endpoint(self.upstream.base()?, path), headers, body };
        self.upstream.complete(&request, wire).await
    }

    fn serves(&self, endpoint: Endpoint) -> bool {
        path(endpoint).is_some()
    }

    async fn forward(&self, request: Forward) -> Result<Forwarded, ProviderError> {
        let path = path(request.endpoint).ok_or_else(|| self.upstream.serves_not())?;
        let base = self.upstream.base()?;
        let asking = with_usage(base, &request);
        let asked_usage = asking.is_some();
        let request = Forward { body: asking.unwrap_or(request.body), ..request };
        let headers = self.upstream.key_header(AUTHORIZATION, "Bearer ");
        let answer = self.upstream.forward(endpoint(base, path), headers, request).await?;
        Ok(Forwarded { asked_usage, ..answer })
    }
}

impl OpenAi {
    /// The name of the member that bounds an answer.
    const fn limit(&self) -> &'static str {
        match self.endpoints {
            Endpoints::Both => "max_completion_tokens",
            // The older name, which all compatible servers know.
            Endpoints::ChatOnly => "max_tokens",
        }
    }
}

/// Without sampling parameters: several models refuse them, and the provider's defaults are what the asking application
/// would have got.
fn chat_request(model: &str, context: Option<&str>, prompt: &str) -> Value {
    let user = json!({"role": "user", "content": prompt});
    let messages = match context {
        Some(context) => json!([{"role": "system", "content": context}, user]),
        None => json!([user]),
    };
    json!({"model": model, "messages": messages, "stream": false})
}

/// `store: false`, because OpenAI keeps the answers of this endpoint otherwise.
fn responses_request(model: &str, context: Option<&str>, prompt: &str) -> Value {
    let mut request = json!({"model": model, "input": prompt, "store": false, "stream": false});
    if let Some(context) = context {
        request["instructions"] = context.into();
    }
    request
}

/// The body that asks for the tokens at the end of the stream, if the request's does not and goes to OpenAI itself: tokens of
/// hidden reasoning cannot be counted here. Of other servers some refuse what they do not know.
fn with_usage(base: &Url, request: &Forward) -> Option<Bytes> {
    #[derive(Deserialize)]
    struct Streamed {
        stream: bool,
    }
    let is_openai = base.host_str().is_some_and(|host| host == HOST || host.ends_with(&format!(".{HOST}")));
    let streamed = || serde_json::from_slice(&request.body).is_ok_and(|Streamed { stream }| stream);
    if !is_openai || request.endpoint != Endpoint::Chat || !streamed() {
        return None;
    }
    deja_wire::ask_for_usage(&request.body).ok().flatten()
}

/// Where an endpoint is. Many compatible servers have Responses too. A server without them says so itself.
fn path(endpoint: Endpoint) -> Option<&'static str> {
    match endpoint {
        Endpoint::Chat => Some("chat/completions"),
        Endpoint::Responses => Some("responses"),
        Endpoint::Embeddings => Some("embeddings"),
        Endpoint::Completions => Some("completions"),
        Endpoint::Messages | Endpoint::CountTokens | Endpoint::Gemini { .. } => None,
    }
}

/// `base` with `path` after it, whether or not `base` ends in a slash.
pub(crate) fn endpoint(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

/// Models that OpenAI answers on `/responses` only: `*-pro`, `*-codex*`, `codex-*`, deep research and computer
/// use, dated ids and fine-tunes included.
pub(crate) fn is_responses_only(model: &str) -> bool {
    let base = model.strip_prefix("ft:").unwrap_or(model).split(':').next().unwrap_or(model);
    base.split('-').any(|part| matches!(part, "pro" | "codex"))
        || base.contains("deep-research")
        || base.starts_with("computer-use-")
}

#[cfg(test)]
mod tests {
    use deja_core::provider::AllowedHeaders;

    use super::*;

    #[test]
    fn responses_models_are_known() {
        for model in [
            "codex-mini-latest",
            "gpt-5.2-pro-2025-12-11",
            "gpt-5-pro",
            "gpt-5-codex",
            "gpt-5.1-codex-max",
            "o1-pro",
            "o3-pro-2025-06-10",
            "o4-mini-deep-research-2025-06-26",
            "computer-use-preview",
        ] {
            assert!(is_responses_only(model), "{model}");
        }
        for model in
            ["gpt-4o", "gpt-5.6-sol", "o3", "chatgpt-4o-latest", "ft:gpt-4o-mini:pro:x", "gpt-5-chat-latest"]
        {
            assert!(!is_responses_only(model), "{model}");
        }
    }

    #[test]
    fn openai_alone_is_asked_for_the_tokens_of_a_stream() {
        let sent = |base: &str, endpoint, body: &'static str| {
            let (model, headers) = (String::new(), AllowedHeaders::default());
            let request = Forward { endpoint, model, body: body.into(), headers, query: None };
            with_usage(&Url::parse(base).unwrap(), &request)
        };
        let body = r#"{"stream" : true, "x":1.0}"#;
        for base in ["https://api.openai.com/v1", "https://eu.api.openai.com/v1"] {
            let asked = sent(base, Endpoint::Chat, body).unwrap();
            let value: serde_json::Value = serde_json::from_slice(&asked).unwrap();
            assert_eq!(value["stream_options"]["include_usage"], true);
            assert!(asked.ends_with(br#""stream" : true, "x":1.0}"#), "the rest is as it came");
            let set = r#"{"stream":true,"stream_options":{"include_usage":true}}"#;
            for other in [set, "{}", r#"{"stream":false}"#, r#"{"stream":"true"}"#, "[", r#"{"stream":null}"#]
            {
                assert_eq!(sent(base, Endpoint::Chat, other), None, "{other}");
            }
            assert_eq!(sent(base, Endpoint::Responses, body), None);
        }
        for base in
            ["https://api.openai.com.evil.example/v1", "http://127.0.0.1:8000/v1", "https://gw.example/v1"]
        {
            assert_eq!(sent(base, Endpoint::Chat, body), None, "{base}");
        }
    }

    #[test]
    fn paths_are_joined_with_one_slash() {
        for base in ["https://h/v1", "https://h/v1/"] {
            assert_eq!(endpoint(&Url::parse(base).unwrap(), "responses").as_str(), "https://h/v1/responses");
        }
    }
}
