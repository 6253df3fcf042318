//! Taking entries out whole.

use std::num::NonZeroUsize;

use super::fixtures::{
    NOW, at_angle, chat, embedder, entry, entry_id, later, project as project_of, put, recorded, request,
    scope, turned, with_project,
};
use super::{Subject, register};
use crate::cache::{Frame, Kind, Parameters, Scope};
use crate::clock::Timestamp;
use crate::id::{EntryId, ProjectId};
use crate::store::{EntryCursor, Store, WholeEntry};
use crate::testing::change;

register!["export":
    gives_all_of_an_entry,
    gives_what_the_key_of_its_scope_is_made_of,
    gives_vectors_that_find_as_before,
    pages_are_oldest_first_and_end,
    each_comes_once_while_others_come_and_go,
    long_entries_make_short_pages,
    expired_ones_stay,
];

async fn page(
    store: &dyn Store,
    project: ProjectId,
    after: Option<EntryCursor>,
    now: Timestamp,
    limit: usize,
) -> Vec<WholeEntry> {
    let page = store.export(project, after, now, NonZeroUsize::new(limit).unwrap()).await.unwrap();
    assert!(page.len() <= limit);
    page
}

/// The identities of all, page by page.
async fn pages(store: &dyn Store, project: ProjectId, limit: usize) -> Vec<Vec<EntryId>> {
    let mut pages = Vec::new();
    let mut after = None;
    loop {
        let page = page(store, project, after, NOW, limit).await;
        let Some(last) = page.last() else { return pages };
        after = Some(last.cursor());
        pages.push(page.iter().map(|whole| whole.entry.id).collect());
    }
}

async fn gives_all_of_an_entry(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let other = with_project(&*store, 2).await;
    put(&*store, entry(9, &scope(other), "of another project")).await;
    let contexts = [None, Some(""), Some("legal \u{1F98A}")];
    let mut stored = Vec::new();
    for (number, context) in (1..).zip(contexts) {
        let mut new =
            entry(number, &Scope::new(project, Frame::query(Some("m"), context)), "the same prompt");
        new.entry.expires = (number == 2).then(|| later(60));
        stored.push(put(&*store, new).await);
    }
    // Asked of one model, served for all.
    let mut shared = entry(4, &Scope::new(project, Frame::query(None, None)), "shared");
    "m-2".clone_into(&mut shared.entry.model);
    stored.push(put(&*store, shared).await);
    store.reopen().await;
    let found = page(&*store, project, None, NOW, 100).await;
    let entries: Vec<_> = found.iter().map(|whole| whole.entry.clone()).collect();
    assert_eq!(entries, stored.iter().map(|entry| (**entry).clone()).collect::<Vec<_>>());
    let found: Vec<_> = found.iter().map(|whole| whole.context.as_deref()).collect();
    assert_eq!(found, [contexts[0], contexts[1], contexts[2], None]);
}

async fn gives_what_the_key_of_its_scope_is_made_of(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let frames = [
        Frame::query(Some("m"), Some("a context")),
        Frame::exact(Kind::Gemini, "m").with_parameter("x-deja-context", "eu"),
        Frame::of_wire(Kind::Responses, "m", None, Parameters::new()),
    ];
    let scopes: Vec<_> =
        frames.into_iter().map(|frame| Scope::new(project, frame)).chain([chat(project)]).collect();
    let mut stored = Vec::new();
    for (number, scope) in (1..).zip(&scopes) {
        stored.push(put(&*store, recorded(number, scope, "hello")).await);
    }
    store.reopen().await;
    let found = page(&*store, project, None, NOW, 100).await;
    for ((whole, scope), stored) in found.iter().zip(&scopes).zip(&stored) {
        let WholeEntry { entry, prompt_hash, kind, context, parameters, .. } = whole;
        assert_eq!((entry, *prompt_hash), (&**stored, request("hello")));
        let again = project_of(1).scope_of(*kind, &entry.model, context.as_deref(), parameters.clone());
        assert_eq!(again.key(), scope.key(), "{scope:?}");
        let detail = store.entry(project, entry.id).await.unwrap().unwrap();
        assert_eq!((detail.kind, &detail.parameters), (*kind, parameters));
        assert_eq!((detail.entry.answer.record, &detail.context), (None, context), "people look at its text");
    }
    assert_eq!(found.len(), scopes.len());
}

async fn gives_vectors_that_find_as_before(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, turned(entry(1, &scope, "a vector"), 33.0)).await;
    let mut without = entry(2, &scope, "none yet");
    without.vectors.clear();
    put(&*store, without).await;
    put(&*store, entry(3, &scope, "too long")).await;
    for number in [1, 3] {
        assert!(store.put_vector(scope.project(), entry_id(number), &embedder("f"), None).await.unwrap());
    }
    store.reopen().await;
    let found = page(&*store, scope.project(), None, NOW, 100).await;
    let vectors: Vec<_> = found.iter().map(|whole| &whole.vectors[..]).collect();
    let (e, f) = (embedder("e"), embedder("f"));
    let told: Vec<Vec<_>> =
        vectors.iter().map(|of| of.iter().map(|(by, vector)| (by, vector.is_some())).collect()).collect();
    assert_eq!(told, [vec![(&e, true), (&f, false)], vec![], vec![(&e, true), (&f, false)]]);
    let similarity = vectors[0][0].1.as_ref().unwrap().similarity(&at_angle(33.0));
    assert!(similarity.get() > 0.999_999, "half precision is kept");
}

async fn pages_are_oldest_first_and_end(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for (number, age) in [(1, 30), (2, 10), (3, 20), (4, 10), (5, 40)] {
        let mut new = entry(number, &scope, &number.to_string());
        new.entry.created = later(age);
        put(&*store, new).await;
    }
    for limit in [1, 2, 5, 100] {
        let all = pages(&*store, scope.project(), limit).await.concat();
        assert_eq!(all, [2, 4, 3, 1, 5].map(entry_id), "{limit}");
    }
}

async fn each_comes_once_while_others_come_and_go(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    let put_at = async |number: u32, age: i64| {
        let mut new = entry(number, &scope, &number.to_string());
        new.entry.created = later(age);
        put(&*store, new).await;
    };
    for number in 1..=6 {
        put_at(number, i64::from(number) * 10).await;
    }
    let first = page(&*store, scope.project(), None, NOW, 3).await;
    let cursor = first[2].cursor();
    put_at(7, 5).await;
    put_at(8, 45).await;
    for gone in [3, 5] {
        assert!(store.delete(scope.project(), entry_id(gone), &change()).await.unwrap());
    }
    // The cursor's own entry is gone too.
    let rest = page(&*store, scope.project(), Some(cursor), NOW, 100).await;
    let ids: Vec<_> = rest.iter().map(|whole| whole.entry.id).collect();
    assert_eq!(ids, [4, 8, 6].map(entry_id));
}

async fn long_entries_make_short_pages(store: Subject) {
    let (project, long) = (with_project(&*store, 1).await, "x".repeat(3 << 20));
    for number in 1..=12 {
        let plain = || Frame::query(Some("m"), None);
        let frame = match number % 4 {
            0 => Frame::query(Some("m"), Some(&long)),
            1 => plain().with_parameter("stop", &long),
            _ => plain(),
        };
        let mut new = entry(number, &Scope::new(project, frame), &number.to_string());
        match number % 4 {
            2 => new.entry.answer.record = Some(long.clone().into()),
            3 => new.entry.answer.text.clone_from(&long),
            _ => {}
        }
        put(&*store, new).await;
    }
    // A page ends with the entry that makes it long enough.
    let all: Vec<_> = (1..=12).map(entry_id).collect();
    assert_eq!(pages(&*store, project, 100).await, all.chunks(2).collect::<Vec<_>>());
}

async fn expired_ones_stay(store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for number in 1..=3 {
        let mut new = entry(number, &scope, &number.to_string());
        new.entry.expires = (number < 3).then(|| later(i64::from(number)));
        put(&*store, new).await;
    }
    for (now, wanted) in [(NOW, &[1, 2, 3][..]), (later(1), &[2, 3]), (later(9), &[3])] {
        let found = page(&*store, scope.project(), None, now, 1).await;
        assert_eq!(found[0].entry.id, entry_id(wanted[0]), "a page of expired entries is not the end");
        let found = page(&*store, scope.project(), None, now, 9).await;
        let ids: Vec<_> = found.iter().map(|whole| whole.entry.id).collect();
        assert_eq!(ids, wanted.iter().map(|number| entry_id(*number)).collect::<Vec<_>>());
    }
}
