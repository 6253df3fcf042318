//! Splits code into words, signs and lines.

use super::Language;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A name, a number, what stands in quotes, a pattern.
    Word,
    /// A comma, a semicolon, a bracket.
    Mark,
    /// Other signs in a row.
    Sign,
    /// Up to the end of its line.
    Comment,
    /// The end of a line, and the indentation of the next.
    Line,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Where it begins.
    pub(super) at: usize,
    /// A blank stands before it.
    pub(super) spaced: bool,
}

impl Token<'_> {
    pub(super) fn closes(&self) -> bool {
        matches!(self.text, ")" | "]" | "}")
    }
}

/// Patterns of one line that do not end, beyond which nobody knows what is one. Each is looked for up to the end of its line.
const MOST_UNENDED: usize = 16;

/// The tokens of `code`; none if a quote does not end.
pub(super) fn tokens(code: &str, language: Language) -> Option<Vec<Token<'_>>> {
    let mut tokens: Vec<Token> = Vec::new();
    let (mut at, mut spaced, mut unended) = (0, false, 0);
    while let Some(c) = code[at..].chars().next() {
        let rest = &code[at..];
        let last = tokens.last().copied();
        let line = last.is_none_or(|last| last.kind == Kind::Line);
        let blanks = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
        let to_end = || rest.find('\n').unwrap_or(rest.len());
        let (kind, length) = if c == '\n' {
            unended = 0;
            (Kind::Line, 1 + blanks(&rest[1..]))
        } else if c.is_whitespace() {
            spaced = true;
            at += c.len_utf8();
            continue;
        } else if notes(rest, language, line || spaced, line) {
            (Kind::Comment, to_end())
        } else if matches!(c, '"' | '\'')
            || c == '`' && matches!(language, Language::Script | Language::Calls)
        {
            let length = quoted(rest, c)?;
            // Quotes stand within quotes: nobody knows which of them ends it.
            if rest[length..].starts_with(is_letter) {
                return None;
            }
            (Kind::Word, length)
        } else if begins_pattern(rest, last, language)
            && let Some(length) = pattern(rest, &mut unended)
        {
            (Kind::Word, length)
        } else if is_letter(c) {
            (Kind::Word, word(rest))
        } else if is_mark(c) {
            (Kind::Mark, 1)
        } else {
            let stops = |(from, c): &(usize, char)| {
                c.is_whitespace()
                    || is_letter(*c)
                    || is_mark(*c)
                    || matches!(c, '"' | '\'' | '`')
                    || *from > 0 && notes(&rest[*from..], language, true, false)
            };
            let first = c.len_utf8();
            let length = rest.char_indices().skip(1).find(stops).map_or(rest.len(), |(end, _)| end);
            // "x=-1" is "x = -1".
            let assigns = matches!(&rest[..length], "=-" | "=!" | "=&" | "=*");
            (Kind::Sign, if assigns { first } else { length })
        };
        if unended > MOST_UNENDED {
            return None;
        }
        let text = &rest[..length];
        let text = if kind == Kind::Line { &text[1..] } else { text.trim_end() };
        tokens.push(Token { kind, text, at, spaced });
        at += length;
        // The second sign of two that were parted.
        spaced = kind == Kind::Sign && text == "=" && code[at..].starts_with(['-', '!', '&', '*']);
    }
    Some(tokens)
}

/// The code with `"` for `'` around what has neither quotes nor backslashes in it; none if a quote does not end. Of a language
/// that is not known only what no language has as one letter or fills in, and nothing where a function is in capitals: that
/// may be SQL.
pub(super) fn requoted(code: &str, language: Language) -> Option<String> {
    let mut out = String::with_capacity(code.len());
    let mut from = 0;
    let tokens = tokens(code, language)?;
    let unknown = language == Language::Calls;
    let upper = |name: &str| name.len() > 1 && !name.contains(|c: char| c.is_lowercase());
    if unknown && tokens.windows(2).any(|two| two[1].text == "(" && upper(two[0].text)) {
        return None;
    }
    for token in tokens {
        let inner = token.text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
        let filled = |inner: &str| inner.chars().count() < 2 || inner.contains(['$', '#', '{', '@', '%']);
        let inner = inner.filter(|inner| !(inner.contains(['\'', '"', '\\']) || unknown && filled(inner)));
        if let Some(inner) = inner {
            out.extend([&code[from..token.at], "\"", inner, "\""]);
            from = token.at + token.text.len();
        }
    }
    out.push_str(&code[from..]);
    Some(out)
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

fn is_mark(c: char) -> bool {
    matches!(c, ',' | ';' | '(' | ')' | '[' | ']' | '{' | '}')
}

/// A name or a number; the point of a number is one of its letters.
fn word(rest: &str) -> usize {
    let number = rest.starts_with(|c: char| c.is_ascii_digit());
    let mut chars = rest.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let point = number && c == '.' && chars.peek().is_some_and(|(_, next)| next.is_ascii_digit());
        if !is_letter(c) && !point {
            return at;
        }
    }
    rest.len()
}

/// Whether a comment begins here, which is `apart` from what stands before it, or `first` in its line.
fn notes(rest: &str, language: Language, apart: bool, first: bool) -> bool {
    let slashes = rest.starts_with("//");
    match language {
        Language::Python => rest.starts_with('#'),
        Language::Script => slashes,
        // A line that begins so is one for the preprocessor, or an attribute.
        Language::Lines => slashes || first && rest.starts_with('#'),
        Language::Sql => rest.starts_with("--") || rest.starts_with('#'),
        _ => slashes || apart && (rest.starts_with('#') || rest.starts_with("--")),
    }
}

/// The length of what stands in quotes: three of them, or one, which ends in its line.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let three = ["\"\"\"", "'''"].into_iter().find(|three| rest.starts_with(three));
    let close = three.unwrap_or(&rest[..1]);
    let mut chars = rest.char_indices().skip(close.len());
    while let Some((at, c)) = chars.next() {
        if rest[at..].starts_with(close) {
            return Some(at + close.len());
        }
        match c {
            '\\' => drop(chars.next()),
            '\n' if three.is_none() && quote != '`' => return None,
            _ => {}
        }
    }
    None
}

/// Whether a slash stands where a value does.
fn begins_pattern(rest: &str, last: Option<Token>, language: Language) -> bool {
    let begins =
        rest.starts_with('/') && !rest[1..].starts_with(['/', '*', '=']) && language != Language::Lines;
    let value = last.is_some_and(|last| match last.kind {
        Kind::Word => !matches!(last.text, "return" | "typeof" | "case" | "in" | "of"),
        Kind::Mark => last.closes(),
        _ => false,
    });
    begins && !value
}

/// The length of the pattern that begins with a slash and ends in its line, with another one.
fn pattern(rest: &str, unended: &mut usize) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let mut class = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' => break,
            '\\' if chars.next().is_some_and(|(_, escaped)| escaped == '\n') => break,
            '[' | ']' => class = c == '[',
            '/' if !class => return Some(at + 1),
            _ => {}
        }
    }
    *unended += 1;
    None
}
