//! Admission with a look-up, for stores where each of them is a round trip.

use futures::future::join_all;

use super::Subject;
use super::fixtures::{
    NOW, chat, entry, key, later, opened, project, project_id, put, recorded, request, scope, with_project,
};
use crate::api_key::ApiKey;
use crate::cache::{PromptHash, Scope};
use crate::project::Project;
use crate::rate_limit::Quota;
use crate::store::{Door, Found, LookUp, Store};
use crate::testing::change;

super::register!("ahead":
    finds_what_the_exact_look_up_finds,
    lets_in_as_admission_does,
    finds_nothing_of_other_projects,
    finds_nothing_for_who_is_refused,
    lets_in_as_many_of_those_who_come_together,
);

fn wanted(scope: &Scope, prompt: &str) -> LookUp {
    LookUp::new(scope, PromptHash::of(prompt))
}

async fn ask(store: &dyn Store, key: &ApiKey, wanted: &LookUp, at: i64) -> (Door, Found) {
    let ahead = store.looks_ahead().unwrap();
    ahead.admit_and_look_up(&key.hash, wanted, later(at)).await.unwrap()
}

/// Makes the key, of project 1, and an entry for `hello`.
async fn with_entry(store: &dyn Store, key: &ApiKey) -> LookUp {
    store.create_key(key, &change()).await.unwrap();
    let scope = scope(project_id(1));
    put(store, entry(1, &scope, "hello")).await;
    wanted(&scope, "hello")
}

async fn finds_what_the_exact_look_up_finds(store: Subject) {
    let id = with_project(&*store, 1).await;
    let key = key(1, id);
    store.create_key(&key, &change()).await.unwrap();
    let (plain, chat, long) = (scope(id), chat(id), "Grüße\0");
    let mut brief = entry(1, &plain, "brief");
    brief.entry.expires = Some(later(5));
    put(&*store, brief).await;
    put(&*store, entry(2, &plain, long)).await;
    put(&*store, recorded(3, &chat, "hello")).await;
    let [brief, long, hello] = ["brief", long, "hello"].map(PromptHash::of);
    let stored = [(&plain, brief), (&plain, long), (&chat, request("hello"))];
    let others = [(&plain, hello), (&chat, brief), (&chat, hello), (&plain, request("hello"))];
    for (at, live) in [(4, 3), (5, 2)] {
        let mut found = 0;
        for (scope, prompt) in stored.iter().chain(&others) {
            let wanted = LookUp::new(scope, *prompt);
            let (door, ahead) = ask(&*store, &key, &wanted, at).await;
            assert_eq!(*opened(door).0.project, project(1));
            let exact = store.exact(scope, prompt, later(at)).await.unwrap();
            found += usize::from(exact.is_some());
            assert_eq!(ahead.unwrap(), exact, "{scope:?} {prompt:?} at {at}");
        }
        assert_eq!(found, live);
    }
}

async fn lets_in_as_admission_does(store: Subject) {
    let custom_quota = Quota::new(60, 5).ok();
    for (number, own) in [(1, None), (2, Quota::new(60, 3).ok())] {
        // Two projects that are alike, one asked in this way and one in that.
        let [this, that] = [number, number + 10].map(|number| Project { custom_quota, ..project(number) });
        let [ahead, plain] = [(number, &this), (number + 10, &that)].map(|(number, project)| ApiKey {
            quota: own,
            expires: Some(later(9)),
            ..key(number, project.id)
        });
        for (project, key) in [(&this, &ahead), (&that, &plain)] {
            store.create_project(project, &change()).await.unwrap();
            store.create_key(key, &change()).await.unwrap();
        }
        let nothing = wanted(&scope(this.id), "nothing");
        for at in [0, 0, 0, 0, 0, 0, 1, 8, 9] {
            let (door, found) = ask(&*store, &ahead, &nothing, at).await;
            assert_eq!(found.unwrap(), None);
            match (door, store.admit_within_limit(&plain.hash, later(at)).await.unwrap()) {
                (Door::Open(admission, said), Door::Open(_, said_to_plain)) => {
                    assert_eq!((&*admission.key, &*admission.project), (&ahead, &this));
                    assert_eq!(said, said_to_plain, "key {number} at {at}");
                }
                (Door::Expired, Door::Expired) => assert_eq!(at, 9),
                (door, to_plain) => unreachable!("{door:?}, and not {to_plain:?}"),
            }
        }
        store.revoke_key(this.id, ahead.id, &change()).await.unwrap();
        assert!(matches!(ask(&*store, &ahead, &nothing, 0).await.0, Door::Unknown));
    }
}

async fn finds_nothing_of_other_projects(store: Subject) {
    let (mine, theirs) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let wanted = with_entry(&*store, &key(1, mine)).await;
    let other = key(2, theirs);
    store.create_key(&other, &change()).await.unwrap();
    assert!(ask(&*store, &key(1, mine), &wanted, 0).await.1.unwrap().is_some());
    assert_eq!(ask(&*store, &other, &wanted, 0).await.1.unwrap(), None);
}

async fn finds_nothing_for_who_is_refused(store: Subject) {
    let id = with_project(&*store, 1).await;
    let narrow = ApiKey { quota: Quota::new(1, 1).ok(), expires: Some(later(9)), ..key(1, id) };
    let wanted = with_entry(&*store, &narrow).await;
    for (at, finds) in [(0, true), (0, false), (9, false)] {
        let (door, found) = ask(&*store, &narrow, &wanted, at).await;
        assert_eq!(found.unwrap().is_some(), finds, "{door:?} at {at}");
    }
    let wide = key(2, id);
    store.create_key(&wide, &change()).await.unwrap();
    let limited = Project { custom_quota: Quota::new(1, 1).ok(), ..project(1) };
    for (changed, at, finds) in [
        (project(1), 10, true),
        (Project { suspended: true, ..project(1) }, 20, false),
        (limited.clone(), 200, true),
        (limited, 200, false),
        (project(1), 500, true),
    ] {
        store.update_project(&changed, &change()).await.unwrap();
        let (door, found) = ask(&*store, &wide, &wanted, at).await;
        assert_eq!(found.unwrap().is_some(), finds, "{door:?} at {at}");
        assert_eq!(*opened(door).0.project, changed);
    }
    store.revoke_key(id, wide.id, &change()).await.unwrap();
    assert!(matches!(ask(&*store, &wide, &wanted, 500).await, (Door::Unknown, Ok(None))));
    let exact = store.exact(&scope(id), &PromptHash::of("hello"), NOW).await.unwrap();
    assert!(exact.is_some(), "it was there all the time");
}

async fn lets_in_as_many_of_those_who_come_together(store: Subject) {
    const ASKED: u8 = 20;
    for (number, of_project, of_key) in [(1, 5, None), (2, 5, Some(3)), (3, 3, Some(5)), (4, 30, Some(25))] {
        let quota = |burst| Quota::new(60, burst).ok();
        let project = Project { custom_quota: quota(of_project), ..project(number) };
        store.create_project(&project, &change()).await.unwrap();
        let key = ApiKey { quota: of_key.and_then(quota), ..key(number, project.id) };
        store.create_key(&key, &change()).await.unwrap();
        let scope = scope(project.id);
        let prompts: Vec<String> = (0..ASKED).map(|asked| format!("prompt {asked}")).collect();
        for (asked, prompt) in (0..).zip(&prompts) {
            put(&*store, entry(number * 100 + asked, &scope, prompt)).await;
        }
        let told = prompts.iter().map(|prompt| {
            let (store, wanted) = (&*store, wanted(&scope, prompt));
            let key = &key;
            async move { (prompt, ask(store, key, &wanted, 0).await) }
        });
        let (mut left, mut refused) = (Vec::new(), 0);
        for (prompt, (door, found)) in join_all(told).await {
            let (admission, said) = opened(door);
            assert_eq!((&*admission.key, &*admission.project), (&key, &project));
            let found = found.unwrap();
            assert_eq!(found.as_ref().map(|entry| &*entry.prompt), said.allowed.then_some(&**prompt));
            if said.allowed {
                left.push(said.remaining);
            } else {
                refused += 1;
            }
        }
        let first = of_key.unwrap_or(of_project).min(of_project);
        let allowed = first.min(u32::from(ASKED));
        assert_eq!(refused, u32::from(ASKED) - allowed);
        // Each request in its turn: its headers say how many are left after it.
        left.sort_unstable_by(|one, other| other.cmp(one));
        assert_eq!(left, (first - allowed..first).rev().collect::<Vec<_>>(), "project {number}");
    }
}
