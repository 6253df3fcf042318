//! Personal access tokens: make, list, revoke, and know whose one is.

use std::time::Duration;

use super::keys::Expiry;
use super::names::{name_of, shown};
use super::{Acting, Admin, AdminError, operators};
use crate::access_token::{AccessToken, PlainAccessToken};
use crate::operator::Operator;

/// Tokens of one operator at most.
const MOST: usize = 50;
/// How long a token works unless something else is asked for.
pub const LASTS: Duration = Duration::from_hours(90 * 24);
/// Uses closer together than this are noted once.
const TOUCH_EVERY: Duration = Duration::from_mins(1);

/// A token that was just made.
#[derive(Debug)]
pub struct NewToken {
    /// The token itself, which exists this once.
    pub plain: PlainAccessToken,
    /// The token as it is kept.
    pub token: AccessToken,
}

/// Makes a token of the operator with this address: one's own, or as an owner anybody's.
pub async fn create(
    by: &Acting<'_>,
    email: &str,
    name: &str,
    expires: Option<Expiry>,
) -> Result<NewToken, AdminError> {
    // One token at a time: two at once could be more than an operator may have.
    let by = &by.alone().await?;
    let operator = own(by, email).await?;
    let now = by.now();
    let expires = expires.unwrap_or(Expiry::In(LASTS.as_secs())).moment(now);
    let expires = expires.map_err(|error| error.about("expires"))?;
    let name = name_of(name)?;
    if by.store().access_tokens(operator.id).await?.len() >= MOST {
        let why = format!("{} has {MOST} tokens already: revoke one first", operator.email);
        return Err(AdminError::Conflict(why));
    }
    let plain = PlainAccessToken::generate(by.entropy())?;
    let (hash, prefix) = (plain.hash(), plain.shown());
    let token = AccessToken {
        hash,
        operator: operator.id,
        name,
        shown: prefix,
        created: now,
        expires,
        last_used: None,
    };
    let detail = format!("of {}, until {:.0}", operator.email, jiff::Timestamp::from(expires));
    let change = by.change("token.create").of(audit_subject(&token)).how(detail);
    by.store().create_access_token(&token, &change).await?;
    Ok(NewToken { plain, token })
}

/// The tokens of the operator with this address.
pub async fn list(by: &Acting<'_>, email: &str) -> Result<Vec<AccessToken>, AdminError> {
    let operator = own(by, email).await?;
    Ok(by.store().access_tokens(operator.id).await?)
}

/// Revokes a token of the operator with this address, named by what listings show of it, by itself, or by its hash in
/// hexadecimal. The very next request with it is refused.
pub async fn revoke(by: &Acting<'_>, email: &str, named: &str) -> Result<AccessToken, AdminError> {
    let operator = own(by, email).await?;
    let mut found = by.store().access_tokens(operator.id).await?;
    let whole = PlainAccessToken::parse(named).map(|plain| plain.hash());
    found.retain(|token| token.shown == named || Some(token.hash) == whole || token.hash.to_hex() == named);
    // No more than listings show: it may be a token.
    let named: String = shown(named).chars().take(8).collect();
    let none = || AdminError::NotFound(format!("{} has no token '{named}'", operator.email));
    if found.len() > 1 {
        return Err(AdminError::Conflict(format!("'{named}' fits several tokens: revoke it in the console")));
    }
    let token = found.pop().ok_or_else(none)?;
    let change = by.change("token.revoke").of(audit_subject(&token)).how(format!("of {}", operator.email));
    if by.store().revoke_access_token(operator.id, &token.hash, &change).await? {
        Ok(token)
    } else {
        Err(none())
    }
}

/// How the audit log names a token.
fn audit_subject(token: &AccessToken) -> String {
    format!("{} {}", token.shown, token.name)
}

/// The operator with this address, if it is who asks, or an owner asks.
async fn own(by: &Acting<'_>, email: &str) -> Result<Operator, AdminError> {
    let operator = operators::found(by, email).await?;
    if by.actor.operator() != Some(operator.id) {
        by.owners_only()?;
    }
    Ok(operator)
}

/// What became of a token that was shown.
#[derive(Debug)]
pub enum Shown {
    /// It is nobody's: never was, was revoked, or is of a disabled operator.
    Unknown,
    /// Its time is over.
    Expired,
    /// It is this operator's.
    Of(Operator),
}

/// The operator of a token. Notes that the token was used.
pub async fn find(admin: &Admin, plain: &PlainAccessToken) -> Result<Shown, AdminError> {
    let (hash, now) = (plain.hash(), admin.clock.now());
    let Some((token, operator)) = admin.store.access_token(&hash).await? else { return Ok(Shown::Unknown) };
    if token.has_expired(now) {
        return Ok(Shown::Expired);
    }
    if token.last_used.is_none_or(|last| now.since(last) >= TOUCH_EVERY) {
        // Who cannot write may read, and perhaps make room.
        if let Err(error) = admin.store.touch_access_token(&hash, now).await {
            tracing::warn!(error = %error, "the use of an access token could not be noted");
        }
    }
    Ok(Shown::Of(operator))
}
