//! Rate limits.

use tokio::task::JoinSet;

use super::fixtures::{NOW, key, later, project, project_id, with_project};
use super::{Subject, register};
use crate::project::{Project, Tier};
use crate::rate_limit::{Bucket, Quota, take};
use crate::testing::change;

register!["limits":
    a_bucket_is_never_overdrawn,
    projects_have_buckets_of_their_own,
    buckets_refill,
    hold_at_admission_for_each_tier,
    are_not_touched_by_who_is_not_admitted,
    feedback_has_a_bucket_of_its_own,
];

async fn a_bucket_is_never_overdrawn(subject: Subject) {
    let quota = Quota::new(60, 30).unwrap();
    with_project(&*subject.store(), 1).await;
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let store = subject.store();
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

async fn projects_have_buckets_of_their_own(subject: Subject) {
    let store = subject.store();
    let quota = Quota::new(60, 1).unwrap();
    for project in [1, 2] {
        with_project(&*store, project).await;
        assert!(store.take(project_id(project), quota, NOW).await.unwrap().allowed);
        assert!(!store.take(project_id(project), quota, NOW).await.unwrap().allowed);
    }
}

async fn buckets_refill(subject: Subject) {
    let store = subject.store();
    let quota = Quota::new(60, 1).unwrap();
    with_project(&*store, 1).await;
    assert!(store.take(project_id(1), quota, NOW).await.unwrap().allowed);
    let refused = store.take(project_id(1), quota, NOW).await.unwrap();
    assert_eq!((refused.allowed, refused.retry_after, refused.remaining), (false, 1, 0));
    assert!(store.take(project_id(1), quota, later(1)).await.unwrap().allowed);
}

async fn hold_at_admission_for_each_tier(subject: Subject) {
    let store = subject.store();
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
            let (admission, decision) = store.admit_within_limit(&key.hash, at).await.unwrap().unwrap();
            assert_eq!((&*admission.key, &*admission.project), (&key, &project));
            let (next, expected) = take(bucket, project.quota(), at);
            assert_eq!(decision, expected, "{tier:?} {custom_quota:?} {at:?}");
            bucket = next;
        }
    }
}

async fn are_not_touched_by_who_is_not_admitted(subject: Subject) {
    let store = subject.store();
    let id = with_project(&*store, 1).await;
    let revoked = key(1, id);
    store.create_key(&revoked, &change()).await.unwrap();
    store.revoke_key(id, revoked.id, &change()).await.unwrap();
    for hash in [revoked.hash, key(2, id).hash] {
        assert!(store.admit_within_limit(&hash, NOW).await.unwrap().is_none());
    }
    let quota = Quota::new(60, 5).unwrap();
    assert_eq!(store.take(id, quota, NOW).await.unwrap().remaining, 4);
}

async fn feedback_has_a_bucket_of_its_own(subject: Subject) {
    let store = subject.store();
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
