//! What sets two prompts apart that have the same pieces of code: their order, what joins them, a keyword more.

use super::bare::words;
use super::{Code, MOST, joins};

/// How far from "and" a condition shows that it is one: "age > 30 and the city = Rome".
const CONDITION: usize = 3;

impl Code {
    /// "Replace f() with g()" has the words of "replace g() with f()".
    pub(super) fn bare_turned(&self, other: &Self) -> bool {
        if self.bare == other.bare || self.bare.len() != other.bare.len() || self.bare.len() > MOST {
            return false;
        }
        let sorted = |code: &'_ Self| -> Vec<String> {
            let mut pieces = code.bare.clone();
            pieces.sort_unstable();
            pieces
        };
        // What stands around the pieces, and the pieces by their places.
        let placed = |code: &Self| {
            let text = code.text.to_lowercase();
            let (mut around, mut placed, mut from, mut place) = (String::new(), Vec::new(), 0, 0);
            for piece in &code.bare {
                let at = from + text[from..].find(piece.as_str())?;
                place += usize::from(!joins(text[from..at].trim_start_matches("()")));
                placed.push((place, piece.clone()));
                around.extend([&text[from..at], "\0"]);
                from = at + piece.len();
            }
            around.push_str(&text[from..]);
            placed.sort_unstable();
            Some((around, placed))
        };
        sorted(self) == sorted(other)
            && matches!((placed(self), placed(other)), (Some((x, p)), Some((y, q))) if x == y && p != q)
    }

    /// "a = 1 and b = 2", "a = 1 or b = 2": what stands between conditions.
    pub(super) fn joined_otherwise(&self, other: &Self) -> bool {
        let compares = |code: &Self| code.text.contains(['=', '<', '>']);
        if self.bare != other.bare || !(compares(self) && compares(other)) {
            return false;
        }
        let joints = |code: &'_ Self| -> Vec<&'static str> {
            let words: Vec<&str> = code.text.split_whitespace().collect();
            let compares = |words: &[&str]| words.iter().any(|word| word.contains(['=', '<', '>']));
            let joint = |at: usize| {
                let joint = ["and", "or"].into_iter().find(|joint| words[at].eq_ignore_ascii_case(joint))?;
                let near = |from: usize, to: usize| compares(&words[from..to.min(words.len())]);
                (near(at.saturating_sub(CONDITION), at) && near(at + 1, at + 1 + CONDITION)).then_some(joint)
            };
            (0..words.len()).filter_map(joint).collect()
        };
        let (x, y) = (joints(self), joints(other));
        x.len() == y.len() && x != y
    }

    /// "UNION" and "UNION ALL": a keyword that one has more.
    pub(super) fn qualified(&self, other: &Self) -> bool {
        const QUALIFIERS: [&str; 6] = ["all", "distinct", "not", "outer", "desc", "cascade"];
        let has = |code: &Self| !code.capitals.is_empty();
        let more = |x: &Self, y: &Self| {
            let said = |qualifier: &&&str| words(&y.text).any(|word| word == **qualifier);
            let mine =
                QUALIFIERS.iter().filter(|qualifier| x.capitals.iter().any(|word| word == **qualifier));
            mine.clone().any(|qualifier| !said(&qualifier))
        };
        has(self) && has(other) && (more(self, other) || more(other, self))
    }
}
