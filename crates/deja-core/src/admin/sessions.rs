//! Sessions of the console: sign in, be known, sign out.

use std::time::Duration;

use secrecy::SecretString;

use super::{Acting, Admin, AdminError};
use crate::audit::{Actor, Change, SIGN_IN_REFUSED};
use crate::operator::{Email, Operator, PlainToken, Session, TokenHash, short_user_agent};

/// How long a session lasts without a request.
pub const IDLE: Duration = Duration::from_hours(7 * 24);
/// How long it lasts at most.
pub const LIFETIME: Duration = Duration::from_hours(30 * 24);
/// How far the clock of the replica that began a session may be ahead.
const SKEW: Duration = Duration::from_mins(5);
/// Uses closer together than this are noted once.
const TOUCH_EVERY: Duration = Duration::from_mins(1);

/// The operator with this address and password, who may sign in. It takes as long to say that there is none. A refusal
/// is told in the audit log, with `from`.
pub async fn check(
    admin: &Admin,
    email: &str,
    password: SecretString,
    from: &str,
) -> Result<Option<Operator>, AdminError> {
    let operator = match email.parse::<Email>() {
        Ok(email) => admin.store.operator(&email).await?,
        Err(_) => None,
    };
    // Checked in any case, so that the time it takes does not tell whether the address is known.
    let hash = operator.as_ref().map(|operator| operator.password.clone());
    let right = admin.passwords.verify(password, hash).await?;
    let operator = operator.filter(|operator| right && operator.disabled.is_none());
    if operator.is_none() {
        let subject: String = email.chars().filter(|c| !c.is_control()).take(100).collect();
        let change = Change::new(admin.clock.now(), Actor::System, SIGN_IN_REFUSED);
        admin.store.note(&change.of(subject).how(format!("from {from}"))).await?;
    }
    Ok(operator)
}

/// Begins a session of `operator`, who has shown their password, and a code too if `second_factor`. Gives the token for the
/// browser's cookie; `None` if that is not enough any more, because the operator was changed meanwhile.
pub async fn begin(
    admin: &Admin,
    operator: &Operator,
    second_factor: bool,
    user_agent: &str,
) -> Result<Option<PlainToken>, AdminError> {
    let token = PlainToken::generate(&*admin.entropy)?;
    let now = admin.clock.now();
    let session = Session {
        token: token.hash(),
        operator: operator.id,
        created: now,
        last_seen: now,
        expires: now.plus(IDLE),
        user_agent: short_user_agent(user_agent),
    };
    let change = Change::new(now, operator.into(), "session.begin").of(operator.email.as_str());
    let created = admin.store.create_session(&session, &operator.password, second_factor, &change).await?;
    Ok(created.then_some(token))
}

/// The session with this token and its operator; `None` if it is not, or no more, one. Notes that it was used.
pub async fn find(admin: &Admin, token: &PlainToken) -> Result<Option<(Session, Operator)>, AdminError> {
    let now = admin.clock.now();
    let hash = token.hash();
    let Some((session, operator)) = admin.store.session(&hash, now).await? else { return Ok(None) };
    let end = session.created.plus(LIFETIME);
    // One that began after now would last longer by as much as the clock was set back.
    if now >= end || session.created.since(now) > SKEW {
        return Ok(None);
    }
    if now.since(session.last_seen) >= TOUCH_EVERY {
        // Who cannot write may read, and perhaps make room.
        if let Err(error) = admin.store.touch_session(&hash, now, now.plus(IDLE).min(end)).await {
            tracing::warn!(error = %error, "the use of a session could not be noted");
        }
    }
    Ok(Some((session, operator)))
}

/// Ends a session of `operator`; it is refused from the very next request on. `false` if it had ended already.
pub async fn end(by: &Acting<'_>, operator: &Operator, session: &TokenHash) -> Result<bool, AdminError> {
    let change = by.change("session.end").of(operator.email.as_str());
    Ok(by.store().end_session(operator.id, session, &change).await?)
}

/// Ends all sessions of `operator`.
pub async fn end_all(by: &Acting<'_>, operator: &Operator) -> Result<(), AdminError> {
    let change = by.change("session.end_all").of(operator.email.as_str());
    by.store().end_sessions(operator.id, None, &change).await?;
    Ok(())
}
