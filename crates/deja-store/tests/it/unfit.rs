//! Databases of PostgreSQL that deja cannot be run on: the start is refused, and says what to do.

use crate::postgres::{Database, settings, try_store};

async fn refusal(url: &str) -> String {
    try_store(settings(url)).await.err().unwrap().to_string()
}

/// What is not UTF-8 there cannot be stored, and is searched for wrongly.
#[tokio::test]
async fn a_database_in_another_encoding_is_refused() {
    let database = Database::create().await;
    let name = format!("latin_{}", std::process::id());
    let client = database.client().await;
    let create =
        format!("CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    client.batch_execute(&create).await.unwrap();
    let (base, _) = database.url.rsplit_once('/').unwrap();
    let refused = refusal(&format!("{base}/{name}")).await;
    assert!(refused.contains("LATIN1") && refused.contains("ENCODING 'UTF8'"), "{refused}");
    client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
}

#[tokio::test]
async fn an_old_pgvector_is_refused() {
    let database = Database::create().await;
    let client = database.client().await;
    let older = "CREATE EXTENSION IF NOT EXISTS vector; SET allow_system_table_mods = on;
                 UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'";
    client.batch_execute(older).await.unwrap();
    let refused = refusal(&database.url).await;
    assert!(refused.contains("pgvector is 0.7.4") && refused.contains("ALTER EXTENSION"), "{refused}");
}

#[tokio::test]
async fn a_role_without_rights_is_told_which_it_needs() {
    let database = Database::create().await;
    let (client, role) = (database.client().await, format!("plain_{}", std::process::id()));
    client.batch_execute(&format!("CREATE ROLE {role} LOGIN")).await.unwrap();
    let (_, server) = database.url.split_once('@').unwrap();
    let refused = refusal(&format!("postgres://{role}@{server}")).await;
    assert!(refused.contains("permission denied") && refused.contains("owner of the database"), "{refused}");
    client.batch_execute(&format!("DROP ROLE {role}")).await.unwrap();
}
