//! The JSON of chat completions and Responses, as much of it as deja needs.
//!
//! Requests carry no sampling parameters: several models refuse them, and the provider's defaults are what the
//! asking application would have got.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::lenient::{count, items, or_default, text};

pub(super) fn chat_request(model: &str, context: Option<&str>, prompt: &str) -> Value {
    let user = json!({"role": "user", "content": prompt});
    let messages = match context {
        Some(context) => json!([{"role": "system", "content": context}, user]),
        None => json!([user]),
    };
    json!({"model": model, "messages": messages, "stream": false})
}

/// `store: false`, because OpenAI keeps the answers of this endpoint otherwise.
pub(super) fn responses_request(model: &str, context: Option<&str>, prompt: &str) -> Value {
    let mut request = json!({"model": model, "input": prompt, "store": false, "stream": false});
    if let Some(context) = context {
        request["instructions"] = context.into();
    }
    request
}

/// A chat completion, or one chunk of a streamed one.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) model: Option<String>,
    #[serde(default, deserialize_with = "items")]
    pub(super) choices: Vec<Choice>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) usage: Option<Counts>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) x_groq: Option<Groq>,
}

/// Groq's own place for the usage of a stream.
#[derive(Debug, Deserialize)]
pub(super) struct Groq {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) usage: Option<Counts>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) index: u32,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) finish_reason: Option<String>,
    /// `message` in a whole answer, `delta` in a chunk.
    #[serde(default, alias = "delta", deserialize_with = "or_default")]
    pub(super) message: Option<Message>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Message {
    #[serde(default, deserialize_with = "text")]
    pub(super) content: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) refusal: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) tool_calls: Vec<Value>,
    #[serde(default)]
    pub(super) function_call: Value,
}

/// Numbers of tokens, by the names of chat completions or of Responses.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Counts {
    #[serde(default, alias = "input_tokens", deserialize_with = "count")]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(default, alias = "output_tokens", deserialize_with = "count")]
    pub(super) completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) total_tokens: Option<u64>,
    #[serde(default, alias = "input_tokens_details", deserialize_with = "or_default")]
    pub(super) prompt_tokens_details: InputDetails,
    #[serde(default, alias = "output_tokens_details", deserialize_with = "or_default")]
    pub(super) completion_tokens_details: OutputDetails,
    /// DeepSeek.
    #[serde(default, deserialize_with = "count")]
    pub(super) prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct InputDetails {
    #[serde(default, deserialize_with = "count")]
    pub(super) cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) cache_write_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct OutputDetails {
    #[serde(default, deserialize_with = "count")]
    pub(super) reasoning_tokens: Option<u64>,
}

/// A response of the Responses API.
#[derive(Debug, Deserialize)]
pub(super) struct Response {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) status: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) model: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) incomplete_details: Option<Incomplete>,
    #[serde(default, deserialize_with = "items")]
    pub(super) output: Vec<Item>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) usage: Option<Counts>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Incomplete {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) reason: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Item {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "items")]
    pub(super) content: Vec<Part>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Part {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) text: String,
}
