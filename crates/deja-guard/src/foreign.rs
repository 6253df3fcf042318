//! Texts the features do not know: other languages, code, texts beyond the window. Here only proof counts: nearly
//! the same words in nearly the same order, equal numbers and equal negations, and what differs is harmless.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::lexicon::{class, lexicon};
use crate::quantity;
use crate::scan::{Piece, fraction};

/// What the proof compares of a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreign {
    /// In order; single characters where the script has no spaces. Courtesy is left out.
    words: Vec<Token>,
    /// Amounts in base units, in order.
    numbers: Vec<String>,
    /// Words of negation and quantity, in order.
    negations: Vec<String>,
    /// Japanese case particles with the character before them, sorted.
    roles: Vec<String>,
    passive: bool,
    /// "Loses" rather than "wins".
    loses: bool,
    /// What lies behind the first [`LIMIT`] words, as a digest.
    rest: u64,
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
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Word,
    Number,
    Negation,
}

/// The most words whose order is compared.
const LIMIT: usize = 200;

/// Digits that an f64 tells apart.
const LONGEST_NUMBER: usize = 15;

/// How far the value beside a sign may be.
const SIGN_REACH: usize = 8;

/// Words that mark a language other than English; few of them are English words.
const MARKS: &str = "der die das und ist ich nicht ein eine wie wo wann warum mein meine mit für auf zu im beim von den dem des kann muss soll darf wird \
    wer welche welcher welches gibt es man bei nach vom zum zur oder aber wenn noch schon sich sind hat habe \
    el la los las un una unos que qué cómo como cuándo dónde quién cuál por para con de del en mi su es son puedo se lo al sin más \
    le les des du est et je ne pas mon ma mes sur dans avec pour une quel quelle quels quelles comment quand où qui que faut peut sont au aux ça \
    o os as um uma não quem qual quais onde meu minha em no na nos nas do da dos das com é são pode como \
    il lo gli uno che chi cosa come quando dove perché mio mia di è sono posso con per sul nel della del \
    foi pela pelo ha sido wurde été por hay está het een van ik niet wat hoe waar wanneer mijn met voor op naar kan moet";

/// English function words that the lists of other languages share with it or that show English.
const ENGLISH: &str = "the of and to is are how what i my in on for with can do does or if not was be have has some any with they we there an it that this you your from at by when where why who which should";

/// Words of negation and quantity, by language.
const NEGATIONS: &str = "nicht kein keine keinen keinem keiner nie niemals nichts niemand ohne alle alles jeder jede jedes einige manche nur außer mehr weniger \
    un- no ni nunca jamás nada nadie ningún ninguno ninguna sin todos todas todo solo sólo excepto salvo algunos más menos \
    ne pas non jamais rien personne aucun aucune sans tous toutes tout seul seulement sauf quelques plus moins \
    não nem nunca nada ninguém nenhum nenhuma sem todos todas só apenas exceto alguns mais menos \
    non mai niente nessuno senza tutti solo tranne più meno niet geen nooit zonder alle alleen \
    not no never without none all only except any some every less more";

/// Courtesy, auxiliaries and other words that change no answer.
const IDLE: &str = "bitte hallo danke moin mal denn doch eigentlich hat haben habe de a al le les por favor hola gracias contra la el los las \
    il te plaît bonjour merci svp que est ce qu o os as um uma do da no na olá oi obrigado obrigada foi lo gli per favore ciao grazie please hi hello thanks \
    wurde wird worden werden von vom durch sido fue été par por pelo pela ha se";

/// Forms of the passive.
const PASSIVE: &str = "wurde wird worden sido fue été foi";

/// Who, where the passive asks for the agent.
const WHO: &str = "wer wem quién quien qui quem chi wie 谁 誰";

/// Losing and winning: the same event told from either side.
const LOSES: &str = "verlor verloren verliert perdió perdieron perdu perdeu perderam perso 输 負 败 敗";
const WINS: &str = "gewann gewonnen gewinnt ganó ganaron gagné ganhou ganharam vinto schlug besiegte venció battu bateu 赢 勝 胜";

/// Numbers in words and months, as the digit they stand for.
const NUMBERS: &str = "eins=1 zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 zwölf=12 hundert=100 tausend=1000 \
    dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 doce=12 cien=100 mil=1000 deux=2 trois=3 quatre=4 cinq=5 sept=7 huit=8 neuf=9 \
    dix=10 douze=12 cent=100 mille=1000 dois=2 duas=2 três=3 quatro=4 sete=7 oito=8 nove=9 dez=10 doze=12 cem=100 \
    januar=1 februar=2 märz=3 april=4 mai=5 juni=6 juli=7 august=8 september=9 oktober=10 november=11 dezember=12 \
    enero=1 febrero=2 marzo=3 abril=4 mayo=5 junio=6 julio=7 agosto=8 septiembre=9 octubre=10 noviembre=11 diciembre=12 \
    janvier=1 février=2 mars=3 avril=4 juin=6 juillet=7 août=8 septembre=9 octobre=10 novembre=11 décembre=12 \
    janeiro=1 fevereiro=2 março=3 maio=5 junho=6 julho=7 setembro=9 outubro=10 novembro=11 dezembro=12";

/// The lists above by word: one bit a list.
static LISTS: LazyLock<HashMap<&'static str, u8>> = LazyLock::new(|| {
    let mut words = HashMap::new();
    for (bit, list) in [MARKS, ENGLISH, NEGATIONS, IDLE, PASSIVE, WHO, LOSES, WINS].iter().enumerate() {
        for word in list.split_whitespace() {
            *words.entry(word).or_insert(0) |= 1 << bit;
        }
    }
    words
});
static VALUES: LazyLock<HashMap<&'static str, f64>> = LazyLock::new(|| {
    let pairs = NUMBERS.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.filter_map(|(word, value)| Some((word, value.parse().ok()?))).collect()
});
const IS_MARK: u8 = 1;
const IS_ENGLISH: u8 = 1 << 1;
const IS_NEGATION: u8 = 1 << 2;
const IS_IDLE: u8 = 1 << 3;
const IS_PASSIVE: u8 = 1 << 4;
const IS_WHO: u8 = 1 << 5;
const IS_LOSES: u8 = 1 << 6;
const IS_WINS: u8 = 1 << 7;

fn listed(list: u8, word: &str) -> bool {
    LISTS.get(word).is_some_and(|lists| lists & list != 0)
}

/// What a Chinese or Japanese numeral says.
fn ideograph(c: char) -> Option<f64> {
    const DIGITS: &str = "〇一二三四五六七八九";
    if let Some(value) = DIGITS.chars().position(|digit| digit == c) {
        return Some(value as f64);
    }
    Some(match c {
        '零' => 0.0,
        '两' => 2.0,
        '十' => 10.0,
        '百' => 100.0,
        '千' => 1000.0,
        '万' => 1e4,
        '亿' | '億' => 1e8,
        _ => return None,
    })
}

/// Scripts that write words without spaces.
fn unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x9fff | 0xf900..=0xfaff)
}

/// The zeros of scripts that have digits of their own, each with the other nine behind it. Those beyond the first plane are
/// literal.
const ZEROS: &str = "٠۰߀०০੦૦୦௦౦೦൦෦๐໐༠၀႐០᠐᥆᧐᪀᪐᭐᮰᱀᱐꘠꣐꤀꧐꧰꩐꯰０";

/// A digit of any script as the ASCII one; `c` otherwise.
fn digit(c: char) -> char {
    if c.is_ascii() || !c.is_numeric() {
        return c;
    }
    let value = |zero: char| u32::from(c).checked_sub(u32::from(zero)).filter(|value| *value < 10);
    ZEROS.chars().find_map(value).and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
}

/// `Some` if the text is not English, is code, or is too long.
pub(crate) fn read(text: &str, pieces: &[Piece], too_long: bool) -> Option<Foreign> {
    let (mut letters, mut latin, mut code) = (0usize, 0usize, 0usize);
    for c in text.chars().take(4000) {
        letters += usize::from(c.is_alphabetic());
        latin += usize::from(c.is_ascii_alphabetic());
        code +=
            usize::from(matches!(c, '{' | '}' | ';' | '=' | '<' | '>' | '|' | '\\' | '_' | '`' | '[' | ']'));
    }
    let count = |list: u8| pieces.iter().take(60).filter(|p| listed(list, &p.text)).count();
    let other = count(IS_MARK);
    let english = count(IS_ENGLISH);
    let accented = letters > latin;
    let unknown = pieces
        .iter()
        .take(60)
        .filter(|p| {
            p.text.len() > 2 && !lexicon().knows(&p.text) && lexicon().class(&p.text) & class::NOISE == 0
        })
        .count();
    let foreign = letters > 0 && latin * 10 < letters * 7
        || other > english && (other > 1 || accented || unknown > 0)
        || accented && other >= english && other + unknown > 1
        || english == 0 && pieces.len() >= 4 && unknown * 2 > pieces.len();
    let is_code = code >= 4 && code * 12 > letters;
    (foreign || is_code || too_long).then(|| Foreign::of(text, is_code))
}

impl Foreign {
    fn of(text: &str, code: bool) -> Self {
        let mut out = Self::default();
        let chars: Vec<char> = text.chars().map(digit).collect();
        let mut at = 0;
        let mut amount: Option<Amount> = None;
        let mut currency = None;
        let (mut kana_kept, mut before) = (true, ' ');
        while at < chars.len() {
            let c = chars[at];
            let begin = at;
            if c.is_ascii_digit() {
                let joins = |at: usize| if code { chars[at] == '.' } else { separator(&chars, begin, at) };
                while at < chars.len() && (chars[at].is_ascii_digit() || joins(at)) {
                    at += 1;
                }
                if code {
                    out.number(chars[begin..at].iter().collect());
                } else {
                    out.amounts(&chars[begin..at], &mut amount);
                }
                if let (Some(amount), Some(name)) = (&mut amount, currency.take()) {
                    amount.currency = Some(name);
                }
            } else if let Some(part) = fraction(c) {
                at += 1;
                let whole = amount.take_if(|_| before.is_ascii_digit()).map_or(0.0, |amount| amount.value);
                out.settle(&mut amount);
                // As many digits as the sign has: none of them is lost when it is settled.
                let decimals = part.split_once('.').map_or(0, |(_, behind)| behind.len());
                let value = part.parse().map(|part: f64| Amount { decimals, ..Amount::plain(whole + part) });
                amount = value.ok();
            } else if ideograph(c).is_some() {
                while at < chars.len() && ideograph(chars[at]).is_some() {
                    at += 1;
                }
                out.ideographs(&chars[begin..at], &mut amount);
            } else if unspaced(c) {
                at += 1;
                let hiragana = ('\u{3040}'..='\u{309f}').contains(&c);
                if !hiragana || matches!(before, '』' | '」' | '”' | '）') {
                    kana_kept = false;
                } else if !unspaced(before) {
                    kana_kept = true;
                }
                out.character(c, before, hiragana && !kana_kept, &chars[at..], &mut amount);
            } else if c.is_alphabetic() {
                while at < chars.len() && chars[at].is_alphabetic() && !unspaced(chars[at]) {
                    at += 1;
                }
                let word: String = chars[begin..at].iter().flat_map(|c| c.to_lowercase()).collect();
                out.word(word, &mut amount);
            } else if c.is_numeric() {
                at += 1;
                out.settle(&mut amount);
                out.number(c.to_string());
            } else {
                at += 1;
                let before_number =
                    || chars[at..].iter().find(|c| **c != ' ').is_some_and(char::is_ascii_digit);
                if code {
                    if !c.is_whitespace() {
                        out.push(c.to_string());
                    }
                } else if let Some(name) = unit_sign(c) {
                    let real = c == '$' && before == 'R' && out.words.pop_if(|w| w.text == "r").is_some();
                    let name = if real { "reais" } else { name };
                    if amount.is_none() && c != '%' && before_number() {
                        currency = Some(name);
                    } else {
                        out.unit(name, &mut amount);
                    }
                } else if let Some(sign) = sign(&chars, begin) {
                    out.settle(&mut amount);
                    out.push(sign.to_string());
                }
            }
            before = c;
        }
        out.settle(&mut amount);
        out.roles.sort_unstable();
        out
    }

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

    fn word(&mut self, word: String, amount: &mut Option<Amount>) {
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
        if amount.is_some() && (name == "reais" || quantity::unit(name).is_some()) {
            return self.unit(name, amount);
        }
        self.settle(amount);
        self.passive |= listed(IS_PASSIVE, &word);
        if listed(IS_NEGATION, &word) {
            self.negation(word);
        } else if listed(IS_LOSES, &word) {
            self.loses = true;
            self.push("#wins".to_owned());
        } else if listed(IS_WINS, &word) {
            self.push("#wins".to_owned());
        } else if !listed(IS_IDLE, &word) {
            self.push(word);
        }
    }

    /// `二〇二一` digit by digit, `三百五十` by its powers of ten; the first may stand behind other digits: `3千`.
    fn ideographs(&mut self, run: &[char], amount: &mut Option<Amount>) {
        let values = || run.iter().filter_map(|c| ideograph(*c));
        if values().all(|value| value < 10.0) {
            let digits = values().filter_map(|value| char::from_digit(value as u32, 10));
            return self.amounts(&digits.collect::<Vec<_>>(), amount);
        }
        let before = amount.take_if(|_| values().next().is_some_and(|value| value >= 10.0));
        self.settle(amount);
        let mut digit = before.map(|amount| amount.value);
        let (mut sum, mut section) = (0.0, 0.0);
        for value in values() {
            if value < 10.0 {
                digit = Some(value);
            } else if value < 10_000.0 {
                section += digit.take().unwrap_or(1.0) * value;
            } else {
                sum = (sum + section + digit.take().unwrap_or(0.0)).max(1.0) * value;
                section = 0.0;
            }
        }
        let value = sum + section + digit.unwrap_or(0.0);
        *amount =
            Some(Amount { currency: before.and_then(|amount| amount.currency), ..Amount::plain(value) });
    }

    /// A character of a script without spaces.
    fn character(&mut self, c: char, before: char, ending: bool, rest: &[char], amount: &mut Option<Amount>) {
        let next = rest.first().copied().unwrap_or(' ');
        let text = c.to_string();
        if ending {
            if c == 'な' && matches!(next, 'い' | 'か') || c == 'ず' || c == 'ま' && next == 'せ' {
                self.negation("ない".to_owned());
            }
            self.passive |= c == 'れ' && matches!(next, 'た' | 'る' | 'て');
            if matches!(c, 'が' | 'を' | 'に' | 'へ') || c == 'か' && next == 'ら' {
                self.roles.push(format!("{before}{c}"));
            }
            return;
        }
        if matches!(c, '元' | '块' | '円') && amount.is_some() {
            return self.unit(if c == '円' { "yen" } else { "yuan" }, amount);
        }
        self.settle(amount);
        self.passive |= c == '被';
        if matches!(c, '不' | '没' | '無' | '无' | '未' | '非' | '全' | '只' | '每' | '部') {
            self.negation(text);
        } else if listed(IS_LOSES, &text) || listed(IS_WINS, &text) {
            self.loses |= listed(IS_LOSES, &text);
            self.push("#wins".to_owned());
        } else if !matches!(c, '吗' | '呢' | '的' | '是' | '了' | '由' | '被' | '给' | 'は') {
            self.push(text);
        }
    }

    fn number(&mut self, text: String) {
        self.numbers.push(text.clone());
        self.add(text, Kind::Number);
    }

    fn negation(&mut self, text: String) {
        self.negations.push(text.clone());
        self.add(text, Kind::Negation);
    }

    fn push(&mut self, word: String) {
        self.add(word, Kind::Word);
    }

    fn add(&mut self, text: String, kind: Kind) {
        if self.words.len() < LIMIT {
            self.words.push(Token { text, kind });
        } else {
            self.rest = text.bytes().fold(self.rest, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        }
    }

    fn first(&self) -> Option<&str> {
        self.words.iter().find(|w| w.kind == Kind::Word).map(|w| w.text.as_str())
    }

    fn asks_who(&self) -> bool {
        self.words.iter().any(|w| listed(IS_WHO, &w.text))
    }
}

/// Whether a mark or a blank at `at` stands inside a number that began at `begin`.
fn separator(chars: &[char], begin: usize, at: usize) -> bool {
    let digit = |i: usize| chars.get(i).is_some_and(char::is_ascii_digit);
    match chars[at] {
        '.' | ',' | ':' | '/' => digit(at + 1),
        ' ' | '\u{a0}' | '\u{202f}' => {
            at - begin <= 3 && digit(at + 1) && digit(at + 2) && digit(at + 3) && !digit(at + 4)
        }
        _ => false,
    }
}

/// The sign of comparison or arithmetic at `at`, if it belongs to a number. A hyphen stands between two or before one.
fn sign(chars: &[char], at: usize) -> Option<char> {
    const SIGNS: &str = "+-−–*×/÷<>≤≥=≠^";
    let said = match chars[at] {
        '−' | '–' => '-',
        '×' => '*',
        '÷' => '/',
        sign if SIGNS.contains(sign) => sign,
        _ => return None,
    };
    let value = |c: &&char| **c != ' ' && !SIGNS.contains(**c);
    let left = chars[..at].iter().rev().take(SIGN_REACH).find(value).copied().unwrap_or(' ');
    let right = chars[at + 1..].iter().take(SIGN_REACH).find(value).copied().unwrap_or(' ');
    let digits = (left.is_ascii_digit(), right.is_ascii_digit());
    let opens = at == 0 || !chars[at - 1].is_alphanumeric() || unspaced(chars[at - 1]);
    let stands = match said {
        '-' => digits == (true, true) || opens && chars.get(at + 1).is_some_and(char::is_ascii_digit),
        '/' => digits == (true, true),
        '*' | '=' | '≠' | '^' => {
            let operand = |c: char| c.is_alphanumeric() || matches!(c, '(' | ')' | '[' | ']');
            digits != (false, false) && operand(left) && operand(right)
        }
        _ => digits != (false, false),
    };
    stands.then_some(said)
}

/// The unit that a sign stands for.
fn unit_sign(c: char) -> Option<&'static str> {
    Some(match c {
        '%' => "percent",
        '€' => "euro",
        '$' => "dollar",
        '£' => "pound",
        '¥' => "yen",
        _ => return None,
    })
}

/// The name in `quantity.rs` of a unit in another language.
fn unit_name(word: &str) -> &str {
    match word {
        "dólar" | "dólares" => "dollar",
        "real" => "reais",
        "prozent" | "porcento" | "pourcent" => "percent",
        _ => word,
    }
}

fn number(word: &str) -> Option<f64> {
    VALUES.get(word).copied()
}

/// Whether both are one word in two forms: a common stem of `stem` letters and short endings.
fn inflected(x: &str, y: &str, stem: usize) -> bool {
    let common = x.chars().zip(y.chars()).take_while(|(a, b)| a == b).count();
    let longer = x.chars().count().max(y.chars().count());
    x == y || common >= stem && longer - common <= 3 + usize::from(stem < 5)
}

/// What stands against the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unproved {
    Numbers,
    Negation,
    Order,
    Words,
}

/// Proves that two texts ask the same, or says what is in the way.
pub(crate) fn proved(a: &Foreign, b: &Foreign) -> Result<(), Unproved> {
    if sorted(&a.numbers) != sorted(&b.numbers) {
        return Err(Unproved::Numbers);
    }
    if sorted(&a.negations) != sorted(&b.negations) {
        return Err(Unproved::Negation);
    }
    let voices = a.passive != b.passive;
    let mut free: Vec<usize> = (0..b.words.len()).collect();
    let mut order = Vec::with_capacity(a.words.len());
    let stem = if voices { 4 } else { 5 };
    for word in &a.words {
        let is = |j: &usize| b.words[*j].kind == word.kind && b.words[*j].text == word.text;
        let inflects = |j: &usize| {
            let words = word.kind == Kind::Word && b.words[*j].kind == Kind::Word;
            words && inflected(&word.text, &b.words[*j].text, stem)
        };
        let found = free.iter().position(is).or_else(|| free.iter().position(inflects));
        let Some(at) = found else { return Err(Unproved::Words) };
        order.push((word.kind, free.remove(at)));
    }
    if !free.is_empty() || a.rest != b.rest {
        return Err(Unproved::Words);
    }
    // Told from the other side, the parties must change places; told from the same side, nothing may.
    let other_side = a.loses != b.loses || voices;
    if other_side {
        order.retain(|(kind, _)| *kind == Kind::Word);
    }
    let inverted = order.windows(2).any(|pair| pair[0].1 > pair[1].1);
    // "A sues B" and "A is sued by B": the first party stays, so the roles changed.
    if voices && a.first() == b.first() && !a.asks_who() {
        return Err(Unproved::Order);
    }
    let who = voices && a.asks_who() && b.asks_who();
    if who || other_side == inverted && (other_side || a.roles == b.roles) {
        Ok(())
    } else if a.numbers != b.numbers {
        Err(Unproved::Numbers)
    } else if a.negations != b.negations {
        Err(Unproved::Negation)
    } else {
        Err(Unproved::Order)
    }
}

fn sorted(list: &[String]) -> Vec<&String> {
    let mut sorted: Vec<_> = list.iter().collect();
    sorted.sort_unstable();
    sorted
}
