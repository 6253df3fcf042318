//! Numbers, amounts with units, dates and times of day, brought into one form: `1.5k` is 1500, `2 h` is `120 min`.

mod calendar;
mod units;
mod words;

use calendar::{month, weekday};
use units::{multiplier, short_unit};
use words::{roman, words};

use crate::lexicon::{class, lexicon};
use crate::scan::{Kind, NEGATIVE, Piece, text, text_before};

pub(crate) use calendar::names_month;
pub(crate) use units::unit;
pub(crate) use words::number_word;

/// What a quantity counts. Two quantities are equal in one dimension only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dimension {
    Plain,
    Seconds,
    Metres,
    Grams,
    Litres,
    SquareMetres,
    Bytes,
    Bits,
    Celsius,
    Degrees,
    Percent,
    Calories,
    /// Minutes after midnight.
    Clock,
    Month,
    Weekday,
    /// A unit of its own: a currency, volts, ohms; the number tells them apart.
    Other(u8),
}

/// The digits of a group: a point before so many may be one of thousands.
const GROUP: u8 = 3;

/// A number with what it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    pub(crate) dimension: Dimension,
    /// In the base unit of the dimension.
    pub(crate) value: f64,
    /// As written.
    pub(crate) raw: f64,
    /// The size of its unit in the base unit, as bits: Fahrenheit's is no number.
    unit: u64,
    /// Digits behind the point as written; tells version 3.1 from 3.10.
    pub(crate) decimals: u8,
    /// What stands before it, as a digest: what "to" is to 16 in "from 14 to 16".
    pub(crate) lead: u32,
    /// Among other numbers: in a list, a sum, a version.
    pub(crate) listed: bool,
    /// Only marks are between it and the number before it: the order of such numbers says something.
    pub(crate) follows: bool,
    /// Was "a week" or "an hour": equals "1 week", and is no difference where the other side has none.
    pub(crate) optional: bool,
}

impl Quantity {
    pub(crate) fn plain(value: f64) -> Self {
        let unit = 1f64.to_bits();
        Self {
            dimension: Dimension::Plain,
            value,
            raw: value,
            unit,
            decimals: 0,
            lead: 0,
            listed: false,
            follows: false,
            optional: false,
        }
    }

    /// Whether the digits behind their points do not tell two equal numbers apart. Version 3.1 is not 3.10, and 1.000 may be a
    /// thousand.
    fn written_alike(&self, other: &Self) -> bool {
        let grouped = |q: &Self| q.decimals == GROUP && q.raw.abs() >= 1.0;
        let version = self.dimension == Dimension::Plain && self.decimals.min(other.decimals) > 0;
        self.decimals == other.decimals || !(version || grouped(self) || grouped(other))
    }

    /// Counts it in a unit; Fahrenheit has no size but a formula.
    fn scale(&mut self, dimension: Dimension, size: f64) {
        (self.dimension, self.unit) = (dimension, size.to_bits());
        self.value = if size.is_nan() { (self.raw - 32.0) / 1.8 } else { self.raw * size };
    }

    /// Whether both say the same amount: rounding of 0.7 % between two units, a unit left out on one side.
    pub(crate) fn same(&self, other: &Self) -> bool {
        // A product such as 1.1 thousand is off in its last bits. Numbers of 15 digits differ by more; longer ones are literal.
        const ROUNDING: f64 = 4.0 * f64::EPSILON;
        let close = |a: f64, b: f64, part: f64| (a - b).abs() <= part * a.abs().max(b.abs());
        let equal = |a: f64, b: f64| close(a, b, ROUNDING);
        if self.dimension == other.dimension {
            return if self.unit == other.unit {
                equal(self.value, other.value) && self.written_alike(other)
            } else {
                close(self.value, other.value, 0.007)
            };
        }
        let loose = |q: &Self| matches!(q.dimension, Dimension::Plain | Dimension::Degrees);
        // The third of May is not the fifth of March.
        let named = |q: &Self| matches!(q.dimension, Dimension::Month | Dimension::Weekday);
        (loose(self) || loose(other)) && !(named(self) || named(other)) && equal(self.raw, other.raw)
    }
}

/// Reads what begins at `pieces[at]` as quantities; returns how many pieces they took, 0 if none begins there.
pub(crate) fn read(pieces: &[Piece], at: usize, out: &mut Vec<Quantity>) -> usize {
    if is_sign(pieces, at) {
        let used = read(pieces, at + 1, out);
        return if used > 0 { used + 1 } else { 0 };
    }
    if let Some((quantity, used)) = named(pieces, at) {
        out.push(quantity);
        return used;
    }
    let piece = &pieces[at];
    let (mut value, mut used, mut decimals) = match piece.kind {
        Kind::Number => match digits(&piece.text, out) {
            Digits::Value(value, decimals) => (value, 1, decimals),
            Digits::Clock(minutes) => return 1 + clock(minutes, text(pieces, at + 1), out),
            Digits::Done => return 1,
        },
        Kind::Code => return code(&piece.text, out),
        Kind::Word => match words(pieces, at) {
            Some((value, used)) => (value, used, 0),
            None => return 0,
        },
    };
    if at > 0 && is_sign(pieces, at - 1) {
        value = -value;
    }
    // "1st", "4th": an ordinal is its number.
    if piece.kind == Kind::Number
        && pieces.get(at + used).is_some_and(|p| p.glued)
        && matches!(text(pieces, at + used), "st" | "nd" | "rd" | "th")
    {
        used += 1;
    }
    while let Some(by) = multiplier(text(pieces, at + used)) {
        value *= by;
        used += 1;
        decimals = 0;
    }
    let before = text_before(pieces, at);
    if text(pieces, at + used) == "m" && before == "dollar" {
        value *= 1e6;
        used += 1;
    }
    let half = text(pieces, at + used);
    if matches!(half, "am" | "pm" | "a.m." | "p.m.") {
        return used + clock(value * 60.0, half, out);
    }
    // "5 1/2"
    if piece.kind == Kind::Number && value >= 1.0 && value.fract() == 0.0 && used == 1 {
        let part = match text(pieces, at + 1) {
            "1/2" => 0.5,
            "1/4" => 0.25,
            "3/4" => 0.75,
            _ => 0.0,
        };
        (value, used) = (value + part, used + usize::from(part > 0.0));
    }
    // "One and a half hours", "an hour and a half"
    let and_half = |used: usize| [0, 1, 2].map(|k| text(pieces, at + used + k)) == ["and", "a", "half"];
    if and_half(used) && value >= 1.0 {
        (value, used) = (value + 0.5, used + 3);
    }
    let mut quantity = Quantity { decimals, ..Quantity::plain(value) };
    let Some(mut used) = measure(&mut quantity, pieces, at, used) else { return 0 };
    if and_half(used) && quantity.dimension == Dimension::Seconds && value >= 1.0 {
        quantity.value *= (value + 0.5) / value;
        quantity.raw += 0.5;
        used += 3;
    }
    let halved = quantity.raw.fract() != 0.0;
    if matches!(piece.text.as_str(), "a" | "an") && value >= 1.0 && !halved {
        quantity.optional = multiplier(text(pieces, at + 1)).is_none();
        if quantity.dimension == Dimension::Plain && quantity.optional {
            return 0;
        }
    }
    // "One" may be no more than an article.
    quantity.optional |= piece.text == "one" && quantity.dimension == Dimension::Plain;
    if quantity.dimension == Dimension::Plain && value < 1.0 && is_part_of_name(pieces, at) {
        return 0;
    }
    out.push(quantity);
    used
}

/// A number that is no number in its form, and how many pieces it takes: a month, a weekday, "a second delivery", "Charles II".
fn named(pieces: &[Piece], at: usize) -> Option<(Quantity, usize)> {
    let piece = &pieces[at];
    // "A second delivery" is the second one.
    if let [article, second, noun, ..] = &pieces[at..]
        && article.text == "a"
        && second.text == "second"
        && lexicon().class(&noun.text) & class::FUNCTION == 0
    {
        return Some((Quantity { optional: true, ..Quantity::plain(2.0) }, 2));
    }
    let is_number = |at: usize| pieces.get(at).is_some_and(|p| p.kind == Kind::Number && p.text.len() <= 4);
    let beside = is_number(at + 1)
        || (at > 0 && pieces[at - 1].kind == Kind::Number)
        || (at > 1 && pieces[at - 1].text.len() == 2 && pieces[at - 2].kind == Kind::Number);
    let day = |dimension, place: usize| (Quantity { dimension, ..Quantity::plain(place as f64 + 1.0) }, 1);
    if piece.kind == Kind::Word {
        let of_year = month(piece, beside).map(|place| day(Dimension::Month, place));
        let of_week = || weekday(piece).map(|place| day(Dimension::Weekday, place));
        if let Some(found) = of_year.or_else(of_week) {
            return Some(found);
        }
    }
    let behind_name = at > 0 && pieces[at - 1].name && !pieces[at - 1].upper && !piece.broken;
    let subject = piece.text == "i"
        && (lexicon().class(text(pieces, at + 1)) & (class::AUXILIARY | class::LIGHT) != 0
            || before_plural(pieces, at));
    roman(piece).filter(|_| behind_name && !subject).map(|number| (Quantity::plain(number), 1))
}

/// Counts a number in the unit behind it, `used` pieces on, or in the currency before it; returns how many pieces both take, and
/// none for letters stuck to a number, which are a name: "2fa", "3d".
fn measure(quantity: &mut Quantity, pieces: &[Piece], at: usize, mut used: usize) -> Option<usize> {
    let next = |k: usize| text(pieces, at + k);
    let before = text_before(pieces, at);
    if let Some((_, dimension, _)) = unit(before)
        && matches!(
            before,
            "dollar" | "pound" | "euro" | "yen" | "rupee" | "usd" | "eur" | "gbp" | "inr" | "rs"
        )
    {
        quantity.scale(dimension, if before == "pound" || before == "gbp" { 453.592 } else { 1.0 });
    }
    let part = quantity.raw < 1.0;
    let square = usize::from(matches!(next(used), "square" | "sq"));
    let article = usize::from(matches!(next(used), "a" | "an") && part);
    let of = if part && next(used) == "of" && matches!(next(used + 1), "a" | "an") { 2 } else { article };
    let full = usize::from(matches!(next(used), "full" | "whole"));
    let skip = square + of + full;
    if let Some((_, dimension, size)) = unit(next(used + skip)) {
        let size = if square == 1 { size * size } else { size };
        let dimension =
            if square == 1 && dimension == Dimension::Metres { Dimension::SquareMetres } else { dimension };
        quantity.scale(dimension, size);
        used += skip + 1;
        if quantity.dimension == Dimension::Degrees {
            let fahrenheit = matches!(next(used), "fahrenheit" | "f");
            if fahrenheit || matches!(next(used), "celsius" | "c") {
                quantity.scale(Dimension::Celsius, if fahrenheit { f64::NAN } else { 1.0 });
                used += 1;
            }
        }
    } else if pieces[at].kind == Kind::Number {
        let glued = pieces.get(at + used).is_some_and(|p| p.glued);
        match short_unit(next(used)) {
            Some((dimension, size)) if next(used).len() == 1 => {
                quantity.scale(dimension, size);
                used += 1;
            }
            _ if next(used) == "m" => {
                quantity.scale(Dimension::Metres, 1.0);
                used += 1;
            }
            _ if glued && used == 1 && next(1).trim_end_matches('+').chars().all(char::is_alphabetic) => {
                return None;
            }
            _ => {}
        }
    }
    Some(used)
}

/// "Half marathon", "last quarter": no amount.
fn is_part_of_name(pieces: &[Piece], at: usize) -> bool {
    let next = text(pieces, at + 1);
    match pieces[at].text.as_str() {
        "half" => {
            let is_number = pieces.get(at + 1).is_some_and(|p| p.kind == Kind::Number && p.text.len() <= 4);
            !(of_something(next) || is_number || number_word(next).is_some())
        }
        "quarter" => {
            let one = at.checked_sub(1).is_some_and(|before| matches!(text(pieces, before), "a" | "one"));
            !(one && next == "of")
        }
        _ => false,
    }
}

/// "Half the", "half of an": a word before which "half" is an amount.
fn of_something(word: &str) -> bool {
    matches!(word, "of" | "a" | "an" | "the") || lexicon().class(word) & class::POSSESSIVE != 0
}

/// "-10", "minus 10": the sign of the number that follows, and no subtraction.
fn is_sign(pieces: &[Piece], at: usize) -> bool {
    let is_number = |at: usize| pieces.get(at).is_some_and(|piece| piece.kind == Kind::Number);
    matches!(pieces[at].text.as_str(), NEGATIVE | "minus")
        && is_number(at + 1)
        && !at.checked_sub(1).is_some_and(is_number)
}

/// "The cards I use": a plural before "I" is no name of a ruler.
fn before_plural(pieces: &[Piece], at: usize) -> bool {
    at > 0 && pieces[at - 1].text.ends_with('s')
}

fn clock(minutes: f64, half: &str, out: &mut Vec<Quantity>) -> usize {
    let afternoon = half.starts_with('p');
    let stated = matches!(half, "am" | "pm" | "a.m." | "p.m.");
    let minutes = match (stated, afternoon) {
        (true, true) if minutes < 720.0 => minutes + 720.0,
        (true, false) if minutes >= 720.0 => minutes - 720.0,
        _ => minutes,
    };
    out.push(Quantity { dimension: Dimension::Clock, ..Quantity::plain(minutes.max(0.1)) });
    usize::from(stated)
}

enum Digits {
    /// A number and its digits behind the point.
    Value(f64, u8),
    /// A time of day in minutes.
    Clock(f64),
    /// Already written out: a date, a ratio, a version.
    Done,
}

fn digits(text: &str, out: &mut Vec<Quantity>) -> Digits {
    let begin = out.len();
    digits_of_one_form(text, out).unwrap_or_else(|| {
        // "10.0.0.0/8", "10.0.0.1:8080": each number of it.
        out.truncate(begin);
        let runs = text.split(|c: char| !c.is_ascii_digit()).filter_map(|run| run.parse().ok());
        out.extend(runs.map(Quantity::plain));
        Digits::Done
    })
}

/// `None` if it has the marks of several forms.
fn digits_of_one_form(text: &str, out: &mut Vec<Quantity>) -> Option<Digits> {
    let plain = |part: &str| part.parse::<f64>().ok().filter(|v| v.is_finite());
    if text.contains('-') || text.matches('/').count() == 2 {
        let parts: Vec<f64> = text.split(['-', '/']).filter_map(plain).collect();
        if let [a, b, c] = parts[..] {
            let (year, month, day) = if a > 31.0 {
                (a, b, c)
            } else if a <= 12.0 {
                (c, a, b)
            } else {
                (c, b, a)
            };
            let year = if year < 100.0 { year + 2000.0 } else { year };
            out.push(Quantity { dimension: Dimension::Month, ..Quantity::plain(month) });
            out.extend([Quantity::plain(day), Quantity::plain(year)]);
            return Some(Digits::Done);
        }
    }
    if let Some((a, b)) = text.split_once('/') {
        let (a, b) = (plain(a)?, plain(b)?);
        if a <= 12.0 && (13.0..=31.0).contains(&b) {
            out.push(Quantity { dimension: Dimension::Month, ..Quantity::plain(a) });
            out.push(Quantity::plain(b));
        } else if a < b && a > 0.0 {
            return Some(Digits::Value(a / b, 0));
        } else {
            out.extend([Quantity::plain(a), Quantity::plain(b)]);
        }
        return Some(Digits::Done);
    }
    if let Some((a, b)) = text.split_once(':') {
        if let (2, Some(hours), Some(minutes)) = (b.len(), plain(a), plain(b))
            && hours < 24.0
            && minutes < 60.0
        {
            return Some(Digits::Clock(hours * 60.0 + minutes));
        }
        let parts: Option<Vec<f64>> = text.split(':').map(plain).collect();
        out.extend(parts?.into_iter().map(Quantity::plain));
        return Some(Digits::Done);
    }
    let groups: Vec<&str> = text.split(',').collect();
    let thousands = groups.len() > 1
        && groups[0].len() <= 3
        && !groups[0].starts_with('0')
        && groups[1..].iter().all(|g| g.split('.').next().is_some_and(|g| g.len() == 3));
    let text = if thousands { text.replace(',', "") } else { text.replace(',', ".") };
    if text.matches('.').count() > 1 {
        out.extend(text.split('.').filter_map(plain).map(Quantity::plain));
        return Some(Digits::Done);
    }
    let decimals = text.split_once('.').map_or(0, |(_, behind)| behind.len().min(9) as u8);
    plain(&text).map(|value| Digits::Value(value, decimals))
}

/// `v5` is 5; other codes are names.
fn code(text: &str, out: &mut Vec<Quantity>) -> usize {
    let Some(number) = text.strip_prefix('v').and_then(|n| n.parse::<f64>().ok()) else { return 0 };
    out.push(Quantity::plain(number));
    1
}
