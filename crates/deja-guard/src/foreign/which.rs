//! What something has: "welche Farbe hat der Himmel" is "was ist die Farbe des Himmels".

use super::phrases::words;
use super::typed::bare_word;
use crate::languages::LANGUAGE_CODES;

/// Words of one language.
struct Form {
    language: &'static str,
    which: &'static [&'static str],
    has: &'static [&'static str],
    of: &'static str,
}

const FORMS: [Form; 6] = [
    Form {
        language: "de",
        which: &["welche", "welcher", "welches", "welchen"],
        has: &["hat", "haben"],
        of: "von",
    },
    Form { language: "es", which: &["que", "cual"], has: &["tiene", "tienen"], of: "de" },
    Form { language: "fr", which: &["quel", "quelle", "quels", "quelles"], has: &["a", "ont"], of: "de" },
    Form { language: "pt", which: &["que", "qual"], has: &["tem", "têm"], of: "de" },
    Form { language: "it", which: &["che", "quale", "quali"], has: &["ha", "hanno"], of: "di" },
    Form { language: "nl", which: &["welke", "welk"], has: &["heeft", "hebben"], of: "van" },
];

/// Who has it: the writer, or who is asked.
const PERSONS: [&str; 24] = [
    "ich", "du", "er", "sie", "es", "wir", "ihr", "man", "yo", "tu", "el", "ella", "usted", "eu", "voce",
    "il", "elle", "on", "io", "lei", "lui", "ik", "je", "men",
];

/// `text`, if it asks in few words what something has.
pub(super) fn plain(text: &str, languages: &[usize]) -> Option<String> {
    const MOST: usize = 9;
    let said = words(text);
    let [which, what, has, who, ..] = &said[..] else { return None };
    let whole = text.trim_end_matches(['?', '.', ' ', '\u{a0}', '\u{202f}']);
    if said.len() > MOST
        || whole.contains(['.', ',', '?', '!', ':', ';'])
        || PERSONS.contains(&who.text.as_str()) && said.len() == 4
    {
        return None;
    }
    let form = FORMS.iter().find(|form| {
        languages.iter().any(|language| LANGUAGE_CODES[*language] == form.language)
            && form.which.iter().any(|word| bare_word(word) == which.text)
            && form.has.iter().any(|word| bare_word(word) == has.text)
    })?;
    // As "what is" is left out too.
    let noun = &text[what.begin..what.end];
    let joined =
        CONTRACTED.iter().find(|(language, article, _)| *language == form.language && *article == who.text);
    Some(match joined {
        Some((.., joined)) => format!("{noun} {joined}{}", &text[who.end..]),
        None => format!("{noun} {} {}", form.of, &text[who.begin..]),
    })
}

/// Articles that are one word with the preposition before them.
const CONTRACTED: [(&str, &str, &str); 14] = [
    ("es", "el", "del"),
    ("fr", "le", "du"),
    ("fr", "les", "des"),
    ("pt", "o", "do"),
    ("pt", "a", "da"),
    ("pt", "os", "dos"),
    ("pt", "as", "das"),
    ("it", "il", "del"),
    ("it", "lo", "dello"),
    ("it", "la", "della"),
    ("it", "l", "dell"),
    ("it", "i", "dei"),
    ("it", "gli", "degli"),
    ("it", "le", "delle"),
];
