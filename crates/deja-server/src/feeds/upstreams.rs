//! Which provider a model is asked from: the project's own first, then the built-in families.

use std::sync::Arc;

use async_trait::async_trait;
use deja_core::id::ProjectId;
use deja_core::provider::{Endpoint, ProviderConfig, Providers, Route, binding};
use deja_core::store::{Admission, OwnProviders, Store, StoreError};
use deja_providers::Registry;
use moka::sync::Cache;
use secrecy::SecretString;
use url::Url;

use crate::secrets::vault::Vault;

/// Projects whose own providers are kept in memory.
const KEPT: u64 = 1_000;

/// A project's own providers, and the name of their state.
type Known = ([u8; 16], Arc<[ProviderConfig]>);

/// The `Providers` port over the store's custom providers and the built-in ones.
pub struct Upstreams {
    /// The adapters.
    pub registry: Registry,
    /// Where custom providers are kept.
    store: Arc<dyn Store>,
    /// Opens their secrets.
    vault: Vault,
    known: Cache<ProjectId, Known>,
}

impl Upstreams {
    /// Over these adapters, with the custom providers of `store`, whose secrets `vault` opens.
    pub fn new(registry: Registry, store: Arc<dyn Store>, vault: Vault) -> Self {
        Self { registry, store, vault, known: Cache::new(KEPT) }
    }

    /// The caller's project's own provider of `model`.
    async fn own(&self, caller: &Admission, model: &str) -> Result<Option<ProviderConfig>, StoreError> {
        let project = caller.project.id;
        let version = match caller.providers {
            OwnProviders::None => return Ok(None),
            OwnProviders::Unknown => return self.store.provider_of(project, model).await,
            OwnProviders::At(version) => version,
        };
        let known = self.known.get(&project).filter(|(at, _)| *at == version);
        let own = if let Some((_, own)) = known {
            own
        } else {
            // Of this state or a later one, which the next admission names.
            let own: Arc<[_]> = self.store.providers(project).await?.into();
            self.known.insert(project, (version, Arc::clone(&own)));
            own
        };
        Ok(own.iter().find(|provider| provider.models.iter().any(|name| name == model)).cloned())
    }

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
    async fn route(&self, caller: &Admission, model: &str, endpoint: Endpoint) -> Result<Route, StoreError> {
        match self.own(caller, model).await? {
            Some(config) => Ok(Route::To(self.registry.custom(&config, self.secret(&config)?))),
            None => Ok(self.registry.built_in(model, endpoint)),
        }
    }
}
