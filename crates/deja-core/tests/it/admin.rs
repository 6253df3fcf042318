//! Use cases of operators: who asks, what they may change, and what is stored then.

mod access;
mod keys;
mod operators;
mod prices;
mod projects;
mod providers;

use std::sync::Arc;

use async_trait::async_trait;
use deja_core::admin::projects::NewProject;
use deja_core::admin::providers::NewProvider;
use deja_core::admin::{Acting, Admin, AdminError, Hidden, PasswordHasher, Prices, SecretSealer};
use deja_core::clock::Clock;
use deja_core::id::SystemEntropy;
use deja_core::operator::PasswordHash;
use deja_core::pricing::{PriceBook, PriceList};
use deja_core::project::Tier;
use deja_core::provider::ProviderKind;
use deja_core::testing::ManualClock;
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};

use crate::store::OddStore;

/// Keeps secrets and passwords as they are, and has the compiled-in prices.
struct Plain;

impl SecretSealer for Plain {
    fn seal(&self, plaintext: &[u8], binding: &[u8]) -> Result<Vec<u8>, AdminError> {
        Ok([binding, plaintext].concat())
    }

    fn open(&self, sealed: &[u8], binding: &[u8]) -> Result<SecretSlice<u8>, AdminError> {
        let opened = sealed.strip_prefix(binding).map(|plaintext| plaintext.to_vec().into());
        opened.ok_or_else(|| AdminError::Failed("sealed for something else".into()))
    }
}

#[async_trait]
impl PasswordHasher for Plain {
    async fn hash(&self, password: SecretString) -> Result<PasswordHash, AdminError> {
        Ok(PasswordHash::from_phc(password.expose_secret()))
    }

    async fn verify(&self, password: SecretString, hash: Option<PasswordHash>) -> Result<bool, AdminError> {
        Ok(hash.is_some_and(|hash| hash.as_phc() == password.expose_secret()))
    }
}

#[async_trait]
impl Prices for Plain {
    fn current(&self) -> Arc<PriceList> {
        PriceBook::compiled_in().current()
    }

    fn is_refreshed(&self) -> bool {
        false
    }

    async fn refresh(&self, _: &dyn Clock) -> Result<bool, AdminError> {
        Ok(false)
    }

    fn provider_of(&self, _: &str) -> &'static str {
        ""
    }
}

pub fn over(store: &Arc<OddStore>, clock: &Arc<ManualClock>) -> Admin {
    Admin {
        store: store.clone(),
        clock: clock.clone(),
        entropy: Arc::new(SystemEntropy),
        sealer: Arc::new(Plain),
        passwords: Arc::new(Plain),
        prices: Arc::new(Plain),
        url_check: |url, _| url.parse().map_err(|_| "no URL".into()),
        public_url: "https://deja.example".into(),
        readings: Arc::new(deja_core::cache::Readings::new(|_: &str, _: &str| None)),
        embedder: None,
        providers: None,
        imported: Arc::default(),
        changes: tokio::sync::Mutex::default(),
    }
}

fn world() -> (Arc<OddStore>, Arc<ManualClock>, Admin) {
    let (store, clock) = (Arc::new(OddStore::default()), Arc::new(ManualClock::default()));
    let admin = over(&store, &clock);
    (store, clock, admin)
}

fn named(name: &str) -> NewProject {
    NewProject { name: name.into(), tier: Tier::Free, per_minute: None, burst: None }
}

async fn project(by: &Acting<'_>, name: &str) -> String {
    deja_core::admin::projects::create(by, named(name)).await.unwrap().slug.to_string()
}

fn provider(project: &str, url: &str) -> NewProvider {
    NewProvider {
        project: project.into(),
        name: "house".into(),
        kind: ProviderKind::Anthropic,
        base_url: url.into(),
        models: vec!["m".into(), "m".into()],
        secret: Some(Hidden::from("hush\n".to_owned())),
        allow_private: false,
    }
}
