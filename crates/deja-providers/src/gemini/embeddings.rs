//! Gemini's `:batchEmbedContents`.

use deja_core::provider::ProviderError;
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{KEY_HEADER, method};
use crate::embedder::Vectors;
use crate::exchange::{Peer, Request, secret_header};
use crate::failure::Failure;

/// One model of the Gemini API.
#[derive(Debug)]
pub(crate) struct GeminiEmbeddings {
    url: Url,
    model: String,
    dimensions: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    /// In the order of the texts. Shortened vectors are not of unit length.
    embeddings: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    values: Vec<f32>,
}

impl GeminiEmbeddings {
    /// `base` ends in `/v1beta`. `None` for a model name that cannot stand in a path.
    pub(crate) fn new(base: &Url, model: &str, dimensions: Option<u32>) -> Option<Self> {
        let model = model.strip_prefix("models/").unwrap_or(model);
        let mut root = base.clone();
        root.set_path(base.path().trim_end_matches('/').strip_suffix("/v1beta")?);
        let url = method(&root, model, "batchEmbedContents")?;
        Some(Self { url, model: model.to_owned(), dimensions })
    }

    pub(crate) async fn embed(&self, peer: Peer<'_>, texts: &[&str]) -> Result<Vectors, ProviderError> {
        let requests: Vec<Value> = texts.iter().map(|text| self.request(text)).collect();
        let headers = secret_header(KEY_HEADER, "", peer.key);
        let request = Request { url: self.url.clone(), headers, body: json!({"requests": requests}) };
        let answer = Answer::deserialize(peer.json(&request).await?).map_err(|_| {
            Failure::bad_response(peer.provider, "the answer is not a list of embeddings").error
        })?;
        let vectors = answer.embeddings.into_iter().map(|row| row.values).collect();
        Ok(Vectors { vectors, tokens: None })
    }

    fn request(&self, text: &str) -> Value {
        let mut request = json!({
            "model": format!("models/{}", self.model),
            "content": {"parts": [{"text": text}]},
            "taskType": "SEMANTIC_SIMILARITY",
        });
        if let Some(dimensions) = self.dimensions {
            request["outputDimensionality"] = dimensions.into();
        }
        request
    }
}
