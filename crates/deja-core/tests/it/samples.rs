//! Which queries are sampled, and as what.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use deja_core::admin::judging::Limits;
use deja_core::admin::{Admin, judging, prices};
use deja_core::audit::Actor;
use deja_core::cache::Met;
use deja_core::cache::Reason;
use deja_core::clock::Clock;
use deja_core::embedding::Threshold;
use deja_core::engine::Query;
use deja_core::money::NanoUsd;
use deja_core::project::{Guard, ProjectSettings};
use deja_core::provider::FailureClass;
use deja_core::quality::{FORBIDDEN, MAX_SAMPLED_BYTES, Sample};
use deja_core::store::Samples;

use crate::admin::over;
use crate::util::{Bench, complete, failure, query};

fn settings() -> ProjectSettings {
    ProjectSettings { guard: Guard::Off, ttl_seconds: Some(60), ..ProjectSettings::default() }
}

/// What is kept of what was asked so far.
async fn kept(bench: &Bench) -> Vec<Sample> {
    bench.engine.flush_counts().await.unwrap();
    let (project, now) = (bench.caller.project.id, bench.clock.now());
    let mut samples = bench.store.samples(project, None, now, NonZeroUsize::MAX).await.unwrap();
    samples.sort_by(|a, b| a.sampled.asked.cmp(&b.sampled.asked));
    samples
}

#[tokio::test]
async fn hits_by_meaning_and_near_misses_are_sampled() {
    let bench = Bench::with(settings(), 100).await;
    let first = bench.ask("reset my password|1").await;
    assert_eq!(kept(&bench).await, [], "nothing was near");
    bench.ask("reset my password|1").await;
    assert_eq!(kept(&bench).await, [], "the same prompt tells nothing");
    let hit = bench.ask("reset my password|2").await;
    let all_but_the_same = Threshold::new(1.0).unwrap();
    let miss = Query { threshold: all_but_the_same, ..query("reset my password|3") };
    let miss = bench.try_ask(miss).await.unwrap();
    let (near, samples) = (miss.trace.near_miss.unwrap(), kept(&bench).await);
    let told: Vec<_> = samples.iter().map(|sample| (&*sample.sampled.asked, sample.sampled.met)).collect();
    assert_eq!(told, [("reset my password|2", Met::Served), ("reset my password|3", Met::NearMiss)]);
    for (sample, similarity) in samples.iter().zip([hit.similarity().unwrap(), near.similarity]) {
        let now = bench.clock.now();
        assert_eq!((sample.sampled.entry, &*sample.prompt), (first.entry.id, "reset my password|1"));
        assert_eq!((sample.sampled.similarity, sample.sampled.at), (similarity, now));
        assert_eq!(sample.sampled.expires, bench.caller.project.settings.expires(now));
        assert_eq!((&*sample.model, sample.sampled.reason.as_deref()), ("cheap", None));
    }
}

#[tokio::test]
async fn a_sample_says_what_kept_its_entry_from_answering() {
    let bench = Bench::with(ProjectSettings { guard: Guard::Standard, ..settings() }, 100).await;
    let first = bench.ask("|Which trains run on day 1?").await;
    let refused = bench.ask("|Which trains run on day 2?").await.refused().unwrap();
    let samples = kept(&bench).await;
    let [sample] = &*samples else { panic!("{samples:?}") };
    assert_eq!((sample.sampled.met, sample.sampled.reason.as_deref()), (Met::Refused, Some("numbers")));
    assert_eq!((refused.reason, sample.sampled.score), (Reason::Numbers, Some(refused.score)));
    assert_eq!(sample.sampled.entry, first.entry.id);

    let bench = Bench::with(settings(), 100).await;
    let first = bench.ask("chairs|1").await;
    assert!(bench.ask("chairs|2").await.is_hit());
    bench.found_wrong(first.entry.id, "chairs|2").await;
    bench.ask("chairs|2").await;
    let samples = kept(&bench).await;
    let told = samples.iter().map(|sample| (sample.sampled.met, sample.sampled.reason.as_deref()));
    let told: Vec<_> = told.collect();
    assert!(
        told.contains(&(Met::Served, None)) && told.contains(&(Met::Refused, Some(FORBIDDEN))),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_project_may_keep_none_and_long_prompts_are_left_out() {
    let bench = Bench::with(ProjectSettings { samples: 0, ..settings() }, 100).await;
    for prompt in ["reset|1", "reset|2"] {
        bench.ask(prompt).await;
    }
    assert_eq!(kept(&bench).await, []);

    let bench = Bench::with(settings(), 100).await;
    bench.ask("reset|1").await;
    let long = |more| format!("reset|{}", "x".repeat(MAX_SAMPLED_BYTES - "reset|".len() + more));
    for more in [0, 1] {
        assert!(bench.ask(&long(more)).await.is_hit());
    }
    let samples = kept(&bench).await;
    assert_eq!(
        samples.iter().map(|sample| sample.sampled.asked.len()).collect::<Vec<_>>(),
        [MAX_SAMPLED_BYTES]
    );
}

#[tokio::test]
async fn samples_wait_behind_counts_that_cannot_be_written() {
    let bench = Bench::with(settings(), 100).await;
    for prompt in ["reset|1", "reset|2"] {
        bench.ask(prompt).await;
    }
    bench.store.fail_record.store(true, Ordering::SeqCst);
    bench.engine.flush_counts().await.unwrap_err();
    bench.store.fail_record.store(false, Ordering::SeqCst);
    assert_eq!(kept(&bench).await.len(), 1);
}

#[tokio::test]
async fn a_round_of_judging_that_fails_says_what_it_paid() {
    let bench = Bench::with(settings(), 100).await;
    for number in 1..=5 {
        bench.ask(&format!("reset my password|{number}")).await;
    }
    assert_eq!(kept(&bench).await.len(), 4);
    let providers = bench.providers.clone();
    let admin = Admin { providers: Some(providers), ..over(&bench.store, &bench.clock) };
    let (by, project) = (admin.acting(Actor::Cli), "project-1");
    prices::set(&by, project, "cheap", 1.0, 2.0).await.unwrap();
    assert_eq!(judging::plan(&by, project, "cheap").await.unwrap().pairs, 4);
    let asked = AtomicUsize::new(0);
    bench.provider.script(move |_| {
        let is_first = asked.fetch_add(1, Ordering::SeqCst) == 0;
        async move { if is_first { Ok(complete("yes")) } else { Err(failure(FailureClass::Auth)) } }
    });
    let limits = Limits { budget: NanoUsd::from_nanos(1_000_000_000), pairs: 10, skip: 0 };
    let done = judging::judge(&by, project, "cheap", limits).await.unwrap();
    assert_eq!((done.asked, done.unclear, done.spent.as_nanos()), (4, 3, 120_000));
    assert!(done.failed.unwrap().starts_with("the model failed 3 times in a row: "));
    // What it said first is kept.
    assert_eq!(judging::plan(&by, project, "cheap").await.unwrap().pairs, 3);
}
