//! What a look-up with an admission costs the database.

use std::time::Duration;

use deja_core::cache::{Frame, PromptHash, Scope};
use deja_core::project::Project;
use deja_core::rate_limit::Quota;
use deja_core::store::LookUp;
use deja_core::testing::{self, change};
use deja_store::PostgresSettings;
use tokio::time::sleep;

use crate::postgres::{Database, open_store, settings};
use crate::support::{NOW, entry, project, project_id};

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
    let scope = Scope::new(project_id(1), Frame::query(Some("m"), None));
    let mut found = 0;
    for asked in 0..2 * LET_IN {
        // Half of them are not there.
        let wanted = LookUp { scope: scope.key(), prompt: PromptHash::of(&(asked % 20).to_string()) };
        let ahead = store.looks_ahead().unwrap();
        let (_, entry) = ahead.admit_and_look_up(&key.hash, &wanted, NOW).await.unwrap();
        found += u32::from(entry.unwrap().is_some());
    }
    assert_eq!((told().await - before, found), (i64::from(LET_IN), LET_IN / 2));
    database.remove().await;
}
