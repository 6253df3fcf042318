//! Entries: what is stored, found, kept apart and deleted.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use tokio::task::JoinSet;

use super::fixtures::{
    NOW, RECORD, assert_found, at_angle, chat, embedder, entry, entry_id, exactly, ids, key, near, project,
    put, recorded, request, scope, turned, with_project,
};
use super::{Subject, register};
use crate::audit::AuditFilter;
use crate::cache::{CONTEXT, Frame, Inserted, Kind, NewEntry, Parameters, Scope};
use crate::embedding::Similarity;
use crate::id::ProjectId;
use crate::store::{EntryFilter, Store, StoreError};
use crate::testing::change;

register!["entries":
    come_back_as_they_were,
    without_a_vector_are_found_by_hash_only,
    records_come_with_the_answer_that_is_served,
    are_found_by_what_they_were_stored_under,
    of_projects_never_meet,
    of_scopes_never_meet,
    live_twins_stay,
    a_twin_is_replaced_if_that_is_wanted,
    equal_inserts_at_once_leave_one,
    different_inserts_at_once_all_stay,
    ids_are_unique_in_a_project,
    deleted_are_not_found,
    delete_needs_the_right_project,
    purge_hides_from_nearest,
    purge_by_model_goes_by_the_asked_model,
    purge_by_context_tells_none_from_empty,
    purge_by_context_goes_by_the_one_that_was_named,
    purge_leaves_other_projects,
    purge_takes_all_of_many,
    what_was_asked_before_a_purge_of_all_is_not_stored,
    nothing_that_was_asked_before_a_purge_survives_it,
    the_last_one_of_many_is_deleted_alone,
    a_prompt_can_be_stored_again_after_its_deletion,
];

async fn come_back_as_they_were(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    let mut plain = turned(entry(2, &scope, ""), 60.0);
    plain.entry.answer.served_model = None;
    plain.entry.expires = Some(super::fixtures::later(60));
    let (one, two) = (put(&*store, entry(1, &scope, "Grüße\0")).await, put(&*store, plain).await);
    store.reopen().await;
    assert_eq!(exactly(&*store, &scope, "Grüße\0", NOW).await, Some(one.clone()));
    assert_eq!(exactly(&*store, &scope, "", NOW).await, Some(two.clone()));
    assert_eq!(exactly(&*store, &scope, "Grüße", NOW).await, None);
    let found = near(&*store, &scope, 0.0, 0.3, NOW).await;
    assert_eq!(found.iter().map(|found| found.entry.clone()).collect::<Vec<_>>(), [one, two]);
    assert_eq!(found[0].similarity, Similarity::ONE);
    assert!((found[1].similarity.get() - 0.5).abs() < 1e-3);
    assert_eq!(store.count(scope.project()).await.unwrap(), 2);
}

async fn without_a_vector_are_found_by_hash_only(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    let mut long = entry(1, &scope, "very long");
    long.vectors.clear();
    put(&*store, long).await;
    store.reopen().await;
    assert!(exactly(&*store, &scope, "very long", NOW).await.is_some());
    assert!(near(&*store, &scope, 0.0, 0.0, NOW).await.is_empty());
    assert!(store.delete(scope.project(), entry_id(1), &change()).await.unwrap());
    assert!(exactly(&*store, &scope, "very long", NOW).await.is_none());
}

async fn records_come_with_the_answer_that_is_served(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let scope = chat(project);
    let stored = put(&*store, recorded(1, &scope, "hello")).await;
    let plain = put(&*store, entry(2, &scope, "of no wire format")).await;
    store.reopen().await;
    let near = near(&*store, &scope, 0.0, 0.9, NOW).await;
    assert_eq!(ids(&near), [1, 2].map(entry_id));
    for (candidate, stored) in near.iter().zip([&stored, &plain]) {
        let whole = store.whole(project, candidate.entry.id).await.unwrap().unwrap();
        assert_eq!(whole, *stored, "whole, though it was read without its record before");
    }
    let exact = async |store: &dyn Store| store.exact(&scope, &request("hello"), NOW).await.unwrap();
    assert_eq!(exact(&*store).await, Some(stored.clone()));
    assert_eq!(stored.answer.record.as_deref(), Some(RECORD));
    let again = store.insert(recorded(3, &scope, "hello")).await.unwrap();
    assert!(matches!(again, Inserted::Twin(twin) if twin == stored));
    store.reopen().await;
    let again = store.insert(recorded(3, &scope, "hello")).await.unwrap();
    assert!(matches!(again, Inserted::Twin(twin) if twin == stored), "from disk too");
    assert_eq!(exact(&*store).await, Some(stored));
    let other = with_project(&*store, 2).await;
    assert_eq!(store.whole(other, entry_id(1)).await.unwrap(), None);
    assert!(store.delete(project, entry_id(1), &change()).await.unwrap());
    assert_eq!(store.whole(project, entry_id(1)).await.unwrap(), None);
}

async fn are_found_by_what_they_were_stored_under(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let whole_requests = Scope::new(project, Frame::exact(Kind::Chat, "m"));
    for (number, scope) in [(1, chat(project)), (2, whole_requests.clone())] {
        put(&*store, recorded(number, &scope, "hello")).await;
    }
    store.reopen().await;
    for (number, scope) in [(1, chat(project)), (2, whole_requests)] {
        for _ in 0..2 {
            let found = store.exact(&scope, &request("hello"), NOW).await.unwrap();
            assert_eq!(found.map(|entry| entry.id), Some(entry_id(number)));
        }
        assert!(exactly(&*store, &scope, "hello", NOW).await.is_none());
        assert!(store.delete(project, entry_id(number), &change()).await.unwrap());
        assert!(store.exact(&scope, &request("hello"), NOW).await.unwrap().is_none());
    }
}

async fn of_projects_never_meet(mut store: Subject) {
    let (mine, other) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    put(&*store, entry(1, &scope(mine), "hello")).await;
    store.reopen().await;
    assert_found(&*store, &scope(mine), "hello", NOW, true).await;
    assert_found(&*store, &scope(other), "hello", NOW, false).await;
    assert_eq!(store.count(other).await.unwrap(), 0);
}

/// All the scopes that are easily taken for one another.
fn scopes(project: ProjectId) -> Vec<Scope> {
    let texts = [None, Some(""), Some("a"), Some("A"), Some("a "), Some("\0")];
    let models = texts.into_iter().flat_map(|model| texts.map(|context| (model, context)));
    let queries = models.map(|(model, context)| Frame::query(model, context));
    let wires = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Query).flat_map(|kind| {
        let with = |value: &str| Parameters::from([("n".into(), value.into())]);
        [
            Frame::of_wire(kind, "a", None, Parameters::new()),
            Frame::of_wire(kind, "a", None, with("1")),
            Frame::of_wire(kind, "a", None, with("1.0")),
            Frame::of_wire(kind, "a", Some("1"), with("1")),
        ]
    });
    queries.chain(wires).map(|frame| Scope::new(project, frame)).collect()
}

async fn of_scopes_never_meet(mut store: Subject) {
    let scopes = scopes(with_project(&*store, 1).await);
    for (number, scope) in (0..).zip(&scopes) {
        put(&*store, entry(number, scope, "hello")).await;
    }
    store.reopen().await;
    for (number, scope) in (0..).zip(&scopes) {
        assert_eq!(ids(&near(&*store, scope, 0.0, 0.0, NOW).await), [entry_id(number)], "{scope:?}");
        assert_eq!(exactly(&*store, scope, "hello", NOW).await.unwrap().id, entry_id(number));
    }
}

async fn a_twin_is_replaced_if_that_is_wanted(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "hello")).await;
    let fresh = turned(NewEntry { replaces: true, ..entry(2, &scope, "hello") }, 90.0);
    put(&*store, fresh).await;
    put(&*store, NewEntry { replaces: true, ..entry(3, &scope, "of no twin") }).await;
    store.reopen().await;
    assert_eq!(store.count(scope.project()).await.unwrap(), 2);
    assert_eq!(exactly(&*store, &scope, "hello", NOW).await.unwrap().id, entry_id(2));
    assert_eq!(ids(&near(&*store, &scope, 90.0, 0.9, NOW).await), [entry_id(2)]);
}

async fn live_twins_stay(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    let first = put(&*store, entry(1, &scope, "hello")).await;
    let again = store.insert(turned(entry(2, &scope, "hello"), 90.0)).await.unwrap();
    assert!(matches!(again, Inserted::Twin(twin) if twin == first));
    store.reopen().await;
    assert_eq!(store.count(scope.project()).await.unwrap(), 1);
    assert_eq!(ids(&near(&*store, &scope, 0.0, 0.9, NOW).await), [entry_id(1)]);
    assert!(near(&*store, &scope, 90.0, 0.9, NOW).await.is_empty());
}

async fn equal_inserts_at_once_leave_one(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    let mut tasks = JoinSet::new();
    for number in 0..50 {
        let (store, new) = (store.shared(), entry(number, &scope, "hello"));
        tasks.spawn(async move { (number, store.insert(new).await.unwrap()) });
    }
    let (mut winners, mut seen) = (Vec::new(), Vec::new());
    while let Some(done) = tasks.join_next().await {
        match done.unwrap() {
            (number, Inserted::New) => winners.push(entry_id(number)),
            (_, Inserted::Twin(twin)) => seen.push(twin.id),
        }
    }
    assert_eq!((winners.len(), seen.len()), (1, 49));
    assert!(seen.iter().all(|id| *id == winners[0]), "all others were given the one that won");
    assert_eq!(ids(&near(&*store, &scope, 0.0, 0.0, NOW).await), winners);
    assert_eq!(store.count(scope.project()).await.unwrap(), 1);
}

async fn different_inserts_at_once_all_stay(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let mut tasks = JoinSet::new();
    for number in 0..50u32 {
        let context = (number % 3).to_string();
        let scope = Scope::new(project, Frame::query(None, Some(&context)));
        let (store, new) = (store.shared(), entry(number, &scope, &number.to_string()));
        tasks.spawn(async move {
            put(&*store, new).await;
            assert!(exactly(&*store, &scope, &number.to_string(), NOW).await.is_some(), "found at once");
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    store.reopen().await;
    assert_eq!(store.count(project).await.unwrap(), 50);
}

async fn ids_are_unique_in_a_project(store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    put(&*store, entry(1, &scope(one), "hello")).await;
    let clash = store.insert(entry(1, &scope(one), "other")).await;
    assert!(matches!(clash, Err(StoreError::Conflict(_))));
    put(&*store, entry(1, &scope(two), "other")).await;
    assert_found(&*store, &scope(one), "other", NOW, false).await;
    assert_eq!(store.count(one).await.unwrap(), 1);
}

async fn deleted_are_not_found(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for number in 1..=3 {
        put(&*store, entry(number, &scope, &number.to_string())).await;
    }
    assert!(store.delete(scope.project(), entry_id(2), &change()).await.unwrap());
    assert!(!store.delete(scope.project(), entry_id(2), &change()).await.unwrap());
    assert_found(&*store, &scope, "2", NOW, false).await;
    store.reopen().await;
    assert_found(&*store, &scope, "2", NOW, false).await;
    for kept in ["1", "3"] {
        assert_found(&*store, &scope, kept, NOW, true).await;
    }
    assert_eq!(store.count(scope.project()).await.unwrap(), 2);
}

async fn delete_needs_the_right_project(store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    put(&*store, entry(1, &scope(one), "hello")).await;
    assert!(!store.delete(two, entry_id(1), &change()).await.unwrap());
    assert_found(&*store, &scope(one), "hello", NOW, true).await;
}

async fn purge_hides_from_nearest(mut store: Subject) {
    let scopes = scopes(with_project(&*store, 1).await);
    let project = scopes[0].project();
    for (number, scope) in (0..).zip(&scopes) {
        put(&*store, entry(number, scope, "hello")).await;
    }
    let purged = store.purge(project, &EntryFilter::default(), &change()).await.unwrap();
    assert_eq!(purged, scopes.len() as u64);
    assert_found(&*store, &scopes[0], "hello", NOW, false).await;
    store.reopen().await;
    for scope in &scopes {
        assert_found(&*store, scope, "hello", NOW, false).await;
    }
    assert_eq!(store.count(project).await.unwrap(), 0);
    assert_eq!(store.purge(project, &EntryFilter::default(), &change()).await.unwrap(), 0);
}

async fn purge_by_model_goes_by_the_asked_model(store: Subject) {
    let project = with_project(&*store, 1).await;
    // Models share answers here: the scope has none, the entries do.
    let shared = Scope::new(project, Frame::query(None, None));
    for (number, model) in [(1, "a"), (2, "b"), (3, "a")] {
        let mut new = entry(number, &shared, &number.to_string());
        new.entry.model = model.to_owned();
        put(&*store, new).await;
    }
    let filter = EntryFilter { model: Some("a".to_owned()), ..EntryFilter::default() };
    assert_eq!(store.purge(project, &filter, &change()).await.unwrap(), 2);
    assert_eq!(ids(&near(&*store, &shared, 0.0, 0.0, NOW).await), [entry_id(2)]);
}

async fn purge_by_context_tells_none_from_empty(store: Subject) {
    let project = with_project(&*store, 1).await;
    let contexts = [None, Some(""), Some("c")];
    for (number, context) in (0..).zip(contexts) {
        put(&*store, entry(number, &Scope::new(project, Frame::query(Some("m"), context)), "hello")).await;
    }
    for (number, context) in (0..).zip(contexts) {
        let context_of = Some(context.map(str::to_owned));
        let filter =
            EntryFilter { model: Some("m".to_owned()), context: context_of, ..EntryFilter::default() };
        assert_eq!(store.purge(project, &filter, &change()).await.unwrap(), 1, "{context:?}");
        assert_found(&*store, &Scope::new(project, Frame::query(Some("m"), context)), "hello", NOW, false)
            .await;
        assert_eq!(store.count(project).await.unwrap(), 2 - number);
    }
}

async fn purge_by_context_goes_by_the_one_that_was_named(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let named =
        |context: &str| Parameters::from([(CONTEXT.into(), context.into()), ("seed".into(), "1\0".into())]);
    let wire = |instructions, parameters| {
        Scope::new(project, Frame::of_wire(Kind::Chat, "m", instructions, parameters))
    };
    let whole = Scope::new(project, Frame::exact(Kind::Chat, "m").with_parameter(CONTEXT, "eu"));
    let scopes = [
        wire(Some("be brief"), named("eu")),
        wire(Some("be brief"), Parameters::new()),
        wire(None, named("a \"b\" \\ ü")),
        wire(None, Parameters::new()),
        whole,
    ];
    for (number, scope) in (0..).zip(&scopes) {
        put(&*store, entry(number, scope, "hello")).await;
    }
    store.reopen().await;
    let most = NonZeroUsize::new(9).unwrap();
    let counted: BTreeMap<_, _> = store.contexts_of(project, most, most).await.unwrap().into_iter().collect();
    let text = |text: &str| Some(text.to_owned());
    let all = [(None, 1), (text("be brief"), 1), (text("eu"), 2), (text("a \"b\" \\ ü"), 1)];
    assert_eq!(counted, BTreeMap::from(all.clone()));
    for (context, count) in all {
        let filter = EntryFilter { context: Some(context.clone()), ..EntryFilter::default() };
        assert_eq!(store.purge(project, &filter, &change()).await.unwrap(), count, "{context:?}");
    }
    assert_eq!(store.count(project).await.unwrap(), 0);
}

async fn purge_leaves_other_projects(store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    for (number, project) in [(1, one), (2, two)] {
        put(&*store, entry(number, &scope(project), "hello")).await;
    }
    assert_eq!(store.purge(one, &EntryFilter::default(), &change()).await.unwrap(), 1);
    assert_found(&*store, &scope(two), "hello", NOW, true).await;
}

/// More than a store may delete at a time.
async fn purge_takes_all_of_many(mut store: Subject) {
    const MANY: u32 = 1_300;
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let mut tasks = JoinSet::new();
    for number in 0..MANY {
        let (store, new) = (store.shared(), entry(number, &scope(one), &number.to_string()));
        tasks.spawn(async move { put(&*store, new).await });
    }
    tasks.join_all().await;
    put(&*store, entry(MANY, &scope(two), "hello")).await;
    let filter = EntryFilter { model: Some("m".to_owned()), ..EntryFilter::default() };
    let purge = change().within(one);
    assert_eq!(store.purge(one, &filter, &purge).await.unwrap(), u64::from(MANY));
    let rows = store.changes(&AuditFilter::of(one), None, NonZeroUsize::MAX).await.unwrap();
    assert_eq!(rows.iter().filter(|row| row.change == purge).count(), 1, "one purge is one change");
    store.reopen().await;
    assert_eq!(store.count(one).await.unwrap(), 0);
    assert!(near(&*store, &scope(one), 0.0, 0.0, NOW).await.is_empty());
    assert_found(&*store, &scope(two), "hello", NOW, true).await;
}

/// An entry that a call brought, of a request that met so many purges.
fn asked(number: u32, scope: &Scope, purges: u64) -> NewEntry {
    NewEntry { purges: Some(purges), ..entry(number, scope, &number.to_string()) }
}

async fn what_was_asked_before_a_purge_of_all_is_not_stored(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let key = key(1, one);
    store.create_key(&key, &change()).await.unwrap();
    let before = store.key_by_hash(&key.hash).await.unwrap().unwrap().project.purges;
    let (here, elsewhere) = (scope(one), scope(two));
    put(&*store, asked(1, &here, before)).await;
    let some = EntryFilter { model: Some("m".to_owned()), ..EntryFilter::default() };
    store.purge(one, &some, &change()).await.unwrap();
    put(&*store, asked(2, &here, before)).await;
    store.purge(one, &EntryFilter::default(), &change()).await.unwrap();

    for late in [asked(3, &here, before), NewEntry { replaces: true, ..asked(4, &here, before) }] {
        let refused = store.insert(late).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    put(&*store, asked(5, &elsewhere, before)).await;
    // A change of the project's settings that was made from what they were does not take the purge back.
    store.update_project(&project(1), &change()).await.unwrap();
    store.reopen().await;
    assert!(store.insert(asked(6, &here, before)).await.is_err());
    assert_eq!(store.count(one).await.unwrap(), 0);

    let after = store.key_by_hash(&key.hash).await.unwrap().unwrap().project.purges;
    assert_eq!(store.project("p1").await.unwrap().unwrap().purges, after);
    put(&*store, asked(7, &here, after)).await;
    put(&*store, entry(8, &here, "of an import")).await;
    let twin = NewEntry { purges: Some(before), ..entry(9, &here, "of an import") };
    assert!(store.insert(twin).await.is_err(), "it is not told of a twin either");
    assert_eq!(store.count(one).await.unwrap(), 2);
}

/// Answers arrive while a purge goes on.
async fn nothing_that_was_asked_before_a_purge_survives_it(store: Subject) {
    const THERE: u32 = 1_300;
    const ARRIVING: u32 = 8;
    let here = scope(with_project(&*store, 1).await);
    let there = (0..THERE).map(|number| entry(number, &here, &number.to_string())).collect();
    store.insert_all(there).await;
    let mut arriving = JoinSet::new();
    for first in 1..=ARRIVING {
        let (store, here) = (store.shared(), here.clone());
        arriving.spawn(async move {
            let mut stored = 0;
            while store.insert(asked(first * 100_000 + stored, &here, 0)).await.is_ok() {
                stored += 1;
            }
            stored
        });
    }
    while store.count(here.project()).await.unwrap() < u64::from(THERE + 2 * ARRIVING) {
        tokio::task::yield_now().await;
    }
    let purged = store.purge(here.project(), &EntryFilter::default(), &change()).await.unwrap();
    let stored: u32 = arriving.join_all().await.into_iter().sum();
    assert_eq!(store.count(here.project()).await.unwrap(), 0);
    assert_eq!(purged, u64::from(THERE + stored));
}

/// Deleting from anywhere in a scope leaves all the others where they can be found.
async fn the_last_one_of_many_is_deleted_alone(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for number in 0..40u32 {
        put(&*store, turned(entry(number, &scope, &number.to_string()), number as f32)).await;
    }
    let deleted = [39, 0, 20, 38, 1];
    for number in deleted {
        assert!(store.delete(scope.project(), entry_id(number), &change()).await.unwrap());
    }
    store.reopen().await;
    for number in 0..40u32 {
        let best = store_best(&*store, &scope, number as f32).await;
        assert_eq!(best == entry_id(number), !deleted.contains(&number), "{number}");
    }
}

async fn store_best(store: &dyn Store, scope: &Scope, degrees: f32) -> crate::id::EntryId {
    let probe = crate::store::Probe {
        embedder: &embedder("e"),
        embedding: &at_angle(degrees),
        prompt: crate::cache::PromptHash::of("another"),
        threshold: crate::embedding::Threshold::DEFAULT,
        limit: NonZeroUsize::MIN,
    };
    store.nearest(scope, probe, NOW).await.unwrap()[0].entry.id
}

async fn a_prompt_can_be_stored_again_after_its_deletion(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "hello")).await;
    store.delete(scope.project(), entry_id(1), &change()).await.unwrap();
    let second = put(&*store, entry(2, &scope, "hello")).await;
    store.reopen().await;
    assert_eq!(exactly(&*store, &scope, "hello", NOW).await, Some(second));
}
