//! Reading JSON that nobody promised: a member of the wrong type counts as absent.
//!
//! Compatible servers disagree about types (`code` as a number, `content` as an array, tokens as floats). An
//! answer must not be lost for a member that deja hardly needs.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// For `#[serde(deserialize_with)]`: the default where the member is null or of another type.
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

/// For `#[serde(deserialize_with)]`: an array without the elements that do not fit.
pub fn items<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let Value::Array(values) = Value::deserialize(deserializer)? else { return Ok(Vec::new()) };
    Ok(values.into_iter().filter_map(|value| T::deserialize(value).ok()).collect())
}

/// The highest count that is believed. A call of so many tokens would take terabytes; and some millions of such counts can be
/// added up before 64 bits overflow.
pub const MAX_COUNT: u64 = 1_000_000_000_000;

/// For `#[serde(deserialize_with)]`: a count, written as an integer or as a float; an absurd one counts as absent.
pub fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let count = value.as_u64().or_else(|| value.as_f64().filter(|v| *v >= 0.0).map(|v| v as u64));
    Ok(count.filter(|count| *count <= MAX_COUNT))
}

/// For `#[serde(deserialize_with)]`: text that may be a plain string or an array of typed parts.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        parts => joined_text(&parts),
    })
}

/// The text of an array of typed parts; only parts of type `text` or without a type count, so that thoughts are left
/// out.
pub(crate) fn joined_text(parts: &Value) -> String {
    parts.as_array().into_iter().flatten().filter_map(part_text).collect()
}

fn part_text(part: &Value) -> Option<&str> {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
    if matches!(kind, "text" | "output_text") { part.get("text").and_then(Value::as_str) } else { None }
}
