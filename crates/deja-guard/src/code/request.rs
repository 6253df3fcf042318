//! What is asked of the code in a prompt, in one form: "what does `ls -l` do" and "Explain this command: ls -l".
//!
//! A frame is taken off the text ([`frames`]), and so is what only points at the code ("this Python function"). What is left
//! must be the same word by word, and its code letter by letter. So it proves that two prompts ask the same; it never says
//! that they do not.

mod frames;

use std::borrow::Cow;

use crate::lexicon::stem;
use frames::{COURTESY, NOUNS, TASKS, language};

/// Texts of more characters and of more words are not read.
const LONGEST: usize = 2_000;
const MOST: usize = 120;

/// A word, or signs.
#[derive(Clone, Debug)]
struct Token {
    text: String,
    /// In small letters, and a language by one name.
    lower: String,
    stem: String,
    /// Its letters count as they are written: it belongs to code.
    exact: bool,
    /// A clause ends with it.
    ends: bool,
}

impl Token {
    fn word(word: &str, camel: Option<&str>) -> Self {
        let language = language(word);
        let lower = language.unwrap_or(word).to_owned();
        let exact = camel.is_some() && language.is_none();
        Self { text: camel.unwrap_or(word).to_owned(), stem: stem(&lower), lower, exact, ends: false }
    }

    fn signs(text: &str) -> Self {
        let lower = text.to_lowercase();
        Self { text: text.to_owned(), stem: lower.clone(), lower, exact: true, ends: false }
    }

    fn is(&self, word: &str) -> bool {
        !self.exact && (self.lower == word || self.stem == stem(word))
    }

    fn any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    fn rename(&mut self, word: &str) {
        (self.lower, self.stem) = (word.to_owned(), stem(word));
    }

    fn language(&self) -> Option<&'static str> {
        if self.exact { None } else { language(&self.lower) }
    }
}

/// What a prompt asks of code.
#[derive(Debug, Default)]
pub(super) struct Request {
    tasks: Vec<&'static str>,
    /// What stands in no frame.
    rest: Vec<Token>,
    /// What the code is called: "function", "query".
    nouns: Vec<String>,
    /// The language that it is said to be of.
    language: Option<&'static str>,
    /// The language that is asked for: "in Go".
    within: Option<&'static str>,
    /// The code is an error or a line of a log.
    is_message: bool,
    /// The code stands beside it: all of its words are prose, whose endings say little.
    is_beside: bool,
}

impl Request {
    /// Reads what `text` asks of the code in it, or of the code that it stands beside. Nothing is known of a text that is long.
    /// Where `blanks` count, they part code as they are written.
    pub(super) fn read(text: &str, is_beside: bool, blanks: bool) -> Option<Self> {
        // Blanks in strings count.
        let quotes = || text.contains(['"', '\'']) && text.lines().any(|line| line.trim().contains("  "));
        if text.len() > LONGEST || !is_beside && quotes() {
            return None;
        }
        let rest = tokens(text, blanks);
        if rest.len() > MOST {
            return None;
        }
        let mut request = Self { is_message: is_message(text), is_beside, rest, ..Self::default() };
        request.lower_functions();
        request.drop_courtesy();
        request.drop_pointers();
        request.drop_small();
        request.take_language();
        request.take_tasks();
        request.take_symptom();
        Some(request)
    }

    /// Whether one answer serves both.
    pub(super) fn same(&self, other: &Self) -> bool {
        let nouns = self.nouns.is_empty() || other.nouns.is_empty() || self.nouns == other.nouns;
        let spoken = match (self.language, other.language) {
            (Some(x), Some(y)) => x == y,
            _ => true,
        };
        let within = match (self.within, other.within) {
            (Some(x), None) => other.language == Some(x) || other.implies(x),
            (None, Some(y)) => self.language == Some(y) || self.implies(y),
            (x, y) => x == y,
        };
        // Who pastes an error alone wants to know all about it.
        let all_about = |task: &&str| matches!(*task, "explain" | "fix" | "cause");
        let pasted = |x: &Self, y: &Self| {
            x.is_message && x.tasks.is_empty() && !x.rest.is_empty() && y.tasks.iter().all(all_about)
        };
        let asked = self.tasks == other.tasks || pasted(self, other) || pasted(other, self);
        nouns && spoken && within && asked && self.same_rest(other)
    }

    /// Names of functions have no case in SQL.
    fn lower_functions(&mut self) {
        let says = |word: &str| self.rest.iter().any(|token| token.lower == word);
        if !(says("select") && says("from")) {
            return;
        }
        for at in 1..self.rest.len() {
            if self.rest[at].text == "(" {
                let name = &mut self.rest[at - 1];
                name.text = name.lower.clone();
            }
        }
    }

    /// Whether its code shows that it is of the language.
    fn implies(&self, language: &str) -> bool {
        self.rest.windows(2).any(|two| two[1].text == "." && frames::implied(&two[0].text) == Some(language))
    }

    /// Whether both want different things of the same code: tests for it and a review of it.
    pub(super) fn differs(&self, other: &Self) -> bool {
        let wants = |x: &Self| {
            let groups: Option<Vec<u8>> = x.tasks.iter().map(|task| frames::group(task)).collect();
            groups.filter(|groups| !groups.is_empty())
        };
        let both = wants(self).zip(wants(other)).is_some_and(|(x, y)| {
            let alone = |x: &[u8], y: &[u8]| x.iter().any(|group| !y.contains(group));
            alone(&x, &y) || alone(&y, &x)
        });
        let pasted = self.is_message || other.is_message;
        both && !pasted && self.same_rest(other)
    }

    fn same_rest(&self, other: &Self) -> bool {
        let same = |x: &Token, y: &Token| {
            if x.exact || y.exact {
                x.text == y.text
            } else {
                x.lower == y.lower || self.is_beside && other.is_beside && x.stem == y.stem
            }
        };
        same_but_for_place(&self.rest, &other.rest, same)
    }

    /// "Please", "can you", "how do I", where a clause begins.
    fn drop_courtesy(&mut self) {
        self.rest
            .retain(|token| !token.any(&["please", "pls", "plz", "thanks", "kindly", "hi", "hello", "hey"]));
        let mut at = 0;
        while at < self.rest.len() {
            let begins = at == 0 || {
                let last = &self.rest[at - 1];
                last.ends || last.exact || last.is("and") || last.is("then")
            };
            match COURTESY.iter().find(|phrase| begins && self.starts(at, phrase)) {
                Some(phrase) => drop(self.rest.drain(at..at + phrase.len())),
                None => at += 1,
            }
        }
    }

    fn starts(&self, at: usize, phrase: &[&str]) -> bool {
        self.rest.len() >= at + phrase.len()
            && phrase.iter().zip(&self.rest[at..]).all(|(word, token)| token.is(word))
    }

    /// "This Python function", "the following query", "it"; and the name of what code is, right before the code.
    fn drop_pointers(&mut self) {
        let mut at = 0;
        while at < self.rest.len() {
            let token = &self.rest[at];
            let begun = at;
            let mut end = at;
            let points = token.any(&["this", "these", "following"]);
            if token.is("the") || token.is("my") || points {
                end += 1;
            }
            if end > at && self.rest.get(end).is_some_and(|token| token.any(&["following", "below", "above"]))
            {
                end += 1;
            }
            let pointed = points || end > at + 1;
            let named = self.rest.get(end).and_then(Token::language);
            let noun_at = end + usize::from(named.is_some());
            let nouns = self.rest[noun_at..].iter().take_while(|token| token.any(&NOUNS)).count();
            let behind = noun_at + nouns;
            let before_code = nouns > 0
                && (self.rest.get(behind).is_some_and(|token| token.exact)
                    || behind > 0 && self.rest[behind - 1].ends);
            let is_it = token.any(&["it", "here", "snippet"]) && end == at;
            if is_it {
                self.rest.remove(at);
            } else if pointed || before_code {
                let said = &self.rest[noun_at..behind];
                let neutral =
                    |token: &&Token| !token.any(&["code", "snippet", "program", "script", "block", "piece"]);
                self.nouns.extend(said.iter().filter(neutral).map(|token| token.stem.clone()));
                self.language = named.or(self.language);
                let mut last = if nouns > 0 { behind } else { noun_at };
                if self.rest.get(last).is_some_and(|token| token.any(&["below", "above"])) {
                    last += 1;
                }
                // "this line of C"
                if nouns > 0
                    && self.rest.get(last).is_some_and(|token| token.is("of"))
                    && let Some(named) = self.rest.get(last + 1).and_then(Token::language)
                {
                    self.language = Some(named);
                    last += 2;
                }
                self.rest.drain(begun..last);
            } else {
                at += 1;
                continue;
            }
            // "the bug in this"
            if at > 0
                && self.rest[at - 1]
                    .any(&["in", "of", "for", "to", "with", "from", "about", "on", "by", "after"])
            {
                at -= 1;
                let ends = self.rest.remove(at).ends;
                if at > 0 {
                    self.rest[at - 1].ends |= ends;
                }
            }
        }
    }

    /// Articles, and the auxiliaries of a question.
    fn drop_small(&mut self) {
        let mut kept: Vec<Token> = Vec::with_capacity(self.rest.len());
        let rest = std::mem::take(&mut self.rest);
        for (at, token) in rest.iter().enumerate() {
            let next = rest.get(at + 1);
            let word = next.is_some_and(|next| !next.exact && next.text.len() > 1);
            let article = token.any(&["the", "an", "some"]) || token.is("a") && word;
            let asks = kept.last().is_none_or(|last| {
                last.any(&["what", "why", "how", "where", "which", "when"]) || last.ends && !last.exact
            });
            let last = next.is_none_or(|next| next.is("not"));
            let auxiliary = asks && !last && token.any(&["is", "are", "do", "does", "will", "would", "am"]);
            if !article && !auxiliary {
                kept.push(token.clone());
            }
        }
        self.rest = kept;
    }

    /// "In Go" at the beginning or at the end.
    fn take_language(&mut self) {
        let named = |two: &[Token]| two[1].language().filter(|_| two[0].is("in"));
        let length = self.rest.len();
        if length < 3 {
            return;
        }
        if let Some(found) = named(&self.rest[..2]) {
            self.rest.drain(..2);
            self.within = Some(found);
        } else if let Some(found) = named(&self.rest[length - 2..])
            && !self.rest.iter().any(|token| token.any(&frames::TURNS))
        {
            self.rest.truncate(length - 2);
            self.within = Some(found);
        }
    }

    /// Takes the frames off the text, from the longest on.
    fn take_tasks(&mut self) {
        // "Translate this into Go", "rewrite this in Go".
        if self.rest.first().is_some_and(|token| token.any(&frames::TURNS)) {
            self.rest[0].rename("convert");
            for token in &mut self.rest[1..] {
                if token.any(&["into", "in"]) {
                    token.rename("to");
                }
            }
        }
        if self.starts(0, &["what", "difference"]) {
            self.rest.remove(0);
        }
        for _ in 0..3 {
            while self.rest.first().is_some_and(|token| token.is("and")) {
                self.rest.remove(0);
            }
            while self.rest.last().is_some_and(|token| token.is("and")) {
                self.rest.pop();
            }
            if !self.take_task() {
                break;
            }
        }
        self.tasks.sort_unstable();
        self.tasks.dedup();
    }

    /// "F gives 415, why" and "why do I get a 415 from F" name what is done first, and what it gives.
    fn take_symptom(&mut self) {
        let place = |words: &[&str]| self.rest.iter().position(|token| token.any(words));
        if let Some(task) = self.tasks.iter_mut().find(|task| **task == "get") {
            *task = "cause";
            if let Some(at) = place(&["from", "when", "with", "on", "for"]) {
                let mut done = self.rest.split_off(at);
                done.remove(0);
                done.append(&mut self.rest);
                self.rest = done;
            }
        } else if self.tasks.contains(&"cause")
            && let Some(at) = place(&["gives", "returns"]).filter(|at| *at > 0 && at + 1 < self.rest.len())
        {
            self.rest.remove(at);
        }
        self.rest.retain(|token| !(self.tasks.contains(&"cause") && token.is("a")));
    }

    fn take_task(&mut self) -> bool {
        let length = self.rest.len();
        for (task, before, behind) in TASKS {
            let (p, q) = (before.len(), behind.len());
            if length < p + q {
                continue;
            }
            let joined: Vec<&str> = before.iter().chain(behind.iter()).copied().collect();
            if self.starts(0, before) && self.starts(length - q, behind) {
                self.rest.truncate(length - q);
                self.rest.drain(..p);
            } else if self.starts(0, &joined) && self.rest[p + q - 1].ends {
                self.rest.drain(..p + q);
            } else if self.starts(length - p - q, &joined)
                && self.rest[..length - p - q]
                    .last()
                    .is_none_or(|last| last.ends || last.exact || last.is("and"))
            {
                self.rest.truncate(length - p - q);
            } else {
                continue;
            }
            // "the bug in f(1)"
            if let [small, code, ..] = &self.rest[..]
                && q == 0
                && code.exact
                && small.any(&["of", "for", "in", "with", "on"])
            {
                self.rest.remove(0);
            }
            self.tasks.push(task);
            return true;
        }
        false
    }
}

/// Whether both are the same, or one has what is asked before its code and the other one behind it.
fn same_but_for_place(x: &[Token], y: &[Token], same: impl Fn(&Token, &Token) -> bool) -> bool {
    if x.len() != y.len() {
        return false;
    }
    let all = |x: &[Token], y: &[Token]| x.iter().zip(y).all(|(x, y)| same(x, y));
    let coded = |part: &[Token]| part.iter().any(|token| token.exact);
    let one_coded = |(first, second): (&[Token], &[Token])| coded(first) != coded(second);
    let cut = |at: usize| {
        let ((first, second), turned) = (x.split_at(at), y.split_at(x.len() - at));
        all(second, turned.0) && all(first, turned.1) && one_coded((first, second)) && one_coded(turned)
    };
    all(x, y) || (1..x.len()).any(cut)
}

/// An error or a line of a log.
pub(super) fn is_message(text: &str) -> bool {
    const LABELS: [&str; 7] = ["error", "err", "fatal", "warn", "warning", "traceback", "emerg"];
    let ends = |word: &str, end: &str| {
        let at = word.len().checked_sub(end.len());
        at.is_some_and(|at| word[at..].eq_ignore_ascii_case(end))
    };
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 2).any(|word| {
        let bytes = word.as_bytes();
        match (bytes[0], bytes[bytes.len() - 1]) {
            (b'E', _) if bytes.len() > 5 && bytes.iter().all(u8::is_ascii_uppercase) => true,
            (_, b'r' | b'R' | b'n' | b'N' | b'l' | b'L' | b'g' | b'G' | b'k' | b'K') => {
                LABELS.iter().any(|label| label.eq_ignore_ascii_case(word))
                    || ends(word, "error")
                    || ends(word, "exception")
            }
            _ => false,
        }
    })
}

/// Words that a question begins with.
const ASKS: [&str; 19] = [
    "what", "whats", "what's", "why", "how", "where", "which", "when", "who", "is", "are", "do", "does",
    "can", "should", "please", "explain", "any", "and",
];

/// The words and signs of `text`, the latter as `blanks` part them or each alone. Signs at the end of a clause are none.
fn tokens(text: &str, blanks: bool) -> Vec<Token> {
    let text = unquoted(text);
    let mut reader = Reader { blanks, ..Reader::default() };
    for line in text.lines() {
        let mut chunks = line.split_whitespace().peekable();
        (reader.before, reader.in_string) = ("", false);
        while let Some(chunk) = chunks.next() {
            reader.read(chunk, chunks.peek().copied());
        }
        reader.end_clause();
    }
    reader.tokens
}

#[derive(Default)]
struct Reader<'a> {
    tokens: Vec<Token>,
    blanks: bool,
    /// Within backticks, and within quotes of code.
    in_span: bool,
    in_string: bool,
    /// The code right before.
    before: &'a str,
}

impl<'a> Reader<'a> {
    fn end_clause(&mut self) {
        if let Some(last) = self.tokens.last_mut() {
            last.ends = true;
        }
    }

    /// Reads what stands between two blanks, `next` behind the second.
    fn read(&mut self, chunk: &'a str, next: Option<&str>) {
        let in_code = self.in_span || self.in_string || chunk.contains('`');
        self.in_span ^= chunk.matches('`').count() % 2 == 1;
        let said = chunk.trim_start_matches('`');
        // "`x`, and": what stands behind the mark is none of it.
        let said = match said.rsplit_once('`') {
            Some((code, behind)) if behind.chars().all(|c| c.is_ascii_punctuation()) => code,
            _ => said,
        };
        let closes = next.is_none_or(|next| {
            let next = next.trim_end_matches([',', ':', '.', '?', '!']);
            is_word(next) && next.starts_with(char::is_uppercase)
                || ASKS.contains(&next.to_lowercase().as_str())
        });
        let is_dash = matches!(said, "-" | "--") && closes || matches!(said, "—" | "–");
        if !self.in_string && (is_dash || matches!(said, "?" | "!" | ":" | ",")) {
            return self.end_clause();
        }
        // "Is this JSON? {}"
        let sign = next.is_some_and(|next| next.starts_with(|c: char| !c.is_alphanumeric()));
        let ends = |c: char| matches!(c, ',' | ':' | ';') || (closes || sign) && matches!(c, '.' | '?' | '!');
        let word = said.trim_end_matches(ends);
        let (language, before) = (language(&word.to_lowercase()), self.before);
        self.before = "";
        let length = if language.is_some() && !self.in_string {
            self.tokens.extend(language.map(|language| Token::word(language, None)));
            word.len()
        } else if is_word(word) && !in_code {
            read_word(word, &mut self.tokens);
            word.len()
        } else {
            let ends = |c: char| closes && matches!(c, '.' | '?' | '!' | ',' | ';');
            let code = said.trim_end_matches(ends);
            if self.in_string || parts(before, code) && !self.blanks {
                self.tokens.push(Token::signs(" "));
            }
            read_signs(code, self.blanks, &mut self.tokens);
            self.in_string ^= code.matches(['"', '\'']).count() % 2 == 1;
            self.before = code;
            code.len()
        };
        if let Some(last) = self.tokens.last_mut() {
            last.ends = length < said.len() || chunk.ends_with(['?', ',', ':']);
        }
    }
}

/// Whether the blank between two pieces of code may say something: not beside a sign that stands alone, nor where a list goes
/// on. "x = 1" is no "x=1" in a shell.
fn parts(before: &str, behind: &str) -> bool {
    let alone = |part: &str| !part.contains(char::is_alphanumeric);
    if behind == "=" {
        return !before.ends_with(|c: char| c.is_ascii_digit() || matches!(c, ')' | ']'));
    }
    let goes_on = before.ends_with([',', ';', '(', '[', '{']) || before.ends_with("\":");
    let follows = behind.starts_with([',', ';', ')', ']', '}']);
    !(before.is_empty() || alone(before) || alone(behind) || goes_on || follows)
}

/// The text without the marks around all of its code: `what does "x = 1" do`. No other word may show code.
fn unquoted(text: &str) -> Cow<'_, str> {
    let plain = || Cow::Borrowed(text);
    let places: Vec<usize> = text.match_indices(['"', '“', '”']).map(|(at, _)| at).collect();
    let [open, close] = places[..] else { return plain() };
    let outside =
        |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || matches!(c, ',' | '.' | '?' | '!' | ':'));
    let mark = |at: usize| text[at..].chars().next().map_or(1, char::len_utf8);
    let (inner, behind) = (open + mark(open), close + mark(close));
    let (before, after) = (&text[..open], &text[behind..]);
    let words = |part: &str| {
        part.split_whitespace().all(|word| is_word(word.trim_end_matches([',', ':', '.', '?', '!'])))
    };
    let apart = outside(before.chars().next_back()) && outside(after.chars().next());
    let said = after.trim_start_matches([',', '.', '?', '!']);
    if apart && words(before) && words(said) && text[inner..close].contains(' ') {
        Cow::Owned([before, &text[inner..close], after].concat())
    } else {
        plain()
    }
}

fn is_word(word: &str) -> bool {
    word.starts_with(char::is_alphabetic)
        && word.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’'))
}

fn read_word(word: &str, tokens: &mut Vec<Token>) {
    let camel = word.chars().skip(1).any(char::is_uppercase) && word.contains(char::is_lowercase);
    let lower = word.to_lowercase().replace('’', "'");
    let (lower, is) = match lower.as_str() {
        "whats" => ("what".to_owned(), true),
        _ => match lower.strip_suffix("'s") {
            Some(said @ ("what" | "where" | "there" | "it" | "how" | "why" | "that")) => {
                (said.to_owned(), true)
            }
            _ => (lower.replace("n't", "-not"), false),
        },
    };
    let parts = lower.split('-').filter(|part| !part.is_empty()).chain(is.then_some("is"));
    tokens.extend(parts.map(|part| Token::word(part, camel.then_some(word))));
}

fn read_signs(chunk: &str, blanks: bool, tokens: &mut Vec<Token>) {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    let mut chars = chunk.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let goes_on = chars.peek().is_some_and(|(_, next)| blanks || letter(c) && letter(*next));
        if !goes_on {
            let end = at + c.len_utf8();
            tokens.push(Token::signs(&chunk[from..end]));
            from = end;
        }
    }
}
