//! How many entries a project has. Triggers keep the number in its row. A damaged one must not evict entries: before it does, they
//! are counted, once in a process. After that the triggers keep it right.

use deja_core::id::ProjectId;
use rusqlite::{Connection, params};

use super::entries::remove;

/// The projects that were counted. A temporary table, so that what is rolled back was not counted.
pub(super) const COUNTED: &str =
    "CREATE TEMP TABLE counted (project_id BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;";

/// Corrects a project's number of entries, unless its entries were counted before. Says how many it has more than the number said.
pub(super) fn correct(connection: &Connection, project: ProjectId) -> rusqlite::Result<i64> {
    let note = "INSERT OR IGNORE INTO temp.counted (project_id) VALUES (?1)";
    if connection.prepare_cached(note)?.execute([project.as_bytes()])? == 0 {
        return Ok(0);
    }
    let sql = "SELECT entry_count, (SELECT count(*) FROM entries WHERE project_id = ?1)
               FROM projects WHERE project_id = ?1";
    let (said, counted): (i64, i64) =
        connection.query_row(sql, [project.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if said != counted {
        tracing::warn!(%project, said, counted, "the number of entries in the database was wrong: it is corrected");
        connection.execute(
            "UPDATE projects SET entry_count = ?2 WHERE project_id = ?1",
            params![project.as_bytes(), counted],
        )?;
    }
    Ok(counted.saturating_sub(said))
}

/// Corrects numbers that cannot be. Entries are numbered from 1 on, and no number is given twice.
pub(super) fn correct_impossible(connection: &Connection) -> rusqlite::Result<()> {
    let which = "entry_count NOT BETWEEN 0 AND (SELECT coalesce(max(entry), 0) FROM entries)";
    correct_where(connection, which).map(drop)
}

/// Corrects the numbers of projects that have more entries than their settings allow, if they are right. Says how many more each has
/// than its number said.
pub(super) fn correct_surplus(connection: &Connection) -> rusqlite::Result<Vec<(ProjectId, i64)>> {
    correct_where(connection, &format!("{} > 0", *remove::OVER))
}

fn correct_where(connection: &Connection, which: &str) -> rusqlite::Result<Vec<(ProjectId, i64)>> {
    let projects = connection
        .prepare_cached(&format!("SELECT project_id FROM projects WHERE {which}"))?
        .query_map([], |row| Ok(ProjectId::from_bytes(row.get(0)?)))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    projects.into_iter().map(|project| Ok((project, correct(connection, project)?))).collect()
}
