//! The request log of several replicas: whoever reads on from a page has each row once.

use std::num::NonZeroUsize;
use std::pin::pin;

use deja_core::request_log::{LogFilter, LoggedRequest};
use deja_core::store::{Cursor, LogOrder};
use deja_core::testing::{self, change};

use crate::postgres::Database;
use crate::support::{NOW, project, project_id, until_waiting};

fn logged(name: &str) -> LoggedRequest {
    LoggedRequest { request: Some(name.to_owned()), ..testing::logged(project_id(1), NOW) }
}

/// Rows have their numbers before they are committed: one could become visible behind others with greater numbers.
#[tokio::test]
async fn a_row_that_is_committed_late_is_on_a_page_all_the_same() {
    let database = Database::create().await;
    let (here, there) = (database.store().await, database.store().await);
    here.create_project(&project(1), &change()).await.unwrap();
    let holder = database.client().await;
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END';
                CREATE TRIGGER slow AFTER INSERT ON request_log FOR EACH ROW
                    WHEN (NEW.request = 'late') EXECUTE FUNCTION slow();
                SELECT pg_advisory_lock(1)";
    holder.batch_execute(slow).await.unwrap();
    let oldest = LogOrder { descends: false, ..LogOrder::NEWEST };
    let page = async |after: Option<Cursor<u64>>| {
        let (all, many) = (LogFilter::default(), NonZeroUsize::MAX);
        let rows = there.logged(project_id(1), &all, oldest, after, many).await.unwrap();
        let names: Vec<_> = rows.iter().filter_map(|row| row.logged.request.clone()).collect();
        (names, rows.last().map(|row| oldest.cursor(row)).or(after))
    };

    let (late, early) = ([logged("late")], [logged("early")]);
    let meanwhile = async {
        until_waiting(&database, 1).await;
        let mut early = pin!(there.log_requests(&early));
        // It is done, or waits for the other: what is to be seen now is on the first page.
        let done = tokio::select! {
            done = &mut early => Some(done),
            () = until_waiting(&database, 2) => None,
        };
        let first = page(None).await;
        holder.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
        match done {
            Some(done) => done.unwrap(),
            None => early.await.unwrap(),
        }
        first
    };
    let (late, (mut seen, after)) = tokio::join!(here.log_requests(&late), meanwhile);
    late.unwrap();
    seen.extend(page(after).await.0);
    seen.sort();
    assert_eq!(seen, ["early", "late"]);
}
