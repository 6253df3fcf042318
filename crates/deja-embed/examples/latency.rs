//! Times the encoder on one thread and prints medians as JSON; benches/onnx_compare.py runs it.
//!
//! `latency` prints `{"kernel": ..., "load_ms": ..., "tokenize_us": ..., "tokens": {"16": ms, ...}, "batch": ms}`.
//! `latency vectors` reads one JSON string per line on stdin and prints one vector per line (`null` if too long).

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use deja_core::embedding::Embedded;
use deja_embed::{Kernel, Model};

fn median(mut run: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    for _ in 0..20 {
        run()?;
    }
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < 50 || (start.elapsed() < Duration::from_secs(1) && times.len() < 2000) {
        let once = Instant::now();
        run()?;
        times.push(once.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2] * 1e3)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let start = Instant::now();
    let model = Model::builtin()?;
    let load = start.elapsed().as_secs_f64() * 1e3;
    let argument = std::env::args().nth(1);
    let kernel = match argument.as_deref() {
        Some("avx_vnni") => Kernel::AvxVnni,
        Some("avx2") => Kernel::Avx2,
        Some("neon_dot") => Kernel::NeonDot,
        Some("portable") => Kernel::Portable,
        _ => Kernel::best(),
    };
    let mut session = model.session_on(kernel);
    if argument.as_deref() == Some("vectors") {
        for line in std::io::stdin().lock().lines() {
            let text: String = serde_json::from_str(&line?)?;
            match session.embed(&text)? {
                Embedded::Vector { embedding, .. } => {
                    writeln!(out, "{}", serde_json::to_string(embedding.as_slice())?)?;
                }
                Embedded::TooLong { .. } => writeln!(out, "null")?,
            }
        }
        return Ok(());
    }

    let mut tokens = serde_json::Map::new();
    for count in [8, 16, 32, 64, 128, 256] {
        let ids: Vec<u32> = (0..count).map(|i| 2000 + i * 37).collect();
        let time = median(|| session.encode(&[&ids]).map(drop).map_err(Into::into))?;
        tokens.insert(count.to_string(), time.into());
    }
    let ids: Vec<Vec<u32>> = (0..32).map(|t| (0..16).map(|i| 2000 + t * 16 + i * 37).collect()).collect();
    let texts: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
    let batch = median(|| session.encode(&texts).map(drop).map_err(Into::into))? / 32.0;
    let text = "How do I activate my new credit card before travelling to Spain next week?";
    let tokenize = median(|| session.tokenize(text).map(drop).map_err(Into::into))? * 1e3;
    let report = serde_json::json!({
        "kernel": format!("{kernel:?}"), "load_ms": load, "tokenize_us": tokenize, "tokens": tokens,
        "batch_32x16_per_text_ms": batch,
    });
    writeln!(out, "{report:#}")?;
    Ok(())
}
