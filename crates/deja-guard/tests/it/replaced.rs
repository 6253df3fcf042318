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
