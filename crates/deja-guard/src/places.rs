//! Which number stands where: "from 14 to 16" is not "from 16 to 14", nor 12 / 4 what 4 / 12 is, nor [1, 2] what [2, 1] is.

use std::ops::Range;

use crate::lexicon::{class, lexicon};
use crate::prompt::Prompt;
use crate::quantity::{Dimension, Quantity};
use crate::scan::{Kind, NEGATIVE, Piece};

/// Numbers of a prompt beyond which they are a table or a list.
pub(crate) const MOST: usize = 12;

/// Notes what stands before the quantities from `found` on, which were read together out of the pieces `at`: the last word,
/// with the preposition before it. 0 is what says nothing of a place: lists, sums, products. And whether numbers are beside them.
pub(crate) fn note(quantities: &mut [Quantity], found: usize, pieces: &[Piece], at: Range<usize>) {
    let (known, read) = quantities.split_at_mut(found);
    let before = &pieces[..at.start];
    among(known, read, before, &pieces[at.start], pieces.get(at.end));
    let mut words = before.iter().rev().map(|piece| piece.text.as_str()).filter(|word| {
        !matches!(*word, NEGATIVE | "minus" | "the" | "a" | "an" | "dollar" | "pound" | "euro" | "yen")
    });
    let is_preposition = |word: &str| lexicon().class(word) & class::PREPOSITION != 0;
    let (word, above) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let noun = !(is_preposition(word) || matches!(word, "every" | "each"));
    let above = if is_preposition(above) && noun { above } else { "" };
    let digest = digest(word, above);
    for (quantity, place) in read.iter_mut().zip(1..) {
        quantity.lead = match word {
            _ if place > 1 => place,
            "and" | "or" | "between" | "vs" | "versus" | "op_plus" | "op_times" | "plus" | "times"
            | "add" | "sum" | "multiply" | "multiplied" | "product" => 0,
            _ => digest,
        };
    }
}

/// Of a word and the one before it.
pub(crate) fn digest(word: &str, above: &str) -> u32 {
    let bytes = word.bytes().chain(above.bytes());
    bytes.fold(0x811c_9dc5_u32, |digest, byte| (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Whether two amounts stand in each other's place.
pub(crate) fn traded(a: &[Quantity], b: &[Quantity]) -> bool {
    let stands = |x: &Quantity, lead: u32| b.iter().any(|y| y.lead == lead && y.same(x));
    let trade = |x: &Quantity, y: &Quantity| {
        let differ = x.lead != 0 && y.lead != 0 && x.lead != y.lead && !x.same(y);
        differ && stands(x, y.lead) && stands(y, x.lead) && !stands(x, x.lead) && !stands(y, y.lead)
    };
    a.len().max(b.len()) <= MOST
        && a.iter().enumerate().any(|(at, x)| a[at + 1..].iter().any(|y| trade(x, y)))
}

/// Whether the same number says how often in one prompt and when in the other ("every 5 minutes", "at minute 5"), or by how much
/// in one and to what in the other ("by 10", "to 10"), or at what age in one and how long in the other ("at 40", "in 40 days").
pub(crate) fn paced(a: &Prompt, b: &Prompt) -> bool {
    const WHEN: [&str; 9] = ["at", "in", "after", "before", "within", "for", "until", "from", "on"];
    if a.quantities.len().max(b.quantities.len()) > MOST {
        return false;
    }
    let every = [digest("every", ""), digest("each", "")];
    let when = |lead: u32| {
        WHEN.iter().any(|word| {
            lead == digest(word, "")
                || ["minute", "hour", "second", "day"].iter().any(|unit| lead == digest(unit, word))
        })
    };
    let (by, to) = (digest("by", ""), digest("to", ""));
    let year =
        |q: &Quantity| q.dimension == Dimension::Clock || q.dimension == Dimension::Plain && q.value > 1000.0;
    let intervals =
        || b.words.iter().any(|word| matches!(word.stem.as_str(), "interval" | "increment" | "step"));
    let other = |q: &Quantity, r: &Quantity| {
        every.contains(&q.lead) && when(r.lead) && !intervals() || q.lead == by && r.lead == to && !year(q)
    };
    // "At 40", "in 40 days": an age, a time of day, and how long it takes.
    let at = |q: &Quantity, r: &Quantity| {
        q.lead == digest("at", "")
            && q.dimension == Dimension::Plain
            && r.dimension == Dimension::Seconds
            && ["in", "after", "for", "within", "every"].iter().any(|word| r.lead == digest(word, ""))
    };
    let leads = |q: &Quantity| b.quantities.iter().any(|r| r.lead == q.lead && r.same(q));
    a.quantities
        .iter()
        .any(|q| !leads(q) && b.quantities.iter().any(|r| q.same(r) && (other(q, r) || at(q, r))))
}

/// Notes which quantities stand among numbers. "25K (25,000)" says one twice.
fn among(known: &[Quantity], read: &mut [Quantity], before: &[Piece], piece: &Piece, after: Option<&Piece>) {
    let operates = |piece: &Piece| piece.text.starts_with("op_");
    let beside = |piece: &Piece| piece.kind == Kind::Number || operates(piece);
    let mut before = before.iter().rev().filter(|piece| piece.text != NEGATIVE);
    let (last, above) = (before.next(), before.next());
    let is_date = read.iter().any(|quantity| quantity.dimension == Dimension::Month);
    let several = read.len() > 1 && !is_date;
    let is_number = |piece: Option<&Piece>| piece.is_some_and(|piece| piece.kind == Kind::Number);
    let ordered = last.is_some_and(|sign| matches!(sign.text.as_str(), "op_minus" | "op_over" | "op_power"));
    let follows = is_number(last) || ordered && is_number(above);
    let again = |quantity: &Quantity| {
        is_number(last)
            && last.is_some_and(|last| last.text != piece.text)
            && known.last().is_some_and(|before| before.same(quantity))
    };
    for (place, quantity) in read.iter_mut().enumerate() {
        quantity.follows = !is_date && (follows || place > 0);
        quantity.listed = !is_date
            && (several || last.is_some_and(beside) || after.is_some_and(beside))
            && !again(quantity);
    }
}

/// Whether both have the same numbers among marks alone, in another order: [1, 2, 3] and [2, 1, 3].
pub(crate) fn reordered(a: &Prompt, b: &Prompt) -> bool {
    let runs = |prompt: &'_ Prompt| -> Vec<Vec<Quantity>> {
        let runs = prompt.quantities.chunk_by(|_, next| next.follows);
        runs.filter(|run| run.len() > 1).map(<[Quantity]>::to_vec).collect()
    };
    let same = |x: &[Quantity], y: &[Quantity]| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.same(y));
    if a.unordered || b.unordered || a.quantities.len().max(b.quantities.len()) > MOST {
        return false;
    }
    let (x, y) = (runs(a), runs(b));
    let mut rest = y.concat();
    x.len() == y.len()
        && !x.iter().all(|run| y.iter().any(|other| same(run, other)))
        && x.iter()
            .flatten()
            .all(|q| rest.iter().position(|r| r.same(q)).map(|at| rest.swap_remove(at)).is_some())
        && rest.is_empty()
}
