//! The port to the members of projects.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::audit::Change;
use crate::id::{OperatorId, ProjectId};
use crate::member::{Member, Rank};
use crate::store::StoreError;

/// Members of projects. A rank goes with its project and with its operator.
#[async_trait]
pub trait Members: Send + Sync {
    /// The operator's rank in the project.
    async fn rank(&self, project: ProjectId, operator: OperatorId) -> Result<Option<Rank>, StoreError>;

    /// The operator's ranks in all projects where they have one.
    async fn ranks(&self, operator: OperatorId) -> Result<BTreeMap<ProjectId, Rank>, StoreError>;

    /// The project's members, by address, disabled operators included.
    async fn members(&self, project: ProjectId) -> Result<Vec<Member>, StoreError>;

    /// Gives an operator this rank, in place of the one that they have. `false` if they have it already;
    /// [`StoreError::Conflict`] if the project or the operator does not exist.
    async fn set_rank(
        &self,
        project: ProjectId,
        operator: OperatorId,
        rank: Rank,
        change: &Change,
    ) -> Result<bool, StoreError>;

    /// Takes an operator's rank away. `false` if they have none.
    async fn remove_rank(
        &self,
        project: ProjectId,
        operator: OperatorId,
        change: &Change,
    ) -> Result<bool, StoreError>;
}
