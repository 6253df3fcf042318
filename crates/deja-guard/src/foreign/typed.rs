//! Marks upon letters that people leave out: "como" for "cómo", "loeschen" for "löschen".

use super::Token;
use crate::literal::bare;

/// Words that another one is without the mark on their last letter, and which nobody means by the other. "Compró" is no "compro".
const ENDED: [&str; 29] = [
    "się", "qué", "está", "esté", "é", "è", "à", "où", "até", "você", "perché", "perchè", "più", "può",
    "già", "così", "città", "università", "qualità", "porqué", "café", "sofá", "bebé", "bebê", "não", "são",
    "pão", "avião", "cartão",
];

/// Letters that are typed without their mark.
const MARKED: &str = "áàâãéèêëíìîïóòôõúùûçñąćęłńśźżğış";
/// Those of them that make another word of none where they end it.
const FREE_ENDS: &str = "ćłńśźż";
/// Letters that are typed as two.
const SPELT: &str = "äöœüß";

fn marked(c: char) -> bool {
    MARKED.contains(c) || SPELT.contains(c)
}

/// Whether a letter of `text` has such a mark.
pub(super) fn is_marked(text: &str) -> bool {
    text.chars().any(|c| marked(c) || c.is_uppercase() && !c.is_ascii())
}

/// `word`, in lower case, without its marks, as it is typed.
pub(super) fn unmarked(word: &str) -> String {
    let mut plain = String::with_capacity(word.len() + 2);
    for c in word.chars() {
        match c {
            'ä' => plain.push_str("ae"),
            'ö' | 'œ' => plain.push_str("oe"),
            'ü' => plain.push_str("ue"),
            'ß' => plain.push_str("ss"),
            'ı' => plain.push('i'),
            'ł' => plain.push('l'),
            _ if MARKED.contains(c) => plain.push(bare(c)),
            _ => plain.push(c),
        }
    }
    plain
}

/// `word` in small letters as the tables of phrases have it: without marks, and with one letter for those that are spelt as two.
pub(super) fn bare_word(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    for c in word.chars().flat_map(char::to_lowercase).map(bare) {
        match c {
            'e' if plain.ends_with(['a', 'o', 'u']) => {}
            'ß' => plain.push_str("ss"),
            'œ' => plain.push('o'),
            'ё' => plain.push('е'),
            'ı' => plain.push('i'),
            'ł' => plain.push('l'),
            '\u{300}'..='\u{36f}' => {}
            _ => plain.push(c),
        }
    }
    plain
}

/// Whether a Polish word of `plain` lacks a mark inside that one of `words` has: then those at the end of words are lacking too.
pub(super) fn polish(words: &[Token], plain: &[Token]) -> bool {
    let inside = |word: &str| {
        let last = word.char_indices().next_back().map_or(0, |(at, _)| at);
        word[..last].contains(['ą', 'ć', 'ę', 'ł', 'ń', 'ś', 'ź', 'ż'])
            || word.ends_with(['ł', 'ć', 'ś', 'ń', 'ź', 'ż'])
    };
    words
        .iter()
        .filter(|word| inside(&word.text))
        .any(|word| plain.iter().any(|other| other.text == unmarked(&word.text)))
}

/// Whether both are one word, of which one is typed without marks. The mark on a last letter makes another word, but of a name.
pub(super) fn same(x: &str, y: &str, capital: bool, turkish: bool, polish: bool) -> bool {
    let ends = |word: &str| {
        word.chars().next_back().is_some_and(|c| {
            marked(c) && c != 'ß' && !turkish && !FREE_ENDS.contains(c) && !(polish && matches!(c, 'ę' | 'ą'))
        })
    };
    let free = |word: &str| capital || !ends(word) || ENDED.contains(&word);
    let begin = |word: &str| word.bytes().next().filter(u8::is_ascii);
    let other = matches!((begin(x), begin(y)), (Some(p), Some(q)) if p != q);
    !(other || x.is_ascii() && y.is_ascii())
        && free(x)
        && free(y)
        && if turkish { bare_word(x) == bare_word(y) } else { unmarked(x) == unmarked(y) }
}
