//! Splits a prompt into lower-case words, numbers and marks, and writes contractions out.

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

/// Contractions written as one word, and what they stand for.
const WHOLE: &[(&str, &[&str])] = &[
    ("can't", &["can", "n't"]),
    ("cannot", &["can", "not"]),
    ("cant", &["can", "n't"]),
    ("won't", &["will", "n't"]),
    ("wont", &["will", "n't"]),
    ("shan't", &["shall", "n't"]),
    ("whats", &["what", "is"]),
    ("wats", &["what", "is"]),
    ("wat", &["what"]),
    ("hows", &["how", "is"]),
    ("wheres", &["where", "is"]),
    ("whos", &["who", "is"]),
    ("whens", &["when", "is"]),
    ("im", &["i", "am"]),
    ("ive", &["i", "have"]),
    ("dont", &["do", "n't"]),
    ("doesnt", &["does", "n't"]),
    ("didnt", &["did", "n't"]),
    ("isnt", &["is", "n't"]),
    ("arent", &["are", "n't"]),
    ("wasnt", &["was", "n't"]),
    ("werent", &["were", "n't"]),
    ("havent", &["have", "n't"]),
    ("hasnt", &["has", "n't"]),
    ("shouldnt", &["should", "n't"]),
    ("couldnt", &["could", "n't"]),
    ("wouldnt", &["would", "n't"]),
    ("wanna", &["want", "to"]),
    ("gonna", &["going", "to"]),
    ("gotta", &["have", "to"]),
    ("u", &["you"]),
    ("ur", &["your"]),
    ("r", &["are"]),
    ("pls", &["please"]),
    ("teh", &["the"]),
    ("tho", &["though"]),
    ("thru", &["through"]),
    ("cuz", &["because"]),
    ("coz", &["because"]),
    ("bc", &["because"]),
    ("w/", &["with"]),
    ("lets", &["let", "us"]),
    ("gimme", &["give", "me"]),
    ("lemme", &["let", "me"]),
    ("wen", &["when"]),
    ("hwo", &["how"]),
    ("nd", &["and"]),
    ("thx", &["thanks"]),
    ("theres", &["there", "is"]),
    ("thats", &["that", "is"]),
    // "I.e.", which is read as one word.
    ("ie", &["that", "is"]),
];

/// Words after which `'s` stands for `is`.
const IS_AFTER: &[&str] = &[
    "what",
    "who",
    "where",
    "how",
    "when",
    "why",
    "which",
    "it",
    "that",
    "there",
    "he",
    "she",
    "here",
    "everything",
    "something",
];

fn expand(out: &mut Vec<Piece>, piece: Piece) {
    let word = piece.text.as_str();
    if let Some((_, parts)) = WHOLE.iter().find(|(whole, _)| *whole == word) {
        // "R", "U" and "IE" in capitals are names of their own, "2nd" is no "and".
        let is_name = piece.upper || word.len() == 1 && piece.name;
        if !(matches!(word, "r" | "u" | "ie") && is_name) && !(word == "nd" && piece.glued) {
            for (i, part) in parts.iter().enumerate() {
                let mut one = Piece::word(if *part == "n't" { "not" } else { part }, &piece);
                one.contracted = *part == "n't";
                one.broken = i == 0 && piece.broken;
                out.push(one);
            }
            return;
        }
    }
    let Some(at) = word.find('\'') else {
        out.push(piece);
        return;
    };
    let (head, tail) = word.split_at(at);
    let (head, tail) = match tail {
        "'t" if head.ends_with('n') => (&head[..head.len() - 1], "not"),
        "'re" => (head, "are"),
        "'ve" => (head, "have"),
        "'ll" => (head, "will"),
        "'m" => (head, "am"),
        "'d" => (head, "would"),
        "'s" if head == "let" => (head, "us"),
        "'s" if IS_AFTER.contains(&head) => (head, "is"),
        _ => (head, ""),
    };
    let mut first = piece.clone();
    head.clone_into(&mut first.text);
    let contracted = tail == "not";
    let mut second = Piece::word(tail, &piece);
    second.contracted = contracted;
    if !first.text.is_empty() {
        out.push(first);
    }
    if !tail.is_empty() {
        out.push(second);
    }
}

/// The pieces of `text`, contractions written out; no more than `limit`.
#[expect(clippy::too_many_lines, reason = "one loop over the characters, a branch a kind of piece")]
pub(crate) fn scan(text: &str, limit: usize) -> Vec<Piece> {
    let chars: Vec<char> =
        text.chars().map(|c| if matches!(c, '’' | '‘' | '`') { '\'' } else { c }).collect();
    let mut out: Vec<Piece> = Vec::with_capacity(24);
    let (mut at, mut start, mut broken, mut last_end) = (0, true, false, usize::MAX);
    let mut cell = false;
    let (mut capitals, mut words, mut sentence) = (0usize, 0usize, 0u8);
    let at_char = |i: usize| chars.get(i).copied().unwrap_or(' ');
    while at < chars.len() && out.len() < limit {
        let c = chars[at];
        let begin = at;
        let mut kind = Kind::Word;
        let mut text = String::new();
        if c.is_ascii_digit() {
            kind = Kind::Number;
            while at_char(at).is_ascii_digit()
                || (matches!(at_char(at), '.' | ',' | ':' | '/' | '-') && at_char(at + 1).is_ascii_digit())
            {
                // A hyphen joins digits in a date alone.
                if at_char(at) == '-' && !is_date(&text, &chars[at..]) {
                    break;
                }
                text.push(chars[at]);
                at += 1;
            }
            if let Some(part) = fraction(at_char(at)).filter(|_| text.bytes().all(|b| b.is_ascii_digit())) {
                text.push_str(&part[1..]);
                at += 1;
            }
        } else if let Some(part) = fraction(c) {
            kind = Kind::Number;
            text.push_str(part);
            at += 1;
        } else if c.is_alphabetic() {
            while at_char(at).is_alphanumeric() || (at_char(at) == '\'' && at_char(at + 1).is_alphabetic()) {
                if at_char(at).is_ascii_digit() {
                    kind = Kind::Code;
                }
                text.extend(chars[at].to_lowercase());
                at += 1;
            }
            if at - begin == 1 && matches!(at_char(at), '+' | '#') {
                while matches!(at_char(at), '+' | '#') {
                    text.push(chars[at]);
                    at += 1;
                }
            } else if at - begin == 1 && at_char(at) == '-' && at_char(at + 1) == '-' {
                // "i--" beside "i++".
                text.push_str("--");
                at += 2;
            }
            // "e.g.", "a.m.", "U.S."
            if at - begin == 1
                && at_char(at) == '.'
                && at_char(at + 1).is_alphabetic()
                && at_char(at + 2) == '.'
            {
                text.extend(chars[at + 1].to_lowercase());
                at += 3;
            }
        } else {
            let mark = match c {
                '%' => "percent",
                '$' => "dollar",
                '£' => "pound",
                '€' => "euro",
                '¥' => "yen",
                '&' => "and",
                'Ω' => "ohm",
                _ => "",
            };
            if negates(&chars, at) {
                let mut piece = Piece::bare(NEGATIVE, sentence);
                (piece.broken, start, broken) = (broken, false, false);
                out.push(piece);
                at += 1;
                continue;
            }
            if mark.is_empty()
                && let Some((said, length)) = step(&chars, at, &out).or_else(|| sign(&chars, at))
            {
                let mut piece = Piece::bare(said, sentence);
                (piece.broken, start, broken) = (broken, false, false);
                out.push(piece);
                at += length;
                continue;
            }
            at += 1;
            match c {
                '°' => {
                    let unit = at_char(at).to_ascii_lowercase();
                    let unit_ends = !at_char(at + 1).is_alphabetic();
                    text.push_str(match unit {
                        'c' if unit_ends => "celsius",
                        'f' if unit_ends => "fahrenheit",
                        _ => "degree",
                    });
                    if unit_ends && matches!(unit, 'c' | 'f') {
                        at += 1;
                    }
                }
                _ if !mark.is_empty() => text.push_str(mark),
                '.' | '!' | '?' | '\n' => {
                    if !start {
                        sentence = sentence.saturating_add(1);
                    }
                    if let Some(last) = out.last_mut().filter(|_| c == '?') {
                        last.asked = true;
                    }
                    (start, broken, cell) = (true, true, false);
                    continue;
                }
                ',' | ';' | ':' | '(' | ')' | '—' | '–' => {
                    cell = c == ',' && !broken && !at_char(at).is_whitespace();
                    broken = true;
                    continue;
                }
                _ => continue,
            }
        }
        let letters = &chars[begin..at];
        let capital = c.is_uppercase();
        let upper = letters.len() > 1
            && letters.iter().all(|c| c.is_uppercase() || !c.is_alphabetic())
            && c.is_alphabetic();
        if c.is_alphabetic() {
            words += 1;
            capitals += usize::from(capital);
        }
        let glued = last_end == begin && !out.is_empty();
        let name = capital && (!start || upper) && text != "i" && !text.starts_with("i'");
        if upper && text == "us" {
            "usa".clone_into(&mut text);
        }
        let (contracted, asked) = (false, false);
        expand(&mut out, Piece { text, kind, name, upper, broken, cell, glued, contracted, sentence, asked });
        (start, broken, last_end) = (false, false, at);
    }
    say_signs(&mut out);
    say_steps(&mut out);
    if capitals * 10 >= words * 6 && words > 2 {
        for piece in &mut out {
            piece.name = false;
        }
    }
    out
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
