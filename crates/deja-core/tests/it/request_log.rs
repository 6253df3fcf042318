//! What the log says of each request, and that it stays bounded.

use std::sync::atomic::Ordering;

use deja_core::analytics::{ContextKey, Outcome, Surface};
use deja_core::api_key::KeyHash;
use deja_core::cache::{Met, PromptHash};
use deja_core::clock::Clock;
use deja_core::engine::{NotAllowed, Query, QueryError};
use deja_core::id::KeyId;
use deja_core::project::{Guard, ProjectSettings};
use deja_core::provider::FailureClass;
use deja_core::quality::FORBIDDEN;
use deja_core::rate_limit::Quota;
use deja_core::store::Keys;
use deja_core::testing::change;
use deja_wire::Wire;

use crate::util::{Bench, failure, query, unguarded};

fn named(name: &str, prompt: &str) -> Query {
    Query { request: Some(name.into()), ..query(prompt) }
}

#[tokio::test]
async fn every_end_of_a_request_is_logged_with_what_it_met() {
    let bench = Bench::new().await;
    let first = bench.try_ask(named("r1", "reset|1")).await.unwrap();
    bench.try_ask(named("r2", "reset|1")).await.unwrap();
    let semantic = bench.try_ask(Query { context: None, ..named("r3", "reset|2") }).await.unwrap();
    let context = Some("law".to_owned());
    bench.try_ask(Query { context: context.clone(), ..named("r4", "reset|1") }).await.unwrap();
    bench.provider.script(|_| async { Err(failure(FailureClass::Server)) });
    bench.try_ask(named("r5", "weather")).await.unwrap_err();
    let unknown = Query { model: "unsupported".into(), ..named("r6", "weather") };
    bench.try_ask(unknown).await.unwrap_err();
    let unread = async { Err::<(Query, ()), _>(QueryError::Forbidden(NotAllowed::Model)) };
    bench.engine.request(None, &bench.caller, "r7", unread, |_, ()| 0).await.unwrap_err();
    bench.store.over_limit.store(true, Ordering::SeqCst);
    bench.engine.admit(&bench.caller.key.hash, None, Surface::Query, Some("r8"), None).await.unwrap_err();
    bench.store.over_limit.store(false, Ordering::SeqCst);
    bench
        .engine
        .admit(&bench.caller.key.hash, Some("another"), Surface::Query, Some("r9"), None)
        .await
        .unwrap_err();

    let logged = bench.logged().await;
    let told: Vec<_> = logged
        .iter()
        .map(|one| (one.request.as_deref().unwrap(), one.outcome, one.cause.as_deref(), &*one.model))
        .collect();
    assert_eq!(
        told,
        [
            ("r1", Outcome::Miss, None, "cheap"),
            ("r2", Outcome::ExactHit, None, "cheap"),
            ("r3", Outcome::SemanticHit, None, "cheap"),
            ("r4", Outcome::Miss, None, "cheap"),
            ("r5", Outcome::Error, Some("provider_server_error"), "cheap"),
            ("r6", Outcome::Refused, Some("model_not_supported"), "unsupported"),
            ("r7", Outcome::Refused, Some("model_not_allowed"), ""),
            ("r8", Outcome::RateLimited, Some("rate_limited"), ""),
            ("r9", Outcome::Refused, Some("other_project"), ""),
        ]
    );
    for one in &logged {
        assert_eq!((one.key, one.at, one.surface), (bench.caller.key.id, bench.clock.now(), Surface::Query));
        assert_eq!(one.text, None, "texts are opt-in");
    }
    let met = |number: usize| logged[number].met.as_ref().map(|met| (met.entry, met.met));
    assert_eq!(
        [0, 1, 2, 3, 4].map(met),
        [None, Some((first.entry.id, Met::Served)), Some((first.entry.id, Met::Served)), None, None]
    );
    assert_eq!(logged[2].met.as_ref().unwrap().similarity, semantic.similarity().unwrap());
    assert_eq!((logged[1].saved, logged[0].saved.as_nanos()), (first_saving(&bench).await, 0));
    assert_eq!(logged[2].asked, Some(PromptHash::of("reset|2")));
    assert_eq!((logged[5].asked.is_some(), logged[6].asked), (true, None));
    let contexts = [0, 3].map(|number: usize| logged[number].context);
    assert_eq!(contexts, [ContextKey::WITHOUT, ContextKey::of(context.as_deref())]);
    let timed = logged.iter().map(|one| one.latency.is_some());
    assert!(timed.eq([true, true, true, true, true, true, false, false, false]), "those that became a query");
}

/// What an exact hit saves.
async fn first_saving(bench: &Bench) -> deja_core::money::NanoUsd {
    bench.ask("reset|1").await.saved()
}

#[tokio::test]
async fn a_miss_says_which_entry_came_near_and_why_it_did_not_answer() {
    let bench =
        Bench::with(ProjectSettings { guard: Guard::Standard, ..ProjectSettings::default() }, 100).await;
    let first = bench.ask("|Which trains run on day 1?").await;
    bench.ask("|Which trains run on day 2?").await;
    let one = bench.logged().await.pop().unwrap();
    let met = one.met.unwrap();
    assert_eq!((one.outcome, met.entry, met.met), (Outcome::Miss, first.entry.id, Met::Refused));
    assert_eq!(met.reason.as_deref(), Some("numbers"));

    let bench = Bench::new().await;
    let first = bench.ask("chairs|1").await;
    bench.found_wrong(first.entry.id, "chairs|2").await;
    bench.ask("chairs|2").await;
    let met = bench.logged().await.pop().unwrap().met.unwrap();
    assert_eq!((met.entry, met.met, met.reason.as_deref()), (first.entry.id, Met::Refused, Some(FORBIDDEN)));
}

#[tokio::test]
async fn texts_are_kept_where_the_project_says_so_and_nothing_where_it_logs_nothing() {
    let bench = Bench::with(ProjectSettings { request_texts_days: 1, ..unguarded() }, 100).await;
    bench.ask("reset|1").await;
    assert_eq!(bench.logged().await[0].text.as_deref(), Some("reset|1"));

    let bench =
        Bench::with(ProjectSettings { request_log: 0, request_texts_days: 1, ..unguarded() }, 100).await;
    bench.ask("reset|1").await;
    assert_eq!(bench.logged().await, []);
}

#[tokio::test]
async fn a_request_whose_prompt_is_not_known_has_no_hash_and_no_text() {
    let bench = Bench::with(ProjectSettings { request_texts_days: 1, ..unguarded() }, 100).await;
    // As requests in a wire format are that are passed on unread.
    bench.try_ask(query("")).await.unwrap();
    let logged = bench.logged().await.pop().unwrap();
    assert_eq!((logged.asked, logged.text), (None, None));
}

#[tokio::test]
async fn one_busy_project_does_not_keep_another_out_of_its_log() {
    let bench = Bench::new().await;
    let other = Bench { caller: bench.another_project().await, ..bench.clone() };
    other.ask("reset|1").await;
    for _ in 0..600 {
        bench.ask("reset|1").await;
    }
    other.ask("reset|1").await;
    assert_eq!(bench.logged().await.len(), 512);
    assert_eq!(other.logged().await.len(), 2);
    bench.ask("reset|1").await;
    assert_eq!(bench.logged().await.len(), 513, "after a write there is room again");
}

#[tokio::test]
async fn a_request_over_the_limit_of_its_own_key_says_so() {
    let bench = Bench::new().await;
    let mut own = (*bench.caller.key).clone();
    own.id = KeyId::from_bytes([7; 16]);
    own.hash = KeyHash([7; 32]);
    own.quota = Some(Quota::new(1, 1).unwrap());
    bench.store.create_key(&own, &change()).await.unwrap();
    bench.engine.admit(&own.hash, None, Surface::Query, Some("r1"), None).await.unwrap();
    bench.engine.admit(&own.hash, None, Surface::Query, Some("r2"), None).await.unwrap_err();
    let one = bench.logged().await.pop().unwrap();
    assert_eq!((one.outcome, one.cause.as_deref()), (Outcome::RateLimited, Some("key_rate_limited")));
}

#[tokio::test]
async fn what_is_refused_before_it_is_a_query_is_logged_with_what_it_came_through() {
    let bench = Bench::new().await;
    let (wire, key) = (Surface::Wire(Wire::Messages), &bench.caller.key.hash);
    bench.store.over_limit.store(true, Ordering::SeqCst);
    bench.engine.admit(key, None, wire, Some("r1"), None).await.unwrap_err();
    bench.store.over_limit.store(false, Ordering::SeqCst);
    bench.engine.admit(key, Some("another"), wire, Some("r2"), None).await.unwrap_err();
    for (name, error) in [("r3", QueryError::Forbidden(NotAllowed::Model)), ("r4", QueryError::Overloaded)] {
        let unread = async { Err::<(), _>(error) };
        bench.engine.read(&bench.caller, wire, name, unread).await.unwrap_err();
    }
    let logged = bench.logged().await;
    assert!(logged.iter().all(|one| one.surface == wire));
    let outcomes: Vec<_> = logged.iter().map(|one| one.outcome).collect();
    // That there is no room is no fault of the request.
    assert_eq!(outcomes, [Outcome::RateLimited, Outcome::Refused, Outcome::Refused, Outcome::Error]);
}
