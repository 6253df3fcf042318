//! Sessions of PostgreSQL: what deja sets in them.

use deja_core::testing::change;

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
