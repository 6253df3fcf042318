//! Words in each other's place where no preposition or article tells that a noun stands there.

use crate::align::{Alignment, light};
use crate::apart::respelt;
use crate::asked::is_past;
use crate::lexicon::{class, lexicon};
use crate::prompt::{Prompt, Word, question};

/// The most words of a prompt that is looked at: in longer ones other words say the same.
const SHORT: usize = 12;
/// The most words that are replaced.
const MOST: usize = 3;
/// The most words of which each is replaced.
const EACH: usize = 4;

/// Whether one thing stands where the other prompt has another one, between the same small words.
pub(crate) fn replaced(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let heavy = |prompt: &Prompt, rest: &[usize]| -> Vec<usize> {
        rest.iter().copied().filter(|at| !light(&prompt.words[*at])).collect()
    };
    let (left, right) = (heavy(a, &alignment.left), heavy(b, &alignment.right));
    if left.is_empty() || right.is_empty() || a.length.max(b.length) > SHORT {
        return false;
    }
    let (x, y) = (&a.words[left[0]], &b.words[right[0]]);
    let single = left.len() == 1 && right.len() == 1;
    if single && misspelt(x, y) {
        return false;
    }
    // "Who won the war", "who fought in the war"
    let past = |word: &Word| is_past(&word.text) || word.is(class::PARTICIPLE);
    let who =
        |prompt: &Prompt| prompt.questions != 0 && prompt.questions & !(question::WHO | question::WHAT) == 0;
    if single && past(x) && past(y) && who(a) && who(b) && frame(a, true) == frame(b, true) {
        return true;
    }
    let run = |rest: &[usize]| rest.len() <= MOST && rest.windows(2).all(|two| two[0] + 1 == two[1]);
    let bare = a.questions == 0 && b.questions == 0;
    let begins = left[0] == 0 && right[0] == 0 && x.place == 0 && y.place == 0;
    // "Tom Hanks movies", "Brad Pitt movies"; "price of gold", "density of gold"
    let told = |word: &Word| word.is(class::COMMAND);
    let topic = bare && begins && run(&left) && run(&right) && !told(x) && !told(y);
    let same_place = left == right && a.words.len() == b.words.len() && a.questions == b.questions;
    // "How often do I change my oil", "how often do I rotate my tires"
    let pair = same_place && left.len() == 2 && run(&left) && !bare;
    // "How much is a stamp", "how much is a box"; "close a tab", "close a window"
    let most = if bare && a.words[0].place == 0 { 2 } else { 1 };
    let only = same_place && single && a.words.len() <= most;
    (topic || pair || only) && frame(a, false) == frame(b, false)
}

/// Whether up to [`EACH`] words stand in each other's places and all else is the same. Words of the lists of synonyms are paired,
/// so nothing says that these mean the same.
pub(crate) fn unpaired(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let (left, right) = (&alignment.left, &alignment.right);
    let ([i, ..], [j, ..]) = (&left[..], &right[..]) else { return false };
    let heavy = |prompt: &Prompt, rest: &[usize]| rest.iter().all(|at| !light(&prompt.words[*at]));
    let (x, y) = (&a.words[*i], &b.words[*j]);
    // Behind "how do I" many verbs say the same there only.
    let how = a.questions & (question::HOW | question::WHERE) != 0 && *i == 0;
    left == right
        && left.len() <= EACH
        && a.words.len() == b.words.len()
        && a.questions == b.questions
        && heavy(a, left)
        && heavy(b, right)
        && !(left.len() == 1 && misspelt(x, y))
        && !(how && lexicon().same_deed(&x.stem, &y.stem))
        && frame(a, false) == frame(b, false)
}

/// "Sqrt" and "square root"
fn misspelt(x: &Word, y: &Word) -> bool {
    !(x.known && y.known) && respelt(&x.text, &y.text)
}

/// The small words, articles aside, and prepositions if they are `loose`.
pub(crate) fn frame(prompt: &Prompt, loose: bool) -> Vec<&str> {
    let small = prompt.function.iter().map(String::as_str);
    let idle = |word: &str| {
        matches!(word, "a" | "an" | "the") || loose && lexicon().class(word) & class::PREPOSITION != 0
    };
    small.filter(|word| !idle(word)).collect()
}
