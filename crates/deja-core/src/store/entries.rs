//! The ports to cache entries and their vectors.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;

use crate::audit::Change;
use crate::cache::{Candidate, Entry, Inserted, NewEntry, PromptHash, Scope};
use crate::clock::Timestamp;
use crate::embedding::{EmbedderId, Embedding, Threshold};
use crate::id::{EntryId, ProjectId};
use crate::store::StoreError;

/// A search for neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// The embedder that made the vector: the one that the store was opened for. Only vectors of one embedder are
    /// compared.
    pub embedder: &'a EmbedderId,
    /// The vector.
    pub embedding: &'a Embedding,
    /// The prompt with this vector. Candidates that must not answer it come marked.
    pub prompt: PromptHash,
    /// Candidates below this are left out.
    pub threshold: Threshold,
    /// The most candidates to give.
    pub limit: NonZeroUsize,
}

/// Which entries of a project are meant. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryFilter {
    /// Only entries that were asked of this model.
    pub model: Option<String>,
    /// Only entries of this context; `Some(None)` means entries without a context.
    pub context: Option<Option<String>>,
    /// Only entries with this text in the prompt or the answer, whatever the case of letters ([`folded`](crate::store::folded)).
    pub text: Option<String>,
}

impl EntryFilter {
    /// Whether every entry passes.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// The most entries that one insert evicts, so that no request waits after `max_entries` was lowered far. A
/// background job deletes the rest.
pub const EVICTED_AT_ONCE: u64 = 64;

/// Cache entries.
#[async_trait]
pub trait Entries: Send + Sync {
    /// The live entry of `scope` for exactly this prompt, with the record of its answer.
    async fn exact(
        &self,
        scope: &Scope,
        prompt: &PromptHash,
        now: Timestamp,
    ) -> Result<Option<Arc<Entry>>, StoreError>;

    /// The live entries of `scope` most similar to the probe, best first, equal ones by id. The answer is
    /// that of an exact scan. Entries that must not answer this prompt ([`WrongAnswers`]) are marked.
    /// Records of answers need not be read: most candidates answer nobody.
    ///
    /// [`WrongAnswers`]: crate::store::WrongAnswers
    async fn nearest(
        &self,
        scope: &Scope,
        probe: Probe<'_>,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StoreError>;

    /// An entry of a project with the record of its answer, live or not. `None` if there is none.
    async fn whole(&self, project: ProjectId, entry: EntryId) -> Result<Option<Arc<Entry>>, StoreError>;

    /// Stores the entry with its first vector, or neither, and then its other vectors; durable when it returns. A live twin (same scope and
    /// prompt) stays and is returned, unless `new` replaces it; one that expired by [`NewEntry::now`] is replaced. Evicts the project's least recently hit
    /// entries beyond the maximum of its settings as they are now, at most [`EVICTED_AT_ONCE`] of them, never the new one.
    /// [`StoreError::Conflict`] if all of the cache was purged since [`NewEntry::purges`].
    async fn insert(&self, new: NewEntry) -> Result<Inserted, StoreError>;

    /// Stores many entries, as [`Self::insert`] would one after the other, in fewer transactions. Says of each, in their order,
    /// whether it is stored: not if a live twin is there. One that cannot be stored keeps no other from it. While storage is
    /// away all are refused.
    async fn insert_all(&self, new: Vec<NewEntry>) -> Vec<Result<bool, StoreError>> {
        let mut stored = Vec::new();
        for new in new {
            stored.push(self.insert(new).await.map(|inserted| matches!(inserted, Inserted::New)));
        }
        stored
    }

    /// The project's entries, expired ones not yet swept included.
    async fn count(&self, project: ProjectId) -> Result<u64, StoreError>;

    /// The number of entries of each project that has any.
    async fn count_by_project(&self) -> Result<BTreeMap<ProjectId, u64>, StoreError>;

    /// Deletes one entry of a project. `false` if there is none.
    async fn delete(&self, project: ProjectId, entry: EntryId, change: &Change) -> Result<bool, StoreError>;

    /// Deletes the project's entries that pass the filter, and says how many. The change is written in any case, with
    /// the first of them: many may be deleted in parts, so that other writes go on, and a crash may leave some. A
    /// caller that goes away once they are found stops nothing. A filter by text that finds them too slowly deletes
    /// nothing ([`StoreError::SearchTimeout`]), and no change is written.
    ///
    /// A purge of all raises [`Project::purges`](crate::project::Project::purges) before it finds the entries.
    async fn purge(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        change: &Change,
    ) -> Result<u64, StoreError>;

    /// Deletes up to `limit` entries: those that expired before `now`, then the least recently hit ones of projects that have
    /// more than their settings allow. Says how many. Up to `limit` that were hit after `now`, by a clock that was set back
    /// since, count as hit now: else nothing would evict them until it gets there.
    async fn sweep(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError>;
}

/// An entry without a vector of some embedder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleEntry {
    /// The project.
    pub project: ProjectId,
    /// The entry.
    pub id: EntryId,
    /// The text to embed.
    pub prompt: String,
}

impl StaleEntry {
    /// Its place among the entries of all projects.
    pub const fn place(&self) -> EntryPlace {
        (self.project, self.id)
    }
}

/// A place among the entries of all projects: the order of [`Vectors::claim_stale`].
pub type EntryPlace = (ProjectId, EntryId);

/// How many entries lack a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaleCount {
    /// Entries that will get a vector.
    pub waiting: u64,
    /// Entries that were set aside because they could not be embedded.
    pub failed: u64,
}

/// The vectors of entries, one for each embedder. An entry is stale for an embedder if it has no vector of it and was
/// not marked as too long for it, unless its frame is one of exact requests.
#[async_trait]
pub trait Vectors: Send + Sync {
    /// How many entries of a project, or of all projects, are stale, and which of them are set aside at `now`.
    async fn stale_count(
        &self,
        project: Option<ProjectId>,
        embedder: &EmbedderId,
        now: Timestamp,
    ) -> Result<StaleCount, StoreError>;

    /// Claims up to `limit` stale entries until `until`, by project and id, those behind `after` if it is given. What
    /// is claimed or set aside at `now` is passed over, so that processes which share the store share the work; none
    /// means that there is nothing to do behind `after`. A restart of the only process may forget claims.
    async fn claim_stale(
        &self,
        embedder: &EmbedderId,
        after: Option<EntryPlace>,
        now: Timestamp,
        until: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<StaleEntry>, StoreError>;

    /// Gives an entry its vector of `embedder`, in place of an earlier vector of that embedder; `None` marks the entry as too
    /// long for it. Ends the claim. `false` if the entry is gone.
    async fn put_vector(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        vector: Option<&Embedding>,
    ) -> Result<bool, StoreError>;

    /// Sets an entry aside that `embedder` cannot embed: it is not claimed again before `until`. `false` if the entry
    /// is gone.
    async fn set_aside(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        until: Timestamp,
    ) -> Result<bool, StoreError>;
}
