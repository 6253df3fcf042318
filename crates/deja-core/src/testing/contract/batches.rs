//! Many entries at once: each becomes what it would have become alone.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::fixtures::{
    MANY, NOW, at_angle, chat, embedder, entry, entry_id, exactly, ids, keep_at_most, later, near, near_by,
    project_id, put, recorded, request, scope, turned, with_project,
};
use super::{Subject, register};
use crate::cache::{Frame, Inserted, Kind, NewEntry, Scope};
use crate::id::{EntryId, ProjectId};
use crate::store::{Store, StoreError};
use crate::testing::MemoryStore;

register!["batches":
    none_is_nothing,
    come_back_as_they_were,
    one_that_is_not_stored_keeps_no_other_from_it,
    go_into_the_projects_that_they_are_of,
    evict_as_one_after_the_other,
    a_maximum_that_was_lowered_far_is_approached_as_one_after_the_other,
    equal_ones_at_once_leave_one_of_each,
];

async fn none_is_nothing(store: Subject) {
    assert!(store.insert_all(Vec::new()).await.is_empty());
}

/// Stores entries that are new.
async fn put_all(store: &dyn Store, new: Vec<NewEntry>) {
    let count = new.len();
    let stored: Vec<bool> = store.insert_all(new).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(stored, vec![true; count]);
}

/// All entries of a project.
async fn all(store: &dyn Store, project: ProjectId) -> BTreeSet<EntryId> {
    let (mut all, mut after) = (BTreeSet::new(), None);
    loop {
        let page = store.export(project, after, NOW, MANY).await.unwrap();
        let Some(last) = page.last() else { return all };
        after = Some(last.cursor());
        all.extend(page.iter().map(|whole| whole.entry.id));
    }
}

async fn come_back_as_they_were(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let (query, chat) = (scope(project), chat(project));
    let whole_requests = Scope::new(project, Frame::exact(Kind::Chat, "m"));
    let mut plain = turned(entry(1, &query, ""), 60.0);
    plain.entry.answer.served_model = None;
    plain.entry.expires = Some(later(60));
    let without_vector = NewEntry { vectors: Vec::new(), ..entry(2, &query, "very long") };
    let other = NewEntry {
        vectors: vec![(embedder("another"), at_angle(0.0))],
        ..entry(3, &query, "of another embedder")
    };
    let mut new = vec![
        entry(0, &query, "Grüße\0"),
        plain,
        without_vector,
        other,
        recorded(4, &chat, "hello"),
        recorded(5, &whole_requests, "hello"),
    ];
    let both = vec![(embedder("another"), at_angle(0.0)), (embedder("e"), at_angle(90.0))];
    new.push(NewEntry { vectors: both, ..entry(6, &query, "of both embedders") });
    // More than a store may take at a time.
    new.extend((7..400).map(|number| turned(entry(number, &query, &number.to_string()), 90.0)));
    put_all(&*store, new.clone()).await;
    store.reopen().await;
    for new in &new {
        let found = store.exact(&new.scope, &new.prompt_hash, NOW).await.unwrap();
        assert_eq!(found.as_deref(), Some(&new.entry));
    }
    assert_eq!(exactly(&*store, &query, "", later(60)).await, None, "it expired");
    assert!(store.exact(&chat, &request("hello"), NOW).await.unwrap().is_some());
    assert_eq!(ids(&near(&*store, &query, 0.0, 0.3, NOW).await), [0, 1].map(entry_id));
    assert_eq!(ids(&near(&*store, &chat, 0.0, 0.3, NOW).await), [entry_id(4)]);
    assert_eq!(near(&*store, &query, 90.0, 0.99, NOW).await.len(), 10);
    assert_eq!(store.count(project).await.unwrap(), 400);
    let page = store.export(project, None, NOW, MANY).await.unwrap();
    for (whole, new) in page.iter().zip(&new) {
        assert_eq!((whole.entry.id, whole.kind), (new.entry.id, new.scope.frame().kind()));
        let stored: BTreeSet<_> = whole.vectors.iter().map(|(by, _)| by).collect();
        assert_eq!(stored, new.vectors.iter().map(|(by, _)| by).collect(), "{}", new.entry.prompt);
        assert_eq!(&whole.parameters, new.scope.frame().parameters());
    }
    store.reopen_for("another").await;
    let found = near_by(&*store, &query, "another", &at_angle(0.0), 0.9, 10, NOW).await;
    assert_eq!(ids(&found), [3, 6].map(entry_id));
}

async fn one_that_is_not_stored_keeps_no_other_from_it(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let (here, there) = (scope(project), chat(project));
    let twin = put(&*store, entry(1, &here, "there before")).await;
    let mut ended = entry(2, &here, "ended");
    ended.entry.expires = Some(later(10));
    put(&*store, ended).await;
    put(&*store, entry(3, &here, "to be replaced")).await;
    let of_nobody = scope(project_id(9));
    let mut fresh = entry(12, &here, "ended");
    fresh.now = later(10);
    let two = ["another", "e"].map(|by| (embedder(by), at_angle(0.0))).to_vec();
    let new = vec![
        (entry(10, &here, "first"), "stored"),
        (entry(11, &here, "there before"), "twin"),
        (fresh, "stored"),
        (NewEntry { replaces: true, vectors: two, ..entry(13, &here, "to be replaced") }, "stored"),
        // The identity of another entry: of one that was there, and of one that came right before.
        (entry(1, &here, "another"), "conflict"),
        (entry(10, &here, "second"), "conflict"),
        (entry(14, &of_nobody, "first"), "conflict"),
        (entry(15, &here, "first"), "twin"),
        (entry(16, &here, "third"), "stored"),
        (entry(16, &here, "third"), "twin"),
        (entry(17, &there, "first"), "stored"),
        (NewEntry { replaces: true, ..entry(18, &here, "first") }, "stored"),
    ];
    let (new, expected): (Vec<_>, Vec<_>) = new.into_iter().unzip();
    let became = store.insert_all(new).await.into_iter().map(|stored| match stored {
        Ok(true) => "stored",
        Ok(false) => "twin",
        Err(StoreError::Conflict(_)) => "conflict",
        Err(_) => "failed",
    });
    assert_eq!(became.collect::<Vec<_>>(), expected);
    store.reopen().await;
    let left = [1, 12, 13, 16, 17, 18].map(entry_id);
    assert_eq!(all(&*store, project).await, BTreeSet::from(left));
    assert_eq!(store.count(project).await.unwrap(), left.len() as u64);
    let page = store.export(project, None, NOW, MANY).await.unwrap();
    let replaced = page.iter().find(|whole| whole.entry.id == entry_id(13)).unwrap();
    assert_eq!(replaced.vectors.len(), 2);
    assert_eq!(exactly(&*store, &here, "there before", NOW).await, Some(twin));
    for (prompt, number) in [("first", 18), ("ended", 12), ("to be replaced", 13), ("third", 16)] {
        assert_eq!(exactly(&*store, &here, prompt, later(11)).await.unwrap().id, entry_id(number));
    }
}

async fn go_into_the_projects_that_they_are_of(mut store: Subject) {
    let projects = [with_project(&*store, 1).await, with_project(&*store, 2).await];
    let [one, two] = projects.map(scope);
    // The same identities and prompts in both.
    let new = (0..300).flat_map(|number| [&one, &two].map(|scope| entry(number, scope, &number.to_string())));
    put_all(&*store, new.collect()).await;
    store.reopen().await;
    for project in projects {
        assert_eq!(store.count(project).await.unwrap(), 300);
        for number in [0, 299] {
            let found = exactly(&*store, &scope(project), &number.to_string(), NOW).await;
            assert_eq!(found.map(|entry| entry.id), Some(entry_id(number)));
        }
    }
}

/// The same entries in the reference store, one by one, into a project with this maximum.
async fn compare(store: &dyn Store, before: Vec<NewEntry>, most: u64, new: Vec<NewEntry>) {
    let reference: Arc<dyn Store> = MemoryStore::new();
    let of = with_project(&*reference, 1).await;
    for store in [store, &*reference] {
        for new in &before {
            put(store, new.clone()).await;
        }
        keep_at_most(store, of, most).await;
    }
    for new in &new {
        assert!(matches!(reference.insert(new.clone()).await.unwrap(), Inserted::New));
    }
    put_all(store, new).await;
    assert_eq!(all(store, of).await, all(&*reference, of).await);
    assert_eq!(store.count(of).await.unwrap(), reference.count(of).await.unwrap());
}

/// Entries that were made at these seconds.
fn made_at(scope: &Scope, numbers: Range<u32>, made: impl Fn(u32) -> i64) -> Vec<NewEntry> {
    let new = numbers.map(|number| {
        let mut new = entry(number, scope, &number.to_string());
        new.entry.created = later(made(number));
        new
    });
    new.collect()
}

async fn evict_as_one_after_the_other(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    // Made before, after and between those that are there. The last one is the oldest of all.
    let before = made_at(&scope, 0..50, |number| i64::from(number) * 20);
    let made = |number| if number == 349 { -10_000 } else { i64::from(number * 7919 % 1500) - 200 };
    compare(&*store, before, 60, made_at(&scope, 50..350, made)).await;
    assert_eq!(store.count(scope.project()).await.unwrap(), 60);
    assert!(store.entry(scope.project(), entry_id(349)).await.unwrap().is_some(), "the last one stays");
}

async fn a_maximum_that_was_lowered_far_is_approached_as_one_after_the_other(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    let before = made_at(&scope, 0..200, i64::from);
    compare(&*store, before, 3, made_at(&scope, 200..202, i64::from)).await;
    assert!(store.count(scope.project()).await.unwrap() > 3, "nobody waits for all of it");
}

async fn equal_ones_at_once_leave_one_of_each(mut store: Subject) {
    const EACH: u32 = 150;
    let scope = scope(with_project(&*store, 1).await);
    let mut tasks = JoinSet::new();
    for task in 0..6u32 {
        let numbers = (0..EACH).map(|number| if task % 2 == 0 { number } else { EACH - 1 - number });
        let new = numbers.map(|number| entry(task * 1000 + number, &scope, &number.to_string())).collect();
        let store = store.shared();
        tasks.spawn(async move {
            let stored = store.insert_all(new).await;
            stored.into_iter().filter(|stored| *stored.as_ref().unwrap()).count()
        });
    }
    let stored: usize = tasks.join_all().await.into_iter().sum();
    assert_eq!(stored, EACH as usize);
    store.reopen().await;
    assert_eq!(store.count(scope.project()).await.unwrap(), u64::from(EACH));
    assert_eq!(all(&*store, scope.project()).await.len(), EACH as usize);
}
