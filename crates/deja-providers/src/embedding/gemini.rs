//! Gemini's `:batchEmbedContents`, and `:countTokens`: it cuts a text that is too long, and does not say so.

use serde::Deserialize;
use serde_json::{Value, json};

use super::model::{Model, Reading, only};

/// What the paths of this format are behind, the version put aside.
pub(super) const VERSION: &str = "/v1beta";

pub(super) fn body(model: &Model, text: &str) -> Value {
    let request = json!({
        "model": format!("models/{}", model.name),
        "content": {"parts": [{"text": text}]},
        "taskType": "SEMANTIC_SIMILARITY",
    });
    json!({"requests": [model.sized(request, "outputDimensionality")]})
}

pub(super) fn read(answer: Value) -> Option<Reading> {
    let answer = Answer::deserialize(answer).ok()?;
    Some(Reading { vector: answer.embeddings.values, tokens: None })
}

pub(super) fn count_body(text: &str) -> Value {
    json!({"contents": [{"parts": [{"text": text}]}]})
}

pub(super) fn read_count(answer: &Value) -> Option<u64> {
    answer.get("totalTokens")?.as_u64()
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(deserialize_with = "only")]
    embeddings: Row,
}

/// Shortened vectors are not of unit length.
#[derive(Debug, Deserialize)]
struct Row {
    values: Vec<f32>,
}
