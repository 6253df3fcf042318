//! A text letter by letter: its key, and the keys of what it quotes.

use crate::lexicon::{class, lexicon};

/// `text` in lower case without the marks that say nothing: quotes, commas, brackets, the end of a sentence. A mark between
/// digits says something: 3,4 and 3:4. A comma before three digits groups them.
pub(crate) fn key(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    let mut spaced = false;
    let text = text.trim_end_matches(['.', '?', '!', ' ']);
    let mut chars = text.char_indices().peekable();
    let mut before = ' ';
    // Within brackets a comma separates, with a blank behind it or without.
    let mut depth = 0usize;
    while let Some((at, c)) = chars.next() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let parts = matches!(c, ',' | ';' | ':') && before.is_ascii_digit() && {
            let digits = text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
            digits > 0 && (c != ',' || digits != 3 && depth == 0)
        };
        before = c;
        if matches!(c, '\'' | '’' | '‘') {
            continue;
        }
        // "!x" and "!=" say something, "Hi! There" does not.
        let exclaims =
            c == '!' && !chars.peek().is_some_and(|(_, next)| next.is_alphanumeric() || *next == '=');
        if c.is_whitespace() || exclaims || is_idle(c) && !parts {
            spaced = true;
            continue;
        }
        if spaced && !key.is_empty() {
            key.push(' ');
        }
        spaced = false;
        push_lower(&mut key, c);
    }
    key
}

/// Whether a mark says nothing. Most characters are ASCII, which no list is searched for.
fn is_idle(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ',' | ';' | ':' | '"' | '(' | ')' | '`' | '?');
    }
    "“”„«»¿¡…–—。？！、，「」『』《》".contains(c)
}

/// Adds `c` in lower case. Most letters are ASCII, which needs no table.
pub(crate) fn push_lower(text: &mut String, c: char) {
    if c.is_ascii() {
        text.push(c.to_ascii_lowercase());
    } else {
        text.extend(c.to_lowercase());
    }
}

/// The key of `text`, "n't" written out, and those of what stands in quotes or, where nothing does, behind the first colon.
pub(crate) fn wording(text: &str) -> (String, Vec<String>) {
    let text = text.replace('’', "'").replace("n't", " not");
    let text = text.as_str();
    let marks = |c: char| matches!(c, '"' | '“' | '”' | '„' | '«' | '»' | '\'' | '‘' | '’' | '`');
    let mut found = Vec::new();
    let mut opened = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let next = text[at + c.len_utf8()..].chars().next().unwrap_or(' ');
        match opened {
            // An apostrophe stands between letters.
            Some(begin) if marks(c) && !next.is_alphanumeric() => {
                found.push(key(&text[begin..at]));
                opened = None;
            }
            None if marks(c) && !before.is_alphanumeric() && next.is_alphanumeric() => {
                opened = Some(at + c.len_utf8());
            }
            _ => {}
        }
        before = c;
    }
    if found.is_empty() {
        // What asks about words stands before it: "Translate into German: ...", and not "Question: ...".
        let about = |text: &str| key(text).split(' ').any(|word| lexicon().class(word) & class::WORDING != 0);
        found
            .extend(text.split_once(": ").filter(|(before, _)| about(before)).map(|(_, behind)| key(behind)));
    }
    // "The past tense of 'to swim'" is that of "swim".
    let forms = ["tense", "participle", "conjugation", "conjugated", "conjugate"];
    if key(text).split(' ').any(|word| forms.contains(&word)) {
        for verb in &mut found {
            if let Some(base) = verb.strip_prefix("to ").filter(|base| !base.contains(' ')) {
                *verb = base.to_owned();
            }
        }
    }
    // A mark too many: nobody knows what is quoted.
    if text.matches('"').count() % 2 == 1 {
        found.clear();
    }
    (key(text), found)
}
