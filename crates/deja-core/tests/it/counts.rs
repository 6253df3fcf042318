//! What is counted: by key, entry, model and hour, and never lost by a store that fails for a while.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use deja_core::analytics::Outcome::{Error, ExactHit, Miss, RateLimited, Refused, SemanticHit};
use deja_core::analytics::{
    BatchId, ContextKey, MAX_REFUSED_PER_HOUR, OTHER_MODELS, Slice, Step, Surface, Totals, UsageBatch,
    hour_of,
};
use deja_core::api_key::KeyHash;
use deja_core::clock::Clock;
use deja_core::engine::{CallLimits, NotAdmitted, NotAllowed, Query, QueryError, Said};
use deja_core::money::NanoUsd;
use deja_core::project::ProjectSettings;
use deja_core::provider::{Completion, FailureClass, Finish, ProviderError, Redacted, TokenUsage};
use deja_core::store::{Keys, Usage};
use tokio::sync::Semaphore;

use crate::util::{Bench, PATIENCE, complete, failure, query, settle, unguarded};

async fn flush(bench: &Bench) -> Result<(), deja_core::store::StoreError> {
    bench.engine.flush_counts().await
}

async fn requests(bench: &Bench) -> u64 {
    bench.store.keys(bench.caller.project.id).await.unwrap()[0].1.requests
}

/// A miss, an exact hit, two semantic hits, an error, a refused body, one over the limit.
async fn traffic(bench: &Bench) {
    for prompt in ["reset my password|1", "reset my password|1", "reset my password|2", "reset my password|2"]
    {
        bench.ask(prompt).await;
    }
    bench.provider.script(|_| async { Err(failure(FailureClass::Server)) });
    bench.try_ask(query("weather")).await.unwrap_err();
    refuse_by_shape(bench).await;
    refuse_by_limit(bench).await;
}

/// A request that is no query.
async fn refuse_by_shape(bench: &Bench) {
    let unreadable = async { Err::<(Query, ()), _>(QueryError::Forbidden(NotAllowed::Model)) };
    bench.engine.request(None, &bench.caller, "r", unreadable, |_, ()| 0).await.unwrap_err();
}

/// A request of the same key over the limit.
async fn refuse_by_limit(bench: &Bench) {
    bench.store.over_limit.store(true, Ordering::SeqCst);
    let refused = bench.engine.admit(&bench.caller.key.hash, None, Surface::Query, None, None).await;
    assert!(matches!(refused, Err(NotAdmitted::RateLimited(_))));
    bench.store.over_limit.store(false, Ordering::SeqCst);
}

fn expected() -> Totals {
    Totals {
        exact_hits: 1,
        semantic_hits: 2,
        misses: 1,
        errors: 1,
        refused: 1,
        rate_limited: 1,
        input_tokens: 100,
        output_tokens: 10,
        // The same prompt's reported tokens, and five counted ones for each of the others.
        saved_input_tokens: 100 + 2 * 5,
        saved_output_tokens: 3 * 10,
        saved: NanoUsd::from_nanos(120_000 + 2 * 25_000),
        spent: NanoUsd::from_nanos(120_000),
        ..Totals::default()
    }
}

/// What one call costs.
fn paid() -> Totals {
    Totals { input_tokens: 100, output_tokens: 10, spent: NanoUsd::from_nanos(120_000), ..Totals::default() }
}

/// What was counted once a call that is held back ended.
async fn counted_at_last(bench: &Bench, gate: &Semaphore) -> Totals {
    gate.add_permits(100);
    bench.tasks.close();
    bench.tasks.wait().await;
    flush(bench).await.unwrap();
    bench.totals().await
}

#[tokio::test]
async fn callers_that_hang_up_are_counted_and_so_is_what_they_paid_for() {
    let bench = Bench::new().await;
    let (gate, leader) = bench.lead(query("reset my password|1")).await;
    let follower = bench.begin(query("reset my password|1"));
    settle().await;
    for caller in [leader, follower] {
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
    }
    assert_eq!(counted_at_last(&bench, &gate).await, Totals { misses: 1, errors: 1, ..paid() });
    assert_eq!(requests(&bench).await, 2);
}

#[tokio::test]
async fn a_query_that_is_too_late_is_an_error_that_paid_for_its_call() {
    let calls = CallLimits { all: 100, each: 100 };
    let bench = Bench::of(unguarded(), calls, Duration::from_millis(50)).await;
    let gate = bench.provider.hold();
    let late = bench.try_ask(query("reset my password|1")).await;
    assert!(matches!(late, Err(QueryError::DeadlineExceeded)), "{late:?}");
    assert_eq!(counted_at_last(&bench, &gate).await, Totals { errors: 1, ..paid() });
}

#[tokio::test]
async fn what_came_of_an_answer_that_broke_off_is_paid_for_once() {
    let begun = TokenUsage { input_total: 70, output_total: 1, ..TokenUsage::default() };
    // Told; told with the first word, before the others; counted: two around a word of the prompt.
    for (usage, input, output) in [(complete("").usage, 100, 10), (Some(begun), 70, 3), (None, 3, 3)] {
        // It is waited for, its caller hangs up, or the query is too late.
        for (hangs_up, patience) in [(false, PATIENCE), (true, PATIENCE), (false, Duration::from_millis(50))]
        {
            let bench = Bench::of(unguarded(), CallLimits { all: 100, each: 100 }, patience).await;
            bench.provider.script(move |_| async move {
                let part = Completion { usage, finish: Finish::Unknown, ..complete("One two three") };
                let part = Some(Redacted(Box::new(part)));
                Err(ProviderError { part, ..failure(FailureClass::StreamInterrupted) })
            });
            let (gate, leader) = bench.lead(query("weather")).await;
            let _follower = bench.begin(query("weather"));
            settle().await;
            if hangs_up {
                leader.abort();
                assert!(leader.await.unwrap_err().is_cancelled());
            } else if patience < PATIENCE {
                let late = leader.await.unwrap();
                assert!(matches!(late, Err(QueryError::DeadlineExceeded)), "{late:?}");
            }
            let spent = NanoUsd::from_nanos(1000 * input + 2000 * output);
            let expected =
                Totals { errors: 2, input_tokens: input, output_tokens: output, spent, ..Totals::default() };
            assert_eq!(counted_at_last(&bench, &gate).await, expected, "{usage:?} {hangs_up} {patience:?}");
            assert_eq!((bench.provider.count(), bench.entries().await), (1, 0));
        }
    }
}

#[tokio::test]
async fn an_answer_that_finds_no_room_to_be_sent_is_an_error_that_is_paid_for_once() {
    let bench = Bench::new().await;
    bench.provider.script(|_| async { Ok(complete(&"long ".repeat(10_000))) });
    let mut unsent = bench.engine.send_buffer(bench.caller.project.id);
    unsent.grow(1 << 20).unwrap();
    for _ in 0..2 {
        let refused = bench.try_ask(query("reset my password|1")).await;
        assert!(matches!(refused, Err(QueryError::Overloaded)), "{refused:?}");
    }
    drop(unsent);
    flush(&bench).await.unwrap();
    assert_eq!(bench.totals().await, Totals { errors: 2, ..paid() }, "the second is a hit");
    // There is room for the text of the hit, and none for what is written of it.
    let read = async { Ok::<_, QueryError>((query("reset my password|1"), ())) };
    let mut another = bench.engine.send_buffer(bench.caller.project.id);
    another.grow(1 << 17).unwrap();
    let refused = bench.engine.request(None, &bench.caller, "r", read, |_, ()| 1 << 20).await;
    assert!(matches!(refused, Err(QueryError::Overloaded)));
    flush(&bench).await.unwrap();
    assert_eq!(bench.totals().await, Totals { errors: 3, ..paid() });
}

#[tokio::test]
async fn what_the_projects_model_cost_is_counted_whoever_hangs_up_and_whatever_fails() {
    const OPEN: [&str; 2] =
        ["|How do I renew my fishing licence?", "|How do I renew my fishing licence today?"];
    let word = NanoUsd::from_nanos(120_000);
    let failed = Totals { misses: 1, errors: 1, ..paid() };
    let twice = Totals { misses: 2, input_tokens: 200, output_tokens: 20, ..paid() };
    for (said, fails, hangs_up, expected) in [
        ("no", false, true, Totals { spent: paid().spent.plus(paid().spent).plus(word), ..twice }),
        ("yes", false, true, Totals { spent: paid().spent.plus(word), ..failed }),
        ("no", true, true, Totals { spent: paid().spent.plus(word), ..failed }),
        ("no", true, false, Totals { spent: paid().spent.plus(word), ..failed }),
    ] {
        let settings = ProjectSettings { guard_model: Some("cheap".into()), ..ProjectSettings::default() };
        let bench = Bench::with(settings, 10).await;
        let stored = bench.ask(OPEN[0]).await.entry.id;
        // The model's questions are a JSON list of two prompts.
        bench.provider.script(move |prompt| async move {
            match prompt.starts_with('[') {
                true => Ok(complete(said)),
                false if fails => Err(failure(FailureClass::Server)),
                false => Ok(complete("answer")),
            }
        });
        let gate = bench.provider.hold();
        let caller = bench.begin(query(OPEN[1]));
        bench.until("the question", |bench| bench.provider.count() == 2).await;
        if hangs_up {
            caller.abort();
            assert!(caller.await.unwrap_err().is_cancelled());
        }
        assert_eq!(counted_at_last(&bench, &gate).await, expected, "{said} {fails} {hangs_up}");
        assert_eq!(bench.heard.4.lock().unwrap().iter().map(|told| told.1).collect::<Vec<_>>(), [word]);
        let met = bench.logged().await.pop().unwrap().met.map(|met| met.entry);
        assert_eq!(met, (said == "no" && !fails).then_some(stored));
    }
}

#[tokio::test]
async fn what_came_of_the_word_of_a_projects_model_that_failed_is_paid_for() {
    let settings = ProjectSettings { guard_model: Some("cheap".into()), ..ProjectSettings::default() };
    for (part, cost) in [(Some(Redacted(Box::new(complete("y")))), 120_000), (None, 0)] {
        let bench = Bench::with(settings.clone(), 10).await;
        bench.ask("|How do I renew my fishing licence?").await;
        bench.provider.script(move |prompt| {
            let part = part.clone();
            async move {
                if prompt.starts_with('[') {
                    Err(ProviderError { part, ..failure(FailureClass::StreamInterrupted) })
                } else {
                    Ok(complete("answer"))
                }
            }
        });
        bench.ask("|How do I renew my fishing licence today?").await;
        let cost = NanoUsd::from_nanos(cost);
        assert_eq!(*bench.heard.4.lock().unwrap(), [(Said::Failed, cost)]);
        flush(&bench).await.unwrap();
        let spent = paid().spent.plus(paid().spent).plus(cost);
        assert_eq!(bench.totals().await.spent, spent);
    }
}

#[tokio::test]
async fn what_the_projects_model_cost_beyond_what_its_hit_saves_is_spent() {
    let word = NanoUsd::from_nanos(120_000);
    let settings = ProjectSettings { guard_model: Some("cheap".into()), ..ProjectSettings::default() };
    let bench = Bench::with(settings, 10).await;
    bench.ask("|How do I renew my fishing licence?").await;
    bench.provider.script(|_| async { Ok(complete("yes")) });
    let hit = bench.ask("|How do I renew my fishing licence today?").await;
    let would_save = hit.cost.amount;
    assert!(hit.is_hit() && NanoUsd::ZERO < would_save && would_save < word, "{would_save:?}");
    assert_eq!((hit.saved(), hit.spent()), (NanoUsd::ZERO, word.minus(would_save)));
    flush(&bench).await.unwrap();
    let totals = bench.totals().await;
    assert_eq!((totals.saved, totals.spent), (NanoUsd::ZERO, paid().spent.plus(word.minus(would_save))));
    // The log says why. The word is remembered: the next one saves.
    bench.ask("|How do I renew my fishing licence today?").await;
    let causes: Vec<_> = bench.logged().await.into_iter().map(|logged| logged.cause).collect();
    assert_eq!(causes, [None, Some("guard_cost".into()), None]);
}

#[tokio::test]
async fn every_call_is_timed_whatever_becomes_of_it() {
    let calls = CallLimits { all: 100, each: 100 };
    let bench = Bench::of(unguarded(), calls, Duration::from_millis(200)).await;
    let timed = || bench.heard.3.lock().unwrap().len();
    for _ in 0..2 {
        bench.ask("reset my password|1").await;
    }
    assert_eq!(timed(), 1, "a hit is no call");
    bench.provider.script(|_| async { Err(failure(FailureClass::Timeout)) });
    bench.try_ask(query("weather")).await.unwrap_err();
    assert_eq!(timed(), 2);
    let gate = bench.provider.hold();
    let late = bench.try_ask(query("weather")).await;
    assert!(matches!(late, Err(QueryError::DeadlineExceeded)), "{late:?}");
    assert_eq!(timed(), 2, "it goes on");
    counted_at_last(&bench, &gate).await;
    let longest = bench.heard.3.lock().unwrap().iter().max().copied().unwrap_or_default();
    assert!(timed() == 3 && longest >= Duration::from_millis(150), "{longest:?}");
}

#[tokio::test]
async fn every_end_of_a_request_is_counted() {
    let bench = Bench::new().await;
    traffic(&bench).await;
    assert_eq!(requests(&bench).await, 0, "not on the request path");
    flush(&bench).await.unwrap();
    assert_eq!(bench.totals().await, expected());
    let usage = bench.store.keys(bench.caller.project.id).await.unwrap()[0].1;
    assert_eq!((usage.requests, usage.last_used), (7, Some(bench.clock.now())));
    flush(&bench).await.unwrap();
    assert_eq!(bench.totals().await, expected(), "a second flush adds nothing");
    let heard = bench.heard.0.lock().unwrap();
    let told = |outcome| heard.iter().filter(|told| **told == outcome).count();
    let all = [ExactHit, SemanticHit, Miss, Error, Refused, RateLimited].map(told);
    assert_eq!(all, [1, 2, 1, 1, 1, 1], "the listener hears the same");
}

#[tokio::test]
async fn what_a_provider_takes_for_its_prompt_cache_is_spent_and_a_hit_saves_the_list_price() {
    let bench = Bench::new().await;
    let usage = TokenUsage { input_total: 100, cache_read: 80, output_total: 10, ..TokenUsage::default() };
    bench
        .provider
        .script(move |_| async move { Ok(Completion { usage: Some(usage), ..complete("answer") }) });
    for _ in 0..2 {
        bench.ask("reset my password|1").await;
    }
    flush(&bench).await.unwrap();
    let totals = bench.totals().await;
    assert_eq!((totals.input_tokens, totals.saved_input_tokens), (100, 100));
    assert_eq!(totals.spent, NanoUsd::from_nanos(20 * 1000 + 80 * 100 + 10 * 2000));
    assert_eq!(totals.saved, NanoUsd::from_nanos(100 * 1000 + 10 * 2000));
}

#[tokio::test]
async fn a_key_is_used_by_what_asks_for_no_answer_too() {
    let bench = Bench::new().await;
    bench.engine.count_other(&bench.caller);
    bench.engine.admit_feedback(&bench.caller.key.hash, None).await.unwrap();
    flush(&bench).await.unwrap();
    let usage = bench.store.keys(bench.caller.project.id).await.unwrap()[0].1;
    assert_eq!((usage.requests, usage.last_used), (2, Some(bench.clock.now())));
    assert_eq!(bench.totals().await, Totals::default(), "they are no queries");
}

#[tokio::test]
async fn a_request_for_another_project_is_refused_and_counted() {
    let bench = Bench::new().await;
    let slug = bench.caller.project.slug.as_str();
    assert!(bench.engine.admit(&bench.caller.key.hash, Some(slug), Surface::Query, None, None).await.is_ok());
    let other = bench.engine.admit(&bench.caller.key.hash, Some("another"), Surface::Query, None, None).await;
    assert!(matches!(other, Err(NotAdmitted::Forbidden(NotAllowed::OtherProject, _))));
    let unknown = bench.engine.admit(&KeyHash([0; 32]), None, Surface::Query, None, None).await;
    assert!(matches!(unknown, Err(NotAdmitted::UnknownKey)));
    flush(&bench).await.unwrap();
    assert_eq!(bench.totals().await.refused, 1);
}

#[tokio::test]
async fn a_refused_query_is_counted_under_its_model_and_context_with_its_reason() {
    let bench = Bench::new().await;
    let unknown = Query { model: "unsupported".into(), context: Some("shop".into()), ..query("reset|1") };
    let refused = bench.try_ask(unknown).await;
    assert!(matches!(refused, Err(QueryError::ModelNotSupported { .. })), "{refused:?}");
    refuse_by_shape(&bench).await;
    flush(&bench).await.unwrap();
    let (project, hour) = (bench.caller.project.id, hour_of(bench.clock.now()));
    let of = async |slice: Slice| {
        let series = bench.store.usage_series(project, &slice, Step::Hour, hour..hour + 1).await.unwrap();
        series.into_values().map(|rollup| rollup.totals).next().unwrap_or_default()
    };
    let model = of(Slice { model: Some("unsupported".into()), ..Slice::default() }).await;
    assert_eq!((model.refused, model.unknown_models), (1, 1));
    let context = of(Slice { context: Some(ContextKey::of(Some("shop"))), ..Slice::default() }).await;
    assert_eq!((context.refused, context.unknown_models), (1, 1));
    let all = of(Slice::default()).await;
    assert_eq!((all.refused, all.unknown_models, all.unreadable()), (2, 1, 1));
}

#[tokio::test]
async fn prompts_without_a_vector_and_answers_without_a_price_are_counted() {
    let bench = Bench::new().await;
    bench.ask("reset my password|1").await;
    bench.ask("long story").await;
    bench.ask("long story").await;
    flush(&bench).await.unwrap();
    let totals = bench.totals().await;
    assert_eq!((totals.misses, totals.exact_hits), (2, 1));
    assert_eq!((totals.too_long, totals.not_exact(), totals.unpriced), (1, 2, 0));
}

#[tokio::test]
async fn an_answer_without_a_price_that_several_share_is_counted_once() {
    let bench = Bench::new().await;
    bench.provider.script(|_| async { Ok(Completion { finish: Finish::Length, ..complete("half") }) });
    let gate = bench.provider.hold();
    let asked = || Query { model: "without a price".into(), ..query("weather") };
    let first = bench.begin(asked());
    bench.until("the call", |bench| bench.provider.count() == 1).await;
    let second = bench.begin(asked());
    settle().await;
    gate.add_permits(1);
    for caller in [first, second] {
        caller.await.unwrap().unwrap();
    }
    flush(&bench).await.unwrap();
    let totals = bench.totals().await;
    assert_eq!((totals.misses, totals.unpriced, bench.provider.count()), (2, 1, 1));
}

#[tokio::test]
async fn counts_that_cannot_be_written_are_kept_and_added_to_later_ones() {
    let bench = Bench::new().await;
    bench.store.fail_record.store(true, Ordering::SeqCst);
    traffic(&bench).await;
    for _ in 0..3 {
        flush(&bench).await.unwrap_err();
    }
    bench.clock.advance(Duration::from_secs(1));
    bench.ask("reset my password|1").await;
    bench.store.fail_record.store(false, Ordering::SeqCst);
    flush(&bench).await.unwrap();
    let mut all = expected();
    all.exact_hits += 1;
    all.saved_input_tokens += 100;
    all.saved_output_tokens += 10;
    all.saved = all.saved.plus(NanoUsd::from_nanos(120_000));
    assert_eq!(bench.totals().await, all);
    let usage = bench.store.keys(bench.caller.project.id).await.unwrap()[0].1;
    assert_eq!((usage.requests, usage.last_used), (8, Some(bench.clock.now())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_between_concurrent_counts_and_flushes() {
    let bench = Bench::new().await;
    bench.ask("reset|1").await;
    let callers: Vec<_> = (0..200).map(|_| bench.begin(query("reset|1"))).collect();
    for n in 0..20 {
        bench.store.fail_record.store(n % 2 == 0, Ordering::SeqCst);
        let _may_fail = flush(&bench).await;
        tokio::task::yield_now().await;
    }
    for caller in callers {
        caller.await.unwrap().unwrap();
    }
    bench.store.fail_record.store(false, Ordering::SeqCst);
    flush(&bench).await.unwrap();
    assert_eq!((requests(&bench).await, bench.totals().await.exact_hits), (201, 200));
}

#[tokio::test]
async fn models_nobody_knows_become_so_many_rows_and_no_more() {
    // Their names are the caller's free text: a row for each would grow without bound.
    let bench = Bench::new().await;
    for number in 0..3 * MAX_REFUSED_PER_HOUR {
        let unsupported = Query { model: format!("unsupported {number}"), ..query("reset|1") };
        bench.try_ask(unsupported).await.unwrap_err();
    }
    flush(&bench).await.unwrap();
    assert_eq!(bench.totals().await.refused, 3 * MAX_REFUSED_PER_HOUR as u64);
    let batches = bench.store.recorded.lock().unwrap();
    let models: BTreeSet<std::sync::Arc<str>> = batches
        .iter()
        .flat_map(|batch| batch.rollups().into_keys().filter_map(|key| key.slice.model))
        .collect();
    assert!(models.contains("unsupported 0") && models.contains(OTHER_MODELS), "{models:?}");
    assert_eq!(models.len(), MAX_REFUSED_PER_HOUR + 1, "{models:?}");
}

#[tokio::test]
async fn what_gathered_in_an_outage_is_written_in_pieces_each_with_an_id_of_its_own() {
    let bench = Bench::new().await;
    bench.store.fail_record.store(true, Ordering::SeqCst);
    for _ in 0..600 {
        refuse_by_shape(&bench).await;
        bench.clock.advance(Duration::from_mins(1));
    }
    flush(&bench).await.unwrap_err();
    refuse_by_limit(&bench).await;
    bench.store.fail_record.store(false, Ordering::SeqCst);
    flush(&bench).await.unwrap();
    assert_eq!((requests(&bench).await, bench.engine.take_dropped_counts()), (601, 0));
    let batches = bench.store.recorded.lock().unwrap();
    assert_eq!(batches.iter().map(minutes).collect::<Vec<_>>(), [256, 256, 89]);
    let ids: Vec<BatchId> = batches.iter().map(|batch| batch.id.unwrap()).collect();
    assert!(ids.windows(2).all(|two| two[0].recorder == two[1].recorder && two[0].taken < two[1].taken));
}

/// Minutes that a batch has requests of.
fn minutes(batch: &UsageBatch) -> usize {
    let keys = batch.rollups().into_keys();
    keys.filter(|key| key.step == Step::Minute && key.slice.dimensions() == 0).count()
}

#[tokio::test]
async fn a_batch_that_may_have_been_written_is_given_again_as_it_was() {
    let bench = Bench::new().await;
    traffic(&bench).await;
    bench.store.lose_record.store(true, Ordering::SeqCst);
    flush(&bench).await.unwrap_err();
    bench.store.lose_record.store(false, Ordering::SeqCst);
    refuse_by_shape(&bench).await;
    flush(&bench).await.unwrap();
    assert_eq!(bench.totals().await, Totals { refused: 2, ..expected() });
    assert_eq!(requests(&bench).await, 8);
}

#[tokio::test]
async fn a_batch_that_will_never_be_written_is_given_up_and_the_next_is_written() {
    let bench = Bench::new().await;
    traffic(&bench).await;
    bench.store.refuse_record.store(true, Ordering::SeqCst);
    flush(&bench).await.unwrap();
    assert_eq!(bench.engine.take_dropped_counts(), 7);
    bench.store.refuse_record.store(false, Ordering::SeqCst);
    refuse_by_shape(&bench).await;
    flush(&bench).await.unwrap();
    assert_eq!(bench.totals().await, Totals { refused: 1, ..Totals::default() });
    assert_eq!((requests(&bench).await, bench.engine.take_dropped_counts()), (1, 0));
}

#[tokio::test]
async fn hits_of_many_entries_are_written_over_some_seconds_and_requests_at_once() {
    const ENTRIES: usize = 2500;
    let bench = Bench::new().await;
    for number in 0..ENTRIES {
        for _ in 0..2 {
            let asked = Query { context: Some(number.to_string()), ..query("weather") };
            bench.try_ask(asked).await.unwrap();
        }
    }
    let entries = |bench: &Bench| {
        let batches = bench.store.recorded.lock().unwrap();
        batches.iter().map(|batch| batch.entries.len()).collect::<Vec<_>>()
    };
    bench.engine.flush_share_of_counts().await.unwrap();
    let all = ENTRIES as u64;
    assert_eq!((bench.totals().await.misses, bench.totals().await.exact_hits), (all, all));
    assert_eq!(entries(&bench).iter().sum::<usize>(), 2048);
    bench.engine.flush_share_of_counts().await.unwrap();
    assert_eq!(entries(&bench).iter().sum::<usize>(), ENTRIES);
}
