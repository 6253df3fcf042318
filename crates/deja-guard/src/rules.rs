//! Facts that speak against one answer for both prompts, and how much each weighs.

use crate::apart::Slot;
use crate::features::{Differences, FEATURES};

/// Where the prompts align almost wholly, one fact is enough; where they are reworded it is a hint.
struct Fact {
    /// The place of the feature in the vector.
    feature: usize,
    /// Taken off the log-odds of the trees: aligned prompts, reworded prompts.
    weight: [f32; 2],
    /// The feature is above this.
    above: f32,
}

const fn fact(feature: &str, aligned: f32, reworded: f32) -> Fact {
    Fact { feature: index(feature), weight: [aligned, reworded], above: 0.0 }
}

const FACTS: [Fact; 28] = [
    fact("num_both", 4.0, 4.0),
    fact("num_one", 0.7, 0.2),
    fact("neg_parity", 1.1, 0.3),
    fact("opposite", 4.5, 2.0),
    fact("axis", 2.5, 0.5),
    fact("negation_lead", 2.0, 0.6),
    fact("superlative", 0.5, 0.0),
    fact("swapped", 4.0, 0.3),
    fact("turned", 3.0, 0.5),
    fact("persons", 5.0, 1.0),
    fact("question_hard", 4.0, 0.5),
    fact("modal_both", 1.5, 0.2),
    fact("quantifier", 4.5, 2.4),
    fact("degree", 4.2, 0.9),
    fact("unit", 3.0, 1.0),
    fact("language", 1.0, 0.3),
    fact("kin_one", 0.5, 0.3),
    fact("form_both", 2.0, 1.0),
    fact("audience_both", 1.5, 1.0),
    fact("code", 8.0, 4.0),
    fact("quantifier_soft", 0.3, 0.0),
    fact("degree_soft", 0.6, 0.0),
    fact("opposite_any", 0.7, 0.3),
    fact("hypothetical", 1.7, 0.0),
    fact("tense", 0.4, 0.0),
    fact("one_sided", 0.4, 0.0),
    fact("foreign_request", 8.0, 8.0),
    // Two content words on either side have no counterpart.
    Fact { feature: UN_LO, weight: [1.0, 0.0], above: 1.5 },
];

type Stands = fn(&Differences) -> bool;

/// Facts that the trees do not read, with what they weigh.
const BESIDE: [(Stands, [f32; 2]); 36] = [
    (|d| d.headed, [4.0, 4.0]),
    (|d| d.negated, [8.0, 8.0]),
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

/// The place of a feature in the vector; a name that none has does not compile.
#[expect(clippy::panic, reason = "it is worked out while it is compiled")]
const fn index(name: &str) -> usize {
    let mut at = 0;
    while at < FEATURES.len() {
        if is(FEATURES[at].as_bytes(), name.as_bytes()) {
            return at;
        }
        at += 1;
    }
    panic!("no feature has this name")
}

const fn is(known: &[u8], name: &[u8]) -> bool {
    if known.len() != name.len() {
        return false;
    }
    let mut at = 0;
    while at < name.len() {
        if known[at] != name[at] {
            return false;
        }
        at += 1;
    }
    true
}

const LEN_HI: usize = index("len_hi");
const CHAR_RATIO: usize = index("char_ratio");
const CONTAIN_LO: usize = index("contain_lo");
const BI_JAC: usize = index("bi_jac");
const UN_LO: usize = index("un_lo");
const UN_HI: usize = index("un_hi");
const NUM_BOTH: usize = index("num_both");
const NEG_PARITY: usize = index("neg_parity");
const OPPOSITE: usize = index("opposite");
const SWAPPED: usize = index("swapped");
const TURNED: usize = index("turned");
const CONVERSE: usize = index("converse");
const PERSONS: usize = index("persons");

/// The score of the trees after the facts: 0 to 1.
pub(crate) fn judged(trees: f32, features: &[f32; FEATURES.len()], differences: &Differences) -> f32 {
    let trees = trees.clamp(1e-6, 1.0 - 1e-6);
    let mut odds = (trees / (1.0 - trees)).ln();
    let words = features[LEN_HI].exp();
    // A long text says much that a fact may belong to: there it is proof only where the rest is nearly the same.
    let near = words <= LONG as f32 || features[BI_JAC] >= 0.5;
    let aligned = near && features[UN_HI] <= (words / 8.0).max(1.0);
    // Who does what to whom shows even where two words were added.
    let roles = aligned || near && features[UN_LO] == 0.0 && features[UN_HI] <= 2.0;
    let hint = if near { 1.0 } else { 16.0 / words };
    let converse = features[CONVERSE] > 0.0;
    for fact in &FACTS {
        let role = matches!(fact.feature, SWAPPED | TURNED | PERSONS);
        if features[fact.feature] > fact.above && !(converse && (role || fact.feature == OPPOSITE)) {
            let number = fact.feature == NUM_BOTH;
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
    let twice = features[CONTAIN_LO] < 0.45 && features[CHAR_RATIO] < 0.45;
    if twice && features[UN_LO] <= 1.0 && features[UN_HI] >= 3.0 {
        odds -= 8.0;
    }
    // "A beats B" and "B loses to A" say the same.
    if converse && aligned && features[NEG_PARITY] == 0.0 && features[NUM_BOTH] == 0.0 {
        odds = odds.max(1.5);
    }
    1.0 / (1.0 + (-odds).exp())
}
