//! The port to looking into a project's cache.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use crate::cache::EntryDetail;
use crate::embedding::{EmbedderId, Embedding, Similarity};
use crate::id::{EntryId, ProjectId};
use crate::store::{Cursor, EntryFilter, EntryOrder, StoreError};

/// Characters of an answer in a list of entries: a page of long ones would take hundreds of megabytes.
pub const LISTED: usize = 1000;

/// Looking into a cache. Entries that expired and are not swept yet are included. What a filter finds by text is read
/// through: few such searches run at once, each within a time that the store is opened with. A search that does not end
/// in it is [`StoreError::SearchTimeout`]. Hits wait for no search. In the embedded store the same holds for counting what passes a
/// filter of any kind, and in both for sorting it in another order than that of age.
#[async_trait]
pub trait Browse: Send + Sync {
    /// Up to `limit` of the project's entries that pass the filter, in this order, those behind `after` if it is given, each with
    /// the first [`LISTED`] characters of its answer.
    /// Entries that are added or deleted meanwhile move no others. Entries that are hit meanwhile move in an order by hits or use
    /// ([`Cursor`]).
    async fn browse(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        order: EntryOrder,
        after: Option<Cursor<EntryId>>,
        limit: NonZeroUsize,
    ) -> Result<Vec<EntryDetail>, StoreError>;

    /// Up to `limit` of the project's entries that pass the filter, of all scopes, whose vectors of this embedder are the most
    /// similar to `embedding`: best first, equal ones by id, listed as by [`browse`](Self::browse). All vectors are read through, as
    /// in a search by text.
    async fn similar(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        embedder: &EmbedderId,
        embedding: &Embedding,
        limit: NonZeroUsize,
    ) -> Result<Vec<(EntryDetail, Similarity)>, StoreError>;

    /// One entry of a project, whole.
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
