//! Prints what the reader of pairs and the guard say of each pair that passes standard, for the choice of a threshold.
//!
//! `cargo run --release -p deja-embed --example readings -- PAIRS.jsonl`: label, score of the guard, logit, a line each.

use std::io::Write as _;

use deja_core::cache::ReadsPairs;
use deja_embed::PairReader;
use deja_guard::{Prompt, Strictness, judge};
use serde::Deserialize;

#[derive(Deserialize)]
struct Pair {
    a: String,
    b: String,
    label: u8,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: readings PAIRS.jsonl")?;
    let (reader, mut out) = (PairReader::default(), std::io::stdout().lock());
    for line in std::fs::read_to_string(file)?.lines() {
        let Pair { a, b, label } = serde_json::from_str(line)?;
        let judged = judge(&Prompt::read(&a), &Prompt::read(&b), 0.92, 0.85, Strictness::Standard);
        let logit = reader.same(&a, &b).map_or_else(|| "-".to_owned(), |logit| format!("{logit:.3}"));
        writeln!(out, "{label}\t{}\t{:.4}\t{logit}", u8::from(judged.refused.is_some()), judged.score)?;
    }
    Ok(())
}
