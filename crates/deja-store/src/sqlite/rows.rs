//! Small conversions between rows and nouns that several tables share.

use std::error::Error;
use std::str::FromStr;

use deja_core::cache::Parameters;
use deja_core::clock::Timestamp;
use deja_core::embedding::Similarity;
use deja_core::rate_limit::Quota;
use rusqlite::Row;
use rusqlite::types::Type;

pub(super) use crate::numbers::{limit_of, number_before, signed};

/// A column whose content is not what it should be.
pub(super) fn unreadable(column: usize, reason: impl Into<Box<dyn Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, reason.into())
}

/// A column with one of a few words.
pub(super) fn word<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: FromStr,
    T::Err: Error + Send + Sync + 'static,
{
    row.get_ref(column)?.as_str()?.parse().map_err(|error: T::Err| unreadable(column, error))
}

/// A column with nanoseconds since the epoch.
pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_nanos)
}

/// A column with nanoseconds since the epoch, or nothing.
pub(super) fn time_or_none(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_nanos))
}

/// A count from the database.
pub(super) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// A similarity.
pub(super) fn similarity(row: &Row<'_>, column: usize) -> rusqlite::Result<Similarity> {
    Ok(Similarity::from_cosine(row.get::<_, f64>(column)? as f32))
}

/// A limit in a column and the next one, or none.
pub(super) fn quota(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Quota>> {
    match (row.get(column)?, row.get(column + 1)?) {
        (Some(per_minute), Some(burst)) => {
            Quota::new(per_minute, burst).map(Some).map_err(|error| unreadable(column, error))
        }
        _ => Ok(None),
    }
}

/// A list of names in a JSON column.
pub(super) fn names(text: &str, column: usize) -> rusqlite::Result<Vec<String>> {
    serde_json::from_str(text).map_err(|error| unreadable(column, error))
}

/// Parameters on their way into a JSON column; nothing where there are none.
pub(super) fn parameters_column(parameters: &Parameters) -> rusqlite::Result<Option<String>> {
    let text = (!parameters.is_empty()).then(|| serde_json::to_string(parameters)).transpose();
    text.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// Parameters from a JSON column.
pub(super) fn parameters(row: &Row<'_>, column: usize) -> rusqlite::Result<Parameters> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    text.map_or(Ok(Parameters::new()), |text| {
        serde_json::from_str(text).map_err(|error| unreadable(column, error))
    })
}
