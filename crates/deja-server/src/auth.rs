//! Who is asking: the key, its project, its limit, its permission; in this order, 401, 429, 403.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use deja_core::analytics::Surface;
use deja_core::api_key::{KeyHash, PlainKey};
use deja_core::engine::{Admitted, Engine, NotAdmitted};
use deja_core::project::Project;
use deja_core::rate_limit::Decision;
use deja_core::store::LookUp;
use serde::Deserialize;

use crate::api::body::{SHORT, announced};
use crate::api::error::ApiError;
use crate::request_id;

/// The refusal of a request.
pub struct Refused {
    /// The reason.
    pub error: ApiError,
    /// The decision of the rate limiter; `None` if it was not asked, because the key is not known.
    pub limit: Option<Decision>,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = self.error.into_response();
        if let Some(limit) = &self.limit {
            write_limit(limit, response.headers_mut());
        }
        response
    }
}

/// The project slug of a `/p/<slug>` base URL, if the request came to one. A slug that is no UTF-8 is empty: no project's.
pub struct Base(pub Option<String>);

#[derive(Deserialize)]
struct Named {
    slug: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Base {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(Self(match Option::<Path<Named>>::from_request_parts(parts, state).await {
            Ok(named) => named.and_then(|Path(named)| named.slug),
            // What else of the path is no UTF-8 is not there: its handler says so.
            Err(rejected) => not_utf8(&rejected).filter(|key| *key == "slug").map(|_| String::new()),
        }))
    }
}

/// The parameter of a path that is no UTF-8.
fn not_utf8(rejected: &PathRejection) -> Option<&str> {
    let PathRejection::FailedToDeserializePathParams(failed) = rejected else { return None };
    if let ErrorKind::InvalidUtf8InPathParam { key } = failed.kind() { Some(key) } else { None }
}

/// The headers that clients put a key into. For deja's own API only the first may hold it.
static KEY_HEADERS: [HeaderName; 4] = [
    AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
    HeaderName::from_static("api-key"),
];

/// The causes of a 401, in `X-Deja-Error`.
const NO_KEY: &str = "no_api_key";
const UNKNOWN_KEY: &str = "unknown_api_key";
const EXPIRED_KEY: &str = "expired_api_key";

/// Admits the bearer of a key with a request that came through `surface`. `wanted` is looked up meanwhile. If `base` names
/// another project, the key is refused: so nobody can tell somebody else's slug from a slug that does not exist.
pub async fn admit(
    engine: &Engine,
    key: &KeyHash,
    headers: &HeaderMap,
    base: &Base,
    surface: Surface,
    wanted: Option<LookUp>,
) -> Result<Admitted, Refused> {
    Ok(engine.admit(key, base.0.as_deref(), surface, request_id::in_headers(headers), wanted).await?)
}

/// Admits the bearer of a key with feedback, which has a limit of its own.
pub async fn admit_feedback(engine: &Engine, headers: &HeaderMap, base: &Base) -> Result<Admitted, Refused> {
    Ok(engine.admit_feedback(&key_of(headers)?, base.0.as_deref()).await?)
}

/// The project that a key was admitted to before. By it a request is read before it is admitted, so that its entry is looked up
/// meanwhile. `None` for a long body: it would take room of other requests before key and limit are known.
pub fn guess(engine: &Engine, key: &KeyHash, headers: &HeaderMap, base: &Base) -> Option<Arc<Project>> {
    let is_short = announced(headers).is_some_and(|length| length <= SHORT as u64);
    if is_short { engine.guess(key, base.0.as_deref()) } else { None }
}

/// The key of a request of deja's own API.
pub fn key_of(headers: &HeaderMap) -> Result<KeyHash, Refused> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    // Two headers count as none: nobody knows which of them a proxy has checked.
    let value = values.next().filter(|_| values.next().is_none());
    let key = value.and_then(bearer).and_then(PlainKey::parse);
    Ok(key.ok_or_else(|| keyless(headers.contains_key(AUTHORIZATION)))?.hash())
}

/// The key from any header that clients of providers put theirs into. All these headers are taken out: the others may go on to a
/// provider.
pub fn take_key(headers: &mut HeaderMap) -> Result<KeyHash, Refused> {
    let key = any_key(headers);
    let mut sent = false;
    for name in &KEY_HEADERS {
        sent |= headers.remove(name).is_some();
    }
    key.ok_or_else(|| keyless(sent))
}

/// The refusal of a request without a key. `sent` says that a header of keys came, with something else in it.
fn keyless(sent: bool) -> Refused {
    Refused { error: ApiError::Unauthorized(if sent { UNKNOWN_KEY } else { NO_KEY }), limit: None }
}

impl From<NotAdmitted> for Refused {
    fn from(why: NotAdmitted) -> Self {
        let (error, limit) = match why {
            NotAdmitted::UnknownKey => (ApiError::Unauthorized(UNKNOWN_KEY), None),
            NotAdmitted::ExpiredKey => (ApiError::Unauthorized(EXPIRED_KEY), None),
            NotAdmitted::RateLimited(limit) => (ApiError::RateLimited(limit), Some(limit)),
            NotAdmitted::Forbidden(why, limit) => (ApiError::Forbidden(why), Some(limit)),
            NotAdmitted::Store(error) => (error.into(), None),
        };
        Self { error, limit }
    }
}

/// The key, if all headers of keys hold the same.
fn any_key(headers: &HeaderMap) -> Option<KeyHash> {
    let mut keys = KEY_HEADERS.iter().flat_map(|name| {
        headers.get_all(name).iter().map(move |value| {
            if name == AUTHORIZATION { bearer(value) } else { value.to_str().ok().map(str::trim) }
        })
    });
    let first = keys.next()??;
    let agree = keys.all(|key| key == Some(first));
    agree.then(|| PlainKey::parse(first)).flatten().map(|key| key.hash())
}

/// The token of `Bearer <token>` (RFC 6750; the scheme's name in any case).
pub(crate) fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim_matches(' '))
}

/// Writes the limit's state into an answer's headers.
pub fn write_limit(limit: &Decision, headers: &mut HeaderMap) {
    const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
    const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
    const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
    headers.insert(LIMIT, HeaderValue::from(limit.limit));
    headers.insert(REMAINING, HeaderValue::from(limit.remaining));
    headers.insert(RESET, HeaderValue::from(limit.reset));
}

#[cfg(test)]
mod tests {
    use deja_core::rate_limit::LimitOf;

    use super::*;

    const KEY: &str = "dj_000102030405060708090a0b0c0d0e0f";
    const OTHER: &str = "dj_ff0102030405060708090a0b0c0d0e0f";

    fn headers(given: &[(&'static str, String)]) -> HeaderMap {
        given.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    /// The key, or the cause.
    fn said(of: Result<KeyHash, Refused>) -> Result<KeyHash, &'static str> {
        of.map_err(|refused| match (refused.error, refused.limit) {
            (ApiError::Unauthorized(cause), None) => cause,
            _ => "another refusal",
        })
    }

    #[test]
    fn a_key_of_dejas_own_api_stands_in_one_header_once() {
        let hash = PlainKey::parse(KEY).unwrap().hash();
        let bearer = |key: &str| ("authorization", format!("Bearer {key}"));
        for (given, expected) in [
            (vec![bearer(KEY)], Ok(hash)),
            (vec![bearer(KEY), ("x-api-key", OTHER.to_owned())], Ok(hash)),
            (vec![], Err(NO_KEY)),
            (vec![("x-api-key", KEY.to_owned())], Err(NO_KEY)),
            (vec![bearer("sk-none")], Err(UNKNOWN_KEY)),
            (vec![("authorization", KEY.to_owned())], Err(UNKNOWN_KEY)),
        ] {
            assert_eq!(said(key_of(&headers(&given))), expected, "{given:?}");
        }
        let mut twice = headers(&[bearer(KEY)]);
        twice.append(AUTHORIZATION, format!("Bearer {KEY}").parse().unwrap());
        assert_eq!(said(key_of(&twice)), Err(UNKNOWN_KEY));
    }

    #[test]
    fn a_key_of_the_wires_is_the_same_in_all_headers_and_goes_no_further() {
        let hash = PlainKey::parse(KEY).unwrap().hash();
        let bearer = |key: &str| ("authorization", format!("Bearer {key}"));
        let plain = |name, key: &str| (name, key.to_owned());
        for (given, expected) in [
            (vec![bearer(KEY)], Ok(hash)),
            (vec![plain("x-api-key", KEY)], Ok(hash)),
            (vec![plain("x-goog-api-key", KEY)], Ok(hash)),
            (vec![plain("api-key", KEY), bearer(KEY)], Ok(hash)),
            (vec![plain("api-key", KEY), plain("x-api-key", OTHER)], Err(UNKNOWN_KEY)),
            (vec![bearer(KEY), plain("x-api-key", "sk-none")], Err(UNKNOWN_KEY)),
            (vec![plain("authorization", KEY)], Err(UNKNOWN_KEY)),
            (vec![plain("x-api-key", "sk-none")], Err(UNKNOWN_KEY)),
            (vec![plain("x-api-key", "sk-none"), plain("api-key", "sk-none")], Err(UNKNOWN_KEY)),
            (vec![], Err(NO_KEY)),
        ] {
            let mut all = headers(&given);
            all.insert("x-other", HeaderValue::from_static("stays"));
            assert_eq!(said(take_key(&mut all)), expected, "{given:?}");
            assert_eq!(all.len(), 1, "{given:?}");
        }
    }

    #[test]
    fn the_limit_is_told_in_three_headers() {
        let limit = Decision {
            allowed: false,
            of: LimitOf::Project,
            limit: 60,
            remaining: 7,
            reset: 99,
            retry_after: 1,
        };
        let refused = Refused { error: ApiError::RateLimited(limit), limit: Some(limit) }.into_response();
        let told = ["limit", "remaining", "reset"]
            .map(|name| refused.headers()[&format!("x-ratelimit-{name}")].clone());
        assert_eq!(told, ["60", "7", "99"]);
        assert_eq!(refused.status(), 429);
    }

    #[test]
    fn the_bearer_token_is_found() {
        for (value, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("abc", None),
            ("Basic abc", None),
            ("Bearer", None),
        ] {
            assert_eq!(bearer(&HeaderValue::from_static(value)), token, "{value}");
        }
    }
}
