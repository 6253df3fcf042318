//! Keys: make, list, revoke.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::names::{models_of, name_of, shown};
use super::{Acting, AdminError, projects};
use crate::api_key::{ApiKey, KeyUsage, PlainKey};
use crate::clock::Timestamp;
use crate::id::KeyId;
use crate::project::Project;
use crate::rate_limit::Quota;

/// How far ahead a key's end may lie: beyond it there is no sense in one.
const LONGEST: Duration = Duration::from_hours(100 * 365 * 24);

/// A key to make.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyWish {
    /// What it is for, in a person's words.
    pub name: String,
    /// The models it may ask for; none are all.
    pub models: Vec<String>,
    /// From when on it is refused; `None`: until it is revoked.
    pub expires: Option<Expiry>,
    /// Requests a minute, at most its project's.
    pub per_minute: Option<u32>,
    /// Requests at once, at most its project's.
    pub burst: Option<u32>,
}

/// The end of a key or a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expiry {
    /// So many seconds after it was made.
    In(u64),
    /// At this moment.
    At(jiff::Timestamp),
}

impl Expiry {
    /// The moment, which must lie ahead of `now`, and 100 years ahead at most.
    pub(super) fn moment(self, now: Timestamp) -> Result<Timestamp, AdminError> {
        let at = match self {
            Self::In(seconds) => now.plus(Duration::from_secs(seconds)),
            Self::At(at) => at.into(),
        };
        if at > now && at <= now.plus(LONGEST) {
            return Ok(at);
        }
        Err(AdminError::Invalid("the expiry must lie ahead, by 36500 days at most".into()))
    }
}

/// A key that was just made.
#[derive(Debug)]
pub struct NewKey {
    /// The key itself, which exists this once.
    pub plain: PlainKey,
    /// The key as it is kept.
    pub key: ApiKey,
}

/// Makes a key.
pub async fn create(by: &Acting<'_>, slug: &str, wish: KeyWish) -> Result<NewKey, AdminError> {
    let name = name_of(&wish.name)?;
    let models = match wish.models {
        none if none.is_empty() => None,
        models => Some(models_of(models).map_err(|error| error.about("models"))?),
    };
    let now = by.now();
    let expires = wish.expires.map(|expiry| expiry.moment(now)).transpose();
    let expires = expires.map_err(|error| error.about("expires"))?;
    let project = by.project(slug).await?;
    let quota = quota_within(&project, wish.per_minute, wish.burst)?;
    let plain = PlainKey::generate(by.entropy())?;
    let key = ApiKey {
        id: KeyId::generate(now, by.entropy())?,
        project: project.id,
        name,
        shown: plain.shown(),
        hash: plain.hash(),
        models,
        quota,
        expires,
        created: now,
        revoked: None,
    };
    let change = by.change("key.create").within(project.id).of(format!("{} {}", key.shown, key.name));
    let change = change.how(audit_detail(&key));
    match by.store().create_key(&key, &change).await {
        Ok(()) => Ok(NewKey { plain, key }),
        Err(error) => Err(by.refused(project.id, slug, error).await),
    }
}

/// A key's own limit; `None` without one. What is left out of it follows from the other number, within the project's.
fn quota_within(
    project: &Project,
    per_minute: Option<u32>,
    burst: Option<u32>,
) -> Result<Option<Quota>, AdminError> {
    let most = project.quota();
    let burst = burst.or_else(|| per_minute.map(|rate| rate.saturating_add(rate / 5).min(most.burst())));
    let Some(quota) = projects::quota(most, per_minute, burst)? else { return Ok(None) };
    let wider = if quota.per_minute() > most.per_minute() {
        "per_minute"
    } else if quota.burst() > most.burst() {
        "burst"
    } else {
        return Ok(Some(quota));
    };
    let (rate, at_once) = (most.per_minute(), most.burst());
    let why =
        format!("the key's limit must lie within its project's: {rate} requests a minute, {at_once} at once");
    Err(AdminError::Invalid(why).about(wider))
}

/// What holds for a key besides, in a few words.
fn audit_detail(key: &ApiKey) -> String {
    let models = key.models.as_ref().map(|models| format!("for {}", models.join(", ")));
    let limit = key.quota.map(|quota| format!("{} a minute, {} at once", quota.per_minute(), quota.burst()));
    let until = key.expires.map(|at| format!("until {:.0}", jiff::Timestamp::from(at)));
    models.into_iter().chain(limit).chain(until).collect::<Vec<_>>().join("; ")
}

/// The project's keys, and how much each was used; for its viewers too.
pub async fn list(by: &Acting<'_>, slug: &str) -> Result<Vec<(ApiKey, KeyUsage)>, AdminError> {
    let project = by.seen(slug).await?.project;
    Ok(by.store().keys(project.id).await?)
}

/// Revokes the key that `named` means and that is not revoked yet: its id, its shown prefix, or the key itself. The very next request with
/// it is refused. Without a project it is looked for in all, for owners of deja.
pub async fn revoke(by: &Acting<'_>, named: &str, slug: Option<&str>) -> Result<ApiKey, AdminError> {
    let text = named.trim();
    let project = match slug {
        Some(slug) => Some(by.project(slug).await?.id),
        None => by.owners_only().map(|()| None)?,
    };
    let mut found = match PlainKey::parse(text) {
        Some(plain) => {
            let admission = by.store().key_by_hash(&plain.hash()).await?;
            admission.map(|admission| (*admission.key).clone()).into_iter().collect()
        }
        None => by.store().find_keys(text).await?,
    };
    found.retain(|key| key.revoked.is_none() && project.is_none_or(|id| key.project == id));
    // No more than listings show: it may be a key with a typing error.
    let named: String = shown(text).chars().take(if text.starts_with("dj_") { 7 } else { 60 }).collect();
    let cut = if text.starts_with("dj_") && text.len() > named.len() && PlainKey::parse(text).is_none() {
        "…: name its prefix as it is listed, its id, or the whole key"
    } else {
        ""
    };
    let none = || AdminError::NotFound(format!("there is no active key '{named}'{cut}"));
    if found.len() > 1 {
        let ids: Vec<String> = found.iter().map(|key| format!("{} ({})", key.id, shown(&key.name))).collect();
        return Err(AdminError::Conflict(format!(
            "'{named}' fits several keys, name one by its id: {}",
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
