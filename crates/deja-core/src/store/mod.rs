//! The ports to storage: one trait a noun, each dyn-safe, each method atomic.
//!
//! What the doc line of a method promises is proved by a case of the contract suite
//! ([`crate::testing::contract`]), which runs against every backend. An absence is `None` or `false`, never
//! an error. Time comes in as an argument: no backend asks its own clock.

mod access_tokens;
mod ahead;
mod audit;
mod browse;
mod claims;
mod entries;
mod export;
mod fold;
mod keys;
mod labels;
mod limits;
mod members;
mod operators;
mod opinions;
mod order;
mod projects;
mod providers;
mod request_log;
mod samples;
mod second_factors;
mod usage;
mod wrong_answers;

use async_trait::async_trait;

use crate::api_key::KeyHash;
use crate::clock::Timestamp;

pub use access_tokens::AccessTokens;
pub use ahead::{Found, LookUp, LooksAhead};
pub use audit::Audit;
pub use browse::{Browse, LISTED};
pub use claims::{Claimed, Claims, FlightKey, Unanswered};
pub use entries::{
    EVICTED_AT_ONCE, Entries, EntryFilter, EntryPlace, Probe, StaleCount, StaleEntry, Vectors,
};
pub use export::{EntryCursor, Export, PAGE_BYTES, WholeEntry};
pub use fold::{folded, folded_char};
pub use keys::{Admission, Door, Keys, OwnProviders};
pub use labels::{CLOCK_SKEW, Labels, NewLabel};
pub use limits::Limits;
pub use members::Members;
pub use operators::{Invites, Operators, Sessions};
pub use opinions::{Opinions, Questions};
pub use order::{Cursor, EntryColumn, EntryOrder, LogColumn, LogOrder, Order};
pub use projects::Projects;
pub use providers::ProviderConfigs;
pub use request_log::RequestLog;
pub use samples::Samples;
pub use second_factors::SecondFactors;
pub use usage::Usage;
pub use wrong_answers::{QUARANTINE_FROM, QUARANTINE_WITHIN, Quarantined, WrongAnswers};

/// All of storage.
#[async_trait]
pub trait Store:
    Projects
    + Keys
    + Entries
    + Vectors
    + Browse
    + Export
    + Labels
    + WrongAnswers
    + Opinions
    + Limits
    + Usage
    + Samples
    + RequestLog
    + ProviderConfigs
    + Operators
    + Invites
    + Sessions
    + AccessTokens
    + SecondFactors
    + Members
    + Audit
{
    /// Whether a read and a write would work now.
    async fn ready(&self) -> Result<(), StoreError>;

    /// [`Keys::key_by_hash`], and if the key has not expired, [`Limits::take_of_key`] where it has a limit of its own, and
    /// unless that refuses, [`Limits::take`] by the project's quota: in one round trip where that is to a server. What a
    /// key's own limit refuses takes nothing from its project's.
    async fn admit_within_limit(&self, hash: &KeyHash, now: Timestamp) -> Result<Door, StoreError> {
        let Some(admission) = self.key_by_hash(hash).await? else { return Ok(Door::Unknown) };
        let (key, project) = (&admission.key, &admission.project);
        if key.has_expired(now) {
            return Ok(Door::Expired);
        }
        let own = match key.quota {
            Some(quota) => Some(self.take_of_key(project.id, key.id, quota, now).await?.of_key()),
            None => None,
        };
        let decision = match own {
            Some(own) if !own.allowed => own,
            own => {
                let of_project = self.take(project.id, project.quota(), now).await?;
                if let Some(quota) = key.quota
                    && !of_project.allowed
                {
                    self.give_back_to_key(project.id, key.id, quota).await?;
                }
                own.map_or(of_project, |own| own.or_tighter(of_project))
            }
        };
        Ok(Door::Open(admission, decision))
    }

    /// Admission with a look-up; `None` if this store is in the process, so that there is no round trip to save.
    fn looks_ahead(&self) -> Option<&dyn LooksAhead> {
        None
    }

    /// Flights shared with other processes; `None` if this store serves one process only.
    fn claims(&self) -> Option<&dyn Claims> {
        None
    }

    /// A handle of this store, until it is dropped. Of all processes that share the store, one at a time has it. A change of a
    /// project, a provider or an operator reads the whole of it and writes it again: nothing else may change it in between. A
    /// call on the handle fails if another process may have it meanwhile. `None` if this store serves one process only.
    async fn lock_changes(&self) -> Result<Option<Box<dyn Store>>, StoreError> {
        Ok(None)
    }

    /// How much is done, 0 to 1, of an index that is being built. Until it is there, large scopes are searched slowly, or,
    /// with a store that loads its index into memory, prompts that are alike may not be found.
    /// `None`: none is being built.
    async fn index_build(&self) -> Result<Option<f64>, StoreError> {
        Ok(None)
    }

    /// Builds the indexes that large scopes need and do not have yet, and ends when they are there, or another process builds
    /// them. Searches see to that themselves, but scan until it is done; this is for what searches nothing, such as an import.
    async fn build_missing_indexes(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Ends all work in order: what was acknowledged is on disk when this returns.
    async fn close(&self) -> Result<(), StoreError>;
}

/// Why storage did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The call clashes with stored data: a unique thing exists already, or the thing that it belongs to is gone. The text says
    /// so to people, and what they can do about it.
    #[error("{0}")]
    Conflict(String),
    /// Storage cannot be reached or written now.
    #[error("storage is unavailable: {0}")]
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
    /// A search by text did not end within the time that the store gives it.
    #[error("the search by text took too long: choose a model or a context, or raise search_timeout_ms")]
    SearchTimeout,
    /// A stored value cannot be read.
    #[error("storage is corrupt: {0}")]
    Corrupt(String),
    /// Anything else: a bug.
    #[error("storage failed: {0}")]
    Internal(Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Whether the same call may well succeed later.
    pub(crate) const fn may_pass(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::SearchTimeout)
    }

    /// A copy, for another caller whose request was in the same call.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        match self {
            Self::Conflict(reason) => Self::Conflict(reason.clone()),
            Self::Unavailable(reason) => Self::Unavailable(reason.to_string().into()),
            Self::SearchTimeout => Self::SearchTimeout,
            Self::Corrupt(reason) => Self::Corrupt(reason.clone()),
            Self::Internal(reason) => Self::Internal(reason.to_string().into()),
        }
    }

    /// There would be no owner left who may sign in.
    pub fn last_owner() -> Self {
        Self::Conflict("this is the last owner who may sign in: make somebody else an owner first".to_owned())
    }
}
