//! The port to what a project's model said of pairs of prompts.

use std::num::NonZeroUsize;
use std::ops::Range;

use async_trait::async_trait;

use crate::cache::PairHash;
use crate::id::ProjectId;
use crate::money::NanoUsd;
use crate::store::StoreError;

/// Questions that a project's model was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// How many questions were asked.
    pub asked: u64,
    /// What the questions cost.
    pub cost: NanoUsd,
}

/// What projects' models said of pairs of prompts. A day is a number of days since 1970, in UTC.
#[async_trait]
pub trait Opinions: Send + Sync {
    /// The opinion of each of these pairs, in their order: whether one answer serves both prompts. `None` where no opinion is
    /// kept.
    async fn opinions(&self, project: ProjectId, pairs: &[PairHash])
    -> Result<Vec<Option<bool>>, StoreError>;

    /// Counts a question of `day` with its cost. Keeps the opinion of the pair, if there is one, in place of an earlier one.
    /// Holds for all processes. Nothing is kept for a project that is gone.
    async fn keep_opinion(
        &self,
        project: ProjectId,
        pair: &PairHash,
        said: Option<bool>,
        day: i64,
        cost: NanoUsd,
    ) -> Result<(), StoreError>;

    /// The project's questions of these days together, as far as they are kept.
    async fn questions(&self, project: ProjectId, days: Range<i64>) -> Result<Questions, StoreError>;

    /// Forgets up to `limit` of the opinions, and as many days of questions, from before `day`, of all projects. Says
    /// how many opinions.
    async fn sweep_opinions(&self, day: i64, limit: NonZeroUsize) -> Result<u64, StoreError>;
}
