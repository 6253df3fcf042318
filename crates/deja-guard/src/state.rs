//! What a prompt says of things that are one way or the other: had or lost, used or left, and under what condition it asks.

use crate::lexicon::{class, lexicon, stem};
use crate::scan::{Piece, text};

/// What of something is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Share {
    Used,
    Left,
}

/// What the writer does with a thing, or how far something has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Has,
    Lacks,
    Begins,
    Stops,
    Finishes,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct State {
    /// Stems of things and deeds, with what is said of each: "I lost the receipt", "stopped paying".
    said: Vec<(String, Way)>,
    share: Option<Share>,
    /// Stems of what is behind "if" or "because".
    pub(crate) condition: Vec<String>,
    /// Whether something stays in one place, or goes from one to another.
    inside: Option<bool>,
}

const USED: [&str; 13] = [
    "used", "spent", "consumed", "completed", "finished", "eaten", "watched", "downloaded", "paid", "taken",
    "done", "burned", "redeemed",
];
const LOST: [&str; 13] = [
    "lost", "forgot", "forgotten", "misplaced", "threw", "thrown", "discarded", "deleted", "destroyed",
    "sold", "lack", "binned", "broke",
];
const DETERMINERS: [&str; 7] = ["the", "a", "an", "my", "our", "any", "all"];

impl State {
    pub(crate) fn read(pieces: &[Piece]) -> Self {
        let text = |at: usize| text(pieces, at);
        let says = |words: &[&str]| pieces.iter().any(|piece| words.contains(&piece.text.as_str()));
        let all = || 0..pieces.len();
        let phases = || all().filter_map(|at| way(text(at)));
        let mut said: Vec<_> = all().filter_map(|at| held(pieces, at)).collect();
        // "Should I finish it or stop?"
        if phases().all(|way| Some(way) == phases().next()) {
            said.extend(all().filter_map(|at| phase(pieces, at)));
        }
        Self {
            said,
            share: share(pieces),
            condition: condition(pieces),
            inside: match (says(&["within", "inside"]), says(&["from"])) {
                (true, false) => Some(true),
                (false, true) => {
                    let from = (0..pieces.len()).find(|at| text(*at) == "from").unwrap_or_default();
                    (from + 1..from + 6).any(|at| text(at) == "to").then_some(false)
                }
                _ => None,
            },
        }
    }

    /// Whether each says something else of one thing.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        let same =
            |x: &(String, Way)| self.said.iter().any(|them| them.0 == x.0 && other.said.contains(them));
        self.said.iter().any(|x| other.said.iter().any(|y| x.0 == y.0) && !same(x))
    }

    /// Whether one asks for what was used and the other for what is left, or one way is in a place and the other to another one.
    pub(crate) fn complements(&self, other: &Self) -> bool {
        matches!((self.share, other.share), (Some(x), Some(y)) if x != y)
            || matches!((self.inside, other.inside), (Some(x), Some(y)) if x != y)
    }
}

/// The thing that the writer is said at `at` to have or not.
fn held(pieces: &[Piece], at: usize) -> Option<(String, Way)> {
    let text = |at: usize| text(pieces, at);
    if !matches!(text(at), "i" | "we")
        || at > 0 && matches!(text(at - 1), "do" | "did" | "should" | "can" | "must")
    {
        return None;
    }
    let mut verb = at + 1;
    let mut negated = false;
    while matches!(
        text(verb),
        "still"
            | "already"
            | "do"
            | "did"
            | "not"
            | "no"
            | "longer"
            | "also"
            | "just"
            | "never"
            | "have"
            | "had"
    ) && !DETERMINERS.contains(&text(verb + 1))
    {
        negated |= matches!(text(verb), "not" | "no" | "never");
        verb += 1;
    }
    let mut noun = verb + 1;
    noun += usize::from(matches!(text(noun), "away" | "out" | "got" | "kept"));
    let way = match text(verb) {
        "have" | "kept" | "keep" | "own" | "brought" if negated => Way::Lacks,
        "have" | "kept" | "keep" | "own" | "brought" => Way::Has,
        lost if LOST.contains(&lost) && !negated => Way::Lacks,
        _ => return None,
    };
    DETERMINERS.contains(&text(noun)).then(|| (stem(text(noun + 1)), way))
}

/// How far the deed behind the word at `at` has come.
fn phase(pieces: &[Piece], at: usize) -> Option<(String, Way)> {
    let verb = text(pieces, at + 1);
    let way = way(text(pieces, at))?;
    (verb.len() > 4 && verb.ends_with("ing")).then(|| (stem(verb), way))
}

fn way(word: &str) -> Option<Way> {
    Some(match word {
        "start" | "starts" | "started" | "starting" | "begin" | "begins" | "began" | "begun"
        | "beginning" => Way::Begins,
        "stop" | "stops" | "stopped" | "stopping" | "quit" | "cease" | "ceased" => Way::Stops,
        "finish" | "finishes" | "finished" | "finishing" => Way::Finishes,
        _ => return None,
    })
}

fn share(pieces: &[Piece]) -> Option<Share> {
    let text = |at: usize| text(pieces, at);
    let counts = (0..pieces.len()).any(|at| text(at) == "how" && matches!(text(at + 1), "many" | "much"));
    if !counts {
        return None;
    }
    let left = (1..pieces.len()).any(|at| match text(at) {
        "remaining" | "remain" | "remains" | "unused" | "owe" => true,
        "left" => {
            let next = lexicon().class(text(at + 1));
            at + 1 == pieces.len()
                || pieces[at + 1].broken
                || next & class::PREPOSITION != 0
                || matches!(text(at + 1), "this" | "over")
        }
        "still" => text(at + 1) == "have" || text(at + 1) == "need",
        _ => false,
    });
    let used = (1..pieces.len()).any(|at| {
        USED.contains(&text(at))
            && (at.saturating_sub(3)..at).any(|at| {
                matches!(text(at), "have" | "has" | "been" | "was" | "were" | "already" | "i" | "we")
            })
    });
    match (used, left) {
        (true, false) => Some(Share::Used),
        (false, true) => Some(Share::Left),
        _ => None,
    }
}

fn condition(pieces: &[Piece]) -> Vec<String> {
    let says = |at: &usize, words: &[&str]| words.contains(&pieces[*at].text.as_str());
    let only = |words: &[&str]| {
        let mut found = (0..pieces.len()).filter(|at| says(at, words));
        found.next().filter(|_| found.next().is_none())
    };
    // "What if it is late because of snow"
    let Some(at) = only(&["if", "because", "unless"]).or_else(|| only(&["because"])) else {
        return Vec::new();
    };
    let rest =
        pieces[at + 1..].iter().take_while(|piece| !piece.broken && piece.sentence == pieces[at].sentence);
    rest.filter(|piece| lexicon().class(&piece.text) & class::FUNCTION == 0)
        .map(|piece| stem(&piece.text))
        .collect()
}
