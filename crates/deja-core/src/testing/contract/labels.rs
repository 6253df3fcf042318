//! What is said of answers, and what requests were answered with.

use std::num::NonZeroUsize;

use super::fixtures::{MANY, NOW, entry, entry_id, later, project_id, put, scope, with_project};
use super::{Subject, register};
use crate::cache::{Answered, LabelSource, Labelled, Met, PromptHash, ShortLabel};
use crate::clock::Timestamp;
use crate::embedding::Similarity;
use crate::id::{EntryId, ProjectId};
use crate::store::{NewLabel, Store};
use crate::testing::{self, change, change_at};

register!["labels":
    are_kept_whole_as_long_as_the_entry,
    the_last_word_of_a_source_counts,
    are_read_newest_first_from_a_time_on,
    a_request_is_known_by_its_name_in_its_project,
    requests_go_with_their_entry,
    the_newest_requests_are_kept,
    requests_from_before_the_clock_was_set_back_are_not_the_newest,
];

/// Somebody at the console says that the entry answered `asked` wrongly.
pub(super) fn wrong(number: u32, asked: &str) -> NewLabel<'_> {
    NewLabel { similarity: Similarity::from_cosine(0.875), ..testing::wrong(entry_id(number), asked) }
}

/// The labels of a project, newest first: what was asked, the entry, and whether it answers.
pub(super) async fn said(store: &dyn Store, project: ProjectId) -> Vec<(String, EntryId, bool)> {
    let labels = store.labels(project, Timestamp::from_nanos(i64::MIN), MANY).await.unwrap();
    labels.into_iter().map(|label| (label.asked, label.entry, label.answers)).collect()
}

async fn are_kept_whole_as_long_as_the_entry(mut store: Subject) {
    let (project, other) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    put(&*store, entry(1, &scope(project), "cats")).await;
    put(&*store, entry(2, &scope(project), "dogs")).await;
    let note = Some("they fly \u{1F987}\0");
    let full = NewLabel { source: LabelSource::Api, met: Met::Refused, note, ..wrong(1, "bats \0") };
    let judged = NewLabel { source: LabelSource::Judge, met: Met::NearMiss, answers: true, ..wrong(2, "b") };
    assert_eq!(store.label(other, full, &change()).await.unwrap(), None, "foreign");
    assert_eq!(store.label(project, wrong(3, "bats"), &change()).await.unwrap(), None, "gone");
    for (label, at) in [(full, later(1)), (judged, later(2))] {
        assert_eq!(store.label(project, label, &change_at(at)).await.unwrap(), Some(Labelled::Kept));
    }
    store.reopen().await;
    assert_eq!(said(&*store, other).await, []);
    let kept = store.labels(project, NOW, MANY).await.unwrap();
    assert_eq!(kept.len(), 2);
    for (label, (new, at)) in kept.iter().zip([(judged, later(2)), (full, later(1))]) {
        assert_eq!((&*label.asked, label.entry, label.answers), (new.asked, new.entry, new.answers));
        assert_eq!((label.source, label.met, label.note.as_deref()), (new.source, new.met, new.note));
        assert_eq!((label.at, label.similarity), (at, new.similarity));
    }
    assert_eq!((&*kept[0].matched, &*kept[1].matched), ("dogs", "cats"));
    let short = kept.iter().map(|label| ShortLabel {
        asked: PromptHash::of(&label.asked),
        entry: label.entry,
        source: label.source,
        answers: label.answers,
    });
    assert_eq!(store.short_labels(project, MANY).await.unwrap(), short.collect::<Vec<_>>());
    assert_eq!(store.short_labels(project, NonZeroUsize::MIN).await.unwrap().len(), 1);
    assert_eq!(store.short_labels(other, MANY).await.unwrap(), []);
    store.delete(project, entry_id(1), &change()).await.unwrap();
    put(&*store, entry(1, &scope(project), "cats")).await;
    assert_eq!(said(&*store, project).await, [("b".into(), entry_id(2), true)]);
}

async fn the_last_word_of_a_source_counts(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    put(&*store, entry(1, &scope(project), "cats")).await;
    for (at, source, asked, answers) in [
        (1, LabelSource::Api, "bats", true),
        (2, LabelSource::Judge, "bats", false),
        (3, LabelSource::Console, "bats", true),
        (4, LabelSource::Api, "rats", true),
        (5, LabelSource::Api, "bats", false),
    ] {
        let label = NewLabel { answers, source, ..wrong(1, asked) };
        assert!(store.label(project, label, &change_at(later(at))).await.unwrap().is_some());
    }
    store.reopen().await;
    let kept = store.labels(project, NOW, MANY).await.unwrap();
    let kept: Vec<_> =
        kept.iter().map(|label| (label.at, label.source, &*label.asked, label.answers)).collect();
    let (api, judge, console) = (LabelSource::Api, LabelSource::Judge, LabelSource::Console);
    assert_eq!(kept[..2], [(later(5), api, "bats", false), (later(4), api, "rats", true)]);
    assert_eq!(kept[2..], [(later(3), console, "bats", true), (later(2), judge, "bats", false)]);
}

async fn are_read_newest_first_from_a_time_on(store: Subject) {
    let project = with_project(&*store, 1).await;
    put(&*store, entry(1, &scope(project), "cats")).await;
    for at in [1, 2, 3, 4] {
        let asked = at.to_string();
        let label = NewLabel { answers: true, ..wrong(1, &asked) };
        store.label(project, label, &change_at(later(at))).await.unwrap();
    }
    let read = async |since, limit| -> Vec<String> {
        let limit = NonZeroUsize::new(limit).unwrap();
        let labels = store.labels(project, later(since), limit).await.unwrap();
        labels.into_iter().map(|label| label.asked).collect()
    };
    assert_eq!(read(0, 10).await, ["4", "3", "2", "1"]);
    assert_eq!(read(3, 10).await, ["4", "3"]);
    assert_eq!(read(0, 2).await, ["4", "3"]);
    assert_eq!(read(5, 10).await, [""; 0]);
}

fn answered(project: u32, request: &str, number: u32) -> Answered {
    Answered {
        project: project_id(project),
        request: request.to_owned(),
        at: later(i64::from(number)),
        asked: format!("asked {number} \0 \u{1F987}"),
        entry: entry_id(number),
        similarity: Similarity::from_cosine(0.875),
        met: Met::Served,
    }
}

async fn a_request_is_known_by_its_name_in_its_project(mut store: Subject) {
    for project in [1, 2] {
        with_project(&*store, project).await;
    }
    for (number, project) in [(1, 1), (2, 1), (3, 2)] {
        put(&*store, entry(number, &scope(project_id(project)), &number.to_string())).await;
    }
    let refused = Answered { met: Met::Refused, ..answered(1, "b", 2) };
    // The later answer of a name counts, within a batch and between two. An answer of no entry is left out.
    let batch = [
        answered(1, "a", 2),
        answered(1, "a", 1),
        refused.clone(),
        answered(1, "gone", 9),
        answered(1, "foreign", 3),
        answered(2, "a", 3),
        answered(1, "c", 1),
    ];
    store.keep_answered(&batch).await.unwrap();
    store.keep_answered(&[answered(1, "c", 2)]).await.unwrap();
    store.keep_answered(&[]).await.unwrap();
    store.reopen().await;
    for (project, request, expected) in [
        (1, "a", Some(answered(1, "a", 1))),
        (1, "b", Some(refused)),
        (1, "c", Some(answered(1, "c", 2))),
        (2, "a", Some(answered(2, "a", 3))),
        (2, "b", None),
        (1, "gone", None),
        (1, "foreign", None),
        (1, "", None),
    ] {
        let found = store.answered(project_id(project), request).await.unwrap();
        assert_eq!(found, expected, "{project} {request}");
    }
}

async fn requests_go_with_their_entry(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    for number in [1, 2] {
        put(&*store, entry(number, &scope(project), &number.to_string())).await;
    }
    store.keep_answered(&[answered(1, "a", 1), answered(1, "b", 2)]).await.unwrap();
    store.delete(project, entry_id(1), &change()).await.unwrap();
    put(&*store, entry(1, &scope(project), "1")).await;
    store.reopen().await;
    for unknown in ["a", "a\0b"] {
        assert_eq!(store.answered(project, unknown).await.unwrap(), None, "{unknown:?}");
    }
    assert!(store.answered(project, "b").await.unwrap().is_some());
    store.delete_project(project, &change()).await.unwrap();
    assert_eq!(store.answered(project, "b").await.unwrap(), None);
}

async fn the_newest_requests_are_kept(store: Subject) {
    for project in [1, 2] {
        let project = with_project(&*store, project).await;
        let first = if project == project_id(1) { 1 } else { 10 };
        for number in first..first + 5 {
            put(&*store, entry(number, &scope(project), &number.to_string())).await;
        }
    }
    let batch: Vec<_> = (1..=5).rev().map(|number| answered(1, &number.to_string(), number)).collect();
    store.keep_answered(&batch).await.unwrap();
    store.keep_answered(&[answered(2, "10", 10)]).await.unwrap();
    let of = |number| NonZeroUsize::new(number).unwrap();
    assert_eq!(store.sweep_labels(later(10), of(2), of(2)).await.unwrap(), 2);
    assert_eq!(store.sweep_labels(later(10), of(2), of(2)).await.unwrap(), 1);
    assert_eq!(store.sweep_labels(later(10), of(2), of(2)).await.unwrap(), 0);
    for (project, request, kept) in
        [(1, "1", false), (1, "3", false), (1, "4", true), (1, "5", true), (2, "10", true)]
    {
        let found = store.answered(project_id(project), request).await.unwrap();
        assert_eq!(found.is_some(), kept, "{project} {request}");
    }
}

async fn requests_from_before_the_clock_was_set_back_are_not_the_newest(store: Subject) {
    let project = with_project(&*store, 1).await;
    put(&*store, entry(1, &scope(project), "1")).await;
    let at = |request, at| Answered { at: later(at), ..answered(1, request, 1) };
    store.keep_answered(&["a", "b", "c"].map(|request| at(request, 3600))).await.unwrap();
    let two = NonZeroUsize::new(2).unwrap();
    assert_eq!(store.sweep_labels(NOW, two, two).await.unwrap(), 1);
    store.keep_answered(&[at("later", 1)]).await.unwrap();
    assert_eq!(store.sweep_labels(later(1), two, two).await.unwrap(), 1);
    assert!(store.answered(project, "later").await.unwrap().is_some());
    // Clocks of replicas differ.
    store.keep_answered(&[at("ahead", 60)]).await.unwrap();
    assert_eq!(store.sweep_labels(later(1), two, two).await.unwrap(), 1);
    assert_eq!(store.answered(project, "ahead").await.unwrap().unwrap().at, later(60));
}
