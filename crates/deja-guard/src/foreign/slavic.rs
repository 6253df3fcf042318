//! Polish and Russian: forms of the verb behind "how", and where a reflexive stands.

use super::pairs::uninflected;
use super::phrases;
use super::typed::bare_word;
use super::{Kind, Token};
use crate::languages::{LANGUAGE_CODES, POLISH_PLACE};

const RUSSIAN_PLACE: usize = LANGUAGE_CODES.len() - 1;

/// What verbs end with, the longest first: infinitives, the writer, and what "one" does.
const POLISH: [&str; 27] = [
    "owywac", "owuje", "ywac", "iwac", "owac", "nac", "uja", "uje", "uję", "ają", "aja", "aje", "amy", "iac",
    "ac", "yc", "ic", "ec", "ia", "am", "em", "a", "i", "y", "e", "ę", "ą",
];
const RUSSIAN: [&str; 44] = [
    "ироваться", "иться", "аться", "яться", "ируется", "ировать", "ируют", "ирую", "ываться", "ывается",
    "ивается", "ывать", "ивать", "ывают", "ивают", "ывает", "овать", "евать", "уется", "ается", "яется",
    "ются", "ятся", "ится", "ется", "уют", "ают", "яют", "нуть", "аю", "яю", "ую", "ать", "ять", "ить",
    "еть", "ут", "ют", "ят", "ат", "ти", "им", "ем", "ю",
];

/// Verbs of removal: what is behind them is removed, whatever its case.
const REMOVES: [&str; 2] = ["usun-", "удал-"];

/// "Jak się oblicza pole" is "jak obliczyć pole". Only verbs that `data/foreign.txt` has: others may be what a thing does by itself.
pub(super) fn how(words: &mut Vec<Token>, russian: bool) {
    let (language, ask) = if russian { (RUSSIAN_PLACE, "как") } else { (POLISH_PLACE, "jak") };
    if words.len() < 3 || words[0].text != ask {
        return;
    }
    let reflexive = |word: &Token| matches!(word.text.as_str(), "się" | "sie");
    let verb = 1 + usize::from(reflexive(&words[1]));
    let Some(stem) = (words[verb].kind == Kind::Word && !words[verb].capital)
        .then(|| stem(&words[verb].text, language))
        .flatten()
    else {
        return;
    };
    words[verb].text = stem;
    if verb == 2 {
        words.remove(1);
    } else if words.get(2).is_some_and(reflexive) {
        words.remove(2);
    }
    if !REMOVES.contains(&words[1].text.as_str()) {
        return;
    }
    if words.len() > 3 && words[2].text == "от" {
        words.remove(2);
    }
    if let Some(thing) = words.get_mut(2).filter(|thing| thing.kind == Kind::Word && !thing.capital) {
        let bare = uninflected(&thing.text, language);
        // "Mrówek", "mrówki"
        thing.text = bare.strip_suffix("ek").map_or(bare.clone(), |root| format!("{root}k"));
    }
}

/// The stem that stands for a verb of the table, with a mark.
fn stem(verb: &str, language: usize) -> Option<String> {
    let verb = bare_word(verb);
    let ends: &[&str] = if language == RUSSIAN_PLACE { &RUSSIAN } else { &POLISH };
    let known = |stem: &str| phrases::verb(language, stem);
    let found = known(&verb)
        .or_else(|| ends.iter().filter_map(|end| verb.strip_suffix(&*bare_word(end))).find_map(known));
    found.map(|stem| format!("{stem}-"))
}

/// "Назовите" is "назови": a stranger is told to do what a friend is.
pub(super) fn told(text: &str) -> Option<String> {
    let first = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let friend = first.strip_suffix("те").filter(|verb| verb.ends_with(['и', 'й', 'ь']))?;
    (friend.chars().count() > 3).then(|| format!("{friend}{}", &text[first.len()..]))
}

/// "Kiedy się urodził Chopin" is "kiedy urodził się Chopin": the only "się" of a text has one place.
pub(super) fn reflexive(words: &mut [Token]) {
    let is = |word: &Token| word.kind == Kind::Word && matches!(word.text.as_str(), "się" | "sie");
    let mut found = (0..words.len()).filter(|at| is(&words[*at]));
    if let (Some(at), None) = (found.next(), found.next()) {
        words[at..].rotate_left(1);
    }
}
