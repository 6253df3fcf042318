//! What one does not have: "if I no longer have it", "without it"; "iron deficiency", "a lack of iron".

use crate::lexicon::{class, lexicon};
use crate::scan::{Kind, Piece, text};

/// Brings what is missing into one form.
pub(super) fn say_lacking(pieces: &mut Vec<Piece>) {
    say_without(pieces);
    say_lack(pieces);
}

/// "If I do not have a ticket any more", "if I have no ticket" is "without a ticket".
fn say_without(pieces: &mut Vec<Piece>) {
    const LACKING: [&[&str]; 9] = [
        &["does", "not", "have"],
        &["no", "longer", "has"],
        &["has", "no"],
        &["do", "not", "have"],
        &["do", "not", "own"],
        &["no", "longer", "have"],
        &["have", "not", "got"],
        &["have", "no"],
        &["do", "not", "any", "longer", "have"],
    ];
    let found = (0..pieces.len()).find_map(|at| {
        let subject = matches!(text(pieces, at + 1), "i" | "we" | "you" | "one" | "they" | "it");
        let says =
            |words: &&&[&str]| words.iter().enumerate().all(|(k, word)| text(pieces, at + 2 + k) == *word);
        let length = LACKING.iter().find(says).map(|words| words.len())?;
        (text(pieces, at) == "if" && subject).then_some((at, at + 2 + length))
    });
    let Some((begin, end)) = found.filter(|(_, end)| is_thing(pieces, *end)) else { return };
    "without".clone_into(&mut pieces[begin].text);
    pieces.drain(begin + 1..end);
    let clause = (begin + 1..pieces.len()).find(|at| pieces[*at].broken).unwrap_or(pieces.len());
    let said = |back: usize| clause.checked_sub(back).map_or("", |at| text(pieces, at));
    let still = match (said(2), said(1)) {
        ("any", "more" | "longer") => 2,
        (_, "anymore") => 1,
        _ => 0,
    };
    pieces.drain(clause - still..clause);
}

/// Whether a thing follows that one may have: no "have to go", no "have paid".
fn is_thing(pieces: &[Piece], at: usize) -> bool {
    let Some(next) = pieces.get(at).filter(|next| !next.broken) else { return false };
    let class = lexicon().class(&next.text);
    let verb = class & (class::PARTICIPLE | class::AUXILIARY | class::PREPOSITION) != 0;
    !(verb || next.text.ends_with("ed"))
}

/// "Iron deficiency" and "a deficiency of iron" are "lack of iron".
fn say_lack(pieces: &mut Vec<Piece>) {
    const LACK: [&str; 3] = ["deficiency", "deficiencies", "deprivation"];
    let Some(at) = (0..pieces.len()).find(|at| LACK.contains(&text(pieces, *at))) else { return };
    let lack = |piece: &Piece, word: &str| Piece {
        text: word.to_owned(),
        kind: Kind::Word,
        name: false,
        upper: false,
        ..piece.clone()
    };
    if matches!(text(pieces, at + 1), "of" | "in") {
        pieces[at] = lack(&pieces[at], "lack");
        pieces[at + 1] = lack(&pieces[at + 1], "of");
        return;
    }
    // "Vitamin D", "vitamin B12"
    let lettered = |at: usize| pieces[at].text.len() == 1 || pieces[at].kind == Kind::Code;
    let Some(last) = at.checked_sub(1).filter(|_| !pieces[at].broken) else { return };
    let begin = if lettered(last) { last.checked_sub(1) } else { Some(last) };
    let small = class::FUNCTION | class::AUXILIARY | class::PREPOSITION;
    let Some(begin) = begin.filter(|begin| lexicon().class(text(pieces, *begin)) & small == 0) else {
        return;
    };
    pieces.remove(at);
    let first = &pieces[begin];
    let (lack, of) = (lack(first, "lack"), Piece { broken: false, ..lack(first, "of") });
    pieces[begin].broken = false;
    pieces.splice(begin..begin, [lack, of]);
}
