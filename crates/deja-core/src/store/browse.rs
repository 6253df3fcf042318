//! The port to looking into a project's cache.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use crate::cache::EntryDetail;
use crate::clock::Timestamp;
use crate::embedding::{EmbedderId, Embedding, Similarity};
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

    /// Up to `limit` of the project's entries that pass the filter, of all scopes, whose vectors of this embedder are the most
    /// similar to `embedding`: best first, equal ones by id. All vectors are read through, as in a search by text.
    async fn similar(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        embedder: &EmbedderId,
        embedding: &Embedding,
        limit: NonZeroUsize,
    ) -> Result<Vec<(EntryDetail, Similarity)>, StoreError>;

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
