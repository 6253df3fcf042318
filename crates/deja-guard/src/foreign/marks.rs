//! Digits, signs and the names of units in any language.

use super::characters::unspaced;

/// How far the value beside a sign may be.
const SIGN_REACH: usize = 8;

/// The zeros of scripts that have digits of their own, each with the other nine behind it. Those beyond the first plane are
/// literal.
const ZEROS: &str = "٠۰߀०০੦૦୦௦౦೦൦෦๐໐༠၀႐០᠐᥆᧐᪀᪐᭐᮰᱀᱐꘠꣐꤀꧐꧰꩐꯰０";

/// A digit of any script, and the marks in its numbers, as the ASCII one; `c` otherwise.
pub(super) fn digit(c: char) -> char {
    match c {
        '٫' | '．' => return '.',
        '٬' => return ',',
        '٪' | '％' => return '%',
        _ => {}
    }
    if c.is_ascii() || !c.is_numeric() {
        return c;
    }
    let value = |zero: char| u32::from(c).checked_sub(u32::from(zero)).filter(|value| *value < 10);
    ZEROS.chars().find_map(value).and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
}

/// Whether a mark or a blank at `at` stands inside a number that began at `begin`.
pub(super) fn separator(chars: &[char], begin: usize, at: usize) -> bool {
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
pub(super) fn sign(chars: &[char], at: usize) -> Option<char> {
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
    // "a < b", not "and / or"
    let blank = |at: Option<usize>| {
        at.is_none_or(|at| chars.get(at).is_none_or(|c| !c.is_alphanumeric() || unspaced(*c)))
    };
    let space = |at: Option<usize>| at.and_then(|at| chars.get(at)) == Some(&' ');
    let letter = |at: Option<usize>| {
        at.and_then(|at| chars.get(at)).is_some_and(|c| c.is_alphabetic() && !unspaced(*c))
    };
    let letters = space(at.checked_sub(1))
        && space(Some(at + 1))
        && letter(at.checked_sub(2))
        && letter(Some(at + 2))
        && blank(at.checked_sub(3))
        && blank(Some(at + 3));
    if letters {
        return Some(said);
    }
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
pub(super) fn unit_sign(c: char) -> Option<&'static str> {
    Some(match c {
        '%' => "percent",
        '€' => "euro",
        '$' => "dollar",
        '£' => "pound",
        '¥' => "yen",
        _ => return None,
    })
}

/// The unit that a code before an amount stands for: "EUR 20".
pub(super) fn currency_code(word: &str) -> Option<&'static str> {
    Some(match word {
        "eur" => "euro",
        "usd" => "dollar",
        "gbp" => "pound",
        "jpy" => "yen",
        "chf" => "franc",
        _ => return None,
    })
}

/// The name in `quantity.rs` of a unit in another language.
pub(super) fn unit_name(word: &str) -> &str {
    match word {
        "dólar" | "dólares" => "dollar",
        "real" => "reais",
        "prozent" | "porcento" | "pourcent" => "percent",
        "zł" | "zl" | "złoty" | "złote" | "złotych" | "zlotych" | "pln" => "złoty",
        "руб" | "рубль" | "рубля" | "рублей" => "рубль",
        "tl" | "lira" | "lirası" => "lira",
        "gramm" | "gramos" | "gramo" | "gramas" | "grama" | "grammi" | "grammo" | "грамм" | "граммов"
        | "gramów" | "g" => "gram",
        "кг"
        | "килограмм"
        | "килограмма"
        | "килограммов"
        | "kilogramm"
        | "kilogramos"
        | "kilogramas"
        | "chili"
        | "chilo" => "kg",
        "litros" | "litro" | "litri" | "литр" | "литра" | "литров" => "litre",
        "metros" | "metro" | "metri" | "mètres" | "mètre" | "метр" | "метра" | "метров" => {
            "metre"
        }
        "kilómetros" | "quilômetros" | "quilómetros" | "chilometri" | "kilomètres" | "км" | "километров" => {
            "km"
        }
        "minuten" | "minutos" | "minuto" | "minuti" | "минут" | "минуты" | "минуту" | "minut" | "minuty"
        | "dakika" => "minute",
        "stunden" | "stunde" | "horas" | "hora" | "heures" | "heure" | "ore" | "uur" | "часов" | "часа"
        | "godzin" | "godziny" | "saat" => "hour",
        "tage" | "tagen" | "tag" | "días" | "dias" | "día" | "jours" | "jour" | "giorni" | "giorno"
        | "dagen" | "дней" | "дня" | "gün" => "day",
        _ => word,
    }
}
