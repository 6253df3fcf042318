//! The index over many chunks: against an exact scan, and while entries come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deja_core::cache::{Frame, Scope};
use deja_core::embedding::Embedding;
use deja_core::store::{Entries, Projects};
use deja_core::testing::MemoryStore;
use deja_core::testing::change;

use crate::support::{NOW, embedder, entry, entry_id, near, project, project_id, store_in, vector};

fn scope() -> Scope {
    Scope::new(project_id(1), Frame::query(Some("m"), None))
}

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

#[tokio::test(flavor = "multi_thread")]
async fn awkward_vectors_are_found_as_by_an_exact_scan() {
    let directory = tempfile::tempdir().unwrap();
    let (store, model) = (store_in(directory.path()).await, MemoryStore::new());
    store.create_project(&project(1), &change()).await.unwrap();
    model.create_project(&project(1), &change()).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..3_000 {
        let mut new = entry(number, &scope(), &number.to_string());
        new.vector = Some((embedder(), awkward(number)));
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
    let store = store_in(directory.path()).await;
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
