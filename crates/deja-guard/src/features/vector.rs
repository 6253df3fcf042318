//! What differs between two prompts, as numbers for the trees.

use super::extent::{degrees, quantifier_soft};
use super::questions::{question_hard, requests};
use super::{Differences, words};
use crate::align::Link;
use crate::lexicon::class;
use crate::prompt::{Prompt, Word, question};

macro_rules! features {
    ($($name:ident)*) => {
        /// The features, in the order of the vector.
        #[expect(non_camel_case_types, reason = "these are their names in `data/trees.json`")]
        #[expect(dead_code, reason = "some are for the trees alone")]
        #[derive(Clone, Copy, PartialEq)]
        pub(crate) enum Feature {
            $($name),*
        }
        /// Their names.
        pub(crate) const FEATURES: [&str; 80] = [$(stringify!($name)),*];
    };
}
features! {
    cos len_lo len_hi char_ratio contain_lo contain_hi overlap tri_jac bi_jac
    un_lo un_hi unw_lo unw_hi unmax_lo unmax_hi light_lo light_hi fun_lo fun_hi prep_lo prep_hi num_both
    num_one num_same
    neg_parity neg_diff neg_lo opposite opposite_any synonym related typo derived abbreviated name_both
    name_one inverted swapped turned converse persons
    question_other question_soft ask_both_manner modal poss_diff subject_diff sub_weight quantifier degree
    condition
    form language audience kin superlative time unit tense hypothetical passive code question_hard
    modal_both form_both audience_both kin_one
    negation_lead quantifier_soft degree_soft one_sided attribute_both attribute_one axis asked_lo asked_hi
    asked_weight told_hi requests foreign_request
}

impl Differences {
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
        debug_assert_eq!(values.clone().count(), FEATURES.len(), "each feature has one value");
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
