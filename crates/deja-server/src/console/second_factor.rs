//! The second step of signing in, and turning it on and off.
//!
//! Between its pages a form carries a ticket that says who got how far: sealed with the server's key, for a few minutes, and
//! void once the password is another one. So any replica can go on, and nothing is stored for who goes no further.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use deja_core::admin::{AdminError, second_factor};
use deja_core::clock::Timestamp;
use deja_core::operator::Operator;
use deja_core::second_factor::TotpSecret;
use qrcode::QrCode;
use qrcode::render::svg;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Console;
use super::client::Address;
use super::error::ConsoleError;
use super::flash::{self, Flash};
use super::form::{Form, Problem};
use super::page::{Answer, Frame, Visit, again, html};
use super::{account, sealed, sign_in};

/// How long there is to open the app and type its code.
const LASTS: Duration = Duration::from_mins(10);
const WRONG: &str = "This code does not work: codes change every 30 seconds, and each works once.";
const TOO_LATE: &str = "That took too long, so begin again.";

/// Who got how far.
#[derive(Serialize, Deserialize)]
struct Ticket {
    operator: String,
    /// The SHA-256 of the password's hash.
    password: String,
    until: i64,
    /// Where to go on after signing in, or the secret that an app is being told.
    carries: String,
}

/// What a ticket is for: no other page takes it.
#[derive(Clone, Copy)]
enum Step {
    SignIn,
    TurnOn,
}

impl Step {
    const fn binding(self) -> &'static [u8] {
        match self {
            Self::SignIn => b"console second step of sign-in",
            Self::TurnOn => b"console second factor offered",
        }
    }
}

fn issue(
    console: &Console,
    step: Step,
    operator: &Operator,
    carries: String,
) -> Result<String, ConsoleError> {
    let until = console.now().plus(LASTS).as_nanos();
    let ticket = Ticket { operator: operator.id.to_string(), password: print_of(operator), until, carries };
    sealed::seal(console, step.binding(), &ticket)
}

/// The ticket, if it is one of ours and its time is not over.
fn read(console: &Console, step: Step, text: &str) -> Option<Ticket> {
    let ticket: Ticket = sealed::open(console, step.binding(), text)?;
    (console.now() < Timestamp::from_nanos(ticket.until)).then_some(ticket)
}

fn print_of(operator: &Operator) -> String {
    hex::encode(Sha256::digest(operator.password.as_phc()))
}

/// Whether it is a code of the operator's. Guesses are counted, wherever they come from.
async fn is_code(
    console: &Console,
    operator: &Operator,
    address: IpAddr,
    code: &str,
) -> Result<bool, ConsoleError> {
    let email = operator.email.as_str();
    console.throttle.attempt_code(email, console.now()).map_err(ConsoleError::Throttled)?;
    let right = second_factor::check(&console.admin, operator, code, &address.to_string()).await?;
    if right {
        console.throttle.code_succeeded(email);
    }
    Ok(right)
}

#[derive(Template)]
#[template(path = "code.html")]
struct CodePage {
    frame: Frame,
    ticket: String,
}

/// Asks somebody whose password was right for a code, if they have a second factor; or begins their session.
pub(super) async fn or_begin(
    console: &Console,
    operator: &Operator,
    headers: &HeaderMap,
    next: &str,
) -> Answer {
    if second_factor::of(&console.admin, operator).await?.is_none() {
        return sign_in::begin(console, operator, false, headers, next).await;
    }
    let ticket = issue(console, Step::SignIn, operator, next.to_owned())?;
    Ok(html(&CodePage { frame: Frame::door("Second step"), ticket }))
}

#[derive(Deserialize)]
pub(super) struct Shown {
    ticket: String,
    code: String,
}

/// `POST /console/sign-in/code`.
pub(super) async fn sign_in(
    State(console): State<Arc<Console>>,
    Address(address): Address,
    headers: HeaderMap,
    Form(form): Form<Shown>,
) -> Answer {
    let late = || flash::redirect(&console, None, "/console/sign-in", &Flash::bad(TOO_LATE));
    let Some(ticket) = read(&console, Step::SignIn, &form.ticket) else { return late() };
    let Ok(id) = ticket.operator.parse() else { return late() };
    let found = console.admin.store.operator_by_id(id).await?;
    let whose = |operator: &Operator| operator.disabled.is_none() && print_of(operator) == ticket.password;
    let Some(operator) = found.filter(whose) else { return late() };
    if !is_code(&console, &operator, address, &form.code).await? {
        let frame = Frame::door("Second step").complaining_at(Some(Problem::of("code", WRONG)));
        return Ok(again(&CodePage { frame, ticket: form.ticket }));
    }
    let next = super::session::local(&ticket.carries);
    sign_in::begin(&console, &operator, true, &headers, next).await
}

#[derive(Template)]
#[template(path = "second_factor.html")]
struct OfferPage {
    frame: Frame,
    /// The address that an app reads, as a picture.
    picture: String,
    typed: String,
    ticket: String,
}

#[derive(Deserialize)]
pub(super) struct Current {
    current: String,
}

/// `POST /console/account/second-factor`: shows a secret to scan.
pub(super) async fn offer(visit: Visit, Address(address): Address, Form(form): Form<Current>) -> Answer {
    let checked = account::is_password(&visit, address, form.current).await;
    if let Some(problem) = account::not_right(checked, "second-current", account::WRONG)? {
        return account::again(&visit, problem).await;
    }
    let secret = TotpSecret::generate(&*visit.console.admin.entropy)?;
    Ok(visit.page(&offered(&visit, &secret, None)?))
}

fn offered(visit: &Visit, secret: &TotpSecret, problem: Option<Problem>) -> Result<OfferPage, ConsoleError> {
    let (console, operator) = (&visit.console, &visit.who.operator);
    let failed = || ConsoleError::Failed("the secret makes no address".into());
    let url = secret.to_url(&operator.email).ok_or_else(failed)?;
    let code = QrCode::new(url).map_err(ConsoleError::failed)?;
    let picture = code.render::<svg::Color<'_>>().min_dimensions(200, 200).build();
    let typed = secret.to_base32();
    let groups = typed.as_bytes().chunks(4).map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ");
    Ok(OfferPage {
        frame: visit.frame("Second factor", "account").complaining_at(problem),
        // What stands before the element is for files.
        picture: picture.split_once("?>").map_or(&*picture, |(_, element)| element).to_owned(),
        typed: groups,
        ticket: issue(console, Step::TurnOn, operator, hex::encode(secret.expose()))?,
    })
}

/// `POST /console/account/second-factor/on`.
pub(super) async fn turn_on(visit: Visit, Form(form): Form<Shown>) -> Answer {
    let operator = &visit.who.operator;
    let secret = read(&visit.console, Step::TurnOn, &form.ticket)
        .filter(|ticket| ticket.operator == operator.id.to_string() && ticket.password == print_of(operator))
        .and_then(|ticket| TotpSecret::from_bytes(&hex::decode(ticket.carries).ok()?));
    let Some(secret) = secret else { return visit.to(account::PLACE, &Flash::bad(TOO_LATE)) };
    let keep = &visit.who.session.token;
    match second_factor::turn_on(&visit.acting(), operator, &secret, &form.code, keep).await {
        Ok(codes) => {
            let codes: Vec<_> = codes.iter().map(deja_core::second_factor::RecoveryCode::reveal).collect();
            visit.to(account::PLACE, &Flash::secret(account::RECOVERY, codes.join("\n")))
        }
        Err(AdminError::Invalid(problem)) => {
            Ok(visit.again(&offered(&visit, &secret, Some(Problem::of("code", problem)))?))
        }
        failed => visit.done(account::PLACE, failed, ""),
    }
}

#[derive(Deserialize)]
pub(super) struct Code {
    code: String,
}

/// `POST /console/account/second-factor/off`.
pub(super) async fn turn_off(visit: Visit, Address(address): Address, Form(form): Form<Code>) -> Answer {
    let (console, operator) = (&visit.console, &visit.who.operator);
    let checked = is_code(console, operator, address, &form.code).await;
    if let Some(problem) = account::not_right(checked, "off-code", WRONG)? {
        return account::again(&visit, problem).await;
    }
    let removed = second_factor::remove(&visit.acting(), operator.email.as_str()).await;
    visit.done(account::PLACE, removed, "The second factor is off: a password is enough to sign in.")
}
