//! Conversions between rows and nouns that several tables share.

use std::str::FromStr;

use deja_core::cache::Parameters;
use deja_core::clock::Timestamp;
use deja_core::embedding::Similarity;
use deja_core::rate_limit::Quota;
use deja_core::store::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use super::fault::fault;
pub(super) use crate::numbers::{limit_of, number_before, signed};
use crate::sums::MOST;

/// A column.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| fault(&error))
}

/// An identity as a parameter.
pub(super) fn uuid(bytes: &[u8; 16]) -> Uuid {
    Uuid::from_bytes(*bytes)
}

/// A column with an identity.
pub(super) fn id(row: &Row, column: usize) -> Result<[u8; 16], StoreError> {
    get::<Uuid>(row, column).map(Uuid::into_bytes)
}

/// A column with a SHA-256.
pub(super) fn hash(row: &Row, column: usize) -> Result<[u8; 32], StoreError> {
    get::<&[u8]>(row, column)?.try_into().map_err(|_| unreadable(column, "not 32 bytes"))
}

/// A column with one of a few words.
pub(super) fn word<T>(row: &Row, column: usize) -> Result<T, StoreError>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    get::<&str>(row, column)?.parse().map_err(|error| unreadable(column, error))
}

/// A column with nanoseconds since the epoch.
pub(super) fn time(row: &Row, column: usize) -> Result<Timestamp, StoreError> {
    get(row, column).map(Timestamp::from_nanos)
}

/// A column with nanoseconds since the epoch, or nothing.
pub(super) fn time_or_none(row: &Row, column: usize) -> Result<Option<Timestamp>, StoreError> {
    Ok(get::<Option<i64>>(row, column)?.map(Timestamp::from_nanos))
}

/// A count from the database.
pub(super) fn count(row: &Row, column: usize) -> Result<u64, StoreError> {
    Ok(u64::try_from(get::<i64>(row, column)?).unwrap_or(0))
}

/// The count in the only row that a statement gives; 0 if it gives none.
pub(super) fn total(rows: &[Row]) -> Result<u64, StoreError> {
    rows.first().map_or(Ok(0), |row| count(row, 0))
}

/// The sum of a column of many rows; it is 0 without any.
pub(super) fn sum_of(column: &str) -> String {
    format!("least(coalesce(sum({column}), 0), {MOST})::bigint")
}

/// A similarity.
pub(super) fn similarity(row: &Row, column: usize) -> Result<Similarity, StoreError> {
    get(row, column).map(Similarity::from_cosine)
}

/// A limit on its way into two columns.
pub(super) fn quota_columns(quota: Option<Quota>) -> (Option<i32>, Option<i32>) {
    let column = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    (quota.map(|quota| column(quota.per_minute())), quota.map(|quota| column(quota.burst())))
}

/// A limit in a column and the next one, or none.
pub(super) fn quota(row: &Row, column: usize) -> Result<Option<Quota>, StoreError> {
    match (get::<Option<i32>>(row, column)?, get::<Option<i32>>(row, column + 1)?) {
        (Some(per_minute), Some(burst)) => {
            let number = |column: i32| u32::try_from(column).unwrap_or(0);
            let quota = Quota::new(number(per_minute), number(burst));
            quota.map(Some).map_err(|error| unreadable(column, error))
        }
        _ => Ok(None),
    }
}

/// A text kept as bytes.
pub(super) fn text(row: &Row, column: usize) -> Result<String, StoreError> {
    text_or_none(row, column)?.ok_or_else(|| unreadable(column, "no text"))
}

/// A text kept as bytes, or nothing.
pub(super) fn text_or_none(row: &Row, column: usize) -> Result<Option<String>, StoreError> {
    let bytes: Option<Vec<u8>> = get(row, column)?;
    bytes.map(String::from_utf8).transpose().map_err(|error| unreadable(column, error.utf8_error()))
}

/// A value in a JSON column.
pub(super) fn json<T: serde::de::DeserializeOwned>(row: &Row, column: usize) -> Result<T, StoreError> {
    serde_json::from_str(get(row, column)?).map_err(|error| unreadable(column, error))
}

/// Parameters from a JSON column.
pub(super) fn parameters(row: &Row, column: usize) -> Result<Parameters, StoreError> {
    let text: Option<&str> = get(row, column)?;
    text.map_or(Ok(Parameters::new()), |_| json(row, column))
}

/// A value for a JSON column.
pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Internal(error.into()))
}

/// A column whose content is not what it should be.
pub(super) fn unreadable(column: usize, reason: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("column {column}: {reason}"))
}
