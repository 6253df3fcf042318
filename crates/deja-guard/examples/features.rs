//! Prints the features of pairs for the training script: reads JSON Lines `{a, b, cosine, ...}` on stdin, writes
//! one line of numbers a pair, the names first.

use std::io::{BufRead, Write};

use deja_guard::Prompt;

#[derive(serde::Deserialize)]
struct Pair {
    a: String,
    b: String,
    cosine: Option<f32>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (i, line) in std::io::stdin().lock().lines().enumerate() {
        let pair: Pair = serde_json::from_str(&line?)?;
        let features = deja_guard::features(
            &Prompt::read(&pair.a),
            &Prompt::read(&pair.b),
            pair.cosine.unwrap_or(f32::NAN),
        );
        if i == 0 {
            let names: Vec<_> = features.iter().map(|(name, _)| *name).collect();
            writeln!(out, "{}", names.join(" "))?;
        }
        let values: Vec<_> = features.iter().map(|(_, value)| value.to_string()).collect();
        writeln!(out, "{}", values.join(" "))?;
    }
    Ok(())
}
