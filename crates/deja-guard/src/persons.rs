//! What is done to whom, as far as pronouns tell: "my dog bit me" and "I was bitten" are one, "you sue" and "sues you" are not.

use crate::lexicon::{class, lexicon, stem};
use crate::scan::{Piece, text};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Person {
    Writer,
    Reader,
    Other,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct Persons {
    /// Stems of verbs with the one that it is done to.
    done_to: Vec<(String, Person)>,
    /// Stems of verbs that a "you" does.
    reader_does: Vec<String>,
}

/// Words that are no verb with a meaning.
const NO_VERB: u64 = class::FUNCTION
    | class::AUXILIARY
    | class::NEGATION
    | class::PREPOSITION
    | class::COORDINATOR
    | class::POSSESSIVE;
/// Verbs among the words that say little.
const VERBS: [&str; 13] =
    ["find", "give", "help", "know", "let", "made", "make", "makes", "need", "show", "tell", "use", "want"];
const BEING: [&str; 8] = ["be", "been", "being", "was", "were", "am", "got", "gotten"];
/// With a verb: "yelled at me". What comes "from me" is not done to me.
const PARTICLES: [&str; 3] = ["at", "on", "to"];

impl Persons {
    pub(crate) fn read(pieces: &[Piece]) -> Self {
        let mut persons = Self::default();
        for at in 1..pieces.len() {
            let verb = |of: usize| {
                let piece = pieces.get(of).filter(|piece| piece.sentence == pieces[at].sentence)?;
                let means =
                    lexicon().class(&piece.text) & NO_VERB == 0 || VERBS.contains(&piece.text.as_str());
                means.then(|| stem(&piece.text))
            };
            let object = match text(pieces, at) {
                "me" | "us" => Some(Person::Writer),
                "him" | "her" | "them" => Some(Person::Other),
                "you" => Some(Person::Reader),
                word if BEING.contains(&word) => {
                    // "I am suing" is no passive.
                    let verb =
                        undergone(pieces, at).filter(|at| !text(pieces, *at).ends_with("ing")).and_then(verb);
                    persons.done_to.extend(verb.map(|verb| (verb, Person::Writer)));
                    None
                }
                _ => None,
            };
            let Some(person) = object else { continue };
            let before = at - usize::from(at > 1 && PARTICLES.contains(&text(pieces, at - 1)));
            if let Some(verb) = verb(before - 1).filter(|_| !pieces[at].broken) {
                persons.done_to.push((verb, person));
            } else if person == Person::Reader {
                persons.reader_does.extend(verb(at + 1));
            }
        }
        persons
    }

    /// Whether both say that one thing is done to the writer: "why was I charged", "why did you charge me".
    pub(crate) fn same_undergone(&self, other: &Self) -> bool {
        self.done_to.iter().any(|done| done.1 == Person::Writer && other.done_to.contains(done))
    }

    /// Whether a "you" does in one what is done to it in the other, or the writer and somebody else trade places: "make him miss me",
    /// "make me miss him".
    pub(crate) fn traded(&self, other: &Self) -> bool {
        let (writer, somebody) = (Person::Writer, Person::Other);
        self.reader_undergoes(other)
            || other.reader_undergoes(self)
            || self.becomes(writer, other, somebody) && self.becomes(somebody, other, writer)
    }

    fn reader_undergoes(&self, other: &Self) -> bool {
        let undergoes = |persons: &Self, verb: &String| persons.does_to(verb, Person::Reader);
        other
            .reader_does
            .iter()
            .any(|verb| undergoes(self, verb) && !undergoes(other, verb) && !self.reader_does.contains(verb))
    }

    /// Whether something is done to `one` that `other` has done to `another`.
    fn becomes(&self, one: Person, other: &Self, another: Person) -> bool {
        self.done_to.iter().any(|(verb, person)| *person == one && other.does_to(verb, another))
    }

    fn does_to(&self, verb: &str, person: Person) -> bool {
        self.done_to.iter().any(|done| done.0 == verb && done.1 == person)
    }
}

/// Whether the last of the pieces before `verb` does something: "my parents give me". "Please give me" asks for it.
pub(crate) fn has_doer(before: &[Piece], verb: &Piece) -> bool {
    let [.., lead, doer] = before else { return false };
    let leads = || {
        lexicon().class(&lead.text) & class::POSSESSIVE != 0
            || matches!(lead.text.as_str(), "the" | "a" | "an" | "if" | "when" | "does" | "do" | "did")
    };
    let noun = || lexicon().class(&doer.text) & NO_VERB == 0 && lead.sentence == verb.sentence && leads();
    !verb.broken
        && doer.sentence == verb.sentence
        && (matches!(doer.text.as_str(), "they" | "he" | "she" | "it" | "who" | "that" | "people") || noun())
}

/// Where the verb of a passive stands whose form of "be" is at `at`, if the writer is before or right behind it: "I have just been",
/// "can I be", "why was I".
fn undergone(pieces: &[Piece], at: usize) -> Option<usize> {
    let writer = |piece: &Piece| matches!(piece.text.as_str(), "i" | "we");
    if pieces.get(at + 1).is_some_and(writer) {
        return Some(at + 2);
    }
    let helps = |piece: &Piece| {
        lexicon().class(&piece.text) & (class::AUXILIARY | class::NEGATION) != 0
            || matches!(piece.text.as_str(), "just" | "already" | "about" | "to")
    };
    let mut before = pieces[..at].iter().rev().take_while(|piece| piece.sentence == pieces[at].sentence);
    before.find(|piece| !helps(piece)).is_some_and(writer).then_some(at + 1)
}
