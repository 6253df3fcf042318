//! Feedback: what queries met, what is said of it, and what that forbids.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use deja_core::cache::{LabelSource, Labelled, Met};
use deja_core::clock::Timestamp;
use deja_core::engine::{Feedback, FeedbackEffect, FeedbackError, FeedbackTarget, Query, Said, Source};
use deja_core::project::ProjectSettings;
use deja_core::store::{Entries, Labels};
use deja_core::testing::change;

use crate::util::{Bench, complete, hold, is_miss, query, settle};

const WRONG: Feedback<'_> = Feedback { correct: false, note: None };

fn named(prompt: &str, name: &str) -> Query {
    Query { request: Some(name.into()), ..query(prompt) }
}

async fn said_wrong(bench: &Bench, name: &str) -> Result<FeedbackEffect, FeedbackError> {
    bench.engine.feedback(&bench.caller, FeedbackTarget::Request(name), WRONG).await
}

#[tokio::test]
async fn a_hit_by_meaning_is_known_by_its_name_and_blocked_with_its_rewordings() {
    let bench = Bench::new().await;
    let entry = bench.try_ask(named("reset|1", "miss")).await.unwrap().entry.id;
    assert_eq!(bench.try_ask(named("reset|1", "exact")).await.unwrap().source, Source::Exact);
    assert!(bench.try_ask(named("reset|2", "hit")).await.unwrap().is_hit());
    for name in ["miss", "exact", "nobody's"] {
        let heard = said_wrong(&bench, name).await;
        assert!(matches!(heard, Err(FeedbackError::Unknown)), "{name}: {heard:?}");
    }
    let heard = said_wrong(&bench, "hit").await.unwrap();
    assert_eq!((heard.entry, heard.met, heard.labelled), (entry, Met::Served, Labelled::Forbidden));
    // While the blocked prompt has no entry of its own, who is nearer to it is answered by nobody.
    let nearer = |a: &str, b: &str| crate::util::vector(a).similarity(&crate::util::vector(b)).get();
    let (mut blocked, mut served) = (0, 0);
    for number in 3..40 {
        let prompt = format!("reset|{number}");
        let reply = bench.ask(&prompt).await;
        if nearer(&prompt, "reset|2") > nearer(&prompt, "reset|1") {
            assert_ne!(reply.entry.id, entry, "{prompt}");
            bench.store.delete(bench.caller.project.id, reply.entry.id, &change()).await.unwrap();
            blocked += 1;
        } else {
            assert_eq!(reply.entry.id, entry, "{prompt}");
            served += 1;
        }
    }
    assert!(blocked > 5 && served > 5, "{blocked} {served}");
}

#[tokio::test]
async fn each_word_of_a_person_is_told_to_the_listener_once() {
    let bench = Bench::new().await;
    let entry = bench.ask("reset|1").await.entry.id;
    bench.try_ask(named("reset|2", "hit")).await.unwrap();
    assert!(said_wrong(&bench, "nobody's").await.is_err());
    said_wrong(&bench, "hit").await.unwrap();
    bench.found_wrong(entry, "reset|3").await;
    let told = bench.heard.1.lock().unwrap().clone();
    let wrong = |source| (source, Met::Served, false, Labelled::Forbidden);
    assert_eq!(told, [wrong(LabelSource::Api), wrong(LabelSource::Console)]);
}

#[tokio::test]
async fn nobody_waits_for_a_call_that_a_rewording_was_blocked_for() {
    let bench = Bench::new().await;
    let entry = bench.ask("reset|1").await.entry.id;
    bench.try_ask(named("reset|2", "hit")).await.unwrap();
    said_wrong(&bench, "hit").await.unwrap();
    assert!(bench.store.delete(bench.caller.project.id, entry, &change()).await.unwrap());
    let nearer = |a: &str, b: &str| crate::util::vector(a).similarity(&crate::util::vector(b)).get();
    let near = |prompt: &String| nearer(prompt, "reset|2") > nearer(prompt, "reset|1");
    let reworded = (3..40).map(|number| format!("reset|{number}")).find(near).unwrap();
    let (gate, first) = bench.lead(query("reset|1")).await;
    let second = bench.begin(query(&reworded));
    bench.until("a call of its own, at once", |bench| bench.provider.count() == 3).await;
    gate.add_permits(10);
    for reply in [first, second] {
        assert!(is_miss(&reply.await.unwrap().unwrap()));
    }
}

#[tokio::test]
async fn what_is_said_while_the_projects_model_is_asked_counts() {
    let asked = "|How do I renew my fishing licence today?";
    // The pair itself, or as many others as put the entry into quarantine.
    for wrong in [&[asked][..], &["one", "two", "three"]] {
        let settings = ProjectSettings { guard_model: Some("cheap".into()), ..ProjectSettings::default() };
        let bench = Bench::with(settings, 10).await;
        bench.provider.script(|prompt| async move {
            Ok(complete(if prompt.starts_with('[') { "yes" } else { "answer" }))
        });
        let entry = bench.ask("|How do I renew my fishing licence?").await.entry.id;
        let gate = bench.provider.hold();
        let leader = bench.begin(query(asked));
        bench.until("the question", |bench| bench.provider.count() == 2).await;
        let follower = bench.begin(query(asked));
        settle().await;
        for prompt in wrong {
            bench.label_wrong(entry, prompt).await.unwrap();
        }
        gate.add_permits(10);
        let replies = [leader.await.unwrap().unwrap(), follower.await.unwrap().unwrap()];
        assert!(is_miss(&replies[0]), "{wrong:?}: {:?}", replies[0].source);
        assert_eq!(replies[0].trace.opinion.unwrap().said, Said::Yes);
        assert_eq!((replies[1].source, replies[1].entry.id), (Source::Exact, replies[0].entry.id));
        assert_eq!(bench.provider.count(), 3);
    }
}

#[tokio::test]
async fn what_the_guard_refused_is_known_by_its_name() {
    let bench = Bench::with(ProjectSettings::default(), 10).await;
    let entry = bench.ask("|Which trains run on day 1?").await.entry.id;
    let reply = bench.try_ask(named("|Which trains run on day 2?", "refused")).await.unwrap();
    assert!(is_miss(&reply) && reply.refused().is_some());
    let heard = said_wrong(&bench, "refused").await.unwrap();
    assert_eq!((heard.entry, heard.met, heard.labelled), (entry, Met::Refused, Labelled::Kept));
    let labels = bench.store.labels(bench.caller.project.id, Timestamp::from_nanos(0), NonZeroUsize::MAX);
    let labels = labels.await.unwrap();
    // It should have been a hit: the entry answers.
    assert_eq!((labels.len(), labels[0].answers, labels[0].met), (1, true, Met::Refused));
}

#[tokio::test]
async fn what_cannot_be_written_is_kept_for_the_next_try() {
    let bench = Bench::new().await;
    bench.ask("reset|1").await;
    bench.try_ask(named("reset|2", "hit")).await.unwrap();
    bench.store.fail_answered.store(true, Ordering::SeqCst);
    assert!(bench.engine.flush_counts().await.is_err());
    assert!(matches!(said_wrong(&bench, "hit").await, Err(FeedbackError::Query(_))));
    bench.store.fail_answered.store(false, Ordering::SeqCst);
    bench.engine.flush_counts().await.unwrap();
    let kept = bench.store.answered(bench.caller.project.id, "hit").await.unwrap().unwrap();
    assert_eq!((&*kept.asked, kept.met), ("reset|2", Met::Served));
}

#[tokio::test]
async fn what_will_never_be_written_is_given_up_and_what_comes_later_is_written() {
    let bench = Bench::new().await;
    bench.ask("reset|1").await;
    bench.try_ask(named("reset|2", "lost")).await.unwrap();
    bench.store.refuse_answered.store(true, Ordering::SeqCst);
    bench.engine.flush_counts().await.unwrap();
    bench.store.refuse_answered.store(false, Ordering::SeqCst);
    bench.try_ask(named("reset|2", "hit")).await.unwrap();
    assert!(matches!(said_wrong(&bench, "lost").await, Err(FeedbackError::Unknown)));
    said_wrong(&bench, "hit").await.unwrap();
}

#[tokio::test]
async fn who_gives_feedback_and_hangs_up_takes_nothing_away_that_others_met() {
    let bench = Bench::new().await;
    bench.ask("reset|1").await;
    bench.try_ask(named("reset|2", "hit")).await.unwrap();
    let gate = hold(&bench.store.hold_answered);
    let there = bench.clone();
    let hangs_up = bench.tasks.spawn(async move { said_wrong(&there, "another's").await });
    bench.until("the write", |bench| bench.store.hold_answered.lock().unwrap().is_none()).await;
    hangs_up.abort();
    assert!(hangs_up.await.is_err_and(|error| error.is_cancelled()));
    gate.add_permits(1);
    bench.engine.flush_counts().await.unwrap();
    assert_eq!(said_wrong(&bench, "hit").await.unwrap().labelled, Labelled::Forbidden);
}

#[tokio::test]
async fn what_another_process_answered_is_waited_for() {
    let bench = Bench::new().await;
    let replica = bench.replica(7);
    bench.ask("reset|1").await;
    bench.try_ask(named("reset|2", "hit")).await.unwrap();
    let there = replica.clone();
    let heard = bench.tasks.spawn(async move { said_wrong(&there, "hit").await });
    settle().await;
    assert!(!heard.is_finished(), "it may come still");
    bench.engine.flush_counts().await.unwrap();
    assert_eq!(heard.await.unwrap().unwrap().labelled, Labelled::Forbidden);
    assert!(!replica.ask("reset|2").await.is_hit());
    // Not for ever.
    let heard =
        tokio::time::timeout(Duration::from_secs(30), said_wrong(&replica, "nobody's")).await.unwrap();
    assert!(matches!(heard, Err(FeedbackError::Unknown)));
}

#[tokio::test]
async fn a_prompt_is_not_judged_against_its_own_entry() {
    let bench = Bench::new().await;
    let entry = bench.ask("reset|1").await.entry.id;
    let pair = FeedbackTarget::Pair { entry, asked: "reset|1" };
    let heard = bench.engine.feedback(&bench.caller, pair, WRONG).await;
    assert!(matches!(heard, Err(FeedbackError::OwnPrompt)), "{heard:?}");
    let other = bench.another_project().await;
    let heard = bench.engine.feedback(&other, FeedbackTarget::Pair { entry, asked: "reset|2" }, WRONG).await;
    assert!(matches!(heard, Err(FeedbackError::Unknown)), "{heard:?}");
}
