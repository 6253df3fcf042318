//! The reference store, made to fail and to wait where a test says so.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use deja_core::analytics::{Totals, UsageBatch};
use deja_core::api_key::{ApiKey, KeyHash, KeyUsage};
use deja_core::cache::{Candidate, Entry, Inserted, NewEntry, PromptHash, Scope};
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding};
use deja_core::id::{EntryId, KeyId, ProjectId};
use deja_core::project::Project;
use deja_core::provider::ProviderConfig;
use deja_core::rate_limit::{Decision, Quota};
use deja_core::store::{
    Admission, Entries, Keys, Limits, Probe, Projects, ProviderConfigs, PurgeFilter, StaleEntry, Store,
    StoreError, Usage, Vectors,
};
use deja_core::testing::MemoryStore;
use tokio::sync::Semaphore;

/// A store that can be told to misbehave.
#[derive(Default)]
pub struct OddStore {
    inner: MemoryStore,
    /// Every `insert` fails while this is set.
    pub fail_insert: AtomicBool,
    /// Every `record` fails while this is set.
    pub fail_record: AtomicBool,
    /// What `record` was given.
    pub recorded: Mutex<Vec<UsageBatch>>,
    /// Every look-up fails while this is set.
    pub fail_search: AtomicBool,
    /// The next `nearest` waits for a permit after it looked.
    pub hold_nearest: Mutex<Option<Arc<Semaphore>>>,
    /// How often `nearest` was asked.
    pub nearest_calls: AtomicUsize,
    /// Every second `nearest` says this, however often it was asked: entries that come and go.
    pub flicker: Mutex<Option<Candidate>>,
}

fn down() -> StoreError {
    StoreError::Unavailable("the disk is gone".into())
}

#[async_trait]
impl Entries for OddStore {
    async fn exact(
        &self,
        scope: &Scope,
        prompt: &PromptHash,
        now: Timestamp,
    ) -> Result<Option<Arc<Entry>>, StoreError> {
        if self.fail_search.load(Ordering::SeqCst) {
            return Err(down());
        }
        self.inner.exact(scope, prompt, now).await
    }

    async fn nearest(
        &self,
        scope: &Scope,
        probe: Probe<'_>,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StoreError> {
        let call = self.nearest_calls.fetch_add(1, Ordering::SeqCst);
        let found = self.inner.nearest(scope, probe, now).await;
        let hold = self.hold_nearest.lock().unwrap().take();
        if let Some(gate) = hold {
            drop(gate.acquire().await.unwrap());
        }
        match self.flicker.lock().unwrap().clone() {
            Some(candidate) if call % 2 == 1 => Ok(vec![candidate]),
            _ => found,
        }
    }

    async fn insert(&self, new: NewEntry) -> Result<Inserted, StoreError> {
        if self.fail_insert.load(Ordering::SeqCst) {
            return Err(down());
        }
        self.inner.insert(new).await
    }

    async fn count(&self, project: ProjectId) -> Result<u64, StoreError> {
        self.inner.count(project).await
    }

    async fn delete(&self, project: ProjectId, entry: EntryId) -> Result<bool, StoreError> {
        self.inner.delete(project, entry).await
    }

    async fn purge(&self, project: ProjectId, filter: &PurgeFilter) -> Result<u64, StoreError> {
        self.inner.purge(project, filter).await
    }

    async fn sweep(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError> {
        self.inner.sweep(now, limit).await
    }
}

#[async_trait]
impl Usage for OddStore {
    async fn record(&self, batch: &UsageBatch) -> Result<(), StoreError> {
        if self.fail_record.load(Ordering::SeqCst) {
            return Err(down());
        }
        self.recorded.lock().unwrap().push(batch.clone());
        self.inner.record(batch).await
    }

    async fn totals(&self, from: i64, until: i64) -> Result<BTreeMap<ProjectId, Totals>, StoreError> {
        self.inner.totals(from, until).await
    }
}

#[async_trait]
impl Vectors for OddStore {
    async fn stale_count(&self, embedder: &EmbedderId) -> Result<u64, StoreError> {
        self.inner.stale_count(embedder).await
    }

    async fn stale(&self, embedder: &EmbedderId, limit: NonZeroUsize) -> Result<Vec<StaleEntry>, StoreError> {
        self.inner.stale(embedder, limit).await
    }

    async fn replace_vector(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        vector: Option<&Embedding>,
    ) -> Result<bool, StoreError> {
        self.inner.replace_vector(project, entry, embedder, vector).await
    }
}

#[async_trait]
impl Projects for OddStore {
    async fn create_project(&self, project: &Project) -> Result<(), StoreError> {
        self.inner.create_project(project).await
    }

    async fn project(&self, slug: &str) -> Result<Option<Project>, StoreError> {
        self.inner.project(slug).await
    }

    async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        self.inner.projects().await
    }

    async fn update_project(&self, project: &Project) -> Result<bool, StoreError> {
        self.inner.update_project(project).await
    }

    async fn delete_project(&self, project: ProjectId) -> Result<bool, StoreError> {
        self.inner.delete_project(project).await
    }
}

#[async_trait]
impl Keys for OddStore {
    async fn create_key(&self, key: &ApiKey) -> Result<(), StoreError> {
        self.inner.create_key(key).await
    }

    async fn admit(&self, hash: &KeyHash) -> Result<Option<Admission>, StoreError> {
        self.inner.admit(hash).await
    }

    async fn keys(&self, project: ProjectId) -> Result<Vec<(ApiKey, KeyUsage)>, StoreError> {
        self.inner.keys(project).await
    }

    async fn find_keys(&self, text: &str) -> Result<Vec<ApiKey>, StoreError> {
        self.inner.find_keys(text).await
    }

    async fn revoke_key(&self, project: ProjectId, key: KeyId, now: Timestamp) -> Result<bool, StoreError> {
        self.inner.revoke_key(project, key, now).await
    }
}

#[async_trait]
impl Limits for OddStore {
    async fn take(&self, project: ProjectId, quota: Quota, now: Timestamp) -> Result<Decision, StoreError> {
        self.inner.take(project, quota, now).await
    }
}

#[async_trait]
impl ProviderConfigs for OddStore {
    async fn add_provider(&self, provider: &ProviderConfig) -> Result<(), StoreError> {
        self.inner.add_provider(provider).await
    }

    async fn providers(&self, project: ProjectId) -> Result<Vec<ProviderConfig>, StoreError> {
        self.inner.providers(project).await
    }

    async fn provider_of(
        &self,
        project: ProjectId,
        model: &str,
    ) -> Result<Option<ProviderConfig>, StoreError> {
        self.inner.provider_of(project, model).await
    }

    async fn remove_provider(&self, project: ProjectId, name: &str) -> Result<bool, StoreError> {
        self.inner.remove_provider(project, name).await
    }

    async fn key_check(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.key_check().await
    }

    async fn set_key_check(&self, sealed: &[u8]) -> Result<(), StoreError> {
        self.inner.set_key_check(sealed).await
    }
}

#[async_trait]
impl Store for OddStore {
    async fn ready(&self) -> Result<(), StoreError> {
        self.inner.ready().await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.inner.close().await
    }
}
