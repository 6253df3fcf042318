//! A chat completion in OpenAI's format.

use serde::Serialize;

use super::provider::MODEL;

pub(super) const ID: &str = "chatcmpl-bench";
pub(super) const CREATED: u64 = 1_700_000_000;

#[derive(Serialize)]
pub(crate) struct Completion<'a> {
    id: &'a str,
    object: &'a str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: Usage,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    logprobs: Option<&'a str>,
    finish_reason: &'a str,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
    refusal: Option<&'a str>,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "as OpenAI names them")]
struct Usage {
    prompt_tokens: u32,
    completion_tokens: u32,
    total_tokens: u32,
}

impl<'a> Completion<'a> {
    /// A complete answer with this text.
    pub(crate) const fn new(content: &'a str) -> Self {
        let message = Message { role: "assistant", content, refusal: None };
        Self {
            id: ID,
            object: "chat.completion",
            created: CREATED,
            model: MODEL,
            choices: [Choice { index: 0, message, logprobs: None, finish_reason: "stop" }],
            usage: Usage { prompt_tokens: 24, completion_tokens: 42, total_tokens: 66 },
        }
    }

    /// As it is sent.
    pub(crate) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}
