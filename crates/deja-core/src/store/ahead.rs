//! The port to admission with a look-up, for stores where each of them is a round trip.

use std::sync::Arc;

use async_trait::async_trait;

use crate::api_key::KeyHash;
use crate::cache::{Entry, PromptHash, Scope, ScopeKey};
use crate::clock::Timestamp;
use crate::id::ProjectId;
use crate::store::{Door, StoreError};

/// The look-up that a request is about to make: scope and prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookUp {
    /// The project of the scope.
    pub project: ProjectId,
    /// The scope.
    pub scope: ScopeKey,
    /// The prompt.
    pub prompt: PromptHash,
}

impl LookUp {
    /// The look-up of a prompt in a scope.
    pub const fn new(scope: &Scope, prompt: PromptHash) -> Self {
        Self { project: scope.project(), scope: scope.key(), prompt }
    }
}

/// The result of [`Entries::exact`](crate::store::Entries::exact).
pub type Found = Result<Option<Arc<Entry>>, StoreError>;

/// Admission and the exact look-up in one call.
#[async_trait]
pub trait LooksAhead: Send + Sync {
    /// [`Store::admit_within_limit`](crate::store::Store::admit_within_limit), and
    /// [`Entries::exact`](crate::store::Entries::exact) for what is `wanted`, as far as it is of the key's project. For a
    /// request over a limit, or of a suspended project, nothing is looked up.
    async fn admit_and_look_up(
        &self,
        hash: &KeyHash,
        wanted: &LookUp,
        now: Timestamp,
    ) -> Result<(Door, Found), StoreError>;
}
