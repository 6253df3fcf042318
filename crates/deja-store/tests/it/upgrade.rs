//! What a newer version makes of the data of an older one.

use deja_core::analytics::{Outcome, Slice, Step, UsageBatch, UsageEvent};
use deja_core::cache::{Frame, PromptHash, Scope};
use deja_core::clock::Timestamp;
use deja_core::id::KeyId;
use deja_core::store::Store;
use deja_core::testing::change;
use half::f16;
use sha2::{Digest, Sha256};

use crate::postgres::Database;
use crate::support::{NOW, assert_whole, entry_id, near, project, project_id, store_in, vector};

/// As a version left it that counted minutes and hours only.
const WITHOUT_DAYS: &str = "DELETE FROM rollups WHERE step = 86400; DELETE FROM migrations WHERE version >= ";

async fn traffic(store: &dyn Store) {
    store.create_project(&project(1), &change()).await.unwrap();
    let mut batch = UsageBatch::default();
    for hour in [0, 1, 30] {
        let at = Timestamp::from_secs(NOW.as_secs() + hour * 3600);
        batch.add(&UsageEvent {
            model: "m",
            output_tokens: 7,
            ..UsageEvent::bare(project_id(1), KeyId::from_bytes([1; 16]), Outcome::Miss, at)
        });
    }
    store.record(&batch).await.unwrap();
}

/// The sums of each day, of all requests and of a model's.
async fn days(store: &dyn Store) -> Vec<(i64, u64, u64)> {
    let mut days = Vec::new();
    for slice in [Slice::default(), Slice { model: Some("m".into()), ..Slice::default() }] {
        let series = store.usage_series(project_id(1), &slice, Step::Day, 0..i64::MAX).await.unwrap();
        days.extend(series.iter().map(|(day, sum)| (*day, sum.totals.misses, sum.totals.output_tokens)));
    }
    days
}

#[tokio::test(flavor = "multi_thread")]
async fn days_are_summed_up_from_hours_in_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    traffic(&*store).await;
    let before = days(&*store).await;
    assert_eq!(before.iter().map(|day| day.1).sum::<u64>(), 6);
    store.close().await.unwrap();
    let old = rusqlite::Connection::open(directory.path().join("deja.db")).unwrap();
    old.execute_batch(&format!("{WITHOUT_DAYS} 4")).unwrap();
    drop(old);
    assert_eq!(days(&*store_in(directory.path()).await).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn days_are_summed_up_from_hours_in_postgresql() {
    let database = Database::create().await;
    let store = database.store().await;
    traffic(&*store).await;
    let before = days(&*store).await;
    assert_eq!(before.iter().map(|day| day.1).sum::<u64>(), 6);
    let client = database.client().await;
    client.batch_execute(&format!("{WITHOUT_DAYS} 3")).await.unwrap();
    assert_eq!(days(&*database.store().await).await, before);
    database.remove().await;
}

/// Model, whether all models share the scope, context.
const SCOPES: [(&str, bool, Option<&str>); 6] = [
    ("m", false, None),
    ("m", false, Some("")),
    ("m", true, None),
    ("n", false, Some("you are a pirate, \u{e4}\u{f6}\u{fc}\u{df}")),
    ("n", true, Some("you are a pirate, \u{e4}\u{f6}\u{fc}\u{df}")),
    ("", false, Some("\u{1}")),
];

/// The scope, and its key as it was before there were frames.
fn before_frames(number: usize) -> (Scope, [u8; 32]) {
    let (model, shared, context) = SCOPES[number];
    let model = (!shared).then_some(model);
    let mut hash = Sha256::new_with_prefix(project_id(1).as_bytes());
    for part in [model, context] {
        match part {
            None => hash.update([0]),
            Some(text) => {
                hash.update([1]);
                hash.update((text.len() as u64).to_le_bytes());
                hash.update(text);
            }
        }
    }
    (Scope::new(project_id(1), Frame::query(model, context)), hash.finalize().into())
}

/// Every entry is found in its scope, by its prompt and by a vector, and in no other.
async fn assert_found(store: &dyn Store) {
    for (number, (model, _, context)) in SCOPES.iter().enumerate() {
        let (scope, _) = before_frames(number);
        assert_whole(store, &scope, number as u32 * 10, "hello").await;
        assert_eq!(near(store, &scope, &vector(number as u32 * 10), 0.0, NOW).await.len(), 1);
        let detail = store.entry(project_id(1), entry_id(number as u32 * 10)).await.unwrap().unwrap();
        assert_eq!((&*detail.entry.model, detail.context.as_deref()), (*model, *context));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_from_before_frames_are_found_in_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let old = rusqlite::Connection::open(directory.path().join("deja.db")).unwrap();
    for sql in [
        "CREATE TABLE migrations (version INTEGER NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
         INSERT INTO migrations VALUES (1), (2), (3), (4)",
        include_str!("../../migrations/sqlite/0001_first.sql"),
        include_str!("../../migrations/sqlite/0002_console.sql"),
        include_str!("../../migrations/sqlite/0003_provider_kind.sql"),
        include_str!("../../migrations/sqlite/0004_days.sql"),
        "INSERT INTO embedders VALUES (1, 'e');
         INSERT INTO projects VALUES (x'01010101010101010101010101010101', 'p1', 'P', 'free', NULL, NULL, 0, '{}', 0, 0)",
    ] {
        old.execute_batch(sql).unwrap();
    }
    for (number, (model, _, context)) in SCOPES.iter().enumerate() {
        let (project, id) = (project_id(1), entry_id(number as u32 * 10));
        let (key, hash) = (before_frames(number).1, PromptHash::of("hello").0);
        let bytes: Vec<u8> = vector(number as u32 * 10)
            .as_slice()
            .iter()
            .flat_map(|v| f16::from_f32(*v).to_le_bytes())
            .collect();
        let scope = old
            .prepare("INSERT INTO scopes (project_id, scope_key, context) VALUES (?1, ?2, ?3)")
            .unwrap()
            .insert(rusqlite::params![project.as_bytes(), key, context])
            .unwrap();
        let entry = old
            .prepare(
                "INSERT INTO entries (project_id, entry_id, scope, prompt_hash, created, last_used, input_tokens,
                                      output_tokens, tokens_estimated, model, provider, prompt, answer)
                 VALUES (?1, ?2, ?3, ?4, 0, 0, 0, 0, 0, ?5, 'openai', 'hello', 'hi')",
            )
            .unwrap()
            .insert(rusqlite::params![project.as_bytes(), id.as_bytes(), scope, hash, model])
            .unwrap();
        old.execute(
            "INSERT INTO vectors VALUES (?1, ?2, ?3, ?4, ?5, 0, NULL, 1, ?6)",
            rusqlite::params![entry, project.as_bytes(), id.as_bytes(), scope, hash, bytes],
        )
        .unwrap();
    }
    drop(old);
    assert_found(&*store_in(directory.path()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_from_before_frames_are_found_in_postgresql() {
    let database = Database::create().await;
    let client = database.client().await;
    for sql in [
        "CREATE TABLE migrations (version integer NOT NULL PRIMARY KEY, serves integer NOT NULL);
         INSERT INTO migrations VALUES (1, 1), (2, 1), (3, 1)",
        include_str!("../../migrations/postgres/0001_first.sql"),
        include_str!("../../migrations/postgres/0002_provider_kind.sql"),
        include_str!("../../migrations/postgres/0003_days.sql"),
        "INSERT INTO projects VALUES ('01010101-0101-0101-0101-010101010101', 'p1', 'P', 'free', NULL, NULL, false, '{}', 0);
         CREATE INDEX vectors_graph_96 ON vectors USING hnsw ((vector::halfvec(96)) halfvec_ip_ops) WHERE dimension = 96",
    ] {
        client.batch_execute(sql).await.unwrap();
    }
    for (number, (model, _, context)) in SCOPES.iter().enumerate() {
        let project = uuid::Uuid::from_bytes(*project_id(1).as_bytes());
        let id = uuid::Uuid::from_bytes(*entry_id(number as u32 * 10).as_bytes());
        let (key, hash) = (before_frames(number).1, PromptHash::of("hello").0);
        let entry = "INSERT INTO entries (project_id, entry_id, scope_key, prompt_hash, created, last_used, input_tokens,
                                          output_tokens, tokens_estimated, provider, model, context, prompt, answer)
                     VALUES ($1, $2, $3, $4, 0, 0, 0, 0, false, 'openai', $5, $6, 'hello', 'hi')";
        let context = context.map(str::as_bytes);
        client
            .execute(entry, &[&project, &id, &key.as_slice(), &hash.as_slice(), &model.as_bytes(), &context])
            .await
            .unwrap();
        let stored = pgvector::HalfVector::from_f32_slice(vector(number as u32 * 10).as_slice());
        let sql =
            "INSERT INTO vectors (project_id, entry_id, scope_key, created, embedder, dimension, vector)
                   VALUES ($1, $2, $3, 0, 'e', 96, $4)";
        client.execute(sql, &[&project, &id, &key.as_slice(), &stored]).await.unwrap();
    }
    let store = database.store().await;
    assert_found(&*store).await;
    let graph = client.query_one("SELECT to_regclass('vectors_graph_96') IS NULL", &[]).await.unwrap();
    assert!(graph.get::<_, bool>(0), "it is built again when a scope is large");
    store.close().await.unwrap();
    database.remove().await;
}
