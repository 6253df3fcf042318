//! The own `/embed` of Hugging Face's text-embeddings-inference: unlike its `/v1/embeddings`, it can be told not to cut
//! a text. The server has one model, whatever its name.

use serde_json::{Value, json};

use super::model::{Model, Reading, only};

pub(super) fn body(model: &Model, text: &str) -> Value {
    model.sized(json!({"inputs": [text], "truncate": false}), "dimensions")
}

pub(super) fn read(answer: Value) -> Option<Reading> {
    let vector = only::<_, Vec<f32>>(answer).ok()?;
    Some(Reading { vector, tokens: None })
}
