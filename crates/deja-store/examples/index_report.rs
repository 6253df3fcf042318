//! Fills a store and prints as JSON how it did: agreement with an exact scan, latency, memory, start time.
//!
//! `cargo run --release -p deja-store --example index_report -- --entries 100000 [--probes 200] [--dir DIR]`
//!
//! With `--contexts own` each entry has a context of its own: what a scope costs. Only start and memory are
//! measured then.
//!
//! The entries are written by this process and measured by a second one, so that what writing left in memory
//! does not count. A directory that is given is kept, and not filled again.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a report is printed, and panics if it cannot run"
)]

#[path = "../benches/synthetic/mod.rs"]
mod synthetic;

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use deja_core::cache::{Frame, PromptHash, Scope};
use deja_core::embedding::Threshold;
use deja_core::store::{Probe, Store};
use deja_core::testing::change;
use deja_store::{StoreSettings, open};
use half::f16;
use synthetic::{DIMENSION, NOW, Noise, Sentences};

type Outcome = Result<(), Box<dyn Error>>;

const SEED: u64 = 42;
const THRESHOLDS: [f64; 5] = [0.0, 0.70, 0.75, 0.85, 0.95];

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1)).cloned()
    };
    let entries: usize = option("--entries").map_or(Ok(100_000), |text| text.parse())?;
    let probes: usize = option("--probes").map_or(Ok(200), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let own_contexts = option("--contexts").is_some();
    if let Some(directory) = option("--measure") {
        return runtime.block_on(measure(
            Path::new(&directory),
            entries,
            if own_contexts { 0 } else { probes },
        ));
    }
    let temporary = tempfile::tempdir()?;
    let directory = option("--dir").map_or_else(|| temporary.path().to_owned(), Into::into);
    if !directory.join("deja.db").exists() {
        runtime.block_on(fill(&directory, entries, own_contexts))?;
    }
    let status = std::process::Command::new(std::env::current_exe()?)
        .arg("--measure")
        .arg(&directory)
        .args(["--entries", &entries.to_string(), "--probes", &probes.to_string()])
        .args(own_contexts.then_some(["--contexts", "own"]).into_iter().flatten())
        .status()?;
    if status.success() { Ok(()) } else { Err("the measuring process failed".into()) }
}

async fn fill(directory: &Path, entries: usize, own_contexts: bool) -> Outcome {
    let store = open(&StoreSettings::new(directory)).await?;
    store.create_project(&synthetic::project(), &change()).await?;
    let sentences = Sentences::new(entries);
    let mut noise = Noise(SEED);
    let started = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..entries {
        let store = Arc::clone(&store);
        let mut new = synthetic::entry(number as u64, sentences.draw(&mut noise));
        if own_contexts {
            new.scope = Scope::new(
                new.scope.project(),
                Frame::query(new.scope.frame().model(), Some(&number.to_string())),
            );
        }
        if tasks.len() >= 256 {
            tasks.join_next().await;
        }
        tasks.spawn(async move { store.insert(new).await.map(drop) });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    eprintln!("filled {entries} entries in {:.1} s", started.elapsed().as_secs_f64());
    store.close().await?;
    Ok(())
}

async fn measure(directory: &Path, entries: usize, probes: usize) -> Outcome {
    let before = anonymous_bytes()?;
    let started = Instant::now();
    let embedder = Some(synthetic::embedder());
    let settings = StoreSettings { answer_cache_bytes: 4 << 20, embedder, ..StoreSettings::new(directory) };
    let store = open(&settings).await?;
    let open_ms = started.elapsed().as_secs_f64() * 1e3;
    let bytes_per_entry = (anonymous_bytes()? - before) as f64 / entries as f64;

    if probes == 0 {
        println!(
            "{}",
            serde_json::json!({
                "entries": entries, "open_ms": open_ms.round(), "bytes_per_entry": bytes_per_entry.round(),
            })
        );
        return Ok(store.close().await?);
    }
    let sentences = Sentences::new(entries);
    let mut noise = Noise(SEED);
    let mut stored: Vec<f16> = Vec::with_capacity(entries * DIMENSION);
    for _ in 0..entries {
        stored.extend(sentences.draw(&mut noise).as_slice().iter().map(|value| f16::from_f32(*value)));
    }
    let mut tallies = THRESHOLDS.map(|_| Tally::default());
    for _ in 0..probes {
        let embedding = sentences.draw(&mut noise);
        let exact = exact_scan(&stored, embedding.as_slice());
        for (threshold, tally) in THRESHOLDS.iter().zip(&mut tallies) {
            let probe = Probe {
                embedder: &synthetic::embedder(),
                embedding: &embedding,
                prompt: PromptHash([0; 32]),
                threshold: Threshold::new(*threshold).ok_or("not a threshold")?,
                limit: NonZeroUsize::new(5).ok_or("not a limit")?,
            };
            // The first finds the texts, the second is timed.
            let found = store.nearest(&synthetic::scope(), probe, NOW).await?;
            let started = Instant::now();
            store.nearest(&synthetic::scope(), probe, NOW).await?;
            tally.micros.push(started.elapsed().as_secs_f64() * 1e6);
            let found: Vec<f32> = found.iter().map(|candidate| candidate.similarity.get()).collect();
            tally.compare(&found, &exact, *threshold as f32);
        }
    }
    let exact_ns = exact_nanoseconds(&store).await?;
    let rows: Vec<_> = THRESHOLDS.iter().zip(tallies).map(|(at, tally)| tally.json(*at)).collect();
    println!(
        "{}",
        serde_json::json!({
            "entries": entries, "probes": probes, "dimension": DIMENSION, "open_ms": open_ms.round(),
            "bytes_per_entry": bytes_per_entry.round(), "exact_ns": exact_ns.round(), "nearest": rows,
        })
    );
    store.close().await?;
    Ok(())
}

#[derive(Default)]
struct Tally {
    micros: Vec<f64>,
    best: usize,
    best_found: usize,
    top: usize,
    top_found: usize,
}

impl Tally {
    /// Counts which of the five best of an exact scan were found. By similarity: entries may be equal.
    fn compare(&mut self, found: &[f32], exact: &[f32], threshold: f32) {
        let expected: Vec<f32> =
            exact.iter().copied().filter(|similarity| *similarity >= threshold).collect();
        let same = |at: usize| found.get(at).is_some_and(|got| (got - expected[at]).abs() < 2e-6);
        self.top += expected.len();
        self.top_found += (0..expected.len()).filter(|at| same(*at)).count();
        self.best += usize::from(!expected.is_empty());
        self.best_found += usize::from(!expected.is_empty() && same(0));
    }

    fn json(mut self, threshold: f64) -> serde_json::Value {
        self.micros.sort_by(f64::total_cmp);
        let at =
            |share: f64| self.micros.get((self.micros.len() as f64 * share) as usize).map(|us| us.round());
        serde_json::json!({
            "threshold": threshold, "p50_us": at(0.5), "p99_us": at(0.99),
            "with_neighbour": self.best, "best_agreement": self.best_found as f64 / self.best.max(1) as f64,
            "top5_agreement": self.top_found as f64 / self.top.max(1) as f64,
        })
    }
}

/// The five highest similarities, by a scan of everything.
fn exact_scan(stored: &[f16], probe: &[f32]) -> Vec<f32> {
    let mut best = vec![f32::MIN; 5];
    let mut wide = [0.0f32; DIMENSION];
    for vector in stored.chunks_exact(DIMENSION) {
        for (wide, value) in wide.iter_mut().zip(vector) {
            *wide = value.to_f32();
        }
        let mut dots = [0.0f32; 16];
        let mut squares = [0.0f32; 16];
        for (a, b) in wide.chunks_exact(16).zip(probe.chunks_exact(16)) {
            for i in 0..16 {
                dots[i] += a[i] * b[i];
                squares[i] += a[i] * a[i];
            }
        }
        let cosine = dots.iter().sum::<f32>() / squares.iter().sum::<f32>().sqrt();
        if cosine > best[4] {
            let at = best.partition_point(|other| *other >= cosine);
            best.insert(at, cosine);
            best.pop();
        }
    }
    best.into_iter()
        .filter(|similarity| *similarity > f32::MIN)
        .map(|cosine| cosine.clamp(0.0, 1.0))
        .collect()
}

/// The time of an exact look-up whose text is in memory.
async fn exact_nanoseconds(store: &Arc<dyn Store>) -> Result<f64, Box<dyn Error>> {
    let (scope, hash) = (synthetic::scope(), PromptHash::of(&synthetic::prompt(7)));
    store.exact(&scope, &hash, NOW).await?.ok_or("the entry is there")?;
    let started = Instant::now();
    for _ in 0..100_000 {
        store.exact(&scope, &hash, NOW).await?;
    }
    Ok(started.elapsed().as_secs_f64() * 1e9 / 100_000.0)
}

/// Memory of this process that belongs to no file.
fn anonymous_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("RssAnon")).ok_or("no RssAnon")?;
    let kilobytes: u64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kilobytes * 1024)
}
