//! Fills one scope of a PostgreSQL and prints how neighbours are found in it: by scan and by graph.
//!
//! `scripts/postgres.py run -- cargo run --release -p deja-store --example postgres_report -- [SIZE ...]`
//!
//! Each line: entries, then p50 and p95 of a search by scan and by graph in milliseconds, and how many of the
//! probes that have a neighbour at 0.85 got the same one by both. Run it on an empty database.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a report is printed, and panics if it cannot run"
)]

#[path = "../benches/synthetic/mod.rs"]
mod synthetic;

use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deja_core::embedding::Threshold;
use deja_core::store::{Probe, Store};
use deja_store::{PostgresSettings, StoreSettings, open};
use synthetic::{NOW, Noise, Sentences};
use tokio_postgres::NoTls;

const PROBES: usize = 1_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut sizes: Vec<u32> = std::env::args().skip(1).map(|size| size.parse()).collect::<Result<_, _>>()?;
    if sizes.is_empty() {
        sizes = vec![1_000, 3_000, 10_000, 30_000, 100_000];
    }
    let url = std::env::var("DEJA_TEST_POSTGRES_URL")?;
    let (admin, connection) = tokio_postgres::connect(&url, NoTls).await?;
    #[expect(clippy::disallowed_methods, reason = "it ends with the client")]
    tokio::task::spawn(connection);
    let scanning = store(&url, u64::MAX).await?;
    let graph = store(&url, 0).await?;
    scanning.create_project(&synthetic::project(), &deja_core::testing::change()).await?;
    let sentences = Sentences::new(100_000);
    let (mut noise, mut filled) = (Noise(42), 0);
    for size in sizes {
        let started = Instant::now();
        fill(&scanning, &sentences, &mut noise, filled..size).await?;
        let per_insert = started.elapsed() / (size - filled).max(1);
        filled = size;
        for table in ["vectors", "entries"] {
            admin.batch_execute(&format!("VACUUM ANALYZE {table}")).await?;
        }
        let probes: Vec<_> = {
            let mut noise = Noise(7);
            (0..PROBES).map(|_| sentences.draw(&mut noise)).collect()
        };
        wait_for_graph(&admin, &graph, &probes).await?;
        let (by_scan, scan_times) = search(&scanning, &probes).await?;
        let (by_graph, graph_times) = search(&graph, &probes).await?;
        let with_neighbour = by_scan.iter().flatten().count();
        let same = by_scan.iter().zip(&by_graph).filter(|(a, b)| a.is_some() && a == b).count();
        println!(
            "{size:>7} entries  scan {}  graph {}  same {same} of {with_neighbour}  insert {per_insert:.2?}",
            show(scan_times),
            show(graph_times),
        );
    }
    Ok(())
}

async fn store(url: &str, graph_from: u64) -> Result<Arc<dyn Store>, Box<dyn Error>> {
    let call_timeout = Duration::from_mins(1);
    let postgres = PostgresSettings { graph_from, call_timeout, ..PostgresSettings::new(url) };
    Ok(open(&StoreSettings { postgres: Some(postgres), ..StoreSettings::new("/nowhere") }).await?)
}

async fn fill(
    store: &Arc<dyn Store>,
    sentences: &Sentences,
    noise: &mut Noise,
    numbers: std::ops::Range<u32>,
) -> Result<(), Box<dyn Error>> {
    let mut inserts = tokio::task::JoinSet::new();
    for number in numbers {
        let new = synthetic::entry(u64::from(number), sentences.draw(noise));
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
    probes: &[deja_core::embedding::Embedding],
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
    probes: &[deja_core::embedding::Embedding],
) -> Result<(Found, Vec<Duration>), Box<dyn Error>> {
    let (mut found, mut times) = (Vec::new(), Vec::new());
    for embedding in probes {
        let embedder = synthetic::embedder();
        let probe =
            Probe { embedder: &embedder, embedding, threshold: Threshold::DEFAULT, limit: NonZeroUsize::MIN };
        let started = Instant::now();
        let best = store.nearest(&synthetic::scope(), probe, NOW).await?;
        times.push(started.elapsed());
        found.push(best.first().map(|candidate| candidate.entry.id));
    }
    Ok((found, times))
}

fn show(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |part: usize| times[times.len() * part / 100].as_secs_f64() * 1e3;
    format!("p50 {:.2} p95 {:.2} ms", at(50), at(95))
}
