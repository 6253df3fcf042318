//! What can be asked for. Crosses the socket as JSON.

use std::fmt;

use deja_core::embedding::Threshold;
use deja_core::id::EntryId;
use deja_core::operator::Role;
use deja_core::project::Tier;
use deja_core::provider::ProviderKind;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::transfer::{Batch, Cursor, Head};

/// One thing to do. Projects are named by their slug.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Makes a project.
    ProjectCreate(NewProject),
    /// All projects, with what they saved.
    ProjectList,
    /// Refuses the project's requests from now on.
    ProjectSuspend { project: String },
    /// Takes them again.
    ProjectResume { project: String },
    /// Changes a project.
    ProjectSet { project: String, change: Change },
    /// Deletes a project with all it has.
    ProjectDelete { project: String },
    /// Makes a key.
    KeyCreate { project: String, name: String, models: Vec<String> },
    /// The project's keys.
    KeyList { project: String },
    /// Revokes a key, named by its id, its shown prefix, or itself.
    KeyRevoke { key: Hidden, project: Option<String> },
    /// Adds a provider of the project's own.
    ProviderAdd(NewProvider),
    /// Changes one.
    ProviderSet { project: String, name: String, change: ProviderChange },
    /// The project's own providers.
    ProviderList { project: String },
    /// Removes one by name.
    ProviderRemove { project: String, name: String },
    /// Gives a model a price in the project, in US dollars per million tokens.
    PriceSet { project: String, model: String, input: f64, output: f64 },
    /// Takes that price away.
    PriceUnset { project: String, model: String },
    /// The price in force.
    PriceShow { model: String, project: Option<String> },
    /// Fetches the price table now.
    PriceRefresh,
    /// Deletes entries of the project's cache.
    CachePurge { project: String, model: Option<String>, context: ContextFilter, text: Option<String> },
    /// Deletes one entry.
    EntryDelete { project: String, entry: EntryId },
    /// Deletes an entry that answered a prompt it should not have, and keeps the pair.
    EntryWrong { project: String, entry: EntryId, asked: Hidden, similarity: f32 },
    /// What the project's cache holds and did.
    CacheStats { project: String },
    /// Makes an operator of the console; without a password, a link with which they choose one.
    OperatorCreate { email: String, role: Option<Role>, password: Option<Hidden> },
    /// All operators.
    OperatorList,
    /// Changes what an operator may do; `None` stays as it is.
    OperatorSet { email: String, role: Option<Role>, disabled: Option<bool> },
    /// Makes a one-time link useless, named by its hash.
    InviteRevoke { invite: String },
    /// Makes a link with which an operator sets a new password.
    OperatorResetPassword { email: String },
    /// The last changes, newest first.
    AuditList { project: Option<String>, limit: usize },
    /// What comes before a project's entries in an export.
    ExportHead(Head),
    /// A page of a project's entries, oldest first; an empty one is the end.
    ExportEntries { project: String, after: Option<Cursor> },
    /// Stores what was exported.
    Import(Batch),
}

impl Command {
    /// The name in logs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ProjectCreate(_) => "project create",
            Self::ProjectList => "project list",
            Self::ProjectSuspend { .. } => "project suspend",
            Self::ProjectResume { .. } => "project resume",
            Self::ProjectSet { .. } => "project set",
            Self::ProjectDelete { .. } => "project delete",
            Self::KeyCreate { .. } => "key create",
            Self::KeyList { .. } => "key list",
            Self::KeyRevoke { .. } => "key revoke",
            Self::ProviderAdd(_) => "provider add",
            Self::ProviderSet { .. } => "provider set",
            Self::ProviderList { .. } => "provider list",
            Self::ProviderRemove { .. } => "provider remove",
            Self::PriceSet { .. } => "price set",
            Self::PriceUnset { .. } => "price unset",
            Self::PriceShow { .. } => "price show",
            Self::PriceRefresh => "price refresh",
            Self::CachePurge { .. } => "cache purge",
            Self::CacheStats { .. } => "cache stats",
            Self::EntryDelete { .. } => "entry delete",
            Self::EntryWrong { .. } => "entry wrong",
            Self::InviteRevoke { .. } => "invite revoke",
            Self::OperatorCreate { .. } => "operator create",
            Self::OperatorList => "operator list",
            Self::OperatorSet { .. } => "operator set",
            Self::OperatorResetPassword { .. } => "operator reset-password",
            Self::AuditList { .. } => "audit list",
            Self::ExportHead(_) => "export",
            Self::ExportEntries { .. } => "export entries",
            Self::Import(_) => "import",
        }
    }
}

/// A project to make.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewProject {
    /// The name for people; the slug is made from it.
    pub name: String,
    /// What it pays for.
    pub tier: Tier,
    /// Requests a minute, instead of the tier's.
    pub per_minute: Option<u32>,
    /// Requests at once, instead of the tier's.
    pub burst: Option<u32>,
}

/// What to change of a project; `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The name for people. The slug stays.
    pub name: Option<String>,
    /// The tier. Without a limit of its own in the same change, the project gets the tier's.
    pub tier: Option<Tier>,
    /// Requests a minute.
    pub per_minute: Option<u32>,
    /// Requests at once.
    pub burst: Option<u32>,
    /// How long answers are served.
    pub ttl: Option<Ttl>,
    /// Entries at most.
    pub max_entries: Option<u64>,
    /// Whether models share answers.
    pub share_models: Option<bool>,
    /// The thresholds.
    pub thresholds: Option<Thresholds>,
}

/// What counts as a hit; `None` is deja's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// For queries that name none.
    pub default: Option<Threshold>,
    /// What queries that ask for less get.
    pub minimum: Option<Threshold>,
}

/// How long answers are served, in seconds; `None` is until they are evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ttl {
    /// The seconds.
    pub seconds: Option<u64>,
}

/// A provider to add.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewProvider {
    /// The project's slug.
    pub project: String,
    /// The name in responses.
    pub name: String,
    /// What it speaks.
    #[serde(default)]
    pub kind: ProviderKind,
    /// What the paths of its kind are put behind.
    pub base_url: String,
    /// The models it answers, one or more.
    pub models: Vec<String>,
    /// The key, if the server wants one.
    pub secret: Option<Hidden>,
    /// Whether it may stand in a private network.
    pub allow_private: bool,
}

/// What to change of a provider; `None` stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProviderChange {
    /// What it speaks.
    pub kind: Option<ProviderKind>,
    /// What the paths of its kind are put behind. Another host wants the key again, because a key is bound to its host.
    pub base_url: Option<String>,
    /// The models it answers, one or more.
    pub models: Option<Vec<String>>,
    /// The key.
    pub secret: Option<Hidden>,
    /// Whether it may stand in a private network.
    pub allow_private: Option<bool>,
}

/// Which contexts a purge means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextFilter {
    /// All.
    #[default]
    Any,
    /// Entries without a context.
    Without,
    /// Entries of this one.
    Is(String),
}

/// A text that no debug output shows. Wiped when dropped.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hidden(String);

impl Hidden {
    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}
