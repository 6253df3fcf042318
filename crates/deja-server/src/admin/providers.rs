//! Providers of a project's own: add, list, remove.

use deja_core::id::ProviderId;
use deja_core::provider::ProviderConfig;

use super::view::moment;
use super::{Acting, AdminError, NewProvider, ProviderView, Reply, models_of, shown};
use crate::vault::binding;

/// Names that responses use for something else.
const RESERVED: [&str; 4] = ["openai", "anthropic", "google", "cache"];
const MAX_SECRET_BYTES: usize = 8192;
const MAX_MODELS: usize = 200;

pub(super) async fn add(context: &Acting<'_>, new: NewProvider) -> Result<Reply, AdminError> {
    let name = provider_name(&new.name)?;
    let models = models_of(new.models)?;
    if models.is_empty() || models.len() > MAX_MODELS {
        return Err(AdminError::Invalid(format!("a provider needs 1 to {MAX_MODELS} models")));
    }
    let url = (context.url_check)(&new.base_url, new.allow_private).map_err(AdminError::Invalid)?;
    let project = context.project(&new.project).await?;
    let now = context.clock.now();
    let id = ProviderId::generate(now, &*context.entropy)?;
    let sealed_secret = match &new.secret {
        None => None,
        Some(secret) => {
            let secret = secret.expose().trim();
            let printable = secret.bytes().all(|b| b.is_ascii_graphic());
            if secret.is_empty() || secret.len() > MAX_SECRET_BYTES || !printable {
                return Err(AdminError::Invalid("the key must be printable ASCII, without spaces".into()));
            }
            Some(context.vault.seal(secret.as_bytes(), &binding(id, &url))?)
        }
    };
    let provider = ProviderConfig {
        id,
        project: project.id,
        name,
        base_url: url.as_str().trim_end_matches('/').to_owned(),
        models,
        sealed_secret,
        allow_private: new.allow_private,
        created: now,
    };
    let change = context.change("provider.add").within(project.id).of(&provider.name).how(format!(
        "{} for {}",
        provider.base_url,
        provider.models.join(", ")
    ));
    context.store.add_provider(&provider, &change).await?;
    Ok(Reply::Provider(view(&provider)))
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

fn provider_name(text: &str) -> Result<String, AdminError> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if !(1..=40).contains(&text.len()) || !text.bytes().all(allowed) {
        let wanted = "1 to 40 of a-z, A-Z, 0-9, '-', '_' and '.'";
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
        base_url: provider.base_url.clone(),
        models: provider.models.clone(),
        has_secret: provider.sealed_secret.is_some(),
        allow_private: provider.allow_private,
        created: moment(provider.created),
    }
}
