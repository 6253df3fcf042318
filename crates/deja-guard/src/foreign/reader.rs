//! Reads a text that passes by proof only, character by character.

use unicode_normalization::char::is_combining_mark;

use super::characters::{courtesy, ideograph, is_hiragana, request, unspaced};
use super::marks::{currency_code, digit, separator, sign, unit_sign};
use super::{
    Amount, Foreign, determiners, frames, fronted, how, moved, phrases, quoted, signs, slavic, told, turkish,
    typed, verbs, voices,
};
use crate::languages::{
    DUTCH_PLACE, GERMAN_PLACE, Grammar, IS_BESIDE_WINS, IS_GREETING, IS_THANKS, POLISH_PLACE, TURKISH_PLACE,
    listed,
};
use crate::scan::fraction;

/// Marks upon letters that are no letters of their own: the nukta and the virama of Indic scripts, accents that no letter has. The
/// tokenizer drops them. Variation selectors say nothing.
fn combines(c: char) -> bool {
    !c.is_ascii() && is_combining_mark(c) && !unspaced(c) && !matches!(c, '\u{fe00}'..='\u{fe0f}')
}

fn before_number(rest: &[char]) -> bool {
    rest.iter().find(|c| **c != ' ').is_some_and(char::is_ascii_digit)
}

/// What is read, and what stands before it.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Reader {
    out: Foreign,
    chars: Vec<char>,
    at: usize,
    /// A number that its unit may follow.
    amount: Option<Amount>,
    /// The currency that stands before a number.
    currency: Option<&'static str>,
    /// The character before.
    before: char,
    /// A sentence begins here.
    starts: bool,
    /// A mark stands before.
    broken: bool,
    /// The mark before is a colon.
    colon: bool,
    /// A word stands behind a colon.
    asked: bool,
}

/// What the proof compares of `text`.
pub(super) fn foreign(text: &str, grammar: Grammar) -> Foreign {
    let mut out = read(text, grammar);
    let languages = matches!(grammar, Grammar::Marked(_));
    if let Some(quoted) = languages.then(|| quoted::masked(text)).flatten() {
        out.quotes = quoted.marked;
        out.apart = Some(Box::new(read(&quoted.text, grammar)));
    }
    out
}

fn read(text: &str, grammar: Grammar) -> Foreign {
    let whole = text;
    let told = matches!(grammar, Grammar::Marked(_)).then(|| told::split(text)).flatten();
    let text = told.as_ref().map_or(text, |(question, _)| question);
    let plain = phrases::plain(text, grammar);
    let moved = (grammar != Grammar::None).then(|| frames::condition_last(&plain.text)).flatten();
    let said = moved.as_deref().unwrap_or(&plain.text);
    let (signs, done_to) = (grammar != Grammar::None)
        .then(|| signs::plain(said))
        .flatten()
        .map_or((None, Vec::new()), |(signs, done_to)| (Some(signs), done_to));
    let said = signs.as_deref().unwrap_or(said);
    let signs = said.chars().any(unspaced).then(|| signs::polite(&frames::signs(said)));
    let chars: Vec<char> = signs.as_deref().unwrap_or(said).chars().map(digit).collect();
    let kana = chars.iter().take(4000).any(|c| is_hiragana(*c));
    let mut reader = Reader {
        out: Foreign { grammar, kana, marked: typed::is_marked(whole), ..Foreign::default() },
        chars,
        at: 0,
        amount: None,
        currency: None,
        before: ' ',
        starts: true,
        broken: true,
        colon: false,
        asked: false,
    };
    while reader.at < reader.chars.len() {
        reader.step();
        reader.before = reader.chars[reader.at - 1];
    }
    let asked = plain.asked;
    let mut out = reader.finish(said, plain.framed, asked);
    if asked {
        out.push("#asked".to_owned());
    }
    if let Some((_, told)) = told {
        out.push(told);
    }
    out.roles.extend(done_to);
    out
}

impl Reader {
    fn is_code(&self) -> bool {
        self.out.grammar == Grammar::None
    }

    fn settle(&mut self) {
        self.out.settle(&mut self.amount);
    }

    /// Reads what begins here: a number, a run of one script, a word or a mark.
    fn step(&mut self) {
        let (begin, c) = (self.at, self.chars[self.at]);
        if c.is_ascii_digit() {
            self.digits();
        } else if let Some(part) = fraction(c) {
            self.fraction(part);
        } else if ideograph(c).is_some() {
            while self.chars.get(self.at).is_some_and(|c| ideograph(*c).is_some()) {
                self.at += 1;
            }
            self.out.ideographs(&self.chars[begin..self.at], &mut self.amount);
        } else if is_hiragana(c) {
            let end = |c: &char| !is_hiragana(*c);
            self.at = self.chars[begin..].iter().position(end).map_or(self.chars.len(), |end| begin + end);
            let next = self.chars.get(self.at).copied();
            self.out.hiragana(&self.chars[begin..self.at], self.before, next, &mut self.amount);
        } else if unspaced(c) {
            self.character(c);
        } else if c.is_alphabetic() {
            self.letters(c);
        } else if c.is_numeric() {
            self.at += 1;
            self.settle();
            self.out.number(c.to_string());
        } else {
            self.mark(c);
        }
    }

    fn digits(&mut self) {
        let begin = self.at;
        let joins = |at: usize| {
            if self.is_code() { self.chars[at] == '.' } else { separator(&self.chars, begin, at) }
        };
        let goes_on = |at: &usize| self.chars[*at].is_ascii_digit() || joins(*at);
        self.at = (begin..self.chars.len()).find(|at| !goes_on(at)).unwrap_or(self.chars.len());
        let digits = &self.chars[begin..self.at];
        if self.is_code() {
            self.out.number(digits.iter().collect());
        } else {
            self.out.amounts(digits, &mut self.amount);
        }
        if let (Some(amount), Some(name)) = (&mut self.amount, self.currency.take()) {
            amount.currency = Some(name);
        }
    }

    /// `½`, alone or behind a number.
    fn fraction(&mut self, part: &str) {
        self.at += 1;
        let behind_number = self.before.is_ascii_digit();
        let whole = self.amount.take_if(|_| behind_number).map_or(0.0, |amount| amount.value);
        self.settle();
        // As many digits as the sign has: none of them is lost when it is settled.
        let decimals = part.split_once('.').map_or(0, |(_, behind)| behind.len());
        let value = part.parse().map(|part: f64| Amount { decimals, ..Amount::plain(whole + part) });
        self.amount = value.ok();
    }

    /// One character of a script without spaces.
    fn character(&mut self, c: char) {
        let begin = self.at;
        self.at += 1;
        if self.broken
            && !self.colon
            && let Some(length) = courtesy(&self.chars[begin..])
        {
            self.at = begin + length;
        } else if c == '教'
            && let Some(length) = request(&self.chars[self.at..])
        {
            self.at += length;
            let object = self.before == 'を';
            self.out.roles.pop_if(|role| object && role.ends_with('を'));
        } else {
            self.out.character(c, self.before, &self.chars[self.at..], &mut self.amount);
            (self.starts, self.broken, self.colon) = (false, false, false);
        }
    }

    /// A word of a script with spaces, which begins with `c`.
    fn letters(&mut self, c: char) {
        let begin = self.at;
        let goes_on = |c: &char| c.is_alphabetic() && !unspaced(*c) || combines(*c);
        self.at += self.chars[begin..].iter().take_while(|c| goes_on(c)).count();
        // "C++" is not "C".
        let marks = self.chars[self.at..].iter().take_while(|c| matches!(c, '+' | '#')).count();
        let letter_or_digit = self.chars.get(self.at + marks).is_some_and(|c| c.is_alphanumeric());
        if self.at - begin == 1 && !self.is_code() && !letter_or_digit {
            self.at += marks;
        }
        let word: String = self.chars[begin..self.at].iter().flat_map(|c| c.to_lowercase()).collect();
        // Both are typed.
        let word = word.replace('ё', "е");
        let rest = &self.chars[self.at..];
        let dollar = rest.first() == Some(&'$');
        // "R$" and "US$" are one sign.
        let is_sign = dollar && matches!(word.as_str(), "r" | "us");
        // A greeting behind a colon is what is asked about, and so is one behind the last comma; thanks end a prompt.
        // "Спасибо по-английски?" asks about the word.
        let apart = matches!(word.as_str(), "lütfen" | "कृपया") || rest.first() != Some(&' ');
        let courteous = apart
            && self.broken
            && !self.colon
            && (self.starts || listed(IS_THANKS, &word) || rest.iter().any(|c| c.is_alphabetic()));
        let code_of =
            currency_code(&word).filter(|_| !self.is_code() && self.amount.is_none() && before_number(rest));
        if code_of.is_some() {
            self.currency = code_of;
        } else if !(is_sign || courteous && listed(IS_GREETING, &word)) {
            // "A$" is another dollar.
            if dollar && self.at - begin <= 3 {
                self.out.push(word);
            } else {
                self.out.word(word, c.is_uppercase() && !self.starts, &mut self.amount);
            }
            self.asked |= self.colon;
            (self.starts, self.broken) = (false, false);
        }
        self.colon = false;
    }

    fn mark(&mut self, c: char) {
        let begin = self.at;
        self.at += 1;
        self.colon |= matches!(c, ':' | '：') && !self.out.words.is_empty();
        self.starts |= matches!(c, '.' | '!' | '?' | ':' | '\n' | '¿' | '¡' | '。');
        self.broken |= self.starts || matches!(c, ',' | ';' | '(' | '–' | '—' | '、' | '，' | '！');
        if self.is_code() {
            if !c.is_whitespace() {
                self.out.push(c.to_string());
            }
        } else if let Some(name) = unit_sign(c) {
            let name = if c == '$' && matches!(self.before, 'R' | 'r') { "reais" } else { name };
            if self.amount.is_none() && c != '%' && before_number(&self.chars[self.at..]) {
                self.currency = Some(name);
            } else {
                self.out.unit(name, &mut self.amount);
            }
        } else if let Some(sign) = sign(&self.chars, begin).or(combines(c).then_some(c)) {
            self.settle();
            self.out.push(sign.to_string());
        }
    }

    /// Brings what was read of `text` to one place.
    fn finish(mut self, text: &str, framed: bool, requested: bool) -> Foreign {
        self.settle();
        let Self { mut out, asked, .. } = self;
        // "Как пишется спасибо?": those of other scripts count unless a mark stands before them.
        out.words.pop_if(|w| !asked && w.text.is_ascii() && listed(IS_THANKS, &w.text));
        // A prompt that is all courtesy says that.
        if out.words.is_empty() {
            out.push(text.to_lowercase());
        }
        if out.words.iter().any(|w| matches!(w.text.as_str(), "#wins" | "#won")) {
            out.words.retain(|w| !listed(IS_BESIDE_WINS, &w.text));
        }
        out.roles.sort_unstable();
        if matches!(out.grammar, Grammar::Marked(_)) {
            // What is quoted or stands behind a colon may be asked for word by word: "übersetze: ...".
            let quoted = text.contains([':', '"', '„', '“', '«', '»']);
            if framed {
                frames::verb_second(&mut out.words);
            }
            if !quoted {
                voices::romance(&mut out.words);
                voices::germanic(&mut out);
                fronted::last(&mut out.words, text);
                determiners::romance(&mut out.words, out.grammar);
                if !requested {
                    verbs::infinitive(&mut out.words, out.grammar);
                }
                frames::plain(&mut out.words, text.contains('?'));
            }
            if out.grammar.is(GERMAN_PLACE) {
                moved::negation(&mut out.words);
            }
            let germanic = [GERMAN_PLACE, DUTCH_PLACE].into_iter().find(|place| out.grammar.is(*place));
            if let Some(place) = germanic {
                moved::how(&mut out.words, text);
                if !quoted {
                    determiners::germanic(&mut out.words);
                    verbs::germanic(&mut out.words, place, requested || out.passive);
                }
            }
            moved::spelt(&mut out.words, text);
            how::plain(&mut out.words);
            if !quoted {
                frames::what_is(&mut out.words);
                verbs::modal_first(&mut out.words);
                if out.grammar.is(TURKISH_PLACE) {
                    turkish::how(&mut out.words);
                    turkish::good_for(&mut out.words);
                    turkish::asked_first(&mut out.words);
                }
                let russian = text.chars().any(|c| ('а'..='ё').contains(&c));
                if russian || out.grammar.is(POLISH_PLACE) {
                    slavic::how(&mut out.words, russian);
                    slavic::reflexive(&mut out.words);
                }
                let when = out.words.len() - fronted::time(&mut out.words);
                frames::two_words(&mut out.words[..when]);
                moved::sum(&mut out.words);
                moved::difference(&mut out.words);
            }
        }
        out
    }
}
