//! Golden scores: a change of the word lists, the features or the trees that moves a verdict is seen here, pair by pair.

use deja_guard::{Prompt, Strictness, judge};

#[derive(serde::Deserialize)]
struct Golden {
    a: String,
    b: String,
    cosine: f32,
    score: f32,
    /// Why it is refused at 0.85, standard and strict.
    refused: [Option<String>; 2],
}

#[test]
fn pairs_are_judged_as_they_were() {
    let lines = include_str!("../../data/golden.jsonl").lines();
    let wrong: Vec<String> = lines.filter_map(differs).collect();
    let how = "if that is meant: cargo run -p deja-guard --example golden";
    assert!(wrong.is_empty(), "{}\n{how}", wrong.join("\n"));
}

/// What is different from what was stored.
fn differs(line: &str) -> Option<String> {
    let stored: Golden = serde_json::from_str(line).expect("a line of golden.jsonl is a pair with its score");
    let (a, b) = (Prompt::read(&stored.a), Prompt::read(&stored.b));
    let verdicts =
        [Strictness::Standard, Strictness::Strict].map(|how| judge(&a, &b, stored.cosine, 0.85, how));
    let refused = verdicts.map(|verdict| verdict.refused.map(|reason| reason.to_string()));
    let score = verdicts[0].score;
    // The last digits of a logarithm are the machine's.
    let same = (score - stored.score).abs() < 1e-4 && refused == stored.refused;
    (!same).then(|| format!("{line}\n  is now {score:.5} {refused:?}"))
}
