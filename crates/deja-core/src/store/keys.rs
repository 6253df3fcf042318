//! The port to API keys.

use std::sync::Arc;

use async_trait::async_trait;

use crate::api_key::{ApiKey, KeyHash, KeyUsage};
use crate::audit::Change;
use crate::id::{KeyId, ProjectId};
use crate::project::Project;
use crate::rate_limit::Decision;
use crate::store::StoreError;

/// What an admission says of the project's own providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnProviders {
    /// There are none.
    None,
    /// The state with this name. Whoever has read it need not read it again: each change makes a state of another name.
    At([u8; 16]),
    /// Nothing: they have to be asked for.
    Unknown,
}

/// A key that opened the door, and the project behind it.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The key, active.
    pub key: Arc<ApiKey>,
    /// Its project, possibly suspended.
    pub project: Arc<Project>,
    /// Its own providers. Where asking for them is a round trip, only a request that waited knows nothing of them.
    pub providers: OwnProviders,
}

impl Admission {
    /// Stands for the key of requests that an operator makes in the console, where there is no key.
    pub const CONSOLE: KeyId = KeyId::from_bytes([0; 16]);

    /// Somebody at the console, who asks without a key. Counted for the project and for no key of it.
    pub fn of_console(project: Arc<Project>) -> Self {
        let key = ApiKey {
            id: Self::CONSOLE,
            project: project.id,
            name: "console".into(),
            shown: String::new(),
            hash: KeyHash([0; 32]),
            models: None,
            quota: None,
            expires: None,
            created: project.created,
            revoked: None,
        };
        Self { key: Arc::new(key), project, providers: OwnProviders::Unknown }
    }
}

/// The outcome of an admission.
#[derive(Clone, Debug)]
pub enum Door {
    /// No key, or one that was revoked.
    Unknown,
    /// A key whose time is over. It took nothing from any limit.
    Expired,
    /// A key that works, and what the limiter said.
    Open(Admission, Decision),
}

/// API keys.
#[async_trait]
pub trait Keys: Send + Sync {
    /// Adds a key; durable when it returns. [`StoreError::Conflict`] if its project does not exist.
    async fn create_key(&self, key: &ApiKey, change: &Change) -> Result<(), StoreError>;

    /// The key with this hash and its project with its own providers, as they are now: a key revoked before this call is
    /// not found. An expired key is found.
    async fn key_by_hash(&self, hash: &KeyHash) -> Result<Option<Admission>, StoreError>;

    /// The project's keys with their usage, oldest first, revoked ones included.
    async fn keys(&self, project: ProjectId) -> Result<Vec<(ApiKey, KeyUsage)>, StoreError>;

    /// All keys whose id or shown prefix is `text`, in all projects: for the operator's command line.
    async fn find_keys(&self, text: &str) -> Result<Vec<ApiKey>, StoreError>;

    /// Revokes a key for the very next request, at the time of the change; durable when it returns. `false` if
    /// it is no key of this project, or is revoked already.
    async fn revoke_key(&self, project: ProjectId, key: KeyId, change: &Change) -> Result<bool, StoreError>;
}
