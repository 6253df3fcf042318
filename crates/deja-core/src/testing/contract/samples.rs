//! Samples of what was asked and what came near.

use std::num::NonZeroUsize;

use super::fixtures::{MANY, NOW, entry, entry_id, later, project, project_id, put, scope, with_project};
use super::{Subject, register};
use crate::cache::Met;
use crate::cache::{Frame, Scope};
use crate::clock::Timestamp;
use crate::embedding::Similarity;
use crate::id::ProjectId;
use crate::project::Project;
use crate::quality::{BANDS, MAX_CONTEXT_BYTES, MAX_MATCHED_BYTES, NewSample};
use crate::store::{EntryFilter, Store};
use crate::testing::{self, change};

register!["samples":
    a_sample_comes_back_whole,
    they_are_read_page_by_page,
    of_long_texts_the_beginnings_are_read,
    one_is_read_while_it_is_there,
    each_band_keeps_the_smallest_numbers,
    what_a_project_lets_go_is_gone,
    they_go_with_their_entry,
    they_go_with_their_project,
    they_end_at_their_time,
    projects_have_their_own,
    a_sample_is_kept_once,
];

/// A sample of the entry of this number.
fn sample(project: ProjectId, number: i64, entry: u32, similarity: f32) -> NewSample {
    let (asked, at) = (format!("asked {number} \0 \u{1F98A}"), later(number % 1000));
    testing::sample(number, project, entry_id(entry), &asked, Similarity::from_cosine(similarity), at)
}

/// A project that keeps so many samples, with an entry.
async fn keeping(store: &dyn Store, number: u32, samples: u64) -> ProjectId {
    let mut project = project(number);
    project.settings.samples = samples;
    store.create_project(&project, &change()).await.unwrap();
    put(store, entry(number, &scope(project.id), "cats")).await;
    project.id
}

async fn numbers(store: &dyn Store, project: ProjectId, now: Timestamp) -> Vec<i64> {
    let samples = store.samples(project, None, now, MANY).await.unwrap();
    let places: Vec<_> = samples.iter().map(|sample| sample.sampled.place()).collect();
    assert_eq!(store.sample_places(project, now).await.unwrap(), places);
    places.iter().map(|place| place.id.get()).collect()
}

async fn a_sample_comes_back_whole(mut store: Subject) {
    let scope = Scope::new(with_project(&*store, 1).await, Frame::query(Some("m"), Some("in \0 context")));
    put(&*store, entry(1, &scope, "cats \0 \u{1F408}")).await;
    let given = [
        sample(scope.project(), 1, 1, 0.751),
        NewSample {
            met: Met::Refused,
            reason: Some("extra condition".into()),
            score: Some(0.125),
            expires: Some(later(100)),
            ..sample(scope.project(), i64::MAX, 1, 0.9)
        },
        NewSample { met: Met::Refused, ..sample(scope.project(), 3, 1, 1.0) },
        NewSample { met: Met::NearMiss, ..sample(scope.project(), 4, 1, 0.8) },
    ];
    store.keep_samples(&given, NOW).await.unwrap();
    store.keep_samples(&[], NOW).await.unwrap();
    store.reopen().await;
    let kept = store.samples(scope.project(), None, NOW, MANY).await.unwrap();
    let [one, refused, forbidden, below] = given;
    let sampled: Vec<_> = kept.iter().map(|sample| sample.sampled.clone()).collect();
    assert_eq!(sampled, [one, below, refused, forbidden]);
    for sample in &kept {
        let told = (&*sample.prompt, &*sample.model, sample.context.as_deref());
        assert_eq!(told, ("cats \0 \u{1F408}", "m", Some("in \0 context")));
        let place = sample.sampled.place();
        assert_eq!(store.sample(scope.project(), place, NOW).await.unwrap().as_ref(), Some(sample));
    }
}

async fn they_are_read_page_by_page(store: Subject) {
    let (project, other) = (keeping(&*store, 1, 1000).await, keeping(&*store, 2, 1000).await);
    let given = [(4, 0.8), (1, 0.9), (3, 0.8), (2, 0.95), (5, 0.8)]
        .map(|(number, at)| sample(project, number, 1, at));
    store.keep_samples(&given, NOW).await.unwrap();
    store.keep_samples(&[sample(other, 6, 2, 0.8)], NOW).await.unwrap();
    for limit in 1..=6 {
        let (mut read, mut after) = (Vec::new(), None);
        loop {
            let limit = NonZeroUsize::new(limit).unwrap();
            let page = store.samples(project, after, NOW, limit).await.unwrap();
            assert!(page.len() <= limit.get());
            let Some(last) = page.last() else { break };
            after = Some(last.sampled.place());
            read.extend(page.iter().map(|sample| sample.sampled.id.get()));
        }
        assert_eq!(read, [3, 4, 5, 1, 2], "{limit}");
    }
}

async fn of_long_texts_the_beginnings_are_read(store: Subject) {
    let project = with_project(&*store, 1).await;
    // The last character that there is room for begins a byte before the end.
    let long = |bytes: usize| format!("{}\u{1F408}", "\0".repeat(bytes - 1));
    let context = long(MAX_CONTEXT_BYTES);
    let scope = Scope::new(project, Frame::query(Some("m"), Some(&context)));
    put(&*store, entry(1, &scope, &long(MAX_MATCHED_BYTES))).await;
    store.keep_samples(&[sample(project, 1, 1, 0.9)], NOW).await.unwrap();
    let kept = store.samples(project, None, NOW, MANY).await.unwrap();
    assert_eq!(kept[0].prompt, "\0".repeat(MAX_MATCHED_BYTES - 1));
    assert_eq!(kept[0].context, Some("\0".repeat(MAX_CONTEXT_BYTES - 1)));
}

async fn one_is_read_while_it_is_there(store: Subject) {
    let (project, other) = (keeping(&*store, 1, 1000).await, keeping(&*store, 2, 1000).await);
    let given = NewSample { expires: Some(later(10)), ..sample(project, 1, 1, 0.9) };
    store.keep_samples(std::slice::from_ref(&given), NOW).await.unwrap();
    let read = async |project, place, now| {
        let found = store.sample(project, place, now).await.unwrap();
        found.map(|sample| sample.sampled.id.get())
    };
    let (place, elsewhere) = (given.place(), sample(project, 1, 1, 0.8).place());
    assert_eq!(read(project, place, NOW).await, Some(1));
    assert_eq!(read(project, place, later(10)).await, None, "it ended");
    assert_eq!(read(project, elsewhere, NOW).await, None);
    assert_eq!(read(other, place, NOW).await, None);
    store.delete(project, entry_id(1), &change()).await.unwrap();
    assert_eq!(read(project, place, NOW).await, None);
}

async fn each_band_keeps_the_smallest_numbers(mut store: Subject) {
    let two = 2 * BANDS as u64 + 1;
    let project = keeping(&*store, 1, two).await;
    let of = |numbers: &[i64], similarity| -> Vec<NewSample> {
        numbers.iter().map(|number| sample(project, *number, 1, similarity)).collect()
    };
    store.keep_samples(&of(&[50, 30, 40], 0.911), NOW).await.unwrap();
    assert_eq!(numbers(&*store, project, NOW).await, [30, 40]);
    store.keep_samples(&of(&[60, 35], 0.912), NOW).await.unwrap();
    store.keep_samples(&of(&[90], 0.8), NOW).await.unwrap();
    let both = [of(&[10], 0.913), of(&[80, 85], 0.8)].concat();
    store.keep_samples(&both, NOW).await.unwrap();
    store.reopen().await;
    assert_eq!(numbers(&*store, project, NOW).await, [80, 85, 10, 30]);
}

async fn what_a_project_lets_go_is_gone(mut store: Subject) {
    let project = keeping(&*store, 1, 1000).await;
    let samples: Vec<_> = (1..=5).map(|number| sample(project, number, 1, 0.9)).collect();
    store.keep_samples(&samples, NOW).await.unwrap();
    for (allowed, left) in [(3, 3), (0, 0), (5, 0)] {
        let mut changed: Project = store.project("p1").await.unwrap().unwrap();
        changed.settings.samples = allowed * BANDS as u64;
        let there = numbers(&*store, project, NOW).await.len();
        let beyond = store.samples_beyond(project, changed.settings.samples).await.unwrap();
        assert_eq!(beyond as usize, there - left, "what would go is said before");
        assert!(store.update_project(&changed, &change()).await.unwrap());
        assert_eq!(numbers(&*store, project, NOW).await.len(), left, "{allowed}");
        if allowed == 0 {
            store.keep_samples(&samples, NOW).await.unwrap();
            assert_eq!(numbers(&*store, project, NOW).await, [0; 0], "none are taken");
        }
    }
    store.reopen().await;
    assert_eq!(numbers(&*store, project, NOW).await, [0; 0]);
}

async fn they_go_with_their_entry(mut store: Subject) {
    let project = keeping(&*store, 1, 1000).await;
    for (number, prompt) in [(2, "dogs"), (3, "bats")] {
        put(&*store, entry(number, &scope(project), prompt)).await;
    }
    let all: Vec<_> = (1..=3).map(|number| sample(project, number.into(), number, 0.9)).collect();
    store.keep_samples(&all, NOW).await.unwrap();
    assert!(store.delete(project, entry_id(2), &change()).await.unwrap());
    assert_eq!(numbers(&*store, project, NOW).await, [1, 3]);
    let bats = EntryFilter { text: Some("bats".into()), ..EntryFilter::default() };
    assert_eq!(store.purge(project, &bats, &change()).await.unwrap(), 1);
    assert_eq!(numbers(&*store, project, NOW).await, [1]);
    // What is gone is not sampled.
    store.keep_samples(&all, NOW).await.unwrap();
    store.reopen().await;
    assert_eq!(numbers(&*store, project, NOW).await, [1]);
    assert_eq!(store.purge(project, &EntryFilter::default(), &change()).await.unwrap(), 1);
    assert_eq!(numbers(&*store, project, NOW).await, [0; 0]);
}

async fn they_go_with_their_project(mut store: Subject) {
    let project = keeping(&*store, 1, 1000).await;
    store.keep_samples(&[sample(project, 1, 1, 0.9)], NOW).await.unwrap();
    store.delete_project(project, &change()).await.unwrap();
    store.keep_samples(&[sample(project, 2, 1, 0.9)], NOW).await.unwrap();
    keeping(&*store, 1, 1000).await;
    store.reopen().await;
    assert_eq!(numbers(&*store, project, NOW).await, [0; 0]);
}

async fn they_end_at_their_time(mut store: Subject) {
    let project = keeping(&*store, 1, 1000).await;
    let ending = |number, after| NewSample { expires: Some(later(after)), ..sample(project, number, 1, 0.9) };
    let given = [ending(1, 10), ending(2, 20), sample(project, 3, 1, 0.9), ending(4, -1)];
    store.keep_samples(&given, NOW).await.unwrap();
    assert_eq!(numbers(&*store, project, NOW).await, [1, 2, 3]);
    assert_eq!(numbers(&*store, project, later(10)).await, [2, 3]);
    let one = NonZeroUsize::MIN;
    assert_eq!(store.sweep_samples(later(9), MANY).await.unwrap(), 0);
    assert_eq!(store.sweep_samples(later(20), one).await.unwrap(), 1);
    store.reopen().await;
    assert_eq!(store.sweep_samples(later(20), MANY).await.unwrap(), 1);
    // Really gone, not only hidden.
    assert_eq!(numbers(&*store, project, NOW).await, [3]);

    let mut short = entry(9, &scope(project), "short");
    short.entry.expires = Some(later(10));
    put(&*store, short).await;
    store.keep_samples(&[sample(project, 9, 9, 0.9)], NOW).await.unwrap();
    assert_eq!(numbers(&*store, project, later(9)).await, [3, 9]);
    assert_eq!(numbers(&*store, project, later(10)).await, [3], "the entry expired");
}

async fn projects_have_their_own(mut store: Subject) {
    let (one, two) = (keeping(&*store, 1, 1000).await, keeping(&*store, 2, 1000).await);
    let foreign = sample(one, 3, 2, 0.9);
    let given = [sample(one, 1, 1, 0.9), sample(two, 2, 2, 0.9), foreign];
    store.keep_samples(&given, NOW).await.unwrap();
    store.reopen().await;
    assert_eq!(numbers(&*store, one, NOW).await, [1], "an entry of another project is none");
    assert_eq!(numbers(&*store, two, NOW).await, [2]);
    assert_eq!(numbers(&*store, project_id(3), NOW).await, [0; 0]);
}

async fn a_sample_is_kept_once(store: Subject) {
    let project = keeping(&*store, 1, 1000).await;
    let first = sample(project, 1, 1, 0.9);
    for again in [first.clone(), NewSample { asked: "another".into(), ..first.clone() }] {
        store.keep_samples(&[again], NOW).await.unwrap();
    }
    let kept = store.samples(project, None, NOW, MANY).await.unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].sampled, first);
}
