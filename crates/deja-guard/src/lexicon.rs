//! The word lists, read once from the text files in `data/`.
//!
//! Their hash is fast and has no secret: the keys of a table are those of the data, so no text that is looked up adds a collision.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// Every list the guard reads words from.
pub(crate) struct Lexicon {
    /// Words of the vocabulary by frequency, the commonest first.
    rank: FxHashMap<&'static str, u32>,
    /// Numbers of the synonym groups a stem is in.
    groups: FxHashMap<String, Vec<u16>>,
    deeds: FxHashMap<String, Vec<u16>>,
    related: FxHashMap<String, Vec<String>>,
    opposites: FxHashMap<String, Vec<String>>,
    /// What is no opposite, and another thing where all else aligns.
    contrasts: FxHashMap<String, Vec<String>>,
    /// The classes of kinds that a stem is in, by number, and which kind of each it is.
    kinds: FxHashMap<String, Vec<(u16, u8)>>,
    /// The axes a stem lies on, by number: above 0 at one end, below at the other.
    axes: FxHashMap<String, Vec<i8>>,
    /// The stem of a negated word (`unhealthy`) and of the word it negates (`healthy`).
    negated: FxHashMap<String, String>,
    /// By the first word, then by the second, which is empty for a phrase of one.
    phrases: FxHashMap<&'static str, FxHashMap<&'static str, Vec<Phrase>>>,
    classes: FxHashMap<&'static str, u64>,
}

/// A word sequence and what it is rewritten to.
pub(crate) struct Phrase {
    pub(crate) from: Vec<&'static str>,
    pub(crate) to: Vec<&'static str>,
    /// Only at the start of a sentence.
    pub(crate) starts: bool,
}

macro_rules! classes {
    ($($name:ident = $bit:literal),* $(,)?) => {
        /// Classes of words: one bit each, named as in `data/classes.txt`. Contrast are noise and function words that have an opposite or a contrast.
        pub(crate) mod class {
            $(pub(crate) const $name: u64 = 1 << $bit;)*
            pub(super) const NAMES: &[(&str, u64)] = &[$((stringify!($name), $name)),*];
        }
    };
}
classes! {
    NOISE = 0, FUNCTION = 1, LIGHT = 2, GREETING = 3, POSSESSIVE = 4, SUBJECT = 5, OBJECT = 6, AUXILIARY = 7,
    PASSIVE = 8, PARTICIPLE = 9, ALL = 10, SOME = 11, NONE = 12, MOST = 13, ONLY = 14, EXCEPT = 15, LIMIT = 16,
    FIRST = 17, LAST = 18, SECOND = 19, AVERAGE = 20, COMPARATIVE = 21, SUPERLATIVE = 22, CONDITION = 23,
    POETIC = 24, TONE = 25, LANGUAGE = 26, AUDIENCE = 27, KIN = 28, REL = 29, COORDINATOR = 30, NEGATION = 31,
    PAST = 32, FUTURE = 33, SYMMETRIC = 34, CONVERSE = 35, ATTRIBUTE = 36, IDLE = 37, PREPOSITION = 38, COMMAND = 39,
    UNORDERED = 40, CONTRAST = 41, OFFICE = 42, WORDING = 43, VARIANT = 44, CARRIED = 45, GROUP = 46,
    CREATED = 47, NATIONAL = 48, GENERIC = 49, CASED = 50, ACRONYM = 51,
}

/// Prefixes that turn a word into its opposite.
const NEGATING: [&str; 7] = ["un", "in", "im", "ir", "il", "dis", "non"];

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::read);

/// The lists; read on first use.
pub(crate) fn lexicon() -> &'static Lexicon {
    &LEXICON
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The two words of each line, either of them first.
fn pairs(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    lines(text).filter_map(|line| line.split_once(' ')).flat_map(|(a, b)| [(a, b), (b, a)])
}

/// The stems of the first words, each with those of the words it is paired with.
fn by_stem(pairs: impl Iterator<Item = (&'static str, &'static str)>) -> FxHashMap<String, Vec<String>> {
    let mut stems: FxHashMap<String, Vec<String>> = FxHashMap::default();
    for (x, y) in pairs {
        stems.entry(stem(x)).or_default().push(stem(y));
    }
    stems
}

/// The stems of the words, each with the numbers of the lines it stands in.
fn by_group(text: &'static str) -> FxHashMap<String, Vec<u16>> {
    let mut groups: FxHashMap<String, Vec<u16>> = FxHashMap::default();
    for (line, group) in lines(text).zip(0..) {
        for word in line.split_whitespace() {
            let of_stem = groups.entry(stem(word)).or_default();
            if !of_stem.contains(&group) {
                of_stem.push(group);
            }
        }
    }
    groups
}

/// Whether one group is in both.
pub(crate) fn share(a: &[u16], b: &[u16]) -> bool {
    a.iter().any(|group| b.contains(group))
}

impl Lexicon {
    fn read() -> Self {
        let rank: FxHashMap<_, _> = lines(include_str!("../data/words.txt")).zip(0..).collect();
        let groups = by_group(include_str!("../data/synonyms.txt"));
        let deeds = by_group(include_str!("../data/deeds.txt"));
        let opposed = || {
            pairs(include_str!("../data/antonyms.txt"))
                .chain(pairs(include_str!("../data/antonyms_wordnet.txt")))
        };
        let negates =
            |(x, y): &(&str, &str)| NEGATING.iter().any(|prefix| y.strip_prefix(prefix) == Some(*x));
        let negated = opposed().filter(negates).map(|(x, y)| (stem(y), stem(x))).collect();
        let opposites = by_stem(opposed());
        let contrasts = by_stem(pairs(include_str!("../data/contrasts.txt")));
        let mut kinds: FxHashMap<String, Vec<(u16, u8)>> = FxHashMap::default();
        for (line, class) in lines(include_str!("../data/kinds.txt")).zip(0..) {
            for (members, kind) in line.split_whitespace().zip(0..) {
                for word in members.split('=') {
                    kinds.entry(stem(word)).or_default().push((class, kind));
                }
            }
        }
        let mut axes: FxHashMap<String, Vec<i8>> = FxHashMap::default();
        for ((up, down), number) in
            lines(include_str!("../data/axes.txt")).filter_map(|line| line.split_once('|')).zip(1i8..)
        {
            for (words, end) in [(up, number), (down, -number)] {
                for word in words.split_whitespace() {
                    axes.entry(stem(word)).or_default().push(end);
                }
            }
        }
        let mut phrases: FxHashMap<_, FxHashMap<_, Vec<Phrase>>> = FxHashMap::default();
        for (from, to) in lines(include_str!("../data/phrases.txt")).filter_map(|line| line.split_once("=>"))
        {
            let (from, starts) = from.strip_prefix('^').map_or((from, false), |from| (from, true));
            let from: Vec<_> = from.split_whitespace().collect();
            if let Some(first) = from.first() {
                let second = from.get(1).copied().unwrap_or_default();
                let to = to.split_whitespace().collect();
                let begun = phrases.entry(*first).or_default().entry(second).or_default();
                begun.push(Phrase { from, to, starts });
            }
        }
        for list in phrases.values_mut().flat_map(FxHashMap::values_mut) {
            list.sort_by_key(|phrase| std::cmp::Reverse(phrase.from.len()));
        }
        let mut classes = FxHashMap::default();
        for (name, words) in
            lines(include_str!("../data/classes.txt")).filter_map(|line| line.split_once(':'))
        {
            let bit = class::NAMES
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name))
                .map_or(0, |(_, bit)| *bit);
            debug_assert!(bit != 0, "unknown class {name}");
            for word in words.split_whitespace() {
                *classes.entry(word).or_insert(0) |= bit;
            }
        }
        for (word, class) in &mut classes {
            let stem = stem(word);
            let opposed = *class & class::IDLE == 0 && opposites.contains_key(&stem);
            if *class & (class::NOISE | class::FUNCTION) != 0
                && (opposed || contrasts.contains_key(&stem) || kinds.contains_key(&stem))
            {
                *class |= class::CONTRAST;
            }
        }
        let related = by_stem(pairs(include_str!("../data/related_wordnet.txt")));
        Self { rank, groups, deeds, related, opposites, contrasts, kinds, axes, negated, phrases, classes }
    }

    /// Whether `word` is in the vocabulary.
    pub(crate) fn knows(&self, word: &str) -> bool {
        self.rank.contains_key(word)
    }

    /// Whether `word` is in the vocabulary, or a kind of something: many names are.
    pub(crate) fn lists(&self, word: &str) -> bool {
        self.knows(word) || self.kinds.contains_key(word)
    }

    /// How much a word says: 0.05 for the commonest, about 1 for rare ones, 1.15 for unknown ones.
    pub(crate) fn weight(&self, word: &str) -> f32 {
        self.rank.get(word).map_or(1.15, |rank| ((*rank as f32 + 2.0).ln() / 21720f32.ln()).max(0.05))
    }

    /// The classes of `word`, as bits of [`class`].
    pub(crate) fn class(&self, word: &str) -> u64 {
        self.classes.get(word).copied().unwrap_or(0)
    }

    /// The synonym groups of a stem.
    pub(crate) fn groups(&self, stem: &str) -> &[u16] {
        listed(&self.groups, stem)
    }

    /// Whether the stems are one, or may stand for one another in a question.
    pub(crate) fn same_sense(&self, a: &str, b: &str) -> bool {
        a == b || share(self.groups(a), self.groups(b)) || self.related(a, b)
    }

    /// Whether one stem, as a verb behind "how do I", may say what the other one says.
    pub(crate) fn same_deed(&self, a: &str, b: &str) -> bool {
        share(listed(&self.deeds, a), listed(&self.deeds, b))
    }

    /// Whether WordNet gives both stems the same first sense.
    pub(crate) fn related(&self, a: &str, b: &str) -> bool {
        listed(&self.related, a).iter().any(|other| other == b)
    }

    /// Whether the stems are opposites.
    pub(crate) fn opposite(&self, a: &str, b: &str) -> bool {
        listed(&self.opposites, a).iter().any(|other| other == b)
    }

    /// The stems that say another thing than `stem` where all else aligns, opposites aside.
    pub(crate) fn contrasts(&self, stem: &str) -> &[String] {
        listed(&self.contrasts, stem)
    }

    /// Whether the stems are two kinds of one thing, and of nothing the same kind.
    pub(crate) fn other_kind(&self, a: &str, b: &str) -> bool {
        let (x, y) = (listed(&self.kinds, a), listed(&self.kinds, b));
        let same = |one: &(u16, u8)| y.contains(one);
        x.iter().any(|one| y.iter().any(|other| one.0 == other.0)) && !x.iter().any(same)
    }

    /// The ends of axes that a stem lies at.
    pub(crate) fn axes(&self, stem: &str) -> &[i8] {
        listed(&self.axes, stem)
    }

    /// The stem that a stem negates by a prefix: `healthy` for `unhealthy`.
    pub(crate) fn negates(&self, word: &str) -> Option<&str> {
        self.negated.get(word).map(String::as_str)
    }

    /// The rewritings that begin with both words, and then those of the first alone, longest first.
    pub(crate) fn phrases(&self, first: &str, second: &str) -> impl Iterator<Item = &Phrase> + use<'_> {
        let of_first = self.phrases.get(first);
        let begun = [second, ""].map(|second| of_first.and_then(|of_first| of_first.get(second)));
        begun.into_iter().flatten().flatten()
    }
}

/// What a table has under `word`.
fn listed<'a, K: Borrow<str> + Eq + Hash, V>(table: &'a FxHashMap<K, Vec<V>>, word: &str) -> &'a [V] {
    table.get(word).map_or(&[], Vec::as_slice)
}

/// Irregular forms and their base.
static IRREGULAR: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| {
    lines(include_str!("../data/irregular.txt")).filter_map(|line| line.split_once(' ')).collect()
});

/// The stem of a lower-case word: irregular forms, then plural, past and -ing endings, then a final e.
pub(crate) fn stem(word: &str) -> String {
    if let Some(base) = IRREGULAR.get(word) {
        return without_e(base);
    }
    let n = word.len();
    if !word.is_ascii() {
        return word.to_owned();
    }
    let undoubled = |w: &'_ str| {
        let bytes = w.as_bytes();
        let m = bytes.len();
        let double = m > 3 && bytes[m - 1] == bytes[m - 2] && !matches!(bytes[m - 1], b'l' | b's');
        m - usize::from(double)
    };
    let end = if n > 5 && word.ends_with("ing") {
        undoubled(&word[..n - 3])
    } else if n > 4 && (word.ends_with("ies") || word.ends_with("ied")) {
        return format!("{}y", &word[..n - 3]);
    } else if n > 4 && word.ends_with("ed") && !word.ends_with("eed") {
        undoubled(&word[..n - 2])
    } else if n > 4 && ["ches", "shes", "sses", "xes", "zes"].iter().any(|end| word.ends_with(end)) {
        n - 2
    } else if n > 3 && word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        n - 1
    } else {
        n
    };
    without_e(&word[..end])
}

fn without_e(word: &str) -> String {
    if word.len() > 4 && word.ends_with('e') { word[..word.len() - 1].to_owned() } else { word.to_owned() }
}
