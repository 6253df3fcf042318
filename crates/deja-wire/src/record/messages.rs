//! Plain messages of Anthropic's Messages API. Source: the SDK's types of 2026-08 and the API reference.

use serde::Deserialize;
use serde_json::Value;

use super::{is_direct, is_reason, joined, only};
use crate::lenient::{count, items, or_default};
use crate::{Completion, Finish, TokenUsage};

/// What `body` says; `None` if it is no message.
pub(super) fn completion(body: Value) -> Option<Completion> {
    let message = Message::deserialize(body).ok()?;
    if message.kind != "message" && message.content.is_empty() && message.stop_reason.is_none() {
        return None;
    }
    let finish = match message.stop_reason.as_deref() {
        // Asking for a tool never ends a turn, but a gateway may say so.
        Some("end_turn" | "stop_sequence") if message.content.iter().any(|b| b.kind == "tool_use") => {
            Finish::ToolCalls
        }
        Some("end_turn" | "stop_sequence") => Finish::Stop,
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("tool_use") => Finish::ToolCalls,
        Some("refusal") => Finish::Refusal,
        _ => Finish::Unknown,
    };
    let text = message.content.iter().filter(|block| block.kind == "text").map(|block| block.text.as_str());
    let besides = message.content.iter().flat_map(|block| [&block.thinking, &block.name, &block.input]);
    let besides = joined(besides);
    let (text, model) = (text.collect(), message.model.filter(|model| !model.is_empty()));
    let usage = message.usage.and_then(Counts::shared);
    Some(Completion { text, besides, finish, choices: 1, model, usage })
}

/// What numbers of tokens say.
pub(super) fn usage(counts: Value) -> Option<TokenUsage> {
    Counts::deserialize(counts).ok()?.shared()
}

/// Whether `body` is text, calls of tools, the reason of its end, and nothing else. Beside a text there may be thoughts that nobody can
/// read; they are left out of what is given again. The provider wants them back only with the calls of tools that they led to.
pub(super) fn renderable(body: &Value) -> bool {
    const KNOWN: &[&str] =
        &["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"];
    let blocks = body["content"].as_array().map(Vec::as_slice);
    let calls = blocks.is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_use"));
    let known = |block: &Value| match block["type"].as_str() {
        Some("text") => block["text"].is_string() && only(block, &[&["type", "text"]]),
        Some("tool_use") => {
            block["id"].is_string()
                && block["name"].is_string()
                && block["input"].is_object()
                && is_direct(block)
                && only(block, &[&["type", "id", "name", "input", "caller"]])
        }
        Some("thinking") => {
            !calls && block["thinking"] == "" && only(block, &[&["type", "thinking", "signature"]])
        }
        Some("redacted_thinking") => !calls && only(block, &[&["type", "data"]]),
        _ => false,
    };
    only(body, &[KNOWN])
        && body["type"] == "message"
        && body["role"] == "assistant"
        && blocks.is_some_and(|blocks| blocks.iter().all(known))
        && is_reason(&body["stop_reason"])
}

#[derive(Debug, Default, Deserialize)]
struct Message {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    kind: String,
    #[serde(default, deserialize_with = "or_default")]
    model: Option<String>,
    #[serde(default, deserialize_with = "items")]
    content: Vec<Block>,
    #[serde(default, deserialize_with = "or_default")]
    stop_reason: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    usage: Option<Counts>,
}

#[derive(Debug, Default, Deserialize)]
struct Block {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    kind: String,
    #[serde(default, deserialize_with = "or_default")]
    text: String,
    #[serde(default)]
    thinking: Value,
    #[serde(default)]
    name: Value,
    #[serde(default)]
    input: Value,
}

/// Numbers of tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Counts {
    /// Without those read from or written to the prompt cache.
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    cache_creation: Creation,
    #[serde(default, deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    output_tokens_details: OutputDetails,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Creation {
    #[serde(default, deserialize_with = "count")]
    ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "count")]
    thinking_tokens: Option<u64>,
}

impl Counts {
    /// In the terms that all providers share; `None` if there is no number in it.
    fn shared(self) -> Option<TokenUsage> {
        if self.input_tokens.is_none() && self.output_tokens.is_none() {
            return None;
        }
        let cache_read = self.cache_read_input_tokens.unwrap_or(0);
        let cache_write = self.cache_creation_input_tokens.unwrap_or(0);
        let input_total =
            self.input_tokens.unwrap_or(0).saturating_add(cache_read).saturating_add(cache_write);
        Some(TokenUsage {
            input_total,
            cache_read,
            cache_write,
            cache_write_1h: self.cache_creation.ephemeral_1h_input_tokens.unwrap_or(0),
            output_total: self.output_tokens.unwrap_or(0),
            reasoning: self.output_tokens_details.thinking_tokens,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn stop_reasons_follow_the_table() {
        for (reason, finish) in [
            ("end_turn", Finish::Stop),
            ("stop_sequence", Finish::Stop),
            ("model_context_window_exceeded", Finish::Length),
            ("pause_turn", Finish::Unknown),
            ("something_new", Finish::Unknown),
        ] {
            let body = json!({"content": [{"type": "text", "text": "x"}], "stop_reason": reason});
            assert_eq!(completion(body).unwrap().finish, finish, "{reason}");
        }
        assert_eq!(completion(json!({"ok": true})), None);
        let nothing = json!({"type": "message", "content": null, "stop_reason": null, "usage": null});
        assert_eq!(completion(nothing).unwrap().finish, Finish::Unknown);
    }

    #[test]
    fn only_text_is_given_again() {
        let message = |block: Value| {
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [block],
                "stop_reason": "end_turn", "stop_sequence": null, "container": null, "usage": {"input_tokens": 1}})
        };
        let text = json!({"type": "text", "text": "x", "citations": null});
        assert!(renderable(&message(text.clone())));
        let call =
            json!({"type": "tool_use", "id": "t", "name": "f", "input": {}, "caller": {"type": "direct"}});
        assert!(renderable(&message(call.clone())));
        for thought in [
            json!({"type": "thinking", "thinking": "", "signature": "EqQ="}),
            json!({"type": "redacted_thinking", "data": "x"}),
        ] {
            let mut answer = message(text.clone());
            answer["content"] = json!([thought, text]);
            assert!(renderable(&answer), "{thought}");
            answer["content"] = json!([thought, call]);
            assert!(!renderable(&answer), "{thought}");
        }
        for block in [
            json!({"type": "thinking", "thinking": "Hm.", "signature": "EqQ="}),
            json!({"type": "thinking", "thinking": "", "signature": "EqQ=", "new": 1}),
            json!({"type": "tool_use", "id": "t", "name": "f", "input": {}, "caller": {"type": "code_execution_20250825", "tool_id": "s"}}),
            json!({"type": "tool_use", "id": "t", "name": "f", "input": {}, "caller": {"type": "direct", "new": 1}}),
            json!({"type": "tool_use", "id": "t", "name": "f"}),
            json!({"type": "text", "text": "x", "citations": [{"type": "char_location"}]}),
            json!({"type": "text"}),
            json!({"type": "new", "text": "x"}),
        ] {
            assert!(!renderable(&message(block.clone())), "{block}");
        }
        for (name, value) in [
            ("role", json!("user")),
            ("container", json!({"id": "c"})),
            ("new", json!(1)),
            ("stop_reason", Value::Null),
        ] {
            let mut other = message(text.clone());
            other[name] = value;
            assert!(!renderable(&other), "{name}");
        }
    }
}
