//! The one thread that writes, with group commit: all jobs that wait share one transaction and one fsync.
//!
//! Each job runs in a savepoint of its own, so that a failing one leaves no trace and fails no other. What is
//! kept in memory changes after the commit and before the acknowledgement: who was told that a key is revoked
//! will not see it admitted. A job belongs to the writer from the moment it is queued; a caller that goes away
//! changes nothing.
//!
//! On a full disk what can be done without is refused, so that the rest still finds room ([`Reserve`]).

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use deja_core::store::StoreError;
use rusqlite::{Connection, Params, Row};
use tokio::sync::{mpsc, oneshot};

use super::fault::{DiskFull, Failed, closed, is_full, not_committed};
use super::load::Load;
use super::lock::DirectoryLock;
use super::reserve::Reserve;

/// Jobs that may wait before callers do.
const QUEUE: usize = 1024;
/// Jobs in one transaction at most: bounds how long the first one waits for the last.
const BATCH: usize = 256;
/// How long a transaction waits for more jobs while several callers write at the same time. Neighbours share
/// most of the pages they write, so fewer and larger transactions cost less; a caller alone never waits.
const GATHER: Duration = Duration::from_millis(4);

/// Rows that one job deletes where there may be many: other writes wait for so many only.
pub(super) const PART: NonZeroUsize = NonZeroUsize::new(1000).unwrap();

/// What is done to memory once the transaction is on disk.
pub(super) type Effect = Box<dyn FnOnce() + Send>;

/// What a job gives back: the answer to its caller, and the change to memory that goes with it.
pub(super) struct Done<T> {
    pub(super) value: T,
    pub(super) effect: Option<Effect>,
}

impl<T> Done<T> {
    /// Nothing changes in memory.
    pub(super) fn quiet(value: T) -> Self {
        Self { value, effect: None }
    }

    /// `effect` runs after the commit.
    pub(super) fn then(value: T, effect: impl FnOnce() + Send + 'static) -> Self {
        Self { value, effect: Some(Box::new(effect)) }
    }
}

/// A queued job, whatever it answers with.
trait Job: Send {
    /// Runs inside the savepoint. `false`: roll the savepoint back.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Whether it waits until there is room on the disk, or fails.
    fn needs_room(&self) -> bool;
    /// Whether it found the disk full when it ran.
    fn found_full(&self) -> bool;
    /// The outcome of the transaction is known: change memory and tell the caller.
    fn finish(self: Box<Self>, committed: Result<(), &str>);
}

struct Task<T, F> {
    needs_room: bool,
    work: Option<F>,
    result: Option<Result<Done<T>, Failed>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<Done<T>, Failed> + Send,
{
    fn run(&mut self, connection: &Connection) -> bool {
        let Some(work) = self.work.take() else { return false };
        let result = catch_unwind(AssertUnwindSafe(|| work(connection)))
            .unwrap_or_else(|_| Err(StoreError::Internal("a write panicked".into()).into()));
        let keep = result.is_ok();
        self.result = Some(result);
        keep
    }

    fn needs_room(&self) -> bool {
        self.needs_room
    }

    fn found_full(&self) -> bool {
        self.result.as_ref().is_some_and(|result| result.as_ref().is_err_and(|Failed(error)| is_full(error)))
    }

    fn finish(self: Box<Self>, committed: Result<(), &str>) {
        let answer = match (self.result, committed) {
            (Some(Err(Failed(error))), _) => Err(error),
            (Some(Ok(done)), Ok(())) => {
                // Committed, and yet an error: what is in memory may be as it was before.
                let changed = done.effect.map_or(Ok(()), |effect| catch_unwind(AssertUnwindSafe(effect)));
                changed.map(|()| done.value).map_err(|_| {
                    tracing::error!("the change to memory that goes with a write panicked");
                    StoreError::Internal("a write is on disk, but memory did not follow: restart deja".into())
                })
            }
            (_, Err(reason)) => Err(not_committed(reason)),
            (None, Ok(())) => Err(not_committed("it did not run")),
        };
        // A caller that went away does not matter: the job is done.
        let _ = self.reply.send(answer);
    }
}

enum Message {
    Job(Box<dyn Job>),
    Close(oneshot::Sender<()>),
}

/// What comes of something that is queued.
pub(super) struct Answer<T>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> Answer<T> {
    /// Waits until it is durable.
    pub(super) async fn wait(self) -> Result<T, StoreError> {
        self.0.await.map_err(|_| closed())?
    }
}

/// The way to the writer thread. The thread ends, and the directory is unlocked, when the last copy is dropped.
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
}

impl Writer {
    /// Starts the thread. It owns the connection, the room on the disk and the lock on the directory.
    pub(super) fn start(
        connection: Connection,
        reserve: Reserve,
        lock: DirectoryLock,
        load: Arc<Load>,
    ) -> std::io::Result<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        thread::Builder::new()
            .name("deja-writer".into())
            .spawn(move || run(connection, reserve, jobs, lock, &load))?;
        Ok(Self { queue })
    }

    /// Queues `work` and waits until it is durable.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<Done<T>, Failed> + Send + 'static,
    {
        self.queue(work, false).await?.wait().await
    }

    /// Like [`Self::write`], but refused on a full disk: for what can be done without, as requests and jobs write it all the time.
    pub(super) async fn write_if_room<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<Done<T>, Failed> + Send + 'static,
    {
        self.begin_if_room(work).await?.wait().await
    }

    /// Like [`Self::write_if_room`], but does not wait: what one caller queues is done in that order, and shares transactions.
    pub(super) async fn begin_if_room<T, F>(&self, work: F) -> Result<Answer<T>, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<Done<T>, Failed> + Send + 'static,
    {
        self.queue(work, true).await
    }

    /// One statement; how many rows it changed.
    pub(super) async fn execute(
        &self,
        sql: &'static str,
        params: impl Params + Send + 'static,
    ) -> Result<usize, StoreError> {
        self.write(move |connection| Ok(Done::quiet(connection.prepare_cached(sql)?.execute(params)?))).await
    }

    /// Has `part` done in job after job until one finds nothing to do. It says how much it did: [`PART`] at most.
    pub(super) async fn in_parts<F>(&self, part: F) -> Result<(), StoreError>
    where
        F: Fn(&Connection) -> rusqlite::Result<u64> + Clone + Send + 'static,
    {
        loop {
            let part = part.clone();
            if self.write(move |connection| Ok(Done::quiet(part(connection)?))).await? == 0 {
                return Ok(());
            }
        }
    }

    /// Has a statement done for each of these rows, [`PART`] in a job; how many rows it changed.
    pub(super) async fn each<P>(&self, sql: &'static str, mut rows: Vec<P>) -> Result<u64, StoreError>
    where
        P: Params + Send + 'static,
    {
        let mut changed = 0;
        while !rows.is_empty() {
            let part = rows.split_off(rows.len().saturating_sub(PART.get()));
            changed += self.write(move |connection| Ok(Done::quiet(each(connection, sql, part)?))).await?;
        }
        Ok(changed)
    }

    async fn queue<T, F>(&self, work: F, needs_room: bool) -> Result<Answer<T>, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<Done<T>, Failed> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Task { needs_room, work: Some(work), result: None, reply });
        self.queue.send(Message::Job(job)).await.map_err(|_| closed())?;
        Ok(Answer(answer))
    }

    /// Ends the thread after all that is queued. Does nothing the second time.
    pub(super) async fn close(&self) {
        let (reply, done) = oneshot::channel();
        if self.queue.send(Message::Close(reply)).await.is_ok() {
            let _ = done.await;
        }
    }
}

/// Does a statement for each of these rows, and says how many it changed.
pub(super) fn each<P: Params>(connection: &Connection, sql: &str, rows: Vec<P>) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut changed = 0;
    for row in rows {
        changed += statement.execute(row)? as u64;
    }
    Ok(changed)
}

/// The numbers that a query gives, for [`Writer::each`].
pub(super) fn numbers<const N: usize>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> rusqlite::Result<Vec<[i64; N]>> {
    let row = |row: &Row<'_>| {
        let mut numbers = [0; N];
        for (column, number) in numbers.iter_mut().enumerate() {
            *number = row.get(column)?;
        }
        Ok(numbers)
    };
    connection.prepare_cached(sql)?.query_map(values, row)?.collect()
}

fn run(
    connection: Connection,
    mut reserve: Reserve,
    mut queue: mpsc::Receiver<Message>,
    lock: DirectoryLock,
    load: &Load,
) {
    let mut closing = None;
    let mut crowded = false;
    let mut batch: Vec<Box<dyn Job>> = Vec::with_capacity(BATCH);
    while closing.is_none() {
        let Some(first) = queue.blocking_recv() else { break };
        if crowded {
            thread::sleep(GATHER);
        }
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Job(job) => batch.push(job),
                Message::Close(reply) => {
                    // What was queued before is in the batch; what comes after is refused.
                    queue.close();
                    closing = Some(reply);
                    break;
                }
            }
            next = if batch.len() < BATCH { queue.try_recv().ok() } else { None };
        }
        crowded = batch.len() > 1;
        commit(&connection, &mut reserve, &mut batch, load);
    }
    close_database(connection);
    drop(lock);
    // Dropping the queue refuses what came too late.
    drop(queue);
    if let Some(reply) = closing {
        let _ = reply.send(());
    }
}

/// Runs the jobs in one transaction and tells their callers.
fn commit(connection: &Connection, reserve: &mut Reserve, batch: &mut Vec<Box<dyn Job>>, load: &Load) {
    if !reserve.has_room(connection) {
        let refused = DiskFull.to_string();
        batch.extract_if(.., |job| job.needs_room()).for_each(|job| job.finish(Err(&refused)));
    }
    if batch.is_empty() {
        return;
    }
    if reserve.is_given_back() {
        shrink_log(connection);
    }
    // Kept until memory has followed the transaction.
    let _apart = load.apart_from_pieces();
    let outcome = transact(connection, batch).map_err(|Failed(error)| error);
    if let Err(error) = &outcome {
        tracing::error!(%error, "a transaction failed");
        if !connection.is_autocommit() {
            // The transaction did not end by itself; a new one must be able to begin.
            if let Err(error) = connection.execute_batch("ROLLBACK") {
                tracing::error!(%error, "cannot roll back");
            }
        }
    }
    if outcome.as_ref().is_err_and(is_full) || batch.iter().any(|job| job.found_full()) {
        reserve.give_back();
    }
    let outcome = outcome.map_err(|error| match error {
        StoreError::Unavailable(reason) => reason.to_string(),
        error => error.to_string(),
    });
    for job in batch.drain(..) {
        job.finish(outcome.as_ref().copied().map_err(String::as_str));
    }
}

fn transact(connection: &Connection, batch: &mut [Box<dyn Job>]) -> Result<(), Failed> {
    let step = |sql| connection.prepare_cached(sql)?.execute([]);
    step("BEGIN IMMEDIATE")?;
    for job in batch {
        step("SAVEPOINT job")?;
        if !job.run(connection) {
            // A full disk may have ended the whole transaction: then nothing of the batch is kept.
            if connection.is_autocommit() && job.found_full() {
                return Err(StoreError::from(DiskFull).into());
            } else if connection.is_autocommit() {
                return Err(not_committed("the transaction was rolled back").into());
            }
            step("ROLLBACK TO job")?;
        }
        step("RELEASE job")?;
    }
    step("COMMIT")?;
    Ok(())
}

/// Moves the log's pages into the database, so that the log begins anew in the room that it has.
fn shrink_log(connection: &Connection) {
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        tracing::debug!(%error, "the write-ahead log grows");
    }
}

fn close_database(connection: Connection) {
    // Without `PRAGMA optimize`: see migrations/sqlite/0021_no_statistics.sql.
    if let Err(error) = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)") {
        tracing::warn!(%error, "the write-ahead log stays; it is read at the next start");
    }
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the database did not close in order");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() {
        panic!("a broken change to memory");
    }

    #[tokio::test]
    async fn on_a_full_disk_only_what_is_necessary_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE numbers (number INTEGER)").unwrap();
        let mut reserve = Reserve::take(directory.path()).unwrap();
        let length = || std::fs::metadata(directory.path().join("deja.reserve")).unwrap().len();
        assert!(length() > 16 << 20, "as much as the log may take");
        reserve.give_back();
        assert_eq!(length(), 0);
        let lock = DirectoryLock::acquire(directory.path()).unwrap();
        let writer = Writer::start(connection, reserve, lock, Arc::default()).unwrap();
        let insert = |connection: &Connection| {
            connection.execute("INSERT INTO numbers VALUES (1)", [])?;
            Ok(Done::quiet(()))
        };
        let error = writer.write_if_room(insert).await.unwrap_err();
        assert!(error.to_string().contains("full: make room"), "{error}");
        writer.write(insert).await.unwrap();
        // This disk has room, and that is seen before long.
        while writer.write_if_room(insert).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(length() > 16 << 20);
    }

    #[tokio::test]
    async fn a_transaction_that_cannot_be_committed_leaves_none_open() {
        let directory = tempfile::tempdir().unwrap();
        let connection = Connection::open_in_memory().unwrap();
        // What refers to nothing is found out at the end of the transaction.
        let table = "CREATE TABLE numbers (number INTEGER PRIMARY KEY,
                                           next INTEGER REFERENCES numbers DEFERRABLE INITIALLY DEFERRED)";
        connection.execute_batch(&format!("PRAGMA foreign_keys = ON; {table}")).unwrap();
        let lock = DirectoryLock::acquire(directory.path()).unwrap();
        let reserve = Reserve::take(directory.path()).unwrap();
        let writer = Writer::start(connection, reserve, lock, Arc::default()).unwrap();
        let insert = |next: Option<i64>| {
            writer.write(move |connection| {
                let inserted = connection.execute("INSERT INTO numbers (next) VALUES (?1)", [next]);
                Ok(Done::quiet(inserted.map(drop)?))
            })
        };
        insert(Some(9)).await.unwrap_err();
        insert(None).await.unwrap();
    }

    #[tokio::test]
    async fn a_panic_after_a_commit_is_an_error_of_that_write_only() {
        let directory = tempfile::tempdir().unwrap();
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE numbers (number INTEGER)").unwrap();
        let lock = DirectoryLock::acquire(directory.path()).unwrap();
        let reserve = Reserve::take(directory.path()).unwrap();
        let writer = Writer::start(connection, reserve, lock, Arc::default()).unwrap();
        let insert = |connection: &Connection| connection.execute("INSERT INTO numbers VALUES (1)", []);
        let broken = writer.write(move |connection| Ok(Done::then(insert(connection)?, broken)));
        let well = writer.write(move |connection| Ok(Done::quiet(insert(connection)?)));
        let (broken, well) = tokio::join!(broken, well);
        assert!(matches!(broken, Err(StoreError::Internal(_))), "{broken:?}");
        well.unwrap();
        let count = "SELECT count(*) FROM numbers";
        let count = writer.write(move |connection| {
            Ok(Done::quiet(connection.query_row(count, [], |row| row.get::<_, i64>(0))?))
        });
        assert_eq!(count.await.unwrap(), 2);
    }

    #[tokio::test]
    async fn other_jobs_come_between_the_parts_of_many_rows() {
        let directory = tempfile::tempdir().unwrap();
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE numbers (number INTEGER PRIMARY KEY)").unwrap();
        let lock = DirectoryLock::acquire(directory.path()).unwrap();
        let reserve = Reserve::take(directory.path()).unwrap();
        let writer = Writer::start(connection, reserve, lock, Arc::default()).unwrap();
        let rows = |from: usize| (from..=from + 2 * PART.get()).map(|number| [number as i64]).collect();
        let count = async || -> i64 {
            let sql = "SELECT count(*) FROM numbers";
            writer
                .write(move |connection| Ok(Done::quiet(connection.query_row(sql, [], |row| row.get(0))?)))
                .await
                .unwrap()
        };
        let insert = writer.each("INSERT INTO numbers VALUES (?1)", rows(0));
        let look = async {
            let mut seen = Vec::new();
            while seen.last() != Some(&2001) {
                seen.push(count().await);
            }
            seen
        };
        let (inserted, seen) = tokio::join!(insert, look);
        assert_eq!(inserted.unwrap(), 2001);
        assert!(seen.contains(&1000), "{seen:?}");
        let gone = writer.each("DELETE FROM numbers WHERE number = ?1", rows(100)).await;
        assert_eq!((gone.unwrap(), count().await), (1901, 100), "those that were there");
    }
}
