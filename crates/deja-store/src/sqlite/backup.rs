//! A copy of the database as it is at one moment, made beside whoever writes it.

use std::fs::File;
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::OpenError;

/// Copies the database in `data_dir` to `target`, which is there when it is complete, and not before. In WAL mode a
/// reader sees one commit and holds up nobody.
pub(crate) fn backup(data_dir: &Path, target: &Path) -> Result<u64, OpenError> {
    let database = data_dir.join("deja.db");
    let failed =
        |source: rusqlite::Error| OpenError::Failed { path: database.clone(), source: Box::new(source) };
    let unusable =
        |source: io::Error| OpenError::Failed { path: target.to_owned(), source: Box::new(source) };
    if target.exists() {
        return Err(unusable(io::Error::new(io::ErrorKind::AlreadyExists, "the file is there already")));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&database, flags).map_err(failed)?;
    connection.execute_batch("PRAGMA busy_timeout = 5000;").map_err(failed)?;
    let beside = target.parent().filter(|directory| !directory.as_os_str().is_empty());
    let beside = beside.unwrap_or(Path::new("."));
    // An empty file is taken as a new one: so the copy is its owner's only from the first byte.
    let copy = tempfile::Builder::new().prefix(".deja-backup-").tempfile_in(beside);
    let copy = copy.map_err(unusable)?;
    let to = copy.path().to_str().ok_or_else(|| unusable(io::Error::other("its name is not UTF-8")))?;
    connection.execute("VACUUM INTO ?1", [to]).map_err(failed)?;
    copy.as_file().sync_all().map_err(unusable)?;
    let bytes = copy.as_file().metadata().map_err(unusable)?.len();
    copy.persist_noclobber(target).map_err(|error| unusable(error.error))?;
    // Its name is the directory's: a power cut could take it away again.
    File::open(beside).and_then(|directory| directory.sync_all()).map_err(unusable)?;
    Ok(bytes)
}
