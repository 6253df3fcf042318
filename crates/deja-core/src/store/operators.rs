//! The ports to the people of the console: operators, their sessions, and one-time links.

use async_trait::async_trait;

use crate::audit::Change;
use crate::clock::Timestamp;
use crate::id::OperatorId;
use crate::operator::{Email, Invite, Operator, PasswordHash, Session, TokenHash};
use crate::store::StoreError;

/// Operators.
#[async_trait]
pub trait Operators: Send + Sync {
    /// Adds an operator; durable when it returns. [`StoreError::Conflict`] if the address is taken.
    async fn create_operator(&self, operator: &Operator, change: &Change) -> Result<(), StoreError>;

    /// All operators, by address, disabled ones included.
    async fn operators(&self) -> Result<Vec<Operator>, StoreError>;

    /// The operator with this address, possibly disabled.
    async fn operator(&self, email: &Email) -> Result<Option<Operator>, StoreError>;

    /// The operator with this id, possibly disabled.
    async fn operator_by_id(&self, id: OperatorId) -> Result<Option<Operator>, StoreError>;

    /// Replaces role, password and disablement of the operator with this id. A new password or a disablement
    /// ends all their sessions. Of who is no enabled owner, the links that they made are gone, and of who is
    /// disabled those for a new password of theirs: a link must not do what its maker may not. `false` if there
    /// is no such operator; [`StoreError::Conflict`] if no enabled owner would be left.
    async fn update_operator(&self, operator: &Operator, change: &Change) -> Result<bool, StoreError>;
}

/// One-time links. A link that is used, revoked or expired is as if it had never been.
#[async_trait]
pub trait Invites: Send + Sync {
    /// Adds a link. A new link to reset a password replaces the operator's earlier ones, and a new link for the
    /// first owner (without an address) all earlier ones without an address.
    async fn create_invite(&self, invite: &Invite, change: &Change) -> Result<(), StoreError>;

    /// The link with this token, if it works at `now`. Does not use it up.
    async fn invite(&self, token: &TokenHash, now: Timestamp) -> Result<Option<Invite>, StoreError>;

    /// The links that work at `now`, oldest first.
    async fn invites(&self, now: Timestamp) -> Result<Vec<Invite>, StoreError>;

    /// Uses a link up, for the time of the change: to join it adds `operator`, to reset a password it gives the
    /// one with the id of `operator` its password and ends their sessions. Both or nothing, and once only
    /// however many try. `false` if the link does not work or the one to reset is gone;
    /// [`StoreError::Conflict`] if the address is taken, and then the link stays.
    async fn accept_invite(
        &self,
        token: &TokenHash,
        operator: &Operator,
        change: &Change,
    ) -> Result<bool, StoreError>;

    /// Makes a link useless. `false` if there is none.
    async fn revoke_invite(&self, token: &TokenHash, change: &Change) -> Result<bool, StoreError>;
}

/// Sessions of operators.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// Adds a session of who showed `password`, and a code too if `second_factor`. `false` if that is not enough by now: the
    /// operator is gone or disabled, has another password, or a second factor that was not asked for. What they are does not
    /// change meanwhile: a change that ends sessions comes before this one and is seen, or after it and ends this session.
    async fn create_session(
        &self,
        session: &Session,
        password: &PasswordHash,
        second_factor: bool,
        change: &Change,
    ) -> Result<bool, StoreError>;

    /// The session with this token and its operator, as they are now. An expired session is not found, nor is a session of a
    /// disabled operator.
    async fn session(
        &self,
        token: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<(Session, Operator)>, StoreError>;

    /// Notes that a session was used and when it now expires. Does nothing if the session is gone.
    async fn touch_session(
        &self,
        token: &TokenHash,
        now: Timestamp,
        expires: Timestamp,
    ) -> Result<(), StoreError>;

    /// The operator's sessions that have not expired, the last used first.
    async fn sessions(&self, operator: OperatorId, now: Timestamp) -> Result<Vec<Session>, StoreError>;

    /// Ends one session of an operator; it is refused from the very next request on. `false` if there is none.
    async fn end_session(
        &self,
        operator: OperatorId,
        token: &TokenHash,
        change: &Change,
    ) -> Result<bool, StoreError>;

    /// Ends all sessions of an operator but `keep`, and says how many. The change is written in any case.
    async fn end_sessions(
        &self,
        operator: OperatorId,
        keep: Option<&TokenHash>,
        change: &Change,
    ) -> Result<u64, StoreError>;

    /// Removes sessions and links that expired before `now`, and says how many.
    async fn sweep_sessions(&self, now: Timestamp) -> Result<u64, StoreError>;
}
