//! When entries end: by time, and by the number that a project may keep.

use std::num::NonZeroUsize;

use super::fixtures::{
    MANY, NOW, assert_found, entry, entry_id, exactly, ids, keep_at_most, later, near, project_id, put,
    scope, with_project, with_project_of_at_most,
};
use super::{Subject, register};
use crate::analytics::{EntryHits, UsageBatch};
use crate::cache::{Frame, Inserted, NewEntry, Scope};
use crate::id::ProjectId;
use crate::store::{EVICTED_AT_ONCE, Store};

register!["lifetime":
    expired_are_not_served,
    expired_twins_are_replaced,
    sweep_deletes_what_expired,
    sweep_stops_at_its_limit,
    eviction_takes_the_least_recently_hit,
    a_hit_of_a_clock_that_was_set_back_is_no_younger_than_the_sweep,
    eviction_never_takes_the_new_one,
    eviction_hides_from_nearest_and_exact,
    eviction_counts_one_project_only,
    eviction_makes_no_room_for_a_twin,
    a_smaller_maximum_evicts_many,
    a_larger_maximum_holds_at_once,
    a_maximum_that_was_lowered_far_is_reached_by_the_sweep,
    a_sweep_brings_all_projects_to_their_maximum_while_entries_expire,
];

fn expiring(number: u32, scope: &Scope, prompt: &str, after: i64) -> NewEntry {
    let mut new = entry(number, scope, prompt);
    new.entry.expires = Some(later(after));
    new
}

async fn expired_are_not_served(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, expiring(1, &scope, "hello", 10)).await;
    store.reopen().await;
    let edge = later(10).as_nanos();
    assert_found(&*store, &scope, "hello", crate::clock::Timestamp::from_nanos(edge - 1), true).await;
    assert_found(&*store, &scope, "hello", later(10), false).await;
    assert_found(&*store, &scope, "hello", later(11), false).await;
    assert_eq!(store.count(scope.project()).await.unwrap(), 1, "counted until it is swept");
}

async fn expired_twins_are_replaced(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, expiring(1, &scope, "hello", 10)).await;
    // Made before the other one expired, as those of an import are.
    let mut new = expiring(2, &scope, "hello", 30);
    new.now = later(9);
    assert!(matches!(store.insert(new.clone()).await.unwrap(), Inserted::Twin(_)), "it is live");
    new.now = later(10);
    let second = put(&*store, new).await;
    store.reopen().await;
    assert_eq!(exactly(&*store, &scope, "hello", later(11)).await, Some(second));
    assert_eq!(ids(&near(&*store, &scope, 0.0, 0.0, NOW).await), [entry_id(2)]);
    assert_eq!(store.count(scope.project()).await.unwrap(), 1);
}

async fn sweep_deletes_what_expired(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    put(&*store, expiring(1, &scope(one), "short", 10)).await;
    put(&*store, expiring(2, &scope(one), "long", 20)).await;
    put(&*store, entry(3, &scope(one), "for ever")).await;
    put(&*store, expiring(4, &scope(two), "short", 10)).await;
    assert_eq!(store.sweep(later(9), MANY).await.unwrap(), 0);
    assert_eq!(store.sweep(later(15), MANY).await.unwrap(), 2);
    store.reopen().await;
    assert_eq!((store.count(one).await.unwrap(), store.count(two).await.unwrap()), (2, 0));
    assert_eq!(store.count_by_project().await.unwrap(), [(one, 2)].into());
    // Really gone, not only hidden: not there at an earlier time either.
    assert_found(&*store, &scope(one), "short", NOW, false).await;
    assert_found(&*store, &scope(one), "long", NOW, true).await;
    assert_found(&*store, &scope(one), "for ever", later(1_000_000), true).await;
}

async fn sweep_stops_at_its_limit(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for number in 1..=5 {
        put(&*store, expiring(number, &scope, &number.to_string(), i64::from(number))).await;
    }
    let two = NonZeroUsize::new(2).unwrap();
    for (swept, left) in [(2, 3), (2, 1), (1, 0), (0, 0)] {
        assert_eq!(store.sweep(later(10), two).await.unwrap(), swept);
        assert_eq!(store.count(scope.project()).await.unwrap(), left);
    }
}

async fn hit(store: &dyn Store, project: ProjectId, number: u32, at: i64) {
    let mut batch = UsageBatch::default();
    batch.entries.insert(
        (project, entry_id(number)),
        EntryHits { hits: 1, last_hit: later(at), ..EntryHits::default() },
    );
    store.record(&batch).await.unwrap();
}

/// An entry that is as old as its number says.
fn aged(number: u32, scope: &Scope) -> NewEntry {
    let mut new = entry(number, scope, &number.to_string());
    new.entry.created = later(i64::from(number));
    new
}

async fn eviction_takes_the_least_recently_hit(mut store: Subject) {
    let scope = scope(with_project_of_at_most(&*store, 1, 4).await);
    for number in 1..=4 {
        put(&*store, aged(number, &scope)).await;
    }
    // By last use: 3 (3), 4 (4), 1 (50), 2 (60). A hit from the past takes nothing back.
    for (number, at) in [(2, 60), (1, 50), (2, 1), (3, 1)] {
        hit(&*store, scope.project(), number, at).await;
    }
    store.reopen().await;
    for (number, left) in [(5, vec![1, 2, 4, 5]), (6, vec![1, 2, 5, 6]), (7, vec![1, 2, 6, 7])] {
        put(&*store, aged(number, &scope)).await;
        let found = ids(&near(&*store, &scope, 0.0, 0.0, NOW).await);
        assert_eq!(found, left.into_iter().map(entry_id).collect::<Vec<_>>());
    }
    hit(&*store, scope.project(), 6, 70).await;
    keep_at_most(&*store, scope.project(), 2).await;
    put(&*store, aged(8, &scope)).await;
    assert_eq!(ids(&near(&*store, &scope, 0.0, 0.0, NOW).await), [entry_id(6), entry_id(8)]);
}

async fn a_hit_of_a_clock_that_was_set_back_is_no_younger_than_the_sweep(store: Subject) {
    let scope = scope(with_project_of_at_most(&*store, 1, 3).await);
    for number in 1..=3 {
        put(&*store, aged(number, &scope)).await;
    }
    for (number, at) in [(1, 1_000_000), (2, 2_000_000)] {
        hit(&*store, scope.project(), number, at).await;
    }
    assert_eq!(store.sweep(later(10), MANY).await.unwrap(), 0);
    for (number, left) in [(11, [1, 2, 11]), (12, [2, 11, 12]), (13, [11, 12, 13])] {
        put(&*store, aged(number, &scope)).await;
        assert_eq!(ids(&near(&*store, &scope, 0.0, 0.0, NOW).await), left.map(entry_id), "with {number}");
    }
}

async fn eviction_never_takes_the_new_one(store: Subject) {
    let scope = scope(with_project_of_at_most(&*store, 1, 1).await);
    put(&*store, aged(9, &scope)).await;
    hit(&*store, scope.project(), 9, 100).await;
    // Older than the one that is there, and stored later.
    put(&*store, aged(1, &scope)).await;
    assert_eq!(ids(&near(&*store, &scope, 0.0, 0.0, NOW).await), [entry_id(1)]);
    keep_at_most(&*store, scope.project(), 0).await;
    put(&*store, aged(2, &scope)).await;
    assert_eq!(ids(&near(&*store, &scope, 0.0, 0.0, NOW).await), [entry_id(2)]);
}

async fn eviction_hides_from_nearest_and_exact(mut store: Subject) {
    let project = with_project_of_at_most(&*store, 1, 1).await;
    // The limit is the project's, so the evicted one may be in another scope.
    let (here, there) = (scope(project), Scope::new(project, Frame::query(Some("m"), Some("c"))));
    put(&*store, aged(1, &there)).await;
    put(&*store, aged(2, &here)).await;
    assert_found(&*store, &there, "1", NOW, false).await;
    store.reopen().await;
    assert_found(&*store, &there, "1", NOW, false).await;
    assert_found(&*store, &here, "2", NOW, true).await;
    assert_eq!(store.count(project).await.unwrap(), 1);
}

async fn eviction_counts_one_project_only(store: Subject) {
    let one = with_project_of_at_most(&*store, 1, 1).await;
    let two = with_project_of_at_most(&*store, 2, 2).await;
    put(&*store, aged(1, &scope(one))).await;
    for number in [2, 3] {
        put(&*store, aged(number, &scope(two))).await;
    }
    assert_found(&*store, &scope(one), "1", NOW, true).await;
    assert_eq!(store.count(two).await.unwrap(), 2);
}

async fn eviction_makes_no_room_for_a_twin(store: Subject) {
    let scope = scope(with_project_of_at_most(&*store, 1, 2).await);
    for number in [1, 2] {
        put(&*store, aged(number, &scope)).await;
    }
    assert!(matches!(store.insert(entry(3, &scope, "2")).await.unwrap(), Inserted::Twin(_)));
    assert_eq!(store.count(scope.project()).await.unwrap(), 2);
    assert_found(&*store, &scope, "1", NOW, true).await;
}

async fn a_smaller_maximum_evicts_many(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for number in 1..=20 {
        put(&*store, aged(number, &scope)).await;
    }
    keep_at_most(&*store, scope.project(), 3).await;
    put(&*store, aged(21, &scope)).await;
    store.reopen().await;
    let left = ids(&near(&*store, &scope, 0.0, 0.0, NOW).await);
    assert_eq!(left, [entry_id(19), entry_id(20), entry_id(21)]);
}

async fn a_larger_maximum_holds_at_once(store: Subject) {
    let scope = scope(with_project_of_at_most(&*store, 1, 2).await);
    let waiting: Vec<_> = (1..=4).map(|number| aged(number, &scope)).collect();
    for new in &waiting[..3] {
        put(&*store, new.clone()).await;
    }
    assert_eq!(store.count(scope.project()).await.unwrap(), 2);
    keep_at_most(&*store, scope.project(), 500).await;
    let many = (100..400).map(|number| aged(number, &scope)).collect();
    assert!(store.insert_all(many).await.into_iter().all(|stored| stored.unwrap()));
    put(&*store, waiting[3].clone()).await;
    assert_eq!(store.count(scope.project()).await.unwrap(), 303);
    keep_at_most(&*store, scope.project(), 301).await;
    assert!(store.insert_all(vec![aged(401, &scope)]).await.into_iter().all(|stored| stored.unwrap()));
    assert_eq!(store.count(scope.project()).await.unwrap(), 301);
}

async fn a_maximum_that_was_lowered_far_is_reached_by_the_sweep(mut store: Subject) {
    let (lowered, other) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let one = scope(lowered);
    put(&*store, aged(500, &scope(other))).await;
    for number in 1..=100 {
        put(&*store, aged(number, &one)).await;
    }
    hit(&*store, lowered, 1, 450).await;
    keep_at_most(&*store, lowered, 3).await;
    put(&*store, aged(101, &one)).await;
    assert_eq!(store.count(lowered).await.unwrap(), 101 - EVICTED_AT_ONCE, "nobody waits for all of it");
    let now = later(501);
    let five = NonZeroUsize::new(5).unwrap();
    assert_eq!(store.sweep(now, five).await.unwrap(), 5);
    store.reopen().await;
    while store.sweep(now, five).await.unwrap() > 0 {}
    let left = ids(&near(&*store, &one, 0.0, 0.0, NOW).await);
    assert_eq!(left, [1, 100, 101].map(entry_id), "by last use");
    keep_at_most(&*store, lowered, 2).await;
    assert_eq!(store.sweep(now, five).await.unwrap(), 1, "one too many is one too many");
    assert_eq!(ids(&near(&*store, &one, 0.0, 0.0, NOW).await), [1, 101].map(entry_id));
    assert_eq!(store.count(other).await.unwrap(), 1);
}

async fn a_sweep_brings_all_projects_to_their_maximum_while_entries_expire(store: Subject) {
    let busy = scope(with_project(&*store, 9).await);
    for number in 1..=2 {
        put(&*store, expiring(number, &busy, &number.to_string(), i64::from(number))).await;
    }
    for place in 1..=3 {
        let project = with_project(&*store, place).await;
        for number in 1..=6 {
            // Some of what is beyond the maximum expires as well.
            let mut new = aged(place * 100 + number, &scope(project));
            new.entry.expires = (number == 1).then(|| later(1));
            put(&*store, new).await;
        }
        keep_at_most(&*store, project, 2).await;
    }
    // One entry of the busy project. Of each other project the expired one, and three of five.
    assert_eq!(store.sweep(later(1), MANY).await.unwrap(), 1 + 3 * (1 + 3));
    for place in 1..=3 {
        assert_eq!(store.count(project_id(place)).await.unwrap(), 2);
    }
    assert_eq!(store.count(busy.project()).await.unwrap(), 1);
    let two = NonZeroUsize::new(2).unwrap();
    assert_eq!(store.sweep(later(2), two).await.unwrap(), 1);
}
