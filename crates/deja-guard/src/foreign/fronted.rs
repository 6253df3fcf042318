//! What stands before a question word or says when: "Dante quando è nato" is "quando è nato Dante".

use super::{Kind, Token, quoted};

/// What asks, and stands before the verb wherever it stands.
const ASKS: [&str; 33] = [
    "quando", "cuándo", "quand", "kiedy", "когда", "wann", "wanneer", "dove", "dónde", "onde", "où", "gdzie",
    "где", "perché", "porqué", "pourquoi", "dlaczego", "почему", "зачем", "waarom", "quién", "kto", "кто",
    "chi", "qui", "cuando", "donde", "perche", "cuánto", "quanto", "combien", "ile", "сколько",
];

/// Who does it, if another word takes up what stands before: "la radio chi l'ha inventata".
const WHO: [&str; 2] = ["chi", "qui"];

/// The most words before the question word, and behind it.
const BEFORE: usize = 5;
const BEHIND: usize = 3;

/// Puts what stands before the question word behind all else. `text` is all of it.
pub(super) fn last(words: &mut Vec<Token>, text: &str) {
    let asks = |word: &Token| word.kind == Kind::Word && ASKS.contains(&word.text.as_str());
    let Some(at) = words.iter().position(asks).filter(|at| (1..=BEFORE).contains(at)) else { return };
    let inner = text.trim_end_matches(['?', '.', '!', ' ', '\u{a0}', '\u{202f}']);
    if inner.contains(['.', '!', '?', ';', ':']) || inner.matches(',').count() > 1 {
        return;
    }
    let behind = words.len() - at - 1;
    let plain = |word: &Token| word.kind == Kind::Word && !IN_FRONT.contains(&word.text.as_str());
    if behind == 0 || behind > BEHIND || !words[..at].iter().all(plain) || words[at + 1..].iter().any(asks) {
        return;
    }
    let clitic =
        words.get(at + 1).is_some_and(|word| matches!(word.text.as_str(), "l" | "lo" | "la" | "li" | "le"));
    if WHO.contains(&words[at].text.as_str()) && !clitic {
        return;
    }
    if clitic && behind > 1 {
        words.remove(at + 1);
        // It agrees with what it takes up.
        if let Some(last) = words.last_mut().filter(|last| !quoted::is(&last.text)) {
            last.text = agreed(&last.text);
        }
    }
    words.rotate_left(at);
}

/// "Inventata" is "inventato", "inventée" is "inventé".
fn agreed(word: &str) -> String {
    if let Some(root) = word.find('é').filter(|at| word.len() - at <= 4) {
        return word[..root + 2].to_owned();
    }
    ["ta", "ti", "te"]
        .iter()
        .find_map(|end| word.strip_suffix(end))
        .map_or_else(|| word.to_owned(), |root| format!("{root}to"))
}

/// What begins another question or a clause of its own.
const IN_FRONT: [&str; 30] = [
    "und", "y", "et", "e", "en", "i", "и", "si", "se", "wenn", "als", "если", "jeśli", "de", "von", "van",
    "od", "от", "до", "do", "bis", "seit", "с", "hasta", "desde", "depuis", "czy", "ob", "que", "che",
];

/// Words that say when.
const TIMES: [&str; 52] = [
    "зимой", "весной", "летом", "осенью", "утром", "днём", "днем", "вечером", "ночью", "сегодня", "завтра",
    "вчера", "сейчас", "zimą", "wiosną", "latem", "jesienią", "rano", "wieczorem", "nocą", "dziś", "dzisiaj",
    "jutro", "wczoraj", "teraz", "heute", "gestern", "nachts", "abends", "morgens", "hoy", "mañana", "ayer",
    "demain", "aujourd'hui", "hier", "hoje", "amanhã", "ontem", "oggi", "domani", "ieri", "vandaag",
    "gisteren", "kışın", "yazın", "sonbaharda", "ilkbaharda", "bugün", "yarın", "dün", "geceleri",
];

/// Seasons and parts of a day behind "in".
const SEASONS: [&str; 36] = [
    "winter", "sommer", "herbst", "frühling", "frühjahr", "otoño", "invierno", "verano", "primavera",
    "automne", "hiver", "été", "printemps", "inverno", "verão", "outono", "autunno", "estate", "zomer",
    "herfst", "lente", "wieczór", "nachmittag", "abend", "januar", "juli", "dezember", "noche", "tarde",
    "notte", "sera", "mattina", "nuit", "matin", "soir", "noite",
];
const IN: [&str; 14] = ["im", "in", "en", "em", "no", "na", "au", "d", "am", "por", "di", "à", "de", "nel"];

/// "Почему осенью листья желтеют" is "почему листья осенью желтеют": when something is stands last, if a question says it once.
/// How many words say it.
pub(super) fn time(words: &mut [Token]) -> usize {
    let text = |at: usize| words.get(at).map_or("", |word: &Token| word.text.as_str());
    let mut found = (0..words.len()).filter_map(|at| {
        if TIMES.contains(&text(at)) {
            Some((at, 1))
        } else {
            (IN.contains(&text(at)) && SEASONS.contains(&text(at + 1))).then_some((at, 2))
        }
    });
    let (Some((at, length)), None) = (found.next(), found.next()) else { return 0 };
    let denied = at > 0 && words[at - 1].kind != Kind::Word;
    // "Morgen und übermorgen", "von heute an"
    let joined = |at: usize| IN_FRONT.contains(&text(at));
    if denied || at > 0 && joined(at - 1) || joined(at + length) || words.len() > 12 {
        return 0;
    }
    words[at..].rotate_left(length);
    length
}
