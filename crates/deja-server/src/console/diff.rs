//! What differs between two prompts, word by word.

/// Words of a prompt that are compared; what is behind them counts as the same.
const MOST: usize = 400;

/// A piece of a text, and whether the other text lacks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) differs: bool,
}

/// Both texts in pieces: what is in both in the same order is the longest common sequence of words.
pub(super) fn pieces(one: &str, other: &str) -> [Vec<Piece>; 2] {
    let (a, b) = (words(one), words(other));
    let common = lengths(&a, &b);
    let (mut i, mut j) = (0, 0);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && same(a[i], b[j]) {
            push(&mut left, a[i], false);
            push(&mut right, b[j], false);
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || i < a.len() && common[i + 1][j] >= common[i][j + 1] {
            push(&mut left, a[i], true);
            i += 1;
        } else {
            push(&mut right, b[j], true);
            j += 1;
        }
    }
    [left, right]
}

/// Words with the space behind them; the last one has all that is beyond the bound.
fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    if words.len() > MOST {
        let kept: usize = words[..MOST - 1].iter().map(|word| word.len()).sum();
        words.truncate(MOST - 1);
        words.push(&text[kept..]);
    }
    words
}

/// Case and the punctuation around a word are no difference.
fn same(one: &str, other: &str) -> bool {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let (a, b) = (bare(one), bare(other));
    if a.is_empty() && b.is_empty() { one.trim() == other.trim() } else { a == b }
}

/// How long the longest common sequence of the rests is, by where they begin.
fn lengths(a: &[&str], b: &[&str]) -> Vec<Vec<u16>> {
    let mut lengths = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i][j] = if same(a[i], b[j]) {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    lengths
}

/// Neighbours of one kind are one piece.
fn push(pieces: &mut Vec<Piece>, word: &str, differs: bool) {
    match pieces.last_mut() {
        Some(last) if last.differs == differs => last.text.push_str(word),
        _ => pieces.push(Piece { text: word.to_owned(), differs }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(one: &str, other: &str) -> [String; 2] {
        let told = |pieces: Vec<Piece>| -> String {
            let told = |piece: Piece| if piece.differs { format!("[{}]", piece.text) } else { piece.text };
            pieces.into_iter().map(told).collect()
        };
        pieces(one, other).map(told)
    }

    #[test]
    fn words_that_differ_are_marked() {
        for (one, other, told) in [
            (
                "How do I enable it?",
                "how do I disable it",
                ["How do I [enable ]it?", "how do I [disable ]it"],
            ),
            ("a b", "a b", ["a b", "a b"]),
            ("", "a", ["", "[a]"]),
            ("a x b c", "a b y c", ["a [x ]b c", "a b [y ]c"]),
            ("1 + 2", "1 - 2", ["1 [+ ]2", "1 [- ]2"]),
            ("größer  Ä", "Größer  ä!", ["größer  Ä", "Größer  ä!"]),
        ] {
            assert_eq!(marked(one, other), told, "{one} {other}");
        }
    }

    #[test]
    fn nothing_is_lost_of_long_texts() {
        let (one, other) = ("é ".repeat(1000), "é\n".repeat(999) + "x y");
        let [left, right] = pieces(&one, &other);
        let whole = |pieces: Vec<Piece>| pieces.into_iter().map(|piece| piece.text).collect::<String>();
        assert_eq!((whole(left), whole(right)), (one, other));
    }
}
