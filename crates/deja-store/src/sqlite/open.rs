//! Opening a data directory: lock, database, schema, and everything in memory rebuilt.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use deja_core::embedding::EmbedderId;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::catalog::Catalog;
use super::counts::{COUNTED, correct_impossible};
use super::index::Index;
use super::load::Load;
use super::lock::{DirectoryLock, open_private};
use super::migrations::{self, MigrateError, migrate};
use super::readers::{Readers, add_functions, reader, steady_plans};
use super::reserve::Reserve;
use super::writer::Writer;
use super::{EmbedderNumber, Memory, SqliteStore, keys, load, projects, providers, weight};
use crate::{Backend, OpenError, SchemaVersion, StoreSettings};

/// 3.51.3: the first release without the WAL reset bug, which could damage a database.
const OLDEST_SQLITE: i32 = 3_051_003;
pub(super) const PAGE: u64 = 4096;

impl SqliteStore {
    /// Opens the store. Blocks: disk, and the index, for [`StoreSettings::index_patience`] at most.
    pub(crate) fn open(settings: &StoreSettings) -> Result<Self, OpenError> {
        Self::open_with(settings, Arc::default())
    }

    /// Opens the store. `load` is a load of the index that has not begun.
    pub(super) fn open_with(settings: &StoreSettings, load: Arc<Load>) -> Result<Self, OpenError> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            return Err(OpenError::SqliteTooOld { found: rusqlite::version() });
        }
        let lock = DirectoryLock::acquire(&settings.data_dir)?;
        let path = settings.data_dir.join("deja.db");
        // Before anything is written into the database or beside it. What cannot be read is told of below.
        if reader(&path).and_then(|connection| migrations::is_foreign(&connection)).unwrap_or(false) {
            return Err(OpenError::Foreign { path });
        }
        let reserve = Reserve::take(&settings.data_dir)?;
        open_private(&path).map_err(|reason| OpenError::DataDir { path: path.clone(), reason })?;
        let says = |error| explain(&path, error);

        let mut connection = connect(&path, settings.max_database_bytes).map_err(says)?;
        migrate(&mut connection, settings.migrates).map_err(|error| match error {
            MigrateError::Newer { found, known } => {
                OpenError::NewerSchema { path: path.clone(), found, known }
            }
            MigrateError::Older { found, known } => {
                OpenError::OlderSchema { database: path.display().to_string(), found, known }
            }
            MigrateError::Sqlite(error) => explain(&path, error),
        })?;
        correct_impossible(&connection).map_err(says)?;
        let embedder = match &settings.embedder {
            None => None,
            Some(embedder) => {
                let number = super::entries::embedder_number(&connection, embedder).map_err(says)?;
                Some((embedder.clone(), number))
            }
        };
        let memory = Arc::new(remembered(&path, settings, embedder, load).map_err(says)?);
        if memory.embedder.is_some() {
            load::begin(&path, &memory, settings.index_patience).map_err(says)?;
        }
        let readers = Readers::open(&path, settings.readers, None).map_err(says)?;
        let searches = Readers::open(&path, 1, Some(settings.search_timeout)).map_err(says)?;
        let writer = Writer::start(connection, reserve, lock, Arc::clone(&memory.load))
            .map_err(|error| OpenError::Failed { path: path.clone(), reason: Box::new(error) })?;
        Ok(Self { memory, writer, readers, searches })
    }
}

/// The version of the schema in a data directory, without a lock: a server may be running.
pub(crate) fn schema(data_dir: &Path) -> Result<SchemaVersion, OpenError> {
    let path = data_dir.join("deja.db");
    // A database that cannot be looked at is not an empty one.
    let there = path.try_exists().map_err(|reason| OpenError::DataDir { path: path.clone(), reason })?;
    let found = if there {
        let says = |error| explain(&path, error);
        let connection = reader(&path).map_err(says)?;
        if migrations::is_foreign(&connection).map_err(says)? {
            return Err(OpenError::Foreign { path });
        }
        migrations::found(&connection).map_err(says)?
    } else {
        0
    };
    let known = migrations::known();
    Ok(SchemaVersion { backend: Backend::Sqlite, found, known, is_served: found <= known })
}

/// What SQLite takes for the file at `path`: it would read a name that begins with `file:` as a URI, and open another file.
pub(super) fn name(path: &Path) -> PathBuf {
    Path::new(".").join(path)
}

/// The connection that writes.
fn connect(path: &Path, max_bytes: Option<u64>) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(name(path), flags)?;
    // FULL: each commit is on disk before it is acknowledged; group commit pays for it. The checkpoint after
    // 4,000 pages (16 MB) rather than 1,000 writes pages that change often fewer times.
    connection.execute_batch(
        "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536; \
         PRAGMA wal_autocheckpoint = 4000; PRAGMA temp_store = MEMORY;",
    )?;
    connection.execute_batch(COUNTED)?;
    super::usage::add_functions(&connection)?;
    add_functions(&connection)?;
    if let Some(bytes) = max_bytes {
        connection.query_row(&format!("PRAGMA max_page_count = {}", bytes.div_ceil(PAGE)), [], |_| Ok(()))?;
    }
    steady_plans(&connection)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

/// What is in memory, the entries apart.
fn remembered(
    path: &Path,
    settings: &StoreSettings,
    embedder: Option<(EmbedderId, EmbedderNumber)>,
    load: Arc<Load>,
) -> rusqlite::Result<Memory> {
    let connection = reader(path)?;
    let catalog = Catalog::default();
    for project in projects::load(&connection)? {
        catalog.put_project(project);
    }
    for key in keys::load_active(&connection)? {
        catalog.put_key(key);
    }
    for provider in providers::load(&connection)? {
        catalog.put_provider(provider);
    }
    let own = embedder.as_ref().map(|(_, number)| *number);
    let index = Index::new(settings.int8_from, projects::entry_counts(&connection)?);
    let texts = moka::sync::Cache::builder()
        .max_capacity(settings.answer_cache_bytes)
        .weigher(|_, entry: &Arc<deja_core::cache::Entry>| weight(entry))
        .build();
    let forbidden = super::Forbidden::load(&connection, own)?;
    let (buckets, key_buckets, feedback_buckets) = Default::default();
    let stale_claims = super::StaleClaims::default();
    let scans = Arc::default();
    Ok(Memory {
        catalog,
        index,
        load,
        scans,
        buckets,
        key_buckets,
        feedback_buckets,
        forbidden,
        embedder,
        stale_claims,
        texts,
    })
}

/// What an error while opening means to the person who starts the program.
fn explain(path: &Path, error: rusqlite::Error) -> OpenError {
    let path: PathBuf = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen) => OpenError::DataDir { path, reason: std::io::Error::other(error) },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            let reason = std::io::Error::new(std::io::ErrorKind::PermissionDenied, error);
            OpenError::DataDir { path, reason }
        }
        // In the last three the tables are not deja's, or hold what deja's do not.
        Some(
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::Unknown
            | ErrorCode::ConstraintViolation,
        )
        | None => OpenError::Corrupt { path, reason: error.to_string() },
        Some(_) => OpenError::Failed { path, reason: Box::new(error) },
    }
}
