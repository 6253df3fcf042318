//! Texts the features do not know: other languages, code, texts beyond the window. Here only proof counts: nearly
//! the same words in nearly the same order, equal numbers and equal negations, and what differs is harmless.

mod characters;
mod determiners;
mod east;
mod frames;
mod fronted;
mod how;
mod korean;
mod lines;
mod marks;
mod moved;
mod numerals;
mod pairs;
mod phrases;
mod quoted;
mod reader;
mod remedy;
mod signs;
mod slavic;
mod told;
mod turkish;
mod typed;
mod verbs;
mod voices;
mod which;

use std::borrow::Cow;

use marks::unit_name;

use crate::languages::{
    FRENCH_PLACE, GERMAN_PLACE, Grammar, IS_BEHIND_WAS, IS_BY, IS_COURTESY, IS_ENGLISH, IS_FEMININE, IS_FROM,
    IS_GERMAN_IDLE, IS_IDLE, IS_LOSES, IS_MARK, IS_MASCULINE, IS_NEGATION, IS_NOW, IS_PASSIVE,
    IS_PORTUGUESE_FEMININE, IS_TO, IS_WHO, IS_WINS, PORTUGUESE_PLACE, SPANISH_PLACE, TURKISH_PLACE,
    conjugates, idle_behind, listed, lists, makes_idle, number, precedes_noun,
};
use crate::lexicon::{class, lexicon};
use crate::quantity;
use crate::scan::{self, Piece};

/// What the proof compares of a text.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Foreign {
    /// In order; single characters where the script has no spaces. Courtesy is left out.
    words: Vec<Token>,
    /// Amounts in base units, in order.
    numbers: Vec<String>,
    /// Words of negation and quantity, in order.
    negations: Vec<String>,
    /// Japanese case particles with the character before them, sorted.
    roles: Vec<String>,
    grammar: Grammar,
    /// The words of direction and the articles since the last word.
    lead: u32,
    /// The word before makes one idle: "por" in "por favor".
    idler: &'static str,
    /// The word before says that a noun follows.
    noun: bool,
    /// The word before had a capital letter.
    capital: bool,
    passive: bool,
    /// "Wurde" says that it is over, "wird" that it is not.
    was: bool,
    is: bool,
    /// "Loses" rather than "wins".
    loses: bool,
    /// Nothing shows that it is English, and nothing that it is another language.
    pub(crate) maybe: bool,
    /// It is Japanese.
    kana: bool,
    /// Letters of it have accents or the like.
    marked: bool,
    /// What lies behind the first [`LIMIT`] words, as a digest.
    rest: u64,
    /// The same text, each of its quotations as one word.
    apart: Option<Box<Foreign>>,
    /// Marks show what is quoted, not a colon.
    quotes: bool,
}

/// A number whose unit is not read yet.
#[derive(Clone, Copy)]
struct Amount {
    value: f64,
    /// Digits behind the point as written: version 3.1 is not 3.10.
    decimals: usize,
    /// The currency that stands before it.
    currency: Option<&'static str>,
}

impl Amount {
    fn plain(value: f64) -> Self {
        Self { value, decimals: 0, currency: None }
    }
}

/// What has a place in the order of a text.
#[derive(Clone, Debug)]
struct Token {
    /// In lower case.
    text: String,
    kind: Kind,
    /// Begins with a capital letter, and no sentence.
    capital: bool,
    /// The words of direction and the articles before it, as bits of their lists.
    lead: u32,
    /// Stands where nouns do.
    noun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Word,
    Number,
    Negation,
    /// Hiragana right behind an ideograph: how a verb is inflected. It is another one in the passive and the converse.
    Ending,
}

/// The most words whose order is compared.
const LIMIT: usize = 200;

/// Words by which the language of a text is told.
const READ: usize = 60;

/// Digits that an f64 tells apart.
const LONGEST_NUMBER: usize = 15;

/// `Some` if the text is not English, is code, or is too long. The signs of code that count stand `outside` of backticks.
pub(crate) fn read(text: &str, outside: &str, pieces: &[Piece], too_long: bool) -> Option<Foreign> {
    let (mut letters, mut latin) = (0usize, 0usize);
    for c in text.chars().take(4000) {
        letters += usize::from(c.is_alphabetic());
        latin += usize::from(c.is_ascii_alphabetic());
    }
    let is_sign = |c: &char| matches!(c, '{' | '}' | ';' | '=' | '<' | '>' | '|' | '\\' | '`' | '[' | ']');
    let code = outside.chars().take(4000).filter(is_sign).count();
    // As typed: a piece may be "when" for "wen".
    let words: Vec<(Cow<'_, str>, u32)> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(READ)
        .map(|word| {
            let word = lower(word);
            let lists = lists(&word);
            (word, lists)
        })
        .collect();
    let read = &pieces[..pieces.len().min(READ)];
    let listed_in: Vec<u32> = read.iter().map(|piece| lists(&piece.text)).collect();
    // "Sin(x)" is no Spanish, "cos(x)" no Italian.
    let called = if outside.contains('(') { text.to_lowercase() } else { String::new() };
    let is_called = |word: &str| !called.is_empty() && called.contains(&format!("{word}("));
    let is_mark = |(word, lists): (&str, u32)| lists & IS_MARK != 0 && !is_called(word);
    let misread = words
        .iter()
        .filter(|(word, lists)| is_mark((word, *lists)) && lists & IS_ENGLISH == 0 && word != "im")
        .filter(|(word, _)| read.iter().all(|p| p.text != *word))
        .count();
    // "Was ist", "was kostet": German.
    let was = matches!(pieces, [was, verb, ..] if was.text == "was" && listed(IS_BEHIND_WAS, &verb.text));
    let said = || read.iter().zip(&listed_in).map(|(piece, lists)| (piece.text.as_str(), *lists));
    let marked = said().filter(|word| is_mark(*word));
    let marks = marked.clone().count() + misread + usize::from(was);
    // Dutch "er" says so beside others only.
    let weak = words.iter().filter(|(word, _)| word == "er").count();
    let other = if marks + weak > 1 { marks + weak } else { marks };
    let english = said().filter(|(_, lists)| lists & IS_ENGLISH != 0).count();
    let english = (english - usize::from(was)).saturating_sub(misread);
    // "Come" and "me" are words of other languages.
    let pure = said().filter(|(word, lists)| lists & (IS_ENGLISH | IS_MARK) == IS_ENGLISH && *word != "i");
    let pure = pure.count();
    let strong = marked.filter(|(word, _)| !is_article(word)).count();
    // Words of other languages too.
    let shared = read.iter().filter(|p| matches!(p.text.as_str(), "is" | "in" | "was")).count();
    let accented = letters > latin;
    let mut unknown = 0usize;
    // Names are unknown in English too, and "to", "do", "on" and "my" are words of other languages.
    let (mut long, mut strange, mut spelt, mut made, mut shown) = (0usize, 0usize, 0usize, 0usize, 0usize);
    for (p, lists) in read.iter().zip(&listed_in) {
        let class = lexicon().class(&p.text);
        let known = lexicon().knows(&p.text);
        unknown += usize::from(p.text.len() > 2 && !known && class & class::NOISE == 0);
        if p.kind != scan::Kind::Word {
            continue;
        }
        let is_unknown = class == 0 && !known;
        let short = p.text.chars().count() <= 2;
        shown += usize::from(
            (class != 0 && p.text != "hoe" || lists & IS_ENGLISH != 0)
                && !matches!(p.text.as_str(), "to" | "do" | "on" | "my" | "in" | "i"),
        );
        if !(short || p.name || p.upper) {
            long += 1;
            strange += usize::from(is_unknown);
            spelt += usize::from(is_unknown && !p.text.is_ascii());
            made += usize::from(is_unknown && is_compound(&p.text));
        }
    }
    let sure = letters > 0 && latin * 10 < letters * 7
        || other > english && (other > 1 || accented || unknown > 0)
        || misread + weak > 0 && other > 1 && other > english.saturating_sub(shared) && unknown > 0
        || accented && other >= english && other + unknown > 1
        || (english == 0 || marks > 0 && pure == 0) && pieces.len() >= 4 && unknown * 2 > pieces.len()
        || shown == 0 && long > 2 && strange > 1 && strange * 2 >= long
        || strong > 0 && english <= shared && shown <= shared && unknown > 0
        || spelt > 1 && spelt > shown;
    // "Espresso tonic", "kargo takip": nothing shows English.
    let odd = strong > 0 || strange > made && (strange - made) * 2 >= long;
    let foreign = sure || shown == 0 && english == 0 && long > 1 && odd;
    let is_code = code >= 4 && code * 12 > letters;
    let grammar = match (is_code, foreign) {
        (true, _) => Grammar::None,
        (false, true) => Grammar::of(words.iter().map(|(word, lists)| (&**word, *lists))),
        (false, false) => Grammar::English,
    };
    let maybe = !(sure || is_code || too_long);
    (foreign || is_code || too_long).then(|| Foreign { maybe, ..reader::foreign(text, grammar) })
}

/// `word` in lower case.
fn lower(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) { word.into() } else { word.to_lowercase().into() }
}

/// Those that are part of names in English texts: "los angeles".
fn is_article(word: &str) -> bool {
    const ARTICLES: [&str; 20] = [
        "el", "la", "los", "las", "le", "les", "des", "du", "del", "der", "die", "das", "un", "una", "van",
        "von", "il", "lo", "do", "da",
    ];
    ARTICLES.contains(&word)
}

/// "Passcode": two English words.
fn is_compound(word: &str) -> bool {
    const SHORTEST: usize = 3;
    const LONGEST: usize = 32;
    let parts = SHORTEST..word.len().saturating_sub(SHORTEST - 1);
    word.len() <= LONGEST
        && word.is_ascii()
        && parts.into_iter().any(|at| lexicon().knows(&word[..at]) && lexicon().knows(&word[at..]))
}

impl Foreign {
    /// Writes down an amount that no unit followed.
    fn settle(&mut self, amount: &mut Option<Amount>) {
        let Some(Amount { value, decimals, currency }) = amount.take() else { return };
        if let Some(currency) = currency {
            return self.unit(currency, &mut Some(Amount::plain(value)));
        }
        let decimals = if value.fract() == 0.0 { 0 } else { decimals };
        self.number(format!("{value:.decimals$}"));
    }

    /// `10.000`, `10 000`, `1,5`, `23/2/1981`, `7.4.1`.
    fn amounts(&mut self, digits: &[char], amount: &mut Option<Amount>) {
        let joint = |c: &char| !c.is_ascii_digit();
        for part in digits.split(|c| matches!(c, ':' | '/')) {
            self.settle(amount);
            let groups: Vec<&[char]> = part.split(joint).collect();
            let thousands = |groups: &[&[char]]| {
                groups[0].len() <= 3 && groups[0][0] != '0' && groups[1..].iter().all(|g| g.len() == 3)
            };
            let point = part.iter().rposition(joint).filter(|at| !part[..*at].contains(&part[*at]));
            let behind = groups[groups.len() - 1];
            // One mark before three digits groups them. The last of two kinds is the point, as is any other that is alone.
            let whole = groups.len() == 1 || (groups.len() == 2 || point.is_none()) && thousands(&groups);
            let decimal = point.is_some() && (groups.len() == 2 || thousands(&groups[..groups.len() - 1]));
            let digits = groups.concat();
            if digits.len() > LONGEST_NUMBER || !whole && !decimal {
                for group in groups {
                    let text: String = group.iter().collect();
                    self.number(text.trim_start_matches('0').to_owned());
                }
                continue;
            }
            let decimals = if whole { 0 } else { behind.len() };
            let value = digits.iter().collect::<String>().parse::<f64>().unwrap_or_default();
            *amount = Some(Amount { decimals, ..Amount::plain(value / 10f64.powi(decimals as i32)) });
        }
    }

    /// A unit by one of its names: with the amount before it a number, alone a word.
    fn unit(&mut self, name: &str, amount: &mut Option<Amount>) {
        let known = quantity::unit(name);
        let name = known.map_or(name, |(name, ..)| name);
        let Some(Amount { value, .. }) = amount.take() else { return self.push(name.to_owned()) };
        self.number(match known {
            Some((_, dimension, size)) if !size.is_nan() => format!("{:.12e} {dimension:?}", value * size),
            _ => format!("{value:.12e} {name}"),
        });
    }

    fn word(&mut self, word: String, capital: bool, amount: &mut Option<Amount>) {
        if self.grammar == Grammar::None {
            if !listed(IS_COURTESY, &word) {
                self.push(word);
            }
            return;
        }
        if let Some(value) = number(&word) {
            *amount = match *amount {
                Some(count) if value >= 100.0 && count.value < value => {
                    Some(Amount { value: count.value * value, decimals: 0, ..count })
                }
                _ => {
                    self.settle(amount);
                    Some(Amount::plain(value))
                }
            };
            return;
        }
        let name = unit_name(&word);
        if amount.is_some()
            && (matches!(name, "reais" | "złoty" | "рубль" | "lira") || quantity::unit(name).is_some())
        {
            return self.unit(name, amount);
        }
        self.settle(amount);
        self.passive |= listed(IS_PASSIVE, &word);
        self.was |= matches!(word.as_str(), "wurde" | "wurden");
        self.is |= matches!(word.as_str(), "wird" | "werden");
        let before = std::mem::replace(&mut self.idler, makes_idle(&word));
        let precedes = precedes_noun(&word);
        if word == "ce" && self.words.last().is_some_and(|last| last.text == "est") {
            self.words.pop();
        } else if idle_behind(before, &word) {
            self.lead = 0;
            // "S'il te plaît", "من فضلك"
            self.words
                .pop_if(|last| word == "te" && last.text == "s" || word == "فضلك" && last.text == before);
        } else if listed(IS_NEGATION, &word) && !(word == "ne" && self.grammar.is(TURKISH_PLACE)) {
            self.negation(word);
        } else if listed(IS_LOSES | IS_WINS, &word) {
            self.loses |= listed(IS_LOSES, &word);
            self.push(if listed(IS_NOW, &word) { "#wins" } else { "#won" }.to_owned());
        } else if listed(IS_IDLE, &word)
            && !(word == "los" && self.grammar.is(GERMAN_PLACE) && !self.grammar.is(SPANISH_PLACE))
            || listed(IS_GERMAN_IDLE, &word) && self.is_idle_german()
        {
            self.lead |= self.leads(&word);
        } else {
            // Two capitalised words are a name, whatever stands before them.
            let name = capital && std::mem::replace(&mut self.capital, capital);
            if name && let Some(last) = self.words.last_mut() {
                last.noun = false;
            }
            self.noun &= !name;
            self.add(word, Kind::Word, capital);
        }
        self.capital = capital;
        self.noun = precedes;
    }

    /// "Zeig mal", not "dreimal" or "3 mal".
    fn is_idle_german(&self) -> bool {
        self.grammar.is(GERMAN_PLACE) && self.words.last().is_none_or(|last| last.kind != Kind::Number)
    }

    /// What an idle word says of the word behind it.
    fn leads(&self, word: &str) -> u32 {
        let mut lead =
            lists(word) & (IS_FROM | IS_TO | IS_BY | IS_MASCULINE | IS_FEMININE | IS_PORTUGUESE_FEMININE);
        if word == "le" && !self.grammar.is(FRENCH_PLACE) {
            lead &= !IS_MASCULINE;
        }
        lead
    }

    fn number(&mut self, text: String) {
        self.numbers.push(text.clone());
        self.add(text, Kind::Number, false);
    }

    fn negation(&mut self, text: String) {
        // "Nao" is typed for "não".
        let text = if text.is_ascii() { text } else { typed::unmarked(&text) };
        self.negations.push(text.clone());
        self.add(text, Kind::Negation, false);
    }

    fn push(&mut self, word: String) {
        self.add(word, Kind::Word, false);
    }

    fn add(&mut self, text: String, kind: Kind, capital: bool) {
        if self.words.len() < LIMIT {
            let (lead, noun) = (std::mem::take(&mut self.lead), std::mem::take(&mut self.noun));
            self.words.push(Token { text, kind, capital, lead, noun });
        } else {
            self.rest = text.bytes().fold(self.rest, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        }
    }

    fn first(&self) -> Option<&str> {
        self.words.iter().find(|w| w.kind == Kind::Word).map(|w| w.text.as_str())
    }

    /// In German "wie" is how.
    fn asks_who(&self) -> bool {
        let german = self.grammar.is(GERMAN_PLACE);
        self.words.iter().any(|w| listed(IS_WHO, &w.text) && !(german && w.text == "wie"))
    }

    /// "By whom was it written?", not "who was invited by her?"
    fn asks_by_whom(&self) -> bool {
        self.words.iter().any(|w| listed(IS_WHO, &w.text) && w.lead & IS_BY != 0)
    }
}

/// What stands against the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unproved {
    Numbers,
    Negation,
    Order,
    Words,
}

/// Where a word of one text stands in the other.
struct Pair {
    at: usize,
    /// May be who does it or whom it is done to: no verb, no question word.
    party: bool,
    capital: bool,
}

/// Proves that two texts ask the same, or says what is in the way. What both quote must be equal letter by letter.
pub(crate) fn proved(a: &Foreign, b: &Foreign) -> Result<(), Unproved> {
    match (&a.apart, &b.apart) {
        (Some(x), Some(y)) if a.quotes && b.quotes => equal(x, y),
        (Some(x), Some(y)) => equal(x, y).or_else(|_| equal(a, b)),
        _ => equal(a, b),
    }
}

fn equal(a: &Foreign, b: &Foreign) -> Result<(), Unproved> {
    if sorted(&a.numbers) != sorted(&b.numbers) {
        return Err(Unproved::Numbers);
    }
    if sorted(&a.negations) != sorted(&b.negations) {
        return Err(Unproved::Negation);
    }
    // The answer would be in the other language.
    if a.grammar.is_other(b.grammar) {
        return Err(Unproved::Words);
    }
    if a.was != b.was && a.is != b.is {
        return Err(Unproved::Words);
    }
    if korean::joined(&a.words, &b.words) && korean::agree(&a.roles, &b.roles) && a.rest == b.rest {
        return Ok(());
    }
    let voices = a.passive != b.passive;
    // Told from the other side, the parties must change places; told from the same side, nothing may.
    let other_side = a.loses != b.loses || voices;
    let counts = |word: &Token| !other_side || word.kind != Kind::Ending;
    let mut free: Vec<usize> = (0..b.words.len()).filter(|at| counts(&b.words[*at])).collect();
    let mut order = Vec::with_capacity(a.words.len());
    let (mut turned, mut given, mut taken) = (false, false, false);
    let portuguese = a.grammar.is(PORTUGUESE_PLACE) || b.grammar.is(PORTUGUESE_PLACE);
    let feminine = IS_FEMININE | if portuguese { IS_PORTUGUESE_FEMININE } else { 0 };
    let typed = a.marked != b.marked;
    let (marked, plain) = if a.marked { (a, b) } else { (b, a) };
    let polish = typed && typed::polish(&marked.words, &plain.words);
    let turkish = a.grammar.is(TURKISH_PLACE) || b.grammar.is(TURKISH_PLACE);
    // A verb may have another form in the passive.
    let mut verbs = usize::from(voices);
    for word in a.words.iter().filter(|word| counts(word)) {
        let same = |x: &Token, y: &Token| {
            x.text == y.text
                || typed && typed::same(&x.text, &y.text, x.capital || y.capital, turkish, polish)
        };
        let is = |j: &usize| b.words[*j].kind == word.kind && same(&b.words[*j], word);
        let words =
            |j: &usize| word.kind == Kind::Word && b.words[*j].kind == Kind::Word && !quoted::is(&word.text);
        let capital = |j: &usize| word.capital || b.words[*j].capital;
        let inflects = |j: &usize| {
            let other = &b.words[*j];
            let noun = word.noun || other.noun;
            words(j) && a.grammar.inflects(b.grammar, &word.text, &other.text, capital(j), noun)
        };
        let conjugates = |j: &usize| words(j) && !capital(j) && conjugates(&word.text, &b.words[*j].text);
        let mut verb = false;
        let found = free.iter().position(is).or_else(|| free.iter().position(inflects)).or_else(|| {
            verbs = verbs.checked_sub(1)?;
            verb = true;
            free.iter().position(conjugates)
        });
        let Some(at) = found else { return Err(Unproved::Words) };
        let at = free.remove(at);
        let (x, y) = (word.lead, b.words[at].lead);
        turned |= x & IS_FROM != 0 && y & IS_TO != 0 || x & IS_TO != 0 && y & IS_FROM != 0;
        // "¿A quién ama Ana?", "¿Quién ama a Ana?": the "a" changed its word. "Come al gato", "come el gato": it came.
        let to = (x & IS_TO != 0, y & IS_TO != 0);
        given |= to == (true, false);
        taken |= to == (false, true);
        // "¿Quién mató a Lincoln?", "¿a quién mató Lincoln?"
        turned |= to.0 != to.1 && !voices && matches!(word.text.as_str(), "quién" | "quien");
        turned |= x & y & IS_MASCULINE != 0 && to.0 != to.1;
        if other_gender(x, y, feminine) && !phrases::stands_for_others(&word.text) {
            return Err(Unproved::Words);
        }
        let event = matches!(word.text.as_str(), "#wins" | "#won") || listed(IS_WHO, &word.text);
        order.push(Pair { at, party: word.kind == Kind::Word && !event && !verb, capital: capital(&at) });
    }
    turned |= given && taken;
    if !free.is_empty() || a.rest != b.rest {
        return Err(Unproved::Words);
    }
    let inverted = |order: &[Pair]| order.windows(2).any(|two| two[0].at > two[1].at);
    // "A sues B" and "A is sued by B": the first party stays, so the roles changed.
    let passive = if a.passive { a } else { b };
    let who = voices && a.asks_who() && b.asks_who() && passive.asks_by_whom();
    if other_side {
        order.retain(|pair| pair.party);
        if order.iter().filter(|pair| pair.capital).count() > 1 {
            order.retain(|pair| pair.capital);
        }
    }
    // Who wins and who loses is another one, whatever else changes places.
    let stays = voices && a.first() == b.first() && !who || other_side && !voices && a.asks_who();
    if stays || turned && (who || !voices) {
        return Err(Unproved::Order);
    }
    let changed = inverted(&order);
    let proved = if who {
        a.kana || !order.iter().all(|pair| pair.capital) || !changed
    } else {
        other_side == changed
    };
    let korean = a.roles.iter().chain(&b.roles).any(|role| korean::is_role(role));
    let roles = if korean { korean::agree(&a.roles, &b.roles) } else { a.roles == b.roles };
    if proved && (other_side || roles) {
        Ok(())
    } else if a.numbers != b.numbers {
        Err(Unproved::Numbers)
    } else if a.negations != b.negations {
        Err(Unproved::Negation)
    } else {
        Err(Unproved::Order)
    }
}

/// Whether the articles of one word are of two genders.
fn other_gender(x: u32, y: u32, feminine: u32) -> bool {
    let genders = |lead: u32| (lead & IS_MASCULINE != 0, lead & feminine != 0);
    matches!((genders(x), genders(y)), ((true, false), (false, true)) | ((false, true), (true, false)))
}

fn sorted(list: &[String]) -> Vec<&String> {
    let mut sorted: Vec<_> = list.iter().collect();
    sorted.sort_unstable();
    sorted
}
