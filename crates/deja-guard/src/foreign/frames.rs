//! Questions of other languages whose words stand in another order, and what asks for a thing itself. They get one form, so that the
//! words can be compared as they are.

use super::typed::unmarked;
use super::{Kind, Token};

/// What begins a question behind a frame.
const QUESTIONS: [&str; 36] = [
    "was", "wie", "wo", "wann", "warum", "wer", "comment", "combien", "quand", "où", "pourquoi", "qui",
    "quel", "quelle", "qué", "cuál", "cómo", "cuándo", "dónde", "cuánto", "quién", "é", "qual", "como",
    "quando", "onde", "quanto", "quem", "che", "quale", "come", "dove", "perché", "chi", "cos", "cosa",
];

/// What stands behind "wie" and belongs to it.
const MEASURES: [&str; 22] = [
    "lange", "viel", "viele", "oft", "weit", "groß", "hoch", "alt", "teuer", "spät", "schnell", "schwer",
    "tief", "lang", "veel", "vaak", "ver", "groot", "hoog", "oud", "duur", "laat",
];

/// Signs of Japanese and Chinese that ask the same, the second being the form of all. The longest come first.
const SIGNS: [(&str, &str); 16] = [
    ("することはできますか", "できますか"),
    ("することは可能ですか", "できますか"),
    ("は可能ですか", "できますか"),
    ("するにはどうすればいいですか", "する方法を教えて"),
    ("するにはどうしたらいいですか", "する方法を教えて"),
    ("する方法は何ですか", "する方法を教えて"),
    ("了怎么办", "怎么办"),
    ("我想知道", ""),
    ("多长时间", "多久"),
    ("需要", "要"),
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
    // "I want to" asks how.
    if let Some(wish) = plain.strip_prefix("我想") {
        plain = format!("怎么{}", wish.trim_start_matches('要'));
    }
    let said = plain.trim_end_matches(['。', '？', '?', '！']);
    if let Some(wish) = said.strip_suffix("したいです").or_else(|| said.strip_suffix("したい")) {
        return format!("{wish}する方法を教えて");
    }
    said.strip_suffix("は何ですか").map_or(plain.clone(), |what| format!("{what}は"))
}

/// "Si pierdo mi vuelo, ¿qué hago?" is "¿qué hago si pierdo mi vuelo?": a condition with one comma behind it comes last.
pub(super) fn condition_last(text: &str) -> Option<String> {
    const IF: [&str; 4] = ["si", "wenn", "falls", "se"];
    let said = text.trim_start_matches(['¿', '¡', ' ']).trim_end_matches(['?', '？', '.', '。', '!', ' ']);
    let mut commas = said.match_indices([',', '，', '、']);
    let (Some((at, comma)), None) = (commas.next(), commas.next()) else { return None };
    let (condition, rest) = (&said[..at], said[at + comma.len()..].trim_start_matches([' ', '¿', '¡']));
    let (first, behind) = condition.split_once(' ').unwrap_or((condition, ""));
    let first = first.to_lowercase();
    // "Wenn" does not begin the sentence any more.
    let clause = if IF.contains(&first.as_str()) {
        format!("{first} {behind}")
    } else if condition.starts_with("如果") || condition.starts_with("もし") {
        condition.to_owned()
    } else {
        return None;
    };
    (!rest.is_empty() && !said.contains([':', '"', '\n'])).then(|| format!("{rest} {clause}"))
}

fn begins(words: &[Token], with: &[&str]) -> bool {
    let is = |(text, word): (&&str, &Token)| word.text == **text || word.text == unmarked(text);
    words.len() > with.len() && with.iter().zip(words).all(is)
}

/// Brings the beginning of a text that is one question to its plain form.
pub(super) fn plain(words: &mut Vec<Token>, asks: bool) {
    wish(words);
    possible(words);
    anybody(words);
    request(words, asks);
    hindi(words);
}

/// A verb as the words for "can" want it.
pub(super) fn is_infinitive(word: &str) -> bool {
    word.trim_end_matches('e').ends_with('r') || word.ends_with("re")
}

/// "Ich möchte das Abo kündigen" asks how one does it.
fn wish(words: &mut Vec<Token>) {
    let german = begins(words, &["ich", "möchte"]) || begins(words, &["ich", "will"]);
    let verb = words.last().is_some_and(|word| !word.capital && word.text.ends_with('n'));
    if german && verb && words.len() > 3 {
        let ich = words[0].clone();
        "wie".clone_into(&mut words[0].text);
        "kann".clone_into(&mut words[1].text);
        words.insert(2, ich);
    }
}

/// "Braucht man ein Visum" is "brauche ich ein Visum", if it speaks of nobody else.
fn anybody(words: &mut [Token]) {
    const WRITER: [&str; 7] = ["ich", "mich", "mir", "mein", "meine", "meinen", "meinem"];
    if words.iter().any(|word| WRITER.contains(&word.text.as_str())) {
        return;
    }
    if let Some(man) = words.iter_mut().take(3).skip(1).find(|word| word.text == "man") {
        "ich".clone_into(&mut man.text);
    }
}

/// "Escríbeme una carta" asks for what "escribe una carta" does, "schreib mir" for what "schreib" does.
fn request(words: &mut Vec<Token>, asks: bool) {
    // "Gehört mir das?"
    if let [verb, me, _, ..] = &words[..]
        && !asks
        && matches!(me.text.as_str(), "mir" | "moi")
        && !QUESTIONS.contains(&verb.text.as_str())
        && verb.kind == Kind::Word
    {
        words.remove(1);
    }
    if let [verb, _, ..] = &mut words[..]
        && let Some(alone) =
            verb.text.strip_suffix("me").filter(|alone| alone.len() > 3 && !alone.ends_with("co"))
    {
        verb.text = unmarked(alone);
    }
}

/// What asks what something is, and says nothing of it.
const WHAT_IS: [&[&str]; 16] = [
    &["was", "ist"],
    &["was", "sind"],
    &["qu"],
    &["qué", "es"],
    &["qué", "son"],
    &["é"],
    &["são"],
    &["cosa", "è"],
    &["cos", "è"],
    &["cosa", "sono"],
    &["wat", "is"],
    &["wat", "zijn"],
    &["czym", "jest"],
    &["czym", "są"],
    &["что", "такое"],
    &["что", "это"],
];

/// What asks for the value of something: "jaka jest inflacja" is another question than "czym jest inflacja".
const WHICH_IS: [&[&str]; 11] = [
    &["cuál", "es"],
    &["cuáles", "son"],
    &["qual"],
    &["quais", "são"],
    &["qual", "è"],
    &["quali", "sono"],
    &["jaka", "jest"],
    &["jaki", "jest"],
    &["jakie", "jest"],
    &["jakie", "są"],
    &["какая"],
];

/// "What are the symptoms of flu" is "symptoms of flu", in another language.
pub(super) fn what_is(words: &mut Vec<Token>) {
    let which = |which: &&&[&str]| begins(words, which) && words.len() > which.len() + 1;
    let all = WHAT_IS.iter().filter(|what| begins(words, what)).chain(WHICH_IS.iter().filter(which));
    if let Some(gone) = all.map(|what| what.len()).max() {
        words.drain(..gone);
    }
}

/// Questions whose one noun may stand before the verb and behind it.
const ADVERBIAL: [&str; 25] = [
    "#how", "warum", "porqué", "pourquoi", "perché", "waarom", "cómo", "como", "cuándo", "cuando", "quando",
    "dónde", "donde", "onde", "dove", "quand", "où", "perche", "почему", "где", "когда", "зачем", "dlaczego",
    "gdzie", "kiedy",
];

/// "¿Por qué no funciona la tarjeta?" is "¿por qué la tarjeta no funciona?": a verb and one more word are in one order.
pub(super) fn two_words(words: &mut [Token]) {
    let word = |word: &Token| word.kind == Kind::Word;
    let Some((first, rest)) = words.split_first_mut() else { return };
    let denied = rest.iter().filter(|word| word.kind == Kind::Negation).count();
    if ADVERBIAL.contains(&first.text.as_str())
        && rest.iter().filter(|w| word(w)).count() == 2
        && denied < 2
        && rest.len() == 2 + denied
    {
        rest.sort_by(|x, y| {
            (x.kind == Kind::Negation).cmp(&(y.kind == Kind::Negation)).then(x.text.cmp(&y.text))
        });
    }
}

/// "Wann der Zug fährt" is "wann fährt der Zug".
pub(super) fn verb_second(words: &mut Vec<Token>) {
    let german = ["was", "wie", "wo", "wann", "warum", "wer", "wat", "hoe", "waar", "wanneer", "waarom"];
    if words.len() < 3 || !german.contains(&words[0].text.as_str()) {
        return;
    }
    let measured =
        matches!(words[0].text.as_str(), "wie" | "hoe") && MEASURES.contains(&words[1].text.as_str());
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
    if let [.., which, kind, _] = &mut words[..]
        && which.text == "कौन"
        && matches!(kind.text.as_str(), "सा" | "सी" | "से")
    {
        "क्या".clone_into(&mut which.text);
        words.remove(words.len() - 2);
    }
    let how = words.iter().rposition(|word| word.text == "कैसे");
    if how.is_some() && words[0].text == "मैं" {
        words.remove(0);
        return hindi(words);
    }
    let Some(verb) = how.map(|how| how + 1).filter(|verb| *verb < words.len()) else { return };
    let can = |word: &Token| matches!(word.text.as_str(), "सकता" | "सकती" | "सकते");
    match &words[verb..] {
        [_, able, _] if can(able) => words.truncate(verb + 1),
        [one] | [_, one] => {
            let stem = ["ूँ", "ूं", "ें"].iter().find_map(|end| one.text.strip_suffix(end)).map(str::to_owned);
            if let (Some(stem), Some(last)) = (stem, words.last_mut()) {
                last.text = stem;
            }
        }
        _ => {}
    }
}
