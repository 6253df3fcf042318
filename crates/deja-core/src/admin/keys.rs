//! Keys: make, list, revoke.

use super::names::{models_of, name_of, shown};
use super::{Acting, AdminError};
use crate::api_key::{ApiKey, KeyStatus, KeyUsage, PlainKey};
use crate::id::KeyId;

/// A key that was just made.
#[derive(Debug)]
pub struct NewKey {
    /// The key itself, which exists this once.
    pub plain: PlainKey,
    /// The key as it is kept.
    pub key: ApiKey,
}

/// Makes a key; without `models` it may ask for all.
pub async fn create(
    by: &Acting<'_>,
    slug: &str,
    name: &str,
    models: Vec<String>,
) -> Result<NewKey, AdminError> {
    let name = name_of("the name", name)?;
    let models = if models.is_empty() { None } else { Some(models_of(models)?) };
    let project = by.project(slug).await?;
    let plain = PlainKey::generate(by.entropy())?;
    let now = by.now();
    let key = ApiKey {
        id: KeyId::generate(now, by.entropy())?,
        project: project.id,
        name,
        shown: plain.shown(),
        hash: plain.hash(),
        models,
        created: now,
        revoked: None,
    };
    let change = by.change("key.create").within(project.id).of(format!("{} {}", key.shown, key.name));
    by.store().create_key(&key, &change).await?;
    Ok(NewKey { plain, key })
}

/// The project's keys, and how much each was used.
pub async fn list(by: &Acting<'_>, slug: &str) -> Result<Vec<(ApiKey, KeyUsage)>, AdminError> {
    let project = by.project(slug).await?;
    Ok(by.store().keys(project.id).await?)
}

/// Revokes the active key that `named` means: its id, its shown prefix, or the key itself. The very next request with
/// it is refused.
pub async fn revoke(by: &Acting<'_>, named: &str, slug: Option<&str>) -> Result<ApiKey, AdminError> {
    let text = named.trim();
    let project = match slug {
        Some(slug) => Some(by.project(slug).await?.id),
        None => None,
    };
    let mut found = match PlainKey::parse(text) {
        Some(plain) => {
            let admission = by.store().admit(&plain.hash()).await?;
            admission.map(|admission| (*admission.key).clone()).into_iter().collect()
        }
        None => by.store().find_keys(text).await?,
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
    let change = by.change("key.revoke").within(key.project).of(format!("{} {}", key.shown, key.name));
    let now = change.at;
    if !by.store().revoke_key(key.project, key.id, &change).await? {
        return Err(none());
    }
    key.revoked = Some(now);
    Ok(key)
}
