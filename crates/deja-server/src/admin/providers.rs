//! Providers of a project's own: add, list, remove.

use deja_core::id::ProviderId;
use deja_core::provider::ProviderConfig;
use url::Url;

use super::{Acting, AdminError, Hidden, NewProvider, ProviderChange, ProviderView, Reply, models_of, shown};
use crate::moment;
use crate::secrets::vault::binding;

/// Names that responses use for something else.
const RESERVED: [&str; 4] = ["openai", "anthropic", "google", "cache"];
const MAX_SECRET_BYTES: usize = 8192;
const MAX_MODELS: usize = 200;

pub(super) async fn add(context: &Acting<'_>, new: NewProvider) -> Result<Reply, AdminError> {
    let name = provider_name(&new.name)?;
    let models = models_in(new.models)?;
    let url = (context.url_check)(&new.base_url, new.allow_private).map_err(AdminError::Invalid)?;
    let project = context.project(&new.project).await?;
    let now = context.clock.now();
    let id = ProviderId::generate(now, &*context.entropy)?;
    let sealed_secret = new.secret.as_ref().map(|secret| seal(context, secret, id, &url)).transpose()?;
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
    let change = context.change("provider.add").within(project.id).of(&provider.name).how(told(&provider));
    context.store.add_provider(&provider, &change).await?;
    Ok(Reply::Provider(view(&provider)))
}

pub(super) async fn set(
    context: &Acting<'_>,
    slug: &str,
    name: &str,
    wanted: ProviderChange,
) -> Result<Reply, AdminError> {
    let _held = context.alone().await?;
    let project = context.project(slug).await?;
    let missing = || AdminError::NotFound(format!("the project '{slug}' has no provider '{}'", shown(name)));
    let providers = context.store.providers(project.id).await?;
    let mut provider = providers.into_iter().find(|provider| provider.name == name).ok_or_else(missing)?;
    provider.allow_private = wanted.allow_private.unwrap_or(provider.allow_private);
    let check = |url: &str| (context.url_check)(url, provider.allow_private).map_err(AdminError::Invalid);
    let url = check(wanted.base_url.as_deref().unwrap_or(&provider.base_url))?;
    let before: Url =
        provider.base_url.parse().map_err(|_| AdminError::Failed("the stored URL is none".into()))?;
    let moved = binding(provider.id, &before) != binding(provider.id, &url);
    match &wanted.secret {
        Some(secret) => provider.sealed_secret = Some(seal(context, secret, provider.id, &url)?),
        None if moved && provider.sealed_secret.is_some() => {
            let why = "the key is bound to its host: give it again with the new URL";
            return Err(AdminError::Invalid(why.into()));
        }
        None => {}
    }
    provider.base_url = url.as_str().trim_end_matches('/').to_owned();
    provider.kind = wanted.kind.unwrap_or(provider.kind);
    if let Some(models) = wanted.models {
        provider.models = models_in(models)?;
    }
    let key = if wanted.secret.is_some() { ", with a new key" } else { "" };
    let detail = format!("{}{key}", told(&provider));
    let change = context.change("provider.set").within(project.id).of(name).how(detail);
    if context.store.update_provider(&provider, &change).await? {
        Ok(Reply::Provider(view(&provider)))
    } else {
        Err(missing())
    }
}

/// What the audit log says of a provider.
fn told(provider: &ProviderConfig) -> String {
    format!("{} at {} for {}", provider.kind, provider.base_url, provider.models.join(", "))
}

fn models_in(texts: Vec<String>) -> Result<Vec<String>, AdminError> {
    let models = models_of(texts)?;
    if models.is_empty() || models.len() > MAX_MODELS {
        return Err(AdminError::Invalid(format!("a provider needs 1 to {MAX_MODELS} models")));
    }
    Ok(models)
}

fn seal(context: &Acting<'_>, secret: &Hidden, id: ProviderId, url: &Url) -> Result<Vec<u8>, AdminError> {
    let secret = secret.expose().trim();
    let printable = secret.bytes().all(|b| b.is_ascii_graphic());
    if secret.is_empty() || secret.len() > MAX_SECRET_BYTES || !printable {
        return Err(AdminError::Invalid("the key must be printable ASCII, without spaces".into()));
    }
    Ok(context.vault.seal(secret.as_bytes(), &binding(id, url))?)
}

pub(super) async fn list(context: &Acting<'_>, slug: &str) -> Result<Reply, AdminError> {
    let project = context.project(slug).await?;
    let providers = context.store.providers(project.id).await?;
    Ok(Reply::Providers(providers.iter().map(view).collect()))
}

pub(super) async fn remove(context: &Acting<'_>, slug: &str, name: &str) -> Result<Reply, AdminError> {
    let project = context.project(slug).await?;
    let change = context.change("provider.remove").within(project.id).of(name);
    if context.store.remove_provider(project.id, name, &change).await? {
        Ok(Reply::Done)
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

fn view(provider: &ProviderConfig) -> ProviderView {
    ProviderView {
        name: provider.name.clone(),
        id: provider.id.to_string(),
        kind: provider.kind,
        base_url: provider.base_url.clone(),
        models: provider.models.clone(),
        has_secret: provider.sealed_secret.is_some(),
        allow_private: provider.allow_private,
        created: moment::whole(provider.created),
    }
}
