//! What a pair needs to pass.

use deja_guard::{Prompt, Reason, Strictness, judge};

use crate::reasons::verdict;

/// Pairs whose scores lie near what is needed.
const NEAR: [(&str, &str); 12] = [
    ("Which planet has the most moons?", "What planet has the largest number of moons?"),
    ("How do I create a user in MySQL?", "How do I add a user in MySQL?"),
    ("How do I fix a leaky faucet?", "How can I repair a dripping tap?"),
    ("Explain photosynthesis in simple terms", "Can you explain photosynthesis simply?"),
    ("What is the minimum wage in France?", "How high is the minimum wage in France?"),
    ("what happens if i miss a payment", "what if i miss a payment?"),
    ("how can i raise my credit score", "how can i improve my credit score"),
    ("Recipe for a quick vegetable soup", "Recipe for a fast vegetable soup"),
    ("How do I reset my passcode?", "How do I reset my PIN code?"),
    ("whats a good replacement for eggs in baking", "whats a good substitute for eggs in baking"),
    ("Explain inflation like I'm five.", "Explain inflation to me as if I were five."),
    ("how do i open a savings account", "how can i open a savings account"),
];

fn passes_as_its_score_says(pairs: &[(&str, &str)], cosine: f32, threshold: f32, needed: f32) {
    for (a, b) in pairs {
        let verdict = judge(&Prompt::read(a), &Prompt::read(b), cosine, threshold, Strictness::Standard);
        let says = verdict.score >= needed;
        assert_eq!(verdict.refused.is_none(), says, "{a} / {b} at {threshold}: {verdict:?}");
    }
}

#[test]
fn a_higher_threshold_needs_a_higher_score() {
    let needs = [
        (0.75, 0.18),
        (0.8, 0.18),
        (0.85, 0.18),
        (0.875, 0.22),
        (0.9, 0.26),
        (0.92, 0.284),
        (0.95, 0.32),
        (0.99, 0.32),
    ];
    for (threshold, needed) in needs {
        passes_as_its_score_says(&NEAR, 0.92, threshold, needed);
    }
}

#[test]
fn vectors_far_apart_need_a_higher_score() {
    for (cosine, needed) in [(0.85, 0.18), (0.83, 0.236), (0.82, 0.264), (0.8, 0.32), (0.76, 0.32)] {
        passes_as_its_score_says(&NEAR, cosine, 0.75, needed);
    }
}

/// The same score is enough for a long text and not for a short one.
#[test]
fn a_long_text_needs_a_lower_score() {
    let long = (
        "Our company wants to send employees to a conference in Japan for a week. Do they need a business visa or can \
         they enter as visitors without a visa if they have German passports?",
        "Our company would like to send staff to a conference in Japan for one week. With German passports, do they \
         need a business visa or can they enter visa-free as visitors?",
    );
    let judged = judge(&Prompt::read(long.0), &Prompt::read(long.1), 0.92, 0.95, Strictness::Standard);
    assert!(judged.refused.is_none() && judged.score < 0.32, "{judged:?}");
}

/// A model is asked where nothing proves that the prompts ask the same, and nothing speaks against it.
#[test]
fn a_refusal_has_a_reason_and_may_be_uncertain() {
    let moved = "We moved from Lyon to Berlin in March with our two cats, and one of them has not been vaccinated against \
                 rabies since then. We plan to visit my parents in Lyon at Christmas. What do we need for the cats?";
    let back = moved.replace("Lyon", "Oslo").replace("Berlin", "Lyon").replace("Oslo", "Berlin");
    let cases = [
        ("How do I fix error TS2345?", "How do I fix error TS2339?", Reason::Numbers, false),
        (
            "welche feiertage gibt es 2024 in bayern",
            "welche feiertage gibt es 2025 in bayern",
            Reason::Numbers,
            false,
        ),
        ("answer in german: what is a noun", "answer in english: what is a noun", Reason::Name, false),
        (
            "Rank these by size: Mars, Venus, Pluto.",
            "Rank these by size: Mars, Venus, Saturn.",
            Reason::Name,
            false,
        ),
        (moved, &*back, Reason::Name, false),
        ("do you ship to canada", "do you ship from canada", Reason::Order, false),
        ("Explain photosynthesis.", "Explain photosynthesis in Spanish.", Reason::ExtraCondition, false),
        (
            "Explain this code\n```js\nconst xs = [1, 2, 3];\n```",
            "Convert this code to Rust\n```js\nconst xs = [1, 2, 3];\n```",
            Reason::ExtraCondition,
            false,
        ),
        (
            "why does list.sort() return None",
            "why does list.index() return None",
            Reason::ExtraCondition,
            true,
        ),
        ("integrate sin(x)cos(x) dx", "integrate sin(x)cos(2x) dx", Reason::Words, false),
        ("What is the <em> tag for?", "What is the <i> tag for?", Reason::Words, true),
        ("Who wins?\nTeam = Reds\nScore = 3", "Who wins?\nTeam: Blues\nScore: 3", Reason::Words, true),
        (
            "Which does not belong: cat, dog, carrot, cow?",
            "Which does not belong: cat, dog, horse, cow?",
            Reason::Words,
            true,
        ),
        ("wie lösche ich mein konto", "wie schließe ich mein konto", Reason::Words, true),
    ];
    for (a, b, reason, uncertain) in cases {
        let verdict = verdict(a, b, 0.92);
        assert_eq!((verdict.refused, verdict.uncertain), (Some(reason), uncertain), "{a} / {b}: {verdict:?}");
    }
}
