//! What a text quotes. The words around it are brought to one form, and what is quoted is one word that no rule changes.

use super::phrases::LONGEST;

/// The first of 256 letters of a script that none of the known languages has. Each stands for a byte of what is quoted.
const FIRST: u32 = 0xa000;
const LAST: u32 = FIRST + 0xff;

/// Marks that open a quotation, and those that close it.
const MARKS: [(char, &[char]); 9] = [
    ('„', &['“', '”', '"']),
    ('“', &['”', '"']),
    ('”', &['”']),
    ('«', &['»']),
    ('»', &['«']),
    ('「', &['」']),
    ('『', &['』']),
    ('"', &['"']),
    ('‘', &['’']),
];

/// Words before a colon that what is asked about stands behind.
const MOST_WORDS: usize = 14;

/// A text with its quotations as single words.
pub(super) struct Quoted {
    pub(super) text: String,
    /// There are marks of quotation. Otherwise a colon shows it, and it may be none.
    pub(super) marked: bool,
}

pub(super) fn is_letter(c: char) -> bool {
    (FIRST..=LAST).contains(&u32::from(c))
}

/// The bytes of `text` without what it quotes.
pub(super) fn length(text: &str) -> usize {
    text.chars().filter(|c| !is_letter(*c)).map(char::len_utf8).sum()
}

/// Whether `word` is what a text quotes.
pub(super) fn is(word: &str) -> bool {
    word.starts_with(is_letter)
}

/// One word for `quoted`. Blanks and the form of an apostrophe say nothing, nor how a sentence begins.
fn word(quoted: &str) -> String {
    let mut plain = quoted.split_whitespace().collect::<Vec<_>>().join(" ").replace('’', "'");
    if plain.contains(' ')
        && let Some(first) = plain.chars().next()
    {
        plain.replace_range(..first.len_utf8(), &first.to_lowercase().to_string());
    }
    plain.bytes().filter_map(|byte| char::from_u32(FIRST + u32::from(byte))).collect()
}

/// `None` where nothing is quoted, a mark is missing or the text is long.
pub(super) fn masked(text: &str) -> Option<Quoted> {
    if text.len() > LONGEST || text.contains('`') || text.contains(is_letter) {
        return None;
    }
    let (mut out, mut marked) = (String::with_capacity(text.len() * 2), false);
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let inside = &rest[c.len_utf8()..];
        if let Some((quoted, behind)) = quotation(c, before, inside)? {
            if quoted.trim().is_empty() {
                return None;
            }
            // "Traduis : « ... »"
            let head = out.trim_end_matches([' ', '\u{a0}', '\u{202f}', '\n']);
            let head = head.trim_end_matches([':', '：']).len();
            if head < out.trim_end().len() {
                out.truncate(head);
                out.push(' ');
            }
            out.push_str(&word(quoted));
            (rest, before, marked) = (behind, '"', true);
        } else {
            out.push(c);
            (rest, before) = (inside, c);
        }
    }
    if marked {
        return (!out.contains('\n')).then_some(Quoted { text: out, marked });
    }
    let (head, tail) = text.split_once([':', '：'])?;
    let words = head.split_whitespace().count();
    let pasted = !tail.trim().is_empty() && words <= MOST_WORDS && !head.contains(['\n', '(', '?', '.']);
    pasted.then(|| Quoted { text: format!("{head} {}", word(tail)), marked })
}

/// What is quoted behind the mark `c`, and what follows; nothing if `c` is no mark. `None` if nothing closes it.
#[expect(clippy::option_option, reason = "no mark is another thing than a mark that nothing closes")]
fn quotation(c: char, before: char, inside: &str) -> Option<Option<(&str, &str)>> {
    if c == '\'' {
        return Some(single(before, inside));
    }
    let Some((_, closes)) = MARKS.iter().find(|(opens, _)| *opens == c) else { return Some(None) };
    let end = inside.find(*closes)?;
    let mark = inside[end..].chars().next()?;
    Some(Some((&inside[..end], &inside[end + mark.len_utf8()..])))
}

/// What two plain single marks quote: 'por' y 'para'. An apostrophe stands beside letters.
fn single(before: char, inside: &str) -> Option<(&str, &str)> {
    let opens = !before.is_alphanumeric() && inside.starts_with(char::is_alphanumeric);
    let latin = |c: char| c.is_alphanumeric() && c < '\u{2000}';
    let closes = |at: usize| {
        inside[..at].ends_with(|c: char| !c.is_whitespace()) && !inside[at + 1..].starts_with(latin)
    };
    let (end, _) = inside.match_indices('\'').find(|(at, _)| closes(*at)).filter(|_| opens)?;
    Some((&inside[..end], &inside[end + 1..]))
}
