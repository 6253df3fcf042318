//! Who does what to whom: roles that two prompts of the same words may exchange.

use crate::align::{Alignment, light, opposite};
use crate::lexicon::class;
use crate::prompt::{Governor, Prompt, Word};
use crate::rules::LONG;

/// What the order of the shared words says.
#[derive(Default, Clone, Copy, Debug)]
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
    let symmetric = [a, b].iter().any(|p| p.words.iter().any(|w| w.is(class::SYMMETRIC)));
    let unordered = a.coordinated && b.coordinated && !(a.sequenced && b.sequenced);
    let ranks = ranks(pairs);
    let (mut inverted, mut exchanged) = (0usize, false);
    let total = pairs.len() * pairs.len().saturating_sub(1) / 2;
    for (k, &(i1, j1, _)) in pairs.iter().enumerate() {
        for (l, &(i2, j2, _)) in pairs.iter().enumerate().skip(k + 1) {
            let crossed = j1 > j2;
            inverted += usize::from(crossed);
            let (x, y, x2, y2) = (&a.words[i1], &a.words[i2], &b.words[j1], &b.words[j2]);
            if voices {
                // The agent of the passive comes first in the active.
                let agent = |w: &Word, v: &Word| w.governor == Governor::By && v.governor != Governor::By;
                // "Has bought" and "were bought from": the source was the agent.
                exchanged |= x.name
                    && x.governor != x2.governor
                    && Governor::From == if a.passive { x.governor } else { x2.governor };
                exchanged |= !crossed && x.place + 1 < y.place && (agent(y, y2) || agent(y2, y));
            } else if crossed && !symmetric && !(unordered && [x, y, x2, y2].into_iter().any(joined)) {
                let governors = (x.governor, y.governor);
                let traded = governors.0 != governors.1 && governors == (y2.governor, x2.governor);
                let transposed = governors.0 == governors.1
                    && governors == (x2.governor, y2.governor)
                    && ranks[k] == l
                    && ranks[l] == k
                    && (l > k + 1 || x.place + 1 < y.place && x2.place > y2.place + 1)
                    && [x, y, x2, y2].into_iter().all(party);
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
    order.swapped = exchanged;
    // "A beats B" and "B loses to A": the relation and the roles are both turned round.
    let relation = |w: &Word| w.is(class::CONVERSE);
    let turned_round = alignment.left.iter().any(|i| {
        alignment
            .right
            .iter()
            .any(|j| opposite(&a.words[*i], &b.words[*j]) && relation(&a.words[*i]) && relation(&b.words[*j]))
    });
    order.converse = turned_round && (order.swapped || order.turned > 1 || inverted > 0);
    let only_objects = |p: &Prompt| p.objects > 0 && p.subjects == 0;
    let only_subjects = |p: &Prompt| p.subjects > 0 && p.objects == 0;
    order.persons = (only_objects(a) && only_subjects(b)) || (only_subjects(a) && only_objects(b));
    order
}

/// For each pair in the order of the first prompt, its place in the order of the second.
fn ranks(pairs: &[(usize, usize, crate::align::Link)]) -> Vec<usize> {
    pairs.iter().map(|(_, j, _)| pairs.iter().filter(|(_, other, _)| other < j).count()).collect()
}

/// "pine and oak": follows a coordination.
fn joined(word: &Word) -> bool {
    matches!(word.lead.as_str(), "and" | "or" | "vs" | "versus" | "nor")
}

/// Nouns and names, as far as their form tells: no "-ing", no "-ed".
fn party(word: &Word) -> bool {
    !(word.text.ends_with("ing")
        || word.text.ends_with("ed")
        || word.text.ends_with("ly")
        || word.is(class::POETIC | class::LIGHT))
}

/// Whether two prompts are the same but for one word each: two commands or, in long texts, two languages, forms, names or
/// opposites.
pub(crate) fn exchanged(unmatched: [&[&Word]; 2], prompts: [&Prompt; 2]) -> bool {
    let heavy = unmatched.map(|words| words.iter().copied().filter(|w| !light(w)).collect::<Vec<_>>());
    let ([x], [y]) = (&heavy[0][..], &heavy[1][..]) else { return false };
    let both = |class: u64| x.is(class) && y.is(class);
    let long = prompts.iter().any(|prompt| prompt.length > LONG);
    let tells = prompts.iter().all(|prompt| prompt.question == 0);
    let commands = tells && x.begins && y.begins && both(class::COMMAND);
    commands || long && (both(class::LANGUAGE) || both(class::POETIC) || x.name && y.name || opposite(x, y))
}
