//! Numbers in words of other languages.

use crate::reasons::{all_passed, all_refused};

/// One question in each language, with a number in digits and in words.
fn pair(language: &str, words: &str, digits: u32) -> (String, String) {
    let question = match language {
        "de" => "Was kosten {} Eier?",
        "es" => "¿Cuánto cuestan {} huevos?",
        "fr" => "Combien coûtent {} œufs ?",
        "pt" => "Quanto custam {} ovos?",
        "it" => "Quanto costano {} uova?",
        "nl" => "Wat kosten {} eieren?",
        "pl" => "Ile kosztuje {} jajek?",
        "tr" => "{} yumurta kaç lira?",
        _ => "Сколько стоят {} яиц?",
    };
    (question.replace("{}", &digits.to_string()), question.replace("{}", words))
}

#[test]
fn words_are_the_number_that_they_say() {
    let numerals = [
        ("de", "fünfundzwanzig", 25),
        ("de", "einundzwanzig", 21),
        ("de", "zweihundert", 200),
        ("de", "hundertfünf", 105),
        ("de", "dreihundertzwölf", 312),
        ("es", "treinta y cinco", 35),
        ("es", "ciento tres", 103),
        ("es", "doscientos cincuenta", 250),
        ("es", "dos mil quinientos", 2500),
        ("es", "dos mil veinte", 2020),
        ("fr", "quatre-vingts", 80),
        ("fr", "quatre-vingt-treize", 93),
        ("fr", "soixante-douze", 72),
        ("fr", "cinq cent vingt", 520),
        ("fr", "trois mille deux cents", 3200),
        ("pt", "duzentos e cinquenta", 250),
        ("it", "ventuno", 21),
        ("it", "ventisei", 26),
        ("it", "cinquantotto", 58),
        ("nl", "eenentwintig", 21),
        ("nl", "driehonderdvijf", 305),
        ("pl", "dwadzieścia pięć", 25),
        ("pl", "dwa tysiące", 2000),
        ("tr", "iki yüz elli", 250),
        ("tr", "üç bin", 3000),
        ("ru", "две тысячи пятьсот", 2500),
    ];
    for (language, words, digits) in numerals {
        let (a, b) = pair(language, words, digits);
        all_passed(&[(&*a, &*b)], 0.92);
        let (a, b) = pair(language, words, digits + 1);
        all_refused(&[(&*a, &*b)], 0.92);
    }
}

/// Two numbers beside each other, and what looks like a numeral.
#[test]
fn words_that_make_no_numeral_are_not_put_together() {
    let no_numerals = [
        ("de", "zwei drei", 5),
        ("de", "fünfundzehn", 15),
        ("de", "zehnundzwanzig", 30),
        ("es", "veinte diez", 30),
        ("es", "mil doscientos mil", 200_000),
        ("fr", "dix deux", 12),
        ("fr", "vingt douze", 32),
        ("fr", "quatre et vingt", 80),
        ("fr", "cinq vingt", 80),
        ("it", "ventidieci", 30),
        ("tr", "on yüz", 1000),
    ];
    for (language, words, digits) in no_numerals {
        let (a, b) = pair(language, words, digits);
        all_refused(&[(&*a, &*b)], 0.92);
    }
}
