//! Opening a data directory: lock, database, schema, and everything in memory rebuilt.

use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use deja_core::cache::{PromptHash, ScopeKey};
use deja_core::embedding::EmbedderId;
use deja_core::id::{EntryId, ProjectId};
use rusqlite::{Connection, ErrorCode, OpenFlags, params};

use super::catalog::Catalog;
use super::index::{Index, Row, Vector};
use super::lock::{DirectoryLock, open_private};
use super::migrations::{self, MigrateError, migrate};
use super::readers::{Readers, add_functions, reader, steady_plans};
use super::reserve::Reserve;
use super::rows::unreadable;
use super::writer::Writer;
use super::{EmbedderNumber, Memory, SqliteStore, keys, projects, providers, rows, weight};
use crate::{Backend, OpenError, SchemaVersion, StoreSettings};

/// 3.51.3: the first release without the WAL reset bug, which could damage a database.
const OLDEST_SQLITE: i32 = 3_051_003;
pub(super) const PAGE: u64 = 4096;
/// Vectors for which a thread more is begun at the start.
const LEAST_PART: i64 = 10_000;

impl SqliteStore {
    /// Opens the store. Blocks: disk, and some seconds of work for a million entries.
    pub(crate) fn open(settings: &StoreSettings) -> Result<Self, OpenError> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            return Err(OpenError::SqliteTooOld { found: rusqlite::version() });
        }
        let lock = DirectoryLock::acquire(&settings.data_dir)?;
        let reserve = Reserve::take(&settings.data_dir)?;
        let path = settings.data_dir.join("deja.db");
        open_private(&path).map_err(|source| OpenError::DataDir { path: path.clone(), source })?;
        let says = |error| explain(&path, error);

        let mut connection = connect(&path, settings.max_database_bytes).map_err(says)?;
        migrate(&mut connection).map_err(|error| match error {
            MigrateError::Newer { found, known } => {
                OpenError::NewerSchema { path: path.clone(), found, known }
            }
            MigrateError::Sqlite(error) => explain(&path, error),
        })?;
        let embedder = match &settings.embedder {
            None => None,
            Some(embedder) => {
                let number = super::entries::embedder_number(&connection, embedder).map_err(says)?;
                Some((embedder.clone(), number))
            }
        };
        let memory = Arc::new(load(&path, settings, embedder).map_err(says)?);
        let reader_count = settings.readers.max(1);
        let readers = Readers::open(&path, reader_count, None).map_err(says)?;
        let searches = Readers::open(&path, 1, Some(settings.search_timeout)).map_err(says)?;
        let writer = Writer::start(connection, reserve, lock)
            .map_err(|error| OpenError::Failed { path: path.clone(), source: Box::new(error) })?;
        Ok(Self { memory, writer, readers, reader_count, searches })
    }
}

/// The version of the schema in a data directory, without a lock: a server may be running.
pub(crate) fn schema(data_dir: &Path) -> Result<SchemaVersion, OpenError> {
    let path = data_dir.join("deja.db");
    let found = if path.exists() {
        reader(&path).and_then(|connection| migrations::found(&connection)).map_err(|e| explain(&path, e))?
    } else {
        0
    };
    Ok(SchemaVersion { backend: Backend::Sqlite, found, known: migrations::known() })
}

/// The connection that writes.
fn connect(path: &Path, max_bytes: Option<u64>) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // FULL: each commit is on disk before it is acknowledged; group commit pays for it. The checkpoint after
    // 4,000 pages (16 MB) rather than 1,000 writes pages that change often fewer times.
    connection.execute_batch(
        "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536; \
         PRAGMA wal_autocheckpoint = 4000; PRAGMA temp_store = MEMORY;",
    )?;
    super::usage::add_functions(&connection)?;
    add_functions(&connection)?;
    if let Some(bytes) = max_bytes {
        connection.query_row(&format!("PRAGMA max_page_count = {}", bytes.div_ceil(PAGE)), [], |_| Ok(()))?;
    }
    steady_plans(&connection)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

fn load(
    path: &Path,
    settings: &StoreSettings,
    embedder: Option<(EmbedderId, EmbedderNumber)>,
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
    let index = load_index(path, settings.int8_from, own)?;
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

/// Rebuilds the index: one thread reads who is where, others the vectors of this embedder.
fn load_index(path: &Path, int8_from: usize, embedder: Option<EmbedderNumber>) -> rusqlite::Result<Index> {
    let (heads, index) = (reader(path)?, Index::new(int8_from));
    let count = |sql: &str| heads.query_row(sql, [], |row| rows::count(row, 0));
    let entries = count("SELECT coalesce(sum(entry_count), 0) FROM projects")?;
    let scopes = count("SELECT count(*) FROM scopes")?;
    index.reserve(usize::try_from(entries).unwrap_or(0), usize::try_from(scopes).unwrap_or(0));
    // A part of the file for each core, as long as parts are worth a thread.
    let last =
        heads.query_row("SELECT coalesce(max(rowid), 0) FROM vectors", [], |row| row.get::<_, i64>(0))?;
    let cores = thread::available_parallelism().map_or(1, NonZero::get) as i64;
    let part = (last / cores + 1).max(LEAST_PART);
    thread::scope(|threads| {
        let index = &index;
        let mut tasks = vec![threads.spawn(move || load_heads(&heads, index))];
        for first in (0..=last).step_by(part as usize) {
            let rows = first..first + part;
            tasks.push(threads.spawn(move || load_vectors(&reader(path)?, embedder, rows, index)));
        }
        all(tasks)
    })?;
    Ok(index)
}

/// Waits for all. A panic in one of them is one here: half an index must not serve.
fn all<E>(tasks: Vec<ScopedJoinHandle<'_, Result<(), E>>>) -> Result<(), E> {
    tasks.into_iter().try_for_each(|task| task.join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Reads who is where.
fn load_heads(connection: &Connection, index: &Index) -> rusqlite::Result<()> {
    let mut select = connection.prepare(
        "SELECT h.entry, h.project_id, s.scope_key, h.prompt_hash, h.expires
         FROM heads h LEFT JOIN scopes s ON s.scope = h.scope ORDER BY h.entry",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (project, scope) = (ProjectId::from_bytes(row.get(1)?), ScopeKey(row.get(2)?));
        let expires = row.get::<_, Option<i64>>(4)?.unwrap_or(i64::MAX);
        index.add_exact(project, scope, PromptHash(row.get(3)?), row.get(0)?, expires);
    }
    Ok(())
}

/// Reads the vectors of an embedder in some rows, in the order in which they lie in the file: to find each by its entry
/// would take longer than to read it.
fn load_vectors(
    connection: &Connection,
    embedder: Option<EmbedderNumber>,
    rows: Range<i64>,
    index: &Index,
) -> rusqlite::Result<()> {
    let mut select = connection.prepare(
        "SELECT h.entry, h.entry_id, s.scope_key, h.expires, v.vector
         FROM vectors v CROSS JOIN heads h ON h.entry = v.entry LEFT JOIN scopes s ON s.scope = h.scope
         WHERE v.rowid >= ?2 AND v.rowid < ?3 AND v.embedder = ?1 AND v.vector IS NOT NULL ORDER BY v.rowid",
    )?;
    let mut rows = select.query(params![embedder, rows.start, rows.end])?;
    while let Some(row) = rows.next()? {
        let number: Row = row.get(0)?;
        let vector = Vector::from_bytes(row.get_ref(4)?.as_blob()?)
            .ok_or_else(|| unreadable(4, format!("the vector of entry {number} cannot be read")))?;
        let (id, scope) = (EntryId::from_bytes(row.get(1)?), ScopeKey(row.get(2)?));
        let expires = row.get::<_, Option<i64>>(3)?.unwrap_or(i64::MAX);
        index.add_vector(scope, vector, number, id, expires);
    }
    Ok(())
}

/// What an error while opening means to the person who starts the program.
fn explain(path: &Path, error: rusqlite::Error) -> OpenError {
    let path: PathBuf = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen) => OpenError::DataDir { path, source: std::io::Error::other(error) },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            let source = std::io::Error::new(std::io::ErrorKind::PermissionDenied, error);
            OpenError::DataDir { path, source }
        }
        // The last three: tables are there, but not those of deja, or with content that is not theirs.
        Some(
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::Unknown
            | ErrorCode::ConstraintViolation,
        )
        | None => OpenError::Corrupt { path, reason: error.to_string() },
        Some(_) => OpenError::Failed { path, source: Box::new(error) },
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn half_an_index_does_not_serve() {
        type Task = fn() -> Result<(), &'static str>;
        let (good, bad) = (|| Ok(()), || Err("unreadable"));
        let joined = |tasks: &[Task]| {
            thread::scope(|threads| all(tasks.iter().map(|task| threads.spawn(task)).collect()))
        };
        assert_eq!(joined(&[good, good]), Ok(()));
        assert_eq!((joined(&[good, bad]), joined(&[bad, good])), (Err("unreadable"), Err("unreadable")));
        let panics: Task = || panic!("the test panics here");
        assert!(catch_unwind(AssertUnwindSafe(|| joined(&[good, panics]))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| joined(&[panics, good]))).is_err());
    }
}
