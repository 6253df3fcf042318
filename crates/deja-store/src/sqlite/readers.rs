//! Connections that read beside the writer, each used by one blocking task at a time.

use std::path::Path;
use std::sync::Arc;

use deja_core::store::StoreError;
use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::fault::{closed, fault};

/// The readers. In WAL mode each read sees the last commit and waits for nobody.
pub(super) struct Readers {
    idle: Arc<Mutex<Vec<Connection>>>,
    free: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn open(path: &Path, count: usize) -> Result<Self, rusqlite::Error> {
        let count = count.max(1);
        let connections = (0..count).map(|_| reader(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { idle: Arc::new(Mutex::new(connections)), free: Arc::new(Semaphore::new(count)) })
    }

    /// Runs `work` on a reader, off the async threads.
    pub(super) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let permit = Arc::clone(&self.free).acquire_owned().await.map_err(|_| closed())?;
        let idle = Arc::clone(&self.idle);
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let connection = idle.lock().pop().ok_or_else(closed)?;
            let lent = Lent { connection: Some(connection), idle };
            lent.connection
                .as_ref()
                .map_or_else(|| Err(closed()), |connection| work(connection).map_err(fault))
        });
        task.await.map_err(|error| StoreError::Internal(Box::new(error)))?
    }

    /// Closes the connections once those at work are done; later reads are refused.
    pub(super) async fn close(&self, count: usize) {
        let all = u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        if let Ok(_permits) = self.free.acquire_many(all).await {
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
    let connection = Connection::open_with_flags(path, flags)?;
    connection.execute_batch(
        "PRAGMA query_only = ON; PRAGMA busy_timeout = 5000; PRAGMA cache_size = -8192; \
         PRAGMA mmap_size = 1073741824;",
    )?;
    steady_plans(&connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Keeps prepared statements: without this, SQLite built with STAT4 plans some again for each bound value.
pub(super) fn steady_plans(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}
