//! What sets two prompts apart of which nearly all words are the same: another kind of one thing, another noun.

use crate::align::{Alignment, Link, light};
use crate::lexicon::{class, lexicon, stem};
use crate::prompt::Prompt;
use crate::rules::LONG;

#[derive(Default, Clone, Copy, Debug)]
pub(crate) struct Apart {
    /// A credit card and a debit card.
    pub(crate) kind: bool,
    /// One noun in another's place: how surely it is one, its place tells.
    pub(crate) slot: Option<Slot>,
}

/// Where a noun stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// Behind a preposition: in Ohio, for a cough.
    Governed,
    /// Behind an auxiliary, where the subject is, or another word that is in such a place.
    Named,
    /// Behind an article or a possessive, no preposition before it.
    Determined,
}

impl Slot {
    /// The place behind these function words.
    pub(crate) fn behind(words: &[String]) -> Option<Self> {
        let determines = |word: &str| {
            matches!(word, "a" | "an" | "the" | "this" | "that")
                || lexicon().class(word) & class::POSSESSIVE != 0
        };
        let before = words.iter().rposition(|word| !determines(word)).map(|at| words[at].as_str());
        let determined = words.last().is_some_and(|word| determines(word));
        let class = before.map_or(0, |word| lexicon().class(word));
        // "To" stands before verbs, too.
        if class & class::PREPOSITION != 0 && (determined || before != Some("to")) {
            Some(Self::Governed)
        } else if determined {
            Some(Self::Determined)
        } else {
            (class & class::AUXILIARY != 0).then_some(Self::Named)
        }
    }
}

impl Apart {
    pub(crate) fn of(a: &Prompt, b: &Prompt, alignment: &Alignment) -> Self {
        Self { kind: kind(a, b, alignment), slot: slot(a, b, alignment) }
    }
}

/// Whether each says what is another kind of what the other says in its place. Words of the lists of synonyms are paired.
fn kind(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let alone = |x: &'_ Prompt, y: &Prompt, rest: &[usize]| -> Vec<String> {
        let noise = x.contrasts.iter().filter(|word| !y.contrasts.contains(word)).cloned();
        let small = x.function.iter().filter(|word| !y.function.contains(word)).map(|word| stem(word));
        noise.chain(small).chain(rest.iter().map(|at| x.words[*at].stem.clone())).collect()
    };
    if a.length.max(b.length) > LONG {
        return false;
    }
    let (left, right) = (alone(a, b, &alignment.left), alone(b, a, &alignment.right));
    left.iter().any(|x| right.iter().any(|y| lexicon().other_kind(x, y)))
        || alignment.pairs.iter().any(|(i, j, link)| {
            *link != Link::Same && lexicon().other_kind(&a.words[*i].stem, &b.words[*j].stem)
        })
}

/// Where two words that have no counterpart stand in each other's place, the only ones that differ.
fn slot(a: &Prompt, b: &Prompt, alignment: &Alignment) -> Option<Slot> {
    let heavy = |prompt: &Prompt, rest: &[usize]| -> Vec<usize> {
        rest.iter().copied().filter(|at| !light(&prompt.words[*at])).collect()
    };
    let (left, right) = (heavy(a, &alignment.left), heavy(b, &alignment.right));
    let ([i], [j]) = (&left[..], &right[..]) else { return None };
    let (x, y) = (&a.words[*i], &b.words[*j]);
    // "Appt" and "appointment" are one; what "has not arrived" one "has not received".
    let before = |at: usize, side: fn(&(usize, usize, Link)) -> usize| {
        alignment.pairs.iter().filter(|pair| side(pair) < at).count()
    };
    if before(*i, |pair| pair.0) != before(*j, |pair| pair.1)
        || !(x.known && y.known) && x.text.bytes().next() == y.text.bytes().next()
    {
        return None;
    }
    let governed = || {
        let (p, q) = (&a.words[i.checked_sub(1)?], &b.words[j.checked_sub(1)?]);
        let phrase = p.place + 1 == x.place && q.place + 1 == y.place && p.stem == q.stem;
        (phrase && p.slot == Some(Slot::Governed) && q.slot == p.slot).then_some(Slot::Named)
    };
    x.slot.filter(|slot| y.slot == Some(*slot)).or_else(governed)
}
