//! Connections to PostgreSQL that many want at once: a project whose statements are slow does not keep another one waiting, and
//! equal searches are made once.

use std::sync::Arc;
use std::time::Duration;

use deja_core::api_key::KeyHash;
use deja_core::cache::{Frame, PromptHash, Scope};
use deja_core::operator::TokenHash;
use deja_core::rate_limit::Quota;
use deja_core::store::{Door, LookUp, Store};
use deja_core::testing::{self, change};
use deja_store::PostgresSettings;
use futures::future::join_all;
use futures::poll;
use tokio::task::JoinSet;

use crate::faults::HANG;
use crate::postgres::{Database, open_store, settings};
use crate::support::{
    NOW, entry, entry_id, near, project, project_id, scope, until_waiting, vector, with_project,
};

const POOL: usize = 4;

/// Many calls of project 1, each of which takes from its limit.
fn many(store: &Arc<dyn Store>) -> JoinSet<()> {
    let mut calls = JoinSet::new();
    for _ in 0..3 * POOL {
        let store = Arc::clone(store);
        let quota = Quota::new(1_000, 1_000).unwrap();
        calls.spawn(async move { assert!(store.take(project_id(1), quota, NOW).await.unwrap().allowed) });
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_has_half_of_the_connections_however_slow_its_statements_are() {
    let database = Database::create().await;
    let patient = PostgresSettings { pool_size: POOL, call_timeout: HANG, ..settings(&database.url) };
    let store = open_store(patient).await;
    for number in [1, 2] {
        store.create_project(&project(number), &change()).await.unwrap();
    }
    let key = testing::key(2, project_id(2), NOW);
    store.create_key(&key, &change()).await.unwrap();
    let scope = Scope::new(project_id(2), Frame::query(Some("m"), None));
    store.insert(entry(1, &scope, "hello")).await.unwrap();
    let mut calls = many(&store);
    while let Some(ended) = calls.join_next().await {
        ended.unwrap();
    }
    let another_is_served = async || {
        until_waiting(&database, POOL as i64 / 2).await;
        let wanted = LookUp::new(&scope, PromptHash::of("hello"));
        let ahead = store.looks_ahead().unwrap().admit_and_look_up(&key.hash, &wanted, NOW).await;
        assert!(ahead.unwrap().1.unwrap().is_some());
        assert!(store.exact(&scope, &wanted.prompt, NOW).await.unwrap().is_some());
        until_waiting(&database, POOL as i64 / 2).await;
    };

    let holder = database.client().await;
    holder.batch_execute("BEGIN; SELECT FROM buckets FOR UPDATE").await.unwrap();
    let mut calls = many(&store);
    another_is_served().await;
    // Statements go on in the database after their callers hung up, and so they keep their places.
    calls.shutdown().await;
    let mut calls = many(&store);
    another_is_served().await;
    holder.batch_execute("COMMIT").await.unwrap();
    while let Some(ended) = calls.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_with_keys_that_nobody_knows_have_half_of_the_connections() {
    let database = Database::create().await;
    let patient = PostgresSettings { pool_size: POOL, call_timeout: HANG, ..settings(&database.url) };
    let store = open_store(patient).await;
    store.create_project(&project(1), &change()).await.unwrap();
    let holder = database.client().await;
    holder.batch_execute("BEGIN; LOCK TABLE keys").await.unwrap();
    let mut guesses = JoinSet::new();
    for number in 0..3 * POOL {
        let (store, guess) = (Arc::clone(&store), KeyHash([number as u8; 32]));
        guesses.spawn(async move { store.admit_within_limit(&guess, NOW).await.unwrap() });
    }
    until_waiting(&database, POOL as i64 / 2).await;
    assert!(store.exact(&scope(), &PromptHash::of("hello"), NOW).await.unwrap().is_none());
    until_waiting(&database, POOL as i64 / 2).await;
    holder.batch_execute("COMMIT").await.unwrap();
    while let Some(door) = guesses.join_next().await {
        assert!(matches!(door.unwrap(), Door::Unknown));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guesses_of_all_kinds_have_half_of_the_connections_together() {
    let database = Database::create().await;
    let patient = PostgresSettings { pool_size: POOL, call_timeout: HANG, ..settings(&database.url) };
    let store = open_store(patient).await;
    let holder = database.client().await;
    holder.batch_execute("BEGIN; LOCK TABLE keys, sessions, invites, access_tokens").await.unwrap();
    let mut guesses = JoinSet::new();
    for number in 0..POOL {
        let guess = [number as u8; 32];
        let each = || (Arc::clone(&store), TokenHash(guess));
        // As feedback asks.
        let (keys, key) = (Arc::clone(&store), KeyHash(guess));
        guesses.spawn(async move { keys.key_by_hash(&key).await.unwrap().is_none() });
        let (store, token) = each();
        guesses.spawn(async move { store.session(&token, NOW).await.unwrap().is_none() });
        let (store, token) = each();
        guesses.spawn(async move { store.invite(&token, NOW).await.unwrap().is_none() });
        let (store, token) = each();
        guesses.spawn(async move { store.access_token(&token).await.unwrap().is_none() });
    }
    until_waiting(&database, POOL as i64 / 2).await;
    assert!(store.exact(&scope(), &PromptHash::of("hello"), NOW).await.unwrap().is_none());
    until_waiting(&database, POOL as i64 / 2).await;
    holder.batch_execute("COMMIT").await.unwrap();
    assert!(guesses.join_all().await.into_iter().all(|is_unknown| is_unknown));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_searches_at_once_take_one_connection() {
    let (database, store) = with_project().await;
    let (scope, vector) = (scope(), vector(1));
    store.insert(entry(1, &scope, "hello")).await.unwrap();
    let holder = database.client().await;
    holder.batch_execute("BEGIN; LOCK TABLE vectors").await.unwrap();
    let mut searches: Vec<_> = (0..50).map(|_| Box::pin(near(&*store, &scope, &vector, 0.5, NOW))).collect();
    for search in &mut searches {
        assert!(poll!(search).is_pending());
    }
    until_waiting(&database, 1).await;
    // The others have taken none.
    assert!(store.exact(&scope, &PromptHash::of("hello"), NOW).await.unwrap().is_some());
    until_waiting(&database, 1).await;
    holder.batch_execute("COMMIT").await.unwrap();
    for found in join_all(searches).await {
        assert_eq!(found.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_that_expires_while_others_search_hides_none_behind_it() {
    let (database, store) = with_project().await;
    let (scope, vector) = (scope(), vector(1));
    let later = NOW.plus(Duration::from_secs(20));
    for number in 1..=6 {
        let mut new = entry(number, &scope, &number.to_string());
        new.entry.expires = (number == 1).then(|| NOW.plus(Duration::from_secs(10)));
        store.insert(new).await.unwrap();
    }
    let holder = database.client().await;
    holder.batch_execute("BEGIN; LOCK TABLE vectors").await.unwrap();
    // The last one takes what the second one finds.
    let mut searches: Vec<_> =
        [NOW, NOW, later].map(|now| Box::pin(near(&*store, &scope, &vector, 0.5, now))).into();
    for search in &mut searches {
        assert!(poll!(search).is_pending());
    }
    until_waiting(&database, 1).await;
    holder.batch_execute("COMMIT").await.unwrap();
    let found: Vec<_> =
        join_all(searches).await.into_iter().map(|found| (found.len(), found[0].entry.id)).collect();
    assert_eq!(found, [(5, entry_id(1)), (5, entry_id(1)), (5, entry_id(2))]);
}
