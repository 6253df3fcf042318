//! Personal access tokens of the reference store.

use async_trait::async_trait;

use super::MemoryStore;
use crate::access_token::AccessToken;
use crate::audit::Change;
use crate::clock::Timestamp;
use crate::id::OperatorId;
use crate::operator::{Operator, TokenHash};
use crate::store::{AccessTokens, StoreError};

#[async_trait]
impl AccessTokens for MemoryStore {
    async fn create_access_token(&self, token: &AccessToken, change: &Change) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.operator(token.operator).is_none()
            || state.access_tokens.iter().any(|other| other.hash == token.hash)
        {
            return Err(StoreError::Conflict("no operator for the token".to_owned()));
        }
        state.access_tokens.push(token.clone());
        state.changes.push(change.clone());
        Ok(())
    }

    async fn access_token(&self, hash: &TokenHash) -> Result<Option<(AccessToken, Operator)>, StoreError> {
        let state = self.state();
        let Some(token) = state.access_tokens.iter().find(|token| token.hash == *hash) else {
            return Ok(None);
        };
        let enabled = state.operator(token.operator).filter(|operator| operator.disabled.is_none());
        Ok(enabled.map(|operator| (token.clone(), operator.clone())))
    }

    async fn touch_access_token(&self, hash: &TokenHash, now: Timestamp) -> Result<(), StoreError> {
        let mut state = self.state();
        if let Some(token) = state.access_tokens.iter_mut().find(|token| token.hash == *hash) {
            token.last_used = Some(now);
        }
        Ok(())
    }

    async fn access_tokens(&self, operator: OperatorId) -> Result<Vec<AccessToken>, StoreError> {
        let mut tokens = self.state().access_tokens.clone();
        tokens.retain(|token| token.operator == operator);
        tokens.sort_by_key(|token| (token.created, token.hash));
        Ok(tokens)
    }

    async fn revoke_access_token(
        &self,
        operator: OperatorId,
        hash: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let own = |token: &mut AccessToken| (token.operator, token.hash) == (operator, *hash);
        let revoked = state.access_tokens.extract_if(.., own).count() > 0;
        Ok(state.note_if(revoked, change))
    }
}
