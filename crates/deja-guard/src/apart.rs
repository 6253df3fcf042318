//! What sets two prompts apart of which nearly all words are the same: another kind of one thing, another subject, another
//! time.

use crate::align::{Alignment, Link, light, renamed};
use crate::asked::{Asked, Subject};
use crate::lexicon::{class, lexicon, stem};
use crate::places::paced;
use crate::prompt::{Governor, Prompt, Word, question};
use crate::quantity::Dimension;
use crate::rules::LONG;

#[derive(Default, Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Apart {
    /// A credit card and a debit card.
    pub(crate) kind: bool,
    /// One noun in another's place: how surely it is one, its place tells.
    pub(crate) slot: Option<Slot>,
    /// Past and future, may and must, how it came and how it is done, what it is and how one gets it.
    pub(crate) asked: bool,
    /// How often and when, by how much and to what: "every 5 minutes", "at minute 5".
    pub(crate) paced: bool,
    /// Who does it: "can I sue my employer", "can my employer sue me".
    pub(crate) subject: bool,
    /// "Make it hotter", "it is too hot".
    pub(crate) wants: bool,
    /// One is about a group of people or a place that the other does not name.
    pub(crate) narrowed: bool,
    /// Under another verb who did it has it done: "owls eat snakes", "snakes prey on owls".
    pub(crate) turned: bool,
}

/// Where a noun stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// Behind a preposition: in Ohio, for a cough.
    Governed,
    /// There, or as the subject, several words: in New Mexico, "is Better Call Saul".
    Phrase,
    /// Behind an auxiliary, where the subject is, or another word that is in such a place.
    Named,
    /// Behind an article or a possessive, no preposition before it.
    Determined,
    /// Behind "how do I", "should I", "you": a verb.
    Done,
    /// At the end, behind the same word.
    Last,
}

impl Slot {
    /// The place behind these function words.
    pub(crate) fn behind(words: &[String]) -> Option<Self> {
        let determines = |word: &str| {
            matches!(word, "a" | "an" | "the" | "this" | "that")
                || lexicon().class(word) & class::POSSESSIVE != 0
        };
        let before = words.iter().rposition(|word| !determines(word)).map(|at| words[at].as_str());
        let determined = words.last().is_some_and(|word| determines(word));
        let class = before.map_or(0, |word| lexicon().class(word));
        // "To" stands before verbs, too.
        if class & class::PREPOSITION != 0 && (determined || before != Some("to")) || before == Some("of") {
            Some(Self::Governed)
        } else if determined {
            Some(Self::Determined)
        } else {
            (class & class::AUXILIARY != 0).then_some(Self::Named)
        }
    }
}

impl Apart {
    pub(crate) fn of(a: &Prompt, b: &Prompt, alignment: &Alignment) -> Self {
        let same = alignment.left.is_empty() && alignment.right.is_empty();
        Self {
            kind: kind(a, b, alignment),
            slot: slot(a, b, alignment),
            asked: asked(&a.asked, &b.asked)
                || came(a, b)
                || came(b, a)
                || same && (thing(a, b) || thing(b, a) || whether(a, b) || whether(b, a))
                || same && reordered(a, b, alignment)
                || matches!((a.asked.lacks, b.asked.lacks), (Some(x), Some(y)) if x != y)
                || share(a, b)
                || share(b, a)
                || counted(a, b, &alignment.right)
                || counted(b, a, &alignment.left)
                || said_again(a, b, alignment)
                || excess(a, b)
                || excess(b, a),
            paced: paced(a, b) || paced(b, a),
            subject: subject(a, b, alignment, same),
            wants: a.asked.wants.iter().any(|end| b.asked.wants.contains(&-end)),
            narrowed: narrowed(a, &alignment.left, b, &alignment.right)
                || narrowed(b, &alignment.right, a, &alignment.left)
                || beside(a, &alignment.left, &alignment.right)
                || beside(b, &alignment.right, &alignment.left),
            turned: turned(a, b, alignment),
        }
    }
}

/// Whether each says what is another kind of what the other says in its place. Words of the lists of synonyms are paired.
fn kind(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let alone = |x: &'_ Prompt, y: &Prompt, rest: &[usize]| -> Vec<String> {
        let noise = x.contrasts.iter().filter(|word| !y.contrasts.contains(word)).cloned();
        let small = x.function.iter().filter(|word| !y.function.contains(word)).map(|word| stem(word));
        noise.chain(small).chain(rest.iter().map(|at| x.words[*at].stem.clone())).collect()
    };
    if a.length.max(b.length) > LONG {
        return false;
    }
    let (left, right) = (alone(a, b, &alignment.left), alone(b, a, &alignment.right));
    left.iter().any(|x| right.iter().any(|y| lexicon().other_kind(x, y)))
        || alignment.pairs.iter().any(|(i, j, link)| {
            *link != Link::Same && lexicon().other_kind(&a.words[*i].stem, &b.words[*j].stem)
        })
}

/// Where what has no counterpart stands in each other's place: one word each, or a few behind a preposition.
fn slot(a: &Prompt, b: &Prompt, alignment: &Alignment) -> Option<Slot> {
    let heavy = |prompt: &Prompt, rest: &[usize]| -> Vec<usize> {
        // "By count", "by value".
        let says = |word: &Word| !light(word) || word.lead == "by";
        rest.iter().copied().filter(|at| says(&prompt.words[*at])).collect()
    };
    let (left, right) = (heavy(a, &alignment.left), heavy(b, &alignment.right));
    let (i, j) = (*left.first()?, *right.first()?);
    let (x, y) = (&a.words[i], &b.words[j]);
    // "Appt" and "appointment" are one; what "has not arrived" one "has not received".
    let before = |at: usize, side: fn(&(usize, usize, Link)) -> usize| {
        alignment.pairs.iter().filter(|pair| side(pair) < at).count()
    };
    if before(i, |pair| pair.0) != before(j, |pair| pair.1)
        || !(x.known && y.known || renamed(x, y)) && respelt(&x.text, &y.text)
    {
        return None;
    }
    if left.len() + right.len() > 2 {
        let phrases = phrase(a, &alignment.left) && phrase(b, &alignment.right) && same_frame(a, b);
        return phrases.then_some(Slot::Phrase);
    }
    let governed = || {
        let (p, q) = (&a.words[i.checked_sub(1)?], &b.words[j.checked_sub(1)?]);
        let phrase = p.place + 1 == x.place && q.place + 1 == y.place && p.stem == q.stem;
        (phrase && p.slot == Some(Slot::Governed) && q.slot == p.slot).then_some(Slot::Named)
    };
    let ends = || {
        let last = |prompt: &Prompt, at: usize| {
            at + 1 == prompt.words.len() && prompt.words[at - 1].place + 1 == prompt.words[at].place
        };
        let behind = i > 0 && j > 0 && a.words[i - 1].stem == b.words[j - 1].stem;
        (behind && last(a, i) && last(b, j) && a.question == b.question).then_some(Slot::Last)
    };
    // Behind "how do I" many verbs say the same there only: "join" and "enter a meeting".
    let how = (a.questions | b.questions) & (question::HOW | question::WHERE) != 0;
    let same = (begins(a, &alignment.left, i))
        .filter(|slot| begins(b, &alignment.right, j) == Some(*slot))
        .filter(|slot| !(how && *slot == Slot::Done && lexicon().same_deed(&x.stem, &y.stem)));
    same.or_else(governed).or_else(ends)
}

/// The place of the word at `at`, or of the word before it that says little and is another one, too: "a different date".
fn begins(prompt: &Prompt, rest: &[usize], at: usize) -> Option<Slot> {
    let word = &prompt.words[at];
    let before = at.checked_sub(1).filter(|before| rest.contains(before)).map(|before| &prompt.words[before]);
    word.slot.or_else(|| before.filter(|before| before.place + 1 == word.place)?.slot)
}

/// Whether one may be the other, shortened or misspelt: they begin alike, and the longer one has nearly all letters of the
/// shorter one in its order. Letters with accents are not compared.
pub(crate) fn respelt(x: &str, y: &str) -> bool {
    let (short, long) = if x.len() < y.len() { (x, y) } else { (y, x) };
    let mut rest = long;
    let mut missing = 0;
    for c in short.chars() {
        match rest.split_once(c) {
            Some((_, behind)) => rest = behind,
            None => missing += 1,
        }
    }
    let ascii = short.is_ascii() && long.is_ascii();
    short.bytes().next() == long.bytes().next() && (!ascii || missing <= short.len() / 4)
}

/// Whether the words are up to three in a row, behind a preposition, an auxiliary or an article.
fn phrase(prompt: &Prompt, words: &[usize]) -> bool {
    const MOST: usize = 3;
    let word = |at: &usize| &prompt.words[*at];
    words.len() <= MOST
        && words.first().is_some_and(|first| {
            matches!(word(first).slot, Some(Slot::Governed | Slot::Named | Slot::Determined))
        })
        && words.windows(2).all(|two| word(&two[0]).place + 1 == word(&two[1]).place)
}

/// Whether both have the same function words but for articles.
fn same_frame(a: &Prompt, b: &Prompt) -> bool {
    let frame = |prompt: &'_ Prompt| -> Vec<String> {
        let idle = |word: &str| match word {
            "a" | "an" | "the" => true,
            // "What is the reason that dogs bark"
            "why" | "do" | "does" | "did" => prompt.questions & question::WHY != 0,
            _ => false,
        };
        prompt.function.iter().filter(|word| !idle(word)).cloned().collect()
    };
    frame(a) == frame(b)
}

fn asked(a: &Asked, b: &Asked) -> bool {
    matches!((a.time, b.time), (Some(x), Some(y)) if x != y)
        || matches!((a.duty, b.duty), (Some(x), Some(y)) if x != y)
}

/// Whether one asks how it came, and the other how it is done.
fn came(a: &Prompt, b: &Prompt) -> bool {
    a.asked.came && a.asked.time != b.asked.time && b.questions & question::HOW != 0
}

/// Whether one asks what a thing is and the other how one gets or uses it.
fn thing(a: &Prompt, b: &Prompt) -> bool {
    a.questions == question::WHAT && !a.asked.deals && b.questions == question::HOW && b.asked.deals
}

/// Whether one asks whether it is so, and the other why, when, where or by whom.
fn whether(a: &Prompt, b: &Prompt) -> bool {
    const CLOSED: u16 =
        question::WHY | question::WHEN | question::WHO | question::HOWLONG | question::HOWMANY;
    const WHETHER: u16 = question::YES | question::CAN | question::MUST | question::SHOULD;
    // "Is Ann or Bea older", "who is older, Ann or Bea"
    let chooses = |prompt: &Prompt| prompt.function.iter().any(|word| word == "or");
    if chooses(a) && chooses(b) {
        return false;
    }
    a.questions != 0 && a.questions & !WHETHER == 0 && b.questions & CLOSED != 0 && b.questions & WHETHER == 0
}

/// Whether the same things have another order, and both say that their order counts.
fn reordered(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let turned = || alignment.pairs.windows(2).any(|two| two[0].1 > two[1].1);
    a.asked.ordered && b.asked.ordered && same_frame(a, b) && turned()
}

/// Whether one asks for a share and the other gives one: "12 is what percent of 80", "what is 12 % of 80".
fn share(a: &Prompt, b: &Prompt) -> bool {
    let gives = |prompt: &Prompt| prompt.quantities.iter().any(|q| q.dimension == Dimension::Percent);
    a.asked.share && !b.asked.share && gives(b) && !gives(a)
        || a.asked.whole && !b.asked.whole && gives(a) && gives(b)
}

/// Whether one asks how many there are, and the other what they are worth: "number of orders", "order value".
fn counted(a: &Prompt, b: &Prompt, alone: &[usize]) -> bool {
    const WORTH: [&str; 7] = ["value", "price", "cost", "amount", "revenue", "turnover", "salary"];
    a.questions & question::HOWMANY != 0
        && b.questions & question::HOWMANY == 0
        && a.measures.is_empty()
        && alone.iter().any(|at| WORTH.contains(&b.words[*at].text.as_str()))
}

/// Whether both name two things and each says another one of them again: "separate the yolk from the white and keep the yolk".
fn said_again(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let ([left], [right]) = (&alignment.left[..], &alignment.right[..]) else { return false };
    let says = |prompt: &Prompt, word: &Word| prompt.words.iter().any(|other| other.stem == word.stem);
    let (x, y) = (&a.words[*left], &b.words[*right]);
    x.stem != y.stem && says(b, x) && says(a, y)
}

/// Whether one asks if it is too much of what the other asks it to be.
fn excess(a: &Prompt, b: &Prompt) -> bool {
    let Some(stem) = &a.asked.excess else { return false };
    b.asked.excess.is_none() && b.question == question::YES && b.words.iter().any(|word| word.stem == *stem)
}

fn subject(a: &Prompt, b: &Prompt, alignment: &Alignment, same: bool) -> bool {
    let (Some(x), Some(y)) = (&a.asked.subject, &b.asked.subject) else { return false };
    if a.asked.undergoes || b.asked.undergoes || a.asked.gives != b.asked.gives || a.passive != b.passive {
        return false;
    }
    match (x, y) {
        (Subject::Writer(acts), Subject::Reader) | (Subject::Reader, Subject::Writer(acts)) => *acts || same,
        (Subject::Writer(_), Subject::Other(noun, mine)) => {
            other_does_it(a, b, noun, *mine, &alignment.right, same)
        }
        (Subject::Other(noun, mine), Subject::Writer(_)) => {
            other_does_it(b, a, noun, *mine, &alignment.left, same)
        }
        (Subject::Writer(_), Subject::Who) => same && b.asked.object,
        (Subject::Who, Subject::Writer(_)) => same && a.asked.object,
        // "Who did Google acquire?", "Who acquired Google?"
        (Subject::Who, Subject::Other(noun, _)) => same && a.words.iter().any(|word| word.stem == *noun),
        (Subject::Other(noun, _), Subject::Who) => same && b.words.iter().any(|word| word.stem == *noun),
        _ => false,
    }
}

/// Whether in one prompt the writer does what in the other somebody does that the first speaks of, too: to the writer, or with
/// a preposition before them. "When does my job start" has nobody else in it.
fn other_does_it(
    writer: &Prompt,
    other: &Prompt,
    noun: &str,
    mine: bool,
    alone: &[usize],
    same: bool,
) -> bool {
    if other.asked.writer {
        return false;
    }
    let person = |word: &Word| word.is(class::KIN | class::AUDIENCE);
    let governed = |word: &Word| word.stem == noun && word.governor != Governor::None && word.lead != "as";
    let names = writer.words.iter().any(|word| word.stem == noun);
    // "My employer's email"
    let owns = |two: &[Word]| two[0].stem == noun && person(&two[0]) && two[0].place + 1 == two[1].place;
    same && names
        && (other.asked.object
            || writer.words.iter().any(|word| person(word) && governed(word))
            || writer.words.windows(2).any(owns))
        || mine && matches!(alone, [at] if other.words[*at].stem == noun && person(&other.words[*at]))
}

/// Whether one prompt is about a group of people or a place, and the other, which has nothing else instead, about all: "for
/// pregnant women", "as a beginner", "in France".
fn narrowed(x: &Prompt, alone: &[usize], y: &Prompt, others: &[usize]) -> bool {
    const MOST: usize = 2;
    let heavy = alone.iter().filter(|at| !light(&x.words[**at])).count();
    let named = |at: &usize| {
        let word = &x.words[*at];
        // "The cursed child of the Cursed Child": said twice, it is what the prompt is about.
        let once = || x.words.iter().filter(|other| other.stem == word.stem).count() == 1;
        // "In US dollars", "in New Delhi": part of what both name.
        let next =
            || x.words.get(at + 1).filter(|next| next.place == word.place + 1 && !alone.contains(&(at + 1)));
        word.is(class::GROUP) && once() || word.name && word.lead == "in" && next().is_none()
    };
    heavy <= MOST
        && x.length.max(y.length) <= LONG
        && others.iter().all(|at| light(&y.words[*at]))
        && alone.iter().any(named)
}

/// Whether the one word that has no counterpart is a name, or stands behind a preposition, and is coordinated with a shared one:
/// "in London", "in London and Paris".
fn beside(x: &Prompt, alone: &[usize], others: &[usize]) -> bool {
    let ([at], []) = (alone, others) else { return false };
    let joins = |word: &Word| matches!(word.lead.as_str(), "and" | "or");
    let word = &x.words[*at];
    let joined = if joins(word) { at.checked_sub(1) } else { Some(at + 1) };
    let other = joined.and_then(|joined| x.words.get(joined)).filter(|other| joins(word) || joins(other));
    let named = |word: &Word| word.name || word.slot == Some(Slot::Governed);
    !light(word) && other.is_some_and(|other| named(word) || named(other))
}

/// Whether two shared parties changed places around another verb, or around the preposition of what the same verb makes of
/// something.
fn turned(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    let symmetric = [a, b].iter().any(|p| p.coordinated || p.words.iter().any(|w| w.is(class::SYMMETRIC)));
    if symmetric || a.passive || b.passive || alignment.left.len() > 1 || alignment.right.len() > 1 {
        return false;
    }
    let target = |word: &Word| {
        word.governor == Governor::To
            || matches!(word.lead.as_str(), "on" | "upon" | "for" | "after" | "against")
    };
    // "Are grapes safe for dogs": what is said of grapes is nothing that they do.
    let is = |word: &Word| lexicon().class(&word.lead) & class::PASSIVE != 0;
    let free = |word: &Word| word.governor == Governor::None && !is(word);
    let converse = |word: &Word| word.is(class::CONVERSE);
    let pairs = &alignment.pairs;
    let verb = |i: usize, j: usize| {
        let unmatched = alignment.left.contains(&i) && alignment.right.contains(&j);
        let linked = pairs.iter().any(|(x, y, link)| (*x, *y) == (i, j) && *link != Link::Same);
        unmatched || linked
    };
    let shared = || pairs.iter().filter(|(_, _, link)| *link == Link::Same).map(|(i, j, _)| (*i, *j));
    shared().any(|(i1, j1)| {
        shared().any(|(i2, j2)| {
            let (x, y, x2, y2) = (&a.words[i1], &a.words[i2], &b.words[j1], &b.words[j2]);
            let around = i1 + 2 == i2 && j2 + 2 == j1 && verb(i1 + 1, j2 + 1);
            let into = i1 + 1 == i2 && j2 + 1 == j1 && target(y) && target(x2) && y.lead != x2.lead;
            let whole = matches!((&alignment.left[..], &alignment.right[..]), ([], []))
                || matches!((&alignment.left[..], &alignment.right[..]), ([v], [w])
                    if v + 1 == i1 && w + 1 == j2 && !(converse(&a.words[*v]) || converse(&b.words[*w])));
            free(x)
                && free(y2)
                && (around && (free(y) || target(y)) && (free(x2) || target(x2)) || into && whole)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::align;

    #[test]
    fn function_words_tell_where_a_noun_stands() {
        for (words, slot) in [
            ("", None),
            ("how", None),
            ("to", None),
            ("in", Some(Slot::Governed)),
            ("to the", Some(Slot::Governed)),
            ("does in my", Some(Slot::Governed)),
            ("in does", Some(Slot::Named)),
            ("the does", Some(Slot::Named)),
            ("does the", Some(Slot::Determined)),
            ("my", Some(Slot::Determined)),
        ] {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            assert_eq!(Slot::behind(&words), slot, "{words:?}");
        }
    }

    /// What sets two prompts apart, whichever comes first.
    fn apart(a: &str, b: &str) -> String {
        let (x, y) = (Prompt::read(a), Prompt::read(b));
        let facts = |x: &Prompt, y: &Prompt| {
            let apart = Apart::of(x, y, &align(x, y));
            let slot = apart.slot.map_or("", |slot| match slot {
                Slot::Governed => "governed",
                Slot::Phrase => "phrase",
                Slot::Named => "named",
                Slot::Determined => "determined",
                Slot::Done => "done",
                Slot::Last => "last",
            });
            let facts = [
                (apart.kind, "kind"),
                (!slot.is_empty(), slot),
                (apart.asked, "asked"),
                (apart.subject, "subject"),
                (apart.wants, "wants"),
                (apart.narrowed, "narrowed"),
                (apart.turned, "turned"),
            ];
            facts.iter().filter(|fact| fact.0).map(|fact| fact.1).collect::<Vec<_>>().join(" ")
        };
        let found = facts(&x, &y);
        assert_eq!(facts(&y, &x), found, "{b} / {a}");
        found
    }

    #[track_caller]
    fn all(cases: &[(&str, &str, &str)]) {
        for (a, b, facts) in cases {
            assert_eq!(apart(a, b), *facts, "{a} / {b}");
        }
    }

    #[test]
    fn one_kind_stands_where_the_other_does() {
        let long = "Tell me if in the old red book at home they say how long one ought to boil ripe potatoes";
        let (other, longer) = (long.replace("boil", "bake"), format!("{long} please"));
        all(&[
            ("How do I boil potatoes?", "How do I bake potatoes?", "kind done"),
            ("How do I bake potatoes?", "How do I roast potatoes?", ""),
            ("Is it simple interest?", "Is it compound interest?", "kind"),
            ("Should I rest before swimming?", "Should I rest while swimming?", "kind"),
            ("Do I need a permit to fish?", "Do I need a license to fish?", "kind"),
            ("Do I need a contract to fish?", "Do I need an agreement to fish?", ""),
            ("Must both tenants sign?", "Must either tenant sign?", "kind"),
            (long, &other, "kind"),
            (&longer, &other, ""),
        ]);
    }

    #[test]
    fn another_word_stands_in_its_place() {
        all(&[
            ("How do I lift a fitted sheet?", "How do I bleach a fitted sheet?", "done"),
            ("How do I join a meeting?", "How do I enter a meeting?", ""),
            ("Where do I lift a sheet?", "Where do I bleach a sheet?", "done"),
            ("Should I join a meeting?", "Should I enter a meeting?", "done"),
            ("Is parking free in Lund?", "Is parking free in Malmo?", "governed"),
            ("Does turmeric help?", "Does plaster help?", "named"),
            ("How do I descale a kettle?", "How do I descale a shower?", "determined"),
            ("How do I descale a kettle?", "How do I descale showers?", ""),
            ("Is parking free in Lund?", "Is parking free in Leeds?", "governed"),
            ("Is Xylo free?", "Is Xyla free?", ""),
            ("Does turmeric help?", "Does tobacco help?", "named"),
            ("What are the signs of lupus?", "What are the signs of lyrex?", "governed"),
            ("When is my appointment?", "When is my aptmnt?", ""),
            ("Where is my résumé?", "Where is my resume?", ""),
            ("Is the kettle in Lund?", "In Malmo is the kettle?", ""),
            ("Is the process safe for ferrets?", "Is the process safe for the option?", ""),
            ("Is the process in Lund?", "Is it in Malmo?", "governed"),
            ("How much is a room in Lund?", "How much is the room in Palo Alto?", "phrase"),
            ("How much is a room in Lund?", "How much is a room in Palo Alto Cedar?", "phrase"),
            ("How much is a room in Lund?", "How much is a room in Palo Alto Cedar Grove?", ""),
            ("How much is a room in Lund?", "How much is a room in Palo and Alto?", ""),
            ("How much is a room in Lund?", "How much is a room for Palo Alto?", ""),
            ("Do gift cards expire?", "Do points expire?", "phrase"),
            ("Where is the ticket office?", "Where is the exit?", "phrase"),
            ("How do I lift the ticket office?", "How do I paint the exit?", ""),
            ("Is aspirin safe with blood thinners?", "Is aspirin safe with blood oranges?", "named"),
            ("Is aspirin safe with blood thinners?", "Is aspirin safe with blood and oranges?", ""),
            ("Is aspirin safe with blood thinners?", "Is aspirin safe with my oranges?", ""),
            ("Is it my blood thinners?", "Is it my blood oranges?", "last"),
            ("Is it safe?", "Is it safe for pregnant women?", "narrowed"),
            ("Is it free?", "Is it free in Lund?", "narrowed"),
        ]);
    }

    #[test]
    fn another_time_or_question_is_asked_for() {
        all(&[
            ("When did the shop open?", "When will the shop open?", "asked"),
            ("When did the shop open?", "When does the shop open?", ""),
            ("Must the tenant repaint?", "Can the tenant repaint?", "asked"),
            ("How did I earn points?", "How do I earn points?", "asked"),
            ("How did I earn points?", "How did I spend points?", "done"),
            ("How did I earn points?", "Do I earn points?", ""),
            ("What is a mortgage?", "How do I get a mortgage?", "asked"),
            ("What is a mortgage?", "How is a mortgage?", ""),
            ("What do I get for a mortgage?", "How do I get a mortgage?", ""),
            ("What is a mortgage?", "How do I get a house?", "determined"),
            ("Why is a mortgage?", "How do I get a mortgage?", ""),
            ("What is a mortgage?", "How do I get a house mortgage?", ""),
            ("Why does the build fail?", "Does the build fail?", "asked"),
            ("Why should the build fail?", "Should the build fail?", "asked"),
            ("When does the build fail?", "Does the build fail?", "asked"),
            ("How long does the build fail?", "Does the build fail?", "asked"),
            ("How many builds fail?", "Do builds fail?", "asked"),
            ("Who paints it?", "Does he paint it?", "asked"),
            ("When do I paint it?", "Can I paint it?", "asked"),
            ("When do I paint it?", "Must I paint it?", "asked"),
            ("When do I paint it?", "Should I paint it?", "asked"),
            ("Why does the build fail?", "Does the last build fail?", ""),
            ("Why does the build fail?", "The build does fail", ""),
            ("How does the build fail?", "Does the build fail?", ""),
            ("Why does the build fail?", "When does the build fail?", ""),
            ("Why does the build fail?", "Does the test fail?", "determined"),
            ("Is the exam hard?", "Is the exam too hard?", "asked"),
            ("Is the exam hard?", "Is the exam too long?", ""),
            ("The exam is hard", "Is the exam too hard?", ""),
            ("Is the exam too hard?", "Is the exam too hard for me?", ""),
            ("Make it hotter", "It is too hot", "wants"),
            ("Make it hotter", "It is too cold", ""),
        ]);
    }

    #[test]
    fn somebody_else_does_it() {
        all(&[
            ("Do you charge tax?", "Do I charge tax?", "subject"),
            ("Do you charge tax?", "Do I charge my phone?", "kind subject"),
            ("Do you charge tax?", "Can I charge tax?", "subject"),
            ("Do you charge tax?", "Can I charge a phone?", "kind"),
            ("Can I sue my employer?", "Can my employer sue me?", "subject"),
            ("Can I fire my employer?", "Can my employer sue me?", ""),
            ("Can my boss cancel my trip?", "Can I cancel my trip with my boss?", "subject"),
            ("Can my boss cancel my trip if I call?", "Can I cancel my trip with my boss if I call?", ""),
            ("Can my kettle cancel my trip?", "Can I cancel my trip with my kettle?", ""),
            ("Can my boss cancel my trip?", "Can I cancel the trip, boss?", ""),
            ("Can my boss cancel the order?", "Can I cancel the order?", "subject"),
            ("Can the boss cancel the order?", "Can I cancel the order?", ""),
            ("Can my kettle cancel the order?", "Can I cancel the order?", ""),
            ("Can my boss and the landlord cancel the order?", "Can I cancel the order?", ""),
            ("Who do I owe money?", "Who owes me money?", "subject"),
            ("Who do I owe money?", "Who owes money?", ""),
            ("Who do I owe money?", "Who owes me a favour?", ""),
            ("Does my boss give me leave?", "Do I give my boss leave?", "subject"),
            ("Does my boss give me leave?", "Do I leave my boss?", ""),
            ("Do I get to sue my boss?", "Does my boss sue me?", ""),
            ("Do I get sued by my boss?", "Does my boss sue me?", ""),
            ("Does he sue me?", "Do I sue?", ""),
        ]);
    }

    #[test]
    fn parties_turn_around_another_verb() {
        all(&[
            ("Owls eat snakes", "Snakes prey on owls", "turned"),
            ("Owls eat snakes", "Owls prey on snakes", ""),
            ("Owls eat snakes", "Snakes eat owls", ""),
            ("Owls eat snakes", "Snakes are eaten by owls", ""),
            ("Owls meet snakes", "Snakes prey on owls", ""),
            ("Owls eat snakes", "Snakes prey on owls in Rome", ""),
            ("Owls eat snakes nightly", "Snakes nightly owls", ""),
            ("Owls eat snakes, bored by rain", "Snakes prey on owls, being bored by rain", ""),
            ("Owls and mice eat snakes", "Snakes and mice catch owls", ""),
            ("Do owls eat snakes at night?", "Do snakes prey on owls at night?", "turned"),
            ("Do fat owls eat thin snakes?", "Do fat snakes prey on thin owls?", ""),
            ("Are grapes safe for dogs?", "Are dogs fond of grapes?", ""),
            ("Does stress cause headaches?", "Do headaches lead to stress?", "turned"),
            ("Does stress cause headaches?", "Do headaches come from stress?", ""),
            ("From owls come snakes", "To snakes prey owls", ""),
            ("How do I change dollars for euros?", "How do I exchange euros into dollars?", "turned"),
            ("How do I change dollars for euros?", "How do I exchange dollars into euros?", ""),
            ("How do I change dollars for euros?", "How do I swap euros for dollars?", ""),
            ("How do I exchange dollars for euros?", "How do I exchange euros into dollars?", "turned"),
            ("How do I sell dollars for euros?", "How do I exchange euros into dollars?", "done"),
            ("How do I exchange old dollars for euros?", "How do I exchange euros into new dollars?", ""),
        ]);
    }
}
