//! What goes wrong in the console, as pages that say what to do.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{OriginalUri, Request, State};
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use deja_core::admin::AdminError;
use deja_core::engine::QueryError;
use deja_core::id::EntropyError;
use deja_core::member::Rank;
use deja_core::store::StoreError;

use super::Console;
use super::page::{self, Frame};
use super::session::Cookies;
use crate::format;
use crate::request_id;

/// What to do about a search by text that did not end in time.
pub(super) const SEARCH_TIMEOUT: &str =
    "The search took too long, and was ended. Choose a model or a context as well.";

/// Said where counting what passes a filter did not end in time.
pub(super) const COUNT_TIMEOUT: &str =
    "Counting what passes this filter took too long, and was ended. It can be purged all the same.";

/// Said where sorting what passes a filter did not end in time.
pub(super) const SORT_TIMEOUT: &str =
    "Sorting what passes this filter took too long, and was ended. Sort by “Created”, or sort all entries.";

/// Said where a search of the log of requests, or sorting it, did not end in time.
pub(super) const LOG_TIMEOUT: &str =
    "The search took too long, and was ended. Choose a model or a key as well, or sort by “When”.";

/// Why there is no page.
#[derive(Clone, Debug)]
pub(super) enum ConsoleError {
    /// Nobody is signed in; afterwards go on to this place.
    SignIn { next: String },
    /// Not for this role.
    OwnersOnly,
    /// Not for this rank in the project, but for this one.
    RankTooLow(Rank),
    /// No such page, project, key or entry.
    NotFound,
    /// The place takes another method.
    MethodNotAllowed,
    /// A form of another site.
    CrossSite,
    /// The address holds what this page does not take.
    BadAddress,
    /// Not a form, or not one of ours; says what.
    BadForm(String),
    /// A one-time link that does not work.
    BadLink,
    /// Too many failures to sign in.
    Throttled(Duration),
    /// What was asked for is wrong; says what, for people.
    Refused(String),
    /// Too busy.
    Overloaded,
    /// Storage or something else does not work; for the log only.
    Failed(String),
}

impl ConsoleError {
    /// Something does not work; `cause` is for the log.
    pub(super) fn failed(cause: impl Display) -> Self {
        Self::Failed(cause.to_string())
    }

    /// A field of a form holds what no page of ours puts there.
    pub(super) fn bad_field() -> Self {
        Self::BadForm("A field is wrong".into())
    }

    /// The page that says it in this frame, to the request of this name.
    pub(super) fn page(&self, mut frame: Frame, request: &str) -> Response {
        let (status, title, text, onward) = self.parts(request);
        frame.title = title.into();
        let mut response = page::error(&frame, &text, onward);
        *response.status_mut() = status;
        if let Self::Throttled(wait) = self {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
        }
        response
    }

    /// Whether its page has the navigation of who is signed in: not where reading who that is may fail as well.
    fn is_framed(&self) -> bool {
        !matches!(self, Self::SignIn { .. } | Self::Throttled(_) | Self::Overloaded | Self::Failed(_))
    }

    fn parts(&self, request: &str) -> (StatusCode, &'static str, String, (&'static str, &'static str)) {
        const PROJECTS: (&str, &str) = ("/console/projects", "Go to projects");
        const SIGN_IN: (&str, &str) = ("/console/sign-in", "Go to sign-in");
        match self {
            Self::SignIn { .. } => (StatusCode::UNAUTHORIZED, "Sign in first", String::new(), SIGN_IN),
            Self::OwnersOnly => (
                StatusCode::FORBIDDEN,
                "Owners only",
                "Your role is member. Ask an owner of this installation to do this, or to make you an owner.".into(),
                PROJECTS,
            ),
            Self::RankTooLow(least) => (
                StatusCode::FORBIDDEN,
                "Not for your rank",
                format!("This is for {least}s of the project. Ask an owner of the project for the rank."),
                PROJECTS,
            ),
            Self::NotFound => (
                StatusCode::NOT_FOUND,
                "Not found",
                "There is nothing at this address. It may have been deleted since the link was made.".into(),
                PROJECTS,
            ),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "Not possible",
                "This address takes forms only. Go back and press the button again.".into(),
                PROJECTS,
            ),
            Self::CrossSite => (
                StatusCode::FORBIDDEN,
                "Refused",
                "This form did not come from a page of this console. Open the console itself and do it there. If you \
                 did, a proxy before deja may be changing the Host header: it must pass it on as it is."
                    .into(),
                PROJECTS,
            ),
            Self::BadAddress => (
                StatusCode::BAD_REQUEST,
                "The address could not be read",
                "Something in it is there twice or is not what this page takes. Open the page by its link.".into(),
                PROJECTS,
            ),
            Self::BadForm(what) => (
                StatusCode::BAD_REQUEST,
                "The form could not be read",
                format!("{what}. Go back, reload the page and try again."),
                PROJECTS,
            ),
            Self::BadLink => (
                StatusCode::GONE,
                "This link does not work",
                "It was used already, withdrawn, or is too old. Ask for a new one: an owner makes it under Operators, \
                 and on the server `deja operator create EMAIL` or `deja operator reset-password EMAIL` does."
                    .into(),
                SIGN_IN,
            ),
            Self::Throttled(wait) => (
                StatusCode::TOO_MANY_REQUESTS,
                "Too many attempts",
                format!("Sign-in failed too often from here. Try again in {}.", format::wait(*wait)),
                SIGN_IN,
            ),
            Self::Refused(what) => (StatusCode::UNPROCESSABLE_ENTITY, "Not done", format::sentence(what), PROJECTS),
            Self::Overloaded => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Busy",
                "The server has too much to do right now. Nothing was changed. Try again in a moment.".into(),
                PROJECTS,
            ),
            Self::Failed(_) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "Something failed",
                format!(
                    "It is not your fault. Try again; if it stays, look at the disk and the server’s log. It is the \
                     request {request} there."
                ),
                PROJECTS,
            ),
        }
    }
}

/// Makes the page of an error. It has around it what stands around every page of who is signed in, and names a request that failed: the
/// log has what happened under that name.
pub(super) async fn page(State(console): State<Arc<Console>>, request: Request, next: Next) -> Response {
    let (cookies, uri) = (Cookies::of(request.headers()), request.uri().clone());
    let id = request_id::of(request.extensions()).to_owned();
    let mut response = next.run(request).await;
    let Some(error) = response.extensions_mut().remove::<ConsoleError>() else { return response };
    let frame =
        if error.is_framed() { Frame::around(&console, &cookies, uri.path()).await } else { Frame::door("") };
    error.page(frame, &id)
}

/// For an address that takes another method. A page that says what is wrong with a form has the form's address: whoever opens it anew,
/// or signs in on the way, gets to the page above.
pub(super) async fn wrong_method(method: Method, OriginalUri(uri): OriginalUri) -> Response {
    match uri.path().rsplit_once('/') {
        Some((above, _)) if method == Method::GET => Redirect::to(above).into_response(),
        _ => ConsoleError::MethodNotAllowed.into_response(),
    }
}

impl IntoResponse for ConsoleError {
    fn into_response(self) -> Response {
        if let Self::SignIn { next } = &self {
            return Redirect::to(&super::session::sign_in_url(next)).into_response();
        }
        if let Self::Failed(cause) = &self {
            tracing::error!(error.code = "console", "a page failed: {cause}");
        }
        // `page` makes the page.
        let mut response = Response::default();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for ConsoleError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict(what) => Self::Refused(what),
            StoreError::SearchTimeout => Self::Refused(SEARCH_TIMEOUT.into()),
            other => Self::failed(other),
        }
    }
}

impl From<AdminError> for ConsoleError {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::OwnersOnly => Self::OwnersOnly,
            AdminError::RankTooLow(least) => Self::RankTooLow(least),
            AdminError::NotFound(_) => Self::NotFound,
            AdminError::Failed(what) | AdminError::Unavailable(what) => Self::Failed(what),
            refused => Self::Refused(refused.to_string()),
        }
    }
}

impl From<EntropyError> for ConsoleError {
    fn from(error: EntropyError) -> Self {
        Self::failed(error)
    }
}

impl From<QueryError> for ConsoleError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Overloaded | QueryError::DeadlineExceeded => Self::Overloaded,
            other => Self::failed(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::HttpBody as _;

    use super::*;

    #[test]
    fn the_page_of_an_error_is_made_once() {
        let answer = ConsoleError::NotFound.into_response();
        assert!(answer.body().is_end_stream() && answer.extensions().get::<ConsoleError>().is_some());
    }

    #[test]
    fn every_error_says_what_to_do() {
        let errors = [
            ConsoleError::OwnersOnly,
            ConsoleError::RankTooLow(Rank::Editor),
            ConsoleError::NotFound,
            ConsoleError::MethodNotAllowed,
            ConsoleError::CrossSite,
            ConsoleError::BadAddress,
            ConsoleError::BadForm("A field is missing".into()),
            ConsoleError::BadLink,
            ConsoleError::Throttled(Duration::from_secs(90)),
            ConsoleError::Refused("The name is taken".into()),
            ConsoleError::Overloaded,
            ConsoleError::Failed("disk full".into()),
        ];
        for error in errors {
            let (status, title, text, onward) = error.parts("mine-7");
            assert!(status.is_client_error() || status.is_server_error());
            assert!(!title.is_empty() && !text.is_empty() && onward.0.starts_with("/console"), "{error:?}");
            assert!(!text.contains("disk full"), "a cause is for the log");
        }
    }
}
