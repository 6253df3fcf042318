//! The embedded store of deja: one directory with a SQLite database, and an index of vectors in memory.
//!
//! [`open`] is the only way in; everything else is behind `deja_core::store::Store`. Why SQLite and how it is
//! used: `docs/adr/0002-sqlite.md`. Why this index and what it promises: `docs/adr/0004-vector-index.md`.
#![warn(missing_docs)]

mod sqlite;

use std::path::PathBuf;
use std::sync::Arc;

use deja_core::store::Store;

/// Where the store is and what it may use.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// The directory of the database; made if it is not there, with access for its owner only.
    pub data_dir: PathBuf,
    /// Bytes of answers and prompts kept in memory, so that a hit reads no file.
    pub answer_cache_bytes: u64,
    /// Connections that read beside the one that writes.
    pub readers: usize,
    /// The size that the database may reach; `None` is the size of the disk. Beyond it writes fail as on a
    /// full disk and reads go on.
    pub max_database_bytes: Option<u64>,
}

impl StoreSettings {
    /// The store in `data_dir` with 64 MiB of answers in memory, four readers and no bound on its size.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            answer_cache_bytes: 64 * 1024 * 1024,
            readers: 4,
            max_database_bytes: None,
        }
    }
}

/// Why a store did not open: one line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory or a file in it cannot be made, read or written.
    #[error(
        "cannot use the data directory {}: {source}; make it writable for this user or choose another one \
         (DEJA_DATA_DIR)",
        path.display()
    )]
    DataDir {
        /// What could not be used.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Another process has the directory open.
    #[error(
        "the data directory {} is in use by another deja process; stop that one or choose another directory \
         (DEJA_DATA_DIR)",
        path.display()
    )]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The database is not one, or is damaged.
    #[error(
        "the database {} is damaged ({reason}); restore it from a backup, or move it away to start with an \
         empty one",
        path.display()
    )]
    Corrupt {
        /// The database file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A newer deja wrote the database.
    #[error(
        "the database {} has schema version {found}, and this deja knows versions up to {known}; run a newer \
         deja",
        path.display()
    )]
    NewerSchema {
        /// The database file.
        path: PathBuf,
        /// The version found.
        found: u32,
        /// The newest version this program knows.
        known: u32,
    },
    /// The SQLite library has a known way to damage a database in WAL mode.
    #[error(
        "this deja is linked with SQLite {found}, which is too old; build it with SQLite 3.51.3 or newer"
    )]
    SqliteTooOld {
        /// The library's version.
        found: &'static str,
    },
    /// Anything else.
    #[error("cannot open the database {}: {source}; check the disk and the file's permissions", path.display())]
    Failed {
        /// The database file.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Opens the store, and rebuilds the index from it: about half a second for 100,000 entries.
pub async fn open(settings: &StoreSettings) -> Result<Arc<dyn Store>, OpenError> {
    let settings = settings.clone();
    let path = settings.data_dir.clone();
    match tokio::task::spawn_blocking(move || sqlite::SqliteStore::open(&settings)).await {
        Ok(opened) => opened.map(|store| Arc::new(store) as Arc<dyn Store>),
        Err(error) => Err(OpenError::Failed { path, source: Box::new(error) }),
    }
}
