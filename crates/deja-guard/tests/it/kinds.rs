//! Two prompts of which nearly all words are the same, and what sets them apart.

use crate::reasons::{all_passed, all_refused};

#[test]
fn another_kind_of_one_thing_is_another_thing() {
    all_refused(
        &[
            ("Who directed Jaws?", "Who was the producer of Jaws?"),
            ("How do I rename a tag in git?", "How do I merge a tag in git?"),
            ("How do I boil potatoes?", "How do I bake potatoes?"),
            ("Can I claim sick leave?", "Can I claim parental leave?"),
            ("Should I rest before swimming?", "Should I rest while swimming?"),
            ("What is simple interest?", "What is compound interest?"),
            ("Must both tenants sign?", "Must either tenant sign?"),
            ("Tell me how to install the driver", "Tell me how to update the driver"),
        ],
        0.95,
    );
    all_passed(
        &[
            ("Who directed Jaws?", "Who was the director of Jaws?"),
            ("How do I open a current account?", "How do I open a checking account?"),
            ("How do I bake potatoes?", "How do I roast potatoes?"),
            ("Can I claim vacation days?", "Can I claim holiday days?"),
        ],
        0.92,
    );
}

#[test]
fn a_noun_in_the_place_of_another_is_another_one() {
    all_refused(
        &[
            ("What is the dress code at the gala?", "What is the dress code at the rodeo?"),
            ("Is parking free in Lund?", "Is parking free in Malmo?"),
            ("Does turmeric help?", "Does cinnamon help?"),
            ("How do I descale a kettle?", "How do I descale a toaster?"),
            ("Is it safe for ferrets?", "Is it safe for llamas?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("Is there a fee for ATMs abroad?", "Is there a charge for ATMs abroad?"),
            ("What is the speed limit for lorries?", "What is the speed limit for trucks?"),
        ],
        0.92,
    );
}
