//! From the parts of a chat completion to a [`Completion`].

use deja_core::provider::{Completion, Finish, TokenUsage};

use super::wire;

/// What the first choice has said, in one piece or in many.
#[derive(Debug, Default)]
pub(super) struct Seen {
    text: String,
    finish: Option<String>,
    refused: bool,
    tools: bool,
}

impl Seen {
    pub(super) fn add(&mut self, choice: wire::Choice) {
        if let Some(message) = choice.message {
            self.text.push_str(&message.content);
            self.refused |= message.refusal.is_some_and(|refusal| !refusal.is_empty());
            self.tools |= !message.tool_calls.is_empty() || message.function_call.is_object();
        }
        // Later chunks may carry null or an empty string again.
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason);
        }
    }

    pub(super) fn completion(
        self,
        choices: u32,
        model: Option<String>,
        usage: Option<&wire::Counts>,
    ) -> Completion {
        let finish = match self.finish.as_deref() {
            Some("stop" | "eos") if self.refused => Finish::Refusal,
            // Some servers say `stop` although the model asks for a tool.
            Some("stop" | "eos") if self.tools => Finish::ToolCalls,
            Some("stop" | "eos") => Finish::Stop,
            Some("length" | "model_length") => Finish::Length,
            Some("tool_calls" | "function_call") => Finish::ToolCalls,
            Some("content_filter") => Finish::ContentFilter,
            _ => Finish::Unknown,
        };
        let model = model.filter(|model| !model.is_empty());
        Completion { text: self.text, finish, choices, model, usage: usage.and_then(wire::Counts::shared) }
    }
}

impl wire::Counts {
    /// In the terms that all providers share; `None` if there is no number in it.
    pub(super) fn shared(&self) -> Option<TokenUsage> {
        if self.prompt_tokens.is_none() && self.completion_tokens.is_none() {
            return None;
        }
        let input_total = self.prompt_tokens.unwrap_or(0);
        let mut output_total = self.completion_tokens.unwrap_or(0);
        let reasoning = self.completion_tokens_details.reasoning_tokens;
        // xAI leaves reasoning out of `completion_tokens`. Its own total gives it away.
        let apart = reasoning.unwrap_or(0);
        if apart > 0
            && (apart > output_total || self.total_tokens == Some(input_total + output_total + apart))
        {
            output_total += apart;
        }
        let details = &self.prompt_tokens_details;
        let cache_read = details.cached_tokens.or(self.prompt_cache_hit_tokens).unwrap_or(0);
        let cache_write = details.cache_write_tokens.unwrap_or(0);
        Some(TokenUsage { input_total, cache_read, cache_write, output_total, reasoning })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::{Value, json};

    fn usage(value: Value) -> Option<TokenUsage> {
        wire::Counts::deserialize(value).unwrap().shared()
    }

    #[test]
    fn reasoning_beside_the_output_is_added_to_it() {
        let details = json!({"reasoning_tokens": 100});
        let beside = json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 130, "completion_tokens_details": details});
        assert_eq!(usage(beside).unwrap().output_total, 120);
        let inside = json!({"prompt_tokens": 10, "completion_tokens": 120, "total_tokens": 130, "completion_tokens_details": details});
        assert_eq!(usage(inside).unwrap().output_total, 120);
    }

    #[test]
    fn odd_usage_is_read_or_left_out() {
        assert_eq!(usage(json!({})), None);
        assert_eq!(usage(json!({"prompt_tokens": "many", "completion_tokens": null})), None);
        let floats =
            usage(json!({"prompt_tokens": 3.0, "completion_tokens": 4, "prompt_tokens_details": 7})).unwrap();
        assert_eq!((floats.input_total, floats.output_total, floats.cache_read), (3, 4, 0));
    }
}
