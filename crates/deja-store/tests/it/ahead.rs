//! What admissions with look-ups cost the database, and who is admitted together.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use deja_core::api_key::ApiKey;
use deja_core::cache::{Frame, PromptHash, Scope};
use deja_core::project::Project;
use deja_core::rate_limit::Quota;
use deja_core::store::{Door, Found, LookUp, Store, StoreError};
use deja_core::testing::{self, change};
use deja_store::PostgresSettings;
use futures::future::join_all;
use futures::poll;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::postgres::{Database, open_store, settings};
use crate::support::{NOW, entry, entry_id, project, project_id, scope, until_waiting};

/// Searches of the index of entries, so far.
async fn searches(client: &tokio_postgres::Client) -> i64 {
    let sql = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'entries_project_id_scope_key_prompt_hash_key'";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_up_with_an_admission_is_one_search_and_none_for_who_is_refused() {
    const LET_IN: u32 = 20;
    let database = Database::create().await;
    let one = PostgresSettings { pool_size: 1, ..settings(&database.url) };
    let store = open_store(one).await;
    // With one project only, a search in all of them would be no more.
    for number in 1..=30 {
        store.create_project(&project(number), &change()).await.unwrap();
        let scope = Scope::new(project_id(number), Frame::query(Some("m"), None));
        for prompt in 0..10 {
            store.insert(entry(prompt, &scope, &prompt.to_string())).await.unwrap();
        }
    }
    let limited = Project { custom_quota: Quota::new(1, LET_IN).ok(), ..project(1) };
    store.update_project(&limited, &change()).await.unwrap();
    let key = testing::key(1, project_id(1), NOW);
    store.create_key(&key, &change()).await.unwrap();
    let client = database.client().await;
    client.batch_execute("ANALYZE").await.unwrap();
    // A process tells what it did when a second is over and it has ended something else.
    let told = async || {
        sleep(Duration::from_millis(1_500)).await;
        store.ready().await.unwrap();
        searches(&client).await
    };

    let before = told().await;
    let scope = scope();
    let mut found = 0;
    for asked in 0..2 * LET_IN {
        // Half of them are not there.
        let wanted = LookUp::new(&scope, PromptHash::of(&(asked % 20).to_string()));
        let ahead = store.looks_ahead().unwrap();
        let (_, entry) = ahead.admit_and_look_up(&key.hash, &wanted, NOW).await.unwrap();
        found += u32::from(entry.unwrap().is_some());
    }
    assert_eq!((told().await - before, found), (i64::from(LET_IN), LET_IN / 2));
}

/// A store with a project that may ask a hundred times, and its key, which asked twice over two connections: they are there.
struct Limited {
    database: Database,
    store: Arc<dyn Store>,
    key: ApiKey,
}

type Asking = Pin<Box<dyn Future<Output = Result<(Door, Found), StoreError>> + Send>>;

impl Limited {
    const BURST: u32 = 100;

    async fn new() -> Self {
        let database = Database::create().await;
        let store = open_store(settings(&database.url)).await;
        let project = Project { custom_quota: Quota::new(Self::BURST, Self::BURST).ok(), ..project(1) };
        store.create_project(&project, &change()).await.unwrap();
        let key = testing::key(1, project.id, NOW);
        store.create_key(&key, &change()).await.unwrap();
        let limited = Self { database, store, key };
        let (one, other) = tokio::join!(limited.ask(), limited.ask());
        assert_eq!(left(one) + left(other), 2 * Self::BURST - 3);
        limited
    }

    fn ask(&self) -> Asking {
        self.ask_for("nothing")
    }

    fn ask_for(&self, prompt: &str) -> Asking {
        let (store, hash) = (Arc::clone(&self.store), self.key.hash);
        let wanted = LookUp::new(&scope(), PromptHash::of(prompt));
        Box::pin(async move { store.looks_ahead().unwrap().admit_and_look_up(&hash, &wanted, NOW).await })
    }

    /// Asks once more, and says how many requests are left.
    async fn left(&self) -> u32 {
        left(self.ask().await)
    }
}

fn left(told: Result<(Door, Found), StoreError>) -> u32 {
    let (door, found) = told.unwrap();
    assert_eq!(found.unwrap(), None);
    let Door::Open(_, decision) = door else { unreachable!("{door:?}") };
    assert!(decision.allowed);
    decision.remaining
}

const LOCK: &str = "BEGIN; SELECT FROM buckets FOR UPDATE";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_while_a_key_is_admitted_is_admitted_together_in_turn() {
    let limited = Limited::new().await;
    let holder = limited.database.client().await;
    holder.batch_execute(LOCK).await.unwrap();
    let asking = join_all((0..11).map(|_| limited.ask()));
    let meanwhile = async {
        // One for each of the first two, and one for nine, which do not wait for these for ever.
        until_waiting(&limited.database, 3).await;
        sleep(Duration::from_millis(200)).await;
        until_waiting(&limited.database, 3).await;
        holder.batch_execute("COMMIT").await.unwrap();
    };
    let (told, ()) = tokio::join!(asking, meanwhile);
    let told: Vec<u32> = told.into_iter().map(left).collect();
    assert!(told[2..].is_sorted_by(|one, next| *one == next + 1), "{told:?}");
    assert_eq!(limited.left().await, Limited::BURST - 14);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_admitted_though_others_cannot_be_given_back_to_their_key() {
    let database = Database::create().await;
    let store = open_store(settings(&database.url)).await;
    let project = Project { custom_quota: Quota::new(5, 5).ok(), ..project(1) };
    store.create_project(&project, &change()).await.unwrap();
    let key = ApiKey { quota: Quota::new(100, 100).ok(), ..testing::key(1, project.id, NOW) };
    store.create_key(&key, &change()).await.unwrap();
    let sql = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
               CREATE TRIGGER refuse BEFORE UPDATE ON key_buckets FOR EACH ROW WHEN (NEW.full_at < OLD.full_at)
               EXECUTE FUNCTION refuse()";
    database.client().await.batch_execute(sql).await.unwrap();
    let wanted = LookUp::new(&scope(), PromptHash::of("nothing"));
    let ahead = store.looks_ahead().unwrap();
    let told = join_all((0..12).map(|_| ahead.admit_and_look_up(&key.hash, &wanted, NOW))).await;
    let allowed = |door| matches!(door, Door::Open(_, decision) if decision.allowed);
    assert_eq!(told.into_iter().filter(|told| allowed(told.as_ref().unwrap().0.clone())).count(), 5);
    assert!(!allowed(store.admit_within_limit(&key.hash, NOW).await.unwrap()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_hangs_up_before_its_statement_takes_nothing_and_leaves_the_others_theirs() {
    let limited = Limited::new().await;
    let holder = limited.database.client().await;
    holder.batch_execute(LOCK).await.unwrap();
    let [mut first, mut second, mut stays, mut goes, mut stays_too] = [(); 5].map(|()| limited.ask());
    for asking in [&mut first, &mut second, &mut stays, &mut goes, &mut stays_too] {
        assert!(poll!(asking).is_pending());
    }
    until_waiting(&limited.database, 2).await;
    drop(goes);
    drop(first);
    until_waiting(&limited.database, 3).await;
    holder.batch_execute("COMMIT").await.unwrap();
    left(second.await);
    assert_eq!(left(stays.await), left(stays_too.await) + 1);
    // The statement of the first was sent, so it counts.
    assert_eq!(limited.left().await, Limited::BURST - 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_admitted_by_a_statement_of_before_a_revocation() {
    let limited = Limited::new().await;
    let holder = limited.database.client().await;
    holder.batch_execute(LOCK).await.unwrap();
    let [mut before, mut too] = [(); 2].map(|()| limited.ask());
    assert!(poll!(&mut before).is_pending() && poll!(&mut too).is_pending());
    until_waiting(&limited.database, 2).await;
    limited.store.revoke_key(project_id(1), limited.key.id, &change()).await.unwrap();
    let mut after = limited.ask();
    assert!(poll!(&mut after).is_pending());
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(left(before.await) + left(too.await), 2 * Limited::BURST - 7);
    assert!(matches!(after.await, Ok((Door::Unknown, Ok(None)))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_answers_to_those_who_come_together_are_read_in_turns() {
    let limited = Limited::new().await;
    let mut long = entry(2, &scope(), "long");
    long.entry.answer.text = "Long ".repeat(20_000);
    for new in [entry(1, &scope(), "short"), long] {
        limited.store.insert(new).await.unwrap();
    }
    let found = async |asking: Asking| {
        asking.await.unwrap().1.unwrap().map(|entry| (entry.id, entry.answer.text.len()))
    };
    let room = deja_core::room_to_parse(Some(project_id(1)), 8 << 20).await;
    let holder = limited.database.client().await;
    holder.batch_execute(LOCK).await.unwrap();
    let mut asking = ["short", "short", "long", "short"].map(|prompt| limited.ask_for(prompt));
    for asking in &mut asking {
        assert!(poll!(asking).is_pending());
    }
    let [first, second, mut long, short] = asking;
    // Those two say themselves when their statements take long.
    let mut alone: JoinSet<_> = [first, second].into_iter().collect();
    // One for each of them, and one for the others.
    until_waiting(&limited.database, 3).await;
    holder.batch_execute("COMMIT").await.unwrap();
    let expected = Some((entry_id(1), "answer 1".len()));
    assert_eq!(found(short).await, expected);
    assert!(poll!(&mut long).is_pending());
    drop(room);
    while let Some(told) = alone.join_next().await {
        assert_eq!(found(Box::pin(async { told.unwrap() })).await, expected);
    }
    assert_eq!(found(long).await, Some((entry_id(2), 100_000)));
}
