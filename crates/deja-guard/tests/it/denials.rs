//! What does not happen, said in another way, and what is denied for another reason.

use crate::reasons::{all_passed, all_refused};

#[test]
fn one_denial_has_many_forms() {
    all_passed(
        &[
            ("Why doesn't my mouse work?", "Why is my mouse not working?"),
            ("Why don't my headphones work?", "Why are my headphones not working?"),
            ("Why won't the old radio work?", "Why is the old radio not working?"),
            ("I can't log in, why?", "Why am I unable to log in?"),
            ("I cannot upload a photo. Why?", "Why can't I upload a photo?"),
            ("My webcam is not showing a picture", "My webcam does not show a picture"),
            ("My screen won't turn on", "My screen isn't turning on"),
            ("The page doesn't load", "The page fails to load"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("Why doesn't my mouse work?", "Why does my mouse work?"),
            ("Why don't people work?", "Why do people fail?"),
            ("Why doesn't my mouse work on glass?", "Why does my mouse work on glass?"),
            ("I can't log in, why?", "I can log in, why?"),
            ("I can't log in, why?", "I can't log out, why?"),
            ("My webcam does not show a picture", "My webcam shows a picture"),
            ("My screen won't turn on", "My screen won't turn off"),
        ],
        0.95,
    );
}

#[test]
fn what_cannot_be_may_be_allowed() {
    all_refused(
        &[
            ("I can't smoke here, why?", "I must not smoke here, why?"),
            ("Why can't I change my address?", "Why should I not change my address?"),
            ("I don't want to renew my plan", "I can't renew my plan"),
            ("I am unable to renew my plan", "I do not want to renew my plan"),
        ],
        0.95,
    );
    all_passed(
        &[
            ("Why can't I change my address?", "Why am I not able to change my address?"),
            ("I could not renew my plan", "I can't renew my plan"),
            ("I must not smoke here, why?", "Why must I not smoke here?"),
        ],
        0.92,
    );
}

#[test]
fn who_says_what_is_denied_elsewhere_asks_something_else() {
    all_refused(
        &[
            (
                "I like food and old houses, not beaches. Where to?",
                "I like food and beaches, not old houses. Where to?",
            ),
            ("Which clubs sold one ticket and no shirts?", "Which clubs sold one shirt and no tickets?"),
            ("Which drinks are good for a sore throat?", "Which drinks should I avoid with a sore throat?"),
            ("What are the advantages of tiles?", "What are the advantages of tiles over carpets?"),
            (
                "How long does it take to drive from Rome to Bari?",
                "How long does it take from Rome to Bari by train?",
            ),
        ],
        0.95,
    );
    all_passed(
        &[
            ("Why isn't my cat eating?", "Why is my cat not eating?"),
            ("My phone doesn't charge anymore", "My phone no longer charges"),
            ("Which drinks should I avoid with a sore throat?", "Which drinks are bad for a sore throat?"),
            ("How do I avoid jet lag?", "How can I prevent jet lag?"),
            ("What are the advantages of tiles over carpets?", "What advantages do tiles have over carpets?"),
        ],
        0.92,
    );
}
