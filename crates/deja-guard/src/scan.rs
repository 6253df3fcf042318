//! Splits a prompt into lower-case words, numbers and marks, and writes contractions out.

mod contractions;

use contractions::expand;

use crate::key::push_lower;
use crate::lexicon::{class, lexicon};

/// What a piece of text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Letters.
    Word,
    /// Digits with inner separators: `1,500`, `3.5`, `2024-03-02`, `16:9`, `1/2`.
    Number,
    /// Letters and digits in one: `x100f`, `m6`, `v5`.
    Code,
}

/// A piece of the prompt.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) kind: Kind,
    /// Begins with a capital letter that marks a name: not at the start of a sentence, not in a title.
    pub(crate) name: bool,
    /// Written in capitals throughout, two letters or more.
    pub(crate) upper: bool,
    /// A comma, colon, bracket or the end of a sentence stands before it.
    pub(crate) broken: bool,
    /// Of marks only a comma without a blank is before it: the next cell of a row.
    pub(crate) cell: bool,
    /// Follows the piece before without a space.
    pub(crate) glued: bool,
    /// Is a negation that was contracted: `n't`.
    pub(crate) contracted: bool,
    /// The number of its sentence.
    pub(crate) sentence: u8,
    /// A question mark follows.
    pub(crate) asked: bool,
}

impl Piece {
    /// A word that no letters stand for.
    fn bare(text: &str, sentence: u8) -> Self {
        Self {
            text: text.to_owned(),
            kind: Kind::Word,
            name: false,
            upper: false,
            broken: false,
            cell: false,
            glued: false,
            contracted: false,
            sentence,
            asked: false,
        }
    }

    fn word(text: &str, like: &Piece) -> Self {
        Self {
            text: text.to_owned(),
            name: false,
            upper: false,
            broken: false,
            cell: false,
            glued: false,
            contracted: false,
            ..like.clone()
        }
    }
}

/// The text of the piece at `at`, empty where there is none.
pub(crate) fn text(pieces: &[Piece], at: usize) -> &str {
    pieces.get(at).map_or("", |piece| piece.text.as_str())
}

/// The text of the piece before `at`, empty where there is none.
pub(crate) fn text_before(pieces: &[Piece], at: usize) -> &str {
    at.checked_sub(1).map_or("", |before| text(pieces, before))
}

/// The pieces of `text`, contractions written out; no more than `limit`.
pub(crate) fn scan(text: &str, limit: usize) -> Vec<Piece> {
    let chars: Vec<char> =
        text.chars().map(|c| if matches!(c, '’' | '‘' | '`') { '\'' } else { c }).collect();
    let mut scanner = Scanner {
        chars,
        out: Vec::with_capacity(24),
        at: 0,
        start: true,
        broken: false,
        cell: false,
        last_end: usize::MAX,
        capitals: 0,
        words: 0,
        sentence: 0,
    };
    while scanner.at < scanner.chars.len() && scanner.out.len() < limit {
        scanner.step();
    }
    let Scanner { mut out, capitals, words, .. } = scanner;
    say_signs(&mut out);
    say_steps(&mut out);
    if is_titled(capitals, words) && words > 2 && !has_small_auxiliary(text) {
        for piece in &mut out {
            piece.name = false;
        }
    }
    out
}

/// Whether so many of the words have a capital that it says nothing.
pub(crate) const fn is_titled(capitals: usize, words: usize) -> bool {
    capitals * 10 >= words * 6
}

/// Whether a text has an auxiliary verb in lower case ("Who is Ann Lee"). A title has none ("Who Is It").
fn has_small_auxiliary(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphabetic() && c != '\'');
    words.any(|word| lexicon().class(word) & class::AUXILIARY != 0)
}

/// What is read of a text, and what stands before the place that it is read at.
struct Scanner {
    chars: Vec<char>,
    out: Vec<Piece>,
    at: usize,
    /// A sentence begins here.
    start: bool,
    /// A mark stands before.
    broken: bool,
    /// It is but a comma, with no blank behind it.
    cell: bool,
    /// Where the last piece ended.
    last_end: usize,
    /// Words that begin with a capital letter, and all.
    capitals: usize,
    words: usize,
    sentence: u8,
}

impl Scanner {
    fn char(&self, at: usize) -> char {
        self.chars.get(at).copied().unwrap_or(' ')
    }

    /// Reads a piece or a mark.
    fn step(&mut self) {
        let begin = self.at;
        let c = self.chars[begin];
        let (kind, text) = if c.is_ascii_digit() {
            (Kind::Number, self.number())
        } else if let Some(part) = fraction(c) {
            self.at += 1;
            (Kind::Number, part.to_owned())
        } else if c.is_alphabetic() {
            self.word()
        } else if let Some(said) = self.mark(c) {
            (Kind::Word, said)
        } else {
            return;
        };
        self.push(begin, kind, text);
    }

    fn number(&mut self) -> String {
        let mut text = String::new();
        while self.char(self.at).is_ascii_digit()
            || (matches!(self.char(self.at), '.' | ',' | ':' | '/' | '-')
                && self.char(self.at + 1).is_ascii_digit())
        {
            // A hyphen joins digits in a date alone.
            if self.char(self.at) == '-' && !is_date(&text, &self.chars[self.at..]) {
                break;
            }
            text.push(self.chars[self.at]);
            self.at += 1;
        }
        let whole = text.bytes().all(|b| b.is_ascii_digit());
        if let Some(part) = fraction(self.char(self.at)).filter(|_| whole) {
            text.push_str(&part[1..]);
            self.at += 1;
        }
        text
    }

    fn word(&mut self) -> (Kind, String) {
        let begin = self.at;
        let (mut kind, mut text) = (Kind::Word, String::new());
        while self.char(self.at).is_alphanumeric()
            || (self.char(self.at) == '\'' && self.char(self.at + 1).is_alphabetic())
        {
            if self.char(self.at).is_ascii_digit() {
                kind = Kind::Code;
            }
            push_lower(&mut text, self.chars[self.at]);
            self.at += 1;
        }
        if self.at - begin > 1 {
            return (kind, text);
        }
        if matches!(self.char(self.at), '+' | '#') {
            while matches!(self.char(self.at), '+' | '#') {
                text.push(self.chars[self.at]);
                self.at += 1;
            }
        } else if self.char(self.at) == '-' && self.char(self.at + 1) == '-' {
            // "i--" beside "i++".
            text.push_str("--");
            self.at += 2;
        } else if self.char(self.at) == '.'
            && self.char(self.at + 1).is_alphabetic()
            && self.char(self.at + 2) == '.'
        {
            // "e.g.", "a.m.", "U.S."
            text.extend(self.chars[self.at + 1].to_lowercase());
            self.at += 3;
        }
        (kind, text)
    }

    /// The word that a mark stands for, if it does for one that is a word like others.
    fn mark(&mut self, c: char) -> Option<String> {
        let said = match c {
            '%' => "percent",
            '$' => "dollar",
            '£' => "pound",
            '€' => "euro",
            '¥' => "yen",
            '₹' => "rupee",
            '&' => "and",
            'Ω' => "ohm",
            _ => "",
        };
        if negates(&self.chars, self.at) {
            self.say(NEGATIVE, 1);
            return None;
        }
        if said.is_empty()
            && let Some((said, length)) =
                step(&self.chars, self.at, &self.out).or_else(|| sign(&self.chars, self.at))
        {
            self.say(said, length);
            return None;
        }
        self.at += 1;
        // "Mt. Everest", "Dr. Smith": no end of a sentence.
        let title = |last: &Piece| TITLES.contains(&last.text.as_str());
        if c == '.' && self.last_end == self.at - 1 && self.out.last().is_some_and(title) {
            return None;
        }
        // "A .csv file", "os.path": no end of a sentence.
        let begins = self.at.checked_sub(2).is_none_or(|before| self.chars[before].is_whitespace());
        let next = self.char(self.at);
        if c == '.' && (begins && next.is_alphabetic() || !begins && next.is_lowercase()) {
            return None;
        }
        match c {
            '°' => return Some(self.degree().to_owned()),
            _ if !said.is_empty() => return Some(said.to_owned()),
            '.' | '!' | '?' | '\n' => {
                if !self.start {
                    self.sentence = self.sentence.saturating_add(1);
                }
                if let Some(last) = self.out.last_mut().filter(|_| c == '?') {
                    last.asked = true;
                }
                (self.start, self.broken, self.cell) = (true, true, false);
            }
            ',' | ';' | ':' | '(' | ')' | '—' | '–' => {
                self.cell = c == ',' && !self.broken && !self.char(self.at).is_whitespace();
                self.broken = true;
            }
            _ => {}
        }
        None
    }

    /// The unit behind a sign of degrees.
    fn degree(&mut self) -> &'static str {
        let ends = !self.char(self.at + 1).is_alphabetic();
        let unit = match self.char(self.at).to_ascii_lowercase() {
            'c' if ends => "celsius",
            'f' if ends => "fahrenheit",
            _ => return "degree",
        };
        self.at += 1;
        unit
    }

    /// The word for a sign of `length` characters.
    fn say(&mut self, said: &str, length: usize) {
        let mut piece = Piece::bare(said, self.sentence);
        (piece.broken, self.start, self.broken) = (self.broken, false, false);
        self.out.push(piece);
        self.at += length;
    }

    /// A piece that was written from `begin` up to here.
    fn push(&mut self, begin: usize, kind: Kind, mut text: String) {
        let letters = &self.chars[begin..self.at];
        let alphabetic = letters[0].is_alphabetic();
        let capital = letters[0].is_uppercase();
        let upper =
            letters.len() > 1 && letters.iter().all(|c| c.is_uppercase() || !c.is_alphabetic()) && alphabetic;
        if alphabetic {
            self.words += 1;
            self.capitals += usize::from(capital);
        }
        let name = capital && (!self.start || upper) && text != "i" && !text.starts_with("i'");
        if upper && text == "us" {
            "usa".clone_into(&mut text);
        }
        let piece = Piece {
            text,
            kind,
            name,
            upper,
            broken: self.broken,
            cell: self.cell,
            glued: self.last_end == begin && !self.out.is_empty(),
            contracted: false,
            sentence: self.sentence,
            asked: false,
        };
        expand(&mut self.out, piece);
        (self.start, self.broken, self.last_end) = (false, false, self.at);
    }
}

/// The number that a sign of its own stands for; right behind digits it is added to them: `2½` is 2.5.
pub(crate) fn fraction(c: char) -> Option<&'static str> {
    Some(match c {
        '½' => "0.5",
        '¼' => "0.25",
        '¾' => "0.75",
        _ => return None,
    })
}

/// "12 plus 4" says what "12 + 4" does, and "12 x 4" what "12 * 4" does.
fn say_signs(pieces: &mut [Piece]) {
    for at in 1..pieces.len().saturating_sub(1) {
        if pieces[at - 1].kind == Kind::Number && pieces[at + 1].kind == Kind::Number {
            let said = match pieces[at].text.as_str() {
                "plus" => "op_plus",
                "minus" => "op_minus",
                "times" | "x" => "op_times",
                _ => continue,
            };
            said.clone_into(&mut pieces[at].text);
        }
    }
}

/// "Settings, then Account" says what "Settings > Account" does.
fn say_steps(pieces: &mut [Piece]) {
    for at in 1..pieces.len().saturating_sub(1) {
        let named = pieces[at - 1].name && pieces[at + 1].name && !pieces[at + 1].broken;
        if pieces[at].text == "then" && pieces[at].broken && named {
            STEP.clone_into(&mut pieces[at].text);
            pieces[at].broken = false;
        }
    }
}

/// The word for the sign of a negative number.
pub(crate) const NEGATIVE: &str = "negative";

/// Whether the minus at `at` is the sign of a number: it stands right before one, and behind a blank or what opens a value.
fn negates(chars: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map_or(' ', |before| chars[before]);
    matches!(chars[at], '-' | '−')
        && chars.get(at + 1).is_some_and(char::is_ascii_digit)
        && (before.is_whitespace() || matches!(before, '(' | '[' | '=' | '^' | ',' | '*'))
}

/// The word for the arrow between the names of a menu.
pub(crate) const STEP: &str = "step_to";

/// What menus begin with. Elsewhere a sign between words in lower case compares them.
const MENUS: [&str; 9] =
    ["settings", "preferences", "options", "menu", "file", "edit", "view", "tools", "account"];

/// "Settings > Account", "Settings -> Account", "settings > account": the sign between two names, or behind the name of a menu
/// and what has been read of its way (`said`), and its length.
fn step(chars: &[char], at: usize, said: &[Piece]) -> Option<(&'static str, usize)> {
    let length = match chars[at..] {
        ['-' | '=', '>', ..] => 2,
        ['>' | '›' | '»', ..] => 1,
        _ => return None,
    };
    let blank = |c: &&char| **c == ' ';
    let before = chars[..at].iter().rev().skip_while(blank).take_while(|c| c.is_alphabetic());
    let behind = chars[at + length..].iter().skip_while(blank).take_while(|c| c.is_alphabetic());
    let (first, next) = (before.clone().last()?, behind.clone().next()?);
    // "A > B" and "USB > VGA" compare.
    let small = before.chain(behind).any(|c| c.is_lowercase());
    let way = match said {
        [.., step, _] if step.text == STEP => true,
        [.., menu] => MENUS.contains(&menu.text.as_str()),
        [] => false,
    };
    let named = first.is_uppercase() && next.is_uppercase();
    ((named || way) && small).then_some((STEP, length))
}

/// What stands before a name, shortened with a full stop. "Ms" is a unit too.
const TITLES: [&str; 7] = ["mr", "mrs", "dr", "prof", "mt", "st", "rs"];

/// How far the two marks of a tag may be apart: so a text of nothing but marks takes no quadratic time.
const TAG: usize = 64;

/// What a sign of comparison or arithmetic says, and its length, if it stands between two values: `x <= 5`, `12 * 4`.
/// Tags, arrows, quotations and lists have such signs too.
fn sign(chars: &[char], at: usize) -> Option<(&'static str, usize)> {
    let near = |i: Option<usize>| i.and_then(|i| chars.get(i)).copied().unwrap_or('\n');
    let (said, length) = match (chars[at], near(Some(at + 1))) {
        ('!', '=') => ("not", 2),
        ('≠', _) => ("not", 1),
        ('<', '=') => ("at_most", 2),
        ('≤', _) => ("at_most", 1),
        ('>', '=') => ("at_least", 2),
        ('≥', _) => ("at_least", 1),
        ('<', _) => ("less_than", 1),
        ('>', _) => ("more_than", 1),
        ('+', _) => ("op_plus", 1),
        ('-' | '−', _) => ("op_minus", 1),
        ('*' | '×', _) => ("op_times", 1),
        ('/' | '÷', _) => ("op_over", 1),
        ('^', _) => ("op_power", 1),
        _ => return None,
    };
    let (before, after) = (near(at.checked_sub(1)), near(Some(at + length)));
    let inner = |c: &&char| **c == ' ';
    let left = chars[..at].iter().rev().take(TAG).find(|c| !inner(c)).copied().unwrap_or('\n');
    let right = chars[at + length..].iter().take(TAG).find(|c| !inner(c)).copied().unwrap_or('\n');
    let (spaced, glued) = (before == ' ' && after == ' ', before != ' ' && after != ' ');
    let value = |c: char| c.is_alphanumeric() || matches!(c, ')' | ']' | '(' | '[' | '-' | '"' | '\'' | '_');
    let digits = left.is_ascii_digit() && right.is_ascii_digit();
    let stands = match chars[at] {
        '<' | '>' => {
            let partner = if chars[at] == '<' {
                chars[at..].iter().take(TAG).any(|c| *c == '>')
            } else {
                chars[..at].iter().rev().take(TAG).any(|c| *c == '<')
            };
            value(left)
                && value(right)
                && right != '-'
                && before != '-'
                && (spaced || right.is_ascii_digit() || glued && !partner)
        }
        '!' | '≠' | '≤' | '≥' => value(left) && value(right),
        // A dash and a slash without spaces are ranges, dates and fractions.
        '-' | '−' | '/' => digits && spaced,
        _ => digits,
    };
    stands.then_some((said, length))
}

/// Whether `text` and what follows are a date written `2024-03-02`.
fn is_date(text: &str, rest: &[char]) -> bool {
    let run = |chars: &[char]| chars.iter().take_while(|c| c.is_ascii_digit()).count();
    match text.len() {
        4 => run(&rest[1..]) == 2 && rest.get(3) == Some(&'-'),
        7 => text.as_bytes()[4] == b'-' && run(&rest[1..]) == 2,
        _ => false,
    }
}

/// The runs of three characters, sorted.
pub(crate) fn trigrams(pieces: &[Piece]) -> Vec<u32> {
    let mut window = [0u32; 3];
    let mut out = Vec::with_capacity(96);
    let text = pieces.iter().filter(|p| !p.text.starts_with('@')).flat_map(|p| p.text.chars().chain([' ']));
    for (i, c) in text.take(600).enumerate() {
        window = [window[1], window[2], c as u32 & 0x3ff];
        if i >= 2 {
            out.push(window[0] << 20 | window[1] << 10 | window[2]);
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::scan;

    /// Where sentences begin.
    #[test]
    fn a_title_ends_no_sentence() {
        let sentences = |text: &str| scan(text, 20).last().map(|piece| piece.sentence);
        assert_eq!(sentences("How high is Mt. Everest"), Some(0));
        assert_eq!(sentences("Where does Dr. King live"), Some(0));
        assert_eq!(sentences("The ping is 5 ms. Why"), Some(1));
        assert_eq!(sentences("He is a dr . Why"), Some(1));
    }
}
