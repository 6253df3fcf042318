//! One thing in another one's place, where no preposition or article shows that a noun stands there.

use crate::reasons::{all_passed, all_refused};

#[test]
fn another_topic_at_the_start() {
    all_refused(
        &[
            ("tom hanks movies", "brad pitt movies"),
            ("golden gate bridge length", "brooklyn bridge length"),
            ("price of an iphone 15", "weight of an iphone 15"),
            ("phone number of the tax office", "opening hours of the tax office"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How do I unclog a drain?", "How do I clear a clogged drain?"),
            ("summarize this text", "summarise this text please"),
        ],
        0.92,
    );
}

#[test]
fn two_words_or_the_only_one() {
    all_refused(
        &[
            ("how often should i change my oil", "how often should i rotate my tires"),
            ("why is the sky blue at noon", "why is the sky red at sunset"),
            ("how much is a stamp", "how much is a box"),
            ("what if it rains", "what if it snows"),
            ("close a tab", "close the browser"),
        ],
        0.92,
    );
    all_passed(&[("What is the square root of 16?", "what's sqrt of 16?")], 0.92);
}

#[test]
fn what_who_did_was_something_else() {
    all_refused(
        &[
            ("who won the battle of hastings", "who fought in the battle of hastings"),
            ("What caused World War II?", "What ended World War II?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("who founded apple", "who established apple"),
            ("does my car insurance pay for a rental car", "does my car insurance cover a hire car"),
        ],
        0.92,
    );
}

#[test]
fn words_that_nothing_pairs() {
    all_refused(
        &[
            ("how do i list all tables in postgres", "how do i list all views in postgres"),
            ("who wrote hamlet", "who staged hamlet"),
            ("can i take my own food to the stadium", "can i sell my own food at the stadium"),
            (
                "My company wants to relocate me next spring, what rights do I have and what should I ask for?",
                "My company wants to demote me next spring, what rights do I have and what should I ask for?",
            ),
            ("the neighbour's kettle whistles at dawn, why", "the neighbour's rooster crows at dawn, why"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How do I fix a leaky tap?", "How do I repair a leaky faucet?"),
            ("How do I submit a leave request?", "How do I file a leave request?"),
            ("how do i redeem a gift card", "how do i use a gift card"),
            ("Is Norway bigger than Denmark?", "Is Denmark smaller than Norway?"),
            ("what is the sqrt of 16", "what is the square root of 16"),
        ],
        0.92,
    );
}

/// Nothing says that they mean the same, and nothing that they do not: a model is asked.
#[test]
fn words_that_nothing_pairs_leave_it_open() {
    let [a, b] = [
        "How do I reverse an array in a bash script without extra tools?",
        "How do I increment a variable in a bash script without extra tools?",
    ];
    let verdict = crate::reasons::verdict(a, b, 0.92);
    assert!(verdict.refused.is_some() && verdict.uncertain, "{verdict:?}");
}
