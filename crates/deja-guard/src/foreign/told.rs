//! How an answer is to be, said in a sentence of its own before the question or behind it: "erkläre kurz: ...", "..., kurz erklärt".

use std::sync::LazyLock;

use super::phrases::words;

/// Ways to ask for the same kind of answer, and their line.
static WAYS: LazyLock<Vec<(Vec<String>, usize)>> = LazyLock::new(|| {
    let lines = include_str!("../../data/foreign.txt").lines().enumerate();
    let mut all = Vec::new();
    for (number, line) in lines {
        let mut ways = line.split(" | ");
        let Some((_, "told")) = ways.next().and_then(|head| head.split_once(' ')) else { continue };
        all.extend(ways.map(|way| (words(way).into_iter().map(|word| word.text).collect(), number)));
    }
    all
});

const MARKS: [char; 8] = [',', '.', '?', '!', ':', ';', '–', '—'];

/// The question, and the word that stands for what is said of the answer.
pub(super) fn split(text: &str) -> Option<(&str, String)> {
    let told = |part: &str| {
        let said = words(part);
        let said: Vec<&str> =
            said.iter().map(|word| word.text.as_str()).filter(|word| !COURTESY.contains(word)).collect();
        WAYS.iter().find(|(way, _)| *way == said).map(|(_, number)| format!("#told{number}"))
    };
    let body = text.trim_end_matches(|c: char| MARKS.contains(&c) || c.is_whitespace());
    let behind = body.rfind(MARKS).and_then(|at| {
        let mark = body[at..].chars().next()?;
        Some((&text[..at + mark.len_utf8()], told(&body[at + mark.len_utf8()..])?))
    });
    behind.or_else(|| {
        let at = body.find(MARKS)?;
        let mark = body[at..].chars().next()?;
        Some((text[at + mark.len_utf8()..].trim_start(), told(&body[..at])?))
    })
}

const COURTESY: [&str; 12] = [
    "bitte",
    "por",
    "favor",
    "svp",
    "per",
    "favore",
    "prosze",
    "пожалуйста",
    "lutfen",
    "alsjeblieft",
    "alstublieft",
    "mal",
];
