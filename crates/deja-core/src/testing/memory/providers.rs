//! Custom providers of the reference store.

use async_trait::async_trait;

use super::MemoryStore;
use crate::audit::Change;
use crate::id::ProjectId;
use crate::provider::ProviderConfig;
use crate::store::{ProviderConfigs, StoreError};

/// The conflict over a model of this provider that one of `others` has.
fn conflict<'a>(
    mut others: impl Iterator<Item = &'a ProviderConfig>,
    provider: &ProviderConfig,
) -> Option<StoreError> {
    let taken = others.find_map(|other| other.models.iter().find(|model| provider.models.contains(model)))?;
    let text = format!("another provider of this project has the model '{taken}': take it away there first");
    Some(StoreError::Conflict(text))
}

#[async_trait]
impl ProviderConfigs for MemoryStore {
    async fn add_provider(&self, provider: &ProviderConfig, change: &Change) -> Result<(), StoreError> {
        let mut state = self.state();
        if !state.projects.contains_key(&provider.project) {
            return Err(StoreError::Conflict(format!("no project {} for the provider", provider.project)));
        }
        let others = || state.providers.iter().filter(|other| other.project == provider.project);
        if others().any(|other| other.name == provider.name) {
            return Err(StoreError::Conflict("there is one of this name: choose another name".into()));
        }
        if let Some(conflict) = conflict(others(), provider) {
            return Err(conflict);
        }
        state.providers.push(provider.clone());
        state.changes.push(change.clone());
        Ok(())
    }

    async fn update_provider(&self, provider: &ProviderConfig, change: &Change) -> Result<bool, StoreError> {
        let mut state = self.state();
        let this = |other: &ProviderConfig| {
            (other.project, &other.name, other.id) == (provider.project, &provider.name, provider.id)
        };
        let others = state.providers.iter().filter(|other| other.project == provider.project && !this(other));
        let clash = conflict(others, provider);
        let Some(kept) = state.providers.iter_mut().find(|other| this(other)) else { return Ok(false) };
        if let Some(clash) = clash {
            return Err(clash);
        }
        *kept = ProviderConfig { created: kept.created, ..provider.clone() };
        Ok(state.note_if(true, change))
    }

    async fn providers(&self, project: ProjectId) -> Result<Vec<ProviderConfig>, StoreError> {
        let state = self.state();
        let mut providers: Vec<_> =
            state.providers.iter().filter(|provider| provider.project == project).cloned().collect();
        providers.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(providers)
    }

    async fn provider_of(
        &self,
        project: ProjectId,
        model: &str,
    ) -> Result<Option<ProviderConfig>, StoreError> {
        let providers = self.providers(project).await?;
        Ok(providers.into_iter().find(|provider| provider.models.iter().any(|answered| answered == model)))
    }

    async fn remove_provider(
        &self,
        project: ProjectId,
        name: &str,
        change: &Change,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let this = |other: &mut ProviderConfig| (other.project, other.name.as_str()) == (project, name);
        let removed = state.providers.extract_if(.., this).count() > 0;
        Ok(state.note_if(removed, change))
    }

    async fn key_check(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.state().key_check.clone())
    }

    async fn set_key_check(&self, sealed: &[u8]) -> Result<(), StoreError> {
        self.state().key_check.get_or_insert_with(|| sealed.to_vec());
        Ok(())
    }
}
