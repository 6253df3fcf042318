//! Code in prompts: a sign, a name or the order of words more or less.

use deja_guard::Reason;

use crate::reasons::{all_passed, all_refused, verdict};

#[derive(serde::Deserialize)]
struct Pair {
    a: String,
    b: String,
    label: u8,
}

/// The pairs that are judged wrongly, those that must not share an answer and those that may.
fn wrong(pairs: &str) -> [Vec<String>; 2] {
    let mut wrong = [Vec::new(), Vec::new()];
    for line in pairs.lines() {
        let pair: Pair = serde_json::from_str(line).expect("a line is a pair");
        let passes = verdict(&pair.a, &pair.b, 0.97).refused.is_none();
        if passes != (pair.label == 1) {
            wrong[usize::from(pair.label)].push(format!("{:?} / {:?}", pair.a, pair.b));
        }
    }
    wrong
}

#[test]
fn pairs_with_code_are_judged_rightly() {
    let [passed, lost] = wrong(include_str!("../../data/code.jsonl"));
    assert!(passed.is_empty(), "passed:\n{}", passed.join("\n"));
    assert!(lost.is_empty(), "lost:\n{}", lost.join("\n"));
}

/// These were written before the rules and not looked at until they were done.
#[test]
fn pairs_that_no_rule_was_written_for_keep_their_figures() {
    let [passed, lost] = wrong(include_str!("../../data/code_held.jsonl"));
    assert!(passed.is_empty(), "passed:\n{}", passed.join("\n"));
    assert!(lost.len() <= 1, "lost:\n{}", lost.join("\n"));
}

const FUNCTION: &str = "def f(x):\n    if x < 3:\n        return 2 * x\n    return x";

#[test]
fn a_block_has_a_normal_form() {
    let fenced = |code: &str, language: &str| format!("What does this do?\n```{language}\n{code}\n```");
    let code = fenced(FUNCTION, "python");
    for same in [
        fenced(FUNCTION, ""),
        fenced(FUNCTION, "py"),
        fenced(&FUNCTION.replace('\n', "\r\n"), "python"),
        fenced(&FUNCTION.replace('\n', "  \n\n"), "python"),
        fenced(&format!("  {}", FUNCTION.replace('\n', "\n  ")), "python"),
        format!("What does this do?\n\n{FUNCTION}\n"),
        format!("{FUNCTION}\n\nWhat does this do?"),
    ] {
        assert_eq!(verdict(&code, &same, 0.97).refused, None, "{same}");
    }
    for other in [
        fenced(&FUNCTION.replace('<', "<="), "python"),
        fenced(&FUNCTION.replace("f(x)", "f(X)"), "python"),
        fenced(&FUNCTION.replace("2 * x", "2 + x"), "python"),
        fenced(&FUNCTION.replace("    return x", "        return x"), "python"),
        fenced(&format!("{FUNCTION}\n\nf(1)"), "python"),
        format!("What does this do?\n\n{}", FUNCTION.replace('<', ">")),
    ] {
        assert!(verdict(&code, &other, 0.97).refused.is_some(), "{other}");
    }
}

/// What is asked about the same code is judged as any question is.
#[test]
fn the_question_beside_the_same_code_is_judged_alone() {
    let beside = |question: &str| format!("{question}\n```\n{FUNCTION}\n```");
    let judged = |a: &str, b: &str| verdict(&beside(a), &beside(b), 0.97).refused;
    for (a, b) in
        [("What does this do?", "what does this do"), ("Explain this code", "Please explain this code")]
    {
        assert_eq!(judged(a, b), None, "{a} / {b}");
    }
    for (a, b) in [
        ("Explain this code", "Translate this code to Java"),
        ("What does f(2) return?", "What does f(4) return?"),
        ("How do I make it faster?", "How do I make it slower?"),
        ("Does a call b?", "Does b call a?"),
        ("Explain this code", ""),
    ] {
        assert!(judged(a, b).is_some(), "{a} / {b}");
    }
    let two =
        |first: &str, second: &str| format!("{first}\n```\nf()\n```\n{second}\n```\ng()\n```\nIs it right?");
    assert!(verdict(&two("Before:", "After:"), &two("After:", "Before:"), 0.97).refused.is_some());
    assert_eq!(verdict(&two("Before:", "After:"), &two("before", "after"), 0.97).refused, None);
}

#[test]
fn reasons_say_what_differs() {
    for (a, b, reason) in [
        ("Explain `x == y`", "Explain `x = y`", Reason::Words),
        ("Explain: mv a b", "Explain: mv b a", Reason::Order),
        ("How does SUMIF work?", "How does SUMIFS work?", Reason::Name),
    ] {
        assert_eq!(verdict(a, b, 0.97).refused, Some(reason), "{a} / {b}");
    }
}

/// Backticks are marks of who writes, if the other one says the same without them.
#[test]
fn code_in_backticks_is_code_without_them() {
    all_passed(
        &[
            ("What does `git stash` do?", "What does git stash do?"),
            ("What does `len()` return?", "What does len return?"),
            ("What does `SELECT DISTINCT` do?", "what does select distinct do"),
            ("Is `x += 1` allowed?", "Is x+=1 allowed?"),
            ("Do `a` and `b` differ?", "Do `b` and `a` differ?"),
            ("Are `a`, `b` and `c` equal?", "Are `c`, `b` and `a` equal?"),
        ],
        0.97,
    );
    all_refused(
        &[
            ("Explain `mv a b`", "Explain mv b a"),
            ("What is `x = y`?", "What is x == y?"),
            ("What does `ls` do?", "What does `ls -R` do?"),
            ("Does `a` call `b`?", "Does `b` call `a`?"),
            ("Is `a`, not `b`, called?", "Is `b`, not `a`, called?"),
            ("Replace `a` and `b` with `c`", "Replace `c` and `b` with `a`"),
            ("Change `a` to `b` and save", "Change `b` to `a` and save"),
        ],
        0.97,
    );
}

/// Signs that prose has too.
#[test]
fn prose_is_not_taken_for_code() {
    all_passed(
        &[
            ("|Which trains run on day 1?", "|Please, which trains run on day 1?"),
            ("Is it open on Sunday (July 2)?", "Is it open on Sunday, July 2?"),
            ("Is it **really** free?", "Is it really free?"),
            ("Does it take 3 (three) days?", "Does it take 3 days?"),
            ("> How do I reset it?", "How do I reset it?"),
            ("How do I learn C++?", "how do i learn c++"),
            ("I cannot log in;\nwhat now?", "I cannot log in, what now?"),
            ("What is under Settings > Account?", "What is under Settings>Account?"),
            ("Who owns example.com?", "Who is the owner of example.com?"),
            ("Is my order #5512 late?", "Is order #5512 late?"),
            ("Which item(s) can I return?", "Which items can I return?"),
            ("Is https://example.com/ down?", "Is example.com down?"),
            ("How do I write to Tom (tom@example.com)?", "How do I write to tom@example.com (Tom)?"),
            ("I paid by card (Visa);\nit failed.\nWhy?", "I paid by card (Visa), it failed.\nWhy?"),
            ("I tried;\nnothing worked;\nwhat now?", "I tried, nothing worked, what now?"),
            ("Is 3 > 2?", "Is 3>2?"),
            ("try again later:\nwhat does it mean?", "\"Try again later\": what does it mean?"),
        ],
        0.97,
    );
}

#[test]
fn both_orders_of_two_commands_have_the_same_reason() {
    let (a, b) = ("Explain git a :", "Explain git . a :");
    assert_eq!(verdict(a, b, 0.97), verdict(b, a, 0.97));
}

/// What is code stands in both before what is asked, or behind it.
#[test]
fn both_orders_of_two_requests_have_the_same_verdict() {
    for (a, b) in [
        ("approaching approaching f(f(", "f(f(approaching approaching"),
        (
            "beginning arrive aaaII \u{201c}a\u{201d}x585 beginning",
            "aaaII \u{201c}a\u{201d}x585 beginning beginning arrive",
        ),
        (
            "efficient efficient aaaaaaaa[]efficient aaaaaaaa[]",
            "aaaaaaaa[]efficient aaaaaaaa[]efficient efficient",
        ),
    ] {
        assert_eq!(verdict(a, b, 0.97), verdict(b, a, 0.97), "{a} / {b}");
    }
}

/// In French a blank that is not broken stands before a colon, and pasted text has such blanks anywhere.
#[test]
fn a_message_may_stand_behind_any_blank() {
    for blank in [' ', '\t', '\u{a0}', '\u{202f}', '\u{3000}'] {
        let text = |what: &str| format!("What does it mean?{blank}Error: {what}");
        assert!(verdict(&text("disk full"), &text("access denied"), 0.97).refused.is_some(), "{blank:?}");
        assert_eq!(verdict(&text("disk full"), &text("disk full!"), 0.97).refused, None, "{blank:?}");
        let told = format!("Traduis ce mot{blank}: chat");
        assert_eq!(verdict(&told, &format!("{told}."), 0.97).refused, None, "{blank:?}");
    }
}
