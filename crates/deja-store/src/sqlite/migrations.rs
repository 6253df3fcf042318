//! Brings a database to the schema of this program: plain numbered SQL, each file in one transaction.
//!
//! A released file never changes; a change of the schema is a new file at the end of [`MIGRATIONS`].

use deja_core::cache::{Frame, Scope, ScopeKey};
use deja_core::id::ProjectId;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest, Sha256};

const MIGRATIONS: &[(u32, &str)] = &[
    (1, include_str!("../../migrations/sqlite/0001_first.sql")),
    (2, include_str!("../../migrations/sqlite/0002_console.sql")),
    (3, include_str!("../../migrations/sqlite/0003_provider_kind.sql")),
    (4, include_str!("../../migrations/sqlite/0004_days.sql")),
    (5, include_str!("../../migrations/sqlite/0005_recorders.sql")),
    (6, include_str!("../../migrations/sqlite/0006_frames.sql")),
    (7, include_str!("../../migrations/sqlite/0007_vectors.sql")),
    (8, include_str!("../../migrations/sqlite/0008_samples.sql")),
    (9, include_str!("../../migrations/sqlite/0009_feedback.sql")),
    (10, include_str!("../../migrations/sqlite/0010_opinions.sql")),
    (11, include_str!("../../migrations/sqlite/0011_wires.sql")),
    (12, include_str!("../../migrations/sqlite/0012_surfaces.sql")),
    (13, include_str!("../../migrations/sqlite/0013_new_scopes.sql")),
    (14, include_str!("../../migrations/sqlite/0014_request_log.sql")),
    (15, include_str!("../../migrations/sqlite/0015_keys.sql")),
    (16, include_str!("../../migrations/sqlite/0016_refused.sql")),
    (17, include_str!("../../migrations/sqlite/0017_access_tokens.sql")),
    (18, include_str!("../../migrations/sqlite/0018_second_factors.sql")),
    (19, include_str!("../../migrations/sqlite/0019_members.sql")),
    (20, include_str!("../../migrations/sqlite/0020_entries_by_hits.sql")),
    (21, include_str!("../../migrations/sqlite/0021_no_statistics.sql")),
    (22, include_str!("../../migrations/sqlite/0022_wrong_answers_by_prompt.sql")),
    (23, include_str!("../../migrations/sqlite/0023_purges.sql")),
    (24, include_str!("../../migrations/sqlite/0024_sweeps.sql")),
];

/// Why the schema could not be brought up to date.
#[derive(Debug)]
pub(super) enum MigrateError {
    /// Written by a newer program.
    Newer { found: u32, known: u32 },
    /// Written by an older program, and not to be changed.
    Older { found: u32, known: u32 },
    /// Anything SQLite says.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for MigrateError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// The newest version that this program knows.
pub(super) fn known() -> u32 {
    MIGRATIONS.last().map_or(0, |(version, _)| *version)
}

/// The version that the database has; 0 is an empty one. Of a database of something else there is none.
pub(super) fn found(connection: &Connection) -> rusqlite::Result<u32> {
    if is_empty(connection)? {
        return Ok(0);
    }
    connection
        .query_row("SELECT max(version) FROM migrations", [], |row| row.get(0))
        .optional()
        .map(|version: Option<Option<u32>>| version.flatten().unwrap_or(0))
}

/// Whether it is the database of another program. One may have a table of this name, but not with these columns.
pub(super) fn is_foreign(connection: &Connection) -> rusqlite::Result<bool> {
    let is_ours = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('migrations') WHERE name = 'version')";
    Ok(!is_empty(connection)? && !connection.query_row(is_ours, [], |row| row.get(0))?)
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

pub(super) fn migrate(connection: &mut Connection, migrates: bool) -> Result<(), MigrateError> {
    if is_empty(connection)? {
        connection.execute_batch(
            "CREATE TABLE migrations (version INTEGER NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID",
        )?;
    }
    let (found, known) = (found(connection)?, known());
    if found > known {
        return Err(MigrateError::Newer { found, known });
    }
    if !migrates && (1..known).contains(&found) {
        return Err(MigrateError::Older { found, known });
    }
    add_functions(connection)?;
    for (version, sql) in MIGRATIONS.iter().filter(|(version, _)| *version > found) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(sql)?;
        transaction.execute("INSERT INTO migrations (version) VALUES (?1)", [version])?;
        transaction.commit()?;
    }
    Ok(())
}

/// `framed(key, project, model, context)` of migration 6: the key of the frame of a scope whose key was `key` before
/// there were frames. A key that is of no such scope stays.
fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("framed", 4, flags, |context| {
        let (key, project) = (context.get::<[u8; 32]>(0)?, ProjectId::from_bytes(context.get(1)?));
        let (model, text) = (context.get::<Option<String>>(2)?, context.get::<Option<String>>(3)?);
        let models = [model.as_deref(), None];
        let model =
            models.into_iter().find(|model| key_before_frames(project, *model, text.as_deref()).0 == key);
        Ok(model.map_or(key, |model| Scope::new(project, Frame::query(model, text.as_deref())).key().0))
    })
}

/// The key of a scope up to schema 4.
fn key_before_frames(project: ProjectId, model: Option<&str>, context: Option<&str>) -> ScopeKey {
    let mut hash = Sha256::new_with_prefix(project.as_bytes());
    for part in [model, context] {
        hash.update([part.is_some().into()]);
        if let Some(text) = part {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
    }
    ScopeKey(hash.finalize().into())
}
