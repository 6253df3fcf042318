//! How an answer is to be, said in a sentence of its own before the question or behind it: "erkläre kurz: ...", "..., kurz erklärt".

use std::sync::LazyLock;

use super::lines::lines_of;
use super::phrases::{COURTESY, words};

/// Ways to ask for the same kind of answer, and their line.
static WAYS: LazyLock<Vec<(Vec<String>, usize)>> = LazyLock::new(|| {
    let read = |way| words(way).into_iter().map(|word| word.text).collect();
    let lines = lines_of("told").enumerate();
    lines.flat_map(|(number, line)| line.ways.map(move |way| (read(way), number))).collect()
});

const MARKS: [char; 8] = [',', '.', '?', '!', ':', ';', '–', '—'];

/// The question, and the word that stands for what is said of the answer.
pub(super) fn split(text: &str) -> Option<(&str, String)> {
    let told = |part: &str| {
        let said = words(part);
        let said: Vec<&str> = said
            .iter()
            .map(|word| word.text.as_str())
            .filter(|word| *word != "alsjeblieft" && !COURTESY.contains(word))
            .collect();
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
