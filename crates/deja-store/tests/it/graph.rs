//! The graph index of large scopes: it finds what a scan finds, whatever the filter leaves out.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use deja_core::cache::{Frame, Scope};
use deja_core::clock::Timestamp;
use deja_core::embedding::EmbedderId;
use deja_core::store::Store;
use deja_core::testing::{MemoryStore, change};
use deja_store::PostgresSettings;
use tokio::time::{Instant, sleep};

use crate::postgres::{Database, open_store, settings};
use crate::support::{NOW, entry, near, project, project_id, scope, vector};

const PATIENCE: Duration = Duration::from_mins(1);

/// A store that takes every scope for large, with its graph built.
async fn with_graph(database: &Database, scope: &Scope) -> Arc<dyn Store> {
    let store = graph_from(database, 0).await;
    near(&*store, scope, &vector(0), 0.5, NOW).await;
    let client = database.client().await;
    let valid = "SELECT FROM pg_index WHERE indexrelid = to_regclass('vectors_graph_96') AND indisvalid";
    let begun = Instant::now();
    while client.query_opt(valid, &[]).await.unwrap().is_none() {
        assert!(begun.elapsed() < PATIENCE, "the graph is built");
        sleep(Duration::from_millis(50)).await;
    }
    store
}

async fn graph_from(database: &Database, graph_from: u64) -> Arc<dyn Store> {
    open_store(PostgresSettings { graph_from, ..settings(&database.url) }).await
}

/// How often the graph was asked, as far as the statistics know by now.
async fn scans(database: &Database) -> i64 {
    let sql = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'vectors_graph_96'";
    database.client().await.query_one(sql, &[]).await.unwrap().get(0)
}

/// Searches until the statistics say that the graph was asked: the store hears of a graph a moment after it is
/// there, and the statistics come late too.
async fn assert_asked(database: &Database, store: &dyn Store, scope: &Scope, number: u32) {
    let (before, begun) = (scans(database).await, Instant::now());
    while scans(database).await == before {
        assert!(begun.elapsed() < PATIENCE, "the graph is asked");
        assert!(!near(store, scope, &vector(number), 0.5, NOW).await.is_empty());
        sleep(Duration::from_millis(300)).await;
    }
}

/// Closes the store and waits for the end of its connections: a backend writes its statistics before.
async fn close(database: &Database, store: Arc<dyn Store>) {
    store.close().await.unwrap();
    let open =
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'deja'";
    let (client, begun) = (database.client().await, Instant::now());
    while !client.query(open, &[]).await.unwrap().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "connections are left");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Whether there is a graph, whole or begun.
async fn has_graph(database: &Database) -> bool {
    let sql = "SELECT to_regclass('vectors_graph_96') IS NOT NULL";
    database.client().await.query_one(sql, &[]).await.unwrap().get(0)
}

async fn until_there_is_a_graph(database: &Database) {
    let begun = Instant::now();
    while !has_graph(database).await {
        assert!(begun.elapsed() < PATIENCE, "no graph is built");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Puts the entries of these numbers into `scope`, which is of project 1.
async fn put(store: &dyn Store, scope: &Scope, numbers: Range<u32>) {
    for number in numbers {
        store.insert(entry(number, scope, &number.to_string())).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_is_built_before_a_scope_is_large() {
    let database = Database::create().await;
    let scope = scope();
    let store = graph_from(&database, 400).await;
    store.create_project(&project(1), &change()).await.unwrap();
    put(&*store, &scope, 0..100).await;
    near(&*store, &scope, &vector(1), 0.5, NOW).await;
    sleep(Duration::from_millis(300)).await;
    assert!(!has_graph(&database).await, "a quarter of a large scope is none");
    store.build_missing_indexes().await.unwrap();
    assert!(!has_graph(&database).await, "a quarter of a large scope is none");
    // One more, and nobody searches.
    put(&*store, &scope, 100..101).await;
    sleep(Duration::from_millis(300)).await;
    assert!(!has_graph(&database).await, "beside a graph what is imported would be stored many times slower");
    store.build_missing_indexes().await.unwrap();
    assert!(has_graph(&database).await);
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scope_that_another_process_filled_has_its_graph_by_the_first_search() {
    let database = Database::create().await;
    let scope = scope();
    let filled = database.store().await;
    filled.create_project(&project(1), &change()).await.unwrap();
    put(&*filled, &scope, 0..101).await;
    assert!(!has_graph(&database).await);
    let store = graph_from(&database, 400).await;
    assert!(!near(&*store, &scope, &vector(1), 0.5, NOW).await.is_empty());
    until_there_is_a_graph(&database).await;
    store.close().await.unwrap();
}

/// A plan for each search takes half a millisecond. A function that the statement calls tells of the setting,
/// and of how many neighbours were kept in view: the statement went through the graph.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_of_the_graph_has_no_plan_of_its_own() {
    let database = Database::create().await;
    let scope = scope();
    let store = graph_from(&database, 0).await;
    store.create_project(&project(1), &change()).await.unwrap();
    put(&*store, &scope, 0..20).await;
    let tells = "CREATE TABLE told (plans text, view text);
         ALTER FUNCTION l2_norm(halfvec) RENAME TO silent_norm;
         CREATE FUNCTION l2_norm(halfvec) RETURNS float8 LANGUAGE plpgsql AS
             'BEGIN INSERT INTO told VALUES (current_setting(''plan_cache_mode''), current_setting(''hnsw.ef_search''));
                    RETURN silent_norm($1); END'";
    let client = database.client().await;
    client.batch_execute(tells).await.unwrap();
    let begun = Instant::now();
    let told = "SELECT DISTINCT plans FROM told WHERE view = '64'";
    let told = loop {
        assert!(begun.elapsed() < PATIENCE, "the graph is asked");
        assert!(!near(&*store, &scope, &vector(1), 0.5, NOW).await.is_empty());
        let told = client.query(told, &[]).await.unwrap();
        if !told.is_empty() {
            break told;
        }
        sleep(Duration::from_millis(20)).await;
    };
    let told: Vec<&str> = told.iter().map(|row| row.get(0)).collect();
    assert_eq!(told, ["force_generic_plan"]);
    store.close().await.unwrap();
}

/// PostgreSQL may be built without a compiler, and then shows no other trace of it. Serializable transactions show in what
/// fails beside others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_compiles_no_statement_and_serializes_none() {
    let database = Database::create().await;
    let serialized =
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable',
                                                 current_database()); END $$";
    database.client().await.batch_execute(serialized).await.unwrap();
    let store = database.store().await;
    store.create_project(&project(1), &change()).await.unwrap();
    let told = "CREATE TABLE told (jit text, isolation text);
         CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN INSERT INTO told VALUES (current_setting(''jit''), current_setting(''transaction_isolation''));
                    RETURN NULL; END';
         CREATE TRIGGER tell AFTER INSERT ON entries EXECUTE FUNCTION tell()";
    let client = database.client().await;
    client.batch_execute(told).await.unwrap();
    put(&*store, &scope(), 0..1).await;
    let told = client.query_one("SELECT jit, isolation FROM told", &[]).await.unwrap();
    assert_eq!((told.get("jit"), told.get("isolation")), ("off", "read committed"));
    store.close().await.unwrap();
}

/// How far it is can be asked of any replica.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_that_is_being_built_says_how_far_it_is() {
    let database = Database::create().await;
    let scope = scope();
    let other = database.store().await;
    other.create_project(&project(1), &change()).await.unwrap();
    put(&*other, &scope, 0..10).await;
    assert_eq!(other.index_build().await.unwrap(), None);
    // A transaction that has written keeps a concurrent build waiting until it ends.
    let mut writing = database.client().await;
    let held = writing.transaction().await.unwrap();
    held.execute("UPDATE vectors SET created = created + 1", &[]).await.unwrap();
    let store = graph_from(&database, 0).await;
    near(&*store, &scope, &vector(0), 0.5, NOW).await;
    let begun = Instant::now();
    while other.index_build().await.unwrap() != Some(0.0) {
        assert!(begun.elapsed() < PATIENCE, "it is being built");
        sleep(Duration::from_millis(20)).await;
    }
    held.rollback().await.unwrap();
    while other.index_build().await.unwrap().is_some() {
        assert!(begun.elapsed() < PATIENCE, "it is built");
        sleep(Duration::from_millis(20)).await;
    }
    assert!(has_graph(&database).await);
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scope_that_is_a_small_part_of_all_is_scanned() {
    let database = Database::create().await;
    let scope = scope();
    let plain = database.store().await;
    plain.create_project(&project(1), &change()).await.unwrap();
    put(&*plain, &scope, 0..300).await;
    plain.close().await.unwrap();
    let all = with_graph(&database, &scope).await;
    assert_asked(&database, &*all, &scope, 1).await;
    close(&database, all).await;
    let client = database.client().await;
    // Autovacuum counts them.
    client.batch_execute("ALTER TABLE vectors SET (autovacuum_enabled = off)").await.unwrap();
    // How many the table is thought to hold, and so from how many on the graph is asked, instead of 100.
    let thought = async |all: f64| {
        let sql = format!("UPDATE pg_class SET reltuples = {all} WHERE oid = 'vectors'::regclass");
        client.batch_execute(&sql).await.unwrap();
        graph_from(&database, 100).await
    };
    let small_part = thought(1e9).await;
    let before = scans(&database).await;
    for _ in 0..3 {
        assert!(!near(&*small_part, &scope, &vector(1), 0.5, NOW).await.is_empty());
        // It hears of the graph by then.
        sleep(Duration::from_millis(500)).await;
    }
    close(&database, small_part).await;
    assert_eq!(scans(&database).await, before, "it is scanned");
    let large_part = thought(1e6).await;
    assert_asked(&database, &*large_part, &scope, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_graph_finds_what_a_scan_finds() {
    let database = Database::create().await;
    let plain = database.store().await;
    let model = MemoryStore::new();
    let stores: [&dyn Store; 2] = [&*plain, &*model];
    let large = scope();
    let small = Scope::new(project_id(1), Frame::query(Some("m"), Some("few")));
    for store in stores {
        store.create_project(&project(1), &change()).await.unwrap();
        for number in 0..1_200u32 {
            // One in forty is all that passes the filter of the small scope.
            let scope = if number % 40 == 7 { &small } else { &large };
            let mut new = entry(number, scope, &number.to_string());
            new.entry.expires = (number % 5 == 0).then(|| Timestamp::from_secs(NOW.as_secs() + 10));
            if number % 7 == 0 {
                new.vectors[0].0 = EmbedderId::new("other");
            }
            store.insert(new).await.unwrap();
        }
    }
    let graph = with_graph(&database, &large).await;
    let later = Timestamp::from_secs(NOW.as_secs() + 20);
    for scope in [&large, &small] {
        for number in (0..1_200).step_by(17) {
            for now in [NOW, later] {
                let expected = nearest_ids(&*model, scope, number, now).await;
                assert_eq!(nearest_ids(&*graph, scope, number, now).await, expected, "{number}");
            }
        }
    }
    assert_asked(&database, &*graph, &large, 1).await;
}

/// A scope whose neighbour lies behind thousands of vectors of another project is scanned in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_neighbour_behind_a_crowd_of_others_is_found() {
    let database = Database::create().await;
    let plain = database.store().await;
    let (own, foreign) = (scope(), Scope::new(project_id(2), Frame::query(Some("m"), None)));
    for (number, scope) in [(1u8, &own), (2, &foreign)] {
        plain.create_project(&project(number), &change()).await.unwrap();
        for entry_number in 0..30 {
            let entry_number = u32::from(number) * 1_000 + entry_number;
            plain.insert(entry(entry_number, scope, &entry_number.to_string())).await.unwrap();
        }
    }
    // All of the other project become the same vector, thousands of times.
    let crowd = "INSERT INTO entries SELECT (jsonb_populate_record(e, jsonb_build_object(
                     'entry_id', gen_random_uuid(), 'prompt_hash', '\\x' || replace(gen_random_uuid()::text, '-', '')))).*
                 FROM entries e, generate_series(1, 300) WHERE project_id = (SELECT project_id FROM projects WHERE slug = $1)";
    let client = database.client().await;
    let slug = project(2).slug.to_string();
    client.execute(crowd, &[&slug]).await.unwrap();
    let vectors = "INSERT INTO vectors (project_id, entry_id, scope_key, created, expires, embedder, dimension, vector)
                   SELECT e.project_id, e.entry_id, v.scope_key, v.created, v.expires, v.embedder, v.dimension, v.vector
                   FROM entries e JOIN LATERAL (
                       SELECT * FROM vectors WHERE project_id = e.project_id ORDER BY entry_id LIMIT 1) v ON true
                   WHERE NOT EXISTS (SELECT FROM vectors o WHERE o.project_id = e.project_id AND o.entry_id = e.entry_id)
                         AND e.project_id = (SELECT project_id FROM projects WHERE slug = $1)";
    assert_eq!(client.execute(vectors, &[&slug]).await.unwrap(), 9_000);
    let graph = with_graph(&database, &foreign).await;
    assert_asked(&database, &*graph, &foreign, 2_000).await;
    // The prompt lies where the crowd is, and the scope's own entries are somewhere else.
    let crowded = vector(2_000);
    let found = near(&*graph, &own, &crowded, 0.0, NOW).await;
    let expected = near(&*plain, &own, &crowded, 0.0, NOW).await;
    assert!(!expected.is_empty());
    assert_eq!(found.len(), expected.len());
    assert_eq!(found[0].entry.id, expected[0].entry.id);
}

async fn nearest_ids(store: &dyn Store, scope: &Scope, number: u32, now: Timestamp) -> Vec<String> {
    let found = near(store, scope, &vector(number), 0.5, now).await;
    found.iter().map(|found| format!("{} {:.4}", found.entry.id, found.similarity.get())).collect()
}
