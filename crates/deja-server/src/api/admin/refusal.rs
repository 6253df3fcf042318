//! One table: why a request was not done -> status, cause and text, in the shape of deja's own API.

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use deja_core::admin::AdminError;
use deja_core::member::Rank;

use super::shape;
use crate::api::error::{ApiError, ERROR_CODE, ErrorBody, OVERLOADED, UNAVAILABLE};

/// Why a request was not done.
#[derive(Debug)]
pub(super) enum Refusal {
    /// No access token.
    NoToken,
    /// A token that does not work.
    UnknownToken,
    /// A token whose time is over.
    ExpiredToken,
    /// Too many tokens that do not work from this address.
    Throttled(Duration),
    /// What was sent cannot be read, or be done; says why.
    Bad(String),
    /// Not for a member.
    OwnersOnly,
    /// Not for this rank in the project, but for this one.
    RankTooLow(Rank),
    /// What it is about is not there.
    NotFound(String),
    /// The path takes another method.
    MethodNotAllowed,
    /// It is there already.
    Conflict(String),
    /// Too busy.
    Overloaded,
    /// Storage does not work now; the cause is for the log only.
    Unavailable(String),
    /// It could not be done; for the log only.
    Failed(String),
}

impl Refusal {
    fn parts(&self) -> (StatusCode, &'static str, &str) {
        const UNAUTHORIZED: &str = "Invalid or missing access token";
        match self {
            Self::NoToken => (StatusCode::UNAUTHORIZED, "no_access_token", UNAUTHORIZED),
            Self::UnknownToken => (StatusCode::UNAUTHORIZED, "unknown_access_token", UNAUTHORIZED),
            Self::ExpiredToken => (StatusCode::UNAUTHORIZED, "expired_access_token", UNAUTHORIZED),
            Self::Throttled(_) => (
                StatusCode::TOO_MANY_REQUESTS,
                "too_many_attempts",
                "Too many requests without a valid access token. Please try again later.",
            ),
            Self::Bad(detail) => (StatusCode::BAD_REQUEST, "bad_request", detail),
            Self::OwnersOnly => {
                (StatusCode::FORBIDDEN, "owners_only", "Only an owner may do this: your role is member")
            }
            Self::RankTooLow(Rank::Owner) => {
                (StatusCode::FORBIDDEN, "rank_too_low", "Only an owner of the project may do this")
            }
            Self::RankTooLow(Rank::Viewer | Rank::Editor) => (
                StatusCode::FORBIDDEN,
                "rank_too_low",
                "Only an editor or an owner of the project may do this",
            ),
            Self::NotFound(detail) => (StatusCode::NOT_FOUND, "not_found", detail),
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Method not allowed")
            }
            Self::Conflict(detail) => (StatusCode::CONFLICT, "conflict", detail),
            Self::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "overloaded", OVERLOADED),
            Self::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable", UNAVAILABLE),
            Self::Failed(_) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "Internal server error. The log says more, under the request's id.",
            ),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, cause, detail) = self.parts();
        if let Self::Failed(why) | Self::Unavailable(why) = &self {
            tracing::error!(error.code = cause, "a request to the admin API failed: {why}");
        }
        let mut response = (status, Json(ErrorBody { detail: detail.to_owned() })).into_response();
        let headers = response.headers_mut();
        headers.insert(ERROR_CODE, HeaderValue::from_static(cause));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        let wait = match self {
            Self::Throttled(wait) => Some(wait.as_secs().max(1)),
            Self::Overloaded | Self::Unavailable(_) => Some(1),
            _ => None,
        };
        if let Some(seconds) = wait {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<AdminError> for Refusal {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Invalid(why) | AdminError::Setting { problem: why, .. } => Self::Bad(why),
            AdminError::OwnersOnly => Self::OwnersOnly,
            AdminError::Disabled => Self::UnknownToken,
            AdminError::RankTooLow(least) => Self::RankTooLow(least),
            AdminError::NotFound(what) => Self::NotFound(what),
            AdminError::Conflict(what) => Self::Conflict(what),
            AdminError::Unavailable(cause) | AdminError::TookTooLong(cause) => Self::Unavailable(cause),
            AdminError::Failed(cause) => Self::Failed(cause),
        }
    }
}

/// What reading a body ends with.
impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Overloaded => Self::Overloaded,
            error => Self::Bad(error.detail().to_owned()),
        }
    }
}

impl From<PathRejection> for Refusal {
    fn from(_: PathRejection) -> Self {
        Self::NotFound("what the path names is not there".into())
    }
}

impl From<QueryRejection> for Refusal {
    fn from(error: QueryRejection) -> Self {
        let text = error.body_text();
        Self::Bad(shape::error_line(
            "the query string",
            text.rsplit_once(": ").map_or(&*text, |(_, error)| error),
        ))
    }
}

#[cfg(test)]
mod tests {
    use deja_core::store::StoreError;

    use super::*;

    #[test]
    fn a_database_that_is_away_is_no_fault_of_deja() {
        let of = |error: StoreError| Refusal::from(AdminError::from(error)).into_response();
        let away = of(StoreError::Unavailable("no route to 10.0.0.9".into()));
        assert_eq!(away.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(away.headers()[ERROR_CODE], "unavailable");
        assert_eq!(away.headers()[RETRY_AFTER], "1");
        let fault = of(StoreError::Corrupt("no number".into()));
        assert_eq!(fault.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!fault.headers().contains_key(RETRY_AFTER));
    }
}
