//! A noun behind a noun is another thing: "a keyboard", "a keyboard cover".

use crate::align::{Alignment, light};
use crate::lexicon::{class, lexicon};
use crate::prompt::Prompt;
use crate::replaced::frame;
use crate::rules::LONG;

/// Words that are no noun, or say of a noun what it is anyway: "a passport document".
const NO_HEAD: u64 = class::GENERIC | class::PARTICIPLE | class::REL | class::GROUP;

/// Whether all is the same but for a noun right behind a word that ends its phrase in the other prompt.
pub(super) fn headed(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    match (alignment.left.as_slice(), alignment.right.as_slice()) {
        ([], [more]) => has_head(a, b, *more),
        ([more], []) => has_head(b, a, *more),
        _ => false,
    }
}

fn has_head(shorter: &Prompt, longer: &Prompt, more: usize) -> bool {
    if longer.length > LONG || more == 0 || frame(shorter, false) != frame(longer, false) {
        return false;
    }
    let (noun, head, behind) = (&longer.words[more - 1], &longer.words[more], longer.words.get(more + 1));
    let rest = longer.words[..more].iter().chain(&longer.words[more + 1..]);
    let subject = noun.single || lexicon().class(&noun.lead) & class::AUXILIARY != 0;
    // "Draw a horse head", "does a nurse practitioner earn", and not "cook vegetable soup".
    let ends = behind.is_none_or(|behind| behind.place > head.place + 1) || subject;
    // "Hot water and cold water", "hot water and cold".
    let said = || shorter.words.iter().any(|word| word.stem == head.stem);
    // Not "a teacher/tutor".
    let written = || longer.key.contains(&format!("{} {}", noun.text, head.text));
    // "Child(ren)", "children".
    let compound = || format!("{}{}", noun.text, head.text);
    let in_one = || shorter.words.get(more - 1).is_some_and(|word| word.text == compound());
    noun.place + 1 == head.place
        && noun.sentence == head.sentence
        && ends
        // "The process running on port 3000".
        && !(head.text.ends_with("ing") && behind.is_some())
        && !(light(head) || head.is(NO_HEAD) || head.text.ends_with("ly") || head.text.ends_with("ed"))
        && !said()
        && written()
        && !in_one()
        && rest.map(|word| &word.stem).eq(shorter.words.iter().map(|word| &word.stem))
}
