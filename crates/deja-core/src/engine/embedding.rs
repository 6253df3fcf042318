//! Embedding a prompt once: callers with the same prompt share one computation, and a short memory of the
//! latest vectors saves the work when a prompt comes again.
//!
//! The memory is keyed by project too: whether a prompt was seen must not show to another tenant, not even
//! in the time an answer takes.

use std::sync::Arc;

use moka::future::Cache;

use crate::cache::PromptHash;
use crate::embedding::{EmbedError, Embedded, Embedder, EmbedderId, Embedding};
use crate::engine::{Engine, QueryError};
use crate::id::ProjectId;

/// About 6 MB of vectors with 384 components.
const REMEMBERED: u64 = 4096;

pub(super) struct Embeddings {
    embedder: Arc<dyn Embedder>,
    recent: Cache<(ProjectId, PromptHash), Arc<Embedded>>,
}

impl Embeddings {
    pub(super) fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, recent: Cache::new(REMEMBERED) }
    }

    /// The vector of `prompt`. If the caller that computes it hangs up, or its deadline passes, another caller takes over.
    pub(super) async fn of(
        &self,
        project: ProjectId,
        hash: PromptHash,
        prompt: &str,
    ) -> Result<Arc<Embedded>, EmbedError> {
        let mut is_own = false;
        match self.shared(project, hash, prompt, &mut is_own).await {
            // Who joined has time left, and tries once: what is computed from now on began after it came.
            Err(EmbedError::Timeout) if !is_own => self.shared(project, hash, prompt, &mut is_own).await,
            embedded => embedded,
        }
    }

    /// The vector of `prompt`, computed by this caller or another one. `is_own` is set if it is by this one.
    async fn shared(
        &self,
        project: ProjectId,
        hash: PromptHash,
        prompt: &str,
        is_own: &mut bool,
    ) -> Result<Arc<Embedded>, EmbedError> {
        let compute = async {
            *is_own = true;
            self.embedder.embed_for(project, prompt).await.map(Arc::new)
        };
        self.recent
            .try_get_with((project, hash), compute)
            .await
            .map_err(|error: Arc<EmbedError>| EmbedError::clone(&error))
    }
}

impl Engine {
    /// The vector of a prompt; `None` if it is too long for one.
    pub async fn vector_of(&self, project: ProjectId, prompt: &str) -> Result<Option<Embedding>, QueryError> {
        let embedded = self.embeddings.of(project, PromptHash::of(prompt), prompt).await?;
        Ok(embedded.vector().cloned())
    }

    /// Tokens of the longest prompt that is found by its meaning.
    pub fn window(&self) -> u32 {
        self.parts.embedder.window()
    }

    /// Who makes vectors.
    pub fn embedder(&self) -> &EmbedderId {
        self.parts.embedder.id()
    }
}
