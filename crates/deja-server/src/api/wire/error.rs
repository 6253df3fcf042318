//! One table: error -> status and body in the shape that the wire's clients read. `{"detail"}` stands nowhere here.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use deja_wire::{ErrorKind, Wire, error_body};

use crate::api::error::{ApiError, ERROR_CODE};

/// Tells the SDKs, which ask again by themselves, whether to.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Why a request in a wire format was not answered.
#[derive(Debug)]
pub(super) enum WireError {
    /// What may befall any request.
    Any(ApiError),
    /// 400: the request's shape.
    Malformed { message: String, param: Option<String> },
    /// 404: no such model or path; the text says what there is.
    NotFound(String),
}

impl WireError {
    /// The kind, what it says, its code where that is more exact than the kind's, and whether to ask again.
    fn parts(&self) -> (ErrorKind, Cow<'_, str>, Option<&'static str>, Option<bool>) {
        match self {
            Self::Any(error) => of_any(error),
            Self::Malformed { message, .. } => (ErrorKind::Invalid, message.into(), None, None),
            Self::NotFound(message) => (ErrorKind::NotFound, message.into(), None, None),
        }
    }

    /// The answer to a client of `wire`.
    pub(super) fn into_response(self, wire: Wire) -> Response {
        if let Self::Any(error) = &self {
            error.log();
        }
        let (kind, message, code, again) = self.parts();
        let param = if let Self::Malformed { param, .. } = &self { param.as_deref() } else { None };
        let status = StatusCode::from_u16(kind.status(wire)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = error_body(wire, kind, &message, code, param);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Self::Any(error) = &self {
            if let Some(code) = error.code() {
                headers.insert(ERROR_CODE, HeaderValue::from_static(code));
            }
            if let Some(seconds) = error.retry_after() {
                headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
            }
        }
        if let Some(again) = again {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static(if again { "true" } else { "false" }));
        }
        (status, headers, Body::from(body)).into_response()
    }
}

fn of_any(error: &ApiError) -> (ErrorKind, Cow<'_, str>, Option<&'static str>, Option<bool>) {
    let text = Cow::Borrowed(error.detail());
    match error {
        ApiError::BadRequest(_) => (ErrorKind::Invalid, text, None, None),
        ApiError::Unauthorized => (ErrorKind::Unauthenticated, text, None, None),
        ApiError::Forbidden => (ErrorKind::Forbidden, text, None, None),
        ApiError::NotFound | ApiError::Unknown(_) => (ErrorKind::NotFound, text, None, None),
        ApiError::MethodNotAllowed => (ErrorKind::Method, text, None, None),
        ApiError::RateLimited(_) => (ErrorKind::RateLimited, text, None, None),
        ApiError::Overloaded | ApiError::Unavailable(_) => (ErrorKind::Overloaded, text, None, None),
        ApiError::TimedOut => (ErrorKind::Late, text, error.code(), None),
        ApiError::Provider { code, .. } => of_provider(code),
        ApiError::Internal(_) => (ErrorKind::Internal, text, None, None),
    }
}

/// A provider that gave no answer that could be passed on.
fn of_provider(code: &'static str) -> (ErrorKind, Cow<'static, str>, Option<&'static str>, Option<bool>) {
    let (kind, text, code, again) = match code {
        "provider_auth" => {
            let text = "The provider refused deja's credentials. Tell deja's operator.";
            (ErrorKind::Unreachable, text, code, Some(false))
        }
        "provider_quota" => {
            let text = "deja's account at the provider has no credit left. Tell deja's operator.";
            (ErrorKind::RateLimited, text, "insufficient_quota", Some(false))
        }
        "provider_not_configured" => {
            let text = "deja has no credentials for this model's provider. Tell deja's operator.";
            (ErrorKind::Unreachable, text, code, Some(false))
        }
        "provider_timeout" => (ErrorKind::Late, "The provider did not answer in time.", code, None),
        "provider_connection" => (ErrorKind::Unreachable, "The provider could not be reached.", code, None),
        _ => (ErrorKind::Unreachable, "The provider gave no answer that can be used.", code, None),
    };
    (kind, Cow::Borrowed(text), Some(code), again)
}

impl<E: Into<ApiError>> From<E> for WireError {
    fn from(error: E) -> Self {
        Self::Any(error.into())
    }
}
