//! Numbers, values that change places, long texts and code.

use crate::reasons::{all_passed, all_refused, verdict};

/// A comma between digits is a point, a colon a ratio, a semicolon parts two numbers.
#[test]
fn a_mark_between_digits_is_read() {
    let refused = [
        ("How much is 6,8 in percent?", "How much is 6:8 in percent?"),
        ("What is the ratio of 9;4?", "What is the ratio of 9,4?"),
        ("Wie viel Prozent sind 2,5?", "Wie viel Prozent sind 2:5?"),
        ("¿Cuánto es 6,5 en porcentaje?", "¿Cuánto es 6:5 en porcentaje?"),
    ];
    all_refused(&refused, 0.97);
    let passed = [
        ("How is 4,000 spelled?", "How is 4 000 spelled?"),
        ("Is there a bus at 9:40, or at 10?", "Is there a bus at 9:40 or at 10"),
        ("How much is 6,8 in percent?", "How much is 6.8 in percent?"),
    ];
    all_passed(&passed, 0.97);
}

/// The same words and numbers, each in another clause.
#[test]
fn values_of_two_clauses_do_not_change_places() {
    let refused = [
        ("Mia is 12 and Leo is 15. Who goes first?", "Leo is 12 and Mia is 15. Who goes first?"),
        ("Mia is 12 and Leo is 15. Who goes first?", "Mia is 15 and Leo is 12. Who goes first?"),
        ("We own 4 goats and 9 sheep. How many goats?", "We own 9 goats and 4 sheep. How many goats?"),
        (
            "I swim 20 minutes at noon and 40 minutes at night. Too much?",
            "I swim 40 minutes at noon and 20 minutes at night. Too much?",
        ),
        ("If p is 6 and q is 11, what is p - q?", "If p is 11 and q is 6, what is p - q?"),
        (
            "The door is green and the roof is grey. Which colour has the roof?",
            "The roof is green and the door is grey. Which colour has the roof?",
        ),
        (
            "Store A asks 30 euros and store B asks 50 euros. Which one?",
            "Store A asks 50 euros and store B asks 30 euros. Which one?",
        ),
        ("How do I replace 7 with NaN in polars?", "How do I replace NaN with 7 in polars?"),
        (
            "Who leads?\nteam,points\nReds,14\nBlues,19\nGreens,7",
            "Who leads?\nteam,points\nBlues,14\nReds,19\nGreens,7",
        ),
    ];
    all_refused(&refused, 0.99);
    let passed = [
        ("Mia is 12 and Leo is 15. Who goes first?", "Leo is 15 and Mia is 12. Who goes first?"),
        ("Is green tea or black tea better for sleep?", "Is black tea or green tea better for sleep?"),
        ("What is 6 plus 8?", "What is 8 plus 6?"),
        ("Is it between 6 and 8 kg?", "Is it between 8 and 6 kg?"),
        ("Can cats, dogs and rabbits share a room?", "Can rabbits, dogs and cats share a room?"),
    ];
    all_passed(&passed, 0.97);
}

/// The text beside two questions makes their vectors nearly equal.
#[test]
fn questions_about_the_same_text_are_judged_by_themselves() {
    let text = "The harbour of Vorn was built in 1902 and holds forty ships. Captain Elin Moe runs it with six men. In winter the \
                ice closes it for two months, and the ferries go to Sand instead. A new pier will cost nine million crowns.";
    let other = [
        ("Who runs the harbour?", "Which year was it built?"),
        ("Extract the price", "Extract the names"),
        ("Find spelling errors", "Find legal risks"),
        (
            "Please answer for a visitor who has never been there before and has little time: where do the ferries go?",
            "Please answer for a visitor who has never been there before and has little time: how much is the pier?",
        ),
    ];
    let same = [
        ("Who runs the harbour?", "Who is running the harbour?"),
        ("Summarise this text", "Give me a summary of this text"),
        ("When does the problem begin?", "When does the problem start?"),
    ];
    let beside = |question: &str| [format!("{question}\n{text}"), format!("{text}\n{question}")];
    for (pairs, passes) in [(&other[..], false), (&same[..], true)] {
        for (a, b) in pairs {
            for (x, y) in beside(a).iter().zip(&beside(b)) {
                let verdict = verdict(x, y, 0.99);
                assert_eq!(verdict.refused.is_none(), passes, "{a} / {b}: {verdict:?}");
            }
        }
    }
}
