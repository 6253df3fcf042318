//! Values and names in each other's place.

use crate::reasons::{all_passed, all_refused};

#[test]
fn what_two_clauses_exchange() {
    all_refused(
        &[
            (
                "Summarize in 3 bullet points: Sales rose by 4 % in the north and fell by 2 % in the south.",
                "Summarize in 3 bullet points: Sales fell by 4 % in the north and rose by 2 % in the south.",
            ),
            ("mix flour and milk with eggs", "mix eggs and milk with flour"),
            (
                "My cat always looks sad. What can I do so that it looks happy and playful?",
                "My cat always looks happy and playful. What can I do so that it looks sad?",
            ),
        ],
        0.92,
    );
    all_passed(
        &[
            ("Is Rust faster than Go?", "Which is faster, Rust or Go?"),
            (
                "Which is the stronger acid acetic acid, formic acid or lactic acid?",
                "Which is the stronger acid lactic acid, acetic acid or formic acid?",
            ),
            ("What happened in the 2nd World War?", "What happened in the second World War?"),
        ],
        0.92,
    );
}

#[test]
fn a_number_before_another_preposition() {
    all_passed(
        &[(
            "I ordered a pair of running shoes two weeks ago and the tracking page has not changed since last Monday. \
             Is there any way to find out where my parcel is right now?",
            "Two weeks ago I ordered a pair of running shoes, and since last Monday the tracking page hasn't changed. \
             How can I find out where my parcel is now?",
        )],
        0.92,
    );
}
