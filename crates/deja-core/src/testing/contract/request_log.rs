//! The log of requests.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::fixtures::{
    MANY, NOW, bytes, entry, entry_id, later, project, project_id, put, scope, with_project,
};
use super::{Subject, register};
use crate::analytics::{ContextKey, Outcome, Surface};
use crate::cache::{Met, PromptHash};
use crate::clock::{TimeRange, Timestamp};
use crate::embedding::Similarity;
use crate::id::{KeyId, ProjectId};
use crate::money::NanoUsd;
use crate::project::{Project, ProjectSettings};
use crate::request_log::{LOGGED_FOR, LogFilter, LogRow, LoggedRequest, Logging, MetEntry};
use crate::store::{LogColumn, LogOrder, Order, Store};
use crate::testing::{self, change};

register!["request_log":
    a_request_comes_back_whole,
    they_page_latest_first,
    they_are_listed_by_each_column_both_ways,
    filters_choose_by_each_column_and_by_what_was_asked,
    the_newest_that_the_settings_allow_are_kept,
    texts_end_by_the_settings_and_rows_by_their_age,
    what_a_project_no_longer_logs_is_gone_at_once,
    what_would_go_is_counted_before,
    they_stay_with_their_project_and_not_with_their_entry,
];

fn of(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap()
}

/// A miss that asked `asked`, and nothing more of it.
fn logged(project: ProjectId, asked: &str) -> LoggedRequest {
    LoggedRequest { asked: Some(PromptHash::of(asked)), ..testing::logged(project, NOW) }
}

fn with_text(project: ProjectId, asked: &str, at: Timestamp) -> LoggedRequest {
    LoggedRequest { at, text: Some(asked.into()), ..logged(project, asked) }
}

fn met(entry: u32, similarity: f32, met: Met, reason: Option<&str>) -> MetEntry {
    let (entry, similarity) = (entry_id(entry), Similarity::from_cosine(similarity));
    MetEntry { entry, similarity, met, reason: reason.map(str::to_owned) }
}

async fn all(store: &dyn Store, project: ProjectId) -> Vec<LoggedRequest> {
    let rows = store.logged(project, &LogFilter::default(), LogOrder::NEWEST, None, MANY).await.unwrap();
    rows.into_iter().map(|row| row.logged).collect()
}

/// What the requests asked that are left, latest first, by their hashes.
async fn asked(store: &dyn Store, project: ProjectId, filter: &LogFilter, of: &[&str]) -> Vec<String> {
    let rows = store.logged(project, filter, LogOrder::NEWEST, None, MANY).await.unwrap();
    let text = |hash| of.iter().find(|text| hash == Some(PromptHash::of(text))).unwrap();
    rows.into_iter().map(|row| (*text(row.logged.asked)).to_owned()).collect()
}

async fn a_request_comes_back_whole(mut store: Subject) {
    let project = logging(&*store, 1, 100, 7).await;
    let full = LoggedRequest {
        at: later(7),
        request: Some("r-1".into()),
        key: KeyId::from_bytes(bytes(9)),
        model: "m \0 \u{1F98A}".into(),
        context: ContextKey(-7),
        text: Some("asked \0 \u{1F408}".into()),
        outcome: Outcome::SemanticHit,
        cause: Some("tool_calls".into()),
        joined: true,
        met: Some(met(3, 0.875, Met::Refused, Some("numbers"))),
        latency: Some(Duration::from_nanos(1_234_567)),
        saved: NanoUsd::from_nanos(5),
        ..logged(project, "asked \0 \u{1F408}")
    };
    let bare = LoggedRequest { model: String::new(), asked: None, ..logged(project, "") };
    let mut given = vec![full, bare.clone()];
    given.extend(Outcome::ALL.map(|outcome| LoggedRequest { outcome, ..bare.clone() }));
    given.extend(Surface::ALL.map(|surface| LoggedRequest { surface, ..bare.clone() }));
    for (entry, how) in [(1, Met::Served), (2, Met::NearMiss)] {
        given.push(LoggedRequest { met: Some(met(entry, 1.0, how, None)), ..bare.clone() });
    }
    let foreign = logged(project_id(2), "gone");
    store.log_requests(&[given.clone(), vec![foreign]].concat()).await.unwrap();
    store.log_requests(&[]).await.unwrap();
    store.reopen().await;
    let mut kept = all(&*store, project).await;
    kept.reverse();
    assert_eq!(kept, given);
    assert_eq!(all(&*store, project_id(2)).await, [], "there is no such project");

    let rows = store.logged(project, &LogFilter::default(), LogOrder::NEWEST, None, MANY).await.unwrap();
    let last = rows.last().unwrap();
    assert_eq!(store.logged_request(project, last.number).await.unwrap().as_ref(), Some(last));
    assert_eq!(store.logged_request(project_id(2), last.number).await.unwrap(), None, "foreign");
    assert_eq!(store.logged_request(project, u64::MAX).await.unwrap(), None);
}

async fn they_page_latest_first(mut store: Subject) {
    let (project, other) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    for text in ["a", "b", "c", "d", "e"] {
        store.log_requests(&[logged(project, text), logged(other, "x")]).await.unwrap();
    }
    store.reopen().await;
    let (mut after, mut pages) = (None, Vec::new());
    loop {
        let page =
            store.logged(project, &LogFilter::default(), LogOrder::NEWEST, after, of(2)).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(LogOrder::NEWEST.cursor(last));
        // What comes meanwhile does not move the pages.
        store.log_requests(&[logged(project, "later")]).await.unwrap();
        pages.push(page.into_iter().map(|row| row.logged.asked.unwrap()).collect::<Vec<_>>());
    }
    let expected: Vec<Vec<_>> = [vec!["e", "d"], vec!["c", "b"], vec!["a"]]
        .into_iter()
        .map(|page| page.into_iter().map(PromptHash::of).collect())
        .collect();
    assert_eq!(pages, expected);
}

async fn they_are_listed_by_each_column_both_ways(mut store: Subject) {
    let (project, other) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let next = f32::from_bits(0.9_f32.to_bits() + 1);
    let millis = |millis| Some(Duration::from_millis(millis));
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let rows = [
        (Some(0.9), millis(5), 7),
        (None, None, 0),
        (Some(0.9), millis(5), 7),
        (Some(next), None, 3),
        (None, millis(1), 0),
        (Some(0.0), Some(Duration::from_nanos(5_000_001)), 7),
        (Some(0.5), None, 3),
    ];
    for (name, (similarity, latency, saved)) in names.iter().zip(rows) {
        let met = similarity.map(|similarity| met(1, similarity, Met::Served, None));
        let saved = NanoUsd::from_nanos(saved);
        let one = LoggedRequest { met, latency, saved, ..logged(project, name) };
        store.log_requests(&[one.clone(), LoggedRequest { project: other, ..one.clone() }]).await.unwrap();
        store.log_requests(&[LoggedRequest { model: "n".into(), ..one }]).await.unwrap();
    }
    store.reopen().await;
    let within = TimeRange { from: Some(NOW), until: Some(later(1)) };
    let m = LogFilter { model: Some("m".into()), within, ..LogFilter::default() };
    let name =
        |row: &LogRow| *names.iter().find(|name| row.logged.asked == Some(PromptHash::of(name))).unwrap();
    // What there is nothing of comes last either way.
    for (by, down, up) in [
        (LogColumn::Number, "gfedcba", "abcdefg"),
        (LogColumn::Similarity, "dcagfeb", "fgacdbe"),
        (LogColumn::Latency, "fcaegdb", "eacfbdg"),
        (LogColumn::Saved, "fcagdeb", "bedgacf"),
    ] {
        for (descends, expected) in [(true, down), (false, up)] {
            let order = Order { by, descends };
            for size in 1..=names.len() + 1 {
                let (mut listed, mut after) = (String::new(), None);
                loop {
                    let page = store.logged(project, &m, order, after, of(size)).await.unwrap();
                    let Some(last) = page.last() else { break };
                    after = Some(order.cursor(last));
                    listed.extend(page.iter().map(name));
                }
                assert_eq!(listed, expected, "{order:?}, {size} a page");
            }
        }
    }
}

async fn filters_choose_by_each_column_and_by_what_was_asked(store: Subject) {
    let project = logging(&*store, 1, 100, 7).await;
    let names = ["Feed my CAT", "walk \0 dog", "cat", "dog", "plain", "100%", "\n two\nlines "];
    let [cat, dog, quiet, keyed, plain, percent, padded] = names;
    let given = [
        LoggedRequest { context: ContextKey(5), ..with_text(project, cat, later(-7)) },
        LoggedRequest { model: "n".into(), joined: true, ..with_text(project, dog, later(-3)) },
        LoggedRequest {
            met: Some(met(1, 0.9, Met::Served, None)),
            outcome: Outcome::SemanticHit,
            ..logged(project, quiet)
        },
        LoggedRequest { key: KeyId::from_bytes(bytes(2)), ..logged(project, keyed) },
        logged(project, plain),
        with_text(project, percent, NOW),
        logged(project, padded),
    ];
    store.log_requests(&given).await.unwrap();
    let find = async |filter: LogFilter| asked(&*store, project, &filter, &names).await;
    let any = LogFilter::default();
    assert_eq!(find(LogFilter { context: Some(ContextKey(5)), ..any.clone() }).await, [cat]);
    assert_eq!(find(LogFilter { model: Some("n".into()), ..any.clone() }).await, [dog]);
    assert_eq!(find(LogFilter { outcome: Some(Outcome::SemanticHit), ..any.clone() }).await, [quiet]);
    assert_eq!(find(LogFilter { joined: true, ..any.clone() }).await, [dog]);
    assert_eq!(find(LogFilter { joined: true, model: Some("m".into()), ..any.clone() }).await, [""; 0]);
    assert_eq!(find(LogFilter { entry: Some(entry_id(1)), ..any.clone() }).await, [quiet]);
    assert_eq!(find(LogFilter { entry: Some(entry_id(2)), ..any.clone() }).await, [""; 0]);
    assert_eq!(find(LogFilter { key: Some(KeyId::from_bytes(bytes(2))), ..any.clone() }).await, [keyed]);
    let within = |from: Option<i64>, until: Option<i64>| {
        let within = TimeRange { from: from.map(later), until: until.map(later) };
        LogFilter { within, ..LogFilter::default() }
    };
    assert_eq!(find(within(None, Some(-3))).await, [cat]);
    assert_eq!(find(within(Some(-3), Some(0))).await, [dog]);
    assert_eq!(find(within(Some(-7), Some(0))).await, [dog, cat]);
    assert_eq!(find(within(Some(0), None)).await, [padded, percent, plain, keyed, quiet]);
    assert_eq!(find(within(Some(1), None)).await, [""; 0]);
    assert_eq!(find(LogFilter { asked: Some("cat".into()), ..within(Some(0), None) }).await, [quiet]);
    let text = |text: &str| LogFilter { asked: Some(text.into()), ..LogFilter::default() };
    assert_eq!(find(text("cat")).await, [quiet, cat], "just this, and a part of a text that is kept");
    assert_eq!(find(text("K \0 DOG")).await, [dog]);
    assert_eq!(find(text("plain")).await, [plain]);
    assert_eq!(find(text("plai")).await, [""; 0], "without its text only just this");
    assert_eq!(find(text("0%")).await, [percent]);
    assert_eq!(find(text(padded)).await, [padded], "blanks are a part of what was asked");
    assert_eq!(find(text(padded.trim())).await, [""; 0]);
    assert_eq!(find(text(" plain\n")).await, [plain], "or came with a copy");
    assert_eq!(find(text(" 0%\n")).await, [percent]);
    let both = LogFilter { model: Some("m".into()), ..text("cat") };
    assert_eq!(find(LogFilter { entry: Some(entry_id(1)), ..both }).await, [quiet]);
}

/// A project that logs so much.
async fn logging(store: &dyn Store, number: u32, requests: u64, days: u64) -> ProjectId {
    let settings =
        ProjectSettings { request_log: requests, request_texts_days: days, ..ProjectSettings::default() };
    store.create_project(&Project { settings, ..project(number) }, &change()).await.unwrap();
    project_id(number)
}

async fn the_newest_that_the_settings_allow_are_kept(mut store: Subject) {
    let (one, two) = (logging(&*store, 1, 2, 0).await, logging(&*store, 2, 3, 0).await);
    let names = ["a", "b", "c", "d", "e"];
    for text in names {
        store.log_requests(&[logged(one, text), logged(two, text)]).await.unwrap();
    }
    let any = LogFilter::default();
    while store.sweep_logged(later(1), of(2)).await.unwrap() > 0 {}
    store.reopen().await;
    assert_eq!(asked(&*store, one, &any, &names).await, ["e", "d"]);
    assert_eq!(asked(&*store, two, &any, &names).await, ["e", "d", "c"]);
    assert_eq!(store.sweep_logged(later(1), MANY).await.unwrap(), 0);
}

async fn texts_end_by_the_settings_and_rows_by_their_age(mut store: Subject) {
    const DAY: i64 = 24 * 3600;
    let (week, day) = (logging(&*store, 1, 100, 7).await, logging(&*store, 2, 100, 1).await);
    for project in [week, day] {
        store
            .log_requests(&[with_text(project, "a", NOW), with_text(project, "b", later(DAY))])
            .await
            .unwrap();
    }
    let texts = async |store: &dyn Store, project| -> Vec<bool> {
        all(store, project).await.into_iter().map(|logged| logged.text.is_some()).collect()
    };
    assert_eq!(store.sweep_logged(later(DAY), MANY).await.unwrap(), 0, "a day has not passed");
    assert_eq!(store.sweep_logged(later(DAY + 1), MANY).await.unwrap(), 1);
    store.reopen().await;
    assert_eq!(texts(&*store, week).await, [true, true]);
    assert_eq!(texts(&*store, day).await, [true, false]);
    while store.sweep_logged(later(7 * DAY + 1), MANY).await.unwrap() > 0 {}
    assert_eq!(texts(&*store, week).await, [true, false]);
    let month = LOGGED_FOR.as_secs() as i64;
    while store.sweep_logged(later(month + 1), MANY).await.unwrap() > 0 {}
    assert_eq!(texts(&*store, week).await, [false]);
    assert_eq!(texts(&*store, day).await, [false]);
}

async fn what_a_project_no_longer_logs_is_gone_at_once(mut store: Subject) {
    let (one, two) = (logging(&*store, 1, 100, 7).await, logging(&*store, 2, 100, 7).await);
    store.log_requests(&[with_text(one, "a", NOW), with_text(two, "a", NOW)]).await.unwrap();
    let set = async |store: &dyn Store, requests, days| {
        let mut changed = store.project("p1").await.unwrap().unwrap();
        (changed.settings.request_log, changed.settings.request_texts_days) = (requests, days);
        assert!(store.update_project(&changed, &change()).await.unwrap());
    };
    set(&*store, 50, 3).await;
    assert_eq!(all(&*store, one).await, [with_text(one, "a", NOW)]);
    set(&*store, 50, 0).await;
    assert_eq!(all(&*store, one).await, [logged(one, "a")]);
    // What ended before the change, and is written behind it.
    let late = [with_text(one, "b", NOW), with_text(two, "b", NOW)];
    store.log_requests(&late).await.unwrap();
    assert_eq!(all(&*store, one).await, [logged(one, "b"), logged(one, "a")]);
    set(&*store, 0, 7).await;
    store.log_requests(&late).await.unwrap();
    store.reopen().await;
    assert_eq!(all(&*store, one).await, []);
    let others = [with_text(two, "b", NOW), with_text(two, "b", NOW), with_text(two, "a", NOW)];
    assert_eq!(all(&*store, two).await, others, "another project's stay");
}

async fn what_would_go_is_counted_before(mut store: Subject) {
    const DAY: i64 = 24 * 3600;
    let (one, two) = (logging(&*store, 1, 100, 7).await, logging(&*store, 2, 100, 7).await);
    let of_one = [with_text(one, "a", NOW), logged(one, "b"), with_text(one, "c", later(DAY))];
    store.log_requests(&of_one).await.unwrap();
    store.log_requests(&[with_text(two, "a", NOW)]).await.unwrap();
    store.reopen().await;
    for (requests, days, beyond) in [(3, 2, (0, 0)), (1, 1, (2, 1)), (0, 0, (3, 2))] {
        let allowed = Logging { requests, texts: Duration::from_hours(24 * days) };
        let counted = store.logged_beyond(one, allowed, later(2 * DAY)).await.unwrap();
        assert_eq!(counted, beyond, "{requests} requests, {days} days");
    }
}

async fn they_stay_with_their_project_and_not_with_their_entry(mut store: Subject) {
    let project = with_project(&*store, 1).await;
    put(&*store, entry(1, &scope(project), "cats")).await;
    let hit = LoggedRequest { met: Some(met(1, 1.0, Met::Served, None)), ..logged(project, "cats") };
    store.log_requests(std::slice::from_ref(&hit)).await.unwrap();
    assert!(store.delete(project, entry_id(1), &change()).await.unwrap());
    store.reopen().await;
    assert_eq!(all(&*store, project).await, [hit]);
    assert!(store.delete_project(project, &change()).await.unwrap());
    with_project(&*store, 1).await;
    assert_eq!(all(&*store, project).await, []);
}
