//! What sets two prompts apart of which nearly all words are the same: another kind of one thing, another subject, another
//! time.

use crate::align::{Alignment, Link, light};
use crate::asked::{Asked, Subject};
use crate::lexicon::{class, lexicon, stem};
use crate::prompt::{Governor, Prompt, Word, question};
use crate::rules::LONG;

#[derive(Default, Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Apart {
    /// A credit card and a debit card.
    pub(crate) kind: bool,
    /// One noun in another's place: how surely it is one, its place tells.
    pub(crate) slot: Option<Slot>,
    /// Past and future, may and must, how it came and how it is done, what it is and how one gets it.
    pub(crate) asked: bool,
    /// Who does it: "can I sue my employer", "can my employer sue me".
    pub(crate) subject: bool,
    /// "Make it hotter", "it is too hot".
    pub(crate) wants: bool,
    /// Under another verb who did it has it done: "owls eat snakes", "snakes prey on owls".
    pub(crate) turned: bool,
}

/// Where a noun stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// Behind a preposition: in Ohio, for a cough.
    Governed,
    /// The same of several words: in New Mexico.
    Phrase,
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
        let same = alignment.left.is_empty() && alignment.right.is_empty();
        Self {
            kind: kind(a, b, alignment),
            slot: slot(a, b, alignment),
            asked: asked(&a.asked, &b.asked)
                || came(a, b)
                || came(b, a)
                || same && (thing(a, b) || thing(b, a) || whether(a, b) || whether(b, a))
                || excess(a, b)
                || excess(b, a),
            subject: subject(a, b, alignment, same),
            wants: a.asked.wants.iter().any(|end| b.asked.wants.contains(&-end)),
            turned: turned(a, b, alignment),
        }
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

/// Where what has no counterpart stands in each other's place: one word each, or a few behind a preposition.
fn slot(a: &Prompt, b: &Prompt, alignment: &Alignment) -> Option<Slot> {
    let heavy = |prompt: &Prompt, rest: &[usize]| -> Vec<usize> {
        rest.iter().copied().filter(|at| !light(&prompt.words[*at])).collect()
    };
    let (left, right) = (heavy(a, &alignment.left), heavy(b, &alignment.right));
    let (i, j) = (*left.first()?, *right.first()?);
    let (x, y) = (&a.words[i], &b.words[j]);
    // "Appt" and "appointment" are one; what "has not arrived" one "has not received".
    let before = |at: usize, side: fn(&(usize, usize, Link)) -> usize| {
        alignment.pairs.iter().filter(|pair| side(pair) < at).count()
    };
    if before(i, |pair| pair.0) != before(j, |pair| pair.1)
        || !(x.known && y.known) && x.text.bytes().next() == y.text.bytes().next()
    {
        return None;
    }
    if left.len() + right.len() > 2 {
        let phrases = phrase(a, &alignment.left) && phrase(b, &alignment.right) && same_frame(a, b);
        return phrases.then_some(Slot::Phrase);
    }
    let governed = || {
        let (p, q) = (&a.words[i.checked_sub(1)?], &b.words[j.checked_sub(1)?]);
        let phrase = p.place + 1 == x.place && q.place + 1 == y.place && p.stem == q.stem;
        (phrase && p.slot == Some(Slot::Governed) && q.slot == p.slot).then_some(Slot::Named)
    };
    x.slot.filter(|slot| y.slot == Some(*slot)).or_else(governed)
}

/// Whether the words are up to three in a row, behind a preposition.
fn phrase(prompt: &Prompt, words: &[usize]) -> bool {
    const MOST: usize = 3;
    let word = |at: &usize| &prompt.words[*at];
    words.len() <= MOST
        && words.first().is_some_and(|first| word(first).slot == Some(Slot::Governed))
        && words.windows(2).all(|two| word(&two[0]).place + 1 == word(&two[1]).place)
}

/// Whether both have the same function words but for articles.
fn same_frame(a: &Prompt, b: &Prompt) -> bool {
    let frame = |prompt: &'_ Prompt| -> Vec<String> {
        prompt.function.iter().filter(|word| !matches!(word.as_str(), "a" | "an" | "the")).cloned().collect()
    };
    frame(a) == frame(b)
}

fn asked(a: &Asked, b: &Asked) -> bool {
    matches!((a.time, b.time), (Some(x), Some(y)) if x != y)
        || matches!((a.duty, b.duty), (Some(x), Some(y)) if x != y)
}

/// Whether one asks how it came, and the other how it is done.
fn came(a: &Prompt, b: &Prompt) -> bool {
    a.asked.came && !b.asked.came && a.asked.time != b.asked.time && b.questions & question::HOW != 0
}

/// Whether one asks what a thing is and the other how one gets or uses it.
fn thing(a: &Prompt, b: &Prompt) -> bool {
    a.questions == question::WHAT && !a.asked.deals && b.questions == question::HOW && b.asked.deals
}

/// Whether one asks whether it is so, and the other why, when, where or by whom.
fn whether(a: &Prompt, b: &Prompt) -> bool {
    const CLOSED: u16 =
        question::WHY | question::WHEN | question::WHO | question::HOWLONG | question::HOWMANY;
    const WHETHER: u16 = question::YES | question::CAN | question::MUST | question::SHOULD;
    a.questions != 0 && a.questions & !WHETHER == 0 && b.questions & CLOSED != 0 && b.questions & WHETHER == 0
}

/// Whether one asks if it is too much of what the other asks it to be.
fn excess(a: &Prompt, b: &Prompt) -> bool {
    let Some(stem) = &a.asked.excess else { return false };
    b.asked.excess.is_none() && b.question == question::YES && b.words.iter().any(|word| word.stem == *stem)
}

fn subject(a: &Prompt, b: &Prompt, alignment: &Alignment, same: bool) -> bool {
    let (Some(x), Some(y)) = (&a.asked.subject, &b.asked.subject) else { return false };
    if a.asked.undergoes || b.asked.undergoes || a.asked.gives != b.asked.gives || a.passive != b.passive {
        return false;
    }
    match (x, y) {
        (Subject::Writer(acts), Subject::Reader) | (Subject::Reader, Subject::Writer(acts)) => *acts || same,
        (Subject::Writer(_), Subject::Other(noun, mine)) => {
            other_does_it(a, b, noun, *mine, &alignment.right, same && alignment.left.is_empty())
        }
        (Subject::Other(noun, mine), Subject::Writer(_)) => {
            other_does_it(b, a, noun, *mine, &alignment.left, same && alignment.right.is_empty())
        }
        (Subject::Writer(_), Subject::Who) => same && b.asked.object,
        (Subject::Who, Subject::Writer(_)) => same && a.asked.object,
        _ => false,
    }
}

/// Whether in one prompt the writer does what in the other somebody does that the first speaks of, too: to the writer, or with
/// a preposition before them. "When does my job start" has nobody else in it.
fn other_does_it(
    writer: &Prompt,
    other: &Prompt,
    noun: &str,
    mine: bool,
    alone: &[usize],
    same: bool,
) -> bool {
    if other.asked.writer {
        return false;
    }
    let person = |word: &Word| word.is(class::KIN | class::AUDIENCE);
    let governed = |word: &Word| word.stem == noun && word.governor != Governor::None && word.lead != "as";
    let names = writer.words.iter().any(|word| word.stem == noun);
    same && names && (other.asked.object || writer.words.iter().any(|word| person(word) && governed(word)))
        || mine && matches!(alone, [at] if other.words[*at].stem == noun && person(&other.words[*at]))
}

/// Whether two shared parties changed places around another verb, or around the preposition of what the same verb makes of
/// something.
fn turned(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let symmetric = [a, b].iter().any(|p| p.coordinated || p.words.iter().any(|w| w.is(class::SYMMETRIC)));
    if symmetric || a.passive || b.passive || alignment.left.len() > 1 || alignment.right.len() > 1 {
        return false;
    }
    let target = |word: &Word| {
        word.governor == Governor::To
            || matches!(word.lead.as_str(), "on" | "upon" | "for" | "after" | "against")
    };
    // "Are grapes safe for dogs": what is said of grapes is nothing that they do.
    let is = |word: &Word| lexicon().class(&word.lead) & class::PASSIVE != 0;
    let free = |word: &Word| word.governor == Governor::None && !is(word);
    let converse = |word: &Word| word.is(class::CONVERSE);
    let pairs = &alignment.pairs;
    let verb = |i: usize, j: usize| {
        let unmatched = alignment.left.contains(&i) && alignment.right.contains(&j);
        let linked = pairs.iter().any(|(x, y, link)| (*x, *y) == (i, j) && *link != Link::Same);
        unmatched || linked
    };
    pairs.iter().any(|&(i1, j1, link)| {
        link == Link::Same
            && pairs.iter().any(|&(i2, j2, other)| {
                let (x, y, x2, y2) = (&a.words[i1], &a.words[i2], &b.words[j1], &b.words[j2]);
                let crossed = other == Link::Same && i1 < i2 && j2 < j1;
                let around = i1 + 2 == i2 && j2 + 2 == j1 && verb(i1 + 1, j2 + 1);
                let into = i1 + 1 == i2 && j2 + 1 == j1 && target(y) && target(x2) && y.lead != x2.lead;
                let whole = matches!((&alignment.left[..], &alignment.right[..]), ([], []))
                    || matches!((&alignment.left[..], &alignment.right[..]), ([v], [w])
                        if v + 1 == i1 && w + 1 == j2 && !(converse(&a.words[*v]) || converse(&b.words[*w])));
                crossed
                    && free(x)
                    && free(y2)
                    && (around && (free(y) || target(y)) && (free(x2) || target(x2)) || into && whole)
            })
    })
}
