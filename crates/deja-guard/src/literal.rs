//! What must be the same, letter by letter, in two prompts that ask the same.
//!
//! First what neither the embedder nor the features can tell apart: signs and emoji, letters of other scripts in an English
//! text, and runs too long to be words, such as keys and sequences. BERT's tokenizer has one token for all words that it
//! cannot spell ([Devlin et al. 2019](https://arxiv.org/abs/1810.04805), `[UNK]`), so texts that differ in such words alone
//! have the same vector. A sign makes all of the word unknown that it is glued to.
//!
//! Then what means something else in another case or without its mark: options of commands (`-d`, `-D`), escapes (`\\d`,
//! `%M`), megabits and megabytes, brackets in arithmetic, the indentation of code.

use std::collections::HashSet;
use std::ops::Range;

use unicode_normalization::char::decompose_canonical;

use crate::code::{asks_about_layout, stands_in};
use crate::prompt::Prompt;
use crate::scan::Piece;

/// Letters and digits beyond which a run is data. BERT spells words of up to 100; no word of a language without spaces
/// counts, since only ASCII does.
const LONGEST_WORD: usize = 40;
/// Digits that an f64 tells apart.
const LONGEST_NUMBER: usize = 15;

/// Signs that say nothing, or that the features read.
const READ: &str = "¡«»¿·®©¶™£¥€₹°−≠≤≥‐‑‒–—―‘’‚‛“”„•…′″‹›、。〈〉《》「」『』〜・（），．：；？！";

/// Units whose case tells them apart: all others are written in any case.
const CASED_UNITS: [&str; 9] = ["Kb", "Mb", "Gb", "Tb", "KBps", "MBps", "GBps", "mW", "mV"];

/// What must be the same in `text` and in another one. `pieces` are those of the text. In an English text
/// letters of other scripts are among it. The indentation counts of what is `beside` blocks of code.
pub(crate) fn literals(text: &str, beside: &str, pieces: &[Piece], english: bool) -> Literals {
    let plain = undecorated(text);
    let mut all = unread(plain, english);
    let begin = all.len();
    all.extend(unread(&text[plain.len()..], english));
    let decoration = begin..all.len();
    all.extend(unseen(text));
    all.extend(text.contains("http://").then(|| "http:".to_owned()));
    all.extend(text.split_whitespace().filter_map(option).map(str::to_owned));
    all.extend(folders(text));
    all.extend(escapes(text));
    all.extend(operators(text));
    all.extend(calls_with_colon(text));
    all.extend(numbers(text));
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let units = words.map(|word| word.trim_start_matches(|c: char| c.is_ascii_digit()));
    all.extend(units.filter(|unit| CASED_UNITS.contains(unit)).map(str::to_owned));
    if pieces.iter().any(|piece| piece.text.starts_with("op_")) {
        all.extend(brackets(text));
    }
    all.extend(indentation(beside));
    Literals { all, decoration }
}

/// What must be the same in two prompts, in its order.
#[derive(Clone, Debug)]
pub(crate) struct Literals {
    all: Vec<String>,
    /// Those of them that only decorate the end.
    decoration: Range<usize>,
}

impl Literals {
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.all == other.all
    }

    /// Whether both have the same. One may have a decoration more, but not another one.
    pub(crate) fn agree(&self, other: &Self) -> bool {
        let plain = |x: &Self, y: &Self| {
            let (before, behind) = (&x.all[..x.decoration.start], &x.all[x.decoration.end..]);
            before.iter().chain(behind).eq(&y.all)
        };
        self.same(other) || plain(self, other) || plain(other, self)
    }
}

/// `text` without the emoji that end a question which cannot be about them: "How do I make pancakes? 🥞"
fn undecorated(text: &str) -> &str {
    const ABOUT: [&str; 12] =
        ["this", "these", "that", "it", "mean", "means", "emoji", "emojis", "what", "which", "who", "guess"];
    let emoji =
        |c: char| matches!(c, '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}');
    let asked = text.trim_end_matches(|c: char| emoji(c) || is_hidden(c) || c == ' ');
    let is_about = |word: &str| ABOUT.iter().any(|about| about.eq_ignore_ascii_case(word));
    let speaks = || asked.split(|c: char| !c.is_alphanumeric()).any(is_about);
    let decorates =
        asked.len() < text.len() && asked.ends_with('?') && !asked.contains([':', '"', '“']) && !speaks();
    if decorates { asked } else { text }
}

/// `-d`, `--force`, `+x`: an option of a command. A dash before a word of the language is none.
fn option(word: &str) -> Option<&str> {
    if !word.starts_with(['-', '+', '`']) {
        return None;
    }
    let word = word.trim_end_matches(['?', '.', ',', '!', ';', ':', ')', '"', '\'', '`']);
    let word = word.trim_start_matches('`');
    let (name, longest) = match word.as_bytes() {
        [b'-', b'-', ..] => (&word[2..], usize::MAX),
        [b'-' | b'+', ..] => (&word[1..], 2),
        _ => return None,
    };
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= longest
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '='));
    named.then_some(word)
}

/// `.` and `..` behind a command that takes a folder. Elsewhere they end a sentence.
fn folders(text: &str) -> Vec<String> {
    const COMMANDS: [&str; 10] = ["cd", "ls", "du", "find", "tree", "cp", "mv", "rm", "add", "build"];
    if !text.contains(" .") {
        return Vec::new();
    }
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches('`')).collect();
    let named = words.windows(2).filter(|two| COMMANDS.contains(&two[0]) && matches!(two[1], "." | ".."));
    named.map(|two| two[1].to_owned()).collect()
}

/// `\\d`, `%M`: a backslash, or a percent sign that stands behind no number, and a letter.
fn escapes(text: &str) -> impl Iterator<Item = String> {
    let bytes = text.as_bytes();
    (0..bytes.len()).filter_map(|at| {
        let behind_number = at > 0 && bytes[at - 1].is_ascii_digit();
        let begins = bytes[at] == b'\\' || bytes[at] == b'%' && !behind_number;
        let letter = bytes.get(at + 1).copied().filter(|byte| begins && byte.is_ascii_alphabetic());
        letter.map(|letter| format!("{}{}", char::from(bytes[at]), char::from(letter)))
    })
}

/// Signs that are no marks of a sentence: two and more in a row ("==", "||"), and a plus, an equals sign, a caret, a bar or a
/// tilde beside a bracket or a single letter ("2x + 3", "AB+", "[^a-z]"). Tags, arrows and what the features read are none.
fn operators(text: &str) -> Vec<String> {
    const SIGNS: &str = "+=<>|&^~*-/\\#@!?$%";
    const ALONE: &str = "+=^|~";
    let sign = |c: &char| SIGNS.contains(*c);
    if !text.contains(['+', '=', '<', '>', '|', '&', '^', '~']) {
        return Vec::new();
    }
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let run = chars[at..].iter().take_while(|c| sign(c)).count();
        if run == 0 {
            at += 1;
            continue;
        }
        // The end of a sentence is none of it.
        let ends = chars[at..at + run].iter().rev().take_while(|c| matches!(c, '?' | '!')).count();
        let said = &chars[at..at + run - ends];
        let near = |c: Option<&char>| c.copied().unwrap_or(' ');
        let before = |back: usize| near(at.checked_sub(back).and_then(|i| chars.get(i)));
        let after = |on: usize| near(chars.get(at + run + on));
        let bracket = |c: char| matches!(c, '(' | ')' | '[' | ']' | '{' | '}');
        let left = usize::from(before(1) == ' ') + 1;
        let letter = before(left).is_alphabetic() && !before(left + 1).is_alphabetic()
            || left == 1 && before(1).is_uppercase() && !before(3).is_alphanumeric();
        let right = usize::from(after(0) == ' ');
        let beside = letter
            || before(1).is_uppercase() && after(0).is_ascii_digit()
            || bracket(before(left))
            || bracket(after(right));
        let said: String = said.iter().collect();
        let read = matches!(said.as_str(), "<=" | ">=" | "!=" | "->" | "=>" | "-->" | "<-")
            || said.contains("</")
            || said.contains("/>");
        let several = said.len() > 1 && !read && said.contains(['=', '<', '>', '|', '&']);
        if several || said.len() == 1 && ALONE.contains(&said) && beside {
            found.push(said);
        }
        at += run;
    }
    found
}

/// The colon behind a call or its like, which begins a block: `range(10):`.
fn calls_with_colon(text: &str) -> impl Iterator<Item = String> {
    // How far the brackets may be apart: so a text of nothing but marks takes no quadratic time.
    const LONGEST: usize = 200;
    let bytes = text.as_bytes();
    let glued = move |at: usize| {
        let before = &bytes[at.saturating_sub(LONGEST)..at];
        let open = before.iter().rposition(|byte| *byte == b'(')?;
        let name = before[..open].last()?;
        (name.is_ascii_alphanumeric() || *name == b'_').then(|| "):".to_owned())
    };
    text.match_indices("):").filter_map(move |(at, _)| glued(at))
}

/// Each bracket with the numbers that stand before it.
fn brackets(text: &str) -> Vec<String> {
    let (mut numbers, mut before, mut brackets) = (0, ' ', Vec::new());
    for c in text.chars() {
        numbers += usize::from(c.is_ascii_digit() && !before.is_ascii_digit());
        if matches!(c, '(' | ')' | '[' | ']') {
            brackets.push(format!("{c}{numbers}"));
        }
        before = c;
    }
    brackets
}

/// What each line stands in by its indentation, if one is indented; where the layout is asked about, how far it is.
fn indentation(text: &str) -> Option<String> {
    let blanks = |line: &str| line.len() - line.trim_start().len();
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let is_indented = lines().skip(1).any(|line| blanks(line) > 0);
    let exact = || text.contains('\t') || asks_about_layout(text);
    is_indented.then(|| {
        let far: Vec<usize> = lines().map(blanks).collect();
        // What is no level is marked: a tab is not a blank.
        let (mark, shown) = match levels(&far).filter(|_| !exact()) {
            Some(levels) => ("", levels),
            None => ("=", far),
        };
        format!("{mark}{}", shown.iter().map(usize::to_string).collect::<Vec<_>>().join(" "))
    })
}

/// How many lines each one stands in; none if one stands beside nothing.
fn levels(far: &[usize]) -> Option<Vec<usize>> {
    let mut open = Vec::new();
    far.iter().map(|far| stands_in(&mut open, *far).then(|| open.len() - 1)).collect()
}

/// The words of `text` that are not read, in lower case. In an English text those are all that are not of Latin letters, and
/// those with a mark that no letter has: "x̄". Elsewhere it is what no script has.
fn unread(text: &str, english: bool) -> Vec<String> {
    let is_strange = |c: char| !c.is_ascii() && (is_sign(c) || english && !is_latin(c));
    let words = text.split(|c: char| !(c.is_alphanumeric() || is_strange(c)));
    let unread = words.filter(|word| {
        is_data(word) || !word.is_ascii() && (is_raised(word) || word.chars().any(is_strange))
    });
    unread.map(str::to_lowercase).collect()
}

/// `5²`, `x³`, the exponent of `(a + b)²`: a unit like `m²` is read as a word.
fn is_raised(word: &str) -> bool {
    let base = word.trim_end_matches(['¹', '²', '³']);
    let unit = base.trim_start_matches(|c: char| c.is_ascii_digit());
    base.len() < word.len()
        && !matches!(unit, "mm" | "cm" | "dm" | "m" | "km" | "in" | "ft" | "yd" | "mi" | "s")
}

/// A word with an accent, in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Accented {
    word: String,
    /// In quotes, or before "mean": the prompt is about the word.
    named: bool,
}

/// The Latin letter without its marks, which the tokenizer drops, and without the stroke of đ and ø.
pub(crate) fn bare(c: char) -> char {
    match c {
        'đ' => 'd',
        'ø' => 'o',
        '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => {
            let mut first = None;
            decompose_canonical(c, |part| {
                first.get_or_insert(part);
            });
            first.unwrap_or(c)
        }
        _ => c,
    }
}

/// The words of `text` that have an accent.
pub(crate) fn accented(text: &str) -> Vec<Accented> {
    const QUOTES: &str = "\"'`“”‘’„«»";
    let mut accented = Vec::new();
    // Of ASCII nothing is.
    let mut rest = if text.is_ascii() { "" } else { text };
    while let Some(begin) = rest.find(|c: char| bare(c) != c || c.is_uppercase() && !c.is_ascii()) {
        let begin = rest[..begin].trim_end_matches(char::is_alphanumeric).len();
        let end = rest[begin..].find(|c: char| !c.is_alphanumeric()).map_or(rest.len(), |end| begin + end);
        let word = rest[begin..end].to_lowercase();
        let quoted = rest[..begin].ends_with(|c| QUOTES.contains(c))
            && rest[end..].starts_with(|c| QUOTES.contains(c));
        // "vis-à-vis"
        let joined = rest[..begin].ends_with('-') || rest[end..].starts_with('-');
        if word.chars().any(|c| bare(c) != c) && !joined {
            accented.push(Accented { word, named: quoted || rest[end..].starts_with(" mean") });
        }
        rest = &rest[end..];
    }
    accented
}

/// Whether a word of one prompt is another one than its like without accents, or with others, in the other one. "Café" is
/// "cafe" where one of the prompts has no accents at all.
pub(crate) fn respelled(a: &Prompt, b: &Prompt) -> bool {
    let without = |word: &str| word.chars().map(bare).collect::<String>();
    let one = |a: &Prompt, b: &Prompt| {
        if a.accented.is_empty() {
            return false;
        }
        // In sets: a text may be all accents.
        let words: HashSet<&str> = b.key.split(|c: char| !c.is_alphanumeric()).collect();
        let bare: HashSet<String> = words.iter().map(|word| without(word)).collect();
        a.accented.iter().any(|Accented { word, named }| {
            let counts = *named || !b.accented.is_empty();
            !words.contains(word.as_str())
                && (word.chars().count() == 1 || counts && bare.contains(&without(word)))
        })
    };
    one(a, b) || one(b, a)
}

fn is_data(word: &str) -> bool {
    word.len() > LONGEST_WORD && word.bytes().filter(u8::is_ascii_alphanumeric).count() > LONGEST_WORD
}

/// Numbers of more digits than an f64 tells apart, and those with zeros before them, which are names: "PIN 0042".
fn numbers(text: &str) -> Vec<String> {
    /// "05" is a month or a minute.
    const NAMED: usize = 3;
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | ',' | '_' | '-');
    let is_numeric = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    let mut found = Vec::new();
    let mut behind_number = false;
    for word in text.split_inclusive(|c: char| !is_part(c)) {
        let number = word.trim_matches(|c: char| !c.is_alphanumeric());
        let number = if number.chars().all(is_numeric) { number } else { "" };
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        let zeros = number.starts_with('0') && digits == number.len() && digits >= NAMED;
        // "10 000" is one number.
        let is_group = behind_number && digits == NAMED;
        if digits > LONGEST_NUMBER || zeros && !is_group {
            found.push(number.replace(',', ""));
        }
        behind_number = digits > 0 && word.ends_with(char::is_whitespace);
    }
    found
}

/// Whether it is among what the tokenizer spells, or drops and says nothing: Latin letters, blanks, what cannot be seen.
fn is_latin(c: char) -> bool {
    let letter = matches!(c, '\u{aa}'..='\u{131}' | '\u{134}'..='\u{137}' | '\u{139}'..='\u{13e}' | '\u{141}'..='\u{148}'
        | '\u{14a}'..='\u{165}' | '\u{168}'..='\u{17e}' | '\u{1a0}'..='\u{1a1}' | '\u{1af}'..='\u{1b0}'
        | '\u{1cd}'..='\u{1dc}' | '\u{218}'..='\u{21b}' | '\u{1e00}'..='\u{1e99}' | '\u{1ea0}'..='\u{1ef9}'
        | 'Ω' | '\u{2126}' | 'μ');
    letter || c.is_whitespace() || c.is_control() || is_hidden(c) || READ.contains(c)
}

/// Marks upon letters, dropped by the tokenizer.
fn is_upon(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Joiners, directions, variants: dropped by the tokenizer.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// The characters of a text that shows nothing but the end of a sentence: there is no other to compare.
fn unseen(text: &str) -> Option<String> {
    let unseen = |c: &char| is_hidden(*c) || is_upon(*c) || c.is_control() && !c.is_whitespace();
    let shows = |c: char| !(unseen(&c) || c.is_whitespace() || matches!(c, '.' | '?' | '!'));
    let characters: String = text.chars().filter(unseen).collect();
    (!characters.is_empty() && !text.contains(shows)).then_some(characters)
}

/// A character that belongs to no script, and says something: mathematics, arrows, pictures. Those beyond the first plane
/// are in no vocabulary.
fn is_sign(c: char) -> bool {
    let among = matches!(c, '\u{a1}'..='\u{bf}' | '\u{2c2}'..='\u{2ff}' | '\u{2010}'..='\u{2bff}'
        | '\u{2e00}'..='\u{2e7f}' | '\u{3001}'..='\u{303f}' | '\u{3200}'..='\u{33ff}'
        | '\u{e000}'..='\u{f8ff}' | '\u{ff00}'..='\u{ffff}');
    c >= '\u{10000}'
        || among && !c.is_alphanumeric() && !c.is_whitespace() && !is_hidden(c) && !READ.contains(c)
}

#[cfg(test)]
mod tests {
    use super::{literals, unread};
    use crate::scan::scan;

    #[test]
    fn options_escapes_units_brackets_and_indentation_are_literal() {
        let of = |text: &str| literals(text, text, &scan(text, 100), true).all.join(" ");
        assert_eq!(
            of("What do git branch -D, rm -rf and git push --force-with-lease do?"),
            "-D -rf --force-with-lease"
        );
        assert_eq!(of("a well -known problem - or 5 -10, -not- so"), "");
        assert_eq!(of("Does \\d match \\D, %m or 5%off?"), "\\d \\D %m");
        assert_eq!(of("8 Mb, 8 MB, 8mb and 5mW or 5 MW"), "Mb mW");
        assert_eq!(of("What is (2 + 3) * 4?"), "(0 )2");
        assert_eq!(of("PIN 0042, on 05/06 at 09:05, 1,003, 0.007"), "0042");
        assert_eq!(
            of("9,123,456,789,012,345 and 123456789012345, 1503435956.000247."),
            "9123456789012345 1503435956.000247"
        );
        assert_eq!(of("in short (why)?"), "");
        assert_eq!(of("for i in x:\n    f(i)\n\nreturn"), "0 1 0");
        assert_eq!(of("a:\n  b:\n   c\nd"), "0 1 2 0");
        assert_eq!(of("a:\n   b\n c"), "=0 3 1");
        assert_eq!(of("a:\n\tb"), "=0 1");
        assert_eq!(of("Which indent?\n   b"), "=0 3");
        assert_eq!(of("two\nlines"), "");
    }

    #[test]
    fn signs_strangers_and_data_are_not_read() {
        let unread_of = |text: &str, english: bool| unread(text, english).join(" ");
        assert_eq!(unread_of("Is 5 ✅ or not? Thanks🙏!", true), "✅ thanks🙏");
        assert_eq!(unread_of("∀x P(x), 3 × 4 ± 1", true), "∀x ±");
        assert_eq!(unread_of("5² or x¹ (a + b)³ on 7 m²", true), "5² x¹ ³");
        assert_eq!(unread_of("Is x\u{304} the mean of x?", true), "x\u{304}");
        assert_eq!(unread_of("the meaning of 鑫 and of Ωmega", true), "鑫");
        assert_eq!(unread_of("鑫 означает?", false), "");
        assert_eq!(unread_of("¿Cuánto cuesta «Niño»… a 5 °C – 7 m² (½)?", true), "");
        assert_eq!(unread_of("“It’s” été, zero\u{200b}width, 90\u{a0}%, 5 €", true), "");
        let key = "aB3".repeat(14);
        assert_eq!(unread_of(&format!("{key} and {}", &key[..40]), true), key.to_lowercase());
        assert_eq!(unread_of(&"ประเทศไทย".repeat(20), false), "");
    }
}
