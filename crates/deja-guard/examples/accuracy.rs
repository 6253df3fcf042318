//! Prints what the guard loses and cuts, per kind, and how much it is uncertain of:
//! `accuracy PAIRS.jsonl [--threshold 0.85]... [--errors]`.
//!
//! A line of the file is `{a, b, label, cosine, kind}`; `label` 1 means that one answer serves both. Only pairs whose
//! cosine reaches the threshold count. Lost: right ones refused; cut: wrong ones refused.

use std::collections::BTreeMap;
use std::io::Write;

use deja_guard::{Prompt, Strictness, judge};

#[derive(serde::Deserialize)]
struct Pair {
    a: String,
    b: String,
    label: u8,
    cosine: Option<f32>,
    #[serde(default)]
    kind: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let (mut files, mut thresholds, mut errors) = (Vec::new(), Vec::new(), false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--threshold" => {
                thresholds.push(arguments.next().ok_or("--threshold takes a number")?.parse::<f32>()?);
            }
            "--errors" => errors = true,
            _ => files.push(argument),
        }
    }
    if files.is_empty() {
        return Err("usage: accuracy PAIRS.jsonl [--threshold 0.85]... [--errors]".into());
    }
    if thresholds.is_empty() {
        thresholds = vec![0.75, 0.85, 0.95];
    }
    let mut pairs = Vec::new();
    for file in &files {
        for (number, line) in std::fs::read_to_string(file)?.lines().enumerate() {
            let pair: Pair =
                serde_json::from_str(line).map_err(|e| format!("{file}, line {}: {e}", number + 1))?;
            pairs.push(pair);
        }
    }
    for threshold in thresholds {
        for strictness in [Strictness::Standard, Strictness::Strict] {
            // By label and kind: pairs, refused.
            let mut kinds: BTreeMap<(u8, &str), [usize; 2]> = BTreeMap::new();
            let (mut judged, mut uncertain) = (0u32, 0u32);
            for pair in &pairs {
                let Some(cosine) = pair.cosine.filter(|cosine| *cosine >= threshold) else { continue };
                let verdict =
                    judge(&Prompt::read(&pair.a), &Prompt::read(&pair.b), cosine, threshold, strictness);
                judged += 1;
                uncertain += u32::from(verdict.uncertain);
                let kind = Some(pair.kind.as_str()).filter(|kind| !kind.is_empty());
                for kind in [Some(""), kind].into_iter().flatten() {
                    let [count, refused] = kinds.entry((pair.label, kind)).or_default();
                    *count += 1;
                    *refused += usize::from(verdict.refused.is_some());
                }
                if errors && verdict.refused.is_some() == (pair.label == 1) {
                    let reason = verdict.refused.map_or("passed", deja_guard::Reason::as_str);
                    writeln!(
                        out,
                        "{strictness:?} {} {} {reason} {:.2} c{cosine:.2}: {} || {}",
                        pair.label, pair.kind, verdict.score, pair.a, pair.b
                    )?;
                }
            }
            let share = 100.0 * f64::from(uncertain) / f64::from(judged.max(1));
            writeln!(out, "{strictness:?} at {threshold}, uncertain of {share:.1} %")?;
            for ((label, kind), [count, refused]) in kinds {
                let name = if kind.is_empty() { "all" } else { kind };
                let word = if label == 1 { "lost" } else { "cut" };
                writeln!(
                    out,
                    "  {word:4} {:5.1} %  {refused:4} of {count:4}  {name}",
                    100.0 * refused as f64 / count as f64
                )?;
            }
        }
    }
    Ok(())
}
