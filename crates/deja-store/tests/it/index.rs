//! The index over many chunks: against an exact scan, and while entries come and go.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deja_core::embedding::Embedding;
use deja_core::store::{Entries, Projects, Store};
use deja_core::testing::MemoryStore;
use deja_core::testing::change;

use deja_store::StoreSettings;

use crate::support::{
    NOW, embedder, entry, entry_id, near, project, project_id, scope, store_in, store_with, vector,
};

/// Vectors on which sign sketches without a rotation break down: most components zero, all positive, or
/// nearly all equal.
fn awkward(number: u32) -> Embedding {
    let mut values = vec![0.0f32; 384];
    match number % 3 {
        0 => {
            values[(number / 3 % 384) as usize] = 1.0;
            values[(number / 7 % 384) as usize] += 0.6;
        }
        1 => {
            for (i, value) in (0u32..).zip(&mut values) {
                *value = ((i * number) % 17) as f32 + 0.1;
            }
        }
        _ => {
            for (i, value) in (0u32..).zip(&mut values) {
                *value = 1.0 + 0.3 * (((i + number) * (number % 11 + 1)) % 13) as f32 / 13.0;
            }
        }
    }
    Embedding::new(values).unwrap()
}

/// A store that keeps the vectors of all full chunks as int8, as in scopes of many entries.
async fn int8_in(directory: &Path) -> Arc<dyn Store> {
    store_with(&StoreSettings { int8_from: 0, ..StoreSettings::new(directory) }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn awkward_vectors_are_found_as_by_an_exact_scan() {
    let directory = tempfile::tempdir().unwrap();
    finds_awkward_vectors(store_in(directory.path()).await).await;
    let directory = tempfile::tempdir().unwrap();
    finds_awkward_vectors(int8_in(directory.path()).await).await;
}

async fn finds_awkward_vectors(store: Arc<dyn Store>) {
    let model = MemoryStore::new();
    store.create_project(&project(1), &change()).await.unwrap();
    model.create_project(&project(1), &change()).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..3_000 {
        let mut new = entry(number, &scope(), &number.to_string());
        new.vectors = vec![(embedder(), awkward(number))];
        model.insert(new.clone()).await.unwrap();
        let store = Arc::clone(&store);
        tasks.spawn(async move { store.insert(new).await.unwrap() });
    }
    tasks.join_all().await;
    // Removal moves entries between chunks.
    for number in (0..3_000).step_by(3) {
        store.delete(project_id(1), entry_id(number), &change()).await.unwrap();
        model.delete(project_id(1), entry_id(number), &change()).await.unwrap();
    }
    for probe in (0..3_000).step_by(29) {
        for threshold in [0.0, 0.6, 0.75, 0.85, 0.95] {
            let expected = near(&*model, &scope(), &awkward(probe), threshold, NOW).await;
            let found = near(&*store, &scope(), &awkward(probe), threshold, NOW).await;
            let close = expected.len() == found.len()
                && expected
                    .iter()
                    .zip(&found)
                    .all(|(a, b)| (a.similarity.get() - b.similarity.get()).abs() < 1e-5);
            assert!(close, "probe {probe} at {threshold}: {expected:?} and {found:?}");
        }
    }
}

/// A search that runs while others are deleted and stored never misses an entry that is there all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn searches_beside_deletes_miss_nothing() {
    let directory = tempfile::tempdir().unwrap();
    miss_nothing_beside_deletes(store_in(directory.path()).await).await;
    let directory = tempfile::tempdir().unwrap();
    miss_nothing_beside_deletes(int8_in(directory.path()).await).await;
}

async fn miss_nothing_beside_deletes(store: Arc<dyn Store>) {
    store.create_project(&project(1), &change()).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..4_000 {
        let (store, new) = (Arc::clone(&store), entry(number, &scope(), &number.to_string()));
        tasks.spawn(async move { store.insert(new).await.unwrap() });
    }
    tasks.join_all().await;
    // Those that stay are spread over the chunks, the last one included.
    let stays = |number: &u32| number % 100 == 99;
    let done = Arc::new(AtomicBool::new(false));
    let mut searches = tokio::task::JoinSet::new();
    for task in 0..2u32 {
        let (store, done) = (Arc::clone(&store), Arc::clone(&done));
        searches.spawn(async move {
            let mut number = 99 + task * 1_000;
            while !done.load(Ordering::SeqCst) {
                for threshold in [0.0, 0.99] {
                    let found = near(&*store, &scope(), &vector(number), threshold, NOW).await;
                    let there = found.iter().any(|candidate| candidate.entry.id == entry_id(number));
                    assert!(there, "entry {number} at {threshold}");
                }
                number = (number + 100) % 4_000;
            }
        });
    }
    let mut deletes = tokio::task::JoinSet::new();
    for number in (0..4_000).filter(|number| !stays(number)) {
        let store = Arc::clone(&store);
        deletes.spawn(async move {
            assert!(store.delete(project_id(1), entry_id(number), &change()).await.unwrap());
            let again = entry(number + 10_000, &scope(), &(number + 10_000).to_string());
            if number % 2 == 0 {
                store.insert(again).await.unwrap();
            }
        });
    }
    deletes.join_all().await;
    done.store(true, Ordering::SeqCst);
    searches.join_all().await;
    // The 40 that stayed, and a new one for each even number: those that stay are odd.
    assert_eq!(store.count(project_id(1)).await.unwrap(), 2_040);
}

/// Vectors that are kept as int8 are told apart by those in the database: what is returned, and in which order, is that
/// of a scan also where neighbours are nearer to each other than int8 can tell, and after a start.
#[tokio::test(flavor = "multi_thread")]
async fn neighbours_that_int8_cannot_tell_apart_are_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let store = int8_in(directory.path()).await;
    let model = MemoryStore::new();
    store.create_project(&project(1), &change()).await.unwrap();
    model.create_project(&project(1), &change()).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..1_500_u32 {
        let mut new = entry(number, &scope(), &number.to_string());
        // At an angle of up to 1 to 0.1, in steps of a ten-thousandth.
        let mut values = vec![0.01_f32; 384];
        values[0] = 1.0;
        values[1 + number as usize % 380] = 0.1 + (number * 7 % 1_500) as f32 * 1e-4;
        new.vectors = vec![(embedder(), Embedding::new(values).unwrap())];
        model.insert(new.clone()).await.unwrap();
        let store = Arc::clone(&store);
        tasks.spawn(async move { store.insert(new).await.unwrap() });
    }
    tasks.join_all().await;
    let mut probe = vec![0.01_f32; 384];
    probe[0] = 1.0;
    let probe = Embedding::new(probe).unwrap();
    let check = async |store: &dyn Store| {
        for threshold in [0.0, 0.9, 0.99] {
            let expected = near(&*model, &scope(), &probe, threshold, NOW).await;
            let found = near(store, &scope(), &probe, threshold, NOW).await;
            let of = |candidates: &[deja_core::cache::Candidate]| {
                candidates.iter().map(|found| found.similarity.get()).collect::<Vec<_>>()
            };
            let (expected, found) = (of(&expected), of(&found));
            let close = expected.len() == found.len()
                && expected.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-4);
            assert!(close, "at {threshold}: {expected:?} and {found:?}");
        }
    };
    check(&*store).await;
    store.close().await.unwrap();
    drop(store);
    check(&*int8_in(directory.path()).await).await;
}
