//! Messages of programs: another word in one is another message.

use crate::reasons::{all_passed, all_refused};

#[test]
fn another_word_is_another_message() {
    all_refused(
        &[
            ("TypeError: x is not a function. why?", "TypeError: x is not iterable. why?"),
            ("\"fatal: repository is gone\"", "\"fatal: branch is gone\""),
            ("`error: not found` in the shell", "`error: not fixed` in the shell"),
            ("error: is a directory", "error: is a file"),
            ("gpg: error: no key", "gpg: error: no agent"),
        ],
        0.92,
    );
    all_passed(&[("error[E0382]: borrow of moved value", "error[E0382]: use of moved value")], 0.92);
}

/// What is asked behind a message is none of it.
#[test]
fn a_question_behind_a_message_may_be_put_in_other_words() {
    all_passed(
        &[
            ("error: disk full how do i solve it", "error: disk full how can i resolve it"),
            ("error: disk full how do i fix this", "error: disk full what is the fix"),
            ("KeyError: name why do i see this", "KeyError: name why am i getting this"),
            (
                "fatal: repository not found what does that mean",
                "fatal: repository not found what is the meaning",
            ),
        ],
        0.92,
    );
}
