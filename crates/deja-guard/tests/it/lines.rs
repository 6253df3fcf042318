//! Lines that are code: the case of a letter in them says something, and in prose it says nothing.

use crate::reasons::{all_passed, all_refused};

#[test]
fn a_capital_in_a_line_of_code_counts() {
    let lines = [
        ("Explain:\n{}", "foo(Bar)", "foo(bar)"),
        ("Explain:\n{}", "<Foo>", "<foo>"),
        ("Is it right?\n{}", "  Foo bar;", "  foo bar;"),
        ("Why does it fail?\nx = 1\n{}", "while Ready:", "while ready:"),
        ("Why does it fail?\nx = 1\n{}", "let x = Bar", "let x = bar"),
        ("Why does it fail?\nx = 1\n{}", "return call(Foo)", "return call(foo)"),
        ("Why does it fail?\nx = 1\n{}", "a[i] = Foo", "a[i] = foo"),
        ("Why does it fail?\nx = 1\n{}", "INSERT INTO Users VALUES (1)", "INSERT INTO users VALUES (1)"),
        ("Why does it fail?\nx = 1\n{}", "DELETE FROM Users WHERE id = 5", "DELETE FROM users WHERE id = 5"),
        ("Why does it fail?\nx = 1\n{}", "UPDATE Users SET name to Tom", "UPDATE users SET name to Tom"),
        ("Why does it fail?\nx = 1\n{}", "DROP INDEX Names", "DROP INDEX names"),
        ("What is the result?\n{}\ny = 1", "a b c d e = Foo", "a b c d e = foo"),
        ("Is that right? {}", "foo(Bar);", "foo(bar);"),
        ("Is 5 ok? {}", "foo(Bar);", "foo(bar);"),
    ];
    for (text, line, other) in lines {
        all_refused(&[(&*text.replace("{}", line), &*text.replace("{}", other))], 0.92);
    }
}

#[test]
fn a_capital_in_a_line_of_prose_does_not_count() {
    let lines = [
        ("Translate this\n{}", "class Trips:", "class trips:"),
        ("Translate this\n{}", "import of Cars from Japan", "import of cars from japan"),
        ("Translate this\n{}", "from Paris with love", "from paris with love"),
        ("Translate this\n{}", "I like (Thai) food", "I like (thai) food"),
        ("Translate this\n{}", "Call me (Tom)", "call me (tom)"),
        ("Translate this\n{}", "the price = Cost of it", "the price = cost of it"),
        ("Translate this\n{}", "long Walks are fun for me", "long walks are fun for me"),
        ("Write two plans\n{}\nwith fish:", "with Rice:", "with rice:"),
        ("Write two plans\n{}\nfor experts:", "for Beginners:", "for beginners:"),
        ("My text is: {}", "nothing Worked;", "nothing worked;"),
        ("Please {} from this list;", "select Name", "select name"),
    ];
    for (text, line, other) in lines {
        all_passed(&[(&*text.replace("{}", line), &*text.replace("{}", other))], 0.92);
    }
}

/// A statement may go on in the next line.
#[test]
fn a_query_may_have_several_lines() {
    all_passed(
        &[(
            "How do I speed this up?\nSELECT name FROM users WHERE age > 30;",
            "How do I speed this up?\nSELECT name\nFROM users\nWHERE age > 30",
        )],
        0.92,
    );
}
