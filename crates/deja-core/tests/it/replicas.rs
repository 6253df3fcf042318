//! Several processes with one store: one call for a prompt, and another owner if the first one dies.

use std::time::Duration;

use deja_core::cache::PromptHash;
use deja_core::engine::Source;
use deja_core::id::FlightId;
use deja_core::provider::Finish;
use deja_core::store::{FlightKey, Store};

use crate::util::{Bench, complete, is_miss, query, scope, settle};

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
    let bench = Bench::new().await.replica(2);
    let (scope, hash): (_, fn(&str) -> PromptHash) = scope(bench.caller.project.id);
    let flight = FlightKey { project: bench.caller.project.id, scope: scope.key(), prompt: hash("reset|1") };
    let dead = FlightId::from_bytes([9; 16]);
    let lease = Duration::from_secs(3);
    assert!(bench.store.claims().unwrap().claim(&flight, dead, lease).await.unwrap());
    let caller = bench.begin(query("reset|1"));
    settle().await;
    assert_eq!(bench.provider.count(), 0, "the owner may still be alive");
    assert!(is_miss(&caller.await.unwrap().unwrap()));
    assert_eq!(bench.provider.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_be_stored_is_asked_by_each_replica_in_turn() {
    let first = Bench::new().await;
    let replicas = [first.replica(2), first.replica(3)];
    first.provider.script(|prompt| {
        let answer = complete(&format!("re: {prompt}"));
        async move { Ok(deja_core::provider::Completion { finish: Finish::Length, ..answer }) }
    });
    let callers: Vec<_> = replicas.iter().map(|replica| replica.begin(query("reset|1"))).collect();
    for caller in callers {
        let reply = caller.await.unwrap().unwrap();
        assert!(matches!(reply.source, Source::Provider(Err(_))), "{:?}", reply.source);
    }
    assert_eq!((first.provider.count(), first.entries().await), (2, 0));
}
