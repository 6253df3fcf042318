//! Ways to ask how or where in Spanish, Portuguese, Italian and French: "¿cómo se cancela?" and "¿cómo cancelo?" are "¿cómo
//! cancelar?".

use super::Token;
use super::typed::unmarked;
use super::verbs;

const HOW: [&str; 3] = ["como", "come", "comment"];
const WHERE: [&str; 4] = ["donde", "onde", "dove", "ou"];

/// Verbs whose forms have little in common, and their infinitives.
const IRREGULAR: [(&str, &str); 12] = [
    ("hago", "hacer"),
    ("hace", "hacer"),
    ("faço", "fazer"),
    ("faz", "fazer"),
    ("faccio", "fare"),
    ("fa", "fare"),
    ("fait", "faire"),
    ("fais", "faire"),
    ("veo", "ver"),
    ("vejo", "ver"),
    ("vedo", "vedere"),
    ("encuentro", "encontrar"),
];

/// What is said of a thing itself: "¿cómo se llama?"
const NAMED: [&str; 4] = ["llama", "chama", "chiama", "siente"];

/// The stem of a verb that is all of a question has more letters.
const LONGEST_ALONE: usize = 4;

pub(super) fn plain(words: &mut Vec<Token>) {
    let Some(first) = words.first() else { return };
    let asked = unmarked(&first.text);
    let (how, place) = (HOW.contains(&asked.as_str()), WHERE.contains(&asked.as_str()));
    if !(how || place) {
        return;
    }
    let french = matches!(asked.as_str(), "comment" | "ou");
    // "Où trouve-t-on" is "où on trouve".
    if french {
        if words.get(2).is_some_and(|word| word.text == "t")
            && words.get(3).is_some_and(|word| word.text == "on")
        {
            words.remove(2);
        }
        if words.get(2).is_some_and(|word| word.text == "on") {
            words.swap(1, 2);
        }
    }
    let text = |at: usize| words.get(at).map_or("", |word: &Token| word.text.as_str());
    let impersonal = matches!(text(1), "se" | "si" | "on" | "je" | "j") && words.len() > 3;
    let at = 1 + usize::from(impersonal);
    // "Dónde está": a thing is somewhere.
    if place && impersonal && !french || place && words.get(at).is_some_and(|word| word.capital) {
        return;
    }
    // "¿Cómo pago?" is all of it, and "¿cómo era?" no such verb.
    let whole = |stem: &String| how && stem.len() > LONGEST_ALONE && words.len() == 2 && !words[1].capital;
    let Some(stem) = stem(text(at), impersonal, french).filter(|stem| words.len() > at + 1 || whole(stem))
    else {
        return;
    };
    words[at].text = verbs::plain(&stem);
    words.drain(1..at);
    // A text may look like two of these languages.
    if how {
        "#how".clone_into(&mut words[0].text);
    }
}

/// What the infinitive, the form behind "se" and that of the writer have in common, with a mark of its own.
fn stem(verb: &str, impersonal: bool, french: bool) -> Option<String> {
    let irregular = IRREGULAR.iter().find(|(form, _)| *form == verb || unmarked(form) == verb);
    let base = irregular.map_or(verb, |(_, base)| *base);
    let infinitive =
        ["ar", "er", "ir", "are", "ere", "ire", "re"].iter().filter_map(|end| base.strip_suffix(end));
    let root = infinitive.min_by_key(|root| root.len()).or_else(|| {
        if impersonal && !NAMED.contains(&base) {
            // "Se desactivan", "si puliscono"
            let one = base.strip_suffix("no").or_else(|| base.strip_suffix(['n', 'm'])).unwrap_or(base);
            one.strip_suffix(['a', 'e', 'o'])
        } else if french {
            None
        } else {
            // "Funzionano" is what they do.
            base.strip_suffix('o').filter(|root| !root.ends_with("an") && !root.ends_with("on"))
        }
    })?;
    (root.len() > 1).then(|| format!("{root}-"))
}
