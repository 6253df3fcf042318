//! What differs between two prompts, as facts for the rules; [`vector`] makes numbers of them.

mod contrary;
mod extent;
mod facing;
mod headed;
mod numbers;
mod questions;
mod vector;

use contrary::{crossed, denied_twice, outweighed, shunned};
use extent::{average, degree, quantifier};
use facing::{governed, instead, letter, lettered, named, times, unlisted};
use numbers::unmatched_numbers;
use questions::{foreign_request, question_other};
pub(crate) use vector::{FEATURES, Feature};

use crate::align::{Alignment, Link, align, light, opposite};
use crate::apart::Apart;
use crate::changed::changed;
use crate::exchange::{Exchange, exchange, priced};
use crate::lexicon::{class, lexicon, stem};
use crate::order::{self, Order};
use crate::places::{reordered, traded};
use crate::point;
use crate::prompt::{Prompt, Word};
use crate::quantity::unit;
use crate::replaced::{replaced, unpaired};

/// What differs between two prompts.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Differences {
    pub(crate) alignment: Alignment,
    pub(crate) order: Order,
    pub(crate) apart: Apart,
    /// Unmatched content words that say something, left and right.
    pub(crate) content: [usize; 2],
    pub(crate) weight: [f32; 2],
    pub(crate) heaviest: [f32; 2],
    pub(crate) light: [usize; 2],
    pub(crate) function: [usize; 2],
    pub(crate) prepositions: [usize; 2],
    pub(crate) numbers: [usize; 2],
    pub(crate) same_numbers: usize,
    /// One says it of the thing and the other of its contrary, negations and negating prefixes counted.
    pub(crate) parity: bool,
    /// A word and its negation by a prefix face each other.
    pub(crate) reversed: bool,
    pub(crate) opposite: bool,
    pub(crate) opposite_any: bool,
    /// One side goes up where the other goes down: "raise" and "cut".
    pub(crate) axis: bool,
    /// Those of the unmatched content words that stand in a sentence that asks.
    pub(crate) asked: [usize; 2],
    pub(crate) asked_weight: f32,
    pub(crate) names: [usize; 2],
    pub(crate) question_other: bool,
    pub(crate) quantifier: bool,
    pub(crate) degree: bool,
    pub(crate) condition: [usize; 2],
    pub(crate) units: bool,
    pub(crate) classes: [u64; 2],
    pub(crate) codes: [usize; 2],
    /// Opposites of which one is a function word or noise: "left" and "right", "even" and "odd".
    pub(crate) contrast: bool,
    /// Words that are paired as if they said the same, and say another kind of it: "dog" and "puppy", "a tenant" and "a tenancy".
    pub(crate) kind: bool,
    /// One denies or shuns what the other says: "charged though I paid", "not charged though I did not pay"; "what to eat", "what to avoid".
    pub(crate) negated: bool,
    /// One compares with something that the other does not name: "the advantages of trains over planes".
    pub(crate) outweighed: bool,
    /// A single capital in another one's place: vitamin A, vitamin D.
    pub(crate) letter: bool,
    /// Another model of the same number: 14, 14 Pro.
    pub(crate) variant: bool,
    /// The answers are to have two units: which year, which month.
    pub(crate) measure: bool,
    /// It cannot be here, and must not be there.
    pub(crate) denied: bool,
    /// The same office at another time: who is, who was.
    pub(crate) tense: bool,
    /// What has no counterpart are names, on both sides.
    pub(crate) named: bool,
    /// Each side has one name behind a preposition, or a time.
    pub(crate) governed: bool,
    /// A noun behind a noun, and nothing else: "a keyboard", "a keyboard cover".
    pub(crate) headed: bool,
    /// One word faces another one, and no list knows either.
    pub(crate) unlisted: bool,
    /// What is done and what is done instead changed places, or two words of which the letters count look alike.
    pub(crate) instead: bool,
    /// The answers are to have two forms: a poem, a table.
    pub(crate) form: bool,
    /// The writer did it, or somebody else; "what eats frogs", "what do frogs eat".
    pub(crate) doer: bool,
    /// What small words set apart: "what is a refund", "what is my refund".
    pub(crate) point: bool,
    /// They ask for two kinds of answer: a time, a number of people.
    pub(crate) answer: bool,
    /// The same but for one part: what is done, to what, where, by whom, under what condition.
    pub(crate) changed: bool,
    /// One thing in another one's place: "Tom Hanks movies", "Brad Pitt movies".
    pub(crate) replaced: bool,
    /// Words in each other's places that nothing pairs.
    pub(crate) unpaired: bool,
    /// The same but for two values in each other's place.
    pub(crate) exchange: Option<Exchange>,
    /// One side asks for something that the other does not speak of: "List five dinosaurs. How tall is ...?"
    pub(crate) foreign_request: bool,
}

impl Differences {
    pub(crate) fn of(a: &Prompt, b: &Prompt) -> Self {
        let mut alignment = align(a, b);
        let (mut numbers, same_numbers) = unmatched_numbers(&a.quantities, &b.quantities);
        if numbers == [0, 0] {
            alignment.left.retain(|word| !priced(a, *word, b));
            alignment.right.retain(|word| !priced(b, *word, a));
        }
        let order = order::compare(a, b, &alignment);
        let (left, right) = (words(a, &alignment.left), words(b, &alignment.right));
        let sides = [&left, &right];
        let heavy = |w: &&&Word| !light(w);
        if traded(&a.quantities, &b.quantities) || reordered(a, b) {
            numbers = numbers.map(|count| count + 1);
        }
        let function = unmatched_function(a, b);
        let pair_opposite = left.iter().any(|x| right.iter().any(|y| opposite(x, y)));
        let against =
            |side: &[&Word], all: &Prompt| side.iter().any(|x| all.words.iter().any(|y| opposite(x, y)));
        let prepositions = function
            .each_ref()
            .map(|list| list.iter().filter(|w| lexicon().class(w) & class::PREPOSITION != 0).count());
        let condition = [extra_condition(&left, &function[0]), extra_condition(&right, &function[1])];
        Self {
            content: sides.map(|s| s.iter().filter(heavy).count()),
            weight: sides.map(|s| s.iter().filter(heavy).map(|w| w.weight).sum()),
            heaviest: sides.map(|s| s.iter().filter(heavy).map(|w| w.weight).fold(0.0, f32::max)),
            light: sides.map(|s| s.iter().filter(|w| light(w)).count()),
            function: function.each_ref().map(Vec::len),
            prepositions,
            numbers,
            same_numbers,
            parity: !(a.negations + b.negations + alignment.count(Link::Negated) as u16).is_multiple_of(2),
            reversed: alignment.count(Link::Negated) > 0,
            opposite: pair_opposite || function_opposite(&function),
            axis: axis(&left, &right),
            asked: sides.map(|s| s.iter().filter(|w| !light(w) && w.asks).count()),
            asked_weight: sides
                .map(|s| s.iter().filter(|w| !light(w) && w.asks).map(|w| w.weight).sum::<f32>())
                .into_iter()
                .fold(0.0, f32::max),
            opposite_any: against(&left, b) || against(&right, a),
            names: sides.map(|s| s.iter().filter(|w| w.name).count()),
            question_other: question_other(a, b),
            quantifier: quantifier(a, b) || average(a, &right) || average(b, &left),
            degree: degree(a, b),
            condition,
            units: left.iter().any(|w| unit(&w.text).is_some())
                && right.iter().any(|w| unit(&w.text).is_some()),
            classes: sides.map(|s| s.iter().fold(0, |all, w| all | w.class)),
            codes: sides.map(|s| s.iter().filter(|w| w.code).count()),
            letter: letter(a, b),
            variant: a.variants != b.variants,
            measure: !a.measures.is_empty()
                && !b.measures.is_empty()
                && a.measures.iter().all(|unit| !b.measures.contains(unit)),
            denied: matches!((a.denied, b.denied), (Some(x), Some(y)) if x != y),
            tense: tense(a, b) && left.is_empty() && right.is_empty(),
            named: named(&left, &right),
            governed: governed(&left, &right) || times(a, b, &left, &right),
            headed: headed::headed(a, b, &alignment),
            unlisted: unlisted(&left, &right),
            instead: instead(a, b, &alignment) || lettered(a, b, &alignment),
            form: a.form.differs(b.form),
            replaced: replaced(a, b, &alignment),
            unpaired: unpaired(a, b, &alignment),
            answer: a.answer.differs(b.answer),
            changed: changed(a, b, &alignment),
            point: point::differs(a, b, &alignment),
            doer: a.voice.differs(&b.voice),
            exchange: exchange(a, b, &alignment),
            contrast: contrast(a, b, [&left, &right]),
            kind: alignment.pairs.iter().any(|(i, j, link)| {
                let (x, y) = (&a.words[*i], &b.words[*j]);
                *link != Link::Same && lexicon().contrasts(&x.stem).contains(&y.stem)
                    || *link == Link::Derived && x.single && y.single && !(narrows(a, *i) || narrows(b, *j))
            }),
            negated: denied_twice(a, b, &alignment)
                || crossed(a, b, &alignment)
                || shunned(a, b, &left, &right),
            outweighed: outweighed(a, b, &left, &right),
            foreign_request: foreign_request(a, &alignment.left) || foreign_request(b, &alignment.right),
            apart: Apart::of(a, b, &alignment),
            alignment,
            order,
        }
    }

    /// Whether a word of `class` stands on each side alone.
    pub(crate) fn both(&self, class: u64) -> bool {
        self.classes[0] & class != 0 && self.classes[1] & class != 0
    }

    /// Whether a word of `class` stands on either side alone.
    pub(crate) fn either(&self, class: u64) -> bool {
        (self.classes[0] | self.classes[1]) & class != 0
    }
}

fn words<'a>(prompt: &'a Prompt, indices: &[usize]) -> Vec<&'a Word> {
    indices.iter().map(|i| &prompt.words[*i]).collect()
}

fn unmatched_function<'p>(a: &'p Prompt, b: &'p Prompt) -> [Vec<&'p str>; 2] {
    let only = |x: &'p Prompt, y: &Prompt| {
        let mut rest: Vec<&str> = y.function.iter().map(String::as_str).collect();
        x.function
            .iter()
            .map(String::as_str)
            .filter(|w| lexicon().class(w) & class::IDLE == 0)
            .filter(|w| match rest.iter().position(|o| o == w) {
                Some(at) => {
                    rest.swap_remove(at);
                    false
                }
                None => true,
            })
            .collect::<Vec<_>>()
    };
    [only(a, b), only(b, a)]
}

/// Function words that are opposites: before and after, on and off.
fn function_opposite(function: &[Vec<&str>; 2]) -> bool {
    let [left, right] =
        function.each_ref().map(|list| list.iter().map(|word| stem(word)).collect::<Vec<_>>());
    left.iter().any(|x| right.iter().any(|y| lexicon().opposite(x, y)))
}

/// Whether another content word follows at once: "a driving licence".
fn narrows(prompt: &Prompt, at: usize) -> bool {
    prompt.words.get(at + 1).is_some_and(|next| next.place == prompt.words[at].place + 1)
}

/// Whether a function word or noise of one prompt has its opposite or its contrast among what the other has alone, or a content
/// word that has no counterpart its contrast.
fn contrast(a: &Prompt, b: &Prompt, unmatched: [&[&Word]; 2]) -> bool {
    let alone = |x: &[String], y: &[String]| -> Vec<String> {
        x.iter().filter(|word| !y.contains(word)).cloned().collect()
    };
    let sides = [alone(&a.contrasts, &b.contrasts), alone(&b.contrasts, &a.contrasts)];
    let against = |x: &[String], y: &[String], words: &[&Word]| {
        let others = || y.iter().chain(words.iter().map(|word| &word.stem));
        x.iter().any(|word| {
            let contrasts = lexicon().contrasts(word);
            others().any(|other| contrasts.contains(other) || lexicon().opposite(word, other))
        })
    };
    let between = |x: &Word| {
        let contrasts = lexicon().contrasts(&x.stem);
        !contrasts.is_empty() && unmatched[1].iter().any(|y| contrasts.contains(&y.stem))
    };
    against(&sides[0], &sides[1], unmatched[1])
        || against(&sides[1], &[], unmatched[0])
        || unmatched[0].iter().any(|x| between(x))
}

/// Whether words of two sides lie at the two ends of one axis.
fn axis(left: &[&Word], right: &[&Word]) -> bool {
    let ends =
        |words: &[&Word]| words.iter().flat_map(|w| lexicon().axes(&w.stem)).copied().collect::<Vec<_>>();
    let right = ends(right);
    !right.is_empty() && ends(left).iter().any(|end| right.contains(&-end))
}

/// Unmatched words that a condition leads in: "without a receipt", "in a microwave", "if it is sick".
fn extra_condition(words: &[&Word], function: &[&str]) -> usize {
    words
        .iter()
        .filter(|w| {
            !light(w)
                && (function.contains(&w.lead.as_str()) && lexicon().class(&w.lead) & class::CONDITION != 0
                    || w.negated)
        })
        .count()
}

/// Whether one asks who is, and the other who was or will be, in an office that changes hands. With a year or a number both
/// say when, whatever the tense.
fn tense(a: &Prompt, b: &Prompt) -> bool {
    let office = |prompt: &Prompt| prompt.words.iter().any(|word| word.is(class::OFFICE));
    let dated = |prompt: &Prompt| prompt.quantities.iter().any(|quantity| !quantity.optional);
    // "Who was the first president?"
    let ordinal = |prompt: &Prompt| prompt.quantifiers & class::FIRST != 0;
    (a.past != b.past || a.future != b.future)
        && office(a)
        && office(b)
        && !(dated(a) && dated(b))
        && !(ordinal(a) && ordinal(b))
}
