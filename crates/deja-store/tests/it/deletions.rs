//! Deleting a project on PostgreSQL: it is gone at once, and keeps nobody waiting.

use std::num::NonZeroUsize;
use std::time::Duration;

use deja_core::analytics::{Outcome, UsageBatch, UsageEvent};
use deja_core::audit::{Actor, AuditFilter, Change};
use deja_core::id::KeyId;
use deja_core::project::Project;
use deja_core::store::StoreError;
use deja_core::testing::{self, change};
use deja_store::PostgresSettings;
use tokio::time::timeout;

use crate::postgres::{open_store, settings};
use crate::support::{NOW, entry, project, project_id, scope, until_waiting, with_project};

#[tokio::test]
async fn a_deletion_that_failed_half_way_is_in_the_log_serves_nothing_and_is_finished_by_a_sweep() {
    let (database, other) = with_project().await;
    let quick = PostgresSettings { call_timeout: Duration::from_secs(1), ..settings(&database.url) };
    let store = open_store(quick).await;
    let key = testing::key(1, project_id(1), NOW);
    store.create_key(&key, &change()).await.unwrap();
    store.insert(entry(1, &scope(), "asked")).await.unwrap();
    let holder = database.client().await;
    holder.batch_execute("BEGIN; SELECT FROM entries FOR UPDATE").await.unwrap();
    let deletion = Change::new(NOW, Actor::Cli, "project.delete").within(project_id(1));
    assert!(store.delete_project(project_id(1), &deletion).await.is_err(), "its entry is locked for long");

    let newest = other.changes(&AuditFilter::default(), None, NonZeroUsize::MIN).await.unwrap().remove(0);
    assert_eq!(newest.change, deletion);
    assert_eq!(other.projects().await.unwrap(), []);
    assert_eq!(other.project("p1").await.unwrap(), None);
    assert!(other.key_by_hash(&key.hash).await.unwrap().is_none());
    assert!(!other.update_project(&project(1), &change()).await.unwrap());
    assert!(!other.delete_project(project_id(1), &deletion).await.unwrap());
    let late = other.create_key(&testing::key(2, project_id(1), NOW), &change()).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))), "{late:?}");
    // The slug is free at once.
    let anew = Project { id: project_id(2), ..project(1) };
    other.create_project(&anew, &change()).await.unwrap();

    holder.batch_execute("ROLLBACK").await.unwrap();
    other.sweep(NOW, NonZeroUsize::MAX).await.unwrap();
    for table in ["projects", "entries"] {
        let left = format!("SELECT FROM {table} WHERE project_id <> $1");
        let ours = uuid::Uuid::from_bytes(*project_id(2).as_bytes());
        assert!(holder.query(&left, &[&ours]).await.unwrap().is_empty(), "{table}");
    }
    assert_eq!(other.projects().await.unwrap(), [anew]);
}

/// A replica writes what it counted and logged of all projects together. What holds one project's row for long loses it for all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_project_has_much_of_goes_before_its_row_is_held() {
    let (database, store) = with_project().await;
    let other = database.store().await;
    store.create_project(&project(2), &change()).await.unwrap();
    let mut batch = UsageBatch::default();
    let key = KeyId::from_bytes([1; 16]);
    batch.add(&UsageEvent { model: "m", ..UsageEvent::bare(project_id(1), key, Outcome::Miss, NOW) });
    store.record(&batch).await.unwrap();
    let requests = [1, 2].map(|number| testing::logged(project_id(number), NOW));
    store.log_requests(&requests).await.unwrap();
    for table in ["rollups", "request_log"] {
        let holder = database.client().await;
        holder.batch_execute(&format!("BEGIN; SELECT FROM {table} FOR UPDATE")).await.unwrap();
        let deletion = change();
        let mut deleting = std::pin::pin!(store.delete_project(project_id(1), &deletion));
        tokio::select! {
            done = &mut deleting => panic!("it does not wait for {table}: {done:?}"),
            () = until_waiting(&database, 1) => {}
        }
        timeout(Duration::from_secs(5), other.log_requests(&requests)).await.expect("no wait").unwrap();
        holder.batch_execute("ROLLBACK").await.unwrap();
        assert!(deleting.await.unwrap(), "{table}");
        store.create_project(&project(1), &change()).await.unwrap();
        store.log_requests(&requests).await.unwrap();
    }
}

/// The lock of a deletion is on a connection that goes back to the pool.
#[tokio::test]
async fn a_deletion_keeps_no_lock_from_the_next_one() {
    let (_database, store) = with_project().await;
    for _ in 0..50 {
        assert!(store.delete_project(project_id(1), &change()).await.unwrap());
        store.create_project(&project(1), &change()).await.unwrap();
    }
}
