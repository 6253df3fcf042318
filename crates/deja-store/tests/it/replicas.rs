//! Several replicas on one database: what one does holds for all at once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use deja_core::analytics::{Outcome, UsageBatch, UsageEvent};
use deja_core::cache::{Frame, Inserted, Labelled, NewEntry, PairHash, PromptHash, Scope};
use deja_core::clock::Timestamp;
use deja_core::embedding::Similarity;
use deja_core::id::{FlightId, KeyId, ProjectId};
use deja_core::money::NanoUsd;
use deja_core::provider::ProviderKind;
use deja_core::rate_limit::{Bucket, Quota, take};
use deja_core::store::{Claimed, EVICTED_AT_ONCE, EntryFilter, FlightKey, Store, StoreError, Unanswered};
use deja_core::testing::{self, change};
use deja_store::PostgresSettings;
use proptest::prelude::*;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_postgres::AsyncMessage;
use uuid::Uuid;

use crate::faults::{behind_proxy, nobody};
use crate::postgres::{Database, open_store, settings};
use crate::proxy::Weather;
use crate::support::{NOW, entry, entry_id, project, project_id, scope, with_project, wrong};

async fn replicas(database: &Database) -> Vec<Arc<dyn Store>> {
    vec![database.store().await, database.store().await, database.store().await]
}

fn after(nanos: i64) -> Timestamp {
    Timestamp::from_nanos(NOW.as_nanos() + nanos)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_wrong_answers_that_come_at_once_the_third_is_one_too_many() {
    let database = Database::create().await;
    let replicas = replicas(&database).await;
    replicas[0].create_project(&project(1), &change()).await.unwrap();
    let scope = scope();
    for number in 0..20 {
        replicas[0].insert(entry(number, &scope, &number.to_string())).await.unwrap();
        let mut labels = JoinSet::new();
        for (turn, replica) in replicas.iter().cloned().enumerate() {
            labels.spawn(async move {
                let asked = format!("asked {turn}");
                replica.label(project_id(1), wrong(number, &asked), &change()).await.unwrap().unwrap()
            });
        }
        let mut quarantined = labels.join_all().await;
        quarantined.retain(|labelled| *labelled == Labelled::Quarantined);
        assert_eq!(quarantined.len(), 1, "entry {number}");
    }
}

/// Who notifies holds a lock of the whole server until its commit is on disk.
#[tokio::test]
async fn nobody_is_told_of_a_flight_that_nobody_waits_for() {
    let (database, store) = with_project().await;
    let (client, mut connection) =
        tokio_postgres::connect(&database.url, tokio_postgres::NoTls).await.unwrap();
    let (hear, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let mut listening = JoinSet::new();
    listening.spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(of) = message {
                hear.send(of.payload().to_owned()).unwrap();
            }
        }
    });
    client.batch_execute("LISTEN deja_flights").await.unwrap();

    let (claims, scope) = (store.claims().unwrap(), scope());
    let owner = FlightId::from_bytes([1; 16]);
    let unanswered = Unanswered { model: "m".to_owned(), failure: None };
    for (number, (prompt, is_awaited)) in
        (0..).zip([("stored", false), ("stored, awaited", true), ("ended", false), ("ended, awaited", true)])
    {
        let flight = FlightKey { project: project_id(1), scope: scope.key(), prompt: PromptHash::of(prompt) };
        claims.claim(&flight, owner, Duration::from_hours(1), None, NOW).await.unwrap();
        if is_awaited {
            claims.released(&flight, owner, Duration::from_millis(1)).await;
        }
        if prompt.starts_with("stored") {
            claims.store_and_release(entry(number, &scope, prompt), owner).await.unwrap();
        } else {
            claims.release(&flight, owner, &unanswered).await.unwrap();
        }
    }
    // They come in the order of the commits: one of another flight would be among them.
    for prompt in ["stored, awaited", "ended, awaited"] {
        let word = timeout(Duration::from_mins(1), heard.recv()).await.unwrap();
        assert_eq!(word, Some(hex::encode(PromptHash::of(prompt).0)), "{prompt}");
    }
    listening.abort_all();
}

/// A claim that is given up before its answer is there sends who waited to the provider.
#[tokio::test]
async fn a_claim_is_given_up_with_the_answer_that_takes_an_expired_ones_place() {
    let database = Database::create().await;
    let (here, there) = (database.store().await, database.store().await);
    here.create_project(&project(1), &change()).await.unwrap();
    let (scope, late) = (scope(), after(2));
    let flight = FlightKey { project: project_id(1), scope: scope.key(), prompt: PromptHash::of("asked") };
    let [first, second] = [1, 2].map(|number| FlightId::from_bytes([number; 16]));
    let mut old = entry(1, &scope, "asked");
    old.entry.expires = Some(after(1));
    here.insert(old).await.unwrap();
    let claims = here.claims().unwrap();
    claims.claim(&flight, first, Duration::from_mins(5), None, late).await.unwrap();

    // Who holds the expired entry makes everybody wait who takes it away.
    let (holder, looker) = (database.client().await, database.client().await);
    holder.batch_execute("BEGIN; SELECT FROM entries FOR UPDATE").await.unwrap();
    let mut new = entry(2, &scope, "asked");
    (new.entry.created, new.now) = (late, late);
    let storing = async { claims.store_and_release(new, first).await.unwrap() };
    let meanwhile = async {
        let waits = "SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                     WHERE NOT l.granted AND a.datname = current_database()";
        while looker.query(waits, &[]).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let claimed = there.claims().unwrap().claim(&flight, second, Duration::from_mins(5), None, late);
        let claimed = claimed.await.unwrap();
        assert!(matches!(claimed, Claimed::Theirs(by) if by == first), "{claimed:?}");
        holder.batch_execute("ROLLBACK").await.unwrap();
    };
    let (stored, ()) = tokio::join!(storing, meanwhile);
    assert!(matches!(stored, Inserted::New), "{stored:?}");
    let claimed = there.claims().unwrap().claim(&flight, second, Duration::from_mins(5), Some(first), late);
    assert!(matches!(claimed.await.unwrap(), Claimed::Answered));
}

/// Does `write` while another transaction has deleted something, which it commits when the write waits for it or is done.
async fn beside_deletion(database: &Database, deletion: &str, write: impl Future<Output = ()>) {
    let (deletes, looker) = (database.client().await, database.client().await);
    deletes.batch_execute(&format!("BEGIN; {deletion}")).await.unwrap();
    let waits = "SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                 WHERE NOT l.granted AND a.datname = current_database()";
    let waits = async {
        while looker.query(waits, &[]).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let mut write = std::pin::pin!(write);
    tokio::select! {
        () = &mut write => panic!("it does not wait for what is being deleted"),
        () = waits => {}
    }
    deletes.batch_execute("COMMIT").await.unwrap();
    write.await;
}

async fn projects_in(database: &Database, table: &str) -> Vec<ProjectId> {
    let sql = format!("SELECT DISTINCT project_id FROM {table} ORDER BY 1");
    let rows = database.client().await.query(&sql, &[]).await.unwrap();
    rows.iter().map(|row| ProjectId::from_bytes(row.get::<_, Uuid>(0).into_bytes())).collect()
}

/// A foreign key that is gone would take all else with it.
#[tokio::test]
async fn what_is_deleted_while_counts_and_samples_are_written_takes_only_its_own() {
    let database = Database::create().await;
    let store = database.store().await;
    let key = KeyId::from_bytes([1; 16]);
    let mut batch = UsageBatch::default();
    let mut samples = Vec::new();
    for number in [1, 2] {
        store.create_project(&project(number), &change()).await.unwrap();
        let scope = Scope::new(project_id(number), Frame::query(Some("m"), None));
        store.insert(entry(number.into(), &scope, "asked")).await.unwrap();
        batch.add(&UsageEvent::bare(project_id(number), key, Outcome::Miss, NOW));
        let (project, entry) = (project_id(number), entry_id(number.into()));
        samples.push(testing::sample(number.into(), project, entry, "asked", Similarity::ONE, NOW));
    }
    let deletion = format!("DELETE FROM entries WHERE entry_id = '{}'", entry_id(2));
    let keep = async { store.keep_samples(&samples, NOW).await.unwrap() };
    beside_deletion(&database, &deletion, keep).await;
    assert_eq!(projects_in(&database, "samples").await, [project_id(1)]);

    let deletion = format!("DELETE FROM projects WHERE project_id = '{}'", project_id(2));
    let record = async { store.record(&batch).await.unwrap() };
    beside_deletion(&database, &deletion, record).await;
    assert_eq!(projects_in(&database, "rollups").await, [project_id(1)]);
}

#[tokio::test]
async fn an_entry_goes_only_with_the_one_that_takes_its_place() {
    let (_database, store) = with_project().await;
    let scope = scope();
    store.insert(entry(1, &scope, "asked")).await.unwrap();
    store.insert(entry(2, &scope, "another")).await.unwrap();
    // It cannot be stored: another entry has its name.
    let stored = store.insert(NewEntry { replaces: true, ..entry(2, &scope, "asked") }).await;
    assert!(matches!(stored, Err(StoreError::Conflict(_))), "{stored:?}");
    let found = store.exact(&scope, &PromptHash::of("asked"), NOW).await.unwrap();
    assert_eq!(found.map(|entry| entry.id), Some(entry_id(1)));
    assert_eq!(store.count(project_id(1)).await.unwrap(), 2);
}

/// A plan that looks for the oldest again for each row takes away more of them, and takes time.
#[tokio::test]
async fn no_more_old_rows_go_at_a_time_than_are_meant_whatever_the_plan() {
    let database = Database::create().await;
    let client = database.client().await;
    for kind in ["hashjoin", "mergejoin", "hashagg", "sort", "material", "memoize"] {
        let set = format!(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET enable_{kind} = off', current_database()); END $$"
        );
        client.batch_execute(&set).await.unwrap();
    }
    let store = database.store().await;
    store.create_project(&project(1), &change()).await.unwrap();
    for number in 0..20 {
        let pair = PairHash::of("judge", &PromptHash::of("asked"), &PromptHash::of(&number.to_string()));
        store.keep_opinion(project_id(1), &pair, Some(true), 1, NanoUsd::ZERO).await.unwrap();
    }
    assert_eq!(store.sweep_opinions(2, NonZeroUsize::new(3).unwrap()).await.unwrap(), 3);
}

/// Calls whose answers are not stored leave a claim each. A claim that looked for old ones would read all of them.
#[tokio::test]
async fn claims_that_are_over_go_with_the_clean_up_and_no_claim_looks_for_them() {
    let database = Database::create().await;
    let (client, store) = (database.client().await, database.store().await);
    store.create_project(&project(1), &change()).await.unwrap();
    let old = "INSERT INTO flights (project_id, scope_key, prompt_hash, owner, until)
               SELECT project_id, '', sha256(n::text::bytea), project_id, 0 FROM projects, generate_series(1, 100) n";
    client.batch_execute(old).await.unwrap();
    let scope = Scope::new(project_id(1), Frame::query(Some("m"), None));
    let flight = FlightKey { project: project_id(1), scope: scope.key(), prompt: PromptHash::of("asked") };
    let (owner, lease) = (FlightId::from_bytes([1; 16]), Duration::from_mins(5));
    store.claims().unwrap().claim(&flight, owner, lease, None, NOW).await.unwrap();
    let left =
        async || -> i64 { client.query_one("SELECT count(*) FROM flights", &[]).await.unwrap().get(0) };
    assert_eq!(left().await, 101);
    store.sweep_usage(NOW, NonZeroUsize::new(1).unwrap()).await.unwrap();
    assert_eq!(left().await, 1, "the claim that was just made");
}

/// One statement for all entries would be ended by its deadline, and have removed none.
#[tokio::test]
async fn purges_and_deletions_go_in_parts() {
    for deletes in [false, true] {
        let (database, store) = with_project().await;
        let client = database.client().await;
        store.insert(entry(1, &scope(), "asked")).await.unwrap();
        let crowd = "INSERT INTO entries SELECT (jsonb_populate_record(e, jsonb_build_object(
                         'entry_id', gen_random_uuid(), 'prompt_hash', '\\x' || replace(gen_random_uuid()::text, '-', '')))).*
                     FROM entries e, generate_series(1, 5000)";
        client.execute(crowd, &[]).await.unwrap();
        let last_stays = "UPDATE entries SET hits = 7 WHERE entry_id = (SELECT entry_id FROM entries ORDER BY entry_id DESC LIMIT 1);
                          CREATE FUNCTION stay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'it stays'; END $$;
                          CREATE TRIGGER stay BEFORE DELETE ON entries FOR EACH ROW WHEN (old.hits = 7) EXECUTE FUNCTION stay()";
        client.batch_execute(last_stays).await.unwrap();
        let done = async || {
            if deletes {
                return store.delete_project(project_id(1), &change()).await.map(u64::from);
            }
            store.purge(project_id(1), &EntryFilter::default(), &change()).await
        };
        done().await.unwrap_err();
        let left = client.query_one("SELECT count(*) FROM entries", &[]).await.unwrap();
        assert_eq!(left.get::<_, i64>(0), 1001, "deletes: {deletes}");
        client.batch_execute("DROP TRIGGER stay ON entries").await.unwrap();
        // A deletion has begun: a sweep finishes it.
        assert_eq!(done().await.unwrap(), if deletes { 0 } else { 1001 });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_holds_for_the_very_next_request_on_every_replica() {
    let database = Database::create().await;
    let replicas = replicas(&database).await;
    replicas[0].create_project(&project(1), &change()).await.unwrap();
    for number in 0..60 {
        let key = testing::key(number, project_id(1), NOW);
        let turn = number as usize;
        replicas[turn % 3].create_key(&key, &change()).await.unwrap();
        for replica in &replicas {
            assert!(replica.key_by_hash(&key.hash).await.unwrap().is_some());
        }
        assert!(replicas[(turn + 1) % 3].revoke_key(project_id(1), key.id, &change()).await.unwrap());
        for replica in &replicas {
            assert!(replica.key_by_hash(&key.hash).await.unwrap().is_none());
        }
    }
}

/// Inserts at the same time must not each take away all that is too much. Those of here have counted when the first evicts:
/// each waits for another transaction that holds its prompt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_maximum_that_was_lowered_is_reached_and_not_fallen_below() {
    let database = Database::create().await;
    let replicas = replicas(&database).await;
    replicas[0].create_project(&project(1), &change()).await.unwrap();
    let scope = scope();
    for number in 0..700 {
        replicas[0].insert(entry(number, &scope, &number.to_string())).await.unwrap();
    }
    let mut lowered = project(1);
    lowered.settings.max_entries = 500;
    assert!(replicas[0].update_project(&lowered, &change()).await.unwrap());
    let mut holders = Vec::new();
    for number in 700..708 {
        let holder = database.client().await;
        let hold = "INSERT INTO entries SELECT (jsonb_populate_record(e, jsonb_build_object(
                        'entry_id', gen_random_uuid(), 'prompt_hash', '\\x' || encode($1::bytea, 'hex')))).*
                    FROM entries e LIMIT 1";
        holder.batch_execute("BEGIN").await.unwrap();
        holder.execute(hold, &[&PromptHash::of(&number.to_string()).0.as_slice()]).await.unwrap();
        holders.push(holder);
    }
    let mut callers = JoinSet::new();
    for number in 700..708 {
        let (replica, scope) = (Arc::clone(&replicas[number as usize % 3]), scope.clone());
        callers.spawn(async move {
            replica.insert(entry(number, &scope, &number.to_string())).await.unwrap();
        });
    }
    let client = database.client().await;
    let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                   WHERE a.datname = current_database() AND NOT l.granted AND l.locktype = 'transactionid'";
    while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < 8 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut expected = 700;
    for holder in holders {
        holder.batch_execute("ROLLBACK").await.unwrap();
        callers.join_next().await.unwrap().unwrap();
        expected = (expected + 1 - EVICTED_AT_ONCE).max(500);
        assert_eq!(replicas[0].count(project_id(1)).await.unwrap(), expected);
    }
}

/// Limits and claims have no foreign key.
#[tokio::test]
async fn a_deleted_project_leaves_no_row_but_the_audit_log() {
    let (database, store) = with_project().await;
    let scope = scope();
    store.insert(entry(1, &scope, "asked")).await.unwrap();
    let quota = Quota::new(10, 10).unwrap();
    store.take(project_id(1), quota, NOW).await.unwrap();
    store.take_feedback(project_id(1), quota, NOW).await.unwrap();
    let flight = FlightKey { project: project_id(1), scope: scope.key(), prompt: PromptHash::of("failed") };
    let owner = FlightId::from_bytes([1; 16]);
    let claims = store.claims().unwrap();
    let claimed = claims.claim(&flight, owner, Duration::from_secs(6), None, NOW).await.unwrap();
    assert!(matches!(claimed, Claimed::Ours), "{claimed:?}");
    claims.release(&flight, owner, &Unanswered { model: "m".into(), failure: None }).await.unwrap();
    assert!(store.delete_project(project_id(1), &change()).await.unwrap());
    let client = database.client().await;
    let tables = "SELECT table_name::text FROM information_schema.columns JOIN information_schema.tables
                      USING (table_schema, table_name)
                  WHERE column_name = 'project_id' AND table_schema = 'public' AND table_type = 'BASE TABLE'";
    let mut seen = 0;
    for row in client.query(tables, &[]).await.unwrap() {
        let table: String = row.get(0);
        let count = format!("SELECT count(*) FROM {table} WHERE project_id IS NOT NULL");
        let left: i64 = client.query_one(&count, &[]).await.unwrap().get(0);
        assert!(left == 0 || table == "changes", "{left} rows in {table}");
        seen += 1;
    }
    assert!(seen > 15, "{seen} tables");
}

/// Version 1 of the schema, which the database still serves, had no kinds.
#[tokio::test]
async fn a_replica_of_the_version_before_goes_on_adding_providers() {
    let (database, store) = with_project().await;
    let insert = "INSERT INTO providers (project_id, name, base_url, models, allow_private, provider_id, created)
                  SELECT project_id, 'house', 'https://llm.example/v1', '[]', false, project_id, 0 FROM projects";
    database.client().await.batch_execute(insert).await.unwrap();
    let found = store.providers(project_id(1)).await.unwrap();
    assert_eq!(found.iter().map(|provider| provider.kind).collect::<Vec<_>>(), [ProviderKind::OpenAi]);
}

/// Three replicas whose clocks lie seconds apart, hammered together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_replicas_never_let_more_than_the_quota_through() {
    let database = Database::create().await;
    let quota = Quota::new(6_000, 50).unwrap();
    let (rounds, step) = (100i64, 7_000_000i64);
    let mut callers = JoinSet::new();
    for (replica, skew) in replicas(&database).await.into_iter().zip([0, -3_000_000_000i64, 5_000_000_000]) {
        for caller in 0..4 {
            let replica = Arc::clone(&replica);
            callers.spawn(async move {
                let mut allowed = 0;
                for round in 0..rounds {
                    let now = after(round * step + caller + skew);
                    allowed += i64::from(replica.take(project_id(1), quota, now).await.unwrap().allowed);
                }
                allowed
            });
        }
    }
    let allowed = callers.join_all().await.into_iter().sum::<i64>();
    // By the clock that is ahead; the earliest moment is the first on the one that is behind.
    let elapsed = rounds * step + 4 + 8_000_000_000;
    let most = 50 + elapsed / quota.interval() + 1;
    assert!(allowed <= most, "{allowed} of at most {most}");
    assert!(allowed >= 50, "the burst passes");
}

#[test]
fn every_decision_is_that_of_the_rule() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let database = runtime.block_on(Database::create());
    let store = runtime.block_on(database.store());
    let projects = AtomicU8::new(0);
    let runs = ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() };
    let quotas = || (1u32..5_000, 1u32..60);
    let steps = prop::collection::vec((0i64..2_000_000_000, prop::option::weighted(0.05, quotas())), 1..60);
    proptest!(runs, |(first in quotas(), steps in steps)| {
        let project = projects.fetch_add(1, Ordering::Relaxed);
        let (mut bucket, mut now) = (Bucket::default(), NOW.as_nanos());
        let mut quota = Quota::new(first.0, first.1).unwrap();
        for (step, change) in steps {
            now += step / i64::from(quota.per_minute().max(10) / 10);
            quota = change.map_or(quota, |(rpm, burst)| Quota::new(rpm, burst).unwrap());
            let (next, expected) = take(bucket, quota, Timestamp::from_nanos(now));
            let got = runtime.block_on(store.take(project_id(project), quota, Timestamp::from_nanos(now)));
            prop_assert_eq!(got.unwrap(), expected);
            bucket = next;
        }
    });
}

/// With the same connection as the lock, or it would wait for itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_under_the_lock_need_no_other_connection() {
    let database = Database::create().await;
    let small = PostgresSettings { pool_size: 1, ..settings(&database.url) };
    let (store, other) = (open_store(small).await, database.store().await);
    store.create_project(&project(1), &change()).await.unwrap();
    let before = store.projects().await.unwrap();
    for round in 0..3 {
        let alone = store.lock_changes().await.unwrap().expect("it is shared");
        let mut changed = alone.project("p1").await.unwrap().unwrap();
        changed.name = format!("name {round}");
        // Several statements, one of them in vain; what it leaves open is undone before the next.
        let conflict = alone.create_project(&changed, &change()).await;
        assert!(matches!(conflict, Err(StoreError::Conflict(_))), "{conflict:?}");
        assert!(!alone.update_operator(&nobody(), &change()).await.unwrap());
        assert!(alone.update_project(&changed, &change()).await.unwrap());
        let purged = alone.purge(project_id(1), &EntryFilter::default(), &change()).await.unwrap();
        assert_eq!(purged, 0);
        drop(alone);
        // The connection is there again, and the lock is free for the other replica.
        assert_eq!(store.projects().await.unwrap()[0].name, changed.name);
        drop(other.lock_changes().await.unwrap());
    }
    assert_eq!(before.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_whose_lock_was_lost_is_not_written() {
    let database = Database::create().await;
    let (store, other) = (database.store().await, database.store().await);
    store.create_project(&project(1), &change()).await.unwrap();
    let alone = store.lock_changes().await.unwrap().expect("it is shared");
    let mut mine = alone.project("p1").await.unwrap().unwrap();
    mine.name = "mine".to_owned();
    let terminate = "SELECT pg_terminate_backend(pid) FROM pg_locks
                     WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    assert_eq!(database.client().await.query(terminate, &[]).await.unwrap().len(), 1);
    // Now another has it, and changes the same.
    let theirs = other.lock_changes().await.unwrap().expect("it is shared");
    let mut changed = theirs.project("p1").await.unwrap().unwrap();
    changed.name = "theirs".to_owned();
    assert!(theirs.update_project(&changed, &change()).await.unwrap());
    for _ in 0..2 {
        let late = alone.update_project(&mine, &change()).await;
        assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
    }
    assert_eq!(other.projects().await.unwrap()[0].name, "theirs");
    drop((alone, theirs));
    drop(store.lock_changes().await.unwrap());
}

/// Callers that hang up at any moment leave neither the lock nor a transaction behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_ends_with_its_caller() {
    let database = Database::create().await;
    let (proxy, url) = behind_proxy(&database).await;
    let store = open_store(PostgresSettings { pool_size: 1, ..settings(&url) }).await;
    store.create_project(&project(1), &change()).await.unwrap();
    let other = database.store().await;
    proxy.set(Weather::Slow);
    for patience in (0..400).step_by(40).map(Duration::from_millis) {
        let changing = async {
            let alone = store.lock_changes().await.unwrap().expect("it is shared");
            alone.update_operator(&nobody(), &change()).await.unwrap();
            alone.update_project(&project(1), &change()).await.unwrap()
        };
        let _hung_up = timeout(patience, Box::pin(changing)).await;
        drop(other.lock_changes().await.unwrap());
        assert_eq!(store.projects().await.unwrap().len(), 1);
    }
}
