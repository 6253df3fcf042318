//! What is reckoned, in signs: "divide 12 by 4" is "12 / 4"; and "in a year", which is in one year.

use crate::lexicon::{class, lexicon};
use crate::scan::{Kind, Piece, text};

/// Brings arithmetic in words into the form of its signs.
pub(super) fn say_amounts(pieces: &mut Vec<Piece>) {
    compute(pieces);
    raise(pieces);
    count_one(pieces);
}

fn is_number(pieces: &[Piece], at: usize) -> bool {
    pieces.get(at).is_some_and(|piece| piece.kind == Kind::Number)
}

/// "Divide 12 by 4", "add 3 and 5", "subtract 4 from 12".
fn compute(pieces: &mut Vec<Piece>) {
    let found = (0..pieces.len()).find_map(|at| {
        let sign = match (text(pieces, at), text(pieces, at + 2)) {
            ("divide", "by") => "op_over",
            ("multiply", "by" | "with" | "and") => "op_times",
            ("add", "and" | "to") => "op_plus",
            ("subtract", "from") => "op_minus",
            _ => return None,
        };
        // "Add 3 and 5 and 7", "add 2 and 3 cups": more than two numbers.
        let ends = pieces.get(at + 4).is_none_or(|next| next.broken);
        (is_number(pieces, at + 1) && is_number(pieces, at + 3) && ends).then_some((at, sign))
    });
    if let Some((at, sign)) = found {
        sign.clone_into(&mut pieces[at + 2].text);
        if sign == "op_minus" {
            pieces.swap(at + 1, at + 3);
        }
        pieces.remove(at);
    }
}

/// "The square of 4" is "4 ^ 2".
fn raise(pieces: &mut [Piece]) {
    let found = (0..pieces.len()).find_map(|at| {
        let power = match text(pieces, at) {
            "square" => "2",
            "cube" => "3",
            _ => return None,
        };
        let of = text(pieces, at + 1) == "of" && is_number(pieces, at + 2);
        (of && pieces.get(at + 3).is_none_or(|next| next.broken)).then_some((at, power))
    });
    if let Some((at, power)) = found {
        let exponent = Piece { text: power.to_owned(), ..pieces[at + 2].clone() };
        pieces.swap(at, at + 2);
        "op_power".clone_into(&mut pieces[at + 1].text);
        pieces[at + 2] = exponent;
    }
}

/// "In a year" is an amount, where the phrases read "a year" as "yearly". How many there are in a year is how many there are yearly.
fn count_one(pieces: &mut [Piece]) {
    const BEFORE: [&str; 8] = ["in", "within", "after", "for", "than", "least", "most", "about"];
    const AHEAD: [&str; 7] = ["ahead", "before", "after", "earlier", "later", "late", "ago"];
    const SPANS: [&str; 7] = ["year", "month", "week", "day", "hour", "minute", "decade"];
    let often = |piece: &Piece| matches!(piece.text.as_str(), "many" | "much" | "often" | "times" | "most");
    if pieces.iter().any(often) {
        return;
    }
    for at in 1..pieces.len().saturating_sub(1) {
        if text(pieces, at) != "a" || !SPANS.contains(&text(pieces, at + 1)) {
            continue;
        }
        // "A year and 2 months", "a day off", "a day trip".
        let alone = pieces.get(at + 2).is_none_or(|next| {
            let class = lexicon().class(&next.text);
            let small = class & (class::FUNCTION | class::PREPOSITION) != 0;
            next.broken
                || small && !matches!(next.text.as_str(), "and" | "off")
                || AHEAD.contains(&next.text.as_str())
        });
        let span = BEFORE.contains(&text(pieces, at - 1)) || AHEAD.contains(&text(pieces, at + 2));
        if alone && span {
            // No phrase begins with this form of the article.
            "an".clone_into(&mut pieces[at].text);
        }
    }
}
