//! Stores, projects and entries for the tests.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use deja_core::cache::{Candidate, Frame, NewEntry, PromptHash, Scope};
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding, Threshold};
use deja_core::id::{EntryId, ProjectId};
use deja_core::project::Project;
use deja_core::store::{NewLabel, Probe, Store};
use deja_core::testing::{self, change};
use deja_store::{StoreSettings, open};
use tokio::time::sleep;

use crate::postgres::Database;

pub(crate) const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);

pub(crate) async fn store_in(directory: &Path) -> Arc<dyn Store> {
    store_with(&StoreSettings::new(directory)).await
}

pub(crate) async fn store_with(settings: &StoreSettings) -> Arc<dyn Store> {
    let settings = StoreSettings { embedder: Some(embedder()), ..settings.clone() };
    open(&settings).await.unwrap_or_else(|error| panic!("{error}"))
}

/// A database of PostgreSQL with project 1, and a store on it.
pub(crate) async fn with_project() -> (Database, Arc<dyn Store>) {
    let database = Database::create().await;
    let store = database.store().await;
    store.create_project(&project(1), &change()).await.unwrap();
    (database, store)
}

/// Waits until so many statements wait for a lock.
pub(crate) async fn until_waiting(database: &Database, statements: i64) {
    let looker = database.client().await;
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while looker.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) != statements {
        sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn project_id(number: u8) -> ProjectId {
    ProjectId::from_bytes([number; 16])
}

/// The scope of project 1's queries for the model `m`.
pub(crate) fn scope() -> Scope {
    Scope::new(project_id(1), Frame::query(Some("m"), None))
}

pub(crate) fn entry_id(number: u32) -> EntryId {
    EntryId::from_bytes(u128::from(number).to_be_bytes())
}

pub(crate) fn project(number: u8) -> Project {
    testing::project(project_id(number), &format!("p{number}"), NOW)
}

pub(crate) fn embedder() -> EmbedderId {
    EmbedderId::new("e")
}

/// What somebody at the console says of an entry that answered `asked` wrongly.
pub(crate) fn wrong(number: u32, asked: &str) -> NewLabel<'_> {
    testing::wrong(entry_id(number), asked)
}

/// One of many vectors that differ a lot or a little: numbers with the same tens are neighbours.
pub(crate) fn vector(number: u32) -> Embedding {
    let mut state = u64::from(number / 10) * 7919 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0 - 0.5
    };
    let mut values: Vec<f32> = (0..96).map(|_| next()).collect();
    values[(number % 10) as usize] += 0.35 * (number % 10) as f32;
    Embedding::new(values).unwrap()
}

pub(crate) fn entry(number: u32, scope: &Scope, prompt: &str) -> NewEntry {
    let mut entry = testing::entry(entry_id(number), prompt, NOW);
    scope.frame().model().unwrap_or("shared").clone_into(&mut entry.model);
    (entry.answer.text, entry.answer.output_tokens) = (format!("answer {number}"), 2);
    NewEntry { vectors: vec![(embedder(), vector(number))], ..testing::new_entry(scope.clone(), entry) }
}

pub(crate) async fn near(
    store: &dyn Store,
    scope: &Scope,
    embedding: &Embedding,
    threshold: f64,
    now: Timestamp,
) -> Vec<Candidate> {
    let probe = Probe {
        embedder: &embedder(),
        embedding,
        prompt: PromptHash::of("a prompt of nobody's"),
        threshold: Threshold::new(threshold).unwrap(),
        limit: NonZeroUsize::new(5).unwrap(),
    };
    store.nearest(scope, probe, now).await.unwrap()
}

/// Asserts that an entry is there with its text and its vector.
pub(crate) async fn assert_whole(store: &dyn Store, scope: &Scope, number: u32, prompt: &str) {
    let exact = store.exact(scope, &PromptHash::of(prompt), NOW).await.unwrap();
    assert_eq!(exact.map(|entry| entry.id), Some(entry_id(number)), "entry {number} by hash");
    let found = near(store, scope, &vector(number), 0.99, NOW).await;
    assert!(found.iter().any(|candidate| candidate.entry.id == entry_id(number)), "entry {number} by vector");
}
