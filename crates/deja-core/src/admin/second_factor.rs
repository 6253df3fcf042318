//! The second factor of operators: turn it on, check it, and remove it.

use secrecy::ExposeSecret as _;

use super::{Acting, Admin, AdminError, operators};
use crate::audit::{Actor, Change, SIGN_IN_REFUSED};
use crate::id::OperatorId;
use crate::operator::{Operator, TokenHash};
use crate::second_factor::{RECOVERY_CODES, RecoveryCode, SecondFactor, TotpSecret, binding};

/// The second factor of an operator, if there is one.
pub async fn of(admin: &Admin, operator: &Operator) -> Result<Option<SecondFactor>, AdminError> {
    Ok(admin.store.second_factor(operator.id).await?)
}

/// For owners: the operators who have one.
pub async fn holders(by: &Acting<'_>) -> Result<Vec<OperatorId>, AdminError> {
    by.owners_only()?;
    Ok(by.store().with_second_factor().await?)
}

/// Turns it on for `operator`, whose app knows `secret` and shows `code`. Gives the recovery codes, which exist this once.
/// All sessions of the operator end but `keep`.
pub async fn turn_on(
    by: &Acting<'_>,
    operator: &Operator,
    secret: &TotpSecret,
    code: &str,
    keep: &TokenHash,
) -> Result<Vec<RecoveryCode>, AdminError> {
    if of(by.admin, operator).await?.is_some() {
        let why = format!("{} has a second factor already: turn it off first", operator.email);
        return Err(AdminError::Conflict(why));
    }
    let now = by.now();
    let wrong = "the code is not the one that the app should show now: scan again, and look at the clock of the phone";
    let step = secret.step_of(code, now).ok_or_else(|| AdminError::Invalid(wrong.into()))?;
    let codes: Result<Vec<_>, _> =
        (0..RECOVERY_CODES).map(|_| RecoveryCode::generate(by.entropy())).collect();
    let codes = codes?;
    let mut recovery: Vec<_> = codes.iter().map(RecoveryCode::hash).collect();
    recovery.sort_unstable();
    let sealed_secret = by.admin.sealer.seal(secret.expose(), &binding(operator.id))?;
    let factor = SecondFactor { sealed_secret, since: now, last_step: step, recovery };
    let change = by.change("operator.second-factor").of(operator.email.as_str()).how("on");
    by.store().create_second_factor(operator.id, &factor, Some(keep), &change).await?;
    Ok(codes)
}

/// Whether `code` is one that the operator's app shows now, or a recovery code; each works once. A refusal is told in the
/// audit log, with `from`.
pub async fn check(admin: &Admin, operator: &Operator, code: &str, from: &str) -> Result<bool, AdminError> {
    let Some(factor) = of(admin, operator).await? else { return Ok(false) };
    let now = admin.clock.now();
    let right = if let Some(recovery) = RecoveryCode::parse(code) {
        let change = Change::new(now, operator.into(), "operator.recovery-code");
        let change = change.of(operator.email.as_str()).how(format!("from {from}"));
        admin.store.use_recovery_code(operator.id, &recovery.hash(), &change).await?
    } else {
        let opened = admin.sealer.open(&factor.sealed_secret, &binding(operator.id))?;
        let damaged = || AdminError::Failed("a second factor's secret is damaged".into());
        let secret = TotpSecret::from_bytes(opened.expose_secret()).ok_or_else(damaged)?;
        match secret.step_of(code, now) {
            Some(step) => admin.store.use_code(operator.id, step).await?,
            None => false,
        }
    };
    if !right {
        let change = Change::new(now, Actor::System, SIGN_IN_REFUSED);
        let change = change.of(operator.email.as_str()).how(format!("wrong code, from {from}"));
        admin.store.note(&change).await?;
    }
    Ok(right)
}

/// Removes the second factor of the operator with this address: one's own, or as an owner anybody's.
pub async fn remove(by: &Acting<'_>, email: &str) -> Result<(), AdminError> {
    let by = &by.alone().await?;
    let operator = operators::found(by, email).await?;
    if by.actor.operator() != Some(operator.id) {
        by.owners_only()?;
    }
    let change = by.change("operator.second-factor").of(operator.email.as_str()).how("off");
    if by.store().remove_second_factor(operator.id, &change).await? {
        Ok(())
    } else {
        Err(AdminError::NotFound(format!("{} has no second factor", operator.email)))
    }
}
