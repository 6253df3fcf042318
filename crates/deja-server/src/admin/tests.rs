//! The use cases over the reference store.

use std::time::Duration;

use deja_core::admin::Hidden;
use deja_core::admin::keys::{Expiry, KeyWish, NewKey};
use deja_core::admin::operators::{Link, Setup, accept, set_up};
use deja_core::admin::projects::{NewProject, ProjectPatch};
use deja_core::admin::providers::{NewProvider, ProviderPatch};
use deja_core::admin::sessions;
use deja_core::analytics::{Outcome, UsageBatch, UsageEvent};
use deja_core::audit::{Actor, Change};
use deja_core::clock::Timestamp;
use deja_core::id::{Entropy, EntropyError, KeyId};
use deja_core::operator::{Invite, PlainToken, Purpose};
use deja_core::pricing::{PicoUsdPerToken, PriceOrigin};
use deja_core::project::Tier;
use deja_core::provider::{ProviderKind, binding};
use deja_core::store::{Invites as _, Keys as _, Projects as _, ProviderConfigs as _, Usage as _};
use deja_core::testing::{ManualClock, MemoryStore, change};
use futures::FutureExt as _;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::secrets::vault::{MasterKey, VaultError};

fn vault(byte: &str) -> Vault {
    let key = MasterKey::parse(&SecretString::from(byte.repeat(32))).unwrap();
    Vault::new(&key, Arc::new(SystemEntropy))
}

fn admin() -> (Arc<MemoryStore>, Admin) {
    let store = MemoryStore::new();
    (store.clone(), admin_of(store))
}

fn admin_of(store: Arc<MemoryStore>) -> Admin {
    let prices = Arc::new(PriceFeed::open(None, "nowhere".as_ref()));
    over(store, vault("ab"), prices, "https://deja.example")
}

fn named(name: &str) -> NewProject {
    NewProject { name: name.into(), tier: Tier::Free, per_minute: None, burst: None }
}

async fn project(by: &Acting<'_>, name: &str) -> String {
    projects::create(by, named(name)).await.unwrap().slug.to_string()
}

async fn key(by: &Acting<'_>, project: &str) -> NewKey {
    keys::create(by, project, KeyWish { name: "ci".into(), ..KeyWish::default() }).await.unwrap()
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
    let (_, admin) = admin();
    let by = admin.acting(Actor::Cli);
    for slug in ["my-team", "my-team-2", "my-team-3"] {
        assert_eq!(project(&by, " My Team ").await, slug);
    }
    for name in ["", " ", "--", "\u{7}bell", &"x".repeat(101)] {
        let error = projects::create(&by, named(name)).await.unwrap_err();
        assert!(matches!(error, AdminError::Setting { name: about, .. } if about == "name"), "{name}");
    }
    assert_eq!(project(&by, "日本").await, "ri-ben", "a name of any script makes one");
}

/// Random bytes, for which a project is deleted.
struct Deletes(Arc<MemoryStore>);

impl Entropy for Deletes {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError> {
        let project = self.0.project("a").now_or_never().unwrap().unwrap();
        if let Some(project) = project {
            self.0.delete_project(project.id, &change()).now_or_never().unwrap().unwrap();
        }
        SystemEntropy.fill(buffer)
    }
}

#[tokio::test]
async fn what_is_added_to_a_project_while_it_is_deleted_finds_none() {
    let (store, made) = admin();
    let admin = Admin { entropy: Arc::new(Deletes(store.clone())), ..admin_of(store) };
    let (makes, by) = (made.acting(Actor::Cli), admin.acting(Actor::Cli));
    let wanted = AdminError::NotFound("the project 'a' was deleted meanwhile".into());
    let slug = project(&makes, "a").await;
    let wish = KeyWish { name: "ci".into(), ..KeyWish::default() };
    assert_eq!(keys::create(&by, &slug, wish).await.err(), Some(wanted.clone()));
    let slug = project(&makes, "a").await;
    let added = providers::add(&by, provider(&slug, "https://llm.example.com/v1")).await;
    assert_eq!(added.err(), Some(wanted));
}

#[tokio::test]
async fn limits_follow_tier_and_wishes() {
    let (store, admin) = admin();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    let limit = async |patch: ProjectPatch| {
        let given = projects::set(&by, &slug, patch).await?;
        let quota = store.project(&slug).await?.unwrap().quota();
        assert_eq!(given.quota(), quota, "what is said is what is stored");
        Ok::<_, AdminError>((quota.per_minute(), quota.burst()))
    };
    let patch = ProjectPatch::default;
    assert_eq!(limit(ProjectPatch { per_minute: Some(50), ..patch() }).await, Ok((50, 60)));
    assert_eq!(limit(ProjectPatch { burst: Some(500), ..patch() }).await, Ok((50, 500)));
    assert_eq!(limit(ProjectPatch { per_minute: Some(60), ..patch() }).await, Ok((60, 500)));
    assert_eq!(limit(ProjectPatch { tier: Some(Tier::Pro), ..patch() }).await, Ok((1000, 1200)));
    for bad in [
        patch(),
        ProjectPatch { per_minute: Some(0), ..patch() },
        ProjectPatch { max_entries: Some(0), ..patch() },
        ProjectPatch { ttl: Some(Some(0).into()), ..patch() },
    ] {
        let wrong = limit(bad).await.unwrap_err();
        assert!(matches!(wrong, AdminError::Invalid(_) | AdminError::Setting { .. }), "{wrong:?}");
    }
    limit(ProjectPatch { ttl: Some(None.into()), share_models: Some(true), ..patch() }).await.unwrap();
    let settings = store.project(&slug).await.unwrap().unwrap().settings;
    assert!(settings.share_models && settings.ttl_seconds.is_none());
}

#[tokio::test]
async fn a_week_is_the_last_seven_days_with_the_hour_that_runs() {
    let (store, mut admin) = admin();
    let now = Timestamp::from_secs(1_000_000_000);
    admin.clock = Arc::new(ManualClock::at(now));
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    let id = store.project(&slug).await.unwrap().unwrap().id;
    let mut batch = UsageBatch::default();
    for hours in [0, 0, 167, 168, 1000] {
        let at = now.minus(Duration::from_hours(hours));
        batch.add(&UsageEvent::bare(id, KeyId::from_bytes([1; 16]), Outcome::Miss, at));
    }
    store.record(&batch).await.unwrap();
    let (listed, shown) = (projects::list(&by).await.unwrap(), projects::show(&by, &slug).await.unwrap());
    assert_eq!((listed[0].1.requests(), shown.1.requests()), (3, 3));
}

#[tokio::test]
async fn a_key_is_revoked_by_prefix_id_or_itself() {
    let (store, admin) = admin();
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
    let ((_, here), (there_store, there)) = (admin(), admin());
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
    let (store, admin) = admin();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    let other = project(&by, "b").await;
    let made = key(&by, &slug).await.key;
    let twin = {
        let mut twin = store.find_keys(&made.id.to_string()).await.unwrap().remove(0);
        twin.id = deja_core::id::KeyId::from_bytes([7; 16]);
        twin.hash = deja_core::api_key::KeyHash([7; 32]);
        twin.project = store.project(&other).await.unwrap().unwrap().id;
        twin
    };
    store.create_key(&twin, &change()).await.unwrap();
    let error = keys::revoke(&by, &made.shown, None).await.unwrap_err().to_string();
    assert!(error.contains(&made.id.to_string()) && error.contains(&twin.id.to_string()), "{error}");
    keys::revoke(&by, &made.shown, Some(&other)).await.unwrap();
    keys::revoke(&by, &made.shown, None).await.unwrap();
}

#[tokio::test]
async fn a_providers_secret_is_sealed_for_its_host() {
    let (store, admin) = admin();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    providers::add(&by, provider(&slug, "https://llm.example.com/v1/")).await.unwrap();
    let id = store.project(&slug).await.unwrap().unwrap().id;
    let kept = store.providers(id).await.unwrap().remove(0);
    assert_eq!((kept.base_url.as_str(), kept.models.len()), ("https://llm.example.com/v1", 1));
    let open = |url: &str| {
        let aad = binding(kept.id, &url.parse().unwrap());
        vault("ab").open(kept.sealed_secret.as_ref().unwrap(), &aad).map(|text| text.to_vec())
    };
    assert_eq!(open("https://llm.example.com/other").unwrap(), b"hush");
    assert!(open("https://elsewhere.example.com/v1").is_err());
    let twice = providers::add(&by, provider(&slug, "https://b.example.com/v1")).await;
    assert!(matches!(twice, Err(AdminError::Conflict(_))));
}

#[tokio::test]
async fn bad_providers_are_refused() {
    let (_, admin) = admin();
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
        NewProvider { base_url: "http://127.0.0.1:1/v1".into(), ..good() },
        NewProvider { base_url: "http://169.254.169.254/v1".into(), allow_private: true, ..good() },
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
async fn a_projects_own_price_is_shown_and_taken_away() {
    let (_, admin) = admin();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    let show = async || {
        let found = prices::show(&by, "gpt-4o-mini", Some(&slug)).await.unwrap().priced;
        let price =
            [found.price.rates.input, found.price.rates.output].map(PicoUsdPerToken::dollars_per_million);
        (found.origin, price)
    };
    assert_eq!(show().await, (PriceOrigin::Table, [0.15, 0.6]));
    let set = async |input| prices::set(&by, &slug, "gpt-4o-mini", input, 2.0).await;
    set(1.5).await.unwrap();
    assert_eq!(show().await, (PriceOrigin::Override, [1.5, 2.0]));
    for bad in [-1.0, f64::NAN, f64::INFINITY, 1001.0] {
        let refused = set(bad).await;
        assert!(
            matches!(&refused, Err(AdminError::Setting { name, .. }) if name == "input"),
            "{bad}: {refused:?}"
        );
    }
    prices::unset(&by, &slug, "gpt-4o-mini").await.unwrap();
    assert!(matches!(prices::unset(&by, &slug, "gpt-4o-mini").await, Err(AdminError::NotFound(_))));
    assert!(matches!(prices::show(&by, "gpt-4o-foo", None).await, Err(AdminError::NotFound(_))));
    let refresh = prices::refresh(&by).await;
    assert!(matches!(&refresh, Err(AdminError::Invalid(text)) if text.contains("DEJA_PRICES_URL")));
}

#[tokio::test]
async fn what_is_not_there_is_said_in_one_line() {
    let (_, admin) = admin();
    let by = admin.acting(Actor::Cli);
    let nobody = || String::from("no\nbody");
    for command in [
        Command::ProjectSuspend { project: nobody() },
        Command::ProjectDelete { project: nobody() },
        Command::KeyList { project: nobody() },
        Command::ProviderList { project: nobody() },
        Command::CacheStats { project: nobody() },
        Command::CachePurge { project: nobody(), model: None, context: ContextFilter::Any },
    ] {
        let error = execute(&by, command).await.unwrap_err();
        assert_eq!(error, AdminError::NotFound("there is no project 'no\\nbody'".into()));
    }
}

#[tokio::test]
async fn a_wrong_master_key_is_noticed() {
    let store = MemoryStore::new();
    vault("ab").verify(&*store).await.unwrap();
    vault("ab").verify(&*store).await.unwrap();
    assert!(matches!(vault("cd").verify(&*store).await, Err(VaultError::WrongKey)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_does_what_the_function_does() {
    use std::os::unix::fs::PermissionsExt;

    let admin = Arc::new(admin().1);
    let root = tempfile::tempdir().unwrap();
    // Longer than a socket address can be.
    let directory = root.path().join("d".repeat(120));
    std::fs::create_dir(&directory).unwrap();
    let path = socket::path_in(&directory);
    let (to, list) = (path.clone(), Command::ProjectList);
    let call = async move |command: Command| {
        let to = to.clone();
        tokio::task::spawn_blocking(move || socket::call(&to, None, &command)).await.unwrap()
    };
    assert!(call(list.clone()).await.unwrap().is_none(), "nobody listens");
    for _ in 0..2 {
        let stop = CancellationToken::new();
        let served = tokio_util::task::TaskTracker::new();
        let bound = socket::OwnDirectory::take(&directory).unwrap().listen().unwrap();
        assert!(matches!(socket::OwnDirectory::take(&directory), Err(deja_store::OpenError::Locked { .. })));
        let task = served.spawn(bound.serve(admin.clone(), None, stop.clone()));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let new = NewProject { name: "Über".into(), tier: Tier::Pro, per_minute: None, burst: None };
        let made = call(Command::ProjectCreate(new)).await.unwrap().unwrap().unwrap();
        assert!(matches!(made, Reply::Project(view) if view.slug.starts_with("uber") && view.tier == "pro"));
        let error = call(Command::KeyList { project: "x".into() }).await.unwrap().unwrap().unwrap_err();
        assert!(matches!(error, AdminError::NotFound(_)));
        let huge = Command::ProjectSuspend { project: "x".repeat(65 << 20) };
        let refused = call(huge).await;
        assert!(refused.is_err() || matches!(refused, Ok(Some(Err(AdminError::Invalid(_))))));
        stop.cancel();
        tokio::time::timeout(Duration::from_mins(1), task).await.unwrap().unwrap();
        assert!(!path.exists());
        // What a killed server leaves behind.
        drop(std::os::unix::net::UnixListener::bind(root.path().join("left")).unwrap());
        std::fs::rename(root.path().join("left"), &path).unwrap();
        assert!(call(list.clone()).await.unwrap().is_none(), "a leftover is nobody");
    }
}

fn plain(link: &Link) -> PlainToken {
    let (_, token) = link.url.expose().split_once("?token=").unwrap();
    PlainToken::parse(token).unwrap()
}

async fn first_link(admin: &Admin) -> Link {
    match set_up(admin).await.unwrap() {
        Some(Setup::Link(link, _)) => link,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_setup_link_makes_the_first_owner_once() {
    let (store, admin) = admin();
    let stale = first_link(&admin).await;
    let link = first_link(&admin).await;
    assert!(link.url.expose().starts_with("https://deja.example/console/setup?token="));
    let password = || SecretString::from("correct horse battery");
    let used = accept(&admin, &plain(&stale), "ada@x", password()).await;
    assert!(matches!(used, Err(AdminError::NotFound(_))), "a new link replaces the last one");
    let refused = accept(&admin, &plain(&link), "ada", password()).await;
    assert!(matches!(&refused, Err(AdminError::Setting { name, .. }) if name == "email"), "{refused:?}");
    for wrong in ["", "elevenchars", &"x".repeat(1025)] {
        let refused = accept(&admin, &plain(&link), "ada@x", wrong.into()).await;
        assert!(
            matches!(&refused, Err(AdminError::Setting { name, problem }) if name == "password" && problem.contains("12 characters")),
            "{refused:?}"
        );
    }
    let ada = accept(&admin, &plain(&link), "Ada@X", password()).await.unwrap();
    assert_eq!((ada.email.as_str(), ada.role), ("ada@x", deja_core::operator::Role::Owner));
    assert!(admin.passwords.verify(password(), Some(ada.password.clone())).await.unwrap());
    assert!(matches!(accept(&admin, &plain(&link), "bob@x", password()).await, Err(AdminError::NotFound(_))));
    assert!(set_up(&admin).await.unwrap().is_none());
    assert_eq!(deja_core::store::Operators::operators(&*store).await.unwrap(), [ada]);
}

#[tokio::test]
async fn a_setup_link_is_useless_once_there_is_an_operator() {
    let (_, admin) = admin();
    let by = admin.acting(Actor::Cli);
    let link = first_link(&admin).await;
    let typed = Some(Hidden::from("correct horse battery\n".to_owned()));
    let create = Command::OperatorCreate { email: "ada@x".into(), role: None, password: typed };
    execute(&by, create).await.unwrap();
    let ada = operators::list(&by).await.unwrap().remove(0);
    assert!(admin.passwords.verify("correct horse battery".into(), Some(ada.password)).await.unwrap());
    let late = accept(&admin, &plain(&link), "eve@x", "correct horse battery".into()).await;
    assert!(matches!(late, Err(AdminError::NotFound(_))));
}

#[tokio::test]
async fn links_join_and_reset_for_their_own_address_only() {
    let (store, admin) = admin();
    let by = admin.acting(Actor::Cli);
    let ada = operators::invite(&by, "ada@x", None).await.unwrap();
    let ada = accept(&admin, &plain(&ada), "ignored@x", "correct horse battery".into()).await.unwrap();
    assert_eq!(ada.email.as_str(), "ada@x");
    let revoked = operators::invite(&by, "bob@x", None).await.unwrap();
    operators::revoke_invite(&by, &plain(&revoked).hash().to_hex()).await.unwrap();
    let told = audit::list(&by, None, 1).await.unwrap().remove(0).row.change;
    assert_eq!((&*told.action, &*told.subject), ("operator.revoke-link", "bob@x"));
    let bob = operators::invite(&by, "bob@x", None).await.unwrap();
    let bob = accept(&admin, &plain(&bob), "", "correct horse battery".into()).await.unwrap();
    assert_eq!(bob.role, deja_core::operator::Role::Member, "after the first");
    let reset = operators::reset_password(&by, "bob@x").await.unwrap();
    let new = accept(&admin, &plain(&reset), "", "another long password".into()).await.unwrap();
    assert_eq!((new.id, new.role), (bob.id, bob.role));
    assert!(new.password != bob.password);
    let refused = operators::set(&by, "ada@x", None, Some(true)).await;
    assert!(matches!(refused, Err(AdminError::Conflict(_))), "the last owner stays");
    operators::set(&by, "bob@x", None, Some(true)).await.unwrap();
    let refused = operators::reset_password(&by, "bob@x").await.unwrap_err();
    assert!(refused.to_string().ends_with("is disabled: enable it first"), "{refused}");
    let token = PlainToken::generate(&SystemEntropy).unwrap();
    let invite = Invite {
        token: token.hash(),
        purpose: Purpose::ResetPassword { operator: bob.id },
        created_by: None,
        created: by.now(),
        expires: by.now().plus(Duration::from_hours(1)),
    };
    store.create_invite(&invite, &Change::new(by.now(), Actor::Cli, "test")).await.unwrap();
    let refused = accept(&admin, &token, "", "a third long password".into()).await;
    assert!(matches!(refused, Err(AdminError::NotFound(_))), "one that was made meanwhile");
}

#[tokio::test]
async fn a_provider_that_moves_wants_its_key_again() {
    let (store, admin) = admin();
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
    let rows = audit::list(&by, None, 5).await.unwrap();
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
    let opened = vault("ab").open(after.sealed_secret.as_ref().unwrap(), &binding(after.id, &url)).unwrap();
    assert_eq!(&opened[..], b"new-key");
}

#[tokio::test]
async fn what_is_so_already_leaves_no_row() {
    let (_, admin) = admin();
    let by = admin.acting(Actor::Cli);
    let slug = project(&by, "a").await;
    providers::add(&by, provider(&slug, "https://llm.example.com/v1")).await.unwrap();
    projects::suspend(&by, &slug, true).await.unwrap();
    let rows = async || audit::list(&by, None, 100).await.unwrap().len();
    let before = rows().await;
    projects::suspend(&by, &slug, true).await.unwrap();
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
    assert!(audit::list(&by, None, 0).await.is_err(), "no rows are nothing to ask for");
}

#[tokio::test]
async fn a_session_ends_when_it_is_not_used_and_after_a_month_in_any_case() {
    let (_, mut admin) = admin();
    let clock = Arc::new(ManualClock::default());
    admin.clock = clock.clone();
    let password = || SecretString::from("correct horse battery");
    let by = admin.acting(Actor::Cli);
    let ada = operators::create(&by, "ada@x", None, password()).await.unwrap();
    for (email, wrong) in [("ada@x", "correct horse batterx"), ("eve@x", "correct horse battery"), ("", "")] {
        let refused = sessions::check(&admin, email, wrong.into(), "192.0.2.1").await.unwrap();
        assert!(refused.is_none(), "{email}");
    }
    let told = audit::list(&by, None, 1).await.unwrap().remove(0).row.change;
    assert_eq!((&*told.action, told.detail.as_str()), ("session.refuse", "from 192.0.2.1"));
    assert_eq!(sessions::check(&admin, "Ada@X", password(), "").await.unwrap(), Some(ada.clone()));

    let found = async |token| sessions::find(&admin, token).await.unwrap().map(|(_, operator)| operator.id);
    let seldom = sessions::begin(&admin, &ada, false, "a browser").await.unwrap().unwrap();
    clock.advance(sessions::IDLE.mul_f64(0.99));
    assert_eq!(found(&seldom).await, Some(ada.id), "which is a use");
    clock.advance(sessions::IDLE.mul_f64(0.99));
    assert_eq!(found(&seldom).await, Some(ada.id));
    clock.advance(sessions::IDLE);
    assert_eq!(found(&seldom).await, None);

    let daily = sessions::begin(&admin, &ada, false, "a browser").await.unwrap().unwrap();
    let mut days = 0;
    while found(&daily).await.is_some() {
        days += 1;
        clock.advance(Duration::from_hours(24));
    }
    assert_eq!(days, 30);

    let ended = sessions::begin(&admin, &ada, false, "a browser").await.unwrap().unwrap();
    let own = admin.acting_for(&ada);
    assert!(sessions::end(&own, &ada, &ended.hash()).await.unwrap());
    assert_eq!(found(&ended).await, None);
    assert!(!sessions::end(&own, &ada, &ended.hash()).await.unwrap(), "it was over");
}
