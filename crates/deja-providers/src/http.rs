//! The HTTP client: the only place where one is built.
//!
//! Time limits, the size limit, redirects, proxies and the SSRF guard are decided here, so that no adapter can
//! forget one of them. A redirect is never followed: it could lead a request, with its key, somewhere else.
//! Compression is left off: a small compressed answer could grow without bound.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::{Stream, stream};
use reqwest::{Certificate, ClientBuilder, Method, RequestBuilder, Response, Url, redirect};
use tokio::time::timeout;

use crate::ssrf::{self, Resolver, UrlError};

/// Limits of every call to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Longest wait for a connection, name look-up and TLS included.
    pub connect_timeout: Duration,
    /// Longest time of one attempt, from connecting to the last byte. Longest silence before the first byte, too:
    /// a model that thinks sends nothing until it is done.
    pub attempt_timeout: Duration,
    /// Longest silence once the answer has begun.
    pub idle_timeout: Duration,
    /// Longest time of a call, all attempts and the waits between them included.
    pub total_deadline: Duration,
    /// Largest answer in bytes. It is checked while reading.
    pub max_response_bytes: usize,
    /// How often a call is made at most, at least once.
    pub max_attempts: usize,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            attempt_timeout: Duration::from_mins(2),
            idle_timeout: Duration::from_mins(1),
            total_deadline: Duration::from_mins(3),
            max_response_bytes: 8 * 1024 * 1024,
            max_attempts: 3,
        }
    }
}

/// The HTTP client could not be set up.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the HTTP client cannot be set up: {0}")]
pub struct ClientError(pub(crate) String);

/// Who typed the URLs that a client calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The operator: any address, by the machine's proxy settings.
    Operator,
    /// A user: guarded, no proxy, since a proxy would resolve the names itself.
    User { allow_private: bool },
}

/// A client with its limits.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    trust: Trust,
    pub(crate) settings: HttpSettings,
}

/// Why reading an answer ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The connection broke.
    #[error("the connection broke")]
    Broken(#[source] reqwest::Error),
    /// Nothing came for too long.
    #[error("nothing came for too long")]
    Idle,
    /// More than the size limit.
    #[error("the answer is larger than the limit")]
    TooLarge,
}

impl Client {
    pub(crate) fn new(trust: Trust, settings: HttpSettings) -> Result<Self, ClientError> {
        // The machine's certificates come first: an operator may have added the company's own.
        let http = builder(trust, &settings).build().or_else(|error| {
            tracing::warn!(
                error = chain(&error),
                "no CA certificates of the system; the built-in ones are used"
            );
            bundled(trust, &settings)
        });
        Ok(Self { http: http.map_err(|error| ClientError(chain(&error)))?, trust, settings })
    }

    /// A request to `url`. The resolver never sees literal addresses, so they are checked here, every time.
    pub(crate) fn request(&self, method: Method, url: Url) -> Result<RequestBuilder, UrlError> {
        if let Trust::User { allow_private } = self.trust {
            ssrf::check(&url, allow_private)?;
        }
        Ok(self.http.request(method, url))
    }

    /// The next piece of the answer; `None` at its end. `read` counts the bytes so far.
    async fn chunk(&self, response: &mut Response, read: &mut usize) -> Result<Option<Bytes>, ReadError> {
        let next = timeout(self.settings.idle_timeout, response.chunk()).await;
        let chunk =
            next.map_err(|_| ReadError::Idle)?.map_err(|error| ReadError::Broken(error.without_url()))?;
        *read += chunk.as_ref().map_or(0, Bytes::len);
        if *read > self.settings.max_response_bytes { Err(ReadError::TooLarge) } else { Ok(chunk) }
    }

    /// The pieces of the answer, one after the other.
    pub(crate) fn chunks(
        &self,
        response: Response,
    ) -> impl Stream<Item = Result<Bytes, ReadError>> + Send + use<> {
        stream::try_unfold((self.clone(), response, 0), |(client, mut response, mut read)| async move {
            let chunk = client.chunk(&mut response, &mut read).await?;
            Ok(chunk.map(|chunk| (chunk, (client, response, read))))
        })
    }

    /// The whole answer.
    pub(crate) async fn body(&self, response: &mut Response) -> Result<Bytes, ReadError> {
        // The length that the header claims is not believed before the bytes are there.
        if response.content_length().is_some_and(|n| n > self.settings.max_response_bytes as u64) {
            return Err(ReadError::TooLarge);
        }
        let (mut body, mut read) = (BytesMut::new(), 0);
        while let Some(chunk) = self.chunk(response, &mut read).await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }
}

fn builder(trust: Trust, settings: &HttpSettings) -> ClientBuilder {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("deja/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.connect_timeout)
        .redirect(redirect::Policy::none())
        .referer(false)
        // Finds a peer that is gone during the long silence of a thinking model.
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_secs(50));
    match trust {
        Trust::Operator => builder,
        Trust::User { allow_private } => {
            builder.no_proxy().dns_resolver(Arc::new(Resolver { allow_private }))
        }
    }
}

/// A client with Mozilla's certificates instead of the system's: a bare container has none, and must be able to
/// start all the same.
fn bundled(trust: Trust, settings: &HttpSettings) -> Result<reqwest::Client, reqwest::Error> {
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    let roots: Vec<Certificate> = roots.filter_map(|root| Certificate::from_der(root).ok()).collect();
    builder(trust, settings).tls_certs_only(roots).build()
}

/// An error with all its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_certificates_still_gets_a_client() {
        assert!(webpki_root_certs::TLS_SERVER_ROOT_CERTS.len() > 50);
        bundled(Trust::User { allow_private: false }, &HttpSettings::default()).unwrap();
    }
}
