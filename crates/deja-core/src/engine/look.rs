//! Looking at the cache without asking anybody: what a prompt would meet. Nothing is stored or counted.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use crate::cache::{Candidate, Entry, PromptHash};
use crate::embedding::{Embedded, Similarity, Threshold};
use crate::engine::{Engine, QueryError, Trace};
use crate::id::ProjectId;
use crate::project::Project;
use crate::store::Probe;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The prompt.
    pub prompt: &'a str,
    /// The model; without meaning where the project shares answers across models.
    pub model: &'a str,
    /// The context.
    pub context: Option<&'a str>,
    /// How many entries at most.
    pub limit: NonZeroUsize,
}

/// What is there.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The entry of this very prompt.
    pub exact: Option<Arc<Entry>>,
    /// The nearest entries whatever their similarity, best first.
    pub near: Vec<Candidate>,
    /// How long it took.
    pub trace: Trace,
}

impl Engine {
    /// The entries nearest to a prompt, in the scope that a query for it would have.
    pub async fn look(&self, project: &Project, look: Look<'_>) -> Result<Seen, QueryError> {
        let started = Instant::now();
        let mut trace = Trace::default();
        let scope = project.scope(look.model, look.context);
        let hash = PromptHash::of(look.prompt);
        let now = self.parts.clock.now();
        let embedded = self.embeddings.of(project.id, hash, look.prompt).await?;
        trace.embedding = started.elapsed();
        let searched = Instant::now();
        let exact = self.parts.store.exact(&scope, &hash, now).await?;
        let near = match &*embedded {
            Embedded::Vector { embedding, .. } => {
                let embedder = self.parts.embedder.id();
                let probe = Probe { embedder, embedding, threshold: Threshold::ZERO, limit: look.limit };
                self.parts.store.nearest(&scope, probe, now).await?
            }
            Embedded::TooLong { tokens, window } => {
                trace.too_long = Some((*tokens, *window));
                Vec::new()
            }
        };
        trace.search = searched.elapsed();
        trace.total = started.elapsed();
        Ok(Seen { exact, near, trace })
    }

    /// How similar two prompts are; `None` where one of them is too long to tell.
    pub async fn similarity(
        &self,
        project: ProjectId,
        one: &str,
        other: &str,
    ) -> Result<Option<Similarity>, QueryError> {
        if one == other {
            return Ok(Some(Similarity::ONE));
        }
        let one = self.embeddings.of(project, PromptHash::of(one), one).await?;
        let other = self.embeddings.of(project, PromptHash::of(other), other).await?;
        Ok(match (&*one, &*other) {
            (Embedded::Vector { embedding: one, .. }, Embedded::Vector { embedding: other, .. }) => {
                Some(one.similarity(other))
            }
            _ => None,
        })
    }
}
