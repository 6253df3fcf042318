//! One's own account: sessions and password.

use askama::Template;
use deja_core::admin::{operators, sessions};
use deja_core::operator::TokenHash;
use serde::Deserialize;

use super::client::Address;
use super::error::ConsoleError;
use super::flash::Flash;
use super::form::Form;
use super::format::Moment;
use super::links;
use super::page::{Answer, Frame, Visit};
use super::sign_in;

const PLACE: &str = "/console/account";

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    frame: Frame,
    email: String,
    role: &'static str,
    sessions: Vec<Row>,
}

struct Row {
    id: String,
    browser: String,
    created: Moment,
    last_seen: Moment,
    expires: Moment,
    current: bool,
}

/// `GET /console/account`.
pub(super) async fn get(visit: Visit) -> Answer {
    let operator = &visit.who.operator;
    let sessions = visit.console.admin.store.sessions(operator.id, visit.now()).await?;
    let rows = sessions.into_iter().map(|session| Row {
        current: session.token == visit.who.session.token,
        id: session.token.to_hex(),
        browser: session.user_agent,
        created: visit.moment(session.created),
        last_seen: visit.moment(session.last_seen),
        expires: visit.moment(session.expires),
    });
    let page = AccountPage {
        frame: visit.frame("Account", "account"),
        email: operator.email.to_string(),
        role: operator.role.as_str(),
        sessions: rows.collect(),
    };
    Ok(visit.page(&page))
}

#[derive(Deserialize)]
pub(super) struct Ended {
    session: String,
}

/// `POST /console/account/end-session`.
pub(super) async fn end_session(visit: Visit, Form(form): Form<Ended>) -> Answer {
    let token = TokenHash::from_hex(&form.session).ok_or(ConsoleError::NotFound)?;
    let ended = sessions::end(&visit.acting(), &visit.who.operator, &token).await?;
    let flash = if ended {
        Flash::good("The session is ended.")
    } else {
        Flash::bad("The session had ended already.")
    };
    visit.to(PLACE, &flash)
}

/// `POST /console/account/sign-out-everywhere`.
pub(super) async fn sign_out_everywhere(visit: Visit) -> Answer {
    sessions::end_all(&visit.acting(), &visit.who.operator).await?;
    sign_in::signed_out(&visit.console, "You are signed out everywhere.")
}

#[derive(Deserialize)]
pub(super) struct NewPassword {
    current: String,
    password: String,
    again: String,
}

/// `POST /console/account/password`.
pub(super) async fn password(
    visit: Visit,
    Address(address): Address,
    Form(form): Form<NewPassword>,
) -> Answer {
    let console = &visit.console;
    let operator = &visit.who.operator;
    console
        .throttle
        .attempt(operator.email.as_str(), address, visit.now())
        .map_err(ConsoleError::Throttled)?;
    if !console.admin.passwords.verify(form.current.into(), Some(operator.password.clone())).await? {
        return visit.to(PLACE, &Flash::bad("The current password is not right."));
    }
    console.throttle.succeeded(operator.email.as_str(), address);
    if form.password != form.again {
        return visit.to(PLACE, &Flash::bad(links::NOT_THE_SAME));
    }
    let changed = operators::change_password(&visit.acting(), &operator.email, form.password.into()).await;
    if changed.is_err() {
        return visit.done(PLACE, changed, "");
    }
    // A new password ends all sessions, this one too: sign in with it.
    sign_in::signed_out(
        console,
        "The password is changed and all sessions are ended. Sign in with the new one.",
    )
}
