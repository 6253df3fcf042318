//! What stands around a question and asks nothing of its own.

use crate::reasons::{all_passed, all_refused};

#[test]
fn a_state_before_the_question() {
    all_passed(
        &[
            ("my account is locked how do i unlock it", "how do i unlock my account"),
            ("my account is locked how do i unlock it", "how do i unlock my locked account"),
            ("my toilet is leaking, how do i fix it", "how do i fix a leaking toilet"),
            ("The door is jammed. How do I open it?", "How do I open a jammed door?"),
            ("my sink is clogged and how do i fix it", "how do i fix my clogged sink"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("my account is locked how do i unlock it", "how do i lock my account"),
            ("my account is locked how do i delete it", "how do i unlock my account"),
            ("my phone is locked how do i unlock it", "how do i unlock my account"),
        ],
        0.92,
    );
}

#[test]
fn what_does_not_stop_goes_on() {
    all_passed(
        &[
            ("my dog wont stop barking at night", "my dog keeps barking at night"),
            ("why does my phone keep restarting", "why wont my phone stop restarting"),
            ("why won't my old washing machine stop leaking", "why does my old washing machine keep leaking"),
        ],
        0.92,
    );
    all_refused(
        &[
            ("my dog wont stop barking at night", "my dog stopped barking at night"),
            ("how do i forward calls to voicemail", "how do i stop forwarding calls to voicemail"),
            ("why wont my phone stop restarting", "why wont my phone restart"),
            ("it does not stop. ring it", "it keeps. ring it"),
        ],
        0.92,
    );
}

#[test]
fn free_of_something_is_without_it() {
    all_passed(
        &[
            ("gluten free bread recipe", "recipe for bread without gluten"),
            ("nut free snacks for kids", "snacks for kids without nuts"),
        ],
        0.92,
    );
    all_refused(
        &[("gluten free bread", "bread with gluten"), ("is the bread gluten free", "is the bread free")],
        0.92,
    );
}

#[test]
fn an_oath_asks_nothing() {
    all_passed(
        &[
            ("what on earth is a derivative", "what is a derivative"),
            ("why the hell is my bill so high", "why is my bill so high"),
            ("i have no idea how to file taxes", "how do i file taxes"),
        ],
        0.92,
    );
    all_refused(&[("what is the best place on earth", "what is the best place on mars")], 0.92);
}
