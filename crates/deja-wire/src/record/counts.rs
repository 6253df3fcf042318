//! OpenAI's numbers of tokens, in chat completions and in Responses.

use serde::Deserialize;
use serde_json::Value;

use crate::TokenUsage;
use crate::lenient::{count, or_default};

/// What numbers of tokens say.
pub(super) fn usage(counts: Value) -> Option<TokenUsage> {
    Counts::deserialize(counts).ok()?.shared()
}

/// Numbers of tokens, by the names of chat completions or of Responses.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Counts {
    #[serde(default, alias = "input_tokens", deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(default, alias = "output_tokens", deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    total_tokens: Option<u64>,
    #[serde(default, alias = "input_tokens_details", deserialize_with = "or_default")]
    prompt_tokens_details: InputDetails,
    #[serde(default, alias = "output_tokens_details", deserialize_with = "or_default")]
    completion_tokens_details: OutputDetails,
    /// DeepSeek.
    #[serde(default, deserialize_with = "count")]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct InputDetails {
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "count")]
    reasoning_tokens: Option<u64>,
}

impl Counts {
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
    use serde_json::json;

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
        for absurd in
            [json!(u64::MAX), json!(i64::MAX), json!(1_000_000_000_001_u64), json!(1e300), json!(-1)]
        {
            assert_eq!(
                usage(json!({"prompt_tokens": absurd, "completion_tokens": absurd})),
                None,
                "{absurd}"
            );
        }
        let most = usage(json!({"prompt_tokens": 1_000_000_000_000_u64, "completion_tokens": 1e12})).unwrap();
        assert_eq!((most.input_total, most.output_total), (1_000_000_000_000, 1_000_000_000_000));
    }
}
