//! The audit log: with each change its row, and without a change none.

use std::num::NonZeroUsize;

use super::fixtures::{
    MANY, NOW, bytes, entry, entry_id, key, later, project, project_id, put, scope, with_project,
};
use super::labels::wrong;
use super::{Subject, register};
use crate::audit::{Actor, ActorFilter, AuditFilter, AuditRow, Change};
use crate::cache::Labelled;
use crate::clock::TimeRange;
use crate::id::{OperatorId, ProjectId};
use crate::member::Rank;
use crate::operator::{Invite, Operator, Purpose, Role, Session, TokenHash};
use crate::provider::ProviderConfig;
use crate::store::{EntryFilter, NewLabel, Store};
use crate::testing;

register!["audit":
    rows_come_back_as_they_were,
    rows_page_newest_first,
    filters_choose_by_project_action_actor_and_time,
    filtered_rows_page_newest_first,
    every_change_writes_its_row,
    what_was_not_done_writes_none,
    rows_outlive_their_project,
    sweep_removes_rows_of_one_action,
];

fn of(action: &'static str, project: Option<ProjectId>) -> Change {
    Change { project, ..Change::new(NOW, Actor::Cli, action) }
}

async fn actions(store: &dyn Store) -> Vec<String> {
    let rows = store.changes(&AuditFilter::default(), None, MANY).await.unwrap();
    rows.into_iter().rev().map(|row| row.change.action.into_owned()).collect()
}

async fn rows_come_back_as_they_were(mut store: Subject) {
    let id = OperatorId::from_bytes(bytes(3));
    let actor = Actor::Operator { id, email: "ada@example.com".to_owned() };
    let full =
        Change::new(later(1), actor, "key.revoke").within(project_id(1)).of("dj_0001 ci").how("a \u{1F98A}");
    let by_key = Change::new(NOW, Actor::Key("key dj_0001".to_owned()), "by key");
    let changes = [full, of("cli", None), by_key, Change::new(later(-9), Actor::System, "x")];
    for change in &changes {
        store.note(change).await.unwrap();
    }
    store.reopen().await;
    let rows = store.changes(&AuditFilter::default(), None, MANY).await.unwrap();
    let kept: Vec<Change> = rows.iter().rev().map(|row| row.change.clone()).collect();
    assert_eq!(kept, changes);
    assert!(rows.is_sorted_by(|a, b| a.number > b.number));
}

async fn rows_page_newest_first(mut store: Subject) {
    for number in 0..7 {
        store.note(&of("note", Some(project_id(number % 2)))).await.unwrap();
    }
    store.reopen().await;
    let two = NonZeroUsize::new(2).unwrap();
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = store.changes(&AuditFilter::of(project_id(0)), before, two).await.unwrap();
        // What is added meanwhile moves nothing.
        store.note(&of("note", Some(project_id(0)))).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.number);
        assert!(page.iter().all(|row| row.change.project == Some(project_id(0))));
        seen.extend(page.iter().map(|row| row.number));
    }
    assert_eq!(seen.len(), 4);
    assert!(seen.is_sorted_by(|a, b| a > b));
    assert_eq!(store.changes(&AuditFilter::default(), None, MANY).await.unwrap().len(), 10);
}

async fn filters_choose_by_project_action_actor_and_time(mut store: Subject) {
    let ada = Actor::Operator { id: OperatorId::from_bytes(bytes(3)), email: "ada@example.com".into() };
    let key = |shown: &str| Actor::Key(format!("key {shown}"));
    let rows = [
        ("a", ada.clone(), 1),
        ("b", ada, 2),
        ("a", key("dj_0001"), 2),
        ("a", key("dj_0002"), 1),
        ("b", Actor::Cli, 1),
        ("a \0 c", Actor::System, 2),
    ];
    for (second, (action, actor, project)) in rows.into_iter().enumerate() {
        let at = later(second.try_into().unwrap());
        store.note(&Change::new(at, actor, action).within(project_id(project))).await.unwrap();
    }
    store.reopen().await;
    let find = async |filter: AuditFilter| {
        let rows = store.changes(&filter, None, MANY).await.unwrap();
        rows.iter().map(|row| row.change.at.since(NOW).as_secs().to_string()).collect::<String>()
    };
    let any = AuditFilter::default();
    let action = |action: &str| AuditFilter { action: Some(action.into()), ..AuditFilter::default() };
    let by = |by| AuditFilter { by: Some(by), ..AuditFilter::default() };
    let named = |name: &str| by(ActorFilter::Named(name.into()));
    let within =
        |from: Option<i64>, until: Option<i64>| TimeRange { from: from.map(later), until: until.map(later) };
    assert_eq!(find(any.clone()).await, "543210");
    assert_eq!(find(AuditFilter::of(project_id(2))).await, "521");
    assert_eq!(find(action("a")).await, "320");
    assert_eq!(find(action("a \0 c")).await, "5");
    assert_eq!(find(action("c")).await, "");
    assert_eq!(find(named("ada@example.com")).await, "10");
    assert_eq!(find(named("key dj_0002")).await, "3");
    assert_eq!(find(named("cli")).await, "4");
    assert_eq!(find(named("system")).await, "5");
    assert_eq!(find(named("key dj_")).await, "", "no part of a name");
    assert_eq!(find(by(ActorFilter::AnyKey)).await, "32");
    for (from, until, found) in [
        (Some(2), Some(4), "32"),
        (Some(4), None, "54"),
        (None, Some(1), "0"),
        (Some(6), None, ""),
        (Some(4), Some(2), ""),
    ] {
        assert_eq!(find(AuditFilter { within: within(from, until), ..any.clone() }).await, found);
    }
    let all = AuditFilter {
        project: Some(project_id(1)),
        within: within(Some(0), Some(4)),
        ..AuditFilter { by: Some(ActorFilter::AnyKey), ..action("a") }
    };
    assert_eq!(find(all).await, "3");
}

async fn filtered_rows_page_newest_first(store: Subject) {
    for second in 0..9 {
        let action = if second % 3 == 0 { "other" } else { "meant" };
        store.note(&Change::new(later(second), Actor::Cli, action)).await.unwrap();
    }
    let within = TimeRange { from: Some(later(2)), until: None };
    let filter = AuditFilter { action: Some("meant".into()), within, ..AuditFilter::default() };
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = store.changes(&filter, before, NonZeroUsize::new(2).unwrap()).await.unwrap();
        store.note(&Change::new(later(10), Actor::Cli, "meant")).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.number);
        seen.extend(page.into_iter().map(|row| row.change.at));
    }
    assert_eq!(seen, [8, 7, 5, 4, 2].map(later));
}

fn provider() -> ProviderConfig {
    testing::provider(1, project_id(1), NOW)
}

fn operator() -> Operator {
    testing::operator(1, Role::Owner, NOW)
}

fn invite(number: u8) -> Invite {
    Invite {
        token: TokenHash([number; 32]),
        purpose: Purpose::ResetPassword { operator: operator().id },
        created_by: None,
        created: NOW,
        expires: later(100),
    }
}

fn session(number: u8) -> Session {
    Session {
        token: TokenHash([number; 32]),
        operator: operator().id,
        created: NOW,
        last_seen: NOW,
        expires: later(100),
        user_agent: String::new(),
    }
}

/// Somebody at the console says that the entry answers `asked` after all.
fn right() -> NewLabel<'static> {
    NewLabel { answers: true, ..wrong(2, "3") }
}

async fn newest_wrong(store: &dyn Store) -> u64 {
    store.wrong_answers(project_id(1), None, NonZeroUsize::MIN).await.unwrap()[0].number
}

/// Each mutating method once, with its own name as the action; says what each answered.
async fn all_changes(store: &dyn Store) -> Vec<bool> {
    let id = project_id(1);
    let (first, second) = (TokenHash([1; 32]), TokenHash([2; 32]));
    let all = EntryFilter::default();
    vec![
        store.create_project(&project(1), &of("create_project", None)).await.is_ok(),
        store.update_project(&project(1), &of("update_project", None)).await.unwrap(),
        store.create_key(&key(1, id), &of("create_key", None)).await.is_ok(),
        store.revoke_key(id, key(1, id).id, &of("revoke_key", None)).await.unwrap(),
        store.add_provider(&provider(), &of("add_provider", None)).await.is_ok(),
        store.update_provider(&provider(), &of("update_provider", None)).await.unwrap(),
        store.remove_provider(id, "own", &of("remove_provider", None)).await.unwrap(),
        store.insert(entry(1, &scope(id), "one")).await.is_ok(),
        store.insert(entry(2, &scope(id), "two")).await.is_ok(),
        store.delete(id, entry_id(1), &of("delete", None)).await.unwrap(),
        store.label(id, wrong(2, "1"), &of("label", None)).await.unwrap() == Some(Labelled::Forbidden),
        store.label(id, wrong(2, "2"), &of("label", None)).await.unwrap() == Some(Labelled::Forbidden),
        store.label(id, wrong(2, "3"), &of("label", None)).await.unwrap() == Some(Labelled::Quarantined),
        store.label(id, right(), &of("allowing label", None)).await.unwrap() == Some(Labelled::Allowed),
        store.label(id, right(), &of("nothing", None)).await.unwrap() == Some(Labelled::Kept),
        store.allow(id, newest_wrong(store).await, &of("allow", None)).await.unwrap(),
        store.end_quarantine(id, entry_id(2), &of("end_quarantine", None)).await.unwrap(),
        store.purge(id, &all, &of("purge", None)).await.is_ok(),
        store.create_operator(&operator(), &of("create_operator", None)).await.is_ok(),
        store.update_operator(&operator(), &of("update_operator", None)).await.unwrap(),
        store.set_rank(id, operator().id, Rank::Viewer, &of("set_rank", None)).await.unwrap(),
        store.remove_rank(id, operator().id, &of("remove_rank", None)).await.unwrap(),
        store.create_invite(&invite(1), &of("create_invite", None)).await.is_ok(),
        store.accept_invite(&first, &operator(), &of("accept_invite", None)).await.unwrap(),
        store.create_invite(&invite(2), &of("create_invite", None)).await.is_ok(),
        store.revoke_invite(&second, &of("revoke_invite", None)).await.unwrap(),
        store
            .create_session(&session(1), &operator().password, false, &of("create_session", None))
            .await
            .unwrap(),
        store.end_session(operator().id, &first, &of("end_session", None)).await.unwrap(),
        store.end_sessions(operator().id, None, &of("end_sessions", None)).await.is_ok(),
        store.delete_project(id, &of("delete_project", None)).await.unwrap(),
    ]
}

async fn every_change_writes_its_row(mut store: Subject) {
    let done = all_changes(&*store).await;
    assert!(done.iter().all(|done| *done), "{done:?}");
    store.reopen().await;
    let expected = [
        "create_project", "update_project", "create_key", "revoke_key", "add_provider", "update_provider",
        "remove_provider", "delete", "label", "label", "label", "entry.quarantine", "allowing label",
        "allow", "end_quarantine", "purge", "create_operator", "update_operator", "set_rank", "remove_rank",
        "create_invite", "accept_invite", "create_invite", "revoke_invite", "create_session", "end_session",
        "end_sessions", "delete_project",
    ];
    assert_eq!(actions(&*store).await, expected);
}

async fn what_was_not_done_writes_none(mut store: Subject) {
    let id = project_id(1);
    let none = of("nothing", None);
    assert!(!store.update_project(&project(1), &none).await.unwrap());
    assert!(!store.delete_project(id, &none).await.unwrap());
    assert!(store.create_key(&key(1, id), &none).await.is_err());
    assert!(!store.revoke_key(id, key(1, id).id, &none).await.unwrap());
    assert!(store.add_provider(&provider(), &none).await.is_err());
    assert!(!store.update_provider(&provider(), &none).await.unwrap());
    assert!(!store.remove_provider(id, "own", &none).await.unwrap());
    assert!(!store.delete(id, entry_id(1), &none).await.unwrap());
    assert_eq!(store.label(id, wrong(2, "hi"), &none).await.unwrap(), None);
    assert!(!store.allow(id, 1, &none).await.unwrap());
    assert!(!store.end_quarantine(id, entry_id(2), &none).await.unwrap());
    assert!(!store.update_operator(&operator(), &none).await.unwrap());
    assert!(!store.accept_invite(&TokenHash([1; 32]), &operator(), &none).await.unwrap());
    assert!(!store.revoke_invite(&TokenHash([1; 32]), &none).await.unwrap());
    assert!(!store.create_session(&session(1), &operator().password, false, &none).await.unwrap());
    assert!(store.set_rank(id, operator().id, Rank::Viewer, &none).await.is_err());
    assert!(!store.remove_rank(id, operator().id, &none).await.unwrap());
    assert!(!store.end_session(operator().id, &TokenHash([1; 32]), &none).await.unwrap());
    store.create_project(&project(1), &of("first", None)).await.unwrap();
    assert!(store.create_project(&project(1), &none).await.is_err());
    store.create_operator(&operator(), &of("second", None)).await.unwrap();
    assert!(store.create_operator(&operator(), &none).await.is_err());
    store.set_rank(id, operator().id, Rank::Viewer, &of("third", None)).await.unwrap();
    assert!(!store.set_rank(id, operator().id, Rank::Viewer, &none).await.unwrap());
    let member = Operator { role: Role::Member, ..operator() };
    assert!(store.update_operator(&member, &none).await.is_err());
    store.reopen().await;
    assert_eq!(actions(&*store).await, ["first", "second", "third"]);
}

async fn rows_outlive_their_project(mut store: Subject) {
    let id = with_project(&*store, 1).await;
    put(&*store, entry(1, &scope(id), "one")).await;
    store.delete(id, entry_id(1), &of("entry.delete", Some(id))).await.unwrap();
    store.delete_project(id, &of("project.delete", Some(id))).await.unwrap();
    store.reopen().await;
    let rows = store.changes(&AuditFilter::of(id), None, MANY).await.unwrap();
    assert_eq!(
        rows.iter().map(|row| &*row.change.action).collect::<Vec<_>>(),
        ["project.delete", "entry.delete"]
    );
}

async fn sweep_removes_rows_of_one_action(mut store: Subject) {
    for second in 0..10 {
        for action in ["other", "refused"] {
            store.note(&Change::new(later(second), Actor::System, action)).await.unwrap();
        }
    }
    let (two, many) = (NonZeroUsize::new(2).unwrap(), MANY);
    let sweep = |before, newest, limit| store.sweep_changes("refused", later(before), newest, limit);
    assert_eq!(sweep(0, 10, many).await.unwrap(), 0, "none is too old, and none too many");
    assert_eq!(sweep(3, 10, two).await.unwrap(), 2, "no more than asked for");
    assert_eq!(sweep(3, 10, two).await.unwrap(), 1, "one at the very moment stays");
    assert_eq!(sweep(0, u64::MAX, many).await.unwrap(), 0);
    assert_eq!(sweep(0, 5, many).await.unwrap(), 2, "the newest stay");
    let numbers = |rows: &[AuditRow]| rows.iter().map(|row| row.number).collect::<Vec<_>>();
    let before = numbers(&store.changes(&AuditFilter::default(), None, many).await.unwrap());
    store.reopen().await;
    let rows = store.changes(&AuditFilter::default(), None, many).await.unwrap();
    assert_eq!(numbers(&rows), before, "rows keep their numbers");
    let at = |action: &str| {
        let of = rows.iter().rev().filter(|row| row.change.action == action);
        of.map(|row| row.change.at).collect::<Vec<_>>()
    };
    assert_eq!(at("refused"), [5, 6, 7, 8, 9].map(later));
    assert_eq!(at("other").len(), 10);
    assert_eq!(store.sweep_changes("refused", later(99), 5, many).await.unwrap(), 5);
    assert_eq!(actions(&*store).await, ["other"; 10]);
    store.note(&of("refused", None)).await.unwrap();
    assert!(
        store.changes(&AuditFilter::default(), None, many).await.unwrap()[0].number > before[0],
        "no number comes twice"
    );
}
