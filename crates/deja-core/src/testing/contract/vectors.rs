//! Replacing vectors after a change of embedder.

use std::num::NonZeroUsize;

use super::fixtures::{
    NOW, at_angle, embedder, entry, entry_id, exactly, ids, later, near_by, put, scope, with_project,
};
use super::{Subject, register};
use crate::id::EntryId;
use crate::store::Store;
use crate::testing::change;

register!["vectors":
    stale_are_those_of_other_embedders,
    stale_come_oldest_first,
    replaced_are_found_by_the_new_embedder_only,
    too_long_are_not_stale_any_more,
    of_gone_entries_are_not_replaced,
    of_deleted_entries_are_not_stale,
];

const MANY: NonZeroUsize = NonZeroUsize::new(100).unwrap();

async fn stale(store: &dyn Store, by: &str) -> Vec<EntryId> {
    let stale = store.stale(&embedder(by), MANY).await.unwrap();
    assert_eq!(store.stale_count(&embedder(by)).await.unwrap(), stale.len() as u64);
    stale.into_iter().map(|stale| stale.id).collect()
}

async fn stale_are_those_of_other_embedders(mut subject: Subject) {
    let store = subject.store();
    let scope = scope(with_project(&*store, 1).await);
    let vectors = [Some("e"), Some("f"), None];
    for (number, vector) in (1..).zip(vectors) {
        let mut new = entry(number, &scope, &number.to_string());
        new.vector = vector.map(|by| (embedder(by), at_angle(0.0)));
        put(&*store, new).await;
    }
    let store = subject.reopened().await;
    assert_eq!(stale(&*store, "e").await, [2, 3].map(entry_id));
    assert_eq!(stale(&*store, "f").await, [1, 3].map(entry_id));
    assert_eq!(stale(&*store, "new").await, [1, 2, 3].map(entry_id));
    let first = &store.stale(&embedder("e"), MANY).await.unwrap()[0];
    assert_eq!((first.project, first.prompt.as_str()), (scope.project(), "2"));
}

async fn stale_come_oldest_first(subject: Subject) {
    let store = subject.store();
    let scope = scope(with_project(&*store, 1).await);
    for (number, age) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
        let mut new = entry(number, &scope, &number.to_string());
        new.entry.created = later(age);
        new.vector = (number != 3).then(|| (embedder("e"), at_angle(0.0)));
        put(&*store, new).await;
    }
    assert_eq!(stale(&*store, "f").await, [2, 4, 3, 1].map(entry_id));
    let two = store.stale(&embedder("f"), NonZeroUsize::new(2).unwrap()).await.unwrap();
    assert_eq!(two.iter().map(|stale| stale.id).collect::<Vec<_>>(), [2, 4].map(entry_id));
}

async fn replaced_are_found_by_the_new_embedder_only(mut subject: Subject) {
    let store = subject.store();
    let scope = scope(with_project(&*store, 1).await);
    for number in 1..=3 {
        put(&*store, entry(number, &scope, &number.to_string())).await;
    }
    let replaced = store
        .replace_vector(scope.project(), entry_id(1), &embedder("f"), Some(&at_angle(90.0)))
        .await
        .unwrap();
    assert!(replaced);
    let store = subject.reopened().await;
    let by_old = near_by(&*store, &scope, "e", &at_angle(0.0), 0.0, 10, NOW).await;
    assert_eq!(ids(&by_old), [2, 3].map(entry_id));
    let by_new = near_by(&*store, &scope, "f", &at_angle(90.0), 0.9, 10, NOW).await;
    assert_eq!(ids(&by_new), [entry_id(1)]);
    assert_eq!(stale(&*store, "f").await, [2, 3].map(entry_id));
    assert!(exactly(&*store, &scope, "1", NOW).await.is_some());
    // And again by the same embedder: the old vector is gone.
    store.replace_vector(scope.project(), entry_id(1), &embedder("f"), Some(&at_angle(0.0))).await.unwrap();
    assert!(near_by(&*store, &scope, "f", &at_angle(90.0), 0.9, 10, NOW).await.is_empty());
    assert!(store.delete(scope.project(), entry_id(1), &change()).await.unwrap());
    assert!(near_by(&*store, &scope, "f", &at_angle(0.0), 0.0, 10, NOW).await.is_empty());
}

async fn too_long_are_not_stale_any_more(mut subject: Subject) {
    let store = subject.store();
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "long")).await;
    assert!(store.replace_vector(scope.project(), entry_id(1), &embedder("f"), None).await.unwrap());
    let store = subject.reopened().await;
    assert_eq!(stale(&*store, "f").await, []);
    assert_eq!(stale(&*store, "e").await, [entry_id(1)]);
    for by in ["e", "f"] {
        assert!(near_by(&*store, &scope, by, &at_angle(0.0), 0.0, 10, NOW).await.is_empty());
    }
    assert!(exactly(&*store, &scope, "long", NOW).await.is_some());
    // A third embedder may find it short enough.
    store.replace_vector(scope.project(), entry_id(1), &embedder("g"), Some(&at_angle(0.0))).await.unwrap();
    assert_eq!(near_by(&*store, &scope, "g", &at_angle(0.0), 0.9, 10, NOW).await.len(), 1);
}

async fn of_gone_entries_are_not_replaced(subject: Subject) {
    let store = subject.store();
    let scope = scope(with_project(&*store, 1).await);
    let other = with_project(&*store, 2).await;
    put(&*store, entry(1, &scope, "hello")).await;
    let vector = at_angle(0.0);
    assert!(!store.replace_vector(other, entry_id(1), &embedder("f"), Some(&vector)).await.unwrap());
    store.delete(scope.project(), entry_id(1), &change()).await.unwrap();
    assert!(
        !store.replace_vector(scope.project(), entry_id(1), &embedder("f"), Some(&vector)).await.unwrap()
    );
    assert!(near_by(&*store, &scope, "f", &vector, 0.0, 10, NOW).await.is_empty());
}

async fn of_deleted_entries_are_not_stale(subject: Subject) {
    let store = subject.store();
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "hello")).await;
    store.delete(scope.project(), entry_id(1), &change()).await.unwrap();
    assert_eq!(stale(&*store, "f").await, []);
}
