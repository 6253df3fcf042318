//! One process at a time: an operating system lock on a file in the data directory.
//!
//! The kernel drops it when the process ends, however it ends, so there is no stale lock to clean up.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use crate::OpenError;

/// Held as long as the directory is in use.
pub(super) struct DirectoryLock {
    file: File,
}

impl Drop for DirectoryLock {
    /// Closing the file alone would leave the lock to a child that another thread is just starting: until it runs its
    /// program it has a copy of all open files.
    fn drop(&mut self) {
        // If that fails the file is closed all the same.
        let _ = self.file.unlock();
    }
}

impl DirectoryLock {
    /// Makes the directory if it is not there, and locks it.
    pub(super) fn acquire(directory: &Path) -> Result<Self, OpenError> {
        let unusable = |path: &Path, reason: io::Error| OpenError::DataDir { path: path.to_owned(), reason };
        make_private_directory(directory).map_err(|error| unusable(directory, error))?;
        let path = directory.join("deja.lock");
        let file = open_private(&path).map_err(|error| unusable(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path: directory.to_owned() }),
            Err(TryLockError::Error(error)) => Err(unusable(&path, error)),
        }
    }
}

/// Opens or makes a file that only its owner may read and write. SQLite gives its side files the same mode.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn make_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_open_file_keeps_no_lock() {
        let directory = tempfile::tempdir().unwrap();
        let lock = DirectoryLock::acquire(directory.path()).unwrap();
        assert!(matches!(DirectoryLock::acquire(directory.path()), Err(OpenError::Locked { .. })));
        // A child process has such a copy while it is started.
        let _copy = lock.file.try_clone().unwrap();
        drop(lock);
        DirectoryLock::acquire(directory.path()).unwrap();
    }
}
