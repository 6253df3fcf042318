//! Writes the scores and verdicts of the pairs in `data/golden.jsonl` anew, for `tests/it/golden.rs`.

use std::error::Error;
use std::fmt::Write;

use deja_guard::{Prompt, Strictness, judge};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/golden.jsonl");
    let mut written = String::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let pair: Value = serde_json::from_str(line)?;
        let text = |name: &str| pair[name].as_str().ok_or_else(|| format!("no {name} in {line}"));
        let (a, b) = (Prompt::read(text("a")?), Prompt::read(text("b")?));
        let cosine = pair["cosine"].as_f64().ok_or_else(|| format!("no cosine in {line}"))?;
        let verdicts =
            [Strictness::Standard, Strictness::Strict].map(|how| judge(&a, &b, cosine as f32, 0.85, how));
        let refused = verdicts.map(|verdict| verdict.refused.map(|reason| reason.to_string()));
        let score = (f64::from(verdicts[0].score) * 1e5).round() / 1e5;
        let golden =
            json!({"a": pair["a"], "b": pair["b"], "cosine": cosine, "score": score, "refused": refused});
        writeln!(written, "{golden}")?;
    }
    Ok(std::fs::write(path, written)?)
}
