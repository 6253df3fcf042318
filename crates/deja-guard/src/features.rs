//! What differs between two prompts, as facts for the rules and as numbers for the trees.

mod extent;
mod facing;
mod questions;

use extent::{average, degree, degrees, quantifier, quantifier_soft};
use facing::{governed, instead, letter, lettered, named, times, unlisted};
use questions::{foreign_request, question_hard, question_other, requests};

use crate::align::{Alignment, Link, align, light, opposite};
use crate::apart::Apart;
use crate::changed::changed;
use crate::exchange::{Exchange, exchange, priced};
use crate::lexicon::{class, lexicon, stem};
use crate::order::{self, Order};
use crate::places::{reordered, traded};
use crate::point;
use crate::prompt::{Prompt, WORDS, Word, question};
use crate::quantity::{Dimension, Quantity, unit};
use crate::replaced::replaced;

/// The names of the features, in the order of the vector.
pub(crate) const FEATURES: [&str; 80] = [
    "cos",
    "len_lo",
    "len_hi",
    "char_ratio",
    "contain_lo",
    "contain_hi",
    "overlap",
    "tri_jac",
    "bi_jac",
    "un_lo",
    "un_hi",
    "unw_lo",
    "unw_hi",
    "unmax_lo",
    "unmax_hi",
    "light_lo",
    "light_hi",
    "fun_lo",
    "fun_hi",
    "prep_lo",
    "prep_hi",
    "num_both",
    "num_one",
    "num_same",
    "neg_parity",
    "neg_diff",
    "neg_lo",
    "opposite",
    "opposite_any",
    "synonym",
    "related",
    "typo",
    "derived",
    "abbreviated",
    "name_both",
    "name_one",
    "inverted",
    "swapped",
    "turned",
    "converse",
    "persons",
    "question_other",
    "question_soft",
    "ask_both_manner",
    "modal",
    "poss_diff",
    "subject_diff",
    "sub_weight",
    "quantifier",
    "degree",
    "condition",
    "form",
    "language",
    "audience",
    "kin",
    "superlative",
    "time",
    "unit",
    "tense",
    "hypothetical",
    "passive",
    "code",
    "question_hard",
    "modal_both",
    "form_both",
    "audience_both",
    "kin_one",
    "negation_lead",
    "quantifier_soft",
    "degree_soft",
    "one_sided",
    "attribute_both",
    "attribute_one",
    "axis",
    "asked_lo",
    "asked_hi",
    "asked_weight",
    "told_hi",
    "requests",
    "foreign_request",
];

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
    /// Words that are paired as if they said the same, and say another kind of it: "dog" and "puppy".
    pub(crate) kind: bool,
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
    /// The same but for two words of a kind in each other's place.
    pub(crate) exchanged: bool,
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
            unlisted: unlisted(&left, &right),
            instead: instead(a, b, &alignment) || lettered(a, b, &alignment),
            form: a.form.differs(b.form),
            replaced: replaced(a, b, &alignment),
            answer: a.answer.differs(b.answer),
            changed: changed(a, b, &alignment),
            point: point::differs(a, b, &alignment),
            doer: a.voice.differs(&b.voice),
            exchange: exchange(a, b, &alignment),
            exchanged: order::exchanged([&left, &right], [a, b]),
            contrast: contrast(a, b, [&left, &right]),
            kind: alignment.pairs.iter().any(|(i, j, link)| {
                let contrasts = lexicon().contrasts(&a.words[*i].stem);
                *link != Link::Same && contrasts.contains(&b.words[*j].stem)
            }),
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

    /// The features of the pair, in the order of their names; the same for both orders of the two.
    pub(crate) fn vector(&self, a: &Prompt, b: &Prompt, cosine: f32) -> [f32; FEATURES.len()] {
        let values = self
            .shared(a, b, cosine)
            .into_iter()
            .chain(self.unmatched())
            .chain(self.facts(a, b))
            .chain(self.asking(a, b))
            .chain(self.classed(a, b))
            .chain(self.hints(a, b));
        let mut vector = [0.0; FEATURES.len()];
        for (feature, value) in vector.iter_mut().zip(values) {
            *feature = value;
        }
        vector
    }

    /// `cos` to `bi_jac`: how much both have in common.
    fn shared(&self, a: &Prompt, b: &Prompt, cosine: f32) -> [f32; 9] {
        let total =
            |p: &Prompt| p.words.iter().map(|w| w.weight).sum::<f32>() + 0.6 * p.quantities.len() as f32;
        let words = self.alignment.pairs.iter().map(|(i, j, link)| {
            let part = match link {
                Link::Same => 1.0,
                Link::Related => 0.7,
                Link::Negated => 0.5,
                _ => 0.9,
            };
            part * a.words[*i].weight.min(b.words[*j].weight)
        });
        let shared = words.sum::<f32>() + 0.6 * self.same_numbers as f32;
        let (ta, tb) = (total(a).max(0.01), total(b).max(0.01));
        let contain = sorted([(shared / ta).min(1.0), (shared / tb).min(1.0)]);
        let length = sorted([a, b].map(|prompt| (1.0 + prompt.length as f32).ln()));
        let letters = sorted([a, b].map(|prompt| prompt.key.len() as f32));
        [
            cosine,
            length[0],
            length[1],
            letters[0] / letters[1].max(1.0),
            contain[0],
            contain[1],
            shared / (ta + tb - shared).max(0.01),
            jaccard(&a.trigrams, &b.trigrams),
            bigrams(a, b),
        ]
    }

    /// `un_lo` to `num_same`: what has no counterpart.
    fn unmatched(&self) -> [f32; 15] {
        let (un, weight, heaviest) = (counts(self.content), sorted(self.weight), sorted(self.heaviest));
        let (light, function, prepositions) =
            (counts(self.light), counts(self.function), counts(self.prepositions));
        [
            un[0],
            un[1],
            weight[0],
            weight[1],
            heaviest[0],
            heaviest[1],
            light[0],
            light[1],
            function[0],
            function[1],
            prepositions[0],
            prepositions[1],
            flag(both(self.numbers)),
            flag(either(self.numbers)),
            self.same_numbers as f32,
        ]
    }

    /// `neg_parity` to `persons`: negations, opposites, how words are linked, names and order.
    fn facts(&self, a: &Prompt, b: &Prompt) -> [f32; 17] {
        let links = |link| self.alignment.count(link) as f32;
        [
            flag(self.parity),
            f32::from(a.negations.abs_diff(b.negations)),
            f32::from(a.negations.min(b.negations)),
            flag(self.opposite || self.reversed && self.parity),
            flag(self.opposite_any),
            links(Link::Synonym),
            links(Link::Related),
            links(Link::Typo),
            links(Link::Derived),
            links(Link::Abbreviated),
            flag(both(self.names)),
            flag(either(self.names)),
            self.order.inverted,
            flag(self.order.swapped),
            f32::from(self.order.turned),
            flag(self.order.converse),
            flag(self.order.persons),
        ]
    }

    /// `question_other` to `condition`: what is asked, and of how much.
    fn asking(&self, a: &Prompt, b: &Prompt) -> [f32; 10] {
        let manner =
            |p: &Prompt| p.question & (question::HOW | question::WHAT | question::DO | question::CAN) != 0;
        let possessives = |p: &Prompt| {
            let mut list = p.possessives.clone();
            list.sort_unstable();
            list.dedup();
            list
        };
        let one = self.content == [1, 1];
        [
            flag(self.question_other),
            flag(a.question != b.question),
            flag(manner(a) && manner(b)),
            flag((a.questions & MODAL) != (b.questions & MODAL)),
            flag(possessives(a) != possessives(b)),
            f32::from(a.subjects.abs_diff(b.subjects)),
            if one { self.heaviest[0].min(self.heaviest[1]) } else { -1.0 },
            flag(self.quantifier),
            flag(self.degree),
            (self.condition[0] + self.condition[1]) as f32,
        ]
    }

    /// `form` to `kin_one`: the classes of what has no counterpart, tenses and voices.
    fn classed(&self, a: &Prompt, b: &Prompt) -> [f32; 16] {
        let superlative =
            |w: &Word| w.text.len() > 4 && w.text.ends_with("est") && w.known || w.is(class::SUPERLATIVE);
        let modal = [a, b].map(|prompt| prompt.questions & MODAL);
        [
            flag(self.either(class::POETIC)) + flag(self.either(class::TONE)),
            flag(self.both(class::LANGUAGE)) + flag(self.either(class::LANGUAGE)),
            flag(self.either(class::AUDIENCE)),
            flag(self.either(class::KIN)),
            flag(self.alone(a, b).any(superlative)),
            flag(self.either(class::REL)),
            flag(self.units),
            flag(a.past != b.past) + flag(a.future != b.future),
            flag(a.hypothetical != b.hypothetical),
            flag(a.passive != b.passive),
            counts(self.codes)[0],
            flag(question_hard(a, b)),
            flag(modal[0] != 0 && modal[1] != 0 && modal[0] & modal[1] == 0),
            flag(self.both(class::POETIC)) + flag(self.both(class::TONE)),
            flag(self.both(class::AUDIENCE)),
            flag((self.classes[0] & class::KIN != 0) != (self.classes[1] & class::KIN != 0)),
        ]
    }

    /// `negation_lead` to `foreign_request`: what is a hint alone.
    fn hints(&self, a: &Prompt, b: &Prompt) -> [f32; 13] {
        let asked = counts(self.asked);
        [
            flag(self.alone(a, b).any(|w| w.negated)),
            flag(quantifier_soft(a, b)),
            flag(degrees(a) != degrees(b)),
            flag(self.content.contains(&0) && sorted(self.weight)[1] > 0.5),
            flag(self.both(class::ATTRIBUTE)),
            flag((self.classes[0] & class::ATTRIBUTE != 0) != (self.classes[1] & class::ATTRIBUTE != 0)),
            flag(self.axis),
            asked[0],
            asked[1],
            self.asked_weight,
            (self.content[0] - self.asked[0]).max(self.content[1] - self.asked[1]) as f32,
            requests(a).abs_diff(requests(b)) as f32,
            flag(self.foreign_request),
        ]
    }

    /// The words that have no counterpart, those of `a` first.
    fn alone<'a>(&self, a: &'a Prompt, b: &'a Prompt) -> impl Iterator<Item = &'a Word> {
        words(a, &self.alignment.left).into_iter().chain(words(b, &self.alignment.right))
    }
}

const MODAL: u16 = question::CAN | question::MUST | question::SHOULD;

fn flag(b: bool) -> f32 {
    f32::from(u8::from(b))
}

fn sorted([x, y]: [f32; 2]) -> [f32; 2] {
    if x <= y { [x, y] } else { [y, x] }
}

fn counts(counts: [usize; 2]) -> [f32; 2] {
    sorted(counts.map(|count| count as f32))
}

fn both(counts: [usize; 2]) -> bool {
    counts[0] > 0 && counts[1] > 0
}

/// Whether one of them is not 0, and the other is.
fn either(counts: [usize; 2]) -> bool {
    (counts[0] > 0) != (counts[1] > 0)
}

fn words<'a>(prompt: &'a Prompt, indices: &[usize]) -> Vec<&'a Word> {
    indices.iter().map(|i| &prompt.words[*i]).collect()
}

/// Numbers that only one side has, and how many both have.
fn unmatched_numbers(a: &[Quantity], b: &[Quantity]) -> ([usize; 2], usize) {
    // A table in one word, "1.2.3" and so on: its order is compared, not each number with each.
    if a.len().max(b.len()) > WORDS {
        let same = a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same(y));
        return if same { ([0, 0], a.len()) } else { ([1, 1], 0) };
    }
    let mut rest: Vec<&Quantity> = b.iter().collect();
    let mut same = 0;
    let mut left = 0;
    // 4 + 4 + 4 is not 4 + 4, nor 10.0.1.1 what 10.0.0.1 is.
    let listed = |list: &[Quantity]| list.iter().any(|quantity| quantity.listed);
    let counts = listed(a) && listed(b);
    let mut repeated = false;
    for quantity in a {
        if let Some(at) = rest.iter().position(|other| quantity.same(other)) {
            rest.swap_remove(at);
            same += 1;
        } else if !quantity.optional {
            // Said twice on this side: "25K (Rs 25,000)".
            left += usize::from(!b.iter().any(|other| quantity.same(other)));
            repeated |= counts && quantity.listed;
        }
    }
    // "One ticket" against "two tickets".
    let ones = |list: &[Quantity]| list.iter().any(|q| q.optional && q.dimension == Dimension::Plain);
    left += usize::from(
        left == 0 && ones(a) && rest.iter().any(|q| !q.optional && q.dimension == Dimension::Plain),
    );
    let right = rest.iter().filter(|q| !q.optional && !a.iter().any(|other| other.same(q))).count();
    repeated |= counts && rest.iter().any(|quantity| quantity.listed && !quantity.optional);
    ([left, right].map(|count| count + usize::from(repeated)), same)
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
    (a.past != b.past || a.future != b.future) && office(a) && office(b) && !(dated(a) && dated(b))
}

fn jaccard(a: &[u32], b: &[u32]) -> f32 {
    let (mut i, mut j, mut same) = (0, 0, 0usize);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, same) = (i + 1, j + 1, same + 1),
        }
    }
    same as f32 / (a.len() + b.len() - same).max(1) as f32
}

/// Share of neighbouring stems that both prompts have.
fn bigrams(a: &Prompt, b: &Prompt) -> f32 {
    let pairs = |p: &Prompt| p.words.len().saturating_sub(1);
    let two = |w: &[Word], v: &[Word]| w[0].stem == v[0].stem && w[1].stem == v[1].stem;
    let same = a.words.windows(2).filter(|w| b.words.windows(2).any(|v| two(w, v))).count();
    same as f32 / (pairs(a) + pairs(b)).saturating_sub(same).max(1) as f32
}
