//! Lines that look like code.

use super::{IDLE, normal};
use crate::lexicon::lexicon;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    Code,
    /// Code beside code: a blank line, a comment, `else:`, what has no words.
    Beside,
    Prose,
}

/// Words that lines of code begin with.
const KEYWORDS: [&str; 48] = [
    "return", "import", "from", "print", "def", "class", "elif", "else", "try", "except", "finally", "pass",
    "break", "continue", "raise", "yield", "assert", "del", "const", "let", "var", "function", "export",
    "throw", "await", "async", "fn", "pub", "use", "mod", "impl", "struct", "enum", "func", "package",
    "public", "private", "protected", "static", "void", "int", "long", "float", "double", "char", "bool",
    "final", "end",
];

/// Words that lines of SQL and of files of settings begin with.
const CLAUSES: [&str; 24] = [
    "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "JOIN", "LEFT", "RIGHT", "INNER", "OUTER", "FULL",
    "CROSS", "ON", "AND", "OR", "SET", "VALUES", "UNION", "RUN", "CMD", "COPY", "ENV", "ENTRYPOINT",
];

/// The blocks of code of `prose`; what is none goes to `rest`. What stands in a line with backticks is no line of its own:
/// `begins` and `ends` say whether the text does so with a line.
pub(crate) fn blocks(prose: &str, begins: bool, ends: bool, rest: &mut String) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Vec<(&str, Look)> = Vec::new();
    let several = prose.trim().contains('\n');
    let mut whole = begins;
    for line in prose.split_inclusive('\n') {
        whole &= ends || line.ends_with('\n');
        let look = if whole { look(line, several) } else { Look::Prose };
        let asked = if look == Look::Code { question(line) } else { 0 };
        if asked > 0 {
            close(&mut open, &mut blocks, rest);
            rest.push_str(&line[..asked]);
            open.push((&line[asked..], look));
        } else if look == Look::Prose {
            close(&mut open, &mut blocks, rest);
            rest.push_str(line);
        } else {
            open.push((line, look));
        }
        whole = true;
    }
    close(&mut open, &mut blocks, rest);
    blocks
}

/// How much of a line of code is what is asked about it: "Is this valid? {...}".
fn question(line: &str) -> usize {
    let Some(end) = [": ", "? "].iter().filter_map(|mark| line.find(mark)).min() else { return 0 };
    let (said, code) = line.split_at(end + 2);
    let words = said[..end]
        .chars()
        .all(|c| c.is_alphanumeric() || c.is_whitespace() || matches!(c, ',' | '\'' | '-'));
    let asks = words && said.split_whitespace().count() > 2 && said.split_whitespace().any(is_prose);
    if asks && look(code, false) == Look::Code { end + 2 } else { 0 }
}

/// Makes a block of the `open` lines up to the last that is code and what stands right below it.
fn close(open: &mut Vec<(&str, Look)>, blocks: &mut Vec<String>, rest: &mut String) {
    let mut block = String::new();
    let mut beside = String::new();
    let mut below = false;
    for (line, look) in open.drain(..) {
        below &= !line.trim().is_empty();
        if look == Look::Code {
            block.push_str(&std::mem::take(&mut beside));
        }
        if look == Look::Code || below {
            block.push_str(line);
            below = true;
        } else {
            beside.push_str(line);
        }
    }
    if !block.is_empty() {
        blocks.push(normal(&block));
        rest.push('\n');
    }
    rest.push_str(&beside);
}

/// How a line looks; `several` of them have signs that one alone may have in prose.
fn look(line: &str, several: bool) -> Look {
    let text = line.trim();
    if text.is_empty() {
        return Look::Beside;
    }
    let signs = |signs: &[char]| text.contains(signs);
    let is_prompt = text.strip_prefix("$ ").is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    if is_prompt || text.starts_with(">>> ") || text.starts_with("#include") || text.starts_with("#define") {
        return Look::Code;
    }
    if ["//", "/*", "*/", "-- ", "# ", "#!", "@", "... "].iter().any(|mark| text.starts_with(mark)) {
        return Look::Beside;
    }
    let first = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let keyword = KEYWORDS.contains(&first);
    let tokens = text.split_whitespace().take(5).count();
    let prose = || text.split_whitespace().filter(|word| is_prose(word)).count();
    let braces = !text.contains(char::is_alphanumeric) && signs(&['{', '}', '(', ')', '[', ']']);
    let ends = text.ends_with(['{', '}']) || text.ends_with("},") || text.ends_with("});");
    let statement = text.ends_with(';')
        && (tokens <= 2 && !is_plain(text)
            || keyword
            || signs(&['=', '<', '>', '[', ']'])
            || signs(&['(', ')']) && !is_aside(text));
    let tag = text.starts_with('<')
        && text.ends_with('>')
        && text[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!'));
    if braces || ends || statement || tag || is_query(text) {
        return Look::Code;
    }
    if CLAUSES.contains(&first) && text.contains(char::is_whitespace) {
        return Look::Beside;
    }
    if !several {
        return Look::Prose;
    }
    let indented = line.starts_with("  ") || line.starts_with('\t');
    let heads = text.ends_with(':')
        && (keyword && (tokens == 1 || matches!(first, "def" | "class" | "elif" | "except" | "async"))
            || matches!(first, "if" | "while" | "for" | "with")
                && (text.contains(" in ") || signs(&['=', '<', '>', '(', '[', '.'])));
    let names = matches!(first, "import" | "from" | "use" | "package") && tokens <= 4 && prose() <= 2;
    if heads || names || is_call(text, keyword) || is_assignment(text) && prose() == 0 {
        return Look::Code;
    }
    let words = prose();
    if indented && words <= 2 && signs(&['=', '(', '<', '>', '[', '+', '.', '"']) {
        return Look::Code;
    }
    let beside =
        words == 0 && !text.ends_with('?') || keyword && tokens < 5 && words <= 2 || indented && words <= 2;
    if beside { Look::Beside } else { Look::Prose }
}

/// "nothing worked;": two words, neither a name of one letter nor one with a capital.
fn is_plain(text: &str) -> bool {
    let plain =
        |word: &str| word == "I" || word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    text.trim_end_matches(';').split_once(' ').is_some_and(|(first, second)| plain(first) && plain(second))
}

/// "I paid by card (Visa)": a bracket behind three words and a blank.
fn is_aside(text: &str) -> bool {
    let branches = |first: &str| matches!(first, "if" | "while" | "for" | "switch" | "catch" | "}");
    text.split_once('(').is_some_and(|(before, _)| {
        let mut words = before.split_whitespace();
        before.ends_with(' ') && words.next().is_some_and(|first| !branches(first)) && words.count() > 1
    })
}

/// A word of English that says little by itself, or one that begins a sentence.
fn is_prose(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let lower = word.to_lowercase();
    let class = lexicon().class(&lower);
    word.chars().count() > 1
        && word.chars().all(char::is_alphabetic)
        && !matches!(
            lower.as_str(),
            "in" | "if" | "is" | "not" | "and" | "or" | "for" | "with" | "as" | "from" | "while"
        )
        && !KEYWORDS.contains(&lower.as_str())
        && (class & IDLE != 0 || word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase))
}

/// `SELECT ... FROM`, `INSERT INTO`, `CREATE TABLE`, in lower case with a sign at least.
pub(super) fn is_query(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let upper = match first {
        "SELECT" => !second.is_empty(),
        "INSERT" => second == "INTO",
        "DELETE" => second == "FROM",
        "UPDATE" => text.contains(" SET "),
        "CREATE" | "ALTER" | "DROP" => matches!(second, "TABLE" | "INDEX" | "VIEW" | "DATABASE" | "UNIQUE"),
        _ => false,
    };
    upper || first == "select" && text.contains(" from ") && text.contains(['*', '=', '('])
}

/// A call that is all of the line, or what a keyword is followed by.
fn is_call(text: &str, keyword: bool) -> bool {
    let text = text.trim_end_matches(';');
    // "return f(x)", but "print(x for x in y)".
    let behind = text.split_once(' ').filter(|(first, _)| keyword && !first.contains('('));
    let called = behind.map_or(text, |(_, rest)| rest);
    text.ends_with(')')
        && called
            .split_once('(')
            .is_some_and(|(name, _)| !name.is_empty() && !name.contains(char::is_whitespace))
}

/// `x = 5`, `let mut y: i32 = 5`, `a[i] += 1`.
fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(left, right)| {
        let left = left.trim_end_matches(['+', '-', '*', '/', '%', ':', '|', '&', '^', ' ']);
        let name = |c: char| c.is_alphanumeric() || "_.[],:*&<>$'\"".contains(c);
        !left.is_empty()
            && !right.is_empty()
            && left.split_whitespace().count() <= 4
            && left.split_whitespace().all(|word| word.chars().all(name))
    })
}
