//! Style sheets: blanks around braces, colons, commas and combinators say nothing.

/// Elements that rules of pages are for.
const ELEMENTS: [&str; 40] = [
    "html", "body", "div", "span", "p", "a", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "table",
    "tr", "td", "th", "img", "button", "input", "form", "label", "select", "textarea", "nav", "header",
    "footer", "main", "section", "article", "aside", "video", "svg", "pre", "code", "blockquote", "dialog",
    "details",
];

/// Whether `code` begins with a rule.
pub(super) fn looks(code: &str) -> bool {
    let Some((head, body)) = code.split_once('{') else { return false };
    let head = head.trim_start();
    let first = head.split(|c: char| !(c.is_alphanumeric() || c == '-')).next().unwrap_or_default();
    let begins = ELEMENTS.contains(&first)
        || ["@media", "@font-face", ":root"].iter().any(|begin| head.starts_with(begin))
        || head.starts_with(['.', '#', '*'])
            && head[1..].starts_with(|c: char| c.is_alphabetic() || c.is_whitespace());
    let declares = body.split([';', '{', '}']).next().is_some_and(|first| {
        let name = first.split_once(':').map_or("", |(name, _)| name.trim());
        !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    });
    begins
        && (declares || head.starts_with('@'))
        && !head.contains(['=', ';', '\\'])
        && normal(code).is_some()
}

/// The rules of a style sheet with those blanks alone that say something; none if it is none.
pub(super) fn normal(code: &str) -> Option<String> {
    let mut out = String::with_capacity(code.len());
    let mut part = String::new();
    let (mut rules, mut brackets, mut blank) = (0usize, 0usize, false);
    let mut any = false;
    let mut at = 0;
    while let Some(c) = code[at..].chars().next() {
        let rest = &code[at..];
        at += c.len_utf8();
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        if brackets == 0 && matches!(c, '{' | '}' | ';') {
            if c == '{' {
                out.push_str(part.trim());
                rules += 1;
                any = true;
            } else if !part.trim().is_empty() {
                declare(&mut out, part.trim());
            }
            match c {
                '{' => out.push('{'),
                '}' => {
                    rules = rules.checked_sub(1)?;
                    out.push('}');
                }
                _ => {}
            }
            part.clear();
            blank = false;
            continue;
        }
        let idle = part.ends_with([',', '>', '~', '('])
            || brackets > 0 && part.ends_with(':')
            || matches!(c, ',' | '>' | '~' | ')' | '!');
        if blank && !idle {
            part.push(' ');
        }
        blank = false;
        match c {
            '"' | '\'' => {
                let length = rest[1..].find(c)? + 2;
                let inner = &rest[1..length - 1];
                if inner.contains(['\n', '\\']) {
                    return None;
                }
                let mark = if inner.contains('"') { c } else { '"' };
                part.push(mark);
                part.push_str(inner);
                part.push(mark);
                at += length - 1;
            }
            '/' if rest.starts_with("/*") => {
                let length = rest.find("*/")? + 2;
                part.push_str(&rest[..length]);
                at += length - 1;
            }
            // Of a dialect, a comment up to the end of its line.
            '/' if rest.starts_with("//") && brackets == 0 => return None,
            _ => {
                match c {
                    '(' => brackets += 1,
                    ')' => brackets = brackets.checked_sub(1)?,
                    _ => {}
                }
                part.push(c);
            }
        }
    }
    (any && rules == 0 && brackets == 0 && part.trim().is_empty()).then_some(out)
}

/// Writes "color: red" without blanks around its colon.
fn declare(out: &mut String, part: &str) {
    if let Some((name, value)) = part.split_once(':') {
        out.extend([name.trim_end(), ":", value.trim_start(), ";"]);
    } else {
        out.extend([part, ";"]);
    }
}
