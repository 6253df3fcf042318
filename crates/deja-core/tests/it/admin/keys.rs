//! How a key is named, and what moves with it to another store.

use deja_core::admin::keys::{self, Expiry, KeyWish, NewKey};
use deja_core::admin::{Acting, AdminError, transfer};
use deja_core::api_key::KeyHash;
use deja_core::audit::Actor;
use deja_core::id::KeyId;
use deja_core::store::{Keys as _, Projects as _};
use deja_core::testing::change;

use super::{project, world};

async fn key(by: &Acting<'_>, project: &str) -> NewKey {
    keys::create(by, project, KeyWish { name: "ci".into(), ..KeyWish::default() }).await.unwrap()
}

#[tokio::test]
async fn a_key_is_revoked_by_prefix_id_or_itself() {
    let (store, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    for named in 0..3 {
        let NewKey { plain, key } = key(&by, &slug).await;
        assert!(store.key_by_hash(&plain.hash()).await.unwrap().is_some());
        let text = [&key.shown, &key.id.to_string(), plain.reveal()][named].to_owned();
        let revoked = keys::revoke(&by, &text, None).await.unwrap();
        assert!(revoked.id == key.id && revoked.revoked.is_some());
        assert!(store.key_by_hash(&plain.hash()).await.unwrap().is_none());
        let again = keys::revoke(&by, &text, None).await.unwrap_err();
        assert!(
            matches!(&again, AdminError::NotFound(text) if !text.contains(&plain.reveal()[7..])),
            "{again}"
        );
    }
}

#[tokio::test]
async fn the_end_and_the_limit_of_a_key_move_with_it() {
    let ((_, _, here), (there_store, _, there)) = (world(), world());
    let (by, to) = (here.acting(Actor::Cli), there.acting(Actor::Cli));
    let slug = project(&by, "a").await;
    let expires = Some(Expiry::In(3600));
    let wish = KeyWish { name: "ci".into(), expires, per_minute: Some(7), ..KeyWish::default() };
    let made = keys::create(&by, &slug, wish).await.unwrap().key;
    let wanted = transfer::Head { project: slug, settings: true, keys: true, secrets: false };
    let records = transfer::head(&by, &wanted).await.unwrap();
    let batch = transfer::Batch { records, skip_bad: false, first: true, open: transfer::Open::default() };
    transfer::import(&to, batch).await.unwrap();
    let moved = (*there_store.key_by_hash(&made.hash).await.unwrap().unwrap().key).clone();
    assert_eq!((moved.quota, moved.expires, moved.id), (made.quota, made.expires, made.id));
    assert!(moved.quota.is_some() && moved.expires.is_some());
}

#[tokio::test]
async fn a_prefix_of_two_keys_revokes_none_and_names_both() {
    let (store, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    let other = project(&by, "b").await;
    let made = key(&by, &slug).await.key;
    let twin = {
        let mut twin = store.find_keys(&made.id.to_string()).await.unwrap().remove(0);
        twin.id = KeyId::from_bytes([7; 16]);
        twin.hash = KeyHash([7; 32]);
        twin.project = store.project(&other).await.unwrap().unwrap().id;
        twin
    };
    store.create_key(&twin, &change()).await.unwrap();
    let error = keys::revoke(&by, &made.shown, None).await.unwrap_err().to_string();
    assert!(error.contains(&made.id.to_string()) && error.contains(&twin.id.to_string()), "{error}");
    keys::revoke(&by, &made.shown, Some(&other)).await.unwrap();
    keys::revoke(&by, &made.shown, None).await.unwrap();
}
