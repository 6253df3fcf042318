//! How texts are compared in a search: whatever the case of their letters.

/// A text without the case of its letters, character by character: `ÉCOLE` and `école` are the same, and so are `ς`, `σ` and
/// `Σ`. A letter whose other case is several, as that of `ß` is, stays what it is.
pub fn folded(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().map(folded_char).collect() }
}

/// A character without its case. By way of the capital, which several small letters may share.
pub fn folded_char(character: char) -> char {
    let capital = only(character.to_uppercase()).unwrap_or(character);
    only(capital.to_lowercase()).unwrap_or(capital)
}

/// The character, if there is just one.
fn only(mut characters: impl ExactSizeIterator<Item = char>) -> Option<char> {
    if characters.len() == 1 { characters.next() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_all_scripts_lose_their_case() {
        for (one, other) in [
            ("ÉCOLE Straße", "école stRAßE"),
            ("ПРИВЕТ", "привет"),
            ("ΟΔΟΣ", "οδος"),
            ("ΟΔΟΣ", "οδοσ"),
            ("K", "k"),
        ] {
            assert_eq!(folded(one), folded(other), "{one}");
        }
        assert_ne!(folded("straße"), folded("strasse"));
        assert_eq!(folded("İß 漢字 \0"), "İß 漢字 \0");
    }

    #[test]
    fn what_is_folded_stays_so() {
        for character in char::MIN..=char::MAX {
            assert_eq!(folded_char(folded_char(character)), folded_char(character), "{character:?}");
        }
    }
}
