//! What a repeated copy takes over.

use deja_core::admin::keys::KeyWish;
use deja_core::admin::members;
use deja_core::admin::projects::NewProject;
use deja_core::id::OperatorId;
use deja_core::member::Rank;
use deja_core::operator::PasswordHash;
use deja_core::project::Tier;
use deja_core::second_factor::SecondFactor;
use deja_core::store::{
    Keys as _, Members as _, Operators as _, Projects as _, ProviderConfigs as _, SecondFactors as _,
};
use deja_core::testing::{self, MemoryStore, change};

use super::*;
use crate::secrets::vault::MasterKey;

fn admin(store: Arc<MemoryStore>) -> deja_core::admin::Admin {
    let key = MasterKey::parse(&"ab".repeat(32).into()).unwrap();
    let prices = Arc::new(PriceFeed::open(None, "nowhere".as_ref()));
    admin::over(store, Vault::new(&key, Arc::new(SystemEntropy)), prices, "https://deja.example")
}

fn person(number: u32, role: Role) -> Operator {
    testing::operator(number, role, SystemClock.now())
}

#[tokio::test]
async fn a_copy_that_is_repeated_takes_away_what_the_source_took_away() {
    let (source, target) = (MemoryStore::new(), MemoryStore::new());
    let (from, to) = (admin(source.clone()), admin(target.clone()));
    let (theirs, by) = (from.acting(Actor::Cli), to.acting(Actor::Cli));
    let all = async || {
        assert_eq!(restrict(&*source, &*target, &by, &[]).await.unwrap(), Restricted::default());
        let people = people(&*source, &*target, &by).await.unwrap();
        ranks(&*source, &*target).await.unwrap();
        (people.copied, people.left)
    };
    let new = NewProject { name: "Shop".into(), tier: Tier::Free, per_minute: None, burst: None };
    let project = projects::create(&theirs, new).await.unwrap();
    let wish = KeyWish { name: "ci".into(), ..KeyWish::default() };
    let key = keys::create(&theirs, "shop", wish).await.unwrap().key;
    target.create_project(&project, &change()).await.unwrap();
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
    projects::suspend(&theirs, "shop", true).await.unwrap();
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
    let alone = admin(store.clone());
    let left = people(&*source, &*store, &alone.acting(Actor::Cli)).await.unwrap().left;
    assert!(left.len() == 1 && left[0].contains("turn its second factor on there"), "{left:?}");
}

#[tokio::test]
async fn a_copy_that_is_repeated_takes_over_models_passwords_and_ended_memberships() {
    let (source, target) = (MemoryStore::new(), MemoryStore::new());
    let (from, to) = (admin(source.clone()), admin(target.clone()));
    let (theirs, by) = (from.acting(Actor::Cli), to.acting(Actor::Cli));
    let new = NewProject { name: "Shop".into(), tier: Tier::Free, per_minute: None, burst: None };
    let shop = projects::create(&theirs, new).await.unwrap();
    target.create_project(&shop, &change()).await.unwrap();
    let provider = |number: u32, models: &[&str]| ProviderConfig {
        name: format!("p{number}"),
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        ..testing::provider(number, shop.id, shop.created)
    };
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
    let all = async || {
        let restricted = restrict(&*source, &*target, &by, &[]).await.unwrap();
        people(&*source, &*target, &by).await.unwrap();
        ranks(&*source, &*target).await.unwrap();
        restricted.kept
    };
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
    let only = restrict(&*source, &*target, &by, &["own".into()]).await.unwrap();
    assert_eq!(only, Restricted::default());
    let done = restrict(&*source, &*target, &by, &[]).await.unwrap();
    assert_eq!((done.suspended, done.others), (vec!["shop".into(), "zoo".into()], vec!["shop".into()]));
    let expected = [("own", false), ("shop", true), ("zoo", true)];
    assert_eq!(suspended().await, expected.map(|(slug, suspended)| (slug.to_owned(), suspended)));
    let again = restrict(&*source, &*target, &by, &[]).await.unwrap();
    assert_eq!((again.suspended, again.others), (vec![], vec!["shop".into()]), "until it is deleted there");
    ranks(&*source, &*target).await.unwrap();
    let ours = target.project("shop").await.unwrap().unwrap();
    assert_eq!(target.rank(ours.id, eve.id).await.unwrap(), None, "a rank in another project");
}
