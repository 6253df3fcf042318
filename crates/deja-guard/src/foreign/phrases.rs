//! Ways to say the same in other languages, from `data/foreign.txt`, brought to one before a text is read.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::frames::is_infinitive;
use super::lines::{Line, lines};
use super::typed::bare_word;
use super::{numerals, pairs, quoted, remedy, slavic, which};
use crate::languages::{Grammar, LANGUAGE_CODES};

/// Bytes of the longest text that is brought to one way of saying it. Longer ones are hardly questions of one sentence, and each way is
/// looked for in them.
pub(super) const LONGEST: usize = 1500;

/// Words, one to another.
struct Way {
    /// Of [`LANGUAGE_CODES`].
    language: usize,
    words: Vec<String>,
    begins: bool,
    ends: bool,
    /// An infinitive stands behind it.
    acts: bool,
    /// What is written for it.
    plain: &'static str,
}

/// What a word of a frame is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// "Sagen", "explícame": a frame by itself.
    Say,
    /// "Kannst du"
    Able,
    /// "Mir"
    Me,
    /// "Hallo": a frame if a mark stands behind it.
    Greeting,
    Other,
}

#[derive(Default)]
struct Table {
    /// By their first word, the longest first.
    same: FxHashMap<String, Vec<Way>>,
    /// By their first word: they end a text and are put before it.
    front: FxHashMap<String, Vec<Way>>,
    frame: FxHashMap<String, Vec<(Way, Part)>>,
    /// By their first word, the longest first: what one asks to be done.
    ask: FxHashMap<String, Vec<Way>>,
    /// Infinitives that ask for what they make.
    make: FxHashSet<String>,
    /// Stems of verbs, with their language, and the one that stands for them.
    verb: FxHashMap<(usize, String), &'static str>,
    /// The first words of the ways that stand for others.
    plain: FxHashSet<&'static str>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    for line in lines() {
        let Some(language) = line.language() else { continue };
        let Line { kind, ways, .. } = line;
        let first = ways.clone().next().unwrap_or_default();
        let plain = if first == "-" { "" } else { first };
        for way in ways.filter(|way| *way != "-") {
            let part = match way.chars().next() {
                Some('!') => Part::Say,
                Some('+') => Part::Able,
                Some('*') => Part::Me,
                Some('~') => Part::Greeting,
                _ => Part::Other,
            };
            let (begins, ends, acts) = (way.starts_with('^'), way.ends_with('$'), way.ends_with('>'));
            let words: Vec<String> = words(way).into_iter().map(|word| word.text).collect();
            let Some(key) = words.first().cloned() else { continue };
            let way = Way { language, words, begins, ends, acts, plain };
            if kind == "same" {
                table.plain.extend(plain.split(' ').next());
            }
            match kind {
                "same" => table.same.entry(key).or_default().push(way),
                "ask" => table.ask.entry(key).or_default().push(way),
                "front" => table.front.entry(key).or_default().push(way),
                "make" => drop(table.make.insert(key)),
                "frame" => table.frame.entry(key).or_default().push((way, part)),
                "verb" => drop(table.verb.insert((language, key), plain)),
                // Read by modules of their own.
                _ => {}
            }
        }
    }
    for ways in table.same.values_mut().chain(table.front.values_mut()).chain(table.ask.values_mut()) {
        ways.sort_by_key(|way| std::cmp::Reverse((way.words.len(), way.acts)));
    }
    for ways in table.frame.values_mut() {
        ways.sort_by_key(|(way, _)| std::cmp::Reverse(way.words.len()));
    }
    table
});

/// A word of a text, and where it stands.
pub(super) struct Word {
    /// In small letters without marks.
    pub(super) text: String,
    pub(super) begin: usize,
    pub(super) end: usize,
}

pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut begin = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match begin {
            None if c.is_alphanumeric() => begin = Some(at),
            Some(from) if !(c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36f}')) => {
                words.push(Word { text: bare_word(&text[from..at]), begin: from, end: at });
                begin = None;
            }
            _ => {}
        }
    }
    words
}

/// Whether `word` may stand for another one, of another gender.
pub(super) fn stands_for_others(word: &str) -> bool {
    TABLE.plain.contains(word)
}

/// Whether the infinitive `verb` asks for the thing itself: "traducir un texto" does not ask how.
pub(super) fn is_made(verb: &str) -> bool {
    TABLE.make.contains(&bare_word(verb))
}

/// The stem that stands for the verb of the stem `verb`.
pub(super) fn verb(language: usize, verb: &str) -> Option<&'static str> {
    TABLE.verb.get(&(language, bare_word(verb))).copied()
}

/// What is left of a text, and what its beginning was.
pub(super) struct Plain {
    pub(super) text: String,
    /// A question stood behind a frame: "sag mir, was das kostet".
    pub(super) framed: bool,
    /// One is asked to do something: "können Sie mir ... empfehlen".
    pub(super) asked: bool,
}

/// Brings `text` to one way of saying it.
pub(super) fn plain(text: &str, grammar: Grammar) -> Plain {
    let mut plain = Plain { text: text.to_owned(), framed: false, asked: false };
    if quoted::length(text) > LONGEST || !matches!(grammar, Grammar::Marked(_)) {
        return plain;
    }
    let languages: Vec<usize> =
        (0..LANGUAGE_CODES.len()).filter(|language| grammar.may_be(*language, text)).collect();
    // What is quoted or stands behind a colon may be asked about word by word.
    let before_quote = |quote: usize| {
        let text = format!("{}{}", same(&text[..quote], &languages, |way| way.acts), &text[quote..]);
        Plain { text, framed: false, asked: false }
    };
    if let Some(quote) = text.find(['"', '„', '“', '«', '»', '\n', '`']) {
        return before_quote(quote);
    }
    frame(&mut plain, &languages);
    if plain.text.contains(':') {
        return before_quote(text.find(':').unwrap_or_default());
    }
    if let Some(text) = pairs::ordered(&plain.text, &languages) {
        plain.text = text;
    } else if let Some(text) = remedy::first(&plain.text, &languages) {
        plain.text = text;
        plain.framed = false;
    } else {
        ask(&mut plain, &languages);
        front(&mut plain.text, &languages);
        if let Some(text) = slavic::told(&plain.text) {
            plain.text = text;
        }
    }
    let shown: Vec<usize> = languages.iter().copied().filter(|at| grammar.shows(*at, text)).collect();
    let said = same(&plain.text, &languages, |_| true);
    plain.text = numerals::digits(&which::plain(&said, &languages).unwrap_or(said), &shown);
    plain
}

/// What `word` is with an article behind it.
fn contracted(word: &str) -> &'static [&'static str] {
    match word {
        "de" => &["del", "da", "do", "das", "dos", "du", "des", "d"],
        "di" => &["del", "della", "dello", "dell", "dei", "delle", "degli"],
        "em" => &["no", "na", "nos", "nas"],
        "a" => &["al", "alla", "allo", "au", "aux"],
        _ => &[],
    }
}

/// Whether nothing but blanks, hyphens and apostrophes is between the words that make `way`.
fn stands(text: &str, words: &[Word], way: &Way, marks: bool) -> bool {
    let said = words.get(..way.words.len()).is_some_and(|said| {
        let last = way.words.len() - 1;
        said.iter().zip(&way.words).enumerate().all(|(at, (word, way))| {
            word.text == *way || at == last && at > 0 && contracted(way).contains(&word.text.as_str())
        }) && said.windows(2).all(|two| {
            let between = &text[two[0].end..two[1].begin];
            between.chars().all(|c| matches!(c, ' ' | '-' | '\'' | '’') || marks && c == ',')
        })
    });
    let behind = &words[way.words.len().min(words.len())..];
    let acts = || behind.first().is_some_and(|next| is_infinitive(&next.text));
    said && (!way.ends || behind.iter().all(|word| quoted::is(&word.text))) && (!way.acts || acts())
}

/// What is said out of courtesy beside a request.
pub(super) const COURTESY: [&str; 11] =
    ["bitte", "mal", "por", "favor", "per", "favore", "prosze", "пожалуйста", "lutfen", "svp", "alstublieft"];

/// "Bitte" before a request.
fn is_courtesy(word: &Word) -> bool {
    word.text == "kurz" || COURTESY.contains(&word.text.as_str())
}

/// `text` with one way of saying it for the others that are `wanted`.
fn same(text: &str, languages: &[usize], wanted: fn(&Way) -> bool) -> String {
    let said = words(text);
    let mut out = String::with_capacity(text.len());
    let (mut at, mut copied) = (0, 0);
    while at < said.len() {
        let rest = &said[at..];
        let found = TABLE.same.get(&rest[0].text).into_iter().flatten().find(|way| {
            wanted(way)
                && languages.contains(&way.language)
                && (!way.begins || said[..at].iter().all(is_courtesy))
                && stands(text, rest, way, false)
        });
        let Some(way) = found else {
            at += 1;
            continue;
        };
        out.push_str(&text[copied..rest[0].begin]);
        out.push_str(way.plain);
        copied = rest[way.words.len() - 1].end;
        at += way.words.len();
    }
    out.push_str(&text[copied..]);
    out
}

/// "Resiliencia qué significa" is "qué significa resiliencia".
fn front(text: &mut String, languages: &[usize]) {
    let said = words(text);
    for at in 1..said.len() {
        let found = TABLE.front.get(&said[at].text).into_iter().flatten().find(|way| {
            languages.contains(&way.language)
                && at + way.words.len() == said.len()
                && stands(text, &said[at..], way, false)
        });
        if let Some(way) = found {
            let what = text[..said[at].begin].trim().trim_end_matches([',', ' ', '¿']);
            let what = what.trim_start_matches(['¿', ' ']);
            // "Si pierdo mi vuelo, ¿qué hago?"
            let what = match what.split_once(' ') {
                Some((first, rest)) if way.plain.ends_with(&format!(" {}", bare_word(first))) => rest,
                _ => what,
            };
            *text = format!("{} {what}?", way.plain);
            return;
        }
    }
}

/// "Kannst du ein Gedicht schreiben" and "schreiben Sie ein Gedicht" are "schreib ein Gedicht".
fn ask(plain: &mut Plain, languages: &[usize]) {
    let said = words(&plain.text);
    // What is quoted may stand behind the verb that ends a request.
    let end = said.iter().rposition(|word| !quoted::is(&word.text)).map_or(0, |last| last + 1);
    let find = |at: usize, mark: bool| {
        let ways = TABLE.ask.get(&said.get(at)?.text)?;
        ways.iter().find(|way| {
            languages.contains(&way.language)
                && stands(&plain.text, &said[at..], way, false)
                && (!mark || at + way.words.len() == end)
        })
    };
    let able = said.first().and_then(|first| {
        TABLE.frame.get(&first.text)?.iter().find(|(way, part)| {
            *part == Part::Able && languages.contains(&way.language) && stands(&plain.text, &said, way, false)
        })
    });
    let mut begin = able.map_or(0, |(way, _)| way.words.len());
    while said.get(begin).is_some_and(is_courtesy) {
        begin += 1;
    }
    let (from, to, verb) = if let Some(way) = find(begin, false) {
        (begin + way.words.len(), said.len(), way.plain)
    } else if begin > 0 || plain.asked {
        let last = end.saturating_sub(1);
        let Some(way) = find(last, true) else { return };
        (begin, last, way.plain)
    } else {
        return;
    };
    if from >= to {
        return;
    }
    let quoted = said.get(end).filter(|_| to < end).map_or("", |word| &plain.text[word.begin..]);
    plain.text = format!("{verb} {} {quoted}", &plain.text[said[from].begin..said[to - 1].end]);
    plain.asked = false;
}

/// Leaves out what stands before a question or a request and says nothing.
fn frame(plain: &mut Plain, languages: &[usize]) {
    let said = words(&plain.text);
    let (mut at, mut begins) = (0, 0);
    let (mut say, mut able, mut me, mut asked) = (false, false, false, false);
    while at < said.len() {
        let found = TABLE.frame.get(&said[at].text).into_iter().flatten().find(|(way, _)| {
            languages.contains(&way.language) && stands(&plain.text, &said[at..], way, true)
        });
        let Some((way, part)) = found else { break };
        at += way.words.len();
        let next = said.get(at).map_or(plain.text.len(), |next| next.begin);
        let marked = plain.text[said[at - 1].end..next].contains([',', '.', '!', '?', ';', ':']);
        match part {
            Part::Say => say = true,
            Part::Able => able = true,
            Part::Me => me = true,
            // "Hola en japonés" asks about the word.
            Part::Greeting if !marked => continue,
            Part::Greeting => begins = at,
            Part::Other => {}
        }
        if say || able && me {
            begins = at;
            asked = !say;
        }
    }
    if begins == 0 || begins >= said.len() {
        return;
    }
    // "Ich habe eine Frage. Wie lange ...": a sentence of its own.
    let between = &plain.text[said[begins - 1].end..said[begins].begin];
    plain.framed = say && !between.contains(['.', '!', '?', ':']);
    plain.asked = asked;
    plain.text = plain.text[said[begins].begin..].to_owned();
}
