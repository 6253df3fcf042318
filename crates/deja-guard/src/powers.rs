//! One form of powers: "x squared", "x²" and "x to the power of 2" are "x^2".

use std::borrow::Cow;

use crate::typography::replaced;

/// What says a power behind its base, and how it is written.
const POWERS: [(&str, &str); 7] = [
    (" squared", "^2"),
    (" cubed", "^3"),
    ("²", "^2"),
    ("³", "^3"),
    (" raised to the power of ", "^"),
    (" to the power of ", "^"),
    (" to the power ", "^"),
];

/// The text with its powers written with a caret, and with signs for "plus" and "minus" beside them. In code each character
/// counts.
pub(crate) fn with_carets(text: &str) -> Cow<'_, str> {
    let says = POWERS.iter().any(|(said, _)| text.contains(said));
    if !says || text.contains('`') {
        return Cow::Borrowed(text);
    }
    let mut written = Cow::Borrowed(text);
    for (said, sign) in POWERS {
        let powers = replaced(&written, written.match_indices(said), |before, _, behind| {
            // "Cubed ham", but not "squaredance"; a power is a number or a letter.
            let ends = !behind.starts_with(|c: char| c.is_alphanumeric()) || sign == "^";
            (ends && is_base(before)).then_some(sign)
        });
        written = powers.map_or(written, Cow::Owned);
    }
    for (said, sign) in [(" plus ", " + "), (" minus ", " - ")] {
        if written.contains('^') {
            let signs = replaced(&written, written.match_indices(said), |before, _, behind| {
                let next = behind.split(|c: char| !(c.is_alphanumeric() || c == '^')).next();
                (is_base(before) && next.is_some_and(is_base)).then_some(sign)
            });
            written = signs.map_or(written, Cow::Owned);
        }
    }
    written
}

/// Whether the text ends with a number, a letter that stands for one ("5x"), a power, or a bracket. Units have other powers, and
/// "I" is who did it.
fn is_base(text: &str) -> bool {
    let begin = text.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '^' | '.')).len();
    let (before, term) = text.split_at(begin);
    let base = term.split_once('^').map_or(term, |(base, _)| base);
    let letter = |c: char| c.is_ascii_alphabetic() && !matches!(c, 'm' | 'I');
    let number = base.strip_suffix(letter).unwrap_or(base);
    let is_number = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.ends_with(')') || !base.is_empty() && is_number && !before.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_written_with_a_caret() {
        for (text, written) in [
            ("Differentiate x cubed.", "Differentiate x^3."),
            ("Is 5x squared plus 3 or 7 squared even?", "Is 5x^2 + 3 or 7^2 even?"),
            ("Factor x squared minus y squared", "Factor x^2 - y^2"),
            ("(a + b)² and 3³", "(a + b)^2 and 3^3"),
            ("2 to the power of 10", "2^10"),
            ("2 raised to the power of n", "2^n"),
            ("x^2 plus tax", "x^2 plus tax"),
            ("x squared plus tax", "x^2 plus tax"),
            ("7 m squared, 9 km², 5m² and m/s²", "7 m squared, 9 km², 5m² and m/s²"),
            ("Have I squared it, and who cubed ham?", "Have I squared it, and who cubed ham?"),
            ("What does `x squared` do with x squared?", "What does `x squared` do with x squared?"),
        ] {
            assert_eq!(with_carets(text), written, "{text}");
        }
    }
}
