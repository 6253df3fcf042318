//! Characters that only look another way: full-width digits, what cannot be seen within a word, the arrow of a menu. Full-width
//! letters stay as they are: the embedder does not read them, and words in them have to be the same.

use std::borrow::Cow;

/// The text with the plain characters in their place. In code each character counts.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let strange = |c: char| is_hidden(c) || is_wide(c) || c == '→';
    if text.is_ascii() || text.contains('`') || !text.contains(strange) {
        return Cow::Borrowed(text);
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

/// How far full-width digits stand behind those of ASCII.
const WIDE: u32 = 0xfee0;

fn is_wide(c: char) -> bool {
    matches!(c, '０'..='９')
}

/// A blank of no width, a place where a word may be parted.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}
