//! Texts of several sentences of which a few words were changed.

use crate::reasons::{all_passed, all_refused};

const LAPTOP: &str = "My laptop gets very hot and the fan is loud when I play games, but only since I installed the last \
                      update. I have already cleaned the vents and checked for viruses. What else can I try?";

/// A change in one clause of a long sentence.
#[test]
fn a_clause_of_a_long_text_is_judged_alone() {
    let refused = [("loud", "silent"), ("play games", "watch films")];
    for (word, other) in refused {
        all_refused(&[(LAPTOP, &*LAPTOP.replace(word, other))], 0.99);
    }
    let passed = [
        ("very hot", "really hot"),
        ("What else can I try?", "What else could I try?"),
        ("checked", "scanned"),
    ];
    for (word, other) in passed {
        all_passed(&[(LAPTOP, &*LAPTOP.replace(word, other))], 0.99);
    }
    let support = "You are a support agent of a phone company. The customer writes: I was charged 14.99 for roaming in \
                   Switzerland although I had switched data off. Answer politely, and do not offer a refund.";
    all_passed(&[(support, &*support.replace("switched", "turned"))], 0.92);
}

/// One sentence is judged by its clauses too, if it is long.
#[test]
fn a_clause_of_one_long_sentence_is_judged_alone() {
    let pages = "first page and second page of the book that my mother gave me on my last birthday are torn, so how do I \
                 mend them";
    let turned = pages.replace("first page and second page", "second page and first page");
    all_refused(&[(pages, &*turned)], 0.92);
    let late =
        "I am in a hurry and the bus to the airport is late, so how do I get to my gate when it rains?";
    all_refused(&[(late, &*late.replace("rains", "snows"))], 0.92);
}

/// Several sentences, with the same ones between them.
#[test]
fn each_changed_sentence_of_a_long_text_is_judged_alone() {
    let moved = "We moved from Lyon to Berlin in March with our two cats, and one of them has not been vaccinated \
                 against rabies since then. We plan to visit my parents in Lyon at Christmas. What do we need for the cats?";
    all_refused(&[(moved, &*moved.replace("cats", "dogs"))], 0.99);
    let passed = moved.replace("has not been", "hasn't been").replace("do we need", "would we need");
    all_passed(&[(moved, &*passed)], 0.99);
    let tire = "I bought a bike in May. It has a flat tire now. Should I go back to the shop that sold it, or can I repair it \
                myself at home with a kit?";
    let passed = tire.replace("tire", "tyre").replace("go back", "return").replace("myself", "on my own");
    all_passed(&[(tire, &*passed)], 0.92);
}

/// Another instruction before the same text, or another question behind it.
#[test]
fn what_is_asked_of_the_same_text_is_judged_alone() {
    let refused = [
        (
            "Label this ticket as bug, feature or question: the export button does nothing",
            "Label this ticket as urgent or not urgent: the export button does nothing",
        ),
        (
            "Give me a subject line for this email: Dear team, the printer is broken again. Best, Kim",
            "Give me a summary of this email: Dear team, the printer is broken again. Best, Kim",
        ),
        (
            "I moved to a new flat last week. How do I update my address?",
            "I moved to a new flat last week. How do I cancel my contract?",
        ),
        (
            "My sight on the left is 0.8. Can I drive at night with glasses?",
            "My sight on the left is 0.8. Can I drive at night with lenses?",
        ),
    ];
    all_refused(&refused, 0.95);
    let passed = [
        (
            "Is this email polite? Dear team, the printer is broken again. Best, Kim",
            "Is the following email polite? Dear team, the printer is broken again. Best, Kim",
        ),
        (
            "Sum up this: Sales rose in spring, but costs rose faster, so profit fell.",
            "Summarise this: Sales rose in spring, but costs rose faster, so profit fell.",
        ),
        // Marks within abbreviations, times and numbers end no sentence.
        (
            "Meeting with Mr. Lee at 14:30 in room 2.04, what should I bring along?",
            "Meeting with Mr. Lee at 14:30 in room 2.04, what do I need to bring along?",
        ),
    ];
    all_passed(&passed, 0.95);
}

/// A little word for a word of weight.
#[test]
fn a_little_word_may_say_what_another_word_says() {
    let passed = [
        ("how do i find somebody who takes my shifts", "how do i find someone who takes my shifts"),
        (
            "Write the letter in about 150 words, in a sad but hopeful tone.",
            "Write the letter in roughly 150 words, in a sad but hopeful tone.",
        ),
        ("i barely sleep at night, what can i do", "i hardly sleep at night, what can i do"),
    ];
    all_passed(&passed, 0.92);
    let refused = [
        ("how do i find somebody who takes my shifts", "how do i find someone who pays my shifts"),
        ("i barely sleep at night", "i sleep at night"),
    ];
    all_refused(&refused, 0.92);
}

/// The reply at the end of a chat, whose words stand elsewhere in it.
#[test]
fn another_last_line_is_another_reply() {
    all_refused(&[("User: hi\nUser: what", "User: hi\nUser: who")], 0.92);
}
