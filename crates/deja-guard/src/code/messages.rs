//! Messages of programs. They are pasted: another word in one is another message.

use std::collections::HashSet;

use super::IDLE;
use super::bare::words;
use crate::lexicon::{lexicon, stem};

/// Messages that are looked at.
const MOST: usize = 8;

/// Words behind a message that ask about it.
const ASKS: [&str; 12] =
    ["what", "why", "how", "where", "which", "when", "who", "can", "should", "does", "is", "please"];

/// Whether two messages with the same label have other words each, which the other prompt does not say anywhere.
pub(super) fn differ<'a>(x: &'a str, y: &'a str) -> bool {
    if !(x.contains(": ") && y.contains(": ")) {
        return false;
    }
    let (of_x, of_y) = (messages(x), messages(y));
    if of_x.is_empty() || of_y.is_empty() {
        return false;
    }
    let said = |text: &str| words(text).map(|word| stem(&word)).collect::<HashSet<_>>();
    let (said_x, said_y) = (said(x), said(y));
    let alone = |message: &str, said: &HashSet<String>| {
        words(message).any(|word| lexicon().class(&word) & IDLE == 0 && !said.contains(&stem(&word)))
    };
    // Each once: a message may be as long as the text.
    let alone_in = |messages: Vec<(&'a str, &str)>, said: &HashSet<String>| {
        messages.into_iter().map(|(label, message)| (label, alone(message, said))).collect::<Vec<_>>()
    };
    let (of_x, of_y) = (alone_in(of_x, &said_y), alone_in(of_y, &said_x));
    of_x.iter().any(|(label, alone)| {
        let mut like = of_y.iter().filter(|(other, _)| other == label).peekable();
        like.peek().is_some() && like.all(|(_, other)| *alone && *other)
    })
}

/// The labels of messages, and what stands behind them in their clause: "x509: certificate has expired".
fn messages(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for line in text.lines() {
        for (at, _) in line.match_indices(": ") {
            let parts = |c: char| c.is_whitespace() || matches!(c, '"' | '`');
            let label = line[..at].rsplit(parts).next().unwrap_or_default();
            let behind = &line[at + 2..];
            if found.len() < MOST && is_label(label) {
                found.push((label, clause(behind)));
            }
        }
    }
    found
}

fn is_label(word: &str) -> bool {
    let name = word.trim_end_matches(|c: char| !c.is_alphanumeric());
    let lower = name.to_lowercase();
    let letters = name.starts_with(char::is_alphabetic);
    letters
        && (name.ends_with("Error")
            || name.ends_with("Exception")
            || matches!(lower.as_str(), "fatal" | "error" | "err")
            || lower.starts_with("error[")
            || name.len() > 3 && name.is_ascii() && name.ends_with(|c: char| c.is_ascii_digit()))
}

/// Up to the end of a sentence or to a question about it.
fn clause(text: &str) -> &str {
    let ends = [". ", "? ", "! ", ", ", " - ", "\""].iter().filter_map(|mark| text.find(mark)).min();
    let text = &text[..ends.unwrap_or(text.len())];
    let asks = |word: &str| ASKS.contains(&word.to_lowercase().as_str());
    let mut at = 0;
    for word in text.split(' ') {
        if at > 0 && asks(word) && !word.eq_ignore_ascii_case("is") && !word.eq_ignore_ascii_case("does") {
            return &text[..at];
        }
        at += word.len() + 1;
    }
    text
}
