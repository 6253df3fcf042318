//! Pairs the words of two prompts: the same word, a synonym, a typing error, a derived form, an abbreviation.

use crate::lexicon::{class, lexicon, share, stem};
use crate::prompt::{Prompt, Word};

/// How two words were found to say the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Link {
    Same,
    Synonym,
    Typo,
    Derived,
    Abbreviated,
    /// WordNet's first sense only.
    Related,
    /// One negates the other by a prefix: healthy and unhealthy.
    Negated,
}

/// The pairing of the content words of two prompts.
pub(crate) struct Alignment {
    /// Indices into the words of both, ordered by the first.
    pub(crate) pairs: Vec<(usize, usize, Link)>,
    pub(crate) left: Vec<usize>,
    pub(crate) right: Vec<usize>,
}

impl Alignment {
    pub(crate) fn count(&self, link: Link) -> usize {
        self.pairs.iter().filter(|(_, _, l)| *l == link).count()
    }
}

/// Pairs the words of `a` and `b`, the surest links first.
pub(crate) fn align(a: &Prompt, b: &Prompt) -> Alignment {
    let mut left: Vec<usize> = (0..a.words.len()).collect();
    let mut right: Vec<usize> = (0..b.words.len()).collect();
    let mut pairs = Vec::with_capacity(left.len());
    for link in [Link::Same, Link::Synonym, Link::Typo, Link::Derived, Link::Related, Link::Negated] {
        if left.is_empty() || right.is_empty() {
            break;
        }
        left.retain(|&i| {
            let found = right.iter().position(|&j| linked(&a.words[i], &b.words[j], link));
            if let Some(at) = found {
                pairs.push((i, right.remove(at), link));
            }
            found.is_none()
        });
    }
    abbreviations(a, b, &mut left, &mut right, &mut pairs, false);
    abbreviations(b, a, &mut right, &mut left, &mut pairs, true);
    // Among many words that have no counterpart a little word says nothing.
    if left.len() + right.len() <= 3 {
        left.retain(|word| !said_little(a, &a.words[*word], b));
        right.retain(|word| !said_little(b, &b.words[*word], a));
    }
    pairs.sort_unstable_by_key(|(i, ..)| *i);
    Alignment { pairs, left, right }
}

/// Whether the other prompt says with a little word what this word says, and the word's own prompt does not have that one:
/// "someone" for "somebody", "about" for "roughly".
fn said_little(prompt: &Prompt, word: &Word, other: &Prompt) -> bool {
    let groups = lexicon().groups(&word.stem);
    let says =
        |little: &String| !prompt.function.contains(little) && share(groups, lexicon().groups(&stem(little)));
    !groups.is_empty() && other.function.iter().any(says)
}

fn linked(x: &Word, y: &Word, link: Link) -> bool {
    match link {
        Link::Same => x.stem == y.stem,
        Link::Synonym => synonyms(x, y),
        Link::Typo => typo(x, y),
        Link::Derived => derived(x, y),
        Link::Related => lexicon().related(&x.stem, &y.stem),
        Link::Negated => x.negates.as_ref() == Some(&y.stem) || y.negates.as_ref() == Some(&x.stem),
        Link::Abbreviated => false,
    }
}

fn synonyms(x: &Word, y: &Word) -> bool {
    share(lexicon().groups(&x.stem), lexicon().groups(&y.stem))
}

/// One error in a word of four letters, two from seven on, and not both are words.
fn typo(x: &Word, y: &Word) -> bool {
    let (a, b) = (x.text.as_bytes(), y.text.as_bytes());
    if x.code || y.code || a.len().min(b.len()) < 3 || a.len().abs_diff(b.len()) > 2 || (x.known && y.known) {
        return false;
    }
    let swapped = a.len() > 3 && a[0] == b[1] && a[1] == b[0];
    // "CEO" and "CTO"
    if a.len() == 3 && b.len() == 3 && !(a[1] == b[2] && a[2] == b[1]) {
        return false;
    }
    if a[0] != b[0] && !swapped {
        return false;
    }
    let shorter = a.len().min(b.len());
    // Two names that no list knows differ on purpose more often than by error.
    let limit = match (x.known || y.known, shorter) {
        (true, 4..7) => 1 + usize::from(shorter > 5),
        (true, 7..) => 2,
        (true, 3) | (false, 6..) => 1,
        _ => 0,
    };
    limit > 0 && distance(a, b, limit) <= limit && !opposite(x, y) && !renamed(x, y)
}

/// Whether two names of one length are two by the one letter that they differ in. One name in two spellings differs in letters
/// that sound alike or lie side by side on the keyboard, or in a vowel beside another one ("Qaeda", "Qaida").
pub(crate) fn renamed(x: &Word, y: &Word) -> bool {
    const ALIKE: &str = "qwertyuiop asdfghjkl zxcvbnm sz cs ck vw fv gj iy";
    let (a, b) = (x.text.as_bytes(), y.text.as_bytes());
    let mut differ = (0..a.len().min(b.len())).filter(|at| a[*at] != b[*at]);
    let (Some(at), None) = (differ.next(), differ.next()) else { return false };
    let (p, q) = (char::from(a[at]), char::from(b[at]));
    let vowel = |c: char| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u' | 'y');
    let near = |at: Option<usize>| at.and_then(|at| a.get(at)).is_some_and(|c| vowel(char::from(*c)));
    let alike = |x: char, y: char| ALIKE.contains(&String::from_iter([x, y]));
    let beside = vowel(p) && vowel(q) && (near(at.checked_sub(1)) || near(Some(at + 1)));
    let one = beside || alike(p, q) || alike(q, p);
    let letters = p.is_ascii_lowercase() && q.is_ascii_lowercase() && a.len() == b.len();
    x.name && y.name && letters && !one
}

/// Damerau-Levenshtein distance of two short words (neighbours exchanged count one).
fn distance(a: &[u8], b: &[u8], limit: usize) -> usize {
    if a.len() > 32 || b.len() > 32 {
        return limit + 1;
    }
    let mut rows = [[0usize; 33]; 3];
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        let (now, last, older) = (i % 3, (i + 2) % 3, (i + 1) % 3);
        rows[now][0] = i;
        for j in 1..=b.len() {
            let mut best = (rows[last][j] + 1)
                .min(rows[now][j - 1] + 1)
                .min(rows[last][j - 1] + usize::from(a[i - 1] != b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[older][j - 2] + 1);
            }
            rows[now][j] = best;
        }
    }
    rows[a.len() % 3][b.len()]
}

/// Endings that make another kind of word of the same meaning.
const ENDINGS: &[&str] = &[
    "", "s", "e", "y", "er", "or", "ion", "ation", "ition", "ment", "able", "ible", "ity", "al", "ly", "ily",
    "ing", "ance", "ence", "ful", "ness", "ive", "ic", "ical", "ed", "en", "t", "th", "ure", "age", "ous",
    "ish", "ize", "ise", "ian", "cy", "ty", "ry", "es", "ant", "ent", "ication", "ification", "ies", "ied",
    "iness", "sion", "tion", "d", "ally",
];

/// The same root with other endings: tax and taxable, valid and validity.
fn derived(x: &Word, y: &Word) -> bool {
    if x.code || y.code || (x.name && y.name) {
        return false;
    }
    let common = x.text.bytes().zip(y.text.bytes()).take_while(|(a, b)| a == b).count();
    if common < 3 || !x.text.is_char_boundary(common) || !y.text.is_char_boundary(common) {
        return false;
    }
    let (p, q) = (&x.text[common..], &y.text[common..]);
    let whole = p.is_empty() || q.is_empty() || x.stem.len() <= common || y.stem.len() <= common;
    (common >= 5 || (whole && common >= 3 && common * 2 >= x.text.len().min(y.text.len())))
        && ENDINGS.contains(&p)
        && ENDINGS.contains(&q)
        && !opposite(x, y)
}

/// Initials of following words ("hr", "human resources") and words written as one or as two.
fn abbreviations(
    a: &Prompt,
    b: &Prompt,
    left: &mut Vec<usize>,
    right: &mut Vec<usize>,
    pairs: &mut Vec<(usize, usize, Link)>,
    turned: bool,
) {
    left.retain(|&i| {
        let short = &a.words[i];
        let n = short.text.chars().count();
        let mut taken = None;
        for (k, &j) in right.iter().enumerate() {
            let run: Vec<&Word> = right[k..]
                .iter()
                .zip(j..)
                .take_while(|(at, want)| **at == *want)
                .map(|(at, _)| &b.words[*at])
                .collect();
            let initials = (2..=5).contains(&n)
                && run.len() >= n
                && run.iter().zip(short.text.chars()).all(|(w, c)| w.text.starts_with(c));
            let compound =
                run.len() >= 2 && short.text.strip_prefix(run[0].text.as_str()) == Some(run[1].text.as_str());
            // "NaHCO3" no, but "prod" for "production", "temp" for "temperature".
            let cut = n >= 3
                && short.text.len() + 3 <= run[0].text.len()
                && run[0].text.starts_with(&short.text)
                && !short.known;
            let numbered = short.code && numeronym(&short.text, &run[0].text);
            if initials || compound || cut || numbered {
                taken = Some((k, if initials { n } else { 1 + usize::from(compound) }));
                break;
            }
        }
        let Some((k, count)) = taken else { return true };
        let pair = if turned { (right[k], i, Link::Abbreviated) } else { (i, right[k], Link::Abbreviated) };
        pairs.push(pair);
        right.drain(k..k + count);
        false
    });
}

/// "K8s" for "kubernetes": the first letter, how many are left out, and the last one.
fn numeronym(short: &str, long: &str) -> bool {
    let (Some(first), Some(last)) = (long.chars().next(), long.chars().next_back()) else { return false };
    long.is_ascii() && long.len() > 3 && short == format!("{first}{}{last}", long.len() - 2)
}

/// Opposite by the lists or by form: hot and cold, payer and payee.
pub(crate) fn opposite(x: &Word, y: &Word) -> bool {
    lexicon().opposite(&x.stem, &y.stem)
        || parties(x, y)
        || parties(y, x)
        || contrary(&x.text, &y.text)
        || x.known && y.known && (reversed(&x.text, &y.text) || reversed(&y.text, &x.text))
}

/// The fewest letters of what prefixes and endings are put to.
const ROOT: usize = 4;

/// Whether the words are one but for a prefix of theirs that is the contrary of the other: "overpaid" and "underpaid".
fn contrary(word: &str, other: &str) -> bool {
    const PREFIXES: [(&str, &str); 12] = [
        ("over", "under"),
        ("hyper", "hypo"),
        ("pre", "post"),
        ("inter", "intra"),
        ("mono", "poly"),
        ("up", "down"),
        ("in", "ex"),
        ("im", "ex"),
        ("in", "out"),
        ("in", "de"),
        ("pro", "anti"),
        ("micro", "macro"),
    ];
    let facing = |x: &str, y: &str| {
        PREFIXES.iter().any(|(one, other)| {
            x.strip_prefix(one).is_some_and(|root| root.len() >= ROOT && y.strip_prefix(other) == Some(root))
        })
    };
    word.as_bytes().last() == other.as_bytes().last() && (facing(word, other) || facing(other, word))
}

/// Whether `other` turns `word` round by its form: "hydration" and "dehydration", "careful" and "careless". Where all else is
/// the same it matters little that "cover" and "discover" do not.
fn reversed(word: &str, other: &str) -> bool {
    const PREFIXES: [&str; 8] = ["un", "in", "im", "ir", "il", "dis", "non", "de"];
    let prefixed =
        word.len() >= ROOT && other.strip_suffix(word).is_some_and(|prefix| PREFIXES.contains(&prefix));
    let root = other.strip_suffix("less").unwrap_or_default();
    let ends = |end: &str| matches!(end, "" | "s" | "d" | "ed" | "ful" | "y");
    prefixed || root.len() >= ROOT && word.strip_prefix(root).is_some_and(ends)
}

/// The two parties of a deal: lessor and lessee, payer and payee.
fn parties(agent: &Word, other: &Word) -> bool {
    let one = |word: &'_ Word| word.text.trim_end_matches('s').len();
    let Some(root) = other.text[..one(other)].strip_suffix("ee").filter(|root| root.len() > 2) else {
        return false;
    };
    let end = agent.text[..one(agent)].strip_prefix(root);
    end.is_some_and(|end| matches!(end, "er" | "or" | "rer"))
}

/// Whether a word says little on its own: "process", "option".
pub(crate) fn light(word: &Word) -> bool {
    word.is(class::LIGHT) && !word.name
}
