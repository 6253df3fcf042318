//! What is wrong with the shape of what was sent, in the words of the document. Libraries name Rust's types and quote what came.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Deserializer;

use crate::api::body::invalid_json;

/// Longest name of an unknown member that is told, in characters.
const LONGEST: usize = 64;

/// Reads the text of a JSON object.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let _: IgnoredAny = serde_json::from_str(text).map_err(|error| invalid_json(&error))?;
    serde_path_to_error::deserialize(&mut Deserializer::from_str(text))
        .map_err(|error| error_line(&error.path().to_string(), &error.inner().to_string()))
}

/// What is wrong with the member at `path`.
pub(super) fn error_line(path: &str, error: &str) -> String {
    let error = error.rsplit_once(" at line ").map_or(error, |(error, _)| error);
    let (problem, expected) = error.rsplit_once(", expected ").unwrap_or((error, ""));
    let named = || problem.split('`').nth(1).unwrap_or_default().chars().take(LONGEST).collect::<String>();
    match problem.split(' ').next() {
        Some("missing") => format!("{} is required", named()),
        Some("duplicate") => format!("{} is there twice", named()),
        Some("unknown") if problem.starts_with("unknown field") => {
            let known = expected.strip_prefix("one of ").unwrap_or(expected);
            format!("there is no member `{}`: known are {known}", named())
        }
        Some("unknown") => format!("{path} must be {expected}"),
        // What else than a string cannot be a word of a list has no type in the error.
        Some("invalid" | "expected") if problem != error || problem == "expected value" => {
            format!("{path} must be {}", kind(problem, expected))
        }
        // As queries say it: a text that was cut within an emoji.
        _ if error.contains("hex escape") => format!("{path} holds half of a surrogate pair"),
        _ => format!("{path}: {error}"),
    }
}

/// A type of Rust or of a library, as the document has it.
fn kind<'a>(problem: &str, expected: &'a str) -> &'a str {
    match expected {
        // How far a member really goes says whoever gets a number.
        "u32" | "u64" if is_too_large(problem) => "a smaller whole number",
        "u32" | "u64" => "a whole number, 0 or more",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "" | "unit" | "string or map" => "a string",
        other => other,
    }
}

/// A number beyond `u64` is read as one with a point.
fn is_too_large(problem: &str) -> bool {
    let number = ["invalid value: integer `", "invalid type: floating point `"];
    let number = number.iter().find_map(|begin| problem.strip_prefix(begin)?.strip_suffix('`'));
    number.and_then(|number| number.parse().ok()).is_some_and(|number: f64| number > f64::from(u32::MAX))
}
