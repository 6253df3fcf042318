//! An answer in terms that all providers share.

use serde::{Deserialize, Serialize};

/// Why a model stopped writing, in terms that all providers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It said all it had to say.
    Stop,
    /// It ran into a token limit: the answer is cut.
    Length,
    /// It asked for a tool.
    ToolCalls,
    /// A filter stopped it or blocked the prompt.
    ContentFilter,
    /// It declined.
    Refusal,
    /// Anything else, or nothing said.
    Unknown,
}

/// Tokens of one call, as the provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// All input tokens, those read from or written to the provider's prompt cache included.
    pub input_total: u64,
    /// Input tokens read from the provider's prompt cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's prompt cache.
    pub cache_write: u64,
    /// The part of `cache_write` that the cache keeps for an hour, if the provider tells.
    pub cache_write_1h: u64,
    /// All output tokens, reasoning included.
    pub output_total: u64,
    /// Output tokens spent on reasoning, where the provider tells.
    pub reasoning: Option<u64>,
}

/// A provider's answer, in terms that all providers share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The visible text of the first choice; empty if there is none.
    pub text: String,
    /// Other texts that the model wrote, for counting tokens: thoughts, refusals, names and arguments of tools, and what stands in
    /// the place of a message where OpenAI's older completions were asked for.
    pub besides: String,
    /// Why it ended.
    pub finish: Finish,
    /// How many choices came back.
    pub choices: u32,
    /// The model that really answered, if the provider says: often a dated id.
    pub model: Option<String>,
    /// Tokens, if the provider says.
    pub usage: Option<TokenUsage>,
}

impl Completion {
    /// What is known of an answer of which the text and the tokens alone are.
    pub const fn unread(text: String, usage: Option<TokenUsage>) -> Self {
        Self { text, besides: String::new(), finish: Finish::Unknown, choices: 1, model: None, usage }
    }

    /// All that it wrote, for counting tokens.
    pub fn written(&self) -> String {
        [self.besides.as_str(), &self.text].concat()
    }
}
