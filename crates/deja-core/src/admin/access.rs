//! Who may do what, and in which project. Each rule about it is here; use cases and pages ask.

use super::names::shown;
use super::{Acting, AdminError};
use crate::member::Rank;
use crate::operator::Role;
use crate::project::Project;

/// A project, and the rank that the operator who asks has in it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The project.
    pub project: Project,
    /// The rank.
    pub rank: Rank,
}

impl Seen {
    /// The project, for whoever has this rank in it or a higher one.
    pub fn least(self, least: Rank) -> Result<Project, AdminError> {
        if self.rank >= least { Ok(self.project) } else { Err(AdminError::RankTooLow(least)) }
    }

    /// Whether they may read texts: of prompts, answers and contexts.
    pub fn texts(&self) -> bool {
        self.rank >= Rank::Editor
    }
}

impl Acting<'_> {
    /// Refuses everybody but owners of deja.
    pub(super) fn owners_only(&self) -> Result<(), AdminError> {
        match self.role {
            Role::Owner => Ok(()),
            Role::Member => Err(AdminError::OwnersOnly),
        }
    }

    /// The project called `slug`, for its editors and owners.
    pub(super) async fn project(&self, slug: &str) -> Result<Project, AdminError> {
        self.seen(slug).await?.least(Rank::Editor)
    }

    /// The project called `slug`, for all its members. An operator without a rank in it cannot tell that it exists.
    pub async fn seen(&self, slug: &str) -> Result<Seen, AdminError> {
        let missing = || AdminError::NotFound(format!("there is no project '{}'", shown(slug)));
        let project = self.store().project(slug).await?.ok_or_else(missing)?;
        let rank = match (self.role, self.actor.operator()) {
            (Role::Owner, _) => Some(Rank::Owner),
            (Role::Member, Some(operator)) => self.store().rank(project.id, operator).await?,
            (Role::Member, None) => None,
        };
        Ok(Seen { project, rank: rank.ok_or_else(missing)? })
    }

    /// All projects in which the operator who asks has a rank, by slug.
    pub(crate) async fn all_seen(&self) -> Result<Vec<Seen>, AdminError> {
        let projects = self.store().projects().await?.into_iter();
        let ranks = match (self.role, self.actor.operator()) {
            (Role::Owner, _) => {
                return Ok(projects.map(|project| Seen { project, rank: Rank::Owner }).collect());
            }
            (Role::Member, Some(operator)) => self.store().ranks(operator).await?,
            (Role::Member, None) => return Ok(Vec::new()),
        };
        let seen = projects.filter_map(|project| {
            let rank = *ranks.get(&project.id)?;
            Some(Seen { project, rank })
        });
        Ok(seen.collect())
    }
}
