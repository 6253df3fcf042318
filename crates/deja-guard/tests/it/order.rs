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

#[test]
fn parties_of_several_words_do_it_to_each_other() {
    for cosine in [0.88, 0.92, 0.98] {
        all_refused(
            &[
                ("How do taxes influence house prices?", "How do house prices influence taxes?"),
                ("how does inflation affect interest rates", "how do interest rates affect inflation"),
                ("Does poverty cause mental illness?", "Does mental illness cause poverty?"),
                ("Can a small company sue a bank?", "Can a bank sue a small company?"),
                ("my son hit another kid at school, what now", "another kid hit my son at school, what now"),
                ("Another dog bit my dog, am I liable?", "My dog bit another dog, am I liable?"),
            ],
            cosine,
        );
    }
    all_passed(
        &[
            (
                "My kitchen sink drains really slowly, what can I do about it?",
                "How can I fix a slow-draining kitchen sink?",
            ),
            ("iphone 13 battery replacement cost", "how much does it cost to replace an iphone 13 battery"),
            ("Can I mix baking soda with vinegar?", "Can I mix vinegar with baking soda?"),
            ("Does baking soda react with vinegar?", "Does vinegar react with baking soda?"),
            ("Does Saudi Arabia border Iraq?", "Does Iraq border Saudi Arabia?"),
            (
                "Do interest rates and house prices move together?",
                "Do house prices and interest rates move together?",
            ),
            (
                "Can you eat figs, red apples, pears and plums raw?",
                "Can you eat red apples, pears, plums and figs raw?",
            ),
        ],
        0.92,
    );
}

#[test]
fn another_preposition_asks_something_else() {
    all_refused(
        &[
            ("how do i stretch prior to running", "how do i stretch following running"),
            ("Can I eat in advance of surgery?", "Can I eat subsequent to surgery?"),
            ("Can I sell my house with a mortgage?", "Can I sell my house after the mortgage?"),
            ("Can I get a loan with a guarantor?", "Can I get a loan as a guarantor?"),
            ("how do i log in as an admin", "how do i log in to an admin"),
            ("Who wrote the book about the queen?", "Who wrote the book for the queen?"),
            ("How do I take over a company?", "How do I take on a company?"),
            ("How do I put up a shelf?", "How do I put down a shelf?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("Can I eat prior to surgery?", "Can I eat before surgery?"),
            ("what is the mortgage calculator for", "tell me about the mortgage calculator"),
            ("Do I have to work on the weekend?", "Do I have to work over the weekend?"),
        ],
        0.92,
    );
}

#[test]
fn how_far_it_goes_is_part_of_the_question() {
    all_refused(
        &[
            ("How do I delete my account?", "How do I temporarily delete my account?"),
            ("How do I partially cancel my order?", "How do I cancel my order?"),
            ("How do I train for a marathon?", "How do I train for a half marathon?"),
        ],
        0.92,
    );
}
