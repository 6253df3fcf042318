//! Own providers of projects, and their keys.

use deja_core::admin::projects::{self, ProjectPatch};
use deja_core::admin::providers::{self, NewProvider, ProviderPatch};
use deja_core::admin::{AdminError, Hidden, audit};
use deja_core::audit::Actor;
use deja_core::project::Tier;
use deja_core::provider::{ProviderKind, binding};
use deja_core::store::{Projects as _, ProviderConfigs as _};
use secrecy::ExposeSecret as _;

use super::{project, provider, world};

#[tokio::test]
async fn a_providers_secret_is_sealed_for_its_host() {
    let (store, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    providers::add(&by, provider(&slug, "https://llm.example.com/v1/")).await.unwrap();
    let id = store.project(&slug).await.unwrap().unwrap().id;
    let kept = store.providers(id).await.unwrap().remove(0);
    assert_eq!((kept.base_url.as_str(), kept.models.len()), ("https://llm.example.com/v1", 1));
    let open = |url: &str| {
        let aad = binding(kept.id, &url.parse().unwrap());
        let opened = admin.sealer.open(kept.sealed_secret.as_ref().unwrap(), &aad);
        opened.map(|secret| secret.expose_secret().to_vec())
    };
    assert_eq!(open("https://llm.example.com/other").unwrap(), b"hush");
    assert!(open("https://elsewhere.example.com/v1").is_err());
    let twice = providers::add(&by, provider(&slug, "https://b.example.com/v1")).await;
    assert!(matches!(twice, Err(AdminError::Conflict(_))));
}

#[tokio::test]
async fn bad_providers_are_refused() {
    let (_, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    let good = || provider(&slug, "https://llm.example.com/v1");
    let models = |number: usize| (0..number).map(|number| number.to_string()).collect();
    let secret = |text: &str| Some(Hidden::from(text.to_owned()));
    for bad in [
        NewProvider { name: "OpenAI".into(), ..good() },
        NewProvider { name: "a b".into(), ..good() },
        NewProvider { models: vec![], ..good() },
        NewProvider { models: vec!["a b".into()], ..good() },
        NewProvider { models: models(201), ..good() },
        NewProvider { secret: secret("a b"), ..good() },
        NewProvider { secret: secret(" "), ..good() },
        NewProvider { secret: secret(&"x".repeat(8193)), ..good() },
        NewProvider { base_url: "no URL".into(), ..good() },
    ] {
        let text = format!("{bad:?}");
        assert!(!text.contains("hush"));
        let error = providers::add(&by, bad).await.unwrap_err();
        assert!(matches!(error, AdminError::Setting { .. }), "{text}: {error}");
    }
    let largest = NewProvider { models: models(200), secret: secret(&"x".repeat(8192)), ..good() };
    assert!(providers::add(&by, largest).await.is_ok());
}

#[tokio::test]
async fn a_provider_that_moves_wants_its_key_again() {
    let (store, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    let new = provider(&slug, "https://llm.example.com/v1");
    providers::add(&by, new).await.unwrap();
    let set = async |patch| providers::set(&by, "a", "house", patch).await;
    let moved = |secret: Option<&str>| ProviderPatch {
        base_url: Some("https://other.example.com/v1".into()),
        secret: secret.map(|secret| Some(Hidden::from(secret.to_owned())).into()),
        ..ProviderPatch::default()
    };
    let refused = set(moved(None)).await.unwrap_err();
    assert!(refused.to_string().contains("bound to its host"), "{refused}");
    let id = store.project("a").await.unwrap().unwrap().id;
    let before = store.providers(id).await.unwrap();
    assert_eq!(before[0].base_url, "https://llm.example.com/v1", "nothing changed");
    let path = ProviderPatch {
        base_url: Some("https://llm.example.com/v2".into()),
        models: Some(vec!["n".into()]),
        kind: Some(ProviderKind::Gemini),
        ..ProviderPatch::default()
    };
    set(path).await.unwrap();
    let private = |allowed| ProviderPatch { allow_private: Some(allowed), ..ProviderPatch::default() };
    set(private(true)).await.unwrap();
    set(private(false)).await.unwrap();
    set(moved(Some("new-key"))).await.unwrap();
    let after = store.providers(id).await.unwrap().remove(0);
    assert_eq!(
        (&*after.base_url, &after.models[..]),
        ("https://other.example.com/v1", &["n".to_owned()][..])
    );
    assert_eq!((before[0].kind, after.kind), (ProviderKind::Anthropic, ProviderKind::Gemini));
    let rows = audit::list(&by, &audit::AuditQuery::default(), None, 5).await.unwrap();
    let details: Vec<&str> = rows.iter().map(|line| line.row.change.detail.as_str()).collect();
    let expected = [
        "gemini at https://other.example.com/v1 for n, with a new key",
        "gemini at https://llm.example.com/v2 for n, no longer private",
        "gemini at https://llm.example.com/v2 for n, may be private",
        "gemini at https://llm.example.com/v2 for n",
        "anthropic at https://llm.example.com/v1 for m",
    ];
    assert_eq!(details, expected);
    let url = after.base_url.parse().unwrap();
    let opened = admin.sealer.open(after.sealed_secret.as_ref().unwrap(), &binding(after.id, &url)).unwrap();
    assert_eq!(opened.expose_secret(), b"new-key");
}

#[tokio::test]
async fn what_is_so_already_leaves_no_row() {
    let (_, _, admin) = world();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    providers::add(&by, provider(&slug, "https://llm.example.com/v1")).await.unwrap();
    projects::set_suspended(&by, &slug, true).await.unwrap();
    let rows = async || audit::list(&by, &audit::AuditQuery::default(), None, 100).await.unwrap().len();
    let before = rows().await;
    projects::set_suspended(&by, &slug, true).await.unwrap();
    let same = ProjectPatch { name: Some("a".into()), tier: Some(Tier::Free), ..ProjectPatch::default() };
    projects::set(&by, &slug, same).await.unwrap();
    let same = ProviderPatch {
        kind: Some(ProviderKind::Anthropic),
        models: Some(vec!["m".into()]),
        ..ProviderPatch::default()
    };
    providers::set(&by, &slug, "house", same).await.unwrap();
    assert_eq!(rows().await, before);
    let nothing = providers::set(&by, &slug, "house", ProviderPatch::default()).await;
    assert!(matches!(nothing, Err(AdminError::Invalid(_))), "{nothing:?}");
    assert!(
        audit::list(&by, &audit::AuditQuery::default(), None, 0).await.is_err(),
        "no rows are nothing to ask for"
    );
}
