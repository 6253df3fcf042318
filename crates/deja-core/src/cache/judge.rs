//! The one judgement: whether an answer that is there answers a prompt, and why or why not.
//!
//! Everything that may give a stored answer to a prompt asks here: the search, a caller that would follow another
//! caller's call, the answer of that call, the console's preview. The guard (`deja-guard`) looks at each candidate that is
//! similar enough. It may refuse the candidate for its words, and then the next best one is judged. Where a project wants that,
//! a model reads what the guard lets pass ([`Readings`]).

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

pub use deja_guard::Reason;
use deja_guard::{Prompt, Strictness};

use crate::block_in_place_if;
use crate::cache::{Candidate, Entry, Readings};
use crate::embedding::{Similarity, Threshold};
use crate::id::{EntryId, ProjectId};
use crate::project::{Guard, ProjectSettings};

/// Texts of up to so many bytes are judged where they are.
const SHORT: usize = 16 * 1024;
/// Pairs that are read for one prompt, at most: each takes a millisecond and more. Candidates behind them do not answer.
const MOST_READ: u32 = 8;
/// The weight of what the words say, as a logit beside that of the reader.
const WEIGHT_OF_WORDS: f32 = 0.5;
/// The score of the same text.
const SCORE_OF_SAME_TEXT: f32 = 1.0;
/// What a pair needs of both together ([`meaning`]).
const LEAST_MEANING: f32 = 0.12;

/// The judgement of one candidate, and its reason.
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
        /// What the guard found different.
        reason: Reason,
        /// How sure the guard is that one answer serves both prompts, 0 to 1.
        score: f32,
    },
    /// Not yet: it is similar enough, its words leave it open, and the project has a model that decides such pairs.
    Uncertain {
        /// What the guard found different.
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

/// An answer that was judged to be one for the prompt that was asked. Made by [`Judge`] and nowhere else.
#[derive(Clone, Debug)]
pub struct Hit {
    entry: Arc<Entry>,
    similarity: Similarity,
    exact: bool,
}

impl Hit {
    /// The entry of the very request, found by the hash of all of it. The text of its prompt, which people see, may differ: how much
    /// a prompt shows depends on settings.
    pub(crate) const fn of_the_same(entry: Arc<Entry>) -> Self {
        Self { entry, similarity: Similarity::ONE, exact: true }
    }

    /// The entry that answers.
    pub const fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// The similarity of its prompt to the asked one; 1 for the same prompt.
    pub const fn similarity(&self) -> Similarity {
        self.similarity
    }

    /// Whether it is the entry of the very prompt that was asked.
    pub const fn is_exact(&self) -> bool {
        self.exact
    }
}

/// An entry that was similar enough, and that the guard did not let pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refusal {
    /// The entry.
    pub entry: EntryId,
    /// The similarity of its prompt to the asked one.
    pub similarity: Similarity,
    /// What the guard found different.
    pub reason: Reason,
    /// How sure the guard is that one answer serves both prompts, 0 to 1.
    pub score: f32,
}

/// The outcome of judging candidates.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// The first that answers.
    pub hit: Option<Hit>,
    /// The first candidate before the hit that the guard did not let pass.
    pub refused: Option<Refusal>,
    /// Without a hit: the candidates of which the guard is uncertain.
    pub uncertain: Vec<Candidate>,
}

/// Judges candidates for one prompt.
pub struct Judge<'a> {
    asked: &'a str,
    threshold: Threshold,
    guard: Option<Strictness>,
    /// Who reads pairs, and for which project.
    readings: Option<(&'a Readings, ProjectId)>,
    model: Option<&'a str>,
    /// `asked`, as the guard reads it: once, and only if a candidate is similar enough.
    read: OnceLock<Prompt>,
    /// Pairs that were read for it.
    pairs: AtomicU32,
}

impl<'a> Judge<'a> {
    /// For the prompt `asked` with this threshold; the project's settings may demand a higher one. If they want pairs to be
    /// read, `readings` do that for the project.
    pub fn new(
        asked: &'a str,
        threshold: Threshold,
        settings: &'a ProjectSettings,
        readings: (&'a Readings, ProjectId),
    ) -> Self {
        Self {
            asked,
            threshold: settings.threshold(Some(threshold)),
            guard: settings.guard.strictness(),
            readings: (settings.guard == Guard::Thorough).then_some(readings),
            model: settings.guard_model.as_deref(),
            read: OnceLock::new(),
            pairs: AtomicU32::new(0),
        }
    }

    /// The similarity below which nothing but the same prompt answers.
    pub const fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// The model that decides where the guard is uncertain.
    pub const fn model(&self) -> Option<&'a str> {
        self.model
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
            let objection = || self.objection(self.threshold, &Stored::read(prompt), similarity);
            let objection = self.guard.and_then(|_| self.reading(prompt.len(), objection));
            objection.unwrap_or(Verdict::Semantic)
        }
    }

    /// The candidate as a hit, or why it is none.
    pub fn judge(&self, candidate: Candidate) -> Result<Hit, Verdict> {
        let Candidate { entry, similarity, forbidden } = candidate;
        match self.verdict(&entry.prompt, similarity, forbidden) {
            Verdict::Exact => Ok(Hit::of_the_same(entry)),
            Verdict::Semantic => Ok(Hit { entry, similarity, exact: false }),
            refused => Err(refused),
        }
    }

    /// The candidate as a hit, or why it is none, after the project's model said whether one answer serves both prompts. Where
    /// the guard is uncertain, its word decides.
    pub fn settle(&self, candidate: Candidate, same: bool) -> Result<Hit, Verdict> {
        let (entry, similarity) = (candidate.entry.clone(), candidate.similarity);
        match self.judge(candidate) {
            Err(Verdict::Uncertain { .. }) if same => Ok(Hit { entry, similarity, exact: false }),
            judged => judged,
        }
    }

    /// The first of the candidates that answers, and what the guard did not let pass before it. The best candidate comes first:
    /// if it is refused, the next best is judged. A candidate that answers for certain wins over one of which the guard is
    /// uncertain.
    pub fn first(&self, candidates: impl IntoIterator<Item = Candidate>) -> Judged {
        let candidates: Vec<_> = candidates.into_iter().collect();
        let read = candidates.iter().map(|candidate| candidate.entry.prompt.len()).sum::<usize>();
        self.reading(read, || self.first_of(candidates))
    }

    /// Whether more candidates may be judged, as far as reading pairs goes.
    pub(crate) fn may_read_on(&self) -> bool {
        self.pairs.load(Relaxed) < MOST_READ
    }

    /// Does `work`, which reads so many `bytes` beside the asked prompt. If they are many, other requests go on meanwhile.
    pub(crate) fn reading<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        block_in_place_if(self.asked.len() + bytes > SHORT, work)
    }

    fn first_of(&self, candidates: Vec<Candidate>) -> Judged {
        let mut judged = Judged::default();
        for candidate in candidates.into_iter().take_while(|_| self.may_read_on()) {
            let verdict = match self.judge(candidate.clone()) {
                Ok(hit) => return Judged { hit: Some(hit), uncertain: Vec::new(), ..judged },
                Err(verdict) => verdict,
            };
            if let Verdict::Refused { reason, score } | Verdict::Uncertain { reason, score } = verdict {
                let (entry, similarity) = (candidate.entry.id, candidate.similarity);
                judged.refused = judged.refused.or(Some(Refusal { entry, similarity, reason, score }));
            }
            if matches!(verdict, Verdict::Uncertain { .. }) {
                judged.uncertain.push(candidate);
            }
        }
        judged
    }

    /// The lowest threshold, in thousandths, at which the guard refuses a candidate that reaches it, and its verdict. The guard
    /// refuses the candidate at all higher thresholds too. `None` if it refuses it at none.
    pub fn objection_from(&self, prompt: &str, similarity: Similarity) -> Option<(Threshold, Verdict)> {
        let at = |thousandths: u32| Threshold::new(f64::from(thousandths) / 1e3);
        let read = block_in_place_if(prompt.len() > SHORT, || Stored::read(prompt));
        let objection = |thousandths: u32| self.objection(at(thousandths)?, &read, similarity);
        let (mut low, mut high) = (0, (similarity.get() * 1e3) as u32);
        let verdict = objection(high).filter(|_| prompt != self.asked)?;
        while low < high {
            let middle = low.midpoint(high);
            if objection(middle).is_some() { high = middle } else { low = middle + 1 }
        }
        Some((at(high)?, verdict))
    }

    /// The guard's objection to a candidate at this threshold; `None` if the candidate passes.
    fn objection(
        &self,
        threshold: Threshold,
        prompt: &Stored<'_>,
        similarity: Similarity,
    ) -> Option<Verdict> {
        let (guard, threshold) = (self.guard?, threshold.get() as f32);
        let asked = self.read.get_or_init(|| Prompt::read(self.asked));
        let judged = deja_guard::judge(asked, &prompt.read, similarity.get(), threshold, guard);
        let (refused, score) = (judged.refused, judged.score);
        if self.model.is_some() && judged.uncertain {
            return Some(Verdict::Uncertain { reason: refused.unwrap_or(Reason::Words), score });
        }
        if let Some(reason) = refused {
            return Some(Verdict::Refused { reason, score });
        }
        let score = self.other_meaning(prompt, score)?;
        Some(Verdict::Refused { reason: Reason::Meaning, score })
    }

    /// As [`other_meaning`], of the asked prompt and this one. What is certain is not read.
    fn other_meaning(&self, prompt: &Stored<'_>, score: f32) -> Option<f32> {
        let (readings, project) = self.readings.filter(|_| score < SCORE_OF_SAME_TEXT)?;
        let read = || {
            self.pairs.fetch_add(1, Relaxed);
            readings.of(project, self.asked, prompt.text)
        };
        other_meaning(*prompt.logit.get_or_init(read), score)
    }
}

/// How sure a reader that says `logit` and words with this score are together that one answer serves both prompts, 0 to 1, if that is
/// not enough; `None` if the pair passes.
pub fn other_meaning(logit: Option<f32>, score: f32) -> Option<f32> {
    meaning(logit, score).filter(|sure| *sure < LEAST_MEANING)
}

/// How sure both are together, 0 to 1. `None` if the words are certain, or if nobody reads the prompts.
fn meaning(logit: Option<f32>, score: f32) -> Option<f32> {
    let logit = logit.filter(|_| score < SCORE_OF_SAME_TEXT)?;
    let words = (score / (1.0 - score)).ln();
    Some(1.0 / (1.0 + (-logit - WEIGHT_OF_WORDS * words).exp()))
}

/// The prompt of a candidate, as the guard and the reader read it: once for all thresholds.
struct Stored<'a> {
    text: &'a str,
    read: Prompt,
    logit: OnceLock<Option<f32>>,
}

impl<'a> Stored<'a> {
    fn read(text: &'a str) -> Self {
        Self { text, read: Prompt::read(text), logit: OnceLock::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::testing::{self, unread};

    const ENABLE: &str = "How do I enable read receipts?";
    const DISABLE: &str = "How do I disable read receipts?";
    const REWORDED: &str = "How can I enable read receipts?";

    fn of(guard: Guard) -> ProjectSettings {
        ProjectSettings { guard, ..ProjectSettings::default() }
    }

    fn candidate(prompt: &str, similarity: f32, forbidden: bool) -> Candidate {
        let entry = testing::entry(EntryId::from_bytes([1; 16]), prompt, Timestamp::default());
        Candidate { entry: Arc::new(entry), similarity: Similarity::from_cosine(similarity), forbidden }
    }

    #[test]
    fn the_verdict_has_a_reason() {
        let settings = of(Guard::Off);
        let judge = Judge::new("asked", Threshold::DEFAULT, &settings, unread());
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
                    let told =
                        if hit.is_exact() { Similarity::ONE } else { Similarity::from_cosine(similarity) };
                    assert_eq!(hit.similarity(), told);
                }
                Err(refused) => assert_eq!((refused, refused.answers()), (verdict, false)),
            }
        }
    }

    #[test]
    fn nobody_gets_below_the_projects_minimum() {
        let settings = ProjectSettings { minimum_threshold: Threshold::new(0.9), ..of(Guard::Off) };
        let judge = Judge::new("asked", Threshold::ZERO, &settings, unread());
        assert_eq!(judge.threshold(), Threshold::new(0.9).unwrap());
        assert_eq!(judge.judge(candidate("other", 0.89, false)).unwrap_err(), Verdict::BelowThreshold);
        let strict = Judge::new("asked", Threshold::new(1.0).unwrap(), &settings, unread());
        assert_eq!(strict.judge(candidate("other", 0.99, false)).unwrap_err(), Verdict::BelowThreshold);
    }

    #[test]
    fn a_refused_candidate_makes_way_for_the_next_best() {
        let settings = of(Guard::Standard);
        let judge = Judge::new(ENABLE, Threshold::DEFAULT, &settings, unread());
        let judged = judge.first([candidate(DISABLE, 0.96, false), candidate(REWORDED, 0.94, false)]);
        assert_eq!(judged.hit.unwrap().entry().prompt, REWORDED);
        let refused = judged.refused.unwrap();
        assert_eq!((refused.reason, refused.similarity), (Reason::Opposite, Similarity::from_cosine(0.96)));
        // The best refused candidate is told. Candidates behind a hit are not judged.
        let worse = candidate("How do I turn off read receipts?", 0.9, false);
        let judged = judge.first([candidate(DISABLE, 0.96, false), worse.clone()]);
        assert!(judged.hit.is_none() && judged.refused == Some(refused));
        let judged = judge.first([candidate(REWORDED, 0.94, false), worse]);
        assert!(judged.hit.is_some() && judged.refused.is_none());
        // The guard has nothing to do with a forbidden pair, nor with a pair that is not similar enough.
        let judged = judge.first([candidate(DISABLE, 0.96, true), candidate(DISABLE, 0.84, false)]);
        assert!(judged.hit.is_none() && judged.refused.is_none());
    }

    #[test]
    fn what_is_uncertain_is_left_to_the_projects_model() {
        let (asked, open) = (ENABLE, "How do I enable read receipts now?");
        let near = Similarity::from_cosine(0.95);
        let alone = of(Guard::Standard);
        let judge = Judge::new(asked, Threshold::DEFAULT, &alone, unread());
        assert_eq!(judge.model(), None);
        assert_eq!(
            judge.verdict(open, near, false),
            Verdict::Semantic,
            "it passes where the guard decides alone"
        );
        let settings = ProjectSettings { guard_model: Some("m".into()), ..alone.clone() };
        let judge = Judge::new(asked, Threshold::DEFAULT, &settings, unread());
        assert_eq!(judge.model(), Some("m"));
        let judged = judge.first([candidate(open, 0.95, false), candidate(DISABLE, 0.9, false)]);
        assert!(judged.hit.is_none() && judged.refused.is_some());
        assert_eq!(judged.uncertain.len(), 1);
        for same in [true, false] {
            assert_eq!(judge.settle(candidate(open, 0.95, false), same).is_ok(), same);
            // What is certain is not the model's to say.
            assert!(judge.settle(candidate(DISABLE, 0.95, false), same).is_err());
            assert!(judge.settle(candidate(open, 0.8, false), same).is_err());
            assert!(judge.settle(candidate(open, 0.95, true), same).is_err());
            assert!(judge.settle(candidate(asked, 0.95, false), same).is_ok());
        }
        // A candidate that answers for certain wins over a nearer one that is uncertain.
        let certain = candidate(REWORDED, 0.9, false);
        let judged = judge.first([candidate(open, 0.95, false), certain]);
        assert!(judged.hit.is_some() && judged.uncertain.is_empty());
    }

    #[test]
    fn the_guard_judges_where_the_project_wants_it_and_the_threshold_is_one_to_recommend() {
        let answers = |guard, threshold, asked, prompt| {
            let settings = of(guard);
            let judge = Judge::new(asked, Threshold::new(threshold).unwrap(), &settings, unread());
            judge.judge(candidate(prompt, 0.96, false)).is_ok()
        };
        assert!(answers(Guard::Off, 0.85, ENABLE, DISABLE));
        assert!(!answers(Guard::Standard, 0.85, ENABLE, DISABLE));
        assert!(!answers(Guard::Strict, 0.85, ENABLE, DISABLE));
        assert!(!answers(Guard::Strict, 0.75, ENABLE, DISABLE));
        assert!(answers(Guard::Strict, 0.749, ENABLE, DISABLE), "below it the words are not compared");
        // What no vector tells apart, no threshold does.
        let (one, other) = ("What does 😀 mean?", "What does 😁 mean?");
        assert!(!answers(Guard::Standard, 0.0, one, other) && answers(Guard::Off, 0.0, one, other));
        // The same text is the same question, however it is written.
        assert!(answers(Guard::Strict, 0.85, ENABLE, "how do i enable read receipts"));
    }

    #[test]
    fn the_lowest_threshold_that_refuses_is_where_the_verdict_changes() {
        let (strict, off) = (of(Guard::Strict), of(Guard::Off));
        let judge = Judge::new(ENABLE, Threshold::DEFAULT, &strict, unread());
        let near = Similarity::from_cosine(0.96);
        let (from, verdict) = judge.objection_from(DISABLE, near).unwrap();
        assert_eq!((from, verdict), (Threshold::NEAR, judge.verdict(DISABLE, near, false)));
        assert!(matches!(verdict, Verdict::Refused { reason: Reason::Opposite, .. }));
        for prompt in [ENABLE, "how do i enable read receipts"] {
            assert_eq!(judge.objection_from(prompt, near), None);
        }
        let (from, _) = judge.objection_from("How do I enable read receipts 👍?", near).unwrap();
        assert_eq!(from, Threshold::ZERO, "it is literally something else");
        assert_eq!(judge.objection_from(DISABLE, Similarity::from_cosine(0.7)), None, "it is near at none");
        let off = Judge::new(ENABLE, Threshold::DEFAULT, &off, unread());
        assert_eq!(off.objection_from(DISABLE, near), None);
    }

    #[test]
    fn the_lowest_threshold_that_refuses_is_the_first_of_all_that_do() {
        let near = Similarity::from_cosine(0.96);
        for (guard, asked, prompt) in [
            (Guard::Standard, "Where did Einstein go to school?", "Where did Albert Einstein go to school?"),
            (Guard::Strict, "Do I need travel insurance?", "Do I need travel insurance for a ski holiday?"),
        ] {
            let settings = of(guard);
            let refuses = |thousandths: &u32| {
                let threshold = Threshold::new(f64::from(*thousandths) / 1e3).unwrap();
                let judge = Judge::new(asked, threshold, &settings, unread());
                matches!(judge.verdict(prompt, near, false), Verdict::Refused { .. })
            };
            let first = (750..=960).find(refuses).unwrap();
            assert!((752..960).contains(&first), "{asked}: {first} is no threshold to search for");
            let judge = Judge::new(asked, Threshold::DEFAULT, &settings, unread());
            let (from, _) = judge.objection_from(prompt, near).unwrap();
            assert_eq!(from, Threshold::new(f64::from(first) / 1e3).unwrap(), "{asked}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_while_long_texts_are_judged() {
        let done = Arc::new(OnceLock::new());
        let ended = Arc::clone(&done);
        let tasks = tokio_util::task::TaskTracker::new();
        let judging = tasks.spawn(async move {
            let settings = of(Guard::Standard);
            let asked = "How do I do it? ".repeat(4096);
            let judge = Judge::new(&asked, Threshold::DEFAULT, &settings, unread());
            let candidates = (0..40).map(|n| candidate(&format!("{asked}{n}"), 0.99, false));
            assert!(judge.first(candidates).hit.is_none());
            ended.set(()).unwrap();
        });
        let other = tasks.spawn(async move { done.get().is_none() });
        assert!(other.await.unwrap(), "the only worker was kept until all were judged");
        judging.await.unwrap();
    }

    const INSURE: &str = "Can I insure a car with a cracked windscreen?";
    const DRIVE: &str = "Can I drive with a cracked windscreen?";

    /// Readings that are all the same, and how many there were.
    fn readings(logit: Option<f32>) -> (Readings, Arc<AtomicU32>) {
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        let reader = move |_: &str, _: &str| {
            counted.fetch_add(1, Relaxed);
            logit
        };
        (Readings::new(reader), count)
    }

    #[test]
    fn what_standard_lets_pass_is_read_where_the_project_wants_that() {
        let project = ProjectId::from_bytes([1; 16]);
        let near = Similarity::from_cosine(0.92);
        for (guard, logit, asked, prompt, passes, read) in [
            (Guard::Thorough, Some(-4.0), INSURE, DRIVE, false, 1),
            (Guard::Thorough, Some(4.0), INSURE, DRIVE, true, 1),
            // What nobody reads is judged by its words.
            (Guard::Thorough, None, INSURE, DRIVE, true, 1),
            (Guard::Standard, Some(-4.0), INSURE, DRIVE, true, 0),
            (Guard::Off, Some(-4.0), INSURE, DRIVE, true, 0),
            // What the words refuse or prove is not read.
            (Guard::Thorough, Some(4.0), ENABLE, DISABLE, false, 0),
            (Guard::Thorough, Some(-4.0), ENABLE, "how do i enable read receipts", true, 0),
        ] {
            let (readings, count) = readings(logit);
            let settings = of(guard);
            let judge = Judge::new(asked, Threshold::DEFAULT, &settings, (&readings, project));
            let verdict = judge.verdict(prompt, near, false);
            assert_eq!(
                (verdict.answers(), count.load(Relaxed)),
                (passes, read),
                "{guard:?} {logit:?} {prompt}"
            );
            if !passes && asked == INSURE {
                assert!(
                    matches!(verdict, Verdict::Refused { reason: Reason::Meaning, score } if score < LEAST_MEANING),
                    "{verdict:?}"
                );
                // All thresholds have one reading.
                let (from, _) = judge.objection_from(prompt, near).unwrap();
                assert_eq!((from, count.load(Relaxed)), (Threshold::NEAR, 1));
            }
        }
    }

    #[test]
    fn a_bounded_number_of_pairs_is_read_for_one_prompt() {
        let (readings, count) = readings(Some(-4.0));
        let settings = of(Guard::Thorough);
        let judge =
            Judge::new(INSURE, Threshold::DEFAULT, &settings, (&readings, ProjectId::from_bytes([1; 16])));
        let names = ["a van", "a lorry", "a bus", "a coach", "a taxi", "a truck"];
        let prompts = names
            .iter()
            .flat_map(|name| [DRIVE.to_owned(), DRIVE.replace("drive", &format!("drive {name}"))]);
        let many: Vec<_> = prompts.cycle().take(40).map(|prompt| candidate(&prompt, 0.92, false)).collect();
        let judged = judge.first(many);
        assert!(judged.hit.is_none());
        assert!(count.load(Relaxed) <= MOST_READ && !judge.may_read_on(), "{count:?}");
    }

    #[test]
    fn a_reader_weighs_more_than_words_and_neither_decides_alone() {
        let sure = |logit, score| meaning(Some(logit), score).unwrap();
        assert!(
            sure(-3.0, 0.3) < LEAST_MEANING
                && sure(-3.0, 0.95) > LEAST_MEANING
                && sure(0.0, 0.2) > LEAST_MEANING
        );
        assert!((sure(0.0, 0.5) - 0.5).abs() < 1e-6);
        assert_eq!((meaning(None, 0.5), meaning(Some(-9.0), 1.0)), (None, None));
    }
}
