//! What is added to a project while it is deleted, by another connection: it came before and went with the project, or it finds none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deja_core::admin::keys::KeyWish;
use deja_core::admin::projects::NewProject;
use deja_core::admin::providers::NewProvider;
use deja_core::admin::transfer::{self, Batch, Imported, Open};
use deja_core::admin::{Acting, Admin, AdminError, keys, members, projects, providers};
use deja_core::api_key::KeyHash;
use deja_core::audit::Actor;
use deja_core::cache::PromptHash;
use deja_core::clock::{Clock as _, SystemClock};
use deja_core::id::{FlightId, SystemEntropy};
use deja_core::member::Rank;
use deja_core::operator::Role;
use deja_core::project::{Project, Tier};
use deja_core::provider::ProviderKind;
use deja_core::store::{Door, FlightKey, Store};
use deja_core::testing::{self, change};
use deja_server::feeds::prices::PriceFeed;
use deja_server::secrets::vault::{MasterKey, Vault};
use deja_store::StoreSettings;

use crate::moving::line;
use crate::postgres::Database;
use crate::util::Random;

const ROUNDS: u64 = 40;
const ADDED: [&str; 4] = ["key", "provider", "member", "entry"];
const EVE: &str = "o1@example.com";

fn admin(store: &Arc<dyn Store>) -> Admin {
    let key = MasterKey::parse(&"ab".repeat(32).into()).unwrap();
    let vault = Vault::new(&key, Arc::new(SystemEntropy));
    let prices = Arc::new(PriceFeed::open(None, "nowhere".as_ref()));
    deja_server::wiring::admin(Arc::clone(store), vault, prices, "https://deja.example")
}

async fn new_key(by: &Acting<'_>, slug: &str) -> Result<KeyHash, AdminError> {
    let wish = KeyWish { name: "ci".into(), per_minute: Some(50), ..KeyWish::default() };
    keys::create(by, slug, wish).await.map(|made| made.key.hash)
}

async fn import(by: &Acting<'_>, slug: &str, number: u64) -> Result<Imported, AdminError> {
    let record = transfer::line::parse(line(slug, number, &number.to_string(), "answer").as_bytes()).unwrap();
    let batch = Batch { records: vec![record], skip_bad: false, first: false, open: Open::default() };
    Ok(transfer::import(by, batch).await?.remove(0))
}

/// Adds something, and says whether it found the project, and with which key it may be asked now.
async fn add(by: &Acting<'_>, what: &str, slug: &str) -> Option<Option<KeyHash>> {
    let added = match what {
        "key" => new_key(by, slug).await.map(Some),
        "provider" => {
            let new = NewProvider {
                project: slug.into(),
                name: "house".into(),
                kind: ProviderKind::OpenAi,
                base_url: "https://llm.example.com/v1".into(),
                models: vec!["m".into()],
                secret: None,
                allow_private: false,
            };
            providers::add(by, new).await.map(|_| None)
        }
        "member" => members::set(by, slug, EVE, Rank::Editor).await.map(|_| None),
        _ => match import(by, slug, 2).await {
            Ok(Imported::Stored) => Ok(None),
            Ok(Imported::Bad(why)) => Err(AdminError::NotFound(why)),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        },
    };
    match added {
        Ok(key) => Some(key),
        Err(AdminError::NotFound(why)) => {
            let meanwhile = format!("the project '{slug}' was deleted meanwhile");
            assert!(why == meanwhile || why.starts_with(&format!("there is no project '{slug}'")), "{why}");
            None
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Shorter than what a timer can wait for.
async fn pause(micros: usize) {
    let until = Instant::now() + Duration::from_micros(micros as u64);
    while Instant::now() < until {
        tokio::task::yield_now().await;
    }
}

/// A request with this key, as far as it leaves something in the store.
async fn ask(store: &dyn Store, project: &Project, key: &KeyHash, micros: usize) {
    let door = store.admit_within_limit(key, SystemClock.now()).await.unwrap();
    let (Door::Open(..), Some(claims)) = (door, store.claims()) else { return };
    pause(micros).await;
    let prompt = PromptHash::of("asked");
    let flight = FlightKey { project: project.id, scope: project.scope("m", None).key(), prompt };
    let owner = FlightId::generate(SystemClock.now(), &SystemEntropy).unwrap();
    claims.claim(&flight, owner, Duration::from_secs(6), None, SystemClock.now()).await.unwrap();
}

async fn assert_gone(store: &dyn Store, project: &Project, keys: &[KeyHash], what: &str) {
    let id = project.id;
    assert_eq!(store.projects().await.unwrap(), [], "{what}");
    for key in keys {
        assert!(store.key_by_hash(key).await.unwrap().is_none(), "{what}: the key works");
    }
    assert_eq!(store.keys(id).await.unwrap(), [], "{what}");
    assert_eq!(store.providers(id).await.unwrap(), [], "{what}");
    assert_eq!(store.provider_of(id, "m").await.unwrap(), None, "{what}");
    assert_eq!(store.members(id).await.unwrap(), [], "{what}");
    assert_eq!(store.count(id).await.unwrap(), 0, "{what}");
    for number in ["1", "2"] {
        let scope = project.scope(crate::util::tenant::MODEL, None);
        let found = store.exact(&scope, &PromptHash::of(number), SystemClock.now()).await.unwrap();
        assert_eq!(found, None, "{what}");
    }
}

/// Deletes projects by one store while something is added by the other, again and again.
async fn race(one: Arc<dyn Store>, other: Arc<dyn Store>) {
    let eve = testing::operator(1, Role::Member, SystemClock.now());
    one.create_operator(&eve, &change()).await.unwrap();
    let (here, there) = (admin(&one), admin(&other));
    let (deletes, adds) = (here.acting(Actor::Cli), there.acting(Actor::Cli));
    for (seed, what) in (0..ROUNDS).flat_map(|seed| ADDED.map(|what| (seed, what))) {
        let new = NewProject { name: "a".into(), tier: Tier::Free, per_minute: None, burst: None };
        let project = projects::create(&deletes, new).await.unwrap();
        let (slug, key) = (project.slug.as_str(), new_key(&deletes, "a").await.unwrap());
        assert_eq!(import(&deletes, slug, 1).await, Ok(Imported::Stored));
        let mut random = Random::new(seed);
        let mut micros = || random.below(4000);
        let (before, between, after, asked) = (micros(), micros(), micros(), micros());
        let added = match seed {
            0 => {
                let added = add(&adds, what, slug).await;
                assert!(added.is_some(), "{what}: it was there");
                projects::delete(&deletes, slug).await.unwrap();
                added
            }
            1 => {
                projects::delete(&deletes, slug).await.unwrap();
                add(&adds, what, slug).await
            }
            _ => {
                let delete = async {
                    pause(before).await;
                    projects::delete(&deletes, slug).await.unwrap();
                };
                let add = async {
                    pause(between).await;
                    add(&adds, what, slug).await
                };
                let ask = async {
                    pause(asked).await;
                    ask(&*other, &project, &key, after).await;
                };
                tokio::join!(delete, add, ask).1
            }
        };
        assert!(seed != 1 || added.is_none(), "{what}: it was gone");
        let keys: Vec<_> = added.flatten().into_iter().chain([key]).collect();
        for store in [&one, &other] {
            assert_gone(&**store, &project, &keys, &format!("{what}, seed {seed}")).await;
        }
    }
    // What a request left that was let in before the deletion.
    one.sweep_usage(SystemClock.now(), std::num::NonZeroUsize::MAX).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_left_of_what_is_added_during_a_deletion_on_postgresql() {
    let database = Database::create().await;
    race(database.store().await, database.store().await).await;
    let client = database.client().await;
    let tables = "SELECT table_name::text FROM information_schema.columns JOIN information_schema.tables
                      USING (table_schema, table_name)
                  WHERE column_name = 'project_id' AND table_schema = 'public' AND table_type = 'BASE TABLE'
                        AND table_name <> 'changes'";
    for row in client.query(tables, &[]).await.unwrap() {
        let table: String = row.get(0);
        let count = format!("SELECT count(*) FROM {table}");
        assert_eq!(client.query_one(&count, &[]).await.unwrap().get::<_, i64>(0), 0, "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_left_of_what_is_added_during_a_deletion_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let store = deja_store::open(&StoreSettings::new(directory.path())).await.unwrap();
    race(Arc::clone(&store), Arc::clone(&store)).await;
    store.close().await.unwrap();
    let database = rusqlite::Connection::open(directory.path().join("deja.db")).unwrap();
    let tables = "SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c
                  WHERE t.type = 'table' AND c.name = 'project_id' AND t.name <> 'changes'";
    let mut tables = database.prepare(tables).unwrap();
    for table in tables.query_map([], |row| row.get::<_, String>(0)).unwrap() {
        let count = format!("SELECT count(*) FROM {}", table.unwrap());
        assert_eq!(database.query_row(&count, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "{count}");
    }
}
