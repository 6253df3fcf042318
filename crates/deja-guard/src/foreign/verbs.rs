//! Verbs of other languages that say the same, and what is asked by an infinitive alone: "Drucker verbinden" asks how.

use super::frames::is_infinitive;
use super::{Kind, Token, phrases};
use crate::languages::{FRENCH_PLACE, GERMAN_PLACE, Grammar, ITALIAN_PLACE, PORTUGUESE_PLACE, SPANISH_PLACE};

/// What shows that a text is no infinitive with its object.
const FINITE: [&str; 53] = [
    "ich", "du", "er", "sie", "es", "wir", "ihr", "man", "wer", "was", "wie", "wo", "wann", "warum",
    "welche", "welcher", "welches", "wem", "wen", "wessen", "wohin", "woher", "wieso", "weshalb", "welchen",
    "welchem", "kann", "können", "darf", "dürfen", "muss", "müssen", "soll", "sollen", "ist", "sind", "ik",
    "je", "hij", "ze", "we", "wij", "wat", "hoe", "waar", "wanneer", "waarom", "kan", "mag", "moet",
    "moeten", "is", "zijn",
];

/// German verbs whose vowel changes, and their stem.
const STRONG: [(&str, &str); 18] = [
    ("isst", "ess"),
    ("liest", "les"),
    ("nimmt", "nehm"),
    ("gibt", "geb"),
    ("sieht", "seh"),
    ("fährt", "fahr"),
    ("lädt", "lad"),
    ("hält", "halt"),
    ("wäscht", "wasch"),
    ("bäckt", "back"),
    ("schläft", "schlaf"),
    ("trägt", "trag"),
    ("spricht", "sprech"),
    ("hilft", "helf"),
    ("trifft", "treff"),
    ("wirft", "werf"),
    ("brät", "brat"),
    ("misst", "mess"),
];

/// The stem with its mark, as [`how`](super::how) makes it, of the verb that stands for it.
pub(super) fn plain(stem: &str) -> String {
    let bare = stem.trim_end_matches('-');
    // "Nettoie", "nettoyer"; "pulisco", "pulire".
    let bare = bare.strip_suffix('y').map_or_else(|| bare.to_owned(), |root| format!("{root}i"));
    let bare = bare.strip_suffix("isc").filter(|root| root.len() > 2).unwrap_or(&bare);
    let languages = [SPANISH_PLACE, FRENCH_PLACE, PORTUGUESE_PLACE, ITALIAN_PLACE];
    let found = languages.into_iter().find_map(|language| phrases::verb(language, bare));
    format!("{}-", found.unwrap_or(bare))
}

/// "Hacer arroz" is "cómo hacer arroz".
pub(super) fn infinitive(words: &mut Vec<Token>, grammar: Grammar) {
    let how = match () {
        () if grammar.is(SPANISH_PLACE) => "cómo",
        () if grammar.is(FRENCH_PLACE) => "comment",
        () if grammar.is(PORTUGUESE_PLACE) => "como",
        () if grammar.is(ITALIAN_PLACE) => "come",
        () => return,
    };
    if let [first, _, ..] = &words[..]
        && first.kind == Kind::Word
        && first.text.len() > 3
        && is_infinitive(&first.text)
        // "Mejor"
        && !first.text.ends_with("or")
        && !phrases::is_made(&first.text)
    {
        let text = how.to_owned();
        words.insert(0, Token { text, kind: Kind::Word, capital: false, lead: 0, noun: false });
    }
}

/// The verb that ends "wie ich mein Konto lösche" and "mein Konto löschen", as its stem, with "wie" before all and without who does it.
pub(super) fn germanic(words: &mut Vec<Token>, language: usize, requested: bool) {
    let Some(last) = words.last().filter(|last| last.kind == Kind::Word && !last.capital) else { return };
    let asks = matches!(&words[..], [how, who, _, ..]
        if matches!(how.text.as_str(), "wie" | "hoe") && matches!(who.text.as_str(), "ich" | "man" | "wir" | "ik" | "je" | "men" | "we"));
    let alone = !requested
        && words.len() > 1
        && last.text.len() > 4
        && last.text.ends_with('n')
        && !phrases::is_made(&last.text)
        && words.iter().all(|word| !FINITE.contains(&word.text.as_str()));
    if !asks && !alone {
        return;
    }
    let german = language == GERMAN_PLACE;
    let stem = if german { german_stem(&last.text) } else { dutch_stem(&last.text) };
    let stem = phrases::verb(language, &stem).map_or(stem, str::to_owned);
    if let Some(last) = words.last_mut() {
        last.text = format!("{stem}-");
    }
    if asks {
        words.remove(1);
    } else {
        let text = if german { "wie" } else { "hoe" }.to_owned();
        words.insert(0, Token { text, kind: Kind::Word, capital: false, lead: 0, noun: false });
    }
}

fn german_stem(verb: &str) -> String {
    if let Some((form, stem)) = STRONG.iter().find(|(form, _)| verb.ends_with(form)) {
        return format!("{}{stem}", verb.trim_end_matches(form));
    }
    let end = ["en", "et", "e", "n", "t"].into_iter().find_map(|end| verb.strip_suffix(end));
    end.filter(|stem| stem.len() > 1).unwrap_or(verb).to_owned()
}

/// "Maken" and "maak", "reizen" and "reis", "zetten" and "zet".
fn dutch_stem(verb: &str) -> String {
    let stem = verb.strip_suffix("en").unwrap_or(verb);
    let mut plain = String::with_capacity(stem.len());
    for c in stem.chars().filter(|c| *c != 't' || !stem.ends_with("dt")) {
        if !plain.ends_with(c) {
            plain.push(c);
        }
    }
    let end = match plain.pop() {
        Some('z') => 's',
        Some('v') => 'f',
        Some(c) => c,
        None => return plain,
    };
    plain.push(end);
    plain
}

/// "Los perros pueden comer arroz" is "pueden los perros comer arroz".
pub(super) fn modal_first(words: &mut [Token]) {
    const MODALS: [&str; 16] = [
        "puede", "pueden", "debe", "deben", "pode", "podem", "deve", "devem", "può", "possono", "peut",
        "peuvent", "можно", "нельзя", "нужно", "devono",
    ];
    let modal = |word: &Token| word.kind == Kind::Word && MODALS.contains(&word.text.as_str());
    let mut found = (0..words.len()).filter(|at| modal(&words[*at]));
    let (Some(at), None) = (found.next(), found.next()) else { return };
    let russian = !words[at].text.is_ascii() && words[at].text != "può";
    let acts = words.get(at + 1).is_some_and(|next| is_infinitive(&next.text));
    let whole = words[..at].iter().all(|word| word.kind == Kind::Word && !ASKS.contains(&word.text.as_str()));
    if (1..=3).contains(&at) && whole && (russian || acts) {
        words[..=at].rotate_right(1);
    }
}

/// What begins a question whose order says who does it.
const ASKS: [&str; 34] = [
    "qué", "que", "quién", "quien", "quem", "qui", "chi", "cosa", "che", "qual", "cuál", "quel", "quelle",
    "cómo", "como", "come", "comment", "#how", "dónde", "donde", "onde", "dove", "où", "cuándo", "quando",
    "quand", "porqué", "pourquoi", "perché", "кто", "что", "где", "когда", "как",
];
