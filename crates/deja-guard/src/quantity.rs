//! Numbers, amounts with units, dates and times of day, brought into one form: `1.5k` is 1500, `2 h` is `120 min`.

use crate::lexicon::{class, lexicon};
use crate::scan::{Kind, NEGATIVE, Piece};

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

    /// Counts it in a unit; Fahrenheit has no size but a formula.
    fn scale(&mut self, dimension: Dimension, size: f64) {
        (self.dimension, self.unit) = (dimension, size.to_bits());
        self.value = if size.is_nan() { (self.raw - 32.0) / 1.8 } else { self.raw * size };
    }

    /// Whether both say the same amount: rounding of 0.7 % between two units, a unit left out on one side.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let close = |a: f64, b: f64, part: f64| (a - b).abs() <= part * a.abs().max(b.abs());
        // A product such as 1.1 thousand is off in its last digit; whole numbers are one or another.
        let equal = |a: f64, b: f64| close(a, b, 1e-9) && (a - b).abs() < 0.5;
        if self.dimension == other.dimension {
            return match self.dimension {
                Dimension::Plain => {
                    equal(self.value, other.value)
                        && (self.decimals == other.decimals
                            || self.decimals.max(other.decimals) > 2
                            || self.decimals.min(other.decimals) == 0)
                }
                _ if self.unit == other.unit => equal(self.value, other.value),
                _ => close(self.value, other.value, 0.007),
            };
        }
        let loose = |q: &Self| matches!(q.dimension, Dimension::Plain | Dimension::Degrees);
        // The third of May is not the fifth of March.
        let named = |q: &Self| matches!(q.dimension, Dimension::Month | Dimension::Weekday);
        (loose(self) || loose(other)) && !(named(self) || named(other)) && equal(self.raw, other.raw)
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const SMALL: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const ORDINALS: [&str; 13] = [
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
];

/// "The wrong one", "one another": no number.
const BEFORE_NO_ONE: [&str; 12] =
    ["the", "this", "that", "which", "wrong", "another", "new", "other", "right", "no", "old", "each"];
const BEHIND_NO_ONE: [&str; 12] =
    ["", "is", "to", "another", "should", "can", "do", "does", "of", "that", "who", "may"];

/// The unit called `word`: name, dimension and size in its base unit.
pub(crate) fn unit(word: &str) -> Option<(&'static str, Dimension, f64)> {
    use Dimension as D;
    const DAY: f64 = 86400.0;
    Some(match word {
        "second" | "seconds" | "sec" | "secs" => ("second", D::Seconds, 1.0),
        "minute" | "minutes" | "min" | "mins" => ("minute", D::Seconds, 60.0),
        "hour" | "hours" | "hr" | "hrs" => ("hour", D::Seconds, 3600.0),
        "day" | "days" => ("day", D::Seconds, DAY),
        "night" | "nights" => ("night", D::Other(1), 1.0),
        "week" | "weeks" | "wk" | "wks" => ("week", D::Seconds, 7.0 * DAY),
        "fortnight" => ("week", D::Seconds, 14.0 * DAY),
        "month" | "months" => ("month", D::Seconds, 30.4375 * DAY),
        "year" | "years" | "yr" | "yrs" => ("year", D::Seconds, 365.25 * DAY),
        "decade" | "decades" => ("decade", D::Seconds, 3652.5 * DAY),
        "century" | "centuries" => ("century", D::Seconds, 36525.0 * DAY),
        "mm" | "millimeter" | "millimeters" | "millimetre" | "millimetres" => ("mm", D::Metres, 0.001),
        "cm" | "centimeter" | "centimeters" | "centimetre" | "centimetres" => ("cm", D::Metres, 0.01),
        "meter" | "meters" | "metre" | "metres" => ("metre", D::Metres, 1.0),
        "km" | "kms" | "kilometer" | "kilometers" | "kilometre" | "kilometres" => ("km", D::Metres, 1000.0),
        "inch" | "inches" => ("inch", D::Metres, 0.0254),
        "foot" | "feet" | "ft" => ("foot", D::Metres, 0.3048),
        "yard" | "yards" | "yd" => ("yard", D::Metres, 0.9144),
        "mile" | "miles" | "mi" => ("mile", D::Metres, 1609.34),
        "mcg" | "ug" | "µg" | "μg" | "microgram" | "micrograms" => ("mcg", D::Grams, 1e-6),
        "mg" | "milligram" | "milligrams" => ("mg", D::Grams, 0.001),
        "gram" | "grams" | "gr" | "gramme" | "grammes" => ("gram", D::Grams, 1.0),
        "kg" | "kgs" | "kilo" | "kilos" | "kilogram" | "kilograms" => ("kg", D::Grams, 1000.0),
        "tonne" | "tonnes" | "ton" | "tons" => ("tonne", D::Grams, 1e6),
        "oz" | "ounce" | "ounces" => ("ounce", D::Grams, 28.3495),
        "lb" | "lbs" | "pound" | "pounds" | "gbp" => ("pound", D::Grams, 453.592),
        "ml" | "milliliter" | "milliliters" | "millilitre" | "millilitres" => ("ml", D::Litres, 0.001),
        "cl" => ("cl", D::Litres, 0.01),
        "dl" => ("dl", D::Litres, 0.1),
        "liter" | "liters" | "litre" | "litres" => ("litre", D::Litres, 1.0),
        "cup" | "cups" => ("cup", D::Litres, 0.2366),
        "tbsp" | "tablespoon" | "tablespoons" => ("tablespoon", D::Litres, 0.014787),
        "tsp" | "teaspoon" | "teaspoons" => ("teaspoon", D::Litres, 0.004929),
        "gallon" | "gallons" | "gal" => ("gallon", D::Litres, 3.78541),
        "pint" | "pints" => ("pint", D::Litres, 0.473),
        "quart" | "quarts" => ("quart", D::Litres, 0.946),
        "hectare" | "hectares" | "ha" => ("hectare", D::SquareMetres, 10000.0),
        "acre" | "acres" => ("acre", D::SquareMetres, 4046.86),
        "sqm" | "m2" => ("sqm", D::SquareMetres, 1.0),
        "sqft" => ("sqft", D::SquareMetres, 0.092903),
        "kb" | "kilobyte" | "kilobytes" => ("kb", D::Bytes, 1e3),
        "mb" | "megabyte" | "megabytes" | "meg" | "megs" => ("mb", D::Bytes, 1e6),
        "gb" | "gigabyte" | "gigabytes" | "gig" | "gigs" => ("gb", D::Bytes, 1e9),
        "tb" | "terabyte" | "terabytes" => ("tb", D::Bytes, 1e12),
        "kbit" | "kbps" | "kilobit" | "kilobits" => ("kbit", D::Bits, 1e3),
        "mbit" | "mbps" | "megabit" | "megabits" => ("mbit", D::Bits, 1e6),
        "gbit" | "gbps" | "gigabit" | "gigabits" => ("gbit", D::Bits, 1e9),
        "celsius" | "centigrade" => ("celsius", D::Celsius, 1.0),
        "fahrenheit" => ("fahrenheit", D::Celsius, f64::NAN),
        "kelvin" => ("kelvin", D::Other(20), 1.0),
        "degree" | "degrees" => ("degree", D::Degrees, 1.0),
        "percent" | "pct" => ("percent", D::Percent, 1.0),
        "kcal" | "calories" | "calorie" | "cal" => ("calorie", D::Calories, 1.0),
        "dollar" | "dollars" | "usd" | "bucks" | "buck" => ("dollar", D::Other(2), 1.0),
        "euro" | "euros" | "eur" => ("euro", D::Other(3), 1.0),
        "yen" | "jpy" => ("yen", D::Other(4), 1.0),
        "franc" | "francs" | "chf" => ("franc", D::Other(5), 1.0),
        "rupee" | "rupees" | "inr" => ("rupee", D::Other(6), 1.0),
        "yuan" | "rmb" | "cny" => ("yuan", D::Other(7), 1.0),
        "cent" | "cents" => ("cent", D::Other(8), 1.0),
        "volt" | "volts" => ("volt", D::Other(9), 1.0),
        "ohm" | "ohms" => ("ohm", D::Other(10), 1.0),
        "watt" | "watts" => ("watt", D::Other(11), 1.0),
        "amp" | "amps" | "ampere" => ("amp", D::Other(12), 1.0),
        "mph" => ("mph", D::Other(13), 1.0),
        "kmh" | "kph" => ("kmh", D::Other(14), 1.0),
        "pixel" | "pixels" | "px" => ("pixel", D::Other(15), 1.0),
        "mah" => ("mah", D::Other(16), 1.0),
        "kwh" => ("kwh", D::Other(17), 1.0),
        "hz" | "hertz" => ("hz", D::Other(18), 1.0),
        "khz" | "kilohertz" => ("khz", D::Other(18), 1e3),
        "mhz" | "megahertz" => ("mhz", D::Other(18), 1e6),
        "ghz" | "gigahertz" => ("ghz", D::Other(18), 1e9),
        "times" => ("times", D::Plain, 1.0),
        _ => return None,
    })
}

/// Units of one letter: they count right behind a number.
fn short_unit(word: &str) -> Option<(Dimension, f64)> {
    use Dimension as D;
    Some(match word {
        "s" => (D::Seconds, 1.0),
        "h" => (D::Seconds, 3600.0),
        "g" => (D::Grams, 1.0),
        "l" => (D::Litres, 1.0),
        "c" => (D::Celsius, 1.0),
        "f" => (D::Celsius, f64::NAN),
        "v" => (D::Other(9), 1.0),
        "w" => (D::Other(11), 1.0),
        _ => return None,
    })
}

fn multiplier(word: &str) -> Option<f64> {
    Some(match word {
        "k" | "thousand" | "grand" => 1e3,
        "hundred" => 100.0,
        "million" | "mio" | "mln" | "millions" => 1e6,
        "billion" | "bn" => 1e9,
        "dozen" => 12.0,
        _ => return None,
    })
}

/// Whether `word` names a month, or may.
pub(crate) fn names_month(word: &str) -> bool {
    word.len() > 2 && MONTHS.iter().any(|month| month.starts_with(word))
}

fn month(piece: &Piece, beside_number: bool) -> Option<usize> {
    let word = piece.text.trim_end_matches('.');
    let at = MONTHS.iter().position(|m| {
        *m == word
            || (word.len() >= 3 && word.len() <= 4 && m.starts_with(word) && word != "mar" && word != "marc")
            || (word == "mar" && *m == "march")
    })?;
    let word_too = matches!(word, "may" | "march" | "mar" | "dec" | "augu" | "sept");
    (!word_too || piece.name || beside_number).then_some(at)
}

fn weekday(piece: &Piece) -> Option<usize> {
    let word = piece.text.as_str();
    let singular = word.strip_suffix('s').unwrap_or(word);
    WEEKDAYS.iter().position(|d| {
        *d == singular
            || (piece.name && *d != "sunday" && word.len() == 3 && d.starts_with(word))
            || (piece.name && word == "sun" && *d == "sunday")
    })
}

/// Twelve and less have words of their own; the others end in "th".
fn ordinal(word: &str) -> Option<f64> {
    if let Some(n) = ORDINALS.iter().position(|w| *w == word) {
        return Some(n as f64);
    }
    let base = word.strip_suffix("th")?;
    match base.strip_suffix("ie") {
        Some(tens) => {
            TENS.iter().position(|w| w.strip_suffix('y') == Some(tens)).map(|n| (n as f64 + 2.0) * 10.0)
        }
        None => SMALL[13..20].iter().position(|w| *w == base).map(|n| n as f64 + 13.0),
    }
}

pub(crate) fn number_word(word: &str) -> Option<f64> {
    if let Some(n) = SMALL.iter().position(|w| *w == word) {
        return Some(n as f64);
    }
    TENS.iter().position(|w| *w == word).map(|n| (n as f64 + 2.0) * 10.0)
}

/// Reads what begins at `pieces[at]` as quantities; returns how many pieces they took, 0 if none begins there.
#[expect(clippy::too_many_lines, reason = "one step a form of number, in the order they are tried")]
pub(crate) fn read(pieces: &[Piece], at: usize, out: &mut Vec<Quantity>) -> usize {
    if is_sign(pieces, at) {
        let used = read(pieces, at + 1, out);
        return if used > 0 { used + 1 } else { 0 };
    }
    let piece = &pieces[at];
    // "A second delivery" is the second one.
    if let [article, second, noun, ..] = &pieces[at..]
        && article.text == "a"
        && second.text == "second"
        && lexicon().class(&noun.text) & class::FUNCTION == 0
    {
        out.push(Quantity { optional: true, ..Quantity::plain(2.0) });
        return 2;
    }
    let next = |k: usize| pieces.get(at + k).map_or("", |p| p.text.as_str());
    let is_number =
        |k: usize| pieces.get(at + k).is_some_and(|p| p.kind == Kind::Number && p.text.len() <= 4);
    let beside = is_number(1)
        || (at > 0 && pieces[at - 1].kind == Kind::Number)
        || (at > 1 && pieces[at - 1].text.len() == 2 && pieces[at - 2].kind == Kind::Number);
    if piece.kind == Kind::Word {
        if let Some(m) = month(piece, beside) {
            out.push(Quantity { dimension: Dimension::Month, ..Quantity::plain(m as f64 + 1.0) });
            return 1;
        }
        if let Some(d) = weekday(piece) {
            out.push(Quantity { dimension: Dimension::Weekday, ..Quantity::plain(d as f64 + 1.0) });
            return 1;
        }
    }
    let before = if at > 0 { pieces[at - 1].text.as_str() } else { "" };
    let behind_name = at > 0 && pieces[at - 1].name && !pieces[at - 1].upper && !piece.broken;
    let subject = piece.text == "i"
        && (lexicon().class(next(1)) & (class::AUXILIARY | class::LIGHT) != 0 || before_plural(pieces, at));
    if let Some(number) = roman(piece).filter(|_| behind_name && !subject) {
        out.push(Quantity::plain(number));
        return 1;
    }
    let (mut value, mut used, mut decimals) = match piece.kind {
        Kind::Number => match digits(&piece.text, out) {
            Some(Digits::Value(value, decimals)) => (value, 1, decimals),
            Some(Digits::Clock(minutes)) => return 1 + clock(minutes, next(1), out),
            Some(Digits::Done) => return 1,
            None => return 0,
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
        && matches!(next(used), "st" | "nd" | "rd" | "th")
    {
        used += 1;
    }
    while let Some(by) = multiplier(next(used)) {
        value *= by;
        used += 1;
        decimals = 0;
    }
    if next(used) == "m" && before == "dollar" {
        value *= 1e6;
        used += 1;
    }
    if matches!(next(used), "am" | "pm" | "a.m." | "p.m.") {
        return used + clock(value * 60.0, next(used), out);
    }
    let mut quantity = Quantity { decimals, ..Quantity::plain(value) };
    if let Some((_, dimension, _)) = unit(before)
        && matches!(before, "dollar" | "pound" | "euro" | "yen" | "usd" | "eur" | "gbp")
    {
        quantity.scale(dimension, if before == "pound" || before == "gbp" { 453.592 } else { 1.0 });
    }
    let square = usize::from(matches!(next(used), "square" | "sq"));
    let article = usize::from(matches!(next(used), "a" | "an") && value < 1.0);
    let of =
        if value < 1.0 && next(used) == "of" && matches!(next(used + 1), "a" | "an") { 2 } else { article };
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
    } else if piece.kind == Kind::Number {
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
            // "2fa", "3d": letters stuck to a number are a name.
            _ if glued && used == 1 && next(1).chars().all(char::is_alphabetic) && !next(1).is_empty() => {
                return 0;
            }
            _ => {}
        }
    }
    if piece.kind == Kind::Word && matches!(piece.text.as_str(), "a" | "an") {
        quantity.optional = true;
        if quantity.dimension == Dimension::Plain && multiplier(next(1)).is_none() {
            return 0;
        }
        quantity.optional = multiplier(next(1)).is_none();
    }
    // "One" may be no more than an article.
    quantity.optional |= piece.text == "one" && quantity.dimension == Dimension::Plain;
    // "Half marathon", "last quarter": no amount.
    let name = match piece.text.as_str() {
        "half" => !(of_something(next(1)) || is_number(1) || number_word(next(1)).is_some()),
        "quarter" => !(matches!(before, "a" | "one") && next(1) == "of"),
        _ => false,
    };
    if name && quantity.dimension == Dimension::Plain {
        return 0;
    }
    out.push(quantity);
    used
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

/// "Elizabeth II", "Modern Warfare II": a numeral behind a name.
fn roman(piece: &Piece) -> Option<f64> {
    let number = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"]
        .iter()
        .position(|r| *r == piece.text)?;
    (piece.upper || piece.text == "i").then_some(number as f64 + 1.0)
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

/// A number in words that begins at `pieces[at]`: value and how many pieces.
fn words(pieces: &[Piece], at: usize) -> Option<(f64, usize)> {
    let text = |k: usize| pieces.get(at + k).map_or("", |p| p.text.as_str());
    let before = if at > 0 { pieces[at - 1].text.as_str() } else { "" };
    match text(0) {
        "half" => return Some((0.5, 1)),
        "quarter" => return Some((0.25, 1)),
        "three" if text(1) == "quarters" => return Some((0.75, 2)),
        "a" | "an" => {
            if matches!(text(1), "half" | "quarter") {
                return None;
            }
            return Some((1.0, 1));
        }
        "one" if BEFORE_NO_ONE.contains(&before) || before != "only" && BEHIND_NO_ONE.contains(&text(1)) => {
            return None;
        }
        "second"
            if !matches!(before, "the" | "a" | "my" | "our" | "" | "in") || matches!(text(1), "" | "of") =>
        {
            return None;
        }
        _ => {}
    }
    if let Some(n) = ordinal(text(0)) {
        return (text(0) != "first").then_some((n, 1));
    }
    if let Some(by) = multiplier(text(0)).filter(|_| text(0).len() > 2 && text(0) != "grand") {
        return Some((by, 1));
    }
    let first = number_word(text(0))?;
    if first >= 20.0
        && let Some(ones) =
            number_word(text(1)).or_else(|| ordinal(text(1))).filter(|n| (1.0..10.0).contains(n))
    {
        return Some((first + ones, 2));
    }
    if text(1) == "point"
        && let Some(tenths) = number_word(text(2)).filter(|n| *n < 10.0)
    {
        return Some((first + tenths / 10.0, 3));
    }
    Some((first, 1))
}

enum Digits {
    /// A number and its digits behind the point.
    Value(f64, u8),
    /// A time of day in minutes.
    Clock(f64),
    /// Already written out: a date, a ratio, a version.
    Done,
}

fn digits(text: &str, out: &mut Vec<Quantity>) -> Option<Digits> {
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
            return Some(Digits::Value(a / b, 4));
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
        out.extend(text.split(':').filter_map(plain).map(Quantity::plain));
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
