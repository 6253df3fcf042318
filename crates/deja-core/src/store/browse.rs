//! The ports to looking into a project's cache, and to answers that people found wrong.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use crate::audit::Change;
use crate::cache::{EntryDetail, PromptHash, WrongAnswer};
use crate::clock::Timestamp;
use crate::embedding::Similarity;
use crate::id::{EntryId, ProjectId};
use crate::store::{EntryFilter, StoreError};

/// A place in a project's entries, by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryCursor {
    /// When the last entry seen was stored.
    pub created: Timestamp,
    /// Its identity, where several were stored at once.
    pub id: EntryId,
}

impl EntryCursor {
    /// Before all entries.
    pub const OLDEST: Self =
        Self { created: Timestamp::from_nanos(i64::MIN), id: EntryId::from_bytes([0; 16]) };
    /// Behind all entries.
    pub const NEWEST: Self =
        Self { created: Timestamp::from_nanos(i64::MAX), id: EntryId::from_bytes([0xff; 16]) };
}

/// Looking into a cache. Entries that expired and are not swept yet are included. What a filter finds by text is read
/// through: few such searches run at once, each within a time that the store is opened with. One that does not end in
/// it is [`StoreError::SearchTimeout`], and hits do not wait for any.
#[async_trait]
pub trait Browse: Send + Sync {
    /// Up to `limit` of the project's entries that pass the filter, newest first, those older than `after` if
    /// it is given: paging is stable whatever is added or deleted meanwhile.
    async fn browse(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        after: Option<EntryCursor>,
        limit: NonZeroUsize,
    ) -> Result<Vec<EntryDetail>, StoreError>;

    /// One entry of a project.
    async fn entry(&self, project: ProjectId, entry: EntryId) -> Result<Option<EntryDetail>, StoreError>;

    /// How many of the project's entries pass the filter: what a purge would delete.
    async fn count_matching(&self, project: ProjectId, filter: &EntryFilter) -> Result<u64, StoreError>;

    /// The contexts of the `among` newest of the project's entries with their counts among these, most entries first,
    /// equal ones by text with none at the front; at most `limit`. A project may have a context for every entry.
    async fn contexts_of(
        &self,
        project: ProjectId,
        among: NonZeroUsize,
        limit: NonZeroUsize,
    ) -> Result<Vec<(Option<String>, u64)>, StoreError>;

    /// The models of the `among` newest of the project's entries with their counts among these, most entries first,
    /// equal ones by name; at most `limit`.
    async fn models_of(
        &self,
        project: ProjectId,
        among: NonZeroUsize,
        limit: NonZeroUsize,
    ) -> Result<Vec<(String, u64)>, StoreError>;
}

/// What a person says of a hit: its entry should not have answered another prompt than its own.
#[derive(Clone, Copy, Debug)]
pub struct WrongHit<'a> {
    /// The entry that answered.
    pub entry: EntryId,
    /// What was asked.
    pub asked: &'a str,
    /// How similar the two prompts were.
    pub similarity: Similarity,
}

/// Answers that people found wrong.
#[async_trait]
pub trait WrongAnswers: Send + Sync {
    /// Keeps the pair of prompts, and forbids it in the whole project and in both directions: from now on, in all
    /// processes, no entry of the one answers the other by its meaning. The entries stay, and answer their own
    /// prompts. `false` if the entry is gone: then nothing is kept.
    async fn mark_wrong(
        &self,
        project: ProjectId,
        hit: WrongHit<'_>,
        change: &Change,
    ) -> Result<bool, StoreError>;

    /// The prompts whose entries must not answer `prompt`, in no order. `prompt` itself is never among them.
    async fn forbidden(&self, project: ProjectId, prompt: &PromptHash)
    -> Result<Vec<PromptHash>, StoreError>;

    /// Up to `limit` of the project's pairs, newest first; with `before` those of a smaller number only.
    async fn wrong_answers(
        &self,
        project: ProjectId,
        before: Option<u64>,
        limit: NonZeroUsize,
    ) -> Result<Vec<WrongAnswer>, StoreError>;
}
