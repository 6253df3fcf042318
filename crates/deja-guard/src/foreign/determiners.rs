//! Articles and "my" of other languages: "wie lösche ich mein Konto" is "wie lösche ich ein Konto".

use super::{Kind, Token};
use crate::languages::{
    FRENCH_PLACE, Grammar, IS_FEMININE, IS_MASCULINE, ITALIAN_PLACE, PORTUGUESE_PLACE, SPANISH_PLACE,
};

/// By language: of men, of women, of both. Articles that are idle anyway are not among them.
const ROMANCE: [(usize, [&[&str]; 3]); 4] = [
    (SPANISH_PLACE, [&["un", "unos"], &["una", "unas"], &["mi", "mis"]]),
    (FRENCH_PLACE, [&["un", "du"], &["une", "ma"], &["des", "mon", "mes"]]),
    (PORTUGUESE_PLACE, [&["meu", "meus"], &["minha", "minhas"], &[]]),
    (ITALIAN_PLACE, [&["un", "uno", "mio", "miei"], &["una", "mia", "mie"], &[]]),
];

const GERMANIC: [&str; 21] = [
    "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines", "mein",
    "meine", "meinen", "meinem", "meiner", "meines", "het", "een", "mijn",
];

const PREPOSITIONS: [&str; 43] = [
    "in", "im", "an", "am", "auf", "aus", "bei", "beim", "mit", "nach", "zu", "zum", "zur", "für", "gegen",
    "um", "über", "unter", "vor", "hinter", "neben", "zwischen", "seit", "während", "wegen", "ab", "bis",
    "voor", "met", "naar", "op", "uit", "bij", "onder", "tussen", "tegen", "over", "na", "zonder", "aan",
    "te", "tot", "door",
];

/// Leaves them out before a word, which keeps the gender.
pub(super) fn romance(words: &mut Vec<Token>, grammar: Grammar) {
    let Some((_, lists)) = ROMANCE.iter().find(|(place, _)| grammar.is(*place)) else { return };
    for at in (0..words.len().saturating_sub(1)).rev() {
        let found = lists.iter().position(|list| list.contains(&words[at].text.as_str()));
        if let Some(list) = found.filter(|_| words[at].kind == Kind::Word && words[at + 1].kind == Kind::Word)
        {
            let gone = words.remove(at);
            words[at].lead |= gone.lead | [IS_MASCULINE, IS_FEMININE, 0][list];
            words[at].noun = true;
        }
    }
}

/// Leaves them out before a word. Two of them that no preposition stands before tell by their case who does it to whom, and stay.
pub(super) fn germanic(words: &mut Vec<Token>) {
    let is = |words: &[Token], at: usize| {
        words[at].kind == Kind::Word
            && GERMANIC.contains(&words[at].text.as_str())
            && words.get(at + 1).is_some_and(|next| next.kind == Kind::Word)
    };
    // "Was ist die Farbe der Sonne"
    let defines = matches!(&words[..], [was, is, ..] if was.text == "was" && matches!(is.text.as_str(), "ist" | "sind"));
    let genitive = |at: usize| {
        words[at].text == "des" || defines && words[at].text == "der" && at > 0 && words[at - 1].capital
    };
    let governed = |at: usize| {
        words[at].lead != 0
            || genitive(at)
            || at.checked_sub(1).is_some_and(|before| {
                words[before].kind == Kind::Negation || PREPOSITIONS.contains(&words[before].text.as_str())
            })
    };
    if (0..words.len()).filter(|at| is(words, *at) && !governed(*at)).count() > 1 {
        return;
    }
    for at in (0..words.len()).rev() {
        if is(words, at) {
            let gone = words.remove(at);
            words[at].lead |= gone.lead;
            words[at].noun = true;
        }
    }
}
