//! Contractions, written out: "can't" is "can not".

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::Piece;

/// Contractions written as one word, and what they stand for.
const WHOLE: &[(&str, &[&str])] = &[
    ("can't", &["can", "n't"]),
    ("cannot", &["can", "not"]),
    ("cant", &["can", "n't"]),
    ("won't", &["will", "n't"]),
    ("wont", &["will", "n't"]),
    ("shan't", &["shall", "n't"]),
    ("whats", &["what", "is"]),
    ("wats", &["what", "is"]),
    ("wat", &["what"]),
    ("hows", &["how", "is"]),
    ("wheres", &["where", "is"]),
    ("whos", &["who", "is"]),
    ("whens", &["when", "is"]),
    ("im", &["i", "am"]),
    ("ive", &["i", "have"]),
    ("dont", &["do", "n't"]),
    ("doesnt", &["does", "n't"]),
    ("didnt", &["did", "n't"]),
    ("isnt", &["is", "n't"]),
    ("arent", &["are", "n't"]),
    ("wasnt", &["was", "n't"]),
    ("werent", &["were", "n't"]),
    ("havent", &["have", "n't"]),
    ("hasnt", &["has", "n't"]),
    ("shouldnt", &["should", "n't"]),
    ("couldnt", &["could", "n't"]),
    ("wouldnt", &["would", "n't"]),
    ("wanna", &["want", "to"]),
    ("gonna", &["going", "to"]),
    ("gotta", &["have", "to"]),
    ("u", &["you"]),
    ("ur", &["your"]),
    ("r", &["are"]),
    ("pls", &["please"]),
    ("teh", &["the"]),
    ("tho", &["though"]),
    ("thru", &["through"]),
    ("cuz", &["because"]),
    ("coz", &["because"]),
    ("bc", &["because"]),
    ("bcoz", &["because"]),
    ("w/", &["with"]),
    ("lets", &["let", "us"]),
    ("gimme", &["give", "me"]),
    ("lemme", &["let", "me"]),
    ("wen", &["when"]),
    ("hwo", &["how"]),
    ("nd", &["and"]),
    ("thx", &["thanks"]),
    ("theres", &["there", "is"]),
    ("thats", &["that", "is"]),
    // "I.e.", which is read as one word.
    ("ie", &["that", "is"]),
];

static WRITTEN_OUT: LazyLock<FxHashMap<&str, &[&str]>> = LazyLock::new(|| WHOLE.iter().copied().collect());

/// Words after which `'s` stands for `is`.
const IS_AFTER: &[&str] = &[
    "what", "who", "where", "how", "when", "why", "which", "it", "that", "there", "he", "she", "here",
    "everything", "something",
];

/// Pushes a piece, written out if it is a contraction.
pub(super) fn expand(out: &mut Vec<Piece>, piece: Piece) {
    let word = piece.text.as_str();
    if let Some(parts) = WRITTEN_OUT.get(word) {
        // "R", "U" and "IE" in capitals are names of their own, "2nd" is no "and".
        let is_name = piece.upper || word.len() == 1 && piece.name;
        if !(matches!(word, "r" | "u" | "ie") && is_name || word == "nd" && piece.glued) {
            for (i, part) in parts.iter().enumerate() {
                let mut one = Piece::word(if *part == "n't" { "not" } else { part }, &piece);
                one.contracted = *part == "n't";
                one.broken = i == 0 && piece.broken;
                out.push(one);
            }
            return;
        }
    }
    let Some(at) = word.find('\'') else {
        out.push(piece);
        return;
    };
    let (head, tail) = word.split_at(at);
    let (head, tail) = match tail {
        "'t" if head.ends_with('n') => (&head[..head.len() - 1], "not"),
        "'re" => (head, "are"),
        "'ve" => (head, "have"),
        "'ll" => (head, "will"),
        "'m" => (head, "am"),
        "'d" => (head, "would"),
        "'s" if head == "let" => (head, "us"),
        "'s" if IS_AFTER.contains(&head) => (head, "is"),
        _ => (head, ""),
    };
    let mut first = piece.clone();
    head.clone_into(&mut first.text);
    let contracted = tail == "not";
    let mut second = Piece::word(tail, &piece);
    second.contracted = contracted;
    if !first.text.is_empty() {
        out.push(first);
    }
    if !tail.is_empty() {
        out.push(second);
    }
}
