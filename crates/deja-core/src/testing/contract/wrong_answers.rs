//! Answers that people found wrong, and what that forbids.

use std::num::NonZeroUsize;

use super::fixtures::{
    MANY, NOW, assert_found, at_angle, chat, embedder, entry, entry_id, later, project_id, put, recorded,
    scope, turned, with_project,
};
use super::labels::{said, wrong};
use super::{Subject, register};
use crate::audit::AuditFilter;
use crate::cache::{Frame, LabelSource, Labelled, Met, PromptHash, Scope};
use crate::clock::Timestamp;
use crate::embedding::{EmbedderId, Embedding, Similarity, Threshold};
use crate::id::{EntryId, ProjectId};
use crate::store::{NewLabel, Probe, Quarantined, Store};
use crate::testing::{change, change_at};

register!["wrong_answers":
    the_entry_stays_and_the_pair_is_kept,
    a_pair_is_forbidden_in_both_directions,
    a_pair_goes_by_its_texts,
    rewordings_nearer_to_the_asked_prompt_are_forbidden_with_it,
    another_embedder_knows_the_pair_alone,
    it_is_forbidden_in_the_whole_project_and_nowhere_else,
    a_prompt_is_never_forbidden_to_itself,
    only_a_served_answer_that_people_found_wrong_is_forbidden,
    who_forbade_a_pair_may_allow_it_and_an_operator_may_allow_all,
    the_third_wrong_answer_within_a_day_is_quarantine,
    an_entry_in_quarantine_answers_its_own_prompt_until_it_is_released,
    they_go_with_their_project,
    wrong_answers_page_newest_first,
    the_newest_are_kept,
    a_pair_is_forbidden_as_long_as_one_word_of_it_is_kept,
];

fn of(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap()
}

/// Somebody at the console says that the entry answered `asked` wrongly.
async fn mark(store: &dyn Store, project: ProjectId, number: u32, asked: &str) -> Option<Labelled> {
    store.label(project, wrong(number, asked), &change_at(NOW)).await.unwrap()
}

/// Labels entry 1 as wrong for `asked`, whose vector by the embedder `e` is at `degrees`.
async fn mark_at(store: &dyn Store, project: ProjectId, asked: &str, degrees: f32) {
    let (by, vector) = (embedder("e"), at_angle(degrees));
    let label = NewLabel { vector: Some((&by, &vector)), ..wrong(1, asked) };
    assert_eq!(store.label(project, label, &change_at(NOW)).await.unwrap(), Some(Labelled::Forbidden));
}

fn probe<'a>(by: &'a EmbedderId, embedding: &'a Embedding, prompt: &str) -> Probe<'a> {
    let (threshold, limit) = (Threshold::ZERO, NonZeroUsize::new(10).unwrap());
    Probe { embedder: by, embedding, prompt: PromptHash::of(prompt), threshold, limit }
}

/// The entries near `degrees` as candidates for `prompt`, and which of them must not answer it. A follower of a flight
/// for an entry's prompt is told the same.
async fn judged_from(store: &dyn Store, scope: &Scope, prompt: &str, degrees: f32) -> Vec<(EntryId, bool)> {
    let (by, embedding) = (embedder("e"), at_angle(degrees));
    let probe = probe(&by, &embedding, prompt);
    let found = store.nearest(scope, probe, NOW).await.unwrap();
    let mut judged = Vec::new();
    for candidate in found {
        let (id, matched) = (candidate.entry.id, PromptHash::of(&candidate.entry.prompt));
        let near = candidate.similarity;
        let forbidden = store.is_forbidden(scope.project(), probe, &matched, near).await.unwrap();
        assert_eq!(candidate.forbidden, forbidden, "{prompt} and {}", candidate.entry.prompt);
        judged.push((id, forbidden));
    }
    judged
}

async fn judged(store: &dyn Store, scope: &Scope, prompt: &str) -> Vec<(EntryId, bool)> {
    judged_from(store, scope, prompt, 0.0).await
}

/// Whether an entry of `matched` must not answer `prompt`, as far as the two alone say.
async fn pair(store: &dyn Store, project: ProjectId, prompt: &str, matched: &str) -> bool {
    let (by, embedding) = (embedder("nobody's"), at_angle(0.0));
    let probe = probe(&by, &embedding, prompt);
    store.is_forbidden(project, probe, &PromptHash::of(matched), Similarity::ZERO).await.unwrap()
}

async fn the_entry_stays_and_the_pair_is_kept(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    with_project(&*store, 2).await;
    put(&*store, entry(1, &scope, "cats")).await;
    assert_eq!(mark(&*store, project_id(2), 1, "bats").await, None, "foreign");
    let marked = store.label(scope.project(), wrong(1, "bats \u{1F987}\0"), &change_at(later(7))).await;
    assert_eq!(marked.unwrap(), Some(Labelled::Forbidden));
    assert_eq!(mark(&*store, scope.project(), 9, "bats").await, None, "gone");
    store.reopen().await;
    assert_found(&*store, &scope, "cats", NOW, true).await;
    let kept = store.wrong_answers(scope.project(), None, MANY).await.unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!((&*kept[0].asked, &*kept[0].matched, &*kept[0].model), ("bats \u{1F987}\0", "cats", "m"));
    assert_eq!((kept[0].at, kept[0].similarity), (later(7), Similarity::from_cosine(0.875)));
    assert_eq!(kept[0].source, LabelSource::Console);
    assert_eq!(store.wrong_answers(project_id(2), None, MANY).await.unwrap(), []);
}

/// Whatever an entry is found by: a wire format may have something else than the hash of the question.
async fn a_pair_goes_by_its_texts(mut store: Subject) {
    let scope = chat(with_project(&*store, 1).await);
    put(&*store, recorded(1, &scope, "cats")).await;
    mark(&*store, scope.project(), 1, "bats").await;
    store.reopen().await;
    for (prompt, forbidden) in [("bats", true), ("rats", false), ("cats", false)] {
        assert_eq!(judged(&*store, &scope, prompt).await, [(entry_id(1), forbidden)], "{prompt}");
    }
    let number = store.wrong_answers(scope.project(), None, MANY).await.unwrap()[0].number;
    assert!(store.allow(scope.project(), number, &change()).await.unwrap());
    assert_eq!(judged(&*store, &scope, "bats").await, [(entry_id(1), false)]);
    let labels = store.labels(scope.project(), NOW, MANY).await.unwrap();
    assert!(labels.is_empty(), "what was said is taken back: {labels:?}");
}

async fn a_pair_is_forbidden_in_both_directions(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    let [cats, dogs, bats] = [1, 2, 3].map(entry_id);
    put(&*store, entry(1, &scope, "cats")).await;
    put(&*store, turned(entry(2, &scope, "dogs"), 1.0)).await;
    assert_eq!(judged(&*store, &scope, "bats").await, [(cats, false), (dogs, false)]);
    assert_eq!(mark(&*store, scope.project(), 1, "bats").await, Some(Labelled::Forbidden));
    // At once, and the second time it is kept once.
    assert_eq!(judged(&*store, &scope, "bats").await, [(cats, true), (dogs, false)]);
    assert_eq!(mark(&*store, scope.project(), 1, "bats").await, Some(Labelled::Forbidden));
    assert_eq!(store.wrong_answers(scope.project(), None, MANY).await.unwrap().len(), 1);
    put(&*store, turned(entry(3, &scope, "bats"), 2.0)).await;
    store.reopen().await;
    assert_eq!(judged(&*store, &scope, "bats").await, [(cats, true), (dogs, false), (bats, false)]);
    assert_eq!(judged(&*store, &scope, "cats").await, [(cats, false), (dogs, false), (bats, true)]);
    assert_eq!(judged(&*store, &scope, "dogs").await, [(cats, false), (dogs, false), (bats, false)]);
    // The pair outlives the entry: the same prompt may be stored again.
    store.delete(scope.project(), cats, &change()).await.unwrap();
    put(&*store, entry(4, &scope, "cats")).await;
    assert_eq!(judged(&*store, &scope, "bats").await[0], (entry_id(4), true));
}

async fn rewordings_nearer_to_the_asked_prompt_are_forbidden_with_it(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    let [cats, dogs] = [1, 2].map(entry_id);
    put(&*store, entry(1, &scope, "cats")).await;
    put(&*store, turned(entry(2, &scope, "dogs"), 12.0)).await;
    mark_at(&*store, scope.project(), "bats", 10.0).await;
    store.reopen().await;
    for (degrees, expected) in [
        // Nearer to the entry than to what was blocked.
        (0.0, [(cats, false), (dogs, false)]),
        (4.0, [(cats, false), (dogs, false)]),
        (-20.0, [(cats, false), (dogs, false)]),
        // Nearer to what was blocked than to the entry. The entry beside it is not affected.
        (7.0, [(dogs, false), (cats, true)]),
        (10.0, [(dogs, false), (cats, true)]),
        (30.0, [(dogs, false), (cats, true)]),
        // As near to nothing: no angle beyond a right one counts.
        (105.0, [(cats, false), (dogs, false)]),
    ] {
        assert_eq!(judged_from(&*store, &scope, "vampires", degrees).await, expected, "{degrees}");
    }
    // Its own prompt is never refused, wherever its vector lies.
    assert_eq!(judged_from(&*store, &scope, "cats", 10.0).await, [(dogs, false), (cats, false)]);
    assert_found(&*store, &scope, "cats", NOW, true).await;
}

async fn another_embedder_knows_the_pair_alone(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "cats")).await;
    mark_at(&*store, scope.project(), "bats", 10.0).await;
    store.reopen_for("f").await;
    let (f, at) = (embedder("f"), at_angle(10.0));
    store.put_vector(scope.project(), entry_id(1), &f, Some(&at_angle(0.0))).await.unwrap();
    for (prompt, expected) in [("bats", true), ("vampires", false), ("cats", false)] {
        let found = store.nearest(&scope, probe(&f, &at, prompt), NOW).await.unwrap();
        let near = found[0].similarity;
        let found: Vec<_> = found.into_iter().map(|found| (found.entry.id, found.forbidden)).collect();
        assert_eq!(found, [(entry_id(1), expected)], "{prompt}");
        let (asked, matched) = (probe(&f, &at, prompt), PromptHash::of("cats"));
        let forbidden = store.is_forbidden(scope.project(), asked, &matched, near).await.unwrap();
        assert_eq!(forbidden, expected, "{prompt}");
    }
    // A vector of as many dimensions as nobody's is no fault.
    let longer = Embedding::new(vec![1.0, 0.0, 0.0]).unwrap();
    let (e, matched) = (embedder("e"), PromptHash::of("cats"));
    store.reopen_for("e").await;
    let asked = probe(&e, &longer, "vampires");
    assert!(!store.is_forbidden(scope.project(), asked, &matched, Similarity::ZERO).await.unwrap());
}

async fn it_is_forbidden_in_the_whole_project_and_nowhere_else(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let elsewhere = Scope::new(one, Frame::query(Some("n"), Some("c")));
    for (number, scope) in [(1, scope(one)), (2, elsewhere.clone()), (3, scope(two))] {
        put(&*store, entry(number, &scope, "cats")).await;
    }
    for (asked, degrees) in [("bats", 10.0), ("rats", 20.0)] {
        mark_at(&*store, one, asked, degrees).await;
    }
    store.reopen().await;
    for asked in ["bats", "rats"] {
        assert_eq!(judged(&*store, &elsewhere, asked).await, [(entry_id(2), true)], "another scope");
        assert_eq!(judged(&*store, &scope(two), asked).await, [(entry_id(3), false)], "another project");
        assert!(!pair(&*store, two, asked, "cats").await);
        assert!(pair(&*store, one, asked, "cats").await && pair(&*store, one, "cats", asked).await);
    }
    assert_eq!(judged_from(&*store, &elsewhere, "wings", 9.0).await, [(entry_id(2), true)]);
    assert_eq!(judged_from(&*store, &scope(two), "wings", 9.0).await, [(entry_id(3), false)]);
}

async fn a_prompt_is_never_forbidden_to_itself(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "cats")).await;
    mark_at(&*store, scope.project(), "cats", 0.0).await;
    store.reopen().await;
    assert_eq!(judged(&*store, &scope, "cats").await, [(entry_id(1), false)]);
    assert!(!pair(&*store, scope.project(), "cats", "cats").await);
    assert_found(&*store, &scope, "cats", NOW, true).await;
}

async fn only_a_served_answer_that_people_found_wrong_is_forbidden(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "cats")).await;
    let label = |source, met, answers| NewLabel { met, answers, source, ..wrong(1, "bats") };
    for (source, met, answers) in [
        (LabelSource::Judge, Met::Served, false),
        (LabelSource::Judge, Met::Served, true),
        (LabelSource::Api, Met::Refused, false),
        (LabelSource::Api, Met::Refused, true),
        (LabelSource::Console, Met::NearMiss, false),
        (LabelSource::Console, Met::Served, true),
    ] {
        let kept = store.label(scope.project(), label(source, met, answers), &change()).await.unwrap();
        assert_eq!(kept, Some(Labelled::Kept), "{source:?} {met:?} {answers}");
        assert_eq!(judged(&*store, &scope, "bats").await, [(entry_id(1), false)]);
    }
    store.reopen().await;
    assert_eq!(judged(&*store, &scope, "bats").await, [(entry_id(1), false)]);
    assert_eq!(store.wrong_answers(scope.project(), None, MANY).await.unwrap(), []);
    assert_eq!(store.changes(&AuditFilter::of(scope.project()), None, MANY).await.unwrap(), []);
}

async fn who_forbade_a_pair_may_allow_it_and_an_operator_may_allow_all(mut store: Subject) {
    let (project, other) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let scope = scope(project);
    put(&*store, entry(1, &scope, "cats")).await;
    put(&*store, turned(entry(2, &scope, "rats"), 1.0)).await;
    put(&*store, entry(4, &super::fixtures::scope(other), "cats")).await;
    assert!(mark(&*store, other, 4, "bats").await.is_some());
    let (by, vector) = (embedder("e"), at_angle(10.0));
    let say = async |store: &dyn Store, source, answers| {
        let said = NewLabel { vector: Some((&by, &vector)), source, answers, ..wrong(1, "bats") };
        store.label(project, said, &change()).await.unwrap().unwrap()
    };
    let forbidden = async |store: &dyn Store| judged_from(store, &scope, "bats", 8.0).await[1].1;
    assert_eq!(say(&*store, LabelSource::Api, false).await, Labelled::Forbidden);
    assert_eq!(say(&*store, LabelSource::Api, true).await, Labelled::Allowed);
    assert!(!forbidden(&*store).await);
    assert_eq!(say(&*store, LabelSource::Api, false).await, Labelled::Forbidden);
    assert_eq!(say(&*store, LabelSource::Console, false).await, Labelled::Forbidden);
    assert_eq!(say(&*store, LabelSource::Judge, true).await, Labelled::Kept, "a judge decides nothing");
    assert_eq!(say(&*store, LabelSource::Api, true).await, Labelled::Allowed);
    assert!(forbidden(&*store).await, "the console still says so");
    // The other direction, a refusal in another scope, and another pair.
    put(&*store, turned(entry(3, &scope, "bats"), 30.0)).await;
    put(&*store, entry(5, &Scope::new(project, Frame::query(Some("n"), None)), "cats")).await;
    let right = NewLabel { source: LabelSource::Api, answers: true, ..wrong(3, "cats") };
    assert_eq!(store.label(project, right, &change()).await.unwrap(), Some(Labelled::Kept));
    let refused = NewLabel { met: Met::Refused, ..wrong(5, "bats") };
    assert_eq!(store.label(project, refused, &change()).await.unwrap(), Some(Labelled::Kept));
    assert_eq!(say(&*store, LabelSource::Api, false).await, Labelled::Forbidden);
    assert!(mark(&*store, project, 3, "cats").await.is_some());
    assert!(mark(&*store, project, 2, "bats").await.is_some());
    assert_eq!(say(&*store, LabelSource::Judge, false).await, Labelled::Kept);

    store.reopen().await;
    let all = store.wrong_answers(project, None, MANY).await.unwrap();
    let pairs: Vec<_> = all.iter().map(|wrong| (&*wrong.asked, &*wrong.matched, wrong.source)).collect();
    let (api, console) = (LabelSource::Api, LabelSource::Console);
    assert_eq!(pairs[..2], [("bats", "rats", console), ("cats", "bats", console)]);
    assert_eq!(pairs[2..], [("bats", "cats", api), ("bats", "cats", console)]);
    assert!(!store.allow(other, all[2].number, &change()).await.unwrap(), "foreign");
    assert!(!store.allow(project, all[0].number + 1, &change()).await.unwrap(), "nobody's");
    assert!(store.allow(project, all[3].number, &change()).await.unwrap());
    assert!(!store.allow(project, all[2].number, &change()).await.unwrap(), "all of the pair are gone");
    store.reopen().await;
    assert!(!pair(&*store, project, "bats", "cats").await && !pair(&*store, project, "cats", "bats").await);
    assert!(pair(&*store, project, "bats", "rats").await);
    assert_eq!(store.wrong_answers(project, None, MANY).await.unwrap(), all[..1]);
    // That people found it wrong is forgotten. What a judge said, what was refused and what was right are not.
    let left = said(&*store, project).await;
    let kept = [("bats", 1, false), ("bats", 2, false), ("bats", 5, false), ("cats", 3, true)];
    assert_eq!(left, kept.map(|(asked, entry, answers)| (asked.to_owned(), entry_id(entry), answers)));
    // Another project is not affected.
    assert!(pair(&*store, other, "bats", "cats").await);
    assert_eq!(said(&*store, other).await, [("bats".into(), entry_id(4), false)]);
}

async fn in_quarantine(store: &dyn Store, project: ProjectId) -> Vec<Quarantined> {
    store.quarantine(project, MANY).await.unwrap()
}

async fn the_third_wrong_answer_within_a_day_is_quarantine(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let scope = scope(project);
    for (number, prompt) in [(1, "cats"), (2, "dogs"), (3, "cows"), (4, "hens")] {
        put(&*store, entry(number, &scope, prompt)).await;
    }
    let say = async |label: NewLabel<'_>, at: Timestamp| {
        store.label(project, label, &change_at(at)).await.unwrap().unwrap()
    };
    let day = 24 * 3600;
    for (at, number, asked, expected) in [
        (0, 1, "bats", Labelled::Forbidden),
        (1, 1, "rats", Labelled::Forbidden),
        (2, 2, "mats", Labelled::Forbidden),
        // The same prompt again is no third prompt.
        (3, 1, "rats", Labelled::Forbidden),
        (4, 1, "hats", Labelled::Quarantined),
        (5, 1, "lads", Labelled::Forbidden),
        // Just a day, and one more nanosecond would be no day.
        (2 + day - 2, 2, "pads", Labelled::Forbidden),
        (2 + day - 1, 2, "pods", Labelled::Quarantined),
        (3 * day, 3, "pans", Labelled::Forbidden),
        (4 * day, 3, "pins", Labelled::Forbidden),
        (4 * day + 1, 3, "pens", Labelled::Forbidden),
    ] {
        assert_eq!(say(wrong(number, asked), later(at)).await, expected, "{number} {asked}");
    }
    // What is taken back, refusals and a judge's words do not count.
    for (source, met, answers) in [
        (LabelSource::Judge, Met::Served, false),
        (LabelSource::Api, Met::Refused, false),
        (LabelSource::Api, Met::Served, true),
        (LabelSource::Api, Met::Served, false),
    ] {
        let asked = format!("{source:?} {met:?} {answers}");
        let state = say(NewLabel { met, answers, source, ..wrong(4, &asked) }, NOW).await;
        assert_ne!(state, Labelled::Quarantined, "{asked}");
    }
    assert_eq!(say(wrong(4, "taken back"), NOW).await, Labelled::Forbidden);
    assert_eq!(say(NewLabel { answers: true, ..wrong(4, "taken back") }, NOW).await, Labelled::Allowed);
    assert_eq!(say(wrong(4, "second"), NOW).await, Labelled::Forbidden);
    store.reopen().await;
    let expected = [(2, later(day + 1)), (1, later(4))];
    let expected = expected.map(|(number, since)| Quarantined { entry: entry_id(number), since });
    assert_eq!(in_quarantine(&*store, project).await, expected);
    assert_eq!(store.quarantine(project, of(1)).await.unwrap(), expected[..1]);
    let rows = store.changes(&AuditFilter::of(project), None, MANY).await.unwrap();
    assert_eq!(rows, [], "these changes were of no project");
    let rows = store.changes(&AuditFilter::default(), None, MANY).await.unwrap();
    let of_quarantine: Vec<_> =
        rows.iter().rev().filter(|row| row.change.action == "entry.quarantine").collect();
    assert_eq!(of_quarantine.len(), 2);
    assert_eq!(of_quarantine[0].change, change_at(later(4)).quarantining());
}

async fn an_entry_in_quarantine_answers_its_own_prompt_until_it_is_released(mut store: Subject) {
    let (project, other) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let scope = scope(project);
    let [cats, dogs] = [1, 2].map(entry_id);
    put(&*store, entry(1, &scope, "cats")).await;
    put(&*store, turned(entry(2, &scope, "dogs"), 1.0)).await;
    for asked in ["bats", "rats", "hats"] {
        mark(&*store, project, 1, asked).await;
    }
    let near = async |store: &dyn Store, prompt: &str| -> Vec<_> {
        let (by, embedding) = (embedder("e"), at_angle(0.0));
        let found = store.nearest(&scope, probe(&by, &embedding, prompt), NOW).await.unwrap();
        found.into_iter().map(|found| (found.entry.id, found.forbidden)).collect()
    };
    store.reopen().await;
    assert_eq!(near(&*store, "anything").await, [(cats, true), (dogs, false)]);
    assert_found(&*store, &scope, "cats", NOW, true).await;
    assert_eq!(store.quarantined(project, cats).await.unwrap(), Some(NOW));
    for (project, entry) in [(project, dogs), (other, cats)] {
        assert_eq!(store.quarantined(project, entry).await.unwrap(), None);
        assert!(!store.end_quarantine(project, entry, &change()).await.unwrap());
    }
    assert_eq!(in_quarantine(&*store, other).await, []);
    assert!(store.end_quarantine(project, cats, &change()).await.unwrap());
    assert!(!store.end_quarantine(project, cats, &change()).await.unwrap(), "twice");
    store.reopen().await;
    assert_eq!(near(&*store, "anything").await, [(cats, false), (dogs, false)]);
    assert_eq!(near(&*store, "bats").await, [(cats, true), (dogs, false)], "the pairs stay");
    assert_eq!(in_quarantine(&*store, project).await, []);
    // The next wrong answer puts the entry into quarantine again. The quarantine ends with the entry.
    assert_eq!(mark(&*store, project, 1, "lads").await, Some(Labelled::Quarantined));
    store.delete(project, cats, &change()).await.unwrap();
    put(&*store, entry(1, &scope, "cats")).await;
    store.reopen().await;
    assert_eq!(in_quarantine(&*store, project).await, []);
    assert_eq!(near(&*store, "anything").await, [(cats, false), (dogs, false)]);
}

async fn they_go_with_their_project(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    for asked in ["bats", "rats", "hats"] {
        if asked == "bats" {
            put(&*store, entry(1, &scope(project), "cats")).await;
        }
        assert!(mark(&*store, project, 1, asked).await.is_some());
    }
    store.delete_project(project, &change()).await.unwrap();
    with_project(&*store, 1).await;
    put(&*store, entry(1, &scope(project), "cats")).await;
    store.reopen().await;
    assert!(!pair(&*store, project, "bats", "cats").await);
    assert_eq!(judged(&*store, &scope(project), "bats").await, [(entry_id(1), false)]);
    assert_eq!(store.wrong_answers(project, None, MANY).await.unwrap(), []);
    assert_eq!(in_quarantine(&*store, project).await, []);
}

async fn wrong_answers_page_newest_first(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for number in 1..=5 {
        put(&*store, entry(number, &scope, &number.to_string())).await;
        mark(&*store, scope.project(), number, "x").await;
    }
    store.reopen().await;
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = store.wrong_answers(scope.project(), before, NonZeroUsize::new(2).unwrap()).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.number);
        seen.extend(page.into_iter().map(|wrong| wrong.matched));
    }
    assert_eq!(seen, ["5", "4", "3", "2", "1"]);
}

async fn the_newest_are_kept(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    for number in 1..=5 {
        put(&*store, entry(number, &scope(one), &number.to_string())).await;
        mark(&*store, one, number, "x").await;
    }
    put(&*store, entry(6, &scope(two), "6")).await;
    mark(&*store, two, 6, "x").await;
    // A label and a pair each.
    assert_eq!(store.sweep_labels(NOW, of(3), of(1)).await.unwrap(), 2);
    assert_eq!(store.sweep_labels(NOW, of(3), of(10)).await.unwrap(), 2);
    assert_eq!(store.sweep_labels(NOW, of(3), of(10)).await.unwrap(), 0);
    for reopen in [false, true] {
        if reopen {
            store.reopen().await;
        }
        let kept = store.wrong_answers(one, None, MANY).await.unwrap();
        assert_eq!(kept.iter().map(|wrong| &*wrong.matched).collect::<Vec<_>>(), ["5", "4", "3"]);
        assert_eq!(said(&*store, one).await.len(), 3);
        for (matched, expected) in [("2", false), ("3", true)] {
            assert_eq!(pair(&*store, one, "x", matched).await, expected, "{matched}");
        }
        assert!(pair(&*store, two, "x", "6").await);
    }
}

async fn a_pair_is_forbidden_as_long_as_one_word_of_it_is_kept(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    put(&*store, entry(1, &scope(project), "cats")).await;
    for (asked, source) in
        [("bats", LabelSource::Console), ("rats", LabelSource::Console), ("bats", LabelSource::Api)]
    {
        let label = NewLabel { source, ..wrong(1, asked) };
        let labelled = store.label(project, label, &change_at(NOW)).await.unwrap();
        assert_eq!(labelled, Some(Labelled::Forbidden));
    }
    for (newest, bats, rats) in [(2, true, true), (1, true, false)] {
        assert_eq!(store.sweep_labels(NOW, of(newest), of(10)).await.unwrap(), 2, "a label and a pair");
        for reopen in [false, true] {
            if reopen {
                store.reopen().await;
            }
            for (asked, expected) in [("bats", bats), ("rats", rats)] {
                assert_eq!(pair(&*store, project, asked, "cats").await, expected, "{asked} of {newest}");
                assert_eq!(pair(&*store, project, "cats", asked).await, expected, "{asked} of {newest}");
            }
        }
    }
}
