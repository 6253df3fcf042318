//! Parties of several words in each other's place: "do taxes influence house prices", "do house prices influence taxes".

use super::moves::Crossed;
use super::{joins, party};
use crate::align::Link;
use crate::exchange::Said;
use crate::lexicon::{class, lexicon};
use crate::prompt::{Governor, Prompt, Word};

/// Words of a party at most.
const MOST: usize = 4;

/// Whether two parties, one of them of several words at least, stand around the same verb in each other's place. `ranks` are the
/// places of the pairs in the order of the second prompt.
pub(super) fn changed_places(
    a: &Prompt,
    b: &Prompt,
    pairs: &[(usize, usize, Link)],
    ranks: &[usize],
) -> bool {
    let moved = |at: &usize| ranks[*at] != *at;
    let (Some(begin), Some(last)) = ((0..ranks.len()).find(moved), (0..ranks.len()).rfind(moved)) else {
        return false;
    };
    let end = last + 1;
    // The first party stands at the end there, the second one where the first began.
    let first = end.saturating_sub(ranks[begin]);
    let Some(split) = ranks.iter().position(|rank| *rank == begin) else { return false };
    let (verb, second) = (begin + first, end.saturating_sub(split));
    if verb >= split || first.max(second) > MOST || first + second < 3 {
        return false;
    }
    let there = |at: usize| {
        if at < verb {
            end - first + (at - begin)
        } else if at < split {
            begin + second + (at - verb)
        } else {
            begin + (at - split)
        }
    };
    let word = |at: usize| (&a.words[pairs[at].0], &b.words[pairs[at].1]);
    let together = |from: usize, to: usize| {
        (from + 1..to).all(|at| {
            let ((x, y), (x2, y2)) = (word(at - 1), word(at));
            x.place + 1 == x2.place && y.place + 1 == y2.place
        })
    };
    let free = |word: &Word| word.governor == Governor::None && !joins(&word.lead);
    let heads = [begin, verb, split].map(word);
    let places = |at: usize| [pairs[at].0, pairs[at].1];
    let crossed = Crossed { prompts: [a, b], pairs, first: places(begin), second: places(split) };
    let parties = (begin..verb).chain(split..end);
    (begin..end).all(|at| ranks[at] == there(at))
        && together(begin, verb)
        && together(split, end)
        && parties.map(word).all(|(x, y)| party(x) && party(y))
        && (verb..split).all(|at| pairs[at].2 == Link::Same)
        && one_clause(a, pairs[begin].0, pairs[last].0)
        && one_clause(b, pairs[split].1, pairs[verb - 1].1)
        && heads.iter().all(|(x, y)| free(x) && free(y))
        && acts(heads[0].0)
        && acts(heads[2].1)
        && !crossed.is_explained()
}

/// Whether no clause ends between two words.
fn one_clause(prompt: &Prompt, first: usize, last: usize) -> bool {
    let of = |at: usize| {
        prompt.said.iter().position(|said| matches!(said, Said::Word(word) if usize::from(*word) == at))
    };
    let (Some(first), Some(last)) = (of(first), of(last)) else { return false };
    prompt.said.get(first..last).is_some_and(|said| !said.contains(&Said::Break))
}

/// Whether a party stands where somebody who does something stands: behind "do" or "can", behind an article or "my", or first.
fn acts(head: &Word) -> bool {
    const BEFORE: u64 = class::AUXILIARY | class::POSSESSIVE;
    lexicon().class(&head.lead) & BEFORE != 0
        || matches!(head.lead.as_str(), "" | "a" | "an" | "the" | "every" | "each" | "some")
}
