//! A full disk: writes say so, reads go on, and writes work again once there is room.

use deja_core::store::{EntryFilter, StoreError};
use deja_core::testing::change;
use deja_store::{StoreSettings, open};

use crate::support::{assert_whole, embedder, entry, project, project_id, scope};

#[tokio::test]
async fn a_full_disk_stops_writes_only() {
    let directory = tempfile::tempdir().unwrap();
    let settings = StoreSettings {
        max_database_bytes: Some(512 * 1024),
        embedder: Some(embedder()),
        ..StoreSettings::new(directory.path())
    };
    let store = open(&settings).await.unwrap();
    let scope = scope();
    store.create_project(&project(1), &change()).await.unwrap();
    let mut stored = 0;
    let error = loop {
        let mut new = entry(stored, &scope, &stored.to_string());
        new.entry.answer.text = "x".repeat(3_000);
        match store.insert(new).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 10_000, "it must fill up");
    };
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    let reserve = std::fs::metadata(directory.path().join("deja.reserve")).unwrap();
    assert_eq!(reserve.len(), 0, "what must be written has the room that was held");
    assert!(stored > 20);
    for number in [0, stored / 2, stored - 1] {
        assert_whole(&*store, &scope, number, &number.to_string()).await;
    }
    assert_eq!(store.count(project_id(1)).await.unwrap(), u64::from(stored), "what failed is not counted");
    store.close().await.unwrap();

    // Nothing is lost, and deleting makes room.
    let store = open(&settings).await.unwrap();
    assert_eq!(store.count(project_id(1)).await.unwrap(), u64::from(stored));
    store.purge(project_id(1), &EntryFilter::default(), &change()).await.unwrap();
    store.insert(entry(1, &scope, "again")).await.unwrap();
    assert_whole(&*store, &scope, 1, "again").await;
    store.ready().await.unwrap();
}
