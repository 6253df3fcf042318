//! The ports to cache entries and their vectors.

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;

use crate::audit::Change;
use crate::cache::{Candidate, Entry, Inserted, NewEntry, PromptHash, Scope};
use crate::clock::Timestamp;
use crate::embedding::{EmbedderId, Embedding, Threshold};
use crate::id::{EntryId, ProjectId};
use crate::store::StoreError;

/// What is searched for.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// Who made the vector: only entries with vectors of the same embedder are compared.
    pub embedder: &'a EmbedderId,
    /// The vector.
    pub embedding: &'a Embedding,
    /// The prompt that it is of: candidates that must not answer it come marked.
    pub prompt: PromptHash,
    /// Candidates below this are left out.
    pub threshold: Threshold,
    /// How many candidates at most.
    pub limit: NonZeroUsize,
}

/// Which entries of a project are meant. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryFilter {
    /// Only those asked of this model.
    pub model: Option<String>,
    /// Only those of this context; `Some(None)` is those without one.
    pub context: Option<Option<String>>,
    /// Only those with this text in the prompt or the answer; ASCII letters match in either case.
    pub text: Option<String>,
}

/// What an insert evicts at most: nobody waits while a maximum that was lowered far is reached. The rest is swept.
pub const EVICTED_AT_ONCE: u64 = 64;

/// Cache entries.
#[async_trait]
pub trait Entries: Send + Sync {
    /// The live entry of `scope` for exactly this prompt.
    async fn exact(
        &self,
        scope: &Scope,
        prompt: &PromptHash,
        now: Timestamp,
    ) -> Result<Option<Arc<Entry>>, StoreError>;

    /// The live entries of `scope` most similar to the probe, best first, equal ones by id. The answer is
    /// that of an exact scan. Those that [`WrongAnswers::mark_wrong`] forbade to answer this prompt are among them,
    /// and marked.
    ///
    /// [`WrongAnswers::mark_wrong`]: crate::store::WrongAnswers::mark_wrong
    async fn nearest(
        &self,
        scope: &Scope,
        probe: Probe<'_>,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, StoreError>;

    /// Stores entry and vector together, or neither; durable when it returns. A live twin (same scope and
    /// prompt) stays and is returned; an expired one is replaced. Evicts the project's least recently hit
    /// entries beyond `max_entries`, at most [`EVICTED_AT_ONCE`] of them, never the new one.
    async fn insert(&self, new: NewEntry) -> Result<Inserted, StoreError>;

    /// The project's entries, expired ones not yet swept included.
    async fn count(&self, project: ProjectId) -> Result<u64, StoreError>;

    /// Deletes one entry of a project. `false` if there is none.
    async fn delete(&self, project: ProjectId, entry: EntryId, change: &Change) -> Result<bool, StoreError>;

    /// Deletes the project's entries that pass the filter, and says how many. The change is written in any case.
    async fn purge(
        &self,
        project: ProjectId,
        filter: &EntryFilter,
        change: &Change,
    ) -> Result<u64, StoreError>;

    /// Deletes up to `limit` entries that expired before `now`, or where none did, the least recently hit ones of a
    /// project that has more than its settings allow. Says how many.
    async fn sweep(&self, now: Timestamp, limit: NonZeroUsize) -> Result<u64, StoreError>;
}

/// An entry whose vector is of another embedder, or not there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleEntry {
    /// The project.
    pub project: ProjectId,
    /// The entry.
    pub id: EntryId,
    /// The text to embed again.
    pub prompt: String,
}

/// Replacing vectors after a change of embedder.
#[async_trait]
pub trait Vectors: Send + Sync {
    /// How many entries have no vector of `embedder` and were not marked as too long for it.
    async fn stale_count(&self, embedder: &EmbedderId) -> Result<u64, StoreError>;

    /// Up to `limit` of them, oldest first.
    async fn stale(&self, embedder: &EmbedderId, limit: NonZeroUsize) -> Result<Vec<StaleEntry>, StoreError>;

    /// Gives an entry its vector of `embedder`; `None` marks it as too long for that embedder. From then on
    /// it is found by that embedder's probes only. `false` if the entry is gone.
    async fn replace_vector(
        &self,
        project: ProjectId,
        entry: EntryId,
        embedder: &EmbedderId,
        vector: Option<&Embedding>,
    ) -> Result<bool, StoreError>;
}
