//! PostgreSQL that does not answer: every call ends with "unavailable", and works again when it is back.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use deja_core::analytics::{BatchId, EntryHits, Outcome, UsageBatch, UsageEvent};
use deja_core::api_key::ApiKey;
use deja_core::cache::PromptHash;
use deja_core::clock::Timestamp;
use deja_core::id::RecorderId;
use deja_core::operator::{Operator, Role};
use deja_core::rate_limit::Quota;
use deja_core::store::{EntryFilter, LookUp, Probe, Store, StoreError};
use deja_core::testing::{self, change};
use deja_store::PostgresSettings;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::postgres::{Database, Server, open_store, settings};
use crate::proxy::{Proxy, Weather};
use crate::support::{NOW, embedder, entry, entry_id, project, project_id, scope, vector, wrong};

/// Far longer than any deadline here: what takes that long hangs.
pub(crate) const HANG: Duration = Duration::from_mins(1);
/// How soon after its return the database is used again, on a machine however busy. How long it takes is measured by
/// `deja-bench postgres`.
pub(crate) const RECOVERY: Duration = Duration::from_mins(1);

/// Ends all connections but its own.
const TERMINATE: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                         WHERE datname = current_database() AND pid <> pg_backend_pid()";

/// A replica that is impatient, but not so that a busy machine makes it give up.
pub(crate) fn impatient(url: &str) -> PostgresSettings {
    PostgresSettings {
        pool_size: 4,
        connect_timeout: Duration::from_secs(1),
        acquire_timeout: Duration::from_secs(1),
        call_timeout: Duration::from_millis(1500),
        bulk_timeout: Duration::from_millis(1500),
        ..settings(url)
    }
}

fn key(number: u8) -> ApiKey {
    testing::key(number.into(), project_id(1), NOW)
}

/// Project 1 with key 1 and entry 1.
pub(crate) async fn fill(store: &dyn Store) {
    store.create_project(&project(1), &change()).await.unwrap();
    store.create_key(&key(1), &change()).await.unwrap();
    store.insert(entry(1, &scope(), "hello")).await.unwrap();
}

/// A store that has them.
pub(crate) async fn filled(postgres: PostgresSettings) -> Arc<dyn Store> {
    let store = open_store(postgres).await;
    fill(&*store).await;
    store
}

/// Every kind of call at once, each with what came of it.
async fn all_calls(store: &Arc<dyn Store>) -> Vec<(&'static str, Result<(), StoreError>)> {
    let mut calls = JoinSet::new();
    macro_rules! call {
        ($name:literal, |$store:ident| $call:expr) => {
            let $store = Arc::clone(store);
            calls.spawn(async move { ($name, Box::pin($call).await.map(drop)) });
        };
    }
    call!("key_by_hash", |store| async move { store.key_by_hash(&key(1).hash).await });
    // One of them waits for the other.
    for _ in 0..2 {
        call!("admit_and_look_up", |store| async move {
            let wanted = LookUp::new(&scope(), PromptHash::of("hello"));
            store.looks_ahead().unwrap().admit_and_look_up(&key(1).hash, &wanted, NOW).await
        });
    }
    call!("take", |store| async move { store.take(project_id(1), Quota::new(60, 10).unwrap(), NOW).await });
    call!("take_of_key", |store| async move {
        store.take_of_key(project_id(1), key(1).id, Quota::new(60, 10).unwrap(), NOW).await
    });
    call!("take_feedback", |store| async move {
        store.take_feedback(project_id(1), Quota::new(60, 10).unwrap(), NOW).await
    });
    call!("label", |store| async move { store.label(project_id(1), wrong(1, "asked"), &change()).await });
    call!("labels", |store| async move { store.labels(project_id(1), NOW, NonZeroUsize::MIN).await });
    call!("short_labels", |store| async move { store.short_labels(project_id(1), NonZeroUsize::MIN).await });
    call!("answered", |store| async move { store.answered(project_id(1), "a").await });
    call!("exact", |store| async move { store.exact(&scope(), &PromptHash::of("hello"), NOW).await });
    call!("nearest", |store| async move {
        let (by, at) = (embedder(), vector(1));
        let (prompt, threshold) = (PromptHash([0; 32]), deja_core::embedding::Threshold::DEFAULT);
        let probe = Probe { embedder: &by, embedding: &at, prompt, threshold, limit: NonZeroUsize::MIN };
        store.nearest(&scope(), probe, NOW).await
    });
    call!("insert", |store| async move { store.insert(entry(2, &scope(), "more")).await });
    call!("count", |store| async move { store.count(project_id(1)).await });
    call!("purge", |store| async move {
        store
            .purge(
                project_id(1),
                &EntryFilter { model: Some("none".into()), ..EntryFilter::default() },
                &change(),
            )
            .await
    });
    call!("sweep", |store| async move { store.sweep(NOW, NonZeroUsize::MIN).await });
    call!("record", |store| async move {
        let mut batch = UsageBatch::default();
        batch.entries.insert(
            (project_id(1), entry_id(1)),
            EntryHits { hits: 1, last_hit: NOW, ..EntryHits::default() },
        );
        store.record(&batch).await
    });
    call!("projects", |store| async move { store.projects().await });
    call!("providers", |store| async move { store.provider_of(project_id(1), "m").await });
    call!("ready", |store| async move { store.ready().await });
    let (mut done, all) = (Vec::new(), calls.len());
    let in_time = timeout(HANG, async {
        while let Some(call) = calls.join_next().await {
            done.push(call.unwrap());
        }
    });
    let in_time = in_time.await;
    assert!(in_time.is_ok(), "every call ends within its deadline, but of {all} only {done:?}");
    done
}

async fn assert_unavailable(store: &Arc<dyn Store>) {
    for (name, outcome) in all_calls(store).await {
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{name}: {outcome:?}");
    }
}

/// Asserts that all calls work soon. Not from the first one that does: on a busy machine one may be late again.
pub(crate) async fn assert_recovers(store: &Arc<dyn Store>) {
    let back = Instant::now();
    loop {
        let outcomes = all_calls(store).await;
        let failed = outcomes.iter().find(|(_, outcome)| outcome.is_err());
        let Some(failed) = failed else { break };
        assert!(back.elapsed() < RECOVERY, "{RECOVERY:?} after the return: {failed:?}");
        sleep(Duration::from_millis(20)).await;
    }
    assert!(store.key_by_hash(&key(1).hash).await.unwrap().is_some(), "what was stored is there");
}

/// The same database by way of a proxy.
pub(crate) async fn behind_proxy(database: &Database) -> (Proxy, String) {
    let (before, rest) = database.url.split_once('@').unwrap();
    let (server, name) = rest.split_once('/').unwrap();
    let proxy = Proxy::to(server.to_owned()).await;
    let url = format!("{before}@{}/{name}", proxy.address);
    (proxy, url)
}

async fn broken_by(weather: Weather) {
    let database = Database::create().await;
    let (proxy, url) = behind_proxy(&database).await;
    let store = filled(impatient(&url)).await;
    assert_recovers(&store).await;
    for _ in 0..2 {
        proxy.set(weather);
        assert_unavailable(&store).await;
        assert_unavailable(&store).await;
        proxy.set(Weather::Fair);
        assert_recovers(&store).await;
    }
    assert_nothing_left(&database).await;
}

/// Asserts that soon no transaction is open and no statement runs.
async fn assert_nothing_left(database: &Database) {
    let client = database.client().await;
    let busy = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()";
    let begun = Instant::now();
    loop {
        let left: i64 = client.query_one(busy, &[]).await.unwrap().get(0);
        if left == 0 {
            return;
        }
        assert!(begun.elapsed() < HANG, "{left} statements or transactions are left");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_are_made_anew() {
    broken_by(Weather::Cut).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reset_connections_are_made_anew() {
    broken_by(Weather::Reset).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connections_are_given_up() {
    broken_by(Weather::HalfOpen).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_black_hole_is_given_up() {
    broken_by(Weather::Blackhole).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_network_delays_and_breaks_nothing() {
    let database = Database::create().await;
    let (proxy, url) = behind_proxy(&database).await;
    let patient = PostgresSettings { bulk_timeout: Duration::from_secs(10), ..settings(&url) };
    let store = filled(patient).await;
    proxy.set(Weather::Slow);
    for (name, outcome) in all_calls(&store).await {
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
    }
    // A byte each 20 ms is slower than any deadline for what is larger than a few dozen.
    proxy.set(Weather::Drip);
    let impatient = all_calls(&store).await;
    assert!(impatient.iter().all(|(_, outcome)| !matches!(outcome, Err(StoreError::Internal(_)))));
    proxy.set(Weather::Fair);
    assert_recovers(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_is_used_again_when_it_is_back() {
    let mut server = Server::start();
    let database = Database::create_on(&server.url).await;
    let store = filled(impatient(&database.url)).await;
    for (away, back) in [("pause", "resume"), ("stop", "start"), ("kill", "start")] {
        server.tell(away);
        assert_unavailable(&store).await;
        server.tell(back);
        assert_recovers(&store).await;
    }
    assert_nothing_left(&database).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backend_that_dies_breaks_its_calls_only_for_a_moment() {
    let database = Database::create().await;
    let store = filled(impatient(&database.url)).await;
    let client = database.client().await;
    for _ in 0..5 {
        client.query(TERMINATE, &[]).await.unwrap();
        assert_recovers(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_waits_for_a_lock_ends_in_time() {
    let database = Database::create().await;
    let store = filled(impatient(&database.url)).await;
    let mut client = database.client().await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE projects, keys IN ACCESS EXCLUSIVE MODE").await.unwrap();
    for _ in 0..3 {
        let refused = timeout(HANG, store.key_by_hash(&key(1).hash)).await.expect("no hang");
        assert!(matches!(refused, Err(StoreError::Unavailable(_))));
    }
    lock.rollback().await.unwrap();
    assert_recovers(&store).await;
    assert_nothing_left(&database).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_grows_with_a_project_has_more_time_than_a_call() {
    let database = Database::create().await;
    let call_timeout = Duration::from_secs(2);
    let store =
        filled(PostgresSettings { call_timeout, bulk_timeout: HANG, ..settings(&database.url) }).await;
    assert!(store.label(project_id(1), wrong(1, "asked"), &change()).await.unwrap().is_some());
    // As if there were many rows.
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3); RETURN NULL; END';
                CREATE TRIGGER slow BEFORE UPDATE ON request_log FOR EACH STATEMENT EXECUTE FUNCTION slow();
                CREATE TRIGGER slow BEFORE DELETE ON changes FOR EACH STATEMENT EXECUTE FUNCTION slow();
                ALTER TABLE labels RENAME TO all_labels;
                CREATE VIEW labels AS SELECT * FROM all_labels WHERE pg_sleep(3)::text IS NOT NULL;";
    database.client().await.batch_execute(slow).await.unwrap();
    let begun = Instant::now();
    let (project, all) = (project(1), NonZeroUsize::MAX);
    let (change, since) = (change(), Timestamp::from_nanos(i64::MIN));
    let (labels, short, swept, updated) = tokio::join!(
        store.labels(project.id, since, all),
        store.short_labels(project.id, all),
        store.sweep_changes("a", NOW, 1, all),
        // It keeps no texts: those that the log has go with this change.
        store.update_project(&project, &change),
    );
    assert_eq!((labels.unwrap().len(), short.unwrap().len(), swept.unwrap()), (1, 1, 0));
    assert!(updated.unwrap() && begun.elapsed() > call_timeout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_is_locked_costs_the_other_connections_nothing() {
    let database = Database::create().await;
    let (proxy, url) = behind_proxy(&database).await;
    let store = open_store(impatient(&url)).await;
    let opened = proxy.accepted();
    fill(&*store).await;
    // More calls at once than there are connections, each of which takes a while.
    let all_connections = async || {
        proxy.set(Weather::Slow);
        let mut calls = JoinSet::new();
        for _ in 0..12 {
            let store = Arc::clone(&store);
            calls.spawn(async move { store.project("p1").await.unwrap().is_some() });
        }
        assert!(calls.join_all().await.into_iter().all(|found| found));
        proxy.set(Weather::Fair);
        proxy.accepted() - opened
    };
    assert_eq!(all_connections().await, 4);
    store.ready().await.unwrap();
    let mut client = database.client().await;
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("SELECT FROM facts WHERE name = 'ready' FOR UPDATE").await.unwrap();
    for refused in 1..=3 {
        assert!(matches!(store.ready().await, Err(StoreError::Unavailable(_))));
        assert!(all_connections().await <= 4 + refused, "only the one that waited is made anew");
    }
    lock.rollback().await.unwrap();
    assert_recovers(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_server_is_unavailable_for_writes_until_it_is_not() {
    let database = Database::create().await;
    let store = filled(impatient(&database.url)).await;
    let client = database.client().await;
    let read_only = async |on: &str| {
        let name: String = client.query_one("SELECT current_database()", &[]).await.unwrap().get(0);
        let set = format!(
            "SET default_transaction_read_only = off; ALTER DATABASE {name} SET default_transaction_read_only = {on}"
        );
        client.batch_execute(&set).await.unwrap();
        client.query(TERMINATE, &[]).await.unwrap();
    };
    read_only("on").await;
    while store.key_by_hash(&key(1).hash).await.is_err() {
        sleep(Duration::from_millis(20)).await;
    }
    assert!(matches!(store.ready().await, Err(StoreError::Unavailable(_))));
    let insert = store.insert(entry(7, &scope(), "late")).await;
    assert!(matches!(insert, Err(StoreError::Unavailable(_))));
    read_only("off").await;
    assert_recovers(&store).await;
}

/// No disk is filled here: a trigger says what a server with a full one says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_unavailable_until_there_is_room() {
    let database = Database::create().await;
    let store = filled(impatient(&database.url)).await;
    let client = database.client().await;
    let full = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
                END $$;
                CREATE TRIGGER full_disk BEFORE INSERT ON entries EXECUTE FUNCTION full_disk();
                CREATE TRIGGER full_disk BEFORE INSERT ON facts EXECUTE FUNCTION full_disk();";
    client.batch_execute(full).await.unwrap();
    let insert = store.insert(entry(7, &scope(), "late")).await;
    assert!(matches!(insert, Err(StoreError::Unavailable(_))), "{insert:?}");
    assert!(matches!(store.ready().await, Err(StoreError::Unavailable(_))));
    let hit = store.exact(&scope(), &PromptHash::of("hello"), NOW).await.unwrap();
    assert!(hit.is_some(), "what is there is served");
    client.batch_execute("DROP FUNCTION full_disk CASCADE").await.unwrap();
    assert_recovers(&store).await;
}

/// Project 1 with keys 1 to 39.
async fn fill_with_keys(store: &dyn Store) {
    fill(store).await;
    for number in 2..40 {
        store.create_key(&key(number), &change()).await.unwrap();
    }
}

/// Many calls at once by way of a slow network, most of which are given up, at all stages.
async fn hang_up_often(store: &Arc<dyn Store>, proxy: &Proxy) {
    // Late answers, so that hanging up meets all stages of a call.
    proxy.set(Weather::Slow);
    let mut callers = JoinSet::new();
    for round in 0..200u32 {
        let store = Arc::clone(store);
        callers.spawn(async move {
            let number = u8::try_from(round % 38 + 2).unwrap();
            let patience = Duration::from_millis(u64::from(round * 7 % 180));
            let call = async {
                match round % 4 {
                    0 => {
                        let new = entry(1000 + round, &scope(), &round.to_string());
                        store.insert(new).await.map(drop)
                    }
                    1 => store.purge(project_id(9), &EntryFilter::default(), &change()).await.map(drop),
                    // A transaction of several statements.
                    2 => store.update_operator(&nobody(), &change()).await.map(drop),
                    _ => store.key_by_hash(&key(number).hash).await.map(|admission| {
                        assert_eq!(admission.unwrap().key.id, key(number).id, "its own answer");
                    }),
                }
            };
            // Whether it was answered before it hung up does not matter.
            let _hung_up = timeout(patience, Box::pin(call)).await;
        });
    }
    callers.join_all().await;
    proxy.set(Weather::Fair);
}

/// An operator that was never stored.
pub(crate) fn nobody() -> Operator {
    testing::operator(9, Role::Member, NOW)
}

/// Callers that hang up at any moment: the others get their own answers, and nothing stays open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_hang_up_leave_no_connection_out_of_step() {
    let database = Database::create().await;
    let (proxy, url) = behind_proxy(&database).await;
    let store = open_store(PostgresSettings { pool_size: 3, ..settings(&url) }).await;
    fill_with_keys(&*store).await;
    hang_up_often(&store, &proxy).await;
    for number in 2..40 {
        assert_eq!(store.key_by_hash(&key(number).hash).await.unwrap().unwrap().key.id, key(number).id);
    }
    assert_nothing_left(&database).await;
    // Each entry is there with its vector and counted, or not there at all.
    let client = database.client().await;
    let sql = "SELECT (SELECT count(*) FROM entries), (SELECT count(*) FROM vectors),
                      (SELECT sum(entries)::bigint FROM entry_counts)";
    let row = client.query_one(sql, &[]).await.unwrap();
    let counts: [i64; 3] = [row.get(0), row.get(1), row.get(2)];
    assert_eq!(counts, [counts[0]; 3]);
}

/// Neither those that hang up during a statement nor those that hang up while they are being connected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_hang_up_cost_no_connection() {
    let database = Database::create().await;
    let (proxy, url) = behind_proxy(&database).await;
    let store = open_store(PostgresSettings { pool_size: 3, ..settings(&url) }).await;
    let opened = proxy.accepted();
    fill_with_keys(&*store).await;
    for _ in 0..3 {
        hang_up_often(&store, &proxy).await;
        assert_eq!(proxy.accepted() - opened, 3, "as many as there may be, each made once");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_hangs_up_leaves_no_transaction_to_the_next() {
    let database = Database::create().await;
    let (proxy, url) = behind_proxy(&database).await;
    let store = filled(PostgresSettings { pool_size: 1, ..settings(&url) }).await;
    let client = database.client().await;
    let open = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    let everything = EntryFilter::default();
    proxy.set(Weather::Slow);
    for patience in (0..240).step_by(30).map(Duration::from_millis) {
        // Hung up or not, by the time it has taken.
        let _several = timeout(patience, store.update_operator(&nobody(), &change())).await;
        assert!(store.key_by_hash(&key(1).hash).await.unwrap().is_some());
        assert_eq!(client.query_one(open, &[]).await.unwrap().get::<_, i64>(0), 0, "{patience:?}");
        let _at_once = timeout(patience, store.purge(project_id(9), &everything, &change())).await;
        assert!(store.key_by_hash(&key(1).hash).await.unwrap().is_some());
        assert_eq!(client.query_one(open, &[]).await.unwrap().get::<_, i64>(0), 0, "{patience:?}");
    }
}

/// One request of key 1, in a recorder's batch of this number.
fn one_request(number: i64) -> UsageBatch {
    let taken = Timestamp::from_nanos(NOW.as_nanos() + number);
    let mut batch = UsageBatch::default();
    batch.id = Some(BatchId { recorder: RecorderId::from_bytes([1; 16]), taken });
    batch.add(&UsageEvent::bare(project_id(1), key(1).id, Outcome::Miss, NOW));
    batch
}

async fn requests(store: &dyn Store) -> u64 {
    store.keys(project_id(1)).await.unwrap()[0].1.requests
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_whose_commit_is_not_answered_are_counted_once() {
    let database = Database::create().await;
    let (proxy, url) = behind_proxy(&database).await;
    let store = filled(impatient(&url)).await;
    let beside = database.store().await;
    proxy.set(Weather::HalfOpen);
    let lost = store.record(&one_request(1)).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    // It has arrived nevertheless, unless the connection had yet to be made or the statement to be prepared.
    assert_nothing_left(&database).await;
    proxy.set(Weather::Fair);
    assert_recovers(&store).await;
    store.record(&one_request(1)).await.unwrap();
    assert_eq!(requests(&*beside).await, 1);
    // Prepared by now: this time it is the answer to the commit that is lost.
    proxy.set(Weather::HalfOpen);
    store.record(&one_request(2)).await.unwrap_err();
    let begun = Instant::now();
    while requests(&*beside).await < 2 {
        assert!(begun.elapsed() < HANG, "it is committed");
        sleep(Duration::from_millis(20)).await;
    }
    proxy.set(Weather::Fair);
    assert_recovers(&store).await;
    for batch in [one_request(2), one_request(2), one_request(3)] {
        store.record(&batch).await.unwrap();
    }
    assert_eq!(requests(&*beside).await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_may_take_longer_to_write_than_a_query() {
    let database = Database::create().await;
    let patient = PostgresSettings { bulk_timeout: Duration::from_mins(1), ..impatient(&database.url) };
    let store = filled(patient).await;
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    PERFORM pg_sleep(3); RETURN new;
                END $$;
                CREATE TRIGGER slow BEFORE UPDATE ON keys FOR EACH ROW EXECUTE FUNCTION slow();";
    database.client().await.batch_execute(slow).await.unwrap();
    store.record(&one_request(1)).await.unwrap();
    assert_eq!(requests(&*store).await, 1);
}
