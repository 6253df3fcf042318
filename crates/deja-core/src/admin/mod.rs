//! Use cases of operators: what people do to projects, keys, providers, prices, caches and each other.
//!
//! Each is a plain function: arguments in, a noun out, the change and its audit row in one transaction. The console
//! calls them; so does the command line, through the socket of a running server where there is one.

mod access;
pub mod audit;
pub mod cache;
mod hidden;
pub mod judging;
pub mod keys;
pub mod members;
mod names;
pub mod operators;
mod ports;
pub mod prices;
pub mod projects;
pub mod providers;
pub mod quality;
pub mod requests;
pub mod second_factor;
pub mod sessions;
pub mod tokens;
pub mod transfer;

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, MutexGuard, Notify};

pub use access::Seen;
pub use hidden::Hidden;
pub use ports::{PasswordHasher, Prices, SecretSealer, UrlCheck};

use crate::audit::{Actor, Change};
use crate::cache::Readings;
use crate::clock::{Clock, TimeRange, Timestamp};
use crate::embedding::EmbedderId;
use crate::id::{Entropy, EntropyError, ProjectId};
use crate::member::Rank;
use crate::operator::{Operator, Role};
use crate::provider::Providers;
use crate::store::{Store, StoreError};

/// The parts that use cases work with.
pub struct Admin {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// For ids, keys and links.
    pub entropy: Arc<dyn Entropy>,
    /// Seals the secrets of providers.
    pub sealer: Arc<dyn SecretSealer>,
    /// Hashes and checks passwords.
    pub passwords: Arc<dyn PasswordHasher>,
    /// The prices in force.
    pub prices: Arc<dyn Prices>,
    /// Guards what a project may have called.
    pub url_check: UrlCheck,
    /// The URL at which people reach deja. Links begin with it.
    pub public_url: String,
    /// Reads pairs of prompts.
    pub readings: Arc<Readings>,
    /// The embedder of this process; `None` if the process is a command, which has none.
    pub embedder: Option<EmbedderId>,
    /// The LLM providers; `None` if the process is a command, which has none.
    pub providers: Option<Arc<dyn Providers>>,
    /// Told when entries were imported: their vectors may be of another embedder.
    pub imported: Arc<Notify>,
    /// Held by whoever is [alone](Acting::alone) in this process.
    pub changes: Mutex<()>,
}

impl Admin {
    /// For the use cases that `actor` asks for, who may do everything: whoever has the machine, and deja itself.
    pub const fn acting(&self, actor: Actor) -> Acting<'_> {
        Acting { admin: self, actor, role: Role::Owner, alone: None }
    }

    /// For the use cases of a person, who may do what their role and their rank in each project allow.
    pub fn acting_for(&self, operator: &Operator) -> Acting<'_> {
        Acting { role: operator.role, ..self.acting(operator.into()) }
    }
}

/// Somebody who does something: the first argument of each use case.
pub struct Acting<'a> {
    admin: &'a Admin,
    actor: Actor,
    role: Role,
    /// The store, held against other processes that share it.
    alone: Option<Box<dyn Store>>,
}

impl<'a> Acting<'a> {
    fn store(&self) -> &dyn Store {
        self.alone.as_deref().unwrap_or(&*self.admin.store)
    }

    /// Now, by the clock of the use cases.
    pub fn now(&self) -> Timestamp {
        self.admin.clock.now()
    }

    fn entropy(&self) -> &dyn Entropy {
        &*self.admin.entropy
    }

    /// The audit row of an action, by who acts and now.
    fn change(&self, action: &'static str) -> Change {
        Change::new(self.now(), self.actor.clone(), action)
    }

    /// The error of a write to a project that the store refused: the project may have been deleted meanwhile.
    async fn refused(&self, project: ProjectId, slug: &str, error: StoreError) -> AdminError {
        if matches!(error, StoreError::Conflict(_))
            && let Ok(there) = self.store().project(slug).await
            && there.is_none_or(|there| there.id != project)
        {
            return AdminError::NotFound(format!("the project '{slug}' was deleted meanwhile"));
        }
        error.into()
    }

    /// This actor, alone: until it is dropped no other change is made, in this process and in all that share its store. So no
    /// change is lost between the reading and the writing of another.
    /// Operators are read again: what was read of them when their request began may have changed since.
    async fn alone(&self) -> Result<Alone<'a>, AdminError> {
        let here = self.admin.changes.lock().await;
        let alone = self.admin.store.lock_changes().await?;
        let mut acting = Acting { admin: self.admin, actor: self.actor.clone(), role: self.role, alone };
        if let Some(operator) = acting.actor.operator() {
            let operator = acting.store().operator_by_id(operator).await?;
            let enabled = operator.filter(|operator| operator.disabled.is_none());
            acting.role = enabled.ok_or(AdminError::Disabled)?.role;
        }
        Ok(Alone { acting, _here: here })
    }
}

/// Somebody who changes something alone.
struct Alone<'a> {
    acting: Acting<'a>,
    _here: MutexGuard<'a, ()>,
}

impl<'a> Deref for Alone<'a> {
    type Target = Acting<'a>;

    fn deref(&self) -> &Acting<'a> {
        &self.acting
    }
}

/// Refuses a filter by a time in which no moment lies.
fn must_last(within: TimeRange) -> Result<(), AdminError> {
    if within.is_empty() {
        return Err(AdminError::Invalid("until must be later than from".into()).about("until"));
    }
    Ok(())
}

/// Why something was not done, in one line for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdminError {
    /// The request is wrong.
    #[error("{0}")]
    Invalid(String),
    /// The value of a setting, or of another part of the request, is wrong.
    #[error("{problem}")]
    Setting {
        /// The setting or the part, by its name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It is not for a member.
    #[error("only an owner may do this: your role is member")]
    OwnersOnly,
    /// Who asks was disabled after their request began.
    #[error("your account was disabled meanwhile, so nothing was changed")]
    Disabled,
    /// It takes a higher rank in the project.
    #[error("only an {0} of the project may do this")]
    RankTooLow(Rank),
    /// The thing that the request is about does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The thing exists already, or the request fits more than one.
    #[error("{0}")]
    Conflict(String),
    /// Something that the request needs does not work now: the same request may well succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// A search did not end in time. A narrower search may.
    #[error("{0}")]
    TookTooLong(String),
    /// It could not be done.
    #[error("{0}")]
    Failed(String),
}

impl AdminError {
    /// The same error, about a named part of the request.
    fn about(self, name: &str) -> Self {
        match self {
            Self::Invalid(problem) => Self::Setting { name: name.into(), problem },
            other => other,
        }
    }
}

impl From<StoreError> for AdminError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict(why) => Self::Conflict(why),
            StoreError::SearchTimeout => Self::Invalid(error.to_string()),
            StoreError::Unavailable(_) => Self::Unavailable(error.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<EntropyError> for AdminError {
    fn from(error: EntropyError) -> Self {
        Self::Failed(error.to_string())
    }
}
