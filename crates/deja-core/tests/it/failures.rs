//! What breaks, and that nothing hangs or is kept because of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use deja_core::cache::policy::NotStored;
use deja_core::embedding::EmbedError;
use deja_core::engine::{CallLimits, Query, QueryError, Said, Source};
use deja_core::project::ProjectSettings;
use deja_core::provider::{FailureClass, Finish, Keyless};

use tokio::sync::Semaphore;

use crate::util::{Bench, PATIENCE, complete, failure, is_miss, query, settle, unguarded};

#[tokio::test]
async fn a_panic_in_a_provider_is_an_error_for_all_who_wait() {
    let bench = Bench::new().await;
    let gate = bench.provider.hold();
    bench.provider.script(|_| async { panic!("a bug in a provider") });
    let mut waiting = vec![bench.begin(query("reset|1"))];
    bench.until("the call", |b| b.provider.count() == 1).await;
    waiting.extend((0..5).map(|_| bench.begin(query("reset|1"))));
    waiting.push(bench.begin(query("reset|2")));
    settle().await;
    gate.add_permits(100);
    for caller in waiting {
        assert!(matches!(caller.await.unwrap(), Err(QueryError::Internal(_))));
    }
    bench.provider.script(|_| async { Ok(complete("better")) });
    assert!(is_miss(&bench.ask("reset|1").await), "the next one gets through");
}

#[tokio::test]
async fn an_answer_that_cannot_be_stored_is_returned_all_the_same() {
    let bench = Bench::new().await;
    bench.store.fail_insert.store(true, Ordering::SeqCst);
    for calls in 1..=2 {
        let reply = bench.ask("reset|1").await;
        assert_eq!(reply.source, Source::Provider(Err(NotStored::StoreUnavailable)));
        assert_eq!(reply.entry.answer.text, "re: reset|1");
        assert_eq!((bench.provider.count(), bench.entries().await), (calls, 0));
    }
    bench.store.fail_insert.store(false, Ordering::SeqCst);
    assert!(is_miss(&bench.ask("reset|1").await));
    assert!(bench.ask("reset|1").await.is_hit());
}

#[tokio::test]
async fn a_store_that_cannot_be_read_is_an_error_and_nobody_is_asked() {
    let bench = Bench::new().await;
    bench.store.fail_search.store(true, Ordering::SeqCst);
    assert!(matches!(bench.try_ask(query("reset|1")).await, Err(QueryError::Unavailable(_))));
    assert_eq!(bench.provider.count(), 0);
}

#[tokio::test]
async fn what_is_not_a_normal_answer_is_returned_and_not_kept() {
    let bench = Bench::new().await;
    let cases = [
        (Finish::Length, NotStored::Truncated),
        (Finish::ToolCalls, NotStored::ToolCalls),
        (Finish::ContentFilter, NotStored::Filtered),
        (Finish::Refusal, NotStored::Refused),
        (Finish::Unknown, NotStored::UnknownFinish),
    ];
    for (finish, why) in cases {
        bench.provider.script(move |_| async move {
            let mut completion = complete("half");
            completion.finish = finish;
            Ok(completion)
        });
        let reply = bench.ask("reset|1").await;
        assert_eq!((reply.source, reply.entry.answer.text.as_str()), (Source::Provider(Err(why)), "half"));
        assert!(!reply.is_hit());
    }
    assert_eq!((bench.provider.count(), bench.entries().await), (cases.len(), 0));
}

#[tokio::test]
async fn errors_of_providers_are_not_kept() {
    let bench = Bench::new().await;
    bench.provider.script(|_| async { Err(failure(FailureClass::RateLimit)) });
    for _ in 0..2 {
        let Err(QueryError::Provider(error)) = bench.try_ask(query("reset|1")).await else {
            panic!("an answer")
        };
        assert_eq!(error.class, FailureClass::RateLimit);
    }
    assert_eq!((bench.provider.count(), bench.entries().await), (2, 0));
}

#[tokio::test]
async fn a_model_without_credentials_is_an_error_on_a_miss_and_none_on_a_hit() {
    let settings = ProjectSettings { share_models: true, ..unguarded() };
    let bench = Bench::with(settings, 10).await;
    let bare = || Query { model: "bare".into(), ..query("reset|1") };
    assert!(matches!(
        bench.try_ask(bare()).await,
        Err(QueryError::NoCredentials(keyless)) if keyless == Keyless::BuiltIn("fake")
    ));
    assert_eq!(bench.provider.count(), 0);
    bench.ask("reset|1").await;
    assert!(bench.try_ask(bare()).await.unwrap().is_hit());
}

#[tokio::test]
async fn failed_embeddings_are_told_and_tried_again() {
    let bench = Bench::new().await;
    let fail = |error| *bench.embedder.fail.lock().unwrap() = error;
    fail(Some(EmbedError::Overloaded));
    assert!(matches!(bench.try_ask(query("reset|1")).await, Err(QueryError::Overloaded)));
    fail(Some(EmbedError::Timeout));
    assert!(matches!(bench.try_ask(query("reset|1")).await, Err(QueryError::Unavailable(_))));
    fail(Some(EmbedError::Failed("no model".into())));
    assert!(matches!(bench.try_ask(query("reset|1")).await, Err(QueryError::Unavailable(_))));
    fail(None);
    assert!(is_miss(&bench.ask("reset|1").await));
}

#[tokio::test]
async fn more_calls_than_allowed_are_refused_and_the_others_go_on() {
    let bench = Bench::with(unguarded(), 1).await;
    let (gate, first) = bench.lead(query("reset|1")).await;
    assert_eq!(bench.engine.upstream_calls(), 1);
    assert!(matches!(bench.try_ask(query("weather")).await, Err(QueryError::Overloaded)));
    // Waiting for the call under way takes no slot.
    let second = bench.begin(query("reset|1"));
    settle().await;
    gate.add_permits(100);
    assert!(is_miss(&first.await.unwrap().unwrap()));
    assert!(second.await.unwrap().unwrap().is_hit());
    assert!(is_miss(&bench.ask("weather").await), "the slot is free again");
    assert_eq!(bench.engine.upstream_calls(), 0);
}

#[tokio::test]
async fn a_panic_gives_its_slot_back() {
    let bench = Bench::with(unguarded(), 1).await;
    bench.provider.script(|_| async { panic!("a bug in a provider") });
    for _ in 0..3 {
        assert!(matches!(bench.try_ask(query("reset|1")).await, Err(QueryError::Internal(_))));
    }
    assert_eq!((bench.provider.count(), bench.engine.upstream_calls()), (3, 0));
}

#[tokio::test]
async fn a_query_ends_at_its_deadline_and_the_call_goes_on() {
    let calls = CallLimits { all: 10, each: 10 };
    let bench = Bench::of(unguarded(), calls, Duration::from_millis(200)).await;
    let gate = bench.provider.hold();
    let (leader, follower) = (bench.begin(query("reset|1")), bench.begin(query("reset|2")));
    for caller in [leader, follower] {
        assert!(matches!(caller.await.unwrap(), Err(QueryError::DeadlineExceeded)));
    }
    assert_eq!(bench.provider.count(), 1);
    gate.add_permits(1);
    bench.tasks.close();
    bench.tasks.wait().await;
    assert_eq!(bench.entries().await, 1, "the answer is paid for, so it is stored");
}

#[tokio::test]
async fn the_deadline_is_for_look_ups_and_embedding_too() {
    let calls = CallLimits { all: 10, each: 10 };
    let bench = Bench::of(unguarded(), calls, Duration::from_millis(200)).await;
    *bench.embedder.gate.lock().unwrap() = Some(Arc::new(Semaphore::new(0)));
    assert!(matches!(bench.try_ask(query("reset|1")).await, Err(QueryError::DeadlineExceeded)));
    *bench.embedder.gate.lock().unwrap() = None;
    *bench.store.hold_nearest.lock().unwrap() = Some(Arc::new(Semaphore::new(0)));
    assert!(matches!(bench.try_ask(query("weather")).await, Err(QueryError::DeadlineExceeded)));
    assert!(is_miss(&bench.ask("reset|1").await), "and nothing is stuck");
}

#[tokio::test]
async fn a_project_cannot_take_the_calls_of_all_others() {
    let calls = CallLimits { all: 3, each: 2 };
    let mut bench = Bench::of(unguarded(), calls, PATIENCE).await;
    let gate = bench.provider.hold();
    let greedy = [bench.begin(query("reset")), bench.begin(query("weather"))];
    bench.until("both calls", |b| b.provider.count() == 2).await;
    assert!(matches!(bench.try_ask(query("news")).await, Err(QueryError::Overloaded)));
    // Another project still gets through, and then all are taken.
    let another = bench.another_project().await;
    let first = std::mem::replace(&mut bench.caller, another);
    let other = bench.begin(query("reset"));
    bench.until("the other's call", |b| b.provider.count() == 3).await;
    assert!(matches!(bench.try_ask(query("weather")).await, Err(QueryError::Overloaded)));
    gate.add_permits(100);
    for caller in greedy.into_iter().chain([other]) {
        assert!(is_miss(&caller.await.unwrap().unwrap()));
    }
    assert_eq!(bench.engine.upstream_calls(), 0);
    bench.caller = first;
    assert!(is_miss(&bench.ask("news").await), "what was taken is given back");
}

#[tokio::test]
async fn a_query_that_waits_for_the_projects_model_ends_at_its_deadline() {
    let settings = ProjectSettings { guard_model: Some("cheap".into()), ..ProjectSettings::default() };
    let calls = CallLimits { all: 10, each: 10 };
    let bench = Bench::of(settings, calls, Duration::from_millis(200)).await;
    // Another process, which has all the time it needs, stores an entry whose words leave it open.
    let stored = bench.replica(2).ask("|How do I renew my fishing licence?").await;
    assert!(is_miss(&stored));
    let gate = bench.provider.hold();
    let asked = query("|How do I renew my fishing licence today?");
    assert!(matches!(bench.try_ask(asked).await, Err(QueryError::DeadlineExceeded)));
    gate.add_permits(100);
    bench.tasks.close();
    bench.tasks.wait().await;
    let questions: Vec<_> = bench.provider.calls.lock().unwrap().clone();
    assert!(
        questions.iter().any(|prompt| prompt.starts_with(r#"["|How do I renew my fishing licence today?","#))
    );
}

#[tokio::test]
async fn a_model_that_is_down_is_left_alone_for_a_while() {
    let settings = ProjectSettings { guard_model: Some("cheap".into()), ..ProjectSettings::default() };
    let bench = Bench::with(settings, 10).await;
    // Its questions are a JSON list of two prompts.
    bench.provider.script(|prompt| async move {
        if prompt.starts_with('[') { Err(failure(FailureClass::Server)) } else { Ok(complete("answer")) }
    });
    let said = async |thing: &str| {
        bench.ask(&format!("{thing}|How do I renew my {thing}?")).await;
        let reply = bench.ask(&format!("{thing}|How do I renew my {thing} today?")).await;
        (reply.is_hit(), reply.trace.opinion.unwrap().said)
    };
    for thing in ["fishing licence", "parking permit", "library card"] {
        assert_eq!(said(thing).await, (false, Said::Failed), "{thing}");
    }
    let calls = bench.provider.count();
    assert_eq!(said("passport").await, (false, Said::Resting));
    assert_eq!(bench.provider.count(), calls + 2, "it was not asked");
    bench.clock.advance(Duration::from_secs(10));
    assert_eq!(said("season ticket").await, (false, Said::Failed), "one question after a rest");
    assert_eq!(said("gym membership").await, (false, Said::Resting));
    bench
        .provider
        .script(|prompt| async move { Ok(complete(if prompt.starts_with('[') { "yes" } else { "answer" })) });
    bench.clock.advance(Duration::from_secs(10));
    assert_eq!(said("driving licence").await, (true, Said::Yes));
    assert_eq!(said("work visa").await, (true, Said::Yes));
}

#[tokio::test]
async fn a_provider_that_is_silent_is_not_waited_for_by_everybody() {
    let mut bench = Bench::new().await;
    assert!(is_miss(&bench.ask("reset|1").await));
    bench.provider.script(|_| async { Err(failure(FailureClass::Timeout)) });
    let class = async |bench: &Bench, prompt: &str| match bench.try_ask(query(prompt)).await {
        Err(QueryError::Provider(error)) => error.class,
        other => panic!("{other:?}"),
    };
    for number in 0..10 {
        assert_eq!(class(&bench, &format!("weather {number}")).await, FailureClass::Timeout);
    }
    let calls = bench.provider.count();
    assert_eq!(class(&bench, "news").await, FailureClass::Down);
    assert_eq!(bench.provider.count(), calls, "it was not asked");
    assert!(bench.ask("reset|2").await.is_hit(), "what is stored is served");

    // Another project has calls of its own.
    let another = bench.another_project().await;
    let first = std::mem::replace(&mut bench.caller, another);
    assert_eq!(class(&bench, "news").await, FailureClass::Timeout);
    bench.caller = first;

    bench.clock.advance(Duration::from_secs(5));
    assert_eq!(class(&bench, "sports").await, FailureClass::Timeout, "one call after a rest");
    assert_eq!(class(&bench, "news").await, FailureClass::Down);
    bench.provider.script(|_| async { Ok(complete("better")) });
    bench.clock.advance(Duration::from_secs(5));
    assert_eq!(
        class(&bench, "news").await,
        FailureClass::Down,
        "the rest is twice as long after a call that failed"
    );
    assert_eq!(bench.engine.providers_down().len(), 1, "the other project's one call is no outage");
    bench.clock.advance(Duration::from_secs(5));
    assert!(is_miss(&bench.ask("news").await));
    assert!(is_miss(&bench.ask("sports").await));
    assert!(bench.engine.providers_down().is_empty());
}

#[tokio::test]
async fn an_error_that_a_provider_answers_with_is_an_answer() {
    let bench = Bench::new().await;
    bench.provider.script(|_| async { Err(failure(FailureClass::Server)) });
    for number in 0..20 {
        let Err(QueryError::Provider(error)) = bench.try_ask(query(&format!("weather {number}"))).await
        else {
            panic!("an answer")
        };
        assert_eq!(error.class, FailureClass::Server);
    }
    assert_eq!(bench.provider.count(), 20);
}
