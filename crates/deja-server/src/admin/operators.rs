//! Operators: invite, make, list, change, and the one-time links that let them in.

use std::time::Duration;

use deja_core::audit::{Actor, Change as AuditChange};
use deja_core::id::OperatorId;
use deja_core::operator::{Email, Invite, Operator, PlainToken, Purpose, Role, TokenHash};
use secrecy::SecretString;

use super::{Acting, AdminContext, AdminError, Hidden, LinkView, OperatorView, Reply, shown};
use crate::moment;
use crate::secrets::passwords::PasswordError;

/// How long links work. Long enough to be sent to somebody, short enough to be forgotten in a mailbox.
const SETUP_LASTS: Duration = Duration::from_hours(24);
const INVITE_LASTS: Duration = Duration::from_hours(72);
const RESET_LASTS: Duration = Duration::from_hours(2);

impl From<PasswordError> for AdminError {
    fn from(error: PasswordError) -> Self {
        match error {
            PasswordError::Length => Self::Invalid(error.to_string()),
            PasswordError::Failed(_) => Self::Failed(error.to_string()),
        }
    }
}

/// Makes an operator with a password, or else a link with which they choose one. The first operator is an owner
/// unless said otherwise, the others are members.
pub(super) async fn create(
    context: &Acting<'_>,
    email: &str,
    role: Option<Role>,
    password: Option<Hidden>,
) -> Result<Reply, AdminError> {
    let email = email_of(email)?;
    let role = match role {
        Some(role) => role,
        None if context.store.operators().await?.is_empty() => Role::Owner,
        None => Role::Member,
    };
    if context.store.operator(&email).await?.is_some() {
        return Err(AdminError::Conflict(format!("there is an operator '{email}' already")));
    }
    let Some(password) = password else {
        let purpose = Purpose::Join { role, email: Some(email.clone()) };
        let change = context.change("operator.invite").of(email.as_str()).how(role.as_str());
        return Ok(Reply::Link(link(context, purpose, INVITE_LASTS, &change).await?));
    };
    let operator = Operator {
        id: OperatorId::generate(context.clock.now(), &*context.entropy)?,
        email,
        role,
        password: context.passwords.hash(secret(&password)).await?,
        created: context.clock.now(),
        disabled: None,
    };
    let change = context.change("operator.create").of(operator.email.as_str()).how(role.as_str());
    context.store.create_operator(&operator, &change).await?;
    Ok(Reply::Operator(view(&operator)))
}

pub(super) async fn list(context: &AdminContext) -> Result<Reply, AdminError> {
    Ok(Reply::Operators(context.store.operators().await?.iter().map(view).collect()))
}

/// Makes a link with which an operator sets a new password. The old one works until then.
pub(super) async fn reset_password(context: &Acting<'_>, email: &str) -> Result<Reply, AdminError> {
    let operator = found(context, email).await?;
    let change = context.change("operator.reset-link").of(operator.email.as_str());
    let purpose = Purpose::ResetPassword { operator: operator.id };
    Ok(Reply::Link(link(context, purpose, RESET_LASTS, &change).await?))
}

/// Changes what an operator may do. `None` stays as it is.
pub(super) async fn set(
    context: &Acting<'_>,
    email: &str,
    role: Option<Role>,
    disabled: Option<bool>,
) -> Result<Reply, AdminError> {
    let _held = context.alone().await?;
    let mut operator = found(context, email).await?;
    let mut words = Vec::new();
    if let Some(role) = role.filter(|role| *role != operator.role) {
        words.push(format!("{} -> {}", operator.role.as_str(), role.as_str()));
        operator.role = role;
    }
    if let Some(disabled) = disabled.filter(|disabled| *disabled != operator.disabled.is_some()) {
        words.push(if disabled { "disabled" } else { "enabled" }.to_owned());
        operator.disabled = disabled.then(|| context.clock.now());
    }
    let change = context.change("operator.set").of(operator.email.as_str()).how(words.join(", "));
    if !words.is_empty() && !context.store.update_operator(&operator, &change).await? {
        return Err(AdminError::NotFound(format!("the operator '{}' is gone", operator.email)));
    }
    Ok(Reply::Operator(view(&operator)))
}

/// Makes a one-time link useless.
pub(super) async fn revoke_invite(context: &Acting<'_>, invite: &str) -> Result<Reply, AdminError> {
    let gone = || AdminError::NotFound("the link did not work any more".into());
    let token = TokenHash::from_hex(invite).ok_or_else(gone)?;
    if context.store.revoke_invite(&token, &context.change("operator.revoke-link")).await? {
        Ok(Reply::Done)
    } else {
        Err(gone())
    }
}

/// Gives an operator the password that they chose themselves. All their sessions end.
pub async fn change_password(
    context: &AdminContext,
    operator: &Operator,
    password: SecretString,
) -> Result<(), AdminError> {
    let actor = Actor::Operator { id: operator.id, email: operator.email.to_string() };
    let acting = Acting { context, actor };
    let password = context.passwords.hash(password).await?;
    let _held = context.alone().await?;
    let operator = Operator { password, ..found(context, operator.email.as_str()).await? };
    let change = acting.change("operator.change-password").of(operator.email.as_str());
    context.store.update_operator(&operator, &change).await?;
    Ok(())
}

/// The link with which the first owner signs up; `None` if there are operators. A new one makes the last one
/// useless.
pub async fn setup_link(context: &AdminContext) -> Result<Option<LinkView>, AdminError> {
    if !context.store.operators().await?.is_empty() {
        return Ok(None);
    }
    let acting = Acting { context, actor: Actor::System };
    let purpose = Purpose::Join { role: Role::Owner, email: None };
    let change = acting.change("operator.setup-link");
    link(&acting, purpose, SETUP_LASTS, &change).await.map(Some)
}

/// Uses a link up: makes its operator, or sets their new password. `email` is what they typed, for a link that
/// leaves it open. A first-owner link works only while there is no operator.
pub async fn accept(
    context: &AdminContext,
    token: &PlainToken,
    email: &str,
    password: SecretString,
) -> Result<Operator, AdminError> {
    let useless = || AdminError::NotFound("this link does not work any more: ask for a new one".to_owned());
    // One at a time, so that a first-owner link cannot make a second owner.
    let _held = context.alone().await?;
    let now = context.clock.now();
    let invite = context.store.invite(&token.hash(), now).await?.ok_or_else(useless)?;
    let operators = context.store.operators().await?;
    let (operator, action) = match invite.purpose {
        Purpose::Join { email: None, .. } if !operators.is_empty() => return Err(useless()),
        Purpose::Join { role, email: given } => {
            let email = given.map_or_else(|| email_of(email), Ok)?;
            let id = OperatorId::generate(now, &*context.entropy)?;
            let password = context.passwords.hash(password).await?;
            (Operator { id, email, role, password, created: now, disabled: None }, "operator.join")
        }
        Purpose::ResetPassword { operator } => {
            let found = operators.into_iter().find(|other| other.id == operator).ok_or_else(useless)?;
            let password = context.passwords.hash(password).await?;
            (Operator { password, ..found }, "operator.reset-password")
        }
    };
    let actor = Actor::Operator { id: operator.id, email: operator.email.to_string() };
    let change = AuditChange::new(now, actor, action).of(operator.email.as_str());
    if context.store.accept_invite(&token.hash(), &operator, &change).await? {
        Ok(operator)
    } else {
        Err(useless())
    }
}

async fn link(
    context: &Acting<'_>,
    purpose: Purpose,
    lasts: Duration,
    change: &AuditChange,
) -> Result<LinkView, AdminError> {
    let token = PlainToken::generate(&*context.entropy)?;
    let page = match &purpose {
        Purpose::Join { email: None, .. } => "setup",
        Purpose::Join { .. } => "join",
        Purpose::ResetPassword { .. } => "reset",
    };
    let invite = Invite {
        token: token.hash(),
        purpose,
        created_by: context.actor.operator(),
        created: change.at,
        expires: change.at.plus(lasts),
    };
    context.store.create_invite(&invite, change).await?;
    let base = context.public_url.trim_end_matches('/');
    let url = format!("{base}/console/{page}?token={}", token.reveal());
    Ok(LinkView { url: Hidden::from(url), expires: moment::whole(invite.expires) })
}

async fn found(context: &AdminContext, email: &str) -> Result<Operator, AdminError> {
    let missing = || AdminError::NotFound(format!("there is no operator '{}'", shown(email)));
    context.store.operator(&email_of(email)?).await?.ok_or_else(missing)
}

fn email_of(text: &str) -> Result<Email, AdminError> {
    text.parse().map_err(|error| AdminError::Invalid(format!("'{}': {error}", shown(text))))
}

/// A password as it was typed; the end of its line is none of it.
fn secret(text: &Hidden) -> SecretString {
    text.expose().trim_end_matches(['\r', '\n']).to_owned().into()
}

fn view(operator: &Operator) -> OperatorView {
    OperatorView {
        id: operator.id.to_string(),
        email: operator.email.to_string(),
        role: operator.role.as_str().into(),
        state: if operator.disabled.is_some() { "disabled" } else { "active" }.into(),
        created: moment::whole(operator.created),
        disabled: operator.disabled.map(moment::whole),
    }
}
