//! Ollama's own `/api/embed`: unlike its `/v1/embeddings`, it can be told not to cut a text.

use deja_wire::lenient::count;
use serde::Deserialize;
use serde_json::{Value, json};

use super::model::{Model, Reading, only};

pub(super) fn body(model: &Model, text: &str) -> Value {
    model.sized(json!({"model": model.name, "input": [text], "truncate": false}), "dimensions")
}

pub(super) fn read(answer: Value) -> Option<Reading> {
    let answer = Answer::deserialize(answer).ok()?;
    Some(Reading { vector: answer.embeddings, tokens: answer.prompt_eval_count })
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(deserialize_with = "only")]
    embeddings: Vec<f32>,
    #[serde(default, deserialize_with = "count")]
    prompt_eval_count: Option<u64>,
}
