//! OpenAI's numbers of tokens, in chat completions and in Responses.

use serde::Deserialize;
use serde_json::Value;

use crate::TokenUsage;
use crate::lenient::{count, or_default};

/// Numbers of tokens, by the names of chat completions, of Responses, or of both: some gateways send both, one of them at 0.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Counts {
    #[serde(default, deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    total_tokens: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    prompt_tokens_details: InputDetails,
    #[serde(default, deserialize_with = "or_default")]
    input_tokens_details: InputDetails,
    #[serde(default, deserialize_with = "or_default")]
    completion_tokens_details: OutputDetails,
    #[serde(default, deserialize_with = "or_default")]
    output_tokens_details: OutputDetails,
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

/// The numbers in `told`.
pub(super) fn usage(told: Value) -> Option<TokenUsage> {
    Counts::deserialize(told).ok()?.shared()
}

impl Counts {
    /// In the terms that all providers share; `None` if there is no number in it.
    pub(super) fn shared(&self) -> Option<TokenUsage> {
        // A number has two names. The larger value counts: any number is more than none, and 0 beside another says nothing.
        let input = self.prompt_tokens.max(self.input_tokens);
        let output = self.completion_tokens.max(self.output_tokens);
        if input.is_none() && output.is_none() {
            return None;
        }
        let input_total = input.unwrap_or(0);
        let mut output_total = output.unwrap_or(0);
        let (completion, output) = (&self.completion_tokens_details, &self.output_tokens_details);
        let reasoning = completion.reasoning_tokens.max(output.reasoning_tokens);
        // xAI leaves reasoning out of `completion_tokens`. Its own total gives it away.
        let apart = reasoning.unwrap_or(0);
        if apart > 0
            && (apart > output_total || self.total_tokens == Some(input_total + output_total + apart))
        {
            output_total += apart;
        }
        let (prompt, input) = (&self.prompt_tokens_details, &self.input_tokens_details);
        let cached = prompt.cached_tokens.max(input.cached_tokens);
        let cache_read = cached.or(self.prompt_cache_hit_tokens).unwrap_or(0);
        let cache_write = prompt.cache_write_tokens.max(input.cache_write_tokens).unwrap_or(0);
        Some(TokenUsage { input_total, cache_read, cache_write, cache_write_1h: 0, output_total, reasoning })
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
    fn of_both_names_the_one_that_says_something_counts() {
        let (prompt, input) = (json!({"cached_tokens": 40}), json!({"cached_tokens": 0}));
        let (completion, output) = (json!({"reasoning_tokens": 20}), Value::Null);
        for (one, other) in [(5000, json!(0)), (5000, Value::Null), (5000, json!(5000))] {
            let chat = json!({"prompt_tokens": one, "completion_tokens": one, "total_tokens": 10_000, "input_tokens": other,
                "output_tokens": other, "prompt_tokens_details": prompt, "input_tokens_details": input,
                "completion_tokens_details": completion, "output_tokens_details": output});
            let responses = json!({"input_tokens": one, "output_tokens": one, "total_tokens": 10_000, "prompt_tokens": other,
                "completion_tokens": other, "input_tokens_details": prompt, "prompt_tokens_details": input,
                "output_tokens_details": completion, "completion_tokens_details": output});
            for both in [chat, responses] {
                let said = usage(both.clone()).unwrap();
                assert_eq!((said.input_total, said.output_total), (5000, 5000), "{both}");
                assert_eq!((said.cache_read, said.reasoning), (40, Some(20)), "{both}");
            }
        }
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
