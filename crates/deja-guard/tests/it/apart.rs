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
fn reasons_for_and_against() {
    all_refused(
        &[
            ("What are the reasons for joining the EU?", "What are the reasons against joining the EU?"),
            ("Give me three reasons for remote work", "Give me three reasons against remote work"),
            ("Reasons for a second lockdown", "Arguments against a second lockdown"),
        ],
        0.92,
    );
    all_passed(
        &[
            (
                "What are the reasons against joining the EU?",
                "What are the arguments against joining the EU?",
            ),
            ("Reasons against remote work", "What are the reasons against remote work?"),
        ],
        0.92,
    );
}

#[test]
fn other_kinds_and_other_means() {
    all_refused(
        &[
            ("Can I take ibuprofen with aspirin?", "Can I take ibuprofen instead of aspirin?"),
            ("How many calories are in a banana?", "How many carbs are in a banana?"),
            ("Does vitamin C prevent colds?", "Does vitamin C cure colds?"),
            ("What is the time complexity of quicksort?", "What is the space complexity of quicksort?"),
            ("Is it legal to record a call in Germany?", "Is it legal to record a meeting in Germany?"),
            ("How do I apply for a visa?", "How do I extend a visa?"),
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

#[test]
fn two_things_in_each_others_place() {
    all_refused(
        &[
            ("Does smoking cause stress?", "Does stress cause smoking?"),
            ("Copy column A to column B", "Copy column B to column A"),
            ("Sort by price then by date", "Sort by date then by price"),
            ("The test that failed today passed, why?", "The test that passed today failed, why?"),
            (
                "Show me employees hired in 2020 who left in 2022",
                "Show me employees hired in 2022 who left in 2020",
            ),
        ],
        0.97,
    );
    all_passed(
        &[
            ("What is 3 + 4?", "What is 4 + 3?"),
            ("How can I quickly learn it?", "How can I learn it quickly?"),
            ("Which is faster, Rust or Java?", "Which is faster, Java or Rust?"),
        ],
        0.92,
    );
}

#[test]
fn a_name_of_one_other_letter() {
    all_refused(
        &[
            ("Write a birthday card for Marta.", "Write a birthday card for Maria."),
            ("When did the painter Jan Toorop die?", "When did the painter Jan Tooroc die?"),
            ("Is it warm in Dallas?", "Is it warm in Dalles?"),
            ("Who is Dean Marten?", "Who is Dean Martin?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How far is it from Frankfurt?", "How far is it from Frankfirt?"),
            ("How far is it from Frankfurt?", "How far is it from Franfkurt?"),
            ("How far is it from Frankfurt?", "How far is it from Frankfutt?"),
            ("Who founded Qaeda?", "Who founded Qaida?"),
            ("Who was Lev Tolstoy?", "Who was Lev Tolstoi?"),
            ("Read Me A Taly Of Home", "Read Me A Tale Of Home"),
        ],
        0.92,
    );
}

/// "Go" is a verb that says nothing, and a language.
#[test]
fn the_language_go() {
    all_refused(
        &[
            ("Why is Rust faster than Go?", "Why is Go faster than Rust?"),
            ("is rust faster than go", "is go faster than rust"),
            ("go is faster than rust, right", "rust is faster than go, right"),
            ("Is Rust > Go for a server?", "Is Go > Rust for a server?"),
            ("How do I call Go from Python?", "How do I call Python from Go?"),
            ("how do i read a file in go", "how do i read a file in lua"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("Where can I go in Rome?", "Where in Rome can I go?"),
            ("How do I read a file in Golang?", "how do i read a file in go"),
        ],
        0.92,
    );
}
