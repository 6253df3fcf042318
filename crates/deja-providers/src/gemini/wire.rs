//! The JSON of `generateContent` and its stream, as much of it as deja needs.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::lenient::{count, items, or_default};

pub(super) fn request(context: Option<&str>, prompt: &str) -> Value {
    let mut request = json!({"contents": [{"role": "user", "parts": [{"text": prompt}]}]});
    if let Some(context) = context {
        request["systemInstruction"] = json!({"parts": [{"text": context}]});
    }
    request
}

/// An answer, or one piece of a streamed one: they have the same form.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    #[serde(default, deserialize_with = "items")]
    pub(super) candidates: Vec<Candidate>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) prompt_feedback: Option<PromptFeedback>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) usage_metadata: Option<UsageMetadata>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) model_version: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) block_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) index: u32,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) finish_reason: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) content: Content,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Content {
    #[serde(default, deserialize_with = "items")]
    pub(super) parts: Vec<Part>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) text: String,
    /// The text is a thought, not part of the answer.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) thought: bool,
    #[serde(default)]
    pub(super) function_call: Value,
}

#[expect(clippy::struct_field_names, reason = "the names are Gemini's")]
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageMetadata {
    #[serde(default, deserialize_with = "count")]
    pub(super) prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) tool_use_prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) cached_content_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) thoughts_token_count: Option<u64>,
}
