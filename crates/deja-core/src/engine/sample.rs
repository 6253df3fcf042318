//! Taking samples of what was asked and what came near. The request path pays for a random number and a copy of the
//! prompt, and for nothing if the same prompt answered.

use crate::cache::Met;
use crate::embedding::Similarity;
use crate::engine::{Engine, Query, Reply, Source};
use crate::id::EntryId;
use crate::project::Project;
use crate::quality::{Band, FORBIDDEN, MAX_SAMPLED_BYTES, NewSample, SampleId};

/// The entry nearest to a prompt that it did not answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearMiss {
    /// The entry.
    pub entry: EntryId,
    /// The similarity of its prompt to the asked one.
    pub similarity: Similarity,
    /// Whether feedback forbids the pair.
    pub forbidden: bool,
}

impl Engine {
    /// Samples a query if its project keeps samples and an entry came near.
    pub(super) fn sample(&self, project: &Project, query: &Query, reply: &Reply) {
        if project.settings.samples == 0 || query.prompt.len() > MAX_SAMPLED_BYTES {
            return;
        }
        let Some((entry, similarity)) = nearest(reply) else { return };
        let Some(band) = Band::of(similarity) else { return };
        let Ok(id) = SampleId::generate(&*self.parts.entropy) else { return };
        let at = self.parts.clock.now();
        let (met, reason, score) = what_became(reply);
        let sample = NewSample {
            project: project.id,
            id,
            at,
            expires: project.settings.expires(at),
            asked: query.prompt.clone(),
            entry,
            similarity,
            band,
            met,
            reason: reason.map(str::to_owned),
            score,
        };
        self.samples.lock().add(sample);
    }

    /// Writes the samples that were taken since the last call. Those that cannot be written are lost.
    pub(super) async fn flush_samples(&self) {
        let samples = self.samples.lock().take();
        if let Err(error) = self.parts.store.keep_samples(&samples, self.parts.clock.now()).await {
            tracing::warn!(samples = samples.len(), error = %error, "samples could not be written; they are lost");
        }
    }
}

/// The entry that came nearest. An answer to the same prompt tells nothing.
fn nearest(reply: &Reply) -> Option<(EntryId, Similarity)> {
    match reply.source {
        Source::Exact => None,
        Source::Semantic(similarity) => Some((reply.entry.id, similarity)),
        Source::Provider(_) => reply.trace.near_miss.map(|near| (near.entry, near.similarity)),
    }
}

/// Whether the nearest entry answered; if it was refused, why, and the guard's score.
fn what_became(reply: &Reply) -> (Met, Option<&'static str>, Option<f32>) {
    let Some(near) = reply.trace.near_miss.filter(|_| !reply.is_hit()) else {
        return (Met::Served, None, None);
    };
    match reply.refused().filter(|refusal| refusal.entry == near.entry) {
        Some(refusal) => (Met::Refused, Some(refusal.reason.as_str()), Some(refusal.score)),
        None if near.forbidden => (Met::Refused, Some(FORBIDDEN), None),
        None => (Met::NearMiss, None, None),
    }
}
