//! Which provider a model is asked from: the built-in ones by the model's name, a project's own by its settings.
//!
//! Three clients are shared by all providers: one for the URLs that the operator typed, two for those that users
//! typed, with and without private addresses (see [`crate::ssrf`]). What answers take in memory is bounded over all.

use std::sync::Arc;

use deja_core::pricing::PriceBook;
use deja_core::provider::{Endpoint, Keyless, Provider, ProviderConfig, ProviderKind, Route};
use reqwest::Url;
use secrecy::SecretString;

use crate::anthropic::{self, Anthropic};
use crate::exchange::Upstream;
use crate::family::{Family, family, family_at};
use crate::gemini::{self, Gemini};
use crate::http::{Client, ClientError, HttpSettings, Trust};
use crate::openai::{self, Endpoints, OpenAi};
use crate::ssrf::check_url;

/// The credentials of one built-in provider, as the operator set them.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The key; empty where a gateway at `base_url` needs none.
    pub key: SecretString,
    /// Another address than the provider's own. For OpenAI up to and with `/v1`.
    pub base_url: Option<String>,
}

/// The operator's credentials; `None` where there are none.
#[derive(Clone, Debug, Default)]
pub struct BuiltIn {
    /// OpenAI.
    pub openai: Option<Credentials>,
    /// Anthropic.
    pub anthropic: Option<Credentials>,
    /// Google.
    pub google: Option<Credentials>,
}

/// Settings with which no provider can be called.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RegistryError {
    /// A base URL of a built-in provider is not one.
    #[error("the base URL of {provider} is not an http or https URL: {reason}")]
    BaseUrl {
        /// The provider's name.
        provider: &'static str,
        /// What is wrong. Does not quote the URL, which may hold a password.
        reason: String,
    },
    /// The HTTP client could not be set up.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// All providers that need no look-up in the store.
#[derive(Clone)]
pub struct Registry {
    openai: Option<Arc<dyn Provider>>,
    anthropic: Option<Arc<dyn Provider>>,
    google: Option<Arc<dyn Provider>>,
    guarded: Client,
    guarded_private: Client,
    prices: Arc<PriceBook>,
}

impl Registry {
    /// The providers with these credentials. `prices` says how much a model can write.
    pub fn new(
        built_in: BuiltIn,
        settings: HttpSettings,
        prices: Arc<PriceBook>,
    ) -> Result<Self, RegistryError> {
        let client = Client::new(Trust::Operator, settings)?;
        let guarded = client.beside(Trust::User { allow_private: false })?;
        let guarded_private = client.beside(Trust::User { allow_private: true })?;
        let openai = built_in.openai.map(|credentials| openai(credentials, &client)).transpose()?;
        let anthropic = built_in.anthropic.map(|credentials| anthropic(credentials, &client, &prices));
        let anthropic = anthropic.transpose()?;
        let google = built_in.google.map(|credentials| google(credentials, &client)).transpose()?;
        Ok(Self { openai, anthropic, google, guarded, guarded_private, prices })
    }

    /// The built-in provider of `model` where an application asks at `endpoint`, or deja by itself.
    pub fn built_in(&self, model: &str, endpoint: Option<Endpoint>) -> Route {
        let named = |family: &Family| *family != Family::Google || ProviderKind::Gemini.can_name(model);
        let Some(family) = family_at(model, endpoint).filter(named) else { return Route::Unsupported };
        match self.of(family) {
            Some(provider) => Route::To(Arc::clone(provider)),
            None => Route::NoCredentials(Keyless::BuiltIn(family.name())),
        }
    }

    /// Models of built-in providers with credentials, as far as the price table knows them, in no order.
    pub fn models(&self) -> Vec<(String, Family)> {
        let list = self.prices.current();
        // Prices of fine-tuned models stand under the name of what was tuned, which cannot be asked.
        let names = list.table.models().filter(|name| !name.starts_with("ft:"));
        let known = names.filter_map(|name| Some((name.to_owned(), family(name)?)));
        known.filter(|(_, family)| self.has(*family)).collect()
    }

    /// Whether a built-in provider has credentials.
    pub const fn has(&self, family: Family) -> bool {
        self.of(family).is_some()
    }

    const fn of(&self, family: Family) -> Option<&Arc<dyn Provider>> {
        match family {
            Family::OpenAi => self.openai.as_ref(),
            Family::Anthropic => self.anthropic.as_ref(),
            Family::Google => self.google.as_ref(),
        }
    }

    /// A project's own provider. Cheap: the clients are shared. A URL that deja does not call gives a provider
    /// whose every call fails with `FailureClass::Forbidden`.
    pub fn custom(&self, config: &ProviderConfig, key: Option<SecretString>) -> Arc<dyn Provider> {
        let client = if config.allow_private { &self.guarded_private } else { &self.guarded };
        let upstream = |suffixes| Upstream {
            name: config.name.clone(),
            base_url: check_url(&config.base_url, config.allow_private).map(|url| without(url, suffixes)),
            key,
            client: client.of(config.project),
        };
        match config.kind {
            ProviderKind::OpenAi => {
                Arc::new(OpenAi { upstream: upstream(&[]), endpoints: Endpoints::ChatOnly })
            }
            ProviderKind::Anthropic => {
                let prices = Arc::clone(&self.prices);
                Arc::new(Anthropic { upstream: upstream(anthropic::VERSIONS), prices })
            }
            ProviderKind::Gemini => Arc::new(Gemini { upstream: upstream(gemini::VERSIONS), chat: false }),
        }
    }
}

fn openai(credentials: Credentials, client: &Client) -> Result<Arc<dyn Provider>, RegistryError> {
    let upstream = built_in(Family::OpenAi, credentials, openai::DEFAULT_BASE_URL, &[], client)?;
    Ok(Arc::new(OpenAi { upstream, endpoints: Endpoints::Both }))
}

fn anthropic(
    credentials: Credentials,
    client: &Client,
    prices: &Arc<PriceBook>,
) -> Result<Arc<dyn Provider>, RegistryError> {
    let default = anthropic::DEFAULT_BASE_URL;
    let upstream = built_in(Family::Anthropic, credentials, default, anthropic::VERSIONS, client)?;
    Ok(Arc::new(Anthropic { upstream, prices: Arc::clone(prices) }))
}

fn google(credentials: Credentials, client: &Client) -> Result<Arc<dyn Provider>, RegistryError> {
    let default = gemini::DEFAULT_BASE_URL;
    let upstream = built_in(Family::Google, credentials, default, gemini::VERSIONS, client)?;
    Ok(Arc::new(Gemini { upstream, chat: true }))
}

/// A built-in provider, at the operator's base URL or its own.
fn built_in(
    family: Family,
    credentials: Credentials,
    default: &str,
    suffixes: &[&str],
    client: &Client,
) -> Result<Upstream, RegistryError> {
    let Credentials { key, base_url } = credentials;
    let typed = base_url.filter(|typed| !typed.trim().is_empty());
    let provider = family.name();
    let fail = |reason: &str| RegistryError::BaseUrl { provider, reason: reason.to_owned() };
    let url =
        Url::parse(typed.as_deref().unwrap_or(default).trim()).map_err(|error| fail(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fail("another scheme"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fail("it has a query or a fragment"));
    }
    let base_url = Ok(without(url, suffixes));
    Ok(Upstream { name: provider.to_owned(), base_url, key: Some(key), client: client.clone() })
}

/// `url` without slashes and without one of `suffixes` at its end: many operators type a version, and the wire format adds its
/// own.
fn without(mut url: Url, suffixes: &[&str]) -> Url {
    let path = url.path().trim_end_matches('/');
    let path = suffixes.iter().find_map(|suffix| path.strip_suffix(suffix)).unwrap_or(path);
    let path = path.trim_end_matches('/').to_owned();
    url.set_path(&path);
    url
}
