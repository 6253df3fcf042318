//! Rate limits.

use tokio::task::JoinSet;

use super::fixtures::{NOW, later, project_id};
use super::{Subject, register};
use crate::rate_limit::Quota;

register!["limits": a_bucket_is_never_overdrawn, projects_have_buckets_of_their_own, buckets_refill];

async fn a_bucket_is_never_overdrawn(subject: Subject) {
    let quota = Quota::new(60, 30).unwrap();
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
        assert!(store.take(project_id(project), quota, NOW).await.unwrap().allowed);
        assert!(!store.take(project_id(project), quota, NOW).await.unwrap().allowed);
    }
}

async fn buckets_refill(subject: Subject) {
    let store = subject.store();
    let quota = Quota::new(60, 1).unwrap();
    assert!(store.take(project_id(1), quota, NOW).await.unwrap().allowed);
    let refused = store.take(project_id(1), quota, NOW).await.unwrap();
    assert_eq!((refused.allowed, refused.retry_after, refused.remaining), (false, 1, 0));
    assert!(store.take(project_id(1), quota, later(1)).await.unwrap().allowed);
}
