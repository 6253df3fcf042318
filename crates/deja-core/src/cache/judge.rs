//! The one judgement: whether an answer that is there answers a prompt, and why or why not.
//!
//! Everything that may give a stored answer to a prompt asks here: the search, a caller that would follow another
//! one's call, the answer of that call, the console's preview. A candidate that is similar enough is looked at by the
//! guard (`deja-guard`): it may refuse it for what its words say, and then the next best one is judged.

use std::sync::{Arc, OnceLock};

pub use deja_guard::Reason;
use deja_guard::{LOWEST_THRESHOLD, Prompt, Strictness};

use crate::cache::{Candidate, Entry};
use crate::embedding::{Similarity, Threshold};
use crate::id::EntryId;
use crate::project::ProjectSettings;

/// What the judgement of one candidate is, and its reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It answers: the same prompt.
    Exact,
    /// It answers: a prompt that is similar enough.
    Semantic,
    /// It does not: not similar enough.
    BelowThreshold,
    /// It does not: somebody said that these two prompts must not meet.
    Forbidden,
    /// It does not: it is similar enough, and its words ask something else.
    Refused {
        /// What is different.
        reason: Reason,
        /// How sure the guard is that one answer serves both prompts, 0 to 1.
        score: f32,
    },
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

/// An entry that was similar enough, and that the guard refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refusal {
    /// The entry.
    pub entry: EntryId,
    /// How similar its prompt is to the one that was asked.
    pub similarity: Similarity,
    /// What is different.
    pub reason: Reason,
    /// How sure the guard is that one answer serves both prompts, 0 to 1.
    pub score: f32,
}

/// What came of judging candidates.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// The first that answers.
    pub hit: Option<Hit>,
    /// The first before it that the guard refused.
    pub refused: Option<Refusal>,
}

/// Judges candidates for one prompt.
#[derive(Debug)]
pub struct Judge<'a> {
    asked: &'a str,
    threshold: Threshold,
    guard: Option<Strictness>,
    /// `asked`, as the guard reads it: once, and only if a candidate is similar enough.
    read: OnceLock<Prompt>,
}

impl<'a> Judge<'a> {
    /// For the prompt `asked` with this threshold; the project's settings may demand a higher one.
    pub fn new(asked: &'a str, threshold: Threshold, settings: &ProjectSettings) -> Self {
        Self {
            asked,
            threshold: settings.threshold(Some(threshold)),
            guard: settings.guard.strictness(),
            read: OnceLock::new(),
        }
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
        } else if !self.threshold.reached_by(similarity) {
            Verdict::BelowThreshold
        } else {
            let refused = self.refused_at(self.threshold, prompt, similarity);
            refused.map_or(Verdict::Semantic, |(reason, score)| Verdict::Refused { reason, score })
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

    /// The first of the candidates that answers, and what the guard refused before it. Best first, so that one that is
    /// refused makes way for the next best.
    pub fn first(&self, candidates: impl IntoIterator<Item = Candidate>) -> Judged {
        let mut judged = Judged::default();
        for candidate in candidates {
            let (entry, similarity) = (candidate.entry.id, candidate.similarity);
            match self.judge(candidate) {
                Ok(hit) => {
                    judged.hit = Some(hit);
                    break;
                }
                Err(Verdict::Refused { reason, score }) => {
                    let refusal = Refusal { entry, similarity, reason, score };
                    judged.refused = judged.refused.or(Some(refusal));
                }
                Err(_) => {}
            }
        }
        judged
    }

    /// The lowest threshold, in thousandths, at which the guard refuses a candidate that reaches it, and why; it does so
    /// at every higher one. `None` if it refuses it at none.
    pub fn refused_from(&self, prompt: &str, similarity: Similarity) -> Option<(Threshold, Reason)> {
        let at = |thousandths: u32| Threshold::new(f64::from(thousandths) / 1e3);
        let refused = |thousandths: u32| self.refused_at(at(thousandths)?, prompt, similarity);
        let (mut low, mut high) = ((LOWEST_THRESHOLD * 1e3) as u32, (similarity.get() * 1e3) as u32);
        let (reason, _) = refused(high).filter(|_| prompt != self.asked)?;
        while low < high {
            let middle = low.midpoint(high);
            if refused(middle).is_some() { high = middle } else { low = middle + 1 }
        }
        Some((at(high)?, reason))
    }

    /// What the guard says of a candidate with this threshold: `None` if it lets it pass.
    fn refused_at(
        &self,
        threshold: Threshold,
        prompt: &str,
        similarity: Similarity,
    ) -> Option<(Reason, f32)> {
        let (guard, threshold) = (self.guard?, threshold.get() as f32);
        if threshold < LOWEST_THRESHOLD {
            return None;
        }
        let asked = self.read.get_or_init(|| Prompt::read(self.asked));
        let verdict = deja_guard::judge(asked, &Prompt::read(prompt), similarity.get(), threshold, guard);
        Some((verdict.refused?, verdict.score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Answer;
    use crate::clock::Timestamp;
    use crate::project::Guard;

    const ENABLE: &str = "How do I enable read receipts?";
    const DISABLE: &str = "How do I disable read receipts?";
    const REWORDED: &str = "How can I enable read receipts?";

    fn of(guard: Guard) -> ProjectSettings {
        ProjectSettings { guard, ..ProjectSettings::default() }
    }

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
        let judge = Judge::new("asked", Threshold::DEFAULT, &of(Guard::Off));
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
        let settings = ProjectSettings { minimum_threshold: Threshold::new(0.9), ..of(Guard::Off) };
        let judge = Judge::new("asked", Threshold::ZERO, &settings);
        assert_eq!(judge.threshold(), Threshold::new(0.9).unwrap());
        assert_eq!(judge.judge(candidate("other", 0.89, false)).unwrap_err(), Verdict::BelowThreshold);
        let strict = Judge::new("asked", Threshold::new(1.0).unwrap(), &settings);
        assert_eq!(strict.judge(candidate("other", 0.99, false)).unwrap_err(), Verdict::BelowThreshold);
    }
    #[test]
    fn a_refused_candidate_makes_way_for_the_next_best() {
        let judge = Judge::new(ENABLE, Threshold::DEFAULT, &of(Guard::Standard));
        let judged = judge.first([candidate(DISABLE, 0.96, false), candidate(REWORDED, 0.94, false)]);
        assert_eq!(judged.hit.unwrap().entry().prompt, REWORDED);
        let refused = judged.refused.unwrap();
        assert_eq!((refused.reason, refused.similarity), (Reason::Opposite, Similarity::from_cosine(0.96)));
        // What is told is the best of those that were refused; what came after the hit was not judged.
        let worse = candidate("How do I turn off read receipts?", 0.9, false);
        let judged = judge.first([candidate(DISABLE, 0.96, false), worse.clone()]);
        assert!(judged.hit.is_none() && judged.refused == Some(refused));
        let judged = judge.first([candidate(REWORDED, 0.94, false), worse]);
        assert!(judged.hit.is_some() && judged.refused.is_none());
        // Neither a forbidden pair nor one that is not similar enough is the guard's.
        let judged = judge.first([candidate(DISABLE, 0.96, true), candidate(DISABLE, 0.84, false)]);
        assert!(judged.hit.is_none() && judged.refused.is_none());
    }

    #[test]
    fn the_guard_judges_where_the_project_wants_it_and_the_threshold_is_one_to_recommend() {
        let answers = |guard, threshold, asked, prompt| {
            let judge = Judge::new(asked, Threshold::new(threshold).unwrap(), &of(guard));
            judge.judge(candidate(prompt, 0.96, false)).is_ok()
        };
        assert!(answers(Guard::Off, 0.85, ENABLE, DISABLE));
        assert!(!answers(Guard::Standard, 0.85, ENABLE, DISABLE));
        assert!(!answers(Guard::Strict, 0.85, ENABLE, DISABLE));
        assert!(!answers(Guard::Strict, 0.75, ENABLE, DISABLE));
        assert!(answers(Guard::Strict, 0.749, ENABLE, DISABLE), "below it there is no guard");
        // The same text is the same question, however it is written.
        assert!(answers(Guard::Strict, 0.85, ENABLE, "how do i enable read receipts"));
    }

    #[test]
    fn the_lowest_threshold_that_refuses_is_where_the_verdict_changes() {
        let judge = Judge::new(ENABLE, Threshold::DEFAULT, &of(Guard::Strict));
        let near = Similarity::from_cosine(0.96);
        assert_eq!(judge.refused_from(DISABLE, near), Some((Threshold::NEAR, Reason::Opposite)));
        for prompt in [ENABLE, "how do i enable read receipts"] {
            assert_eq!(judge.refused_from(prompt, near), None);
        }
        assert_eq!(judge.refused_from(DISABLE, Similarity::from_cosine(0.7)), None, "it is near at none");
        let off = Judge::new(ENABLE, Threshold::DEFAULT, &of(Guard::Off));
        assert_eq!(off.refused_from(DISABLE, near), None);
    }
}
