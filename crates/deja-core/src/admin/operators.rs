//! Operators: invite, make, list, change, and the one-time links that let them in. For owners, but for one's own password.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};

use super::names::shown;
use super::{Acting, Admin, AdminError, Hidden};
use crate::audit::{Actor, Change};
use crate::clock::Timestamp;
use crate::id::OperatorId;
use crate::operator::{
    Email, Invite, Operator, PASSWORD_CHARACTERS, PASSWORD_MAX_BYTES, PasswordHash, PlainToken, Purpose,
    Role, TokenHash,
};

/// How long links work. Long enough to be sent to somebody, short enough to be forgotten in a mailbox.
const SETUP_LASTS: Duration = Duration::from_hours(24);
const INVITE_LASTS: Duration = Duration::from_hours(72);
const RESET_LASTS: Duration = Duration::from_hours(2);

/// A one-time link. Whoever has it gets in.
#[derive(Clone, Debug)]
pub struct Link {
    /// The whole link, token included: shown this once.
    pub url: Hidden,
    /// When it stops working.
    pub expires: Timestamp,
}

/// Makes an operator with a password. The first one is an owner unless `role` says otherwise, the others are members.
pub async fn create(
    by: &Acting<'_>,
    email: &str,
    role: Option<Role>,
    password: SecretString,
) -> Result<Operator, AdminError> {
    by.owners_only()?;
    let (email, role) = newcomer(by, email, role).await?;
    let operator = Operator {
        id: OperatorId::generate(by.now(), by.entropy())?,
        email,
        role,
        password: hashed(by.admin, password).await?,
        created: by.now(),
        disabled: None,
    };
    let change = by.change("operator.create").of(operator.email.as_str()).how(role.as_str());
    by.store().create_operator(&operator, &change).await?;
    Ok(operator)
}

/// Makes a link with which somebody becomes an operator and chooses a password; the role is as in [`create`].
pub async fn invite(by: &Acting<'_>, email: &str, role: Option<Role>) -> Result<Link, AdminError> {
    let by = &by.alone().await?;
    by.owners_only()?;
    let (email, role) = newcomer(by, email, role).await?;
    let change = by.change("operator.invite").of(email.as_str()).how(role.as_str());
    link(by, Purpose::Join { role, email: Some(email) }, INVITE_LASTS, &change).await.map(|(link, _)| link)
}

/// Address and role of an operator to be, who is none yet.
async fn newcomer(by: &Acting<'_>, email: &str, role: Option<Role>) -> Result<(Email, Role), AdminError> {
    let email = email_of(email)?;
    let role = match role {
        Some(role) => role,
        None if by.store().operators().await?.is_empty() => Role::Owner,
        None => Role::Member,
    };
    match by.store().operator(&email).await? {
        Some(_) => Err(AdminError::Conflict(format!("there is an operator '{email}' already"))),
        None => Ok((email, role)),
    }
}

/// All operators.
pub async fn list(by: &Acting<'_>) -> Result<Vec<Operator>, AdminError> {
    by.owners_only()?;
    Ok(by.store().operators().await?)
}

/// Makes a link with which an operator, who is not disabled, sets a new password. The old one works until then.
pub async fn reset_password(by: &Acting<'_>, email: &str) -> Result<Link, AdminError> {
    let by = &by.alone().await?;
    by.owners_only()?;
    let operator = found(by, email).await?;
    if operator.disabled.is_some() {
        let why = format!("the account of {} is disabled: enable it first", operator.email);
        return Err(AdminError::Conflict(why));
    }
    let change = by.change("operator.reset-link").of(operator.email.as_str());
    let purpose = Purpose::ResetPassword { operator: operator.id };
    link(by, purpose, RESET_LASTS, &change).await.map(|(link, _)| link)
}

/// Changes what an operator may do. `None` stays as it is.
pub async fn set(
    by: &Acting<'_>,
    email: &str,
    role: Option<Role>,
    disabled: Option<bool>,
) -> Result<Operator, AdminError> {
    let by = &by.alone().await?;
    by.owners_only()?;
    let mut operator = found(by, email).await?;
    let mut words = Vec::new();
    if let Some(role) = role.filter(|role| *role != operator.role) {
        words.push(format!("{} -> {}", operator.role.as_str(), role.as_str()));
        operator.role = role;
    }
    if let Some(disabled) = disabled.filter(|disabled| *disabled != operator.disabled.is_some()) {
        words.push(if disabled { "disabled" } else { "enabled" }.to_owned());
        operator.disabled = disabled.then(|| by.now());
    }
    let change = by.change("operator.set").of(operator.email.as_str()).how(words.join(", "));
    if !words.is_empty() && !by.store().update_operator(&operator, &change).await? {
        return Err(AdminError::NotFound(format!("the operator '{}' is gone", operator.email)));
    }
    Ok(operator)
}

/// Makes a one-time link useless, named by the hash of its token in hexadecimal.
pub async fn revoke_invite(by: &Acting<'_>, invite: &str) -> Result<(), AdminError> {
    by.owners_only()?;
    let gone = || AdminError::NotFound("the link did not work any more".into());
    let token = TokenHash::from_hex(invite).ok_or_else(gone)?;
    let invite = by.store().invite(&token, by.now()).await?.ok_or_else(gone)?;
    let whose = match invite.purpose {
        Purpose::Join { email, .. } => email.map_or("the first owner".into(), |email| email.to_string()),
        Purpose::ResetPassword { operator } => {
            let operator = by.store().operator_by_id(operator).await?.ok_or_else(gone)?;
            operator.email.to_string()
        }
    };
    if by.store().revoke_invite(&token, &by.change("operator.revoke-link").of(whose)).await? {
        Ok(())
    } else {
        Err(gone())
    }
}

/// Gives an operator another password. All their sessions end.
pub async fn change_password(
    by: &Acting<'_>,
    email: &Email,
    password: SecretString,
) -> Result<(), AdminError> {
    let password = hashed(by.admin, password).await?;
    let by = &by.alone().await?;
    let operator = Operator { password, ..found(by, email.as_str()).await? };
    if by.actor.operator() != Some(operator.id) {
        by.owners_only()?;
    }
    let change = by.change("operator.change-password").of(operator.email.as_str());
    by.store().update_operator(&operator, &change).await?;
    Ok(())
}

/// How the first owner signs up.
#[derive(Debug)]
pub enum Setup {
    /// With this link, as long as it is not [withdrawn](withdraw).
    Link(Link, TokenHash),
    /// With a link that another process on the same store made.
    MadeElsewhere {
        /// When it was made.
        at: Timestamp,
        /// Until when it works.
        expires: Timestamp,
    },
}

/// How the first owner signs up; `None` if there are operators. Processes that share a store have one link: the first
/// of them makes it. The only process of a store makes a new one each time, and the last one useless.
pub async fn set_up(admin: &Admin) -> Result<Option<Setup>, AdminError> {
    let by = &admin.acting(Actor::System).alone().await?;
    if !by.store().operators().await?.is_empty() {
        return Ok(None);
    }
    if by.alone.is_some() {
        let invites = by.store().invites(by.now()).await?;
        let first = |invite: &&Invite| matches!(invite.purpose, Purpose::Join { email: None, .. });
        if let Some(Invite { created, expires, .. }) = invites.iter().find(first) {
            return Ok(Some(Setup::MadeElsewhere { at: *created, expires: *expires }));
        }
    }
    let purpose = Purpose::Join { role: Role::Owner, email: None };
    let change = by.change("operator.setup-link");
    let (link, token) = link(by, purpose, SETUP_LASTS, &change).await?;
    Ok(Some(Setup::Link(link, token)))
}

/// Makes the link of [`set_up`] useless if nobody used it: the process that printed it ends, and the next one that
/// starts makes another.
pub async fn withdraw(admin: &Admin, token: &TokenHash) -> Result<(), AdminError> {
    let by = admin.acting(Actor::System);
    by.store().revoke_invite(token, &by.change("operator.revoke-link")).await?;
    Ok(())
}

/// Uses a link up: makes its operator, or sets their new password. `email` is what they typed, for a link that
/// leaves it open. A first-owner link works only while there is no operator.
pub async fn accept(
    admin: &Admin,
    token: &PlainToken,
    email: &str,
    password: SecretString,
) -> Result<Operator, AdminError> {
    let useless = || AdminError::NotFound("this link does not work any more: ask for a new one".to_owned());
    // Nobody acts until it is known who they become.
    let by = admin.acting(Actor::System);
    // One link at a time, so that a first-owner link cannot make a second owner.
    let by = &by.alone().await?;
    let now = by.now();
    let invite = by.store().invite(&token.hash(), now).await?.ok_or_else(useless)?;
    // A replica of an earlier version may have stored a link just after its maker was disabled.
    if let Some(maker) = invite.created_by
        && !by.store().operator_by_id(maker).await?.is_some_and(|maker| maker.is_active_owner())
    {
        return Err(useless());
    }
    let (operator, action) = match invite.purpose {
        Purpose::Join { email: None, .. } if !by.store().operators().await?.is_empty() => {
            return Err(useless());
        }
        Purpose::Join { role, email: given } => {
            let email = given.map_or_else(|| email_of(email), Ok).map_err(|error| error.about("email"))?;
            let id = OperatorId::generate(now, by.entropy())?;
            let password = hashed(admin, password).await?;
            (Operator { id, email, role, password, created: now, disabled: None }, "operator.join")
        }
        Purpose::ResetPassword { operator } => {
            let found = by.store().operator_by_id(operator).await?.ok_or_else(useless)?;
            // The link was made just when the operator was disabled.
            if found.disabled.is_some() {
                return Err(useless());
            }
            (Operator { password: hashed(admin, password).await?, ..found }, "operator.reset-password")
        }
    };
    let change = Change::new(now, (&operator).into(), action).of(operator.email.as_str());
    if by.store().accept_invite(&token.hash(), &operator, &change).await? {
        Ok(operator)
    } else {
        Err(useless())
    }
}

async fn link(
    by: &Acting<'_>,
    purpose: Purpose,
    lasts: Duration,
    change: &Change,
) -> Result<(Link, TokenHash), AdminError> {
    let token = PlainToken::generate(by.entropy())?;
    let page = match &purpose {
        Purpose::Join { email: None, .. } => "setup",
        Purpose::Join { .. } => "join",
        Purpose::ResetPassword { .. } => "reset",
    };
    let invite = Invite {
        token: token.hash(),
        purpose,
        created_by: by.actor.operator(),
        created: change.at,
        expires: change.at.plus(lasts),
    };
    by.store().create_invite(&invite, change).await?;
    let base = by.admin.public_url.trim_end_matches('/');
    let url = format!("{base}/console/{page}?token={}", token.reveal());
    Ok((Link { url: Hidden::from(url), expires: invite.expires }, invite.token))
}

/// The hash of a password that somebody chose. Length is what makes it strong, so there is no other rule.
async fn hashed(admin: &Admin, password: SecretString) -> Result<PasswordHash, AdminError> {
    let text = password.expose_secret();
    if text.chars().count() < PASSWORD_CHARACTERS || text.len() > PASSWORD_MAX_BYTES {
        let why = format!(
            "the password needs at least {PASSWORD_CHARACTERS} characters, and at most {PASSWORD_MAX_BYTES} bytes"
        );
        return Err(AdminError::Invalid(why).about("password"));
    }
    admin.passwords.hash(password).await
}

pub(super) async fn found(by: &Acting<'_>, email: &str) -> Result<Operator, AdminError> {
    let missing = || AdminError::NotFound(format!("there is no operator '{}'", shown(email)));
    by.store().operator(&email_of(email)?).await?.ok_or_else(missing)
}

fn email_of(text: &str) -> Result<Email, AdminError> {
    text.parse().map_err(|error| AdminError::Invalid(format!("'{}': {error}", shown(text))))
}
