//! API keys. Each request asks the database, so that a revocation holds for the very next one on every replica.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use deja_core::api_key::{ApiKey, KeyHash, KeyUsage};
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::{KeyId, ProjectId};
use deja_core::project::Tier;
use deja_core::rate_limit::{Decision, MINUTE, Quota};
use deja_core::store::{Admission, Keys, OwnProviders, StoreError};
use tokio_postgres::Row;
use uuid::Uuid;

use super::connections::{Connections, Params};
use super::fault::conflict;
use super::limits::{QUERIES, SKEW, decision, take_from};
use super::rows::{count, get, hash, id, json, time, time_or_none, to_json, uuid};
use super::{PostgresStore, projects};

/// Columns of a key, from number 0.
const COLUMNS: &str = "k.project_id, k.key_id, k.name, k.shown, k.hash, k.models, k.created, k.revoked,
                       k.requests, k.last_used";
/// How many they are.
const WIDTH: usize = 10;

#[async_trait]
impl Keys for PostgresStore {
    async fn create_key(&self, key: &ApiKey, change: &Change) -> Result<(), StoreError> {
        let models = key.models.as_ref().map(to_json).transpose()?;
        let parts = "done AS (
            INSERT INTO keys (project_id, key_id, name, shown, hash, models, created, revoked)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING 1)";
        let params: Params<'_> = &[
            &uuid(key.project.as_bytes()),
            &uuid(key.id.as_bytes()),
            &key.name,
            &key.shown,
            &key.hash.0.as_slice(),
            &models,
            &key.created.as_nanos(),
            &key.revoked.map(Timestamp::as_nanos),
        ];
        let created = self.change(parts, params, change).await;
        let what = || format!("the key {} is there already, or project {} is not", key.shown, key.project);
        created.map(drop).map_err(|error| conflict(error, what))
    }

    async fn admit(&self, hash: &KeyHash) -> Result<Option<Admission>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {}, p.providers_version FROM keys k JOIN projects p ON p.project_id = k.project_id
             WHERE k.hash = $1 AND k.revoked IS NULL",
            projects::COLUMNS
        );
        let row = self.connections.query_opt(&sql, &[&hash.0.as_slice()]).await?;
        row.map(|row| admission(&row)).transpose()
    }

    async fn keys(&self, project: ProjectId) -> Result<Vec<(ApiKey, KeyUsage)>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM keys k WHERE project_id = $1 ORDER BY created, key_id");
        let rows = self.connections.query(&sql, &[&uuid(project.as_bytes())]).await?;
        rows.iter().map(|row| Ok((from_row(row)?, usage_from_row(row)?))).collect()
    }

    async fn find_keys(&self, text: &str) -> Result<Vec<ApiKey>, StoreError> {
        // PostgreSQL takes no NUL in a text, and no prefix has one.
        if text.contains('\0') {
            return Ok(Vec::new());
        }
        let id: Option<KeyId> = text.parse().ok();
        let id = id.as_ref().map(|id| uuid(id.as_bytes()));
        let sql =
            format!("SELECT {COLUMNS} FROM keys k WHERE shown = $1 OR key_id = $2 ORDER BY created, key_id");
        let rows = self.connections.query(&sql, &[&text, &id]).await?;
        rows.iter().map(from_row).collect()
    }

    async fn revoke_key(&self, project: ProjectId, key: KeyId, change: &Change) -> Result<bool, StoreError> {
        let parts = "done AS (
            UPDATE keys SET revoked = $3 WHERE project_id = $1 AND key_id = $2 AND revoked IS NULL
            RETURNING 1)";
        let params: Params<'_> = &[&uuid(project.as_bytes()), &uuid(key.as_bytes()), &change.at.as_nanos()];
        Ok(self.change(parts, params, change).await? > 0)
    }
}

/// $1 now, $2 skew, $3 hash.
static ADMIT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "WITH admitted AS (
             SELECT p.project_id, coalesce(p.quota_per_minute, {per_minute})::bigint AS per_minute,
                    coalesce(p.quota_burst, {burst}) AS burst
             FROM keys k JOIN projects p ON p.project_id = k.project_id
             WHERE k.hash = $3 AND k.revoked IS NULL),
         quota AS (
             SELECT project_id, step, step * burst AS capacity
             FROM (SELECT *, ({MINUTE} + per_minute - 1) / per_minute AS step FROM admitted) AS stepped),
         taken AS ({taken})
         SELECT {COLUMNS}, {project}, p.providers_version, t.full_at, t.seen, t.allowed
         FROM taken t JOIN projects p ON p.project_id = t.project_id
              JOIN keys k ON k.project_id = t.project_id AND k.hash = $3",
        per_minute = by_tier(Quota::per_minute),
        burst = by_tier(Quota::burst),
        taken = take_from(QUERIES),
        project = projects::COLUMNS,
    )
});

/// [`Keys::admit`] and [`Limits::take`](deja_core::store::Limits::take) in one statement.
pub(super) async fn admit_within_limit(
    connections: &Connections,
    hash: &KeyHash,
    now: Timestamp,
) -> Result<Option<(Admission, Decision)>, StoreError> {
    let params: Params<'_> = &[&now.as_nanos(), &SKEW, &hash.0.as_slice()];
    let row = connections.query_opt(&ADMIT, params).await?;
    row.map(|row| {
        let admission = admission(&row)?;
        let decision = decision(&row, WIDTH + projects::WIDTH + 1, admission.project.quota())?;
        Ok((admission, decision))
    })
    .transpose()
}

/// A number of the project's tier, as an expression.
fn by_tier(number: fn(Quota) -> u32) -> String {
    let cases = Tier::ALL.map(|tier| format!("WHEN '{}' THEN {}", tier.as_str(), number(tier.quota())));
    format!("CASE p.tier {} END", cases.join(" "))
}

fn admission(row: &Row) -> Result<Admission, StoreError> {
    let (key, project) = (Arc::new(from_row(row)?), Arc::new(projects::from_row(row, WIDTH)?));
    let version: Option<Uuid> = get(row, WIDTH + projects::WIDTH)?;
    let providers = version.map_or(OwnProviders::None, |version| OwnProviders::At(version.into_bytes()));
    Ok(Admission { key, project, providers })
}

fn from_row(row: &Row) -> Result<ApiKey, StoreError> {
    let models: Option<&str> = get(row, 5)?;
    Ok(ApiKey {
        project: ProjectId::from_bytes(id(row, 0)?),
        id: KeyId::from_bytes(id(row, 1)?),
        name: get(row, 2)?,
        shown: get(row, 3)?,
        hash: KeyHash(hash(row, 4)?),
        models: if models.is_some() { Some(json(row, 5)?) } else { None },
        created: time(row, 6)?,
        revoked: time_or_none(row, 7)?,
    })
}

fn usage_from_row(row: &Row) -> Result<KeyUsage, StoreError> {
    Ok(KeyUsage { requests: count(row, 8)?, last_used: time_or_none(row, 9)? })
}
