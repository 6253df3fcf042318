//! Looking for what answers: the same prompt, then similar ones.

use std::num::NonZeroUsize;

use crate::cache::{Candidate, Hit, Judge, Judged, PromptHash, Refusal, Scope};
use crate::clock::Timestamp;
use crate::embedding::{Embedding, Similarity, Threshold};
use crate::engine::call::Call;
use crate::engine::{
    CANDIDATES, CROWD, CROWD_BYTES, Engine, LookedAhead, NearMiss, Opinion, Query, QueryError,
};
use crate::project::Project;
use crate::store::{LookUp, Probe};

/// The outcome of a search for neighbours.
#[derive(Default)]
pub(super) struct Found {
    /// The neighbour that answers.
    pub hit: Option<Hit>,
    /// The nearest neighbours, whether they answer or not.
    pub near: Near,
    /// The neighbours that the project's model is still to be asked about.
    pub uncertain: Vec<Candidate>,
}

/// What came near a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Near {
    /// The best candidate.
    pub best: Option<NearMiss>,
    /// The best candidate that only the guard did not let pass.
    pub refused: Option<Refusal>,
    /// What the project's model said of a candidate.
    pub opinion: Option<Opinion>,
}

impl Engine {
    /// Judges candidates for `query` by the settings of `project`.
    pub(super) fn judge<'a>(&'a self, query: &'a Query, project: &'a Project) -> Judge<'a> {
        Judge::new(&query.prompt, query.threshold, &project.settings, (&self.parts.readings, project.id))
    }

    /// Judges candidates for the query of `call`.
    pub(super) fn judge_of<'a>(&'a self, call: &'a Call) -> Judge<'a> {
        self.judge(&call.query, &call.caller.project)
    }

    /// The entry of the same prompt: as it was `looked` up at admission, if admission looked for this prompt.
    pub(super) async fn exact(
        &self,
        looked: Option<LookedAhead>,
        query: &Query,
        scope: &Scope,
        prompt_hash: PromptHash,
    ) -> Result<Option<Hit>, QueryError> {
        if !query.looks_up() {
            return Ok(None);
        }
        let wanted = LookUp::new(scope, prompt_hash);
        let looked = looked.filter(|looked| looked.wanted == wanted);
        let (found, now) = if let Some(LookedAhead { found, at, .. }) = looked {
            (found, at)
        } else {
            let now = self.parts.clock.now();
            (self.parts.store.exact(scope, &prompt_hash, now).await, now)
        };
        Ok(found?.filter(|entry| query.takes(entry, now)).map(Hit::of_the_same))
    }

    /// The best of the neighbours down to `floor` that answers. A prompt without a vector has none.
    pub(super) async fn nearest(
        &self,
        query: &Query,
        scope: &Scope,
        vector: Option<&Embedding>,
        judge: &Judge<'_>,
        floor: Threshold,
    ) -> Result<Found, QueryError> {
        if !query.looks_up() {
            return Ok(Found::default());
        }
        let Some(embedding) = vector else { return Ok(Found::default()) };
        // People and models judge texts, however many parts a text came in.
        let prompt = PromptHash::of(&query.prompt);
        let now = self.parts.clock.now();
        let nearest = self.candidates(scope, embedding, prompt, floor, CANDIDATES, now).await?;
        let is_crowd = nearest.len() == CANDIDATES.get()
            && nearest.last().is_some_and(|last| judge.threshold().reached_by(last.similarity));
        let taken = |candidate: &Candidate| query.takes(&candidate.entry, now);
        let best = nearest.iter().find(|candidate| taken(candidate)).map(|candidate| NearMiss {
            entry: candidate.entry.id,
            similarity: candidate.similarity,
            forbidden: candidate.forbidden,
        });
        let mut judged = judge.first(nearest.into_iter().filter(taken));
        if is_crowd && judged.hit.is_none() {
            // The entry that answers may stand behind the first ones. A call of the provider takes longer than a search.
            let crowd = self.candidates(scope, embedding, prompt, judge.threshold(), CROWD, now).await?;
            let mut read = 0;
            let is_bounded = |candidate: &Candidate| {
                read += candidate.entry.prompt.len();
                read <= CROWD_BYTES
            };
            let behind = crowd.into_iter().skip(CANDIDATES.get()).filter(taken);
            let behind = judge.first(behind.take_while(is_bounded));
            // An entry that answers for certain wins over those that a model may let pass.
            let uncertain =
                if behind.hit.is_some() { Vec::new() } else { [judged.uncertain, behind.uncertain].concat() };
            judged = Judged { hit: behind.hit, refused: judged.refused.or(behind.refused), uncertain };
        }
        let (judged, opinion) = self.recall(scope.project(), prompt, judge, judged).await;
        let Judged { hit, refused, uncertain } = judged;
        Ok(Found { hit, near: Near { best, refused, opinion }, uncertain })
    }

    /// The nearest `limit` neighbours down to `floor`. Neighbours that must not answer are marked.
    pub(super) async fn candidates(
        &self,
        scope: &Scope,
        embedding: &Embedding,
        prompt: PromptHash,
        floor: Threshold,
        limit: NonZeroUsize,
        now: Timestamp,
    ) -> Result<Vec<Candidate>, QueryError> {
        let embedder = self.parts.embedder.id();
        let probe = Probe { embedder, embedding, prompt, threshold: floor, limit };
        Ok(self.parts.store.nearest(scope, probe, now).await?)
    }

    /// Whether the answer to `matched`, a prompt this similar, was found wrong for the prompt of `call`. A call without a
    /// vector is matched with its own prompt only.
    pub(super) async fn is_forbidden(
        &self,
        call: &Call,
        matched: &str,
        similarity: Similarity,
    ) -> Result<bool, QueryError> {
        let Some(embedding) = &call.vector else { return Ok(false) };
        let (embedder, prompt) = (self.parts.embedder.id(), PromptHash::of(&call.query.prompt));
        let probe = Probe { embedder, embedding, prompt, threshold: Threshold::ZERO, limit: CANDIDATES };
        let (project, matched) = (call.caller.project.id, PromptHash::of(matched));
        let forbidden = self.parts.store.is_forbidden(project, probe, &matched, similarity).await;
        // If the store cannot tell, the answer is not taken.
        let allowed = call.query.or_open(forbidden.map(|forbidden| !forbidden).map_err(QueryError::from))?;
        Ok(!allowed)
    }
}
