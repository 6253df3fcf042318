//! Why two words may stand in another order and say the same: a passive, a pronoun, "and", two places or times, the form of the
//! answer.

use super::joins;
use crate::align::Link;
use crate::apart::Slot;
use crate::lexicon::{class, lexicon};
use crate::prompt::{Governor, Prompt, Word};

/// A pair of prompts, and two words of the first with those that they are paired with in the second.
#[derive(Clone, Copy)]
pub(super) struct Crossed<'a> {
    pub(super) prompts: [&'a Prompt; 2],
    /// All words that are paired.
    pub(super) pairs: &'a [(usize, usize, Link)],
    /// The places of the first word in both, and those of the second.
    pub(super) first: [usize; 2],
    pub(super) second: [usize; 2],
}

impl<'a> Crossed<'a> {
    fn words(&self, of: [usize; 2]) -> [&'a Word; 2] {
        [0, 1].map(|side| &self.prompts[side].words[of[side]])
    }

    /// Whether their order says nothing of who does what.
    pub(super) fn is_explained(&self) -> bool {
        let both = [self.first, self.second];
        both.into_iter().any(|of| self.turns_passive(of) || self.shapes(of))
            || self.parted()
            || self.locates()
    }

    /// "The Eiffel Tower or Big Ben", "Big Ben or the Eiffel Tower": what is joined changes places as a whole.
    pub(super) fn is_joined(&self) -> bool {
        let [p, q] = self.prompts;
        let (Some(x), Some(y)) =
            (joint(p, self.first[0], self.second[0]), joint(q, self.second[1], self.first[1]))
        else {
            return false;
        };
        // At the same distance from the word that it stands with. A word that is said twice may be paired with its like.
        let moves_along = |side: usize, at: usize, with: [usize; 2]| {
            let there = (at + with[1 - side]).checked_sub(with[side]);
            let said = self.prompts[side].words.get(at);
            let like = there.and_then(|there| self.prompts[1 - side].words.get(there));
            let paired = self.pairs.iter().any(|(i, j, _)| {
                let pair = [*i, *j];
                pair[side] == at && Some(pair[1 - side]) == there
            });
            paired || said.zip(like).is_some_and(|(said, like)| said.stem == like.stem)
        };
        let (first, second) = (self.first, self.second);
        (first[0]..x).all(|at| moves_along(0, at, first))
            && (x..=second[0]).all(|at| moves_along(0, at, second))
            && (second[1]..y).all(|at| moves_along(1, at, second))
            && (y..=first[1]).all(|at| moves_along(1, at, first))
    }

    /// "How do I cancel the order", "how can the order be cancelled": the verb behind its subject, and its particle.
    fn turns_passive(&self, of: [usize; 2]) -> bool {
        let verb = |of: [usize; 2]| {
            let [x, y] = self.words(of);
            // "I stole it" says who did it, "how do I" does not.
            let done = |word: &Word| {
                word.slot == Some(Slot::Done) && !matches!(word.lead.as_str(), "i" | "we" | "you")
            };
            done(x) && undergone(y) || undergone(x) && done(y)
        };
        let [x, y] = self.words(of);
        let particle = PARTICLES.contains(&x.text.as_str()) && x.text == y.text;
        verb(of) || particle && of[0] > 0 && of[1] > 0 && verb([of[0] - 1, of[1] - 1])
    }

    /// "A one-paragraph summary", "summarise it in one paragraph".
    fn shapes(&self, of: [usize; 2]) -> bool {
        let modifies = |side: usize| {
            let [word, next] = [of[side], of[side] + 1].map(|at| self.prompts[side].words.get(at));
            word.zip(next).is_some_and(|(word, next)| next.place == word.place + 1 && next.lead.is_empty())
        };
        // A number between takes the preposition.
        let within = |side: usize| self.words(of)[side].governor == Governor::Other;
        let form = |word: &&Word| word.is(class::POETIC) || word.stem == "line";
        self.words(of).iter().all(form) && (modifies(0) && within(1) || within(0) && modifies(1))
    }

    /// "There is mould on my wall. How do I remove it?": one prompt says before its question what the other says within.
    fn parted(&self) -> bool {
        let told = |side: usize| {
            let [x, y] = [self.first, self.second].map(|of| &self.prompts[side].words[of[side]]);
            let mut small = self.prompts[side].function.iter();
            x.asks != y.asks && small.any(|word| matches!(word.as_str(), "it" | "them"))
        };
        let one = |side: usize| {
            let [x, y] = [self.first, self.second].map(|of| &self.prompts[side].words[of[side]]);
            x.sentence == y.sentence
        };
        told(0) && one(1) || one(0) && told(1)
    }

    /// "In development in React", "in React in development": of two things in one another the order would count, not of a name
    /// or a time.
    fn locates(&self) -> bool {
        let [x, x2] = self.words(self.first);
        let [y, y2] = self.words(self.second);
        let all = [x, y, x2, y2];
        let outer = |word: &&Word| word.name || word.is(class::LANGUAGE | class::REL);
        let behind = |side: usize, before: usize, at: usize| {
            before + 1 == at && led(self.prompts[side], at).first() == Some(&x.lead)
        };
        matches!(x.lead.as_str(), "in" | "on" | "at" | "during" | "for" | "with")
            && all.iter().all(|word| word.lead == x.lead)
            && all.iter().any(outer)
            && behind(0, self.first[0], self.second[0])
            && behind(1, self.second[1], self.first[1])
    }
}

/// What may stand behind a verb and belong to it.
const PARTICLES: [&str; 9] = ["back", "up", "down", "off", "out", "away", "over", "apart", "together"];

/// Whether a word is what is done to something: "is harvested", "be rolled back".
pub(super) fn undergone(word: &Word) -> bool {
    let participle = word.text.ends_with("ed") || word.is(class::PARTICIPLE);
    participle && matches!(word.lead.as_str(), "be" | "been" | "being" | "is" | "are" | "was" | "were")
}

/// The most words of two things that are joined.
const LONGEST: usize = 16;

/// Where the second of two things begins that "and" or "or" joins, and in which the two words stand: "the Eiffel Tower or Big
/// Ben", "a bag of iron or of feathers". Nothing else is between them, and neither is denied.
fn joint(prompt: &Prompt, first: usize, second: usize) -> Option<usize> {
    let words = &prompt.words;
    let run = &words[first..=second];
    if run.len() > LONGEST || run.iter().any(|word| word.sentence != run[0].sentence || word.negated) {
        return None;
    }
    let lead = words[first].lead.as_str();
    let mut joint = None;
    for (at, word) in words.iter().enumerate().take(second + 1).skip(first + 1) {
        let small = led(prompt, at);
        let told = |word: &String| {
            joins(word)
                || matches!(word.as_str(), "a" | "an" | "the")
                || word == lead && (word == "of" || lexicon().class(word) & class::PREPOSITION != 0)
        };
        let joined = small.iter().any(|word| joins(word));
        // A number between them whose place counts takes the lead: "the ratio of 3 cats and 5 dogs".
        let leads = small.iter().rfind(|word| !matches!(word.as_str(), "a" | "an" | "the"));
        if leads.is_some_and(|lead| *lead != word.lead) {
            return None;
        }
        if !small.iter().all(told) || joined == small.is_empty() || joined && joint.replace(at).is_some() {
            return None;
        }
    }
    joint
}

/// The function words between a word and the one before it.
pub(super) fn led(prompt: &Prompt, at: usize) -> &[String] {
    // The place of a word counts both before it.
    let small = |at: usize| usize::from(prompt.words[at].place) - at;
    prompt.function.get(small(at - 1)..small(at)).unwrap_or_default()
}
