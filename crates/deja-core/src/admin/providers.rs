//! Providers of a project's own: add, list, remove.

use serde::{Deserialize, Serialize};
use url::Url;

use super::names::{models_of, shown};
use super::projects::Chosen;
use super::{Acting, AdminError, Hidden};
use crate::id::ProviderId;
use crate::provider::{ProviderConfig, ProviderKind, binding};

/// Names that responses use for something else.
const RESERVED: [&str; 4] = ["openai", "anthropic", "google", "cache"];
const MAX_SECRET_BYTES: usize = 8192;
const MAX_MODELS: usize = 200;

/// Paths that deja itself puts behind a base URL of this kind. They are taken off a base URL that was typed with one. OpenAI's
/// `/completions` is not among them: it is hardly asked for any more, and base URLs end so.
const fn endpoints(kind: ProviderKind) -> &'static [&'static str] {
    match kind {
        ProviderKind::OpenAi => &["/chat/completions", "/responses", "/embeddings"],
        ProviderKind::Anthropic => &["/v1/messages"],
        ProviderKind::Gemini => &["/v1beta/models"],
    }
}

/// A provider to add.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewProvider {
    /// The project's slug.
    pub project: String,
    /// The name in responses.
    pub name: String,
    /// The format that it speaks.
    #[serde(default)]
    pub kind: ProviderKind,
    /// Its base URL: deja puts the path of the kind behind it.
    pub base_url: String,
    /// The models it answers, one or more.
    pub models: Vec<String>,
    /// The key, if the server wants one.
    pub secret: Option<Hidden>,
    /// Whether it may stand in a private network.
    pub allow_private: bool,
}

/// What to change of a provider; `None` stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProviderPatch {
    /// The format that it speaks.
    pub kind: Option<ProviderKind>,
    /// Its base URL: deja puts the path of the kind behind it. A new host needs the key again, because a key is bound
    /// to its host.
    pub base_url: Option<String>,
    /// The models it answers, one or more.
    pub models: Option<Vec<String>>,
    /// The key; a choice of none takes it away.
    pub secret: Option<Chosen<Hidden>>,
    /// Whether it may stand in a private network.
    pub allow_private: Option<bool>,
}

impl ProviderPatch {
    /// Whether it changes nothing.
    pub const fn is_empty(&self) -> bool {
        let Self { kind, base_url, models, secret, allow_private } = self;
        kind.is_none()
            && base_url.is_none()
            && models.is_none()
            && secret.is_none()
            && allow_private.is_none()
    }
}

/// Adds a provider of the project's own. One in a private network is for owners of deja.
pub async fn add(by: &Acting<'_>, new: NewProvider) -> Result<ProviderConfig, AdminError> {
    let project = by.project(&new.project).await?;
    if new.allow_private {
        by.owners_only()?;
    }
    let name = provider_name(&new.name).map_err(|error| error.about("name"))?;
    let models = models_in(new.models)?;
    nameable(new.kind, &models)?;
    let url = checked(by, new.kind, &new.base_url, new.allow_private)?;
    let now = by.now();
    let id = ProviderId::generate(now, by.entropy())?;
    let sealed_secret = new.secret.as_ref().map(|secret| seal(by, secret, id, &url)).transpose()?;
    let provider = ProviderConfig {
        id,
        project: project.id,
        name,
        kind: new.kind,
        base_url: url.as_str().trim_end_matches('/').to_owned(),
        models,
        sealed_secret,
        allow_private: new.allow_private,
        created: now,
    };
    let change = by.change("provider.add").within(project.id).of(&provider.name).how(audit_detail(&provider));
    match by.store().add_provider(&provider, &change).await {
        Ok(()) => Ok(provider),
        Err(error) => Err(by.refused(project.id, &new.project, error).await),
    }
}

/// Changes a provider. Whether it may stand in a private network is for owners to say. They say it of one server: if a member
/// points the provider elsewhere, the permission does not go along.
pub async fn set(
    by: &Acting<'_>,
    slug: &str,
    name: &str,
    patch: ProviderPatch,
) -> Result<ProviderConfig, AdminError> {
    if patch.is_empty() {
        return Err(AdminError::Invalid("there is nothing to change: name at least one part".into()));
    }
    let by = &by.alone().await?;
    let project = by.project(slug).await?;
    let missing = || AdminError::NotFound(format!("the project '{slug}' has no provider '{}'", shown(name)));
    let providers = by.store().providers(project.id).await?;
    let kept = providers.into_iter().find(|provider| provider.name == name).ok_or_else(missing)?;
    let mut provider = kept.clone();
    let before: Url =
        provider.base_url.parse().map_err(|_| AdminError::Failed("the stored URL is not valid".into()))?;
    let asked = patch.base_url.as_deref().unwrap_or(&provider.base_url);
    let was_private = provider.allow_private;
    if let Some(allowed) = patch.allow_private.filter(|allowed| *allowed != provider.allow_private) {
        by.owners_only()?;
        provider.allow_private = allowed;
    } else if by.owners_only().is_err() && origin(asked) != Some(before.origin()) {
        provider.allow_private = false;
    }
    provider.kind = patch.kind.unwrap_or(provider.kind);
    let url = checked(by, provider.kind, asked, provider.allow_private)?;
    let moved = binding(provider.id, &before) != binding(provider.id, &url);
    match &patch.secret {
        Some(Chosen { value }) => {
            provider.sealed_secret =
                value.as_ref().map(|secret| seal(by, secret, provider.id, &url)).transpose()?;
        }
        None if moved && provider.sealed_secret.is_some() => {
            let why = "the key is bound to its host: give it again with the new URL";
            return Err(AdminError::Invalid(why.into()).about("secret"));
        }
        None => {}
    }
    provider.base_url = url.as_str().trim_end_matches('/').to_owned();
    if let Some(models) = patch.models {
        provider.models = models_in(models)?;
    }
    if provider == kept {
        return Ok(provider);
    }
    nameable(provider.kind, &provider.models)?;
    let key = match &patch.secret {
        Some(Chosen { value: Some(_) }) => ", with a new key",
        Some(Chosen { value: None }) => ", without a key",
        None => "",
    };
    let closed = if was_private && !provider.allow_private { ", no longer private" } else { "" };
    let detail = format!("{}{closed}{key}", audit_detail(&provider));
    let change = by.change("provider.set").within(project.id).of(name).how(detail);
    if by.store().update_provider(&provider, &change).await? { Ok(provider) } else { Err(missing()) }
}

/// A base URL that may be called. What a kind puts behind it is taken off where it was given along.
fn checked(by: &Acting<'_>, kind: ProviderKind, url: &str, allow_private: bool) -> Result<Url, AdminError> {
    let wrong = |problem| AdminError::Invalid(problem).about("base_url");
    let mut url = (by.admin.url_check)(url, allow_private).map_err(wrong)?;
    let path = url.path().trim_end_matches('/');
    if let Some(base) = endpoints(kind).iter().find_map(|endpoint| path.strip_suffix(endpoint)) {
        let base = base.to_owned();
        url.set_path(&base);
    }
    Ok(url)
}

/// Scheme, host and port of a URL.
fn origin(url: &str) -> Option<url::Origin> {
    Url::parse(url.trim()).ok().map(|url| url.origin())
}

/// What the audit log says of a provider.
fn audit_detail(provider: &ProviderConfig) -> String {
    let private = if provider.allow_private { ", may be private" } else { "" };
    format!("{} at {} for {}{private}", provider.kind, provider.base_url, provider.models.join(", "))
}

fn models_in(texts: Vec<String>) -> Result<Vec<String>, AdminError> {
    let models = models_of(texts).map_err(|error| error.about("models"))?;
    if models.is_empty() || models.len() > MAX_MODELS {
        return Err(AdminError::Invalid(format!("a provider needs 1 to {MAX_MODELS} models")).about("models"));
    }
    Ok(models)
}

/// Refuses models that a server of this kind cannot have: each request for one would fail.
fn nameable(kind: ProviderKind, models: &[String]) -> Result<(), AdminError> {
    let Some(odd) = models.iter().find(|model| !kind.can_name(model)) else { return Ok(()) };
    let name = shown(odd);
    let problem = format!(
        "a {kind} provider cannot have a model called '{name}': the name goes into the address of the request, so it has no \
         space and none of / \\ ? # % : and .., and at most 256 bytes"
    );
    Err(AdminError::Invalid(problem).about("models"))
}

fn seal(by: &Acting<'_>, secret: &Hidden, id: ProviderId, url: &Url) -> Result<Vec<u8>, AdminError> {
    let secret = secret.expose().trim();
    let printable = secret.bytes().all(|b| b.is_ascii_graphic());
    if secret.is_empty() || secret.len() > MAX_SECRET_BYTES || !printable {
        let why = "the key must be printable ASCII, without spaces";
        return Err(AdminError::Invalid(why.into()).about("secret"));
    }
    by.admin.sealer.seal(secret.as_bytes(), &binding(id, url))
}

/// The project's own providers.
pub async fn list(by: &Acting<'_>, slug: &str) -> Result<Vec<ProviderConfig>, AdminError> {
    let project = by.project(slug).await?;
    Ok(by.store().providers(project.id).await?)
}

/// Removes a provider by name.
pub async fn remove(by: &Acting<'_>, slug: &str, name: &str) -> Result<(), AdminError> {
    let project = by.project(slug).await?;
    let change = by.change("provider.remove").within(project.id).of(name);
    if by.store().remove_provider(project.id, name, &change).await? {
        Ok(())
    } else {
        Err(AdminError::NotFound(format!("the project '{slug}' has no provider '{}'", shown(name))))
    }
}

pub(super) fn provider_name(text: &str) -> Result<String, AdminError> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    // Dots alone are steps of a path, wherever a name becomes part of an address.
    let dots = text.bytes().all(|b| b == b'.');
    if !(1..=40).contains(&text.len()) || !text.bytes().all(allowed) || dots {
        let wanted = "1 to 40 of a-z, A-Z, 0-9, '-', '_' and '.', not dots alone";
        return Err(AdminError::Invalid(format!("the name '{}' is not allowed: use {wanted}", shown(text))));
    }
    if RESERVED.contains(&text.to_ascii_lowercase().as_str()) {
        return Err(AdminError::Invalid(format!(
            "the name '{text}' is taken by deja itself: choose another one"
        )));
    }
    Ok(text.to_owned())
}
