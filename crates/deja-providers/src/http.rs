//! The HTTP client: the only place where one is built.
//!
//! Time limits, the size limit, redirects, proxies and the SSRF guard are decided here, so that no adapter can
//! forget one of them. A redirect is never followed: it could lead a request, with its key, somewhere else.
//! Compression is not asked for. What comes packed all the same is unpacked in bounded pieces, and counts as what it unpacks to.

use std::sync::Arc;
use std::time::Duration;
use std::{io, mem};

use bytes::{Bytes, BytesMut};
use deja_core::id::ProjectId;
use deja_core::shares::{self, Shares};
use futures::{StreamExt, TryStreamExt, stream};
use hyper::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Certificate, ClientBuilder, Method, RequestBuilder, Response, Url, redirect};
use tokio::time::timeout;

use crate::ssrf::{self, Resolver, System, UrlError};
use crate::unpack::{Pieces, unpacked};

/// How long an answer that is being read waits for room, while all answers together are at their limit. Short: answers
/// that wait may hold the room that each of them waits for.
const ROOM_TIMEOUT: Duration = Duration::from_secs(2);

/// The first bytes of an answer have room of their own. Most answers are no longer. Long answers that fall silent take none of
/// this room beyond their first bytes.
const FIRST_BYTES: usize = 32 * 1024;

/// Limits of every call to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Longest wait for a connection, name look-up and TLS included.
    pub connect_timeout: Duration,
    /// Longest time of one attempt, from connecting to the last byte.
    pub attempt_timeout: Duration,
    /// Longest silence once the answer has begun. Of an answer that is passed on, before it begins too: a model that thinks sends
    /// nothing until it is done.
    pub idle_timeout: Duration,
    /// Longest time of a call, all attempts and the waits between them included.
    pub total_deadline: Duration,
    /// Largest answer in bytes. It is checked while reading.
    pub max_response_bytes: usize,
    /// Bytes of all answers that are being read at the same time, together.
    pub max_bytes_in_flight: usize,
    /// The most attempts of a call, 1 or more.
    pub max_attempts: usize,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            attempt_timeout: Duration::from_mins(2),
            idle_timeout: Duration::from_mins(10),
            total_deadline: Duration::from_mins(3),
            max_response_bytes: 8 * 1024 * 1024,
            max_bytes_in_flight: 256 * 1024 * 1024,
            max_attempts: 3,
        }
    }
}

impl HttpSettings {
    /// The limits of a call whose answer is passed on. The application waits for it by limits of its own.
    pub(crate) fn passed_on(&self) -> Self {
        let total_deadline = self.total_deadline.max(self.idle_timeout);
        Self { attempt_timeout: self.idle_timeout, total_deadline, ..self.clone() }
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
    room: Arc<Room>,
    /// The project whose own provider is called.
    project: Option<ProjectId>,
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
    /// All answers together are at their limit, or those of the project's own providers at theirs.
    #[error("too many bytes of answers are under way")]
    NoRoom,
    /// The answer came packed, in another way than its header says.
    #[error("the answer cannot be unpacked")]
    Packed(#[source] io::Error),
}

/// Room for answers, a permit for each byte that they may still take.
#[derive(Debug)]
struct Room {
    /// For the first bytes of each answer.
    first: Shares,
    /// For all other bytes, and for first bytes that found no room above. One project's own providers have a share of it.
    rest: Shares,
}

impl Room {
    fn new(settings: &HttpSettings) -> Self {
        let all = settings.max_bytes_in_flight;
        // The longest answer has room whatever is set.
        let first = (all / 2).min(all.saturating_sub(settings.max_response_bytes));
        let rest = Shares::halves(all - first, settings.max_response_bytes);
        Self { first: Shares::new(first, first), rest }
    }
}

/// What an answer has of the room.
#[derive(Debug)]
struct Held {
    bytes: usize,
    first: shares::Held,
    rest: shares::Held,
}

impl Held {
    /// Takes room for so many bytes more, as soon as there is some.
    async fn take(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.bytes += bytes;
        if self.bytes <= FIRST_BYTES && self.first.try_take(bytes) {
            return Ok(());
        }
        let taken = timeout(ROOM_TIMEOUT, self.rest.take(bytes)).await;
        if taken == Ok(true) { Ok(()) } else { Err(ReadError::NoRoom) }
    }
}

/// A whole answer. Its bytes count as under way until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    _room: Option<Held>,
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
        let http = http.map_err(|error| ClientError(chain(&error)))?;
        let room = Arc::new(Room::new(&settings));
        Ok(Self { http, trust, room, project: None, settings })
    }

    /// A client for other URLs with the same limits: what answers may take is shared.
    pub(crate) fn beside(&self, trust: Trust) -> Result<Self, ClientError> {
        Ok(Self { room: Arc::clone(&self.room), ..Self::new(trust, self.settings.clone())? })
    }

    /// This client for a provider that a project brought itself. Such a provider may fall silent at will, so what its answers
    /// take is bounded for each project, too.
    pub(crate) fn of(&self, project: ProjectId) -> Self {
        Self { project: Some(project), ..self.clone() }
    }

    /// Whose calls it makes, if it is one project's.
    pub(crate) const fn project(&self) -> Option<ProjectId> {
        self.project
    }

    /// A request to `url`. The resolver never sees literal addresses, so they are checked here, every time.
    pub(crate) fn request(&self, method: Method, url: Url) -> Result<RequestBuilder, UrlError> {
        if let Trust::User { allow_private } = self.trust {
            ssrf::check(&url, allow_private)?;
        }
        Ok(self.http.request(method, url))
    }

    /// The pieces of an answer that is passed on, unpacked, one after the other: any number of them, for as long as they come.
    /// The client does not hold them, so they do not count as under way.
    pub(crate) fn passed(&self, mut response: Response) -> Result<Pieces, ReadError> {
        // The headers would hold the buffer that they were read into as long as the answer lasts.
        let headers = mem::take(response.headers_mut());
        let idle = self.settings.idle_timeout;
        let pieces = stream::try_unfold(response, move |mut response| async move {
            let piece = timeout(idle, response.chunk()).await.map_err(|_| ReadError::Idle)?;
            let piece = piece.map_err(|error| ReadError::Broken(error.without_url()))?;
            Ok(piece.map(|piece| (piece, response)))
        });
        unpacked(&headers, pieces)
    }

    /// The pieces of the answer, unpacked, one after the other. All of them count as under way until the stream ends.
    pub(crate) fn chunks(&self, response: Response) -> Result<Pieces, ReadError> {
        let begun = (self.clone(), self.passed(response)?, self.nothing_held());
        let chunks = stream::try_unfold(begun, |(client, mut pieces, mut held)| async move {
            let piece = client.next(&mut pieces, &mut held).await?;
            Ok(piece.map(|piece| (piece, (client, pieces, held))))
        });
        Ok(chunks.boxed())
    }

    fn nothing_held(&self) -> Held {
        let Room { first, rest } = &*self.room;
        let rest = self.project.map_or_else(|| rest.whole(), |project| rest.of(project));
        Held { bytes: 0, first: first.whole(), rest }
    }

    /// The next piece; `None` at the end. `held` is room for all bytes so far.
    async fn next(&self, pieces: &mut Pieces, held: &mut Held) -> Result<Option<Bytes>, ReadError> {
        let Some(piece) = pieces.try_next().await? else { return Ok(None) };
        if held.bytes + piece.len() > self.settings.max_response_bytes {
            return Err(ReadError::TooLarge);
        }
        held.take(piece.len()).await?;
        Ok(Some(piece))
    }

    /// The whole answer, unpacked.
    pub(crate) async fn body(&self, response: Response) -> Result<Body, ReadError> {
        let (body, read) = self.body_so_far(response).await;
        read.map(|()| body)
    }

    /// The answer, unpacked, as far as it came, and whether that is all of it.
    pub(crate) async fn body_so_far(&self, response: Response) -> (Body, Result<(), ReadError>) {
        let (mut body, mut held) = (BytesMut::new(), self.nothing_held());
        let read = self.read(response, &mut body, &mut held).await;
        (Body { bytes: body.freeze(), _room: Some(held) }, read)
    }

    async fn read(&self, response: Response, body: &mut BytesMut, held: &mut Held) -> Result<(), ReadError> {
        // The length that the header claims is not believed before the bytes are there.
        if response.content_length().is_some_and(|n| n > self.settings.max_response_bytes as u64) {
            return Err(ReadError::TooLarge);
        }
        let mut pieces = self.passed(response)?;
        while let Some(piece) = self.next(&mut pieces, held).await? {
            body.extend_from_slice(&piece);
        }
        Ok(())
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
            builder.no_proxy().dns_resolver(Arc::new(Resolver { allow_private, inner: System }))
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

/// Whether calls can go through the proxy that a variable of the environment names. The client ignores a name that it cannot
/// read and calls directly; to a SOCKS proxy it would speak HTTP.
pub fn can_proxy(name: &str) -> bool {
    let proxy = Matcher::builder().all(name).build().intercept(&Uri::from_static("http://deja.example"));
    proxy.is_some_and(|proxy| matches!(proxy.uri().scheme_str(), Some("http" | "https")))
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
