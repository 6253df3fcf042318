//! Fetches the price map from the URL that the operator set. What is in it is read and checked elsewhere.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use reqwest::{Method, StatusCode, Url};
use tokio::time::timeout;

use crate::http::{Client, ClientError, HttpSettings, ReadError, Trust, chain};

/// Largest price map in bytes; the public one has 1.7 MB.
pub(crate) const MAX_PRICE_BYTES: usize = 16 * 1024 * 1024;
/// Longest time to fetch it.
pub(crate) const PRICE_TIMEOUT: Duration = Duration::from_secs(30);

/// A price map from the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The one with the given ETag is still the newest.
    NotModified,
    /// A new one.
    Body {
        /// As it came.
        bytes: Bytes,
        /// For the next time.
        etag: Option<String>,
    },
}

/// Why no price map came.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PriceFetchError {
    /// Not an http or https URL.
    #[error("the price URL is not an http or https URL")]
    Url,
    /// The HTTP client could not be set up.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// No connection, or one that broke.
    #[error("the price map could not be fetched: {0}")]
    Connection(String),
    /// Too slow.
    #[error("the price map did not come within {} s", PRICE_TIMEOUT.as_secs())]
    Timeout,
    /// An answer with another status than 200 or 304.
    #[error("the server of the price map answered with status {0}")]
    Status(u16),
    /// Larger than [`MAX_PRICE_BYTES`].
    #[error("the price map is larger than {MAX_PRICE_BYTES} bytes")]
    TooLarge,
}

/// The price map at `url`, unless it is the one with `etag`. Redirects are not followed, and compression is not asked for.
/// Never takes longer than [`PRICE_TIMEOUT`] or reads more than [`MAX_PRICE_BYTES`].
pub async fn fetch_prices(
    url: &str,
    etag: Option<&str>,
    settings: &HttpSettings,
) -> Result<Fetched, PriceFetchError> {
    let url = Url::parse(url.trim()).map_err(|_| PriceFetchError::Url)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(PriceFetchError::Url);
    }
    let settings = HttpSettings {
        max_response_bytes: MAX_PRICE_BYTES,
        idle_timeout: PRICE_TIMEOUT.min(settings.idle_timeout),
        ..settings.clone()
    };
    let limit = PRICE_TIMEOUT.min(settings.total_deadline);
    let client = Client::new(Trust::Operator, settings)?;
    timeout(limit, fetch(&client, url, etag)).await.unwrap_or(Err(PriceFetchError::Timeout))
}

async fn fetch(client: &Client, url: Url, etag: Option<&str>) -> Result<Fetched, PriceFetchError> {
    let mut request = client.request(Method::GET, url).map_err(|_| PriceFetchError::Url)?;
    if let Some(etag) = etag.and_then(|etag| HeaderValue::from_str(etag).ok()) {
        request = request.header(IF_NONE_MATCH, etag);
    }
    let broken = |error: reqwest::Error| {
        if error.is_timeout() {
            PriceFetchError::Timeout
        } else {
            PriceFetchError::Connection(chain(&error.without_url()))
        }
    };
    let response = request.send().await.map_err(broken)?;
    match response.status() {
        StatusCode::NOT_MODIFIED => return Ok(Fetched::NotModified),
        StatusCode::OK => {}
        status => return Err(PriceFetchError::Status(status.as_u16())),
    }
    let etag = response.headers().get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
    let body = client.body(response).await.map_err(|error| match error {
        ReadError::Broken(error) => broken(error),
        ReadError::Idle => PriceFetchError::Timeout,
        ReadError::TooLarge | ReadError::NoRoom => PriceFetchError::TooLarge,
        ReadError::Packed(error) => PriceFetchError::Connection(error.to_string()),
    })?;
    Ok(Fetched::Body { bytes: body.bytes, etag })
}
