//! Opening a data directory: lock, database, schema, and everything in memory rebuilt.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use deja_core::cache::{PromptHash, ScopeKey};
use deja_core::clock::Timestamp;
use deja_core::embedding::EmbedderId;
use deja_core::id::{EntryId, ProjectId};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::catalog::Catalog;
use super::index::{EmbedderNumber, Index, Placed, Row, Vector};
use super::lock::{DirectoryLock, open_private};
use super::migrations::{self, MigrateError, migrate};
use super::readers::{Readers, reader, steady_plans};
use super::writer::Writer;
use super::{Memory, SqliteStore, keys, projects, providers, weight};
use crate::{Backend, OpenError, SchemaVersion, StoreSettings};

/// 3.51.3: the first release without the WAL reset bug, which could damage a database.
const OLDEST_SQLITE: i32 = 3_051_003;
const PAGE: u64 = 4096;
/// Vectors that one thread hands to the other at a time while the index is rebuilt.
const LOAD_BATCH: usize = 512;

impl SqliteStore {
    /// Opens the store. Blocks: disk, and about half a second of work for 100,000 entries.
    pub(crate) fn open(settings: &StoreSettings) -> Result<Self, OpenError> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            return Err(OpenError::SqliteTooOld { found: rusqlite::version() });
        }
        let lock = DirectoryLock::acquire(&settings.data_dir)?;
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
        let writer = Writer::start(connection, lock)
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
         PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536; PRAGMA mmap_size = 1073741824; \
         PRAGMA wal_autocheckpoint = 4000; PRAGMA temp_store = MEMORY;",
    )?;
    super::usage::add_functions(&connection)?;
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
    let index = load_index(&connection, own, place)?;
    let texts = moka::sync::Cache::builder()
        .max_capacity(settings.answer_cache_bytes)
        .weigher(|_, entry: &Arc<deja_core::cache::Entry>| weight(entry))
        .build();
    let forbidden = super::Forbidden::load(&connection, own)?;
    let (buckets, feedback_buckets) = (super::Buckets::default(), super::Buckets::default());
    let stale_claims = super::StaleClaims::default();
    Ok(Memory { catalog, index, buckets, feedback_buckets, forbidden, embedder, stale_claims, texts })
}

/// An entry as it is read, with its vector still in bytes.
struct Loaded {
    row: Row,
    project: ProjectId,
    id: EntryId,
    scope: ScopeKey,
    prompt: PromptHash,
    expires: Option<Timestamp>,
    vector: Option<(EmbedderNumber, Vec<u8>)>,
}

/// Rebuilds the index in one pass over the heads of entries and their vectors of this embedder: one thread reads, the
/// other has each entry placed. A panic there is one here: half an index must not serve.
fn load_index(
    connection: &Connection,
    embedder: Option<EmbedderNumber>,
    place: impl Fn(&Index, Loaded) -> bool + Send,
) -> rusqlite::Result<Index> {
    let index = Index::default();
    let scopes: HashMap<i64, ScopeKey> = connection
        .prepare("SELECT scope, scope_key FROM scopes")?
        .query_map([], |row| Ok((row.get(0)?, ScopeKey(row.get(1)?))))?
        .collect::<rusqlite::Result<_>>()?;
    let entries: i64 =
        connection.query_row("SELECT coalesce(sum(entry_count), 0) FROM projects", [], |row| row.get(0))?;
    index.reserve(usize::try_from(entries).unwrap_or(0), scopes.len());

    thread::scope(|threads| {
        let (send, receive) = sync_channel::<Vec<Loaded>>(4);
        let index = &index;
        let placing = threads.spawn(move || {
            let mut unreadable = 0usize;
            for loaded in receive.into_iter().flatten() {
                unreadable += usize::from(!place(index, loaded));
            }
            unreadable
        });
        let read = read_vectors(connection, embedder, &scopes, |batch| drop(send.send(batch)));
        drop(send);
        match placing.join() {
            Ok(0) => {}
            Ok(unreadable) => {
                return Err(rusqlite::Error::FromSqlConversionFailure(
                    8,
                    rusqlite::types::Type::Blob,
                    format!("{unreadable} vectors cannot be read").into(),
                ));
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
        read
    })?;
    Ok(index)
}

fn read_vectors(
    connection: &Connection,
    embedder: Option<EmbedderNumber>,
    scopes: &HashMap<i64, ScopeKey>,
    mut hand_over: impl FnMut(Vec<Loaded>),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(
        "SELECT h.entry, h.project_id, h.entry_id, h.scope, h.prompt_hash, h.expires, v.embedder, v.vector
         FROM heads h LEFT JOIN vectors v ON v.entry = h.entry AND v.embedder = ?1 ORDER BY h.entry",
    )?;
    let mut rows = statement.query([embedder])?;
    let mut batch = Vec::with_capacity(LOAD_BATCH);
    while let Some(row) = rows.next()? {
        let scope: i64 = row.get(3)?;
        let scope = *scopes.get(&scope).ok_or_else(|| {
            let reason = format!("scope {scope} is missing").into();
            rusqlite::Error::FromSqlConversionFailure(3, rusqlite::types::Type::Integer, reason)
        })?;
        let vector = match (row.get::<_, Option<i64>>(6)?, row.get_ref(7)?.as_blob_or_null()?) {
            (Some(embedder), Some(bytes)) => Some((embedder, bytes.to_vec())),
            _ => None,
        };
        batch.push(Loaded {
            row: row.get(0)?,
            project: ProjectId::from_bytes(row.get(1)?),
            id: EntryId::from_bytes(row.get(2)?),
            scope,
            prompt: PromptHash(row.get(4)?),
            expires: row.get::<_, Option<i64>>(5)?.map(Timestamp::from_nanos),
            vector,
        });
        if batch.len() == LOAD_BATCH {
            hand_over(std::mem::replace(&mut batch, Vec::with_capacity(LOAD_BATCH)));
        }
    }
    hand_over(batch);
    Ok(())
}

/// Puts an entry into the index. `false` if its vector is none.
fn place(index: &Index, loaded: Loaded) -> bool {
    let Loaded { row, project, id, scope, prompt, expires, vector } = loaded;
    let vector = match vector {
        None => None,
        Some((embedder, bytes)) => match Vector::from_bytes(&bytes) {
            Some(vector) => Some((embedder, vector)),
            None => return false,
        },
    };
    index.add(Placed { row, project, id, scope, prompt, expires, vector });
    true
}

/// What an error while opening means to the person who starts the program.
fn explain(path: &Path, error: rusqlite::Error) -> OpenError {
    let path: PathBuf = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            OpenError::DataDir { path, source: std::io::Error::other(error) }
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
    fn a_panic_while_the_index_loads_is_no_half_index() {
        let mut connection = Connection::open_in_memory().unwrap();
        super::super::usage::add_functions(&connection).unwrap();
        migrate(&mut connection).map_err(|_| "the schema").unwrap();
        connection
            .execute_batch(
                "PRAGMA foreign_keys = OFF; INSERT INTO scopes (project_id, scope_key) VALUES (x'', zeroblob(32))",
            )
            .unwrap();
        for entry in 0..3 * LOAD_BATCH {
            let sql = "INSERT INTO heads (entry, project_id, entry_id, scope, prompt_hash)
                       VALUES (?1, zeroblob(16), zeroblob(16), 1, zeroblob(32))";
            connection.execute(sql, [entry as i64]).unwrap();
        }
        assert!(load_index(&connection, None, place).is_ok());
        let half = |index: &Index, loaded: Loaded| {
            assert!(loaded.row < LOAD_BATCH as i64, "the test panics here");
            place(index, loaded)
        };
        assert!(catch_unwind(AssertUnwindSafe(|| load_index(&connection, None, half).is_ok())).is_err());
    }
}
