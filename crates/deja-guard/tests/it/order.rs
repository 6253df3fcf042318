//! The roles of the words that two prompts share.

use crate::reasons::{all_passed, all_refused};

#[test]
fn who_does_it_and_to_whom() {
    all_refused(
        &[
            ("Can I lend money to my wife?", "Can I borrow money from my wife?"),
            ("were shares bought from tesla", "has tesla bought shares"),
            ("google was bought by apple", "google bought apple"),
            ("the cat was chased by the dog", "the cat chased the dog"),
            ("did you get my email", "did i get my email"),
            ("Which games has Microsoft bought?", "Which games were bought from Microsoft?"),
        ],
        0.92,
    );
    all_passed(
        &[
            (
                "When did the city council approve the budget?",
                "When was the budget approved by the city council?",
            ),
            ("who wrote pride and prejudice", "by whom was pride and prejudice written"),
            ("spain beats italy", "italy loses to spain"),
            ("the cat was chased by the dog", "the dog chased the cat"),
        ],
        0.92,
    );
}

#[test]
fn what_moved_and_says_the_same() {
    all_passed(
        &[
            ("what is the penalty for late filing of taxes", "what is the fine for filing taxes late"),
            ("Why do cats purr when they sleep?", "When cats sleep, why do they purr?"),
            ("Answer in French: what is a prime number?", "What is a prime number? Answer in French."),
            ("put flour and sugar into milk", "put sugar and flour into milk"),
        ],
        0.92,
    );
}
