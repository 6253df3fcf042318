//! Feedback: the bearer of a key says whether an answer was right.

use std::time::{Duration, Instant};

use crate::audit::{Actor, Change, FEEDBACK_RIGHT, FEEDBACK_WRONG};
use crate::cache::{Answered, LabelSource, Labelled, Met};
use crate::embedding::Embedding;
use crate::engine::{Engine, Query, QueryError, Reply, Source};
use crate::id::{EntryId, ProjectId};
use crate::store::{Admission, NewLabel, StoreError};

/// How long after its answer a request is known to all processes: they write what they kept once a second.
const KNOWN_AFTER: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Which answer feedback is about.
#[derive(Clone, Copy, Debug)]
pub enum FeedbackTarget<'a> {
    /// What the request of this name was answered with.
    Request(&'a str),
    /// The answer of an entry to a prompt.
    Pair {
        /// The entry.
        entry: EntryId,
        /// The prompt.
        asked: &'a str,
    },
}

/// What a caller says of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Whether it was right that the entry answered, or that the guard refused it.
    pub correct: bool,
    /// A note of the caller.
    pub note: Option<&'a str>,
}

/// The entry that feedback was about, and its effect.
#[derive(Clone, Copy, Debug)]
pub struct FeedbackEffect {
    /// The entry.
    pub entry: EntryId,
    /// Whether the entry had answered or was refused.
    pub met: Met,
    /// The effect of the feedback.
    pub labelled: Labelled,
}

/// Why feedback was not taken.
#[derive(Debug)]
pub enum FeedbackError {
    /// The project knows no such request or entry, or no longer.
    Unknown,
    /// The prompt is the entry's own: there is no pair to judge.
    OwnPrompt,
    /// One of the prompts is too long to be answered by another's entry.
    TooLong,
    /// It cannot be taken now.
    Query(QueryError),
}

impl From<QueryError> for FeedbackError {
    fn from(error: QueryError) -> Self {
        Self::Query(error)
    }
}

impl From<StoreError> for FeedbackError {
    fn from(error: StoreError) -> Self {
        Self::Query(error.into())
    }
}

impl Engine {
    /// Takes feedback, and does what follows from it ([`Labels::label`](crate::store::Labels::label)).
    pub async fn feedback(
        &self,
        caller: &Admission,
        target: FeedbackTarget<'_>,
        feedback: Feedback<'_>,
    ) -> Result<FeedbackEffect, FeedbackError> {
        let project = caller.project.id;
        let (answered, vector) = match target {
            FeedbackTarget::Request(name) => {
                let answered = self.answered(project, name).await?;
                let vector = self.vector_of(project, &answered.asked).await?;
                (answered, vector)
            }
            FeedbackTarget::Pair { entry, asked } => {
                let (answered, vector) = self.pair(project, entry, asked).await?;
                (answered, Some(vector))
            }
        };
        let Answered { entry, met, similarity, asked, .. } = &answered;
        // A refusal that was right says that the entry does not answer.
        let answers = feedback.correct == (*met == Met::Served);
        let label = NewLabel {
            entry: *entry,
            asked,
            vector: vector.as_ref().map(|vector| (self.embedder(), vector)),
            similarity: *similarity,
            met: *met,
            answers,
            source: LabelSource::Api,
            note: feedback.note,
        };
        let action = if answers { FEEDBACK_RIGHT } else { FEEDBACK_WRONG };
        let change = Change::new(self.parts.clock.now(), Actor::key(&caller.key), action)
            .within(project)
            .of(entry.to_string())
            .how(format!("similarity {:.3}", similarity.get()));
        let labelled = self.label(project, label, &change).await?;
        Ok(FeedbackEffect { entry: *entry, met: *met, labelled: labelled.ok_or(FeedbackError::Unknown)? })
    }

    /// Keeps what a person says of an entry and a prompt, and does what follows from it. `None` if there is no such entry.
    pub async fn label(
        &self,
        project: ProjectId,
        label: NewLabel<'_>,
        change: &Change,
    ) -> Result<Option<Labelled>, StoreError> {
        let labelled = self.parts.store.label(project, label, change).await?;
        if let Some(came_of_it) = labelled {
            self.parts.listener.labelled(&label, came_of_it);
        }
        Ok(labelled)
    }

    /// Keeps the entry that a query met, so that feedback may name the query alone. An answer to the same prompt has no pair
    /// to judge.
    pub(super) fn keep_met(&self, caller: &Admission, query: &Query, reply: &Reply) {
        let Some(request) = &query.request else { return };
        let (entry, similarity, met) = match (reply.source, reply.refused()) {
            (Source::Semantic(similarity), _) => (reply.entry.id, similarity, Met::Served),
            (Source::Provider(_), Some(refused)) => (refused.entry, refused.similarity, Met::Refused),
            (Source::Exact | Source::Provider(_), _) => return,
        };
        self.met.keep(Answered {
            project: caller.project.id,
            request: request.clone(),
            at: self.parts.clock.now(),
            asked: query.prompt.clone(),
            entry,
            similarity,
            met,
        });
    }

    /// The entry that a request met. If other processes answer too, waits a moment for a request that is not known.
    async fn answered(&self, project: ProjectId, request: &str) -> Result<Answered, FeedbackError> {
        let store = &self.parts.store;
        let engine = self.clone();
        // In a task of its own: a caller that goes away must not take along what other requests met.
        let flush = self.tasks.spawn(async move { engine.met.flush(&*engine.parts.store).await });
        flush.await.map_err(|error| StoreError::Internal(Box::new(error)))??;
        let patience = if store.claims().is_some() { KNOWN_AFTER } else { Duration::ZERO };
        let began = Instant::now();
        loop {
            if let Some(answered) = store.answered(project, request).await? {
                return Ok(answered);
            }
            if began.elapsed() >= patience {
                return Err(FeedbackError::Unknown);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// An entry and a prompt that it answered, with the prompt's vector.
    pub async fn pair(
        &self,
        project: ProjectId,
        entry: EntryId,
        asked: &str,
    ) -> Result<(Answered, Embedding), FeedbackError> {
        let detail = self.parts.store.entry(project, entry).await?.ok_or(FeedbackError::Unknown)?;
        if detail.entry.prompt == asked {
            return Err(FeedbackError::OwnPrompt);
        }
        let own = self.vector_of(project, &detail.entry.prompt).await?;
        let vector = self.vector_of(project, asked).await?;
        let (own, vector) = own.zip(vector).ok_or(FeedbackError::TooLong)?;
        let answered = Answered {
            project,
            request: String::new(),
            at: self.parts.clock.now(),
            asked: asked.to_owned(),
            entry,
            similarity: own.similarity(&vector),
            met: Met::Served,
        };
        Ok((answered, vector))
    }
}
