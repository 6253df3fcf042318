//! Reads forms, of bounded size and in bounded time, and what stands in addresses.

use std::str::FromStr;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::BytesMut;
use deja_core::admin::AdminError;
use deja_core::provider::content_type;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use tokio::time::Instant;

use super::Console;
use super::error::ConsoleError;
use super::session::Who;
use crate::api::body::{Unread, collect};
use crate::format;

/// Longest form of somebody who is not signed in: an address, passwords and where to go on, in bytes.
const AT_THE_DOOR: usize = 16 * 1024;

/// A form as sent by a page.
pub(super) struct Form<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Console>> for Form<T> {
    type Rejection = ConsoleError;

    async fn from_request(request: Request, console: &Arc<Console>) -> Result<Self, ConsoleError> {
        let bad = |what: &str| ConsoleError::BadForm(what.into());
        if !content_type(request.headers()).starts_with("application/x-www-form-urlencoded") {
            return Err(bad("It is not a form of this console"));
        }
        let at_the_door = request.extensions().get::<Option<Who>>().is_none_or(Option::is_none);
        let body = if at_the_door {
            read(console, request.into_body(), AT_THE_DOOR, |_| true).await?.freeze()
        } else {
            // It has arrived: nothing is read or copied here.
            to_bytes(request.into_body(), usize::MAX).await.map_err(ConsoleError::failed)?
        };
        serde_html_form::from_bytes(&body).map(Self).map_err(|_| bad("A field is missing or wrong"))
    }
}

/// A request of somebody who is signed in, with all of its body, which keeps its room until it is dropped.
pub(super) async fn arrived(console: &Console, request: Request) -> Result<Request, ConsoleError> {
    let who = request.extensions().get::<Option<Who>>().and_then(Option::as_ref);
    let who = who.ok_or(ConsoleError::SignIn { next: String::new() })?;
    let mut room = console.app.by_operators().of(who.operator.id);
    let (head, body) = request.into_parts();
    let most = console.app.limits().form_bytes();
    let body = read(console, body, most, |more| room.try_take(more)).await?;
    Ok(Request::from_parts(head, room.around(body).into()))
}

async fn read(
    console: &Console,
    body: Body,
    most: usize,
    has_room: impl FnMut(usize) -> bool,
) -> Result<BytesMut, ConsoleError> {
    let bad = |what: &str| ConsoleError::BadForm(what.into());
    let deadline = Instant::now() + console.app.limits().body_timeout;
    collect(body, most, |_| deadline, has_room).await.map_err(|unread| match unread {
        Unread::TooLong => bad("It is too long"),
        Unread::NoRoom => ConsoleError::Overloaded,
        Unread::Late | Unread::Broken => bad("It did not arrive whole"),
    })
}

/// What stands in an address's path; the page for what is not there, where it cannot be read.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(ConsoleError))]
pub(super) struct Path<T>(pub(super) T);

impl From<PathRejection> for ConsoleError {
    fn from(_: PathRejection) -> Self {
        Self::NotFound
    }
}

/// What stands behind an address's question mark.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(ConsoleError))]
pub(super) struct Query<T>(pub(super) T);

impl From<QueryRejection> for ConsoleError {
    fn from(_: QueryRejection) -> Self {
        Self::BadAddress
    }
}

/// A text of several lines. Browsers send them with CR LF; prompts and contexts come with LF.
pub(super) fn with_lf<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|text| text.replace("\r\n", "\n"))
}

/// A ticked box is sent, with any value. A box that is not ticked is not sent.
pub(super) fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    String::deserialize(deserializer).map(|_| true)
}

/// What is wrong with one field of a form, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The field's id. An id that no field has means the whole form.
    pub(super) field: &'static str,
    pub(super) text: String,
}

impl Problem {
    pub(super) fn of(field: &'static str, text: impl AsRef<str>) -> Self {
        Self { field, text: format::sentence(text.as_ref()) }
    }

    /// Whether it is one field that is wrong.
    pub(super) fn is_at_field(&self) -> bool {
        self.field != "form"
    }

    /// What a use case refused, at one of these fields if it names one. Any other error is handed back.
    pub(super) fn at(error: AdminError, fields: &[&'static str]) -> Result<Self, ConsoleError> {
        match error {
            AdminError::Setting { name, problem } => {
                let field = fields.iter().find(|field| **field == name);
                Ok(Self::of(field.copied().unwrap_or("form"), problem))
            }
            AdminError::Invalid(problem)
            | AdminError::Conflict(problem)
            | AdminError::TookTooLong(problem) => Ok(Self::of("form", problem)),
            other => Err(other.into()),
        }
    }
}

/// Says at which field it is wrong.
pub(super) fn at<T: ToString>(field: &'static str) -> impl Fn(T) -> Problem {
    move |text| Problem::of(field, text.to_string())
}

/// The number in a field that may be empty. Commas stand between thousands and nowhere else: `1,5` is not fifteen.
pub(super) fn number<N: FromStr>(what: &str, text: &str) -> Result<Option<N>, String> {
    let is_whole = "1.5".parse::<N>().is_err();
    let wanted = if is_whole { "a whole number such as 10,000" } else { "a number such as 1.5 or 10,000" };
    number_of(what, text, wanted)
}

/// As [`number`], of a field that wants `wanted`.
pub(super) fn number_of<N: FromStr>(what: &str, text: &str, wanted: &str) -> Result<Option<N>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default().len();
    let thousands = !whole.contains(',') || (1..=3).contains(&first) && groups.all(|group| group.len() == 3);
    let number = text.replace(',', "").parse().ok().filter(|_| thousands && !fraction.contains(','));
    let wrong = || {
        let pointed = text.replacen(',', ".", 1);
        if text.contains(',') && pointed.parse::<N>().is_ok() {
            format!("{what} must be a number with a point: {pointed}, not {text}")
        } else {
            format!("{what} must be {wanted}")
        }
    };
    number.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_took_too_long_is_told_in_the_form() {
        let problem = Problem::at(AdminError::TookTooLong("it took too long".into()), &["until"]);
        assert_eq!(problem.ok(), Some(Problem::of("form", "it took too long")));
        assert!(Problem::at(AdminError::Unavailable("the disk is gone".into()), &["until"]).is_err());
    }

    #[test]
    fn commas_stand_between_thousands_only() {
        let read = |text: &str| number::<f64>("It", text).ok();
        for (text, value) in
            [("", None), (" 1.5 ", Some(1.5)), ("1,500", Some(1500.0)), ("1,234,567.5", Some(1_234_567.5))]
        {
            assert_eq!(read(text), Some(value), "{text}");
        }
        for wrong in ["1,5", "0,6", "1,50", "1.5,000", ",500", "1234,567", "1,,000", "one", "1 000"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(number::<u64>("It", "10,000").unwrap(), Some(10_000));
        let told = |text| number::<f64>("It", text).unwrap_err();
        assert_eq!(told("0,9"), "It must be a number with a point: 0.9, not 0,9");
        assert_eq!(told("much"), "It must be a number such as 1.5 or 10,000");
        for wrong in ["-3", "1.5", "1,5", "soon", "99999999999999999999"] {
            let told = number::<u64>("It", wrong).unwrap_err();
            assert_eq!(told, "It must be a whole number such as 10,000", "{wrong}");
        }
    }
}
