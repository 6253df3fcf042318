//! Signing in and out.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use deja_core::audit::{Actor, Change, SIGN_IN_REFUSED};
use deja_core::operator::{Email, Operator, PlainToken};
use serde::Deserialize;

use super::Console;
use super::client::Address;
use super::error::ConsoleError;
use super::flash::{self, Flash};
use super::form::{Form, Query};
use super::page::{Answer, Frame, Visit, html};
use super::session::{self, Cookies};

/// The same for an unknown address, a wrong password and a disabled account.
const WRONG: &str = "This email and password do not go together.";

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    next: String,
    email: String,
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
    let next = session::local(&onward.next);
    if session::find(&console, &headers).await?.is_some() {
        return Ok(Redirect::to(next).into_response());
    }
    let flash = flash::read(&console, &Cookies::of(&headers), None);
    let said = flash.is_some();
    let frame = Frame::door("Sign in").saying(flash);
    let mut response = html(&SignInPage { frame, next: next.to_owned(), email: String::new() });
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
    let now = console.now();
    let store = &console.admin.store;
    console.throttle.attempt(&form.email, address, now).map_err(ConsoleError::Throttled)?;
    let operator = match form.email.parse::<Email>() {
        Ok(email) => store.operator(&email).await?,
        Err(_) => None,
    };
    // Checked in any case, so that the time it takes does not tell whether the address is known.
    let hash = operator.as_ref().map(|operator| operator.password.clone());
    let right = console.admin.passwords.verify(form.password.into(), hash).await?;
    let Some(operator) = operator.filter(|operator| right && operator.disabled.is_none()) else {
        let subject: String = form.email.chars().filter(|c| !c.is_control()).take(100).collect();
        let change =
            Change::new(now, Actor::System, SIGN_IN_REFUSED).of(subject).how(format!("from {address}"));
        store.note(&change).await?;
        let frame = Frame::door("Sign in").complaining(Some(WRONG));
        let next = session::local(&form.next).to_owned();
        let mut response = html(&SignInPage { frame, next, email: form.email });
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
        return Ok(response);
    };
    console.throttle.succeeded(&form.email, address);
    begin(&console, &operator, &headers, session::local(&form.next)).await
}

/// Starts a session and goes on to `next`. A session that the browser had ends.
pub(super) async fn begin(console: &Console, operator: &Operator, headers: &HeaderMap, next: &str) -> Answer {
    let now = console.now();
    let actor = Actor::Operator { id: operator.id, email: operator.email.to_string() };
    if let Some(old) = session::find(console, headers).await? {
        let change = Change::new(now, actor.clone(), "session.end");
        console.admin.store.end_session(old.operator.id, &old.session.token, &change).await?;
    }
    let token = PlainToken::generate(&*console.admin.entropy)?;
    let session = session::new_session(&token, operator, headers, now);
    let change = Change::new(now, actor, "session.begin").of(operator.email.as_str());
    console.admin.store.create_session(&session, &change).await?;
    let mut response = Redirect::to(next).into_response();
    response.headers_mut().append(SET_COOKIE, session::session_cookie(console, &token)?);
    Ok(response)
}

/// `POST /console/sign-out`.
pub(super) async fn sign_out(visit: Visit) -> Answer {
    let change = Change::new(visit.now(), visit.actor(), "session.end").of(visit.who.operator.email.as_str());
    visit.console.admin.store.end_session(visit.who.operator.id, &visit.who.session.token, &change).await?;
    signed_out(&visit.console, "You are signed out.")
}

/// To the sign-in page, without the cookie.
pub(super) fn signed_out(console: &Console, said: &str) -> Result<Response, ConsoleError> {
    let mut response = flash::redirect(console, None, "/console/sign-in", &Flash::good(said))?;
    response.headers_mut().append(SET_COOKIE, session::expired(console.secure, session::NAME));
    Ok(response)
}
