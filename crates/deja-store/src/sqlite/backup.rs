//! A copy of the database as it is at one moment, made beside whoever writes it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Weak;

use rusqlite::{Connection, OpenFlags};

use super::open;
use crate::OpenError;

/// Steps of SQLite between two looks at whether somebody still waits.
const STEPS: i32 = 1000;

/// Copies the database in `data_dir` to `target`, which is there when it is complete, and not before. It ends early, and leaves
/// nothing, when the `caller` is gone. In WAL mode a reader sees one commit and holds up nobody.
pub(crate) fn backup(data_dir: &Path, target: &Path, caller: &Weak<()>) -> Result<u64, OpenError> {
    let database = data_dir.join("deja.db");
    let failed =
        |reason: rusqlite::Error| OpenError::Failed { path: database.clone(), reason: Box::new(reason) };
    let unwritten = |reason| OpenError::Backup { path: target.to_owned(), reason };
    let unusable = |reason: io::Error| unwritten(reason.into());
    if target.exists() {
        return Err(unusable(io::Error::new(io::ErrorKind::AlreadyExists, "the file is there already")));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(open::name(&database), flags).map_err(failed)?;
    connection.execute_batch("PRAGMA busy_timeout = 5000;").map_err(failed)?;
    let beside = target.parent().filter(|directory| !directory.as_os_str().is_empty());
    let beside = beside.unwrap_or(Path::new("."));
    // Its error would name the file below.
    beside.metadata().map_err(unusable)?;
    // An empty file is taken as a new one: so the copy is its owner's only from the first byte.
    let copy = tempfile::Builder::new().prefix(".deja-backup-").tempfile_in(beside);
    let copy = copy.map_err(unusable)?;
    let to = copy.path().to_str().ok_or_else(|| unusable(io::Error::other("its name is not UTF-8")))?;
    let gone = caller.clone();
    connection.progress_handler(STEPS, Some(move || gone.strong_count() == 0)).map_err(failed)?;
    connection.execute("VACUUM INTO ?1", [to]).map_err(|error| unwritten(error.into()))?;
    copy.as_file().sync_all().map_err(unusable)?;
    let bytes = copy.as_file().metadata().map_err(unusable)?.len();
    if caller.strong_count() == 0 {
        return Err(unusable(io::ErrorKind::Interrupted.into()));
    }
    copy.persist_noclobber(target).map_err(|error| unusable(error.error))?;
    // The directory has the file's name: without this a power cut could take it away again.
    File::open(beside).and_then(|directory| directory.sync_all()).map_err(unusable)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_backup_that_somebody_waits_for_comes_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        // More than goes by between two looks at who waits.
        let fill =
            "CREATE TABLE t (a); WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 5000)
                    INSERT INTO t SELECT a FROM n";
        Connection::open(directory.path().join("deja.db")).unwrap().execute_batch(fill).unwrap();
        let (target, caller) = (directory.path().join("backup.db"), Arc::new(()));
        backup(directory.path(), &target, &Arc::downgrade(&caller)).unwrap();
        let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let copied = Connection::open(target).unwrap().query_row("SELECT count(*) FROM t", [], count);
        assert_eq!(copied.unwrap(), 5000);
    }

    #[test]
    fn a_backup_that_nobody_waits_for_leaves_no_file() {
        let (directory, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        Connection::open(directory.path().join("deja.db"))
            .unwrap()
            .execute_batch("CREATE TABLE t (a)")
            .unwrap();
        let target = beside.path().join("backup.db");
        assert!(backup(directory.path(), &target, &Weak::new()).is_err());
        assert_eq!(beside.path().read_dir().unwrap().count(), 0);
    }
}
