//! Brings a database to the schema of this program: plain numbered SQL, each file in one transaction.
//!
//! A released file never changes; a change of the schema is a new file at the end of [`MIGRATIONS`].

use rusqlite::{Connection, OptionalExtension};

const MIGRATIONS: &[(u32, &str)] = &[
    (1, include_str!("../../migrations/sqlite/0001_first.sql")),
    (2, include_str!("../../migrations/sqlite/0002_console.sql")),
    (3, include_str!("../../migrations/sqlite/0003_provider_kind.sql")),
    (4, include_str!("../../migrations/sqlite/0004_days.sql")),
    (5, include_str!("../../migrations/sqlite/0005_recorders.sql")),
];

/// Why the schema could not be brought up to date.
#[derive(Debug)]
pub(super) enum MigrateError {
    /// Written by a newer program.
    Newer { found: u32, known: u32 },
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

/// The version that the database has; 0 is an empty one.
pub(super) fn found(connection: &Connection) -> rusqlite::Result<u32> {
    connection
        .query_row("SELECT max(version) FROM migrations", [], |row| row.get(0))
        .optional()
        .map(|version: Option<Option<u32>>| version.flatten().unwrap_or(0))
}

pub(super) fn migrate(connection: &mut Connection) -> Result<(), MigrateError> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS migrations (version INTEGER NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID",
    )?;
    let (found, known) = (found(connection)?, known());
    if found > known {
        return Err(MigrateError::Newer { found, known });
    }
    for (version, sql) in MIGRATIONS.iter().filter(|(version, _)| *version > found) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(sql)?;
        transaction.execute("INSERT INTO migrations (version) VALUES (?1)", [version])?;
        transaction.commit()?;
    }
    Ok(())
}
