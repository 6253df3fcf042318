//! What stands around a question: an oath in it, a state of the thing that is said before it, what does not stop.

use crate::lexicon::{class, lexicon, stem};
use crate::prompt::question;
use crate::scan::{Piece, text};

/// Brings what frames a question into the form of a question alone.
pub(crate) fn say_plainly(pieces: &mut Vec<Piece>) {
    drop_oath(pieces);
    keep_on(pieces);
    fold_state(pieces);
    drop_undone(pieces);
    free_of(pieces);
}

/// "What on earth is a derivative?"
fn drop_oath(pieces: &mut Vec<Piece>) {
    const OATHS: [&[&str]; 7] = [
        &["on", "earth"],
        &["in", "the", "world"],
        &["the", "hell"],
        &["the", "heck"],
        &["the", "fuck"],
        &["in", "god's", "name"],
        &["in", "gods", "name"],
    ];
    for at in 0..pieces.len() {
        if question::named(&pieces[at].text).is_none() {
            continue;
        }
        let says =
            |oath: &&&[&str]| oath.iter().enumerate().all(|(k, word)| text(pieces, at + 1 + k) == *word);
        let Some(oath) = OATHS.iter().find(says) else { continue };
        // "Where in the world is it" asks for a place all the same, "what the hell" alone asks nothing.
        if at + 1 + oath.len() < pieces.len() {
            pieces.drain(at + 1..=at + oath.len());
        }
        return;
    }
}

/// "Gluten free bread" is without gluten.
fn free_of(pieces: &mut [Piece]) {
    const FREE_OF: [&str; 14] = [
        "gluten", "sugar", "dairy", "lactose", "fat", "nut", "meat", "alcohol", "caffeine", "salt", "soy",
        "wheat", "ad", "oil",
    ];
    for at in 1..pieces.len() {
        let what = FREE_OF.contains(&text(pieces, at - 1)) && !pieces[at].broken;
        if what && text(pieces, at) == "free" {
            pieces.swap(at - 1, at);
            "without".clone_into(&mut pieces[at - 1].text);
            let broken = std::mem::take(&mut pieces[at].broken);
            pieces[at - 1].broken = broken;
        }
    }
}

/// "It does not stop beeping" is "it keeps beeping".
fn keep_on(pieces: &mut Vec<Piece>) {
    /// The most words between "won't" and "stop": "why won't my old phone stop".
    const SUBJECT: usize = 4;
    let found = (1..pieces.len()).find_map(|at| {
        let continues = text(pieces, at) == "stop"
            && text(pieces, at + 1).len() > 4
            && text(pieces, at + 1).ends_with("ing");
        let not = (at.saturating_sub(SUBJECT + 1)..at).rev().find(|not| text(pieces, *not) == "not")?;
        let does = matches!(text(pieces, not.checked_sub(1)?), "do" | "does" | "did" | "will" | "would");
        (continues && does && pieces[not..=at].iter().all(|piece| !piece.broken)).then_some((not, at))
    });
    if let Some((not, stop)) = found {
        "keep".clone_into(&mut pieces[stop].text);
        pieces.remove(not);
    }
}

/// "My drain is clogged, how do I clean it?" is "how do I clean my clogged drain?".
fn fold_state(pieces: &mut Vec<Piece>) {
    /// The most words of the thing.
    const THING: usize = 4;
    const SMALL: u64 = class::FUNCTION | class::AUXILIARY | class::NEGATION;
    let is = |at: usize, words: &[&str]| words.contains(&text(pieces, at));
    if !is(0, &["my", "our", "the", "a", "an"]) {
        return;
    }
    let Some(verb) = (2..=THING).find(|at| is(*at, &["is", "are"])) else { return };
    let state = verb + 1;
    // "And", a comma or nothing, then the question.
    let asks = state + 1 + usize::from(is(state + 1, &["and", "so"]));
    let how = is(asks, &["how"]) && is(asks + 1, &["do", "can", "should", "to"]);
    let it = pieces.iter().rposition(|piece| matches!(piece.text.as_str(), "it" | "them"));
    let content = |at: usize| lexicon().class(text(pieces, at)) & SMALL == 0;
    let thing = (1..verb).all(content);
    let Some(it) = it.filter(|it| how && thing && content(state) && *it > asks + 2) else { return };
    let alone = pieces.iter().filter(|piece| matches!(piece.text.as_str(), "it" | "them")).count() == 1;
    let one = pieces[asks..].iter().all(|piece| piece.sentence == pieces[asks].sentence);
    if !alone || !one {
        return;
    }
    let mut said: Vec<Piece> = pieces[asks..it].to_vec();
    said.push(pieces[0].clone());
    said.push(pieces[state].clone());
    said.extend(pieces[1..verb].iter().cloned());
    said.extend(pieces[it + 1..].iter().cloned());
    let sentence = pieces[asks].sentence;
    for piece in &mut said {
        (piece.sentence, piece.broken) = (sentence, piece.broken && piece.sentence == sentence);
    }
    *pieces = said;
}

/// "Unlock my locked account": what one unlocks is locked anyway.
fn drop_undone(pieces: &mut Vec<Piece>) {
    /// How far behind the verb the state stands.
    const NEAR: usize = 3;
    let undone = (0..pieces.len()).find_map(|at| {
        let base =
            text(pieces, at).strip_prefix("un").filter(|base| base.len() > 2 && !base.ends_with("ed"))?;
        let states =
            |state: &usize| text(pieces, *state).ends_with("ed") && stem(text(pieces, *state)) == stem(base);
        (at + 1..=at + NEAR).find(states)
    });
    if let Some(at) = undone.filter(|at| at + 1 < pieces.len() && !pieces[at + 1].broken) {
        pieces.remove(at);
    }
}
