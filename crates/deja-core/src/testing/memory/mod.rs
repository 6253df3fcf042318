//! The reference model of the store: plain maps under one lock and a scan of everything.
//!
//! It is what the contract means. It is slow, and so short that it can be seen to be right.

mod entries;
mod keys;
mod usage;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::analytics::Totals;
use crate::api_key::{ApiKey, KeyUsage};
use crate::cache::{Entry, PromptHash, Scope};
use crate::clock::Timestamp;
use crate::embedding::EmbedderId;
use crate::id::{EntryId, ProjectId};
use crate::project::Project;
use crate::provider::ProviderConfig;
use crate::rate_limit::{Bucket, Decision, Quota, take};
use crate::store::{Limits, Projects, ProviderConfigs, Store, StoreError};

/// A store without a disk.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    projects: BTreeMap<ProjectId, Project>,
    keys: Vec<(ApiKey, KeyUsage)>,
    entries: BTreeMap<(ProjectId, EntryId), Stored>,
    buckets: HashMap<ProjectId, Bucket>,
    usage: BTreeMap<(ProjectId, Box<str>, i64), Totals>,
    providers: Vec<ProviderConfig>,
    key_check: Option<Vec<u8>>,
}

struct Stored {
    scope: Scope,
    prompt_hash: PromptHash,
    entry: Arc<Entry>,
    /// Who was asked for a vector, and the vector at f16 unless the prompt was too long.
    vector: Option<(EmbedderId, Option<Vec<f32>>)>,
    /// The last hit, or else the creation.
    last_used: Timestamp,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn ready(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[async_trait]
impl Projects for MemoryStore {
    async fn create_project(&self, project: &Project) -> Result<(), StoreError> {
        let mut state = self.state();
        let taken = state.projects.values().any(|other| other.slug == project.slug || other.id == project.id);
        if taken {
            return Err(StoreError::Conflict(format!("a project called '{}'", project.slug)));
        }
        state.projects.insert(project.id, project.clone());
        Ok(())
    }

    async fn project(&self, slug: &str) -> Result<Option<Project>, StoreError> {
        Ok(self.state().projects.values().find(|project| project.slug.as_str() == slug).cloned())
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        let mut projects: Vec<Project> = self.state().projects.values().cloned().collect();
        projects.sort_by(|a, b| a.slug.cmp(&b.slug));
        Ok(projects)
    }

    async fn update_project(&self, project: &Project) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(stored) = state.projects.get_mut(&project.id) else { return Ok(false) };
        *stored = Project { slug: stored.slug.clone(), created: stored.created, ..project.clone() };
        Ok(true)
    }

    async fn delete_project(&self, project: ProjectId) -> Result<bool, StoreError> {
        let mut state = self.state();
        state.keys.retain(|(key, _)| key.project != project);
        state.entries.retain(|(owner, _), _| *owner != project);
        state.usage.retain(|(owner, ..), _| *owner != project);
        state.providers.retain(|provider| provider.project != project);
        state.buckets.remove(&project);
        Ok(state.projects.remove(&project).is_some())
    }
}

#[async_trait]
impl Limits for MemoryStore {
    async fn take(&self, project: ProjectId, quota: Quota, now: Timestamp) -> Result<Decision, StoreError> {
        let mut state = self.state();
        let bucket = state.buckets.entry(project).or_default();
        let (left, decision) = take(*bucket, quota, now);
        *bucket = left;
        Ok(decision)
    }
}

#[async_trait]
impl ProviderConfigs for MemoryStore {
    async fn add_provider(&self, provider: &ProviderConfig) -> Result<(), StoreError> {
        let mut state = self.state();
        if !state.projects.contains_key(&provider.project) {
            return Err(StoreError::Conflict(format!("no project {} for the provider", provider.project)));
        }
        let clash = state.providers.iter().filter(|other| other.project == provider.project).any(|other| {
            other.name == provider.name || other.models.iter().any(|model| provider.models.contains(model))
        });
        if clash {
            return Err(StoreError::Conflict(format!("a provider called '{}'", provider.name)));
        }
        state.providers.push(provider.clone());
        Ok(())
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

    async fn remove_provider(&self, project: ProjectId, name: &str) -> Result<bool, StoreError> {
        let mut state = self.state();
        let before = state.providers.len();
        state.providers.retain(|provider| (provider.project, provider.name.as_str()) != (project, name));
        Ok(state.providers.len() < before)
    }

    async fn key_check(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.state().key_check.clone())
    }

    async fn set_key_check(&self, sealed: &[u8]) -> Result<(), StoreError> {
        self.state().key_check.get_or_insert_with(|| sealed.to_vec());
        Ok(())
    }
}
