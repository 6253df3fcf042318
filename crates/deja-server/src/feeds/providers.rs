//! Which provider a model is asked from: the project's own first, then the built-in families.

use std::sync::Arc;

use async_trait::async_trait;
use deja_core::clock::Timestamp;
use deja_core::id::ProjectId;
use deja_core::provider::{Endpoint, Keyless, ProviderConfig, Providers, Route, binding};
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

/// A model that may be asked for.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name.
    pub id: String,
    /// The provider's name.
    pub owner: String,
    /// When the provider was added; 1970 for a built-in one.
    pub created: Timestamp,
}

/// The `Providers` port over the store's custom providers and the built-in ones.
pub struct ProviderDirectory {
    /// The adapters.
    pub registry: Registry,
    /// Where custom providers are kept.
    store: Arc<dyn Store>,
    /// Opens their secrets.
    vault: Vault,
    known: Cache<ProjectId, Known>,
}

impl ProviderDirectory {
    /// Over these adapters, with the custom providers of `store`, whose secrets `vault` opens.
    pub fn new(registry: Registry, store: Arc<dyn Store>, vault: Vault) -> Self {
        Self { registry, store, vault, known: Cache::new(KEPT) }
    }

    /// The models that a caller may ask for at `endpoint`: of its project's own providers, and of the price table where the
    /// provider has credentials; by name, none twice.
    pub async fn models(&self, caller: &Admission, endpoint: Endpoint) -> Result<Vec<Model>, StoreError> {
        let own = self.all_own(caller).await?;
        let own = own.iter().flat_map(|provider| {
            let serves = self.registry.custom(provider, None).serves(endpoint);
            let (owner, created) = (&provider.name, provider.created);
            let model = move |id: &String| Model { id: id.clone(), owner: owner.clone(), created };
            provider.models.iter().map(move |id| (model(id), serves))
        });
        let built_in = self.registry.models().into_iter().map(|(id, family)| {
            let route = self.registry.built_in(&id, Some(endpoint));
            let serves = matches!(route, Route::To(provider) if provider.serves(endpoint));
            (Model { id, owner: family.name().to_owned(), created: Timestamp::from_secs(0) }, serves)
        });
        // The own ones are asked first, whatever they serve, so they stand first.
        let mut models: Vec<(Model, bool)> = own.chain(built_in).collect();
        models.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
        models.dedup_by(|(later, _), (first, _)| later.id == first.id);
        Ok(models.into_iter().filter_map(|(model, serves)| serves.then_some(model)).collect())
    }

    /// The caller's project's own provider of `model`.
    async fn own(&self, caller: &Admission, model: &str) -> Result<Option<ProviderConfig>, StoreError> {
        if caller.providers == OwnProviders::Unknown {
            return self.store.provider_of(caller.project.id, model).await;
        }
        let own = self.all_own(caller).await?;
        Ok(own.iter().find(|provider| provider.models.iter().any(|name| name == model)).cloned())
    }

    /// All of the caller's project's own providers.
    async fn all_own(&self, caller: &Admission) -> Result<Arc<[ProviderConfig]>, StoreError> {
        let project = caller.project.id;
        let version = match caller.providers {
            OwnProviders::None => return Ok(Arc::default()),
            OwnProviders::Unknown => return Ok(self.store.providers(project).await?.into()),
            OwnProviders::At(version) => version,
        };
        if let Some((_, own)) = self.known.get(&project).filter(|(at, _)| *at == version) {
            return Ok(own);
        }
        // The providers in this state, or in a later one: the next admission will name that.
        let own: Arc<[_]> = self.store.providers(project).await?.into();
        self.known.insert(project, (version, Arc::clone(&own)));
        Ok(own)
    }

    /// The way to a project's own provider.
    pub fn to_own(&self, config: &ProviderConfig) -> Result<Route, StoreError> {
        let Some(sealed) = &config.sealed_secret else {
            return Ok(Route::To(self.registry.custom(config, None)));
        };
        let corrupt = |what: &str| StoreError::Corrupt(format!("provider '{}': {what}", config.name));
        let url = Url::parse(&config.base_url).map_err(|_| corrupt("its URL cannot be read"))?;
        // A secret opens only for the provider and host that it was sealed for.
        let Ok(plain) = self.vault.open(sealed, &binding(config.id, &url)) else {
            return Ok(Route::NoCredentials(Keyless::Own(config.name.clone())));
        };
        let text = std::str::from_utf8(&plain).map_err(|_| corrupt("its secret is not text"))?;
        Ok(Route::To(self.registry.custom(config, Some(SecretString::from(text)))))
    }
}

#[async_trait]
impl Providers for ProviderDirectory {
    async fn route(
        &self,
        caller: &Admission,
        model: &str,
        endpoint: Option<Endpoint>,
    ) -> Result<Route, StoreError> {
        match self.own(caller, model).await? {
            Some(config) => self.to_own(&config),
            None => Ok(self.registry.built_in(model, endpoint)),
        }
    }
}
