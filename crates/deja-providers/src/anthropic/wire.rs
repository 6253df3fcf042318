//! The JSON of `/v1/messages` and its stream, as much of it as deja needs.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::lenient::{count, items, or_default};

pub(super) fn request(model: &str, max_tokens: u32, context: Option<&str>, prompt: &str) -> Value {
    let messages = json!([{"role": "user", "content": prompt}]);
    let mut request = json!({"model": model, "max_tokens": max_tokens, "messages": messages});
    if let Some(context) = context {
        request["system"] = context.into();
    }
    request
}

/// A message, whole or as it begins.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Message {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) model: Option<String>,
    #[serde(default, deserialize_with = "items")]
    pub(super) content: Vec<Block>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) stop_reason: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) usage: Option<Counts>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Block {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) text: String,
}

/// Numbers of tokens. In a stream every number replaces the one before.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Counts {
    /// Without those read from or written to the prompt cache.
    #[serde(default, deserialize_with = "count")]
    pub(super) input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) output_tokens_details: OutputDetails,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct OutputDetails {
    #[serde(default, deserialize_with = "count")]
    pub(super) thinking_tokens: Option<u64>,
}

/// An event of a stream; which members it has depends on its type.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) message: Message,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) content_block: Block,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) delta: Delta,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) usage: Option<Counts>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) text: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) stop_reason: Option<String>,
}
