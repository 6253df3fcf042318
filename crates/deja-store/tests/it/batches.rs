//! Many entries at once in PostgreSQL.

use std::time::Duration;

use deja_core::cache::NewEntry;
use deja_core::embedding::EmbedderId;
use deja_core::store::StoreError;
use deja_core::testing::change;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::postgres::Database;
use crate::support::{assert_whole, entry, project, project_id, scope, until_waiting, with_project};

fn many(count: u32) -> Vec<NewEntry> {
    (0..count).map(|number| entry(number, &scope(), &number.to_string())).collect()
}

/// How many transactions wrote the rows that are there.
async fn transactions(database: &Database, table: &str) -> i64 {
    let sql = format!("SELECT count(DISTINCT xmin::text) FROM {table}");
    database.client().await.query_one(&sql, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_are_stored_in_few_transactions() {
    let (database, store) = with_project().await;
    store.insert(entry(7, &scope(), "7")).await.unwrap();
    let mut new = many(500);
    for new in &mut new {
        let (_, vector) = new.vectors[0].clone();
        new.vectors.push((EmbedderId::new("another"), vector));
    }
    let stored = store.insert_all(new).await;
    assert!(stored.into_iter().enumerate().all(|(number, stored)| stored.unwrap() == (number != 7)));
    for table in ["entries", "vectors"] {
        let count = transactions(&database, table).await;
        assert!(count <= 5, "{count} wrote {table}");
    }
    for number in 0..500 {
        assert_whole(&*store, &scope(), number, &number.to_string()).await;
    }
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_the_database_refuses_is_told_alone() {
    let (_database, store) = with_project().await;
    let mut new = many(200);
    new[140].entry.answer.provider = "open\0ai".into();
    let stored = store.insert_all(new).await;
    for (number, stored) in (0..).zip(stored) {
        if number == 140 {
            assert!(matches!(stored, Err(StoreError::Internal(_))), "{stored:?}");
        } else {
            assert!(stored.unwrap());
            assert_whole(&*store, &scope(), number, &number.to_string()).await;
        }
    }
    assert_eq!(store.count(project_id(1)).await.unwrap(), 199);
    store.close().await.unwrap();
}

/// Another one of the same prompt that is being stored: if it is not, the entry of the batch is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_twin_that_is_being_stored_is_waited_for() {
    for ends in ["ROLLBACK", "COMMIT"] {
        let (database, store) = with_project().await;
        store.insert(entry(1000, &scope(), "there")).await.unwrap();
        let other = database.client().await;
        let copy = "BEGIN; CREATE TEMP TABLE copied AS SELECT * FROM entries;
                    UPDATE copied SET entry_id = gen_random_uuid(), prompt_hash = sha256('50');
                    INSERT INTO entries SELECT * FROM copied";
        other.batch_execute(copy).await.unwrap();
        let (mut tasks, batch) = (JoinSet::new(), store.clone());
        tasks.spawn(async move { batch.insert_all(many(200)).await });
        until_waiting(&database, 1).await;
        other.batch_execute(ends).await.unwrap();
        let all = tasks.join_next().await.unwrap().unwrap();
        for (number, stored) in all.into_iter().enumerate() {
            assert_eq!(stored.unwrap(), number != 50 || ends == "ROLLBACK", "{number} after {ends}");
        }
        store.close().await.unwrap();
    }
}

/// Nothing of a part whose caller went away, or all of it: never entries without their vectors or their count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_whose_caller_goes_away_is_stored_in_whole_parts() {
    let (database, store) = with_project().await;
    for round in 0..12 {
        let (mut tasks, batch) = (JoinSet::new(), store.clone());
        tasks.spawn(async move { batch.insert_all(many(2000)).await });
        sleep(Duration::from_millis(round * 7)).await;
        tasks.shutdown().await;
        // Whatever is under way is over when its rows are free.
        let client = database.client().await;
        let lock = "BEGIN; LOCK TABLE entries, vectors, entry_counts IN EXCLUSIVE MODE";
        client.batch_execute(lock).await.unwrap();
        let sql = "SELECT (SELECT count(*) FROM entries), (SELECT count(*) FROM vectors),
                          (SELECT coalesce(sum(entries), 0)::bigint FROM entry_counts)";
        let row = client.query_one(sql, &[]).await.unwrap();
        client.batch_execute("ROLLBACK").await.unwrap();
        let [entries, vectors, counted] = [0, 1, 2].map(|column| row.get::<_, i64>(column));
        assert_eq!((vectors, counted), (entries, entries));
    }
    assert!(store.insert_all(many(2000)).await.into_iter().all(|stored| stored.is_ok()));
    assert_eq!(store.count(project_id(1)).await.unwrap(), 2000);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_closed_store_refuses_them_all() {
    let database = Database::create().await;
    let store = database.store().await;
    store.create_project(&project(1), &change()).await.unwrap();
    store.close().await.unwrap();
    for stored in store.insert_all(many(300)).await {
        assert!(matches!(stored, Err(StoreError::Unavailable(_))), "{stored:?}");
    }
}
