//! Numbers in words and in Roman numerals.

use super::units::multiplier;
use crate::scan::{Piece, text, text_before};

const SMALL: [&str; 21] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
];

const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

const ORDINALS: [&str; 13] = [
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
];

/// "The wrong one", "one another": no number.
const BEFORE_NO_ONE: [&str; 12] =
    ["the", "this", "that", "which", "wrong", "another", "new", "other", "right", "no", "old", "each"];

const BEHIND_NO_ONE: [&str; 12] =
    ["", "is", "to", "another", "should", "can", "do", "does", "of", "that", "who", "may"];

/// Twelve and less have words of their own; the others end in "th".
pub(super) fn ordinal(word: &str) -> Option<f64> {
    if let Some(n) = ORDINALS.iter().position(|w| *w == word) {
        return Some(n as f64);
    }
    let base = word.strip_suffix("th")?;
    match base.strip_suffix("ie") {
        Some(tens) => {
            TENS.iter().position(|w| w.strip_suffix('y') == Some(tens)).map(|n| (n as f64 + 2.0) * 10.0)
        }
        None => SMALL[13..20].iter().position(|w| *w == base).map(|n| n as f64 + 13.0),
    }
}

pub(crate) fn number_word(word: &str) -> Option<f64> {
    if let Some(n) = SMALL.iter().position(|w| *w == word) {
        return Some(n as f64);
    }
    TENS.iter().position(|w| *w == word).map(|n| (n as f64 + 2.0) * 10.0)
}

/// "Elizabeth II", "Modern Warfare II": a numeral behind a name.
pub(super) fn roman(piece: &Piece) -> Option<f64> {
    let number = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"]
        .iter()
        .position(|r| *r == piece.text)?;
    (piece.upper || piece.text == "i").then_some(number as f64 + 1.0)
}

/// A number in words that begins at `pieces[at]`: value and how many pieces.
pub(super) fn words(pieces: &[Piece], at: usize) -> Option<(f64, usize)> {
    let text = |k: usize| text(pieces, at + k);
    let before = text_before(pieces, at);
    match text(0) {
        "half" | "quarter" => {
            let part = if text(0) == "half" { 0.5 } else { 0.25 };
            // "Half a million", "a quarter of a million"
            let of = 1 + usize::from(text(1) == "of");
            let whole = of + usize::from(text(of) == "a");
            let by = multiplier(text(whole)).filter(|_| text(whole).len() > 2);
            return Some(by.map_or((part, 1), |by| (part * by, whole + 1)));
        }
        "three" if text(1) == "quarters" => return Some((0.75, 2)),
        "a" | "one" if text(2) == "of" && ordinal(text(1)).is_some_and(|part| part > 2.0) => {
            return ordinal(text(1)).map(|part| (1.0 / part, 2));
        }
        "a" | "an" => {
            if matches!(text(1), "half" | "quarter") {
                return None;
            }
            return Some((1.0, 1));
        }
        "one" if BEFORE_NO_ONE.contains(&before) || before != "only" && BEHIND_NO_ONE.contains(&text(1)) => {
            return None;
        }
        "second"
            if !matches!(before, "the" | "a" | "my" | "our" | "" | "in") || matches!(text(1), "" | "of") =>
        {
            return None;
        }
        _ => {}
    }
    if let Some(n) = ordinal(text(0)) {
        return (text(0) != "first").then_some((n, 1));
    }
    if let Some(by) = multiplier(text(0)).filter(|_| text(0).len() > 2 && text(0) != "grand") {
        return Some((by, 1));
    }
    let first = number_word(text(0))?;
    if first >= 20.0
        && let Some(ones) =
            number_word(text(1)).or_else(|| ordinal(text(1))).filter(|n| (1.0..10.0).contains(n))
    {
        return Some((first + ones, 2));
    }
    if text(1) == "point"
        && let Some(tenths) = number_word(text(2)).filter(|n| *n < 10.0)
    {
        return Some((first + tenths / 10.0, 3));
    }
    Some((first, 1))
}
