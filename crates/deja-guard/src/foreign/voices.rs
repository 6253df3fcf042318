//! How something is done, told in the passive: "wie wird Käse gemacht" is "wie macht man Käse".

use super::typed::unmarked;
use super::{Foreign, Kind, Token};
use crate::languages::{DUTCH_PLACE, GERMAN_PLACE};

/// German participles whose stem is another one than that of their infinitive, without "ge".
const STRONG: [(&str, &str); 44] = [
    ("schrieben", "schreib"),
    ("nommen", "nehm"),
    ("geben", "geb"),
    ("gessen", "ess"),
    ("trunken", "trink"),
    ("funden", "find"),
    ("backen", "back"),
    ("schnitten", "schneid"),
    ("zogen", "zieh"),
    ("schlossen", "schließ"),
    ("waschen", "wasch"),
    ("halten", "halt"),
    ("lesen", "les"),
    ("sehen", "seh"),
    ("sprochen", "sprech"),
    ("troffen", "treff"),
    ("worfen", "werf"),
    ("brochen", "brech"),
    ("liehen", "leih"),
    ("mieden", "meid"),
    ("gossen", "gieß"),
    ("bunden", "bind"),
    ("messen", "mess"),
    ("rufen", "ruf"),
    ("laden", "lad"),
    ("hoben", "heb"),
    ("schoben", "schieb"),
    ("trieben", "treib"),
    ("braten", "brat"),
    ("fangen", "fang"),
    ("wonnen", "winn"),
    ("bracht", "bring"),
    ("kannt", "kenn"),
    ("nannt", "nenn"),
    ("wandt", "wend"),
    ("schnitzt", "schnitz"),
    ("stohlen", "stehl"),
    ("sponnen", "spinn"),
    ("woben", "web"),
    ("schliffen", "schleif"),
    ("tragen", "trag"),
    ("setzt", "setz"),
    ("sandt", "send"),
    ("lassen", "lass"),
];

const DUTCH_STRONG: [(&str, &str); 18] = [
    ("schreven", "schrijf"),
    ("nomen", "neem"),
    ("geven", "geef"),
    ("vonden", "vind"),
    ("bakken", "bak"),
    ("sneden", "snijd"),
    ("sloten", "sluit"),
    ("lezen", "lees"),
    ("dronken", "drink"),
    ("kocht", "koop"),
    ("bracht", "breng"),
    ("broken", "breek"),
    ("worpen", "werp"),
    ("dragen", "draag"),
    ("wassen", "was"),
    ("houden", "houd"),
    ("goten", "giet"),
    ("bonden", "bind"),
];

/// Prefixes of verbs whose participle has no "ge".
const INSEPARABLE: [&str; 9] = ["be", "ver", "er", "ent", "zer", "her", "ont", "über", "unter"];

/// The stem of the verb that `word` is the participle of.
fn participle(word: &str, strong: &[(&str, &str)], german: bool) -> Option<String> {
    let inseparable = INSEPARABLE.iter().any(|prefix| word.starts_with(prefix));
    // "Hergestellt", "gemacht": what stands before "ge" is part of the verb.
    let ge = word.find("ge").filter(|at| *at == 0 || !inseparable || word[*at..].len() > 5);
    let whole = ge.map_or_else(|| word.to_owned(), |at| format!("{}{}", &word[..at], &word[at + 2..]));
    let known = ge.is_some() || inseparable || word.ends_with("iert") || word.ends_with("eerd");
    if !known {
        return None;
    }
    if let Some((form, stem)) = strong.iter().find(|(form, _)| whole.ends_with(form)) {
        return Some(format!("{}{stem}", &whole[..whole.len() - form.len()]));
    }
    let ends: &[&str] = if german { &["et", "t"] } else { &["d", "t"] };
    ends.iter().find_map(|end| whole.strip_suffix(end)).filter(|stem| stem.len() > 2).map(str::to_owned)
}

/// "Wie wird Tofu hergestellt", "wie kann Tofu hergestellt werden": as "wie kann ich Tofu herstellen". Auxiliaries are left out already.
pub(super) fn germanic(out: &mut Foreign) {
    let german = out.grammar.is(GERMAN_PLACE);
    if !german && !out.grammar.is(DUTCH_PLACE) || out.was {
        return;
    }
    let (ask, can) = if german { ("wie", "kann") } else { ("hoe", "kan") };
    let words = &mut out.words;
    let text = |at: usize| words.get(at).map_or("", |word: &Token| word.text.as_str());
    if text(0) != ask || words.len() < 3 {
        return;
    }
    let able = matches!(text(1), "kann" | "können" | "kan" | "kunnen");
    let becomes = if german { out.is } else { text(1) == "wordt" || able };
    let who = matches!(text(2), "ich" | "man" | "wir" | "ik" | "je" | "men" | "we" | "jij" | "u");
    if !becomes || who {
        return inner(words, german);
    }
    let strong: &[(&str, &str)] = if german { &STRONG } else { &DUTCH_STRONG };
    let verb = words.iter().rposition(|word| {
        word.kind == Kind::Word && !word.capital && participle(&word.text, strong, german).is_some()
    });
    let Some(verb) = verb.filter(|verb| *verb >= 2) else { return };
    // In German the verb ends the clause.
    if german && verb + 1 != words.len() {
        return;
    }
    let Some(stem) = participle(&words[verb].text, strong, german) else { return };
    let mut last = words.remove(verb);
    last.text = format!("{stem}en");
    words.push(last);
    words.drain(1..=usize::from(able || !german));
    let who = if german { "ich" } else { "ik" };
    for (at, text) in [can, who].into_iter().enumerate() {
        words.insert(
            1 + at,
            Token { text: text.to_owned(), kind: Kind::Word, capital: false, lead: 0, noun: false },
        );
    }
    out.passive = false;
    out.is = false;
}

/// "Hoe kan ik een rij blokkeren in Excel": the verb ends the sentence.
fn inner(words: &mut [Token], german: bool) {
    const BEHIND: [&str; 9] = ["in", "op", "met", "van", "uit", "voor", "via", "zonder", "naar"];
    if german || !matches!(words[1].text.as_str(), "kan" | "kun" | "kunnen") {
        return;
    }
    let verb = (3..words.len().saturating_sub(2)).find(|at| {
        let (verb, next) = (&words[*at], &words[at + 1]);
        verb.kind == Kind::Word
            && verb.text.ends_with("en")
            && !verb.capital
            && BEHIND.contains(&next.text.as_str())
    });
    // Another infinitive at the end is the verb.
    let ends = words.last().is_some_and(|last| last.text.ends_with("en") && !last.capital);
    if let Some(verb) = verb.filter(|_| !ends) {
        words[verb..].rotate_left(1);
    }
}

/// "¿Cómo es fabricado el vidrio?" is "¿cómo fabricar el vidrio?"
pub(super) fn romance(words: &mut Vec<Token>) {
    const NAMED: [&str; 5] = ["llamad", "chamad", "chiamat", "appel", "conhecid"];
    const ENDS: [(&str, &str); 9] = [
        ("ad", "ar"),
        ("id", "er"),
        ("at", "are"),
        ("ut", "ere"),
        ("it", "ire"),
        ("é", "er"),
        ("ée", "er"),
        ("és", "er"),
        ("ées", "er"),
    ];
    let [how, is, done, _, ..] = &words[..] else { return };
    let asks = matches!(how.text.as_str(), "cómo" | "como" | "come" | "comment");
    let passive =
        matches!(is.text.as_str(), "es" | "son" | "é" | "são" | "viene" | "vengono" | "est" | "sont" | "se");
    if !asks
        || !passive
        || is.text == "se"
        || done.capital
        || NAMED.iter().any(|named| done.text.starts_with(named))
    {
        return;
    }
    let french = how.text == "comment";
    let bare = done.text.strip_suffix('s').filter(|_| !french).unwrap_or(&done.text);
    let bare = if french { bare } else { bare.strip_suffix(['o', 'a', 'i', 'e']).unwrap_or(bare) };
    let found = ENDS.iter().find_map(|(end, infinitive)| {
        let root = bare.strip_suffix(end).filter(|root| root.len() > 2)?;
        (french == unmarked(end).starts_with('e')).then(|| format!("{root}{infinitive}"))
    });
    if let Some(infinitive) = found {
        words[2].text = infinitive;
        words.remove(1);
    }
}
