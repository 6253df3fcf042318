//! What models said of pairs of prompts.

use std::num::NonZeroUsize;
use std::ops::Range;

use async_trait::async_trait;

use super::MemoryStore;
use crate::cache::PairHash;
use crate::id::ProjectId;
use crate::money::NanoUsd;
use crate::store::{Opinions, Questions, StoreError};

#[async_trait]
impl Opinions for MemoryStore {
    async fn opinions(
        &self,
        project: ProjectId,
        pairs: &[PairHash],
    ) -> Result<Vec<Option<bool>>, StoreError> {
        let state = self.state();
        let said = |pair: &PairHash| state.opinions.get(&(project, *pair)).map(|(said, _)| *said);
        Ok(pairs.iter().map(said).collect())
    }

    async fn keep_opinion(
        &self,
        project: ProjectId,
        pair: &PairHash,
        said: Option<bool>,
        day: i64,
        cost: NanoUsd,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        if !state.projects.contains_key(&project) {
            return Ok(());
        }
        let questions = state.questions.entry((project, day)).or_default();
        questions.asked += 1;
        questions.cost = questions.cost.plus(cost);
        state.opinions.extend(said.map(|said| ((project, *pair), (said, day))));
        Ok(())
    }

    async fn questions(&self, project: ProjectId, days: Range<i64>) -> Result<Questions, StoreError> {
        let state = self.state();
        let kept = state.questions.iter().filter(|((owner, day), _)| *owner == project && days.contains(day));
        Ok(kept.fold(Questions::default(), |sum, (_, of_day)| Questions {
            asked: sum.asked + of_day.asked,
            cost: sum.cost.plus(of_day.cost),
        }))
    }

    async fn sweep_opinions(&self, day: i64, limit: NonZeroUsize) -> Result<u64, StoreError> {
        let mut state = self.state();
        let old = state.opinions.iter().filter(|(_, (_, kept))| *kept < day).map(|(key, _)| *key);
        let old: Vec<_> = old.take(limit.get()).collect();
        for key in &old {
            state.opinions.remove(key);
        }
        let days = state.questions.keys().filter(|(_, asked)| *asked < day).copied();
        for key in days.take(limit.get()).collect::<Vec<_>>() {
            state.questions.remove(&key);
        }
        Ok(old.len() as u64)
    }
}
