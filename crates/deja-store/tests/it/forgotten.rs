//! Connections that the network forgot without a word, while new ones work.

use std::sync::Arc;
use std::time::Duration;

use deja_core::store::{Store, StoreError};
use deja_store::PostgresSettings;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;

use crate::faults::{HANG, behind_proxy};
use crate::postgres::{Database, open_store, settings};

const CONNECTIONS: usize = 4;

/// Has all connections of the store answer a call of their own.
async fn use_all(store: &Arc<dyn Store>, client: &mut Client, observer: &Client) {
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE projects IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let mut calls = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let store = Arc::clone(store);
        calls.spawn(async move { store.projects().await });
    }
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let all_wait = async {
        while observer.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < CONNECTIONS as i64 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(HANG, all_wait).await.expect("each call has a connection");
    lock.rollback().await.unwrap();
    for called in calls.join_all().await {
        called.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_caller_waits_in_vain_for_all_and_one_sign_of_life_is_asked_for() {
    let database = Database::create().await;
    let (proxy, url) = behind_proxy(&database).await;
    let store = open_store(PostgresSettings {
        pool_size: CONNECTIONS,
        connect_timeout: Duration::from_secs(2),
        call_timeout: Duration::from_secs(8),
        ..settings(&url)
    });
    let store = store.await;
    let (mut client, observer) = (database.client().await, database.client().await);
    use_all(&store, &mut client, &observer).await;
    proxy.forget();
    let refused = timeout(HANG, store.projects()).await.expect("no hang");
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    // Who comes now asks the next connection whether it lives, and makes a new one when it does not.
    let asked = proxy.swallowed();
    store.projects().await.unwrap();
    assert_eq!(proxy.swallowed(), asked + 1, "a sign of life, and no statement");
    // The others are closed unasked: each would make a caller wait.
    use_all(&store, &mut client, &observer).await;
    assert_eq!(proxy.swallowed(), asked + 1);
}
