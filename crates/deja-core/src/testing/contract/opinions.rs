//! What a project's model said of pairs of prompts, and what asking cost.

use std::num::NonZeroUsize;

use super::fixtures::{project_id, with_project};
use super::{Subject, register};
use crate::cache::{PairHash, PromptHash};
use crate::money::NanoUsd;
use crate::store::Questions;
use crate::testing::change;

register!["opinions":
    are_kept_by_pair_and_project,
    the_last_one_counts,
    questions_are_counted_by_day_whatever_was_said,
    costs_stop_at_their_maximum,
    a_project_that_is_gone_has_none,
    old_ones_are_forgotten_in_batches,
];

const DAY: i64 = 20_000;

fn pair(number: u32) -> PairHash {
    PairHash::of("judge", &PromptHash::of("asked"), &PromptHash::of(&number.to_string()))
}

const fn nanos(nanos: u64) -> NanoUsd {
    NanoUsd::from_nanos(nanos)
}

async fn are_kept_by_pair_and_project(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    store.keep_opinion(one, &pair(1), Some(true), DAY, nanos(5)).await.unwrap();
    store.keep_opinion(one, &pair(2), Some(false), DAY, nanos(5)).await.unwrap();
    store.reopen().await;
    let asked = [pair(3), pair(2), pair(1), pair(2)];
    let said = store.opinions(one, &asked).await.unwrap();
    assert_eq!(said, [None, Some(false), Some(true), Some(false)], "in the order that was asked");
    assert_eq!(store.opinions(two, &asked).await.unwrap(), [None; 4]);
    assert_eq!(store.opinions(one, &[]).await.unwrap(), []);
}

async fn the_last_one_counts(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    for said in [Some(true), Some(false), None] {
        store.keep_opinion(project, &pair(1), said, DAY, nanos(1)).await.unwrap();
    }
    store.reopen().await;
    assert_eq!(store.opinions(project, &[pair(1)]).await.unwrap(), [Some(false)]);
}

async fn questions_are_counted_by_day_whatever_was_said(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    for (day, said, cost) in [(DAY, Some(true), 7), (DAY, None, 0), (DAY, Some(false), 5), (DAY + 1, None, 3)]
    {
        store.keep_opinion(one, &pair(1), said, day, nanos(cost)).await.unwrap();
    }
    store.reopen().await;
    for (project, days, asked, cost) in [
        (one, DAY..DAY + 1, 3, 12),
        (one, DAY + 1..DAY + 2, 1, 3),
        (one, DAY - 5..DAY + 5, 4, 15),
        (one, DAY - 1..DAY, 0, 0),
        (two, DAY - 5..DAY + 5, 0, 0),
    ] {
        let told = store.questions(project, days.clone()).await.unwrap();
        assert_eq!(told, Questions { asked, cost: nanos(cost) }, "{days:?}");
    }
}

async fn costs_stop_at_their_maximum(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    let most = i64::MAX.unsigned_abs();
    for (day, cost) in [(DAY, 1), (DAY, u64::MAX), (DAY, most), (DAY + 1, most)] {
        store.keep_opinion(one, &pair(1), Some(true), day, nanos(cost)).await.unwrap();
    }
    store.reopen().await;
    let told = store.questions(one, DAY..DAY + 2).await.unwrap();
    assert!(told.asked == 4 && told.cost >= nanos(most), "{told:?}");
}

async fn a_project_that_is_gone_has_none(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    store.keep_opinion(project, &pair(1), Some(true), DAY, nanos(1)).await.unwrap();
    store.delete_project(project, &change()).await.unwrap();
    store.keep_opinion(project, &pair(2), Some(true), DAY, nanos(1)).await.unwrap();
    with_project(&*store, 1).await;
    store.reopen().await;
    assert_eq!(store.opinions(project, &[pair(1), pair(2)]).await.unwrap(), [None, None]);
    assert_eq!(store.questions(project, DAY..DAY + 1).await.unwrap(), Questions::default());
    store.keep_opinion(project_id(9), &pair(1), Some(true), DAY, nanos(1)).await.unwrap();
}

async fn old_ones_are_forgotten_in_batches(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    for number in 0..5 {
        store
            .keep_opinion(project, &pair(number), Some(true), DAY + i64::from(number), nanos(1))
            .await
            .unwrap();
    }
    let two = NonZeroUsize::new(2).unwrap();
    assert_eq!(store.sweep_opinions(DAY + 3, two).await.unwrap(), 2);
    assert_eq!(store.sweep_opinions(DAY + 3, two).await.unwrap(), 1);
    assert_eq!(store.sweep_opinions(DAY + 3, two).await.unwrap(), 0);
    store.reopen().await;
    let said = store.opinions(project, &[0, 1, 2, 3, 4].map(pair)).await.unwrap();
    assert_eq!(said, [None, None, None, Some(true), Some(true)]);
    assert_eq!(store.questions(project, DAY..DAY + 3).await.unwrap(), Questions::default());
    assert_eq!(store.questions(project, DAY + 3..DAY + 4).await.unwrap().asked, 1);
}
