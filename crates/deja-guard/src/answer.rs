//! What kind of answer a prompt asks for: a person, a time, an amount, a reason, yes or no.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::lexicon::{class, lexicon};
use crate::quantity;
use crate::scan::{Piece, text};

/// The kinds, one bit each.
macro_rules! kinds {
    ($($name:ident = $bit:literal),* $(,)?) => {
        $(const $name: u32 = 1 << $bit;)*
        const NAMES: &[(&str, u32)] = &[$((stringify!($name), $name)),*];
    };
}

kinds! {
    PERSON = 0, PLACE = 1, TIME = 2, DURATION = 3, FREQUENCY = 4, COUNT = 5, AMOUNT = 6, MONEY = 7, AGE = 8, WEIGHT = 9,
    HEIGHT = 10, LENGTH = 11, WIDTH = 12, DEPTH = 13, DISTANCE = 14, SPEED = 15, TEMPERATURE = 16, AREA = 17, VOLUME = 18,
    REASON = 19, MANNER = 20, CHANCE = 21,
    // One of several: "which bus".
    THING = 22,
    // Yes or no, or how much so: "is it safe", "how safe is it".
    YES = 23, DIFFERENCE = 24, SIMILARITY = 25,
    // "Whose posts"
    OWNER = 26,
    // One step of several: "the first step".
    STEP = 27,
    // A text to write.
    TEXT = 28,
    // How a word sounds, and how it is written.
    SOUND = 29, SPELLING = 30,
    // What it consists of, or what somebody does.
    ASPECT = 31,
}

/// Of the question that begins here nothing is known.
const ANY: u32 = u32::MAX;

static NOUNS: LazyLock<FxHashMap<&str, u32>> = LazyLock::new(|| {
    let lines = include_str!("../data/answers.txt").lines().filter(|line| !line.starts_with('#'));
    let kind =
        |name: &str| NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or(0, |k| k.1);
    lines
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(kinds, words)| {
            let kinds = kinds.split(' ').fold(0, |all, name| all | kind(name));
            words.split(' ').map(move |word| (word, kinds))
        })
        .collect()
});

/// The kinds of answer that would do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answer(u32);

impl Answer {
    /// Reads what is asked out of the pieces as written, and as phrases were rewritten.
    pub(crate) fn read(written: &[Piece], pieces: &[Piece]) -> Self {
        let sentences = pieces.chunk_by(|a, b| a.sentence == b.sentence);
        let mut all = 0;
        for sentence in sentences {
            let written = || written.iter().filter(|piece| piece.sentence == sentence[0].sentence);
            let says = |words: &[&str]| written().any(|piece| words.contains(&piece.text.as_str()));
            let asks = written().any(|piece| piece.asked);
            all |= match (Sentence { pieces: sentence, says: &says, asks }.kinds()) {
                0 if asks => ANY,
                kinds => kinds,
            };
        }
        Self(if all == 0 { ANY } else { all })
    }

    /// Whether no answer would do for both.
    pub(crate) fn differs(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }
}

/// A sentence, and whether it says one of some words as it was written.
struct Sentence<'a> {
    pieces: &'a [Piece],
    says: &'a dyn Fn(&[&str]) -> bool,
    /// It has a question mark.
    asks: bool,
}

/// Verbs behind "how do I" that ask for what is found.
const FINDS: [&str; 28] = [
    "find", "know", "check", "see", "tell", "calculate", "compute", "determine", "work", "convert", "get",
    "say", "look", "lookup", "identify", "trace", "track", "locate", "view", "measure", "estimate", "spell",
    "pronounce", "choose", "pick", "decide", "verify", "ensure",
];

/// What is written for somebody to read.
const TEXTS: [&str; 24] = [
    "letter", "email", "mail", "essay", "poem", "story", "speech", "note", "message", "post", "article",
    "tweet", "song", "review", "report", "application", "release", "announcement", "toast", "invitation",
    "reply", "statement", "reference", "complaint",
];

/// The most words of a question without a question mark whose question word may stand anywhere.
const SHORT: usize = 12;

impl Sentence<'_> {
    fn text(&self, at: usize) -> &str {
        text(self.pieces, at)
    }

    fn class(&self, at: usize) -> u64 {
        lexicon().class(self.text(at))
    }

    /// "Do", "can I".
    fn helps(&self, at: usize) -> bool {
        self.class(at) & class::AUXILIARY != 0 || matches!(self.text(at), "@can" | "@must" | "@should")
    }

    /// The kinds of answer that its questions ask for: none if it asks nothing.
    fn kinds(&self) -> u32 {
        let starts = (0..self.pieces.len()).filter(|at| self.starts(*at));
        let mut kinds = starts.filter_map(|at| self.asked(at, true)).fold(0, |all, kinds| all | kinds);
        if kinds == 0 && (self.asks || self.pieces.len() <= SHORT) {
            kinds = (0..self.pieces.len()).find_map(|at| self.asked(at, false)).unwrap_or_default();
        }
        if kinds == 0 {
            return self.requested();
        }
        let worded = self.worded().filter(|_| kinds & MANNER != 0);
        self.compared().or(worded).unwrap_or(kinds)
    }

    /// Whether a question may begin here: at the start, behind a mark, "and", or a preposition there.
    fn starts(&self, at: usize) -> bool {
        at == 0
            || self.pieces[at].broken
            || matches!(self.text(at - 1), "and" | "or" | "but" | "so")
            || self.class(at - 1) & class::PREPOSITION != 0 && self.starts(at - 1)
    }

    /// What the question word at `at` asks for; at a `start` of a question, others are conjunctions.
    fn asked(&self, at: usize, start: bool) -> Option<u32> {
        let word = self.text(at);
        let marker = word.split('.').next().unwrap_or(word);
        let helped = || {
            self.helps(at + 1)
                || at > 1
                    && self.text(at - 1) == "and"
                    && matches!(self.text(at - 2), "how" | "where" | "why")
        };
        let how =
            ["how", "how2", "way", "ways", "steps", "procedure", "process", "tips", "tricks", "trick", "do"];
        Some(match marker {
            "@how" if !(self.says)(&how) => return None,
            "@how" => self.manner(at),
            "@why" | "why" => self.reason(),
            "@when" => self.time(),
            "when" if start && helped() => self.time(),
            "@where" if !(self.says)(&["where", "place"]) => return None,
            "@where" => PLACE,
            "where" if start && helped() => self.place(at),
            "@who" | "whom" => PERSON,
            "who" if start => self.person(),
            "whose" if start && (self.says)(&["i", "we"]) => OWNER,
            "whose" if start => OWNER | PERSON,
            "@howmany" => self.count(at),
            "@howmuch" => self.amount(at),
            "@howlong" if word.contains('.') => self.duration() | AMOUNT | COUNT | AGE,
            "@howlong" => self.duration(),
            "@howoften" => FREQUENCY | COUNT,
            "@can" => self.possible(at),
            "@must" | "@should" | "@yes" => self.whether(at),
            "@what" => self.measure(at),
            "@do" => self.topic(at + 1),
            "how" => self.how(at),
            "what" | "which" if start => self.what(at),
            "can" | "could" if start => self.possible(at),
            "do" if self.text(at + 1) == "not" => return None,
            _ if start && (at == 0 || self.pieces[at].broken) && self.class(at) & class::AUXILIARY != 0 => {
                self.whether(at)
            }
            _ => return None,
        })
    }

    /// "How do I": whoever asks how to find something out asks for that.
    fn manner(&self, at: usize) -> u32 {
        if FINDS.contains(&self.text(at + 1)) { ANY } else { MANNER }
    }

    fn how(&self, at: usize) -> u32 {
        match self.text(at + 1) {
            "likely" | "probable" => CHANCE | YES | AMOUNT,
            "soon" | "early" | "late" | "recently" | "quickly" => TIME | DURATION,
            "long" => self.duration(),
            // "How is cheese made": why it is so may be the same.
            "is" | "are" | "was" | "were" => match self.topic(at + 2) {
                ANY => MANNER | REASON,
                kinds => MANNER | REASON | kinds,
            },
            _ if self.helps(at + 1) => MANNER | REASON,
            "" | "and" | "i" | "we" | "you" | "the" | "a" | "my" => MANNER,
            _ => ANY,
        }
    }

    /// Who says that something fails asks what to do.
    fn reason(&self) -> u32 {
        let complains = (self.says)(&["not", "never", "cannot", "no", "without"])
            || self.pieces.iter().any(|piece| {
                lexicon().class(&piece.text) & class::NEGATION != 0
                    || matches!(
                        piece.text.as_str(),
                        "fail"
                            | "slow"
                            | "error"
                            | "problem"
                            | "stuck"
                            | "crash"
                            | "crashing"
                            | "crashes"
                            | "keep"
                            | "keeps"
                    )
            });
        if complains { REASON | MANNER | YES | PLACE } else { REASON }
    }

    /// Where one can do something is how.
    fn place(&self, at: usize) -> u32 {
        let acts = matches!(self.text(at + 1), "can" | "could") || self.text(at + 1).starts_with('@');
        if (self.says)(&["come", "comes", "came", "coming"]) {
            ANY
        } else if acts || matches!(self.text(at + 2), "i" | "we" | "you" | "one") {
            PLACE | MANNER | THING | PERSON
        } else {
            PLACE
        }
    }

    fn time(&self) -> u32 {
        if (self.says)(&["until", "till", "by", "expire", "expires", "open", "since"]) {
            TIME | DURATION
        } else {
            TIME
        }
    }

    fn person(&self) -> u32 {
        if (self.says)(&["own", "owns", "owned", "belong", "belongs"]) {
            PERSON | OWNER
        } else if (self.says)(&[
            "contact", "call", "ask", "talk", "speak", "report", "write", "turn", "sell", "sells", "buy",
        ]) {
            PERSON | PLACE | MANNER | THING
        } else {
            PERSON | THING
        }
    }

    fn count(&self, at: usize) -> u32 {
        let unit = quantity::unit(self.text(at + 1)).is_some();
        if unit { ANY } else { COUNT | AMOUNT | NOUNS.get(self.text(at + 1)).copied().unwrap_or_default() }
    }

    fn amount(&self, at: usize) -> u32 {
        let next = self.text(at + 1);
        if matches!(next, "longer" | "more" | "earlier" | "later") {
            return ANY;
        }
        if (self.says)(&["weigh", "weighs", "weighed", "weight"]) {
            return WEIGHT | AMOUNT;
        }
        let paid = (self.says)(&["cost", "costs", "pay", "paid", "charge", "charged", "price"]);
        let noun = NOUNS.get(next).copied().unwrap_or_default();
        let money = if paid || self.is_money() { MONEY } else { 0 };
        COUNT | AMOUNT | noun | money
    }

    /// "How much is it", and not "how much paint".
    fn is_money(&self) -> bool {
        (self.says)(&["is", "are", "was", "were", "do", "does", "did", "will", "would", "can"])
    }

    fn duration(&self) -> u32 {
        let ends = [
            "take", "takes", "until", "till", "before", "wait", "get", "arrive", "left", "ago", "have", "be",
            "valid", "open", "expire",
        ];
        let time = if (self.says)(&ends) { TIME } else { 0 };
        DURATION | LENGTH | DISTANCE | time
    }

    /// What a phrase of measure asks for: "@what height".
    fn measure(&self, at: usize) -> u32 {
        let kinds = NOUNS.get(self.text(at + 1)).copied().unwrap_or(ANY);
        // "How far in advance"
        if (self.says)(&["advance", "ahead", "back"]) {
            return ANY;
        }
        if (self.says)(&["high", "low"]) { kinds | AMOUNT } else { kinds }
    }

    /// Whether one can do it is how one does it, but not whether one may.
    fn possible(&self, at: usize) -> u32 {
        let asks = |at: usize| {
            self.class(at) & class::COMMAND != 0
                || matches!(
                    self.text(at),
                    "clarify" | "help" | "advise" | "confirm" | "check" | "fix" | "assist"
                )
        };
        if asks(at + 1) || asks(at + 2) && self.text(at + 1) == "you" {
            ANY
        } else if (self.says)(&["allowed", "permitted", "permissible", "legal", "legally"]) {
            self.whether(at)
        } else {
            self.whether(at) | MANNER
        }
    }

    /// Yes or no, and what there may be.
    fn whether(&self, at: usize) -> u32 {
        if (self.says)(&["how", "why", "who", "whom", "where", "what", "which", "whose"]) {
            return ANY;
        }
        let mut kinds = YES;
        // "Is there a shop that repairs it": which one does.
        if (self.says)(&["or", "than", "any", "some"]) || (self.says)(&["there"]) && (self.says)(&["that"]) {
            kinds |= THING;
        }
        if (self.says)(&["possible", "able"]) {
            kinds |= MANNER;
        }
        if (self.says)(&["near", "nearby", "close", "around"]) {
            kinds |= PLACE;
        }
        if (self.says)(&["long", "soon", "late", "early"]) {
            kinds |= TIME | DURATION;
        }
        if (self.says)(&["there", "have", "has", "with"]) {
            let named = self.pieces.iter().filter_map(|piece| match piece.text.as_str() {
                "@why" => Some(&REASON),
                "@howmany" => Some(&COUNT),
                word => NOUNS.get(word),
            });
            kinds |= named.fold(0, |all, kinds| all | kinds);
        }
        if (self.says)(&["free", "cost", "costs", "charge", "charges", "charged", "pay", "fee", "fees"]) {
            kinds |= MONEY | AMOUNT;
        }
        if (self.says)(&["limit", "limits", "limited", "maximum", "minimum"]) {
            kinds |= MONEY | AMOUNT | COUNT | DURATION | AGE;
        }
        match self.topic(at + 1) {
            ANY => kinds,
            topic => kinds | topic,
        }
    }

    /// What "what" or "which" asks for, by the noun that it stands before, or that the question is about.
    fn what(&self, at: usize) -> u32 {
        if matches!(self.text(at + 1), "is" | "are" | "was" | "were") {
            if self.text(at + 2) == "in" {
                return ASPECT;
            }
            let kinds = self.topic(at + 2);
            return if self.text(at) == "which" { kinds | THING } else { kinds };
        }
        if self.helps(at + 1) {
            return self.done(at + 1);
        }
        let noun = self.text(at + 1);
        let run = (at + 1..self.pieces.len().min(at + 4)).take_while(|at| !self.ends(*at));
        let named = run.filter_map(|at| NOUNS.get(self.text(at))).fold(0, |all, kinds| all | kinds);
        if named != 0 {
            return named | THING;
        }
        let verb = matches!(
            noun,
            "happens" | "happened" | "happen" | "goes" | "comes" | "makes" | "kills" | "means" | "else"
        );
        let noun = !verb && self.class(at + 1) & (class::FUNCTION | class::NOISE | class::LIGHT) == 0;
        let helped = (at + 2..at + 4).any(|at| self.helps(at));
        if noun && (self.text(at) == "which" || helped) { THING | PERSON | PLACE } else { ANY }
    }

    /// What "what does it ..." asks for.
    fn done(&self, at: usize) -> u32 {
        let somebody = !matches!(self.text(at + 1), "i" | "we" | "you" | "one");
        let does = matches!(self.text(at), "do" | "does") && self.text(self.pieces.len() - 1) == "do";
        if (self.says)(&["cost", "charge"]) {
            MONEY | AMOUNT
        } else if somebody && does && self.pieces.len() > at + 2 {
            ASPECT
        } else {
            ANY
        }
    }

    /// Whether a noun and its adjectives end before the word at `at`.
    fn ends(&self, at: usize) -> bool {
        self.pieces[at].broken
            || self.class(at) & (class::PREPOSITION | class::AUXILIARY | class::SUBJECT) != 0
            || self.text(at).starts_with('@')
            || matches!(
                self.text(at),
                "of" | "you" | "they" | "he" | "she" | "it" | "that" | "and" | "or" | "to"
            )
    }

    /// The kinds of the last noun of the subject: "the late fee for ...".
    fn topic(&self, from: usize) -> u32 {
        let end = (from..self.pieces.len()).find(|at| self.ends(*at)).unwrap_or(self.pieces.len());
        if self.text(end) == "@how" {
            return MANNER;
        }
        let shown = matches!(self.text(from), "this" | "that" | "these" | "those");
        if end <= from || shown || matches!(self.text(end), "and" | "or") {
            return ANY;
        }
        let head = self.text(end - 1);
        let one = |at: usize| matches!(self.text(at), "first" | "next" | "last" | "second" | "final");
        if matches!(head, "step" | "steps") && (from..end).any(one) {
            return STEP;
        }
        NOUNS.get(head).copied().unwrap_or(ANY)
    }

    /// What two things do not share, or share.
    fn compared(&self) -> Option<u32> {
        let how = (self.says)(&["how"]) || (self.says)(&["ways"]);
        let differs = (0..self.pieces.len()).any(|at| match self.text(at) {
            "differ" | "differs" | "distinguish" | "distinguishes" | "differentiate" | "differentiates" => {
                true
            }
            "difference" | "differences" => {
                self.text(at + 1) != "and"
                    && (at == 0 || self.text(at - 1) != "and" && !NOUNS.contains_key(self.text(at - 1)))
            }
            "different" => self.text(at + 1) == "from" || how && at + 1 == self.pieces.len(),
            _ => false,
        });
        let shares = (0..self.pieces.len()).any(|at| match self.text(at) {
            "similarity" | "similarities" | "alike" => true,
            "similar" => how,
            "common" => at > 0 && self.text(at - 1) == "in",
            _ => false,
        });
        match (differs, shares) {
            (true, false) => Some(DIFFERENCE),
            (false, true) => Some(SIMILARITY),
            (true, true) => Some(ANY),
            _ => None,
        }
    }

    /// What is asked about a word.
    fn worded(&self) -> Option<u32> {
        let sound = (self.says)(&["pronounce", "pronounced", "pronunciation"]);
        let spelling = (self.says)(&["spell", "spelled", "spelt", "spelling"]);
        match (sound, spelling) {
            (true, false) => Some(SOUND),
            (false, true) => Some(SPELLING | YES),
            (true, true) => Some(ANY),
            _ => None,
        }
    }

    /// What is requested without a question: a text, or what a title names: "price of a stamp".
    fn requested(&self) -> u32 {
        let writes = matches!(self.text(0), "write" | "draft" | "compose");
        if writes && (1..self.pieces.len()).take(6).any(|at| TEXTS.contains(&self.text(at))) {
            return TEXT;
        }
        let acts = (0..self.pieces.len()).any(|at| self.helps(at) || self.class(at) & class::SUBJECT != 0);
        let skipped = matches!(
            self.text(0),
            "the" | "best" | "average" | "opening" | "maximum" | "minimum" | "current"
        );
        let head = usize::from(skipped);
        let titled = matches!(self.text(head + 1), "of" | "for" | "to" | "in" | "between");
        let title = !acts && titled && self.pieces.len() <= SHORT;
        title.then(|| NOUNS.get(self.text(head))).flatten().copied().unwrap_or_default()
    }
}
