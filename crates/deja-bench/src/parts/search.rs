//! The store alone: opened, asked for nearest neighbours, and held against a scan of every vector.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use deja_core::cache::PromptHash;
use deja_core::clock::{Clock as _, SystemClock};
use deja_core::embedding::{Embedding, Threshold};
use deja_core::store::Probe;
use deja_store::StoreSettings;
use serde::{Deserialize, Serialize};

use crate::fill;
use crate::process;
use crate::report::Spread;
use crate::vectors::Vectors;

/// Strict, deja's own, relaxed.
pub(crate) const THRESHOLDS: [f64; 3] = [0.95, 0.85, 0.75];
/// As many as deja looks at for each prompt.
const LIMIT: NonZeroUsize = NonZeroUsize::new(5).unwrap();
const WARM_UP: usize = 20;
const PROBES: usize = 200;
/// The probes whose answers are compared with a scan's.
const SCANNED: usize = 50;
/// The store keeps vectors at half precision; the scan does not round.
const ROUNDING: f32 = 1e-3;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) data: PathBuf,
    pub(crate) entries: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// What opening the store took.
    pub(crate) open_s: f64,
    /// How long it was until all of the index was there.
    pub(crate) loaded_s: f64,
    /// Resident memory that it took.
    pub(crate) bytes_per_entry: f64,
    /// Median over the probes, for each threshold.
    pub(crate) nearest_ms: Vec<f64>,
    /// Share of the probes whose candidates are those of the scan, for each threshold.
    pub(crate) agreement: Vec<f64>,
}

#[tokio::main]
pub(crate) async fn run(job: &Path) -> Result<()> {
    let job: Job = process::read_job(job)?;
    let vectors = Vectors::new().await?;
    let probes = (0..WARM_UP + PROBES).map(|number| vectors.probe(number)).collect::<Result<Vec<_>>>()?;
    let before = process::resident("self")?;
    let embedder = Some(vectors.embedder.clone());
    let opening = Instant::now();
    let store = deja_store::open(&StoreSettings { embedder, ..StoreSettings::new(&job.data) }).await?;
    let open_s = opening.elapsed().as_secs_f64();
    while store.index_build().await?.is_some() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let loaded_s = opening.elapsed().as_secs_f64();
    let scope = fill::scope(&*store).await?;
    let bytes_per_entry = process::resident("self")?.saturating_sub(before) as f64 / job.entries as f64;

    let exact = scan(&vectors, job.entries, &probes[WARM_UP..WARM_UP + SCANNED])?;
    let (mut nearest_ms, mut agreement) = (Vec::new(), Vec::new());
    for threshold in THRESHOLDS {
        let threshold = Threshold::new(threshold).context("no threshold")?;
        let (mut times, mut agreed) = (Vec::new(), 0);
        for (index, embedding) in probes.iter().enumerate() {
            let (embedder, prompt) = (&vectors.embedder, PromptHash([0; 32]));
            let probe = Probe { embedder, embedding, prompt, threshold, limit: LIMIT };
            let started = Instant::now();
            let found = store.nearest(&scope, probe, SystemClock.now()).await?;
            if index < WARM_UP {
                continue;
            }
            times.push(started.elapsed().as_secs_f64() * 1e3);
            let found: Vec<f32> = found.iter().map(|candidate| candidate.similarity.get()).collect();
            agreed += exact.get(index - WARM_UP).is_some_and(|exact| same(&found, exact, threshold)) as usize;
        }
        nearest_ms.push(Spread::of(times).context("no probes")?.median());
        agreement.push(agreed as f64 / SCANNED as f64);
    }
    let outcome = Outcome { open_s, loaded_s, bytes_per_entry, nearest_ms, agreement };
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(())
}

/// The largest similarities of each probe among all entries, best first.
fn scan(vectors: &Vectors, entries: usize, probes: &[Embedding]) -> Result<Vec<Vec<f32>>> {
    let mut best = vec![Vec::new(); probes.len()];
    for number in 0..entries {
        let entry = vectors.entry(number)?;
        for (probe, best) in probes.iter().zip(&mut best) {
            let similarity = probe.similarity(&entry).get();
            if best.len() == LIMIT.get() && best.last().is_some_and(|last| similarity <= *last) {
                continue;
            }
            let place = best.partition_point(|other| *other >= similarity);
            best.insert(place, similarity);
            best.truncate(LIMIT.get());
        }
    }
    Ok(best)
}

/// Whether these are the same but for rounding. A candidate that is as near to the threshold as that may be missing.
fn same(found: &[f32], exact: &[f32], threshold: Threshold) -> bool {
    let least = threshold.get() as f32;
    let sure = exact.iter().filter(|similarity| **similarity >= least + ROUNDING).count();
    let possible = exact.iter().filter(|similarity| **similarity >= least - ROUNDING).count();
    (sure..=possible).contains(&found.len())
        && found.iter().zip(exact).all(|(a, b)| (a - b).abs() <= ROUNDING)
}
