//! Numbers, values that change places, long texts and code.

use crate::reasons::verdict;

fn assert_refused(pairs: &[(&str, &str)], cosine: f32) {
    for (a, b) in pairs {
        assert!(verdict(a, b, cosine).refused.is_some(), "{a} / {b}");
    }
}

fn assert_passed(pairs: &[(&str, &str)], cosine: f32) {
    for (a, b) in pairs {
        let verdict = verdict(a, b, cosine);
        assert_eq!(verdict.refused, None, "{a} / {b}: {verdict:?}");
    }
}

/// A comma between digits is a point, a colon a ratio, a semicolon parts two numbers.
#[test]
fn a_mark_between_digits_is_read() {
    let refused = [
        ("How much is 6,8 in percent?", "How much is 6:8 in percent?"),
        ("What is the ratio of 9;4?", "What is the ratio of 9,4?"),
        ("Wie viel Prozent sind 2,5?", "Wie viel Prozent sind 2:5?"),
        ("¿Cuánto es 6,5 en porcentaje?", "¿Cuánto es 6:5 en porcentaje?"),
    ];
    assert_refused(&refused, 0.97);
    let passed = [
        ("How is 4,000 spelled?", "How is 4 000 spelled?"),
        ("Is there a bus at 9:40, or at 10?", "Is there a bus at 9:40 or at 10"),
        ("How much is 6,8 in percent?", "How much is 6.8 in percent?"),
    ];
    assert_passed(&passed, 0.97);
}
