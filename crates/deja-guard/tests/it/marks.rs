//! Marks upon letters. The tokenizer drops them, so the vectors of two texts that differ in them are equal.

use std::collections::HashMap;

use deja_guard::{Prompt, Strictness, judge};
use unicode_normalization::UnicodeNormalization as _;

use crate::reasons::all_passed;

#[track_caller]
fn refused(a: &str, b: &str) {
    let (p, q) = (Prompt::read(a), Prompt::read(b));
    for strictness in [Strictness::Standard, Strictness::Strict] {
        let verdict = judge(&p, &q, 1.0, 0.85, strictness);
        assert!(verdict.refused.is_some(), "{a} / {b}, {strictness:?}: {verdict:?}");
    }
}

#[test]
fn each_mark_upon_a_single_letter_or_a_sign_counts() {
    for base in ('a'..='z').chain(['=', '∈', '⊂', '5']) {
        let bare = format!("What does {base} mean?");
        let mut before = bare.clone();
        for mark in '\u{300}'..='\u{36f}' {
            let marked = format!("What does {base}{mark} mean?");
            for other in [&bare, &before] {
                if !marked.nfc().eq(other.nfc()) {
                    refused(&marked, other);
                }
            }
            before = marked;
        }
    }
}

#[test]
fn letters_with_marks_that_no_letter_has_are_others() {
    for (a, b) in [
        ("How do I compute the variance of x̄?", "How do I compute the variance of x?"),
        ("What does p̂ mean in statistics?", "What does p̄ mean in statistics?"),
        ("What is the unit of V̇?", "What is the unit of V?"),
        ("How do I convert Q̇ to watts?", "How do I convert Q to watts?"),
        ("What does x ∈\u{338} A mean?", "What does x ∈ A mean?"),
    ] {
        refused(a, b);
    }
}

/// The third tone of pinyin, Vietnamese, the dots of physics.
#[test]
fn words_with_other_accents_are_others() {
    for (a, b) in [
        ("Give me an example sentence with mǎi", "Give me an example sentence with mài"),
        ("What does 'wǒ xiǎng mǎi' mean?", "What does 'wǒ xiǎng mài' mean?"),
        ("What does bạn mean in Vietnamese?", "What does bận mean in Vietnamese?"),
        ("What is the Chinese character for shǔ?", "What is the Chinese character for shù?"),
        ("What does the Vietnamese word đường mean?", "What does the Vietnamese word đương mean?"),
        ("What are the units of ṁ?", "What are the units of m?"),
        ("What is ṁ in thermodynamics?", "What is m in thermodynamics?"),
        ("Tôi muốn mua bàn ở đâu?", "Tôi muốn mua bán ở đâu?"),
    ] {
        refused(a, b);
        let [a, b] = [a, b].map(|text| text.nfd().collect::<String>());
        refused(&a, &b);
    }
}

/// Each Latin letter with marks that Unicode has, beside the others of the same base.
#[test]
fn no_two_letters_of_one_base_are_the_same() {
    let mut of_base: HashMap<char, Vec<char>> = HashMap::new();
    for c in ('\u{c0}'..='\u{24f}').chain('\u{1e00}'..='\u{1ef9}') {
        let mut parts = [c].into_iter().nfd();
        if let Some(base) = parts.next().filter(|base| *base != c && c.is_lowercase() && base.is_ascii()) {
            of_base.entry(base).or_default().push(c);
        }
    }
    assert!(of_base.values().map(Vec::len).sum::<usize>() > 200);
    for letters in of_base.values() {
        for two in letters.windows(2) {
            refused(&format!("What does b{}n mean?", two[0]), &format!("What does b{}n mean?", two[1]));
        }
    }
}

/// A letter and its mark are one character or two: both are the same text.
#[test]
fn how_a_letter_is_encoded_makes_no_difference() {
    for text in [
        "Where is the café?",
        "¿Cómo cambio mi contraseña?",
        "Как поменять мой пароль?",
        "これはがですか",
        "한국어 질문",
    ] {
        all_passed(&[(text, &text.nfd().collect::<String>())], 1.0);
    }
}

/// "பல்" is a tooth, "பல" is many.
#[test]
fn viramas_and_nuktas_make_other_words() {
    for (a, b) in [
        ("எனக்கு பல் வேண்டும்", "எனக்கு பல வேண்டும்"),
        ("கல் என்றால் என்ன?", "கல என்றால் என்ன?"),
        ("പല് രോഗം എന്താണ്?", "പല രോഗം എന്താണ്?"),
        ("কল্ কি?", "কল কি?"),
        ("क़लम क्या है?", "कलम क्या है?"),
    ] {
        refused(a, b);
    }
    // Each with a letter of its script.
    let marks = [
        ('क', '\u{94d}'),
        ('क', '\u{93c}'),
        ('ক', '\u{9cd}'),
        ('ক', '\u{9bc}'),
        ('ਕ', '\u{a4d}'),
        ('ਕ', '\u{a3c}'),
        ('ક', '\u{acd}'),
        ('ક', '\u{abc}'),
        ('କ', '\u{b4d}'),
        ('କ', '\u{b3c}'),
        ('க', '\u{bcd}'),
        ('క', '\u{c4d}'),
        ('ಕ', '\u{ccd}'),
        ('ക', '\u{d4d}'),
        ('ක', '\u{dca}'),
        ('က', '\u{1039}'),
        ('က', '\u{103a}'),
    ];
    for (letter, mark) in marks {
        refused(&format!("{letter}{letter}{mark} {letter}?"), &format!("{letter}{letter} {letter}?"));
    }
}
