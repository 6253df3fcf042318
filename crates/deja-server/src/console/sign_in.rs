//! Signing in and out.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{SET_COOKIE, USER_AGENT};
use axum::response::{IntoResponse, Redirect, Response};
use deja_core::admin::sessions;
use deja_core::operator::Operator;
use serde::Deserialize;

use super::Console;
use super::client::Address;
use super::error::ConsoleError;
use super::flash::{self, Flash};
use super::form::{Form, Query};
use super::page::{Answer, Frame, Visit, again, html};
use super::second_factor;
use super::session::{self, Cookies};

const PLACE: &str = "/console/sign-in";

/// The same for an unknown address, a wrong password and a disabled account.
const WRONG: &str = "This email and password do not go together.";

const CHANGED: &str = "The account was changed just now, so sign in again.";

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    next: String,
    email: String,
    /// Nobody can sign in yet.
    is_new: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Onward {
    next: String,
}

/// `GET /console/sign-in`.
pub(super) async fn get(
    State(console): State<Arc<Console>>,
    Query(onward): Query<Onward>,
    headers: HeaderMap,
) -> Answer {
    let (next, cookies) = (session::local(&onward.next), Cookies::of(&headers));
    if session::find(&console, &cookies).await?.is_some() {
        return Ok(Redirect::to(next).into_response());
    }
    let is_new = console.admin.store.operators().await?.is_empty();
    let flash = flash::read(&console, &cookies, None, PLACE);
    let said = flash.is_some();
    let frame = Frame::door("Sign in").saying(flash);
    let mut response = html(&SignInPage { frame, next: next.to_owned(), email: String::new(), is_new });
    if said {
        response.headers_mut().append(SET_COOKIE, flash::clear(&console));
    }
    Ok(response)
}

#[derive(Deserialize)]
pub(super) struct SignIn {
    email: String,
    password: String,
    #[serde(default)]
    next: String,
}

/// `POST /console/sign-in`.
pub(super) async fn post(
    State(console): State<Arc<Console>>,
    Address(address): Address,
    headers: HeaderMap,
    Form(form): Form<SignIn>,
) -> Answer {
    console.throttle.attempt(&form.email, address, console.now()).map_err(ConsoleError::Throttled)?;
    let checked =
        sessions::check(&console.admin, &form.email, form.password.into(), &address.to_string()).await?;
    let Some(operator) = checked else {
        let frame = Frame::door("Sign in").complaining(Some(WRONG));
        let next = session::local(&form.next).to_owned();
        return Ok(again(&SignInPage { frame, next, email: form.email, is_new: false }));
    };
    console.throttle.succeeded(&form.email, address);
    second_factor::or_begin(&console, &operator, &headers, session::local(&form.next)).await
}

/// Starts a session of who showed their password, and a code too if `second_factor`, and goes on to `next`. A session that the
/// browser had ends.
pub(super) async fn begin(
    console: &Console,
    operator: &Operator,
    second_factor: bool,
    headers: &HeaderMap,
    next: &str,
) -> Answer {
    if let Some(old) = session::find(console, &Cookies::of(headers)).await? {
        sessions::end(&console.admin.acting_for(operator), &old.operator, &old.session.token).await?;
    }
    let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("unknown browser");
    let Some(token) = sessions::begin(&console.admin, operator, second_factor, agent).await? else {
        return flash::redirect(console, None, "/console/sign-in", &Flash::bad(CHANGED));
    };
    let mut response = Redirect::to(next).into_response();
    response.headers_mut().append(SET_COOKIE, session::session_cookie(console, &token)?);
    Ok(response)
}

/// `POST /console/sign-out`.
pub(super) async fn sign_out(visit: Visit) -> Answer {
    sessions::end(&visit.acting(), &visit.who.operator, &visit.who.session.token).await?;
    signed_out(&visit.console, "You are signed out.")
}

/// To the sign-in page, without the cookie.
pub(super) fn signed_out(console: &Console, said: &str) -> Result<Response, ConsoleError> {
    let mut response = flash::redirect(console, None, "/console/sign-in", &Flash::good(said))?;
    response.headers_mut().append(SET_COOKIE, session::expired(console.secure, session::NAME));
    Ok(response)
}
