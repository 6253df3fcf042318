//! YAML: how far a line is indented says nothing, but in what it stands does.

use std::fmt::Write;

/// Whether each line of `code` is a key or an item, and one key holds others.
pub(super) fn looks(code: &str) -> bool {
    let key = |line: &str| {
        line.split_once(':').is_some_and(|(key, value)| {
            !key.is_empty()
                && (value.is_empty() || value.starts_with(' '))
                && key.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c))
        })
    };
    let stands = |line: &str| {
        let line = line.trim();
        line.starts_with("- ") || line.starts_with('#') || key(line)
    };
    let indented = |line: &str| line.starts_with(' ');
    code.lines().all(stands)
        && code.lines().zip(code.lines().skip(1)).any(|(line, next)| line.ends_with(':') && indented(next))
        && normal(code).is_some()
}

/// The lines with their level instead of their blanks. None where a line may go on in the next, or tabs indent.
pub(super) fn normal(code: &str) -> Option<String> {
    let mut out = String::with_capacity(code.len());
    // Where what is open begins: twice its column, and one more for an item, which may stand below its key.
    let mut open: Vec<usize> = Vec::new();
    for line in code.lines() {
        let mut rest = line.trim();
        if rest.is_empty() || goes_on(rest) {
            return None;
        }
        let mut column = line.len() - line.trim_start_matches(' ').len();
        if line[column..].starts_with('\t') {
            return None;
        }
        if rest.starts_with('#') {
            writeln!(out, "{rest}").ok()?;
            continue;
        }
        let mut begins = true;
        loop {
            let item = rest == "-" || rest.starts_with("- ");
            let place = 2 * column + usize::from(item);
            if !stands_in(&mut open, place) {
                return None;
            }
            if std::mem::take(&mut begins) {
                out.extend(std::iter::repeat_n('\t', open.len() - 1));
            }
            if !item {
                break;
            }
            out.push_str("- ");
            let said = rest[1..].trim_start();
            if said.is_empty() {
                break;
            }
            column += rest.len() - said.len();
            rest = said;
        }
        match rest.split_once(": ").filter(|(key, _)| !key.contains(['"', '\''])) {
            Some((key, value)) => writeln!(out, "{key}: {}", value.trim_start()).ok()?,
            None => writeln!(out, "{rest}").ok()?,
        }
    }
    Some(out)
}

/// Closes what is open up to `place` and opens it there. Not if it stands beside nothing that was open.
pub(crate) fn stands_in(open: &mut Vec<usize>, place: usize) -> bool {
    let mut closed = false;
    while open.pop_if(|column| *column > place).is_some() {
        closed = true;
    }
    let beside = open.last() == Some(&place);
    if !beside {
        open.push(place);
    }
    beside || !closed
}

/// Whether a text, a quote or a bracket of the line may end in another one.
fn goes_on(line: &str) -> bool {
    let count = |c: char| line.matches(c).count();
    // "key: |" and "key: >-": a text follows.
    let begins = |word: &str| {
        matches!(word.trim_end_matches(|c: char| "+-".contains(c) || c.is_ascii_digit()), "|" | ">")
    };
    let text = line.split(' ').any(begins);
    text || count('"') % 2 == 1
        || count('\'') % 2 == 1
        || count('[') != count(']')
        || count('{') != count('}')
}
