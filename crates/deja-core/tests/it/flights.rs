//! Who shares a call, a vector, an answer; and what happens when somebody else was faster.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use deja_core::cache::policy::NotStored;
use deja_core::cache::{Candidate, NewEntry, PromptHash, Reason};
use deja_core::clock::Clock;
use deja_core::embedding::{EmbedError, EmbedderId, Similarity, Threshold};
use deja_core::engine::{Query, QueryError, Reply, Source};
use deja_core::id::EntryId;
use deja_core::money::NanoUsd;
use deja_core::project::{Guard, Project, ProjectSettings};
use deja_core::provider::FailureClass;
use deja_core::store::{Entries, EntryFilter, Keys, OwnProviders, Projects, Usage};
use deja_core::testing::{change, entry, new_entry};

use crate::util::{Bench, complete, failure, hold, is_miss, query, scope, settle, unguarded, vector};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_for_all_who_ask_the_same_or_a_paraphrase() {
    let bench = Bench::new().await;
    let (gate, leader) = bench.lead(query("reset|0")).await;
    let same: Vec<_> = (0..50).map(|_| bench.begin(query("reset|0"))).collect();
    let similar: Vec<_> = (1..50).map(|n| bench.begin(query(&format!("reset|{n}")))).collect();
    settle().await;
    gate.add_permits(1000);
    assert!(is_miss(&leader.await.unwrap().unwrap()));
    // Whoever comes late on a busy machine finds what was stored.
    let mut joined = [false; 2];
    for caller in same {
        let reply = caller.await.unwrap().unwrap();
        assert_eq!(reply.source, Source::Exact);
        joined[0] |= reply.trace.joined;
    }
    for caller in similar {
        let reply = caller.await.unwrap().unwrap();
        joined[1] |= reply.trace.joined;
        assert!(matches!(reply.source, Source::Semantic(_)), "{:?}", reply.source);
        assert_eq!(reply.entry.answer.text, "re: reset|0");
    }
    assert_eq!((bench.provider.count(), bench.entries().await, joined), (1, 1, [true; 2]));
}

#[tokio::test]
async fn callers_of_a_flight_that_vanish_do_not_end_it() {
    let bench = Bench::new().await;
    let gate = bench.provider.hold();
    let callers: Vec<_> = (0..5).map(|_| bench.begin(query("reset|1"))).collect();
    bench.until("the call", |b| b.provider.count() == 1).await;
    for caller in callers {
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
    }
    gate.add_permits(100);
    // Shutdown waits for the flight, too.
    bench.tasks.close();
    bench.tasks.wait().await;
    assert_eq!(bench.entries().await, 1);
    assert!(bench.ask("reset|1").await.is_hit());
}

#[tokio::test]
async fn a_stricter_caller_does_not_take_part_and_gets_a_fresh_answer() {
    let bench = Bench::new().await;
    let (gate, leader) = bench.lead(query("reset|1")).await;
    let strict = bench.begin(Query { threshold: Threshold::new(1.0).unwrap(), ..query("reset|2") });
    bench.until("its own call", |b| b.provider.count() == 2).await;
    gate.add_permits(100);
    assert!(is_miss(&leader.await.unwrap().unwrap()));
    assert_eq!(strict.await.unwrap().unwrap().entry.answer.text, "re: reset|2");
}

#[tokio::test]
async fn an_answer_that_is_not_kept_answers_the_same_prompt_only() {
    let bench = Bench::new().await;
    bench.provider.truncates();
    let (gate, leader) = bench.lead(query("reset|1")).await;
    let same = bench.begin(query("reset|1"));
    let paraphrase = bench.begin(query("reset|2"));
    settle().await;
    assert_eq!(bench.provider.count(), 1, "both wait for the call under way");
    gate.add_permits(100);
    let [leader, same, paraphrase] =
        [leader, same, paraphrase].map(|caller| async { caller.await.unwrap().unwrap() });
    let (leader, same, paraphrase) = (leader.await, same.await, paraphrase.await);
    for reply in [&leader, &same, &paraphrase] {
        assert_eq!(reply.source, Source::Provider(Err(NotStored::Truncated)));
    }
    assert_eq!(
        (same.entry.answer.text.as_str(), paraphrase.entry.answer.text.as_str()),
        ("reset|1", "reset|2")
    );
    // The call is paid for once, by the caller that began it.
    assert!(leader.cost.amount > NanoUsd::ZERO);
    assert_eq!(same.cost.amount, NanoUsd::ZERO);
    assert_eq!((bench.provider.count(), bench.entries().await), (2, 0));
    // So are its tokens, which each of them is told.
    assert_eq!(same.cost.input_tokens, leader.cost.input_tokens);
    bench.engine.flush_counts().await.unwrap();
    let totals = bench.store.totals(i64::MIN, i64::MAX).await.unwrap()[&bench.caller.project.id];
    let bought = [&leader, &paraphrase].map(|reply| (reply.cost.input_tokens, reply.cost.output_tokens));
    assert_eq!(totals.misses, 3);
    assert_eq!(
        (totals.input_tokens, totals.output_tokens),
        (bought[0].0 + bought[1].0, bought[0].1 + bought[1].1)
    );
}

#[tokio::test]
async fn the_same_prompt_is_embedded_once_however_many_ask() {
    let bench = Bench::new().await;
    let gate = hold(&bench.embedder.gate);
    let callers: Vec<_> = (0..20).map(|_| bench.begin(query("reset|1"))).collect();
    bench.until("the embedding", |b| b.embedder.calls.load(Ordering::SeqCst) > 0).await;
    settle().await;
    gate.add_permits(1000);
    for caller in callers {
        caller.await.unwrap().unwrap();
    }
    assert_eq!(bench.embedder.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_caller_that_embeds_vanishes_and_another_takes_over() {
    let bench = Bench::new().await;
    let gate = hold(&bench.embedder.gate);
    let first = bench.begin(query("reset|1"));
    bench.until("the embedding", |b| b.embedder.calls.load(Ordering::SeqCst) == 1).await;
    let second = bench.begin(query("reset|1"));
    settle().await;
    first.abort();
    bench.until("another embedding", |b| b.embedder.calls.load(Ordering::SeqCst) == 2).await;
    gate.add_permits(1000);
    assert!(is_miss(&second.await.unwrap().unwrap()));
}

#[tokio::test]
async fn a_deadline_of_the_caller_that_embeds_is_not_that_of_those_who_joined_it() {
    let bench = Bench::new().await;
    let fail = |error| *bench.embedder.fail.lock().unwrap() = error;
    for the_second_has_time in [true, false] {
        let (calls, prompt) = (&bench.embedder.calls, format!("reset|{the_second_has_time}"));
        let before = calls.load(Ordering::SeqCst);
        let gate = hold(&bench.embedder.gate);
        let first = bench.begin(query(&prompt));
        bench.until("the embedding", |_| calls.load(Ordering::SeqCst) == before + 1).await;
        let joined = [(); 2].map(|()| bench.begin(query(&prompt)));
        settle().await;
        let again = hold(&bench.embedder.gate);
        fail(Some(EmbedError::Timeout));
        gate.add_permits(1);
        assert!(matches!(first.await.unwrap(), Err(QueryError::Unavailable(_))));
        bench.until("another embedding", |_| calls.load(Ordering::SeqCst) == before + 2).await;
        settle().await;
        if the_second_has_time {
            fail(None);
        }
        again.add_permits(1);
        for caller in joined {
            let reply = caller.await.unwrap();
            if the_second_has_time {
                reply.unwrap();
            } else {
                assert!(matches!(reply, Err(QueryError::Unavailable(_))), "nobody tries a third time");
            }
        }
        assert_eq!(calls.load(Ordering::SeqCst), before + 2);
        fail(None);
    }
}

#[tokio::test]
async fn a_vector_is_not_shared_between_projects() {
    // Or the time of an answer would tell what other tenants ask.
    let mut bench = Bench::new().await;
    bench.ask("reset|1").await;
    bench.caller = bench.another_project().await;
    assert!(is_miss(&bench.ask("reset|1").await));
    assert_eq!(bench.embedder.calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn who_looked_before_an_answer_landed_finds_it_without_a_call() {
    let bench = Bench::new().await;
    let gate = hold(&bench.store.hold_nearest);
    let slow = bench.begin(query("reset|1"));
    bench.until("the look-up", |b| b.store.nearest_calls.load(Ordering::SeqCst) == 1).await;
    // It found nothing and is held back. Meanwhile another has the answer, from search to landing.
    assert!(is_miss(&bench.ask("reset|1").await));
    gate.add_permits(1);
    assert_eq!(slow.await.unwrap().unwrap().source, Source::Exact);
    assert_eq!(bench.provider.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paraphrases_of_an_answer_that_is_not_kept_wait_for_one_call_and_then_ask_all_at_once() {
    let bench = Bench::new().await;
    bench.provider.truncates();
    let (gate, leader) = bench.lead(query("reset|0")).await;
    let others: Vec<_> = (1..12).map(|n| bench.begin(query(&format!("reset|{n}")))).collect();
    settle().await;
    assert_eq!(bench.provider.count(), 1, "all wait for the call under way");
    gate.add_permits(1);
    assert_eq!(leader.await.unwrap().unwrap().entry.answer.text, "reset|0");
    // None of these is answered yet: a second wait would never end.
    bench.until("a call for each of the others", |b| b.provider.count() == 12).await;
    gate.add_permits(100);
    for (n, caller) in (1..).zip(others) {
        let reply = caller.await.unwrap().unwrap();
        assert_eq!(reply.source, Source::Provider(Err(NotStored::Truncated)));
        assert_eq!(reply.entry.answer.text, format!("reset|{n}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_call_that_gave_them_nothing_callers_with_the_same_prompt_share_the_next_one() {
    let bench = Bench::new().await;
    bench.provider.truncates();
    let (gate, leader) = bench.lead(query("reset|0")).await;
    let others: Vec<_> = (0..10).map(|_| bench.begin(query("reset|1"))).collect();
    settle().await;
    gate.add_permits(1);
    leader.await.unwrap().unwrap();
    bench.until("their call", |b| b.provider.count() == 2).await;
    settle().await;
    gate.add_permits(100);
    for caller in others {
        assert_eq!(caller.await.unwrap().unwrap().entry.answer.text, "reset|1");
    }
    assert_eq!(bench.provider.count(), 2);
}

#[tokio::test]
async fn after_a_call_that_gave_nothing_the_provider_is_asked_as_it_is_then() {
    let mut bench = Bench::new().await;
    bench.caller.providers = OwnProviders::At([1; 16]);
    bench.provider.truncates();
    let (gate, leader) = bench.lead(query("reset|0")).await;
    let other = bench.begin(query("reset|1"));
    settle().await;
    let moved = bench.move_provider();
    gate.add_permits(100);
    leader.await.unwrap().unwrap();
    let reply = other.await.unwrap().unwrap();
    assert_eq!((is_miss(&reply), reply.entry.answer.text.as_str()), (true, "re: reset|1"));
    assert_eq!((bench.provider.count(), moved.count()), (1, 1));
}

/// Begins a call that fails with `class`, and what follows it.
async fn follow_a_failure(
    bench: &Bench,
    class: FailureClass,
    followers: Vec<Query>,
) -> Vec<Result<Reply, QueryError>> {
    bench.provider.script(move |prompt| async move {
        if prompt == "reset|leader" { Err(failure(class)) } else { Ok(complete("fine")) }
    });
    let (gate, leader) = bench.lead(query("reset|leader")).await;
    let followers: Vec<_> = followers.into_iter().map(|query| bench.begin(query)).collect();
    settle().await;
    assert_eq!(bench.provider.count(), 1, "all wait for the call under way");
    gate.add_permits(100);
    assert!(leader.await.unwrap().is_err());
    let mut ended = Vec::new();
    for follower in followers {
        ended.push(follower.await.unwrap());
    }
    ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_that_is_the_leaders_own_is_nobody_elses() {
    for (class, own) in [
        (FailureClass::ContentFilter, true),
        (FailureClass::ContextLength, true),
        (FailureClass::InvalidRequest, true),
        (FailureClass::BadResponse, true),
        (FailureClass::Auth, false),
        (FailureClass::Timeout, false),
        (FailureClass::RateLimit, false),
    ] {
        let bench = Bench::new().await;
        let ended = follow_a_failure(&bench, class, vec![query("reset|leader"), query("reset|other")]).await;
        let [same, paraphrase] = &ended[..] else { panic!("two callers") };
        assert!(matches!(same, Err(QueryError::Provider(error)) if error.class == class), "{class:?}");
        if own {
            assert_eq!(paraphrase.as_ref().unwrap().entry.answer.text, "fine", "{class:?}");
        } else {
            assert!(paraphrase.is_err(), "{class:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_models_share_answers_no_failure_of_another_model_is_passed_on() {
    // The same prompt fails at any model here, by a call of its own; the paraphrase is answered.
    for (prompt, answered) in [("reset|leader", false), ("reset|other", true)] {
        let settings = ProjectSettings { share_models: true, ..unguarded() };
        let bench = Bench::with(settings, 10).await;
        let dear = Query { model: "dear".into(), ..query(prompt) };
        let ended = follow_a_failure(&bench, FailureClass::Auth, vec![dear]).await;
        assert_eq!((ended[0].is_ok(), bench.provider.count()), (answered, 2));
    }
}

#[tokio::test]
async fn where_models_share_answers_what_is_not_kept_is_no_answer_of_another_model() {
    let bench = Bench::with(ProjectSettings { share_models: true, ..unguarded() }, 10).await;
    bench.provider.truncates();
    let (gate, leader) = bench.lead(query("reset|1")).await;
    let [same, other] = ["cheap", "dear"].map(|model| {
        let model = model.to_owned();
        bench.begin(Query { model, ..query("reset|1") })
    });
    settle().await;
    gate.add_permits(10);
    let [leader, same, other] = [leader, same, other].map(|caller| async { caller.await.unwrap().unwrap() });
    let (leader, same, other) = (leader.await, same.await, other.await);
    assert_eq!(same.entry.id, leader.entry.id);
    assert_eq!((&*other.entry.model, other.trace.joined), ("dear", false));
    assert_eq!(bench.provider.count(), 2);
}

#[tokio::test]
async fn an_answer_that_comes_and_goes_is_answered() {
    let bench = Bench::new().await;
    let mut entry = entry(EntryId::from_bytes([9; 16]), "reset|2", bench.clock.now());
    entry.answer.text = "here".into();
    // Whoever looks finds nothing; the flight that looks once more finds it.
    *bench.store.flicker.lock().unwrap() =
        Some(Candidate { entry: Arc::new(entry), similarity: Similarity::ONE, forbidden: false });
    let reply = bench.ask("reset|1").await;
    assert!(matches!(reply.source, Source::Semantic(_)), "{:?}", reply.source);
    assert_eq!((reply.entry.answer.text.as_str(), bench.provider.count()), ("here", 0));
}

#[tokio::test]
async fn a_twin_that_another_process_stored_meanwhile_stays_and_answers() {
    let bench = Bench::new().await;
    let mut entry = entry(EntryId::from_bytes([9; 16]), "reset|1", bench.clock.now());
    entry.answer.text = "the other's".into();
    (entry.answer.input_tokens, entry.answer.output_tokens, entry.answer.tokens_estimated) =
        (7_000, 3_000, true);
    let mut new = new_entry(scope(bench.caller.project.id), entry);
    new.vectors = vec![(EmbedderId::new("fake"), vector("reset|1"))];
    let store = bench.store.clone();
    bench.provider.script(move |_| {
        let (store, new) = (store.clone(), new.clone());
        async move {
            store.insert(new).await.unwrap();
            Ok(complete("ours"))
        }
    });
    let reply = bench.ask("reset|1").await;
    assert_eq!((reply.entry.answer.text.as_str(), reply.is_hit()), ("the other's", false));
    assert_eq!(reply.cost.amount.as_nanos(), 120_000, "our own call was paid for");
    let cost = &reply.cost;
    assert_eq!((cost.input_tokens, cost.output_tokens, cost.estimated), (100, 10, false), "and bought this");
    let hit = bench.ask("reset|1").await;
    assert_eq!((hit.entry.id, hit.source), (EntryId::from_bytes([9; 16]), Source::Exact));
    assert_eq!(bench.entries().await, 1);
}

#[tokio::test]
async fn a_caller_with_another_threshold_joins_the_same_prompt_and_is_served_by_its_own() {
    let bench = Bench::new().await;
    bench.ask("reset|1").await;
    // Both ask for the same new prompt; for the lenient one the paraphrase stored before is good enough.
    let (gate, strict) =
        bench.lead(Query { threshold: Threshold::new(1.0).unwrap(), ..query("reset|2") }).await;
    let lenient = bench.try_ask(query("reset|2")).await.unwrap();
    assert!(matches!(lenient.source, Source::Semantic(_)));
    gate.add_permits(100);
    assert!(is_miss(&strict.await.unwrap().unwrap()));
}

#[tokio::test]
async fn nobody_waits_for_a_call_whose_answer_is_forbidden_to_it() {
    let bench = Bench::new().await;
    let project = bench.caller.project.id;
    let entry = bench.ask("wire|5000").await.entry.id;
    bench.found_wrong(entry, "wire|9000").await;
    assert!(bench.store.delete(project, entry, &change()).await.unwrap());
    let (gate, first) = bench.lead(query("wire|5000")).await;
    let second = bench.begin(query("wire|9000"));
    bench.until("a call of its own, at once", |bench| bench.provider.count() == 3).await;
    gate.add_permits(10);
    for (asked, reply) in [("wire|5000", first), ("wire|9000", second)] {
        let reply = reply.await.unwrap().unwrap();
        assert_eq!(reply.entry.prompt, asked);
        assert!(is_miss(&reply), "{:?}", reply.source);
    }
}

#[tokio::test]
async fn nobody_waits_for_a_call_whose_answer_the_guard_would_refuse() {
    let bench = Bench::with(ProjectSettings::default(), 10).await;
    // The fake finds all of them similar. The most similar one that may answer is followed.
    let (gate, first) = bench.lead(query("|Which trains run on day 1?")).await;
    let second = bench.begin(query("|Which trains run on day 2?"));
    bench.until("a call of its own, at once", |bench| bench.provider.count() == 2).await;
    let reworded = bench.begin(query("|Please, which trains run on day 2?"));
    settle().await;
    gate.add_permits(10);
    for miss in [first, second] {
        assert!(is_miss(&miss.await.unwrap().unwrap()));
    }
    let reply = reworded.await.unwrap().unwrap();
    assert_eq!((reply.is_hit(), reply.entry.prompt.as_str()), (true, "|Which trains run on day 2?"));
    assert_eq!(bench.provider.count(), 2);
}

#[tokio::test]
async fn nobody_gets_an_answer_that_the_reader_takes_for_that_of_another_question() {
    const INSURE: &str = "|Can I insure a car with a cracked windscreen?";
    const DRIVE: &str = "|Can I drive with a cracked windscreen?";
    for (guard, calls) in [(Guard::Standard, 1), (Guard::Thorough, 2)] {
        let bench = Bench::with(ProjectSettings { guard, ..ProjectSettings::default() }, 10).await;
        let (gate, first) = bench.lead(query(INSURE)).await;
        let second = bench.begin(query(DRIVE));
        bench
            .until("a call of its own, if the reader is asked", |bench| bench.provider.count() == calls)
            .await;
        settle().await;
        gate.add_permits(10);
        assert!(is_miss(&first.await.unwrap().unwrap()));
        let second = second.await.unwrap().unwrap();
        assert_eq!(second.is_hit(), guard == Guard::Standard, "{guard:?}");
    }
    let bench =
        Bench::with(ProjectSettings { guard: Guard::Thorough, ..ProjectSettings::default() }, 10).await;
    bench.ask(INSURE).await;
    let refused = bench.ask(DRIVE).await;
    assert_eq!(refused.refused().unwrap().reason, Reason::Meaning);
    assert!(is_miss(&refused));
}

#[tokio::test]
async fn what_was_read_before_a_call_was_waited_for_leaves_room_to_read_what_came_meanwhile() {
    const INSURE: &str = "|Can I insure a car with a cracked windscreen?";
    const DRIVE: &str = "|Can I drive with a cracked windscreen?";
    let settings = ProjectSettings { guard: Guard::Thorough, ..ProjectSettings::default() };
    let bench = Bench::with(settings, 10).await;
    let put = async |number: u8, prompt: &str, at: &str| {
        let entry = entry(EntryId::from_bytes([number; 16]), prompt, bench.clock.now());
        let vectors = vec![(EmbedderId::new("fake"), vector(at))];
        let new = new_entry(scope(bench.caller.project.id), entry);
        bench.store.insert(NewEntry { vectors, prompt_hash: PromptHash([number; 32]), ..new }).await.unwrap();
    };
    for number in 1..=8 {
        put(number, INSURE, INSURE).await;
    }
    bench.provider.truncates();
    let (gate, leader) = bench.lead(query("|Please, can I drive with a cracked windscreen?")).await;
    let other = bench.begin(query(DRIVE));
    settle().await;
    assert_eq!(bench.provider.count(), 1, "it waits for the call under way");
    put(9, "|Can I drive a car with a cracked windscreen?", DRIVE).await;
    gate.add_permits(100);
    leader.await.unwrap().unwrap();
    let reply = other.await.unwrap().unwrap();
    assert_eq!((reply.is_hit(), reply.entry.id), (true, EntryId::from_bytes([9; 16])));
    assert_eq!(bench.provider.count(), 1);
}

#[tokio::test]
async fn a_follower_is_judged_by_its_own_threshold_and_so_by_its_own_guard() {
    let bench = Bench::with(ProjectSettings::default(), 10).await;
    let (gate, leader) = bench.lead(query("|Which trains run on day 1?")).await;
    // Below 0.75 there is no guard.
    let lax = Query { threshold: Threshold::new(0.7).unwrap(), ..query("|Which trains run on day 2?") };
    let follower = bench.begin(lax);
    settle().await;
    gate.add_permits(10);
    assert!(is_miss(&leader.await.unwrap().unwrap()));
    assert!(follower.await.unwrap().unwrap().is_hit());
    let guarded = bench.ask("|Which trains run on day 3?").await;
    let refused = guarded.refused().unwrap();
    assert_eq!(refused.reason, Reason::Numbers);
    assert!(is_miss(&guarded) && refused.similarity.get() > 0.9);
    assert_eq!(
        (Some(refused.similarity), bench.provider.count()),
        (guarded.trace.near_miss.map(|near| near.similarity), 2)
    );
}

#[tokio::test]
async fn an_answer_that_was_asked_for_before_a_purge_is_given_and_not_stored() {
    let bench = Bench::new().await;
    let (gate, leader) = bench.lead(query("reset|1")).await;
    let all = EntryFilter::default();
    bench.store.purge(bench.caller.project.id, &all, &change()).await.unwrap();
    gate.add_permits(2);
    let reply = leader.await.unwrap().unwrap();
    assert!(matches!(reply.source, Source::Provider(Err(_))), "{:?}", reply.source);
    assert_eq!(bench.entries().await, 0);
    // Whoever asks after the purge is answered by a call of their own, which is stored.
    let caller = bench.store.key_by_hash(&bench.caller.key.hash).await.unwrap().unwrap();
    let fresh = bench.engine.query(&caller, query("reset|1")).await.unwrap();
    assert_eq!((fresh.source, bench.entries().await), (Source::Provider(Ok(())), 1));
}

#[tokio::test]
async fn an_answer_evicts_by_the_maximum_that_holds_when_it_is_stored() {
    let bench = Bench::with(ProjectSettings { max_entries: 2, ..unguarded() }, 10).await;
    let (gate, leader) = bench.lead(query("reset|1")).await;
    let mut raised = Project::clone(&bench.caller.project);
    raised.settings.max_entries = 100;
    assert!(bench.store.update_project(&raised, &change()).await.unwrap());
    for number in 0..10 {
        let imported = entry(EntryId::from_bytes([number; 16]), &number.to_string(), bench.clock.now());
        bench.store.insert(new_entry(scope(raised.id), imported)).await.unwrap();
    }
    gate.add_permits(1);
    leader.await.unwrap().unwrap();
    assert_eq!(bench.entries().await, 11);
}
