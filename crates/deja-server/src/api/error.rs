//! One table: error -> status and `detail`. Every error body is `{"detail": "..."}` and nothing else.

use std::time::Duration;

use axum::Json;
use axum::http::header::{HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use deja_core::engine::{Cause, NotAllowed, QueryError};
use deja_core::log_throttle::LogThrottle;
use deja_core::provider::{FailureClass, Keyless};
use deja_core::rate_limit::Decision;
use deja_core::store::StoreError;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Tells a person with the logs which failure an answer with a general text stands for.
pub const ERROR_CODE: HeaderName = HeaderName::from_static("x-deja-error");

/// Every error body.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// What is wrong, for people.
    pub detail: String,
}

/// Why a request was not answered.
#[derive(Debug)]
pub enum ApiError {
    /// 400: the request's shape; the text names the field or the limit.
    BadRequest(String),
    /// 400: nobody serves the model; the text says what to do.
    ModelNotSupported(String),
    /// 401: no key, or none that works; the code says which.
    Unauthorized(&'static str),
    /// 403: the key opens another project, its project is suspended, or the model is not for it.
    Forbidden(NotAllowed),
    /// 404: no such path.
    NotFound,
    /// 404: what a request names is not there; the text says what that may mean.
    Unknown(&'static str),
    /// 405: the path takes another method.
    MethodNotAllowed,
    /// 429: over the limit of the project or of the key.
    RateLimited(Decision),
    /// 503: too busy.
    Overloaded,
    /// 503: the answer took longer than a query may.
    TimedOut,
    /// 503: storage or the embedding model does not work now.
    Unavailable(String),
    /// 500: the provider failed; the code says how, and the provider after how many seconds to ask again.
    Provider { code: &'static str, cause: String, retry_after: Option<u32> },
    /// 500: the provider had no answer to the last calls, and is asked again after so many seconds.
    ProviderDown { provider: String, retry_after: u32 },
    /// 500: a bug.
    Internal(String),
}

const UNAUTHORIZED: &str = "Invalid or missing API key";
const FORBIDDEN: &str = "API key does not have permission to access this project";
/// What whoever is over a limit reads.
pub(crate) const RATE_LIMITED: &str = "Rate limit exceeded. Please try again later.";
const INTERNAL: &str = "Internal server error. Please try again or contact support.";
/// What whoever asks reads while there is too much to do.
pub(super) const OVERLOADED: &str = "The service is overloaded. Please try again in a moment.";
const TIMED_OUT: &str =
    "The answer took too long. Please try again in a moment: an answer that is under way is kept.";
/// What whoever asks reads while storage or the embedder does not work.
pub(super) const UNAVAILABLE: &str = "The service is temporarily unavailable. Please try again in a moment.";

impl ApiError {
    /// What is wrong, for people.
    pub(super) fn detail(&self) -> &str {
        self.parts().1
    }

    /// After how many seconds to ask again.
    pub(super) const fn retry_after(&self) -> Option<u32> {
        match self {
            Self::RateLimited(decision) => Some(decision.retry_after),
            Self::Overloaded | Self::TimedOut | Self::Unavailable(_) => Some(1),
            Self::Provider { retry_after, .. } => *retry_after,
            Self::ProviderDown { retry_after, .. } => Some(*retry_after),
            _ => None,
        }
    }

    fn parts(&self) -> (StatusCode, &str, &'static str) {
        match self {
            Self::BadRequest(detail) => (StatusCode::BAD_REQUEST, detail, "bad_request"),
            Self::ModelNotSupported(detail) => (StatusCode::BAD_REQUEST, detail, "model_not_supported"),
            Self::Unauthorized(cause) => (StatusCode::UNAUTHORIZED, UNAUTHORIZED, cause),
            Self::Forbidden(why) => (StatusCode::FORBIDDEN, FORBIDDEN, why.code()),
            Self::NotFound => (StatusCode::NOT_FOUND, "Not found", "not_found"),
            Self::Unknown(detail) => (StatusCode::NOT_FOUND, detail, "not_found"),
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, "Method not allowed", "method_not_allowed")
            }
            Self::RateLimited(decision) => (StatusCode::TOO_MANY_REQUESTS, RATE_LIMITED, decision.of.cause()),
            Self::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, OVERLOADED, "overloaded"),
            Self::TimedOut => (StatusCode::SERVICE_UNAVAILABLE, TIMED_OUT, "query_timeout"),
            Self::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, "unavailable"),
            Self::Provider { code, .. } => (StatusCode::INTERNAL_SERVER_ERROR, INTERNAL, code),
            Self::ProviderDown { .. } => {
                (StatusCode::INTERNAL_SERVER_ERROR, INTERNAL, FailureClass::Down.code())
            }
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, INTERNAL, "internal"),
        }
    }

    /// Logs what the client is not told. The one place where failures of requests are logged. That a provider is down was
    /// said when it began; while storage is down or there is too much to do, a line every few seconds says so and for how many
    /// requests.
    pub(super) fn log(&self) {
        match self {
            Self::Provider { code, cause, .. } => {
                tracing::warn!(error.code = code, "provider call failed: {cause}");
            }
            Self::Unavailable(cause) => {
                static LINE: LogThrottle = LogThrottle::new();
                if let Some(requests) = LINE.turn() {
                    tracing::error!(error.code = "unavailable", requests, "refused: {cause}");
                }
            }
            Self::Overloaded => {
                static LINE: LogThrottle = LogThrottle::new();
                if let Some(requests) = LINE.turn() {
                    tracing::warn!(requests, "refused: there was too much to do");
                }
            }
            Self::Internal(cause) => tracing::error!(error.code = "internal", "request failed: {cause}"),
            _ => {}
        }
    }
}

impl Cause for ApiError {
    fn cause(&self) -> &'static str {
        self.parts().2
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log();
        let (status, detail, code) = self.parts();
        let mut response = (status, Json(ErrorBody { detail: detail.to_owned() })).into_response();
        let headers = response.headers_mut();
        headers.insert(ERROR_CODE, HeaderValue::from_static(code));
        challenge(status, headers);
        if let Some(seconds) = self.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        QueryError::from(error).into()
    }
}

impl From<QueryError> for ApiError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Forbidden(why) => Self::Forbidden(why),
            QueryError::ModelNotSupported { model } => Self::ModelNotSupported(format!(
                "model '{model}' is not supported: ask for a model of OpenAI, Anthropic or Google, or have your \
                 operator add its provider with `deja provider add`"
            )),
            QueryError::NoCredentials(keyless) => Self::Provider {
                code: "provider_not_configured",
                cause: match &keyless {
                    Keyless::BuiltIn(_) => format!("{keyless}: set it in the environment and restart"),
                    Keyless::Own(_) => {
                        format!("{keyless}: type the key again in the console, under Providers")
                    }
                },
                retry_after: None,
            },
            // These end requests in wire formats only, which tell them in their own words.
            QueryError::WrongEndpoint { .. } | QueryError::NotCached | QueryError::Declined(_) => {
                Self::Internal(error.to_string())
            }
            // Calls are cut at the end of a stop.
            QueryError::Unfinished => Self::Unavailable("the call was cut: deja stops".into()),
            QueryError::Overloaded => Self::Overloaded,
            QueryError::DeadlineExceeded => Self::TimedOut,
            QueryError::Unavailable(cause) => Self::Unavailable(cause),
            // The provider's own words may quote the prompt: they stay out of the log, at every level. Its code
            // does not, if it looks like one. Why there is no connection is not in its words.
            QueryError::Provider(error) => {
                let code = error.class.code();
                let why = if error.class == FailureClass::Connection {
                    error.message
                } else {
                    let own = error.code.filter(|code| is_code(code)).unwrap_or_else(|| "none".into());
                    format!("its code: {own}")
                };
                let cause = format!("{code} from {} ({why})", error.provider);
                // Up: who asks again too early is refused again.
                let seconds = |wait: Duration| (wait.as_secs_f64().ceil() as u32).max(1);
                let retry_after = error.retry_after.map(seconds);
                if error.class == FailureClass::Down {
                    return Self::ProviderDown {
                        provider: error.provider,
                        retry_after: retry_after.unwrap_or(1),
                    };
                }
                Self::Provider { code, cause, retry_after }
            }
            QueryError::Internal(cause) => Self::Internal(cause),
        }
    }
}

/// Says how to say who asks. Some HTTP clients take a 401 without it for a broken answer (RFC 9110, 11.6.1).
pub fn challenge(status: StatusCode, headers: &mut HeaderMap) {
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
}

fn is_code(text: &str) -> bool {
    text.len() <= 64 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}
