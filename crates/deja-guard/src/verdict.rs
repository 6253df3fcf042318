//! The verdict on a candidate and its reason.

use std::fmt;
use std::ops::RangeInclusive;

use crate::align::{Alignment, align};
use crate::beside::{Part, beside_same_text};
use crate::exchange::Exchange;
use crate::features::Differences;
use crate::foreign::{self, Unproved};
use crate::lexicon::class;
use crate::list::values;
use crate::literal::respelled;
use crate::prompt::{Governor, Prompt};
use crate::{rules, trees};

/// How strict the guard is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strictness {
    /// Few right answers are lost.
    #[default]
    Standard,
    /// Few wrong answers pass.
    Strict,
}

/// Why a candidate was refused: the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Numbers, amounts, dates or versions differ.
    Numbers,
    /// One prompt says it, the other denies it; or one says "all", the other "none".
    Negation,
    /// Opposite words: enable and disable.
    Opposite,
    /// Different names, languages or models.
    Name,
    /// The same words in other roles: "from A to B", "from B to A".
    Order,
    /// One prompt adds a condition or a limit.
    ExtraCondition,
    /// The words differ too much.
    Words,
    /// A model that reads both prompts takes them for two questions.
    Meaning,
}

impl Reason {
    /// The reason as the interface says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Negation => "negation",
            Self::Opposite => "opposite",
            Self::Name => "name",
            Self::Order => "order",
            Self::ExtraCondition => "extra condition",
            Self::Words => "words",
            Self::Meaning => "meaning",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The verdict of the guard on a candidate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict {
    /// `None`: the answer may be served.
    pub refused: Option<Reason>,
    /// How sure the guard is that one answer serves both prompts, 0 to 1. 1 for the same text.
    pub score: f32,
    /// Whether the words leave the question open, so that a model that understands them should be asked.
    pub uncertain: bool,
}

impl Verdict {
    const PASS: Self = Self { refused: None, score: 1.0, uncertain: false };
    /// Nothing proves it, and nothing speaks against it.
    const UNPROVED: Self = Self { refused: Some(Reason::Words), score: 0.0, uncertain: true };
}

/// Scores that leave it open. Below, one pair of five is right; above, three of four are (ADR 51). Strict refuses those
/// too, so that they are worth a question.
const fn uncertain(strictness: Strictness) -> RangeInclusive<f32> {
    match strictness {
        Strictness::Standard => 0.10..=0.50,
        Strictness::Strict => 0.10..=0.70,
    }
}

/// Below this threshold nothing is refused but what is not literally the same: no threshold tells that apart.
pub const LOWEST_THRESHOLD: f32 = 0.75;

/// The score a pair needs at thresholds 0.75, 0.80, 0.85, 0.90 and 0.95; linear between them.
const STANDARD: [f32; 5] = [0.18, 0.18, 0.18, 0.26, 0.32];
const STRICT: [f32; 5] = [0.70, 0.70, 0.70, 0.72, 0.76];

/// Added to it for a pair whose vectors are further apart than [`NEAR`]: there are fewer right ones.
const NEAR: f32 = 0.85;
const FAR_EXTRA: f32 = 0.14;

/// The score that a pair of prompts needs, the longer one of `words` words.
fn required(cosine: f32, threshold: f32, strictness: Strictness, words: usize) -> f32 {
    let table = match strictness {
        Strictness::Standard => STANDARD,
        Strictness::Strict => STRICT,
    };
    let place = ((threshold - LOWEST_THRESHOLD) / 0.05).clamp(0.0, 4.0);
    let low = (place as usize).min(3);
    let base = table[low] + (table[low + 1] - table[low]) * (place - low as f32);
    let base = base + FAR_EXTRA * ((NEAR - cosine) / 0.05).clamp(0.0, 1.0);
    // The trees learnt from short prompts: the longer the text, the less they say.
    base * (16.0 / words.max(1) as f32).min(1.0)
}

/// Judges whether the answer to `candidate` may be served for `asked`.
///
/// `cosine` is the similarity of their vectors, `threshold` the project's. The guard can only refuse: a candidate
/// below the threshold is the caller's to drop. The same text, case and punctuation aside, always passes. What is literal
/// must be the same in both; with that, everything passes below [`LOWEST_THRESHOLD`]. Both orders of the prompts give the
/// same verdict.
pub fn judge(
    asked: &Prompt,
    candidate: &Prompt,
    cosine: f32,
    threshold: f32,
    strictness: Strictness,
) -> Verdict {
    // A fence around the same lines says nothing.
    let fenced = |prompt: &Prompt, other: &Prompt| Some(Prompt::read(&prompt.code.fenced_as(&other.code)?));
    if let Some(candidate) = fenced(candidate, asked) {
        return judge(asked, &candidate, cosine, threshold, strictness);
    }
    if let Some(asked) = fenced(asked, candidate) {
        return judge(&asked, candidate, cosine, threshold, strictness);
    }
    let terms = Terms { cosine, threshold, strictness, extent: Extent::Whole };
    let verdict = judged(asked, candidate, terms);
    let beside = [asked, candidate].map(|prompt| prompt.beside_code.as_deref().map(|beside| &beside.code));
    match (asked.code.asks_same(&candidate.code, beside), verdict.refused) {
        (Some(true), Some(_)) => Verdict::PASS,
        (Some(false), None) if terms.threshold >= LOWEST_THRESHOLD => {
            Verdict { uncertain: false, ..Verdict::UNPROVED }
        }
        _ => verdict,
    }
}

/// How near two texts are, how near they must be, and what of them is judged.
#[derive(Clone, Copy)]
struct Terms {
    cosine: f32,
    threshold: f32,
    strictness: Strictness,
    extent: Extent,
}

impl Terms {
    /// Those for what they say beside what is the same in both: their cosine is mostly that of the rest.
    fn beside(self, extent: Extent) -> Self {
        Self { cosine: self.cosine.min(NEAR), extent, ..self }
    }
}

/// What of two texts is judged.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    Whole,
    /// What they say beside the same code.
    BesideCode,
    /// What they say beside the same sentences: nothing is looked for beside that.
    Part,
}

fn judged(asked: &Prompt, candidate: &Prompt, terms: Terms) -> Verdict {
    let is_same_text = asked.same_text(candidate);
    // What is literal in the same code is the same, however it is laid out.
    let (x, y) = match (&asked.beside_code, &candidate.beside_code) {
        (Some(x), Some(y)) if asked.code.same_blocks(&candidate.code) => (&**x, &**y),
        _ => (asked, candidate),
    };
    let is_literal = is_same_text || x.literals.agree(&y.literals) && !respelled(x, y);
    if !is_literal || x.cased.differs(&y.cased, x.key == y.key) {
        return Verdict::UNPROVED;
    }
    if terms.threshold < LOWEST_THRESHOLD || is_same_text {
        return Verdict::PASS;
    }
    if let (Some(x), Some(y)) = (&asked.beside_code, &candidate.beside_code) {
        // Which of several blocks a sentence speaks of is not known.
        let alone = asked.code.is_one_block() && candidate.code.is_one_block();
        let other = x.key != y.key && (!alone || x.key.is_empty() || y.key.is_empty());
        if other || x.code.letters_turned(&y.code) || !asked.code.same_blocks(&candidate.code) {
            return Verdict::UNPROVED;
        }
        return judged(x, y, terms.beside(Extent::BesideCode));
    }
    let verdict = said(asked, candidate, terms);
    match asked.code.differs(&candidate.code) {
        Some(reason) if verdict.refused.is_none() => Verdict { refused: Some(reason), ..Verdict::UNPROVED },
        _ => verdict,
    }
}

/// Judges what two prompts say, code aside.
fn said(asked: &Prompt, candidate: &Prompt, terms: Terms) -> Verdict {
    let Terms { cosine, threshold, strictness, extent } = terms;
    // The pairing is greedy: a fixed order of the two makes it the same either way.
    let (a, b) = if asked.key <= candidate.key { (asked, candidate) } else { (candidate, asked) };
    match (&a.foreign, &b.foreign) {
        (Some(x), Some(y)) => match foreign::proved(x, y) {
            // "Espresso macchiato", "macchiato espresso": in English the order may change.
            Err(Unproved::Order) if x.maybe && y.maybe => {}
            proof => return foreign_verdict(proof),
        },
        (Some(one), None) | (None, Some(one)) if one.maybe => {}
        (None, None) => {}
        _ => return Verdict::UNPROVED,
    }
    if !a.same_wording(b) {
        return Verdict { refused: Some(Reason::Words), score: 0.0, uncertain: false };
    }
    if let Some(verdict) = beside_values(a, b, terms) {
        return verdict;
    }
    let parts = if extent == Extent::Part { Vec::new() } else { beside_same_text(a, b) };
    for Part { x, y, is_reply } in parts {
        let (x, y) = (Prompt::read(x), Prompt::read(y));
        let verdict = judged(&x, &y, terms.beside(Extent::Part));
        if verdict.refused.is_some() {
            return verdict;
        }
        let Alignment { left, right, .. } = align(&x, &y);
        if is_reply && !left.is_empty() && !right.is_empty() {
            return Verdict { refused: Some(Reason::Words), score: 0.0, uncertain: false };
        }
    }
    let differences = Differences::of(a, b);
    let features = differences.vector(a, b, cosine);
    let score = rules::judged(trees::score(&features), &features, &differences);
    // Their cosine is that of the text beside them and says nothing: the words alone must tell that they ask the same.
    let content = differences.content;
    let apart = match extent {
        Extent::Whole => false,
        Extent::BesideCode => content != [0, 0] || differences.question_other,
        Extent::Part => content.iter().all(|count| *count > 0) || differences.question_other,
    };
    let enough = !apart && score >= required(cosine, threshold, strictness, a.length.max(b.length));
    let unpaired = enough && differences.unpaired && !differences.order.converse;
    let refused = (unpaired || !enough).then(|| reason(a, b, &differences));
    Verdict { refused, score, uncertain: unpaired || uncertain(strictness).contains(&score) }
}

/// Judges what two prompts say beside their lists of values, which are the same, if one could be code: so is that.
fn beside_values(a: &Prompt, b: &Prompt, terms: Terms) -> Option<Verdict> {
    let (x, y) = (a.text.as_deref()?, b.text.as_deref()?);
    if !(a.equated || b.equated) {
        return None;
    }
    let ((of_x, x), (of_y, y)) = (values(x), values(y));
    if of_x.is_empty() || of_y.is_empty() {
        return None;
    }
    if of_x != of_y || x.trim().is_empty() != y.trim().is_empty() {
        return Some(Verdict::UNPROVED);
    }
    Some(judged(&Prompt::read(&x), &Prompt::read(&y), terms.beside(Extent::BesideCode)))
}

fn foreign_verdict(proof: Result<(), Unproved>) -> Verdict {
    let reason = match proof {
        Ok(()) => return Verdict::PASS,
        Err(Unproved::Numbers) => Reason::Numbers,
        Err(Unproved::Negation) => Reason::Negation,
        Err(Unproved::Order) => Reason::Order,
        Err(Unproved::Words) => Reason::Words,
    };
    // What is not proved may still be true, unless a number, a negation or the order says that it is not.
    Verdict { refused: Some(reason), score: 0.0, uncertain: reason == Reason::Words }
}

fn reason(a: &Prompt, b: &Prompt, differences: &Differences) -> Reason {
    let d = differences;
    let some = |counts: [usize; 2]| counts[0] + counts[1] > 0;
    if some(d.numbers)
        || d.exchange == Some(Exchange::Numbers)
        || d.units
        || d.apart.paced
        || d.measure
        || d.variant
        || d.codes[0] > 0 && d.codes[1] > 0
    {
        Reason::Numbers
    } else if d.opposite || d.contrast || d.opposite_any || d.axis || d.apart.wants || d.reversed && d.parity
    {
        Reason::Opposite
    } else if added_without(a, b, d) {
        Reason::ExtraCondition
    } else if d.parity || d.order.able || d.denied || (a.quantifiers ^ b.quantifiers) & class::NONE != 0 {
        Reason::Negation
    } else if d.both(class::LANGUAGE) || d.letter || d.names[0] > 0 && d.names[1] > 0 {
        Reason::Name
    } else if d.order.swapped
        || d.order.turned > 0
        || d.order.persons
        || d.order.doers
        || d.doer
        || d.apart.subject
        || d.apart.turned
        || d.exchange.is_some()
    {
        Reason::Order
    } else if some(d.condition)
        || d.quantifier
        || d.degree
        || some(d.content) && (d.content[0] == 0 || d.content[1] == 0)
    {
        Reason::ExtraCondition
    } else if some(d.names) {
        Reason::Name
    } else {
        Reason::Words
    }
}

/// Whether one prompt has all of the other and a "without ..." on top.
fn added_without(a: &Prompt, b: &Prompt, differences: &Differences) -> bool {
    let without =
        |prompt: &Prompt, rest: &[usize]| rest.iter().any(|i| prompt.words[*i].governor == Governor::Without);
    let (left, right) = (&differences.alignment.left, &differences.alignment.right);
    left.is_empty() && without(b, right) || right.is_empty() && without(a, left)
}
