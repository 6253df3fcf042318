//! Second factors of the reference store.

use async_trait::async_trait;

use super::MemoryStore;
use crate::audit::Change;
use crate::id::OperatorId;
use crate::operator::TokenHash;
use crate::second_factor::SecondFactor;
use crate::store::{SecondFactors, StoreError};

#[async_trait]
impl SecondFactors for MemoryStore {
    async fn second_factor(&self, operator: OperatorId) -> Result<Option<SecondFactor>, StoreError> {
        Ok(self.state().second_factors.get(&operator).cloned())
    }

    async fn with_second_factor(&self) -> Result<Vec<OperatorId>, StoreError> {
        Ok(self.state().second_factors.keys().copied().collect())
    }

    async fn create_second_factor(
        &self,
        operator: OperatorId,
        factor: &SecondFactor,
        keep: Option<&TokenHash>,
        change: &Change,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.operator(operator).is_none() || state.second_factors.contains_key(&operator) {
            return Err(StoreError::Conflict("a second factor is there, or no operator".to_owned()));
        }
        state.second_factors.insert(operator, factor.clone());
        state.sessions.retain(|session| session.operator != operator || Some(&session.token) == keep);
        state.changes.push(change.clone());
        Ok(())
    }

    async fn remove_second_factor(&self, operator: OperatorId, change: &Change) -> Result<bool, StoreError> {
        let mut state = self.state();
        let removed = state.second_factors.remove(&operator).is_some();
        Ok(state.note_if(removed, change))
    }

    async fn use_code(&self, operator: OperatorId, step: u64) -> Result<bool, StoreError> {
        let mut state = self.state();
        let fresh = state.second_factors.get_mut(&operator).filter(|factor| factor.last_step < step);
        Ok(fresh.map(|factor| factor.last_step = step).is_some())
    }

    async fn use_recovery_code(
        &self,
        operator: OperatorId,
        code: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(factor) = state.second_factors.get_mut(&operator) else { return Ok(false) };
        let used = factor.recovery.extract_if(.., |left| left == code).count() > 0;
        Ok(state.note_if(used, change))
    }
}
