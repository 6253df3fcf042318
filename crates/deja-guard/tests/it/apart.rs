//! Prompts of nearly the same words that ask about somebody else, do something else, or turn round who does it.

use crate::reasons::{all_passed, all_refused};

#[test]
fn what_is_true_of_a_group_or_a_place_alone() {
    all_refused(
        &[
            ("Is ibuprofen safe?", "Is ibuprofen safe for pregnant women?"),
            ("Is coffee safe for women?", "Is coffee safe for pregnant women?"),
            ("How much protein do I need?", "How much protein do I need as a vegan?"),
            ("What exercises are safe?", "What exercises are safe during pregnancy?"),
            ("What is a good running plan?", "What is a good running plan for beginners?"),
            ("Who are the big banks?", "Who are the big banks in Chile?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("As a beginner, how do I learn Python?", "How do I learn Python as a beginner?"),
            ("Show me the price in USD", "Show me the price in US dollars"),
            ("Where do I find housing in Delhi?", "Where can I find housing in New Delhi?"),
        ],
        0.92,
    );
}

#[test]
fn another_verb_or_another_last_word() {
    all_refused(
        &[
            ("Which foods should I eat with gout?", "Which foods should I avoid with gout?"),
            ("What should I wear to an interview?", "What should I bring to an interview?"),
            ("Can I carry a knife?", "Can I sell a knife?"),
            ("Why does my engine overheat?", "Why does my engine rattle?"),
            ("Why is my cat sneezing?", "Why is my cat limping?"),
            ("What is peer to peer investing?", "What is peer to peer replication?"),
            ("How do I transfer my tickets?", "How do I print my tickets?"),
            ("How do I split a string in Go?", "How do I reverse a string in Go?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How do I create a user in MySQL?", "How do I add a user in MySQL?"),
            ("Can I change my flight?", "Can I modify my flight?"),
            ("Why does my car shake?", "Why is my car shaking?"),
        ],
        0.92,
    );
}

#[test]
fn contraries_by_their_form() {
    all_refused(
        &[
            ("Am I overpaid?", "Am I underpaid?"),
            ("Why is my skin hydrated?", "Why is my skin dehydrated?"),
            ("What are the signs of hyperthermia?", "What are the signs of hypothermia?"),
            ("Is a careful driver insured?", "Is a careless driver insured?"),
        ],
        0.92,
    );
}

#[test]
fn an_order_that_counts_and_who_does_it() {
    all_refused(
        &[
            (
                "Run these steps in this order: build, test, deploy",
                "Run these steps in this order: test, build, deploy",
            ),
            ("Who inspired Picasso?", "Who did Picasso inspire?"),
            ("Can my employer read my email?", "Can I read my employer's email?"),
            ("Is a Roth IRA better than a 401k?", "Is a 401k better than a Roth IRA?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("Can I run these steps: build, test, deploy?", "Can I run these steps: test, build, deploy?"),
            ("Did Picasso inspire Pollock?", "Was Pollock inspired by Picasso?"),
        ],
        0.92,
    );
}
