//! Facts that speak against one answer for both prompts, and how much each weighs.

use crate::apart::Slot;
use crate::features::{Differences, FEATURES, Feature};

/// Where the prompts align almost wholly, one fact is enough; where they are reworded it is a hint.
struct Fact {
    feature: Feature,
    /// Taken off the log-odds of the trees: aligned prompts, reworded prompts.
    weight: [f32; 2],
    /// The feature is above this.
    above: f32,
}

const fn fact(feature: Feature, aligned: f32, reworded: f32) -> Fact {
    Fact { feature, weight: [aligned, reworded], above: 0.0 }
}

const FACTS: [Fact; 28] = [
    fact(Feature::num_both, 4.0, 4.0),
    fact(Feature::num_one, 0.7, 0.2),
    fact(Feature::neg_parity, 1.1, 0.3),
    fact(Feature::opposite, 4.5, 2.0),
    fact(Feature::axis, 2.5, 0.5),
    fact(Feature::negation_lead, 2.0, 0.6),
    fact(Feature::superlative, 0.5, 0.0),
    fact(Feature::swapped, 4.0, 0.3),
    fact(Feature::turned, 3.0, 0.5),
    fact(Feature::persons, 5.0, 1.0),
    fact(Feature::question_hard, 4.0, 0.5),
    fact(Feature::modal_both, 1.5, 0.2),
    fact(Feature::quantifier, 4.5, 2.4),
    fact(Feature::degree, 4.2, 0.9),
    fact(Feature::unit, 3.0, 1.0),
    fact(Feature::language, 1.0, 0.3),
    fact(Feature::kin_one, 0.5, 0.3),
    fact(Feature::form_both, 2.0, 1.0),
    fact(Feature::audience_both, 1.5, 1.0),
    fact(Feature::code, 8.0, 4.0),
    fact(Feature::quantifier_soft, 0.3, 0.0),
    fact(Feature::degree_soft, 0.6, 0.0),
    fact(Feature::opposite_any, 0.7, 0.3),
    fact(Feature::hypothetical, 1.7, 0.0),
    fact(Feature::tense, 0.4, 0.0),
    fact(Feature::one_sided, 0.4, 0.0),
    fact(Feature::foreign_request, 8.0, 8.0),
    // Two content words on either side have no counterpart.
    Fact { feature: Feature::un_lo, weight: [1.0, 0.0], above: 1.5 },
];

type Stands = fn(&Differences) -> bool;

/// Facts that the trees do not read, with what they weigh.
const BESIDE: [(Stands, [f32; 2]); 37] = [
    (|d| d.headed, [4.0, 4.0]),
    (|d| d.negated, [8.0, 8.0]),
    (|d| d.outweighed, [7.0, 4.0]),
    // "401k" is read as an amount, and "403b" as a name.
    (|d| d.numbers[0] > 0 && d.codes[1] > 0 || d.numbers[1] > 0 && d.codes[0] > 0, [8.0, 4.0]),
    (|d| d.variant, [7.0, 2.0]),
    (|d| d.letter, [7.0, 2.0]),
    (|d| d.contrast, [4.5, 0.0]),
    (|d| d.kind, [7.0, 0.0]),
    (|d| d.apart.kind, [7.0, 2.0]),
    (|d| d.apart.slot == Some(Slot::Governed), [6.0, 0.0]),
    (|d| d.apart.slot == Some(Slot::Phrase), [6.0, 6.0]),
    (|d| d.apart.slot == Some(Slot::Named), [3.0, 0.0]),
    (|d| d.apart.slot == Some(Slot::Determined), [2.0, 0.0]),
    (|d| d.apart.slot == Some(Slot::Done), [2.0, 0.0]),
    (|d| d.apart.slot == Some(Slot::Last), [2.0, 0.0]),
    (|d| d.apart.narrowed, [5.0, 5.0]),
    (|d| d.apart.asked, [6.0, 0.0]),
    (|d| d.apart.paced, [7.0, 3.0]),
    (|d| d.apart.subject, [7.0, 0.0]),
    (|d| d.apart.wants, [6.0, 4.0]),
    (|d| d.apart.turned, [7.0, 7.0]),
    (|d| d.order.doers, [7.0, 0.0]),
    (|d| d.order.able, [7.0, 0.0]),
    (|d| d.denied, [7.0, 0.0]),
    (|d| d.measure, [7.0, 7.0]),
    (|d| d.tense, [4.5, 0.0]),
    (|d| d.named, [7.0, 7.0]),
    (|d| d.governed, [7.0, 7.0]),
    (|d| d.instead, [8.0, 8.0]),
    (|d| d.unlisted, [7.0, 0.0]),
    (|d| d.form, [7.0, 7.0]),
    (|d| d.doer, [16.0, 16.0]),
    (|d| d.point, [16.0, 16.0]),
    (|d| d.replaced, [8.0, 8.0]),
    (|d| d.answer, [8.0, 8.0]),
    (|d| d.changed, [8.0, 8.0]),
    (|d| d.exchange.is_some(), [8.0, 8.0]),
];

/// Prompts of more words than this are long.
pub(crate) const LONG: usize = 20;

/// The score of the trees after the facts: 0 to 1.
pub(crate) fn judged(trees: f32, features: &[f32; FEATURES.len()], differences: &Differences) -> f32 {
    let trees = trees.clamp(1e-6, 1.0 - 1e-6);
    let mut odds = (trees / (1.0 - trees)).ln();
    let value = |feature: Feature| features[feature as usize];
    let words = value(Feature::len_hi).exp();
    // A long text says much that a fact may belong to: there it is proof only where the rest is nearly the same.
    let near = words <= LONG as f32 || value(Feature::bi_jac) >= 0.5;
    let aligned = near && value(Feature::un_hi) <= (words / 8.0).max(1.0);
    // Who does what to whom shows even where two words were added.
    let roles = aligned || near && value(Feature::un_lo) == 0.0 && value(Feature::un_hi) <= 2.0;
    let hint = if near { 1.0 } else { 16.0 / words };
    let converse = value(Feature::converse) > 0.0;
    for fact in &FACTS {
        let role = matches!(fact.feature, Feature::swapped | Feature::turned | Feature::persons);
        if value(fact.feature) > fact.above && !(converse && (role || fact.feature == Feature::opposite)) {
            let number = fact.feature == Feature::num_both;
            odds -= match (if role { roles } else { aligned }, number) {
                (true, _) => fact.weight[0],
                (false, true) => fact.weight[1],
                (false, false) => fact.weight[1] * hint,
            };
        }
    }
    for (stands, weight) in BESIDE {
        if stands(differences) {
            odds -= if aligned { weight[0] } else { weight[1] };
        }
    }
    // One says what the other does and as much again: another request beside it, or a suffix made to lie near it.
    let twice = value(Feature::contain_lo) < 0.45 && value(Feature::char_ratio) < 0.45;
    if twice && value(Feature::un_lo) <= 1.0 && value(Feature::un_hi) >= 3.0 {
        odds -= 8.0;
    }
    // "A beats B" and "B loses to A" say the same.
    if converse && aligned && value(Feature::neg_parity) == 0.0 && value(Feature::num_both) == 0.0 {
        odds = odds.max(1.5);
    }
    1.0 / (1.0 + (-odds).exp())
}
