//! A request of an application, sent as it is, and the provider's answer, passed on as it comes.
//!
//! The provider gets the body byte for byte, the application's headers of one list, and its own secret. The application gets
//! the answer byte for byte, with the headers of another list. What an answer says of the operator's account is a failure
//! instead: its text may show part of the key, and the application would take it for a word about its own.

use bytes::Bytes;
use deja_core::provider::{FailureClass, Forward, Forwarded, ProviderError, UPSTREAM_IDS, listed};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, Url};

use crate::exchange::{Upstream, error_body};
use crate::failure::Failure;
use crate::http::{Body, ReadError};
use crate::quoted::{quotes, unquoted};
use crate::traces::name_span;

/// Headers of an answer that the application gets to see, beside the provider's own name of the request.
const DOWN: [HeaderName; 4] = [
    CONTENT_TYPE,
    HeaderName::from_static("retry-after"),
    HeaderName::from_static("retry-after-ms"),
    HeaderName::from_static("x-should-retry"),
];

const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl Upstream {
    /// The answer to `request`, sent to `url` once; a connection that cannot be had may be tried again. `own` are headers
    /// of the provider's own: they stand in the place of the application's.
    pub(crate) async fn forward(
        &self,
        mut url: Url,
        own: HeaderMap,
        request: Forward,
    ) -> Result<Forwarded, ProviderError> {
        url.set_query(request.query.as_deref());
        let mut headers = request.headers.into_headers();
        headers.entry(CONTENT_TYPE).or_insert(JSON);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        name_span(&mut headers);
        headers.extend(own);
        self.retried(&self.client.settings.passed_on(), || self.attempt(&url, &headers, &request.body)).await
    }

    async fn attempt(&self, url: &Url, headers: &HeaderMap, body: &Bytes) -> Result<Forwarded, Failure> {
        let call = self.client.request(Method::POST, url.clone());
        let call = call.map_err(|error| Failure::forbidden(&self.name, &error))?;
        let call = call.headers(headers.clone()).body(body.clone());
        let response = call.send().await.map_err(|error| Failure::send(&self.name, error))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(Failure::bad_response(&self.name, "the provider sends the request elsewhere"));
        }
        if status.is_informational() {
            return Err(Failure::bad_response(&self.name, "the provider switches to another protocol"));
        }
        let down = [&DOWN[..], &UPSTREAM_IDS].concat();
        let mut headers = listed(response.headers(), &down);
        // Some servers quote what they were sent. The type stays: without it nobody can read the body.
        for name in down.iter().filter(|name| **name != CONTENT_TYPE) {
            if headers.get_all(name).iter().any(|value| quotes(self.key.as_ref(), value.as_bytes())) {
                headers.remove(name);
            }
        }
        let mut error = None;
        let body = if status.is_success() {
            self.pass(response)?
        } else {
            let (body, is_json, class) = self.refusal(response).await?;
            error = Some(class);
            // Clients read JSON only under its name, and Go's `http.Error` calls every text plain.
            let named = |kind: &HeaderValue| {
                kind.to_str().is_ok_and(|kind| kind.to_ascii_lowercase().contains("json"))
            };
            if is_json && !headers.get(CONTENT_TYPE).is_some_and(named) {
                headers.insert(CONTENT_TYPE, JSON);
            }
            stream::once(async move { Ok(body) }).boxed()
        };
        Ok(Forwarded { status: status.as_u16(), error, headers, asked_usage: false, body })
    }

    /// The body of an error, whole, whether it is an object or a list of JSON, and what kind of error it is; unless it is about
    /// the operator's account.
    async fn refusal(&self, response: Response) -> Result<(Bytes, bool, FailureClass), Failure> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        // The status alone is worth reporting, even if the body breaks off or is too large.
        let Body { bytes: body, .. } = self.client.body(response).await.unwrap_or_default();
        let said = error_body(&body);
        let mut failure = Failure::answered(&self.name, status, &headers, said.as_ref()).midway();
        if matches!(failure.error.class, FailureClass::Auth | FailureClass::Quota) {
            return Err(failure);
        }
        if quotes(self.key.as_ref(), &body) {
            // The error's text cannot be passed on.
            failure.error.class = FailureClass::BadResponse;
            return Err(failure);
        }
        Ok((body, said.is_some_and(|said| said.is_object() || said.is_array()), failure.error.class))
    }

    /// The pieces of an answer with a good status, as they come. It may say all the same that the call failed, and quote the key.
    fn pass(&self, response: Response) -> Result<BoxStream<'static, Result<Bytes, ProviderError>>, Failure> {
        let (name, key) = (self.name.clone(), self.key.clone());
        let pieces = self.client.passed(response).map_err(|error| Failure::read(&name, &error))?;
        let quoted = Failure::bad_response(&name, "the answer quotes the provider's key");
        let failed = move |error: ReadError| match error {
            ReadError::Broken(_) => Failure::interrupted(&name, &Failure::read(&name, &error).error.message),
            error => Failure::read(&name, &error),
        };
        let pieces = unquoted(pieces.map_err(failed), key.clone(), quoted);
        Ok(pieces.map_err(move |failure| failure.into_error(key.as_ref())).boxed())
    }
}
