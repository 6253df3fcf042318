//! The two stores of deja: embedded, one directory with a SQLite database and an index of vectors in memory;
//! or a PostgreSQL with pgvector that several processes share.
//!
//! [`open`] is the only way in; everything else is behind `deja_core::store::Store`. Why SQLite and how it is
//! used: `docs/adr/0002-sqlite.md`. Why this index and what it promises: `docs/adr/0004-vector-index.md`.
//! PostgreSQL: `docs/adr/0020-postgresql.md`.
#![warn(missing_docs)]

mod lists;
mod numbers;
mod postgres;
mod sqlite;
mod sums;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deja_core::embedding::EmbedderId;
use deja_core::store::{Store, StoreError};
use secrecy::SecretString;

const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);

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
    /// Longest time of a search by text and of sorting what passes a filter, the wait for the one connection that does
    /// them included.
    pub search_timeout: Duration,
    /// The embedder whose vectors are searched. Vectors of other embedders stay in the database. Without an embedder
    /// the store finds nothing by meaning, and loads no index.
    pub embedder: Option<EmbedderId>,
    /// How long opening waits for the index. The rest of the index is loaded later. Until then only the same prompt
    /// finds its entries: [`deja_core::store::Store::index_build`].
    pub index_patience: Duration,
    /// Entries of a scope beyond which their vectors are kept in memory as int8, half as large as they are stored; those
    /// that decide are then read from the database. Both find the same.
    pub int8_from: usize,
    /// Whether an older schema is brought up to date. Otherwise opening refuses it. An empty database is begun in any case.
    pub migrates: bool,
    /// PostgreSQL instead: then of the above only `migrates` is used.
    pub postgres: Option<PostgresSettings>,
}

/// Where PostgreSQL is and how long it may take.
#[derive(Clone, Debug)]
pub struct PostgresSettings {
    /// `postgres://user:password@host:port/database`, with the parameters of libpq, `sslmode` among them.
    pub url: SecretString,
    /// Connections at most.
    pub pool_size: usize,
    /// Longest time for a new connection.
    pub connect_timeout: Duration,
    /// Longest wait while all connections are in use.
    pub acquire_timeout: Duration,
    /// Longest time of a call, the waits above included.
    pub call_timeout: Duration,
    /// The longest time of a call that may touch all entries of a project.
    pub bulk_timeout: Duration,
    /// The longest time of a search by text, with its wait for other searches. Two run at a time.
    pub search_timeout: Duration,
    /// Entries of a scope beyond which neighbours are looked for in a graph index instead of by a scan, in a
    /// table of up to 250,000; beyond that the bound grows with the root of the table. Both find the same.
    pub graph_from: u64,
}

impl PostgresSettings {
    /// The database at `url` with 16 connections, 2 seconds for a call, 60 for one that touches much and 10 for a
    /// search by text.
    pub fn new(url: impl Into<SecretString>) -> Self {
        Self {
            url: url.into(),
            pool_size: 16,
            connect_timeout: Duration::from_secs(1),
            acquire_timeout: Duration::from_secs(1),
            call_timeout: Duration::from_secs(2),
            bulk_timeout: Duration::from_mins(1),
            search_timeout: SEARCH_TIMEOUT,
            graph_from: 5_000,
        }
    }

    /// Whether the URL can be read, certificates that it names included. Nothing is connected to.
    pub fn check(&self) -> Result<(), OpenError> {
        postgres::open::check(self)
    }
}

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The embedded one.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// The version of a database's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaVersion {
    /// Which kind of database it is.
    pub backend: Backend,
    /// The version of the schema in the database; 0 if the database is empty.
    pub found: u32,
    /// The newest that this program knows.
    pub known: u32,
    /// Whether the database serves this program: a much newer one, and any newer embedded one, does not.
    pub is_served: bool,
}

impl StoreSettings {
    /// The store in `data_dir` with 64 MiB of answers in memory, four readers, 10 seconds for a search by text, no bound on
    /// its size and no embedder; 9 seconds for the index at the start; 65,536 entries of a scope have their vectors in memory as they are stored.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            answer_cache_bytes: 64 * 1024 * 1024,
            readers: 4,
            max_database_bytes: None,
            search_timeout: SEARCH_TIMEOUT,
            embedder: None,
            index_patience: Duration::from_secs(9),
            int8_from: 65_536,
            migrates: true,
            postgres: None,
        }
    }

    /// Hosts, ports and database of PostgreSQL, without user and password; `None` is the embedded database.
    pub fn database(&self) -> Result<Option<String>, OpenError> {
        self.postgres.as_ref().map(postgres::open::name).transpose()
    }
}

/// Why a store did not open: one line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory or a file in it cannot be made, read or written.
    #[error(
        "cannot use the data directory {}: {reason}; make it writable for this user or choose another one",
        path.display()
    )]
    DataDir {
        /// What could not be used.
        path: PathBuf,
        /// Why.
        reason: std::io::Error,
    },
    /// Another process has the directory open.
    #[error(
        "the data directory {} is in use by another deja process; stop that one or choose another directory",
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
    /// The database file is another program's.
    #[error(
        "the database {} is not one of deja: another program made it; choose another data directory, or move the file away",
        path.display()
    )]
    Foreign {
        /// The database file.
        path: PathBuf,
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
    /// An older deja wrote the database, and it was not to be changed.
    #[error(
        "the database {database} has the older schema version {found}, and this deja needs {known}: run deja db migrate to bring \
         it up to date, or use the deja of the version that serves"
    )]
    OlderSchema {
        /// The file, or host, port and database.
        database: String,
        /// The version found.
        found: u32,
        /// The version that this program needs.
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
    /// The URL of PostgreSQL is none.
    #[error("the database URL is not valid: {reason}; write postgres://USER:PASSWORD@HOST:PORT/DATABASE")]
    DatabaseUrl {
        /// What is wrong with it, without quoting it.
        reason: String,
    },
    /// PostgreSQL cannot be reached, or ends a statement.
    #[error("cannot use PostgreSQL at {server}: {reason}; check that it runs, and the database URL")]
    Database {
        /// Host, port and database.
        server: String,
        /// Why.
        reason: String,
    },
    /// The database lacks what deja needs.
    #[error("the database {server} is not fit for deja: {reason}")]
    Unfit {
        /// Host, port and database.
        server: String,
        /// What it lacks, and what to do.
        reason: String,
    },
    /// A much newer deja changed the schema.
    #[error(
        "the database {server} has schema version {found}, which no longer serves this deja (version {known}); \
         run a newer deja"
    )]
    NewerDatabase {
        /// Host, port and database.
        server: String,
        /// The version found.
        found: u32,
        /// The newest version this program knows.
        known: u32,
    },
    /// A backup cannot be written.
    #[error("the backup {} cannot be written: {reason}", path.display())]
    Backup {
        /// The file that it was to be.
        path: PathBuf,
        /// Why.
        reason: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Anything else.
    #[error("cannot open the database {}: {reason}; check the disk and the file's permissions", path.display())]
    Failed {
        /// The database file.
        path: PathBuf,
        /// Why.
        reason: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Writes a consistent copy of the embedded database to `file`, which must not be there yet, and gives its size in
/// bytes. A server may have the database open meanwhile. A caller that goes away ends it, and no file is left.
pub async fn backup(data_dir: &Path, file: &Path) -> Result<u64, OpenError> {
    let (data_dir, path, file) = (data_dir.to_owned(), file.to_owned(), file.to_owned());
    let waits = Arc::new(());
    let caller = Arc::downgrade(&waits);
    let written = tokio::task::spawn_blocking(move || sqlite::backup(&data_dir, &file, &caller)).await;
    drop(waits);
    written.unwrap_or_else(|error| Err(OpenError::Backup { path, reason: Box::new(error) }))
}

/// Does `work` to its end, though its caller goes away: work in parts is not left half-way.
async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    #[expect(clippy::disallowed_methods, reason = "a caller that goes away stops nothing half-way")]
    tokio::spawn(work).await.map_err(|error| StoreError::Internal(Box::new(error)))?
}

/// Brings the schema up to date, and says what it is then.
pub async fn migrate(settings: &StoreSettings) -> Result<SchemaVersion, OpenError> {
    if let Some(settings) = &settings.postgres {
        return postgres::open::migrate(settings).await;
    }
    let settings = &StoreSettings { migrates: true, ..settings.clone() };
    let store = open(settings).await?;
    let closed = store.close().await;
    closed.map_err(|error| OpenError::Failed { path: settings.data_dir.clone(), reason: Box::new(error) })?;
    sqlite::schema(&settings.data_dir)
}

/// The version of the schema, whether or not a server runs.
pub async fn schema_version(settings: &StoreSettings) -> Result<SchemaVersion, OpenError> {
    match &settings.postgres {
        Some(settings) => postgres::open::schema(settings).await,
        None => sqlite::schema(&settings.data_dir),
    }
}

/// Opens the store. The embedded one rebuilds its index: about half a second for 100,000 entries. The
/// schema is brought up to date first, if the settings say so.
pub async fn open(settings: &StoreSettings) -> Result<Arc<dyn Store>, OpenError> {
    if let Some(postgres) = &settings.postgres {
        return Ok(Arc::new(postgres::PostgresStore::open(postgres, settings.migrates).await?));
    }
    let settings = settings.clone();
    let path = settings.data_dir.clone();
    match tokio::task::spawn_blocking(move || sqlite::SqliteStore::open(&settings)).await {
        Ok(opened) => opened.map(|store| {
            #[expect(clippy::disallowed_methods, reason = "it ends at the close of the store")]
            tokio::spawn(store.finish_deletions());
            Arc::new(store) as Arc<dyn Store>
        }),
        Err(error) => Err(OpenError::Failed { path, reason: Box::new(error) }),
    }
}
