//! Limits of a measure: "how old must one be" asks for the minimum age, "how heavy may a bag be" for the maximum weight.

use crate::scan::{Kind, Piece, text};

const MEASURES: [(&str, &str); 10] = [
    ("old", "age"),
    ("tall", "height"),
    ("high", "height"),
    ("heavy", "weight"),
    ("big", "size"),
    ("large", "size"),
    ("long", "length"),
    ("wide", "width"),
    ("deep", "depth"),
    ("loud", "volume"),
];

/// The most pieces between the measure and "be": "how old does the driver of a rented car have to be".
const SUBJECT: usize = 10;

/// Writes "what minimum age" and the like for a question of how much it must or may be.
pub(super) fn say_limit(pieces: &mut Vec<Piece>) {
    most(pieces);
    speed(pieces);
    from_age(pieces);
    let Some(how) = (0..pieces.len()).find(|at| text(pieces, *at) == "how") else { return };
    let Some((_, noun)) = MEASURES.iter().find(|(word, _)| *word == text(pieces, how + 1)) else { return };
    let clause = |at: &usize| *at == how + 2 || !pieces[*at].broken || is_limit(pieces, *at) > 0;
    let reach = (how + 2..pieces.len().min(how + 2 + SUBJECT)).take_while(clause);
    let Some(be) = reach.clone().find(|at| text(pieces, *at) == "be") else { return };
    let between: Vec<&str> = (how + 2..be).map(|at| text(pieces, at)).collect();
    let must = matches!(between[..], ["must" | "should", ..] | [.., "have" | "has" | "need" | "needs", "to"]);
    let may = matches!(between[..], ["can" | "may" | "could", ..] | [.., "allowed" | "permitted", "to"]);
    if must == may {
        return;
    }
    // "How long can eggs be kept", "how long can they be in the fridge": what they are, and how long, is something else.
    let limit = is_limit(pieces, be + 1);
    let ends = pieces.get(be + 1).is_none_or(|next| next.broken) || limit > 0;
    let goes_on = matches!(text(pieces, be + 1), "to" | "for" | "in" | "on" | "before" | "if");
    if !(ends || goes_on && text(pieces, how + 1) != "long") {
        return;
    }
    let subject: Vec<Piece> = (how + 2..be)
        .filter(|at| {
            !matches!(
                text(pieces, *at),
                "do" | "does"
                    | "must"
                    | "should"
                    | "have"
                    | "has"
                    | "need"
                    | "needs"
                    | "to"
                    | "can"
                    | "may"
                    | "could"
                    | "is"
                    | "are"
                    | "am"
                    | "allowed"
                    | "permitted"
            )
        })
        .map(|at| pieces[at].clone())
        .collect();
    let end = be + 1 + limit;
    let first = Piece { kind: Kind::Word, ..pieces[how].clone() };
    let said = |word: &str, broken| Piece { text: word.to_owned(), broken, ..first.clone() };
    let mut asked = vec![said("what", first.broken), said(if must { "minimum" } else { "maximum" }, false)];
    asked.push(said(noun, false));
    asked.extend(subject);
    pieces.splice(how..end, asked);
    if let Some(last) = pieces.last_mut() {
        last.asked = true;
    }
}

/// "Max 50 words" is "at most 50 words".
fn most(pieces: &mut [Piece]) {
    for at in 0..pieces.len() {
        let counts = pieces.get(at + 1).is_some_and(|next| next.kind == Kind::Number && !next.broken);
        if counts && matches!(text(pieces, at), "max" | "maximum") {
            "at_most".clone_into(&mut pieces[at].text);
        }
    }
}

/// How many pieces at `at` say "at least" or "at most", but of no number.
fn is_limit(pieces: &[Piece], at: usize) -> usize {
    let length = match (text(pieces, at), text(pieces, at + 1), text(pieces, at + 2)) {
        ("at", "a" | "the", "minimum" | "maximum" | "least" | "most") => 3,
        ("at", "least" | "most" | "minimum" | "maximum", _) => 2,
        ("minimum" | "maximum", ..) => 1,
        _ => return 0,
    };
    let counts = pieces.get(at + length).is_some_and(|next| next.kind == Kind::Number && !next.broken);
    if counts { 0 } else { length }
}

/// "At what age can you vote" is "what is the minimum age to vote".
fn from_age(pieces: &mut Vec<Piece>) {
    let found = (0..pieces.len()).find(|at| {
        matches!(text(pieces, *at), "at" | "from")
            && matches!(text(pieces, at + 1), "what" | "which")
            && text(pieces, at + 2) == "age"
            && (matches!(text(pieces, at + 3), "can" | "may")
                || matches!(text(pieces, at + 3), "am" | "is" | "are")
                    && (at + 4..at + 7).any(|at| matches!(text(pieces, at), "allowed" | "permitted")))
    });
    if let Some(at) = found {
        let minimum = Piece { text: "minimum".to_owned(), ..pieces[at + 2].clone() };
        let broken = pieces[at].broken;
        pieces.insert(at + 2, minimum);
        pieces.remove(at);
        pieces[at].broken = broken;
    }
}

/// "How fast may one drive on a motorway" asks for the speed limit.
fn speed(pieces: &mut Vec<Piece>) {
    /// The most words between "fast" and "drive": "are you allowed to".
    const NEAR: usize = 5;
    let Some(how) = (0..pieces.len()).find(|at| text(pieces, *at) == "how" && text(pieces, at + 1) == "fast")
    else {
        return;
    };
    let drive = (how + 3..how + 3 + NEAR).find(|at| matches!(text(pieces, *at), "drive" | "go"));
    let Some(drive) = drive.filter(|at| matches!(text(pieces, at + 1), "on" | "in" | "within" | "through"))
    else {
        return;
    };
    let may = (how + 2..drive).all(|at| {
        matches!(
            text(pieces, at),
            "can"
                | "may"
                | "am"
                | "are"
                | "is"
                | "it"
                | "i"
                | "we"
                | "you"
                | "one"
                | "people"
                | "cars"
                | "allowed"
                | "permitted"
                | "legal"
                | "to"
                | "legally"
        )
    });
    if may {
        for (at, word) in ["what", "speed", "limit"].into_iter().enumerate() {
            word.clone_into(&mut pieces[how + at].text);
        }
        pieces.drain(how + 3..=drive);
    }
}
