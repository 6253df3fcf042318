//! Months and days of the week.

use crate::scan::Piece;

const MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
];

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Whether `word` names a month, or may.
pub(crate) fn names_month(word: &str) -> bool {
    word.len() > 2 && MONTHS.iter().any(|month| month.starts_with(word))
}

pub(super) fn month(piece: &Piece, beside_number: bool) -> Option<usize> {
    let word = piece.text.trim_end_matches('.');
    let at = MONTHS.iter().position(|m| {
        *m == word
            || (word.len() >= 3 && word.len() <= 4 && m.starts_with(word) && word != "mar" && word != "marc")
            || (word == "mar" && *m == "march")
    })?;
    let word_too = matches!(word, "may" | "march" | "mar" | "dec" | "augu" | "sept");
    (!word_too || piece.name || beside_number).then_some(at)
}

pub(super) fn weekday(piece: &Piece) -> Option<usize> {
    let word = piece.text.as_str();
    let singular = word.strip_suffix('s').unwrap_or(word);
    WEEKDAYS.iter().position(|d| {
        *d == singular
            || (piece.name && *d != "sunday" && word.len() == 3 && d.starts_with(word))
            || (piece.name && word == "sun" && *d == "sunday")
    })
}
