//! One call from request to answer, the same for every wire format.
//!
//! An adapter says how a request looks ([`Request`]) and in which format the answer is. Whether the answer is plain or
//! streamed is decided by what comes back: some servers stream although nobody asked. An [`Upstream`] is where the
//! request goes, and has the key.

use bytes::Bytes;
use deja_core::provider::{Completion, ProviderError};
use deja_core::{block_in_place_if, room_to_parse};
use deja_wire::{Cut, StreamError, Unrecorded, Wire, is_error, is_event_stream, so_far, usage_in};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::http::{Client, HttpSettings, ReadError};
use crate::retry;
use crate::ssrf::UrlError;
use crate::traces::name_span;

/// An answer of more bytes is read beside other requests, and an error of more is not read.
const LONG: usize = 256 * 1024;

/// A request that is ready to be sent, as often as needed.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// A provider as its callers see it, whatever format it speaks.
#[derive(Debug)]
pub(crate) struct Upstream {
    /// The name in responses and errors.
    pub(crate) name: String,
    /// What the paths of its wire format are put behind; an error if deja does not call this URL.
    pub(crate) base_url: Result<Url, UrlError>,
    pub(crate) key: Option<SecretString>,
    pub(crate) client: Client,
}

impl Upstream {
    /// The base URL, unless no call may be made.
    pub(crate) fn base(&self) -> Result<&Url, ProviderError> {
        self.base_url.as_ref().map_err(|error| Failure::forbidden(&self.name, error).error)
    }

    /// The base URL as text; empty if no call may be made.
    pub(crate) fn place(&self) -> &str {
        self.base_url.as_ref().map_or("", Url::as_str)
    }

    /// The refusal of an endpoint that is not there. Callers ask `Provider::serves` before.
    pub(crate) fn serves_not(&self) -> ProviderError {
        Failure::invalid_request(&self.name, "the provider does not serve this endpoint").error
    }

    /// The key in a header of its own, behind `prefix`, and marked so that it is never printed. Empty if there is no key,
    /// or one that cannot stand in a header: it would be refused anyway.
    pub(crate) fn key_header(&self, name: HeaderName, prefix: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(key) =
            self.key.as_ref().map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty())
            && let Ok(mut value) = HeaderValue::from_str(&format!("{prefix}{key}"))
        {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers
    }

    /// The answer to `request` in the format of `wire`, asked for again where that may help.
    pub(crate) async fn complete(&self, request: &Request, wire: Wire) -> Result<Completion, ProviderError> {
        self.retried(&self.client.settings, || async {
            let response = self.send(request).await?;
            self.read_completion(response, wire).await
        })
        .await
    }

    /// The JSON in answer to `request`.
    pub(crate) async fn json(&self, request: &Request) -> Result<Value, ProviderError> {
        self.retried(&self.client.settings, || async {
            let response = self.send(request).await?;
            let head = Head::of(&response);
            let body = self.client.body(response).await.map_err(|error| self.read(&error))?;
            self.parse(&head, &body.bytes)
        })
        .await
    }

    /// Makes `attempt`, and again where that may help.
    pub(crate) async fn retried<T, F, Fut>(
        &self,
        limits: &HttpSettings,
        attempt: F,
    ) -> Result<T, ProviderError>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<T, Failure>>,
    {
        let bounded = |limit| {
            let attempt = attempt();
            async move { timeout(limit, attempt).await.unwrap_or_else(|_| Err(Failure::timeout(&self.name))) }
        };
        let result = Box::pin(retry::run(limits, bounded)).await;
        result.map_err(|failure| failure.into_error(self.key.as_ref()))
    }

    /// Sends `request`; an answer with an error status is a failure.
    async fn send(&self, request: &Request) -> Result<Response, Failure> {
        let call = self.client.request(Method::POST, request.url.clone());
        let call = call.map_err(|error| Failure::forbidden(&self.name, &error))?;
        let mut headers = request.headers.clone();
        name_span(&mut headers);
        let call = call.headers(headers).json(&request.body);
        let response = call.send().await.map_err(|error| Failure::send(&self.name, error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let head = Head::of(&response);
        // The status alone is worth reporting, even if the body breaks off or is too large.
        let body = self.client.body(response).await.unwrap_or_default();
        let body = error_body(&body.bytes);
        Err(self.answered(&head, body.as_ref()))
    }

    async fn read_completion(&self, response: Response, wire: Wire) -> Result<Completion, Failure> {
        let head = Head::of(&response);
        let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
        if is_event_stream(kind) {
            return self.read_stream(response, &head, wire).await;
        }
        let (body, read) = self.client.body_so_far(response).await;
        let length = body.bytes.len();
        let _room = room_to_parse(self.client.project(), length).await;
        block_in_place_if(length > LONG, || match read {
            Ok(()) => self.whole(&head, wire, &body.bytes),
            Err(error) => Err(self.read(&error).with(part(wire, &body.bytes))),
        })
    }

    /// What a whole, plain answer says. If it cannot be read, it has cost what it tells.
    fn whole(&self, head: &Head, wire: Wire, body: &Bytes) -> Result<Completion, Failure> {
        let record = deja_wire::record(wire, false, body);
        record.map(|record| record.completion).map_err(|why| {
            let told = usage_in(wire, body).map(|usage| Completion::unread(String::new(), Some(usage)));
            let failure = match why {
                Unrecorded::Failed(body) => self.answered(head, Some(&body)),
                why => self.unrecorded(&why),
            };
            failure.with(told.map(Box::new))
        })
    }

    async fn read_stream(&self, response: Response, head: &Head, wire: Wire) -> Result<Completion, Failure> {
        let chunks = self.client.chunks(response).map_err(|error| self.read(&error))?;
        let record = deja_wire::read(wire, chunks).await;
        record.map(|record| record.completion).map_err(|Cut { why, part }| {
            let failure = match why {
                StreamError::Read(error @ ReadError::Broken(_)) => {
                    Failure::interrupted(&self.name, &self.read(&error).error.message)
                }
                StreamError::Read(error) => self.read(&error),
                StreamError::Unrecorded(Unrecorded::Failed(body)) => {
                    self.answered(head, Some(&body)).midway()
                }
                StreamError::Unrecorded(why) => self.unrecorded(&why),
            };
            failure.with(part)
        })
    }

    fn unrecorded(&self, why: &Unrecorded) -> Failure {
        match why {
            Unrecorded::Unfinished => {
                Failure::interrupted(&self.name, "the stream ended before the answer did")
            }
            why => Failure::bad_response(&self.name, &format!("the answer cannot be read: {why}")),
        }
    }

    /// The JSON in an answer with a good status, unless it says that the call failed.
    fn parse(&self, head: &Head, body: &[u8]) -> Result<Value, Failure> {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            return Err(Failure::bad_response(&self.name, "the answer is not JSON"));
        };
        if is_error(&value) { Err(self.answered(head, Some(&value))) } else { Ok(value) }
    }

    fn answered(&self, head: &Head, body: Option<&Value>) -> Failure {
        Failure::answered(&self.name, head.status.as_u16(), &head.headers, body)
    }

    fn read(&self, error: &ReadError) -> Failure {
        Failure::read(&self.name, error)
    }
}

/// What an answer says before its body. The body is read without it.
struct Head {
    status: StatusCode,
    headers: HeaderMap,
}

impl Head {
    fn of(response: &Response) -> Self {
        Self { status: response.status(), headers: response.headers().clone() }
    }
}

/// What a plain answer says that broke off. One that says nothing yet has cost its request.
fn part(wire: Wire, body: &Bytes) -> Option<Box<Completion>> {
    let said = || so_far(wire, false, body).unwrap_or_else(|| Completion::unread(String::new(), None));
    (!body.is_empty()).then(|| Box::new(said()))
}

/// What an answer with an error status says, unless it is long.
pub(crate) fn error_body(body: &[u8]) -> Option<Value> {
    if body.len() > LONG { None } else { serde_json::from_slice(body).ok() }
}
