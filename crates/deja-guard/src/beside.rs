//! What two texts of several sentences say beside what is the same in both. It is judged alone, as two short prompts: beside
//! the rest it weighs little.

use std::mem;

use crate::prompt::Prompt;
use crate::rules::LONG;

/// Two texts that differ, of each prompt.
type Parts<'a> = (&'a str, &'a str);

/// A part of more words is no short prompt.
const MOST_WORDS: usize = 40;
/// So many words at least are the same around a part: around whole sentences, and around one sentence of several or a clause.
const FEWEST_BESIDE: usize = 4;
const FEWEST_AROUND: usize = 16;

/// Words that begin a clause.
const BEGINS: [&str; 16] = [
    "and", "although", "because", "but", "even", "if", "or", "since", "so", "that", "though", "unless",
    "until", "when", "where", "while",
];

/// Whether a text of so many words may have parts that are judged alone: it is long, or has more than one sentence.
pub(crate) fn may_have_parts(text: &str, length: usize) -> bool {
    let text = text.trim();
    let has_sentences = || ends(text).any(|end| end < text.len());
    length > LONG || text.contains('\n') || length >= 2 * FEWEST_BESIDE && has_sentences()
}

/// What is judged alone of two texts.
pub(crate) struct Part<'a> {
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    /// A few words at the end of a chat: each of them says something.
    pub(crate) is_reply: bool,
}

/// What two texts say differently, if it is short: all sentences from the first to the last one that differ ("Translate
/// it", "Summarise it"); each sentence that somebody changed in a few words; the clause of it that was changed; and last lines.
pub(crate) fn beside_same_text<'a>(a: &'a Prompt, b: &'a Prompt) -> Vec<Part<'a>> {
    let (Some(x), Some(y)) = (a.text.as_deref(), b.text.as_deref()) else { return Vec::new() };
    let (x, y) = (x.trim(), y.trim());
    let reply = last_lines(x, y);
    let mut parts = differing(a, b, (x, y));
    parts.extend(reply.filter(|reply| !parts.contains(reply)));
    parts.into_iter().map(|(x, y)| Part { x, y, is_reply: reply == Some((x, y)) }).collect()
}

/// The sentences and clauses that differ.
fn differing<'a>(a: &Prompt, b: &Prompt, (x, y): Parts<'a>) -> Vec<Parts<'a>> {
    let whole = differing_sentences(x, y);
    let most = |(p, q): Parts<'_>| words(p).len().max(words(q).len());
    let short = |parts: Parts<'_>| most(parts) <= MOST_WORDS;
    let mut found = Vec::new();
    let shared = a.length.min(b.length).saturating_sub(most(whole));
    let is_part = !whole.0.is_empty() && !whole.1.is_empty() && whole.0.len() < x.len();
    if is_part && short(whole) && shared >= FEWEST_BESIDE {
        found.push(whole);
    }
    let (p, q) = (sentences(whole.0), sentences(whole.1));
    if p.len() != q.len() {
        return found;
    }
    let differ: Vec<Parts<'_>> = p.into_iter().zip(q).filter(|(p, q)| p != q).collect();
    let differing: usize = differ.iter().copied().map(most).sum();
    let shared = a.length.max(b.length).saturating_sub(differing);
    for sentence in differ.iter().copied().filter(|sentence| differ.len() == 1 || is_changed(*sentence)) {
        if differ.len() > 1 && short(sentence) && shared >= FEWEST_AROUND {
            found.push(sentence);
        }
        let clause = clause(sentence).filter(|clause| short(*clause));
        found.extend(clause.filter(|clause| shared + most(sentence) - most(*clause) >= FEWEST_AROUND));
    }
    found
}

/// Where the sentences of a text end, marks included.
fn ends(text: &str) -> impl DoubleEndedIterator<Item = usize> {
    text.char_indices().filter(|(at, mark)| is_end(text, *at, *mark)).map(|(at, mark)| at + mark.len_utf8())
}

/// Whether a mark ends a sentence, and no abbreviation, time or number.
fn is_end(text: &str, at: usize, mark: char) -> bool {
    if !matches!(mark, '.' | '!' | '?' | ':') {
        return mark == '\n';
    }
    let word = || text[..at].rsplit(char::is_whitespace).next().unwrap_or_default();
    let abbreviates = |word: &str| mark == '.' && word.len() < 5 && word.starts_with(char::is_uppercase);
    text[at + mark.len_utf8()..].chars().next().is_none_or(char::is_whitespace) && !abbreviates(word())
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn sentences(text: &str) -> Vec<&str> {
    let mut from = 0;
    let parts = ends(text).chain([text.len()]).map(|end| &text[mem::replace(&mut from, end)..end]);
    parts.map(str::trim).filter(|sentence| !sentence.is_empty()).collect()
}

/// Two texts without the sentences that are the same at the beginning and at the end.
fn differing_sentences<'a>(x: &'a str, y: &'a str) -> Parts<'a> {
    let same = x.char_indices().zip(y.chars()).find(|((_, c), d)| c != d);
    let same = same.map_or(x.len().min(y.len()), |((at, _), _)| at);
    let begun = ends(x).rfind(|end| *end <= same).unwrap_or(0);
    let (x, y) = (&x[begun..], &y[begun..]);
    let same: usize =
        x.chars().rev().zip(y.chars().rev()).take_while(|(c, d)| c == d).map(|(c, _)| c.len_utf8()).sum();
    let ended = ends(x).find(|end| *end > x.len() - same).map_or(0, |end| x.len() - end);
    (x[..x.len() - ended].trim(), y[..y.len() - ended].trim())
}

/// How many words are the same at the beginning, and how many of the rest at the end.
fn same_ends(x: &[&str], y: &[&str]) -> (usize, usize) {
    let before = x.iter().zip(y).take_while(|(v, w)| v == w).count();
    let after = x[before..].iter().rev().zip(y[before..].iter().rev()).take_while(|(v, w)| v == w).count();
    (before, after)
}

/// Whether one sentence was made of the other by a change in one place: half of its words stand around it.
fn is_changed((x, y): Parts<'_>) -> bool {
    let (x, y) = (words(x), words(y));
    let (before, after) = same_ends(&x, &y);
    2 * (before + after) >= x.len().max(y.len())
}

/// The clauses in which two sentences differ, if they differ in one clause and two of its words are the same.
fn clause((x, y): Parts<'_>) -> Option<Parts<'_>> {
    let (of_x, of_y) = (words(x), words(y));
    let (before, after) = same_ends(&of_x, &of_y);
    let stops = |at: usize| of_x[at].ends_with([',', ';']);
    let begins = |at: usize| BEGINS.contains(&of_x[at]);
    let end = of_x.len() - after;
    let mut from = before;
    while from > 0 && !stops(from - 1) && (from == before || !begins(from)) {
        from -= 1;
    }
    let mut to = end;
    while to < of_x.len() && (to == 0 || !stops(to - 1)) && !begins(to) {
        to += 1;
    }
    let behind = of_x.len() - to;
    let is_part = from > 0 || behind > 0;
    let says_enough = before - from + to - end >= 2;
    let parts = (between(x, &of_x[from..to])?, between(y, &of_y[from..of_y.len() - behind])?);
    (is_part && says_enough).then_some(parts)
}

/// The part of the text from the first to the last of these words of it.
fn between<'a>(text: &'a str, words: &[&'a str]) -> Option<&'a str> {
    let place = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let (first, last) = (words.first()?, words.last()?);
    text.get(place(first)..place(last) + last.len())
}

/// The last lines of two texts that are the same up to there, if they are a few words: the reply at the end of a chat.
fn last_lines<'a>(x: &'a str, y: &'a str) -> Option<Parts<'a>> {
    let ((before, p), (same, q)) = (x.rsplit_once('\n')?, y.rsplit_once('\n')?);
    let few = |line: &str| words(line).len() <= 5;
    (before == same && p != q && few(p) && few(q)).then_some((p, q))
}
