//! Prompts: entries, rewordings of them, and prompts that are like no other. About 16 tokens each.

use deja_core::random::split_mix;
use serde_json::json;

use crate::parts::provider::MODEL;

const ACTIONS: [&str; 20] = [
    "cancel", "renew", "pay for", "return", "insure", "track", "upgrade", "transfer", "complain about",
    "reserve", "translate", "repair", "clean", "sell", "photograph", "install", "donate", "inspect",
    "borrow", "label",
];
const THINGS: [&str; 25] = [
    "my travel insurance", "the gym membership", "a leather sofa", "my electric bicycle",
    "the parking permit", "a birth certificate", "my broadband router", "the garden shed", "a wedding dress",
    "my hearing aid", "the coffee machine", "a season ticket", "my violin", "the swimming pool",
    "a mortgage contract", "my fishing licence", "the solar panels", "a tax statement", "my contact lenses",
    "the school uniform", "a rental van", "my vaccination record", "the washing machine", "a gift voucher",
    "my stamp collection",
];
const CIRCUMSTANCES: [&str; 20] = [
    "before the end of the month",
    "from a mobile phone",
    "without a credit card",
    "while living abroad",
    "for a family of four",
    "after moving to another city",
    "on a public holiday",
    "with a student discount",
    "if the receipt is lost",
    "during the winter season",
    "in the name of my mother",
    "when the shop is closed",
    "at the airport terminal",
    "under the new regulations",
    "by registered post",
    "using the online portal",
    "for the second time this year",
    "at a lower price",
    "without any help",
    "as a small business owner",
];

/// How many different entries there are.
pub(crate) const ENTRIES: usize = ACTIONS.len() * THINGS.len() * CIRCUMSTANCES.len();

/// What is asked in entry `index`. Neighbours in number differ in every part.
fn matter(index: usize) -> String {
    let action = ACTIONS[index % ACTIONS.len()];
    let thing = THINGS[index / ACTIONS.len() % THINGS.len()];
    let circumstance = CIRCUMSTANCES[(index + index / (ACTIONS.len() * THINGS.len())) % CIRCUMSTANCES.len()];
    format!("{action} {thing} {circumstance}")
}

/// The prompt of entry `index`.
pub(crate) fn entry(index: usize) -> String {
    format!("How do I {}?", matter(index))
}

/// Rewording `number` of the entries below `entries`: entry after entry, then all of them in other words.
/// Every one is different from every other and from every entry.
pub(crate) fn rewording(number: usize, entries: usize) -> String {
    const OPENINGS: [&str; 5] = ["How can I", "How could I", "How should I", "How would I", "How must I"];
    const CLOSINGS: [&str; 4] = ["?", ", please?", " now?", "? Thanks."];
    let round = number / entries;
    let opening = OPENINGS[round % OPENINGS.len()];
    let closing = CLOSINGS[round / OPENINGS.len() % CLOSINGS.len()];
    format!("{opening} {}{closing}", matter(number % entries))
}

/// How many rewordings of `entries` entries there are.
pub(crate) const fn rewordings(entries: usize) -> usize {
    entries * 20
}

/// Prompt `number` that is like no other: a dozen words drawn from all over the language.
pub(crate) fn unlike(number: usize) -> String {
    const WORDS: &str = include_str!("words.txt");
    let words: Vec<&str> = WORDS.split_ascii_whitespace().collect();
    let mut state = number as u64;
    let drawn: Vec<&str> =
        (0..12).map(|_| words[(split_mix(&mut state) % words.len() as u64) as usize]).collect();
    format!("{}?", drawn.join(" "))
}

/// The body of a query. `threshold` is deja's own if it is `None`.
pub(crate) fn body(prompt: &str, threshold: Option<f64>) -> String {
    match threshold {
        None => json!({"prompt": prompt, "model": MODEL}),
        Some(threshold) => json!({"prompt": prompt, "model": MODEL, "similarity_threshold": threshold}),
    }
    .to_string()
}

/// The body of a chat completion.
pub(crate) fn chat(prompt: &str, stream: bool) -> String {
    let messages = json!([{"role": "user", "content": prompt}]);
    if stream {
        json!({"model": MODEL, "messages": messages, "stream": true}).to_string()
    } else {
        json!({"model": MODEL, "messages": messages}).to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_prompt_comes_twice() {
        let mut seen: HashSet<String> = (0..ENTRIES).map(entry).collect();
        assert_eq!(seen.len(), ENTRIES);
        assert!((0..rewordings(1000)).all(|number| seen.insert(rewording(number, 1000))));
        assert!((0..50_000).all(|number| seen.insert(unlike(number))));
    }
}
