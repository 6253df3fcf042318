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
            ("How much is a room in Lund?", "How much is a room in Palo Alto?"),
            ("Is aspirin safe with blood thinners?", "Is aspirin safe with stomach ulcers?"),
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

#[test]
fn small_words_say_when_and_whether_it_must_be() {
    all_refused(
        &[
            ("When did the shop open?", "When will the shop open?"),
            ("Has my parcel been sent?", "Will my parcel be sent?"),
            ("Was the class cancelled?", "Is the class going to be cancelled?"),
            ("Who won the race?", "Who is going to win the race?"),
            ("How did I earn points?", "How do I earn points?"),
            ("Does the tenant have to repaint?", "Is the tenant allowed to repaint?"),
            ("How often can I resit it?", "How often must I resit it?"),
            ("What is a mortgage?", "How do I get a mortgage?"),
            ("Why does the build fail?", "Does the build fail?"),
            ("Is the exam hard?", "Is the exam too hard?"),
        ],
        0.95,
    );
    all_passed(
        &[
            ("When will the shop open?", "When is the shop going to open?"),
            ("Has my parcel been sent?", "Was my parcel sent?"),
            ("How do I draft a will?", "How can I draft a will?"),
            ("Where can I park?", "Where may I park?"),
            ("What do I need to get a visa?", "What do I have to do to get a visa?"),
            ("Is the screen too dark?", "Is the screen much too dark?"),
        ],
        0.92,
    );
}

#[test]
fn who_does_it_counts() {
    all_refused(
        &[
            ("Do you charge VAT?", "Do I charge VAT?"),
            ("Can I sue my employer?", "Can my employer sue me?"),
            ("Can my boss cancel my holiday?", "Can I cancel my holiday with my boss?"),
            ("How do I invite a guest to the call?", "How does a guest invite me to the call?"),
            ("Who do I owe money?", "Who owes me money?"),
            ("How much do I pay into the pension?", "How much does my employer pay into the pension?"),
        ],
        0.95,
    );
    all_passed(
        &[
            ("When do I start my job?", "When does my job start?"),
            ("Do I need a visa for Japan?", "Do you need a visa for Japan?"),
            ("How do I reset my password?", "How does one reset a password?"),
            ("When do I get paid by my employer?", "When does my employer pay me?"),
        ],
        0.92,
    );
}

#[test]
fn roles_turn_under_another_verb() {
    all_refused(
        &[
            ("Owls eat snakes", "Snakes prey on owls"),
            ("Does stress cause headaches?", "Do headaches lead to stress?"),
            ("How do I exchange dollars for euros?", "How do I change euros into dollars?"),
        ],
        0.95,
    );
    all_passed(
        &[
            ("Owls eat snakes", "Snakes are eaten by owls"),
            ("How do I exchange dollars for euros?", "How do I change dollars into euros?"),
        ],
        0.92,
    );
}

#[test]
fn too_much_of_it_is_a_wish_for_less() {
    all_refused(
        &[
            ("How can I make my curry hotter?", "My curry is too fiery, what can I do?"),
            ("How do I make the room warmer?", "The room is too hot, what do I do?"),
            ("How do I make the font smaller?", "The font is too small, what do I do?"),
        ],
        0.95,
    );
    all_passed(&[("How do I make the room warmer?", "The room is too cold, how do I make it warmer?")], 0.92);
}

#[test]
fn short_words_that_are_kinds_and_long_ones_that_are_none() {
    all_refused(
        &[
            ("can i deposit a check by phone", "can i deposit cash by phone"),
            ("weather next week", "weather this week"),
            ("what should i do while my baby is sleeping", "what should i do until my baby is sleeping"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("how do i freeze the first row in excel", "how do i freeze the top row in excel"),
            ("what are the main causes of the war", "what are the major causes of the war"),
            ("what is the fine for filing taxes late", "what is the penalty for filing taxes late"),
            ("what year did the titanic sink", "the titanic sank in what year"),
        ],
        0.92,
    );
}

#[test]
fn words_that_look_alike_are_two_things() {
    all_refused(
        &[
            ("What is a tenant?", "What is a tenancy?"),
            ("What is a deposit?", "What is a deposition?"),
            ("Explain what a fraction is.", "Explain what a fractal is."),
            ("Is astronomy a science?", "Is astrology a science?"),
            ("Explain a neutron to a child", "Explain a neuron to a child"),
            ("Which vaccines do I need in Kenya?", "I am going to Namibia. What vaccinations are needed?"),
            ("Which adapter do I need in Japan?", "I am travelling to Italy. Which adapter do I need?"),
        ],
        0.95,
    );
    all_passed(
        &[
            ("How do I get a driving license?", "How do I get a driver's license?"),
            ("How do I book a trip to Rome?", "How can I book a trip to Rome?"),
        ],
        0.92,
    );
}

/// Two negations are no agreement.
#[test]
fn who_denies_two_things_asks_the_contrary() {
    all_refused(
        &[
            (
                "Why was I charged a fee although I paid?",
                "Why wasn't I charged a fee although I did not pay?",
            ),
            (
                "Why did my plant die although I watered it?",
                "Why didn't my plant die although I didn't water it?",
            ),
        ],
        0.95,
    );
    all_passed(&[("Why did I get no refund?", "Why didn't I get a refund?")], 0.92);
}
