//! Rate limits.

use tokio::task::JoinSet;

use super::fixtures::{NOW, key, later, opened, project, project_id, scope, with_project};
use super::{Subject, register};
use crate::api_key::ApiKey;
use crate::cache::PromptHash;
use crate::project::{Project, Tier};
use crate::rate_limit::{Bucket, Decision, LimitOf, Quota, take};
use crate::store::{Door, LookUp, Store};
use crate::testing::change;

register!["limits":
    a_bucket_is_never_overdrawn,
    projects_have_buckets_of_their_own,
    buckets_refill,
    a_clock_that_is_set_back_gives_one_burst,
    hold_at_admission_for_each_tier,
    are_not_touched_by_who_is_not_admitted,
    feedback_has_a_bucket_of_its_own,
    of_a_key_hold_besides_its_projects,
    of_a_key_is_never_overdrawn,
];

async fn a_bucket_is_never_overdrawn(store: Subject) {
    let quota = Quota::new(60, 30).unwrap();
    with_project(&*store, 1).await;
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let store = store.shared();
        tasks.spawn(async move {
            let mut allowed = 0;
            for _ in 0..10 {
                allowed += u32::from(store.take(project_id(1), quota, NOW).await.unwrap().allowed);
            }
            allowed
        });
    }
    let mut allowed = 0;
    while let Some(done) = tasks.join_next().await {
        allowed += done.unwrap();
    }
    assert_eq!(allowed, 30);
}

async fn projects_have_buckets_of_their_own(store: Subject) {
    let quota = Quota::new(60, 1).unwrap();
    for project in [1, 2] {
        with_project(&*store, project).await;
        assert!(store.take(project_id(project), quota, NOW).await.unwrap().allowed);
        assert!(!store.take(project_id(project), quota, NOW).await.unwrap().allowed);
    }
}

async fn buckets_refill(store: Subject) {
    let quota = Quota::new(60, 1).unwrap();
    with_project(&*store, 1).await;
    assert!(store.take(project_id(1), quota, NOW).await.unwrap().allowed);
    let refused = store.take(project_id(1), quota, NOW).await.unwrap();
    assert_eq!((refused.allowed, refused.retry_after, refused.remaining), (false, 1, 0));
    assert!(store.take(project_id(1), quota, later(1)).await.unwrap().allowed);
}

async fn a_clock_that_is_set_back_gives_one_burst(store: Subject) {
    let quota = Quota::new(60, 5).unwrap();
    with_project(&*store, 1).await;
    // Two of five requests are left, and none of them is lost with the hour. Requests that come at once are not in order.
    for (at, remaining) in [(3600, 4), (3599, 3), (3600, 2), (0, 4), (-1, 3), (0, 2), (0, 1), (0, 0)] {
        let said = store.take(project_id(1), quota, later(at)).await.unwrap();
        assert_eq!((said.allowed, said.remaining), (true, remaining), "{at}");
    }
    for at in [0, -1] {
        assert!(!store.take(project_id(1), quota, later(at)).await.unwrap().allowed, "{at}");
    }
    assert!(store.take(project_id(1), quota, later(1)).await.unwrap().allowed);
}

async fn hold_at_admission_for_each_tier(store: Subject) {
    let custom = Some(Quota::new(7, 3).unwrap());
    let kinds = Tier::ALL.map(|tier| (tier, None)).into_iter().chain([(Tier::Enterprise, custom)]);
    for (number, (tier, custom_quota)) in (1..).zip(kinds) {
        let project = Project { tier, custom_quota, ..project(number) };
        store.create_project(&project, &change()).await.unwrap();
        let key = key(number, project.id);
        store.create_key(&key, &change()).await.unwrap();
        let mut bucket = Bucket::default();
        // Some come at once, some later: each is told what the rule says.
        for at in [0, 0, 0, 0, 1, 9, 9].map(later) {
            let door = store.admit_within_limit(&key.hash, at).await.unwrap();
            let (admission, decision) = opened(door);
            assert_eq!((&*admission.key, &*admission.project), (&key, &project));
            let (next, expected) = take(bucket, project.quota(), at);
            assert_eq!(decision, expected, "{tier:?} {custom_quota:?} {at:?}");
            bucket = next;
        }
    }
}

async fn are_not_touched_by_who_is_not_admitted(store: Subject) {
    let id = with_project(&*store, 1).await;
    let revoked = key(1, id);
    store.create_key(&revoked, &change()).await.unwrap();
    store.revoke_key(id, revoked.id, &change()).await.unwrap();
    for hash in [revoked.hash, key(2, id).hash] {
        assert!(matches!(store.admit_within_limit(&hash, NOW).await.unwrap(), Door::Unknown));
    }
    let quota = Quota::new(60, 5).unwrap();
    assert_eq!(store.take(id, quota, NOW).await.unwrap().remaining, 4);
}

async fn feedback_has_a_bucket_of_its_own(store: Subject) {
    let quota = Quota::new(60, 1).unwrap();
    for project in [1, 2] {
        let project = with_project(&*store, project).await;
        assert!(store.take(project, quota, NOW).await.unwrap().allowed);
        assert!(store.take_feedback(project, quota, NOW).await.unwrap().allowed);
        let refused = store.take_feedback(project, quota, NOW).await.unwrap();
        assert_eq!((refused.allowed, refused.retry_after, refused.remaining), (false, 1, 0));
    }
    assert!(store.take_feedback(project_id(1), quota, later(1)).await.unwrap().allowed);
    assert!(!store.take(project_id(1), quota, NOW).await.unwrap().allowed);
    store.delete_project(project_id(1), &change()).await.unwrap();
    with_project(&*store, 1).await;
    assert!(
        store.take_feedback(project_id(1), quota, NOW).await.unwrap().allowed,
        "a new project, a full bucket"
    );
}

/// A key of project 1, whose limit is 5 at once, with a limit of its own.
async fn limited(store: &dyn Store, number: u32, own: Option<Quota>) -> ApiKey {
    let key = ApiKey { quota: own, ..key(number, project_id(1)) };
    store.create_key(&key, &change()).await.unwrap();
    key
}

async fn said(store: &dyn Store, key: &ApiKey, at: i64) -> Decision {
    opened(store.admit_within_limit(&key.hash, later(at)).await.unwrap()).1
}

async fn of_a_key_hold_besides_its_projects(store: Subject) {
    let custom_quota = Quota::new(60, 5).ok();
    store.create_project(&Project { custom_quota, ..project(1) }, &change()).await.unwrap();
    let narrow = limited(&*store, 1, Quota::new(60, 2).ok()).await;
    let wide = limited(&*store, 2, None).await;
    for left in [1, 0] {
        let own = said(&*store, &narrow, 0).await;
        assert_eq!((own.allowed, own.of, own.remaining), (true, LimitOf::Key, left));
    }
    let refused = said(&*store, &narrow, 0).await;
    assert_eq!((refused.allowed, refused.of, refused.retry_after), (false, LimitOf::Key, 1));
    // What the key's own limit refused took nothing from its project's.
    for left in [2, 1, 0] {
        let whole = said(&*store, &wide, 0).await;
        assert_eq!((whole.allowed, whole.of, whole.remaining), (true, LimitOf::Project, left));
    }
    assert!(!said(&*store, &wide, 0).await.allowed);
    // A second later there is one request in each bucket: the project's is gone first.
    assert!(said(&*store, &wide, 1).await.allowed);
    let nothing = LookUp::new(&scope(project_id(1)), PromptHash([0; 32]));
    for _ in 0..3 {
        let refused = said(&*store, &narrow, 1).await;
        assert_eq!((refused.allowed, refused.of), (false, LimitOf::Project));
        if let Some(ahead) = store.looks_ahead() {
            let (door, _) = ahead.admit_and_look_up(&narrow.hash, &nothing, later(1)).await.unwrap();
            assert_eq!(opened(door).1.of, LimitOf::Project);
        }
    }
    // What the project's limit refused took nothing from the key's own.
    let own = store.take_of_key(project_id(1), narrow.id, narrow.quota.unwrap(), later(1)).await.unwrap();
    assert_eq!((own.allowed, own.remaining), (true, 0));
}

async fn of_a_key_is_never_overdrawn(store: Subject) {
    with_project(&*store, 1).await;
    let key = limited(&*store, 1, Quota::new(60, 10).ok()).await;
    let mut tasks = JoinSet::new();
    for _ in 0..30 {
        let (store, key) = (store.shared(), key.clone());
        tasks.spawn(async move { said(&*store, &key, 0).await.allowed });
    }
    let allowed = tasks.join_all().await.into_iter().filter(|allowed| *allowed).count();
    assert_eq!(allowed, 10);
    store.delete_project(project_id(1), &change()).await.unwrap();
    with_project(&*store, 1).await;
    let quota = Quota::new(60, 10).unwrap();
    let first = store.take_of_key(project_id(1), key.id, quota, NOW).await.unwrap();
    assert_eq!(first.remaining, 9, "a new project, a full bucket");
}
