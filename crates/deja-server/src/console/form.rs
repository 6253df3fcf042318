//! Reads forms: of bounded size, in bounded time.

use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::Console;
use super::error::ConsoleError;

/// A form as sent by a page.
pub(super) struct Form<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Console>> for Form<T> {
    type Rejection = ConsoleError;

    async fn from_request(request: Request, console: &Arc<Console>) -> Result<Self, ConsoleError> {
        let bad = |what: &str| ConsoleError::BadForm(what.into());
        let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if kind.is_none_or(|kind| !kind.starts_with("application/x-www-form-urlencoded")) {
            return Err(bad("It is not a form of this console"));
        }
        // Percent-encoding makes a text up to three times as long.
        let limits = console.app.limits();
        let body = Limited::new(request.into_body(), limits.body_bytes.saturating_mul(3)).collect();
        let body = match tokio::time::timeout(limits.body_timeout, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(bad("It is too long")),
            Ok(Err(_)) | Err(_) => return Err(bad("It did not arrive whole")),
        };
        serde_html_form::from_bytes(&body).map(Self).map_err(|_| bad("A field is missing or wrong"))
    }
}

/// The number in a field that may be empty.
pub(super) fn number<N: std::str::FromStr>(what: &str, text: &str) -> Result<Option<N>, ConsoleError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || ConsoleError::Refused(format!("{what} must be a number, or empty"));
    text.replace(',', "").parse().map(Some).map_err(|_| wrong())
}
