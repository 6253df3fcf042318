//! Samples of the reference store.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use async_trait::async_trait;

use super::{MemoryStore, State};
use crate::clock::Timestamp;
use crate::id::ProjectId;
use crate::quality::{BANDS, NewSample, Sample};
use crate::store::{Samples, StoreError};

impl State {
    /// Drops samples without an entry, and those beyond what the projects' settings allow.
    pub(super) fn trim_samples(&mut self) {
        let (projects, entries) = (&self.projects, &self.entries);
        self.samples.retain(|(project, ..), sample| entries.contains_key(&(*project, sample.entry)));
        let mut seen = (None, 0);
        self.samples.retain(|(project, band, _), _| {
            seen = if seen.0 == Some((*project, *band)) {
                (seen.0, seen.1 + 1)
            } else {
                (Some((*project, *band)), 1)
            };
            let allowed = projects.get(project).map_or(0, |project| project.settings.samples);
            seen.1 <= allowed / BANDS as u64
        });
    }
}

fn ended(sample: &NewSample, now: Timestamp) -> bool {
    sample.expires.is_some_and(|expires| expires <= now)
}

#[async_trait]
impl Samples for MemoryStore {
    async fn keep_samples(&self, samples: &[NewSample], now: Timestamp) -> Result<(), StoreError> {
        let mut state = self.state();
        for sample in samples {
            let place = (sample.project, sample.band, sample.id);
            state.samples.entry(place).or_insert_with(|| sample.clone());
        }
        state.samples.retain(|_, sample| !ended(sample, now));
        state.trim_samples();
        Ok(())
    }

    async fn samples(&self, project: ProjectId, now: Timestamp) -> Result<Vec<Sample>, StoreError> {
        let mut state = self.state();
        state.trim_samples();
        let live = state.samples.values().filter(|sample| sample.project == project && !ended(sample, now));
        let whole = live.filter_map(|sampled| {
            let stored = state.entries.get(&(project, sampled.entry))?;
            stored.entry.is_live(now).then(|| Sample {
                sampled: sampled.clone(),
                prompt: stored.entry.prompt.clone(),
                model: stored.entry.model.clone(),
                context: stored.scope.frame().instructions().map(str::to_owned),
            })
        });
        let mut samples: Vec<_> = whole.collect();
        samples.sort_by_key(|sample| (sample.sampled.id, sample.sampled.band));
        Ok(samples)
    }

    async fn samples_beyond(&self, project: ProjectId, allowed: u64) -> Result<u64, StoreError> {
        let mut bands = BTreeMap::new();
        for (_, band, _) in self.state().samples.keys().filter(|(of, ..)| *of == project) {
            *bands.entry(*band).or_insert(0) += 1;
        }
        Ok(bands.values().map(|there: &u64| there.saturating_sub(allowed / BANDS as u64)).sum())
    }

    async fn sweep_samples(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError> {
        let mut state = self.state();
        state.trim_samples();
        Ok(state.samples.extract_if(.., |_, sample| ended(sample, now)).take(limit.get()).count() as u64)
    }
}
