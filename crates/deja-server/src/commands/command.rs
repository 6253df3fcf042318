//! What can be asked for. Crosses the socket as JSON.

use deja_core::admin::Hidden;
use deja_core::admin::audit;
use deja_core::admin::judging::Limits;
use deja_core::admin::keys::{Expiry, KeyWish};
use deja_core::admin::projects::{NewProject, ProjectPatch};
use deja_core::admin::providers::NewProvider;
use deja_core::admin::quality::Labellers;
use deja_core::admin::transfer::{Batch, Cursor, Head};
use deja_core::member::Rank;
use deja_core::operator::Role;
use deja_core::quality::SamplePlace;
use serde::{Deserialize, Serialize};

use super::tune::SettingView;

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
    /// Takes the project's requests again.
    ProjectResume { project: String },
    /// Changes a project.
    ProjectSet { project: String, patch: ProjectPatch },
    /// Deletes a project with all it has.
    ProjectDelete { project: String },
    /// Makes a key.
    KeyCreate { project: String, wish: KeyWish },
    /// The project's keys.
    KeyList { project: String },
    /// Revokes a key, named by its id, its shown prefix, or itself.
    KeyRevoke { key: Hidden, project: Option<String> },
    /// Adds a provider of the project's own.
    ProviderAdd(NewProvider),
    /// The project's own providers.
    ProviderList { project: String },
    /// Removes a provider of the project's own.
    ProviderRemove { project: String, name: String },
    /// Gives a model a price in the project, in US dollars per million tokens.
    PriceSet { project: String, model: String, input: f64, output: f64 },
    /// Takes the project's price of a model away.
    PriceUnset { project: String, model: String },
    /// The price of a model in force.
    PriceShow { model: String, project: Option<String> },
    /// Fetches the price table now.
    PriceRefresh,
    /// Deletes entries of the project's cache.
    CachePurge { project: String, model: Option<String>, context: ContextFilter },
    /// What the project's cache holds and did.
    CacheStats { project: String },
    /// How good the project's hits are, and what other settings would do.
    Tune { project: String, whose: Labellers },
    /// What it would take to have a model judge the project's samples.
    JudgePlan { project: String, model: String },
    /// Has a model judge some of the project's samples.
    Judge { project: String, model: String, limits: Limits },
    /// Makes a setting the project's.
    Apply { project: String, setting: SettingView },
    /// Makes an operator of the console; without a password, a link with which they choose one.
    OperatorCreate { email: String, role: Option<Role>, password: Option<Hidden> },
    /// All operators.
    OperatorList,
    /// Makes a link with which an operator sets a new password.
    OperatorResetPassword { email: String },
    /// Removes an operator's second factor.
    OperatorRemoveSecondFactor { email: String },
    /// The project's members.
    MemberList { project: String },
    /// Gives an operator a rank in the project.
    MemberSet { project: String, email: String, rank: Rank },
    /// Takes an operator's rank in the project away.
    MemberRemove { project: String, email: String },
    /// Makes a personal access token of an operator.
    TokenCreate { email: String, name: String, expires: Option<Expiry> },
    /// An operator's tokens.
    TokenList { email: String },
    /// Revokes a token, named by what listings show of it, or by itself.
    TokenRevoke { email: String, token: Hidden },
    /// The last changes, newest first.
    AuditList { wanted: audit::AuditQuery, before: Option<u64>, limit: usize },
    /// What comes before a project's entries in an export.
    ExportHead(Head),
    /// A page of a project's entries, oldest first; an empty one is the end.
    ExportEntries { project: String, after: Option<Cursor> },
    /// A page of a project's samples, by place; an empty one is the end.
    ExportSamples { project: String, after: Option<SamplePlace> },
    /// Stores what was exported.
    Import(Batch),
}

impl Command {
    /// Whether it may be the first command of all, which makes the data directory.
    pub const fn begins(&self) -> bool {
        matches!(self, Self::ProjectCreate(_) | Self::OperatorCreate { .. } | Self::Import(_))
    }
}

/// Which contexts a purge means. JSON has one `null`, so an option in an option would not cross the socket.
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

impl From<ContextFilter> for Option<Option<String>> {
    fn from(filter: ContextFilter) -> Self {
        match filter {
            ContextFilter::Any => None,
            ContextFilter::Without => Some(None),
            ContextFilter::Is(text) => Some(Some(text)),
        }
    }
}
