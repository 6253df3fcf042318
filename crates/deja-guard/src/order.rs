//! Who does what to whom: roles that two prompts of the same words may exchange.

mod moves;
mod phrases;

use crate::align::{Alignment, Link, light, opposite};
use crate::asked::Subject;
use crate::lexicon::{class, lexicon};
use crate::prompt::{Governor, Prompt, Word, question};
use crate::scan::{Piece, text};
use moves::{Crossed, led, undergone};
use phrases::changed_places;

/// What the order of the shared words says.
#[derive(Default, Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Order {
    /// Share of inverted pairs of shared words.
    pub(crate) inverted: f32,
    /// Two shared words stand in each other's place, and nothing explains it.
    pub(crate) swapped: bool,
    /// A word is "from" here and "to" there.
    pub(crate) turned: u8,
    /// The roles are exchanged and so is the relation: "A beats B", "B loses to A".
    pub(crate) converse: bool,
    /// "I ... him" against "he ... me".
    pub(crate) persons: bool,
    /// "How do I ... my" against "how do you ... my".
    pub(crate) doers: bool,
    /// "I can" against "I cannot".
    pub(crate) able: bool,
}

/// Compares the roles of the words that both prompts have.
pub(crate) fn compare(a: &Prompt, b: &Prompt, alignment: &Alignment) -> Order {
    use Governor::{After, Against, Before, From, To};

    let pairs = &alignment.pairs;
    let mut order = Order::default();
    for &(i, j, _) in pairs {
        let (g, h) = (a.words[i].governor, b.words[j].governor);
        let contrary =
            matches!((g, h), (From | Against, To) | (To, From | Against) | (Before, After) | (After, Before));
        order.turned += u8::from(contrary && !a.words[i].text.ends_with("ing"));
    }
    let voices = a.passive != b.passive;
    // "Which insects do bats eat", "which insects are eaten by bats": what is asked for comes first in both.
    // Not if each has a word of its own: "which countries does it border", "which countries were invaded by it".
    let alone = |prompt: &Prompt, rest: &[usize]| rest.iter().any(|at| !light(&prompt.words[*at]));
    let own_words = alone(a, &alignment.left) && alone(b, &alignment.right);
    let fronted = voices && !own_words && if a.passive { b } else { a }.voice.asks_object();
    let symmetric = [a, b].iter().any(|p| p.words.iter().any(|w| w.is(class::SYMMETRIC)));
    let unordered = a.coordinated && b.coordinated && !(a.sequenced && b.sequenced);
    let ranks = ranks(pairs);
    let (mut inverted, mut exchanged) = (0usize, false);
    // Those that no "or" joins.
    let mut turned_round = 0;
    let total = pairs.len() * pairs.len().saturating_sub(1) / 2;
    for (k, &(i1, j1, _)) in pairs.iter().enumerate() {
        for (l, &(i2, j2, _)) in pairs.iter().enumerate().skip(k + 1) {
            let crossed = j1 > j2;
            let pair = Crossed { prompts: [a, b], pairs, first: [i1, j1], second: [i2, j2] };
            inverted += usize::from(crossed);
            let joined = crossed && unordered && pair.is_joined();
            turned_round += usize::from(crossed && !joined);
            let (x, y, x2, y2) = (&a.words[i1], &a.words[i2], &b.words[j1], &b.words[j2]);
            // Their order says nothing.
            let free = || {
                joined
                    || unordered && [x, y, x2, y2].into_iter().any(|w| joins(&w.lead))
                    || pair.is_explained()
            };
            if voices {
                // The agent of the passive comes first in the active.
                let agent = |w: &Word, v: &Word| w.governor == Governor::By && v.governor != Governor::By;
                // "Has bought" and "were bought from": the source was the agent.
                exchanged |= x.name
                    && x.governor != x2.governor
                    && Governor::From == if a.passive { x.governor } else { x2.governor };
                exchanged |= if fronted {
                    let verb = [x, y, x2, y2].into_iter().any(undergone);
                    crossed && !verb && [(x, x2), (x2, x), (y, y2), (y2, y)].iter().any(|(w, v)| agent(w, v))
                } else {
                    !crossed && x.place + 1 < y.place && (agent(y, y2) || agent(y2, y))
                };
            } else if crossed && !symmetric && !free() {
                let governors = (x.governor, y.governor);
                let leads = (x.lead.as_str(), y.lead.as_str());
                let led = |lead: &str| lexicon().class(lead) & class::PREPOSITION != 0;
                let apart = x.place + 1 < y.place && y2.place + 1 < x2.place;
                let traded = governors.0 != governors.1 && governors == (y2.governor, x2.governor)
                    || apart
                        && leads.0 != leads.1
                        && leads == (y2.lead.as_str(), x2.lead.as_str())
                        && (led(leads.0) || led(leads.1));
                let transposed = governors.0 == governors.1
                    && governors == (x2.governor, y2.governor)
                    && ranks[k] == l
                    && ranks[l] == k
                    && (l > k + 1 || x.place + 1 < y.place && x2.place > y2.place + 1)
                    && [x, y, x2, y2].into_iter().all(party)
                    && !(state(x, y, y2, b) || state(y2, x2, x, a));
                let source =
                    |w: &Word, v: &Word| w.governor == Governor::From && v.governor == Governor::None;
                exchanged |= traded
                    || transposed
                    || party(x)
                        && party(y)
                        && (source(x, x2) || source(x2, x) || source(y, y2) || source(y2, y));
            }
        }
    }
    order.inverted = if total == 0 { 0.0 } else { inverted as f32 / total as f32 };
    order.swapped = exchanged
        || !(voices || symmetric || unordered || own_words) && changed_places(a, b, pairs, &ranks)
        || led_otherwise(a, b, alignment)
        || !voices && another_does_it(a, b);
    // "A beats B" and "B loses to A": the relation and the roles are both turned round.
    let relation = |w: &Word| w.is(class::CONVERSE);
    let contrary = alignment.left.iter().any(|i| {
        alignment
            .right
            .iter()
            .any(|j| opposite(&a.words[*i], &b.words[*j]) && relation(&a.words[*i]) && relation(&b.words[*j]))
    });
    // "Borrow from a friend", "lend to a friend": the same person does it.
    let writer = |prompt: &Prompt| matches!(prompt.asked.subject, Some(Subject::Writer(_)));
    let turned = order.swapped || order.turned > 1 || turned_round > 0;
    order.converse = contrary && turned && !(writer(a) && writer(b));
    let only_objects = |p: &Prompt| p.objects > 0 && p.subjects == 0;
    let only_subjects = |p: &Prompt| p.subjects > 0 && p.objects == 0;
    order.persons = ((only_objects(a) && only_subjects(b)) || (only_subjects(a) && only_objects(b)))
        && !a.persons.same_undergone(&b.persons)
        || a.persons.traded(&b.persons);
    order.doers = matches!((a.doer, b.doer), (Some(x), Some(y)) if x != y);
    order.able = matches!((a.able, b.able), (Some(x), Some(y)) if x != y);
    order
}

/// Who does what a prompt asks about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doer {
    Writer,
    /// Whom the prompt is written to, about the writer: "how do you keep my data?" A "you" without "my" or "me" is anybody.
    Reader,
}

/// The first one that a question names behind its auxiliary. "Can you" without a question word is a request.
pub(crate) fn doer(pieces: &[Piece]) -> Option<Doer> {
    pieces.chunk_by(|a, b| a.sentence == b.sentence).find_map(|sentence| {
        let verb = sentence.windows(2).position(|two| {
            matches!(two[0].text.as_str(), "do" | "did" | "will" | "must" | "have")
                && matches!(two[1].text.as_str(), "i" | "we" | "you")
        })?;
        let behind = &sentence[verb + 2..];
        let says = |words: &[&str]| behind.iter().any(|piece| words.contains(&piece.text.as_str()));
        let asks = sentence[..verb].iter().any(|piece| question::named(&piece.text).is_some());
        if sentence[verb + 1].text != "you" {
            Some(Doer::Writer)
        } else if (asks || matches!(sentence[verb].text.as_str(), "do" | "did"))
            && says(&["my", "me", "our", "us"])
            && !says(&["i", "we"])
        {
            Some(Doer::Reader)
        } else {
            None
        }
    })
}

/// Whether the writer says that they can do something, or in any sentence that they cannot. The phrases make questions of
/// complaints ("I can't log in"), which have no negation.
pub(crate) fn able(pieces: &[Piece]) -> Option<bool> {
    let says = |sentence: &[Piece]| {
        let text = |at: usize| text(sentence, at);
        let behind = usize::from(matches!(text(0), "i" | "we"));
        match (text(behind), text(behind + 1), text(behind + 2)) {
            ("can", "not", _)
            | ("unable", "to", _)
            | ("am" | "are", "unable", "to")
            | ("am" | "are", "not", "able") => Some(false),
            ("can", ..) | ("am" | "are", "able", "to") if behind == 1 => Some(true),
            _ => None,
        }
    };
    pieces.chunk_by(|a, b| a.sentence == b.sentence).filter_map(says).min()
}

/// Whether all words are the same, and one stands behind a preposition that says something else, or a verb before a particle that
/// makes another verb of it: "take over a company", "take on a company".
fn led_otherwise(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    const PREPOSITIONS: [(&str, &str); 3] = [("as", "with"), ("as", "to"), ("about", "for")];
    const VERBS: [&str; 6] = ["break", "bring", "hold", "put", "set", "take"];
    const PARTICLES: [&str; 7] = ["down", "in", "off", "on", "out", "over", "up"];
    let particle = |prompt: &Prompt, at: usize| -> Option<&'static str> {
        let behind = prompt.words.get(at + 1).and_then(|_| led(prompt, at + 1).first())?;
        PARTICLES.into_iter().find(|particle| particle == behind)
    };
    let apart = |(i, j, _): &(usize, usize, Link)| {
        let (x, y) = (a.words[*i].lead.as_str(), b.words[*j].lead.as_str());
        let verb = VERBS.contains(&a.words[*i].stem.as_str());
        PREPOSITIONS.iter().any(|pair| *pair == (x, y) || *pair == (y, x))
            || verb && matches!((particle(a, *i), particle(b, *j)), (Some(x), Some(y)) if x != y)
    };
    alignment.left.is_empty() && alignment.right.is_empty() && alignment.pairs.iter().any(apart)
}

/// "My dog bit another dog", "another dog bit my dog": two of one name, and it is the first or the second that is another one.
fn another_does_it(a: &Prompt, b: &Prompt) -> bool {
    let first = |prompt: &Prompt| {
        let other = prompt.words.iter().position(|word| word.text == "another")? + 1;
        let noun = &prompt.words.get(other)?.stem;
        let mut named = (0..prompt.words.len()).filter(|at| prompt.words[*at].stem == *noun);
        let places = (named.next(), named.next(), named.next());
        matches!(places, (_, Some(_), None)).then(|| (noun.clone(), places.0 == Some(other)))
    };
    matches!((first(a), first(b)), (Some((x, one)), Some((y, other))) if x == y && one != other)
}

/// For each pair in the order of the first prompt, its place in the order of the second.
fn ranks(pairs: &[(usize, usize, Link)]) -> Vec<usize> {
    pairs.iter().map(|(_, j, _)| pairs.iter().filter(|(_, other, _)| other < j).count()).collect()
}

/// "pine and oak": what follows such a word is coordinated.
pub(crate) fn joins(lead: &str) -> bool {
    matches!(lead, "and" | "or" | "vs" | "versus" | "nor")
}

/// "It is lost", "I lost it": behind a thing what state it is in, and in the other prompt (`other` of `prompt`) how that came. Of
/// what one does on purpose the writer must not be said to have done it, and a person who is lost is somewhere.
fn state(thing: &Word, participle: &Word, other: &Word, prompt: &Prompt) -> bool {
    let is = |word: &Word| lexicon().class(&word.lead) & class::PASSIVE != 0;
    let mishap = matches!(participle.text.as_str(), "lost" | "misplaced" | "forgotten");
    participle.is(class::PARTICIPLE)
        && (prompt.subjects == 0 || mishap && !thing.is(class::KIN))
        && is(participle)
        && participle.place.saturating_sub(thing.place) <= 3
        && !is(other)
}

/// Words that are nobody and nothing.
const NO_PARTY: u64 = class::POETIC | class::LIGHT;

/// Nouns and names, as far as their form tells: no "-ing", no "-ed".
fn party(word: &Word) -> bool {
    !(word.text.ends_with("ing")
        || word.text.ends_with("ed")
        || word.text.ends_with("ly")
        || word.is(NO_PARTY))
}
