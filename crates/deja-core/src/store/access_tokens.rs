//! The port to personal access tokens.

use async_trait::async_trait;

use crate::access_token::AccessToken;
use crate::audit::Change;
use crate::clock::Timestamp;
use crate::id::OperatorId;
use crate::operator::{Operator, TokenHash};
use crate::store::StoreError;

/// Personal access tokens. They go with their operator.
#[async_trait]
pub trait AccessTokens: Send + Sync {
    /// Adds a token; durable when it returns. [`StoreError::Conflict`] if its operator does not exist.
    async fn create_access_token(&self, token: &AccessToken, change: &Change) -> Result<(), StoreError>;

    /// The token with this hash and its operator, as they are now. An expired token is found; a token of a disabled operator is
    /// not.
    async fn access_token(&self, hash: &TokenHash) -> Result<Option<(AccessToken, Operator)>, StoreError>;

    /// Notes that a token was used. Does nothing if the token is gone.
    async fn touch_access_token(&self, hash: &TokenHash, now: Timestamp) -> Result<(), StoreError>;

    /// The operator's tokens, oldest first, expired ones included.
    async fn access_tokens(&self, operator: OperatorId) -> Result<Vec<AccessToken>, StoreError>;

    /// Removes a token of an operator; it is refused from the very next request on. `false` if there is none.
    async fn revoke_access_token(
        &self,
        operator: OperatorId,
        hash: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError>;
}
