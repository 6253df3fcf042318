//! The one judgement: whether an answer that is there answers a prompt, and why or why not.
//!
//! Everything that may give a stored answer to a prompt asks here: the search, a caller that would follow another
//! one's call, the answer of that call, the console's preview. A check that looks at more than the similarity
//! (numbers, negation) belongs into [`Judge::verdict`]; a candidate that it refuses makes way for the next best one.

use std::sync::Arc;

use crate::cache::{Candidate, Entry};
use crate::embedding::{Similarity, Threshold};
use crate::project::ProjectSettings;

/// What the judgement of one candidate is, and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It answers: the same prompt.
    Exact,
    /// It answers: a prompt that is similar enough.
    Semantic,
    /// It does not: not similar enough.
    BelowThreshold,
    /// It does not: somebody said that these two prompts must not meet.
    Forbidden,
}

impl Verdict {
    /// Whether the candidate answers.
    pub const fn answers(self) -> bool {
        matches!(self, Self::Exact | Self::Semantic)
    }
}

/// An answer that was judged to be one for the prompt that was asked. Made by [`Judge::judge`] and nowhere else.
#[derive(Clone, Debug)]
pub struct Hit {
    entry: Arc<Entry>,
    similarity: Similarity,
    exact: bool,
}

impl Hit {
    /// The entry that answers.
    pub const fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// How similar its prompt is to the one that was asked; 1 for the same prompt.
    pub const fn similarity(&self) -> Similarity {
        self.similarity
    }

    /// Whether it is the entry of the very prompt that was asked.
    pub const fn is_exact(&self) -> bool {
        self.exact
    }
}

/// Judges candidates for one prompt.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    asked: &'a str,
    threshold: Threshold,
}

impl<'a> Judge<'a> {
    /// For the prompt `asked` with this threshold; the project's settings may demand a higher one.
    pub fn new(asked: &'a str, threshold: Threshold, settings: &ProjectSettings) -> Self {
        Self { asked, threshold: settings.threshold(Some(threshold)) }
    }

    /// The similarity below which nothing but the same prompt answers.
    pub const fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// Whether the answer to `prompt` answers what was asked. `forbidden` says that the pair was found to be wrong;
    /// the same prompt answers all the same.
    pub fn verdict(&self, prompt: &str, similarity: Similarity, forbidden: bool) -> Verdict {
        if prompt == self.asked {
            Verdict::Exact
        } else if forbidden {
            Verdict::Forbidden
        } else if self.threshold.reached_by(similarity) {
            Verdict::Semantic
        } else {
            Verdict::BelowThreshold
        }
    }

    /// The candidate as a hit, or why it is none.
    pub fn judge(&self, candidate: Candidate) -> Result<Hit, Verdict> {
        let Candidate { entry, similarity, forbidden } = candidate;
        match self.verdict(&entry.prompt, similarity, forbidden) {
            Verdict::Exact => Ok(Hit { entry, similarity: Similarity::ONE, exact: true }),
            Verdict::Semantic => Ok(Hit { entry, similarity, exact: false }),
            refused => Err(refused),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Answer;
    use crate::clock::Timestamp;
    use crate::id::EntryId;

    fn candidate(prompt: &str, similarity: f32, forbidden: bool) -> Candidate {
        let answer = Answer {
            text: "answer".into(),
            provider: "p".into(),
            served_model: None,
            input_tokens: 1,
            output_tokens: 1,
            tokens_estimated: false,
        };
        let entry = Entry {
            id: EntryId::from_bytes([1; 16]),
            prompt: prompt.into(),
            model: "m".into(),
            answer,
            created: Timestamp::from_secs(0),
            expires: None,
        };
        Candidate { entry: Arc::new(entry), similarity: Similarity::from_cosine(similarity), forbidden }
    }

    #[test]
    fn the_verdict_has_a_reason() {
        let judge = Judge::new("asked", Threshold::DEFAULT, &ProjectSettings::default());
        for (prompt, similarity, forbidden, verdict) in [
            ("asked", 1.0, false, Verdict::Exact),
            ("other", 0.85, false, Verdict::Semantic),
            ("other", 1.0, false, Verdict::Semantic),
            ("other", 0.849, false, Verdict::BelowThreshold),
            ("other", 0.99, true, Verdict::Forbidden),
            // A prompt's own answer is right for it, whatever was said of pairs and however its vector is rounded.
            ("asked", 0.2, true, Verdict::Exact),
        ] {
            let candidate = candidate(prompt, similarity, forbidden);
            assert_eq!(
                judge.verdict(prompt, candidate.similarity, forbidden),
                verdict,
                "{prompt} {similarity}"
            );
            match judge.judge(candidate) {
                Ok(hit) => {
                    assert!(verdict.answers());
                    assert_eq!(hit.is_exact(), verdict == Verdict::Exact);
                    assert_eq!(hit.entry().prompt, prompt);
                    assert!(!hit.is_exact() || hit.similarity() == Similarity::ONE);
                }
                Err(refused) => assert_eq!((refused, refused.answers()), (verdict, false)),
            }
        }
    }

    #[test]
    fn nobody_gets_below_the_projects_minimum() {
        let settings =
            ProjectSettings { minimum_threshold: Threshold::new(0.9), ..ProjectSettings::default() };
        let judge = Judge::new("asked", Threshold::ZERO, &settings);
        assert_eq!(judge.threshold(), Threshold::new(0.9).unwrap());
        assert_eq!(judge.judge(candidate("other", 0.89, false)).unwrap_err(), Verdict::BelowThreshold);
        let strict = Judge::new("asked", Threshold::new(1.0).unwrap(), &settings);
        assert_eq!(strict.judge(candidate("other", 0.99, false)).unwrap_err(), Verdict::BelowThreshold);
    }
}
