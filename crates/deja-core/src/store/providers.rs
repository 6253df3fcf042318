//! The port to the providers that projects brought themselves.

use async_trait::async_trait;

use crate::audit::Change;
use crate::id::ProjectId;
use crate::provider::ProviderConfig;
use crate::store::StoreError;

/// Custom providers.
#[async_trait]
pub trait ProviderConfigs: Send + Sync {
    /// Adds a provider; holds for the very next request. [`StoreError::Conflict`] if the project has one of
    /// that name, or one that answers one of its models.
    async fn add_provider(&self, provider: &ProviderConfig, change: &Change) -> Result<(), StoreError>;

    /// Replaces kind, URL, models, secret and permission of the provider with this project, name and id;
    /// holds for the very next request. `false` if there is none: it may have been removed, and another one of its name added since. [`StoreError::Conflict`] if another provider of the project
    /// answers one of the models.
    async fn update_provider(&self, provider: &ProviderConfig, change: &Change) -> Result<bool, StoreError>;

    /// The project's providers, by name.
    async fn providers(&self, project: ProjectId) -> Result<Vec<ProviderConfig>, StoreError>;

    /// The project's provider that answers `model`.
    async fn provider_of(
        &self,
        project: ProjectId,
        model: &str,
    ) -> Result<Option<ProviderConfig>, StoreError>;

    /// Removes a provider by name. `false` if there is none.
    async fn remove_provider(
        &self,
        project: ProjectId,
        name: &str,
        change: &Change,
    ) -> Result<bool, StoreError>;

    /// A value sealed with the master key, kept so that a wrong master key is noticed at start.
    async fn key_check(&self) -> Result<Option<Vec<u8>>, StoreError>;

    /// Keeps that value, unless there is one.
    async fn set_key_check(&self, sealed: &[u8]) -> Result<(), StoreError>;
}
