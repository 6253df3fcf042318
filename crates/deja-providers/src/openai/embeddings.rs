//! OpenAI's `/embeddings`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deja_core::provider::ProviderError;
use reqwest::Url;
use reqwest::header::AUTHORIZATION;
use serde::Deserialize;
use serde_json::{Value, json};

use super::endpoint;
use super::wire::Usage;
use crate::embedder::Vectors;
use crate::exchange::{Peer, Request, secret_header};
use crate::failure::Failure;
use crate::lenient::or_default;

/// One model at one server.
#[derive(Debug)]
pub(crate) struct OpenAiEmbeddings {
    url: Url,
    model: String,
    dimensions: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    data: Vec<Row>,
    #[serde(default, deserialize_with = "or_default")]
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
struct Row {
    #[serde(default, deserialize_with = "or_default")]
    index: Option<usize>,
    embedding: Numbers,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Numbers {
    Floats(Vec<f32>),
    /// Little-endian f32.
    Base64(String),
}

impl OpenAiEmbeddings {
    pub(crate) fn new(base: &Url, model: &str, dimensions: Option<u32>) -> Self {
        let whole = base.path().trim_end_matches('/').ends_with("/embeddings");
        let url = if whole { base.clone() } else { endpoint(base, "embeddings") };
        Self { url, model: model.to_owned(), dimensions }
    }

    pub(crate) async fn embed(&self, peer: Peer<'_>, texts: &[&str]) -> Result<Vectors, ProviderError> {
        // base64 is a third of the bytes, but some servers only know floats: floats are asked for, and both read.
        let mut body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        if let Some(dimensions) = self.dimensions {
            body["dimensions"] = dimensions.into();
        }
        let headers = secret_header(AUTHORIZATION, "Bearer ", peer.key);
        let answer = peer.json(&Request { url: self.url.clone(), headers, body }).await?;
        read(answer).ok_or_else(|| {
            Failure::bad_response(peer.provider, "the answer is not a list of embeddings").error
        })
    }
}

fn read(answer: Value) -> Option<Vectors> {
    let answer = Answer::deserialize(answer).ok()?;
    let rows = answer.data.into_iter().enumerate();
    let mut rows: Vec<(usize, Numbers)> =
        rows.map(|(i, row)| (row.index.unwrap_or(i), row.embedding)).collect();
    rows.sort_by_key(|(index, _)| *index);
    let vectors = rows.into_iter().map(|(_, numbers)| floats(numbers)).collect::<Option<_>>()?;
    let tokens = answer.usage.and_then(|usage| usage.prompt_tokens.or(usage.total_tokens));
    Some(Vectors { vectors, tokens })
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
            json!([{"index": 0}]),
            json!([{"embedding": "AAA="}]),
            json!([{"embedding": [null]}]),
        ] {
            assert_eq!(read(json!({"data": data})), None, "{data}");
        }
        let rows =
            read(json!({"data": [{"embedding": [1.0]}, {"embedding": [2.0]}], "usage": null})).unwrap();
        assert_eq!(rows, Vectors { vectors: vec![vec![1.0], vec![2.0]], tokens: None });
    }
}
