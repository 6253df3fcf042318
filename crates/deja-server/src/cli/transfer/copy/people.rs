//! The people of the console and their ranks, from one store to another.

use deja_core::operator::{Operator, Role};
use deja_core::store::{Store, StoreError};

use super::changes::{Both, What, copied};

/// What a copy of people did.
#[derive(Default)]
pub(super) struct People {
    pub(super) copied: u64,
    /// What the source changed of whom, and could not be changed here.
    pub(super) left: Vec<String>,
}

/// The people of the console, with their passwords and second factors. Sessions, open links and access tokens stay behind. Of those who
/// are there already what the source has changed since is changed; of another account with the same address rights are only taken away.
pub(super) async fn people(source: &dyn Store, target: &dyn Store, both: &Both) -> anyhow::Result<People> {
    let mut people = People::default();
    let theirs = source.operators().await?;
    for operator in &theirs {
        let email = operator.email.as_str();
        let Some(there) = target.operator(&operator.email).await? else {
            target.create_operator(operator, &copied("operator.create", None, email, "")).await?;
            people.copied += 1;
            second_factor(source, target, both, operator).await?;
            continue;
        };
        if there.id != operator.id {
            // Its secret is sealed for the account of the source.
            let lacks = target.second_factor(there.id).await?.is_none();
            if lacks && source.second_factor(operator.id).await?.is_some() {
                let left =
                    format!("{email} has another account in the target: turn its second factor on there");
                people.left.push(left);
            }
            continue;
        }
        if there.password != operator.password && both.source_holds(What::Password, None, email) {
            let changed = Operator { password: operator.password.clone(), ..there };
            target.update_operator(&changed, &copied("operator.change-password", None, email, "")).await?;
        }
        second_factor(source, target, both, operator).await?;
    }
    // Once all are there: the last owner of the target may be one no more if the source has another.
    for operator in &theirs {
        rights(target, both, operator, &mut people).await?;
    }
    Ok(people)
}

/// The second factor, with the codes that were used up.
async fn second_factor(
    source: &dyn Store,
    target: &dyn Store,
    both: &Both,
    operator: &Operator,
) -> anyhow::Result<()> {
    let (id, email) = (operator.id, operator.email.as_str());
    let (theirs, ours) = (source.second_factor(id).await?, target.second_factor(id).await?);
    if let (Some(theirs), Some(ours)) = (&theirs, &ours)
        && theirs.sealed_secret == ours.sealed_secret
    {
        target.use_code(id, theirs.last_step).await?;
        for code in ours.recovery.iter().filter(|code| !theirs.recovery.contains(code)) {
            let change = copied("operator.recovery-code", None, email, "");
            target.use_recovery_code(id, code, &change).await?;
        }
        return Ok(());
    }
    if !both.source_holds(What::SecondFactor, None, email) {
        return Ok(());
    }
    let change = |how| copied("operator.second-factor", None, email, how);
    // A second factor that only the target ever had stays.
    if ours.is_some() && (theirs.is_some() || both.was_removed(What::SecondFactor, None, email)) {
        target.remove_second_factor(id, &change("off")).await?;
    }
    if let Some(theirs) = theirs {
        target.create_second_factor(id, &theirs, None, &change("on")).await?;
    }
    Ok(())
}

/// Role and disablement.
async fn rights(
    target: &dyn Store,
    both: &Both,
    theirs: &Operator,
    people: &mut People,
) -> anyhow::Result<()> {
    let email = theirs.email.as_str();
    let Some(ours) = target.operator(&theirs.email).await? else { return Ok(()) };
    let wanted = if ours.id != theirs.id {
        let role = if theirs.role == Role::Member { Role::Member } else { ours.role };
        Operator { role, disabled: ours.disabled.or(theirs.disabled), ..ours.clone() }
    } else if both.source_holds(What::Operator, None, email) {
        Operator { role: theirs.role, disabled: theirs.disabled, ..ours.clone() }
    } else {
        return Ok(());
    };
    if (wanted.role, wanted.disabled.is_some()) == (ours.role, ours.disabled.is_some()) {
        return Ok(());
    }
    let state = if wanted.disabled.is_some() { "disabled" } else { "enabled" };
    let change = copied("operator.set", None, email, &format!("{}, {state}", wanted.role.as_str()));
    match target.update_operator(&wanted, &change).await {
        Ok(_) => Ok(()),
        Err(StoreError::Conflict(why)) => {
            people.left.push(format!("{email}: {why}"));
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// What these may do in each project. Who was removed from a project in the source, after they came into it here, is removed.
pub(super) async fn ranks(source: &dyn Store, target: &dyn Store, both: &Both) -> anyhow::Result<()> {
    let ours = target.projects().await?;
    for theirs in source.projects().await? {
        let Some(project) = ours.iter().find(|ours| ours.id == theirs.id).map(|project| project.id) else {
            continue;
        };
        let members = source.members(project).await?;
        for member in &members {
            let email = member.email.as_str();
            let Some(operator) = target.operator(&member.email).await? else { continue };
            let holds = both.source_holds(What::Rank, Some(project), email);
            if holds && target.rank(project, operator.id).await? != Some(member.rank) {
                let change = copied("member.set", Some(project), email, &member.rank.to_string());
                target.set_rank(project, operator.id, member.rank, &change).await?;
            }
        }
        for member in target.members(project).await? {
            let email = member.email.as_str();
            let is_member = members.iter().any(|theirs| theirs.email == member.email);
            if !is_member && both.was_removed(What::Rank, Some(project), email) {
                let change = copied("member.remove", Some(project), email, "");
                target.remove_rank(project, member.operator, &change).await?;
            }
        }
    }
    Ok(())
}
