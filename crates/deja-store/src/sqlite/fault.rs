//! What SQLite's errors mean to a caller of the store.

use deja_core::store::StoreError;
use rusqlite::ErrorCode;

/// No room for what was to be written.
#[derive(Debug, thiserror::Error)]
#[error("the disk of the data directory is full: make room on it, or purge entries (deja cache purge)")]
pub(super) struct DiskFull;

impl From<DiskFull> for StoreError {
    fn from(full: DiskFull) -> Self {
        Self::Unavailable(Box::new(full))
    }
}

/// Whether `error` says that the disk is full.
pub(super) fn is_full(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(reason) if reason.is::<DiskFull>())
}

/// Why a job of the writer failed. `?` turns errors of SQLite into errors of the store.
#[derive(Debug)]
pub(super) struct Failed(pub(super) StoreError);

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Self(fault(error))
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self(error)
    }
}

/// The store's error for `error`.
pub(super) fn fault(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => DiskFull.into(),
        Some(
            ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::SystemIoFailure
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::OutOfMemory
            | ErrorCode::PermissionDenied,
        ) => StoreError::Unavailable(Box::new(error)),
        // Only a reader with a deadline interrupts.
        Some(ErrorCode::OperationInterrupted) => StoreError::SearchTimeout,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt(error.to_string()),
        _ => match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => StoreError::Corrupt(error.to_string()),
            other => StoreError::Internal(Box::new(other)),
        },
    }
}

/// As [`fault`], and a broken uniqueness is a conflict over `what`.
pub(super) fn conflict(error: rusqlite::Error, what: impl FnOnce() -> String) -> StoreError {
    if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) {
        StoreError::Conflict(what())
    } else {
        fault(error)
    }
}

/// The store was closed, or its writer ended.
pub(super) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

/// A transaction that many waited for did not commit.
pub(super) fn not_committed(reason: &str) -> StoreError {
    StoreError::Unavailable(format!("the write was not committed: {reason}").into())
}
