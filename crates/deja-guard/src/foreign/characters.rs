//! Scripts without spaces: numerals, Japanese particles and endings, Chinese words of one character.

use super::{Amount, Foreign, Kind};
use crate::languages::{IS_BY, IS_LOSES, IS_WINS, listed};

/// What a Chinese or Japanese numeral says.
pub(super) fn ideograph(c: char) -> Option<f64> {
    const DIGITS: &str = "〇一二三四五六七八九";
    if c < '〇' {
        return None;
    }
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
pub(super) fn unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x9fff | 0xf900..=0xfaff)
}

pub(super) fn is_hiragana(c: char) -> bool {
    ('\u{3041}'..='\u{309f}').contains(&c)
}

fn is_han(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x9fff | 0xf900..=0xfaff)
}

/// The length of what makes a request of 教 at the end of a sentence: 教えてください.
pub(super) fn request(rest: &[char]) -> Option<usize> {
    const FORMS: [&str; 4] = ["えてください", "えて下さい", "えてほしい", "えて"];
    let ends = |at: usize| rest.get(at).is_none_or(|c| !c.is_alphanumeric());
    let length = |form: &str| {
        let same = form.chars().eq(rest.iter().copied().take(form.chars().count()));
        Some(form.chars().count()).filter(|length| same && ends(*length))
    };
    FORMS.into_iter().find_map(length)
}

/// The length of the greeting or courtesy that begins a Chinese sentence.
pub(super) fn courtesy(text: &[char]) -> Option<usize> {
    const WORDS: [&str; 5] = ["请问", "你好", "您好", "谢谢", "请"];
    let begins = |word: &&str| word.chars().eq(text.iter().copied().take(word.chars().count()));
    let length = WORDS.into_iter().find(begins).map(|word| word.chars().count());
    // "谢谢用英语怎么说？" asks about the word.
    length.filter(|at| text.first() == Some(&'请') || text.get(*at).is_none_or(|c| !c.is_alphanumeric()))
}

/// Particles that say nothing, or only who does what: those are also roles.
const PARTICLES: &str = "はのをがにへとで";
const ROLES: &str = "がをにへ";

/// What ends a Japanese sentence and says nothing.
const ENDINGS: [&str; 18] = [
    "どうですか", "ありますか", "ください", "でしょうか", "でしょう", "だろう", "なのか", "あります", "です",
    "ます", "なの", "か", "よ", "ね", "の", "ん", "だ", "わ",
];

/// Polite and plain forms of the past, said as た.
const PAST: [&str; 4] = ["でした", "ました", "だった", "んだ"];

/// As many characters of hiragana may be how a verb is inflected.
const LONGEST_ENDING: usize = 3;

fn strip<'a>(run: &'a [char], end: &str) -> Option<&'a [char]> {
    let length = end.chars().count();
    let at = run.len().checked_sub(length)?;
    run[at..].iter().copied().eq(end.chars()).then(|| &run[..at])
}

impl Foreign {
    /// `二〇二一` digit by digit, `三百五十` by its powers of ten; the first may stand behind other digits: `3千`.
    pub(super) fn ideographs(&mut self, run: &[char], amount: &mut Option<Amount>) {
        let values = || run.iter().filter_map(|c| ideograph(*c));
        if values().all(|value| value < 10.0) {
            let digits = values().filter_map(|value| char::from_digit(value as u32, 10));
            return self.amounts(&digits.collect::<Vec<_>>(), amount);
        }
        let before = amount.take_if(|_| values().next().is_some_and(|value| value >= 10.0));
        self.settle(amount);
        let mut digit = before.map(|amount| amount.value);
        let (mut sum, mut section) = (0.0, 0.0);
        // What a last digit counts: in Chinese 一百二 is 120.
        let (mut unit, mut power) = (1.0, 1.0);
        for value in values() {
            if value < 10.0 {
                digit = Some(value);
                unit = if self.kana || value == 0.0 || power < 100.0 { 1.0 } else { power / 10.0 };
                power = 1.0;
                continue;
            }
            if value < 10_000.0 {
                section += digit.take().unwrap_or(1.0) * value;
            } else {
                sum = (sum + section + digit.take().unwrap_or(0.0)).max(1.0) * value;
                section = 0.0;
            }
            power = value;
        }
        let value = sum + section + digit.unwrap_or(0.0) * unit;
        *amount =
            Some(Amount { currency: before.and_then(|amount| amount.currency), ..Amount::plain(value) });
    }

    /// A run of hiragana: particles at its ends and what ends a sentence are left out, all else counts.
    pub(super) fn hiragana(
        &mut self,
        run: &[char],
        before: char,
        next: Option<char>,
        amount: &mut Option<Amount>,
    ) {
        self.settle(amount);
        for pair in run.windows(2) {
            let passive = pair[0] == 'れ' && matches!(pair[1], 'た' | 'る' | 'て' | 'ま');
            self.passive |= passive;
        }
        let behind = before.is_alphanumeric() || matches!(before, '』' | '」' | '”' | '）' | 'ー');
        let mut rest = run;
        while behind
            && let Some((first, others)) = rest.split_first()
            && PARTICLES.contains(*first)
            && rest.len() + 2 > run.len()
            && !(*first == 'で' && matches!(others.first(), Some('す' | 'し' | 'き')))
        {
            self.role(*first, before);
            rest = others;
        }
        let inflects = is_han(before) && rest.len() == run.len();
        let ends = next.is_none_or(|c| !c.is_alphanumeric());
        let mut past = false;
        loop {
            if let Some(shorter) = PAST.into_iter().find_map(|end| strip(rest, end)) {
                (rest, past) = (shorter, true);
                break;
            }
            if let Some(shorter) = strip(rest, "た") {
                (rest, past) = (shorter, true);
                break;
            }
            if let Some(shorter) = ENDINGS.into_iter().filter(|_| ends).find_map(|end| strip(rest, end)) {
                rest = shorter;
            } else if let Some((last, shorter)) = rest.split_last().filter(|(c, _)| PARTICLES.contains(**c)) {
                self.role(*last, shorter.last().copied().unwrap_or(before));
                rest = shorter;
            } else {
                break;
            }
        }
        let begun = self.words.len();
        let mut at = 0;
        while at < rest.len() {
            let c = rest[at];
            let next = rest.get(at + 1).copied().unwrap_or(' ');
            if c == 'な' && matches!(next, 'い' | 'か' | 'く' | 'け') || c == 'ま' && next == 'せ' {
                self.negation(if next == 'せ' { "ない".to_owned() } else { format!("な{next}") });
                at += 2;
                continue;
            }
            at += 1;
            if c == 'ず' {
                self.negation("ない".to_owned());
                continue;
            }
            let kind =
                if inflects && self.words.len() - begun < LONGEST_ENDING { Kind::Ending } else { Kind::Word };
            self.add(c.to_string(), kind, false);
        }
        if past {
            self.push("た".to_owned());
        }
    }

    fn role(&mut self, particle: char, before: char) {
        if ROLES.contains(particle) {
            self.roles.push(format!("{before}{particle}"));
        }
    }

    /// A character of a script without spaces.
    pub(super) fn character(&mut self, c: char, before: char, rest: &[char], amount: &mut Option<Amount>) {
        let next = rest.first().copied().unwrap_or(' ');
        if matches!(c, '元' | '块' | '円') && amount.is_some() {
            return self.unit(if c == '円' { "yen" } else { "yuan" }, amount);
        }
        self.settle(amount);
        self.passive |= c == '被';
        if matches!(before, '被' | '由' | '给') || next == 'に' {
            self.lead |= IS_BY;
        }
        let text = c.to_string();
        // 北京的大学 is not 北京大学; 我的妈妈 is 我妈妈.
        let between = c == '的'
            && is_han(before)
            && is_han(next)
            && ideograph(next).is_none()
            && !"我你您他她它们".contains(before);
        if matches!(c, '不' | '没' | '無' | '无' | '未' | '非' | '全' | '只' | '每' | '部') {
            self.negation(text);
        } else if listed(IS_LOSES, &text) || listed(IS_WINS, &text) {
            self.loses |= listed(IS_LOSES, &text);
            self.push("#wins".to_owned());
        } else if between
            || c == '的' && before == '谁'
            || !matches!(c, '吗' | '呢' | '的' | '是' | '由' | '被' | '给')
        {
            self.push(text);
        }
    }
}
