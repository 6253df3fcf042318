//! The port to operators' second factors.

use async_trait::async_trait;

use crate::audit::Change;
use crate::id::OperatorId;
use crate::operator::TokenHash;
use crate::second_factor::SecondFactor;
use crate::store::StoreError;

/// Second factors, at most one an operator. They go with their operator.
#[async_trait]
pub trait SecondFactors: Send + Sync {
    /// The operator's.
    async fn second_factor(&self, operator: OperatorId) -> Result<Option<SecondFactor>, StoreError>;

    /// The operators who have one, in no order.
    async fn with_second_factor(&self) -> Result<Vec<OperatorId>, StoreError>;

    /// Adds one, durable when it returns, and ends all sessions of the operator but `keep`. [`StoreError::Conflict`] if there
    /// is one, or no such operator.
    async fn create_second_factor(
        &self,
        operator: OperatorId,
        factor: &SecondFactor,
        keep: Option<&TokenHash>,
        change: &Change,
    ) -> Result<(), StoreError>;

    /// Removes the second factor of an operator. `false` if there is none.
    async fn remove_second_factor(&self, operator: OperatorId, change: &Change) -> Result<bool, StoreError>;

    /// Uses the code of a step up, and with it those of all earlier steps. `false` if it was used up, or there is no second
    /// factor; once only, however many try.
    async fn use_code(&self, operator: OperatorId, step: u64) -> Result<bool, StoreError>;

    /// Uses a recovery code up, once only, however many try. `false` if there is no such code, or no more.
    async fn use_recovery_code(
        &self,
        operator: OperatorId,
        code: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError>;
}
