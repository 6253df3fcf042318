//! Sessions of PostgreSQL: what deja sets in them, and how they begin beside each other.

use std::time::Duration;

use deja_core::testing::change;
use tokio::time::sleep;

use crate::postgres::Database;
use crate::support::project;

/// Without it a crash of PostgreSQL brings a revoked key back whose revocation was acknowledged.
#[tokio::test]
async fn commits_are_on_disk_whatever_the_database_sets() {
    for (set, kept) in [("off", "local"), ("local", "local"), ("on", "on"), ("remote_apply", "remote_apply")]
    {
        let database = Database::create().await;
        let client = database.client().await;
        let alter = format!(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = {set}', current_database());
             END $$"
        );
        client.batch_execute(&alter).await.unwrap();
        let store = database.store().await;
        let watch = "CREATE TABLE seen (setting text);
                     CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
                         BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
                     CREATE TRIGGER see AFTER INSERT ON projects FOR EACH ROW EXECUTE FUNCTION see()";
        client.batch_execute(watch).await.unwrap();
        store.create_project(&project(1), &change()).await.unwrap();
        let seen: String = client.query_one("SELECT setting FROM seen", &[]).await.unwrap().get(0);
        assert_eq!(seen, kept, "{set}");
    }
}

/// Whoever builds a graph waits for all snapshots from before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_waits_for_another_ones_migration_keeps_no_snapshot() {
    let database = Database::create().await;
    let (migrates, builds) = (database.client().await, database.client().await);
    migrates
        .batch_execute("CREATE TABLE t (n int); SELECT pg_advisory_lock(x'64656a61'::bigint)")
        .await
        .unwrap();
    let meanwhile = async {
        let waits =
            "SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                     AND query LIKE 'SELECT pg_%advisory_lock($1)'";
        while migrates.query(waits, &[]).await.unwrap().is_empty() {
            sleep(Duration::from_millis(10)).await;
        }
        builds.batch_execute("SET statement_timeout = '10s'").await.unwrap();
        let built = builds.batch_execute("CREATE INDEX CONCURRENTLY ON t (n)").await;
        migrates.batch_execute("SELECT pg_advisory_unlock_all()").await.unwrap();
        built.unwrap();
    };
    let (store, ()) = tokio::join!(database.store(), meanwhile);
    store.create_project(&project(1), &change()).await.unwrap();
}
