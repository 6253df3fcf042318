//! What has no counterpart and faces another word of its kind: names, times, words that no list knows.

use crate::align::{Alignment, Link, light};
use crate::apart::{Slot, respelt};
use crate::lexicon::{class, lexicon};
use crate::prompt::{Prompt, Word};
use crate::rules::LONG;

/// Whether what has no counterpart are names, on both sides, and none is the other's in short.
pub(super) fn named(left: &[&Word], right: &[&Word]) -> bool {
    let names = |words: &[&Word]| -> Option<String> {
        let heavy = || words.iter().filter(|word| !light(word));
        heavy().all(|word| word.name).then(|| heavy().map(|word| word.text.as_str()).collect())
    };
    let (Some(x), Some(y)) = (names(left), names(right)) else { return false };
    !x.is_empty() && !y.is_empty() && !respelt(&x, &y)
}

/// Whether each has a single letter that the other has not; in short prompts that have some, whether one has.
pub(super) fn letter(a: &Prompt, b: &Prompt) -> bool {
    let alone = |x: &Prompt, y: &Prompt| x.letters.iter().any(|letter| !y.letters.contains(letter));
    let short = a.length.max(b.length) <= LONG && !a.letters.is_empty() && !b.letters.is_empty();
    if short { alone(a, b) || alone(b, a) } else { alone(a, b) && alone(b, a) }
}

/// Whether each side has one name behind a preposition, and they are two: "people in Madrid", "the population of Vienna".
pub(super) fn governed(left: &[&Word], right: &[&Word]) -> bool {
    let one = |words: &[&Word]| -> Option<String> {
        let mut names = words.iter().filter(|word| word.name);
        let name = names.next().filter(|word| word.slot == Some(Slot::Governed))?;
        names.next().is_none().then(|| name.text.clone())
    };
    matches!((one(left), one(right)), (Some(x), Some(y)) if !respelt(&x, &y))
}

/// Whether each side has a time of its own: "tomorrow", "this weekend". "The next day" may be tomorrow.
pub(super) fn times(a: &Prompt, b: &Prompt, left: &[&Word], right: &[&Word]) -> bool {
    const LOOSE: [&str; 8] = ["next", "last", "previous", "this", "now", "decade", "century", "today"];
    let time = |words: &[&Word]| {
        words.iter().any(|word| word.is(class::REL) && !LOOSE.contains(&word.text.as_str()))
    };
    a.length.max(b.length) <= LONG && time(left) && time(right)
}

/// Whether one word faces another one and no list knows either: functions, products.
pub(super) fn unlisted(left: &[&Word], right: &[&Word]) -> bool {
    let one = |words: &[&'_ Word]| -> Option<String> {
        let mut heavy = words.iter().filter(|word| !light(word));
        let word =
            heavy.next().filter(|word| !lexicon().lists(&word.text) && !lexicon().lists(&word.stem))?;
        heavy.next().is_none().then(|| word.text.clone())
    };
    let (Some(x), Some(y)) = (one(left), one(right)) else { return false };
    let common = x.bytes().zip(y.bytes()).take_while(|(x, y)| x == y).count();
    common < ROOT && !respelt(&x, &y)
}

/// Letters that two forms of a word begin with.
const ROOT: usize = 4;

/// Whether what is done and what is not changed places: "sneakers instead of boots", "boots instead of sneakers".
pub(super) fn instead(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let from = |prompt: &Prompt| prompt.words.iter().position(|word| word.text == "insteadof");
    let (Some(x), Some(y)) = (from(a), from(b)) else { return false };
    let moves = |to: bool| alignment.pairs.iter().any(|(i, j, _)| (*i >= x) != to && (*j >= y) == to);
    moves(true) && moves(false)
}

/// Whether two prompts about the letters of a word have two words that only look alike: "pronounce gif", "pronounce gift".
pub(super) fn lettered(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    const LETTERS: [&str; 8] =
        ["spell", "spelt", "rhym", "pronounc", "pronunciation", "synonym", "antonym", "plural"];
    let about = |word: &Word| LETTERS.contains(&word.stem.as_str());
    let asks = |prompt: &Prompt| prompt.words.iter().any(about);
    let alike = |(i, _, link): &(usize, usize, Link)| {
        matches!(link, Link::Typo | Link::Derived) && !about(&a.words[*i])
    };
    asks(a) && asks(b) && alignment.pairs.iter().any(alike)
}
