//! API keys: those that are not revoked in memory, all of them with their usage in the database.

use std::sync::Arc;

use async_trait::async_trait;
use deja_core::api_key::{ApiKey, KeyHash, KeyUsage};
use deja_core::audit::Change;
use deja_core::clock::Timestamp;
use deja_core::id::{KeyId, ProjectId};
use deja_core::rate_limit::Quota;
use deja_core::store::{Admission, Keys, StoreError};
use rusqlite::{Connection, Row, params};

use super::fault::conflict;
use super::projects::must_be_there;
use super::rows::{count, names, quota, time, time_or_none};
use super::{Done, SqliteStore};

#[async_trait]
impl Keys for SqliteStore {
    async fn create_key(&self, key: &ApiKey, change: &Change) -> Result<(), StoreError> {
        let (key, memory) = (key.clone(), Arc::clone(&self.memory));
        self.audited(change, move |connection| {
            must_be_there(connection, key.project)?;
            let models = key
                .models
                .as_ref()
                .map(serde_json::to_string)
                .transpose()
                .map_err(|error| StoreError::Internal(error.into()))?;
            connection
                .prepare_cached(
                    "INSERT INTO keys (project_id, key_id, name, shown, hash, models, created, revoked,
                                           quota_per_minute, quota_burst, expires)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                )?
                .execute(params![
                    key.project.as_bytes(),
                    key.id.as_bytes(),
                    key.name,
                    key.shown,
                    key.hash.0,
                    models,
                    key.created.as_nanos(),
                    key.revoked.map(Timestamp::as_nanos),
                    key.quota.map(Quota::per_minute),
                    key.quota.map(Quota::burst),
                    key.expires.map(Timestamp::as_nanos),
                ])
                .map_err(|error| conflict(error, || format!("the key {}", key.shown)))?;
            Ok(Done::then(true, move || {
                if key.revoked.is_none() {
                    memory.catalog.put_key(key);
                }
            }))
        })
        .await
        .map(drop)
    }

    async fn key_by_hash(&self, hash: &KeyHash) -> Result<Option<Admission>, StoreError> {
        Ok(self.memory.catalog.key_by_hash(hash))
    }

    async fn keys(&self, project: ProjectId) -> Result<Vec<(ApiKey, KeyUsage)>, StoreError> {
        let sql = format!("{SELECT} WHERE project_id = ?1 ORDER BY created, key_id");
        let with_usage = |row: &Row<'_>| Ok((from_row(row)?, usage_from_row(row)?));
        self.readers.all(sql, [*project.as_bytes()], with_usage).await
    }

    async fn find_keys(&self, text: &str) -> Result<Vec<ApiKey>, StoreError> {
        let id: Option<KeyId> = text.parse().ok();
        let sql = format!("{SELECT} WHERE shown = ?1 OR key_id = ?2 ORDER BY created, key_id");
        self.readers.all(sql, (text.to_owned(), id.map(|id| *id.as_bytes())), from_row).await
    }

    async fn revoke_key(&self, project: ProjectId, key: KeyId, change: &Change) -> Result<bool, StoreError> {
        let (memory, at) = (Arc::clone(&self.memory), change.at);
        self.audited(change, move |connection| {
            let revoked = connection
                .prepare_cached(
                    "UPDATE keys SET revoked = ?3
                         WHERE project_id = ?1 AND key_id = ?2 AND revoked IS NULL",
                )?
                .execute(params![project.as_bytes(), key.as_bytes(), at.as_nanos()])?;
            Ok(Done::then(revoked > 0, move || {
                memory.catalog.remove_key(project, key);
                memory.key_buckets.forget(|of| *of == (project, key));
            }))
        })
        .await
    }
}

const SELECT: &str =
    "SELECT project_id, key_id, name, shown, hash, models, created, revoked, requests, last_used,
                             quota_per_minute, quota_burst, expires
                      FROM keys";

/// The keys that are not revoked.
pub(super) fn load_active(connection: &Connection) -> rusqlite::Result<Vec<ApiKey>> {
    connection.prepare(&format!("{SELECT} WHERE revoked IS NULL"))?.query_map([], from_row)?.collect()
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    let models: Option<String> = row.get(5)?;
    Ok(ApiKey {
        project: ProjectId::from_bytes(row.get(0)?),
        id: KeyId::from_bytes(row.get(1)?),
        name: row.get(2)?,
        shown: row.get(3)?,
        hash: KeyHash(row.get(4)?),
        models: models.map(|text| names(&text, 5)).transpose()?,
        quota: quota(row, 10)?,
        expires: time_or_none(row, 12)?,
        created: time(row, 6)?,
        revoked: time_or_none(row, 7)?,
    })
}

fn usage_from_row(row: &Row<'_>) -> rusqlite::Result<KeyUsage> {
    Ok(KeyUsage { requests: count(row, 8)?, last_used: time_or_none(row, 9)? })
}
