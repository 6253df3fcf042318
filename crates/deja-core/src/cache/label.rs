//! Labels: people, callers and models say whether an entry's answer answers a prompt.

use crate::cache::PromptHash;
use crate::clock::Timestamp;
use crate::embedding::Similarity;
use crate::id::{EntryId, ProjectId};
use crate::words::words;

/// What became of an entry when a prompt near to it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// Its answer was given.
    Served,
    /// It was similar enough, and the guard refused it.
    Refused,
    /// It was not similar enough.
    NearMiss,
}

words! { Met, "is no word of a label", Served = "served", Refused = "refused", NearMiss = "near_miss" }

/// The source of the label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelSource {
    /// The bearer of an API key.
    Api,
    /// A person at the console.
    Console,
    /// A language model. Its labels decide nothing: they are material for statistics.
    Judge,
}

words! { LabelSource, "is no word of a label", Api = "api", Console = "console", Judge = "judge" }

/// Whether an entry's answer answers a prompt, as somebody said.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Its number: later ones have greater ones.
    pub number: u64,
    /// When it was said.
    pub at: Timestamp,
    /// The source of the label.
    pub source: LabelSource,
    /// The prompt that was asked.
    pub asked: String,
    /// The entry.
    pub entry: EntryId,
    /// The entry's prompt.
    pub matched: String,
    /// How similar the two prompts are.
    pub similarity: Similarity,
    /// What became of the entry.
    pub met: Met,
    /// Whether its answer is right for the asked prompt.
    pub answers: bool,
    /// A note of whoever gave the label.
    pub note: Option<String>,
}

/// What a label says, without its texts: thousands of them are read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortLabel {
    /// The hash of the prompt that was asked.
    pub asked: PromptHash,
    /// The entry.
    pub entry: EntryId,
    /// The source of the label.
    pub source: LabelSource,
    /// Whether the entry's answer is right for the asked prompt.
    pub answers: bool,
}

/// The effect of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labelled {
    /// The label is kept, and changes no answers.
    Kept,
    /// The entry no longer answers this prompt, nor those that are nearer to it than to the entry's.
    Forbidden,
    /// As [`Self::Forbidden`]. The entry was wrong for one prompt too many: it answers its own prompt only.
    Quarantined,
    /// The pair that the same source forbade is allowed again.
    Allowed,
}

impl Labelled {
    /// The name in answers and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "recorded",
            Self::Forbidden => "blocked",
            Self::Quarantined => "quarantined",
            Self::Allowed => "allowed",
        }
    }
}

/// A hit by meaning, or a refusal of the guard, kept by the name of its request. Feedback needs no more than that
/// name.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The project.
    pub project: ProjectId,
    /// The name of the request.
    pub request: String,
    /// When it was answered.
    pub at: Timestamp,
    /// The prompt that was asked.
    pub asked: String,
    /// The entry.
    pub entry: EntryId,
    /// How similar its prompt is.
    pub similarity: Similarity,
    /// What became of the entry.
    pub met: Met,
}

/// A pair of prompts that should not have met: neither is answered by the other's entry.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongAnswer {
    /// Its number: later ones have greater ones. The cursor for paging.
    pub number: u64,
    /// When it was marked.
    pub at: Timestamp,
    /// Who marked it.
    pub source: LabelSource,
    /// The prompt that was asked.
    pub asked: String,
    /// The prompt of the entry that answered.
    pub matched: String,
    /// How similar they were.
    pub similarity: Similarity,
    /// The model of the entry that answered.
    pub model: String,
}
