//! What something has: "welche Farbe hat der Himmel" is "was ist die Farbe des Himmels".

use super::phrases::words;
use crate::languages::LANGUAGE_CODES;

/// Words of one language.
struct Form {
    language: &'static str,
    which: &'static [&'static str],
    has: &'static [&'static str],
    /// What stands before the thing instead, and behind it.
    plain: [&'static str; 2],
}

const FORMS: [Form; 6] = [
    Form {
        language: "de",
        which: &["welche", "welcher", "welches", "welchen"],
        has: &["hat", "haben"],
        plain: ["was ist", "von"],
    },
    Form { language: "es", which: &["que", "cual"], has: &["tiene", "tienen"], plain: ["cuál es", "de"] },
    Form {
        language: "fr",
        which: &["quel", "quelle", "quels", "quelles"],
        has: &["a", "ont"],
        plain: ["quel est", "de"],
    },
    Form { language: "pt", which: &["que", "qual"], has: &["tem", "têm"], plain: ["qual é", "de"] },
    Form {
        language: "it",
        which: &["che", "quale", "quali"],
        has: &["ha", "hanno"],
        plain: ["qual è", "di"],
    },
    Form { language: "nl", which: &["welke", "welk"], has: &["heeft", "hebben"], plain: ["wat is", "van"] },
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
            && form.which.contains(&which.text.as_str())
            && form.has.contains(&has.text.as_str())
    })?;
    let [before, between] = form.plain;
    Some(format!("{before} {} {between} {}", &text[what.begin..what.end], &text[who.begin..]))
}
