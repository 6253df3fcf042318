//! What the guard reads out of one prompt.

mod walk;

use crate::answer::Answer;
use crate::apart::Slot;
use crate::asked::Asked;
use crate::beside;
use crate::cased::Cased;
use crate::code::Code;
use crate::denial::{Denied, denied};
use crate::exchange::Said;
use crate::foreign::{self, Foreign};
use crate::form::Form;
use crate::key::{key, wording};
use crate::lexicon::{class, lexicon};
use crate::list::{Listed, listed};
use crate::literal::{Accented, Literals, accented, literals};
use crate::order::{Doer, able, doer};
use crate::persons::Persons;
use crate::point::Point;
use crate::powers::with_carets;
use crate::quantity::{self, Quantity};
use crate::rewrite::rewrite;
use crate::scan::{Kind, Piece, STEP, scan, trigrams};
use crate::state::State;
use crate::typography::{plain, with_feet, with_zeros};
use crate::voice::Voice;

/// The most words of a prompt that are read; longer ones are judged by proof only.
pub(crate) const WORDS: usize = 160;

const DEGREES: [&str; 6] = ["more", "less", "most", "least", "fewer", "fewest"];

/// The kind of question a prompt asks, one bit each.
pub(crate) mod question {
    pub(crate) const HOW: u16 = 1;
    pub(crate) const WHY: u16 = 1 << 1;
    pub(crate) const WHEN: u16 = 1 << 2;
    pub(crate) const WHERE: u16 = 1 << 3;
    pub(crate) const WHO: u16 = 1 << 4;
    pub(crate) const WHAT: u16 = 1 << 5;
    pub(crate) const HOWMANY: u16 = 1 << 6;
    pub(crate) const HOWMUCH: u16 = 1 << 7;
    pub(crate) const HOWLONG: u16 = 1 << 8;
    pub(crate) const HOWOFTEN: u16 = 1 << 9;
    pub(crate) const CAN: u16 = 1 << 10;
    pub(crate) const MUST: u16 = 1 << 11;
    pub(crate) const SHOULD: u16 = 1 << 12;
    pub(crate) const YES: u16 = 1 << 13;
    pub(crate) const DO: u16 = 1 << 14;

    /// The class named by a marker of `data/phrases.txt` or by a question word.
    pub(crate) fn named(word: &str) -> Option<u16> {
        let class = if word.starts_with('@') { word.split('.').next().unwrap_or(word) } else { word };
        Some(match class {
            "@how" | "how" => HOW,
            "@why" | "why" => WHY,
            "@when" | "when" => WHEN,
            "@where" | "where" => WHERE,
            "@who" | "who" | "whom" | "whose" => WHO,
            "@what" | "what" | "which" => WHAT,
            "@howmany" => HOWMANY,
            "@howmuch" => HOWMUCH,
            "@howlong" => HOWLONG,
            "@howoften" => HOWOFTEN,
            "@can" => CAN,
            "@must" => MUST,
            "@should" => SHOULD,
            "@yes" => YES,
            "@do" => DO,
            _ => return None,
        })
    }
}

/// The preposition that governs a word, as far as direction goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Governor {
    None,
    From,
    To,
    By,
    Than,
    Against,
    Before,
    After,
    Without,
    /// Any other preposition.
    Other,
}

impl Governor {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "from" => Self::From,
            "to" | "into" | "onto" | STEP => Self::To,
            "by" => Self::By,
            "than" | "over" | "more_than" | "less_than" => Self::Than,
            "against" => Self::Against,
            "before" => Self::Before,
            "after" => Self::After,
            "without" => Self::Without,
            "in" | "on" | "at" | "for" | "of" | "with" | "about" | "under" | "near" | "during" | "within"
            | "through" | "via" | "as" | "off" | "across" | "between" | "if" | "when" | "while" => {
                Self::Other
            }
            _ => return None,
        })
    }
}

/// A content word.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) stem: String,
    pub(crate) class: u64,
    /// 0.05 to 1.15: how much it says.
    pub(crate) weight: f32,
    pub(crate) name: bool,
    /// Letters and digits in one.
    pub(crate) code: bool,
    pub(crate) known: bool,
    pub(crate) governor: Governor,
    /// Its place among all tokens.
    pub(crate) place: u16,
    /// The word before it, among the function words: "in", "if", empty at the start.
    pub(crate) lead: String,
    /// Where it stands, if a noun stands there.
    pub(crate) slot: Option<Slot>,
    /// A negation stands right before it, function words aside.
    pub(crate) negated: bool,
    /// The stem it negates by a prefix: "healthy" for "unhealthy".
    pub(crate) negates: Option<String>,
    /// Its sentence asks something.
    pub(crate) asks: bool,
    /// The number of its sentence.
    pub(crate) sentence: u8,
    /// Its sentence begins with it, courtesy and "can you" aside.
    pub(crate) begins: bool,
    /// Stands behind "a" or "an".
    pub(crate) single: bool,
}

impl Word {
    pub(crate) fn is(&self, class: u64) -> bool {
        self.class & class != 0
    }
}

/// What the guard knows of one prompt: its words, numbers, negations, names and code. It is computed once for a
/// prompt.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Prompt {
    /// The text without case and idle marks: equal ones are the same prompt.
    pub(crate) key: String,
    pub(crate) words: Vec<Word>,
    /// Words, numbers and the ends of clauses in order.
    pub(crate) said: Vec<Said>,
    /// Function words in order.
    pub(crate) function: Vec<String>,
    /// Stems of noise and function words that have an opposite: left, even, good.
    pub(crate) contrasts: Vec<String>,
    pub(crate) quantities: Vec<Quantity>,
    pub(crate) negations: u16,
    /// Quantifier classes it contains.
    pub(crate) quantifiers: u64,
    /// Words of degree that are no content words: more, less, most, at_least.
    pub(crate) degrees: Vec<String>,
    pub(crate) question: u16,
    pub(crate) questions: u16,
    /// The units of the answer that are asked for: the year of "what year", the day of "how many days".
    pub(crate) measures: Vec<String>,
    /// Single capitals in order: vitamin A, class D.
    pub(crate) letters: Vec<char>,
    /// How many models are named by a number and a variant: 14 Pro.
    pub(crate) variants: usize,
    /// Possessives in order: my, her.
    pub(crate) possessives: Vec<String>,
    pub(crate) subjects: u16,
    pub(crate) objects: u16,
    pub(crate) doer: Option<Doer>,
    pub(crate) able: Option<bool>,
    pub(crate) denied: Option<Denied>,
    pub(crate) asked: Asked,
    pub(crate) form: Form,
    pub(crate) voice: Voice,
    pub(crate) persons: Persons,
    pub(crate) point: Point,
    pub(crate) answer: Answer,
    pub(crate) state: State,
    pub(crate) passive: bool,
    pub(crate) past: bool,
    pub(crate) future: bool,
    pub(crate) hypothetical: bool,
    /// "and", "or", "vs" or "between" occurs.
    pub(crate) coordinated: bool,
    /// "Then" orders what it says, and no condition comes before it.
    pub(crate) sequenced: bool,
    /// Asks for what does not depend on the order of numbers: a sum, an average.
    pub(crate) unordered: bool,
    /// The sentences that ask something, one bit each; all of them where none shows it.
    pub(crate) asking: u64,
    /// Words before noise was dropped.
    pub(crate) length: usize,
    pub(crate) trigrams: Vec<u32>,
    pub(crate) foreign: Option<Foreign>,
    /// Of a prompt about words themselves, all of it and the texts that it asks about: in quotes, or behind a colon.
    pub(crate) wording: Option<(String, Vec<String>)>,
    /// As written, of texts that may have parts.
    pub(crate) text: Option<Box<str>>,
    /// What must be the same, letter by letter.
    pub(crate) literals: Literals,
    /// A list of values in it was written as a table, or as code may be.
    pub(crate) equated: bool,
    /// Words with accents of an English prompt.
    pub(crate) accented: Vec<Accented>,
    pub(crate) cased: Cased,
    pub(crate) code: Code,
    /// What it says beside its blocks of code, if it has some.
    pub(crate) beside_code: Option<Box<Prompt>>,
}

impl Prompt {
    /// Reads a prompt. Takes time linear in the first few thousand characters; any text is fine.
    pub fn read(text: &str) -> Self {
        let text = plain(text);
        let text = with_zeros(&text);
        let text = with_feet(&text);
        let text = with_carets(&text);
        let Listed { text, equated } = listed(&text);
        let text = &*text;
        let (code, beside) = Code::read(text);
        let mut prompt = Self::of(text, code, beside.as_deref().unwrap_or(text));
        prompt.equated = equated;
        prompt.beside_code = beside.map(|text| Box::new(Self::of(&text, Code::beside(&text), &text)));
        prompt
    }

    /// Reads `text`, whose lines are indented as those `beside` its code are.
    fn of(text: &str, code: Code, beside: &str) -> Self {
        let key = key(text);
        let pieces = scan(text, WORDS + 1);
        let foreign = foreign::read(text, &code.outside, &pieces, pieces.len() > WORDS);
        let literals = literals(text, beside, &pieces, foreign.is_none());
        let length = pieces.len();
        let (doer, able, denied) = (doer(&pieces), able(&pieces), denied(&pieces));
        let (asked, form) = (Asked::read(&pieces), Form::read(&pieces));
        let (voice, persons) = (Voice::read(&pieces), Persons::read(&pieces));
        let point = Point::read(&pieces);
        let state = State::read(&pieces);
        let written = pieces.clone();
        let pieces = rewrite(pieces);
        let answer = Answer::read(&written, &pieces);
        let trigrams = trigrams(&pieces);
        let says = |word: &str| pieces.iter().any(|piece| piece.text == word);
        let mut prompt = Self {
            key,
            words: Vec::with_capacity(16),
            said: Vec::with_capacity(24),
            function: Vec::new(),
            contrasts: Vec::new(),
            quantities: Vec::new(),
            negations: 0,
            quantifiers: 0,
            degrees: Vec::new(),
            question: 0,
            questions: 0,
            measures: Vec::new(),
            letters: letters(&pieces),
            variants: pieces.windows(2).filter(|two| is_variant(&two[0], &two[1])).count(),
            possessives: Vec::new(),
            subjects: 0,
            objects: 0,
            doer,
            able,
            denied,
            asked,
            form,
            voice,
            persons,
            point,
            answer,
            state,
            passive: passive(&pieces),
            past: false,
            future: false,
            hypothetical: false,
            coordinated: false,
            sequenced: !says("if")
                && pieces.windows(3).any(|p| p[0].text != "now" && p[1].text == "and" && p[2].text == "then"),
            unordered: false,
            asking: asking(&pieces),
            length,
            trigrams,
            wording: pieces
                .iter()
                .any(|p| lexicon().class(&p.text) & class::WORDING != 0)
                .then(|| wording(text)),
            text: (beside::may_have_parts(text, length) && foreign.is_none()).then(|| text.into()),
            literals,
            equated: false,
            cased: if foreign.is_none() { Cased::read(text) } else { Cased::default() },
            accented: if foreign.is_none() { accented(text) } else { Vec::new() },
            foreign,
            code,
            beside_code: None,
        };
        prompt.walk(&pieces);
        prompt
    }

    /// Whether both prompts are one text but for case and punctuation that say nothing, with the same code.
    pub fn same_text(&self, other: &Self) -> bool {
        // Letter case may make one of them English: then letters of other scripts are in the key alone.
        self.key == other.key
            && (self.literals.same(&other.literals) || self.foreign.is_some() != other.foreign.is_some())
            && self.code.same(&other.code)
    }

    /// Whether the texts that both ask about are in both, word by word. Each is looked for in all of the other prompt: of a great
    /// many it is not known.
    pub(crate) fn same_wording(&self, other: &Self) -> bool {
        const MOST: usize = 64;
        let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        let has = |key: &str, quoted: &str| {
            key.match_indices(quoted).any(|(at, _)| {
                outside(key[..at].chars().next_back()) && outside(key[at + quoted.len()..].chars().next())
            })
        };
        let (Some((x, of_x)), Some((y, of_y))) = (&self.wording, &other.wording) else { return true };
        of_x.len().max(of_y.len()) <= MOST
            && of_x.iter().all(|quoted| has(y, quoted))
            && of_y.iter().all(|quoted| has(x, quoted))
    }

    /// Whether it is not English, is code, or is too long for the trees: then only proof counts. Of a prompt with blocks of
    /// code what stands beside them is meant.
    pub fn proof_only(&self) -> bool {
        self.beside_code.as_deref().unwrap_or(self).foreign.is_some()
    }
}

/// A form of "be" or "get", a participle within three words, and an agent or no object: "was bought by".
fn passive(pieces: &[Piece]) -> bool {
    pieces.iter().any(|p| p.text == "by")
        && pieces.iter().enumerate().any(|(i, piece)| {
            lexicon().class(&piece.text) & class::PASSIVE != 0
                && pieces[i + 1..].iter().take(6).any(|p| {
                    p.text.len() > 4 && p.text.ends_with("ed")
                        || lexicon().class(&p.text) & class::PARTICIPLE != 0
                })
        })
}

fn is_variant(number: &Piece, word: &Piece) -> bool {
    let counts = number.kind == Kind::Number || quantity::number_word(&number.text).is_some();
    counts && !word.broken && lexicon().class(&word.text) & class::VARIANT != 0
}

/// Single letters that name one of several: vitamin D, and in lower case where no article, pronoun or unit stands.
fn letters(pieces: &[Piece]) -> Vec<char> {
    // Words, and units behind a stroke: km/h.
    const WORDS: [&str; 6] = ["a", "i", "o", "e", "s", "h"];
    let behind_word = |at: usize| {
        at.checked_sub(1).map(|before| &pieces[before]).is_some_and(|before| {
            let class = lexicon().class(&before.text);
            before.kind == Kind::Word
                && before.text.len() > 1
                && class & (class::FUNCTION | class::NOISE) == 0
        })
    };
    let ends = |at: usize| pieces.get(at + 1).is_none_or(|next| next.broken);
    let named = |at: usize| {
        let piece = &pieces[at];
        let small = !WORDS.contains(&piece.text.as_str()) || piece.text == "a" && ends(at);
        let single = piece.text.len() == 1 && piece.text.as_bytes()[0].is_ascii_lowercase();
        single && (piece.name || small && !piece.glued && behind_word(at))
    };
    (0..pieces.len()).filter(|at| named(*at)).filter_map(|at| pieces[at].text.chars().next()).collect()
}

fn sentence_bit(piece: &Piece) -> u64 {
    1 << piece.sentence.min(63)
}

/// The sentences with a question mark, a phrase that asks, or a question word or an auxiliary at the start.
fn asking(pieces: &[Piece]) -> u64 {
    let sentences = pieces.chunk_by(|a, b| a.sentence == b.sentence).filter(|sentence| {
        // "There are ants in my kitchen" tells.
        let tells = sentence[0].text == "there";
        sentence.iter().any(|p| p.asked || p.text.starts_with('@'))
            || !tells
                && sentence.iter().take(2).any(|p| {
                    question::named(&p.text).is_some() || lexicon().class(&p.text) & class::AUXILIARY != 0
                })
    });
    match sentences.fold(0, |all, sentence| all | sentence_bit(&sentence[0])) {
        0 => u64::MAX,
        some => some,
    }
}
