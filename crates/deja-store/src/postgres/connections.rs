//! Connections to PostgreSQL: every call has a deadline, and a connection that was left in the middle of
//! something is closed instead of being used again.
//!
//! A caller may go away at any moment, and its future with it. What it leaves is dropped here: [`Lease`] takes
//! its connection out of the pool unless the last statement was answered and no transaction is open. The
//! server rolls back what the closed connection had begun.

use std::time::Duration;

use deadpool_postgres::{Object, Pool, PoolError, TimeoutType};
use deja_core::store::StoreError;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::fault::{describe, fault, is_transient, too_late, unavailable};

/// How often a statement is sent that deadlocked with another one.
const ATTEMPTS: u32 = 4;

/// Parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The pool with its deadlines.
pub(super) struct Connections {
    pool: Pool,
    call: Duration,
    bulk: Duration,
}

impl Connections {
    pub(super) fn new(pool: Pool, call: Duration, bulk: Duration) -> Self {
        Self { pool, call, bulk }
    }

    /// Runs one statement as a transaction of its own.
    pub(super) async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let mut lease = self.lease(self.call).await?;
        lease.query(sql, params).await
    }

    /// The only row of a statement that gives one.
    pub(super) async fn query_one(&self, sql: &str, params: Params<'_>) -> Result<Row, StoreError> {
        let rows = self.query(sql, params).await?;
        rows.into_iter().next().ok_or_else(|| unavailable("a statement gave no row"))
    }

    /// The row, if there is one.
    pub(super) async fn query_opt(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }

    /// Runs one statement that may take long, since it may touch all entries of a project.
    pub(super) async fn bulk(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let local = format!("statement_timeout = {}", self.bulk.as_millis());
        self.set_for(self.bulk, &local, sql, params).await
    }

    /// Runs one statement that is to take its order from a graph, whatever the planner thinks of sorting.
    pub(super) async fn in_graph(
        &self,
        ef_search: u32,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let settings = format!("enable_sort = off; SET LOCAL hnsw.ef_search = {ef_search}");
        self.set_for(self.call, &settings, sql, params).await
    }

    /// Runs one statement with a setting of its own.
    async fn set_for(
        &self,
        patience: Duration,
        setting: &str,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let mut lease = self.lease(patience).await?;
        lease.query_with(&format!("BEGIN; SET LOCAL {setting}"), sql, params).await
    }

    /// Begins a transaction of several statements. Dropped before [`Transaction::commit`], it is rolled back.
    pub(super) async fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        let mut lease = self.lease(self.call).await?;
        lease.open = true;
        lease.simple("BEGIN").await?;
        Ok(Transaction(lease))
    }

    /// Closes the pool: what is asked later is refused.
    pub(super) fn close(&self) {
        self.pool.close();
    }

    async fn lease(&self, patience: Duration) -> Result<Lease<'_>, StoreError> {
        let started = Instant::now();
        let deadline = started + patience;
        let got = timeout_at(deadline, self.pool.get()).await.map_err(|_| too_late("a connection"))?;
        let object = got.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => unavailable("all connections are in use"),
            PoolError::Timeout(_) => too_late("connecting"),
            PoolError::Backend(error) => unavailable(describe(&error)),
            PoolError::Closed => unavailable("the store is closed"),
            other => unavailable(other.to_string()),
        })?;
        Ok(Lease { object: Some(object), pool: &self.pool, started, deadline, busy: false, open: false })
    }
}

/// A connection for the time of one call.
struct Lease<'a> {
    object: Option<Object>,
    pool: &'a Pool,
    started: Instant,
    deadline: Instant,
    /// Something was asked that is not answered yet.
    busy: bool,
    /// A transaction is open.
    open: bool,
}

/// Several statements, all of them or none.
pub(super) struct Transaction<'a>(Lease<'a>);

impl Transaction<'_> {
    pub(super) async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.0.query(sql, params).await
    }

    pub(super) async fn commit(mut self) -> Result<(), StoreError> {
        self.0.end("COMMIT").await
    }

    pub(super) async fn rollback(mut self) -> Result<(), StoreError> {
        self.0.end("ROLLBACK").await
    }
}

impl Lease<'_> {
    async fn end(&mut self, how: &str) -> Result<(), StoreError> {
        self.simple(how).await?;
        self.open = false;
        Ok(())
    }

    async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let deadline = self.deadline;
        for attempt in 1.. {
            let object = self.object()?;
            let answer = async {
                let statement = object.prepare_cached(sql).await?;
                object.query(&statement, params).await
            };
            let answer = timeout_at(deadline, answer).await;
            match answer {
                Ok(Err(error)) if attempt < ATTEMPTS && !self.open && is_transient(&error) => {}
                answer => return self.answered(answer),
            }
        }
        Err(too_late("a statement"))
    }

    /// A statement in a transaction that begins with `begin`, all sent at once: one round trip.
    async fn query_with(
        &mut self,
        begin: &str,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let deadline = self.deadline;
        let object = self.object()?;
        let answer = async {
            let statement = object.prepare_cached(sql).await?;
            // They are sent in this order, and the server goes through them in it. It makes a rollback of the
            // commit if one before it failed.
            let (begun, rows, ended) = tokio::join!(
                object.batch_execute(begin),
                object.query(&statement, params),
                object.batch_execute("COMMIT"),
            );
            begun?;
            let rows = rows?;
            ended.map(|()| rows)
        };
        let answer = timeout_at(deadline, answer).await;
        self.answered(answer)
    }

    async fn simple(&mut self, sql: &str) -> Result<(), StoreError> {
        let deadline = self.deadline;
        let object = self.object()?;
        let answer = timeout_at(deadline, object.batch_execute(sql)).await;
        self.answered(answer)
    }

    /// The connection, from now on in the middle of something.
    fn object(&mut self) -> Result<&Object, StoreError> {
        self.busy = true;
        self.object.as_ref().ok_or_else(|| unavailable("the connection was given back"))
    }

    fn answered<T>(
        &mut self,
        answer: Result<Result<T, tokio_postgres::Error>, tokio::time::error::Elapsed>,
    ) -> Result<T, StoreError> {
        match answer {
            Ok(Ok(value)) => {
                self.busy = false;
                Ok(value)
            }
            Ok(Err(error)) => {
                let fault = fault(&error);
                // An error that the server told leaves the connection in step; but one that cannot be reached
                // or became read-only must be looked for anew.
                self.busy = matches!(fault, StoreError::Unavailable(_));
                Err(fault)
            }
            Err(_) => {
                // The server may be gone without a word, and all that were connected before with it: they
                // would make as many calls wait in vain.
                let before = self.started.into_std();
                let gone = self.pool.retain(|_, metrics| metrics.created > before);
                tracing::warn!(
                    connections = gone.removed.len() + 1,
                    "PostgreSQL does not answer: connecting anew"
                );
                Err(too_late("a statement"))
            }
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(object) = self.object.take()
            && (self.busy || self.open)
        {
            // Out of the pool, and closed.
            drop(Object::take(object));
        }
    }
}
