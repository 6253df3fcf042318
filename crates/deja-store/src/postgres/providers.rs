//! Custom providers and the check of the master key.

use std::collections::BTreeSet;

use async_trait::async_trait;
use deja_core::audit::Change;
use deja_core::id::{ProjectId, ProviderId};
use deja_core::provider::ProviderConfig;
use deja_core::store::{ProviderConfigs, StoreError};
use tokio_postgres::Row;

use super::PostgresStore;
use super::connections::Params;
use super::fault::conflict_by;
use super::rows::{get, id, json, text, time, to_json, uuid, word};

const SELECT: &str = "SELECT p.provider_id, p.project_id, p.name, p.base_url, p.models, p.sealed_secret,
                             p.allow_private, p.created, p.kind
                      FROM providers p";

#[async_trait]
impl ProviderConfigs for PostgresStore {
    async fn add_provider(&self, provider: &ProviderConfig, change: &Change) -> Result<(), StoreError> {
        let parts = "done AS (
                INSERT INTO providers (project_id, name, base_url, models, sealed_secret, allow_private,
                                       kind, provider_id, created)
                VALUES ($1, $2, $3, $4, $5, $6, $8, $9, $10) RETURNING 1),
            answers AS (
                INSERT INTO provider_models (project_id, model, provider)
                SELECT $1, model, $2 FROM unnest($7::bytea[]) AS model)";
        let (id, created) = (uuid(provider.id.as_bytes()), provider.created.as_nanos());
        let added = self.write_provider(parts, provider, &[&id, &created], change).await;
        added.map(drop)
    }

    async fn update_provider(&self, provider: &ProviderConfig, change: &Change) -> Result<bool, StoreError> {
        // Models that stay keep their rows, so that no row is deleted and added in one statement.
        let parts = "done AS (
                UPDATE providers SET base_url = $3, models = $4, sealed_secret = $5, allow_private = $6,
                       kind = $8
                WHERE project_id = $1 AND name = $2 AND provider_id = $9 RETURNING 1),
            dropped AS (
                DELETE FROM provider_models
                WHERE project_id = $1 AND provider = $2 AND model <> ALL ($7::bytea[])
                      AND EXISTS (SELECT FROM done)),
            answers AS (
                INSERT INTO provider_models (project_id, model, provider)
                SELECT $1, asked.model, $2 FROM unnest($7::bytea[]) AS asked (model)
                WHERE EXISTS (SELECT FROM done) AND NOT EXISTS (
                    SELECT FROM provider_models m
                    WHERE m.project_id = $1 AND m.model = asked.model AND m.provider = $2))";
        Ok(self.write_provider(parts, provider, &[&uuid(provider.id.as_bytes())], change).await? > 0)
    }

    async fn providers(&self, project: ProjectId) -> Result<Vec<ProviderConfig>, StoreError> {
        let sql = format!("{SELECT} WHERE p.project_id = $1 ORDER BY p.name");
        let connections = self.connections.of(project);
        let rows = connections.query(&sql, &[&uuid(project.as_bytes())]).await?;
        rows.iter().map(from_row).collect()
    }

    async fn provider_of(
        &self,
        project: ProjectId,
        model: &str,
    ) -> Result<Option<ProviderConfig>, StoreError> {
        let sql = format!(
            "{SELECT} JOIN provider_models m ON m.project_id = p.project_id AND m.provider = p.name
             WHERE m.project_id = $1 AND m.model = $2"
        );
        let connections = self.connections.of(project);
        let row = connections.query_opt(&sql, &[&uuid(project.as_bytes()), &model.as_bytes()]).await?;
        row.as_ref().map(from_row).transpose()
    }

    async fn remove_provider(
        &self,
        project: ProjectId,
        name: &str,
        change: &Change,
    ) -> Result<bool, StoreError> {
        if name.contains('\0') {
            return Ok(false);
        }
        let parts = "done AS (DELETE FROM providers WHERE project_id = $1 AND name = $2 RETURNING 1)";
        Ok(self.change(parts, &[&uuid(project.as_bytes()), &name], change).await? > 0)
    }

    async fn key_check(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT value FROM facts WHERE name = 'key_check'";
        let row = self.connections.query_opt(sql, &[]).await?;
        row.map(|row| get(&row, 0)).transpose()
    }

    async fn set_key_check(&self, sealed: &[u8]) -> Result<(), StoreError> {
        let sql = "INSERT INTO facts (name, value) VALUES ('key_check', $1) ON CONFLICT DO NOTHING";
        self.connections.query(sql, &[&sealed]).await.map(drop)
    }
}

impl PostgresStore {
    /// Runs `parts` with the provider as $1 to $8, and `more` after them.
    async fn write_provider(
        &self,
        parts: &str,
        provider: &ProviderConfig,
        more: Params<'_>,
        change: &Change,
    ) -> Result<u64, StoreError> {
        // A model listed twice is one model.
        let models: BTreeSet<&[u8]> = provider.models.iter().map(String::as_bytes).collect();
        let models: Vec<&[u8]> = models.into_iter().collect();
        let (project, listed) = (uuid(provider.project.as_bytes()), to_json(&provider.models)?);
        let own: Params<'_> = &[
            &project,
            &provider.name,
            &provider.base_url,
            &listed,
            &provider.sealed_secret,
            &provider.allow_private,
            &models,
            &provider.kind.as_str(),
        ];
        let params: Vec<_> = own.iter().chain(more).copied().collect();
        let error = match self.change(parts, &params, change).await {
            Ok(written) => return Ok(written),
            Err(error) => error,
        };
        let mut is_model = false;
        let refused = conflict_by(error, |constraint| {
            is_model = constraint == "provider_models_pkey";
            format!("there is a provider '{}' already: choose another name", provider.name)
        });
        if !is_model {
            return Err(refused);
        }
        let taken = self.taken(provider, &models).await?;
        let taken =
            taken.map_or_else(|| "one of these models".into(), |model| format!("the model '{model}'"));
        let text = format!("another provider of this project has {taken}: take it away there first");
        Err(StoreError::Conflict(text))
    }

    /// The first of these models that another provider of the project has.
    async fn taken(&self, provider: &ProviderConfig, models: &[&[u8]]) -> Result<Option<String>, StoreError> {
        let sql = "SELECT model FROM provider_models
                   WHERE project_id = $1 AND model = ANY ($2::bytea[]) AND provider <> $3 ORDER BY model LIMIT 1";
        let params: Params<'_> = &[&uuid(provider.project.as_bytes()), &models, &provider.name];
        self.connections.query_opt(sql, params).await?.map(|row| text(&row, 0)).transpose()
    }
}

fn from_row(row: &Row) -> Result<ProviderConfig, StoreError> {
    Ok(ProviderConfig {
        id: ProviderId::from_bytes(id(row, 0)?),
        project: ProjectId::from_bytes(id(row, 1)?),
        name: get(row, 2)?,
        base_url: get(row, 3)?,
        models: json(row, 4)?,
        sealed_secret: get(row, 5)?,
        allow_private: get(row, 6)?,
        created: time(row, 7)?,
        kind: word(row, 8)?,
    })
}
