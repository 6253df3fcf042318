//! Samples of the reference store.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use async_trait::async_trait;

use super::{MemoryStore, State};
use crate::clock::Timestamp;
use crate::id::ProjectId;
use crate::quality::{BANDS, MAX_CONTEXT_BYTES, MAX_MATCHED_BYTES, NewSample, Sample, SamplePlace};
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

/// The first characters of a text, so many bytes at most.
fn beginning(text: &str, bytes: usize) -> String {
    text[..text.floor_char_boundary(bytes)].to_owned()
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

    async fn samples(
        &self,
        project: ProjectId,
        after: Option<SamplePlace>,
        now: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<Sample>, StoreError> {
        let mut state = self.state();
        state.trim_samples();
        let live = state.samples.values().filter(|sample| sample.project == project && !ended(sample, now));
        let behind = live.filter(|sample| after.is_none_or(|after| sample.place() > after));
        let whole = behind.filter_map(|sampled| {
            let stored = state.entries.get(&(project, sampled.entry))?;
            let context = stored.scope.frame().instructions();
            stored.entry.is_live(now).then(|| Sample {
                sampled: sampled.clone(),
                prompt: beginning(&stored.entry.prompt, MAX_MATCHED_BYTES),
                model: stored.entry.model.clone(),
                context: context.map(|context| beginning(context, MAX_CONTEXT_BYTES)),
            })
        });
        let mut samples: Vec<_> = whole.collect();
        samples.sort_by_key(|sample| sample.sampled.place());
        samples.truncate(limit.get());
        Ok(samples)
    }

    async fn sample(
        &self,
        project: ProjectId,
        place: SamplePlace,
        now: Timestamp,
    ) -> Result<Option<Sample>, StoreError> {
        let all = self.samples(project, None, now, NonZeroUsize::MAX).await?;
        Ok(all.into_iter().find(|sample| sample.sampled.place() == place))
    }

    async fn sample_places(
        &self,
        project: ProjectId,
        now: Timestamp,
    ) -> Result<Vec<SamplePlace>, StoreError> {
        let all = self.samples(project, None, now, NonZeroUsize::MAX).await?;
        Ok(all.iter().map(|sample| sample.sampled.place()).collect())
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
