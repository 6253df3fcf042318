//! What an operator does to projects, keys, providers, prices and caches: one command each.
//!
//! The use cases stand here once, over the ports of deja-core. The command line sends [`Command`]s, to the
//! running server through [`socket`] or, while none runs, to the store itself; a console would do the same.

mod audit;
mod cache;
mod command;
mod keys;
mod operators;
mod prices;
mod projects;
mod providers;
pub mod socket;
pub mod transfer;
mod view;

use std::ops::Deref;
use std::sync::Arc;

use deja_core::audit::{Actor, Change as AuditChange};
use deja_core::clock::Clock;
use deja_core::id::{Entropy, EntropyError};
use deja_core::project::Project;
use deja_core::store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, Notify};
use url::Url;

pub use command::{
    Change, Command, ContextFilter, Hidden, NewProject, NewProvider, ProviderChange, Thresholds, Ttl,
};
pub use operators::{accept, change_password, setup_link};
pub use view::{
    AuditView, CacheView, KeyView, LinkView, OperatorView, PriceTableView, PriceView, ProjectView,
    ProviderView, Reply, TotalsView,
};

use crate::feeds::prices::PriceFeed;
use crate::secrets::passwords::Passwords;
use crate::secrets::vault::{Vault, VaultError};

/// Whether deja calls this URL, with private networks allowed or not; the error is one line for people.
pub type UrlCheck = fn(&str, bool) -> Result<Url, String>;

/// The check that deja ships with: see [`deja_providers::ssrf`].
pub fn check_url(text: &str, allow_private: bool) -> Result<Url, String> {
    deja_providers::check_url(text, allow_private).map_err(|error| error.to_string())
}

/// What commands work with.
pub struct AdminContext {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// Seals the secrets of providers.
    pub vault: Vault,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// For ids and keys.
    pub entropy: Arc<dyn Entropy>,
    /// Guards what a project may have called.
    pub url_check: UrlCheck,
    /// The prices in force.
    pub prices: Arc<PriceFeed>,
    /// Hashes and checks passwords.
    pub passwords: Passwords,
    /// What links begin with: the URL that people reach deja under.
    pub public_url: String,
    /// Told when entries were imported: their vectors may be of another embedder.
    pub imported: Arc<Notify>,
    /// Held by whoever is [alone](Self::alone).
    changes: Mutex<()>,
}

/// Why a command was not done, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdminError {
    /// The command itself is wrong.
    #[error("{0}")]
    Invalid(String),
    /// What it is about is not there.
    #[error("{0}")]
    NotFound(String),
    /// It is there already, or is more than one.
    #[error("{0}")]
    Conflict(String),
    /// It could not be done now.
    #[error("{0}")]
    Failed(String),
}

impl From<StoreError> for AdminError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict(_) => Self::Conflict(error.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<VaultError> for AdminError {
    fn from(error: VaultError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<EntropyError> for AdminError {
    fn from(error: EntropyError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl AdminContext {
    /// Holds off other changes, of this process and of all that share its store, until it is dropped: so that none is
    /// lost between the reading and the writing of another.
    async fn alone(&self) -> Result<impl Send + '_, AdminError> {
        let here = self.changes.lock().await;
        Ok((self.store.alone().await?, here))
    }

    /// A context over these parts, with the machine's clock and random bytes.
    pub fn new(
        store: Arc<dyn Store>,
        vault: Vault,
        url_check: UrlCheck,
        prices: Arc<PriceFeed>,
        public_url: &str,
    ) -> Self {
        let entropy = Arc::new(deja_core::id::SystemEntropy);
        Self {
            passwords: Passwords::new(entropy.clone()),
            public_url: public_url.to_owned(),
            store,
            vault,
            clock: Arc::new(deja_core::clock::SystemClock),
            entropy,
            url_check,
            prices,
            imported: Arc::default(),
            changes: Mutex::new(()),
        }
    }

    async fn project(&self, slug: &str) -> Result<Project, AdminError> {
        let missing = || AdminError::NotFound(format!("there is no project '{}'", shown(slug)));
        self.store.project(slug).await?.ok_or_else(missing)
    }
}

/// The context, and who acts in it.
struct Acting<'a> {
    context: &'a AdminContext,
    actor: Actor,
}

impl Deref for Acting<'_> {
    type Target = AdminContext;

    fn deref(&self) -> &AdminContext {
        self.context
    }
}

impl Acting<'_> {
    /// The audit row of what is about to be done.
    fn change(&self, action: &'static str) -> AuditChange {
        AuditChange::new(self.clock.now(), self.actor.clone(), action)
    }
}

/// Does what `command` says, on behalf of `actor`. Commands that change something are durable when this returns,
/// and hold for the very next request.
pub async fn execute(context: &AdminContext, actor: Actor, command: Command) -> Result<Reply, AdminError> {
    let name = command.name();
    let reply = dispatch(&Acting { context, actor }, command).await;
    match &reply {
        Ok(_) => tracing::debug!(command = name, "done"),
        Err(error) => tracing::debug!(command = name, %error, "refused"),
    }
    reply
}

async fn dispatch(context: &Acting<'_>, command: Command) -> Result<Reply, AdminError> {
    match command {
        Command::ProjectCreate(new) => projects::create(context, new).await,
        Command::ProjectList => projects::list(context).await,
        Command::ProjectSuspend { project } => projects::suspend(context, &project, true).await,
        Command::ProjectResume { project } => projects::suspend(context, &project, false).await,
        Command::ProjectSet { project, change } => projects::set(context, &project, change).await,
        Command::ProjectDelete { project } => projects::delete(context, &project).await,
        Command::KeyCreate { project, name, models } => keys::create(context, &project, &name, models).await,
        Command::KeyList { project } => keys::list(context, &project).await,
        Command::KeyRevoke { key, project } => keys::revoke(context, &key, project.as_deref()).await,
        Command::ProviderAdd(new) => providers::add(context, new).await,
        Command::ProviderSet { project, name, change } => {
            providers::set(context, &project, &name, change).await
        }
        Command::ProviderList { project } => providers::list(context, &project).await,
        Command::ProviderRemove { project, name } => providers::remove(context, &project, &name).await,
        Command::PriceSet { project, model, input, output } => {
            prices::set(context, &project, &model, input, output).await
        }
        Command::PriceUnset { project, model } => prices::unset(context, &project, &model).await,
        Command::PriceShow { model, project } => prices::show(context, &model, project.as_deref()).await,
        Command::PriceRefresh => prices::refresh(context).await,
        Command::CachePurge { project, model, context: filter, text } => {
            cache::purge(context, &project, model, filter, text).await
        }
        Command::EntryDelete { project, entry } => cache::delete(context, &project, entry).await,
        Command::EntryWrong { project, entry, asked, similarity } => {
            cache::wrong(context, &project, entry, &asked, similarity).await
        }
        Command::InviteRevoke { invite } => operators::revoke_invite(context, &invite).await,
        Command::CacheStats { project } => cache::stats(context, &project).await,
        Command::OperatorCreate { email, role, password } => {
            operators::create(context, &email, role, password).await
        }
        Command::OperatorList => operators::list(context).await,
        Command::OperatorSet { email, role, disabled } => {
            operators::set(context, &email, role, disabled).await
        }
        Command::OperatorResetPassword { email } => operators::reset_password(context, &email).await,
        Command::AuditList { project, limit } => audit::list(context, project.as_deref(), limit).await,
        Command::ExportHead(wanted) => transfer::head(context, &wanted).await,
        Command::ExportEntries { project, after } => transfer::entries(context, &project, after).await,
        Command::Import(batch) => transfer::import(context, batch).await,
    }
}

/// A name for people: 1 to 100 characters, at least one of them to be seen, none of them a control character or one
/// that turns the direction of writing round, no blank at an end.
fn name_of(what: &str, text: &str) -> Result<String, AdminError> {
    let name = text.trim();
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let unseen =
        |c: char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    let refused = name.chars().any(|c| c.is_control() || turns(c));
    if (1..=100).contains(&name.chars().count()) && !refused && !name.chars().all(unseen) {
        return Ok(name.to_owned());
    }
    let wanted = "1 to 100 characters that can be seen";
    Err(AdminError::Invalid(format!("{what} '{}' is not allowed: use {wanted}", shown(name))))
}

/// A model id: not trimmed, because requests are compared byte for byte.
fn model_of(text: &str) -> Result<String, AdminError> {
    let blank = |c: char| c.is_control() || c.is_whitespace();
    if (1..=200).contains(&text.len()) && !text.chars().any(blank) {
        return Ok(text.to_owned());
    }
    let wanted = "1 to 200 bytes, without blanks";
    Err(AdminError::Invalid(format!("the model '{}' is not allowed: use {wanted}", shown(text))))
}

/// Model ids, each once, in the order given.
fn models_of(texts: Vec<String>) -> Result<Vec<String>, AdminError> {
    let mut models: Vec<String> = Vec::with_capacity(texts.len());
    for text in texts {
        let model = model_of(&text)?;
        if !models.contains(&model) {
            models.push(model);
        }
    }
    Ok(models)
}

/// A text of the operator's, safe to show in one line.
fn shown(text: &str) -> String {
    text.chars().take(120).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests;
