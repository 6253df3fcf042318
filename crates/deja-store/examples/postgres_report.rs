//! Fills one scope of a PostgreSQL and prints how neighbours are found in it: by scan and by graph.
//!
//! `scripts/postgres.py run -- cargo run --release -p deja-store --example postgres_report -- [SIZE ...]`
//!
//! The vectors are synthetic; `-- --vectors ENTRIES PROBES` takes them from two files instead, each line a JSON
//! array or null, as `cargo run --release -p deja-embed --example latency vectors` prints them.
//!
//! Each line: entries, then p50 and p95 in milliseconds of a search by scan, and by graph for probes that have a
//! neighbour at 0.85 and for those that have none; how many of the first got the same one by both; and the time
//! of an insert. Run it on an empty database.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a report is printed, and panics if it cannot run"
)]

#[path = "../benches/synthetic/mod.rs"]
mod synthetic;

use std::error::Error;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deja_core::cache::PromptHash;
use deja_core::embedding::{Embedding, Threshold};
use deja_core::store::{Probe, Store};
use deja_store::{PostgresSettings, StoreSettings, open};
use synthetic::{NOW, Noise, Sentences};
use tokio_postgres::NoTls;

const PROBES: usize = 1_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mut vectors, probes, sizes): (Box<dyn FnMut() -> Embedding>, _, _) = match &arguments[..] {
        [flag, entries, probes] if flag == "--vectors" => {
            let (entries, probes) = (read(entries)?, read(probes)?);
            let sizes = vec![u32::try_from(entries.len())?];
            let mut entries = entries.into_iter();
            (Box::new(move || entries.next().expect("one an entry")), probes, sizes)
        }
        [] => synthetic(vec![1_000, 3_000, 10_000, 30_000, 100_000]),
        sizes => synthetic(sizes.iter().map(|size| size.parse()).collect::<Result<_, _>>()?),
    };
    let url = std::env::var("DEJA_TEST_POSTGRES_URL")?;
    let (admin, connection) = tokio_postgres::connect(&url, NoTls).await?;
    #[expect(clippy::disallowed_methods, reason = "it ends with the client")]
    tokio::task::spawn(connection);
    let scanning = store(&url, u64::MAX).await?;
    let graph = store(&url, 0).await?;
    scanning.create_project(&synthetic::project(), &deja_core::testing::change()).await?;
    let mut filled = 0;
    for size in sizes {
        let started = Instant::now();
        fill(&scanning, &mut vectors, filled..size).await?;
        let per_insert = started.elapsed() / (size - filled).max(1);
        filled = size;
        for table in ["vectors", "entries"] {
            admin.batch_execute(&format!("VACUUM ANALYZE {table}")).await?;
        }
        wait_for_graph(&admin, &graph, &probes).await?;
        let (by_scan, scan_times) = search(&scanning, &probes).await?;
        let (by_graph, graph_times) = search(&graph, &probes).await?;
        let with_neighbour = by_scan.iter().flatten().count();
        let same = by_scan.iter().zip(&by_graph).filter(|(a, b)| a.is_some() && a == b).count();
        println!(
            "{size:>7} entries  scan {}  graph with a neighbour {}, without {}  same {same} of {with_neighbour}  \
             insert {per_insert:.2?}",
            show(scan_times),
            show(times_of(&by_graph, &graph_times, true)),
            show(times_of(&by_graph, &graph_times, false)),
        );
    }
    Ok(())
}

type Vectors = (Box<dyn FnMut() -> Embedding>, Vec<Embedding>, Vec<u32>);

fn synthetic(sizes: Vec<u32>) -> Vectors {
    let sentences = Sentences::new(100_000);
    let mut noise = Noise(7);
    let probes = (0..PROBES).map(|_| sentences.draw(&mut noise)).collect();
    let mut noise = Noise(42);
    (Box::new(move || sentences.draw(&mut noise)), probes, sizes)
}

/// The vectors in a file; prompts without one are left out.
fn read(file: &str) -> Result<Vec<Embedding>, Box<dyn Error>> {
    let mut vectors = Vec::new();
    for line in BufReader::new(File::open(file)?).lines() {
        if let Some(vector) = serde_json::from_str::<Option<Vec<f32>>>(&line?)? {
            vectors.push(Embedding::new(vector)?);
        }
    }
    Ok(vectors)
}

async fn store(url: &str, graph_from: u64) -> Result<Arc<dyn Store>, Box<dyn Error>> {
    let call_timeout = Duration::from_mins(1);
    let postgres = PostgresSettings { graph_from, call_timeout, ..PostgresSettings::new(url) };
    Ok(open(&StoreSettings { postgres: Some(postgres), ..StoreSettings::new("/nowhere") }).await?)
}

async fn fill(
    store: &Arc<dyn Store>,
    vectors: &mut dyn FnMut() -> Embedding,
    numbers: std::ops::Range<u32>,
) -> Result<(), Box<dyn Error>> {
    let mut inserts = tokio::task::JoinSet::new();
    for number in numbers {
        let new = synthetic::entry(u64::from(number), vectors());
        let store = Arc::clone(store);
        inserts.spawn(async move { store.insert(new).await.map(drop) });
        if inserts.len() >= 8 {
            inserts.join_next().await.expect("one runs")??;
        }
    }
    while let Some(done) = inserts.join_next().await {
        done??;
    }
    Ok(())
}

async fn wait_for_graph(
    admin: &tokio_postgres::Client,
    graph: &Arc<dyn Store>,
    probes: &[Embedding],
) -> Result<(), Box<dyn Error>> {
    search(graph, &probes[..1]).await?;
    let valid = "SELECT FROM pg_index WHERE indexrelid = to_regclass('vectors_graph_384') AND indisvalid";
    while admin.query_opt(valid, &[]).await?.is_none() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // The store hears of it a moment later.
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(())
}

type Found = Vec<Option<deja_core::id::EntryId>>;

async fn search(
    store: &Arc<dyn Store>,
    probes: &[Embedding],
) -> Result<(Found, Vec<Duration>), Box<dyn Error>> {
    let (mut found, mut times) = (Vec::new(), Vec::new());
    for embedding in probes {
        let embedder = synthetic::embedder();
        let (prompt, threshold) = (PromptHash([0; 32]), Threshold::DEFAULT);
        let probe = Probe { embedder: &embedder, embedding, prompt, threshold, limit: NonZeroUsize::MIN };
        let started = Instant::now();
        let best = store.nearest(&synthetic::scope(), probe, NOW).await?;
        times.push(started.elapsed());
        found.push(best.first().map(|candidate| candidate.entry.id));
    }
    Ok((found, times))
}

/// The times of the probes that found something, or of the others.
fn times_of(found: &Found, times: &[Duration], something: bool) -> Vec<Duration> {
    let of = found.iter().zip(times).filter(|(found, _)| found.is_some() == something);
    of.map(|(_, time)| *time).collect()
}

fn show(mut times: Vec<Duration>) -> String {
    times.sort();
    if times.is_empty() {
        return "-".to_owned();
    }
    let at = |part: usize| times[times.len() * part / 100].as_secs_f64() * 1e3;
    format!("p50 {:.2} p95 {:.2} ms", at(50), at(95))
}
