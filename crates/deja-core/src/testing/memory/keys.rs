//! Keys of the reference store.

use std::sync::Arc;

use async_trait::async_trait;

use super::MemoryStore;
use crate::api_key::{ApiKey, KeyHash, KeyUsage};
use crate::audit::Change;
use crate::clock::Timestamp;
use crate::id::{KeyId, ProjectId};
use crate::store::{Admission, Door, Found, Keys, LookUp, LooksAhead, OwnProviders, Store, StoreError};

#[async_trait]
impl Keys for MemoryStore {
    async fn create_key(&self, key: &ApiKey, change: &Change) -> Result<(), StoreError> {
        let mut state = self.state();
        if !state.projects.contains_key(&key.project) {
            return Err(StoreError::Conflict(format!("no project {} for the key", key.project)));
        }
        let taken =
            |other: &ApiKey| other.hash == key.hash || (other.project, other.id) == (key.project, key.id);
        if state.keys.iter().any(|(other, _)| taken(other)) {
            return Err(StoreError::Conflict(format!("the key {}", key.shown)));
        }
        state.keys.push((key.clone(), KeyUsage::default()));
        state.changes.push(change.clone());
        Ok(())
    }

    async fn key_by_hash(&self, hash: &KeyHash) -> Result<Option<Admission>, StoreError> {
        let state = self.state();
        let key =
            state.keys.iter().map(|(key, _)| key).find(|key| key.hash == *hash && key.revoked.is_none());
        Ok(key.and_then(|key| {
            let project = state.projects.get(&key.project)?;
            let (key, project) = (Arc::new(key.clone()), Arc::new(project.clone()));
            Some(Admission { key, project, providers: OwnProviders::Unknown })
        }))
    }

    async fn keys(&self, project: ProjectId) -> Result<Vec<(ApiKey, KeyUsage)>, StoreError> {
        let mut keys: Vec<_> =
            self.state().keys.iter().filter(|(key, _)| key.project == project).cloned().collect();
        keys.sort_by_key(|(key, _)| (key.created, key.id));
        Ok(keys)
    }

    async fn find_keys(&self, text: &str) -> Result<Vec<ApiKey>, StoreError> {
        let id: Option<KeyId> = text.parse().ok();
        let state = self.state();
        let keys = state.keys.iter().map(|(key, _)| key);
        let mut keys: Vec<_> = keys.filter(|key| key.shown == text || Some(key.id) == id).cloned().collect();
        keys.sort_by_key(|key| (key.created, key.id));
        Ok(keys)
    }

    async fn revoke_key(&self, project: ProjectId, key: KeyId, change: &Change) -> Result<bool, StoreError> {
        let mut state = self.state();
        let active = |other: &ApiKey| (other.project, other.id) == (project, key) && other.revoked.is_none();
        let Some((key, _)) = state.keys.iter_mut().find(|(other, _)| active(other)) else { return Ok(false) };
        key.revoked = Some(change.at);
        Ok(state.note_if(true, change))
    }
}

#[async_trait]
impl LooksAhead for MemoryStore {
    async fn admit_and_look_up(
        &self,
        hash: &KeyHash,
        wanted: &LookUp,
        now: Timestamp,
    ) -> Result<(Door, Found), StoreError> {
        let door = self.admit_within_limit(hash, now).await?;
        let found = match &door {
            Door::Open(Admission { project, .. }, limit) if limit.allowed && !project.suspended => self
                .state()
                .entries
                .values()
                .find(|stored| {
                    let stored_as = LookUp::new(&stored.scope, stored.prompt_hash);
                    (stored.scope.project(), stored_as) == (project.id, *wanted) && stored.entry.is_live(now)
                })
                .map(|stored| Arc::clone(&stored.entry)),
            _ => None,
        };
        Ok((door, Ok(found)))
    }
}
