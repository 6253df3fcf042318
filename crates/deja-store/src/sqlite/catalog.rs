//! Projects, active keys and custom providers in memory: a request is admitted, and its provider found, without a
//! look at the database.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use deja_core::api_key::{ApiKey, KeyHash};
use deja_core::id::{KeyId, ProjectId};
use deja_core::project::Project;
use deja_core::provider::ProviderConfig;
use deja_core::store::{Admission, OwnProviders};
use parking_lot::RwLock;

/// The catalog. Holds what is committed; the writer thread keeps it so.
#[derive(Default)]
pub(super) struct Catalog {
    inner: RwLock<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Active keys only.
    keys: HashMap<KeyHash, Arc<ApiKey>>,
    projects: HashMap<ProjectId, Arc<Project>>,
    slugs: BTreeMap<String, ProjectId>,
    /// By project and name.
    providers: HashMap<ProjectId, BTreeMap<String, ProviderConfig>>,
}

impl Catalog {
    pub(super) fn key_by_hash(&self, hash: &KeyHash) -> Option<Admission> {
        let inner = self.inner.read();
        let key = inner.keys.get(hash)?;
        let project = inner.projects.get(&key.project)?;
        let (key, project) = (Arc::clone(key), Arc::clone(project));
        Some(Admission { key, project, providers: OwnProviders::Unknown })
    }

    pub(super) fn by_slug(&self, slug: &str) -> Option<Arc<Project>> {
        let inner = self.inner.read();
        inner.projects.get(inner.slugs.get(slug)?).cloned()
    }

    pub(super) fn has_project(&self, id: ProjectId) -> bool {
        self.inner.read().projects.contains_key(&id)
    }

    /// Whether this key is active. Reads all keys: it is asked once for a key that has a limit of its own.
    pub(super) fn has_key(&self, project: ProjectId, id: KeyId) -> bool {
        self.inner.read().keys.values().any(|key| (key.project, key.id) == (project, id))
    }

    /// All projects, by slug.
    pub(super) fn projects(&self) -> Vec<Arc<Project>> {
        let inner = self.inner.read();
        inner.slugs.values().filter_map(|id| inner.projects.get(id).cloned()).collect()
    }

    /// Adds a project, or replaces the one with its id.
    pub(super) fn put_project(&self, project: Project) {
        let mut inner = self.inner.write();
        inner.slugs.insert(project.slug.as_str().to_owned(), project.id);
        inner.projects.insert(project.id, Arc::new(project));
    }

    pub(super) fn remove_project(&self, id: ProjectId) {
        let mut inner = self.inner.write();
        if let Some(project) = inner.projects.remove(&id) {
            inner.slugs.remove(project.slug.as_str());
        }
        inner.keys.retain(|_, key| key.project != id);
        inner.providers.remove(&id);
    }

    pub(super) fn put_key(&self, key: ApiKey) {
        self.inner.write().keys.insert(key.hash, Arc::new(key));
    }

    pub(super) fn remove_key(&self, project: ProjectId, id: KeyId) {
        self.inner.write().keys.retain(|_, key| (key.project, key.id) != (project, id));
    }

    pub(super) fn put_provider(&self, provider: ProviderConfig) {
        let mut inner = self.inner.write();
        inner.providers.entry(provider.project).or_default().insert(provider.name.clone(), provider);
    }

    pub(super) fn remove_provider(&self, project: ProjectId, name: &str) {
        if let Some(providers) = self.inner.write().providers.get_mut(&project) {
            providers.remove(name);
        }
    }

    /// The project's providers, by name.
    pub(super) fn providers(&self, project: ProjectId) -> Vec<ProviderConfig> {
        let inner = self.inner.read();
        inner.providers.get(&project).map(|named| named.values().cloned().collect()).unwrap_or_default()
    }

    pub(super) fn provider_of(&self, project: ProjectId, model: &str) -> Option<ProviderConfig> {
        let inner = self.inner.read();
        let mut providers = inner.providers.get(&project)?.values();
        providers.find(|provider| provider.models.iter().any(|listed| listed == model)).cloned()
    }
}
