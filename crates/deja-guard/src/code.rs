//! Code in a prompt. `mv a b` has the words of `mv b a`, and `x <= 3` all but a sign of `x < 3`: their vectors are nearly equal.
//!
//! Blocks (fences, lines that look like code) and what stands in backticks are compared letter by letter, but for line ends,
//! blank lines, blanks at the end of a line, a common indentation, the name of the language and what its layout does not
//! say ([`layout`]). Code among prose ([`bare`]) is compared piece by piece, without blanks; its case counts in names
//! ([`names`]).

mod among;
mod bare;
mod layout;
mod lines;
mod messages;
mod names;
mod request;
mod terms;

use std::collections::{HashMap, HashSet};

use crate::lexicon::{class, stem};
use crate::verdict::Reason;
use bare::{Run, capitals, commands, home, is_signed, pieces, runs, words};
use layout::Language;
pub(crate) use layout::{asks_about as asks_about_layout, stands_in};
use lines::blocks;
use names::Names;
use request::Request;

/// Words of English that say little by themselves.
const IDLE: u64 = class::FUNCTION | class::AUXILIARY | class::NOISE;
/// What opens and closes a block.
const FENCE: &str = "```";

/// Pieces of code that the other prompt has not, beyond which nothing more is looked for in its text.
const MOST: usize = 16;

/// What is code in a prompt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    /// The text without marks at its end.
    text: String,
    /// What of it stands outside of fences and backticks.
    pub(crate) outside: String,
    /// Fenced blocks and lines of code, in order.
    blocks: Vec<String>,
    /// The languages that its fences name.
    named: Vec<Language>,
    /// What stands in backticks.
    spans: Vec<String>,
    /// The place of each of these; those that "and" joins have one.
    places: Vec<usize>,
    /// Calls, names, paths and terms among prose and in backticks, in lower case.
    bare: Vec<String>,
    /// Commands and statements among prose, word by word.
    runs: Vec<Run>,
    /// Words in capitals.
    capitals: Vec<String>,
    names: Names,
}

/// A part of a prompt.
enum Part<'a> {
    Prose(&'a str),
    Span(&'a str),
    Fence(&'a str),
}

impl Code {
    /// Reads the code of `text`, and what the prompt says beside its blocks if it has some.
    pub(crate) fn read(text: &str) -> (Self, Option<String>) {
        let text = without_end(text);
        let parts = parts(text);
        let mut code = Self::of(text, &parts);
        let (mut question, mut named_as) = (String::new(), Vec::new());
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Prose(prose) => {
                    let begins = question.is_empty() || question.ends_with('\n');
                    let ends = !matches!(parts.peek(), Some(Part::Span(_)));
                    code.blocks.extend(blocks(prose, begins, ends, &mut question));
                    named_as.resize(code.blocks.len(), None);
                }
                Part::Span(span) => question.extend(["`", span, "`"]),
                Part::Fence(fence) => {
                    let (name, block) = named(fence);
                    let block = normal(block);
                    let name = Language::named(&name.to_lowercase());
                    code.named.extend(name);
                    if !block.is_empty() {
                        code.blocks.push(block);
                        named_as.push(name);
                    }
                    question.push('\n');
                }
            }
        }
        requote(&code.outside, code.blocks.iter_mut().zip(named_as));
        let question = (!code.blocks.is_empty()).then(|| question.trim().to_owned());
        (code, question)
    }

    /// Reads the code of a text whose blocks, if there are any, are prose.
    pub(crate) fn beside(text: &str) -> Self {
        let text = without_end(text);
        Self::of(text, &parts(text))
    }

    /// What is code in `text` beside its blocks.
    fn of(text: &str, parts: &[Part]) -> Self {
        let (mut spans, mut outside) = (Vec::new(), String::with_capacity(text.len()));
        let (mut places, mut place) = (Vec::new(), 0);
        for part in parts {
            outside.push_str(if let Part::Prose(prose) = part { prose } else { "\n" });
            match part {
                Part::Prose(prose) => place += usize::from(!joins(prose)),
                Part::Span(span) => {
                    let span = called(span.trim());
                    if !span.is_empty() {
                        spans.push(span.to_owned());
                        places.push(place);
                    }
                }
                Part::Fence(_) => {}
            }
        }
        let mut bare = pieces(text);
        requote(&outside, spans.iter_mut().chain(&mut bare).map(|code| (code, None)));
        Self {
            spans,
            places,
            bare,
            runs: runs(text),
            capitals: capitals(text),
            names: Names::read(&outside),
            outside,
            blocks: Vec::new(),
            named: Vec::new(),
            text: text.to_owned(),
        }
    }

    /// Whether both have the same code, the same way.
    pub(crate) fn same(&self, other: &Self) -> bool {
        // A name says no more than its letters, which are in the text.
        fn signed(code: &Code) -> impl Iterator<Item = &String> {
            code.bare.iter().filter(|piece| is_signed(piece))
        }
        self.same_blocks(other)
            && self.same_spans(other)
            && signed(self).eq(signed(other))
            && self.names.same(&other.names)
            && !self.lowers(other)
    }

    /// Whether both ask the same of the same code in other words, or another thing; if that is known. `beside` are what they say
    /// beside their blocks.
    pub(crate) fn asks_same(&self, other: &Self, beside: [Option<&Self>; 2]) -> Option<bool> {
        if let [Some(x), Some(y)] = beside
            && self.same_blocks(other)
        {
            return x.requests_same(y, true);
        }
        let short = |code: &Self| code.blocks.iter().all(|block| !block.contains('\n'));
        let fenced = |code: &Self| code.text.contains("```") || code.text.contains("~~~");
        let readable = [self, other].iter().all(|code| code.has_some() && short(code) && !fenced(code));
        if readable { self.requests_same(other, false) } else { None }
    }

    fn has_some(&self) -> bool {
        let pieces = !(self.blocks.is_empty() && self.spans.is_empty() && self.bare.is_empty());
        // "==", "&&"
        let sign = |chunk: &str| chunk.len() > 1 && chunk.bytes().all(|byte| b"=<>&|!".contains(&byte));
        let signs =
            || self.text.contains(['=', '<', '>', '&', '|']) && self.text.split_whitespace().any(sign);
        pieces || !self.runs.is_empty() || signs() || request::is_message(&self.text)
    }

    fn requests_same(&self, other: &Self, is_beside: bool) -> Option<bool> {
        let minds = |code: &Self| {
            words(&code.text).filter_map(|word| Language::named(&word)).any(Language::minds_blanks)
        };
        let both = [self, other];
        // Both are marked as code, and not known to be the same in another layout.
        let marked = |quoted: fn(&Self) -> bool| both.iter().all(|code| quoted(code));
        let laid_out = marked(|code| !code.spans.is_empty()) && !self.same_spans(other)
            || marked(|code| !code.blocks.is_empty()) && !self.same_blocks(other);
        let blanks = laid_out
            || self.asks_about_layout(other)
            || both.iter().any(|code| commands(&code.text) || minds(code));
        let read = |code: &Self| Request::read(&code.text, is_beside, blanks);
        let (x, y) = (read(self)?, read(other)?);
        if x.same(&y) { Some(true) } else { x.differs(&y).then_some(false) }
    }

    /// Whether a name of one has small letters alone in the other: "getUser" and "getuser".
    fn lowers(&self, other: &Self) -> bool {
        self.names.lowered_in(&other.text, &self.text) || other.names.lowered_in(&self.text, &other.text)
    }

    /// Whether both have the same lines in their blocks, or the same in another layout; a fence may part what another one
    /// does not.
    pub(crate) fn same_blocks(&self, other: &Self) -> bool {
        fn lines(code: &Code) -> impl Iterator<Item = &str> {
            code.blocks.iter().flat_map(|block| block.lines())
        }
        let named = || self.named.iter().chain(&other.named).copied().collect::<Vec<_>>();
        let code = |code: &Self| code.blocks.join("\n");
        lines(self).eq(lines(other))
            || !(self.blocks.is_empty() || self.asks_about_layout(other))
                && layout::same(&code(self), &code(other), &named())
    }

    /// Whether the same stands in backticks, in the same order; in another layout if that says nothing.
    fn same_spans(&self, other: &Self) -> bool {
        let laid_out = || {
            let said = words(&self.outside).chain(words(&other.outside)).filter(|word| word.len() > 1);
            let mut named: Vec<Language> = said.filter_map(|word| Language::named(&word)).collect();
            // What is asked about a language may be code of another one, but of no shell if none is named.
            if !named.iter().any(|name| name.minds_blanks()) {
                named.fill(Language::Calls);
            }
            let mut pairs = self.spans.iter().zip(&other.spans);
            self.spans.len() == other.spans.len()
                && !self.asks_about_layout(other)
                && pairs.all(|(x, y)| x == y || layout::same(x, y, &named))
        };
        self.spans == other.spans || laid_out()
    }

    fn asks_about_layout(&self, other: &Self) -> bool {
        [self, other].iter().any(|code| layout::asks_about(&code.outside))
    }

    pub(crate) fn is_one_block(&self) -> bool {
        self.blocks.len() == 1
    }

    /// Why the code of one is not that of the other.
    pub(crate) fn differs(&self, other: &Self) -> Option<Reason> {
        if messages::differ(&self.text, &other.text) || self.joined_otherwise(other) {
            return Some(Reason::Words);
        }
        if self.same(other)
            && self.bare == other.bare
            && self.runs == other.runs
            && self.capitals == other.capitals
        {
            return None;
        }
        if self.quoted_differs(other) {
            return Some(Reason::Words);
        }
        // The same words in another order or with other signs beside them, or as many words of which one is another.
        let other_word = |x: &Run, y: &Run| {
            x.len() == y.len() && x[0] == y[0] && x.iter().zip(y).any(|(x, y)| stem(x) != stem(y))
        };
        let differ = |(x, y): &(&Run, &Run)| x != y && (sorted(x) == sorted(y) || other_word(x, y));
        if self.runs.len() == other.runs.len()
            && let Some((x, y)) = self.runs.iter().zip(&other.runs).find(differ)
        {
            let holds = |x: &Run, y: &Run| {
                let said: HashSet<&String> = y.iter().collect();
                x.iter().all(|token| said.contains(token))
            };
            let turned = holds(x, y) && holds(y, x);
            return Some(if turned { Reason::Order } else { Reason::Words });
        }
        if self.names.led_otherwise(&other.names) {
            return Some(Reason::Words);
        }
        if self.spans_turned(other) || self.bare_turned(other) || self.names.turned(&other.names) {
            return Some(Reason::Order);
        }
        if self.bare_differs(other) || self.qualified(other) {
            return Some(Reason::Words);
        }
        let recased = self.names.recased(&other.names) || self.lowers(other);
        (self.capitals_differ(other) || recased).then_some(Reason::Name)
    }

    fn quoted(&self) -> impl Iterator<Item = &str> {
        self.blocks.iter().chain(&self.spans).map(String::as_str)
    }

    /// What `self` has in blocks and backticks and `other` has nowhere.
    fn unmatched<'a>(&'a self, other: &Self, outside: &str) -> Vec<&'a str> {
        let known: HashSet<&str> = other.quoted().collect();
        let mut unmatched: Vec<&str> = self.quoted().filter(|code| !known.contains(code)).collect();
        if unmatched.len() <= MOST {
            unmatched.retain(|code| !holds(outside, &squeezed(&code.to_lowercase())));
        }
        unmatched
    }

    fn quoted_differs(&self, other: &Self) -> bool {
        let quotes = [self, other].map(|code| code.quoted().next().is_some());
        if quotes == [false, false] || self.same_blocks(other) && self.same_spans(other) {
            return false;
        }
        let outside = [self, other].map(|code| squeezed(&code.outside.to_lowercase()));
        let (x, y) = (self.unmatched(other, &outside[1]), other.unmatched(self, &outside[0]));
        if quotes == [true, true] {
            return !x.is_empty() || !y.is_empty();
        }
        let (alone, text) = if quotes[0] { (x, &outside[1]) } else { (y, &outside[0]) };
        let said: Vec<String> = words(text).collect();
        alone.into_iter().take(MOST).any(|code| rearranged(code, &said))
    }

    /// "Does `a` call `b`?" has the words of "does `b` call `a`?". What "and" joins has no order.
    fn spans_turned(&self, other: &Self) -> bool {
        fn placed(code: &Code) -> Vec<(usize, &str)> {
            let spans = code.spans.iter().map(String::as_str);
            let mut placed: Vec<_> = code.places.iter().copied().zip(spans).collect();
            placed.sort_unstable();
            placed
        }
        !self.same_spans(other)
            && placed(self) != placed(other)
            && squeezed(&self.outside.to_lowercase()) == squeezed(&other.outside.to_lowercase())
    }

    /// Whether the same single letters stand in another order: they are names in what is asked about code.
    pub(crate) fn letters_turned(&self, other: &Self) -> bool {
        let letters = |code: &Self| words(&code.text).filter(|word| word.len() == 1).collect::<Vec<_>>();
        let (mut x, mut y) = (letters(self), letters(other));
        let differ = x != y;
        x.sort_unstable();
        y.sort_unstable();
        differ && x == y
    }

    /// The text with a fence around the lines that `other` has in a fence, if this one has none.
    pub(crate) fn fenced_as(&self, other: &Self) -> Option<String> {
        let [block] = &other.blocks[..] else { return None };
        let length = block.lines().count();
        let fenced = |code: &Self| code.text.contains(FENCE) || code.text.contains("~~~");
        if fenced(self) || !fenced(other) {
            return None;
        }
        let lines: Vec<&str> = self.text.lines().filter(|line| !line.trim().is_empty()).collect();
        let first = block.lines().next().map(str::trim);
        // A few places at most, so that a text of equal lines takes no quadratic time.
        let mut begins = (0..lines.len()).filter(|at| Some(lines[*at].trim()) == first).take(MOST);
        let at = begins
            .find(|at| lines.get(*at..at + length).is_some_and(|some| normal(&some.join("\n")) == *block))?;
        let (before, rest) = lines.split_at(at);
        let (code, behind) = rest.split_at(length);
        Some([before, &[FENCE], code, &[FENCE], behind].concat().join("\n"))
    }

    /// Whether each has a piece that the other has not; or one has a term, and all words are the same.
    fn bare_differs(&self, other: &Self) -> bool {
        let (x, y) = (self.alone(other), other.alone(self));
        !x.is_empty() && !y.is_empty()
            || x.iter().chain(&y).any(|piece| is_signed(piece)) && words(&self.text).eq(words(&other.text))
    }

    /// The pieces that `other` has neither as pieces nor as words.
    fn alone(&self, other: &Self) -> Vec<&str> {
        let known: HashSet<&str> = other.bare.iter().map(String::as_str).collect();
        let mut rest: Vec<&str> = self.bare.iter().map(String::as_str).collect();
        rest.retain(|piece| !known.contains(piece));
        if !rest.is_empty() {
            let said: HashSet<String> = words(&other.text).collect();
            rest.retain(|piece| !said.contains(*piece));
        }
        rest
    }

    /// Names of functions that differ in their beginning or end: SUMIF and SUMIFS, VLOOKUP and XLOOKUP.
    fn capitals_differ(&self, other: &Self) -> bool {
        const COMMON: usize = 3;
        if self.capitals == other.capitals {
            return false;
        }
        let alone = |x: &Self, y: &Self| {
            let said: HashSet<String> = words(&y.text).collect();
            // "DENSE_RANK" is one word, and two in capitals.
            let says = |word: &String| said.contains(word) || y.capitals.contains(word);
            let alone = x.capitals.iter().filter(|word| !says(word));
            alone.take(MOST).cloned().collect::<Vec<_>>()
        };
        let (x, y) = (alone(self, other), alone(other, self));
        let common = |a: &str, b: &str| {
            let same = |(a, b): &(u8, u8)| a == b;
            let begin = a.bytes().zip(b.bytes()).take_while(same).count();
            let end = a.bytes().rev().zip(b.bytes().rev()).take_while(same).count();
            begin.max(end) >= COMMON
        };
        x.iter().any(|a| y.iter().any(|b| common(a, b)))
    }
}

/// Writes `"` for `'` in code of a language that takes both for one, which a fence names or what is `said` beside it. Not where
/// the layout is asked about.
fn requote<'a>(said: &str, code: impl Iterator<Item = (&'a mut String, Option<Language>)>) {
    let mut quoted = code.filter(|(code, _)| code.contains('\'')).peekable();
    if quoted.peek().is_some() && !layout::asks_about(said) {
        let spoken = layout::spoken(said);
        for (code, named) in quoted {
            *code = layout::requoted(std::mem::take(code), named.or(spoken));
        }
    }
}

/// The words of a command, whatever their order and the signs beside them.
fn sorted(run: &Run) -> Vec<String> {
    let mut sorted: Vec<String> = run.iter().flat_map(|token| words(token)).collect();
    sorted.sort_unstable();
    sorted
}

/// The text without the marks that end its last sentence.
fn without_end(text: &str) -> &str {
    text.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '?' | '!'))
}

/// What stands between backticks, and what does not. A mark behind a letter opens nothing, and one or two close in their
/// line. Lines of tildes are fences too.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut begun, mut at, mut line) = (0, 0, 0);
    while let Some(found) = text[at..].find(['`', '~']) {
        let opened = at + found;
        let mark = text.as_bytes()[opened];
        let marks = |from: usize| text[from..].bytes().take_while(|byte| *byte == mark).count();
        let length = marks(opened);
        let inner = opened + length;
        at = inner;
        let tildes = mark == b'~';
        let first = text[..opened].trim_end_matches(' ').chars().next_back().is_none_or(|c| c == '\n');
        if tildes && !(length >= 3 && first) || length < 3 && text[..opened].ends_with(char::is_alphanumeric)
        {
            continue;
        }
        if line < inner {
            line = text[inner..].find('\n').map_or(text.len(), |end| inner + end);
        }
        let end = if length < 3 { line } else { text.len() };
        let mut closed = None;
        let mut next = inner;
        while let Some(found) = text[next..end].find(char::from(mark)) {
            let count = marks(next + found);
            if count == length || length >= 3 && count >= 3 {
                closed = Some((next + found, next + found + count));
                break;
            }
            next += found + count;
        }
        let is_open = length >= 3 && !tildes;
        let Some((close, behind)) = closed.or(is_open.then_some((end, end))) else { continue };
        let inner = &text[inner..close];
        // A quotation: `so' and ``so''. A line of tildes.
        let quotes = inner.matches('\'').count();
        if length == 1 && quotes % 2 == 1
            || length == 2 && inner.contains("''")
            || tildes && !inner.contains('\n')
        {
            continue;
        }
        parts.push(Part::Prose(&text[begun..opened]));
        parts.push(if length >= 3 && inner.contains('\n') { Part::Fence(inner) } else { Part::Span(inner) });
        (begun, at) = (behind, behind);
    }
    parts.push(Part::Prose(&text[begun..]));
    parts
}

/// Whether what stands on both sides of `prose` has no order.
fn joins(prose: &str) -> bool {
    matches!(prose.trim().trim_start_matches(',').trim(), "" | "and" | "or" | "vs" | "vs." | "versus")
}

/// The name of the language that a fence begins with, and its code.
fn named(fence: &str) -> (&str, &str) {
    match fence.split_once('\n') {
        Some((name, code)) if !name.trim().contains(char::is_whitespace) => (name.trim(), code),
        _ => ("", fence),
    }
}

/// The lines of `code` without blanks at their end and without their common indentation; blank lines are none.
pub(crate) fn normal(code: &str) -> String {
    let lines = || code.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let blanks = |line: &'_ str| line.len() - line.trim_start().len();
    let common = lines().map(|line| &line[..blanks(line)]).reduce(|x, y| {
        let same = x.char_indices().zip(y.chars()).take_while(|((_, c), d)| c == d);
        &x[..same.map(|((at, c), _)| at + c.len_utf8()).last().unwrap_or(0)]
    });
    let common = common.map_or(0, str::len);
    lines().map(|line| &line[common..]).collect::<Vec<_>>().join("\n")
}

/// "len()" names what "len" does, and "~/.bashrc" what ".bashrc" does.
fn called(name: &str) -> &str {
    let name = home(name);
    let bare = name.strip_suffix("()").unwrap_or(name);
    if bare.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ':')) { bare } else { name }
}

/// The text with blanks between two words alone.
fn squeezed(text: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut blank = false;
    for c in text.chars() {
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        if blank && word(c) && out.ends_with(word) {
            out.push(' ');
        }
        blank = false;
        out.push(c);
    }
    out
}

/// Whether `code` stands in `text` as a whole, both squeezed.
fn holds(text: &str, code: &str) -> bool {
    let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (first, last) = (code.chars().next(), code.chars().next_back());
    text.match_indices(code).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + code.len()..].chars().next());
        !(goes_on(first) && goes_on(before) || goes_on(last) && goes_on(after))
    })
}

/// Whether the words of `code`, two at least, stand together among those that are `said`: then other signs are between
/// them, or they have another order.
fn rearranged(code: &str, said: &[String]) -> bool {
    let mut counts: HashMap<String, isize> = HashMap::new();
    let mut length = 0;
    for word in words(code) {
        *counts.entry(word).or_default() += 1;
        length += 1;
    }
    if length < 2 || said.len() < length {
        return false;
    }
    // How many words occur more or less often in the window than in the code.
    let mut wrong = counts.len();
    let mut note = |word: &str, by: isize, wrong: &mut usize| {
        let count = counts.entry(word.to_owned()).or_default();
        *wrong -= usize::from(*count != 0);
        *count += by;
        *wrong += usize::from(*count != 0);
    };
    for at in 0..said.len() {
        note(&said[at], -1, &mut wrong);
        if let Some(left) = at.checked_sub(length) {
            note(&said[left], 1, &mut wrong);
        }
        if wrong == 0 {
            return true;
        }
    }
    false
}
