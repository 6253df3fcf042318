//! Several processes with one store: one call for a prompt, and another owner if the first one dies.

use std::time::Duration;

use deja_core::cache::PromptHash;
use deja_core::clock::Clock;
use deja_core::engine::{Query, QueryError, Reply, Source};
use deja_core::id::FlightId;
use deja_core::project::ProjectSettings;
use deja_core::provider::{FailureClass, Finish};
use deja_core::store::{Claimed, FlightKey, OwnProviders, Store, Unanswered};
use tokio::task::JoinHandle;

use crate::util::{Bench, complete, failure, is_miss, query, scope, settle, unguarded};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_among_three_replicas() {
    let first = Bench::new().await;
    let replicas = [first.replica(2), first.replica(3), first.replica(4)];
    let gate = first.provider.hold();
    let callers: Vec<_> = (0..30).map(|n| replicas[n % 3].begin(query("reset|1"))).collect();
    first.until("the call", |b| b.provider.count() == 1).await;
    settle().await;
    gate.add_permits(100);
    let mut misses = 0;
    for caller in callers {
        let reply = caller.await.unwrap().unwrap();
        assert_eq!(reply.entry.answer.text, "re: reset|1");
        if is_miss(&reply) {
            misses += 1;
        } else {
            assert_eq!(reply.source, Source::Exact);
        }
    }
    assert_eq!((misses, first.provider.count(), first.entries().await), (1, 1, 1));
    // And the claim is gone: another prompt, and the same one after its entry is gone, are asked at once.
    assert!(is_miss(&replicas[2].ask("weather|1").await));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_flight_of_a_dead_owner_is_taken_over_when_its_lease_runs_out() {
    let mut bench = Bench::new().await.replica(2);
    bench.caller.providers = OwnProviders::At([1; 16]);
    let (project, prompt) = (bench.caller.project.id, PromptHash::of("reset|1"));
    let flight = FlightKey { project, scope: scope(project).key(), prompt };
    let dead = FlightId::from_bytes([9; 16]);
    let lease = Duration::from_secs(3);
    let claims = bench.store.claims().unwrap();
    let claimed = claims.claim(&flight, dead, lease, None, bench.clock.now()).await.unwrap();
    assert!(matches!(claimed, Claimed::Ours));
    let caller = bench.begin(query("reset|1"));
    settle().await;
    assert_eq!(bench.provider.count(), 0, "the owner may still be alive");
    let moved = bench.move_provider();
    assert!(is_miss(&caller.await.unwrap().unwrap()));
    assert_eq!((bench.provider.count(), moved.count()), (0, 1), "the provider as it is now");
}

/// Begins the same call on three replicas, which all wait for the first one's, and lets that one go on.
async fn three_wait(first: &Bench, prompts: [&str; 3]) -> Vec<JoinHandle<Result<Reply, QueryError>>> {
    let replicas = [first.replica(2), first.replica(3), first.replica(4)];
    let gate = first.provider.hold();
    let mut callers = vec![replicas[0].begin(query(prompts[0]))];
    first.until("the call", |b| b.provider.count() == 1).await;
    callers.extend((1..3).map(|n| replicas[n].begin(query(prompts[n]))));
    settle().await;
    assert_eq!(first.provider.count(), 1, "the others wait for it");
    gate.add_permits(1);
    callers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_be_stored_is_asked_by_all_replicas_at_once_after_the_first() {
    let first = Bench::new().await;
    first.provider.script(|prompt| {
        let answer = complete(&format!("re: {prompt}"));
        async move { Ok(deja_core::provider::Completion { finish: Finish::Length, ..answer }) }
    });
    let callers = three_wait(&first, ["reset|1"; 3]).await;
    // Neither of them is answered yet: whoever waited for the other would wait for ever.
    first.until("a call of each", |b| b.provider.count() == 3).await;
    first.provider.gate.lock().unwrap().as_ref().unwrap().add_permits(100);
    for caller in callers {
        let reply = caller.await.unwrap().unwrap();
        assert!(matches!(reply.source, Source::Provider(Err(_))), "{:?}", reply.source);
    }
    assert_eq!((first.provider.count(), first.entries().await), (3, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_failure_of_a_call_is_that_of_all_replicas_that_waited_for_it() {
    let first = Bench::new().await;
    first.provider.script(|_| async { Err(failure(FailureClass::RateLimit)) });
    for caller in three_wait(&first, ["reset|1"; 3]).await {
        let error = caller.await.unwrap().unwrap_err();
        assert!(matches!(error, QueryError::Provider(error) if error.class == FailureClass::RateLimit));
    }
    assert_eq!(first.provider.count(), 1);
    first.provider.script(|_| async { Ok(complete("better")) });
    first.provider.gate.lock().unwrap().as_ref().unwrap().add_permits(100);
    assert!(is_miss(&first.replica(5).ask("reset|1").await), "and of nobody after");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_models_share_answers_the_failure_of_one_model_is_none_of_another() {
    let first = Bench::with(ProjectSettings { share_models: true, ..unguarded() }, 10).await;
    let [one, other] = [first.replica(2), first.replica(3)];
    first.provider.script(|_| async { Err(failure(FailureClass::RateLimit)) });
    let gate = first.provider.hold();
    let cheap = one.begin(query("reset|1"));
    first.until("the call", |b| b.provider.count() == 1).await;
    let dear = other.begin(Query { model: "dear".into(), ..query("reset|1") });
    settle().await;
    assert_eq!(first.provider.count(), 1, "it waits for the call under way");
    gate.add_permits(100);
    assert!(cheap.await.unwrap().is_err() && dear.await.unwrap().is_err());
    assert_eq!(first.provider.count(), 2, "and then asks for itself");
}

/// On one thread, so that nothing comes between the end of a flight and the next claim, as where the word of the end is late.
#[tokio::test]
async fn who_missed_the_ends_of_two_flights_does_not_wait_for_the_next() {
    let mut bench = Bench::new().await.replica(2);
    bench.caller.providers = OwnProviders::At([1; 16]);
    let (project, prompt) = (bench.caller.project.id, PromptHash::of("reset|1"));
    let flight = FlightKey { project, scope: scope(project).key(), prompt };
    let owners = [7, 8, 9].map(|number| FlightId::from_bytes([number; 16]));
    let claims = bench.store.claims().unwrap();
    let claim = |owner| claims.claim(&flight, owner, Duration::from_hours(1), None, bench.clock.now());
    assert!(matches!(claim(owners[0]).await.unwrap(), Claimed::Ours));
    let caller = bench.begin(query("reset|1"));
    let ended = Unanswered { model: "cheap".to_owned(), failure: None };
    let moved = bench.move_provider();
    for two in owners.windows(2) {
        settle().await;
        assert_eq!(moved.count(), 0, "it waits for the first, and for the second");
        claims.release(&flight, two[0], &ended).await.unwrap();
        assert!(matches!(claim(two[1]).await.unwrap(), Claimed::Ours));
    }
    assert!(is_miss(&caller.await.unwrap().unwrap()));
    assert_eq!((bench.provider.count(), moved.count()), (0, 1), "the provider as it is now");
}
