//! What one should do about something: "I lost my card, what should I do?" is "what should I do if I lost my card?"

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::lines::lines_of;
use super::phrases::words;
use crate::languages::{DUTCH_PLACE, GERMAN_PLACE};

/// The way to ask what to do that stands for all, and all of them, the longest first.
type Ways = (&'static str, Vec<Vec<String>>);

/// By language.
static WAYS: LazyLock<FxHashMap<usize, Ways>> = LazyLock::new(|| {
    let mut table: FxHashMap<usize, Ways> = FxHashMap::default();
    for line in lines_of("remedy") {
        let Some(language) = line.language() else { continue };
        let (plain, all) = table.entry(language).or_default();
        *plain = line.ways.clone().next().unwrap_or_default();
        let ways = line.ways.map(|way| words(way).into_iter().map(|word| word.text).collect::<Vec<_>>());
        all.extend(ways.filter(|way| way.last().is_some_and(|last| !IF.contains(&last.as_str()))));
        all.sort_by_key(|way| std::cmp::Reverse(way.len()));
    }
    table
});

/// What begins a condition, in small letters without marks.
const IF: [&str; 22] = [
    "wenn", "falls", "si", "se", "quando", "cuando", "quand", "als", "wanneer", "jesli", "jezeli", "gdy",
    "kiedy", "если", "когда", "eger", "caso", "si jamais", "indien", "sobald", "nachdem", "lorsque",
];

/// The most words of what happened.
const LONGEST: usize = 40;

/// `text`, if it asks what to do about something, with the question before what happened.
pub(super) fn first(text: &str, languages: &[usize]) -> Option<String> {
    let said = words(text);
    for language in languages {
        let Some((plain, ways)) = WAYS.get(language) else { continue };
        for way in ways {
            let rest = said.len().saturating_sub(way.len());
            if rest == 0 || rest > LONGEST {
                continue;
            }
            let is = |at: usize| said[at..].iter().zip(way).all(|(word, way)| word.text == *way);
            let (mut begin, mut end) = if is(rest) {
                (0, rest)
            } else if is(0) {
                (way.len(), said.len())
            } else {
                continue;
            };
            let marked = begin == 0
                || text[said[begin - 1].end..said[begin].begin].contains(['?', '.', ',', '!', ':']);
            let condition = IF.contains(&said[begin].text.as_str());
            if !(marked || condition) {
                continue;
            }
            begin += usize::from(condition);
            // "... und weiß nicht, was ich tun soll"
            end -= usize::from(matches!(
                said[end - 1].text.as_str(),
                "und" | "y" | "et" | "e" | "en" | "i" | "и" | "ve"
            ));
            if begin >= end {
                continue;
            }
            let happened = text[said[begin].begin..said[end - 1].end].to_owned();
            let happened = if condition { happened } else { clause(&happened, *language) };
            return Some(format!("{plain} {happened}"));
        }
    }
    None
}

/// "Ich habe meinen Ausweis verloren" as it stands behind "wenn": the verb comes last.
fn clause(sentence: &str, language: usize) -> String {
    const SUBJECTS: [&str; 14] =
        ["ich", "ik", "es", "het", "wir", "we", "wij", "er", "sie", "hij", "ze", "man", "jemand", "iemand"];
    const BEFORE_NOUNS: [&str; 14] = [
        "mein", "meine", "mijn", "der", "die", "das", "de", "unser", "unsere", "onze", "ons", "ein", "eine",
        "een",
    ];
    const PREFIXES: [&str; 12] =
        ["an", "aus", "auf", "ab", "ein", "zu", "aan", "uit", "op", "af", "in", "dicht"];
    if !matches!(language, GERMAN_PLACE | DUTCH_PLACE) || sentence.contains(['.', '!', '?', ';', ',']) {
        return sentence.to_owned();
    }
    let mut said: Vec<&str> = sentence.split_whitespace().collect();
    let first = said[0].to_lowercase();
    let verb = if SUBJECTS.contains(&first.as_str()) {
        1
    } else if BEFORE_NOUNS.contains(&first.as_str()) {
        2
    } else {
        return sentence.to_owned();
    };
    if said.len() <= verb + 1 {
        return sentence.to_owned();
    }
    let verb = said.remove(verb);
    let prefix = said.pop_if(|last| PREFIXES.contains(last)).unwrap_or_default();
    format!("{} {prefix}{verb}", said.join(" "))
}
