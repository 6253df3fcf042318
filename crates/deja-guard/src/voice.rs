//! Who did it, the writer or somebody else, and whether a question word stands for who does it or for whom it is done to.

use crate::asked::is_past;
use crate::lexicon::{class, lexicon, stem};
use crate::scan::{Kind, Piece, text};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Agent {
    Writer,
    Other,
    /// "My account was closed"
    Unsaid,
}

/// What was done. "I open it" and "it is opened" may be the same, so only the past and "am I banned" count.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Act {
    verb: String,
    agent: Agent,
    /// To the writer.
    undergone: bool,
    /// Something that it is done to stands behind it.
    transitive: bool,
}

/// What a question word stands for: "what causes stress", "what does stress cause".
#[derive(Clone, PartialEq, Eq, Debug)]
struct Role {
    /// "Can" or the like behind the question word.
    modal: String,
    /// The question has "do": whom it is done to is asked for.
    does: bool,
    /// Stems of what follows, in order.
    said: Vec<String>,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct Voice {
    acts: Vec<Act>,
    role: Option<Role>,
    /// What follows "if", "when" or the like.
    clauses: Vec<Clause>,
}

/// A clause behind "if" or "when", whose verb may be in the present: "if the airline cancels my flight".
#[derive(Clone, Debug)]
struct Clause {
    /// The verb, if the writer does it.
    writer: Option<String>,
    /// Stems of what may be the verb, if somebody else does it to something.
    others: Vec<String>,
}

const OTHERS: [&str; 11] =
    ["you", "they", "he", "she", "it", "someone", "somebody", "who", "anyone", "anybody", "everyone"];
const WRITER: [&str; 2] = ["i", "we"];
const BEING: [&str; 6] = ["was", "were", "been", "got", "being", "am"];
const HAVING: [&str; 3] = ["have", "has", "had"];
const PAST: [&str; 8] = ["was", "were", "been", "am", "have", "has", "had", "did"];
/// What happens to one's things without anybody's will: "I lost it" is "it was lost".
const MISHAPS: [&str; 12] = [
    "lose", "misplac", "forget", "break", "damag", "crack", "drop", "spill", "tear", "scratch", "miss",
    "stick",
];

impl Voice {
    pub(crate) fn read(pieces: &[Piece]) -> Self {
        Self {
            acts: (1..pieces.len()).filter_map(|at| act(pieces, at)).collect(),
            role: role(pieces),
            clauses: (0..pieces.len()).filter_map(|at| clause(pieces, at)).collect(),
        }
    }

    /// Whether in one the writer did what in the other somebody else did, or whether the question words ask for the one who does it
    /// and for whom it is done to.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        self.done_by_others(other)
            || other.done_by_others(self)
            || self.does_what_others_do(other)
            || other.does_what_others_do(self)
            || turned(self, other)
    }

    /// Whether in a clause of its own the writer does what in a clause of the other one somebody else does, and neither has both.
    fn does_what_others_do(&self, other: &Self) -> bool {
        let writer =
            |voice: &Self, verb: &String| voice.clauses.iter().any(|them| them.writer.as_ref() == Some(verb));
        let others =
            |voice: &Self, verb: &String| voice.clauses.iter().any(|them| them.others.contains(verb));
        self.clauses.iter().filter_map(|clause| clause.writer.as_ref()).any(|verb| {
            !MISHAPS.contains(&verb.as_str())
                && others(other, verb)
                && !others(self, verb)
                && !writer(other, verb)
        })
    }

    fn done_by_others(&self, other: &Self) -> bool {
        self.acts.iter().any(|act| {
            let mishap = MISHAPS.contains(&act.verb.as_str());
            let another = |them: &Act| {
                them.agent != Agent::Writer
                    && !(them.agent == Agent::Unsaid && mishap)
                    && (act.transitive || !them.undergone)
            };
            self.of(act).all(|mine| mine.agent == Agent::Writer)
                && other.of(act).next().is_some()
                && other.of(act).all(another)
        })
    }

    /// Its acts of the same verb.
    fn of<'v>(&'v self, act: &'v Act) -> impl Iterator<Item = &'v Act> {
        self.acts.iter().filter(|them| them.verb == act.verb)
    }

    /// Whether it asks for whom something is done to: "which insects do bats eat".
    pub(crate) fn asks_object(&self) -> bool {
        self.role.as_ref().is_some_and(|role| role.does)
    }
}

/// Words that are never what was done.
const NO_VERB: u64 = class::FUNCTION | class::AUXILIARY;
/// Words that are nobody who did it.
const NOBODY: u64 = NO_VERB | class::NEGATION | class::PREPOSITION;
/// What stands behind a verb and is nothing that it is done to.
const NO_OBJECT: u64 =
    class::PREPOSITION | class::AUXILIARY | class::COORDINATOR | class::NEGATION | class::REL;
/// What shows that a question is passive, or asks about several things.
const ORDERED: u64 = class::PASSIVE | class::COORDINATOR;
/// Words that are no part of what the question word stands beside.
const IDLE: u64 = class::AUXILIARY
    | class::PREPOSITION
    | class::COORDINATOR
    | class::POSSESSIVE
    | class::OBJECT
    | class::SUBJECT;

/// What may stand between who does it and the verb.
fn small(word: &str) -> bool {
    let skipped = matches!(
        word,
        "not"
            | "just"
            | "already"
            | "also"
            | "never"
            | "ever"
            | "then"
            | "still"
            | "again"
            | "both"
            | "all"
            | "even"
    );
    skipped || word.ends_with("ly")
}

/// How far behind "did" or "has" its verb stands.
const HELPED: usize = 5;

/// What was done by the verb at `at`, if it is one, and the small words before it show who did it.
fn act(pieces: &[Piece], at: usize) -> Option<Act> {
    let text = |at: usize| text(pieces, at);
    let class = |at: usize| lexicon().class(text(at));
    let piece = &pieces[at];
    let helps = |piece: &Piece| matches!(piece.text.as_str(), "did" | "have" | "has" | "had");
    if piece.kind != Kind::Word || piece.text == "thought" {
        return None;
    }
    let own = class(at);
    let past = is_past(&piece.text) || own & class::PARTICIPLE != 0;
    // Most words are no verbs of the past: nothing more is looked up for them.
    if !(past || pieces[at.saturating_sub(HELPED)..at].iter().any(helps)) || own & NO_VERB != 0 {
        return None;
    }
    let sentence = |at: usize| pieces[at].sentence == piece.sentence;
    // The word before, small words aside.
    let before = |at: usize| (0..at).rev().find(|at| !small(text(*at))).filter(|at| sentence(*at));
    let is = |at: Option<usize>, these: &[&str]| at.is_some_and(|at| these.contains(&text(at)));
    let next = pieces.get(at + 1).filter(|next| !next.broken && next.sentence == piece.sentence);
    let object = next.is_some_and(|next| matches!(next.text.as_str(), "me" | "us"));
    let transitive =
        next.is_some_and(|next| lexicon().class(&next.text) & NO_OBJECT == 0 && next.text != "myself");
    let behind = || pieces[at..].iter().take_while(|next| next.sentence == piece.sentence);
    let agent_behind = || {
        let by = behind().position(|next| next.text == "by").map(|by| at + by + 1);
        match by {
            Some(_) if is(by, &["me", "us", "myself"]) => Agent::Writer,
            Some(_) => Agent::Other,
            None => Agent::Unsaid,
        }
    };
    let done = |agent, undergone| Some(Act { verb: stem(&piece.text), agent, undergone, transitive });
    let by = |at: Option<usize>| {
        if is(at, &WRITER) { Some(Agent::Writer) } else { is(at, &OTHERS).then_some(Agent::Other) }
    };
    let first = before(at)?;
    let second = before(first);
    // "Do I read it", "to cut it": no past.
    let present = |at: Option<usize>| {
        at.is_some_and(|at| class(at) & class::AUXILIARY != 0 && !PAST.contains(&text(at)))
    };
    let past = past && !present(Some(first)) && !(is(Some(first), &WRITER) && present(second));
    if past && is(Some(first), &BEING) {
        let subject = second.filter(|second| HAVING.contains(&text(*second))).and_then(before).or(second);
        let undergone = is(subject, &WRITER);
        return if text(first) == "am" && !undergone { None } else { done(agent_behind(), undergone) };
    }
    if past && is(Some(first), &HAVING) {
        return done(by(second)?, object);
    }
    if let Some(agent) = by(Some(first)) {
        let helped = is(second, &["did", "have", "has", "had"]);
        return if past && is(second, &BEING) {
            done(agent_behind(), agent == Agent::Writer)
        } else if helped || past && (text(first) != "you" || text(at).ends_with("ed")) {
            done(agent, object)
        } else {
            None
        };
    }
    let noun = pieces[first].kind == Kind::Word && class(first) & NOBODY == 0;
    let did = is(second.and_then(before), &["did"]);
    (noun && transitive && (past || did)).then(|| done(Agent::Other, object))?
}

/// What follows the word at `at` in its sentence.
fn rest_of_sentence(pieces: &[Piece], at: usize) -> &[Piece] {
    let rest = &pieces[at + 1..];
    let end = rest.iter().position(|piece| piece.sentence != pieces[at].sentence).unwrap_or(rest.len());
    &rest[..end]
}

/// The clause behind the word at `at`, if that begins one.
fn clause(pieces: &[Piece], at: usize) -> Option<Clause> {
    const MARKERS: [&str; 9] =
        ["if", "when", "because", "unless", "while", "before", "after", "until", "that"];
    /// The most words of who does it.
    const SUBJECT: usize = 4;
    if !MARKERS.contains(&pieces[at].text.as_str()) {
        return None;
    }
    let rest = rest_of_sentence(pieces, at);
    let verb = |piece: &Piece| lexicon().class(&piece.text) & NO_VERB == 0;
    if WRITER.contains(&text(rest, 0)) {
        let writer = rest[1..].iter().find(|piece| !small(&piece.text)).filter(|piece| verb(piece));
        return writer.map(|verb| Clause { writer: Some(stem(&verb.text)), others: Vec::new() });
    }
    let somebody = |piece: &Piece| {
        OTHERS.contains(&piece.text.as_str()) && piece.text != "you"
            || piece.text == "people"
            || lexicon().class(&piece.text) & NOBODY == 0
    };
    let others = rest.windows(3).take(SUBJECT).filter(|three| {
        let object = lexicon().class(&three[2].text) & NO_OBJECT == 0;
        somebody(&three[0]) && verb(&three[1]) && object && !three[2].broken
    });
    Some(Clause { writer: None, others: others.map(|three| stem(&three[1].text)).collect() })
}

/// What the first question word stands for: none beside a form of "be", a passive, what is coordinated, or a pronoun that shows it.
fn role(pieces: &[Piece]) -> Option<Role> {
    const DO: [&str; 3] = ["do", "does", "did"];
    const SMALL: [&str; 14] =
        ["a", "an", "the", "this", "that", "these", "those", "you", "he", "she", "they", "it", "him", "them"];
    /// The most words of "which company did".
    const NEAR: usize = 3;
    let at =
        pieces.iter().position(|piece| matches!(piece.text.as_str(), "who" | "what" | "which" | "whom"))?;
    let rest = rest_of_sentence(pieces, at);
    let first = text(rest, 0);
    let class = |piece: &Piece| lexicon().class(&piece.text);
    let subject = || matches!(text(rest, 1), "i" | "we" | "you" | "they" | "he" | "she" | "it");
    if rest.iter().any(|piece| class(piece) & ORDERED != 0 || piece.text == "by") || subject() {
        return None;
    }
    let small = |piece: &&Piece| class(piece) & IDLE == 0 && !SMALL.contains(&piece.text.as_str());
    let modal =
        if DO.contains(&first) || lexicon().class(first) & class::AUXILIARY == 0 { "" } else { first };
    Some(Role {
        modal: modal.to_owned(),
        does: rest.iter().take(NEAR).any(|piece| DO.contains(&piece.text.as_str())),
        said: rest.iter().filter(small).map(|piece| stem(&piece.text)).collect(),
    })
}

/// Whether the verb comes first in one and behind its subject in the other: "what eats frogs", "what do frogs eat".
fn turned(a: &Voice, b: &Voice) -> bool {
    let (Some(a), Some(b)) = (&a.role, &b.role) else { return false };
    if a.modal != b.modal || a.does == b.does && a.modal.is_empty() || a.said.len() != b.said.len() {
        return false;
    }
    let same = a.said.iter().zip(&b.said).take_while(|(x, y)| x == y).count();
    let (x, y) = (&a.said[same..], &b.said[same..]);
    let moved = |subject: &[String], object: &[String]| {
        let Some((verb, rest)) = subject.split_first() else { return false };
        let at = object.iter().position(|word| word == verb).unwrap_or_default();
        let relation = |verb: &String| lexicon().class(verb) & class::CONVERSE != 0;
        // "Which countries defeated Napoleon", "which countries did Napoleon conquer"
        let another_verb = match (subject, object) {
            ([does, whom], [who, done]) => whom == who && !relation(does) && !relation(done),
            _ => false,
        };
        at > 0 && rest[..at] == object[..at] && rest[at..] == object[at + 1..] || another_verb
    };
    if a.does { moved(y, x) } else { moved(x, y) || !b.does && moved(y, x) }
}
