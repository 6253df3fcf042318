//! From an answer of `generateContent`, whole or streamed, to a [`Completion`].

use deja_core::provider::{Completion, Finish, TokenUsage};
use serde::Deserialize;
use serde_json::Value;

use super::wire;
use crate::format::{Fold, Format, Next, NotAnAnswer};

/// The format of `:generateContent`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Generate;

impl Format for Generate {
    fn completion(&self, body: Value) -> Result<Completion, NotAnAnswer> {
        // Without `alt=sse` a stream is one JSON array; a plain answer is an array of one piece.
        let pieces = match body {
            Value::Array(pieces) => pieces,
            piece => vec![piece],
        };
        let mut seen = Seen::default();
        for piece in pieces {
            seen.add(wire::Answer::deserialize(piece).map_err(|_| NotAnAnswer)?);
        }
        if seen.is_answer() { Ok(seen.completion()) } else { Err(NotAnAnswer) }
    }

    fn fold(&self) -> Box<dyn Fold> {
        Box::new(Seen::default())
    }
}

/// The pieces so far.
#[derive(Debug, Default)]
struct Seen {
    text: String,
    finish: Option<String>,
    blocked: bool,
    tools: bool,
    choices: u32,
    usage: Option<wire::UsageMetadata>,
    model: Option<String>,
}

impl Seen {
    fn add(&mut self, answer: wire::Answer) {
        // Cumulative: the last one counts.
        self.usage = answer.usage_metadata.or(self.usage);
        self.model = answer.model_version.filter(|model| !model.is_empty()).or(self.model.take());
        self.blocked |= answer.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some());
        for candidate in answer.candidates {
            self.choices = self.choices.max(candidate.index.saturating_add(1));
            if candidate.index > 0 {
                continue;
            }
            for part in candidate.content.parts {
                self.tools |= part.function_call.is_object();
                if !part.thought {
                    self.text.push_str(&part.text);
                }
            }
            self.finish = candidate.finish_reason.filter(|reason| !reason.is_empty()).or(self.finish.take());
        }
    }

    const fn is_answer(&self) -> bool {
        self.choices > 0 || self.blocked || self.usage.is_some()
    }

    fn completion(self) -> Completion {
        let finish = match self.finish.as_deref() {
            _ if self.blocked => Finish::ContentFilter,
            // A function call ends with STOP as well.
            Some("STOP") if self.tools => Finish::ToolCalls,
            Some("STOP") => Finish::Stop,
            Some("MAX_TOKENS") => Finish::Length,
            Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII") => {
                Finish::ContentFilter
            }
            _ => Finish::Unknown,
        };
        let usage = self.usage.and_then(wire::UsageMetadata::shared);
        Completion { text: self.text, finish, choices: self.choices, model: self.model, usage }
    }
}

impl Fold for Seen {
    fn event(&mut self, event: Value) -> Next {
        if let Ok(answer) = wire::Answer::deserialize(event) {
            self.add(answer);
        }
        Next::More
    }

    fn completion(self: Box<Self>) -> Option<Completion> {
        // There is no end mark: the body ends after a finish reason.
        (self.finish.is_some() || self.blocked).then(|| Self::completion(*self))
    }
}

impl wire::UsageMetadata {
    /// In the terms that all providers share; `None` if there is no number in it.
    fn shared(self) -> Option<TokenUsage> {
        if self.prompt_token_count.is_none() && self.candidates_token_count.is_none() {
            return None;
        }
        let sum = |a: Option<u64>, b: Option<u64>| a.unwrap_or(0).saturating_add(b.unwrap_or(0));
        Some(TokenUsage {
            input_total: sum(self.prompt_token_count, self.tool_use_prompt_token_count),
            cache_read: self.cached_content_token_count.unwrap_or(0),
            cache_write: 0,
            output_total: sum(self.candidates_token_count, self.thoughts_token_count),
            reasoning: self.thoughts_token_count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(reason: &str, part: &Value) -> Value {
        json!({"candidates": [{"content": {"parts": [part]}, "finishReason": reason}]})
    }

    #[test]
    fn finish_reasons_follow_the_table() {
        let text = json!({"text": "x"});
        for (reason, finish) in [
            ("STOP", Finish::Stop),
            ("SPII", Finish::ContentFilter),
            ("LANGUAGE", Finish::Unknown),
            ("IMAGE_SAFETY", Finish::Unknown),
            ("", Finish::Unknown),
        ] {
            assert_eq!(Generate.completion(answer(reason, &text)).unwrap().finish, finish, "{reason}");
        }
        let call = json!({"functionCall": {"name": "f"}});
        assert_eq!(Generate.completion(answer("STOP", &call)).unwrap().finish, Finish::ToolCalls);
    }

    #[test]
    fn an_array_of_pieces_is_one_answer() {
        let pieces = json!([
            {"candidates": [{"content": {"parts": [{"text": "a"}]}}]},
            answer("STOP", &json!({"text": "b"})),
        ]);
        let completion = Generate.completion(pieces).unwrap();
        assert_eq!((completion.text.as_str(), completion.finish), ("ab", Finish::Stop));
    }

    #[test]
    fn other_json_is_not_an_answer() {
        for body in [json!({}), json!([]), json!({"candidates": []}), json!(3), json!({"choices": [{}]})] {
            assert_eq!(Generate.completion(body.clone()), Err(NotAnAnswer), "{body}");
        }
    }
}
