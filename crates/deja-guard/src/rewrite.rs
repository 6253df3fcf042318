//! Brings phrases that say the same into one form: "how can I" and "what is the best way to", "turn ... off" and
//! "disable".

mod amounts;
mod lacking;
mod measures;
mod nations;
mod technical;

use amounts::say_amounts;
use lacking::say_lacking;
use measures::say_limit;
use nations::say_country;
use technical::say_technical;

use crate::denial::say_denied;
use crate::framing::say_plainly;
use crate::lexicon::{class, lexicon};
use crate::persons::has_doer;
use crate::prompt::question;
use crate::quantity;
use crate::scan::{Kind, Piece, text};

/// Verbs and particles that may stand apart, and the word for both.
const APART: &[(&str, &str, &str)] = &[
    ("turn", "off", "disable"),
    ("switch", "off", "disable"),
    ("turn", "on", "enable"),
    ("switch", "on", "enable"),
    ("turn", "down", "lower"),
    ("turn", "up", "raise"),
    ("keep", "from", "prevent"),
    ("stop", "from", "prevent"),
    ("bring", "down", "reduce"),
    ("bring", "up", "increase"),
    ("shut", "down", "close"),
    ("set", "up", "setup"),
    ("throw", "away", "discard"),
    ("send", "back", "return"),
    ("give", "back", "return"),
    ("take", "back", "return"),
    ("let", "on", "allow"),
    ("take", "off", "remove"),
    ("split", "up", "split"),
    ("clean", "up", "clean"),
    ("pay", "off", "repay"),
    ("roll", "back", "rollback"),
];

/// Tags that end a question and ask nothing of their own.
const TAGS: &[&[&str]] = &[
    &["right"],
    &["correct"],
    &["is", "it"],
    &["is", "not", "it"],
    &["does", "it"],
    &["does", "not", "it"],
    &["do", "they"],
    &["do", "not", "they"],
    &["are", "they"],
    &["are", "not", "they"],
    &["can", "i"],
    &["can", "not", "i"],
];

/// The most words between "get" and "to work".
const COMPLAINED_OF: usize = 6;

/// The pieces with every known phrase rewritten.
pub(crate) fn rewrite(mut pieces: Vec<Piece>) -> Vec<Piece> {
    drop_tag(&mut pieces);
    say_plainly(&mut pieces);
    topic_last(&mut pieces);
    say_amounts(&mut pieces);
    say_limit(&mut pieces);
    say_country(&mut pieces);
    say_lacking(&mut pieces);
    say_technical(&mut pieces);
    join_apart(&mut pieces);
    take_along(&mut pieces);
    unable(&mut pieces);
    complain(&mut pieces);
    say_denied(&mut pieces);
    say_first(&mut pieces);
    say_golang(&mut pieces);
    let mut out: Vec<Piece> = Vec::with_capacity(pieces.len());
    let mut at = 0;
    while at < pieces.len() {
        let rest = &pieces[at..];
        let mut phrases = lexicon().phrases(&rest[0].text, text(rest, 1));
        let phrase = phrases.find(|phrase| {
            phrase.from.len() <= rest.len()
                && !(phrase.starts && at > 0 && pieces[at - 1].sentence == rest[0].sentence)
                && phrase.from.iter().zip(rest).all(|(word, piece)| *word == piece.text)
                // "AC" and "EV" are abbreviations; so are "US" and "IT": the list has them as written.
                && !(phrase.from.len() == 1 && rest[0].kind == Kind::Number)
                && rest[1..phrase.from.len()].iter().all(|piece| !piece.broken)
                // "My parents give me" asks for nothing; "a shop near me" is a phrase all the same.
                && !(text(rest, 1) == "me" && rest[0].text != "near" && has_doer(&out, &rest[0]))
        });
        if let Some(phrase) = phrase {
            for (i, word) in phrase.to.iter().enumerate() {
                let kind = if word.starts_with(|c: char| c.is_ascii_digit()) && word.parse::<f64>().is_ok() {
                    Kind::Number
                } else {
                    Kind::Word
                };
                out.push(Piece {
                    text: (*word).to_owned(),
                    kind,
                    broken: i == 0 && rest[0].broken,
                    cell: rest[0].cell,
                    glued: false,
                    upper: false,
                    contracted: rest[..phrase.from.len()].iter().any(|p| p.contracted),
                    name: rest[0].name,
                    sentence: rest[0].sentence,
                    asked: rest[..phrase.from.len()].iter().any(|p| p.asked),
                });
            }
            at += phrase.from.len();
        } else {
            // Its text is not looked at again.
            let text = std::mem::take(&mut pieces[at].text);
            split_code(Piece { text, ..pieces[at].clone() }, &mut out);
            at += 1;
        }
    }
    out
}

/// "win11" and "ios17": a name and a number.
fn split_code(piece: Piece, out: &mut Vec<Piece>) {
    if piece.kind == Kind::Code {
        let letters = piece.text.trim_end_matches(|c: char| c.is_ascii_digit());
        if letters.len() >= 3 && letters.len() < piece.text.len() && letters.chars().all(char::is_alphabetic)
        {
            let text = if letters == "win" { "windows" } else { letters };
            out.push(Piece { text: text.to_owned(), kind: Kind::Word, ..piece.clone() });
            let number = piece.text[letters.len()..].to_owned();
            out.push(Piece { text: number, kind: Kind::Number, name: false, broken: false, ..piece });
            return;
        }
    }
    out.push(piece);
}

/// "Python how do I sort a list" is "how do I sort a list in Python".
fn topic_last(pieces: &mut Vec<Piece>) {
    let [topic, asks, ..] = &pieces[..] else { return };
    let one = pieces.iter().all(|piece| piece.sentence == topic.sentence);
    if !one
        || lexicon().class(&topic.text) & class::LANGUAGE == 0
        || question::named(&asks.text).is_none()
        || pieces[2..].iter().any(|piece| piece.text == topic.text)
    {
        return;
    }
    let topic = pieces.remove(0);
    pieces.push(Piece { text: "in".to_owned(), name: false, upper: false, ..topic.clone() });
    pieces.push(topic);
}

fn drop_tag(pieces: &mut Vec<Piece>) {
    for tag in TAGS {
        let Some(from) = pieces.len().checked_sub(tag.len()) else { continue };
        if from >= 3
            && pieces[from].broken
            && tag.iter().zip(&pieces[from..]).all(|(word, piece)| *word == piece.text)
        {
            pieces.truncate(from);
            return;
        }
    }
}

/// "Can I take my dog on the train?" is "can I bring it": what the writer takes along to a place. What is taken away, or by
/// somebody else, is not brought, and so is no picture, bath or pill.
fn take_along(pieces: &mut [Piece]) {
    const ELSEWHERE: [&str; 14] =
        ["you", "he", "she", "they", "who", "me", "from", "off", "out", "away", "back", "over", "up", "down"];
    const PLACES: [&str; 7] = ["on", "onto", "aboard", "in", "into", "to", "through"];
    const DETERMINERS: [&str; 7] = ["the", "my", "our", "your", "this", "board", "a"];
    let says = |words: &[&str]| pieces.iter().any(|piece| words.contains(&piece.text.as_str()));
    if !says(&["i", "we"]) || says(&ELSEWHERE) {
        return;
    }
    let carried = |piece: &Piece| lexicon().class(&piece.text) & class::CARRIED != 0;
    // "To court" and "to lose weight" are no places, nor is "on a loan".
    let place = |at: usize| {
        let [to, what, ..] = &pieces[at.min(pieces.len())..] else { return false };
        let to = to.text.as_str();
        PLACES.contains(&to)
            && (what.name || DETERMINERS.contains(&what.text.as_str()) && !(to == "on" && what.text == "a"))
    };
    // "The food in the fridge" is taken from there.
    let lies = |take: usize, at: usize| {
        pieces[take + 1].text == "the" && matches!(pieces[at].text.as_str(), "on" | "in")
    };
    let along = |take: &usize| {
        let object = pieces[take + 1..].iter().take(4).position(carried);
        matches!(pieces[*take].text.as_str(), "take" | "taking")
            && object.map_or_else(
                || (place(take + 1) || take + 1 == pieces.len()) && pieces[..*take].iter().any(carried),
                |object| {
                    let at = take + object + 2;
                    place(at) && !lies(*take, at)
                },
            )
    };
    if let Some(take) = (0..pieces.len()).find(along) {
        "bring".clone_into(&mut pieces[take].text);
    }
}

/// "I am unable to" and "I'm not able to" say that one cannot: of now, since "could not" is another time.
fn unable(pieces: &mut Vec<Piece>) {
    let is = |at: usize, these: &[&str]| these.contains(&pieces[at].text.as_str());
    let found = (0..pieces.len().saturating_sub(2)).find_map(|at| {
        let rest = pieces.len() - at;
        let not_able = rest > 3 && is(at + 1, &["not"]) && is(at + 2, &["able"]) && is(at + 3, &["to"]);
        let unable = is(at + 1, &["unable"]) && is(at + 2, &["to"]);
        let length = if unable { 3 } else { 4 };
        let behind = at.checked_sub(1).is_some_and(|last| question::named(&pieces[last].text).is_none());
        (behind && is(at, &["am", "is", "are"]) && (unable || not_able)).then_some((at, length))
    });
    if let Some((at, length)) = found {
        "can".clone_into(&mut pieces[at].text);
        "not".clone_into(&mut pieces[at + 1].text);
        pieces.drain(at + 2..at + length);
    } else if pieces.len() > 2 && pieces[0].text == "unable" && pieces[1].text == "to" {
        "can".clone_into(&mut pieces[0].text);
        "not".clone_into(&mut pieces[1].text);
    }
}

/// "The 1st prize" is the first one; the first of May is a number.
fn say_first(pieces: &mut Vec<Piece>) {
    let is_month =
        |pieces: &[Piece], at: usize| pieces.get(at).is_some_and(|piece| quantity::names_month(&piece.text));
    let mut at = 0;
    // "The 1st and the 2nd" are two numbers.
    let ordinal = |piece: &Piece| piece.glued && matches!(piece.text.as_str(), "nd" | "rd" | "th");
    if pieces.iter().any(ordinal) {
        return;
    }
    while at + 1 < pieces.len() {
        let first = pieces[at].text == "1" && pieces[at + 1].glued && pieces[at + 1].text == "st";
        let of = usize::from(pieces.get(at + 2).is_some_and(|piece| piece.text == "of"));
        if first
            && !is_month(pieces, at + 2 + of)
            && !at.checked_sub(1).is_some_and(|last| is_month(pieces, last))
        {
            "first".clone_into(&mut pieces[at].text);
            pieces[at].kind = Kind::Word;
            pieces.remove(at + 1);
        }
        at += 1;
    }
}

/// "Faster than Go", "in go": the language, and no verb. Without a capital it is one where a verb cannot stand, and beside
/// another language.
fn say_golang(pieces: &mut [Piece]) {
    if pieces.iter().all(|piece| piece.text != "go") {
        return;
    }
    let class = |at: usize| pieces.get(at).map_or(0, |piece: &Piece| lexicon().class(&piece.text));
    let is = |at: Option<usize>, these: &[&str]| {
        at.and_then(|at| pieces.get(at)).is_some_and(|piece| these.contains(&piece.text.as_str()))
    };
    let beside = (0..pieces.len()).any(|at| pieces[at].text != "go" && class(at) & class::LANGUAGE != 0);
    let found: Vec<usize> = (0..pieces.len())
        .filter(|at| {
            let before = at.checked_sub(1);
            let noun = is(before, &["in"])
                || beside
                    && is(
                        before,
                        &["is", "than", "more_than", "less_than", "from", "or", "and", "vs", "with"],
                    );
            let first = at == &0 && beside && class(1) & (class::AUXILIARY | class::COORDINATOR) != 0;
            pieces[*at].text == "go" && (pieces[*at].name || noun || first)
        })
        .collect();
    for at in found {
        "golang".clone_into(&mut pieces[at].text);
    }
}

/// "I can't get it to work" and "how do I get it to work" say that it does not: the negation is none of its own.
fn complain(pieces: &mut Vec<Piece>) {
    let words = |at: usize, these: &[&str]| these.contains(&pieces[at].text.as_str());
    let get = (0..pieces.len()).find_map(|get| {
        let reach = (get + COMPLAINED_OF + 2).min(pieces.len());
        let works = (get + 2..reach)
            .find(|at| words(*at, &["working"]) || words(*at, &["work"]) && words(at - 1, &["to"]))?;
        let one = pieces[get + 1..=works].iter().all(|p| !p.broken);
        (words(get, &["get", "getting", "got", "make"]) && one).then_some((get, works))
    });
    let Some((get, works)) = get else { return };
    "fail".clone_into(&mut pieces[works].text);
    if pieces[works - 1].text == "to" {
        pieces.remove(works - 1);
    }
    pieces.remove(get);
    if let Some(not) = (get.saturating_sub(3)..get).find(|at| pieces[*at].text == "not") {
        pieces.remove(not);
    }
}

/// Whether `word` is a unit of time.
fn is_time(word: &str) -> bool {
    quantity::unit(word).is_some_and(|(_, dimension, _)| dimension == quantity::Dimension::Seconds)
}

fn join_apart(pieces: &mut Vec<Piece>) {
    let mut at = 0;
    while at < pieces.len() {
        let first = pieces[at].text.as_bytes().first();
        let mut verbs = APART.iter().filter(|(verb, ..)| verb.as_bytes().first() == first);
        let joined = verbs.find_map(|(verb, particle, whole)| {
            let inflected = pieces[at]
                .text
                .strip_prefix(verb)
                .is_some_and(|end| matches!(end, "" | "s" | "ed" | "ing" | "ping" | "ting"));
            let reach = (at + 6).min(pieces.len());
            let found = inflected.then(|| (at + 1..reach).find(|i| pieces[*i].text == *particle))??;
            // "stop my dog from barking" but not "stop a train from Rome".
            let gerund =
                *particle != "from" || pieces.get(found + 1).is_some_and(|p| p.text.ends_with("ing"));
            let whole_phrase =
                pieces[at + 1..found].iter().all(|p| !p.broken && p.text != "to" && p.text != "i");
            // "Take 10 off the total", but not "take food off the plane" and "take 2 days off".
            let between = &pieces[at + 1..found];
            let off = *verb != "take"
                || between.iter().any(|p| p.kind == Kind::Number)
                    && !between.iter().any(|p| is_time(&p.text));
            (gerund && whole_phrase && off).then_some((found, *whole))
        });
        if let Some((particle, whole)) = joined {
            whole.clone_into(&mut pieces[at].text);
            pieces.remove(particle);
        }
        at += 1;
    }
}
