//! Vectors of several embedders, and giving them to the entries that lack one.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use tokio::task::JoinSet;

use super::fixtures::{
    NOW, at_angle, chat, embedder, entry, entry_id, exactly, ids, later, near_by, put, recorded, scope,
    with_project,
};
use super::{Subject, register};
use crate::cache::{Frame, Kind, Scope};
use crate::clock::Timestamp;
use crate::id::EntryId;
use crate::store::{EntryPlace, StaleCount, Store};
use crate::testing::change;

register!["vectors":
    stale_are_those_without_one_of_the_embedder,
    stale_come_by_project_and_id,
    requests_that_are_found_as_a_whole_are_never_stale,
    each_embedder_has_its_own,
    a_new_one_takes_the_place_of_the_old,
    too_long_are_not_stale_any_more,
    of_gone_entries_are_not_put,
    claimed_ones_come_once_until_the_lease_ends,
    one_that_is_set_aside_is_passed_over_and_counted,
];

/// Cases of a store that several processes share.
pub(super) fn cases_of_shared() -> Vec<super::Case> {
    vec![super::Case {
        name: "vectors::processes_share_the_work",
        run: |store| Box::pin(processes_share_the_work(store)),
    }]
}

const MANY: NonZeroUsize = NonZeroUsize::new(100).unwrap();

async fn claim(
    store: &dyn Store,
    by: &str,
    after: Option<EntryPlace>,
    now: Timestamp,
    limit: NonZeroUsize,
) -> Vec<EntryId> {
    let until = Timestamp::from_secs(now.as_secs() + 60);
    let stale = store.claim_stale(&embedder(by), after, now, until, limit).await.unwrap();
    stale.into_iter().map(|stale| stale.id).collect()
}

async fn count(store: &dyn Store, by: &str, now: Timestamp) -> (u64, u64) {
    let StaleCount { waiting, failed } = store.stale_count(None, &embedder(by), now).await.unwrap();
    (waiting, failed)
}

async fn stale_are_those_without_one_of_the_embedder(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    let other = with_project(&*store, 2).await;
    for (number, vector) in (1..).zip([Some("e"), Some("f"), None]) {
        let mut new = entry(number, &scope, &number.to_string());
        new.vectors = vector.map(|by| (embedder(by), at_angle(0.0))).into_iter().collect();
        put(&*store, new).await;
    }
    store.reopen().await;
    for (by, stale) in [("e", vec![2, 3]), ("f", vec![1, 3]), ("new", vec![1, 2, 3])] {
        assert_eq!(count(&*store, by, NOW).await, (stale.len() as u64, 0));
        for (project, number) in [(scope.project(), stale.len() as u64), (other, 0)] {
            let of_project = store.stale_count(Some(project), &embedder(by), NOW).await.unwrap();
            assert_eq!(of_project, StaleCount { waiting: number, failed: 0 });
        }
        let stale: Vec<_> = stale.into_iter().map(entry_id).collect();
        assert_eq!(claim(&*store, by, None, NOW, MANY).await, stale, "{by}");
    }
    let first = store.claim_stale(&embedder("e"), None, later(60), later(120), MANY).await.unwrap().remove(0);
    assert_eq!((first.project, first.prompt.as_str()), (scope.project(), "2"));
    store.delete(scope.project(), entry_id(2), &change()).await.unwrap();
    assert_eq!(count(&*store, "e", NOW).await, (1, 0), "a deleted entry is not stale");
}

async fn stale_come_by_project_and_id(store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    for (number, project) in [(4, one), (1, two), (3, one), (2, two)] {
        put(&*store, entry(number, &scope(project), &number.to_string())).await;
    }
    let two_at_once = NonZeroUsize::new(2).unwrap();
    assert_eq!(claim(&*store, "f", None, NOW, two_at_once).await, [3, 4].map(entry_id));
    let after = Some((one, entry_id(4)));
    assert_eq!(claim(&*store, "g", after, NOW, MANY).await, [1, 2].map(entry_id));
    assert_eq!(claim(&*store, "g", None, NOW, MANY).await, [3, 4].map(entry_id));
    assert_eq!(claim(&*store, "f", Some((two, entry_id(2))), NOW, MANY).await, []);
}

async fn requests_that_are_found_as_a_whole_are_never_stale(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let segments = [None, Some("eu"), Some("a\0")];
    for (number, segment) in (1..).zip(segments) {
        let frame = Frame::exact(Kind::Messages, "m");
        let frame = segment.into_iter().fold(frame, |frame, it| frame.with_parameter("x-deja-context", it));
        put(&*store, recorded(number, &Scope::new(project, frame), "hello")).await;
    }
    let mut question = recorded(9, &chat(project), "hello");
    question.vectors.clear();
    put(&*store, question).await;
    store.reopen().await;
    assert_eq!(count(&*store, "e", NOW).await, (1, 0));
    assert_eq!(claim(&*store, "e", None, NOW, MANY).await, [entry_id(9)]);
}

async fn each_embedder_has_its_own(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for number in 1..=3 {
        put(&*store, entry(number, &scope, &number.to_string())).await;
    }
    let done = store.put_vector(scope.project(), entry_id(1), &embedder("f"), Some(&at_angle(90.0))).await;
    assert!(done.unwrap());
    store.reopen().await;
    let by_first = near_by(&*store, &scope, "e", &at_angle(0.0), 0.9, 10, NOW).await;
    assert_eq!(ids(&by_first), [1, 2, 3].map(entry_id), "the first embedder's stay");
    assert_eq!((count(&*store, "e", NOW).await, count(&*store, "f", NOW).await), ((0, 0), (2, 0)));
    assert!(exactly(&*store, &scope, "1", NOW).await.is_some());
    store.reopen_for("f").await;
    let by_second = near_by(&*store, &scope, "f", &at_angle(90.0), 0.9, 10, NOW).await;
    assert_eq!(ids(&by_second), [entry_id(1)]);
    assert!(store.delete(scope.project(), entry_id(1), &change()).await.unwrap());
    for (by, left) in [("f", 0), ("e", 2)] {
        store.reopen_for(by).await;
        assert_eq!(near_by(&*store, &scope, by, &at_angle(45.0), 0.0, 10, NOW).await.len(), left, "{by}");
    }
}

async fn a_new_one_takes_the_place_of_the_old(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "hello")).await;
    let to = |degrees| Some(at_angle(degrees));
    for vector in [to(90.0), None, to(45.0)] {
        let put = store.put_vector(scope.project(), entry_id(1), &embedder("e"), vector.as_ref()).await;
        assert!(put.unwrap());
        let found = near_by(&*store, &scope, "e", &at_angle(0.0), 0.0, 10, NOW).await;
        assert_eq!(found.len(), usize::from(vector.is_some()), "too long is found by nobody");
    }
    store.reopen().await;
    assert!(near_by(&*store, &scope, "e", &at_angle(0.0), 0.9, 10, NOW).await.is_empty());
    assert_eq!(near_by(&*store, &scope, "e", &at_angle(45.0), 0.9, 10, NOW).await.len(), 1);
    assert!(store.delete(scope.project(), entry_id(1), &change()).await.unwrap());
    assert!(near_by(&*store, &scope, "e", &at_angle(45.0), 0.0, 10, NOW).await.is_empty());
}

async fn too_long_are_not_stale_any_more(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "long")).await;
    assert!(store.put_vector(scope.project(), entry_id(1), &embedder("f"), None).await.unwrap());
    store.reopen().await;
    assert_eq!(claim(&*store, "f", None, NOW, MANY).await, []);
    assert_eq!(count(&*store, "f", NOW).await, (0, 0));
    assert!(exactly(&*store, &scope, "long", NOW).await.is_some());
    store.reopen_for("f").await;
    assert!(near_by(&*store, &scope, "f", &at_angle(0.0), 0.0, 10, NOW).await.is_empty());
    // A third embedder may find it short enough.
    store.put_vector(scope.project(), entry_id(1), &embedder("g"), Some(&at_angle(0.0))).await.unwrap();
    store.reopen_for("g").await;
    assert_eq!(near_by(&*store, &scope, "g", &at_angle(0.0), 0.9, 10, NOW).await.len(), 1);
}

async fn of_gone_entries_are_not_put(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    let other = with_project(&*store, 2).await;
    put(&*store, entry(1, &scope, "hello")).await;
    let vector = at_angle(0.0);
    assert!(!store.put_vector(other, entry_id(1), &embedder("f"), Some(&vector)).await.unwrap());
    assert!(!store.set_aside(other, entry_id(1), &embedder("f"), later(60)).await.unwrap());
    store.delete(scope.project(), entry_id(1), &change()).await.unwrap();
    assert!(!store.put_vector(scope.project(), entry_id(1), &embedder("f"), Some(&vector)).await.unwrap());
    assert!(!store.set_aside(scope.project(), entry_id(1), &embedder("f"), later(60)).await.unwrap());
    store.reopen_for("f").await;
    assert!(near_by(&*store, &scope, "f", &vector, 0.0, 10, NOW).await.is_empty());
}

async fn claimed_ones_come_once_until_the_lease_ends(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for number in 1..=3 {
        put(&*store, entry(number, &scope, &number.to_string())).await;
    }
    let two = NonZeroUsize::new(2).unwrap();
    assert_eq!(claim(&*store, "f", None, NOW, two).await, [1, 2].map(entry_id));
    assert_eq!(count(&*store, "f", NOW).await, (3, 0), "still without a vector");
    assert_eq!(claim(&*store, "g", None, NOW, two).await, [1, 2].map(entry_id), "of another embedder");
    assert_eq!(claim(&*store, "f", None, later(59), MANY).await, [entry_id(3)]);
    assert_eq!(claim(&*store, "f", None, later(59), MANY).await, []);
    store.put_vector(scope.project(), entry_id(1), &embedder("f"), Some(&at_angle(0.0))).await.unwrap();
    // Whoever claimed the second one died.
    assert_eq!(claim(&*store, "f", None, later(60), MANY).await, [entry_id(2)]);
}

async fn one_that_is_set_aside_is_passed_over_and_counted(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for number in 1..=3 {
        put(&*store, entry(number, &scope, &number.to_string())).await;
    }
    claim(&*store, "f", None, NOW, MANY).await;
    for number in [1, 2] {
        assert!(
            store.set_aside(scope.project(), entry_id(number), &embedder("f"), later(600)).await.unwrap()
        );
    }
    assert_eq!(count(&*store, "f", NOW).await, (1, 2));
    assert_eq!(count(&*store, "g", NOW).await, (3, 0), "another embedder may well embed it");
    assert_eq!(claim(&*store, "f", None, later(599), MANY).await, [entry_id(3)]);
    store.delete(scope.project(), entry_id(2), &change()).await.unwrap();
    assert_eq!(count(&*store, "f", later(599)).await, (1, 1), "a deleted one is not counted");
    // Then it is tried again.
    assert_eq!(count(&*store, "f", later(600)).await, (2, 0));
    assert_eq!(claim(&*store, "f", None, later(660), MANY).await, [1, 3].map(entry_id));
    store.put_vector(scope.project(), entry_id(1), &embedder("f"), Some(&at_angle(0.0))).await.unwrap();
    assert_eq!(count(&*store, "f", later(660)).await, (1, 0));
}

async fn processes_share_the_work(mut store: Subject) {
    let first = store.shared();
    let scope = scope(with_project(&*store, 1).await);
    for number in 1..=90 {
        put(&*store, entry(number, &scope, &number.to_string())).await;
    }
    store.reopen().await;
    let mut processes = JoinSet::new();
    for store in [first, store.shared()] {
        processes.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let ten = claim(&*store, "f", None, NOW, NonZeroUsize::new(10).unwrap()).await;
                if ten.is_empty() {
                    return mine;
                }
                mine.extend(ten);
            }
        });
    }
    let claimed = processes.join_all().await.concat();
    assert_eq!(claimed.len(), 90, "nothing twice");
    assert_eq!(BTreeSet::from_iter(claimed), (1..=90).map(entry_id).collect());
}
