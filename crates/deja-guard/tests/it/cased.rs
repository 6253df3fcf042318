//! Letter case. The tokenizer lowers all letters, so the vectors of these pairs are equal.

use crate::reasons::{all_passed, all_refused};

#[test]
fn case_counts_where_it_makes_another_thing() {
    all_refused(
        &[
            ("How do I clean polish?", "How do I clean Polish?"),
            ("What does Polish mean?", "What does polish mean?"),
            ("How big is turkey?", "How big is Turkey?"),
            ("Who is the head of WHO?", "Who is the head of who?"),
            ("What does SHE stand for?", "What does she stand for?"),
            ("How do I prepare for the CAT?", "How do I prepare for the cat?"),
            ("What is the symbol Co?", "What is the symbol CO?"),
            ("How many Mg are in milk?", "How many mg are in milk?"),
            ("What does G mean in physics?", "What does g mean in physics?"),
            ("What does G mean in physics?", "What is the meaning of g in physics?"),
            ("What is the variable N?", "What is the variable n?"),
            ("Is X larger than x?", "Is x larger than X?"),
            ("What does the genotype Aa mean?", "What does the genotype AA mean?"),
            ("what does the genotype Aa mean?", "what does the genotype aa mean?"),
            ("What is the ratio for Aa x aa?", "What is the ratio for Aa x AA?"),
            ("What is the difference between let and Let?", "What is the difference between Let and let?"),
            ("What is the difference between let and Let?", "What is the difference between let and let?"),
        ],
        1.0,
    );
}

#[test]
fn elsewhere_it_says_nothing() {
    all_passed(
        &[
            ("How do I learn Python?", "How do I learn python?"),
            ("how do i learn python?", "How Do I Learn Python?"),
            ("HOW DO I TRACK MY PACKAGE", "how do i track my package"),
            ("how big is turkey?", "How big is Turkey?"),
            ("What does vitamin D do?", "What does vitamin d do?"),
            ("How do I reverse a string in C?", "How do I reverse a string in c?"),
            ("What is the best C++ book?", "What is the best c++ book?"),
            ("How do I make a string lowercase in Python?", "How do I make a string lowercase in python?"),
            ("Are 5 Mg of it too much?", "Are 5 mg of it too much?"),
            ("What's my P-value?", "What's my p-value?"),
            ("Where is it? It is late.", "Where is It? It is late."),
            ("What is a car engine cc?", "What is a car engine CC?"),
        ],
        1.0,
    );
}
