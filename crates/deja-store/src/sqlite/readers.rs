//! Connections that read beside the writer, each used by one blocking task at a time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deja_core::store::{StoreError, folded};
use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Params, Row};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::fault::{closed, fault};
use super::open;

/// Steps of SQLite's machine between two looks at whether a read is to end: those of some ten entries.
pub(super) const STEPS: i32 = 100;

/// The readers. In WAL mode each read sees the last commit and waits for nobody.
pub(super) struct Readers {
    /// Longest time of a read, its wait for a connection included.
    patience: Option<Duration>,
    /// Reads at work end, too: on a slow disk they may take minutes.
    stopped: Arc<AtomicBool>,
    idle: Arc<Mutex<Vec<Connection>>>,
    free: Arc<Semaphore>,
    count: u32,
}

impl Readers {
    pub(super) fn open(
        path: &Path,
        count: usize,
        patience: Option<Duration>,
    ) -> Result<Self, rusqlite::Error> {
        let count = count.max(1);
        let connections = (0..count).map(|_| reader(path)).collect::<Result<Vec<_>, _>>()?;
        let (idle, free) = (Arc::new(Mutex::new(connections)), Arc::new(Semaphore::new(count)));
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Self { patience, stopped: Arc::default(), idle, free, count })
    }

    /// Runs `work` on a reader, off the async threads. [`StoreError::SearchTimeout`] if it does not end in time.
    pub(super) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.read_until(self.patience.map(|patience| Instant::now() + patience), work).await
    }

    /// The same, however long it takes, for what must not end half done.
    pub(super) async fn read_to_the_end<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.read_until(None, work).await
    }

    async fn read_until<T, F>(&self, ends: Option<Instant>, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let free = Arc::clone(&self.free).acquire_owned();
        let permit = match ends {
            None => free.await,
            Some(ends) => timeout_at(ends, free).await.map_err(|_| StoreError::SearchTimeout)?,
        };
        let permit = permit.map_err(|_| closed())?;
        let (idle, stopped) = (Arc::clone(&self.idle), Arc::clone(&self.stopped));
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let connection = idle.lock().pop().ok_or_else(closed)?;
            let mut lent = Lent { connection: Some(connection), idle };
            let connection = lent.connection.as_mut().ok_or_else(closed)?;
            let is_closed = Arc::clone(&stopped);
            let is_over =
                move || stopped.load(Ordering::Relaxed) || ends.is_some_and(|ends| Instant::now() >= ends);
            connection.progress_handler(STEPS, Some(is_over)).map_err(fault)?;
            work(connection).map_err(|error| match error.sqlite_error_code() {
                Some(ErrorCode::OperationInterrupted) if is_closed.load(Ordering::Relaxed) => closed(),
                _ => fault(error),
            })
        });
        task.await.map_err(|error| StoreError::Internal(Box::new(error)))?
    }

    /// All that a query finds, each row as `read` reads it.
    pub(super) async fn all<T, C: FromIterator<T> + Send + 'static>(
        &self,
        sql: impl AsRef<str> + Send + 'static,
        params: impl Params + Send + 'static,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<C, StoreError> {
        self.read(move |connection| {
            connection.prepare_cached(sql.as_ref())?.query_map(params, read)?.collect()
        })
        .await
    }

    /// The one row that a query finds, if there is one.
    pub(super) async fn one<T: Send + 'static>(
        &self,
        sql: impl AsRef<str> + Send + 'static,
        params: impl Params + Send + 'static,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        self.read(move |connection| {
            connection.prepare_cached(sql.as_ref())?.query_row(params, read).optional()
        })
        .await
    }

    /// Ends the reads at work and closes the connections; later reads are refused.
    pub(super) async fn close(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Ok(_permits) = self.free.acquire_many(self.count).await {
            self.free.close();
            self.idle.lock().clear();
        }
    }
}

/// Gives the connection back, even if the work panicked.
struct Lent {
    connection: Option<Connection>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.idle.lock().push(connection);
        }
    }
}

/// A connection that cannot write.
pub(super) fn reader(path: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(open::name(path), flags)?;
    // Without mmap: pages that were read would stay mapped, and counted as this process's memory. With 300,000 scopes of
    // one entry a scope took 2,196 bytes with it and takes 1,283 without (`deja-bench scopes --scopes 300000`).
    connection
        .execute_batch("PRAGMA query_only = ON; PRAGMA busy_timeout = 5000; PRAGMA cache_size = -8192;")?;
    steady_plans(&connection)?;
    super::usage::add_functions(&connection)?;
    add_functions(&connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Teaches the connection what texts are in a search: `folded(text)`.
pub(super) fn add_functions(connection: &Connection) -> Result<(), rusqlite::Error> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("folded", 1, flags, |context| {
        let text = context.get_raw(0).as_str_or_null()?;
        Ok(text.map(folded))
    })
}

/// Keeps prepared statements: without this, SQLite built with STAT4 plans some again for each bound value.
pub(super) fn steady_plans(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}
