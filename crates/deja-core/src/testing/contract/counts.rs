//! Counts of requests.

use tokio::task::JoinSet;

use super::fixtures::{NOW, key, later, project_id, with_project};
use super::{Subject, register};
use crate::analytics::{Outcome, Totals, UsageBatch, UsageEvent, hour_of};
use crate::id::ProjectId;
use crate::money::NanoUsd;
use crate::testing::change;

register!["usage":
    totals_add_up_by_project_and_span,
    counts_of_gone_projects_are_dropped,
    nothing_is_lost_under_concurrency,
];

fn batch(project: ProjectId, model: &str, outcomes: &[Outcome], after: i64) -> UsageBatch {
    let mut batch = UsageBatch::default();
    for outcome in outcomes {
        batch.add(&UsageEvent {
            model,
            saved: NanoUsd::from_nanos(5),
            spent: NanoUsd::from_nanos(7),
            ..UsageEvent::bare(project, key(1, project).id, *outcome, later(after))
        });
    }
    batch
}

async fn totals_add_up_by_project_and_span(mut subject: Subject) {
    let store = subject.store();
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
    let store = subject.reopened().await;
    let hour = hour_of(NOW);
    let first = store.totals(hour, hour + 1).await.unwrap();
    let expected = Totals {
        exact_hits: 3,
        semantic_hits: 2,
        misses: 2,
        errors: 1,
        saved: NanoUsd::from_nanos(35),
        spent: NanoUsd::from_nanos(49),
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

async fn counts_of_gone_projects_are_dropped(mut subject: Subject) {
    let store = subject.store();
    let one = with_project(&*store, 1).await;
    let mut mixed = batch(project_id(9), "m", &[Outcome::Miss], 0);
    mixed.merge(batch(one, "m", &[Outcome::Miss], 0));
    store.record(&mixed).await.unwrap();
    store.record(&UsageBatch::default()).await.unwrap();
    let store = subject.reopened().await;
    let totals = store.totals(i64::MIN, i64::MAX).await.unwrap();
    assert_eq!(totals.keys().copied().collect::<Vec<_>>(), [one]);
}

async fn nothing_is_lost_under_concurrency(mut subject: Subject) {
    let store = subject.store();
    let one = with_project(&*store, 1).await;
    store.create_key(&key(1, one), &change()).await.unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let store = subject.store();
        tasks.spawn(async move {
            for _ in 0..4 {
                store.record(&batch(one, "m", &[Outcome::Miss, Outcome::ExactHit], 0)).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let store = subject.reopened().await;
    let totals = store.totals(i64::MIN, i64::MAX).await.unwrap()[&one];
    assert_eq!((totals.misses, totals.exact_hits), (200, 200));
    assert_eq!(store.keys(one).await.unwrap()[0].1.requests, 400);
}
