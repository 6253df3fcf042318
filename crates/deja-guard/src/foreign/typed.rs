//! Marks upon letters that people leave out: "como" for "cómo", "loeschen" for "löschen".

use crate::literal::bare;

/// Words that another one is without the mark on their last letter, and which nobody means by the other. "Compró" is no "compro".
const ENDED: [&str; 28] = [
    "qué",
    "está",
    "esté",
    "é",
    "è",
    "à",
    "où",
    "até",
    "você",
    "perché",
    "perchè",
    "più",
    "può",
    "già",
    "così",
    "città",
    "università",
    "qualità",
    "porqué",
    "café",
    "sofá",
    "bebé",
    "bebê",
    "não",
    "são",
    "pão",
    "avião",
    "cartão",
];

/// Letters that are typed without their mark.
const MARKED: &str = "áàâãéèêëíìîïóòôõúùûçñ";
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
            _ if MARKED.contains(c) => plain.push(bare(c)),
            _ => plain.push(c),
        }
    }
    plain
}

/// Whether both are one word, of which one is typed without marks. The mark on a last letter makes another word, but of a name.
pub(super) fn same(x: &str, y: &str, capital: bool) -> bool {
    let ends = |word: &str| word.chars().next_back().is_some_and(|c| marked(c) && c != 'ß');
    let free = |word: &str| capital || !ends(word) || ENDED.contains(&word);
    let begin = |word: &str| word.bytes().next().filter(u8::is_ascii);
    let other = matches!((begin(x), begin(y)), (Some(p), Some(q)) if p != q);
    !(other || x.is_ascii() && y.is_ascii()) && free(x) && free(y) && unmarked(x) == unmarked(y)
}
