//! Names in code among prose whose case counts, arrows, whose ends do, and the keywords and quotes of what is called and quoted.

use std::collections::HashSet;

use super::bare::words;
use crate::lexicon::lexicon;

/// Words beside which a name is one of code: "WhatsApp" may be "whatsApp", "myClass" is not "MyClass".
const ABOUT_CODE: [&str; 14] = [
    "class", "classes", "function", "functions", "method", "methods", "variable", "variables", "struct",
    "enum", "constructor", "defined", "declared", "instance",
];

/// Words that a name follows.
const KEYWORDS: [&str; 6] = ["class", "function", "method", "variable", "struct", "enum"];

const ARROWS: [(&str, bool); 6] =
    [("->", false), ("=>", false), ("→", false), ("⇒", false), ("<-", true), ("←", true)];

/// Names and arrows of a prompt beyond which no more are looked at.
const MOST: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Names as they are written: calls, those with a capital within, and those behind a word for what they name.
    cased: Vec<String>,
    /// Those that begin with two small letters and have a capital within, in lower case.
    lowered: Vec<String>,
    /// From what to what an arrow points, in lower case.
    arrows: Vec<[String; 2]>,
    /// Keywords and the calls behind them: "await f()".
    led: Vec<[String; 2]>,
    /// Quotes and what they hold, where a shell or a language fills in what both quotes hold or one of them.
    filled: Vec<[String; 2]>,
}

impl Names {
    /// Reads the names in `text`, which stands outside of backticks.
    pub(super) fn read(text: &str) -> Self {
        let about_code = || words(text).any(|word| ABOUT_CODE.contains(&word.as_str()));
        let (mut cased, mut camels, mut lowered) = (Vec::new(), Vec::new(), Vec::new());
        let (mut at, mut before) = (0, "");
        while let Some(begin) = text[at..].find(is_word).map(|found| at + found) {
            let end = text[begin..].find(|c| !is_word(c)).map_or(text.len(), |end| begin + end);
            let (name, behind) = (&text[begin..end], &text[end..]);
            // "Item(s)" is no call, and a sentence begins with a capital.
            let called = behind.starts_with('(') && !behind.starts_with("(s)");
            let told = KEYWORDS.contains(&before) && &text[at..begin] == " ";
            if (called || told) && !begins(&text[..begin]) {
                cased.push(name.to_owned());
            } else if is_camel(name) && !begins(&text[..begin]) {
                let lower = name.to_lowercase();
                // "whatsApp"
                if lexicon().lists(&lower) {
                    camels.push(name.to_owned());
                } else {
                    cased.push(name.to_owned());
                    let small = name.bytes().take(2).all(|byte| byte.is_ascii_lowercase());
                    lowered.extend(small.then_some(lower));
                }
            }
            (before, at) = (name, end);
        }
        if !camels.is_empty() && about_code() {
            cased.append(&mut camels);
        }
        cased.truncate(MOST);
        lowered.truncate(MOST);
        let mut arrows = arrows(text);
        arrows.extend(operands(text));
        Self { cased, lowered, arrows, led: led(text), filled: filled(text) }
    }

    /// Whether a name stands in `text` in small letters, and not in its `own`: who writes capitals elsewhere means another one.
    pub(super) fn lowered_in(&self, text: &str, own: &str) -> bool {
        if self.lowered.is_empty() || !text.contains(char::is_uppercase) {
            return false;
        }
        let [theirs, own] = [text, own].map(|text| text.split(|c| !is_word(c)).collect::<HashSet<&str>>());
        self.lowered.iter().map(String::as_str).any(|name| theirs.contains(name) && !own.contains(name))
    }

    pub(super) fn same(&self, other: &Self) -> bool {
        !self.recased(other) && !self.turned(other) && !self.led_otherwise(other)
    }

    /// Whether another keyword stands before a call, or other quotes around what is filled in.
    pub(super) fn led_otherwise(&self, other: &Self) -> bool {
        let differ = |x: &[[String; 2]], y: &[[String; 2]]| {
            x.iter().any(|pair| !y.contains(pair) && y.iter().any(|other| other[1] == pair[1]))
        };
        differ(&self.led, &other.led)
            || differ(&other.led, &self.led)
            || differ(&self.filled, &other.filled)
            || differ(&other.filled, &self.filled)
    }

    /// Whether a name of one is a name of the other in another case. Of what is all in capitals the case is a habit: `MAX(x)`.
    pub(super) fn recased(&self, other: &Self) -> bool {
        let upper = |name: &str| !name.contains(|c: char| c.is_lowercase());
        let alone = |x: &Self, y: &Self| {
            x.cased.iter().any(|name| {
                !y.cased.contains(name)
                    && y.cased
                        .iter()
                        .any(|other| other.eq_ignore_ascii_case(name) && !upper(name) && !upper(other))
            })
        };
        alone(self, other) || alone(other, self)
    }

    /// Whether an arrow of one points the other way in the other.
    pub(super) fn turned(&self, other: &Self) -> bool {
        let back = |[from, to]: &[String; 2]| [to.clone(), from.clone()];
        self.arrows.iter().any(|arrow| !other.arrows.contains(arrow) && other.arrows.contains(&back(arrow)))
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a sentence begins behind `text`.
fn begins(text: &str) -> bool {
    let said = text.trim_end();
    said.is_empty() || said.len() < text.len() && said.ends_with(['.', '?', '!', ':']) || text.ends_with('\n')
}

/// "getUser", not "iPhone" nor "macOS".
fn is_camel(name: &str) -> bool {
    let has = |test: fn(u8, u8) -> bool| name.as_bytes().windows(2).any(|two| test(two[0], two[1]));
    has(|x, y| x.is_ascii_lowercase() && y.is_ascii_uppercase())
        && !has(|x, y| x.is_ascii_uppercase() && y.is_ascii_uppercase())
}

/// What stands on both sides of the arrows in `text`.
fn arrows(text: &str) -> Vec<[String; 2]> {
    let mut found = Vec::new();
    if !text.contains(['<', '>', '→', '⇒', '←']) {
        return found;
    }
    for (arrow, back) in ARROWS {
        for (at, _) in text.match_indices(arrow).take(MOST) {
            let (before, behind) = (&text[..at], &text[at + arrow.len()..]);
            let before = before.trim_end_matches(['-', '=', ' ', '(', ')']);
            let behind = behind.trim_start_matches(['-', '=', ' ', '(']);
            let from = before.len() - before.trim_end_matches(is_word).len();
            let to = behind.find(|c: char| !is_word(c)).unwrap_or(behind.len());
            let (from, to) = (&before[before.len() - from..], &behind[..to]);
            if !from.is_empty() && !to.is_empty() && from != to {
                let [from, to] = [from, to].map(str::to_lowercase);
                found.push(if back { [to, from] } else { [from, to] });
            }
        }
    }
    found
}

/// Words of assembly whose operands have an order.
const INSTRUCTIONS: [&str; 34] = [
    "mov", "movl", "movq", "movb", "movzx", "movsx", "add", "addl", "addq", "sub", "subl", "subq", "xor",
    "and", "or", "cmp", "lea", "imul", "shl", "shr", "sar", "cmov", "cmove", "xchg", "ldr", "str", "adc",
    "sbb", "addi", "lw", "sw", "movaps", "movups", "bt",
];

/// The two operands of an instruction: "mov eax, ebx".
fn operands(text: &str) -> Vec<[String; 2]> {
    if !text.contains(',') {
        return Vec::new();
    }
    let tokens: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == '`').filter(|t| !t.is_empty()).collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().take(MOST) {
        let Some(behind) = tokens.get(at + 1).filter(|_| INSTRUCTIONS.contains(token)) else { continue };
        let two = match behind.split_once(',') {
            Some((to, "")) => tokens.get(at + 2).map(|from| (to, *from)),
            two => two,
        };
        found.extend(two.map(|(to, from)| {
            [to, from].map(|name| name.trim_end_matches(['.', '?', '!', ',', ';', ':']).to_lowercase())
        }));
    }
    found
}

/// Keywords that may stand before a call.
const LEADING: [&str; 18] = [
    "await", "async", "defer", "go", "new", "delete", "typeof", "sizeof", "yield", "return", "throw",
    "raise", "void", "not", "assert", "del", "import", "static",
];

fn led(text: &str) -> Vec<[String; 2]> {
    if !text.contains('(') {
        return Vec::new();
    }
    let mut tokens = text.split(|c: char| c.is_whitespace() || c == '`').filter(|token| !token.is_empty());
    let (mut found, mut before) = (Vec::new(), "");
    while found.len() < MOST
        && let Some(token) = tokens.next()
    {
        if LEADING.contains(&before) && token.contains('(') && token.starts_with(is_word) {
            found
                .push([before.to_owned(), token.trim_end_matches(['.', '?', '!', ',', ';', ':']).to_owned()]);
        }
        before = token;
    }
    found
}

/// "$HOME" and '$HOME', `"#{x}"`, "a\\n".
fn filled(text: &str) -> Vec<[String; 2]> {
    let mut found = Vec::new();
    if !text.contains(['$', '#', '\\']) {
        return found;
    }
    for quote in ["\"", "'"] {
        for line in text.lines() {
            let parts: Vec<&str> = line.split(quote).collect();
            let inner = parts.iter().skip(1).step_by(2).take(parts.len().saturating_sub(1) / 2);
            let fills = |part: &&&str| part.contains(['$', '\\']) || part.contains("#{");
            found.extend(inner.filter(fills).map(|part| [quote.to_owned(), (*part).to_owned()]));
        }
    }
    found.truncate(MOST);
    found
}
