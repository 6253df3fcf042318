//! The port to LLM providers: calls, how they fail, and which of them a project's request goes to.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
pub use deja_wire::{Completion, Endpoint, Finish, TokenUsage};
use futures::stream::BoxStream;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::clock::Timestamp;
use crate::id::{ProjectId, ProviderId};
use crate::store::{Admission, StoreError};
use crate::words::words;

/// Kinds of provider failure, in terms that all providers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The credentials are missing or refused.
    Auth,
    /// The provider does not take the request.
    InvalidRequest,
    /// The provider does not know the model.
    NotFound,
    /// The prompt is longer than the model reads.
    ContextLength,
    /// The prompt was blocked by a filter.
    ContentFilter,
    /// Too many requests for now.
    RateLimit,
    /// Out of credit: waiting does not help.
    Quota,
    /// Too busy for now.
    Overloaded,
    /// The provider broke.
    Server,
    /// A stream ended before the answer did.
    StreamInterrupted,
    /// The connection was closed before all of the request was sent.
    RequestInterrupted,
    /// No answer in time.
    Timeout,
    /// No connection, or one that broke.
    Connection,
    /// Not asked: the last calls had no answer.
    Down,
    /// An answer that is not what the provider documents, or is larger than the limit.
    BadResponse,
    /// The address is one deja does not call (SSRF guard).
    Forbidden,
    /// deja has no room for the answer: too many bytes of others are under way. Not the provider's failure.
    NoRoom,
}

impl FailureClass {
    /// The code in logs, metrics and `X-Deja-Error`, such as `provider_timeout`.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Auth => "provider_auth",
            Self::InvalidRequest => "provider_invalid_request",
            Self::NotFound => "provider_model_not_found",
            Self::ContextLength => "provider_context_length",
            Self::ContentFilter => "provider_content_filter",
            Self::RateLimit => "provider_rate_limit",
            Self::Quota => "provider_quota",
            Self::Overloaded => "provider_overloaded",
            Self::Server => "provider_server_error",
            Self::StreamInterrupted => "provider_stream_interrupted",
            Self::RequestInterrupted => "provider_request_interrupted",
            Self::Timeout => "provider_timeout",
            Self::Connection => "provider_connection",
            Self::Down => "provider_down",
            Self::BadResponse => "provider_bad_response",
            Self::Forbidden => "provider_address_forbidden",
            Self::NoRoom => "overloaded",
        }
    }

    /// Whether no answer came at all, or only that there will be none in time.
    pub(crate) const fn is_silence(self) -> bool {
        matches!(self, Self::Timeout | Self::Connection)
    }
}

/// A call that gave no answer.
#[derive(Clone, Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{} from {provider}: {message}", class.code())]
pub struct ProviderError {
    /// The provider's name.
    pub provider: String,
    /// The kind of failure.
    pub class: FailureClass,
    /// How long to wait before the next call, as the provider asks.
    pub retry_after: Option<Duration>,
    /// The provider's own code, as text.
    pub code: Option<String>,
    /// What happened, at most a few hundred characters. It may quote the provider, which may quote the prompt. So clients never
    /// see it, nothing keeps it, and the log has it only of [`FailureClass::Connection`]: there it quotes nobody.
    #[serde(skip)]
    pub message: String,
    /// What came of the answer: it is paid for. Nobody gets it.
    #[serde(skip)]
    pub part: Option<Redacted>,
}

/// What came of an answer before it broke off. It has a type of its own so that `Debug` of an error shows no text.
#[derive(Clone)]
pub struct Redacted(pub Box<Completion>);

/// Without its text.
impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redacted")
    }
}

impl ProviderError {
    /// A failure of which the provider says nothing more.
    pub fn new(provider: impl Into<String>, class: FailureClass, message: impl Into<String>) -> Self {
        let (provider, message) = (provider.into(), message.into());
        Self { provider, class, retry_after: None, code: None, message, part: None }
    }
}

/// The limit to the length of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As long as the model makes it.
    Full,
    /// One word will do: the provider is asked to end the answer after [`BRIEF`] tokens, unless the model is known to think
    /// first, which counts as tokens too.
    Brief,
}

/// Tokens of an answer of one word, at most: room for a word, and for a few marks around it.
pub const BRIEF: u32 = 16;

/// Calls one LLM provider.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The name in responses and listings, such as `openai`.
    fn name(&self) -> &str;

    /// Where it is called, as a URL; empty if deja does not call it.
    fn base_url(&self) -> &str;

    /// The model's answer to `prompt`, with `context` as its system text if there is one.
    /// Bounded in time and memory; retries what may be retried.
    async fn ask(
        &self,
        model: &str,
        context: Option<&str>,
        prompt: &str,
        length: Length,
    ) -> Result<Completion, ProviderError>;

    /// Asks for an answer as long as the model makes it. An empty context says nothing.
    async fn complete(
        &self,
        model: &str,
        context: Option<&str>,
        prompt: &str,
    ) -> Result<Completion, ProviderError> {
        let context = context.filter(|context| !context.is_empty());
        self.ask(model, context, prompt, Length::Full).await
    }

    /// Whether requests for `endpoint` can be passed on to it.
    fn serves(&self, endpoint: Endpoint) -> bool;

    /// Sends `request` as it is, once (a refused connection may be tried again), and gives the answer as it comes, whatever
    /// its status. These are errors: no answer in time, a redirect, and an answer about the operator's account (401, 402, 403,
    /// no credit left). Silence within the answer is bounded; its time is not. The answer is not kept here.
    async fn forward(&self, request: Forward) -> Result<Forwarded, ProviderError>;
}

/// A request of an application on its way to a provider.
#[derive(Clone, Debug)]
pub struct Forward {
    /// The endpoint that is asked.
    pub endpoint: Endpoint,
    /// The model, as asked for; it stands in the path of Gemini's.
    pub model: String,
    /// The body, as it came.
    pub body: Bytes,
    /// The application's headers that the provider gets to see.
    pub headers: AllowedHeaders,
    /// The query of the URL, as far as the provider may see it, such as `beta=true`.
    pub query: Option<String>,
}

/// The headers of an application that a provider gets to see: those on one list.
#[derive(Clone, Debug, Default)]
pub struct AllowedHeaders(HeaderMap);

impl AllowedHeaders {
    const NAMES: [HeaderName; 7] = [
        CONTENT_TYPE,
        ACCEPT,
        HeaderName::from_static("anthropic-version"),
        HeaderName::from_static("anthropic-beta"),
        HeaderName::from_static("openai-beta"),
        HeaderName::from_static("idempotency-key"),
        HeaderName::from_static("traceparent"),
    ];

    /// The headers among `all` that a provider gets to see.
    pub fn of(all: &HeaderMap) -> Self {
        Self(listed(all, &Self::NAMES))
    }

    /// Whether there is a header of this name.
    pub fn contains(&self, name: &HeaderName) -> bool {
        self.0.contains_key(name)
    }

    /// The headers.
    pub fn into_headers(self) -> HeaderMap {
        self.0
    }
}

/// The headers in which providers name a request, the most telling first: OpenRouter's, Azure's, that of OpenAI and most others,
/// Anthropic's.
pub const UPSTREAM_IDS: [HeaderName; 4] = [
    HeaderName::from_static("x-generation-id"),
    HeaderName::from_static("apim-request-id"),
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("request-id"),
];

/// The content type that headers name; empty where there is none.
pub fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default()
}

/// The headers of `list` among `all`, copied. The headers of a request share the buffer that it was read into, and would hold it
/// as long as a stream lasts.
pub fn listed(all: &HeaderMap, list: &[HeaderName]) -> HeaderMap {
    let mut listed = HeaderMap::new();
    for name in list {
        for value in all.get_all(name) {
            // The bytes of a value are always a value.
            let own = HeaderValue::from_bytes(value.as_bytes()).unwrap_or_else(|_| value.clone());
            listed.append(name, own);
        }
    }
    listed
}

/// The answer to a [`Forward`], as it comes.
pub struct Forwarded {
    /// The HTTP status.
    pub status: u16,
    /// What kind of error it is, if its status says so.
    pub error: Option<FailureClass>,
    /// Headers that the application may see.
    pub headers: HeaderMap,
    /// Whether deja asked for the tokens at the end of the stream, which the application did not.
    pub asked_usage: bool,
    /// The body, piece by piece as it comes. After an error there is nothing more.
    pub body: BoxStream<'static, Result<Bytes, ProviderError>>,
}

/// Which provider a model is asked from.
#[derive(Clone)]
pub enum Route {
    /// This one.
    To(Arc<dyn Provider>),
    /// The model is known, but deja has no key for its provider.
    NoCredentials(Keyless),
    /// No provider is known for it.
    Unsupported,
}

/// A provider that deja has no key for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keyless {
    /// A built-in one of this name, whose key is not in the server's environment.
    BuiltIn(&'static str),
    /// A project's own one of this name. Its key was sealed under another master key, or is damaged.
    Own(String),
}

impl Keyless {
    /// The provider's name.
    pub fn name(&self) -> &str {
        match self {
            Self::BuiltIn(name) => name,
            Self::Own(name) => name,
        }
    }
}

impl fmt::Display for Keyless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(name) => write!(f, "the server has no key for {name}"),
            Self::Own(name) => write!(f, "the server cannot open the key of the provider '{name}'"),
        }
    }
}

/// Finds the provider of a model.
#[async_trait]
pub trait Providers: Send + Sync {
    /// The caller's project's own providers first, as they were when it was admitted or later, then the built-in families
    /// by the model's name. `endpoint` is what an application asks for; without one deja asks, which reads text only.
    async fn route(
        &self,
        caller: &Admission,
        model: &str,
        endpoint: Option<Endpoint>,
    ) -> Result<Route, StoreError>;
}

/// The format that a project's own provider speaks, the usual one first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// OpenAI's chat completions, as most gateways and model servers do.
    #[default]
    OpenAi,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API, `generateContent`.
    Gemini,
}

words! {
    ProviderKind, "is not a kind of provider: use openai, anthropic or gemini",
    OpenAi = "openai", Anthropic = "anthropic", Gemini = "gemini",
}

impl ProviderKind {
    /// Whether a server of this kind can have a model called `name`. With Gemini the name is one segment of a URL's path.
    pub fn can_name(self, name: &str) -> bool {
        let odd =
            |c: char| c.is_control() || c.is_whitespace() || matches!(c, '/' | '\\' | '?' | '#' | '%' | ':');
        let is_segment = || name != "." && !name.contains("..") && !name.contains(odd);
        self != Self::Gemini || (1..=256).contains(&name.len()) && is_segment()
    }
}

/// A provider that a project brought itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderConfig {
    /// The identity.
    pub id: ProviderId,
    /// The project it serves.
    pub project: ProjectId,
    /// The name in responses, unique in the project.
    pub name: String,
    /// The format that it speaks.
    pub kind: ProviderKind,
    /// The base URL, to which deja adds the path of the kind: for OpenAI's up to and with `/v1`. It has no slash at
    /// the end.
    pub base_url: String,
    /// The models it answers, as the server names them.
    pub models: Vec<String>,
    /// The secret, encrypted and bound to this provider and its host; `None` if the server wants none.
    pub sealed_secret: Option<Vec<u8>>,
    /// Set by the operator: the server may stand in a private network.
    pub allow_private: bool,
    /// When it was added.
    pub created: Timestamp,
}

/// What the secret of a provider is bound to when it is sealed: the provider itself, and where its requests go.
pub fn binding(provider: ProviderId, base_url: &Url) -> Vec<u8> {
    let host = base_url.host_str().unwrap_or_default();
    let port = base_url.port_or_known_default().unwrap_or(0);
    format!("provider {provider} {}://{host}:{port}", base_url.scheme()).into_bytes()
}

/// Counts the tokens of a text before anybody is asked.
pub trait TokenCounter: Send + Sync {
    /// Tokens of the bare `text` as `model` would see them, as in an answer. Bounded in time for any text.
    fn text(&self, model: &str, text: &str) -> TokenCount;

    /// Tokens of a call's input as it is billed: of its messages and of what the chat around them adds.
    fn input(&self, model: &str, messages: &[TokenCount]) -> TokenCount;
}

/// A number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCount {
    /// How many.
    pub tokens: u64,
    /// Whether it is an estimate: the model's vocabulary is not public, or the text very long.
    pub estimated: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_copied_and_nothing_else() {
        let read = Bytes::from_static(b"text/html, a long line of a request");
        let mut all = HeaderMap::new();
        all.insert(ACCEPT, HeaderValue::from_maybe_shared(read.slice(..9)).unwrap());
        all.append(ACCEPT, HeaderValue::from_static("b"));
        all.insert("authorization", HeaderValue::from_static("secret"));
        let listed = AllowedHeaders::of(&all).into_headers();
        assert_eq!(listed.get_all(ACCEPT).iter().collect::<Vec<_>>(), ["text/html", "b"]);
        assert_eq!(listed.keys().collect::<Vec<_>>(), [ACCEPT]);
        assert_ne!(listed[ACCEPT].as_bytes().as_ptr(), read.as_ptr(), "it has bytes of its own");
    }

    #[test]
    fn a_secret_is_bound_to_provider_and_host() {
        let id = ProviderId::from_bytes([1; 16]);
        let of = |url: &str| binding(id, &Url::parse(url).unwrap());
        assert_eq!(of("https://a.example/v1"), of("https://a.example:443/v2"));
        for other in ["https://b.example/v1", "http://a.example/v1", "https://a.example:8443/v1"] {
            assert_ne!(of("https://a.example/v1"), of(other));
        }
        let url = Url::parse("https://a.example/v1").unwrap();
        assert_ne!(binding(id, &url), binding(ProviderId::from_bytes([2; 16]), &url));
    }

    #[test]
    fn a_kind_has_one_name_everywhere() {
        for kind in ProviderKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
        let error = "OpenAI".parse::<ProviderKind>().unwrap_err().to_string();
        assert_eq!(error, "'OpenAI' is not a kind of provider: use openai, anthropic or gemini");
    }
}
