//! Prompts of the same shape of which one part is another: what is done, to what, where, by whom, or under what condition.

use crate::align::{Alignment, Link, light};
use crate::apart::Slot;
use crate::asked::Subject;
use crate::lexicon::{class, lexicon};
use crate::prompt::{Prompt, Word, question};

/// Whether one part of `a` is another in `b`.
pub(crate) fn changed(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let x = Side { prompt: a, alone: heavy(a, &alignment.left), all: &alignment.left };
    let y = Side { prompt: b, alone: heavy(b, &alignment.right), all: &alignment.right };
    let few = x.alone.len() <= 2 && y.alone.len() <= 2;
    let (state, other) = (&a.state, &b.state);
    let things = || alignment.pairs.iter().map(|(i, j, _)| (*i, *j));
    state.contradicts(other)
        || few && state.complements(other)
        || deed(&x, &y)
        || deed(&y, &x)
        || uses(&x, &y)
        || uses(&y, &x)
        || onto(&x, &y, things().next())
        || onto(&y, &x, things().map(|(i, j)| (j, i)).min())
        || object(&x, &y, alignment)
        || places(&x, &y)
        || few && subject(&x, &y)
        || aged(a, b)
        || aged(b, a)
        || condition(&x) && condition(&y)
        || alternative(&x) && alternative(&y)
        || requested(&x) && requested(&y) && a.words[0].stem == b.words[0].stem
}

/// Whether its one word of its own stands right behind what asks for something: "explain recursion in two sentences".
fn requested(side: &Side<'_>) -> bool {
    let words = &side.prompt.words;
    side.alone[..] == [1]
        && words[0].is(class::COMMAND)
        && words[1].place <= words[0].place + 2
        && words[1].lead.is_empty()
}

/// Whether its one word of its own is joined by "or": "gas or electricity", "gas or oil".
fn alternative(side: &Side<'_>) -> bool {
    let [at] = side.alone[..] else { return false };
    let joined = |at: usize| {
        side.prompt.words.get(at).is_some_and(|word| matches!(word.lead.as_str(), "or" | "vs" | "versus"))
    };
    joined(at) || joined(at + 1)
}

/// A prompt and those of its words that the other one has none of.
struct Side<'a> {
    prompt: &'a Prompt,
    /// Those that say something.
    alone: Vec<usize>,
    all: &'a [usize],
}

impl Side<'_> {
    /// The verb behind "how do I".
    fn deed(&self) -> Option<&Word> {
        let verb = self.prompt.words.first()?;
        (self.prompt.questions == question::HOW && verb.slot == Some(Slot::Done)).then_some(verb)
    }

    /// The same, be it a small word: "find".
    fn verb(&self) -> Option<&str> {
        self.first_verb().filter(|_| self.prompt.questions == question::HOW)
    }

    /// The same, whatever is asked behind it: "how do I see which".
    fn first_verb(&self) -> Option<&str> {
        let word = self.prompt.words.first()?;
        if word.slot == Some(Slot::Done) {
            return Some(&word.text);
        }
        self.prompt.function.first().filter(|_| word.place > 0).map(String::as_str)
    }

    /// Whether a preposition that puts one thing on another is before the word at `at`.
    fn on(&self, at: usize) -> bool {
        let words = &self.prompt.words;
        let before = |at: usize| usize::from(words[at].place) - at;
        let small = self.prompt.function.get(before(at - 1)..before(at)).unwrap_or_default();
        let on =
            |word: &String| matches!(word.as_str(), "on" | "over" | "under" | "into" | "onto" | "around");
        small.iter().any(on)
    }

    fn says(&self, words: &[&str]) -> bool {
        self.prompt.words.iter().any(|word| words.contains(&word.text.as_str()))
    }

    /// Whether it asks how to find out if, or of what, the other one's verb is done: "whether my disk is encrypted".
    fn learns_of(&self, other: &Side<'_>) -> bool {
        let learns = |verb| FINDS_OUT.contains(&verb) || LOOKS.contains(&verb);
        let done = |verb: &Word| {
            let is = |word: &Word| lexicon().class(&word.lead) & class::PASSIVE != 0;
            self.prompt.words.iter().any(|word| word.stem == verb.stem && is(word))
        };
        self.prompt.question == question::HOW
            && self.first_verb().is_some_and(learns)
            && other.deed().is_some_and(|verb| !learns(&verb.text) && done(verb))
    }
}

fn heavy(prompt: &Prompt, rest: &[usize]) -> Vec<usize> {
    rest.iter().copied().filter(|at| !light(&prompt.words[*at])).collect()
}

/// What leaves a thing as it is. "Show" and "list" may switch something on.
const LOOKS: [&str; 9] = ["check", "see", "view", "read", "find", "count", "monitor", "inspect", "track"];
const FINDS_OUT: [&str; 6] = ["know", "tell", "verify", "confirm", "test", "determine"];
const ALTERS: [&str; 30] = [
    "remove", "delete", "erase", "drop", "cancel", "change", "edit", "update", "modify", "set", "reset",
    "install", "uninstall", "block", "disable", "enable", "limit", "increase", "reduce", "lower", "raise",
    "improve", "fix", "repair", "rename", "move", "replace", "create", "write", "cap",
];
/// The most words of either side that the other one has none of, where one looks at what the other alters.
const ALONE: usize = 3;

/// Whether one asks how to look at something, and the other how to alter it.
fn deed(x: &Side, y: &Side) -> bool {
    let is = |side: &Side, words: &[&str]| side.verb().is_some_and(|verb| words.contains(&verb));
    let few = x.alone.len() <= ALONE && y.alone.len() <= ALONE;
    few && (is(x, &LOOKS) && is(y, &ALTERS) && !x.says(&ALTERS) || x.learns_of(y))
}

/// Whether one asks how to use what the other asks how to buy or the like.
fn uses(x: &Side, y: &Side) -> bool {
    let Some(verb) = y.deed() else { return false };
    x.verb() == Some("use")
        && x.alone.is_empty()
        && y.alone[..] == [0]
        && !lexicon().same_deed("use", &verb.stem)
}

/// Verbs that say little beside their object: "make a copy".
const HELPERS: [&str; 11] =
    ["get", "make", "take", "give", "do", "have", "leave", "file", "place", "send", "use"];

/// Whether one asks how to do something to a thing, and the other how to do something else with a second one on it: "read my
/// meter", "install a cover on my meter". `thing` is the first word that both have.
fn onto(x: &Side, y: &Side, thing: Option<(usize, usize)>) -> bool {
    let (Some(verb), Some(other), Some((i, j))) = (x.deed(), y.deed(), thing) else { return false };
    let helps = |word: &Word| HELPERS.contains(&word.text.as_str());
    let part = y.all.starts_with(&[0, 1]) && matches!(y.prompt.words[1].slot, Some(Slot::Determined) | None);
    let next = (1..y.prompt.words.len()).find(|at| !y.all.contains(at)) == Some(j);
    let same = x.all.first() == Some(&0) && i == 1 && next;
    same && part && y.on(j) && !helps(verb) && !helps(other)
}

/// Whether the same is done to another thing, of which no word is the same.
fn object(x: &Side, y: &Side, alignment: &Alignment) -> bool {
    const MOST: usize = 3;
    let tail = |side: &Side| {
        let words = &side.alone;
        let rest = words.len() + 1 == side.prompt.words.len() && words.first() == Some(&1);
        side.deed().is_some() && rest && words.len() <= MOST
    };
    let verb = alignment.pairs.first() == Some(&(0, 0, Link::Same));
    verb && x.alone.len() + y.alone.len() > 2 && tail(x) && tail(y)
}

/// Whether something else is done, in another place: "wash it in the machine", "put it in the dryer".
fn places(x: &Side, y: &Side) -> bool {
    let moved = |side: &Side| {
        let [verb, place] = side.all else { return false };
        let (verb, place) = (&side.prompt.words[*verb], &side.prompt.words[*place]);
        let there = matches!(place.lead.as_str(), "in" | "on" | "into" | "onto" | "at");
        verb.slot == Some(Slot::Done) && place.slot == Some(Slot::Governed) && there
    };
    moved(x) && moved(y)
}

/// Whether somebody else does something else: "how do bees make it", "how do keepers harvest it".
fn subject(x: &Side, y: &Side) -> bool {
    let first =
        |side: &Side| side.alone.first() == Some(&0) && side.prompt.words[0].slot == Some(Slot::Named);
    let open = x.prompt.questions & (question::WHAT | question::YES) == 0;
    let two = x.alone.len() + y.alone.len() > 2;
    open && two && x.prompt.questions == y.prompt.questions && first(x) && first(y)
}

/// Whether the age that is asked for is the writer's, and in the other prompt that of a thing that the first one names.
fn aged(a: &Prompt, b: &Prompt) -> bool {
    let writer = matches!(a.asked.subject, Some(Subject::Writer(_) | Subject::Reader));
    let Some(Subject::Other(noun, _)) = &b.asked.subject else { return false };
    let names = a.words.iter().any(|word| word.stem == *noun);
    writer && names && a.point.asks_age() && b.point.asks_age()
}

/// Whether the words that the other prompt has none of are all the words of the condition.
fn condition(side: &Side) -> bool {
    let behind = |word: &Word| side.prompt.state.condition.contains(&word.stem);
    let words = side.prompt.words.iter();
    let all = words.filter(|word| behind(word) && !light(word)).count();
    let alone = side.alone.iter().all(|at| behind(&side.prompt.words[*at]));
    !side.alone.is_empty() && alone && all == side.alone.len()
}
