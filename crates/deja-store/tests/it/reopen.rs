//! The data directory: who may open it, with which rights, and what is there the next time.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deja_core::cache::{Frame, PromptHash, Scope};
use deja_core::provider::{ProviderConfig, ProviderKind};
use deja_core::testing::{self, change};
use deja_store::{OpenError, StoreSettings, open};

use crate::support::{NOW, assert_whole, entry, project, project_id, scope, store_in};

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_there_the_next_time() {
    let directory = tempfile::tempdir().unwrap();
    let scope = scope();
    let store = store_in(directory.path()).await;
    store.create_project(&project(1), &change()).await.unwrap();
    // All at once, so that batches and the chunks of the index fill.
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..2_500 {
        let (store, new) = (Arc::clone(&store), entry(number, &scope, &number.to_string()));
        tasks.spawn(async move { store.insert(new).await.unwrap() });
    }
    tasks.join_all().await;
    store.close().await.unwrap();
    let store = store_in(directory.path()).await;
    assert_eq!(store.count(project_id(1)).await.unwrap(), 2_500);
    for number in (0..2_500).step_by(37) {
        assert_whole(&*store, &scope, number, &number.to_string()).await;
    }
}

#[tokio::test]
async fn providers_are_there_the_next_time_and_removed_ones_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    store.create_project(&project(1), &change()).await.unwrap();
    let provider = |number: u8| ProviderConfig {
        name: format!("house-{number}"),
        kind: ProviderKind::Gemini,
        models: vec![format!("model-{number}")],
        sealed_secret: Some(vec![number; 40]),
        ..testing::provider(number.into(), project_id(1), NOW)
    };
    for number in 1..=3 {
        store.add_provider(&provider(number), &change()).await.unwrap();
    }
    store.remove_provider(project_id(1), "house-2", &change()).await.unwrap();
    store.close().await.unwrap();
    let store = store_in(directory.path()).await;
    assert_eq!(store.providers(project_id(1)).await.unwrap(), [provider(1), provider(3)]);
    assert_eq!(store.provider_of(project_id(1), "model-3").await.unwrap(), Some(provider(3)));
    assert_eq!(store.provider_of(project_id(1), "model-2").await.unwrap(), None);
    assert_eq!(store.provider_of(project_id(2), "model-3").await.unwrap(), None);
}

#[tokio::test]
async fn a_directory_in_use_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let second = open(&StoreSettings::new(directory.path())).await;
    let Err(error @ OpenError::Locked { .. }) = second else { panic!("it must be locked") };
    assert!(error.to_string().contains("in use by another deja process"), "{error}");
    store.close().await.unwrap();
    store_in(directory.path()).await;
}

#[tokio::test]
async fn dropping_the_store_frees_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    drop(store_in(directory.path()).await);
    let started = Instant::now();
    while open(&StoreSettings::new(directory.path())).await.is_err() {
        assert!(started.elapsed() < Duration::from_mins(1), "the writer must end by itself");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_insert_goes_on_when_its_caller_goes_away() {
    let directory = tempfile::tempdir().unwrap();
    let scope = scope();
    let store = store_in(directory.path()).await;
    store.create_project(&project(1), &change()).await.unwrap();
    {
        // Polled once, so that the job is queued, and dropped.
        let insert = store.insert(entry(1, &scope, "hello"));
        tokio::pin!(insert);
        tokio::select! {
            biased;
            _ = &mut insert => {}
            () = std::future::ready(()) => {}
        }
    }
    // Whatever is queued later is done later.
    store.insert(entry(2, &scope, "other")).await.unwrap();
    assert_whole(&*store, &scope, 1, "hello").await;
}

#[tokio::test]
async fn only_the_owner_may_look() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("a/b");
    let store = store_in(&directory).await;
    store.create_project(&project(1), &change()).await.unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    for file in std::fs::read_dir(&directory).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    store.close().await.unwrap();
    assert!(store.create_project(&project(1), &change()).await.is_err());
    assert!(store.ready().await.is_err());
    assert!(store.keys(project_id(1)).await.is_err());
    let scope = Scope::new(project_id(1), Frame::query(None, None));
    assert!(store.exact(&scope, &PromptHash::of("x"), NOW).await.unwrap().is_none());
}

/// In one transaction this took a time that grew with the square of the entries: 8 s for 10,000, in which nobody could write.
#[tokio::test(flavor = "multi_thread")]
async fn others_write_while_a_large_project_is_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    for number in [1, 2] {
        store.create_project(&project(number), &change()).await.unwrap();
    }
    let [large, other] = [1, 2].map(|number| Scope::new(project_id(number), Frame::query(Some("m"), None)));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..3_000 {
        let (store, new) = (Arc::clone(&store), entry(number, &large, &number.to_string()));
        tasks.spawn(async move { store.insert(new).await.unwrap() });
    }
    tasks.join_all().await;
    let deletes = Arc::clone(&store);
    let mut deletion = tokio::task::JoinSet::new();
    deletion.spawn(async move { deletes.delete_project(project_id(1), &change()).await.unwrap() });
    let mut meanwhile = 0;
    let deleted = loop {
        let number = 10_000 + meanwhile;
        store.insert(entry(number, &other, &number.to_string())).await.unwrap();
        meanwhile += 1;
        if let Some(deleted) = deletion.try_join_next() {
            break deleted.unwrap();
        }
    };
    assert!(deleted && meanwhile > 3, "{meanwhile} writes of another project");
    assert_eq!(store.projects().await.unwrap().len(), 1);
    assert_eq!(store.count(project_id(1)).await.unwrap(), 0);
    store.close().await.unwrap();
    let store = store_in(directory.path()).await;
    assert_eq!(store.count(project_id(2)).await.unwrap(), u64::from(meanwhile));
    assert_eq!(store.exact(&large, &PromptHash::of("7"), NOW).await.unwrap(), None);
}
