//! What two prompts ask for: their question words and requests.

use crate::align::light;
use crate::lexicon::class;
use crate::prompt::{Prompt, question};

/// Whether one asks why and the other when: two question words with different answers.
pub(super) fn question_hard(a: &Prompt, b: &Prompt) -> bool {
    const LOOSE: u16 =
        question::DO | question::YES | question::WHAT | question::CAN | question::MUST | question::SHOULD;
    let (x, y) = (a.questions & !LOOSE, b.questions & !LOOSE);
    x.is_power_of_two() && y.is_power_of_two() && x != y && x | y != question::HOW | question::WHERE
}

/// Whether one has a question word of its own and the other asks what, or yes or no.
pub(super) fn question_other(a: &Prompt, b: &Prompt) -> bool {
    const CLOSED: u16 = question::WHEN
        | question::WHERE
        | question::WHO
        | question::WHY
        | question::HOWOFTEN
        | question::HOWLONG
        | question::HOWMANY;
    const OPEN: u16 =
        question::WHAT | question::YES | question::CAN | question::MUST | question::SHOULD | question::HOW;
    let one = |p: &Prompt, q: &Prompt| {
        p.questions & CLOSED != 0
            && q.questions & CLOSED == 0
            && q.questions & OPEN != 0
            && q.questions & question::DO == 0
    };
    one(a, b) || one(b, a)
}

/// How many sentences ask something.
pub(super) fn requests(prompt: &Prompt) -> u32 {
    if prompt.asking == u64::MAX { 1 } else { prompt.asking.count_ones() }
}

/// Whether a sentence of `prompt` begins with a verb that asks for something, and goes on with what the other prompt has no
/// word of (`unmatched`): all of it, or two words and more.
pub(super) fn foreign_request(prompt: &Prompt, unmatched: &[usize]) -> bool {
    let words = &prompt.words;
    (0..words.len()).filter(|at| words[*at].begins && words[*at].is(class::COMMAND)).any(|at| {
        let sentence = || (at..words.len()).take_while(|i| words[*i].sentence == words[at].sentence);
        let run = sentence().take_while(|i| unmatched.contains(i)).count();
        let said = (at + 1..at + run).filter(|i| !light(&words[*i])).count();
        let alone = run == sentence().count() && run < words.len();
        said >= 2 || alone && said >= 1
    })
}
