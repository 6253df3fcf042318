//! What is asked of two things in any order: "was ist der Unterschied zwischen A und B", "worin unterscheiden sich B und A".

use std::sync::LazyLock;

use super::lines::lines_of;
use super::phrases::{Word, words};
use super::quoted;
use super::typed::bare_word;
use crate::languages::LANGUAGE_CODES;

/// What stands before, between and behind the two.
struct Form {
    language: usize,
    parts: [Vec<String>; 3],
    /// The form that stands for all.
    plain: usize,
}

/// Words of each of the two.
const LONGEST: usize = 6;

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let mut forms = Vec::new();
    for line in lines_of("pair") {
        let Some(language) = line.language() else { continue };
        let plain = forms.len();
        for way in line.ways {
            let parts: Vec<Vec<String>> =
                way.split('_').map(|part| words(part).into_iter().map(|word| word.text).collect()).collect();
            forms.extend(parts.try_into().ok().map(|parts| Form { language, parts, plain }));
        }
    }
    forms
});

/// Articles, which say nothing of the order.
const ARTICLES: [&str; 40] = [
    "der", "die", "das", "den", "dem", "ein", "eine", "einen", "einem", "einer", "el", "la", "los", "las",
    "un", "una", "unos", "unas", "le", "les", "l", "une", "des", "du", "o", "a", "os", "as", "um", "uma",
    "il", "lo", "i", "gli", "uno", "de", "het", "een", "s", "t",
];

/// `text`, if it asks something of two, with both in one order.
pub(super) fn ordered(text: &str, languages: &[usize]) -> Option<String> {
    let said = words(text);
    FORMS.iter().filter(|form| languages.contains(&form.language)).find_map(|form| {
        let [before, between, behind] = &form.parts;
        let inner = said.len().checked_sub(before.len() + behind.len())?;
        let is =
            |said: &[Word], part: &[String]| said.iter().zip(part).all(|(word, part)| word.text == *part);
        let (begin, end) = (before.len(), before.len() + inner);
        if !is(&said, before) || !is(&said[end..], behind) {
            return None;
        }
        let mut splits =
            (begin..end.saturating_sub(between.len() - 1)).filter(|at| is(&said[*at..], between));
        let (Some(split), None) = (splits.next(), splits.next()) else { return None };
        let mut two = [&said[begin..split], &said[split + between.len()..end]];
        if two.iter().any(|thing| thing.is_empty() || thing.len() > LONGEST || !whole(text, thing)) {
            return None;
        }
        two.sort_by_cached_key(|thing| key(thing, form.language));
        let [x, y] = two.map(|thing| written(text, thing, form.language));
        let [before, between, behind] = &FORMS[form.plain].parts;
        Some(format!("{} {x} {} {y} {}", before.join(" "), between.join(" "), behind.join(" ")))
    })
}

/// No mark parts them.
fn whole(text: &str, thing: &[Word]) -> bool {
    thing
        .windows(2)
        .all(|two| text[two[0].end..two[1].begin].chars().all(|c| matches!(c, ' ' | '-' | '\'' | '’' | '.')))
}

fn key(thing: &[Word], language: usize) -> String {
    let named = thing.iter().position(|word| !ARTICLES.contains(&word.text.as_str())).unwrap_or(0);
    thing[named..].iter().map(|word| uninflected(&word.text, language)).collect::<Vec<_>>().join(" ")
}

fn written(text: &str, thing: &[Word], language: usize) -> String {
    if matches!(LANGUAGE_CODES[language], "pl" | "ru") {
        return key(thing, language);
    }
    // Gender tells some words apart: "la papa", "el papa".
    let german = matches!(LANGUAGE_CODES[language], "de" | "nl");
    let named = thing.iter().position(|word| !german || !ARTICLES.contains(&word.text.as_str())).unwrap_or(0);
    text[thing[named].begin..thing[thing.len() - 1].end].to_owned()
}

/// A Polish or Russian noun without its case, which says nothing between two that are compared.
pub(super) fn uninflected(word: &str, language: usize) -> String {
    const POLISH: [&str; 24] = [
        "ami", "ach", "owi", "ego", "emu", "ymi", "imi", "iem", "ow", "om", "ej", "em", "im", "ym", "ie",
        "ia", "a", "e", "i", "o", "u", "y", "ą", "ę",
    ];
    const RUSSIAN: [&str; 38] = [
        "ами", "ями", "ого", "его", "ому", "ему", "ыми", "ими", "ой", "ей", "ом", "ем", "ам", "ям", "ах",
        "ях", "ов", "ев", "ый", "ий", "ая", "яя", "ое", "ее", "ую", "юю", "ые", "ие", "ых", "их", "а", "я",
        "о", "е", "у", "ю", "ы", "и",
    ];
    const SHORTEST: usize = 3;
    if quoted::is(word) {
        return word.to_owned();
    }
    let word = bare_word(word);
    let endings: &[&str] = match LANGUAGE_CODES[language] {
        "pl" => &POLISH,
        "ru" => &RUSSIAN,
        _ => return word,
    };
    let long = |root: &&str| root.chars().count() >= SHORTEST;
    endings.iter().find_map(|end| word.strip_suffix(end).filter(long)).unwrap_or(&word).to_owned()
}
