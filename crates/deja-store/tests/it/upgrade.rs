//! What a newer version makes of a database that an older one left.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use deja_core::analytics::{Slice, Step};
use deja_core::api_key::KeyHash;
use deja_core::cache::{Frame, Kind, LabelSource, PromptHash, Scope};
use deja_core::clock::Timestamp;
use deja_core::embedding::{EmbedderId, Embedding, Similarity, Threshold};
use deja_core::member::Rank;
use deja_core::provider::ProviderKind;
use deja_core::store::{OwnProviders, Probe, Store};
use deja_core::testing::change;
use deja_store::{OpenError, StoreSettings, open};
use half::f16;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::params;
use sha2::{Digest, Sha256};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::postgres::{self, Database};
use crate::support::{
    NOW, assert_whole, entry, entry_id, near, project, project_id, scope, store_in, vector,
};

/// The files of the schema before the one whose name ends so, by number.
fn files_before(kind: &str, name: &str) -> Vec<(i32, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(kind);
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let before = files.iter().take_while(|path| !path.to_str().unwrap().ends_with(name));
    (1..).zip(before.map(|path| fs::read_to_string(path).unwrap())).collect()
}

fn settings() -> String {
    serde_json::to_string(&project(1).settings).unwrap()
}

/// A database as it was before this file of the schema, with a project.
fn old_sqlite(directory: &Path, name: &str) -> rusqlite::Connection {
    let old = rusqlite::Connection::open(directory.join("deja.db")).unwrap();
    let versions = "CREATE TABLE migrations (version INTEGER NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID";
    old.execute_batch(versions).unwrap();
    // The program that migrates has this function; there is no entry yet that it would be called for.
    let key = |context: &Context<'_>| context.get::<Vec<u8>>(0);
    old.create_scalar_function("framed", 4, FunctionFlags::SQLITE_UTF8, key).unwrap();
    for (number, sql) in files_before("sqlite", name) {
        old.execute_batch(&sql).unwrap();
        old.execute("INSERT INTO migrations VALUES (?1)", [number]).unwrap();
    }
    let sql = "INSERT INTO projects (project_id, slug, name, tier, suspended, settings, created)
               VALUES (?1, 'p1', 'P', 'free', 0, ?2, ?3)";
    old.execute(sql, params![project_id(1).as_bytes(), settings(), NOW.as_nanos()]).unwrap();
    old
}

/// The same of PostgreSQL.
async fn old_postgres(database: &Database, name: &str) -> Client {
    let old = database.client().await;
    let versions = "CREATE TABLE migrations (version integer NOT NULL PRIMARY KEY, serves integer NOT NULL)";
    old.batch_execute(versions).await.unwrap();
    for (number, sql) in files_before("postgres", name) {
        old.batch_execute(&sql).await.unwrap();
        old.execute("INSERT INTO migrations VALUES ($1, 1)", &[&number]).await.unwrap();
    }
    let sql = "INSERT INTO projects (project_id, slug, name, tier, suspended, settings, created)
               VALUES ($1, 'p1', 'P', 'free', false, $2, $3)";
    let id = Uuid::from_bytes(*project_id(1).as_bytes());
    old.execute(sql, &[&id, &settings(), &NOW.as_nanos()]).await.unwrap();
    old
}

/// Servers of the version before are on it, or may have to be again.
#[tokio::test]
async fn an_older_schema_is_left_as_it_is_where_nothing_may_migrate() {
    let (directory, database) = (tempfile::tempdir().unwrap(), Database::create().await);
    let _old = old_sqlite(directory.path(), "_sweeps.sql");
    let _old = old_postgres(&database, "_purges.sql").await;
    let embedded = StoreSettings { migrates: false, ..StoreSettings::new(directory.path()) };
    let shared = StoreSettings { postgres: Some(postgres::settings(&database.url)), ..embedded.clone() };
    for settings in [embedded, shared] {
        let version = async || deja_store::schema_version(&settings).await.unwrap();
        let before = version().await;
        let refused = open(&settings).await.err().unwrap();
        assert!(matches!(refused, OpenError::OlderSchema { .. }), "{refused}");
        assert!(refused.to_string().contains("deja db migrate"), "{refused}");
        assert_eq!(version().await, before);
        let migrated = deja_store::migrate(&settings).await.unwrap();
        assert_eq!((before.found + 1, migrated.found), (migrated.known, migrated.known));
        open(&settings).await.unwrap().close().await.unwrap();
    }
}

#[tokio::test]
async fn plans_do_not_depend_on_when_the_database_was_closed() {
    let directory = tempfile::tempdir().unwrap();
    let old = old_sqlite(directory.path(), "0021_no_statistics.sql");
    old.execute_batch("ANALYZE").unwrap();
    let statistics = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlite\\_stat%' ESCAPE '\\'";
    let statistics = || old.query_row(statistics, [], |row| row.get::<_, i64>(0)).unwrap();
    assert!(statistics() > 0);

    let store = store_in(directory.path()).await;
    assert_eq!(statistics(), 0, "those of an earlier version are gone");
    let scope = scope();
    for number in 0..50 {
        store.insert(entry(number, &scope, &number.to_string())).await.unwrap();
    }
    store.close().await.unwrap();
    assert_eq!(statistics(), 0, "none are made");
}

#[tokio::test]
async fn what_is_old_is_found_by_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let old = old_sqlite(directory.path(), "_sweeps.sql");
    let sql = "INSERT INTO context_labels (project_id, context, label, hour) VALUES (?1, 1, 'you are', 0)";
    old.execute(sql, [project_id(1).as_bytes()]).unwrap();
    for (at, action) in [(0, "refused"), (NOW.as_nanos(), "refused"), (0, "other")] {
        let sql = "INSERT INTO changes (at, actor, action, subject, detail) VALUES (?1, 'a', ?2, '', '')";
        old.execute(sql, params![at, action]).unwrap();
    }
    let store = store_in(directory.path()).await;
    store.sweep_usage(NOW, NonZeroUsize::MAX).await.unwrap();
    assert_eq!(store.sweep_changes("refused", NOW, 10, NonZeroUsize::MAX).await.unwrap(), 1);
    let left = |table| {
        let sql = format!("SELECT count(*) FROM {table}");
        old.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((left("context_labels"), left("changes")), (0, 2));
    for (table, condition) in [("context_labels", "hour < 9"), ("changes", "action = 'a' AND at < 9")] {
        let sql = format!("EXPLAIN QUERY PLAN SELECT 1 FROM {table} WHERE {condition}");
        let plan: String = old.query_row(&sql, [], |row| row.get("detail")).unwrap();
        assert!(plan.starts_with("SEARCH"), "{plan}");
    }
    store.close().await.unwrap();
}

/// Hours after now in which there was a miss with 7 tokens out.
const TRAFFIC: [i64; 3] = [0, 1, 30];

/// The sums of each day, of all requests and of a model's, are those of its hours.
async fn days_are_summed_up(store: &dyn Store) {
    for slice in [Slice::default(), Slice { model: Some("m".into()), ..Slice::default() }] {
        let series = store.usage_series(project_id(1), &slice, Step::Day, 0..i64::MAX).await.unwrap();
        let days: Vec<_> =
            series.iter().map(|(day, sum)| (*day, sum.totals.misses, sum.totals.output_tokens)).collect();
        assert_eq!(days, [(19_675, 2, 14), (19_677, 1, 7)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn days_are_summed_up_from_hours_in_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let old = old_sqlite(directory.path(), "_days.sql");
    for hour in TRAFFIC.map(|hour| NOW.as_secs() / 3600 + hour) {
        for (dimensions, model) in [(0, ""), (2, "m")] {
            let sql = "INSERT INTO rollups
                       VALUES (?1, 3600, ?2, ?3, x'', ?4, 0, 0, 0, 1, 0, 0, 0, 0, 7, 0, 0, 0, 0, x'')";
            old.execute(sql, params![project_id(1).as_bytes(), dimensions, hour, model]).unwrap();
        }
    }
    drop(old);
    days_are_summed_up(&*store_in(directory.path()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn days_are_summed_up_from_hours_in_postgresql() {
    let database = Database::create().await;
    let old = old_postgres(&database, "_days.sql").await;
    let id = Uuid::from_bytes(*project_id(1).as_bytes());
    for hour in TRAFFIC.map(|hour| NOW.as_secs() / 3600 + hour) {
        for (dimensions, model) in [(0i16, &b""[..]), (2, b"m")] {
            let sql = "INSERT INTO rollups
                       VALUES ($1, 3600, $2, $3, $4, $5, 0, 0, 0, 1, 0, 0, 0, 0, 7, 0, 0, 0, 0, '{}')";
            let values: [&(dyn ToSql + Sync); 5] = [&id, &dimensions, &hour, &Uuid::nil(), &model];
            old.execute(sql, &values).await.unwrap();
        }
    }
    days_are_summed_up(&*database.store().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn providers_from_before_there_were_kinds_speak_openais() {
    let directory = tempfile::tempdir().unwrap();
    let old = old_sqlite(directory.path(), "_provider_kind.sql");
    old.execute_batch(
        "INSERT INTO providers (project_id, name, provider_id, base_url, models, allow_private, created)
         SELECT project_id, 'house', project_id, 'https://llm.example/v1', '[]', 0, 0 FROM projects",
    )
    .unwrap();
    drop(old);
    let found = store_in(directory.path()).await.providers(project_id(1)).await.unwrap();
    assert_eq!(found.iter().map(|provider| provider.kind).collect::<Vec<_>>(), [ProviderKind::OpenAi]);
}

#[tokio::test(flavor = "multi_thread")]
async fn own_providers_from_before_their_state_had_a_name_are_told_of() {
    let database = Database::create().await;
    let old = old_postgres(&database, "_own_providers.sql").await;
    let other = Uuid::from_bytes(*project_id(2).as_bytes());
    let sql = "INSERT INTO projects (project_id, slug, name, tier, suspended, settings, created)
               SELECT $1, 'p2', name, tier, suspended, settings, created FROM projects";
    old.execute(sql, &[&other]).await.unwrap();
    old.batch_execute(
        "INSERT INTO keys (project_id, key_id, name, shown, hash, created)
         SELECT project_id, project_id, 'k', slug, slug::bytea, 0 FROM projects;
         INSERT INTO providers (project_id, name, provider_id, base_url, models, allow_private, created)
         SELECT project_id, 'house', project_id, 'https://llm.example/v1', '[]', false, 0 FROM projects WHERE slug = 'p1'",
    )
    .await
    .unwrap();
    // Keys are found by 32 bytes.
    old.execute("UPDATE keys SET hash = sha256(hash)", &[]).await.unwrap();
    let store = database.store().await;
    let state = async |slug: &str| {
        let hash = KeyHash(Sha256::digest(slug).into());
        store.key_by_hash(&hash).await.unwrap().unwrap().providers
    };
    let before = state("p1").await;
    assert!(matches!(before, OwnProviders::At(_)), "{before:?}");
    assert_eq!(state("p2").await, OwnProviders::None);
    // As a program of an older version changes them, which knows nothing of states.
    old.execute("UPDATE providers SET base_url = 'https://llm.example/v2'", &[]).await.unwrap();
    let after = state("p1").await;
    assert!(matches!(after, OwnProviders::At(_)) && after != before, "{before:?} {after:?}");
    old.execute("DELETE FROM providers", &[]).await.unwrap();
    assert!(state("p1").await != after);
    store.close().await.unwrap();
}

/// A pair that was marked by a version that deleted the entry is forbidden as well.
async fn old_marks_forbid(store: &dyn Store) {
    let (embedder, embedding) = (EmbedderId::new("e"), vector(0));
    for (prompt, other, expected) in
        [("asked", "matched", true), ("matched", "asked", true), ("other", "matched", false)]
    {
        let probe = Probe {
            embedder: &embedder,
            embedding: &embedding,
            prompt: PromptHash::of(prompt),
            threshold: Threshold::ZERO,
            limit: NonZeroUsize::MIN,
        };
        let (of, near) = (PromptHash::of(other), Similarity::ZERO);
        assert_eq!(store.is_forbidden(project_id(1), probe, &of, near).await.unwrap(), expected, "{prompt}");
    }
    let kept = store.wrong_answers(project_id(1), None, NonZeroUsize::MIN).await.unwrap();
    assert_eq!((kept[0].source, &*kept[0].asked), (LabelSource::Console, "asked"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_marked_wrong_is_forbidden() {
    let (directory, database) = (tempfile::tempdir().unwrap(), Database::create().await);
    let old = old_sqlite(directory.path(), "_days.sql");
    let sql = "INSERT INTO wrong_answers VALUES (1, ?1, 0, 'asked', 'matched', 0.9, 'm')";
    old.execute(sql, [project_id(1).as_bytes()]).unwrap();
    drop(old);
    old_marks_forbid(&*store_in(directory.path()).await).await;
    let old = old_postgres(&database, "_forbidden.sql").await;
    let sql = "INSERT INTO wrong_answers (project_id, at, asked, matched, similarity, model)
               VALUES ($1, 0, 'asked', 'matched', 0.9, 'm')";
    old.execute(sql, &[&Uuid::from_bytes(*project_id(1).as_bytes())]).await.unwrap();
    old_marks_forbid(&*database.store().await).await;
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
        assert_eq!((detail.kind, detail.parameters.len()), (Kind::Query, 0), "there were no wire formats");
        let whole = store.whole(project_id(1), detail.entry.id).await.unwrap().unwrap();
        assert_eq!(whole.answer.record, None);
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
}

fn old_scope() -> Scope {
    before_frames(0).0
}

/// One entry with a vector, one that was too long for the embedder, one that nobody had tried, as versions kept them
/// that had one vector an entry.
const OLD: [(u32, &str, Option<&str>, bool); 3] =
    [(1, "with a vector", Some("e"), true), (2, "too long", Some("e"), false), (3, "without", None, false)];

async fn old_entries_are_there(store: &dyn Store) {
    let (scope, embedder) = (old_scope(), EmbedderId::new("e"));
    for (number, prompt, _, _) in OLD {
        let exact = store.exact(&scope, &PromptHash::of(prompt), NOW).await.unwrap();
        assert_eq!(exact.unwrap().id, entry_id(number));
    }
    let found = near(store, &scope, &Embedding::new(vec![1.0, 0.0]).unwrap(), 0.9, NOW).await;
    assert_eq!(found.iter().map(|found| found.entry.id).collect::<Vec<_>>(), [entry_id(1)]);
    let later = Timestamp::from_secs(NOW.as_secs() + 60);
    let stale = store.claim_stale(&embedder, None, NOW, later, NonZeroUsize::MAX).await.unwrap();
    assert_eq!(stale.iter().map(|stale| &*stale.prompt).collect::<Vec<_>>(), ["without"]);
    let vector = Embedding::new(vec![0.0, 1.0]).unwrap();
    for (by, number) in [("e", 3), ("f", 1)] {
        let put =
            store.put_vector(project_id(1), entry_id(number), &EmbedderId::new(by), Some(&vector)).await;
        assert!(put.unwrap());
    }
    let whole = store.export(project_id(1), None, NOW, NonZeroUsize::MAX).await.unwrap();
    let vectors: Vec<_> = whole.iter().map(|whole| whole.vectors.len()).collect();
    assert_eq!(vectors, [2, 1, 1]);
    for (number, prompt, _, _) in OLD {
        assert!(store.delete(project_id(1), entry_id(number), &change()).await.unwrap());
        assert!(store.exact(&scope, &PromptHash::of(prompt), NOW).await.unwrap().is_none());
    }
    assert!(near(store, &scope, &vector, 0.0, NOW).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn single_vectors_are_kept_in_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let old = old_sqlite(directory.path(), "_frames.sql");
    let (project, key, now) = (project_id(1), before_frames(0).1, NOW.as_nanos());
    let sql = "INSERT INTO scopes (scope, project_id, scope_key) VALUES (7, ?1, ?2)";
    old.execute(sql, params![project.as_bytes(), key]).unwrap();
    old.execute("INSERT INTO embedders VALUES (4, 'e')", []).unwrap();
    for (number, prompt, by, has_vector) in OLD {
        let (id, hash) = (entry_id(number), PromptHash::of(prompt).0);
        let sql = "INSERT INTO entries (entry, project_id, entry_id, scope, prompt_hash, created, last_used,
                                        input_tokens, output_tokens, tokens_estimated, model, provider, prompt, answer)
                   VALUES (?1, ?2, ?3, 7, ?4, ?5, ?5, 1, 1, 0, 'm', 'p', ?6, 'answer')";
        old.execute(sql, params![number, project.as_bytes(), id.as_bytes(), hash, now, prompt]).unwrap();
        let sql =
            "INSERT INTO vectors (entry, project_id, entry_id, scope, prompt_hash, created, embedder, vector)
                   VALUES (?1, ?2, ?3, 7, ?4, ?5, ?6, ?7)";
        // 1 and 0 at half precision.
        let vector = has_vector.then_some([0x00u8, 0x3c, 0, 0]);
        let by = by.map(|_| 4);
        old.execute(sql, params![number, project.as_bytes(), id.as_bytes(), hash, now, by, vector]).unwrap();
    }
    drop(old);
    old_entries_are_there(&*store_in(directory.path()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn single_vectors_are_kept_in_postgresql() {
    let database = Database::create().await;
    let old = old_postgres(&database, "_frames.sql").await;
    let project = Uuid::from_bytes(*project_id(1).as_bytes());
    let (key, now) = (before_frames(0).1.to_vec(), NOW.as_nanos());
    for (number, prompt, by, has_vector) in OLD {
        let (id, hash) = (Uuid::from_bytes(*entry_id(number).as_bytes()), PromptHash::of(prompt).0.to_vec());
        let sql = "INSERT INTO entries (project_id, entry_id, scope_key, prompt_hash, created, last_used, input_tokens,
                                        output_tokens, tokens_estimated, model, provider, prompt, answer)
                   VALUES ($1, $2, $3, $4, $5, $5, 1, 1, false, 'm', 'p', $6, 'answer')";
        let values: [&(dyn ToSql + Sync); 6] = [&project, &id, &key, &hash, &now, &prompt.as_bytes()];
        old.execute(sql, &values).await.unwrap();
        let vector = if has_vector { "2, '[1,0]'" } else { "NULL, NULL" };
        let sql = format!(
            "INSERT INTO vectors (project_id, entry_id, scope_key, created, embedder, dimension, vector)
             VALUES ($1, $2, $3, $4, $5, {vector})"
        );
        let values: [&(dyn ToSql + Sync); 5] = [&project, &id, &key, &now, &by];
        old.execute(&sql, &values).await.unwrap();
    }
    let store = database.store().await;
    old_entries_are_there(&*store).await;
    store.close().await.unwrap();
}

/// A member and an owner of deja, from before projects had members.
const OPERATORS: [(u8, &str); 2] = [(1, "member"), (2, "owner")];

async fn members_go_on_as_editors(store: &dyn Store) {
    let members = store.members(project_id(1)).await.unwrap();
    let told: Vec<_> = members.iter().map(|member| (member.email.as_str(), member.rank)).collect();
    assert_eq!(told, [("o1@example.com", Rank::Editor)], "an owner of deja needs no rank");
}

#[tokio::test(flavor = "multi_thread")]
async fn members_from_before_they_had_ranks_are_editors_in_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let old = old_sqlite(directory.path(), "_members.sql");
    for (number, role) in OPERATORS {
        let sql = "INSERT INTO operators (operator_id, email, role, password, created) VALUES (?1, ?2, ?3, '$x', 0)";
        let id = project_id(number);
        old.execute(sql, params![id.as_bytes(), format!("o{number}@example.com"), role]).unwrap();
    }
    drop(old);
    members_go_on_as_editors(&*store_in(directory.path()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_from_before_they_had_ranks_are_editors_in_postgresql() {
    let database = Database::create().await;
    let old = old_postgres(&database, "_members.sql").await;
    for (number, role) in OPERATORS {
        let sql = "INSERT INTO operators (operator_id, email, role, password, created) VALUES ($1, $2, $3, '$x', 0)";
        let (id, email) =
            (Uuid::from_bytes(*project_id(number).as_bytes()), format!("o{number}@example.com"));
        old.execute(sql, &[&id, &email, &role]).await.unwrap();
    }
    let store = database.store().await;
    members_go_on_as_editors(&*store).await;
    store.close().await.unwrap();
}
