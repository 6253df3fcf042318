//! Searches by text: each ends in time, and nobody else waits for them.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use deja_core::analytics::{EntryHits, UsageBatch};
use deja_core::audit::AuditFilter;
use deja_core::cache::{Frame, Scope};
use deja_core::money::NanoUsd;
use deja_core::store::{EntryFilter, EntryOrder, Store, StoreError};
use deja_core::testing::change;
use deja_store::{PostgresSettings, StoreSettings, open};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::faults::HANG;
use crate::postgres::{Database, open_store, settings};
use crate::support::{NOW, entry, entry_id, project, project_id};

/// Entries of 100 KB each: more than any machine reads in a millisecond.
const LONG: u32 = 200;

fn with_text(text: &str) -> EntryFilter {
    EntryFilter { text: Some(text.to_owned()), ..EntryFilter::default() }
}

/// Project 1 with long entries of the model m, each of them hit, and one short of the model n.
async fn fill(store: &dyn Store) {
    store.create_project(&project(1), &change()).await.unwrap();
    let mut hits = UsageBatch::default();
    for number in 0..=LONG {
        let model = if number < LONG { "m" } else { "n" };
        let scope = Scope::new(project_id(1), Frame::query(Some(model), None));
        let mut new = entry(number, &scope, &number.to_string());
        if number < LONG {
            new.entry.answer.text = "Long ".repeat(20_000);
            let hit = EntryHits { hits: 1, last_hit: NOW, saved: NanoUsd::from_nanos(7) };
            hits.entries.insert((project_id(1), entry_id(number)), hit);
        }
        store.insert(new).await.unwrap();
    }
    store.record(&hits).await.unwrap();
}

/// Asserts of a filled store which gives searches a millisecond.
async fn assert_searches_end(store: &dyn Store) {
    let (project, nowhere, one) = (project_id(1), with_text("nowhere"), NonZeroUsize::MIN);
    let changes =
        || async { store.changes(&AuditFilter::default(), None, NonZeroUsize::MAX).await.unwrap().len() };
    let before = changes().await;
    let ended = [
        store.browse(project, &nowhere, EntryOrder::NEWEST, None, one).await.err(),
        store.count_matching(project, &nowhere).await.err(),
        store.top_entries(project, &nowhere, NOW, one).await.err(),
        store.purge(project, &with_text("long"), &change()).await.err(),
    ];
    for error in ended {
        assert!(matches!(error, Some(StoreError::SearchTimeout)), "{error:?}");
    }
    assert_eq!(store.count(project).await.unwrap(), u64::from(LONG) + 1, "nothing was deleted");
    assert_eq!(changes().await, before, "nothing is told to have been deleted");
    // What is not by text has all the time it needs.
    let all = EntryFilter::default();
    assert_eq!(store.count_matching(project, &all).await.unwrap(), u64::from(LONG) + 1);
    assert_eq!(store.top_entries(project, &all, NOW, NonZeroUsize::MAX).await.unwrap().len(), LONG as usize);
    let long = EntryFilter { model: Some("m".into()), ..all };
    assert_eq!(store.purge(project, &long, &change()).await.unwrap(), u64::from(LONG));
    assert_eq!(changes().await, before + 1);
}

#[tokio::test]
async fn a_search_of_the_embedded_store_ends_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let patient = StoreSettings::new(directory.path());
    let store = open(&patient).await.unwrap();
    fill(&*store).await;
    assert_eq!(store.count_matching(project_id(1), &with_text("LONG")).await.unwrap(), u64::from(LONG));
    store.close().await.unwrap();
    let search_timeout = Duration::from_millis(1);
    let store = open(&StoreSettings { search_timeout, ..patient }).await.unwrap();
    assert_searches_end(&*store).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_search_in_postgresql_ends_in_time() {
    let database = Database::create().await;
    let patient = database.store().await;
    fill(&*patient).await;
    let search_timeout = Duration::from_millis(1);
    let store = open_store(PostgresSettings { search_timeout, ..settings(&database.url) }).await;
    assert_searches_end(&*store).await;
    store.close().await.unwrap();
    patient.close().await.unwrap();
}

/// A filter of the audit log by anything but the project.
fn by_action() -> AuditFilter {
    AuditFilter { action: Some("nothing".into()), ..AuditFilter::default() }
}

#[tokio::test]
async fn going_through_the_audit_log_of_the_embedded_store_ends_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let store =
        open(&StoreSettings { search_timeout: Duration::ZERO, ..StoreSettings::new(directory.path()) })
            .await
            .unwrap();
    for _ in 0..100 {
        store.note(&change()).await.unwrap();
    }
    let found = store.changes(&by_action(), None, NonZeroUsize::MAX).await;
    assert!(matches!(found, Err(StoreError::SearchTimeout)), "{found:?}");
    assert_eq!(store.changes(&AuditFilter::of(project_id(1)), None, NonZeroUsize::MAX).await.unwrap(), []);
    assert_eq!(store.changes(&AuditFilter::default(), None, NonZeroUsize::MAX).await.unwrap().len(), 100);
    store.close().await.unwrap();
}

#[tokio::test]
async fn going_through_the_audit_log_in_postgresql_ends_in_time() {
    let database = Database::create().await;
    let search_timeout = Duration::from_millis(50);
    let store = open_store(PostgresSettings { search_timeout, ..settings(&database.url) }).await;
    let mut client = database.client().await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE changes IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let found = store.changes(&by_action(), None, NonZeroUsize::MAX).await;
    assert!(matches!(found, Err(StoreError::SearchTimeout)), "{found:?}");
    lock.rollback().await.unwrap();
    assert_eq!(store.changes(&by_action(), None, NonZeroUsize::MAX).await.unwrap(), []);
    store.close().await.unwrap();
}

#[tokio::test]
async fn searches_leave_connections_to_hits() {
    let database = Database::create().await;
    let patient = PostgresSettings { pool_size: 3, search_timeout: HANG, ..settings(&database.url) };
    let store = open_store(patient).await;
    store.create_project(&project(1), &change()).await.unwrap();
    // No search ends while this lock is held.
    let mut client = database.client().await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE entries IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let mut searches = JoinSet::new();
    for _ in 0..8 {
        let store = Arc::clone(&store);
        searches.spawn(async move { store.count_matching(project_id(1), &with_text("x")).await });
    }
    let waiting = || async {
        let sql = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                   WHERE d.datname = current_database() AND NOT l.granted";
        lock.query_one(sql, &[]).await.unwrap().get::<_, i64>(0)
    };
    let both = timeout(HANG, async {
        while waiting().await < 2 {
            sleep(Duration::from_millis(10)).await;
        }
    });
    both.await.expect("two searches are at work");
    for _ in 0..10 {
        assert_eq!(store.projects().await.unwrap().len(), 1);
    }
    assert_eq!(waiting().await, 2, "no third search is at work");
    lock.rollback().await.unwrap();
    while let Some(search) = searches.join_next().await {
        assert_eq!(search.unwrap().unwrap(), 0);
    }
    store.close().await.unwrap();
}
