//! Pieces of code that are several words: the times of cron jobs, declarations of pointers.

/// The times of cron jobs: "0 5 * * *".
pub(super) fn schedules(tokens: &[&str]) -> Vec<String> {
    const FIELDS: usize = 5;
    if !tokens.iter().any(|token| token.contains('*')) {
        return Vec::new();
    }
    let field = |token: &&str| {
        let ends = |c: char| c.is_ascii_alphanumeric() || c == '*';
        token.starts_with(ends)
            && token.ends_with(ends)
            && token.len() <= 12
            && (token.bytes().all(|byte| byte.is_ascii_digit() || b"*/,-".contains(&byte)) || is_day(token))
    };
    let trim = |token: &'_ &str| -> String {
        token.trim_matches(|c| matches!(c, '"' | '\'' | '?' | '.' | '!' | ':')).to_lowercase()
    };
    let trimmed: Vec<String> = tokens.iter().map(trim).collect();
    let words: Vec<&str> = trimmed.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at + FIELDS <= words.len() {
        let fields = words[at..].iter().take_while(|token| field(token)).count();
        let schedule = &words[at..at + fields];
        if fields >= FIELDS && schedule.iter().any(|token| token.starts_with('*')) {
            found.push(schedule.join(" "));
        }
        at += fields.max(1);
    }
    found
}

/// "mon-fri", "jan"
fn is_day(token: &str) -> bool {
    const NAMES: [&str; 19] = [
        "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "may", "jun", "jul",
        "aug", "sep", "oct", "nov", "dec",
    ];
    token.split(['-', ',']).all(|name| NAMES.contains(&name))
}

/// Words of types in C and its like.
const TYPES: [&str; 21] = [
    "const", "volatile", "restrict", "static", "extern", "unsigned", "signed", "int", "char", "void",
    "float", "double", "long", "short", "bool", "size_t", "auto", "struct", "mut", "wchar_t", "string",
];

/// Declarations of pointers and references: "const int *p" without blanks. What stands before the first star has no order.
pub(super) fn declarations(tokens: &[&str]) -> Vec<String> {
    let ends = |c: char| matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | ')');
    let is_type = |token: &str| TYPES.contains(&named(token));
    // "Short & long" joins.
    let points = |token: &str| token != "&" && (token.starts_with(['*', '&']) || token.ends_with(['*', '&']));
    let mut found = Vec::new();
    if !tokens.iter().any(|token| points(token)) {
        return found;
    }
    let mut at = 0;
    while at < tokens.len() {
        let run = tokens[at..].iter().take_while(|token| is_type(token) || points(token)).count();
        let typed = &tokens[at..at + run];
        at += run.max(1);
        if !(typed.first().is_some_and(|token| is_type(token)) && typed.iter().any(|token| points(token))) {
            continue;
        }
        let star = typed.iter().position(|token| points(token)).unwrap_or_default();
        let (before, behind) = typed.split_at(star);
        let mut before: Vec<&str> = before.iter().map(|token| named(token)).collect();
        // "int* p" and "int *p"
        let first = behind[0];
        let behind = if is_type(first) && first.ends_with(['*', '&']) {
            before.push(named(first));
            [&first[named(first).len()..], &behind[1..].concat()].concat()
        } else {
            behind.concat()
        };
        before.sort_unstable();
        // The name, if the star stands alone or behind the type.
        let name = tokens
            .get(at)
            .filter(|_| !typed.last().is_some_and(|last| last.len() > 1 && last.starts_with(['*', '&'])));
        let name = name.map_or("", |name| name.trim_end_matches(ends));
        let name = if name.len() == 1 { name } else { "" };
        found.push(format!("{} {}{name}", before.join(" "), behind.trim_end_matches(ends)));
    }
    found
}

/// The type or name that stands among stars and ampersands.
fn named(token: &str) -> &str {
    token.trim_matches(|c| matches!(c, '*' | '&'))
}
