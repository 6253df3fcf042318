//! Which provider a model is asked from: the project's own first, then the built-in families.

use std::sync::Arc;

use async_trait::async_trait;
use deja_core::project::Project;
use deja_core::provider::{ProviderConfig, Providers, Route, binding};
use deja_core::store::{Store, StoreError};
use deja_providers::Registry;
use secrecy::SecretString;
use url::Url;

use crate::secrets::vault::Vault;

/// The `Providers` port over the store's custom providers and the built-in ones.
pub struct Upstreams {
    /// The adapters.
    pub registry: Registry,
    /// Where custom providers are kept.
    pub store: Arc<dyn Store>,
    /// Opens their secrets.
    pub vault: Vault,
}

impl Upstreams {
    /// The secret, which opens only for the provider and host it was sealed for.
    fn secret(&self, config: &ProviderConfig) -> Result<Option<SecretString>, StoreError> {
        let Some(sealed) = &config.sealed_secret else { return Ok(None) };
        let corrupt = |what: &str| StoreError::Corrupt(format!("provider '{}': {what}", config.name));
        let url = Url::parse(&config.base_url).map_err(|_| corrupt("its URL cannot be read"))?;
        let plain = self.vault.open(sealed, &binding(config.id, &url));
        let plain = plain.map_err(|_| corrupt("its secret cannot be opened"))?;
        let text = std::str::from_utf8(&plain).map_err(|_| corrupt("its secret is not text"))?;
        Ok(Some(SecretString::from(text)))
    }
}

#[async_trait]
impl Providers for Upstreams {
    async fn route(&self, project: &Project, model: &str) -> Result<Route, StoreError> {
        match self.store.provider_of(project.id, model).await? {
            Some(config) => Ok(Route::To(self.registry.custom(&config, self.secret(&config)?))),
            None => Ok(self.registry.built_in(model)),
        }
    }
}
