//! What may stand around a question in another language and says nothing, and the commonest ways to ask whether one can. They
//! get one form, so that the words can be compared as they are.

use super::{Kind, Token};

/// What asks for an answer, before a question word. Idle words are left out already.
const FRAMES: [&[&str]; 37] = [
    &["können", "sie", "mir", "sagen"],
    &["könnten", "sie", "mir", "sagen"],
    &["kannst", "du", "mir", "sagen"],
    &["könntest", "du", "mir", "sagen"],
    &["sagen", "sie", "mir"],
    &["sag", "mir"],
    &["erklären", "sie", "mir"],
    &["erkläre", "mir"],
    &["erklär", "mir"],
    &["ich", "möchte", "wissen"],
    &["pouvez", "vous", "me", "dire"],
    &["pourriez", "vous", "me", "dire"],
    &["peux", "tu", "me", "dire"],
    &["pourrais", "tu", "me", "dire"],
    &["dites", "moi"],
    &["dis", "moi"],
    &["je", "voudrais", "savoir"],
    &["j", "aimerais", "savoir"],
    &["puedes", "decirme"],
    &["puede", "decirme"],
    &["podrías", "decirme"],
    &["podría", "decirme"],
    &["me", "puedes", "decir"],
    &["me", "puede", "decir"],
    &["dime"],
    &["explícame"],
    &["quisiera", "saber"],
    &["quiero", "saber"],
    &["você", "pode", "me", "dizer"],
    &["pode", "me", "dizer"],
    &["poderia", "me", "dizer"],
    &["me", "diga"],
    &["me", "explique"],
    &["gostaria", "saber"],
    &["puoi", "dirmi"],
    &["può", "dirmi"],
    &["vorrei", "sapere"],
];

/// What begins a question behind a frame.
const QUESTIONS: [&str; 34] = [
    "was", "wie", "wo", "wann", "warum", "wer", "comment", "combien", "quand", "où", "pourquoi", "qui",
    "quel", "quelle", "qué", "cuál", "cómo", "cuándo", "dónde", "cuánto", "quién", "é", "qual", "como",
    "quando", "onde", "quanto", "quem", "che", "quale", "come", "dove", "perché", "chi",
];

/// What stands behind "wie" and belongs to it.
const MEASURES: [&str; 9] = ["lange", "viel", "viele", "oft", "weit", "groß", "hoch", "alt", "teuer"];

/// Beginnings that ask the same, the second being the form of all. What asks whether one can stands before an infinitive.
const SAME: [(&[&str], &[&str]); 17] = [
    (&["je", "peux"], &["puis", "je"]),
    (&["est", "possible", "d"], &["puis", "je"]),
    (&["est", "possible"], &["puis", "je"]),
    (&["es", "posible"], &["puedo"]),
    (&["se", "puede"], &["puedo"]),
    (&["é", "possível"], &["posso"]),
    (&["dá", "para"], &["posso"]),
    (&["è", "possibile"], &["posso"]),
    (&["si", "può"], &["posso"]),
    (&["wie", "viel", "kostet"], &["was", "kostet"]),
    (&["wie", "viel", "kosten"], &["was", "kosten"]),
    (&["cuál", "es", "precio", "del"], &["cuánto", "cuesta"]),
    (&["cuál", "es", "precio"], &["cuánto", "cuesta"]),
    (&["qual", "é", "preço"], &["quanto", "custa"]),
    (&["quel", "est", "prix", "du"], &["combien", "coûte"]),
    (&["quel", "est", "prix"], &["combien", "coûte"]),
    (&["quanto", "é"], &["quanto", "custa"]),
];

/// Signs of Japanese and Chinese that ask the same, the second being the form of all. The longest come first.
const SIGNS: [(&str, &str); 12] = [
    ("することはできますか", "できますか"),
    ("することは可能ですか", "できますか"),
    ("は可能ですか", "できますか"),
    ("するにはどうすればいいですか", "する方法を教えて"),
    ("するにはどうしたらいいですか", "する方法を教えて"),
    ("する方法は何ですか", "する方法を教えて"),
    ("可不可以", "能"),
    ("能不能", "能"),
    ("可以", "能"),
    ("我能", "能"),
    ("怎样", "怎么"),
    ("如何", "怎么"),
];

/// `text` with the signs of one form.
pub(super) fn signs(text: &str) -> String {
    let mut plain = text.to_owned();
    for (from, to) in SIGNS {
        if plain.contains(from) {
            plain = plain.replace(from, to);
        }
    }
    plain
}

fn begins(words: &[Token], with: &[&str]) -> bool {
    words.len() > with.len() && with.iter().zip(words).all(|(text, word)| word.text == *text)
}

/// Brings the beginning of a text that is one question to its plain form.
pub(super) fn plain(words: &mut Vec<Token>) {
    let asks = |word: &Token| QUESTIONS.contains(&word.text.as_str());
    if let Some(frame) = FRAMES.iter().find(|frame| begins(words, frame) && asks(&words[frame.len()])) {
        words.drain(..frame.len());
        verb_second(words);
    }
    // "Où est-ce que je peux"
    let from = usize::from(matches!(&words[..], [first, je, ..] if asks(first) && je.text == "je"));
    if let Some((long, short)) = SAME.iter().find(|(long, _)| begins(&words[from..], long)) {
        let can = !QUESTIONS.contains(&short[0]);
        let next = &words[from + long.len()].text;
        if !can || next.trim_end_matches('e').ends_with('r') || next.ends_with("re") {
            words.drain(from + short.len()..from + long.len());
            for (word, text) in words[from..].iter_mut().zip(*short) {
                (*text).clone_into(&mut word.text);
            }
        }
    }
    possible(words);
    hindi(words);
}

/// "Wann der Zug fährt" is "wann fährt der Zug".
fn verb_second(words: &mut Vec<Token>) {
    let german = ["was", "wie", "wo", "wann", "warum", "wer"];
    if words.len() < 3 || !german.contains(&words[0].text.as_str()) {
        return;
    }
    let measured = words[0].text == "wie" && MEASURES.contains(&words[1].text.as_str());
    let Some(verb) = words.pop_if(|word| word.kind == Kind::Word && !word.capital) else { return };
    words.insert(1 + usize::from(measured), verb);
}

/// "Ist es möglich, das Abo zu kündigen" is "kann ich das Abo kündigen".
fn possible(words: &mut Vec<Token>) {
    let Some(to) = words.len().checked_sub(2) else { return };
    if to > 2 && begins(words, &["ist", "es", "möglich"]) && words[to].text == "zu" {
        words.remove(to);
        words.remove(2);
        "kann".clone_into(&mut words[0].text);
        "ich".clone_into(&mut words[1].text);
    }
}

/// "कैसे बदल सकता हूँ" is "कैसे बदलूँ".
fn hindi(words: &mut Vec<Token>) {
    let how = words.iter().rposition(|word| word.text == "कैसे");
    let Some(verb) = how.map(|how| how + 1).filter(|verb| *verb < words.len()) else { return };
    let can = |word: &Token| matches!(word.text.as_str(), "सकता" | "सकती" | "सकते");
    match &words[verb..] {
        [_, able, _] if can(able) => words.truncate(verb + 1),
        [one] => {
            let stem = ["ूँ", "ूं", "ें"].iter().find_map(|end| one.text.strip_suffix(end)).map(str::to_owned);
            if let Some(stem) = stem {
                words[verb].text = stem;
            }
        }
        _ => {}
    }
}
