//! Rollups: what analytics is answered from.

use std::num::NonZeroUsize;
use std::time::Duration;

use deja_wire::Wire;

use super::fixtures::{MANY, NOW, entry, entry_id, key, later, project_id, put, scope, with_project};
use super::{Subject, register};
use crate::analytics::{
    ContextKey, Dimension, Distribution, EntryHits, Outcome, Placed, RefusedFor, Slice, Step, Surface,
    SurfaceTotals, UsageBatch, UsageEvent, quantile,
};
use crate::cache::{Frame, Kind, Parameters, Scope};
use crate::embedding::Similarity;
use crate::id::ProjectId;
use crate::money::NanoUsd;
use crate::store::{EntryFilter, Store};
use crate::testing::change;

register!["rollups":
    series_tell_every_slice,
    series_come_by_period,
    distributions_add_up,
    refusals_and_unknown_prices_add_up,
    surfaces_and_scopes_add_up,
    totals_come_by_dimension,
    days_add_up,
    contexts_have_labels,
    top_entries_go_by_savings,
    sweep_forgets_old_periods,
];

fn event<'a>(
    project: ProjectId,
    number: u32,
    model: &'a str,
    context: Option<&'a str>,
    after: i64,
) -> UsageEvent<'a> {
    UsageEvent {
        model,
        context,
        similarity: Some(Similarity::from_cosine(0.91)),
        latency: Duration::from_millis(1),
        input_tokens: 10,
        output_tokens: 3,
        saved: NanoUsd::from_nanos(5),
        ..UsageEvent::bare(project, key(number, project).id, Outcome::SemanticHit, later(after))
    }
}

async fn record(store: &dyn Store, events: &[UsageEvent<'_>]) {
    let mut batch = UsageBatch::default();
    for event in events {
        batch.add(event);
    }
    store.record(&batch).await.unwrap();
}

/// Two keys, two models, two contexts and none; twice the same in the first hour, once in the third.
async fn traffic(store: &dyn Store, project: ProjectId) {
    let hour = 3600;
    record(store, &[event(project, 1, "a", None, 0), event(project, 1, "a", Some("x"), 1)]).await;
    record(store, &[event(project, 1, "b", Some("x"), 0), event(project, 2, "a", Some("y"), 2 * hour)]).await;
    record(store, &[event(project, 1, "a", None, 0)]).await;
}

fn slice(number: Option<u32>, model: Option<&str>, context: Option<ContextKey>) -> Slice {
    Slice { key: number.map(|number| key(number, project_id(1)).id), model: model.map(Into::into), context }
}

async fn hits(store: &dyn Store, slice: &Slice) -> u64 {
    let hour = Step::Hour.period_of(NOW);
    let series = store.usage_series(project_id(1), slice, Step::Hour, hour..hour + 24).await.unwrap();
    series.values().map(|rollup| rollup.totals.hits()).sum()
}

async fn series_tell_every_slice(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    traffic(&*store, one).await;
    record(&*store, &[event(two, 1, "a", None, 0)]).await;
    store.reopen().await;
    let (none, x, y) = (ContextKey::WITHOUT, ContextKey::of(Some("x")), ContextKey::of(Some("y")));
    for (slice, expected) in [
        (slice(None, None, None), 5),
        (slice(Some(1), None, None), 4),
        (slice(None, Some("a"), None), 4),
        (slice(None, None, Some(x)), 2),
        (slice(None, None, Some(none)), 2),
        (slice(Some(1), Some("a"), None), 3),
        (slice(Some(2), None, Some(y)), 1),
        (slice(None, Some("b"), Some(x)), 1),
        (slice(Some(1), Some("a"), Some(none)), 2),
        (slice(Some(2), Some("b"), None), 0),
        (slice(None, Some(""), None), 0),
    ] {
        assert_eq!(hits(&*store, &slice).await, expected, "{slice:?}");
    }
}

async fn series_come_by_period(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    traffic(&*store, one).await;
    store.reopen().await;
    let all = Slice::default();
    for (step, after) in [(Step::Minute, 120), (Step::Hour, 2), (Step::Day, 1)] {
        let first = step.period_of(NOW);
        let series = store.usage_series(one, &all, step, first..first + after + 1).await.unwrap();
        assert_eq!(series.keys().copied().collect::<Vec<_>>(), [first, first + after], "{step:?}");
        assert_eq!((series[&first].totals.hits(), series[&(first + after)].totals.hits()), (4, 1));
        // The end is not included, the start is.
        let series = store.usage_series(one, &all, step, first..first + after).await.unwrap();
        assert_eq!(series.len(), 1);
        let series = store.usage_series(one, &all, step, first + 1..i64::MAX).await.unwrap();
        assert_eq!(series.len(), 1);
        let totals = series[&(first + after)].totals;
        assert_eq!((totals.saved_input_tokens, totals.saved_output_tokens), (10, 3));
        assert_eq!((totals.saved, totals.requests()), (NanoUsd::from_nanos(5), 1));
    }
}

async fn distributions_add_up(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    for millis in [1, 1, 40] {
        let latency = Duration::from_millis(millis);
        let hit = UsageEvent { latency, ..event(one, 1, "m", None, 0) };
        let near = Some(Similarity::from_cosine(0.71));
        let miss = UsageEvent { outcome: Outcome::Miss, similarity: near, ..hit };
        let alone = UsageEvent { similarity: None, ..miss };
        record(&*store, &[hit, miss, alone]).await;
    }
    let bought = event(one, 1, "m", None, 0);
    let refused = UsageEvent { outcome: Outcome::Refused, input_tokens: 0, output_tokens: 0, ..bought };
    record(&*store, &[refused]).await;
    store.reopen().await;
    let minute = Step::Minute.period_of(NOW);
    let series = store.usage_series(one, &slice(Some(1), None, None), Step::Minute, minute..minute + 1).await;
    let rollup = series.unwrap().remove(&minute).unwrap();
    let sum = |of| rollup.histograms.counts(of).iter().sum::<u64>();
    assert_eq!((sum(Distribution::HitLatency), sum(Distribution::MissLatency)), (3, 6));
    assert_eq!(rollup.histograms.counts(Distribution::HitSimilarity)[45], 3, "0.90 to 0.92");
    assert_eq!(rollup.histograms.counts(Distribution::NearMiss)[35], 3, "0.70 to 0.72");
    let median = quantile(&rollup.histograms.counts(Distribution::HitLatency), 0.5).unwrap();
    assert!((Duration::from_micros(700)..Duration::from_micros(1500)).contains(&median), "{median:?}");
    assert_eq!((rollup.totals.input_tokens, rollup.totals.output_tokens), (60, 18));
    assert_eq!((rollup.totals.refused, rollup.totals.requests()), (1, 10));
}

async fn refusals_and_unknown_prices_add_up(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    let (hit, bare) =
        (event(one, 1, "m", None, 0), UsageEvent::bare(one, key(1, one).id, Outcome::Miss, NOW));
    let refused = |why| UsageEvent { outcome: Outcome::Refused, refused: Some(why), model: "m", ..bare };
    let refusals = [
        RefusedFor::Shape,
        RefusedFor::UnknownModel,
        RefusedFor::UnknownModel,
        RefusedFor::ForbiddenModel,
        RefusedFor::Project,
        RefusedFor::NotCached,
    ];
    let exact = UsageEvent { outcome: Outcome::ExactHit, ..hit };
    let unpriced = UsageEvent { unpriced: true, ..hit };
    let long = UsageEvent { outcome: Outcome::Miss, too_long: true, unpriced: true, ..hit };
    // Twice, so that it is added to what is there.
    for _ in 0..2 {
        record(&*store, &refusals.map(refused)).await;
        record(&*store, &[exact, unpriced, long]).await;
    }
    store.reopen().await;
    let minute = Step::Minute.period_of(NOW);
    let series =
        store.usage_series(one, &slice(None, Some("m"), None), Step::Minute, minute..minute + 1).await;
    let rollup = series.unwrap().remove(&minute).unwrap();
    let totals = rollup.totals;
    assert_eq!((totals.refused, totals.unreadable()), (12, 2));
    let told = (totals.unknown_models, totals.forbidden_models, totals.closed_projects, totals.not_cached);
    assert_eq!(told, (4, 2, 2, 2));
    assert_eq!((totals.unpriced, totals.too_long, totals.not_exact()), (4, 2, 4));
    let sum = |of| rollup.histograms.counts(of).iter().sum::<u64>();
    assert_eq!((sum(Distribution::HitLatency), sum(Distribution::SemanticHitLatency)), (4, 2));
}

async fn surfaces_and_scopes_add_up(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    let parameters = [("messages", "[]"), ("X-Deja-Context", "a"), ("user", "ada"), ("temperature", "0")];
    let with = |name: &str, value: &str| Parameters::from([(name.into(), value.into())]);
    let of = |instructions, parameters| Frame::of_wire(Kind::Chat, "m", instructions, parameters);
    let plain = [of(None, Parameters::new()), of(Some("x"), Parameters::new())].into_iter();
    let frames: Vec<Frame> =
        plain.chain(parameters.map(|(name, value)| of(None, with(name, value)))).collect();
    for _ in 0..2 {
        let chat = UsageEvent {
            surface: Surface::Wire(Wire::Chat),
            began: Some(Duration::from_millis(5)),
            ..event(one, 1, "m", None, 0)
        };
        let passed = UsageEvent { outcome: Outcome::Passed, placed: None, ..chat };
        let other = UsageEvent { surface: Surface::Other, began: None, ..passed };
        let gemini = UsageEvent { surface: Surface::Wire(Wire::Gemini), outcome: Outcome::Miss, ..chat };
        let placed = frames.iter().map(|frame| {
            let scope = Scope::new(one, frame.clone()).key();
            UsageEvent { placed: Some(Placed { scope, frame }), ..chat }
        });
        let events: Vec<_> = placed.chain([passed, other, gemini, event(one, 1, "m", None, 0)]).collect();
        record(&*store, &events).await;
    }
    store.reopen().await;
    let day = Step::Day.period_of(NOW);
    let mut series = store.usage_series(one, &Slice::default(), Step::Day, day..day + 1).await.unwrap();
    let rollup = series.remove(&day).unwrap();
    let of = |surface| {
        let SurfaceTotals { hits, misses, passed } = rollup.of_surface(surface);
        (hits, misses, passed)
    };
    let none = (0, 0, 0);
    assert_eq!(Surface::ALL.map(of), [(2, 0, 0), (12, 0, 2), none, none, (0, 2, 0), (0, 0, 2)]);
    let totals = rollup.totals;
    assert_eq!((totals.passed, totals.new_scopes, totals.new_models()), (4, 12, 2));
    let causes = [totals.new_instructions, totals.new_turns, totals.new_contexts, totals.new_end_users];
    assert_eq!((causes, totals.new_parameters), ([2; 4], 2));
    assert_eq!(rollup.histograms.counts(Distribution::StreamBegan).iter().sum::<u64>(), 14);
    let by = store.usage_by(one, &Slice::default(), Dimension::Model, Step::Day, day..day + 1, MANY).await;
    assert_eq!(by.unwrap()[0].1, totals);
}

async fn totals_come_by_dimension(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    traffic(&*store, one).await;
    record(&*store, &[event(two, 3, "z", None, 0)]).await;
    let limited = UsageEvent::bare(one, key(2, one).id, Outcome::RateLimited, NOW);
    record(&*store, &[limited; 9]).await;
    store.reopen().await;
    let hour = Step::Hour.period_of(NOW);
    let by = async |slice: &Slice, by, limit| {
        let found = store.usage_by(one, slice, by, Step::Hour, hour..hour + 9, limit).await.unwrap();
        found.into_iter().map(|(slice, totals)| (slice, totals.hits())).collect::<Vec<_>>()
    };
    let all = Slice::default();
    let keys = [(slice(Some(2), None, None), 1), (slice(Some(1), None, None), 4)];
    assert_eq!(by(&all, Dimension::Key, MANY).await, keys, "those over the limit count for the order");
    let a = Some("a");
    let models = [(slice(Some(1), a, None), 3), (slice(Some(1), Some("b"), None), 1)];
    assert_eq!(by(&slice(Some(1), None, None), Dimension::Model, MANY).await, models);
    let (none, x, y) = (ContextKey::WITHOUT, ContextKey::of(Some("x")), ContextKey::of(Some("y")));
    let mut contexts = vec![(slice(None, a, Some(x)), 1), (slice(None, a, Some(y)), 1)];
    contexts.sort();
    contexts.insert(0, (slice(None, a, Some(none)), 2));
    assert_eq!(by(&slice(None, a, None), Dimension::Context, MANY).await, contexts);
    assert_eq!(by(&slice(None, a, None), Dimension::Context, NonZeroUsize::MIN).await, contexts[..1]);
    let given = slice(Some(1), a, None);
    assert_eq!(by(&given, Dimension::Model, MANY).await, [(given.clone(), 3)]);
    let full = slice(Some(1), a, Some(x));
    assert_eq!(by(&slice(None, a, Some(x)), Dimension::Key, MANY).await, [(full, 1)]);
    assert_eq!(by(&slice(Some(7), None, None), Dimension::Model, MANY).await, []);
}

async fn days_add_up(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let day = 24 * 3600;
    traffic(&*store, one).await;
    record(&*store, &[event(one, 1, "a", None, day), event(two, 1, "a", None, 3 * day)]).await;
    store.reopen().await;
    let today = NOW.as_secs() / day;
    let hits = async |project, days: std::ops::Range<i64>| {
        let days = today + days.start..today + days.end;
        let days = store.usage_series(project, &Slice::default(), Step::Day, days).await.unwrap();
        days.iter().map(|(day, rollup)| (day - today, rollup.totals.hits())).collect::<Vec<_>>()
    };
    // NOW is 22:13, so that two hours later is the next day.
    assert_eq!(hits(one, 0..3).await, [(0, 4), (1, 2)]);
    assert_eq!(hits(two, 0..3).await, []);
    assert_eq!(hits(two, 3..4).await, [(3, 1)]);
    assert_eq!(hits(two, 4..9).await, []);
}

async fn contexts_have_labels(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    let long = format!("You are\na {}", "very ".repeat(100));
    record(&*store, &[event(one, 1, "a", Some("x"), 0), event(one, 1, "a", Some(&long), 0)]).await;
    record(&*store, &[event(one, 1, "a", Some("x"), 0), event(project_id(9), 1, "a", Some("x"), 0)]).await;
    store.reopen().await;
    let wanted = [Some("x"), Some(&*long), Some("unseen"), None].map(ContextKey::of);
    let labels = store.context_labels(one, &wanted).await.unwrap();
    assert_eq!((labels.len(), &*labels[&wanted[0]]), (2, "x"));
    assert!(labels[&wanted[1]].starts_with("You are a very ") && labels[&wanted[1]].len() < 200);
    assert!(store.context_labels(project_id(9), &wanted).await.unwrap().is_empty());
}

async fn top_entries_go_by_savings(mut store: Subject) {
    let scope = scope(with_project(&*store, 1).await);
    for (number, at, saved) in [(1, 10, 5), (2, 50, 7), (3, 60, 5), (4, 5, 100), (5, 0, 0)] {
        put(&*store, entry(number, &scope, &number.to_string())).await;
        let mut batch = UsageBatch::default();
        let hits = EntryHits { hits: 1, last_hit: later(at), saved: NanoUsd::from_nanos(saved) };
        batch.entries.insert((scope.project(), entry_id(number)), hits);
        if number < 5 {
            store.record(&batch).await.unwrap();
        }
    }
    store.reopen().await;
    let top = async |filter: &EntryFilter, since, limit| {
        let found = store.top_entries(scope.project(), filter, later(since), limit).await.unwrap();
        found.into_iter().map(|detail| detail.entry.id).collect::<Vec<_>>()
    };
    let all = EntryFilter::default();
    assert_eq!(top(&all, 0, MANY).await, [4, 2, 1, 3].map(entry_id));
    assert_eq!(top(&all, 10, NonZeroUsize::new(2).unwrap()).await, [2, 1].map(entry_id));
    let third = EntryFilter { text: Some("answer 3".into()), ..all.clone() };
    assert_eq!(top(&third, 0, MANY).await, [entry_id(3)]);
    store.delete(scope.project(), entry_id(4), &change()).await.unwrap();
    assert_eq!(top(&all, 0, NonZeroUsize::MIN).await, [entry_id(2)]);
}

async fn sweep_forgets_old_periods(mut store: Subject) {
    let one = with_project(&*store, 1).await;
    traffic(&*store, one).await;
    let minute = Step::Minute.period_of(NOW);
    // The moment from which on the first of these periods is too old.
    let after = |step: Step| step.start_of(step.period_of(NOW) + 1 + step.kept());
    assert_eq!(store.sweep_usage(NOW, MANY).await.unwrap(), 0);
    let past = after(Step::Minute);
    assert_eq!(store.sweep_usage(past, NonZeroUsize::new(3).unwrap()).await.unwrap(), 3);
    assert!(store.sweep_usage(past, MANY).await.unwrap() > 3);
    assert_eq!(store.sweep_usage(past, MANY).await.unwrap(), 0);
    let all = Slice::default();
    let left = store.usage_series(one, &all, Step::Minute, 0..i64::MAX).await.unwrap();
    assert_eq!(left.keys().copied().collect::<Vec<_>>(), [minute + 120]);
    assert_eq!(store.usage_series(one, &all, Step::Hour, 0..i64::MAX).await.unwrap().len(), 2, "hours stay");
    let (x, y) = (ContextKey::of(Some("x")), ContextKey::of(Some("y")));
    assert_eq!(store.context_labels(one, &[x, y]).await.unwrap().len(), 2);
    store.sweep_usage(after(Step::Hour), MANY).await.unwrap();
    store.reopen().await;
    assert_eq!(store.usage_series(one, &all, Step::Hour, 0..i64::MAX).await.unwrap().len(), 1);
    assert_eq!(store.context_labels(one, &[x, y]).await.unwrap().keys().copied().collect::<Vec<_>>(), [y]);
    let days = async || store.usage_series(one, &all, Step::Day, 0..i64::MAX).await.unwrap().len();
    assert_eq!(days().await, 2);
    store.sweep_usage(after(Step::Day), MANY).await.unwrap();
    assert_eq!(days().await, 1);
}
