//! The port to answers that people found wrong, and to the entries that gave too many.

use std::num::NonZeroUsize;
use std::time::Duration;

use async_trait::async_trait;

use crate::audit::Change;
use crate::cache::{PromptHash, WrongAnswer};
use crate::clock::Timestamp;
use crate::embedding::Similarity;
use crate::id::{EntryId, ProjectId};
use crate::store::{Probe, StoreError};

/// How many different prompts an entry must have answered wrongly to be put into quarantine.
pub const QUARANTINE_FROM: usize = 3;
/// Within which time.
pub const QUARANTINE_WITHIN: Duration = Duration::from_hours(24);

/// An entry in quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// The entry.
    pub entry: EntryId,
    /// Since when it is.
    pub since: Timestamp,
}

/// Answers that people found wrong. [`Labels::label`](crate::store::Labels::label) adds them.
#[async_trait]
pub trait WrongAnswers: Send + Sync {
    /// Whether an entry of the prompt `matched`, this similar to the probe, must not answer the probe's prompt: because
    /// the two were found wrong for each other, or because one was found wrong for entries of `matched` to which the
    /// probe is more similar than to them. That is told by vectors of the probe's embedder only. A prompt is never
    /// forbidden to itself.
    async fn is_forbidden(
        &self,
        project: ProjectId,
        probe: Probe<'_>,
        matched: &PromptHash,
        similarity: Similarity,
    ) -> Result<bool, StoreError>;

    /// Up to `limit` of the project's pairs, newest first; with `before` those of a smaller number only.
    async fn wrong_answers(
        &self,
        project: ProjectId,
        before: Option<u64>,
        limit: NonZeroUsize,
    ) -> Result<Vec<WrongAnswer>, StoreError>;

    /// Allows the two prompts of this pair to meet again, whoever said otherwise, and forgets the labels of people that
    /// said so. `false` if there is no such pair.
    async fn allow(&self, project: ProjectId, number: u64, change: &Change) -> Result<bool, StoreError>;

    /// Up to `limit` of the project's entries in quarantine, the latest first: their own prompts apart, they answer
    /// none.
    async fn quarantine(
        &self,
        project: ProjectId,
        limit: NonZeroUsize,
    ) -> Result<Vec<Quarantined>, StoreError>;

    /// Since when an entry is in quarantine; `None` if it is not.
    async fn quarantined(&self, project: ProjectId, entry: EntryId) -> Result<Option<Timestamp>, StoreError>;

    /// Ends the quarantine of an entry. `false` if it is in none.
    async fn end_quarantine(
        &self,
        project: ProjectId,
        entry: EntryId,
        change: &Change,
    ) -> Result<bool, StoreError>;
}
