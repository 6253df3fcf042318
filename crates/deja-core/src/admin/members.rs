//! Members of a project: list, set and take ranks, for its owners. Who is no operator yet is invited by an owner of deja.

use super::{Acting, AdminError, operators};
use crate::member::{Member, Rank};

/// The project's members, for its editors and owners.
pub async fn list(by: &Acting<'_>, slug: &str) -> Result<Vec<Member>, AdminError> {
    let project = by.project(slug).await?;
    Ok(by.store().members(project.id).await?)
}

/// Gives the operator with this address a rank in the project, in place of the one that they have.
pub async fn set(by: &Acting<'_>, slug: &str, email: &str, rank: Rank) -> Result<Member, AdminError> {
    let by = &by.alone().await?;
    let project = by.seen(slug).await?.least(Rank::Owner)?;
    let operator = operators::found(by, email).await?;
    let before = by.store().rank(project.id, operator.id).await?;
    let change = by.change("member.set").within(project.id).of(operator.email.as_str());
    let change = change.how(before.map_or(rank.to_string(), |before| format!("{before} -> {rank}")));
    if before != Some(rank)
        && let Err(error) = by.store().set_rank(project.id, operator.id, rank, &change).await
    {
        return Err(by.refused(project.id, slug, error).await);
    }
    Ok(Member { operator: operator.id, email: operator.email, rank })
}

/// Takes an operator's rank in the project away.
pub async fn remove(by: &Acting<'_>, slug: &str, email: &str) -> Result<(), AdminError> {
    let by = &by.alone().await?;
    let project = by.seen(slug).await?.least(Rank::Owner)?;
    let operator = operators::found(by, email).await?;
    let change = by.change("member.remove").within(project.id).of(operator.email.as_str());
    if by.store().remove_rank(project.id, operator.id, &change).await? {
        Ok(())
    } else {
        Err(AdminError::NotFound(format!("{} is no member of the project '{slug}'", operator.email)))
    }
}
