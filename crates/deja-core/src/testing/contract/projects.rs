//! Projects.

use super::fixtures::{
    NOW, assert_found, entry, entry_id, key, later, project, project_id, put, scope, with_project,
};
use super::{Subject, register};
use crate::analytics::{Outcome, UsageBatch, UsageEvent};
use crate::pricing::{ModelPrice, PicoUsdPerToken};
use crate::project::{Guard, Project, ProjectSettings, Tier};
use crate::rate_limit::Quota;
use crate::store::StoreError;
use crate::testing::{self, change};

register!["projects":
    come_back_as_they_were,
    are_listed_by_slug,
    have_a_slug_of_their_own,
    update_keeps_slug_and_creation,
    update_of_none_is_false,
    deleted_are_gone_everywhere,
    a_deleted_one_takes_no_entries,
];

fn elaborate() -> Project {
    let mut settings = ProjectSettings {
        ttl_seconds: None,
        max_entries: 7,
        share_models: true,
        guard: Guard::Strict,
        ..Default::default()
    };
    let price = ModelPrice::flat(PicoUsdPerToken(3), PicoUsdPerToken(4));
    settings.prices.insert("own/model".to_owned(), price);
    Project {
        name: "Näme \u{1F98A}".to_owned(),
        tier: Tier::Enterprise,
        custom_quota: Some(Quota::new(7, 9).unwrap()),
        suspended: true,
        settings,
        created: later(-5),
        ..project(1)
    }
}

async fn come_back_as_they_were(mut store: Subject) {
    store.create_project(&elaborate(), &change()).await.unwrap();
    store.reopen().await;
    assert_eq!(store.project("p1").await.unwrap(), Some(elaborate()));
    assert_eq!(store.project("p2").await.unwrap(), None);
}

async fn are_listed_by_slug(mut store: Subject) {
    for number in [2, 1, 3] {
        with_project(&*store, number).await;
    }
    store.reopen().await;
    assert_eq!(store.projects().await.unwrap(), [project(1), project(2), project(3)]);
}

async fn have_a_slug_of_their_own(store: Subject) {
    with_project(&*store, 1).await;
    let twin = Project { slug: "p1".parse().unwrap(), ..project(2) };
    assert!(matches!(store.create_project(&twin, &change()).await, Err(StoreError::Conflict(_))));
    assert_eq!(store.projects().await.unwrap(), [project(1)]);
}

async fn update_keeps_slug_and_creation(mut store: Subject) {
    let id = with_project(&*store, 1).await;
    store.create_key(&key(1, id), &change()).await.unwrap();
    let renamed = Project { slug: "other".parse().unwrap(), created: later(99), ..elaborate() };
    assert!(store.update_project(&renamed, &change()).await.unwrap());
    let expected = Project { created: NOW, ..elaborate() };
    // For the very next request, suspension included.
    let admission = store.key_by_hash(&key(1, id).hash).await.unwrap().unwrap();
    assert_eq!(*admission.project, expected);
    store.reopen().await;
    assert_eq!(store.project("p1").await.unwrap(), Some(expected));
    assert_eq!(store.project("other").await.unwrap(), None);
}

async fn update_of_none_is_false(store: Subject) {
    assert!(!store.update_project(&project(1), &change()).await.unwrap());
    assert_eq!(store.projects().await.unwrap(), []);
}

async fn deleted_are_gone_everywhere(mut store: Subject) {
    let mut batch = UsageBatch::default();
    for number in [1, 2] {
        let id = with_project(&*store, number).await;
        let key = key(number, id);
        store.create_key(&key, &change()).await.unwrap();
        put(&*store, entry(number, &scope(id), "hello")).await;
        store.add_provider(&testing::provider(number, project_id(number), NOW), &change()).await.unwrap();
        batch.add(&UsageEvent { model: "m", ..UsageEvent::bare(id, key.id, Outcome::Miss, NOW) });
    }
    store.record(&batch).await.unwrap();
    let quota = Quota::new(1, 1).unwrap();
    store.take(project_id(1), quota, NOW).await.unwrap();

    assert!(store.delete_project(project_id(1), &change()).await.unwrap());
    assert!(!store.delete_project(project_id(1), &change()).await.unwrap());
    assert_found(&*store, &scope(project_id(1)), "hello", NOW, false).await;
    store.reopen().await;
    assert_eq!(store.projects().await.unwrap(), [project(2)]);
    assert_found(&*store, &scope(project_id(1)), "hello", NOW, false).await;
    assert_found(&*store, &scope(project_id(2)), "hello", NOW, true).await;
    assert_eq!(store.count(project_id(1)).await.unwrap(), 0);
    assert!(store.key_by_hash(&key(1, project_id(1)).hash).await.unwrap().is_none());
    assert!(store.key_by_hash(&key(2, project_id(2)).hash).await.unwrap().is_some());
    assert!(store.keys(project_id(1)).await.unwrap().is_empty());
    assert!(store.providers(project_id(1)).await.unwrap().is_empty());
    assert!(store.provider_of(project_id(1), "local").await.unwrap().is_none());
    let totals = store.totals(i64::MIN, i64::MAX).await.unwrap();
    assert_eq!(totals.keys().copied().collect::<Vec<_>>(), [project_id(2)]);
    // A project of the same slug starts with nothing.
    store.create_project(&Project { id: project_id(9), ..project(1) }, &change()).await.unwrap();
    assert!(store.keys(project_id(9)).await.unwrap().is_empty());
    assert!(store.take(project_id(1), quota, NOW).await.unwrap().allowed, "the bucket is gone too");
}

async fn a_deleted_one_takes_no_entries(store: Subject) {
    let id = with_project(&*store, 1).await;
    store.delete_project(id, &change()).await.unwrap();
    let late = store.insert(entry(1, &scope(id), "late")).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))));
    assert_eq!(store.count(id).await.unwrap(), 0);
    assert!(!store.delete(id, entry_id(1), &change()).await.unwrap());
}
