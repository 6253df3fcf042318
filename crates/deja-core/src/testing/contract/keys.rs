//! API keys.

use tokio::task::JoinSet;

use super::fixtures::{bytes, key, later, opened, project, with_project};
use super::{Subject, register};
use crate::analytics::{Outcome, UsageBatch, UsageEvent};
use crate::api_key::{ApiKey, KeyUsage};
use crate::id::KeyId;
use crate::project::Project;
use crate::rate_limit::Quota;
use crate::store::{Door, StoreError};
use crate::testing::{change, change_at};

register!["keys":
    open_their_project,
    are_listed_oldest_first,
    are_found_by_id_and_prefix,
    need_a_project,
    have_a_hash_of_their_own,
    revoked_are_refused_at_once,
    expired_are_told_apart_and_can_be_revoked,
    are_revoked_once_and_by_their_project,
    of_a_suspended_project_say_so_at_once,
    usage_adds_up,
    revocation_holds_under_load,
];

async fn open_their_project(mut store: Subject) {
    let id = with_project(&*store, 1).await;
    let (quota, expires) = (Quota::new(7, 3).ok(), Some(later(1_000_000)));
    let models = Some(vec!["a".to_owned(), String::new()]);
    let narrow = ApiKey { models, quota, expires, ..key(1, id) };
    store.create_key(&narrow, &change()).await.unwrap();
    store.reopen().await;
    let admission = store.key_by_hash(&narrow.hash).await.unwrap().unwrap();
    assert_eq!((&*admission.key, &*admission.project), (&narrow, &project(1)));
    assert!(store.key_by_hash(&key(2, id).hash).await.unwrap().is_none());
}

async fn are_listed_oldest_first(mut store: Subject) {
    let id = with_project(&*store, 1).await;
    let other = with_project(&*store, 2).await;
    for number in [3, 1, 2] {
        store.create_key(&key(number, id), &change()).await.unwrap();
    }
    store.create_key(&key(4, other), &change()).await.unwrap();
    store.revoke_key(id, key(2, id).id, &change_at(later(50))).await.unwrap();
    store.reopen().await;
    let revoked = ApiKey { revoked: Some(later(50)), ..key(2, id) };
    let listed = store.keys(id).await.unwrap();
    let expected = [key(1, id), revoked, key(3, id)].map(|key| (key, KeyUsage::default()));
    assert_eq!(listed, expected);
}

async fn are_found_by_id_and_prefix(mut store: Subject) {
    let (one, two) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    let same = ApiKey { shown: key(1, one).shown, ..key(2, two) };
    for key in [&key(1, one), &same, &key(3, two)] {
        store.create_key(key, &change()).await.unwrap();
    }
    store.reopen().await;
    assert_eq!(store.find_keys("dj_0001").await.unwrap(), [key(1, one), same]);
    assert_eq!(store.find_keys(&key(3, two).id.to_string()).await.unwrap(), [key(3, two)]);
    for none in ["", "dj_", "dj_00", "nonsense"] {
        assert_eq!(store.find_keys(none).await.unwrap(), []);
    }
}

async fn need_a_project(store: Subject) {
    let orphan = key(1, project(1).id);
    assert!(matches!(store.create_key(&orphan, &change()).await, Err(StoreError::Conflict(_))));
    assert!(store.key_by_hash(&orphan.hash).await.unwrap().is_none());
}

async fn have_a_hash_of_their_own(store: Subject) {
    let id = with_project(&*store, 1).await;
    store.create_key(&key(1, id), &change()).await.unwrap();
    let twin = ApiKey { id: KeyId::from_bytes(bytes(2)), ..key(1, id) };
    assert!(matches!(store.create_key(&twin, &change()).await, Err(StoreError::Conflict(_))));
    assert_eq!(store.key_by_hash(&twin.hash).await.unwrap().unwrap().key.id, key(1, id).id);
}

async fn revoked_are_refused_at_once(mut store: Subject) {
    let id = with_project(&*store, 1).await;
    for number in [1, 2] {
        store.create_key(&key(number, id), &change()).await.unwrap();
    }
    assert!(store.key_by_hash(&key(1, id).hash).await.unwrap().is_some());
    assert!(store.revoke_key(id, key(1, id).id, &change_at(later(9))).await.unwrap());
    assert!(store.key_by_hash(&key(1, id).hash).await.unwrap().is_none());
    store.reopen().await;
    assert!(store.key_by_hash(&key(1, id).hash).await.unwrap().is_none());
    assert!(store.key_by_hash(&key(2, id).hash).await.unwrap().is_some());
}

async fn expired_are_told_apart_and_can_be_revoked(mut store: Subject) {
    let id = with_project(&*store, 1).await;
    let brief = ApiKey { expires: Some(later(9)), ..key(1, id) };
    store.create_key(&brief, &change()).await.unwrap();
    store.reopen().await;
    let door = async |at| store.admit_within_limit(&brief.hash, later(at)).await.unwrap();
    let (admission, decision) = opened(door(8).await);
    assert_eq!((&*admission.key, decision.remaining), (&brief, 100));
    for at in [9, 10] {
        assert!(matches!(door(at).await, Door::Expired), "{at}");
    }
    let quota = project(1).quota();
    assert_eq!(
        store.take(id, quota, later(8)).await.unwrap().remaining,
        100,
        "of 120 at once, two were taken"
    );
    assert_eq!(store.take(id, quota, later(8)).await.unwrap().reset, later(10).as_secs());
    assert_eq!(store.key_by_hash(&brief.hash).await.unwrap().unwrap().key.expires, brief.expires);
    assert!(store.revoke_key(id, brief.id, &change_at(later(20))).await.unwrap());
    assert!(matches!(door(8).await, Door::Unknown));
}

async fn are_revoked_once_and_by_their_project(mut store: Subject) {
    let (id, other) = (with_project(&*store, 1).await, with_project(&*store, 2).await);
    store.create_key(&key(1, id), &change()).await.unwrap();
    assert!(!store.revoke_key(other, key(1, id).id, &change_at(later(1))).await.unwrap());
    assert!(store.key_by_hash(&key(1, id).hash).await.unwrap().is_some());
    assert!(store.revoke_key(id, key(1, id).id, &change_at(later(2))).await.unwrap());
    assert!(!store.revoke_key(id, key(1, id).id, &change_at(later(3))).await.unwrap());
    store.reopen().await;
    assert_eq!(store.keys(id).await.unwrap()[0].0.revoked, Some(later(2)));
}

async fn of_a_suspended_project_say_so_at_once(store: Subject) {
    let id = with_project(&*store, 1).await;
    store.create_key(&key(1, id), &change()).await.unwrap();
    for suspended in [true, false] {
        store.update_project(&Project { suspended, ..project(1) }, &change()).await.unwrap();
        assert_eq!(store.key_by_hash(&key(1, id).hash).await.unwrap().unwrap().project.suspended, suspended);
    }
}

async fn usage_adds_up(mut store: Subject) {
    let id = with_project(&*store, 1).await;
    store.create_key(&key(1, id), &change()).await.unwrap();
    let gone = key(2, id).id;
    for (requests, at) in [(3, later(20)), (4, later(10)), (0, later(30))] {
        let mut batch = UsageBatch::default();
        // A request over the limit counts like any other.
        batch.add(&UsageEvent::bare(id, key(1, id).id, Outcome::RateLimited, later(5)));
        for _ in 0..requests {
            batch.add(&UsageEvent::bare(id, key(1, id).id, Outcome::Refused, at));
            batch.add(&UsageEvent::bare(id, gone, Outcome::Miss, at));
        }
        store.record(&batch).await.unwrap();
    }
    store.reopen().await;
    let usage = KeyUsage { requests: 10, last_used: Some(later(20)) };
    assert_eq!(store.keys(id).await.unwrap(), [(key(1, id), usage)]);
}

/// Whoever saw a revocation acknowledged never sees the key admitted, however busy the store is.
async fn revocation_holds_under_load(store: Subject) {
    let id = with_project(&*store, 1).await;
    let mut tasks = JoinSet::new();
    for number in 0..40 {
        let store = store.shared();
        tasks.spawn(async move {
            let key = key(number, id);
            store.create_key(&key, &change()).await.unwrap();
            assert!(store.key_by_hash(&key.hash).await.unwrap().is_some());
            assert!(store.revoke_key(id, key.id, &change_at(later(1))).await.unwrap());
            assert!(store.key_by_hash(&key.hash).await.unwrap().is_none());
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}
