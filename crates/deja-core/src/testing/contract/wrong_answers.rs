//! Answers that people found wrong, and what that forbids.

use std::num::NonZeroUsize;

use super::fixtures::{
    NOW, assert_found, at_angle, embedder, entry, entry_id, later, project_id, put, scope, turned,
    with_project,
};
use super::{Subject, register};
use crate::cache::{Frame, PromptHash, Scope};
use crate::embedding::{Similarity, Threshold};
use crate::id::{EntryId, ProjectId};
use crate::store::{Probe, Store, WrongHit};
use crate::testing::{change, change_at};

register!["wrong_answers":
    the_entry_stays_and_the_pair_is_kept,
    a_pair_is_forbidden_in_both_directions,
    it_is_forbidden_in_the_whole_project_and_nowhere_else,
    a_prompt_is_never_forbidden_to_itself,
    they_go_with_their_project,
    wrong_answers_page_newest_first,
];

const MANY: NonZeroUsize = NonZeroUsize::MAX;

fn wrong(number: u32, asked: &str) -> WrongHit<'_> {
    WrongHit { entry: entry_id(number), asked, similarity: Similarity::from_cosine(0.875) }
}

/// The entries near the first axis as candidates for `prompt`, and which of them must not answer it.
async fn judged(store: &dyn Store, scope: &Scope, prompt: &str) -> Vec<(EntryId, bool)> {
    let probe = Probe {
        embedder: &embedder("e"),
        embedding: &at_angle(0.0),
        prompt: PromptHash::of(prompt),
        threshold: Threshold::ZERO,
        limit: NonZeroUsize::new(10).unwrap(),
    };
    let found = store.nearest(scope, probe, NOW).await.unwrap();
    found.into_iter().map(|candidate| (candidate.entry.id, candidate.forbidden)).collect()
}

async fn forbidden(store: &dyn Store, project: ProjectId, prompt: &str) -> Vec<PromptHash> {
    let mut forbidden = store.forbidden(project, &PromptHash::of(prompt)).await.unwrap();
    forbidden.sort_unstable();
    forbidden
}

fn hashes<const N: usize>(prompts: [&str; N]) -> Vec<PromptHash> {
    let mut hashes: Vec<_> = prompts.into_iter().map(PromptHash::of).collect();
    hashes.sort_unstable();
    hashes
}

async fn the_entry_stays_and_the_pair_is_kept(mut subject: Subject) {
    let store = subject.store();
    let scope = scope(with_project(&*store, 1).await);
    with_project(&*store, 2).await;
    put(&*store, entry(1, &scope, "cats")).await;
    assert!(!store.mark_wrong(project_id(2), wrong(1, "bats"), &change()).await.unwrap(), "foreign");
    let marked = store.mark_wrong(scope.project(), wrong(1, "bats \u{1F987}"), &change_at(later(7))).await;
    assert!(marked.unwrap());
    assert!(!store.mark_wrong(scope.project(), wrong(9, "bats"), &change()).await.unwrap(), "gone");
    let store = subject.reopened().await;
    assert_found(&*store, &scope, "cats", NOW, true).await;
    let kept = store.wrong_answers(scope.project(), None, MANY).await.unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!((&*kept[0].asked, &*kept[0].matched, &*kept[0].model), ("bats \u{1F987}", "cats", "m"));
    assert_eq!((kept[0].at, kept[0].similarity), (later(7), Similarity::from_cosine(0.875)));
    assert_eq!(store.wrong_answers(project_id(2), None, MANY).await.unwrap(), []);
}

async fn a_pair_is_forbidden_in_both_directions(mut subject: Subject) {
    let store = subject.store();
    let scope = scope(with_project(&*store, 1).await);
    let [cats, dogs, bats] = [1, 2, 3].map(entry_id);
    put(&*store, entry(1, &scope, "cats")).await;
    put(&*store, turned(entry(2, &scope, "dogs"), 1.0)).await;
    assert_eq!(judged(&*store, &scope, "bats").await, [(cats, false), (dogs, false)]);
    assert!(store.mark_wrong(scope.project(), wrong(1, "bats"), &change()).await.unwrap());
    // At once, and the second time changes nothing.
    assert_eq!(judged(&*store, &scope, "bats").await, [(cats, true), (dogs, false)]);
    assert!(store.mark_wrong(scope.project(), wrong(1, "bats"), &change()).await.unwrap());
    put(&*store, turned(entry(3, &scope, "bats"), 2.0)).await;
    let store = subject.reopened().await;
    assert_eq!(judged(&*store, &scope, "bats").await, [(cats, true), (dogs, false), (bats, false)]);
    assert_eq!(judged(&*store, &scope, "cats").await, [(cats, false), (dogs, false), (bats, true)]);
    assert_eq!(judged(&*store, &scope, "dogs").await, [(cats, false), (dogs, false), (bats, false)]);
    assert_eq!(forbidden(&*store, scope.project(), "bats").await, hashes(["cats"]));
    assert_eq!(forbidden(&*store, scope.project(), "cats").await, hashes(["bats"]));
    assert_eq!(forbidden(&*store, scope.project(), "dogs").await, []);
    // The pair outlives the entry: the same prompt may be stored again.
    store.delete(scope.project(), cats, &change()).await.unwrap();
    put(&*store, entry(4, &scope, "cats")).await;
    assert_eq!(judged(&*store, &scope, "bats").await[0], (entry_id(4), true));
}

async fn it_is_forbidden_in_the_whole_project_and_nowhere_else(mut subject: Subject) {
    let store = subject.store();
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let elsewhere = Scope::new(one, Frame::query(Some("n"), Some("c")));
    for (number, scope) in [(1, scope(one)), (2, elsewhere.clone()), (3, scope(two))] {
        put(&*store, entry(number, &scope, "cats")).await;
    }
    for asked in ["bats", "rats"] {
        assert!(store.mark_wrong(one, wrong(1, asked), &change()).await.unwrap());
    }
    let store = subject.reopened().await;
    for asked in ["bats", "rats"] {
        assert_eq!(judged(&*store, &elsewhere, asked).await, [(entry_id(2), true)], "another scope");
        assert_eq!(judged(&*store, &scope(two), asked).await, [(entry_id(3), false)], "another project");
        assert_eq!(forbidden(&*store, two, asked).await, []);
    }
    assert_eq!(forbidden(&*store, one, "cats").await, hashes(["bats", "rats"]));
}

async fn a_prompt_is_never_forbidden_to_itself(mut subject: Subject) {
    let store = subject.store();
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "cats")).await;
    assert!(store.mark_wrong(scope.project(), wrong(1, "cats"), &change()).await.unwrap());
    let store = subject.reopened().await;
    assert_eq!(judged(&*store, &scope, "cats").await, [(entry_id(1), false)]);
    assert_eq!(forbidden(&*store, scope.project(), "cats").await, []);
    assert_found(&*store, &scope, "cats", NOW, true).await;
}

async fn they_go_with_their_project(mut subject: Subject) {
    let store = subject.store();
    let project = with_project(&*store, 1).await;
    put(&*store, entry(1, &scope(project), "cats")).await;
    assert!(store.mark_wrong(project, wrong(1, "bats"), &change()).await.unwrap());
    store.delete_project(project, &change()).await.unwrap();
    with_project(&*store, 1).await;
    let store = subject.reopened().await;
    assert_eq!(forbidden(&*store, project, "bats").await, []);
    assert_eq!(store.wrong_answers(project, None, MANY).await.unwrap(), []);
}

async fn wrong_answers_page_newest_first(mut subject: Subject) {
    let store = subject.store();
    let scope = scope(with_project(&*store, 1).await);
    for number in 1..=5 {
        put(&*store, entry(number, &scope, &number.to_string())).await;
        store.mark_wrong(scope.project(), wrong(number, "x"), &change()).await.unwrap();
    }
    let store = subject.reopened().await;
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = store.wrong_answers(scope.project(), before, NonZeroUsize::new(2).unwrap()).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.number);
        seen.extend(page.into_iter().map(|wrong| wrong.matched));
    }
    assert_eq!(seen, ["5", "4", "3", "2", "1"]);
}
