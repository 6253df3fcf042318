//! Members of the reference store.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::MemoryStore;
use crate::audit::Change;
use crate::id::{OperatorId, ProjectId};
use crate::member::{Member, Rank};
use crate::store::{Members, StoreError};

#[async_trait]
impl Members for MemoryStore {
    async fn rank(&self, project: ProjectId, operator: OperatorId) -> Result<Option<Rank>, StoreError> {
        Ok(self.state().members.get(&(project, operator)).copied())
    }

    async fn ranks(&self, operator: OperatorId) -> Result<BTreeMap<ProjectId, Rank>, StoreError> {
        let state = self.state();
        let own = state.members.iter().filter(|((_, whose), _)| *whose == operator);
        Ok(own.map(|((project, _), rank)| (*project, *rank)).collect())
    }

    async fn members(&self, project: ProjectId) -> Result<Vec<Member>, StoreError> {
        let state = self.state();
        let rank = |operator| state.members.get(&(project, operator)).copied();
        let mut members: Vec<Member> = state
            .operators
            .iter()
            .filter_map(|operator| {
                let rank = rank(operator.id)?;
                Some(Member { operator: operator.id, email: operator.email.clone(), rank })
            })
            .collect();
        members.sort_by(|a, b| a.email.cmp(&b.email));
        Ok(members)
    }

    async fn set_rank(
        &self,
        project: ProjectId,
        operator: OperatorId,
        rank: Rank,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        if state.operator(operator).is_none() || !state.projects.contains_key(&project) {
            return Err(StoreError::Conflict("no project or operator for the rank".to_owned()));
        }
        let before = state.members.insert((project, operator), rank);
        Ok(state.note_if(before != Some(rank), change))
    }

    async fn remove_rank(
        &self,
        project: ProjectId,
        operator: OperatorId,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let removed = state.members.remove(&(project, operator)).is_some();
        Ok(state.note_if(removed, change))
    }
}
