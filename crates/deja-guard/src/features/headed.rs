//! Nouns behind a noun are another thing: "a keyboard", "a keyboard cover".

use crate::align::{Alignment, light};
use crate::lexicon::{class, lexicon};
use crate::prompt::{Prompt, Word};
use crate::replaced::frame;
use crate::rules::LONG;

/// Words that are no noun, or say of a noun what it is anyway: "a passport document".
const NO_HEAD: u64 = class::GENERIC | class::PARTICIPLE | class::REL | class::GROUP | class::PREPOSITION;

/// The most words behind the noun: "almond milk ice cream".
const MOST: usize = 2;

/// Whether all is the same but for nouns right behind a word that ends its phrase in the other prompt.
pub(super) fn headed(a: &Prompt, b: &Prompt, alignment: &Alignment) -> bool {
    match (alignment.left.as_slice(), alignment.right.as_slice()) {
        ([], more) => has_head(a, b, more),
        (more, []) => has_head(b, a, more),
        _ => false,
    }
}

fn has_head(shorter: &Prompt, longer: &Prompt, more: &[usize]) -> bool {
    let (Some(&first), Some(&last)) = (more.first(), more.last()) else { return false };
    if longer.length > LONG
        || first == 0
        || last - first >= MOST
        || frame(shorter, false) != frame(longer, false)
    {
        return false;
    }
    let (noun, heads, behind) =
        (&longer.words[first - 1], &longer.words[first..=last], longer.words.get(last + 1));
    let head = &longer.words[last];
    let rest = longer.words[..first].iter().chain(&longer.words[last + 1..]);
    let subject = noun.single || lexicon().class(&noun.lead) & class::AUXILIARY != 0;
    // "Draw a horse head", "does a nurse practitioner earn", and not "cook vegetable soup".
    let ends = behind.is_none_or(|behind| behind.place > head.place + 1) || subject;
    // "Hot water and cold water", "hot water and cold".
    let said = || heads.iter().any(|head| shorter.words.iter().any(|word| word.stem == head.stem));
    // Not "a teacher/tutor".
    let written = || longer.key.contains(&format!("{} {}", noun.text, heads[0].text));
    // "Child(ren)", "children".
    let compound = || format!("{}{}", noun.text, heads[0].text);
    let in_one = || shorter.words.get(first - 1).is_some_and(|word| word.text == compound());
    let in_a_row = |two: &[Word]| two[0].place + 1 == two[1].place && two[0].sentence == two[1].sentence;
    let is_head = |word: &Word| {
        !(light(word) || word.is(NO_HEAD) || word.text.ends_with("ly") || word.text.ends_with("ed"))
    };
    longer.words[first - 1..=last].windows(2).all(in_a_row)
        && ends
        // "The process running on port 3000".
        && !(head.text.ends_with("ing") && behind.is_some())
        && heads.iter().all(is_head)
        && !said()
        && written()
        && !in_one()
        && rest.map(|word| &word.stem).eq(shorter.words.iter().map(|word| &word.stem))
}
