//! What a request waits for: exact, nearest, insert; and what a start waits for.
//!
//! `cargo bench -p deja-store`. DEJA_BENCH_MILLION=1 adds a scope of a million entries, which takes a minute or
//! two to fill. The data: `synthetic/mod.rs`.
#![expect(clippy::expect_used, reason = "a bench that cannot run panics")]

mod synthetic;

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use deja_core::cache::PromptHash;
use deja_core::embedding::Threshold;
use deja_core::store::{Probe, Store};
use deja_core::testing::change;
use deja_store::{StoreSettings, open};
use synthetic::{NOW, Noise, Sentences};
use tempfile::TempDir;
use tokio::runtime::Runtime;

fn settings(directory: &Path) -> StoreSettings {
    StoreSettings { embedder: Some(synthetic::embedder()), ..StoreSettings::new(directory) }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

async fn filled(directory: &TempDir, entries: usize) -> Arc<dyn Store> {
    let store = open(&settings(directory.path())).await.expect("it opens");
    store.create_project(&synthetic::project(), &change()).await.expect("a project");
    let (sentences, mut noise) = (Sentences::new(entries), Noise(42));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..entries as u64 {
        let (store, new) = (Arc::clone(&store), synthetic::entry(number, sentences.draw(&mut noise)));
        if tasks.len() >= 256 {
            tasks.join_next().await;
        }
        tasks.spawn(async move { store.insert(new).await.expect("it is stored") });
    }
    tasks.join_all().await;
    store
}

fn nearest(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut sizes = vec![10_000, 100_000];
    if std::env::var_os("DEJA_BENCH_MILLION").is_some() {
        sizes.push(1_000_000);
    }
    for entries in sizes {
        let directory = TempDir::new().expect("a directory");
        let store = runtime.block_on(filled(&directory, entries));
        let (sentences, mut noise) = (Sentences::new(entries), Noise(7));
        let probes: Vec<_> = (0..64).map(|_| sentences.draw(&mut noise)).collect();
        let mut group = criterion.benchmark_group("nearest");
        for threshold in [0.75, 0.85] {
            let mut next = 0;
            group.bench_function(BenchmarkId::new(threshold.to_string(), entries), |bencher| {
                bencher.iter(|| {
                    next = (next + 1) % probes.len();
                    let probe = Probe {
                        embedder: &synthetic::embedder(),
                        embedding: &probes[next],
                        prompt: PromptHash([0; 32]),
                        threshold: Threshold::new(threshold).expect("a threshold"),
                        limit: NonZeroUsize::new(5).expect("a limit"),
                    };
                    black_box(
                        runtime.block_on(store.nearest(&synthetic::scope(), probe, NOW)).expect("found"),
                    )
                });
            });
        }
        group.finish();
        if entries == 100_000 {
            exact(criterion, &runtime, &*store);
            runtime.block_on(store.close()).expect("it closes");
            reopen(criterion, &runtime, &directory);
        }
    }
}

fn exact(criterion: &mut Criterion, runtime: &Runtime, store: &dyn Store) {
    let (scope, hash) = (synthetic::scope(), PromptHash::of(&synthetic::prompt(7)));
    criterion.bench_function("exact/warm", |bencher| {
        bencher.iter_custom(|times| {
            runtime.block_on(async {
                store.exact(&scope, &hash, NOW).await.expect("a read").expect("the entry");
                let started = Instant::now();
                for _ in 0..times {
                    black_box(store.exact(&scope, &hash, NOW).await.expect("a read"));
                }
                started.elapsed()
            })
        });
    });
}

fn reopen(criterion: &mut Criterion, runtime: &Runtime, directory: &TempDir) {
    let mut group = criterion.benchmark_group("open");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    group.bench_function("100000", |bencher| {
        bencher.iter_custom(|times| {
            let mut total = Duration::ZERO;
            for _ in 0..times {
                let started = Instant::now();
                let store = runtime.block_on(open(&settings(directory.path()))).expect("it opens");
                total += started.elapsed();
                runtime.block_on(store.close()).expect("it closes");
            }
            total
        });
    });
    group.finish();
}

/// Time of one insert when 64 tasks insert at once: the inverse is acknowledged inserts a second.
fn insert(criterion: &mut Criterion) {
    let runtime = runtime();
    let directory = TempDir::new().expect("a directory");
    let store = runtime.block_on(filled(&directory, 100));
    let mut noise = Noise(9);
    let vectors: Arc<Vec<_>> = Arc::new((0..256).map(|_| Sentences::new(1_000).draw(&mut noise)).collect());
    let number = Arc::new(AtomicU64::new(1_000_000));
    criterion.bench_function("insert/64_tasks", |bencher| {
        bencher.iter_custom(|times| {
            let started = Instant::now();
            runtime.block_on(async {
                let mut tasks = tokio::task::JoinSet::new();
                for task in 0..64u64 {
                    let (store, vectors) = (Arc::clone(&store), Arc::clone(&vectors));
                    let number = Arc::clone(&number);
                    tasks.spawn(async move {
                        for _ in 0..times / 64 + u64::from(task < times % 64) {
                            let number = number.fetch_add(1, Ordering::Relaxed);
                            let vector = vectors[number as usize % vectors.len()].clone();
                            store.insert(synthetic::entry(number, vector)).await.expect("it is stored");
                        }
                    });
                }
                tasks.join_all().await;
            });
            started.elapsed()
        });
    });
}

criterion_group!(benches, insert, nearest);
criterion_main!(benches);
