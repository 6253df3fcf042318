//! The graph index of large scopes: it finds what a scan finds, whatever the filter leaves out.

use std::sync::Arc;
use std::time::Duration;

use deja_core::cache::Scope;
use deja_core::clock::Timestamp;
use deja_core::embedding::EmbedderId;
use deja_core::store::Store;
use deja_core::testing::{MemoryStore, change};
use deja_store::PostgresSettings;
use tokio::time::{Instant, sleep};

use crate::postgres::{Database, open_store, settings};
use crate::support::{NOW, entry, near, project, project_id, vector};

/// A store that takes every scope for large, with its graph built.
async fn with_graph(database: &Database, scope: &Scope) -> Arc<dyn Store> {
    let store = graph_from(database, 0).await;
    near(&*store, scope, &vector(0), 0.5, NOW).await;
    let client = database.client().await;
    let valid = "SELECT FROM pg_index WHERE indexrelid = to_regclass('vectors_graph_96') AND indisvalid";
    let begun = Instant::now();
    while client.query_opt(valid, &[]).await.unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the graph is built");
        sleep(Duration::from_millis(50)).await;
    }
    // The store hears of it a moment later.
    sleep(Duration::from_millis(300)).await;
    store
}

async fn graph_from(database: &Database, graph_from: u64) -> Arc<dyn Store> {
    open_store(PostgresSettings { graph_from, ..settings(&database.url) }).await
}

/// How often the graph was asked, by connections that are closed by now: statistics come late.
async fn scans(database: &Database) -> i64 {
    sleep(Duration::from_secs(2)).await;
    let sql = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'vectors_graph_96'";
    database.client().await.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scope_that_is_a_small_part_of_all_is_scanned() {
    let database = Database::create().await;
    let scope = Scope::new(project_id(1), Some("m"), None);
    let plain = database.store().await;
    plain.create_project(&project(1), &change()).await.unwrap();
    for number in 0..300 {
        plain.insert(entry(number, &scope, &number.to_string())).await.unwrap();
    }
    with_graph(&database, &scope).await;
    let before = scans(&database).await;
    let client = database.client().await;
    // How many the table is thought to hold, and so from how many on the graph is asked, instead of 100.
    for (all, used) in [(1e9, false), (1e6, true)] {
        let sql = format!("UPDATE pg_class SET reltuples = {all} WHERE oid = 'vectors'::regclass");
        client.batch_execute(&sql).await.unwrap();
        let store = graph_from(&database, 100).await;
        // The first search of a store finds out that there is a graph.
        near(&*store, &scope, &vector(1), 0.5, NOW).await;
        sleep(Duration::from_millis(500)).await;
        assert!(!near(&*store, &scope, &vector(1), 0.5, NOW).await.is_empty());
        store.close().await.unwrap();
        assert_eq!(scans(&database).await > before, used, "of {all}");
    }
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_graph_finds_what_a_scan_finds() {
    let database = Database::create().await;
    let plain = database.store().await;
    let model = MemoryStore::new();
    let stores: [&dyn Store; 2] = [&*plain, &*model];
    let large = Scope::new(project_id(1), Some("m"), None);
    let small = Scope::new(project_id(1), Some("m"), Some("few"));
    for store in stores {
        store.create_project(&project(1), &change()).await.unwrap();
        for number in 0..1_200u32 {
            // One in forty is all that passes the filter of the small scope.
            let scope = if number % 40 == 7 { &small } else { &large };
            let mut new = entry(number, scope, &number.to_string());
            new.entry.expires = (number % 5 == 0).then(|| Timestamp::from_secs(NOW.as_secs() + 10));
            if number % 7 == 0 {
                new.vector = new.vector.map(|(_, embedding)| (EmbedderId::new("other"), embedding));
            }
            store.insert(new).await.unwrap();
        }
    }
    let graph = with_graph(&database, &large).await;
    let later = Timestamp::from_secs(NOW.as_secs() + 20);
    for scope in [&large, &small] {
        for number in (0..1_200).step_by(17) {
            for now in [NOW, later] {
                let expected = nearest_ids(&*model, scope, number, now).await;
                assert_eq!(nearest_ids(&*graph, scope, number, now).await, expected, "{number}");
            }
        }
    }
    graph.close().await.unwrap();
    assert!(scans(&database).await > 0, "the graph was asked");
    database.remove().await;
}

async fn nearest_ids(store: &dyn Store, scope: &Scope, number: u32, now: Timestamp) -> Vec<String> {
    let found = near(store, scope, &vector(number), 0.5, now).await;
    found.iter().map(|found| format!("{} {:.4}", found.entry.id, found.similarity.get())).collect()
}
