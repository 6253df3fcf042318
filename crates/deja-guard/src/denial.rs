//! What does not happen: one form of the question, and whether it cannot, must not or is not wanted to.

use crate::prompt::question;
use crate::scan::Piece;

/// The most words of what does not work.
const SUBJECT: usize = 5;

/// Brings what is denied into the form that the phrases read.
pub(crate) fn say_denied(pieces: &mut Vec<Piece>) {
    ask_first(pieces);
    able(pieces);
    fail(pieces);
    show(pieces);
}

/// "I can't log in, why?" asks "why can't I log in?"
fn ask_first(pieces: &mut Vec<Piece>) {
    let [said @ .., end, why] = &pieces[..] else { return };
    let begin = said.iter().rposition(|piece| piece.sentence != end.sentence).map_or(0, |at| at + 1);
    let denies = pieces[begin..].iter().any(|piece| matches!(piece.text.as_str(), "not" | "unable"));
    let asks = pieces[begin..pieces.len() - 1].iter().any(|piece| question::named(&piece.text).is_some());
    if why.text != "why" || !why.broken || !denies || asks {
        return;
    }
    let first = &pieces[begin];
    let why = Piece { sentence: first.sentence, broken: first.broken, asked: false, ..why.clone() };
    pieces.pop();
    if let Some(end) = pieces.last_mut() {
        end.asked = true;
    }
    pieces.insert(begin, why);
}

/// "Why am I unable to go?" and "why am I not able to go?" are "why can I not go?"
fn able(pieces: &mut Vec<Piece>) {
    let is = |at: usize, these: &[&str]| {
        pieces.get(at).is_some_and(|piece: &Piece| these.contains(&piece.text.as_str()))
    };
    let Some(why) = (0..pieces.len()).find(|at| is(*at, &["why"])) else { return };
    let denied = (why + 2..why + 3 + SUBJECT).find_map(|at| {
        let not_able = is(at, &["not"]) && is(at + 1, &["able"]) && is(at + 2, &["to"]);
        let unable = is(at, &["unable"]) && is(at + 1, &["to"]);
        (not_able || unable).then_some((at, if unable { 1 } else { 2 }))
    });
    if let Some((at, length)) = denied.filter(|_| is(why + 1, &["am", "is", "are"])) {
        "can".clone_into(&mut pieces[why + 1].text);
        "not".clone_into(&mut pieces[at].text);
        pieces.drain(at + 1..=at + length);
    }
}

/// "Why doesn't my mouse work?" is "why does my mouse fail?", as the phrases read "why is my mouse not working?".
fn fail(pieces: &mut Vec<Piece>) {
    let is = |at: usize, these: &[&str]| {
        pieces.get(at).is_some_and(|piece: &Piece| these.contains(&piece.text.as_str()))
    };
    let Some(why) = (0..pieces.len()).find(|at| is(*at, &["why"])) else { return };
    // People who do not work do not fail.
    let thing = is(why + 1, &["does", "did", "is", "will"])
        || is(why + 1, &["do", "are"]) && is(why + 3, &["my", "our", "your", "the", "these", "those"]);
    if !thing || !is(why + 2, &["not"]) || is(why + 3, &["he", "she", "i", "we", "you", "they"]) {
        return;
    }
    let end = (why + 4..=why + 3 + SUBJECT).find(|at| is(*at, &["work", "working"]));
    let Some(end) = end.filter(|end| pieces[why + 3..=*end].iter().all(|piece| !piece.broken)) else {
        return;
    };
    if pieces.get(end + 1).is_none_or(|next| next.broken) {
        "fail".clone_into(&mut pieces[end].text);
        pieces.remove(why + 2);
    }
}

/// "Does not show" is "is not showing": by itself "show" is a word that says nothing.
fn show(pieces: &mut [Piece]) {
    for at in 2..pieces.len() {
        let three = [at - 2, at - 1, at].map(|at| pieces[at].text.as_str());
        if matches!(three, ["do" | "does" | "did" | "will", "not", "show"]) {
            "showing".clone_into(&mut pieces[at].text);
        }
    }
}

/// Why something is not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denied {
    /// One cannot.
    Able,
    /// One must not or should not.
    Allowed,
    /// One does not want to.
    Willing,
}

/// What the one negation of a prompt denies, if that is said.
pub(crate) fn denied(pieces: &[Piece]) -> Option<Denied> {
    const NEAR: usize = 3;
    let is = |piece: &Piece, these: &[&str]| these.contains(&piece.text.as_str());
    let mut negations = (0..pieces.len()).filter(|at| is(&pieces[*at], &["not", "unable"]));
    let (at, None) = (negations.next()?, negations.next()) else { return None };
    let next = pieces.get(at + 1);
    if is(&pieces[at], &["unable"]) || next.is_some_and(|next| is(next, &["able"])) {
        return Some(Denied::Able);
    }
    if next.is_some_and(|next| is(next, &["want"])) {
        return Some(Denied::Willing);
    }
    pieces[at.saturating_sub(NEAR)..at].iter().rev().find_map(|piece| match piece.text.as_str() {
        "can" | "could" => Some(Denied::Able),
        "must" | "should" => Some(Denied::Allowed),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::scan;

    fn said(text: &str) -> Vec<Piece> {
        let mut pieces = scan(text, 100);
        say_denied(&mut pieces);
        pieces
    }

    #[test]
    fn what_is_denied_has_one_form() {
        for (text, form) in [
            ("I can't log in, why?", "why i can not log in"),
            ("I am unable to go. Why?", "why i am unable to go"),
            ("It is old. I can't log in, why?", "it is old why i can not log in"),
            ("Why now? I can't log in, why?", "why now why i can not log in"),
            ("I can't log in why?", "i can not log in why"),
            ("I can log in, why?", "i can log in why"),
            ("What can't I do, why?", "what can not i do why"),
            ("I can't log in, please", "i can not log in please"),
            ("Why am I not able to go?", "why can i not go"),
            ("Why are a b c d e unable to go?", "why can a b c d e not go"),
            ("Why are a b c d e f unable to go?", "why are a b c d e f unable to go"),
            ("Why was I unable to go?", "why was i unable to go"),
            ("Why am I not sure to go?", "why am i not sure to go"),
            ("Why am I not able and to go?", "why am i not able and to go"),
            ("Why is it unable and to go?", "why is it unable and to go"),
            ("It is old, so why is it unable to go?", "it is old so why can it not go"),
            ("Why doesn't my mouse work?", "why does my mouse fail"),
            ("Why isn't it working?", "why is it fail"),
            ("Why aren't the lamps working?", "why are the lamps fail"),
            ("So why won't the lamp work, and when?", "so why will the lamp fail and when"),
            ("And so why won't it work?", "and so why will it fail"),
            ("And so why doesn't, my mouse work?", "and so why does not my mouse work"),
            ("Why does my mouse work?", "why does my mouse work"),
            ("Why can't my mouse work?", "why can not my mouse work"),
            ("Why don't people work?", "why do not people work"),
            ("Why doesn't she work?", "why does not she work"),
            ("Why does not work pay?", "why does not work pay"),
            ("Why doesn't my mouse work on glass?", "why does not my mouse work on glass"),
            ("Why doesn't my mouse, the old one, work?", "why does not my mouse the old one work"),
            ("Why doesn't a b c d e work?", "why does a b c d e fail"),
            ("Why doesn't a b c d e f work?", "why does not a b c d e f work"),
            ("It does not show it", "it does not showing it"),
            ("Do not show it", "do not showing it"),
            ("It can not show it", "it can not show it"),
        ] {
            let words: Vec<String> = said(text).into_iter().map(|piece| piece.text).collect();
            assert_eq!(words.join(" "), form, "{text}");
        }
    }

    #[test]
    fn why_belongs_to_the_sentence_that_it_is_put_before() {
        let pieces = said("It is old. I can't log in. Why?");
        let [.., before, why, i, _, _, _, end] = &pieces[..] else { panic!("{pieces:?}") };
        assert_eq!((why.text.as_str(), why.sentence, why.broken), ("why", before.sentence + 1, true));
        assert_eq!((i.sentence, why.asked, end.asked), (why.sentence, false, true));
        assert!(!said("I can't log in. Why?")[0].broken);
    }

    #[test]
    fn one_cannot_must_not_or_does_not_want_to() {
        use Denied::{Able, Allowed, Willing};
        for (text, why) in [
            ("I can't go", Some(Able)),
            ("I am unable to go", Some(Able)),
            ("I am not able to go", Some(Able)),
            ("I do not want to go", Some(Willing)),
            ("I must not go", Some(Allowed)),
            ("Should I really not go?", Some(Allowed)),
            ("Can I on Mondays not go?", None),
            ("I do not go", None),
            ("I can go", None),
            ("I can't and must not go", None),
        ] {
            assert_eq!(denied(&scan(text, 100)), why, "{text}");
        }
    }
}
