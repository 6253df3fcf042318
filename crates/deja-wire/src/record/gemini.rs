//! Plain answers of Gemini's `generateContent`. Source: the SDK's types of 2026-08 and the API reference.

use serde::Deserialize;
use serde_json::Value;

use super::{is_reason, joined, only};
use crate::json::is_silent;
use crate::lenient::{count, items, or_default};
use crate::{Completion, Finish, TokenUsage};

/// What `body` says; `None` if it is no answer. Without `alt=sse` a stream is one JSON array; some servers answer with an
/// array of one piece.
pub(super) fn completion(body: Value) -> Option<Completion> {
    let pieces = match body {
        Value::Array(pieces) => pieces,
        piece => vec![piece],
    };
    let mut seen = Seen::default();
    for piece in pieces {
        seen.add(Answer::deserialize(piece).ok()?);
    }
    (seen.choices > 0 || seen.blocked || seen.usage.is_some()).then(|| seen.completion())
}

/// What numbers of tokens say.
pub(super) fn usage(counts: Value) -> Option<TokenUsage> {
    UsageMetadata::deserialize(counts).ok()?.shared()
}

/// Whether `body` is one candidate that is text, calls of functions, the reason of its end, and nothing else.
pub(super) fn renderable(body: &Value) -> bool {
    let Some([candidate]) = body["candidates"].as_array().map(Vec::as_slice) else { return false };
    let content = &candidate["content"];
    let known = |part: &Value| {
        let call = &part["functionCall"];
        let called = call["name"].is_string() && only(call, &[&["name", "args", "id"]]);
        // A signature of a text may be missing from the next turn, and is left out of what is given again.
        part["text"].is_string() && only(part, &[&["text", "thoughtSignature"]])
            || called && only(part, &[&["functionCall"]])
    };
    // What the filters thought of the prompt is no part of the answer, unless they blocked it. Nor is the state of the model's release.
    let unblocked = body.get("promptFeedback").is_none_or(|feedback| only(feedback, &[&["safetyRatings"]]));
    only(body, &[HEAD, &["candidates", "usageMetadata", "promptFeedback"]])
        && (unblocked || is_silent(&body["promptFeedback"]))
        && only(candidate, &[&["content", "finishReason", "index"], REPORTS])
        && only(content, &[&["parts", "role"]])
        && candidate.get("index").is_none_or(|index| index == 0)
        && is_reason(&candidate["finishReason"])
        && content.get("role").is_none_or(|role| role == "model")
        && content["parts"].as_array().is_some_and(|parts| parts.iter().all(known))
}

/// Members of an answer that say where it is from.
const HEAD: &[&str] = &["modelVersion", "modelStatus", "responseId", "createTime"];

/// Members of a candidate that report on it.
pub(super) const REPORTS: &[&str] = &["avgLogprobs", "finishMessage", "safetyRatings", "tokenCount"];

/// What the pieces say together.
#[derive(Debug, Default)]
struct Seen {
    text: String,
    besides: String,
    finish: Option<String>,
    blocked: bool,
    tools: bool,
    choices: u32,
    usage: Option<UsageMetadata>,
    model: Option<String>,
}

impl Seen {
    fn add(&mut self, answer: Answer) {
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
                self.besides.push_str(&joined([&part.function_call["name"], &part.function_call["args"]]));
                if part.thought { &mut self.besides } else { &mut self.text }.push_str(&part.text);
            }
            self.finish = candidate.finish_reason.filter(|reason| !reason.is_empty()).or(self.finish.take());
        }
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
        let usage = self.usage.and_then(UsageMetadata::shared);
        let Self { text, besides, choices, model, .. } = self;
        Completion { text, besides, finish, choices, model, usage }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default, deserialize_with = "items")]
    candidates: Vec<Candidate>,
    #[serde(default, deserialize_with = "or_default")]
    prompt_feedback: Option<PromptFeedback>,
    #[serde(default, deserialize_with = "or_default")]
    usage_metadata: Option<UsageMetadata>,
    #[serde(default, deserialize_with = "or_default")]
    model_version: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    #[serde(default, deserialize_with = "or_default")]
    block_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default, deserialize_with = "or_default")]
    index: u32,
    #[serde(default, deserialize_with = "or_default")]
    finish_reason: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    content: Content,
}

#[derive(Debug, Default, Deserialize)]
struct Content {
    #[serde(default, deserialize_with = "items")]
    parts: Vec<Part>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(default, deserialize_with = "or_default")]
    text: String,
    /// The text is a thought, not part of the answer.
    #[serde(default, deserialize_with = "or_default")]
    thought: bool,
    #[serde(default)]
    function_call: Value,
}

#[expect(clippy::struct_field_names, reason = "the names are Gemini's")]
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageMetadata {
    #[serde(default, deserialize_with = "count")]
    prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cached_content_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    thoughts_token_count: Option<u64>,
}

impl UsageMetadata {
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
            cache_write_1h: 0,
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
            assert_eq!(completion(answer(reason, &text)).unwrap().finish, finish, "{reason}");
        }
        let call = json!({"functionCall": {"name": "f"}});
        assert_eq!(completion(answer("STOP", &call)).unwrap().finish, Finish::ToolCalls);
    }

    #[test]
    fn an_array_of_pieces_is_one_answer_but_not_one_that_is_given_again() {
        let pieces = json!([
            {"candidates": [{"content": {"parts": [{"text": "a"}]}}]},
            answer("STOP", &json!({"text": "b"})),
        ]);
        assert!(!renderable(&pieces));
        let completion = completion(pieces).unwrap();
        assert_eq!((completion.text.as_str(), completion.finish), ("ab", Finish::Stop));
    }

    #[test]
    fn other_json_is_not_an_answer() {
        for body in [json!({}), json!([]), json!({"candidates": []}), json!(3), json!({"choices": [{}]})] {
            assert_eq!(completion(body.clone()), None, "{body}");
        }
    }

    #[test]
    fn only_text_is_given_again() {
        assert!(renderable(&answer("STOP", &json!({"text": "x"}))));
        assert!(renderable(&answer("STOP", &json!({"text": "x", "thoughtSignature": "Eq="}))));
        assert!(renderable(&answer("STOP", &json!({"functionCall": {"name": "f", "args": {"x": 1}}}))));
        for part in [
            json!({"text": "x", "thought": true}),
            json!({"functionCall": {"args": {}}}),
            json!({"functionCall": {"name": "f"}, "thoughtSignature": "Eq="}),
            json!({"text": "x", "functionCall": {"name": "f"}}),
            json!({"inlineData": {"mimeType": "image/png", "data": ""}}),
        ] {
            assert!(!renderable(&answer("STOP", &part)), "{part}");
        }
        assert!(!renderable(&answer("", &json!({"text": "x"}))));
        let grounded = json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP", "groundingMetadata": {"webSearchQueries": ["x"]}}]});
        assert!(!renderable(&grounded));
    }
}
