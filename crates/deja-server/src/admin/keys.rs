//! Keys: make, list, revoke.

use deja_core::api_key::{ApiKey, KeyStatus, KeyUsage, PlainKey};
use deja_core::id::KeyId;

use super::{Acting, AdminError, Hidden, KeyView, Reply, models_of, name_of, shown};
use crate::moment;

pub(super) async fn create(
    context: &Acting<'_>,
    slug: &str,
    name: &str,
    models: Vec<String>,
) -> Result<Reply, AdminError> {
    let name = name_of("the name", name)?;
    let models = if models.is_empty() { None } else { Some(models_of(models)?) };
    let project = context.project(slug).await?;
    let plain = PlainKey::generate(&*context.entropy)?;
    let now = context.clock.now();
    let key = ApiKey {
        id: KeyId::generate(now, &*context.entropy)?,
        project: project.id,
        name,
        shown: plain.shown(),
        hash: plain.hash(),
        models,
        created: now,
        revoked: None,
    };
    let change = context.change("key.create").within(project.id).of(format!("{} {}", key.shown, key.name));
    context.store.create_key(&key, &change).await?;
    let view = view(&key, KeyUsage::default());
    Ok(Reply::KeyCreated { key: Hidden::from(plain.reveal().to_owned()), view })
}

pub(super) async fn list(context: &Acting<'_>, slug: &str) -> Result<Reply, AdminError> {
    let project = context.project(slug).await?;
    let keys = context.store.keys(project.id).await?;
    Ok(Reply::Keys(keys.iter().map(|(key, usage)| view(key, *usage)).collect()))
}

pub(super) async fn revoke(
    context: &Acting<'_>,
    key: &Hidden,
    slug: Option<&str>,
) -> Result<Reply, AdminError> {
    let text = key.expose().trim();
    let project = match slug {
        Some(slug) => Some(context.project(slug).await?.id),
        None => None,
    };
    let mut found = match PlainKey::parse(text) {
        Some(plain) => {
            let admission = context.store.admit(&plain.hash()).await?;
            admission.map(|admission| (*admission.key).clone()).into_iter().collect()
        }
        None => context.store.find_keys(text).await?,
    };
    found.retain(|key| key.status() == KeyStatus::Active && project.is_none_or(|id| key.project == id));
    // No more than listings show: it may be a key with a typing error.
    let named: String = shown(text).chars().take(if text.starts_with("dj_") { 7 } else { 60 }).collect();
    let none = || AdminError::NotFound(format!("there is no active key '{named}'"));
    if found.len() > 1 {
        let ids: Vec<String> = found.iter().map(|key| format!("{} ({})", key.id, shown(&key.name))).collect();
        return Err(AdminError::Conflict(format!(
            "'{named}' is more than one key, name one by its id: {}",
            ids.join(", ")
        )));
    }
    let mut key = found.pop().ok_or_else(none)?;
    let change = context.change("key.revoke").within(key.project).of(format!("{} {}", key.shown, key.name));
    let now = change.at;
    if !context.store.revoke_key(key.project, key.id, &change).await? {
        return Err(none());
    }
    key.revoked = Some(now);
    Ok(Reply::KeyRevoked(view(&key, KeyUsage::default())))
}

fn view(key: &ApiKey, usage: KeyUsage) -> KeyView {
    KeyView {
        prefix: key.shown.clone(),
        id: key.id.to_string(),
        name: key.name.clone(),
        models: key.models.clone(),
        created: moment::whole(key.created),
        last_used: usage.last_used.map(moment::whole),
        requests: usage.requests,
        status: match key.status() {
            KeyStatus::Active => "Active",
            KeyStatus::Revoked => "Revoked",
        }
        .into(),
        revoked: key.revoked.map(moment::whole),
    }
}
