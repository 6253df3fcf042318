//! The port to what people, and models, say of answers.

use std::num::NonZeroUsize;
use std::time::Duration;

use async_trait::async_trait;

use crate::audit::Change;
use crate::cache::{Answered, Label, LabelSource, Labelled, Met, ShortLabel};
use crate::clock::Timestamp;
use crate::embedding::{EmbedderId, Embedding, Similarity};
use crate::id::{EntryId, ProjectId};
use crate::store::StoreError;

/// How far the clock of the process that answered a request may be ahead of the one that sweeps.
pub const CLOCK_SKEW: Duration = Duration::from_mins(1);

/// A label to keep.
#[derive(Clone, Copy, Debug)]
pub struct NewLabel<'a> {
    /// The entry.
    pub entry: EntryId,
    /// The prompt that was asked.
    pub asked: &'a str,
    /// Its vector and who made it. Without one, no rewording of the prompt is forbidden with it.
    pub vector: Option<(&'a EmbedderId, &'a Embedding)>,
    /// How similar the two prompts are.
    pub similarity: Similarity,
    /// What became of the entry.
    pub met: Met,
    /// Whether its answer is right for the asked prompt.
    pub answers: bool,
    /// The source of the label.
    pub source: LabelSource,
    /// A note.
    pub note: Option<&'a str>,
}

/// Labels, and the entries that requests met, as long as these entries live.
#[async_trait]
pub trait Labels: Send + Sync {
    /// Keeps a label, in place of an earlier one of the same source about the same entry and prompt, and changes what
    /// is answered from now on, in all processes, unless the source is a judge:
    ///
    /// * An entry that was served and does not answer: the two prompts are forbidden to each other in the whole project
    ///   ([`WrongAnswers::is_forbidden`]), longer than the entry lives. The entry stays, and answers its own prompt. If
    ///   the entry is found wrong for a third prompt within a day, or for more, it is put into quarantine, with an audit row of its
    ///   own.
    /// * An entry that answers: what the same source forbade of the two is allowed again.
    ///
    /// The change is written if this changed what is answered. `None` if the project has no such entry: then nothing
    /// is kept.
    ///
    /// [`WrongAnswers::is_forbidden`]: crate::store::WrongAnswers::is_forbidden
    async fn label(
        &self,
        project: ProjectId,
        label: NewLabel<'_>,
        change: &Change,
    ) -> Result<Option<Labelled>, StoreError>;

    /// Up to `limit` of the project's labels from `since` on, newest first.
    async fn labels(
        &self,
        project: ProjectId,
        since: Timestamp,
        limit: NonZeroUsize,
    ) -> Result<Vec<Label>, StoreError>;

    /// Up to `limit` of the project's labels, newest first, without their texts.
    async fn short_labels(
        &self,
        project: ProjectId,
        limit: NonZeroUsize,
    ) -> Result<Vec<ShortLabel>, StoreError>;

    /// Keeps the entries that requests met. Of two requests with the same name the later one is kept. Requests whose entry is
    /// gone are left out.
    async fn keep_answered(&self, answered: &[Answered]) -> Result<(), StoreError>;

    /// The entry that the project's request of this name met.
    async fn answered(&self, project: ProjectId, request: &str) -> Result<Option<Answered>, StoreError>;

    /// Keeps the `newest` labels, answered requests and wrong answers of each project, and deletes up to `limit` of each kind
    /// beyond them. Says how many. Requests that were answered more than [`CLOCK_SKEW`] after `now`, by a clock that was set back
    /// since, count as answered now: else no later one would be kept until it gets there.
    async fn sweep_labels(
        &self,
        now: Timestamp,
        newest: NonZeroUsize,
        limit: NonZeroUsize,
    ) -> Result<u64, StoreError>;
}
