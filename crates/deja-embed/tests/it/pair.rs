//! The built-in reader of pairs.

use deja_core::cache::ReadsPairs;
use deja_embed::PairReader;

/// What the weights say, to three digits. Other weights say something else.
const READ: [(&str, &str, f32); 5] = [
    ("Can I insure a car with a cracked windscreen?", "Can I drive with a cracked windscreen?", -2.965),
    (
        "Which actors have played James Bond?",
        "Which actors have played villains in James Bond films?",
        -3.654,
    ),
    ("How do I join the gym?", "How do I become a member of the gym?", 1.989),
    ("What can I do about a squeaky door?", "How do I stop a door from squeaking?", -0.207),
    ("", "?", -0.552),
];

#[test]
fn rewordings_are_told_from_other_questions() {
    let reader = PairReader::default();
    for (one, other, logit) in READ {
        let read = reader.same(one, other).unwrap();
        assert!((read - logit).abs() < 1e-3, "{one} | {other}: {read}");
        assert_eq!(reader.same(other, one).map(f32::to_bits), Some(read.to_bits()), "in either order");
    }
}

#[test]
fn long_texts_are_not_read() {
    let reader = PairReader::default();
    let long = "word ".repeat(200);
    assert!(reader.same(&long, "word").is_some());
    assert_eq!(reader.same(&long, &long), None, "together they are longer than the window");
    assert_eq!(reader.same(&"word ".repeat(300), "word"), None);
}

#[test]
fn pairs_are_read_on_several_threads_at_once() {
    let reader = PairReader::default();
    let [(one, other, logit), ..] = READ;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert!((reader.same(one, other).unwrap() - logit).abs() < 1e-3);
                }
            });
        }
    });
}
