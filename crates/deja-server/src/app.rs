//! throwaway
use std::sync::Arc;
use std::time::Duration;
use async_trait::async_trait;
use deja_core::engine::Engine;
use deja_core::project::Project;
use deja_core::provider::{Providers, Route, TokenCount};
use deja_core::store::{Store, StoreError};
use deja_providers::Registry;
use tokio_util::sync::CancellationToken;
use secrecy::SecretString;
use crate::vault::{Vault, binding};
pub struct RequestLimits { pub body_bytes: usize, pub body_timeout: Duration, pub prompt_bytes: usize, pub context_bytes: usize }
pub struct App { pub engine: Engine, pub limits: RequestLimits, pub stop: CancellationToken }
impl App {
    pub fn engine(&self) -> &Engine { &self.engine }
    pub fn limits(&self) -> &RequestLimits { &self.limits }
    pub fn is_stopping(&self) -> bool { self.stop.is_cancelled() }
}
pub struct All { pub registry: Registry, pub store: Arc<dyn Store>, pub vault: Vault }
#[async_trait]
impl Providers for All {
    async fn route(&self, project: &Project, model: &str) -> Result<Route, StoreError> {
        if let Some(config) = self.store.provider_of(project.id, model).await? {
            let secret = config.sealed_secret.as_ref().map(|s| {
                let url = url::Url::parse(&config.base_url).unwrap_or_else(|_| std::process::abort());
                let plain = self.vault.open(s, &binding(config.id, &url)).unwrap_or_else(|_| std::process::abort());
                SecretString::from(String::from_utf8(plain.to_vec()).unwrap_or_else(|_| std::process::abort()))
            });
            return Ok(Route::To(self.registry.custom(&config, secret)));
        }
        Ok(self.registry.built_in(model))
    }
}
pub struct Count;
impl deja_core::provider::TokenCounter for Count {
    fn count(&self, model: &str, text: &str) -> TokenCount {
        deja_core::provider::TokenCounter::count(&deja_providers::TokenCounter, model, text)
    }
}
