//! Characters that only look another way: letters written apart from their marks, full-width digits, what cannot be seen within a
//! word, the arrow of a menu, decimal marks without a zero, the signs of feet and inches. Full-width letters stay as they are: the embedder does not read them, and
//! words in them have to be the same.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

/// The text with the plain characters in their place. In code each character counts.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let strange = |c: char| is_hidden(c) || is_wide(c) || c == '→';
    if text.is_ascii() || text.contains('`') {
        return Cow::Borrowed(text);
    }
    let text = composed(text);
    if !text.contains(strange) {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let (before, behind) = (&text[..at], &text[at + c.len_utf8()..]);
        let within = |letter: fn(char) -> bool| before.ends_with(letter) && behind.starts_with(letter);
        match c {
            _ if is_wide(c) => plain.extend(u8::try_from(u32::from(c) - WIDE).map(char::from)),
            _ if is_hidden(c) && within(|c| c.is_ascii_alphanumeric()) => {}
            '→' if before.trim_end().ends_with(|c: char| c.is_ascii_lowercase())
                && behind.trim_start().starts_with(|c: char| c.is_ascii_uppercase()) =>
            {
                plain.push_str("->");
            }
            _ => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// The text in Unicode's form NFC (UAX 15): a letter and the marks that follow it are one character where there is one.
fn composed(text: &str) -> Cow<'_, str> {
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfc().collect()),
    }
}

/// How far full-width digits stand behind those of ASCII.
const WIDE: u32 = 0xfee0;

fn is_wide(c: char) -> bool {
    matches!(c, '０'..='９')
}

/// A blank of no width, a place where a word may be parted.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// The text with what `instead` says in the place of the marks that were `found`: it is told what stands before, the mark, and
/// what stands behind. `None` if nothing is replaced.
pub(crate) fn replaced<'a>(
    text: &'a str,
    found: impl Iterator<Item = (usize, &'a str)>,
    mut instead: impl FnMut(&str, &str, &str) -> Option<&'static str>,
) -> Option<String> {
    let mut written = String::new();
    let mut from = 0;
    for (at, mark) in found {
        let behind = at + mark.len();
        if let Some(sign) = instead(&text[..at], mark, &text[behind..]) {
            written.extend([&text[from..at], sign]);
            from = behind;
        }
    }
    (from > 0).then(|| written + &text[from..])
}

/// The text with a zero before a decimal mark that has none: ".5 mg" is "0.5 mg". Not in backticks, where each character
/// counts.
pub(crate) fn with_zeros(text: &str) -> Cow<'_, str> {
    let mut is_code = false;
    let written = replaced(text, text.match_indices(['.', ',', '`']), |before, mark, behind| {
        is_code ^= mark == "`";
        let sign = if mark == "." { "0." } else { "0," };
        (!is_code && lacks_zero(before, mark, behind)).then_some(sign)
    });
    written.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Whether a number begins with `mark`. A comma behind a number and a blank parts two: "2 ,3".
fn lacks_zero(before: &str, mark: &str, behind: &str) -> bool {
    /// Names of kinds of files that begin with a digit.
    const EXTENSIONS: [&str; 5] = ["7z", "3gp", "3g2", "3ds", "3mf"];
    let opens = |c: char| c.is_whitespace() || "([{$£€¥₹=<>~+*^:|-−–—\"“„'‘«¿¡".contains(c);
    behind.starts_with(|c: char| c.is_ascii_digit())
        && (before.is_empty() || before.ends_with(opens))
        && !EXTENSIONS.iter().any(|name| behind.starts_with(name))
        && (mark == "." || !before.trim_end().ends_with(|c: char| c.is_ascii_digit()))
}

/// The text with words for the quotes that are signs of feet and inches: they stand right behind a number, and no quote was
/// opened before. Not behind backticks, since in code each character counts.
pub(crate) fn with_feet(text: &str) -> Cow<'_, str> {
    let marks = ['\'', '’', '′', '"', '”', '″', '“', '„', '«', '»', '`'];
    let mut opened = false;
    let written = replaced(text, text.match_indices(marks), |before, mark, behind| {
        let feet = matches!(mark, "'" | "’" | "′");
        opened |= !(feet || matches!(mark, "\"" | "”" | "″")) || !before.ends_with(char::is_alphanumeric);
        if opened
            || !before.ends_with(|c: char| c.is_ascii_digit())
            || behind.starts_with(char::is_alphabetic)
        {
            return None;
        }
        Some(match (feet, behind.starts_with(|c: char| c.is_ascii_digit())) {
            (true, false) => " foot",
            (true, true) => " foot ",
            (false, false) => " inch",
            (false, true) => " inch ",
        })
    });
    written.map_or(Cow::Borrowed(text), Cow::Owned)
}
