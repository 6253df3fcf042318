//! Custom providers, kept in memory too, and the check of the master key.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::id::{ProjectId, ProviderId};
use deja_core::provider::ProviderConfig;
use deja_core::store::{ProviderConfigs, StoreError};
use rusqlite::{Connection, Row, params};

use super::fault::conflict;
use super::projects::must_be_there;
use super::rows::{names, time, word};
use super::{Done, SqliteStore};

#[async_trait]
impl ProviderConfigs for SqliteStore {
    async fn add_provider(&self, provider: &ProviderConfig, change: &Change) -> Result<(), StoreError> {
        let (provider, memory) = (provider.clone(), Arc::clone(&self.memory));
        self.audited(change, move |connection| {
            must_be_there(connection, provider.project)?;
            let models = models_json(&provider)?;
            connection
                .execute(
                    "INSERT INTO providers (project_id, name, provider_id, base_url, models, sealed_secret,
                                                allow_private, created, kind)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                    params![
                        provider.project.as_bytes(),
                        provider.name,
                        provider.id.as_bytes(),
                        provider.base_url,
                        models,
                        provider.sealed_secret,
                        provider.allow_private,
                        provider.created.as_nanos(),
                        provider.kind.as_str(),
                    ],
                )
                .map_err(|error| {
                    conflict(error, || {
                        format!("there is a provider '{}' already: choose another name", provider.name)
                    })
                })?;
            write_models(connection, &provider)?;
            Ok(Done::then(true, move || memory.catalog.put_provider(provider)))
        })
        .await
        .map(drop)
    }

    async fn update_provider(&self, provider: &ProviderConfig, change: &Change) -> Result<bool, StoreError> {
        let (provider, memory) = (provider.clone(), Arc::clone(&self.memory));
        self.audited(change, move |connection| {
            let (project, name) = (provider.project.as_bytes(), &provider.name);
            let changed = connection.execute(
                "UPDATE providers SET base_url = ?3, models = ?4, sealed_secret = ?5, allow_private = ?6,
                                kind = ?7
                         WHERE project_id = ?1 AND name = ?2 AND provider_id = ?8",
                params![
                    project,
                    name,
                    provider.base_url,
                    models_json(&provider)?,
                    provider.sealed_secret,
                    provider.allow_private,
                    provider.kind.as_str(),
                    provider.id.as_bytes(),
                ],
            )?;
            if changed == 0 {
                return Ok(Done::quiet(false));
            }
            connection.execute(
                "DELETE FROM provider_models WHERE project_id = ?1 AND provider = ?2",
                params![project, name],
            )?;
            write_models(connection, &provider)?;
            let sql = format!("{SELECT} WHERE project_id = ?1 AND name = ?2");
            let kept = connection.query_row(&sql, params![project, name], from_row)?;
            Ok(Done::then(true, move || memory.catalog.put_provider(kept)))
        })
        .await
    }

    async fn providers(&self, project: ProjectId) -> Result<Vec<ProviderConfig>, StoreError> {
        Ok(self.memory.catalog.providers(project))
    }

    async fn provider_of(
        &self,
        project: ProjectId,
        model: &str,
    ) -> Result<Option<ProviderConfig>, StoreError> {
        Ok(self.memory.catalog.provider_of(project, model))
    }

    async fn remove_provider(
        &self,
        project: ProjectId,
        name: &str,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let (name, memory) = (name.to_owned(), Arc::clone(&self.memory));
        self.audited(change, move |connection| {
            let removed = connection.execute(
                "DELETE FROM providers WHERE project_id = ?1 AND name = ?2",
                params![project.as_bytes(), name],
            )?;
            Ok(Done::then(removed > 0, move || memory.catalog.remove_provider(project, &name)))
        })
        .await
    }

    async fn key_check(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT value FROM facts WHERE name = 'key_check'";
        self.readers.one(sql, [], |row| row.get(0)).await
    }

    async fn set_key_check(&self, sealed: &[u8]) -> Result<(), StoreError> {
        let sql = "INSERT INTO facts (name, value) VALUES ('key_check', ?1) ON CONFLICT DO NOTHING";
        self.writer.execute(sql, [sealed.to_vec()]).await.map(drop)
    }
}

/// All providers, to fill memory when the store opens.
pub(super) fn load(connection: &Connection) -> rusqlite::Result<Vec<ProviderConfig>> {
    connection.prepare(SELECT)?.query_map([], from_row)?.collect()
}

fn models_json(provider: &ProviderConfig) -> Result<String, StoreError> {
    serde_json::to_string(&provider.models).map_err(|error| StoreError::Internal(error.into()))
}

fn write_models(connection: &Connection, provider: &ProviderConfig) -> Result<(), StoreError> {
    // A model listed twice is one model.
    for model in provider.models.iter().collect::<BTreeSet<_>>() {
        connection
            .execute(
                "INSERT INTO provider_models (project_id, model, provider) VALUES (?1, ?2, ?3)",
                params![provider.project.as_bytes(), model, provider.name],
            )
            .map_err(|error| {
                conflict(error, || {
                    format!(
                        "another provider of this project has the model '{model}': take it away there first"
                    )
                })
            })?;
    }
    Ok(())
}

const SELECT: &str =
    "SELECT provider_id, project_id, name, base_url, models, sealed_secret, allow_private, created, kind
                      FROM providers";

fn from_row(row: &Row<'_>) -> rusqlite::Result<ProviderConfig> {
    let models: String = row.get(4)?;
    Ok(ProviderConfig {
        id: ProviderId::from_bytes(row.get(0)?),
        project: ProjectId::from_bytes(row.get(1)?),
        name: row.get(2)?,
        base_url: row.get(3)?,
        models: names(&models, 4)?,
        sealed_secret: row.get(5)?,
        allow_private: row.get(6)?,
        created: time(row, 7)?,
        kind: word(row, 8)?,
    })
}
