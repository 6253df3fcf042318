//! The log of a project's requests: what each asked, what it met in the cache, how it ended. Not what is counted
//! ([`crate::analytics`]), but single requests to look at; bounded, and without texts unless the project wants them
//! (`docs/adr/0070-request-log.md`).

use std::time::Duration;

use crate::analytics::{ContextKey, Outcome, Surface};
use crate::cache::{Met, PromptHash};
use crate::clock::{TimeRange, Timestamp};
use crate::embedding::Similarity;
use crate::id::{EntryId, KeyId, ProjectId};
use crate::money::NanoUsd;
use crate::project::ProjectSettings;

/// Requests that a project's log keeps, unless it says otherwise.
pub const DEFAULT_LOGGED: u64 = 10_000;
/// How long a request stays in the log at most.
pub const LOGGED_FOR: Duration = Duration::from_hours(30 * 24);
/// The cause of a hit that saved nothing because asking the project's model about it cost as much, or more. Any other hit that saved
/// nothing had no known price, or its model is free.
pub const GUARD_COST: &str = "guard_cost";
/// Bytes of a prompt that are kept, where a project keeps texts.
pub(crate) const MAX_TEXT_BYTES: usize = 4096;

/// How many requests a project logs, and how long it keeps their texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logging {
    /// Most requests in the log; 0 logs none.
    pub requests: u64,
    /// How long the texts of prompts are kept; zero keeps none.
    pub texts: Duration,
}

impl From<&ProjectSettings> for Logging {
    fn from(settings: &ProjectSettings) -> Self {
        let texts = Duration::from_secs(settings.request_texts_days.saturating_mul(24 * 60 * 60));
        Self { requests: settings.request_log, texts: texts.min(LOGGED_FOR) }
    }
}

impl Logging {
    /// The time since when texts are kept; `None` keeps none.
    pub fn texts_since(self, now: Timestamp) -> Option<Timestamp> {
        (!self.texts.is_zero()).then(|| now.minus(self.texts))
    }
}

/// An entry that a request met: the one that answered, or the best one that did not.
#[derive(Clone, Debug, PartialEq)]
pub struct MetEntry {
    /// The entry. It may be gone.
    pub entry: EntryId,
    /// The cosine similarity of its prompt.
    pub similarity: Similarity,
    /// What became of it.
    pub met: Met,
    /// Why it was refused.
    pub reason: Option<String>,
}

/// A request that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedRequest {
    /// The project.
    pub project: ProjectId,
    /// When it ended.
    pub at: Timestamp,
    /// Its name, as in `X-Request-Id`.
    pub request: Option<String>,
    /// The key it came with.
    pub key: KeyId,
    /// The endpoint that it came by.
    pub surface: Surface,
    /// The asked model; empty if the request did not get so far.
    pub model: String,
    /// The asked context.
    pub context: ContextKey,
    /// The hash of what was asked, if the request got so far.
    pub asked: Option<PromptHash>,
    /// The first [`MAX_TEXT_BYTES`] of the prompt, if the project keeps texts.
    pub text: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it was refused or failed, as in `X-Deja-Error`; why an answer was not stored; why it was passed on; [`GUARD_COST`].
    pub cause: Option<String>,
    /// Whether its answer came from a call that another request had begun.
    pub joined: bool,
    /// The entry that it met, if it met one.
    pub met: Option<MetEntry>,
    /// How long it took, if it became a query.
    pub latency: Option<Duration>,
    /// Money that a hit saved.
    pub saved: NanoUsd,
}

/// A request as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRow {
    /// Its number: later rows have greater ones.
    pub number: u64,
    /// The request.
    pub logged: LoggedRequest,
}

/// Which requests of a log are meant. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Only requests that ended so.
    pub outcome: Option<Outcome>,
    /// Only requests whose answer came from a call that another request had begun.
    pub joined: bool,
    /// Only requests with this key.
    pub key: Option<KeyId>,
    /// Only requests for this model.
    pub model: Option<String>,
    /// Only requests with this context.
    pub context: Option<ContextKey>,
    /// Only requests that met this entry.
    pub entry: Option<EntryId>,
    /// Only requests that ended in this time.
    pub within: TimeRange,
    /// Only requests that asked just this, with or without the blanks around it, or whose kept text has it in it, whatever
    /// the case of letters ([`folded`](crate::store::folded)).
    pub asked: Option<String>,
}

impl LogFilter {
    /// The hashes of the prompts that are meant: of what is asked for as it is, and of the same without the blanks
    /// around it, of which a copied text easily has some more.
    pub fn hashes(&self) -> Option<[PromptHash; 2]> {
        self.asked.as_deref().map(|asked| [asked, asked.trim()].map(PromptHash::of))
    }

    /// The text that a kept prompt must contain.
    pub fn part(&self) -> Option<&str> {
        self.asked.as_deref().map(str::trim)
    }
}

/// The first [`MAX_TEXT_BYTES`] of a prompt, cut between characters.
pub(crate) fn kept_text(prompt: &str) -> String {
    prompt[..prompt.floor_char_boundary(MAX_TEXT_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let long = format!("x{}", "ä".repeat(MAX_TEXT_BYTES));
        let kept = kept_text(&long);
        assert_eq!((kept.len(), kept.is_empty()), (MAX_TEXT_BYTES - 1, false));
        assert_eq!(kept_text("short"), "short");
    }

    #[test]
    fn a_project_logs_figures_and_no_texts_unless_it_says_so() {
        let of = |text: &str| Logging::from(&serde_json::from_str::<ProjectSettings>(text).unwrap());
        assert_eq!(of("{}"), Logging { requests: DEFAULT_LOGGED, texts: Duration::ZERO });
        let week = Duration::from_hours(7 * 24);
        assert_eq!(
            of(r#"{"request_log": 5, "request_texts_days": 7}"#),
            Logging { requests: 5, texts: week }
        );
        assert_eq!(
            of(r#"{"request_texts_days": 18446744073709551615}"#).texts,
            LOGGED_FOR,
            "as long as the row"
        );
    }
}
