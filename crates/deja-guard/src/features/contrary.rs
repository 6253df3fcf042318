//! What one prompt says and the other denies, shuns or sets against something else.

use crate::align::{Alignment, Link, light};
use crate::exchange::Said;
use crate::prompt::{Governor, Prompt, Word};
use crate::rules::LONG;

/// Whether one of them denies two words that both say, and the other denies neither: no parity tells.
pub(super) fn denied_twice(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let denied = |left: bool| {
        let only = alignment.pairs.iter().filter(|(i, j, _)| {
            let (x, y) = (a.words[*i].negated, b.words[*j].negated);
            x != y && x == left
        });
        only.count()
    };
    a.length.max(b.length) <= LONG && matches!((denied(true), denied(false)), (2.., 0) | (0, 2..))
}

/// Whether each denies what the other says, and they are the same otherwise: "trains, not planes", "planes, not trains".
pub(super) fn crossed(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    // Behind a comma or "and". Which word of "why isn't Anna coming" is denied depends on where "not" stands.
    let denies =
        |prompt: &Prompt, at: usize| prompt.words[at].negated && breaks(prompt, at.saturating_sub(1), at);
    let same = || alignment.pairs.iter().filter(|(.., link)| *link == Link::Same).map(|(i, j, _)| (*i, *j));
    let only_a = || same().filter(|(i, j)| denies(a, *i) && !b.words[*j].negated);
    let only_b = || same().filter(|(i, j)| denies(b, *j) && !a.words[*i].negated);
    alignment.left.is_empty()
        && alignment.right.is_empty()
        && only_a().any(|(i, j)| only_b().any(|(k, l)| beside(a, i, k) && beside(b, j, l)))
}

/// Whether two words stand in one sentence, and not in one clause.
fn beside(prompt: &Prompt, one: usize, other: usize) -> bool {
    prompt.words[one].sentence == prompt.words[other].sentence
        && breaks(prompt, one.min(other), one.max(other))
}

/// Whether a clause ends between two words.
fn breaks(prompt: &Prompt, first: usize, last: usize) -> bool {
    let place = |at: usize| prompt.said.iter().position(|said| *said == Said::Word(at as u16));
    let (Some(from), Some(to)) = (place(first), place(last)) else { return false };
    prompt.said[from..=to].contains(&Said::Break)
}

/// Whether one asks for what is to be avoided, and the other says of nothing that it is bad or not to be.
pub(super) fn shunned(a: &Prompt, b: &Prompt, left: &[&Word], right: &[&Word]) -> bool {
    const LESS: [&str; 34] = [
        "avert", "avoid", "away", "bad", "ban", "bypass", "clear", "danger", "dangerous", "dodg", "elud",
        "escap", "evad", "forbidden", "harm", "harmful", "limit", "minim", "overcom", "prevent", "prohibit",
        "protect", "reduc", "refrain", "risk", "riski", "safe", "shut", "skip", "stop", "surviv", "toxic",
        "worst", "wrong",
    ];
    let avoids = |words: &[&Word]| words.iter().any(|word| word.stem == "avoid");
    let wards = |prompt: &Prompt| {
        prompt.negations > 0
            || prompt
                .words
                .iter()
                .any(|word| LESS.contains(&word.stem.as_str()) || word.governor == Governor::Without)
    };
    a.length.max(b.length) <= LONG && (avoids(left) && !wards(b) || avoids(right) && !wards(a))
}

/// Whether one names what it compares with, behind an advantage or a choice, and the other names nothing.
pub(super) fn outweighed(a: &Prompt, b: &Prompt, left: &[&Word], right: &[&Word]) -> bool {
    const WEIGHED: [&str; 10] = [
        "advantag", "benefit", "choos", "disadvantag", "drawback", "favor", "pick", "pref", "prefer",
        "strength",
    ];
    let weighs = |prompt: &Prompt| prompt.words.iter().any(|word| WEIGHED.contains(&word.stem.as_str()));
    let than = |word: &Word| word.governor == Governor::Than;
    let names = |words: &[&Word]| words.iter().any(|word| !light(word) && than(word));
    let compares = |prompt: &Prompt| prompt.words.iter().any(than);
    let one = |x: &Prompt, words: &[&Word], y: &Prompt| weighs(x) && names(words) && !compares(y);
    a.length.max(b.length) <= LONG && (one(a, left, b) || one(b, right, a))
}
