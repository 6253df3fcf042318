//! What a query would meet in the cache. Nobody is asked, nothing is stored or counted.

use std::num::NonZeroUsize;
use std::time::Instant;

use crate::cache::{Candidate, Hit, PromptHash, Verdict};
use crate::embedding::{Embedded, Threshold};
use crate::engine::search::Found;
use crate::engine::{Engine, Query, QueryError, Relay, Trace};
use crate::project::Project;

/// What a query would meet in the cache.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The hit that would answer the query.
    pub hit: Option<Hit>,
    /// Without a hit: about how many entries deja would ask the project's model, the nearest first.
    pub undecided: usize,
    /// The nearest entries whatever their similarity, best first.
    pub near: Vec<Neighbour>,
    /// Times of the look-up.
    pub trace: Trace,
}

/// An entry near a prompt.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// The entry.
    pub candidate: Candidate,
    /// The verdict on it at the query's threshold.
    pub verdict: Verdict,
    /// The threshold from which on the guard does not let it pass, and its verdict; `None` if it always does.
    pub objection_from: Option<(Threshold, Verdict)>,
}

impl Engine {
    /// What `query` would meet, and up to `limit` of the entries nearest to its prompt.
    pub async fn preview(
        &self,
        project: &Project,
        query: &Query,
        limit: NonZeroUsize,
    ) -> Result<Preview, QueryError> {
        let started = Instant::now();
        let mut trace = Trace::default();
        let (scope, hash, prompt) = (query.scope(project), query.hash(), PromptHash::of(&query.prompt));
        let judge = self.judge(query, project);
        let now = self.parts.clock.now();
        let embedded = if query.is_semantic() && query.looks_up() {
            Some(self.embeddings.of(project.id, prompt, &query.prompt).await?)
        } else {
            None
        };
        trace.embedding = started.elapsed();
        let searched = Instant::now();
        let exact = self.exact(None, query, &scope, hash).await?;
        let near = match embedded.as_deref() {
            Some(Embedded::Vector { embedding, .. }) => {
                self.candidates(&scope, embedding, prompt, Threshold::ZERO, limit, now).await?
            }
            Some(Embedded::TooLong { tokens, window }) => {
                trace.too_long = Some((*tokens, *window));
                Vec::new()
            }
            None => Vec::new(),
        };
        trace.search = searched.elapsed();
        trace.total = started.elapsed();
        // A query may look further than the neighbours that are shown.
        let vector = embedded.as_deref().and_then(Embedded::vector);
        let found = match exact {
            Some(hit) => Found { hit: Some(hit), ..Found::default() },
            None => self.nearest(query, &scope, vector, &judge, judge.threshold()).await?,
        };
        let Found { hit, near: met, uncertain } = found;
        (trace.refused, trace.opinion) = (met.refused, met.opinion);
        let judged = |candidate: Candidate| {
            let judge = self.judge(query, project);
            let (prompt, similarity) = (&candidate.entry.prompt, candidate.similarity);
            let verdict = judge.verdict(prompt, similarity, candidate.forbidden);
            let objection_from = judge.objection_from(prompt, similarity);
            Neighbour { candidate, verdict, objection_from }
        };
        let undecided = uncertain.len();
        Ok(Preview { hit, undecided, near: near.into_iter().map(judged).collect(), trace })
    }

    /// The preview of a request in a wire format. A request that is compared as a whole has no neighbours.
    pub async fn preview_relay(
        &self,
        project: &Project,
        relay: Relay,
        limit: NonZeroUsize,
    ) -> Result<Preview, QueryError> {
        self.preview(project, &relay.into_query(project.id), limit).await
    }
}
