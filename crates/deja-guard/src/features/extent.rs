//! Of how much two prompts speak: all or none, more or less.

use crate::lexicon::class;
use crate::prompt::{Governor, Prompt, Word};
use crate::quantity::Dimension;

/// Quantifiers that cannot be exchanged: all against the first, only, except, none.
pub(super) fn quantifier(a: &Prompt, b: &Prompt) -> bool {
    const ALONE: u64 = class::ONLY | class::EXCEPT | class::NONE;
    const PART: u64 = class::FIRST | class::LAST | class::SOME;
    let one = |p: &Prompt| p.quantities.iter().any(|q| q.optional && q.dimension == Dimension::Plain);
    let against = |p: &Prompt, q: &Prompt| {
        p.quantifiers & class::ALL != 0
            && q.quantifiers & class::ALL == 0
            && (q.quantifiers & PART != 0 || one(q))
            || p.quantifiers & class::FIRST != 0
                && q.quantifiers & class::LAST != 0
                && q.quantifiers & class::FIRST == 0
    };
    (a.quantifiers ^ b.quantifiers) & ALONE != 0
        || against(a, b)
        || against(b, a)
        || each(a, b)
        || each(b, a)
        || several(a, b)
        || several(b, a)
}

/// "Delete all messages", "delete a message".
fn each(a: &Prompt, b: &Prompt) -> bool {
    let several = |word: &Word| !word.single && word.text.ends_with('s') && word.text != word.stem;
    let one = |word: &Word| b.words.iter().any(|other| other.single && other.stem == word.stem);
    let all = |prompt: &Prompt| {
        prompt.function.iter().any(|word| matches!(word.as_str(), "all" | "every" | "each"))
    };
    all(a) && !all(b) && a.words.iter().any(|word| several(word) && one(word))
}

/// "Recommend films", "recommend a film": how many an answer has of what is asked for.
fn several(a: &Prompt, b: &Prompt) -> bool {
    let plural = |word: &Word| !word.single && word.text.ends_with('s') && word.text != word.stem;
    let free = |word: &Word| word.governor == Governor::None;
    let one =
        |word: &Word| b.words.iter().any(|other| other.single && other.stem == word.stem && free(other));
    a.form.requests && b.form.requests && a.words.iter().any(|word| plural(word) && free(word) && one(word))
}

/// Quantifiers that one side has alone, of any kind.
pub(super) fn quantifier_soft(a: &Prompt, b: &Prompt) -> bool {
    const ANY: u64 = class::ALL | class::MOST | class::FIRST | class::LAST;
    (a.quantifiers ^ b.quantifiers) & ANY != 0
}

/// The average against the longest: a superlative of the other side alone.
pub(super) fn average(prompt: &Prompt, others: &[&Word]) -> bool {
    prompt.quantifiers & class::AVERAGE != 0 && others.iter().any(|w| w.is(class::SUPERLATIVE))
}

pub(super) fn degrees(prompt: &Prompt) -> Vec<&str> {
    let mut all: Vec<&str> = prompt.degrees.iter().map(String::as_str).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// More against less, at least against more than; a limit on one side alone.
pub(super) fn degree(a: &Prompt, b: &Prompt) -> bool {
    let (x, y) = (degrees(a), degrees(b));
    let firm = |w: &&str| !matches!(*w, "more" | "most");
    x != y && (!x.is_empty() && !y.is_empty() || x.iter().chain(&y).any(firm))
}
