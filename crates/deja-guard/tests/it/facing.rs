//! Words of one kind that face each other, and what is typed in short.

use crate::reasons::{all_passed, all_refused};

#[test]
fn two_names_two_times_and_two_unknown_words_are_two() {
    all_refused(
        &[
            ("How many people live in Madrid?", "Tell me the population of Vienna."),
            ("Where should I eat in Nagoya?", "What are the best restaurants in Tokyo?"),
            ("Boston weather tomorrow, please.", "How will the weather be in Boston this weekend?"),
            ("how to use vlookup in a sheet", "how to use hlookup in a sheet"),
            ("install k8s on ubuntu", "install k3s on ubuntu"),
            ("what did steve jobs say in 2005", "what did bill gates say in 2005"),
            ("who is the ceo of google", "who is the cto of google"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How many people live in Madrid?", "Tell me the population of Madrid."),
            ("install k8s on ubuntu", "install kubernetes on ubuntu"),
            ("what does i18n mean for my app", "what does internationalization mean for my app"),
            ("Do weed vaporizers smell?", "Does vaporizing weed smell?"),
            ("what is high blood pressure", "what is hypertension"),
        ],
        0.92,
    );
}

#[test]
fn a_single_letter_in_lower_case_names_one_of_several() {
    all_refused(
        &[
            ("how do i tune my guitar to drop d", "how do i tune my guitar to drop c"),
            ("foods with vitamin c", "foods with vitamin d"),
            ("is hepatitis b curable", "is hepatitis c curable"),
            ("Who was George W. Bush?", "Who was George H. W. Bush?"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("foods with vitamin c", "which foods have vitamin C"),
            ("how do i solve for x", "how do I solve for X?"),
        ],
        0.92,
    );
}

#[test]
fn what_an_answer_is_in_and_how_many_it_has() {
    all_refused(
        &[
            ("Tell me the speed of sound, in miles per hour.", "What is the speed of sound in knots?"),
            ("How long is a marathon in miles?", "How long is a marathon in metres?"),
            ("how many ounces are in a pound", "how many pounds are in an ounce"),
            ("what is the gdp of germany", "what is the gdp per capita of germany"),
            ("what is 20% of 80", "80 is 20% of what"),
            ("how do you pronounce gif", "how do you pronounce gift"),
            ("Can I wear boots rather than dress shoes?", "Can I wear dress shoes rather than boots?"),
            ("How heavy is a blue whale?", "How tall is a blue whale?"),
            ("Recommend a film by Hitchcock.", "Recommend films by Hitchcock."),
            ("Why was I charged twice for one order?", "Why was I charged once for two orders?"),
            ("for i in range(10): print(i), why no output", "for i in range(10) print(i), why no output"),
        ],
        0.92,
    );
    all_passed(
        &[
            ("How long is a marathon in miles?", "What is the length of a marathon in miles?"),
            ("Write a 100-word summary of Hamlet.", "Give me a summary of Hamlet that is 100 words long."),
            ("What is the best phone under ₹ 20,000?", "What is the best phone under Rs. 20,000?"),
            ("What is the best phone under 20,000 INR?", "What is the best phone under ₹20,000?"),
        ],
        0.92,
    );
}

#[test]
fn what_is_refused_is_not_done_and_what_is_legal_is_allowed() {
    all_passed(
        &[
            ("my dog refuses to eat, what should i do", "my dog does not eat, what should i do"),
            ("Am I allowed to fish without a permit?", "Can I legally fish without a permit?"),
            ("How do I clear the cache in Chrome?", "How do I clear the cache in Google Chrome?"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("my dog refuses to eat, what should i do", "my dog wants to eat, what should i do"),
            ("Is it legal to fish without a permit?", "Is it illegal to fish without a permit?"),
            ("Is it legal to fish here?", "Is it unlawful to fish here?"),
        ],
        0.92,
    );
}

#[test]
fn the_subject_comes_first_or_last_and_signs_are_said() {
    all_passed(
        &[
            ("python how to check if a list is empty", "how do i check if a list is empty in python"),
            ("what's 7 squared", "what is 7^2"),
            ("i was double charged", "i was charged twice"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("python how to check if a list is empty", "how do i check if a list is empty in java"),
            ("what's 7 squared", "what's 7 cubed"),
            ("what's 7 squared", "what is 2^7"),
            ("i was double charged", "i was charged once"),
        ],
        0.92,
    );
}
