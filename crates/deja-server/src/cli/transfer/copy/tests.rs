//! What a repeated copy takes over.

use std::num::NonZeroUsize;

use deja_core::admin::keys::KeyWish;
use deja_core::admin::projects::{NewProject, ProjectPatch};
use deja_core::admin::{Acting, cache, keys, members, operators, prices, projects};
use deja_core::audit::{Actor, AuditFilter, Change};
use deja_core::cache::{Answer, Entry, NewEntry, PromptHash};
use deja_core::clock::{Clock as _, SystemClock};
use deja_core::id::{EntryId, OperatorId, ProviderId};
use deja_core::member::Rank;
use deja_core::operator::{Operator, PasswordHash, Role, TokenHash};
use deja_core::project::{Project, Tier};
use deja_core::provider::{ProviderConfig, ProviderKind};
use deja_core::second_factor::SecondFactor;
use deja_core::store::{
    Audit as _, Browse as _, Entries as _, EntryFilter, Keys as _, Members as _, Operators as _,
    Projects as _, ProviderConfigs as _, SecondFactors as _,
};
use deja_core::testing::{self, MemoryStore, change};

use super::people::{people, ranks};
use super::projects::{forget_entries, take_over};
use super::*;
use crate::secrets::vault::MasterKey;

fn admin(store: Arc<MemoryStore>) -> deja_core::admin::Admin {
    let key = MasterKey::parse(&"ab".repeat(32).into()).unwrap();
    let prices = Arc::new(PriceFeed::open(None, "nowhere".as_ref()));
    wiring::admin(store, Vault::new(&key, Arc::new(SystemEntropy)), prices, "https://deja.example")
}

fn person(number: u8, role: Role) -> Operator {
    testing::operator(number.into(), role, SystemClock.now())
}

/// What a copy does before and after the records.
async fn again(source: &MemoryStore, target: &MemoryStore) -> (Taken, People) {
    let both = Both::read(source, target).await.unwrap();
    let taken = take_over(source, target, &both, &[]).await.unwrap();
    let people = people(source, target, &both).await.unwrap();
    ranks(source, target, &both).await.unwrap();
    (taken, people)
}

/// A project of the source that is in the target too.
async fn shop(theirs: &Acting<'_>, target: &MemoryStore) -> Project {
    let new = NewProject { name: "Shop".into(), tier: Tier::Free, per_minute: None, burst: None };
    let project = projects::create(theirs, new).await.unwrap();
    target.create_project(&project, &change()).await.unwrap();
    project
}

fn provider(project: &Project, number: u8, models: &[&str]) -> ProviderConfig {
    ProviderConfig {
        name: format!("p{number}"),
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        ..testing::provider(number.into(), project.id, project.created)
    }
}

#[tokio::test]
async fn a_copy_that_is_repeated_takes_away_what_the_source_took_away() {
    let (source, target) = (MemoryStore::new(), MemoryStore::new());
    let from = admin(source.clone());
    let theirs = from.acting(Actor::Cli);
    let all = async || {
        let (taken, people) = again(&source, &target).await;
        assert_eq!(taken, Taken::default());
        (people.copied, people.left)
    };
    let project = shop(&theirs, &target).await;
    let wish = KeyWish { name: "ci".into(), ..KeyWish::default() };
    let key = keys::create(&theirs, "shop", wish).await.unwrap().key;
    target.create_key(&key, &change()).await.unwrap();
    let [ada, bob, eve] =
        [(1, Role::Owner), (2, Role::Owner), (3, Role::Member)].map(|(n, role)| person(n, role));
    for person in [&ada, &bob, &eve] {
        source.create_operator(person, &change()).await.unwrap();
    }
    source.set_rank(project.id, eve.id, Rank::Owner, &change()).await.unwrap();
    assert_eq!(all().await, (3, Vec::new()));
    assert_eq!(target.rank(project.id, eve.id).await.unwrap(), Some(Rank::Owner));

    keys::revoke(&theirs, &key.id.to_string(), None).await.unwrap();
    projects::set_suspended(&theirs, "shop", true).await.unwrap();
    source.set_rank(project.id, eve.id, Rank::Viewer, &change()).await.unwrap();
    operators::set(&theirs, bob.email.as_str(), Some(Role::Member), Some(true)).await.unwrap();
    let factor =
        SecondFactor { sealed_secret: vec![1], since: bob.created, last_step: 1, recovery: Vec::new() };
    source.create_second_factor(ada.id, &factor, None, &change()).await.unwrap();
    assert_eq!(all().await, (0, Vec::new()));
    assert!(target.project("shop").await.unwrap().unwrap().suspended);
    assert!(target.keys(project.id).await.unwrap()[0].0.revoked.is_some());
    assert_eq!(target.rank(project.id, eve.id).await.unwrap(), Some(Rank::Viewer));
    let there = target.operator_by_id(bob.id).await.unwrap().unwrap();
    assert!(there.role == Role::Member && there.disabled.is_some());
    assert_eq!(target.second_factor(ada.id).await.unwrap(), Some(factor.clone()));
    assert_eq!(all().await, (0, Vec::new()), "and once more");

    // What cannot be done is named.
    source.create_second_factor(eve.id, &factor, None, &change()).await.unwrap();
    let (store, other) =
        (MemoryStore::new(), Operator { id: OperatorId::from_bytes([9; 16]), ..eve.clone() });
    store.create_operator(&Operator { role: Role::Owner, ..other }, &change()).await.unwrap();
    let both = Both::read(&*source, &*store).await.unwrap();
    let left = people(&*source, &*store, &both).await.unwrap().left;
    assert!(left.len() == 1 && left[0].contains("turn its second factor on there"), "{left:?}");
}

#[tokio::test]
async fn a_copy_that_is_repeated_takes_over_models_passwords_and_ended_memberships() {
    let (source, target) = (MemoryStore::new(), MemoryStore::new());
    let (from, to) = (admin(source.clone()), admin(target.clone()));
    let (theirs, by) = (from.acting(Actor::Cli), to.acting(Actor::Cli));
    let shop = shop(&theirs, &target).await;
    let provider = |number, models: &[&str]| provider(&shop, number, models);
    for store in [&source, &target] {
        store.add_provider(&provider(1, &["a"]), &change()).await.unwrap();
        store.add_provider(&provider(2, &["b", "c"]), &change()).await.unwrap();
    }
    let [ada, eve, own] =
        [(1, Role::Owner), (2, Role::Member), (3, Role::Member)].map(|(n, role)| person(n, role));
    for person in [&ada, &eve] {
        source.create_operator(person, &change()).await.unwrap();
    }
    members::set(&theirs, "shop", eve.email.as_str(), Rank::Editor).await.unwrap();
    let all = async || again(&source, &target).await.0.kept;
    assert_eq!(all().await, Vec::<String>::new());
    // What the target has made itself stays.
    target.create_operator(&own, &change()).await.unwrap();
    members::set(&by, "shop", own.email.as_str(), Rank::Editor).await.unwrap();
    target.add_provider(&provider(3, &["d"]), &change()).await.unwrap();

    // A model moves between providers, and one may no longer stand in a private network.
    let closed = ProviderConfig { allow_private: false, ..provider(2, &["c"]) };
    for provider in [&closed, &provider(1, &["a", "b"])] {
        source.update_provider(provider, &change()).await.unwrap();
    }
    let change_password = async |store: &MemoryStore, hash: &str| {
        let there = store.operator(&eve.email).await.unwrap().unwrap();
        let change = Change::new(SystemClock.now(), Actor::Cli, "operator.change-password");
        let change = change.of(eve.email.as_str());
        let changed = Operator { password: PasswordHash::from_phc(hash), ..there };
        store.update_operator(&changed, &change).await.unwrap();
    };
    change_password(&source, "second").await;
    members::remove(&theirs, "shop", eve.email.as_str()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(all().await, Vec::<String>::new());
        let there = target.providers(shop.id).await.unwrap();
        assert_eq!(there, [provider(1, &["a", "b"]), closed.clone(), provider(3, &["d"])]);
        let eve_there = target.operator(&eve.email).await.unwrap().unwrap();
        assert_eq!(eve_there.password.as_phc(), "second");
        assert_eq!(target.rank(shop.id, eve.id).await.unwrap(), None);
        assert_eq!(target.rank(shop.id, own.id).await.unwrap(), Some(Rank::Editor));
    }
    // What was changed in the target later stays.
    change_password(&target, "third").await;
    members::set(&by, "shop", eve.email.as_str(), Rank::Viewer).await.unwrap();
    // A model that another provider of the target answers for cannot move.
    source.update_provider(&provider(1, &["a", "b", "d"]), &change()).await.unwrap();
    let kept = all().await;
    assert!(kept.len() == 1 && kept[0].starts_with("the provider 'p1' of 'shop': "), "{kept:?}");
    let eve_there = target.operator(&eve.email).await.unwrap().unwrap();
    assert_eq!(eve_there.password.as_phc(), "third");
    assert_eq!(target.rank(shop.id, eve.id).await.unwrap(), Some(Rank::Viewer));
}

#[tokio::test]
async fn a_copy_tells_projects_of_one_slug_apart() {
    let (source, target) = (MemoryStore::new(), MemoryStore::new());
    let (from, to) = (admin(source.clone()), admin(target.clone()));
    let (theirs, by) = (from.acting(Actor::Cli), to.acting(Actor::Cli));
    let make = async |by: &Acting<'_>, name: &str| {
        let new = NewProject { name: name.into(), tier: Tier::Free, per_minute: None, burst: None };
        projects::create(by, new).await.unwrap()
    };
    for name in ["Shop", "Zoo"] {
        target.create_project(&make(&theirs, name).await, &change()).await.unwrap();
    }
    make(&by, "Own").await;
    for slug in ["shop", "zoo"] {
        projects::delete(&theirs, slug).await.unwrap();
    }
    let shop = make(&theirs, "Shop").await;
    let eve = person(1, Role::Member);
    for store in [&source, &target] {
        store.create_operator(&eve, &change()).await.unwrap();
    }
    source.set_rank(shop.id, eve.id, Rank::Owner, &change()).await.unwrap();

    let suspended = async || {
        let all = target.projects().await.unwrap();
        all.into_iter().map(|project| (project.slug.to_string(), project.suspended)).collect::<Vec<_>>()
    };
    let both = Both::read(&*source, &*target).await.unwrap();
    let only = take_over(&*source, &*target, &both, &["own".into()]).await.unwrap();
    assert_eq!(only, Taken::default());
    let done = again(&source, &target).await.0;
    assert_eq!((done.suspended, done.others), (vec!["shop".into(), "zoo".into()], vec!["shop".into()]));
    let expected = [("own", false), ("shop", true), ("zoo", true)];
    assert_eq!(suspended().await, expected.map(|(slug, suspended)| (slug.to_owned(), suspended)));
    let once_more = again(&source, &target).await.0;
    let left = (once_more.suspended, once_more.others);
    assert_eq!(left, (vec![], vec!["shop".into()]), "until it is deleted there");
    let ours = target.project("shop").await.unwrap().unwrap();
    assert_eq!(target.rank(ours.id, eve.id).await.unwrap(), None, "a rank in another project");
}

/// A change of a provider, as the use case would make it.
async fn set_provider(store: &MemoryStore, provider: &ProviderConfig) {
    let change = Change::new(SystemClock.now(), Actor::Cli, "provider.set").within(provider.project);
    assert!(store.update_provider(provider, &change.of(&provider.name)).await.unwrap());
}

async fn remove_provider(store: &MemoryStore, provider: &ProviderConfig) {
    let change = Change::new(SystemClock.now(), Actor::Cli, "provider.remove").within(provider.project);
    let change = change.of(&provider.name);
    assert!(store.remove_provider(provider.project, &provider.name, &change).await.unwrap());
}

async fn add_provider(store: &MemoryStore, provider: &ProviderConfig, how: &str) {
    let change = Change::new(SystemClock.now(), Actor::Cli, "provider.add").within(provider.project);
    store.add_provider(provider, &change.of(&provider.name).how(how)).await.unwrap();
}

#[tokio::test]
async fn whoever_changed_a_provider_last_has_the_word() {
    let (source, target) = (MemoryStore::new(), MemoryStore::new());
    let from = admin(source.clone());
    let shop = shop(&from.acting(Actor::Cli), &target).await;
    let [moved, removed, renewed, kept, gone] =
        [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")].map(|(n, model)| provider(&shop, n, &[model]));
    for one in [&moved, &removed, &renewed, &kept, &gone] {
        add_provider(&source, one, "").await;
        add_provider(&target, one, "imported").await;
    }
    let own = provider(&shop, 6, &["f"]);
    add_provider(&target, &own, "").await;
    assert_eq!(again(&source, &target).await.0, Taken::default());
    assert_eq!(target.providers(shop.id).await.unwrap().len(), 6);

    // Another server with another key; one that is gone; one of the same name that is another.
    let moved = ProviderConfig {
        kind: ProviderKind::Anthropic,
        base_url: "https://other.example".into(),
        sealed_secret: Some(vec![7]),
        ..moved
    };
    set_provider(&source, &moved).await;
    remove_provider(&source, &removed).await;
    remove_provider(&source, &renewed).await;
    let renewed = ProviderConfig { id: ProviderId::from_bytes([9; 16]), ..renewed };
    add_provider(&source, &renewed, "").await;
    // What the target changed later stays so, in each of these ways.
    set_provider(&source, &ProviderConfig { base_url: "https://theirs.example".into(), ..kept.clone() })
        .await;
    let kept = ProviderConfig { base_url: "https://ours.example".into(), ..kept };
    set_provider(&target, &kept).await;
    remove_provider(&target, &gone).await;
    for _ in 0..2 {
        let taken = again(&source, &target).await.0;
        assert!(taken.kept.is_empty(), "{:?}", taken.kept);
        assert_eq!(taken.removed, [("shop".to_owned(), "p5".to_owned())].into());
        // The renewed one comes with the records.
        assert_eq!(target.providers(shop.id).await.unwrap(), [moved.clone(), kept.clone(), own.clone()]);
    }
    let inside = ProviderConfig { base_url: "http://10.0.0.1/v1".into(), allow_private: false, ..moved };
    set_provider(&source, &inside).await;
    let kept = again(&source, &target).await.0.kept;
    assert!(kept.len() == 1 && kept[0].starts_with("the provider 'p1' of 'shop': "), "{kept:?}");
}

#[tokio::test]
async fn whoever_changed_a_project_last_has_the_word() {
    let (source, target) = (MemoryStore::new(), MemoryStore::new());
    let (from, to) = (admin(source.clone()), admin(target.clone()));
    let (theirs, by) = (from.acting(Actor::Cli), to.acting(Actor::Cli));
    shop(&theirs, &target).await;
    let patch = ProjectPatch {
        name: Some("The shop".into()),
        tier: Some(Tier::Pro),
        ttl: Some(Some(60).into()),
        ..ProjectPatch::default()
    };
    projects::set(&theirs, "shop", patch).await.unwrap();
    prices::set(&theirs, "shop", "m", 1.0, 2.0).await.unwrap();
    projects::set_suspended(&theirs, "shop", true).await.unwrap();
    let both_are_equal = async || {
        again(&source, &target).await;
        assert_eq!(target.projects().await.unwrap(), source.projects().await.unwrap());
    };
    both_are_equal().await;
    projects::set_suspended(&theirs, "shop", false).await.unwrap();
    prices::unset(&theirs, "shop", "m").await.unwrap();
    both_are_equal().await;
    // A purge of the source changes nothing of the project itself.
    cache::purge(&theirs, "shop", &EntryFilter::default()).await.unwrap();
    let changes =
        async || target.changes(&AuditFilter::default(), None, NonZeroUsize::MAX).await.unwrap().len();
    let before = changes().await;
    again(&source, &target).await;
    assert_eq!(changes().await, before, "nothing was changed");

    // What is set in the target later stays, and what is set in the source after that comes over again.
    let set = |name: &str| ProjectPatch { name: Some(name.into()), ..ProjectPatch::default() };
    projects::set(&by, "shop", set("Ours")).await.unwrap();
    projects::set_suspended(&by, "shop", true).await.unwrap();
    again(&source, &target).await;
    let there = target.project("shop").await.unwrap().unwrap();
    assert!(there.suspended && there.name == "Ours");
    projects::set(&theirs, "shop", set("Theirs")).await.unwrap();
    again(&source, &target).await;
    let there = target.project("shop").await.unwrap().unwrap();
    assert!(there.suspended && there.name == "Theirs");
}

#[tokio::test]
async fn rights_and_second_factors_are_given_and_taken_as_in_the_source() {
    let (source, target) = (MemoryStore::new(), MemoryStore::new());
    let (from, to) = (admin(source.clone()), admin(target.clone()));
    let (theirs, by) = (from.acting(Actor::Cli), to.acting(Actor::Cli));
    let shop = shop(&theirs, &target).await;
    let [ada, eve] = [(1, Role::Owner), (2, Role::Member)].map(|(n, role)| person(n, role));
    for person in [&ada, &eve] {
        source.create_operator(person, &change()).await.unwrap();
    }
    let email = eve.email.as_str();
    members::set(&theirs, "shop", email, Rank::Viewer).await.unwrap();
    operators::set(&theirs, email, None, Some(true)).await.unwrap();
    let codes = [1, 2].map(|number| TokenHash([number; 32]));
    let factor = SecondFactor {
        sealed_secret: vec![1],
        since: SystemClock.now(),
        last_step: 1,
        recovery: codes.to_vec(),
    };
    source.create_second_factor(ada.id, &factor, None, &change()).await.unwrap();
    again(&source, &target).await;
    let there = async || target.operator_by_id(eve.id).await.unwrap().unwrap();
    assert!(there().await.disabled.is_some());

    operators::set(&theirs, email, Some(Role::Owner), Some(false)).await.unwrap();
    members::set(&theirs, "shop", email, Rank::Owner).await.unwrap();
    // A code that was used there is used up here.
    assert!(source.use_recovery_code(ada.id, &codes[0], &change()).await.unwrap());
    assert!(source.use_code(ada.id, 5).await.unwrap());
    again(&source, &target).await;
    assert!(there().await.disabled.is_none() && there().await.role == Role::Owner);
    assert_eq!(target.rank(shop.id, eve.id).await.unwrap(), Some(Rank::Owner));
    assert_eq!(target.second_factor(ada.id).await.unwrap(), source.second_factor(ada.id).await.unwrap());

    let toggle = |how: &str| {
        let change = Change::new(SystemClock.now(), Actor::Cli, "operator.second-factor");
        change.of(ada.email.as_str()).how(how)
    };
    source.remove_second_factor(ada.id, &toggle("off")).await.unwrap();
    again(&source, &target).await;
    assert_eq!(target.second_factor(ada.id).await.unwrap(), None);
    source.create_second_factor(ada.id, &factor, None, &toggle("on")).await.unwrap();
    again(&source, &target).await;
    assert_eq!(target.second_factor(ada.id).await.unwrap(), Some(factor));

    // What the target says later stays.
    target.remove_second_factor(ada.id, &toggle("off")).await.unwrap();
    operators::set(&by, email, Some(Role::Member), None).await.unwrap();
    members::remove(&by, "shop", email).await.unwrap();
    again(&source, &target).await;
    assert_eq!(target.second_factor(ada.id).await.unwrap(), None);
    assert_eq!(there().await.role, Role::Member);
    assert_eq!(target.rank(shop.id, eve.id).await.unwrap(), None);
}

#[tokio::test]
async fn another_account_with_the_same_address_gets_no_rights_and_loses_some() {
    let (source, target) = (MemoryStore::new(), MemoryStore::new());
    let [ada, bob, carol] =
        [(1, Role::Owner), (2, Role::Member), (3, Role::Owner)].map(|(n, role)| person(n, role));
    let disabled = Operator { disabled: Some(bob.created), ..bob.clone() };
    for theirs in [&ada, &disabled] {
        source.create_operator(theirs, &change()).await.unwrap();
    }
    let other = |number, role, of: &Operator| Operator {
        id: OperatorId::from_bytes([number; 16]),
        role,
        ..of.clone()
    };
    for ours in [&other(8, Role::Member, &ada), &other(9, Role::Owner, &bob), &carol] {
        target.create_operator(ours, &change()).await.unwrap();
    }
    again(&source, &target).await;
    let there = async |of: &Operator| target.operator(&of.email).await.unwrap().unwrap();
    let (ada, bob) = (there(&ada).await, there(&bob).await);
    assert!(ada.role == Role::Member && ada.disabled.is_none(), "{ada:?}");
    assert!(bob.role == Role::Member && bob.disabled.is_some(), "{bob:?}");
}

#[tokio::test]
async fn a_second_factor_that_the_source_never_had_stays() {
    let (source, target) = (MemoryStore::new(), MemoryStore::new());
    let ada = person(1, Role::Owner);
    for store in [&source, &target] {
        store.create_operator(&ada, &change()).await.unwrap();
    }
    let factor =
        SecondFactor { sealed_secret: vec![1], since: ada.created, last_step: 1, recovery: Vec::new() };
    target.create_second_factor(ada.id, &factor, None, &change()).await.unwrap();
    again(&source, &target).await;
    assert_eq!(target.second_factor(ada.id).await.unwrap(), Some(factor));
}

#[tokio::test]
async fn entries_that_the_source_deleted_are_deleted_and_no_others() {
    let (source, target) = (MemoryStore::new(), MemoryStore::new());
    let from = admin(source.clone());
    let theirs = from.acting(Actor::Cli);
    let shop = shop(&theirs, &target).await;
    let put_in = async |store: &MemoryStore, number: u8, model: &str, context: Option<&str>| {
        let prompt = number.to_string();
        let new = NewEntry {
            scope: shop.scope(model, context),
            prompt_hash: PromptHash::of(&prompt),
            entry: Entry {
                id: EntryId::from_bytes([number; 16]),
                prompt,
                model: model.into(),
                answer: Answer {
                    text: "answer".into(),
                    provider: "openai".into(),
                    served_model: None,
                    input_tokens: 1,
                    output_tokens: 1,
                    tokens_estimated: false,
                    record: None,
                },
                created: SystemClock.now(),
                expires: None,
            },
            vectors: Vec::new(),
            now: SystemClock.now(),
            replaces: false,
            purges: None,
        };
        store.insert(new).await.unwrap();
    };
    let put = async |store: &MemoryStore, number, model: &str| put_in(store, number, model, None).await;
    let again = async || {
        let both = Both::read(&*source, &*target).await.unwrap();
        forget_entries(&*source, &*target, &both, &[]).await.unwrap()
    };
    let left = async || {
        let mut left = Vec::new();
        for number in 1..10 {
            let there = target.entry(shop.id, EntryId::from_bytes([number; 16])).await.unwrap();
            left.extend(there.map(|_| number));
        }
        left
    };
    for store in [&source, &target] {
        for (number, model) in [(1, "m"), (2, "m"), (3, "n"), (4, "n")] {
            put(store, number, model).await;
        }
    }
    put(&target, 5, "m").await;
    assert_eq!(again().await, 0);
    cache::delete(&theirs, "shop", EntryId::from_bytes([1; 16])).await.unwrap();
    let deleted = cache::delete(&theirs, "shop", EntryId::from_bytes([2; 16])).await.unwrap().unwrap();
    cache::restore(&theirs, "shop", deleted).await.unwrap();
    assert_eq!((again().await, left().await), (1, vec![2, 3, 4, 5]), "one was brought back");
    // What the target stored before a purge of the source goes with it if the purge may have meant it.
    let purge = async |model: Option<&str>, context: Option<Option<&str>>, text: Option<&str>| {
        let [model, text] = [model, text].map(|text| text.map(str::to_owned));
        let context = context.map(|context| context.map(str::to_owned));
        cache::purge(&theirs, "shop", &EntryFilter { model, context, text }).await.unwrap();
    };
    put(&target, 6, "n").await;
    purge(Some("n"), None, None).await;
    put(&target, 7, "n").await;
    assert_eq!((again().await, left().await), (3, vec![2, 5, 7]));
    put_in(&target, 8, "m", Some("polite")).await;
    purge(Some("m"), Some(Some("short")), None).await;
    purge(Some("x"), None, None).await;
    assert_eq!((again().await, left().await), (1, vec![2, 5, 7]));
    put_in(&target, 8, "m", Some("polite")).await;
    purge(None, Some(None), Some("answer")).await;
    assert_eq!((again().await, left().await), (3, vec![8]));
    purge(None, None, None).await;
    assert_eq!((again().await, left().await), (1, vec![]));
    assert_eq!(again().await, 0);
}
