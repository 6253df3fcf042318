//! Connections to PostgreSQL, at most as many as a replica may have. Every call has a deadline. One project has half of them
//! at most, so that its slow statements do not keep others waiting.
//!
//! A caller may go away at any moment, and its future with it. Its statement is on the way then, and cannot be
//! called back. So the connection stays taken until the server has answered, and then serves the next caller
//! ([`Lease`]): making it anew would cost more than the statement. It is closed if that takes too long.

mod manager;

use std::future::{Future as _, poll_fn};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{BuildError, Object, Pool, PoolError, QueueMode, Timeouts};
use deja_core::id::ProjectId;
use deja_core::shares::{Held, Shares};
use deja_core::store::StoreError;
use tokio::sync::{Mutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::fault::{ends_connection, fault, is_transient, search_timeout, too_late, unavailable};
use super::rows::get;
use super::server::Server;
use crate::PostgresSettings;
use manager::{Connection, Manager};

/// How often a statement is sent that deadlocked with another one.
const ATTEMPTS: u32 = 4;
/// How many searches by text run at once: each may read all of a project.
const SEARCHES: usize = 2;

/// Parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// For whom a call is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    /// Operators, and work that no request waits for.
    Deja,
    Project(ProjectId),
    /// Keys, cookies, links and access tokens of which nobody knows yet whether there are such. All of them have one share.
    Strangers,
}

/// The connections with their deadlines.
#[derive(Clone)]
pub(super) struct Connections {
    pool: Pool<Manager>,
    shares: Arc<Shares<Owner>>,
    owner: Owner,
    /// The only one to use: it holds a lock.
    alone: Option<Arc<Mutex<Lease>>>,
    acquire: Duration,
    call: Duration,
    bulk: Duration,
    search: Duration,
    searches: Arc<Semaphore>,
}

impl Connections {
    /// None yet: they are made when they are needed.
    pub(super) fn new(server: Server, settings: &PostgresSettings) -> Result<Self, BuildError> {
        let size = settings.pool_size.max(1);
        let pool = Pool::builder(Manager::new(server, settings))
            .max_size(size)
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .build()?;
        Ok(Self {
            pool,
            shares: Arc::new(Shares::halves(size, 1)),
            owner: Owner::Deja,
            alone: None,
            acquire: settings.acquire_timeout,
            call: settings.call_timeout,
            bulk: settings.bulk_timeout,
            search: settings.search_timeout,
            searches: Arc::new(Semaphore::new(SEARCHES)),
        })
    }

    /// The same, for requests of a project.
    pub(super) fn of(&self, project: ProjectId) -> Self {
        Self { owner: Owner::Project(project), ..self.clone() }
    }

    /// The same, for keys, cookies, links and access tokens that may be anybody's.
    pub(super) fn of_strangers(&self) -> Self {
        Self { owner: Owner::Strangers, ..self.clone() }
    }

    /// How long a call may take.
    pub(super) const fn patience(&self) -> Duration {
        self.call
    }

    /// Runs one statement as a transaction of its own.
    pub(super) async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.turn(self.call).await?.query(sql, params).await
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

    /// Runs one statement that searches by text. The server ends it, so that its connection stays good.
    pub(super) async fn search(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let ends = Instant::now() + self.search;
        let permit = timeout_at(ends, Arc::clone(&self.searches).acquire_owned()).await;
        let permit = permit.map_err(|_| StoreError::SearchTimeout)?;
        let left = ends.saturating_duration_since(Instant::now());
        let mut turn = self.turn(left + self.call).await?;
        turn.searching = permit.ok();
        // 0 would be no bound.
        let begin = format!("BEGIN; SET LOCAL statement_timeout = {}", left.as_millis().max(1));
        turn.query_with(&begin, sql, params).await.map_err(search_timeout)
    }

    /// Runs one statement that is to take its order from a graph, whatever the planner thinks of sorting. Its plan is made once:
    /// left alone, the planner makes a plan for the parameters of each search, which takes half a millisecond.
    pub(super) async fn in_graph(
        &self,
        ef_search: u32,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let settings = format!(
            "enable_sort = off; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL hnsw.ef_search = {ef_search}"
        );
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
        let mut turn = self.turn(patience).await?;
        turn.query_with(&format!("BEGIN; SET LOCAL {setting}"), sql, params).await
    }

    /// Begins a transaction of several statements. Dropped before [`Transaction::commit`], it is rolled back.
    pub(super) async fn begin(&self) -> Result<Transaction, StoreError> {
        self.begin_with(self.call, "BEGIN").await
    }

    /// The same, of statements that may take long.
    pub(super) async fn begin_bulk(&self) -> Result<Transaction, StoreError> {
        let begin = format!("BEGIN; SET LOCAL statement_timeout = {}", self.bulk.as_millis());
        self.begin_with(self.bulk, &begin).await
    }

    async fn begin_with(&self, patience: Duration, begin: &str) -> Result<Transaction, StoreError> {
        let mut turn = self.turn(patience).await?;
        turn.open = true;
        turn.simple(begin).await?;
        Ok(Transaction(turn))
    }

    /// One connection that holds this advisory lock, for all statements until the last copy is dropped. The lock ends
    /// with the connection, and so do they.
    pub(super) async fn alone(&self, lock: i64) -> Result<Self, StoreError> {
        let mut lease = self.lease(self.call).await?;
        lease.locked = true;
        lease.query("SELECT pg_advisory_lock($1)", &[&lock]).await?;
        Ok(Self { alone: Some(Arc::new(Mutex::new(lease))), ..self.clone() })
    }

    /// The same, unless somebody has that lock: `None` then.
    pub(super) async fn alone_if_free(&self, lock: i64) -> Result<Option<Self>, StoreError> {
        let mut lease = self.lease(self.call).await?;
        lease.locked = true;
        let rows = lease.query("SELECT pg_try_advisory_lock($1)", &[&lock]).await?;
        let is_ours = rows.first().map_or(Ok(false), |row| get(row, 0))?;
        Ok(is_ours.then(|| Self { alone: Some(Arc::new(Mutex::new(lease))), ..self.clone() }))
    }

    /// Closes the connections: what is asked later is refused.
    pub(super) fn close(&self) {
        self.pool.close();
    }

    /// A connection for a call.
    async fn turn(&self, patience: Duration) -> Result<Turn, StoreError> {
        let Some(alone) = &self.alone else { return self.lease(patience).await.map(Turn::Own) };
        let deadline = Instant::now() + patience;
        let lease = timeout_at(deadline, Arc::clone(alone).lock_owned()).await;
        let mut lease = lease.map_err(|_| too_late("another statement under the same lock"))?;
        lease.deadline = deadline;
        lease.settle().await?;
        Ok(Turn::Alone(lease))
    }

    async fn lease(&self, patience: Duration) -> Result<Lease, StoreError> {
        let deadline = Instant::now() + patience;
        let wait = self.acquire.min(patience);
        let mut place = match self.owner {
            Owner::Deja => self.shares.whole(),
            owner => self.shares.of(owner),
        };
        timeout(wait, place.take(1)).await.map_err(|_| unavailable("all connections are in use"))?;
        let timeouts = Timeouts { wait: Some(wait), ..Timeouts::default() };
        let pool = self.pool.clone();
        let mut getting = Box::pin(async move { (pool.timeout_get(&timeouts).await, place) });
        let (got, place) = match poll_fn(|context| Poll::Ready(getting.as_mut().poll(context))).await {
            Poll::Ready(got) => got,
            Poll::Pending => {
                // It is made in any case: if this caller goes away, the next one will want it.
                #[expect(clippy::disallowed_methods, reason = "it ends within the deadlines of connecting")]
                let getting = tokio::spawn(getting);
                let got = timeout_at(deadline, getting).await.map_err(|_| too_late("connecting"))?;
                got.map_err(|error| unavailable(error.to_string()))?
            }
        };
        let connection = got.map_err(|error| match error {
            PoolError::Timeout(_) => unavailable("all connections are in use"),
            PoolError::Closed => unavailable("the store is closed"),
            PoolError::Backend(reason) => unavailable(reason),
            other => unavailable(other.to_string()),
        })?;
        Ok(Lease {
            pool: self.pool.clone(),
            connection: Some(connection),
            place: Some(place),
            patience,
            deadline,
            busy: false,
            open: false,
            locked: false,
            searching: None,
        })
    }
}

/// A connection for the time of one call.
struct Lease {
    pool: Pool<Manager>,
    /// None after a failure that closed it.
    connection: Option<Object<Manager>>,
    /// Its place in the share of whose call it is, until the server has answered.
    place: Option<Held>,
    patience: Duration,
    deadline: Instant,
    /// Something was asked that is not answered yet.
    busy: bool,
    /// A transaction is open.
    open: bool,
    /// It may hold an advisory lock.
    locked: bool,
    /// Held while it searches by text, whether or not its caller is still there.
    searching: Option<OwnedSemaphorePermit>,
}

/// A connection for a call: one of many, or the one that holds a lock.
#[expect(clippy::large_enum_variant, reason = "it lives for a call, and a box would cost each of them")]
enum Turn {
    Own(Lease),
    Alone(OwnedMutexGuard<Lease>),
}

impl Deref for Turn {
    type Target = Lease;

    fn deref(&self) -> &Lease {
        match self {
            Self::Own(lease) => lease,
            Self::Alone(lease) => lease,
        }
    }
}

impl DerefMut for Turn {
    fn deref_mut(&mut self) -> &mut Lease {
        match self {
            Self::Own(lease) => lease,
            Self::Alone(lease) => lease,
        }
    }
}

/// Several statements, all of them or none.
pub(super) struct Transaction(Turn);

impl Transaction {
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

impl Lease {
    async fn end(&mut self, how: &str) -> Result<(), StoreError> {
        self.simple(how).await?;
        self.open = false;
        Ok(())
    }

    /// Waits for what a caller left in the middle, and undoes it.
    async fn settle(&mut self) -> Result<(), StoreError> {
        if self.busy || self.open {
            let (deadline, undo) = (self.deadline, if self.open { "ROLLBACK" } else { "" });
            let settled = timeout_at(deadline, self.ask()?.settle(undo)).await;
            self.answered(settled)?;
            self.open = false;
        }
        Ok(())
    }

    async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let deadline = self.deadline;
        for attempt in 1.. {
            let connection = self.ask()?;
            let answer = async {
                let statement = connection.prepare(sql).await?;
                connection.client.query(&statement, params).await
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
        for attempt in 1.. {
            let connection = self.ask()?;
            let answer = async {
                let statement = connection.prepare(sql).await?;
                let client = &connection.client;
                // They are sent in this order and in one step, so that no caller can go away between them. The server
                // goes through them in it, and makes a rollback of the commit if one before it failed.
                let (begun, rows, ended) = tokio::join!(
                    biased;
                    client.batch_execute(begin),
                    client.query(&statement, params),
                    client.batch_execute("COMMIT"),
                );
                begun?;
                let rows = rows?;
                ended.map(|()| rows)
            };
            let answer = timeout_at(deadline, answer).await;
            match answer {
                // Rolled back as a whole, in favour of another transaction.
                Ok(Err(error)) if attempt < ATTEMPTS && is_transient(&error) => {}
                answer => return self.answered(answer),
            }
        }
        Err(too_late("a transaction"))
    }

    async fn simple(&mut self, sql: &str) -> Result<(), StoreError> {
        let deadline = self.deadline;
        let answer = timeout_at(deadline, self.ask()?.client.batch_execute(sql)).await;
        self.answered(answer)
    }

    /// The connection, from now on in the middle of something.
    fn ask(&mut self) -> Result<&mut Connection, StoreError> {
        self.busy = true;
        self.connection.as_deref_mut().ok_or_else(|| unavailable("the connection was closed"))
    }

    fn answered<T>(
        &mut self,
        answer: Result<Result<T, Error>, tokio::time::error::Elapsed>,
    ) -> Result<T, StoreError> {
        self.searching = None;
        match answer {
            Ok(Ok(value)) => {
                self.busy = false;
                Ok(value)
            }
            Ok(Err(error)) => {
                self.busy = false;
                if ends_connection(&error) {
                    close(self.connection.take());
                }
                Err(fault(&error))
            }
            Err(_) => {
                close(self.connection.take());
                self.pool.manager().doubt();
                Err(too_late("a statement"))
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let undo = match (self.open, self.locked) {
            (false, false) => "",
            (true, false) => "ROLLBACK",
            (false, true) => "SELECT pg_advisory_unlock_all()",
            (true, true) => "ROLLBACK; SELECT pg_advisory_unlock_all()",
        };
        if !self.busy && undo.is_empty() {
            connection.answered();
        } else if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // What holds a lock may be older than its last deadline.
            let deadline = if self.locked { Instant::now() + self.patience } else { self.deadline };
            let (pool, until_it_ended) = (self.pool.clone(), (self.place.take(), self.searching.take()));
            runtime.spawn(async move {
                let _until_it_ended = until_it_ended;
                match timeout_at(deadline, connection.settle(undo)).await {
                    Ok(Ok(())) => return connection.answered(),
                    Ok(Err(_)) => {}
                    Err(_) => pool.manager().doubt(),
                }
                close(Some(connection));
            });
        } else {
            close(Some(connection));
        }
    }
}

/// Ends a connection, and lets the pool make another in its place.
fn close(connection: Option<Object<Manager>>) {
    drop(connection.map(Object::take));
}
