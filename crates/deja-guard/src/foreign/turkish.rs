//! Turkish: what verbs and nouns end with where a question asks how something is done.

use super::typed::bare_word;
use super::{Kind, Token, quoted};

/// Endings of the verb behind "nasıl", without marks, the longest first: I can, I do, we do, I should, it is done.
const ENDS: [&str; 50] = [
    "yabilirim", "yebilirim", "yabiliriz", "yebiliriz", "abilirim", "ebilirim", "abiliriz", "ebiliriz",
    "ilebilir", "ulabilir", "inebilir", "unabilir", "nabilir", "nebilir", "yabilir", "yebilir", "abilir",
    "ebilir", "maliyim", "meliyim", "ilmali", "ilmeli", "ulmali", "ulmeli", "inmali", "inmeli", "nmali",
    "nmeli", "iliyor", "uluyor", "iniyor", "unuyor", "niyor", "nuyor", "irim", "urum", "arim", "erim",
    "iriz", "uruz", "ariz", "eriz", "ilir", "ulur", "inir", "unur", "anir", "enir", "ir", "ur",
];

/// Endings that what is done shows: the last two are those of what a thing does too.
const OWN: [&str; 2] = ["ir", "ur"];

/// "Pasaportu nasıl yenilerim" and "pasaport nasıl yenilenir": the stem of the verb, and the noun without "my" and its case.
pub(super) fn how(words: &mut [Token]) {
    let Some(last) = words.len().checked_sub(1).filter(|last| *last > 0) else { return };
    if !matches!(words[last - 1].text.as_str(), "nasıl" | "nasil") || words[last].kind != Kind::Word {
        return;
    }
    let verb = bare_word(&words[last].text);
    let found = ENDS.iter().find(|end| verb.strip_suffix(**end).is_some_and(|stem| stem.chars().count() > 1));
    let Some(end) = found.filter(|end| !OWN.contains(end)) else { return };
    let stem = verb.strip_suffix(end).unwrap_or(&verb).trim_end_matches(['a', 'e', 'i', 'u']);
    words[last].text = format!("{stem}-");
    if let Some(thing) = last.checked_sub(2).and_then(|at| words.get_mut(at))
        && thing.kind == Kind::Word
        && !quoted::is(&thing.text)
    {
        thing.text = thing_done(&thing.text);
    }
}

/// "Şifremi" is "şifre", "hesabı" is "hesap", "alanını" is "alan".
fn thing_done(noun: &str) -> String {
    const SHORTEST: usize = 4;
    let mut bare = bare_word(noun);
    for end in ["imi", "umu", "mi", "mu", "ini", "unu", "ni", "nu", "yi", "yu", "im", "um", "i", "u"] {
        if let Some(root) = bare.strip_suffix(end).filter(|root| root.chars().count() >= SHORTEST) {
            bare = root.to_owned();
            break;
        }
    }
    if bare.chars().count() > SHORTEST
        && let Some(root) = bare.strip_suffix(['i', 'u'])
    {
        bare = root.to_owned();
    }
    let hard = match bare.chars().next_back() {
        Some('b') => 'p',
        Some('d') => 't',
        Some('g') => 'k',
        _ => return bare,
    };
    bare.pop();
    bare.push(hard);
    bare
}

/// "Baş ağrısına ne iyi gelir" is "baş ağrısı için ne iyi gelir".
pub(super) fn good_for(words: &mut Vec<Token>) {
    let Some(what) = words.windows(3).position(|three| {
        three[0].text == "ne"
            && three[1].text == "iyi"
            && matches!(three[2].text.as_str(), "gelir" | "geliyor")
    }) else {
        return;
    };
    let Some(before) = what.checked_sub(1) else { return };
    if matches!(words[before].text.as_str(), "için" | "icin") && before > 0 {
        words.remove(before);
    } else if words[before].kind == Kind::Word {
        let noun = words[before].text.clone();
        for end in ["sına", "sine", "suna", "süne", "na", "ne", "ya", "ye", "a", "e"] {
            if let Some(root) = noun.strip_suffix(end).filter(|root| root.chars().count() > 3) {
                let own = ["sına", "sine", "suna", "süne"].contains(&end);
                let kept = if own { end.chars().take(2).collect() } else { String::new() };
                words[before].text = format!("{root}{kept}");
                break;
            }
        }
    }
}

/// "Neden yapraklar sararır" is "yapraklar neden sararır": what asks for a reason or a time begins the question.
pub(super) fn asked_first(words: &mut [Token]) {
    let is = |at: usize, text: &str| words.get(at).is_some_and(|word| word.text == text);
    let found = (1..words.len()).find_map(|at| match () {
        () if is(at, "neden") => Some((at, 1)),
        () if is(at, "ne") && is(at + 1, "zaman") => Some((at, 2)),
        () => None,
    });
    // "Gelmesine neden oldu": a cause.
    if let Some((at, length)) = found
        && !words.get(at + 1).is_some_and(|next| next.text.starts_with("ol"))
    {
        words[..at + length].rotate_right(length);
    }
}
