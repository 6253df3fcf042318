//! One call from request to answer, the same for every wire format.
//!
//! A wire format says how a request looks ([`Request`]), how a plain answer is read and how a streamed one is
//! put together ([`Format`], [`Fold`]). Which of the two it is, is decided by what comes back: some servers
//! stream although nobody asked. Where it goes, and with which key, is an [`Upstream`].

use deja_core::provider::{Completion, ProviderError};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::timeout;

use crate::failure::{Failure, is_error};
use crate::http::{Client, ReadError};
use crate::ssrf::UrlError;
use crate::{retry, sse};

/// A request that is ready to be sent, as often as needed.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// An answer that is not what the format documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAnAnswer;

/// How answers of one wire format are read.
pub(crate) trait Format: Send + Sync {
    /// The plain answer in `body`, which is known not to be an error.
    fn completion(&self, body: Value) -> Result<Completion, NotAnAnswer>;

    /// Puts a streamed answer together.
    fn fold(&self) -> Box<dyn Fold>;
}

/// A streamed answer while it comes in.
pub(crate) trait Fold: Send {
    /// Takes the next event. The caller has looked for errors in it.
    fn event(&mut self, event: Value) -> Next;

    /// The answer, if everything that belongs to it has come.
    fn completion(self: Box<Self>) -> Option<Completion>;
}

/// Whether more events belong to a streamed answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// There may be more.
    More,
    /// This was the last one.
    Done,
}

/// Where a provider's calls go and what opens it, whatever it speaks.
#[derive(Debug)]
pub(crate) struct Upstream {
    /// The name in responses.
    pub(crate) name: String,
    /// What the paths of its wire format are put behind; an error if deja does not call the URL.
    pub(crate) base_url: Result<Url, UrlError>,
    pub(crate) key: Option<SecretString>,
    pub(crate) client: Client,
}

impl Upstream {
    /// The base URL, unless no call may be made.
    pub(crate) fn base(&self) -> Result<&Url, ProviderError> {
        self.base_url.as_ref().map_err(|error| Failure::forbidden(&self.name, error).error)
    }

    /// The key in a header of its own, behind `prefix`.
    pub(crate) fn key_header(&self, name: HeaderName, prefix: &str) -> HeaderMap {
        secret_header(name, prefix, self.key.as_ref())
    }

    /// The answer to `request`, read as `format`.
    pub(crate) async fn complete(
        &self,
        request: &Request,
        format: &dyn Format,
    ) -> Result<Completion, ProviderError> {
        let peer = Peer { provider: &self.name, client: &self.client, key: self.key.as_ref() };
        peer.complete(request, format).await
    }
}

/// The provider's side of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer<'a> {
    pub(crate) provider: &'a str,
    pub(crate) client: &'a Client,
    pub(crate) key: Option<&'a SecretString>,
}

impl Peer<'_> {
    /// The answer to `request`, asked for again where that may help.
    pub(crate) async fn complete(
        &self,
        request: &Request,
        format: &dyn Format,
    ) -> Result<Completion, ProviderError> {
        self.retried(|| async {
            let mut response = self.send(request).await?;
            self.read_completion(&mut response, format).await
        })
        .await
    }

    /// The JSON in answer to `request`.
    pub(crate) async fn json(&self, request: &Request) -> Result<Value, ProviderError> {
        self.retried(|| async {
            let mut response = self.send(request).await?;
            let body = self.client.body(&mut response).await.map_err(|error| self.read(&error))?;
            self.parse(&response, &body)
        })
        .await
    }

    async fn retried<T, F, Fut>(&self, attempt: F) -> Result<T, ProviderError>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<T, Failure>>,
    {
        let bounded = |limit| {
            let attempt = attempt();
            async move { timeout(limit, attempt).await.unwrap_or_else(|_| Err(Failure::timeout(self.provider))) }
        };
        let result = Box::pin(retry::run(&self.client.settings, bounded)).await;
        result.map_err(|failure| failure.into_error(self.key))
    }

    /// Sends `request`; an answer with an error status is a failure.
    async fn send(&self, request: &Request) -> Result<Response, Failure> {
        let call = self.client.request(Method::POST, request.url.clone());
        let call = call.map_err(|error| Failure::forbidden(self.provider, &error))?;
        let call = call.headers(request.headers.clone()).json(&request.body);
        let mut response = call.send().await.map_err(|error| Failure::send(self.provider, error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        // The status alone is worth reporting, even if the body breaks off or is too large.
        let body = self.client.body(&mut response).await.unwrap_or_default();
        let body = serde_json::from_slice::<Value>(&body).ok();
        Err(self.answered(&response, body.as_ref()))
    }

    async fn read_completion(
        &self,
        response: &mut Response,
        format: &dyn Format,
    ) -> Result<Completion, Failure> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
        if kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream") {
            return self.read_stream(response, format).await;
        }
        let body = self.client.body(response).await.map_err(|error| self.read(&error))?;
        let value = self.parse(response, &body)?;
        format.completion(value).map_err(|NotAnAnswer| {
            Failure::bad_response(self.provider, "the answer is JSON, but not of the documented form")
        })
    }

    async fn read_stream(&self, response: &mut Response, format: &dyn Format) -> Result<Completion, Failure> {
        let mut stream = Stream::new(format);
        let mut read = 0;
        loop {
            let chunk = match self.client.chunk(response, &mut read).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error @ ReadError::Broken(_)) => {
                    let error = self.read(&error).error.message;
                    return Err(Failure::interrupted(self.provider, &error));
                }
                Err(error) => return Err(self.read(&error)),
            };
            match stream.push(&chunk) {
                Ok(Next::More) => {}
                Ok(Next::Done) => break,
                Err(error) => return Err(self.stream_error(response, error)),
            }
        }
        stream.finish().map_err(|error| self.stream_error(response, error))
    }

    fn stream_error(&self, response: &Response, error: StreamError) -> Failure {
        match error {
            StreamError::Said(body) => self.answered(response, Some(&body)).midway(),
            StreamError::NotJson => {
                Failure::bad_response(self.provider, "an event of the stream is not JSON")
            }
            StreamError::Interrupted => {
                Failure::interrupted(self.provider, "the stream ended before the answer did")
            }
        }
    }

    /// The JSON in an answer with a good status, unless it says that the call failed.
    fn parse(&self, response: &Response, body: &[u8]) -> Result<Value, Failure> {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            return Err(Failure::bad_response(self.provider, "the answer is not JSON"));
        };
        if is_error(&value) { Err(self.answered(response, Some(&value))) } else { Ok(value) }
    }

    fn answered(&self, response: &Response, body: Option<&Value>) -> Failure {
        Failure::answered(self.provider, response.status().as_u16(), response.headers(), body)
    }

    fn read(&self, error: &ReadError) -> Failure {
        Failure::read(self.provider, error)
    }
}

/// Why a stream gave no answer.
#[derive(Debug, PartialEq)]
enum StreamError {
    /// An event said so.
    Said(Value),
    /// An event cannot be read.
    NotJson,
    /// It ended early.
    Interrupted,
}

/// A stream of events on its way to an answer.
struct Stream {
    parser: sse::Parser,
    fold: Box<dyn Fold>,
    done: bool,
}

impl Stream {
    fn new(format: &dyn Format) -> Self {
        Self { parser: sse::Parser::default(), fold: format.fold(), done: false }
    }

    fn push(&mut self, chunk: &[u8]) -> Result<Next, StreamError> {
        for data in self.parser.push(chunk) {
            if self.event(&data)? == Next::Done {
                return Ok(Next::Done);
            }
        }
        Ok(Next::More)
    }

    fn event(&mut self, data: &str) -> Result<Next, StreamError> {
        let data = data.trim();
        if self.done || data.is_empty() {
            return Ok(Next::More);
        }
        // The end mark of the OpenAI family, handed to the fold as a string.
        let event = if data == "[DONE]" {
            Value::from(data)
        } else {
            serde_json::from_str(data).map_err(|_| StreamError::NotJson)?
        };
        if is_error(&event) {
            return Err(StreamError::Said(event));
        }
        let next = self.fold.event(event);
        self.done = next == Next::Done;
        Ok(next)
    }

    fn finish(mut self) -> Result<Completion, StreamError> {
        if !self.done
            && let Some(data) = std::mem::take(&mut self.parser).finish()
        {
            match self.event(&data) {
                Ok(_) => {}
                // A last event that is not JSON was cut by the end of the body.
                Err(StreamError::NotJson) => return Err(StreamError::Interrupted),
                Err(error) => return Err(error),
            }
        }
        self.fold.completion().ok_or(StreamError::Interrupted)
    }
}

/// A header with a secret in it, marked so that it is never printed. `None` if there is no secret, or one that
/// cannot stand in a header (it would be refused anyway).
pub(crate) fn secret_header(name: HeaderName, prefix: &str, key: Option<&SecretString>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(key) = key.map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty())
        && let Ok(mut value) = HeaderValue::from_str(&format!("{prefix}{key}"))
    {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
