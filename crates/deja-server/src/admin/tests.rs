//! The use cases over the reference store.

use std::time::Duration;

use deja_core::api_key::PlainKey;
use deja_core::project::Tier;
use deja_core::provider::ProviderKind;
use deja_core::store::{Keys as _, Projects as _, ProviderConfigs as _};
use deja_core::testing::MemoryStore;
use deja_core::testing::change;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::secrets::vault::{MasterKey, binding};

fn context() -> (Arc<MemoryStore>, AdminContext) {
    let store = MemoryStore::new();
    let key = MasterKey::parse(&SecretString::from("ab".repeat(32))).unwrap();
    let vault = Vault::new(&key, Arc::new(deja_core::id::SystemEntropy));
    let context = AdminContext::new(
        store.clone(),
        vault,
        check_url,
        Arc::new(PriceFeed::open(None, "nowhere".as_ref())),
        "https://deja.example",
    );
    (store, context)
}

async fn project(context: &AdminContext, name: &str) -> String {
    let new = NewProject { name: name.into(), tier: Tier::Free, per_minute: None, burst: None };
    match execute(context, Actor::Cli, Command::ProjectCreate(new)).await.unwrap() {
        Reply::Project(view) => view.slug,
        other => panic!("{other:?}"),
    }
}

async fn key(context: &AdminContext, project: &str) -> (String, KeyView) {
    let command = Command::KeyCreate { project: project.into(), name: "ci".into(), models: vec![] };
    match execute(context, Actor::Cli, command).await.unwrap() {
        Reply::KeyCreated { key, view } => (key.expose().to_owned(), view),
        other => panic!("{other:?}"),
    }
}

fn revoke(text: &str) -> Command {
    Command::KeyRevoke { key: Hidden::from(text.to_owned()), project: None }
}

fn provider(project: &str, url: &str) -> NewProvider {
    NewProvider {
        project: project.into(),
        name: "house".into(),
        kind: ProviderKind::Anthropic,
        base_url: url.into(),
        models: vec!["m".into(), "m".into()],
        secret: Some(Hidden::from("hush\n".to_owned())),
        allow_private: false,
    }
}

#[tokio::test]
async fn slugs_are_numbered_and_names_checked() {
    let (_, context) = context();
    for slug in ["my-team", "my-team-2", "my-team-3"] {
        assert_eq!(project(&context, " My Team ").await, slug);
    }
    for name in ["", " ", "--", "\u{7}bell", &"x".repeat(101), "日本"] {
        let new = NewProject { name: name.into(), tier: Tier::Free, per_minute: None, burst: None };
        let error = execute(&context, Actor::Cli, Command::ProjectCreate(new)).await.unwrap_err();
        assert!(matches!(error, AdminError::Invalid(_)), "{name}");
    }
}

#[tokio::test]
async fn limits_follow_tier_and_wishes() {
    let (store, context) = context();
    let slug = project(&context, "a").await;
    let limit = async |change: Change| {
        execute(&context, Actor::Cli, Command::ProjectSet { project: slug.clone(), change }).await?;
        let quota = store.project(&slug).await?.unwrap().quota();
        Ok::<_, AdminError>((quota.per_minute(), quota.burst()))
    };
    let change = Change::default;
    assert_eq!(limit(Change { per_minute: Some(50), ..change() }).await, Ok((50, 60)));
    assert_eq!(limit(Change { burst: Some(7), ..change() }).await, Ok((50, 7)));
    assert_eq!(limit(Change { tier: Some(Tier::Pro), ..change() }).await, Ok((1000, 1200)));
    for bad in [
        change(),
        Change { per_minute: Some(0), ..change() },
        Change { max_entries: Some(0), ..change() },
        Change { ttl: Some(Ttl { seconds: Some(0) }), ..change() },
    ] {
        assert!(matches!(limit(bad).await, Err(AdminError::Invalid(_))));
    }
    limit(Change { ttl: Some(Ttl { seconds: None }), share_models: Some(true), ..change() }).await.unwrap();
    let settings = store.project(&slug).await.unwrap().unwrap().settings;
    assert!(settings.share_models && settings.ttl_seconds.is_none());
}

#[tokio::test]
async fn a_key_is_revoked_by_prefix_id_or_itself() {
    let (store, context) = context();
    let slug = project(&context, "a").await;
    for by in 0..3 {
        let (plain, view) = key(&context, &slug).await;
        let hash = PlainKey::parse(&plain).unwrap().hash();
        assert!(store.admit(&hash).await.unwrap().is_some());
        let text = [&view.prefix, &view.id, &plain][by].clone();
        let reply = execute(&context, Actor::Cli, revoke(&text)).await.unwrap();
        assert!(matches!(reply, Reply::KeyRevoked(revoked) if revoked.id == view.id));
        assert!(store.admit(&hash).await.unwrap().is_none());
        let again = execute(&context, Actor::Cli, revoke(&text)).await.unwrap_err();
        assert!(matches!(&again, AdminError::NotFound(text) if !text.contains(&plain[7..])), "{again}");
    }
}

#[tokio::test]
async fn a_prefix_of_two_keys_revokes_none_and_names_both() {
    let (store, context) = context();
    let slug = project(&context, "a").await;
    let other = project(&context, "b").await;
    let (_, view) = key(&context, &slug).await;
    let twin = {
        let mut twin = store.find_keys(&view.id).await.unwrap().remove(0);
        twin.id = deja_core::id::KeyId::from_bytes([7; 16]);
        twin.hash = deja_core::api_key::KeyHash([7; 32]);
        twin.project = store.project(&other).await.unwrap().unwrap().id;
        twin
    };
    store.create_key(&twin, &change()).await.unwrap();
    let error = execute(&context, Actor::Cli, revoke(&view.prefix)).await.unwrap_err().to_string();
    assert!(error.contains(&view.id) && error.contains(&twin.id.to_string()), "{error}");
    let one = Command::KeyRevoke { key: Hidden::from(view.prefix.clone()), project: Some(other) };
    execute(&context, Actor::Cli, one).await.unwrap();
    execute(&context, Actor::Cli, revoke(&view.prefix)).await.unwrap();
}

#[tokio::test]
async fn a_providers_secret_is_sealed_for_its_host() {
    let (store, context) = context();
    let slug = project(&context, "a").await;
    execute(&context, Actor::Cli, Command::ProviderAdd(provider(&slug, "https://llm.example.com/v1/")))
        .await
        .unwrap();
    let id = store.project(&slug).await.unwrap().unwrap().id;
    let kept = store.providers(id).await.unwrap().remove(0);
    assert_eq!((kept.base_url.as_str(), kept.models.len()), ("https://llm.example.com/v1", 1));
    let open = |url: &str| {
        let aad = binding(kept.id, &Url::parse(url).unwrap());
        context.vault.open(kept.sealed_secret.as_ref().unwrap(), &aad).map(|text| text.to_vec())
    };
    assert_eq!(open("https://llm.example.com/other").unwrap(), b"hush");
    assert!(open("https://elsewhere.example.com/v1").is_err());
    let twice =
        execute(&context, Actor::Cli, Command::ProviderAdd(provider(&slug, "https://b.example.com/v1")))
            .await;
    assert!(matches!(twice, Err(AdminError::Conflict(_))));
}

#[tokio::test]
async fn bad_providers_are_refused() {
    let (_, context) = context();
    let slug = project(&context, "a").await;
    let good = || provider(&slug, "https://llm.example.com/v1");
    for bad in [
        NewProvider { name: "OpenAI".into(), ..good() },
        NewProvider { name: "a b".into(), ..good() },
        NewProvider { models: vec![], ..good() },
        NewProvider { models: vec!["a b".into()], ..good() },
        NewProvider { secret: Some(Hidden::from("a b".to_owned())), ..good() },
        NewProvider { base_url: "http://127.0.0.1:1/v1".into(), ..good() },
        NewProvider { base_url: "http://169.254.169.254/v1".into(), allow_private: true, ..good() },
    ] {
        let text = format!("{bad:?}");
        assert!(!text.contains("hush"));
        let error = execute(&context, Actor::Cli, Command::ProviderAdd(bad)).await.unwrap_err();
        assert!(matches!(error, AdminError::Invalid(_)), "{text}: {error}");
    }
}

#[tokio::test]
async fn a_projects_own_price_is_shown_and_taken_away() {
    let (_, context) = context();
    let slug = project(&context, "a").await;
    let show = async || {
        let command = Command::PriceShow { model: "gpt-4o-mini".into(), project: Some(slug.clone()) };
        match execute(&context, Actor::Cli, command).await.unwrap() {
            Reply::Price(view) => (view.origin, view.input, view.output),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(show().await, ("table".into(), 0.15, 0.6));
    let set =
        |input| Command::PriceSet { project: slug.clone(), model: "gpt-4o-mini".into(), input, output: 2.0 };
    execute(&context, Actor::Cli, set(1.5)).await.unwrap();
    assert_eq!(show().await, ("override".into(), 1.5, 2.0));
    for bad in [-1.0, f64::NAN, f64::INFINITY, 1001.0] {
        assert!(
            matches!(execute(&context, Actor::Cli, set(bad)).await, Err(AdminError::Invalid(_))),
            "{bad}"
        );
    }
    let unset = || Command::PriceUnset { project: slug.clone(), model: "gpt-4o-mini".into() };
    execute(&context, Actor::Cli, unset()).await.unwrap();
    assert!(matches!(execute(&context, Actor::Cli, unset()).await, Err(AdminError::NotFound(_))));
    let unknown = Command::PriceShow { model: "gpt-4o-foo".into(), project: None };
    assert!(matches!(execute(&context, Actor::Cli, unknown).await, Err(AdminError::NotFound(_))));
}

#[tokio::test]
async fn what_is_not_there_is_said_in_one_line() {
    let (_, context) = context();
    let nobody = || String::from("no\nbody");
    for command in [
        Command::ProjectSuspend { project: nobody() },
        Command::ProjectDelete { project: nobody() },
        Command::KeyList { project: nobody() },
        Command::ProviderList { project: nobody() },
        Command::CacheStats { project: nobody() },
        Command::CachePurge { project: nobody(), model: None, context: ContextFilter::Any, text: None },
    ] {
        let error = execute(&context, Actor::Cli, command).await.unwrap_err();
        assert_eq!(error, AdminError::NotFound("there is no project 'no\\nbody'".into()));
    }
}

#[tokio::test]
async fn a_wrong_master_key_is_noticed() {
    let (store, context) = context();
    context.vault.verify(&*store).await.unwrap();
    context.vault.verify(&*store).await.unwrap();
    let other = MasterKey::parse(&SecretString::from("cd".repeat(32))).unwrap();
    let other = Vault::new(&other, Arc::new(deja_core::id::SystemEntropy));
    assert!(matches!(other.verify(&*store).await, Err(VaultError::WrongKey)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_does_what_the_function_does() {
    use std::os::unix::fs::PermissionsExt;

    let (_, context) = context();
    let context = Arc::new(context);
    let root = tempfile::tempdir().unwrap();
    // Longer than a socket address can be.
    let directory = root.path().join("d".repeat(120));
    std::fs::create_dir(&directory).unwrap();
    let path = socket::path_in(&directory);
    let (to, list) = (path.clone(), Command::ProjectList);
    let call = async move |command: Command| {
        let to = to.clone();
        tokio::task::spawn_blocking(move || socket::call(&to, &command)).await.unwrap()
    };
    assert!(call(list.clone()).await.unwrap().is_none(), "nobody listens");
    for _ in 0..2 {
        let stop = CancellationToken::new();
        let served = tokio_util::task::TaskTracker::new();
        let bound = socket::OwnDirectory::take(&directory).unwrap().listen().unwrap();
        assert!(matches!(socket::OwnDirectory::take(&directory), Err(deja_store::OpenError::Locked { .. })));
        let task = served.spawn(bound.serve(context.clone(), stop.clone()));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let new = NewProject { name: "Über".into(), tier: Tier::Pro, per_minute: None, burst: None };
        let made = call(Command::ProjectCreate(new)).await.unwrap().unwrap().unwrap();
        assert!(matches!(made, Reply::Project(view) if view.slug.starts_with("ber") && view.tier == "pro"));
        let error = call(Command::KeyList { project: "x".into() }).await.unwrap().unwrap().unwrap_err();
        assert!(matches!(error, AdminError::NotFound(_)));
        let huge = Command::ProjectSuspend { project: "x".repeat(65 << 20) };
        let refused = call(huge).await;
        assert!(refused.is_err() || matches!(refused, Ok(Some(Err(AdminError::Invalid(_))))));
        stop.cancel();
        tokio::time::timeout(Duration::from_secs(5), task).await.unwrap().unwrap();
        assert!(!path.exists());
        // What a killed server leaves behind.
        drop(std::os::unix::net::UnixListener::bind(root.path().join("left")).unwrap());
        std::fs::rename(root.path().join("left"), &path).unwrap();
        assert!(call(list.clone()).await.unwrap().is_none(), "a leftover is nobody");
    }
}

fn plain(link: &LinkView) -> deja_core::operator::PlainToken {
    let (_, token) = link.url.expose().split_once("?token=").unwrap();
    deja_core::operator::PlainToken::parse(token).unwrap()
}

async fn operator_link(context: &AdminContext, command: Command) -> LinkView {
    match execute(context, Actor::Cli, command).await.unwrap() {
        Reply::Link(link) => link,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_setup_link_makes_the_first_owner_once() {
    let (store, context) = context();
    let stale = setup_link(&context).await.unwrap().unwrap();
    let link = setup_link(&context).await.unwrap().unwrap();
    assert!(link.url.expose().starts_with("https://deja.example/console/setup?token="));
    let password = || SecretString::from("correct horse battery");
    let used = accept(&context, &plain(&stale), "ada@x", password()).await;
    assert!(matches!(used, Err(AdminError::NotFound(_))), "a new link replaces the last one");
    assert!(matches!(accept(&context, &plain(&link), "ada", password()).await, Err(AdminError::Invalid(_))));
    let short = accept(&context, &plain(&link), "ada@x", "short".into()).await;
    assert!(matches!(short, Err(AdminError::Invalid(_))));
    let ada = accept(&context, &plain(&link), "Ada@X", password()).await.unwrap();
    assert_eq!((ada.email.as_str(), ada.role), ("ada@x", deja_core::operator::Role::Owner));
    assert!(context.passwords.verify(password(), Some(ada.password.clone())).await.unwrap());
    assert!(matches!(
        accept(&context, &plain(&link), "bob@x", password()).await,
        Err(AdminError::NotFound(_))
    ));
    assert!(setup_link(&context).await.unwrap().is_none());
    assert_eq!(deja_core::store::Operators::operators(&*store).await.unwrap(), [ada]);
}

#[tokio::test]
async fn a_setup_link_is_useless_once_there_is_an_operator() {
    let (_, context) = context();
    let link = setup_link(&context).await.unwrap().unwrap();
    let password = Some(Hidden::from("correct horse battery".to_owned()));
    let create = Command::OperatorCreate { email: "ada@x".into(), role: None, password };
    execute(&context, Actor::Cli, create).await.unwrap();
    let late = accept(&context, &plain(&link), "eve@x", "correct horse battery".into()).await;
    assert!(matches!(late, Err(AdminError::NotFound(_))));
}

#[tokio::test]
async fn links_join_and_reset_for_their_own_address_only() {
    let (_, context) = context();
    let create = |email: &str| Command::OperatorCreate { email: email.into(), role: None, password: None };
    let ada = operator_link(&context, create("ada@x")).await;
    let ada = accept(&context, &plain(&ada), "ignored@x", "correct horse battery".into()).await.unwrap();
    assert_eq!(ada.email.as_str(), "ada@x");
    let bob = operator_link(&context, create("bob@x")).await;
    let bob = accept(&context, &plain(&bob), "", "correct horse battery".into()).await.unwrap();
    assert_eq!(bob.role, deja_core::operator::Role::Member, "after the first");
    let reset = Command::OperatorResetPassword { email: "bob@x".into() };
    let reset = operator_link(&context, reset).await;
    let new = accept(&context, &plain(&reset), "", "another long password".into()).await.unwrap();
    assert_eq!((new.id, new.role), (bob.id, bob.role));
    assert!(new.password != bob.password);
    let last = Command::OperatorSet { email: "ada@x".into(), role: None, disabled: Some(true) };
    let refused = execute(&context, Actor::Cli, last).await;
    assert!(matches!(refused, Err(AdminError::Conflict(_))), "the last owner stays");
}

#[tokio::test]
async fn a_provider_that_moves_wants_its_key_again() {
    let (store, context) = context();
    let slug = project(&context, "a").await;
    let new = provider(&slug, "https://llm.example.com/v1");
    execute(&context, Actor::Cli, Command::ProviderAdd(new)).await.unwrap();
    let set = |change| Command::ProviderSet { project: "a".into(), name: "house".into(), change };
    let moved = |secret: Option<&str>| ProviderChange {
        base_url: Some("https://other.example.com/v1".into()),
        secret: secret.map(|secret| Hidden::from(secret.to_owned())),
        ..ProviderChange::default()
    };
    let refused = execute(&context, Actor::Cli, set(moved(None))).await.unwrap_err();
    assert!(refused.to_string().contains("bound to its host"), "{refused}");
    let id = store.project("a").await.unwrap().unwrap().id;
    let before = store.providers(id).await.unwrap();
    assert_eq!(before[0].base_url, "https://llm.example.com/v1", "nothing changed");
    let path = ProviderChange {
        base_url: Some("https://llm.example.com/v2".into()),
        models: Some(vec!["n".into()]),
        kind: Some(ProviderKind::Gemini),
        ..ProviderChange::default()
    };
    execute(&context, Actor::Cli, set(path)).await.unwrap();
    execute(&context, Actor::Cli, set(moved(Some("new-key")))).await.unwrap();
    let after = store.providers(id).await.unwrap().remove(0);
    assert_eq!(
        (&*after.base_url, &after.models[..]),
        ("https://other.example.com/v1", &["n".to_owned()][..])
    );
    assert_eq!((before[0].kind, after.kind), (ProviderKind::Anthropic, ProviderKind::Gemini));
    let Reply::Audit(rows) =
        execute(&context, Actor::Cli, Command::AuditList { project: None, limit: 3 }).await.unwrap()
    else {
        panic!("no rows")
    };
    let details: Vec<&str> = rows.iter().map(|row| row.detail.as_str()).collect();
    let expected = [
        "gemini at https://other.example.com/v1 for n, with a new key",
        "gemini at https://llm.example.com/v2 for n",
        "anthropic at https://llm.example.com/v1 for m",
    ];
    assert_eq!(details, expected);
    let url = after.base_url.parse().unwrap();
    let opened = context.vault.open(after.sealed_secret.as_ref().unwrap(), &binding(after.id, &url)).unwrap();
    assert_eq!(&opened[..], b"new-key");
}
