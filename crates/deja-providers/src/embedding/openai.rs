//! OpenAI's `/embeddings`, which most servers have.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deja_wire::lenient::{count, or_default};
use serde::Deserialize;
use serde_json::{Value, json};

use super::model::{Model, Reading, only};

/// base64 is a third of the bytes, but some servers only know floats: floats are asked for, and both read.
pub(super) fn body(model: &Model, text: &str) -> Value {
    model.sized(json!({"model": model.name, "input": [text], "encoding_format": "float"}), "dimensions")
}

pub(super) fn read(answer: Value) -> Option<Reading> {
    let answer = Answer::deserialize(answer).ok()?;
    let tokens = answer.usage.prompt_tokens.or(answer.usage.total_tokens);
    Some(Reading { vector: floats(answer.data.embedding)?, tokens })
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(deserialize_with = "only")]
    data: Row,
    #[serde(default, deserialize_with = "or_default")]
    usage: Counts,
}

#[derive(Debug, Deserialize)]
struct Row {
    embedding: Numbers,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Numbers {
    Floats(Vec<f32>),
    /// Little-endian f32.
    Base64(String),
}

#[derive(Debug, Default, Deserialize)]
struct Counts {
    #[serde(default, deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    total_tokens: Option<u64>,
}

fn floats(numbers: Numbers) -> Option<Vec<f32>> {
    match numbers {
        Numbers::Floats(floats) => Some(floats),
        Numbers::Base64(text) => {
            let bytes = STANDARD.decode(text).ok()?;
            let (words, rest) = bytes.as_chunks::<4>();
            rest.is_empty().then(|| words.iter().map(|word| f32::from_le_bytes(*word)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_answers_are_refused() {
        for data in [
            json!(null),
            json!([]),
            json!([{"index": 0}]),
            json!([{"embedding": "AAA="}]),
            json!([{"embedding": [null]}]),
            json!([{"embedding": [1.0]}, {"embedding": [2.0]}]),
        ] {
            assert_eq!(read(json!({"data": data})), None, "{data}");
        }
        let reading = read(json!({"data": [{"embedding": [1.0]}], "usage": null})).unwrap();
        assert_eq!(reading, Reading { vector: vec![1.0], tokens: None });
    }
}
