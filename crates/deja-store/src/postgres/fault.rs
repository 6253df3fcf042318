//! What PostgreSQL's errors mean to a caller of the store.

use deja_core::store::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// An error as it may be logged. The server's detail is left out: it quotes stored values.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Failure {
    text: String,
    code: Option<SqlState>,
    /// The constraint that it violated.
    constraint: Option<String>,
}

/// The text of an error, without what it quotes.
pub(super) fn describe(error: &Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} (SQLSTATE {})", db.message(), db.code().code()),
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}

/// The store's error for `error`.
pub(super) fn fault(error: &Error) -> StoreError {
    let constraint = error.as_db_error().and_then(|db| db.constraint()).map(str::to_owned);
    let failure = Failure { text: describe(error), code: error.code().cloned(), constraint };
    let Some(code) = error.code() else {
        // Not said by the server: the connection broke, or what came back is not what was asked for.
        return if is_decoding(error) {
            StoreError::Corrupt(failure.to_string())
        } else {
            StoreError::Unavailable(Box::new(failure))
        };
    };
    // By class: the first two characters. 08 connection, 25 transaction state (a server that became a standby
    // is read-only), 28 authorization, 40 rollback, 53 resources and full disk, 55 not in state, 57 operator
    // intervention and timeouts, 58 system error.
    match code.code().get(..2).unwrap_or_default() {
        "08" | "25" | "28" | "3D" | "40" | "53" | "55" | "57" | "58" => {
            StoreError::Unavailable(Box::new(failure))
        }
        "XX" if *code != SqlState::INTERNAL_ERROR => StoreError::Corrupt(failure.to_string()),
        _ => StoreError::Internal(Box::new(failure)),
    }
}

/// A broken uniqueness or a missing parent becomes a conflict over `what`.
pub(super) fn conflict(error: StoreError, what: impl FnOnce() -> String) -> StoreError {
    conflict_by(error, |_| what())
}

/// A broken uniqueness or a missing parent becomes a conflict over `what` the broken constraint means.
pub(super) fn conflict_by(error: StoreError, what: impl FnOnce(&str) -> String) -> StoreError {
    const CONFLICTS: [&SqlState; 2] = [&SqlState::UNIQUE_VIOLATION, &SqlState::FOREIGN_KEY_VIOLATION];
    match error {
        StoreError::Internal(source)
            if code_of(source.as_ref()).is_some_and(|code| CONFLICTS.contains(&code)) =>
        {
            let name = source.downcast_ref().and_then(|failure: &Failure| failure.constraint.as_deref());
            StoreError::Conflict(what(name.unwrap_or_default()))
        }
        other => other,
    }
}

fn code_of<'a>(source: &'a (dyn std::error::Error + 'static)) -> Option<&'a SqlState> {
    source.downcast_ref().and_then(|failure: &Failure| failure.code.as_ref())
}

/// Whether the same statement may well succeed when it is sent again.
pub(super) fn is_transient(error: &Error) -> bool {
    matches!(error.code(), Some(code) if [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(code))
}

/// Whether a transaction was ended in favour of another one.
pub(super) fn is_deadlock(error: &StoreError) -> bool {
    match error {
        StoreError::Unavailable(source) => code_of(source.as_ref()) == Some(&SqlState::T_R_DEADLOCK_DETECTED),
        _ => false,
    }
}

/// Whether its connection is of no more use: it broke, or its server goes or takes no writes any more. After all
/// else that the server says, it answers the next statement.
pub(super) fn ends_connection(error: &Error) -> bool {
    match error.code().map(SqlState::code) {
        Some(code) => matches!(code.get(..2), Some("08" | "25" | "28")) || code.starts_with("57P"),
        None => !is_decoding(error),
    }
}

fn is_decoding(error: &Error) -> bool {
    error.to_string().starts_with("error deserializing")
}

/// A statement that the server ended after its time was a search that took too long.
pub(super) fn search_timeout(error: StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(source) if code_of(source.as_ref()) == Some(&SqlState::QUERY_CANCELED) => {
            StoreError::SearchTimeout
        }
        other => other,
    }
}

/// No connection, or no answer, in time.
pub(super) fn too_late(what: &str) -> StoreError {
    unavailable(format!("{what} took too long"))
}

/// Storage cannot be reached.
pub(super) fn unavailable(reason: impl Into<String>) -> StoreError {
    StoreError::Unavailable(Box::new(Failure { text: reason.into(), code: None, constraint: None }))
}
