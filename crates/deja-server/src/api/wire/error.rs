//! One table: error -> status and body in the shape that the wire's clients read. `{"detail"}` stands nowhere here.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use deja_core::engine::{Cause, NotAllowed, QueryError};
use deja_core::store::StoreError;
use deja_wire::{ErrorKind, Malformed, Wire, error_body};

use super::HERE;
use crate::api::error::{ApiError, ERROR_CODE, challenge};

/// Tells the SDKs, which ask again by themselves, not to.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Causes with which asking again is no use.
const FINAL: [&str; 5] = [
    "not_cached", "provider_auth", "provider_quota", "provider_not_configured",
    // A provider's own refusal of a request is passed on. This request was not sent.
    "provider_invalid_request",
];

/// Why a request in a wire format was not answered.
#[derive(Debug)]
pub(super) enum WireError {
    /// What may befall any request.
    Any(ApiError),
    /// 400: the request's shape.
    Malformed(Malformed),
    /// 404: no such model or path; the text says what there is. Without a code it is the model: clients ask for another one then.
    NotFound { message: String, cause: &'static str, code: Option<&'static str> },
    /// 413: the body has more bytes than this.
    TooLarge(usize),
    /// 415: the body is compressed.
    Packed,
    /// 504: only a stored answer was wanted.
    NotCached,
    /// The provider's own status, with a body that is not for the wire's clients.
    Unreadable(u16),
}

impl WireError {
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed(Malformed { message: message.into(), param: None, code: None })
    }

    /// 404: no such path.
    pub(super) fn nowhere() -> Self {
        let message = format!("This is no path or method of deja. {HERE}.");
        Self::NotFound { message, cause: "not_found", code: Some("unknown_url") }
    }

    /// The kind, what it says, and its code where that is more exact than the kind's.
    fn parts(&self) -> (ErrorKind, Cow<'_, str>, Option<&'static str>) {
        match self {
            Self::Any(error) => of_any(error),
            Self::Malformed(Malformed { message, code, .. }) => (ErrorKind::Invalid, message.into(), *code),
            Self::NotFound { message, code, .. } => (ErrorKind::NotFound, message.into(), *code),
            Self::TooLarge(most) => {
                let message = format!("The body is larger than the limit of {most} bytes.");
                (ErrorKind::TooLarge, message.into(), None)
            }
            Self::Packed => {
                let message = "The body is compressed: send no Content-Encoding.";
                (ErrorKind::Unsupported, message.into(), None)
            }
            Self::NotCached => {
                let message = "No stored answer serves this request, and only a stored one was asked for.";
                (ErrorKind::NotCached, message.into(), None)
            }
            Self::Unreadable(status) => {
                let message = format!("The provider answered with status {status} and no JSON.");
                (ErrorKind::Unreachable, message.into(), Some("provider_bad_response"))
            }
        }
    }

    /// The answer to a client of `wire`.
    pub(super) fn into_response(self, wire: Wire) -> Response {
        if let Self::Any(error) = &self {
            error.log();
        }
        let (kind, message, code) = self.parts();
        let mut headers = HeaderMap::new();
        let (param, status) = match &self {
            Self::Malformed(malformed) => (malformed.param.as_deref(), kind.status(wire)),
            Self::Unreadable(status) => (None, *status),
            _ => (None, kind.status(wire)),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = error_body(wire, kind, &message, code, param);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ERROR_CODE, HeaderValue::from_static(self.cause()));
        if let Self::Any(error) = &self
            && let Some(seconds) = error.retry_after()
        {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        challenge(status, &mut headers);
        if FINAL.contains(&self.cause()) {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        (status, headers, Body::from(body)).into_response()
    }
}

/// The same in all formats.
impl Cause for WireError {
    fn cause(&self) -> &'static str {
        match self {
            Self::Any(error) => error.cause(),
            Self::Malformed(_) => "bad_request",
            Self::NotFound { cause, .. } => cause,
            Self::TooLarge(_) => "too_large",
            Self::Packed => "packed",
            Self::NotCached => "not_cached",
            Self::Unreadable(_) => "provider_bad_response",
        }
    }
}

fn of_any(error: &ApiError) -> (ErrorKind, Cow<'_, str>, Option<&'static str>) {
    let text = Cow::Borrowed(error.detail());
    match error {
        ApiError::BadRequest(_) | ApiError::ModelNotSupported(_) => (ErrorKind::Invalid, text, None),
        ApiError::Unauthorized(_) => (ErrorKind::Unauthenticated, text, None),
        ApiError::Forbidden(why) => {
            let text = match why {
                NotAllowed::Model => "This API key is for other models. GET /v1/models lists them.".into(),
                NotAllowed::Suspended => "The project of this API key is suspended.".into(),
                NotAllowed::OtherProject => text,
            };
            // Clients ask for another model where the code says that this one is not allowed.
            (ErrorKind::Forbidden, text, Some(why.code()))
        }
        ApiError::NotFound | ApiError::Unknown(_) => (ErrorKind::NotFound, text, None),
        ApiError::MethodNotAllowed => (ErrorKind::Method, text, None),
        ApiError::RateLimited(_) => (ErrorKind::RateLimited, text, None),
        ApiError::Overloaded | ApiError::Unavailable(_) => (ErrorKind::Overloaded, text, None),
        ApiError::Provider { code, .. } => of_provider(code),
        ApiError::ProviderDown { provider, retry_after } => {
            let text = format!(
                "{provider} had no answer to the last calls. deja asks it again in {retry_after} s; stored answers are \
                 served meanwhile."
            );
            (ErrorKind::Unreachable, text.into(), Some(error.cause()))
        }
        // Only queries of deja's own API end at a deadline.
        ApiError::TimedOut | ApiError::Internal(_) => (ErrorKind::Internal, text, None),
    }
}

/// A provider that gave no answer that could be passed on.
fn of_provider(code: &'static str) -> (ErrorKind, Cow<'static, str>, Option<&'static str>) {
    let (kind, text, code) = match code {
        "provider_auth" => {
            // Providers say 403 to all of it, and what they say of an account is not for applications.
            let text = "The provider refused this request: deja's key is wrong, its account may not make it, or the content was \
                        refused. Tell deja's operator.";
            (ErrorKind::Unreachable, text, code)
        }
        "provider_quota" => {
            let text = "deja's account at the provider has no credit left. Tell deja's operator.";
            (ErrorKind::Quota, text, "insufficient_quota")
        }
        "provider_not_configured" => {
            let text = "deja has no credentials for this model's provider. Tell deja's operator.";
            (ErrorKind::Unreachable, text, code)
        }
        "provider_invalid_request" => (ErrorKind::Invalid, "A provider's model cannot have this name.", code),
        "provider_timeout" => (ErrorKind::Late, "The provider did not answer in time.", code),
        "provider_connection" => (ErrorKind::Unreachable, "The provider could not be reached.", code),
        "provider_request_interrupted" => {
            let text = "The provider closed the connection while the request was being sent. It may be too large for it.";
            (ErrorKind::Unreachable, text, code)
        }
        _ => (ErrorKind::Unreachable, "The provider gave no answer that can be used.", code),
    };
    (kind, Cow::Borrowed(text), Some(code))
}

impl From<ApiError> for WireError {
    fn from(error: ApiError) -> Self {
        Self::Any(error)
    }
}

impl From<StoreError> for WireError {
    fn from(error: StoreError) -> Self {
        Self::Any(error.into())
    }
}

impl From<QueryError> for WireError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::ModelNotSupported { model } => {
                let message = format!(
                    "There is no provider for model '{model}' at this endpoint. GET /v1/models lists models; deja's operator \
                     adds providers."
                );
                Self::NotFound { message, cause: "model_not_supported", code: None }
            }
            QueryError::WrongEndpoint { model } => {
                let message = format!(
                    "The provider of model '{model}' does not serve this endpoint. Models of OpenAI and of compatible servers \
                     are asked at /v1/chat/completions or /v1/responses, Anthropic's at /v1/messages, Gemini's at \
                     /v1beta/models/{{model}}:generateContent, and Google's own at /v1/chat/completions too."
                );
                Self::NotFound { message, cause: "wrong_endpoint", code: Some("wrong_endpoint") }
            }
            QueryError::NotCached => Self::NotCached,
            error => Self::Any(error.into()),
        }
    }
}

impl From<Malformed> for WireError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::to_bytes;
    use deja_core::provider::{FailureClass, Keyless, ProviderError};
    use serde_json::Value;

    use super::*;

    /// One of each kind.
    fn all() -> Vec<QueryError> {
        let failed = |class| QueryError::from(ProviderError::new("p", class, ""));
        let classes = [FailureClass::Auth, FailureClass::Timeout, FailureClass::Down, FailureClass::NoRoom];
        let allowed = [NotAllowed::Suspended, NotAllowed::OtherProject, NotAllowed::Model];
        let mut all = vec![
            QueryError::ModelNotSupported { model: "m".into() },
            QueryError::WrongEndpoint { model: "m".into() },
            QueryError::NotCached,
            QueryError::NoCredentials(Keyless::BuiltIn("p")),
            QueryError::Overloaded,
            QueryError::DeadlineExceeded,
            QueryError::Unavailable("why".into()),
            QueryError::Internal("why".into()),
        ];
        all.extend(classes.map(failed));
        all.extend(allowed.map(QueryError::Forbidden));
        all
    }

    #[test]
    fn the_log_of_requests_and_the_answer_name_the_same_cause() {
        for error in all() {
            assert_eq!(WireError::from(error.clone()).cause(), error.cause(), "{error:?}");
            // These end requests in wire formats only.
            if !matches!(error, QueryError::WrongEndpoint { .. } | QueryError::NotCached) {
                assert_eq!(ApiError::from(error.clone()).cause(), error.cause(), "{error:?}");
            }
        }
        // What the provider said is the answer then, and its cause is for the log.
        assert_eq!(ApiError::from(QueryError::Declined(None)).cause(), "internal");
        // Calls that are cut at the end of a stop.
        assert_eq!(ApiError::from(QueryError::Unfinished).cause(), "unavailable");
    }

    /// What a client of `wire` is told: the status, what its format calls the kind, and the code where it has one; then
    /// `Retry-After` and `x-should-retry`.
    async fn told(error: QueryError, wire: Wire) -> (u16, String, Option<String>, [Option<String>; 2]) {
        let response = WireError::from(error).into_response(wire);
        let header = |name| Some(response.headers().get(name)?.to_str().unwrap().to_owned());
        let (status, again) = (response.status().as_u16(), [header(RETRY_AFTER), header(SHOULD_RETRY)]);
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        let error: Value = serde_json::from_slice::<Value>(&body).unwrap()["error"].take();
        let text = |name: &str| error[name].as_str().map(str::to_owned);
        let kind = text(if wire == Wire::Gemini { "status" } else { "type" }).unwrap();
        (status, kind, text("code"), again)
    }

    #[tokio::test]
    async fn a_failure_of_a_provider_is_told_in_the_words_of_each_format() {
        use FailureClass::*;
        type Row = (&'static str, u16, &'static str, (u16, &'static str), (u16, &'static str), bool);
        let unreachable =
            |code| -> Row { (code, 502, "server_error", (500, "api_error"), (503, "UNAVAILABLE"), true) };
        let is_final =
            |(code, status, kind, anthropic, google, _): Row| (code, status, kind, anthropic, google, false);
        let late = (504, "timeout_error");
        let invalid = (400, "invalid_request_error");
        let limited = (429, "rate_limit_error");
        let of_provider = |class| {
            let error = ProviderError::new("p", class, "the provider's own words");
            QueryError::from(ProviderError { retry_after: Some(Duration::from_millis(6_100)), ..error })
        };
        let rows = [
            (Auth, is_final(unreachable("provider_auth"))),
            (
                Quota,
                (
                    "insufficient_quota",
                    429,
                    "insufficient_quota",
                    limited,
                    (429, "RESOURCE_EXHAUSTED"),
                    false,
                ),
            ),
            (
                InvalidRequest,
                ("provider_invalid_request", 400, invalid.1, invalid, (400, "INVALID_ARGUMENT"), false),
            ),
            (Timeout, ("provider_timeout", 504, "server_error", late, (504, "DEADLINE_EXCEEDED"), true)),
            (Connection, unreachable("provider_connection")),
            (RequestInterrupted, unreachable("provider_request_interrupted")),
            (StreamInterrupted, unreachable("provider_stream_interrupted")),
            (BadResponse, unreachable("provider_bad_response")),
            (Forbidden, unreachable("provider_address_forbidden")),
            (Down, unreachable("provider_down")),
            // deja has no room: its own fault.
            (
                NoRoom,
                (
                    "server_is_overloaded",
                    503,
                    "service_unavailable_error",
                    (529, "overloaded_error"),
                    (503, "UNAVAILABLE"),
                    true,
                ),
            ),
        ];
        let failed = rows.map(|(class, row)| (of_provider(class), row));
        let unconfigured = (
            QueryError::NoCredentials(Keyless::BuiltIn("p")),
            is_final(unreachable("provider_not_configured")),
        );
        for (error, (code, status, kind, anthropic, google, again)) in
            failed.into_iter().chain([unconfigured])
        {
            for wire in Wire::ALL {
                let (told_status, told_kind, told_code, [after, should]) = told(error.clone(), wire).await;
                let expected = match wire {
                    Wire::Chat | Wire::Responses => (status, kind),
                    Wire::Messages => anthropic,
                    Wire::Gemini => google,
                };
                assert_eq!((told_status, &*told_kind), expected, "{error:?} {wire:?}");
                if matches!(wire, Wire::Chat | Wire::Responses) {
                    assert_eq!(told_code.as_deref(), Some(code), "{error:?}");
                }
                // Without a word the SDKs ask again after such a status.
                assert_eq!(should.as_deref(), (!again).then_some("false"), "{error:?} {wire:?}");
                let waits = match &error {
                    QueryError::Provider(_) => Some("7"),
                    QueryError::Overloaded => Some("1"),
                    _ => None,
                };
                assert_eq!(after.as_deref(), waits, "{error:?} {wire:?}");
            }
        }
    }
}
