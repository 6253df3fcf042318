//! One's own account: sessions, second factor, access tokens and password.

use std::net::IpAddr;

use askama::Template;
use deja_core::admin::keys::Expiry;
use deja_core::admin::{operators, second_factor, sessions, tokens};
use deja_core::operator::TokenHash;
use serde::Deserialize;

use super::client::Address;
use super::error::ConsoleError;
use super::flash::Flash;
use super::form::{Form, Path, Problem, at, number};
use super::links;
use super::page::{Answer, Confirm, Frame, Visit};
use super::sign_in;
use crate::format::{self, Moment};

pub(super) const PLACE: &str = "/console/account";
/// What a message calls recovery codes that were just made.
pub(super) const RECOVERY: &str = "recovery codes";
pub(super) const WRONG: &str = "The current password is not right.";

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    frame: Frame,
    email: String,
    role: &'static str,
    sessions: Vec<Row>,
    second_factor: Option<Factor>,
    /// Recovery codes that were just made, a line each.
    recovery: Option<String>,
    tokens: Vec<TokenRow>,
    /// A token that was just made.
    made: Option<String>,
    /// The form of a new token, as it was typed.
    form: NewToken,
}

struct Factor {
    since: Moment,
    /// Recovery codes that are left.
    left: usize,
}

struct TokenRow {
    id: String,
    name: String,
    prefix: String,
    created: Moment,
    last_used: Option<Moment>,
    expires: Moment,
    expired: bool,
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
    let page = page(&visit, NewToken::default(), None).await?;
    Ok(visit.page(&page))
}

/// The page with the form of a token as it was typed, and what is wrong with a form.
async fn page(visit: &Visit, form: NewToken, problem: Option<Problem>) -> Result<AccountPage, ConsoleError> {
    let operator = &visit.who.operator;
    let sessions = visit.store().sessions(operator.id, visit.now()).await?;
    let rows = sessions.into_iter().map(|session| Row {
        current: session.token == visit.who.session.token,
        id: session.token.to_hex(),
        browser: session.user_agent,
        created: visit.moment(session.created),
        last_seen: visit.moment(session.last_seen),
        expires: visit.moment(session.expires),
    });
    let tokens = visit.store().access_tokens(operator.id).await?;
    let tokens = tokens.into_iter().map(|token| TokenRow {
        id: token.hash.to_hex(),
        expired: token.has_expired(visit.now()),
        created: visit.moment(token.created),
        last_used: token.last_used.map(|at| visit.moment(at)),
        expires: visit.moment(token.expires),
        name: token.name,
        prefix: token.shown,
    });
    let factor = second_factor::of(&visit.console.admin, operator).await?;
    let shown = visit.flash.as_ref().and_then(|flash| flash.secret.clone());
    let (recovery, made) = match shown {
        Some((what, codes)) if what == RECOVERY => (Some(codes), None),
        shown => (None, shown.map(|(_, token)| token)),
    };
    Ok(AccountPage {
        frame: visit.frame("Account", "account").complaining_at(problem),
        email: operator.email.to_string(),
        role: operator.role.as_str(),
        sessions: rows.collect(),
        second_factor: factor
            .map(|factor| Factor { since: visit.moment(factor.since), left: factor.recovery.len() }),
        recovery,
        tokens: tokens.collect(),
        made,
        form,
    })
}

/// The page after a form of it that could not be done.
pub(super) async fn again(visit: &Visit, problem: Problem) -> Answer {
    let page = page(visit, NewToken::default(), Some(problem)).await?;
    Ok(visit.again(&page))
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
pub(super) struct NewToken {
    name: String,
    #[serde(default)]
    days: String,
    #[serde(default)]
    current: String,
}

impl Default for NewToken {
    fn default() -> Self {
        Self { name: String::new(), days: "90".into(), current: String::new() }
    }
}

/// `POST /console/account/tokens`. A token outlives the session, which may be borrowed, so that it takes the password.
pub(super) async fn create_token(
    visit: Visit,
    Address(address): Address,
    Form(mut form): Form<NewToken>,
) -> Answer {
    let current = std::mem::take(&mut form.current);
    if let Some(problem) = not_right(is_password(&visit, address, current).await, "token-current", WRONG)? {
        return Ok(visit.again(&page(&visit, form, Some(problem)).await?));
    }
    let problem = match number::<u64>("The days until it expires", &form.days).map_err(at("expires")) {
        Ok(days) => {
            let expires = days.map(|days| Expiry::In(days.saturating_mul(24 * 3600)));
            let email = visit.who.operator.email.as_str();
            match tokens::create(&visit.acting(), email, &form.name, expires).await {
                Ok(made) => return visit.to(PLACE, &Flash::secret("token", made.plain.reveal())),
                Err(error) => Problem::at(error, &["name", "expires"])?,
            }
        }
        Err(problem) => problem,
    };
    Ok(visit.again(&page(&visit, form, Some(problem)).await?))
}

/// `GET /console/account/tokens/{token}/revoke`.
pub(super) async fn confirm_revoke(visit: Visit, Path(token): Path<String>) -> Answer {
    let tokens = visit.store().access_tokens(visit.who.operator.id).await?;
    let token = tokens.into_iter().find(|t| t.hash.to_hex() == token).ok_or(ConsoleError::NotFound)?;
    let used = visit.used(token.last_used);
    let text = format!(
        "The token “{}” ({}…) was {used}. From the very next request on, the programs that have it get 401. This cannot \
         be undone.",
        token.name, token.shown
    );
    let frame = visit.frame("Revoke access token", "account");
    Ok(visit.page(&Confirm::new(frame, text, "Revoke token", PLACE)))
}

/// `POST /console/account/tokens/{token}/revoke`.
pub(super) async fn revoke_token(visit: Visit, Path(token): Path<String>) -> Answer {
    let email = visit.who.operator.email.as_str();
    let done = tokens::revoke(&visit.acting(), email, &token).await;
    visit.done(PLACE, done, "The token is revoked.")
}

#[derive(Deserialize)]
pub(super) struct NewPassword {
    current: String,
    password: String,
    again: String,
}

/// Whether it is the password of who is signed in. Guesses are counted as at the door.
pub(super) async fn is_password(
    visit: &Visit,
    address: IpAddr,
    password: String,
) -> Result<bool, ConsoleError> {
    let (console, operator) = (&visit.console, &visit.who.operator);
    let email = operator.email.as_str();
    console.throttle.attempt(email, address, visit.now()).map_err(ConsoleError::Throttled)?;
    let right = console.admin.passwords.verify(password.into(), Some(operator.password.clone())).await?;
    if right {
        console.throttle.succeeded(email, address);
    }
    Ok(right)
}

/// What to say at the field of a password or a code, unless it is right. Who guessed too often stays signed in.
pub(super) fn not_right(
    checked: Result<bool, ConsoleError>,
    field: &'static str,
    wrong: &str,
) -> Result<Option<Problem>, ConsoleError> {
    match checked {
        Ok(true) => Ok(None),
        Ok(false) => Ok(Some(Problem::of(field, wrong))),
        Err(ConsoleError::Throttled(wait)) => {
            let wait = format::wait(wait);
            Ok(Some(Problem::of(field, format!("It was wrong too often. Try again in {wait}."))))
        }
        Err(error) => Err(error),
    }
}

/// `POST /console/account/password`.
pub(super) async fn password(
    visit: Visit,
    Address(address): Address,
    Form(form): Form<NewPassword>,
) -> Answer {
    let operator = &visit.who.operator;
    if let Some(problem) = not_right(is_password(&visit, address, form.current).await, "current", WRONG)? {
        return again(&visit, problem).await;
    }
    if form.password != form.again {
        return again(&visit, Problem::of("again", links::NOT_THE_SAME)).await;
    }
    let changed = operators::change_password(&visit.acting(), &operator.email, form.password.into()).await;
    if let Err(error) = changed {
        return again(&visit, Problem::at(error, &["password"])?).await;
    }
    // A new password ends all sessions, this one too: sign in with it.
    sign_in::signed_out(
        &visit.console,
        "The password is changed and all sessions are ended. Sign in with the new one.",
    )
}
