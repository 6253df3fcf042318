//! Code among prose, without backticks: its signs say something.

use crate::reasons::{all_passed, all_refused};

#[test]
fn another_sign_is_other_code() {
    all_refused(
        &[
            ("what does HEAD^ mean in git", "what does HEAD mean in git"),
            ("what is &x in c", "what is x in c"),
            ("what does !x mean in c", "what does x mean in c"),
            ("what does x**2 mean", "what does x*2 mean"),
            ("what does cat|dog match", "what does cat dog match"),
            ("what does a?.b do in js", "what does a.b do in js"),
            ("what does 1..5 mean", "what does 1...5 mean"),
            ("is x % 2 even", "is x / 2 even"),
            ("what does (a + b) do", "what does a + b do"),
            ("what does git show main do", "what does git log main do"),
            ("def f(x): return x*2\nwhat does f(3) return", "def f(x): return x**2\nwhat does f(3) return"),
        ],
        0.92,
    );
}

#[test]
fn what_is_no_code_or_laid_out_in_another_way() {
    all_passed(
        &[
            ("what does foo( x, y ) do", "what does foo(x, y) do"),
            ("git command to delete a local branch", "how can i delete a local git branch"),
            ("**How do I bake bread?**", "How do I bake bread?"),
            ("what is in src/lib/x.rs", "what is in src lib x.rs"),
        ],
        0.92,
    );
}
