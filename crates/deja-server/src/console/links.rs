//! One-time links: the first owner's, invitations, and new passwords. The link is shown before it is used: a mail
//! scanner that opens it does not use it up.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use deja_core::admin::{AdminError, operators};
use deja_core::operator::{Invite, PlainToken, Purpose};
use serde::Deserialize;

use super::Console;
use super::error::ConsoleError;
use super::form::{Form, Problem, Query};
use super::page::{Answer, Frame, again, html};
use super::second_factor;

pub(super) const NOT_THE_SAME: &str = "The two passwords are not the same.";

#[derive(Template)]
#[template(path = "set_password.html")]
struct LinkPage {
    frame: Frame,
    explanation: String,
    asks_email: bool,
    email: String,
    submit: &'static str,
}

/// What stands in a link. In the query, because addresses are logged without it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Opened {
    token: String,
}

/// `GET /console/setup`, `/console/join` and `/console/reset`: what the link is for is kept with it.
pub(super) async fn get(
    State(console): State<Arc<Console>>,
    Query(Opened { token }): Query<Opened>,
) -> Answer {
    let invite = find(&console, &token).await?;
    Ok(html(&page(&console, &invite, String::new(), None).await?))
}

async fn find(console: &Console, token: &str) -> Result<Invite, ConsoleError> {
    let token = PlainToken::parse(token).ok_or(ConsoleError::BadLink)?;
    console.admin.store.invite(&token.hash(), console.now()).await?.ok_or(ConsoleError::BadLink)
}

async fn page(
    console: &Console,
    invite: &Invite,
    typed: String,
    problem: Option<Problem>,
) -> Result<LinkPage, ConsoleError> {
    let (title, explanation, submit, email) = match &invite.purpose {
        Purpose::Join { email: None, .. } => (
            "Welcome to deja",
            "Make the first account of this installation. It is an owner’s: it may do everything.".to_owned(),
            "Create account",
            None,
        ),
        Purpose::Join { email: Some(email), role } => (
            "Join this deja",
            format!("You are invited as {email}, with the role {}. Choose a password.", role.as_str()),
            "Create account",
            Some(email.to_string()),
        ),
        Purpose::ResetPassword { operator } => {
            let found = console.admin.store.operator_by_id(*operator).await?;
            let operator = found.ok_or(ConsoleError::BadLink)?;
            let explanation = format!("For {}. All sessions of this account end.", operator.email);
            ("Choose a new password", explanation, "Set password", Some(operator.email.to_string()))
        }
    };
    Ok(LinkPage {
        frame: Frame::door(title).complaining_at(problem),
        explanation,
        asks_email: email.is_none(),
        email: email.unwrap_or(typed),
        submit,
    })
}

#[derive(Deserialize)]
pub(super) struct Chosen {
    #[serde(default)]
    email: String,
    password: String,
    again: String,
}

/// `POST` to the same addresses.
pub(super) async fn post(
    State(console): State<Arc<Console>>,
    Query(Opened { token }): Query<Opened>,
    headers: HeaderMap,
    Form(form): Form<Chosen>,
) -> Answer {
    let invite = find(&console, &token).await?;
    let token = PlainToken::parse(&token).ok_or(ConsoleError::BadLink)?;
    let problem = if form.password == form.again {
        match operators::accept(&console.admin, &token, &form.email, form.password.into()).await {
            Ok(operator) => {
                return second_factor::or_begin(&console, &operator, &headers, "/console/projects").await;
            }
            Err(AdminError::NotFound(_)) => return Err(ConsoleError::BadLink),
            Err(error) => Problem::at(error, &["email", "password"])?,
        }
    } else {
        Problem::of("again", NOT_THE_SAME)
    };
    Ok(again(&page(&console, &invite, form.email, Some(problem)).await?))
}
