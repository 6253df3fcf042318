//! Custom providers and the check of the master key.

use super::fixtures::{NOW, key, opened, project_id, with_project};
use super::{Subject, register};
use crate::api_key::ApiKey;
use crate::provider::{ProviderConfig, ProviderKind};
use crate::store::{OwnProviders, Store, StoreError};
use crate::testing::{self, change};

register!["providers":
    come_back_as_they_were,
    are_found_by_model,
    clash_by_name_and_by_model,
    updates_hold_and_keep_identity,
    updates_clash_by_model,
    removed_are_gone,
    each_change_is_another_state,
    need_a_project,
    key_check_is_set_once,
    ready_and_close,
];

fn provider(number: u32, name: &str, models: &[&str]) -> ProviderConfig {
    ProviderConfig {
        name: name.to_owned(),
        // Any two that follow each other differ.
        kind: ProviderKind::ALL[number as usize % 3],
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        sealed_secret: (number == 1).then(|| vec![0, 255, 7]),
        allow_private: number == 1,
        ..testing::provider(number, project_id(1), NOW)
    }
}

async fn come_back_as_they_were(mut store: Subject) {
    with_project(&*store, 1).await;
    let (b, a) = (provider(1, "b", &["z", "y", "z"]), provider(2, "a", &[]));
    for provider in [&b, &a] {
        store.add_provider(provider, &change()).await.unwrap();
    }
    store.reopen().await;
    assert_eq!(store.providers(project_id(1)).await.unwrap(), [a, b]);
    assert_eq!(store.providers(project_id(2)).await.unwrap(), []);
}

async fn are_found_by_model(mut store: Subject) {
    with_project(&*store, 1).await;
    with_project(&*store, 2).await;
    let own = provider(1, "own", &["llama", "qwen"]);
    store.add_provider(&own, &change()).await.unwrap();
    assert_eq!(store.provider_of(project_id(1), "qwen").await.unwrap(), Some(own.clone()));
    store.reopen().await;
    assert_eq!(store.provider_of(project_id(1), "llama").await.unwrap(), Some(own));
    assert_eq!(store.provider_of(project_id(1), "Llama").await.unwrap(), None);
    assert_eq!(store.provider_of(project_id(2), "llama").await.unwrap(), None);
}

async fn clash_by_name_and_by_model(store: Subject) {
    with_project(&*store, 1).await;
    let first = provider(1, "own", &["llama"]);
    store.add_provider(&first, &change()).await.unwrap();
    for (clash, advice) in [
        (provider(2, "own", &["other"]), "choose another name"),
        (provider(3, "other", &["new", "llama"]), "has the model 'llama': take it away there first"),
    ] {
        let refused = store.add_provider(&clash, &change()).await;
        assert!(matches!(&refused, Err(StoreError::Conflict(why)) if why.contains(advice)), "{refused:?}");
    }
    assert_eq!(store.providers(project_id(1)).await.unwrap(), [first], "nothing of the others is left");
    assert_eq!(store.provider_of(project_id(1), "new").await.unwrap(), None);
}

async fn updates_hold_and_keep_identity(mut store: Subject) {
    with_project(&*store, 1).await;
    store.add_provider(&provider(1, "own", &["llama", "qwen"]), &change()).await.unwrap();
    let update = ProviderConfig {
        base_url: "https://new.example/v1".to_owned(),
        id: provider(1, "own", &[]).id,
        ..provider(2, "own", &["qwen", "new"])
    };
    assert!(store.update_provider(&update, &change()).await.unwrap());
    // It was removed and added again since somebody read it: its name is another's.
    let other = provider(3, "own", &["other's"]);
    assert!(!store.update_provider(&other, &change()).await.unwrap());
    assert_eq!(store.provider_of(project_id(1), "other's").await.unwrap(), None);
    assert!(!store.update_provider(&provider(1, "other", &["x"]), &change()).await.unwrap());
    assert_eq!(store.provider_of(project_id(1), "llama").await.unwrap(), None);
    store.reopen().await;
    assert_eq!(store.provider_of(project_id(1), "new").await.unwrap(), Some(update.clone()));
    assert_eq!(store.providers(project_id(1)).await.unwrap(), [update]);
}

async fn updates_clash_by_model(store: Subject) {
    with_project(&*store, 1).await;
    let own = provider(1, "own", &["llama"]);
    store.add_provider(&own, &change()).await.unwrap();
    store.add_provider(&provider(2, "other", &["qwen"]), &change()).await.unwrap();
    let clash = store.update_provider(&provider(1, "own", &["new", "qwen"]), &change()).await;
    let advice = "has the model 'qwen': take it away there first";
    assert!(matches!(&clash, Err(StoreError::Conflict(why)) if why.contains(advice)), "{clash:?}");
    assert_eq!(store.provider_of(project_id(1), "llama").await.unwrap(), Some(own));
    assert_eq!(store.provider_of(project_id(1), "new").await.unwrap(), None);
}

async fn removed_are_gone(mut store: Subject) {
    with_project(&*store, 1).await;
    store.add_provider(&provider(1, "own", &["llama"]), &change()).await.unwrap();
    assert!(!store.remove_provider(project_id(2), "own", &change()).await.unwrap());
    assert!(store.remove_provider(project_id(1), "own", &change()).await.unwrap());
    assert!(!store.remove_provider(project_id(1), "own", &change()).await.unwrap());
    store.reopen().await;
    assert_eq!(store.provider_of(project_id(1), "llama").await.unwrap(), None);
    store.add_provider(&provider(2, "again", &["llama"]), &change()).await.unwrap();
}

/// Where an admission tells states of the project's providers apart, each change makes one of its own.
async fn each_change_is_another_state(mut store: Subject) {
    let keys = [key(1, with_project(&*store, 1).await), key(2, with_project(&*store, 2).await)];
    for key in &keys {
        store.create_key(key, &change()).await.unwrap();
    }
    let first = admitted(&*store, &keys[0]).await;
    assert!(matches!(first, OwnProviders::None | OwnProviders::Unknown), "{first:?}");
    let mut states = vec![first];
    store.add_provider(&provider(1, "own", &["llama"]), &change()).await.unwrap();
    states.push(admitted(&*store, &keys[0]).await);
    store.update_provider(&provider(1, "own", &["qwen2"]), &change()).await.unwrap();
    states.push(admitted(&*store, &keys[0]).await);
    store.add_provider(&provider(3, "other", &["qwen"]), &change()).await.unwrap();
    states.push(admitted(&*store, &keys[0]).await);
    store.remove_provider(project_id(1), "own", &change()).await.unwrap();
    states.push(admitted(&*store, &keys[0]).await);
    for (at, state) in states.iter().enumerate() {
        let told = *state != OwnProviders::Unknown;
        assert_eq!(states[..at].contains(state), at > 0 && !told, "{states:?}");
    }
    store.reopen().await;
    assert_eq!(admitted(&*store, &keys[0]).await, states[4], "it stays as long as nothing changes");
    assert_eq!(admitted(&*store, &keys[1]).await, first, "another project has none");
}

/// What both ways of admission say.
async fn admitted(store: &dyn Store, key: &ApiKey) -> OwnProviders {
    let (admission, _) = opened(store.admit_within_limit(&key.hash, NOW).await.unwrap());
    assert_eq!(store.key_by_hash(&key.hash).await.unwrap().unwrap().providers, admission.providers);
    admission.providers
}

async fn need_a_project(store: Subject) {
    let orphan = store.add_provider(&provider(1, "own", &["llama"]), &change()).await;
    assert!(matches!(orphan, Err(StoreError::Conflict(_))));
}

async fn key_check_is_set_once(mut store: Subject) {
    assert_eq!(store.key_check().await.unwrap(), None);
    store.set_key_check(&[1, 2, 3]).await.unwrap();
    store.set_key_check(&[4]).await.unwrap();
    store.reopen().await;
    assert_eq!(store.key_check().await.unwrap(), Some(vec![1, 2, 3]));
}

async fn ready_and_close(store: Subject) {
    for _ in 0..3 {
        store.ready().await.unwrap();
    }
    store.close().await.unwrap();
    store.close().await.unwrap();
}
