//! Counts of requests.

use std::num::NonZeroUsize;

use tokio::task::JoinSet;

use super::fixtures::{NOW, entry, key, later, project_id, scope, with_project};
use super::{Subject, register};
use crate::analytics::{
    BatchId, Dimension, EntryHits, Outcome, Slice, Step, Totals, UsageBatch, UsageEvent, hour_of,
};
use crate::clock::Timestamp;
use crate::id::{ProjectId, RecorderId};
use crate::money::NanoUsd;
use crate::testing::change;

register!["usage":
    totals_add_up_by_project_and_span,
    counts_of_gone_projects_are_dropped,
    nothing_is_lost_under_concurrency,
    a_batch_is_counted_once_however_often_it_is_given,
    a_recorder_is_forgotten_with_its_last_hour,
    sums_stop_at_their_maximum,
];

fn batch(project: ProjectId, model: &str, outcomes: &[Outcome], after: i64) -> UsageBatch {
    let mut batch = UsageBatch::default();
    add(&mut batch, project, model, outcomes, after);
    batch
}

fn add(batch: &mut UsageBatch, project: ProjectId, model: &str, outcomes: &[Outcome], after: i64) {
    for outcome in outcomes {
        let counted = batch.add(&UsageEvent {
            model,
            saved: NanoUsd::from_nanos(5),
            spent: NanoUsd::from_nanos(7),
            ..UsageEvent::bare(project, key(1, project).id, *outcome, later(after))
        });
        assert!(counted);
    }
}

async fn totals_add_up_by_project_and_span(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let all = [Outcome::ExactHit, Outcome::SemanticHit, Outcome::Miss, Outcome::Error, Outcome::Miss];
    for (project, model, outcomes, after) in [
        (one, "a", &all[..], 0),
        (one, "b", &all[..1], 0),
        (one, "a", &all[..2], 0),
        (one, "a", &all[..3], 3600),
        (two, "", &[Outcome::Error, Outcome::RateLimited], 0),
    ] {
        store.record(&batch(project, model, outcomes, after)).await.unwrap();
    }
    store.reopen().await;
    let hour = hour_of(NOW);
    let first = store.totals(hour, hour + 1).await.unwrap();
    let expected = Totals {
        exact_hits: 3,
        semantic_hits: 2,
        misses: 2,
        errors: 1,
        // The error has a cost too: its answer broke off and was paid for.
        saved: NanoUsd::from_nanos(40),
        spent: NanoUsd::from_nanos(56),
        ..Totals::default()
    };
    assert_eq!(first[&one], expected);
    assert_eq!((first[&two].errors, first[&two].requests()), (1, 2));
    assert_eq!(store.totals(hour, hour + 2).await.unwrap()[&one].requests(), 11);
    let second = store.totals(hour + 1, hour + 2).await.unwrap();
    assert_eq!(second.keys().copied().collect::<Vec<_>>(), [one]);
    assert!(store.totals(hour + 2, i64::MAX).await.unwrap().is_empty());
    assert!(store.totals(hour, hour).await.unwrap().is_empty());
}

async fn counts_of_gone_projects_are_dropped(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    let mut mixed = batch(project_id(9), "m", &[Outcome::Miss], 0);
    add(&mut mixed, one, "m", &[Outcome::Miss], 0);
    store.record(&mixed).await.unwrap();
    store.record(&UsageBatch::default()).await.unwrap();
    store.reopen().await;
    let totals = store.totals(i64::MIN, i64::MAX).await.unwrap();
    assert_eq!(totals.keys().copied().collect::<Vec<_>>(), [one]);
}

async fn nothing_is_lost_under_concurrency(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    store.create_key(&key(1, one), &change()).await.unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let store = store.shared();
        tasks.spawn(async move {
            for _ in 0..4 {
                store.record(&batch(one, "m", &[Outcome::Miss, Outcome::ExactHit], 0)).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    store.reopen().await;
    let totals = store.totals(i64::MIN, i64::MAX).await.unwrap()[&one];
    assert_eq!((totals.misses, totals.exact_hits), (200, 200));
    assert_eq!(store.keys(one).await.unwrap()[0].1.requests, 400);
}

/// Misses of a project, and the requests of its key.
async fn counted(store: &dyn crate::store::Store, project: ProjectId) -> (u64, u64) {
    let totals = store.totals(i64::MIN, i64::MAX).await.unwrap();
    let misses = totals.get(&project).map_or(0, |totals| totals.misses);
    (misses, store.keys(project).await.unwrap()[0].1.requests)
}

fn numbered(number: u8, taken: Timestamp, mut batch: UsageBatch) -> UsageBatch {
    batch.id = Some(BatchId { recorder: RecorderId::from_bytes([number; 16]), taken });
    batch
}

async fn a_batch_is_counted_once_however_often_it_is_given(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    store.create_key(&key(1, one), &change()).await.unwrap();
    let stored = entry(1, &scope(one), "p");
    store.insert(stored.clone()).await.unwrap();
    let misses = |number, taken| numbered(number, taken, batch(one, "m", &[Outcome::Miss], 0));
    let mut first = misses(1, NOW);
    let hits = EntryHits { hits: 1, last_hit: NOW, saved: NanoUsd::from_nanos(3) };
    first.entries.insert((one, stored.entry.id), hits);
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (store, first) = (store.shared(), first.clone());
        tasks.spawn(async move { store.record(&first).await.unwrap() });
    }
    tasks.join_all().await;
    assert_eq!(counted(&*store, one).await, (1, 1));
    let detail = store.entry(one, stored.entry.id).await.unwrap().unwrap();
    assert_eq!((detail.hits, detail.saved), (1, NanoUsd::from_nanos(3)));
    // The next of the same recorder, and one of another at the same moment.
    let next = misses(1, later(1));
    for more in [&next, &misses(2, NOW)] {
        store.record(more).await.unwrap();
    }
    store.reopen().await;
    for again in [&next, &first, &misses(2, NOW)] {
        store.record(again).await.unwrap();
    }
    assert_eq!(counted(&*store, one).await, (3, 3));
}

async fn a_recorder_is_forgotten_with_its_last_hour(store: Subject) {
    let one = with_project(&*store, 1).await;
    store.create_key(&key(1, one), &change()).await.unwrap();
    let misses = numbered(1, NOW, batch(one, "m", &[Outcome::Miss], 0));
    store.record(&misses).await.unwrap();
    let limit = NonZeroUsize::MAX;
    let kept = later((hour_of(NOW) - Step::Hour.oldest(NOW)) * 3600);
    for (at, requests) in [(kept, 1), (kept.plus(std::time::Duration::from_hours(1)), 2)] {
        store.sweep_usage(at, limit).await.unwrap();
        store.record(&misses).await.unwrap();
        assert_eq!(counted(&*store, one).await.1, requests);
    }
}

async fn sums_stop_at_their_maximum(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    store.create_key(&key(1, one), &change()).await.unwrap();
    let stored = entry(1, &scope(one), "p");
    store.insert(stored.clone()).await.unwrap();
    // A provider may say that it took any number of tokens.
    let most = i64::MAX.unsigned_abs();
    for (after, tokens) in [(0, 1), (0, most), (0, 1), (3600, u64::MAX)] {
        let mut batch = UsageBatch::default();
        for outcome in [Outcome::Miss, Outcome::ExactHit] {
            batch.add(&UsageEvent {
                input_tokens: tokens,
                output_tokens: tokens,
                saved: NanoUsd::from_nanos(tokens),
                spent: NanoUsd::from_nanos(tokens),
                entry: (outcome == Outcome::ExactHit).then_some(stored.entry.id),
                ..UsageEvent::bare(one, key(1, one).id, outcome, later(after))
            });
        }
        store.record(&batch).await.unwrap();
    }
    store.reopen().await;
    let by_key = store
        .usage_by(one, &Slice::default(), Dimension::Key, Step::Hour, 0..i64::MAX, NonZeroUsize::MAX)
        .await;
    let days = store.usage_series(one, &Slice::default(), Step::Day, 0..i64::MAX).await.unwrap();
    for totals in [
        store.totals(0, i64::MAX).await.unwrap()[&one],
        by_key.unwrap()[0].1,
        days.first_key_value().unwrap().1.totals,
    ] {
        for sum in [totals.input_tokens, totals.output_tokens, totals.saved_input_tokens] {
            assert!(sum >= most, "{totals:?}");
        }
        assert!(totals.saved.min(totals.spent).as_nanos() >= most, "{totals:?}");
        assert_eq!((totals.misses, totals.exact_hits), (4, 4), "what is no such number is counted as ever");
    }
    let detail = store.entry(one, stored.entry.id).await.unwrap().unwrap();
    assert!(detail.hits == 4 && detail.saved.as_nanos() >= most, "{detail:?}");
}
