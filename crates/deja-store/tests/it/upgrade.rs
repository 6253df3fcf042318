//! What a newer version adds to the counts of an older one.

use deja_core::analytics::{Outcome, Slice, Step, UsageBatch, UsageEvent};
use deja_core::clock::Timestamp;
use deja_core::id::KeyId;
use deja_core::store::Store;
use deja_core::testing::change;

use crate::postgres::Database;
use crate::support::{NOW, project, project_id, store_in};

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
