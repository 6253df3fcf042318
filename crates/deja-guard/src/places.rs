//! Which number stands where: "from 14 to 16" is not "from 16 to 14", nor 12 / 4 what 4 / 12 is.

use crate::lexicon::{class, lexicon};
use crate::quantity::Quantity;
use crate::scan::{NEGATIVE, Piece};

/// Numbers of a prompt beyond which they are a table or a list.
const MOST: usize = 12;

/// Notes what stands before quantities that were read together: the last word, with the preposition before it. 0 is what
/// says nothing of a place: lists, sums, products.
pub(crate) fn note(read: &mut [Quantity], before: &[Piece]) {
    let mut words = before.iter().rev().map(|piece| piece.text.as_str()).filter(|word| {
        !matches!(*word, NEGATIVE | "minus" | "the" | "a" | "an" | "dollar" | "pound" | "euro" | "yen")
    });
    let is_preposition = |word: &str| lexicon().class(word) & class::PREPOSITION != 0;
    let (word, above) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let above = if is_preposition(above) && !is_preposition(word) { above } else { "" };
    let digest = word
        .bytes()
        .chain(above.bytes())
        .fold(0x811c_9dc5_u32, |digest, byte| (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    for (quantity, place) in read.iter_mut().zip(1..) {
        quantity.lead = match word {
            _ if place > 1 => place,
            "and" | "or" | "between" | "vs" | "versus" | "op_plus" | "op_times" | "plus" | "times"
            | "add" | "sum" | "multiply" | "multiplied" | "product" => 0,
            _ => digest,
        };
    }
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
