//! Which provider a model is asked from: the built-in ones by the model's name, a project's own by its settings.
//!
//! Three clients are shared by all providers: one for the URLs that the operator typed, two for those that users
//! typed, with and without private addresses (see [`crate::ssrf`]).

use std::sync::Arc;

use deja_core::provider::{Provider, ProviderConfig, Route};
use reqwest::Url;
use secrecy::SecretString;

use crate::anthropic::{self, Anthropic};
use crate::family::{Family, family};
use crate::gemini::{self, Gemini};
use crate::http::{Client, ClientError, HttpSettings, Trust};
use crate::openai::{self, Endpoints, OpenAi};
use crate::ssrf::check_url;

/// What the operator gave for one built-in provider.
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
    allow_private: bool,
}

impl Registry {
    /// The providers with these credentials. `allow_private`: projects' own providers may all stand in private
    /// networks, not only those for which the operator allowed it one by one.
    pub fn new(
        built_in: BuiltIn,
        settings: HttpSettings,
        allow_private: bool,
    ) -> Result<Self, RegistryError> {
        let client = Client::new(Trust::Operator, settings.clone())?;
        let guarded = Client::new(Trust::User { allow_private: false }, settings.clone())?;
        let guarded_private = Client::new(Trust::User { allow_private: true }, settings)?;
        let openai = built_in.openai.map(|credentials| openai(credentials, &client)).transpose()?;
        let anthropic = built_in.anthropic.map(|credentials| anthropic(credentials, &client)).transpose()?;
        let google = built_in.google.map(|credentials| google(credentials, &client)).transpose()?;
        Ok(Self { openai, anthropic, google, guarded, guarded_private, allow_private })
    }

    /// The built-in provider of `model`.
    pub fn built_in(&self, model: &str) -> Route {
        let Some(family) = family(model) else { return Route::Unsupported };
        let provider = match family {
            Family::OpenAi => &self.openai,
            Family::Anthropic => &self.anthropic,
            Family::Google => &self.google,
        };
        match provider {
            Some(provider) => Route::To(Arc::clone(provider)),
            None => Route::NoCredentials { provider: family.name() },
        }
    }

    /// Whether a built-in provider has credentials.
    pub const fn has(&self, family: Family) -> bool {
        match family {
            Family::OpenAi => self.openai.is_some(),
            Family::Anthropic => self.anthropic.is_some(),
            Family::Google => self.google.is_some(),
        }
    }

    /// A project's own provider, an OpenAI-compatible server. Cheap: the clients are shared. A URL that deja
    /// does not call gives a provider whose every call fails with `FailureClass::Forbidden`.
    pub fn custom(&self, config: &ProviderConfig, secret: Option<SecretString>) -> Arc<dyn Provider> {
        let allow_private = self.allow_private || config.allow_private;
        let client = if allow_private { &self.guarded_private } else { &self.guarded };
        Arc::new(OpenAi {
            name: config.name.clone(),
            base_url: check_url(&config.base_url, allow_private),
            key: secret,
            client: client.clone(),
            endpoints: Endpoints::ChatOnly,
        })
    }
}

fn openai(credentials: Credentials, client: &Client) -> Result<Arc<dyn Provider>, RegistryError> {
    let base = base_url("openai", credentials.base_url, openai::DEFAULT_BASE_URL, &[])?;
    Ok(Arc::new(OpenAi {
        name: "openai".to_owned(),
        base_url: Ok(base),
        key: Some(credentials.key),
        client: client.clone(),
        endpoints: Endpoints::Both,
    }))
}

fn anthropic(credentials: Credentials, client: &Client) -> Result<Arc<dyn Provider>, RegistryError> {
    let base_url = base_url("anthropic", credentials.base_url, anthropic::DEFAULT_BASE_URL, &["/v1"])?;
    Ok(Arc::new(Anthropic { base_url, key: Some(credentials.key), client: client.clone() }))
}

fn google(credentials: Credentials, client: &Client) -> Result<Arc<dyn Provider>, RegistryError> {
    let base_url = base_url("google", credentials.base_url, gemini::DEFAULT_BASE_URL, &["/v1beta", "/v1"])?;
    Ok(Arc::new(Gemini { base_url, key: Some(credentials.key), client: client.clone() }))
}

/// The operator's base URL or the provider's own, without a slash or one of `suffixes` at the end.
fn base_url(
    provider: &'static str,
    typed: Option<String>,
    default: &str,
    suffixes: &[&str],
) -> Result<Url, RegistryError> {
    let typed = typed.filter(|typed| !typed.trim().is_empty());
    let mut text = typed.as_deref().unwrap_or(default).trim().trim_end_matches('/');
    if let Some(stripped) = suffixes.iter().find_map(|suffix| text.strip_suffix(suffix)) {
        text = stripped.trim_end_matches('/');
    }
    let fail = |reason: &str| RegistryError::BaseUrl { provider, reason: reason.to_owned() };
    let url = Url::parse(text).map_err(|error| fail(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fail("another scheme"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fail("it has a query or a fragment"));
    }
    Ok(url)
}
