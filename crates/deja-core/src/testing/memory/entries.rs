//! Entries and vectors of the reference store.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use half::f16;

use super::{MemoryStore, State, Stored};
use crate::audit::Change;
use crate::cache::{Candidate, Entry, Inserted, NewEntry, PromptHash, Scope};
use crate::clock::Timestamp;
use crate::embedding::{EmbedderId, Embedding, Similarity};
use crate::id::{EntryId, ProjectId};
use crate::money::NanoUsd;
use crate::project::Project;
use crate::store::{
    EVICTED_AT_ONCE, Entries, EntryFilter, EntryPlace, Probe, StaleCount, StaleEntry, StoreError, Vectors,
    folded,
};

/// The vector as every store keeps it.
pub(super) fn rounded(vector: &Embedding) -> Vec<f32> {
    vector.as_slice().iter().map(|value| f16::from_f32(*value).to_f32()).collect()
}

/// The similarity of a stored vector to a probe. Nearer to 1 than rounding to f16 can tell counts as 1.
pub(super) fn similarity(stored: &[f32], probe: &Embedding) -> Similarity {
    let norm = stored.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    let dot: f64 = stored.iter().zip(probe.as_slice()).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    let cosine = (dot / norm) as f32;
    if cosine >= 1.0 - 1.0 / 1_048_576.0 { Similarity::ONE } else { Similarity::from_cosine(cosine) }
}

impl Stored {
    /// The entry as who need not read its record gets it.
    pub(super) fn without_record(&self) -> Arc<Entry> {
        let mut entry = Arc::clone(&self.entry);
        if entry.answer.record.is_some() {
            Arc::make_mut(&mut entry).answer.record = None;
        }
        entry
    }

    pub(super) fn passes(&self, project: ProjectId, filter: &EntryFilter) -> bool {
        let Entry { prompt, answer, model, .. } = &*self.entry;
        self.scope.project() == project
            && filter.model.as_ref().is_none_or(|wanted| model == wanted)
            && filter.context.as_ref().is_none_or(|wanted| self.scope.frame().context() == wanted.as_deref())
            && filter
                .text
                .as_ref()
                .map(|text| folded(text))
                .is_none_or(|text| folded(prompt).contains(&text) || folded(&answer.text).contains(&text))
    }
}

impl State {
    fn remove_where(&mut self, mut gone: impl FnMut(&Stored) -> bool) -> u64 {
        self.entries.extract_if(.., |_, stored| gone(stored)).count() as u64
    }

    fn count(&self, project: ProjectId) -> u64 {
        self.entries.keys().filter(|(owner, _)| *owner == project).count() as u64
    }

    /// Removes the `number` least recently hit entries of a project, but not `kept`.
    fn evict(&mut self, project: ProjectId, number: u64, kept: Option<EntryId>) -> u64 {
        let others = self.entries.iter().filter(|(id, _)| id.0 == project && Some(id.1) != kept);
        let mut oldest: Vec<_> = others.map(|(id, stored)| (stored.last_used, *id)).collect();
        oldest.sort_unstable();
        oldest.truncate(usize::try_from(number).unwrap_or(usize::MAX));
        for (_, id) in &oldest {
            self.entries.remove(id);
        }
        oldest.len() as u64
    }

    /// The stale entries, in their order.
    fn stale(&self, embedder: &EmbedderId) -> impl Iterator<Item = (EntryPlace, &Stored)> {
        let stale = self
            .entries
            .iter()
            .filter(|(_, stored)| !stored.scope.frame().is_exact() && !stored.vectors.contains_key(embedder));
        stale.map(|(place, stored)| (*place, stored))
    }

    /// Whether an entry is claimed at `now`; if so, whether it was set aside.
    fn claimed(&self, embedder: &EmbedderId, place: EntryPlace, now: Timestamp) -> Option<bool> {
        let (until, failed) = self.stale_claims.get(&(embedder.clone(), place))?;
        (now < *until).then_some(*failed)
    }
}

#[async_trait]
impl Entries for MemoryStore {
    async fn exact(
        &self,
        scope: &Scope,
        prompt: &PromptHash,
        now: Timestamp,
    ) -> Result<Option<Arc<Entry>>, StoreError> {
        let state = self.state();
        let found = state.entries.values().find(|stored| {
            stored.scope == *scope && stored.prompt_hash == *prompt && stored.entry.is_live(now)
        });
        Ok(found.map(|stored| Arc::clone(&stored.entry)))
    }

    async fn nearest(
        &self,
        scope: &Scope,
        probe: Probe<'_>,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StoreError> {
        let state = self.state();
        let mut candidates = Vec::new();
        for stored in state.entries.values() {
            let Some(Some(vector)) = stored.vectors.get(probe.embedder) else { continue };
            let comparable = vector.len() == probe.embedding.dimension();
            if stored.scope != *scope || !stored.entry.is_live(now) || !comparable {
                continue;
            }
            let similarity = similarity(vector, probe.embedding);
            if probe.threshold.reached_by(similarity) {
                let forbidden = state.is_forbidden(
                    scope.project(),
                    &probe,
                    &PromptHash::of(&stored.entry.prompt),
                    similarity,
                ) || state.quarantine.contains_key(&(scope.project(), stored.entry.id));
                candidates.push(Candidate { entry: stored.without_record(), similarity, forbidden });
            }
        }
        candidates.sort_by(|a, b| {
            b.similarity.get().total_cmp(&a.similarity.get()).then(a.entry.id.cmp(&b.entry.id))
        });
        candidates.truncate(probe.limit.get());
        Ok(candidates)
    }

    async fn whole(&self, project: ProjectId, entry: EntryId) -> Result<Option<Arc<Entry>>, StoreError> {
        Ok(self.state().entries.get(&(project, entry)).map(|stored| Arc::clone(&stored.entry)))
    }

    async fn insert(&self, new: NewEntry) -> Result<Inserted, StoreError> {
        let mut state = self.state();
        let project = new.scope.project();
        let purges = state.projects.get(&project).map(|project| project.purges);
        if new.purges.is_some_and(|seen| purges.is_some_and(|now| now != seen)) {
            return Err(StoreError::Conflict(format!("the cache of project {project} was purged since")));
        }
        let same = |stored: &Stored| stored.scope == new.scope && stored.prompt_hash == new.prompt_hash;
        let live_twin = |stored: &&Stored| same(stored) && stored.entry.is_live(new.now);
        if !new.replaces
            && let Some(twin) = state.entries.values().find(live_twin)
        {
            return Ok(Inserted::Twin(Arc::clone(&twin.entry)));
        }
        let Some(most) = state.projects.get(&project).map(|project| project.settings.max_entries) else {
            return Err(StoreError::Conflict(format!("no project {project} for the entry")));
        };
        let id = (project, new.entry.id);
        if state.entries.get(&id).is_some_and(|stored| !same(stored)) {
            return Err(StoreError::Conflict(format!("the entry {}", new.entry.id)));
        }
        state.remove_where(same);
        let stored = Stored {
            vectors: new.vectors.into_iter().map(|(by, vector)| (by, Some(rounded(&vector)))).collect(),
            scope: new.scope,
            prompt_hash: new.prompt_hash,
            last_used: new.entry.created,
            hits: 0,
            saved: NanoUsd::ZERO,
            entry: Arc::new(new.entry),
        };
        state.entries.insert(id, stored);
        let over = state.count(project).saturating_sub(most.max(1)).min(EVICTED_AT_ONCE);
        state.evict(project, over, Some(id.1));
        Ok(Inserted::New)
    }

    async fn count(&self, project: ProjectId) -> Result<u64, StoreError> {
        Ok(self.state().count(project))
    }

    async fn count_by_project(&self) -> Result<BTreeMap<ProjectId, u64>, StoreError> {
        let mut counts = BTreeMap::new();
        for (project, _) in self.state().entries.keys() {
            *counts.entry(*project).or_default() += 1;
        }
        Ok(counts)
    }

    async fn delete(&self, project: ProjectId, entry: EntryId, change: &Change) -> Result<bool, StoreError> {
        let mut state = self.state();
        let found = state.entries.remove(&(project, entry)).is_some();
        Ok(state.note_if(found, change))
    }

    async fn purge(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        change: &Change,
    ) -> Result<u64, StoreError> {
        let mut state = self.state();
        state.changes.push(change.clone());
        if let Some(project) = state.projects.get_mut(&project).filter(|_| filter.is_all()) {
            project.purges += 1;
        }
        Ok(state.remove_where(|stored| stored.passes(project, filter)))
    }

    async fn sweep(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError> {
        let mut state = self.state();
        for stored in state.entries.values_mut() {
            stored.last_used = stored.last_used.min(now);
        }
        let mut expired: Vec<_> = state
            .entries
            .iter()
            .filter(|(_, stored)| !stored.entry.is_live(now))
            .map(|(id, stored)| (stored.entry.expires, *id))
            .collect();
        expired.sort_unstable();
        expired.truncate(limit.get());
        for (_, id) in &expired {
            state.entries.remove(id);
        }
        let surplus = |project: &Project| {
            let over = state.count(project.id).saturating_sub(project.settings.max_entries.max(1));
            (over > 0).then_some((project.id, over))
        };
        let (mut swept, limit) = (expired.len() as u64, limit.get() as u64);
        for (project, over) in state.projects.values().filter_map(surplus).collect::<Vec<_>>() {
            swept += state.evict(project, over.min(limit - swept), None);
        }
        Ok(swept)
    }
}

#[async_trait]
impl Vectors for MemoryStore {
    async fn stale_count(
        &self,
        project: Option<ProjectId>,
        embedder: &EmbedderId,
        now: Timestamp,
    ) -> Result<StaleCount, StoreError> {
        let state = self.state();
        let mut count = StaleCount::default();
        for (place, _) in state.stale(embedder).filter(|(place, _)| project.is_none_or(|id| id == place.0)) {
            match state.claimed(embedder, place, now) {
                Some(true) => count.failed += 1,
                _ => count.waiting += 1,
            }
        }
        Ok(count)
    }

    async fn claim_stale(
        &self,
        embedder: &EmbedderId,
        after: Option<EntryPlace>,
        now: Timestamp,
        until: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<StaleEntry>, StoreError> {
        let mut state = self.state();
        let free = state.stale(embedder).filter(|(place, _)| {
            after.is_none_or(|after| *place > after) && state.claimed(embedder, *place, now).is_none()
        });
        let stale: Vec<_> = free
            .take(limit.get())
            .map(|((project, id), stored)| StaleEntry { project, id, prompt: stored.entry.prompt.clone() })
            .collect();
        for entry in &stale {
            state.stale_claims.insert((embedder.clone(), entry.place()), (until, false));
        }
        Ok(stale)
    }

    async fn put_vector(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        vector: Option<&Embedding>,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(stored) = state.entries.get_mut(&(project, entry)) else { return Ok(false) };
        stored.vectors.insert(embedder.clone(), vector.map(rounded));
        Ok(true)
    }

    async fn set_aside(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut state = self.state();
        let found = state.entries.contains_key(&(project, entry));
        if found {
            state.stale_claims.insert((embedder.clone(), (project, entry)), (until, true));
        }
        Ok(found)
    }
}
