//! Letter case, where it makes another thing: the genotypes Aa and AA, "polish" and "Polish". The tokenizer lowers all letters, so
//! the vectors of two texts that differ in case alone are equal. Most people do not mind the case of names, so that of most words
//! says nothing.

use std::collections::BTreeSet;

use crate::lexicon::{class, lexicon};
use crate::scan::is_titled;

/// The most words of a text that is looked at: in longer ones other words say the same.
const LONGEST: usize = 40;
/// The most words of a text that has a word in two ways for a reason.
const SHORT: usize = 16;

/// The words of a text whose case says something.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cased {
    words: Vec<Noted>,
    /// Whoever wrote it writes capitals, and not at most words.
    minds: bool,
    /// All words as they are written, if one of them is written in two ways: "Let and let".
    twice: Option<String>,
}

#[derive(Clone, Debug)]
struct Noted {
    lower: String,
    form: String,
    /// Whether it counts beside a text that does not mind: two letters of one gene of which one is small.
    always: bool,
}

/// Symbols that are others in other case: cobalt and carbon monoxide, magnesium and milligram.
const SYMBOLS: [&str; 10] = ["co", "no", "cs", "hf", "os", "ni", "si", "sn", "ms", "mg"];
/// What a letter behind it names. Behind other nouns its case says nothing: "vitamin d".
const NAMED: [&str; 16] = [
    "variable", "variables", "letter", "symbol", "constant", "function", "set", "matrix", "vector", "value",
    "unit", "element", "parameter", "point", "size", "number",
];
impl Cased {
    /// Reads a text in English.
    pub(crate) fn read(text: &str) -> Self {
        let words: Vec<(usize, &str)> = tokens(text).take(LONGEST + 1).collect();
        if words.len() > LONGEST {
            return Self::default();
        }
        let is_capital = |word: &str| word.starts_with(char::is_uppercase);
        // In a title most words have one.
        let inner = words.iter().filter(|(at, word)| !starts(&text[..*at]) && *word != "I");
        let (inner, capitals) = inner
            .fold((0, 0), |(all, capitals), (_, word)| (all + 1, capitals + usize::from(is_capital(word))));
        let titled = capitals > 1 && is_titled(capitals, inner);
        let minds = !titled && words.iter().any(|(_, word)| is_capital(word));
        // A sentence begins with a capital, whatever its first word is.
        let told = |at: usize, word: &str| !starts(&text[..at]) || is_upper(word);
        let twice = |(i, (at, word)): (usize, &(usize, &str))| {
            let before = words[..i].iter().filter(|(at, other)| told(*at, other));
            told(*at, word)
                && before.into_iter().any(|(_, other)| other != word && other.eq_ignore_ascii_case(word))
        };
        let twice = minds && words.len() <= SHORT && words.iter().enumerate().any(twice);
        let twice = twice.then(|| words.iter().skip(1).map(|(_, word)| *word).collect::<Vec<_>>().join(" "));
        let mut cased = Self { words: Vec::new(), minds, twice };
        for (i, (at, word)) in words.iter().enumerate() {
            let before = i.checked_sub(1).map_or("", |before| words[before].1);
            let is_gene = is_gene(word);
            if told(*at, word) && (is_gene || says_something(text, *at, word, before)) {
                let lower = word.to_lowercase();
                let always = is_gene && !is_upper(word) && *word != lower;
                cased.words.push(Noted { form: form(word, &lower), lower, always });
            }
        }
        cased
    }

    /// Whether a word of both is written in another case in one of them, where that says something. `same_words` are all of them.
    pub(crate) fn differs(&self, other: &Self, same_words: bool) -> bool {
        if same_words && self.twice != other.twice {
            return true;
        }
        let minded = self.minds && other.minds;
        // What else is said shows which of both is meant.
        let counts = |word: &&Noted| {
            word.always || minded && !is_gene(&word.lower) && (same_words || !is_ambiguous(&word.lower))
        };
        self.words.iter().chain(&other.words).filter(counts).any(|word| {
            let [mine, others] = [self, other].map(|cased| {
                let same = cased.words.iter().filter(|other| other.lower == word.lower);
                same.map(|word| word.form.as_str()).collect::<BTreeSet<_>>()
            });
            !mine.is_empty() && !others.is_empty() && mine != others
        })
    }
}

/// The words of a text with their places. An apostrophe parts two.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Whether a sentence begins behind `before`.
fn starts(before: &str) -> bool {
    let before = before.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
    let before = before.trim_end_matches(['"', '“', '(', '*', '-', '#', ' ']);
    before.is_empty() || before.ends_with(['.', '?', '!', ':', '\n'])
}

/// Whether all of its letters are capitals, and there are several.
fn is_upper(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|c| !c.is_lowercase())
}

/// Two letters of one gene: "Aa", "AA", "aa".
fn is_gene(word: &str) -> bool {
    matches!(word.as_bytes(), [a, b] if a.is_ascii_alphabetic() && a.eq_ignore_ascii_case(b))
}

/// Whether it is one of the words that are another thing with a capital.
fn is_ambiguous(lower: &str) -> bool {
    lexicon().class(lower) & (class::CASED | class::ACRONYM) != 0
}

/// `word` as far as its case counts: "Turkey" is TURKEY, "It" is no IT.
fn form(word: &str, lower: &str) -> String {
    let capital = lexicon().class(lower) & class::CASED != 0;
    let says = if capital { word.starts_with(char::is_uppercase) } else { is_upper(word) };
    match (is_ambiguous(lower), says) {
        (false, _) => word.to_owned(),
        (true, true) => word.to_uppercase(),
        (true, false) => lower.to_owned(),
    }
}

/// Whether the case of a word says something where people write capitals.
fn says_something(text: &str, at: usize, word: &str, before: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    match word.len() {
        1 => is_symbol(text, at, word, before),
        // "5 Mg" is typed in a hurry.
        2 if SYMBOLS.contains(&lower.as_str()) => !before.ends_with(|c: char| c.is_ascii_digit()),
        _ => is_ambiguous(&lower),
    }
}

/// Whether a single letter stands alone, as a symbol: not "a" and "I", not what is written for a word, not "C++", "3 D" and "e-mail".
fn is_symbol(text: &str, at: usize, letter: &str, before: &str) -> bool {
    const WORDS: &str = "aiour";
    const LANGUAGE: [&str; 6] = ["in", "with", "using", "learn", "for", "to"];
    let glued = |c: Option<char>| c.is_some_and(|c| !(c.is_whitespace() || "?,;:!\"”“()=<>+*/^".contains(c)));
    let behind = text[at + 1..].trim_end_matches('.');
    let lower = letter.to_ascii_lowercase();
    let class = lexicon().class(&before.to_ascii_lowercase());
    let free = class & (class::FUNCTION | class::NOISE | class::AUXILIARY | class::PREPOSITION) != 0
        || NAMED.iter().any(|noun| noun.eq_ignore_ascii_case(before));
    letter.bytes().all(|byte| byte.is_ascii_alphabetic())
        && !WORDS.contains(&lower)
        && !glued(text[..at].chars().next_back())
        && !glued(behind.chars().next())
        && !behind.starts_with("++")
        && free
        && !(matches!(lower.as_str(), "c" | "d") && LANGUAGE.contains(&before))
}
