//! Looking into a cache.

use std::num::NonZeroUsize;

use super::fixtures::{
    MANY, NOW, assert_found, at_angle, chat, embedder, entry, entry_id, later, project_id, put, scope,
    turned, with_project,
};
use super::{Subject, register};
use crate::analytics::{EntryHits, UsageBatch};
use crate::cache::{EntryDetail, Frame, NewEntry, Scope};
use crate::id::{EntryId, ProjectId};
use crate::money::NanoUsd;
use crate::store::{EntryColumn, EntryFilter, EntryOrder, LISTED, Order, Store};
use crate::testing::change;

register!["browse":
    entries_page_newest_first,
    entries_are_listed_by_each_column_both_ways,
    entries_that_are_hit_meanwhile_move_and_no_other,
    filters_narrow_what_is_browsed,
    text_is_found_in_prompt_and_answer,
    text_is_found_whatever_its_case,
    entries_of_all_scopes_are_found_by_their_vectors,
    purge_deletes_what_was_counted,
    details_tell_hits_and_savings,
    a_list_has_the_beginning_of_long_answers,
    contexts_and_models_are_counted,
];

fn all() -> EntryFilter {
    EntryFilter::default()
}

fn with_text(text: &str) -> EntryFilter {
    EntryFilter { text: Some(text.to_owned()), ..all() }
}

async fn browsed(store: &dyn Store, project: ProjectId, filter: &EntryFilter) -> Vec<EntryId> {
    let found = store.browse(project, filter, EntryOrder::NEWEST, None, MANY).await.unwrap();
    assert_eq!(store.count_matching(project, filter).await.unwrap(), found.len() as u64);
    found.into_iter().map(|detail| detail.entry.id).collect()
}

fn created(mut new: NewEntry, after: i64) -> NewEntry {
    new.entry.created = later(after);
    new
}

async fn entries_page_newest_first(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    let two = with_project(&*store, 2).await;
    // Several at the same time: these go by id.
    for (number, after) in [(1, 5), (2, 5), (3, 1), (4, 9), (5, 5)] {
        put(&*store, created(entry(number, &scope(one), &number.to_string()), after)).await;
    }
    put(&*store, entry(6, &scope(two), "foreign")).await;
    store.reopen().await;
    assert_eq!(browsed(&*store, one, &all()).await, [4, 5, 2, 1, 3].map(entry_id));
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = store.browse(one, &all(), EntryOrder::NEWEST, after, NonZeroUsize::new(2).unwrap()).await;
        let page = page.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(EntryOrder::NEWEST.cursor(last));
        seen.extend(page.iter().map(|detail| detail.entry.id));
        // What comes and goes between two pages moves nothing else.
        store.delete(one, entry_id(2), &change()).await.unwrap();
        let new = 10 + seen.len() as u32;
        put(&*store, created(entry(new, &scope(one), &new.to_string()), 50)).await;
    }
    assert_eq!(seen, [4, 5, 1, 3].map(entry_id));
}

/// Notes that these entries were hit: so often, the last time so long after the beginning.
async fn hit(store: &dyn Store, project: ProjectId, entries: &[(u32, u64, i64)]) {
    let mut batch = UsageBatch::default();
    for (number, hits, last) in entries.iter().copied().filter(|(_, hits, _)| *hits > 0) {
        let hits = EntryHits { hits, last_hit: later(last), saved: NanoUsd::ZERO };
        batch.entries.insert((project, entry_id(number)), hits);
    }
    store.record(&batch).await.unwrap();
}

/// All that pass the filter, read in pages of this size.
async fn paged(
    store: &dyn Store,
    project: ProjectId,
    filter: &EntryFilter,
    order: EntryOrder,
    size: usize,
) -> Vec<EntryId> {
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page =
            store.browse(project, filter, order, after, NonZeroUsize::new(size).unwrap()).await.unwrap();
        let Some(last) = page.last() else { return seen };
        after = Some(order.cursor(last));
        seen.extend(page.iter().map(|detail| detail.entry.id));
    }
}

async fn entries_are_listed_by_each_column_both_ways(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    // When each was stored, how often it was hit, and when last.
    let entries = [(1, 5, 3, 50), (2, 5, 3, 20), (3, 1, 0, 0), (4, 9, 7, 50), (5, 5, 0, 0)];
    for (number, after, ..) in entries {
        put(&*store, created(entry(number, &scope(one), &number.to_string()), after)).await;
    }
    let n = Scope::new(one, Frame::query(Some("n"), None));
    put(&*store, created(entry(6, &n, "another model"), 7)).await;
    put(&*store, entry(7, &scope(two), "another project")).await;
    let hits: Vec<_> = entries.iter().map(|(number, _, hits, last)| (*number, *hits, *last)).collect();
    hit(&*store, one, &hits).await;
    hit(&*store, one, &[(6, 9, 30)]).await;
    hit(&*store, two, &[(7, 5, 40)]).await;
    store.reopen().await;
    let m = EntryFilter { model: Some("m".into()), ..all() };
    for (by, filter, numbers) in [
        (EntryColumn::Created, &all(), vec![4, 6, 5, 2, 1, 3]),
        (EntryColumn::LastUsed, &all(), vec![4, 1, 6, 2, 5, 3]),
        (EntryColumn::Hits, &all(), vec![6, 4, 2, 1, 5, 3]),
        (EntryColumn::LastUsed, &m, vec![4, 1, 2, 5, 3]),
        (EntryColumn::Hits, &m, vec![4, 2, 1, 5, 3]),
    ] {
        let ids: Vec<_> = numbers.iter().copied().map(entry_id).collect();
        let turned: Vec<_> = ids.iter().copied().rev().collect();
        for size in 1..=ids.len() + 1 {
            let listed = async |descends| paged(&*store, one, filter, Order { by, descends }, size).await;
            assert_eq!(listed(true).await, ids, "{by:?}, {size} a page");
            assert_eq!(listed(false).await, turned, "{by:?} turned, {size} a page");
        }
    }
}

async fn entries_that_are_hit_meanwhile_move_and_no_other(store: Subject) {
    let project = with_project(&*store, 1).await;
    for number in 1..=6 {
        put(&*store, entry(number, &scope(project), &number.to_string())).await;
    }
    hit(&*store, project, &[(1, 1, 1), (2, 2, 2), (3, 2, 3), (4, 2, 4), (5, 5, 5), (6, 6, 6)]).await;
    let order = Order { by: EntryColumn::Hits, descends: true };
    let first = store.browse(project, &all(), order, None, NonZeroUsize::new(3).unwrap()).await.unwrap();
    let ids = |page: &[EntryDetail]| page.iter().map(|detail| detail.entry.id).collect::<Vec<_>>();
    assert_eq!(ids(&first), [6, 5, 4].map(entry_id));
    let after = first.last().map(|last| order.cursor(last));
    // The last that was seen goes, one behind it is hit often, and one comes that was never hit.
    store.delete(project, entry_id(4), &change()).await.unwrap();
    hit(&*store, project, &[(2, 9, 9)]).await;
    put(&*store, entry(7, &scope(project), "7")).await;
    let rest = store.browse(project, &all(), order, after, MANY).await.unwrap();
    assert_eq!(ids(&rest), [3, 1, 7].map(entry_id));
}

async fn filters_narrow_what_is_browsed(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let mut number = 0;
    for model in ["m", "n"] {
        for context in [None, Some(""), Some("c")] {
            number += 1;
            put(&*store, entry(number, &Scope::new(project, Frame::query(Some(model), context)), "hello"))
                .await;
        }
    }
    store.reopen().await;
    let n = Some("n".to_owned());
    let only = |model: &Option<String>, context: Option<Option<&str>>| EntryFilter {
        model: model.clone(),
        context: context.map(|context| context.map(str::to_owned)),
        text: None,
    };
    assert_eq!(browsed(&*store, project, &only(&n, None)).await, [6, 5, 4].map(entry_id));
    assert_eq!(browsed(&*store, project, &only(&None, Some(None))).await, [4, 1].map(entry_id));
    assert_eq!(browsed(&*store, project, &only(&None, Some(Some("")))).await, [5, 2].map(entry_id));
    assert_eq!(browsed(&*store, project, &only(&n, Some(Some("c")))).await, [6].map(entry_id));
    assert_eq!(
        browsed(&*store, project, &EntryFilter { text: Some("x".into()), ..only(&n, None) }).await,
        []
    );
    assert_eq!(browsed(&*store, project_id(2), &all()).await, []);
}

async fn text_is_found_in_prompt_and_answer(store: Subject) {
    let project = with_project(&*store, 1).await;
    put(&*store, entry(1, &scope(project), "Reset my PASSWORD 100%")).await;
    let mut second = entry(2, &scope(project), "other");
    second.entry.answer.text = "use the password_page, Ärger".into();
    put(&*store, second).await;
    for (text, found) in [
        ("password", vec![2, 1]),
        ("reset MY", vec![1]),
        ("100%", vec![1]),
        ("0%0", vec![]),
        ("password_", vec![2]),
        ("Ärger", vec![2]),
        ("", vec![2, 1]),
        ("nowhere", vec![]),
    ] {
        let ids: Vec<EntryId> = found.into_iter().map(entry_id).collect();
        assert_eq!(browsed(&*store, project, &with_text(text)).await, ids, "{text}");
    }
}

async fn text_is_found_whatever_its_case(store: Subject) {
    let project = with_project(&*store, 1).await;
    for (number, prompt) in [
        (1, "Une ÉCOLE à Paris"),
        (2, "Как СБРОСИТЬ пароль?"),
        (3, "Η ΟΔΟΣ \0 και η οδός"),
        (4, "Straße und STRASSE"),
        (5, "300 \u{212A}, 漢字"),
    ] {
        put(&*store, entry(number, &scope(project), prompt)).await;
    }
    for (text, found) in [
        ("école À p", vec![1]),
        ("ecole", vec![]),
        ("сбросить ПАРОЛЬ", vec![2]),
        ("οδος \0", vec![3]),
        ("οδοσ", vec![3]),
        ("ΌΔΌΣ", vec![]),
        ("straSSE", vec![4]),
        ("STRAßE", vec![4]),
        ("300 k", vec![5]),
        ("漢", vec![5]),
    ] {
        let ids: Vec<EntryId> = found.into_iter().map(entry_id).collect();
        assert_eq!(browsed(&*store, project, &with_text(text)).await, ids, "{text}");
    }
}

async fn entries_of_all_scopes_are_found_by_their_vectors(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let of = |model: &str, context: Option<&str>| Scope::new(one, Frame::query(Some(model), context));
    let scopes = [of("m", None), of("n", Some("c")), chat(one), of("n", None), of("m", None)];
    for ((number, degrees), scope) in (1..).zip([30.0, 10.0, 20.0, 10.0, 170.0]).zip(&scopes) {
        put(&*store, turned(entry(number, scope, &number.to_string()), degrees)).await;
    }
    put(&*store, entry(6, &scope(two), "another project's")).await;
    let long = NewEntry { vectors: Vec::new(), ..entry(7, &scopes[0], "too long for a vector") };
    put(&*store, long).await;
    let other = NewEntry { vectors: vec![(embedder("f"), at_angle(0.0))], ..entry(8, &scopes[0], "f") };
    put(&*store, other).await;
    store.reopen().await;
    let found = async |filter: EntryFilter, limit: usize| {
        let limit = NonZeroUsize::new(limit).unwrap();
        let probe = at_angle(0.0);
        let found = store.similar(one, &filter, &embedder("e"), &probe, limit).await.unwrap();
        for (detail, _) in &found {
            assert_eq!(store.entry(one, detail.entry.id).await.unwrap().as_ref(), Some(detail));
        }
        let ids: Vec<EntryId> = found.iter().map(|(detail, _)| detail.entry.id).collect();
        (ids, found.into_iter().map(|(_, similarity)| similarity.get()).collect::<Vec<_>>())
    };
    let (ids, similarities) = found(all(), 10).await;
    assert_eq!(ids, [2, 4, 3, 1, 5].map(entry_id));
    assert!((similarities[0] - 0.985).abs() < 0.001 && similarities[4] == 0.0, "{similarities:?}");
    assert_eq!(found(all(), 3).await.0, [2, 4, 3].map(entry_id), "the lowest ids among equals");
    let n = EntryFilter { model: Some("n".into()), ..all() };
    assert_eq!(found(n.clone(), 10).await.0, [2, 4].map(entry_id));
    assert_eq!(found(EntryFilter { context: Some(None), ..n }, 10).await.0, [4].map(entry_id));
    assert_eq!(found(with_text("answer 3"), 10).await.0, [3].map(entry_id));
}

async fn purge_deletes_what_was_counted(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    put(&*store, entry(1, &scope, "keep me")).await;
    put(&*store, entry(2, &scope, "drop me")).await;
    let filter = with_text("DROP me");
    assert_eq!(store.count_matching(scope.project(), &filter).await.unwrap(), 1);
    assert_eq!(store.purge(scope.project(), &filter, &change()).await.unwrap(), 1);
    store.reopen().await;
    assert_found(&*store, &scope, "keep me", NOW, true).await;
    assert_found(&*store, &scope, "drop me", NOW, false).await;
}

async fn details_tell_hits_and_savings(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    let scope = Scope::new(project, Frame::query(Some("m"), Some("c")));
    let new = put(&*store, entry(1, &scope, "hello")).await;
    let before = store.entry(project, entry_id(1)).await.unwrap().unwrap();
    assert_eq!((before.hits, before.last_hit, before.saved), (0, None, NanoUsd::ZERO));
    for (hits, at, saved) in [(2, 50, 7), (1, 40, 5)] {
        let mut batch = UsageBatch::default();
        let hits = EntryHits { hits, last_hit: later(at), saved: NanoUsd::from_nanos(saved) };
        batch.entries.insert((project, entry_id(1)), hits);
        batch.entries.insert((project, entry_id(9)), hits);
        store.record(&batch).await.unwrap();
    }
    store.reopen().await;
    let detail = store.entry(project, entry_id(1)).await.unwrap().unwrap();
    assert_eq!((&detail.entry, detail.context.as_deref()), (&*new, Some("c")));
    assert_eq!((detail.hits, detail.last_hit), (3, Some(later(50))));
    assert_eq!(detail.saved, NanoUsd::from_nanos(12));
    assert_eq!(store.browse(project, &all(), EntryOrder::NEWEST, None, MANY).await.unwrap(), [detail]);
    assert_eq!(store.entry(project, entry_id(9)).await.unwrap(), None);
    assert_eq!(store.entry(project_id(2), entry_id(1)).await.unwrap(), None);
}

async fn a_list_has_the_beginning_of_long_answers(store: Subject) {
    let project = with_project(&*store, 1).await;
    let long = "ä".repeat(3 * LISTED);
    let mut new = entry(1, &scope(project), "hello");
    new.entry.answer.text = long.clone();
    put(&*store, new).await;
    let hits = EntryHits { hits: 1, last_hit: later(1), saved: NanoUsd::from_nanos(1) };
    let mut batch = UsageBatch::default();
    batch.entries.insert((project, entry_id(1)), hits);
    store.record(&batch).await.unwrap();
    let listed = [
        store.browse(project, &all(), EntryOrder::NEWEST, None, MANY).await.unwrap(),
        store.top_entries(project, &all(), NOW, MANY).await.unwrap(),
    ];
    for listed in listed {
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].entry.answer.text, "ä".repeat(LISTED));
    }
    let whole = store.entry(project, entry_id(1)).await.unwrap().unwrap();
    assert_eq!(whole.entry.answer.text, long);
}

async fn contexts_and_models_are_counted(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    let two = with_project(&*store, 2).await;
    let mut number = 0;
    for (project, model, context, count) in [
        (one, "a", Some("x"), 1),
        (one, "b", Some("x"), 2),
        (one, "b", None, 2),
        (one, "c", Some("gone"), 1),
        (one, "c", Some("y"), 2),
        (two, "z", Some("z"), 1),
    ] {
        for _ in 0..count {
            number += 1;
            put(
                &*store,
                entry(number, &Scope::new(project, Frame::query(Some(model), context)), &number.to_string()),
            )
            .await;
        }
    }
    let gone = EntryFilter { context: Some(Some("gone".into())), ..all() };
    store.purge(one, &gone, &change()).await.unwrap();
    store.reopen().await;
    let text = |text: &str| Some(text.to_owned());
    let contexts = store.contexts_of(one, MANY, MANY).await.unwrap();
    assert_eq!(contexts, [(text("x"), 3), (None, 2), (text("y"), 2)]);
    let models = store.models_of(one, MANY, MANY).await.unwrap();
    assert_eq!(models, [("b".to_owned(), 4), ("c".to_owned(), 2), ("a".to_owned(), 1)]);
    let first = NonZeroUsize::MIN;
    assert_eq!(store.contexts_of(one, MANY, first).await.unwrap().len(), 1);
    assert_eq!(store.models_of(one, MANY, first).await.unwrap(), [("b".to_owned(), 4)]);
    assert_eq!(store.contexts_of(project_id(3), MANY, MANY).await.unwrap(), []);
    // Counted among the newest: two of the context y, one without.
    let three = NonZeroUsize::new(3).unwrap();
    assert_eq!(store.contexts_of(one, three, MANY).await.unwrap(), [(text("y"), 2), (None, 1)]);
    assert_eq!(store.models_of(one, three, MANY).await.unwrap(), [("c".to_owned(), 2), ("b".to_owned(), 1)]);
}
