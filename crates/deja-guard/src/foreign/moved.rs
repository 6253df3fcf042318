//! What may stand elsewhere in a text of another language and say the same. It is brought to one place, so that the order can be
//! compared as it is.

use super::{Kind, Token};

/// Prepositions of what a verb is about: "nicht" before them denies the verb, as it does behind them. Time and cause are
/// denied themselves: "nicht bis Freitag", "nicht wegen des Regens".
const ABOUT: [&str; 4] = ["auf", "bei", "beim", "mit"];

/// What German and Dutch verbs lose to the end of a sentence.
const PREFIXES: [&str; 46] = [
    "raus", "heraus", "rein", "aan", "uit", "op", "in", "af", "door", "mee", "terug", "schoon", "toe",
    "voor", "weg", "samen", "los", "dicht", "open", "over", "bij", "klaar", "vast", "ab", "an", "auf", "aus",
    "ein", "fest", "frei", "her", "herunter", "hin", "hinzu", "hoch", "los", "mit", "nach", "runter", "um",
    "vor", "weg", "weiter", "zu", "zurück", "zusammen",
];

/// What does not depend on the order of numbers.
const SUMS: [&str; 14] = [
    "summe", "durchschnitt", "mittelwert", "ggt", "kgv", "suma", "promedio", "somme", "moyenne", "soma",
    "média", "somma", "som", "gemiddelde",
];

/// What lies between two things in any order.
const DIFFERENCES: [&str; 6] =
    ["unterschied", "diferencia", "différence", "diferença", "differenza", "verschil"];
const BETWEEN: [&str; 5] = ["zwischen", "entre", "tra", "fra", "tussen"];
const AND: [&str; 6] = ["und", "y", "e", "et", "ed", "en"];

/// "Kann ich nicht mit Karte zahlen" is "kann ich mit Karte nicht zahlen": the only word of negation or quantity of a German
/// text, before a thing with its preposition and the verb that ends it.
pub(super) fn negation(words: &mut [Token]) {
    let mut negations = (0..words.len()).filter(|at| words[*at].kind == Kind::Negation);
    let (Some(at), None) = (negations.next(), negations.next()) else { return };
    let noun = |word: &Token| word.kind == Kind::Word && (word.capital || word.noun);
    let thing = match &words[at + 1..] {
        [about, thing, verb] | [about, _, thing, verb]
            if ABOUT.contains(&about.text.as_str())
                && noun(thing)
                && verb.kind == Kind::Word
                && !verb.capital =>
        {
            words.len() - 1
        }
        _ => return,
    };
    if words[at].text == "nicht" {
        words[at..thing].rotate_left(1);
    }
}

/// "The sum of 9, 3 and 5" in another language: the numbers in one order, if there are no others and nothing but "and" is
/// between them.
pub(super) fn sum(words: &mut [Token]) {
    let is_number = |word: &Token| word.kind == Kind::Number;
    let (Some(first), Some(last)) = (words.iter().position(is_number), words.iter().rposition(is_number))
    else {
        return;
    };
    let asked = words.iter().any(|word| SUMS.contains(&word.text.as_str()));
    let listed = |word: &Token| word.lead == 0 && (is_number(word) || AND.contains(&word.text.as_str()));
    if asked && words[first + 1..=last].iter().all(listed) {
        let numbers = || (first..=last).filter(|at| is_number(&words[*at]));
        let mut sorted: Vec<String> = numbers().map(|at| words[at].text.clone()).collect();
        sorted.sort_unstable();
        let list = words[first..=last].iter_mut().filter(|word| word.kind == Kind::Number);
        for (word, text) in list.zip(sorted) {
            word.text = text;
        }
    }
}

/// "The difference between dogs and cats" in another language, where it ends the text.
pub(super) fn difference(words: &mut [Token]) {
    let asked = words.iter().any(|word| DIFFERENCES.contains(&word.text.as_str()));
    if let [.., between, x, and, y] = words
        && asked
        && BETWEEN.contains(&between.text.as_str())
        && AND.contains(&and.text.as_str())
        && x.kind == Kind::Word
        && y.kind == Kind::Word
        && x.text > y.text
    {
        std::mem::swap(x, y);
    }
}

/// "Wie setze ich mein Passwort zurück", "wie kann ich mein Passwort zurücksetzen": the verb to the end of a German question
/// that is all of the text (`text`) but for a greeting, with its prefix, and no "kann".
pub(super) fn how(words: &mut Vec<Token>, text: &str) {
    let [how, verb, who, .., last] = &words[..] else { return };
    let ends = |c: char| matches!(c, '?' | '.' | '!') || c.is_whitespace();
    let marks = |c: char| matches!(c, '.' | ';' | ':' | '!' | '?' | '\n' | '(' | '–' | '—');
    let lower = text.to_lowercase();
    let begin = lower.find(how.text.as_str()).unwrap_or(0);
    if lower[begin..].trim_end_matches(ends).contains(marks) {
        return;
    }
    let asks = match how.text.as_str() {
        "wie" | "wo" => matches!(who.text.as_str(), "ich" | "man" | "wir"),
        "hoe" | "waar" => matches!(who.text.as_str(), "ik" | "je" | "men" | "we"),
        _ => false,
    };
    if !asks || verb.kind != Kind::Word || verb.capital {
        return;
    }
    let prefix = PREFIXES.contains(&last.text.as_str()) && last.kind == Kind::Word;
    let infinitive = last.text.ends_with('n') && last.kind == Kind::Word && !last.capital;
    let mut verb = words.remove(1);
    if matches!(verb.text.as_str(), "kann" | "können" | "kan" | "kun" | "kunnen") && infinitive {
        return;
    }
    if prefix && let Some(prefix) = words.pop() {
        verb.text.insert_str(0, &prefix.text);
    }
    words.push(verb);
}

/// "E-Mail" is "Mail", "wieviel" is "wie viele", "c'est quoi" is "qu'est-ce que" and "quel est", and "explique-moi" and "erkläre
/// mir" are "explique" and "erkläre". `text` is all of it.
pub(super) fn spelt(words: &mut Vec<Token>, text: &str) {
    let lower = text.to_lowercase();
    let mut before = String::new();
    words.retain_mut(|word| {
        let many =
            word.text == "wieviel" || word.text == "wieviele" || word.text == "viel" && before == "wie";
        if let Some(mail) = word.text.strip_prefix('e').filter(|mail| matches!(*mail, "mail" | "mails")) {
            word.text = mail.to_owned();
        } else if many {
            "viele".clone_into(&mut word.text);
        }
        before.clone_from(&word.text);
        word.text != "e" || !lower.contains("e-mail")
    });
    let is = |word: &Token, text: &str| word.text == text;
    while let Some(how) = words.windows(2).position(|two| is(&two[0], "wie") && is(&two[1], "viele")) {
        words.remove(how);
    }
    // "Sagen Sie mir, wie viel der Versand kostet"
    if let [much, costs, ..] = &mut words[..]
        && is(much, "viele")
        && (is(costs, "kostet") || is(costs, "kosten"))
    {
        "was".clone_into(&mut much.text);
    }
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    match (text(0), text(1)) {
        ("c", "quoi") | ("quel" | "quelle" | "quels" | "quelles", "est" | "sont") => {
            words.remove(1);
            "qu".clone_into(&mut words[0].text);
        }
        (_, "moi") if lower.contains("-moi") => drop(words.remove(1)),
        (_, "mir" | "uns") if !lower.contains('?') => drop(words.remove(1)),
        _ => {}
    }
}
