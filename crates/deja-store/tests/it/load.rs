//! A store that is used while its index is being loaded.

use std::collections::BTreeMap;
use std::time::Duration;

use deja_core::cache::{Frame, NewEntry, PromptHash, Scope};
use deja_core::clock::Timestamp;
use deja_core::store::EntryFilter;
use deja_core::testing::change;
use deja_store::StoreSettings;

use crate::support::{
    NOW, assert_whole, embedder, entry, entry_id, near, project, project_id, store_in, store_with, vector,
};

const ENTRIES: u32 = 9_000;

fn settings(directory: &std::path::Path) -> StoreSettings {
    StoreSettings { index_patience: Duration::ZERO, ..StoreSettings::new(directory) }
}

fn scope(number: u32) -> Scope {
    // Few large scopes and many small ones.
    let context = number.is_multiple_of(3).then(|| (number % 300).to_string());
    Scope::new(project_id(1), Frame::query(Some("m"), context.as_deref()))
}

fn numbered(number: u32) -> NewEntry {
    entry(number, &scope(number), &number.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_while_it_is_loaded_is_as_after_a_start_that_waits() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    store.create_project(&project(1), &change()).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..ENTRIES {
        let store = std::sync::Arc::clone(&store);
        tasks.spawn(async move {
            let mut new = numbered(number);
            // Some have no vector yet, some end before long.
            new.vectors.retain(|_| !number.is_multiple_of(7));
            new.entry.expires = number.is_multiple_of(11).then_some(Timestamp::from_secs(1_700_000_100));
            store.insert(new).await.unwrap()
        });
    }
    tasks.join_all().await;
    store.close().await.unwrap();

    let mut beside = 0;
    // Which entry stands for a prompt; none if it was deleted.
    let mut stands: BTreeMap<u32, Option<u32>> = (0..ENTRIES).map(|number| (number, Some(number))).collect();
    let mut has_vector: Vec<bool> = (0..ENTRIES).map(|number| !number.is_multiple_of(7)).collect();
    // Where a write takes long, few are made before all is loaded.
    for round in 0..60 {
        if round >= 6 && beside > 20 {
            break;
        }
        let store = store_with(&settings(directory.path())).await;
        // From the end on, which is loaded last.
        for step in 0..40 {
            let number = ENTRIES - 1 - (round * 997 + step * 211) % ENTRIES;
            beside += u32::from(store.index_build().await.unwrap().is_some());
            let Some(Some(entry)) = stands.get(&number).copied() else { continue };
            match (step % 4, has_vector[number as usize]) {
                (0, _) => {
                    assert!(store.delete(project_id(1), entry_id(entry), &change()).await.unwrap());
                    stands.insert(number, None);
                }
                (_, false) => {
                    let (project, id) = (project_id(1), entry_id(entry));
                    assert!(store.put_vector(project, id, &embedder(), Some(&vector(number))).await.unwrap());
                    has_vector[number as usize] = true;
                }
                _ => {
                    // Another entry takes its place.
                    let new = ENTRIES * (round + 1) + number;
                    let mut replacing = numbered(number);
                    (replacing.entry.id, replacing.replaces) = (entry_id(new), true);
                    store.insert(replacing).await.unwrap();
                    stands.insert(number, Some(new));
                }
            }
            let found = store.exact(&scope(number), &PromptHash::of(&number.to_string()), NOW).await.unwrap();
            assert_eq!(found.map(|found| found.id), stands[&number].map(entry_id), "{number}");
        }
        while store.index_build().await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let waits = stands.values().flatten().count() as u64;
        assert_eq!(store.count(project_id(1)).await.unwrap(), waits);
        assert_eq!(store.count_matching(project_id(1), &EntryFilter::default()).await.unwrap(), waits);
        for (number, stands) in &stands {
            let found = near(&*store, &scope(*number), &vector(*number), 0.9999, NOW).await;
            let ids: Vec<_> = found.iter().map(|near| near.entry.id).collect();
            let of_it = ids.iter().filter(|id| stands.map(entry_id) == Some(**id)).count();
            assert_eq!(
                of_it,
                usize::from(stands.is_some() && has_vector[*number as usize]),
                "{number}: {ids:?}"
            );
            let exact =
                store.exact(&scope(*number), &PromptHash::of(&number.to_string()), NOW).await.unwrap();
            assert_eq!(exact.map(|found| found.id), stands.map(entry_id), "{number}");
        }
        store.close().await.unwrap();
    }
    assert!(beside > 20, "{beside} steps were taken while it was loaded");
}

#[tokio::test]
async fn a_store_that_is_closed_while_it_is_loaded_opens_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    store.create_project(&project(1), &change()).await.unwrap();
    for number in 0..200 {
        store.insert(numbered(number)).await.unwrap();
    }
    store.close().await.unwrap();
    for _ in 0..20 {
        store_with(&settings(directory.path())).await.close().await.unwrap();
    }
    let store = store_in(directory.path()).await;
    for number in 0..200 {
        assert_whole(&*store, &scope(number), number, &number.to_string()).await;
    }
}
