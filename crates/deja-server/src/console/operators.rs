//! The people of the console: who they are, what they may do, and the links that let them in.

use askama::Template;
use deja_core::admin::{AdminError, operators, second_factor};
use deja_core::operator::{Operator, Purpose, Role};
use serde::Deserialize;

use super::error::ConsoleError;
use super::filter::query;
use super::flash::Flash;
use super::form::{Form, Problem, Query};
use super::page::{Answer, Confirm, Frame, Visit};
use crate::format::Moment;

const PLACE: &str = "/console/operators";

#[derive(Template)]
#[template(path = "operators.html")]
struct OperatorsPage {
    frame: Frame,
    operators: Vec<Row>,
    invites: Vec<InviteRow>,
    /// An invitation as it was typed.
    email: String,
    role: Role,
    /// A link that was just made, and what it is.
    link: Option<(String, String)>,
}

struct Row {
    email: String,
    role: Role,
    created: Moment,
    disabled: bool,
    /// Where the second factor is removed, if there is one.
    second_factor: Option<String>,
    is_self: bool,
}

impl Row {
    /// What can be done, as the form sends it and as the button says it.
    fn actions(&self) -> Vec<(&'static str, &'static str)> {
        let role = match self.role {
            Role::Owner => ("member", "Make member"),
            Role::Member => ("owner", "Make owner"),
        };
        if self.disabled {
            return vec![("enable", "Enable")];
        }
        vec![role, ("reset", "Reset password"), ("disable", "Disable")]
    }

    /// Where that is asked for first which ends something.
    fn asked(&self, action: &str) -> Option<String> {
        let ends = ["member", "disable"].contains(&action);
        ends.then(|| format!("{PLACE}/change{}", query(&[("email", self.email.as_str()), ("do", action)])))
    }
}

struct InviteRow {
    id: String,
    who: String,
    purpose: String,
    /// Whose rights it ends with.
    maker: String,
    created: Moment,
    expires: Moment,
}

/// `GET /console/operators`.
pub(super) async fn get(visit: Visit) -> Answer {
    let page = page(&visit, String::new(), Role::Member, None).await?;
    Ok(visit.page(&page))
}

async fn page(
    visit: &Visit,
    email: String,
    role: Role,
    problem: Option<Problem>,
) -> Result<OperatorsPage, ConsoleError> {
    let store = visit.store();
    let operators = store.operators().await?;
    let name = |id| {
        operators.iter().find(|o: &&Operator| o.id == id).map_or("somebody".into(), |o| o.email.to_string())
    };
    let links = store.invites(visit.now()).await?.into_iter().map(|invite| {
        let (who, purpose) = match invite.purpose {
            Purpose::Join { role, email } => (
                email.map_or("the first owner".into(), |email| email.to_string()),
                format!("join as {}", role.as_str()),
            ),
            Purpose::ResetPassword { operator } => (name(operator), "set a new password".into()),
        };
        let maker = invite.created_by.map_or("the server".into(), name);
        let (created, expires) = (visit.moment(invite.created), visit.moment(invite.expires));
        InviteRow { id: invite.token.to_hex(), who, purpose, maker, created, expires }
    });
    let invites = links.collect();
    let holders = second_factor::holders(&visit.acting()).await?;
    let rows = operators.iter().map(|operator| Row {
        email: operator.email.to_string(),
        role: operator.role,
        created: visit.moment(operator.created),
        disabled: operator.disabled.is_some(),
        second_factor: holders
            .contains(&operator.id)
            .then(|| format!("{PLACE}/second-factor{}", query(&[("email", operator.email.as_str())]))),
        is_self: operator.id == visit.who.operator.id,
    });
    Ok(OperatorsPage {
        frame: visit.frame("Operators", "operators").complaining_at(problem),
        operators: rows.collect(),
        invites,
        email,
        role,
        link: visit.flash.as_ref().and_then(|flash| flash.secret.clone()),
    })
}

#[derive(Deserialize)]
pub(super) struct Invitation {
    email: String,
    role: Role,
}

/// `POST /console/operators/invite`.
pub(super) async fn invite(visit: Visit, Form(form): Form<Invitation>) -> Answer {
    match operators::invite(&visit.acting(), &form.email, Some(form.role)).await {
        Ok(link) => shown(&visit, &format!("Invitation for {}", form.email.trim()), &link),
        Err(AdminError::Invalid(problem) | AdminError::Conflict(problem)) => {
            let problem = Some(Problem::of("email", problem));
            Ok(visit.again(&page(&visit, form.email, form.role, problem).await?))
        }
        Err(error) => Err(error.into()),
    }
}

#[derive(Deserialize)]
pub(super) struct Changed {
    email: String,
    r#do: String,
}

/// `GET /console/operators/change`.
pub(super) async fn confirm(visit: Visit, Query(Changed { email, r#do }): Query<Changed>) -> Answer {
    let (title, text) = match r#do.as_str() {
        "disable" => (
            "Disable account",
            format!(
                "{email} is signed out everywhere at once, and cannot sign in until an owner enables the account again. \
                 Their access tokens do not work meanwhile. The links that they made end for good."
            ),
        ),
        "member" => (
            "Make member",
            format!(
                "From then on {email} sees only the projects in which they have a rank, and no longer sets limits, reads \
                 the audit log or manages operators. The links that they made end for good."
            ),
        ),
        _ => return Err(ConsoleError::BadAddress),
    };
    let confirm = Confirm::new(visit.frame(title, "operators"), text, title, PLACE);
    Ok(visit.page(&confirm.with("email", email).with("do", r#do)))
}

/// `POST /console/operators/change`.
pub(super) async fn change(visit: Visit, Form(form): Form<Changed>) -> Answer {
    let email = form.email;
    let (role, disabled, good) = match form.r#do.as_str() {
        "owner" => (Some(Role::Owner), None, "They are an owner of deja."),
        "member" => {
            (Some(Role::Member), None, "They are a member of deja, and the links that they made are ended.")
        }
        "disable" => (None, Some(true), "The account is disabled, and its sessions and links are ended."),
        "enable" => (None, Some(false), "The account may sign in again."),
        "reset" => {
            let link = operators::reset_password(&visit.acting(), &email).await?;
            return shown(&visit, &format!("New password for {email}"), &link);
        }
        _ => return Err(ConsoleError::bad_field()),
    };
    let done = operators::set(&visit.acting(), &email, role, disabled).await;
    visit.done(PLACE, done, good)
}

#[derive(Deserialize)]
pub(super) struct Holder {
    email: String,
}

/// `GET /console/operators/second-factor`.
pub(super) async fn confirm_remove(visit: Visit, Query(Holder { email }): Query<Holder>) -> Answer {
    let text = format!(
        "This is for somebody who lost the app and the recovery codes. From then on {email} signs in with a password alone, \
         until they set up another second factor. Make sure that it is they who ask."
    );
    let frame = visit.frame("Remove second factor", "operators");
    Ok(visit.page(&Confirm::new(frame, text, "Remove second factor", PLACE).with("email", email)))
}

/// `POST /console/operators/second-factor`.
pub(super) async fn remove_second_factor(visit: Visit, Form(Holder { email }): Form<Holder>) -> Answer {
    let done = second_factor::remove(&visit.acting(), &email).await;
    visit.done(PLACE, done, "The second factor is removed: a password is enough to sign in.")
}

/// Back to the page, which shows the link once.
fn shown(visit: &Visit, what: &str, link: &operators::Link) -> Answer {
    visit.to(PLACE, &Flash::secret(what, link.url.expose()))
}

#[derive(Deserialize)]
pub(super) struct Withdrawn {
    invite: String,
}

/// `POST /console/operators/revoke`.
pub(super) async fn revoke(visit: Visit, Form(form): Form<Withdrawn>) -> Answer {
    let done = operators::revoke_invite(&visit.acting(), &form.invite).await;
    visit.done(PLACE, done, "The link no longer works.")
}
