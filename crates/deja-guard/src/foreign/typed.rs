//! Marks upon letters that people leave out: "como" for "cómo", "loeschen" for "löschen".

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

/// A letter without its mark, as it is typed.
fn bare(c: char) -> &'static [u8] {
    match c {
        'á' | 'à' | 'â' | 'ã' => b"a",
        'é' | 'è' | 'ê' | 'ë' => b"e",
        'í' | 'ì' | 'î' | 'ï' => b"i",
        'ó' | 'ò' | 'ô' | 'õ' => b"o",
        'ú' | 'ù' | 'û' => b"u",
        'ç' => b"c",
        'ñ' => b"n",
        'ä' => b"ae",
        'ö' | 'œ' => b"oe",
        'ü' => b"ue",
        'ß' => b"ss",
        _ => b"",
    }
}

/// Whether a letter of `text` has such a mark.
pub(super) fn is_marked(text: &str) -> bool {
    text.chars().any(|c| !bare(c).is_empty() || c.is_uppercase() && !c.is_ascii())
}

/// `word`, in lower case, without its marks.
pub(super) fn unmarked(word: &str) -> String {
    let mut plain = String::with_capacity(word.len() + 2);
    for c in word.chars() {
        match bare(c) {
            [] => plain.push(c),
            letters => plain.extend(letters.iter().copied().map(char::from)),
        }
    }
    plain
}

/// Whether both are one word, of which one is typed without marks. The mark on a last letter makes another word, but of a name.
pub(super) fn same(x: &str, y: &str, capital: bool) -> bool {
    let ends = |word: &str| word.chars().next_back().is_some_and(|c| !bare(c).is_empty() && c != 'ß');
    let free = |word: &str| capital || !ends(word) || ENDED.contains(&word);
    let begin = |word: &str| word.bytes().next().filter(u8::is_ascii);
    let other = matches!((begin(x), begin(y)), (Some(p), Some(q)) if p != q);
    !(other || x.is_ascii() && y.is_ascii()) && free(x) && free(y) && unmarked(x) == unmarked(y)
}
