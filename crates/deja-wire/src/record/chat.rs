//! Plain chat completions. Sources: OpenAI's OpenAPI description 2.3.0 and the documentation of the compatible servers.

use serde::Deserialize;
use serde_json::Value;

use super::counts::Counts;
use super::{is_arguments, is_reason, joined, only};
use crate::json::is_silent;
use crate::lenient::{items, or_default, text};
use crate::{Completion, Finish};

/// Members with reports of servers on how they worked: no part of the answer, and none of a stream that deja writes.
/// Groq, llama.cpp, Azure, Cerebras, LM Studio (three), Zhipu; OpenAI pads its chunks with `obfuscation`.
pub(super) const REPORTS: &[&str] = &[
    "x_groq", "usage_breakdown", "timings", "prompt_filter_results", "time_info", "stats", "model_info",
    "runtime", "request_id", "obfuscation",
];

/// Members of a choice in which servers report: Azure, OpenRouter, Together, SGLang, vLLM.
pub(super) const CHOICE_REPORTS: &[&str] = &[
    "content_filter_results", "content_filter_offsets", "native_finish_reason", "matched_stop", "seed",
    "stop_reason",
];

/// Members of a message with what the model thought, as text: of DeepSeek, llama.cpp and older vLLM; of Ollama, Groq, OpenRouter and newer
/// vLLM. Some servers send both.
pub(crate) const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];

/// The member of a message with the signature of Gemini's compatible endpoint.
pub(crate) const SIGNED: &str = "extra_content";

/// Whether a value of [`SIGNED`] is a signature and nothing more. It may be missing from the next turn where it is not of a call of a tool.
pub(super) fn is_signature(value: &Value) -> bool {
    let google = &value["google"];
    google["thought_signature"].is_string()
        && only(value, &[&["google"]])
        && only(google, &[&["thought_signature"]])
}

/// Members that a stream has in every chunk: OpenAI's and OpenRouter's.
const HEAD: &[&str] = &["id", "object", "created", "model", "service_tier", "system_fingerprint", "provider"];

/// Whether a member of an answer, with this value, is such a report.
pub(super) fn is_report(name: &str, value: &Value) -> bool {
    match name {
        // SGLang's. Elsewhere they may be the labels of a request, which are for nobody else.
        "metadata" => only(value, &[&["weight_version"]]),
        // MiniMax's, which says here that a call failed, too.
        "base_resp" => value["status_code"] == 0 && only(value, &[&["status_code", "status_msg"]]),
        _ => REPORTS.contains(&name),
    }
}

/// What `body` says; `None` if it is no chat completion.
pub(super) fn completion(body: Value) -> Option<Completion> {
    let answer = Answer::deserialize(body).ok()?;
    let highest = answer.choices.iter().map(|choice| choice.index.saturating_add(1)).max()?;
    let choices = highest.max(answer.choices.len() as u32);
    let texts: String = answer.choices.iter().filter_map(Choice::text_alone).collect();
    let first = answer.choices.into_iter().min_by_key(|choice| choice.index)?;
    let message = first.message.unwrap_or_default();
    let finish = match first.finish_reason.as_deref() {
        Some("stop" | "eos") if message.refusal.as_ref().is_some_and(|refusal| !refusal.is_empty()) => {
            Finish::Refusal
        }
        // Some servers say `stop` although the model asks for a tool.
        Some("stop" | "eos") if !message.tool_calls.is_empty() || message.function_call.is_object() => {
            Finish::ToolCalls
        }
        Some("stop" | "eos") => Finish::Stop,
        Some("length" | "model_length") => Finish::Length,
        Some("tool_calls" | "function_call") => Finish::ToolCalls,
        Some("content_filter") => Finish::ContentFilter,
        _ => Finish::Unknown,
    };
    let calls = message.tool_calls.iter().flat_map(|call| {
        let (function, custom) = (&call["function"], &call["custom"]);
        [&function["name"], &function["arguments"], &custom["name"], &custom["input"]]
    });
    let calls = calls.chain([&message.function_call["name"], &message.function_call["arguments"]]);
    let thoughts = message.reasoning_content.or(message.reasoning);
    let besides = thoughts.into_iter().chain(message.refusal).chain([joined(calls), texts]).collect();
    let model = answer.model.filter(|model| !model.is_empty());
    let usage = answer.usage.and_then(|usage| usage.shared());
    Some(Completion { text: message.content, besides, finish, choices, model, usage })
}

/// Whether `body` is one choice that is text, thoughts as text, calls of functions, the reason of its end, and nothing else.
pub(super) fn renderable(body: &Value) -> bool {
    let Some([choice]) = body["choices"].as_array().map(Vec::as_slice) else { return false };
    let message = &choice["message"];
    let known = |name: &str, value: &Value| {
        HEAD.contains(&name)
            || matches!(name, "choices" | "usage")
            || is_report(name, value)
            || is_silent(value)
    };
    body.as_object().is_some_and(|members| members.iter().all(|(name, value)| known(name, value)))
        && only(choice, &[CHOICE_REPORTS, &["index", "message", "finish_reason"]])
        && only(message, &[&["role", "content", "tool_calls", SIGNED], &THOUGHTS])
        && THOUGHTS
            .iter()
            .all(|name| message.get(name).is_none_or(|text| text.is_string() || is_silent(text)))
        && message.get(SIGNED).is_none_or(|signed| is_signature(signed) || is_silent(signed))
        && choice.get("index").is_none_or(|index| index == 0)
        && is_reason(&choice["finish_reason"])
        && message.get("role").is_none_or(|role| role == "assistant")
        && match &message["tool_calls"] {
            Value::Array(calls) if !calls.is_empty() => {
                calls.iter().all(is_call) && (message["content"].is_string() || message["content"].is_null())
            }
            Value::Array(_) | Value::Null => message["content"].is_string(),
            _ => false,
        }
}

/// Whether `call` calls a function, and nothing more is said of it.
fn is_call(call: &Value) -> bool {
    let function = &call["function"];
    call["type"] == "function"
        && call["id"].is_string()
        && function["name"].is_string()
        && is_arguments(&function["arguments"])
        && only(call, &[&["id", "type", "function", "index"]])
        && only(function, &[&["name", "arguments"]])
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default, deserialize_with = "or_default")]
    model: Option<String>,
    #[serde(default, deserialize_with = "items")]
    choices: Vec<Choice>,
    #[serde(default, deserialize_with = "or_default")]
    usage: Option<Counts>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default, deserialize_with = "or_default")]
    index: u32,
    #[serde(default, deserialize_with = "or_default")]
    finish_reason: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    message: Option<Message>,
    /// Of older completions. Together's chat completions have it beside the message.
    #[serde(default, deserialize_with = "or_default")]
    text: Option<String>,
}

impl Choice {
    /// The text, if it says what no message says.
    fn text_alone(&self) -> Option<&str> {
        let silent = self.message.as_ref().is_none_or(|message| message.content.is_empty());
        self.text.as_deref().filter(|_| silent)
    }
}

#[derive(Debug, Default, Deserialize)]
struct Message {
    #[serde(default, deserialize_with = "text")]
    content: String,
    #[serde(default, deserialize_with = "or_default")]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    reasoning: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    tool_calls: Vec<Value>,
    #[serde(default)]
    function_call: Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(choice: &Value) -> Value {
        json!({"id": "x", "model": "m", "choices": [choice]})
    }

    #[test]
    fn answers_of_other_shapes_are_refused_or_not_stored() {
        for body in [json!({}), json!({"choices": []}), json!({"choices": null}), json!([]), json!("x")] {
            assert_eq!(completion(body.clone()), None, "{body}");
            assert!(!renderable(&body), "{body}");
        }
        for choice in
            [json!({}), json!({"message": {"content": "x"}}), json!({"finish_reason": 7, "message": 1})]
        {
            assert_eq!(completion(answer(&choice)).unwrap().finish, Finish::Unknown, "{choice}");
        }
        let tool = json!({"finish_reason": "stop", "message": {"content": "x", "tool_calls": [{}]}});
        assert_eq!(completion(answer(&tool)).unwrap().finish, Finish::ToolCalls);
    }

    #[test]
    fn finish_reasons_follow_the_table() {
        for (reason, finish) in [
            ("stop", Finish::Stop),
            ("eos", Finish::Stop),
            ("length", Finish::Length),
            ("model_length", Finish::Length),
            ("tool_calls", Finish::ToolCalls),
            ("function_call", Finish::ToolCalls),
            ("content_filter", Finish::ContentFilter),
            ("insufficient_system_resource", Finish::Unknown),
            ("error", Finish::Unknown),
            ("load", Finish::Unknown),
            ("", Finish::Unknown),
        ] {
            let choice = json!({"finish_reason": reason, "message": {"content": "x"}});
            assert_eq!(completion(answer(&choice)).unwrap().finish, finish, "{reason}");
        }
        let refused = json!({"finish_reason": "stop", "message": {"content": null, "refusal": "No."}});
        assert_eq!(completion(answer(&refused)).unwrap().finish, Finish::Refusal);
    }

    #[test]
    fn only_text_is_given_again() {
        let message = json!({"role": "assistant", "content": "x"});
        assert!(renderable(&answer(&json!({"index": 0, "message": message, "finish_reason": "stop"}))));
        let quiet = json!({"role": "assistant", "content": "x", "refusal": null, "annotations": [], "tool_calls": [],
            "reasoning_content": "", "audio": null, "new": {}, "provider_specific_fields": {"refusal": null, "parts": [{}, ""]}});
        assert!(renderable(&answer(
            &json!({"message": quiet, "logprobs": null, "finish_reason": "stop", "native_finish_reason": "stop"})
        )));
        for (name, value) in [
            ("reasoning_content", json!("Hm.")),
            ("reasoning", json!("Hm.")),
            ("extra_content", json!({"google": {"thought_signature": "EqQB"}})),
        ] {
            let mut other = message.clone();
            other[name] = value;
            assert!(renderable(&answer(&json!({"message": other, "finish_reason": "stop"}))), "{name}");
        }
        for (name, value) in [
            ("refusal", json!("No.")),
            ("annotations", json!([{"type": "url_citation"}])),
            ("tool_calls", json!([{"id": "c"}])),
            ("tool_calls", json!([{"id": "c", "type": "custom", "custom": {"name": "f", "input": "x"}}])),
            (
                "tool_calls",
                json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}", "new": 1}}]),
            ),
            (
                "tool_calls",
                json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"x\":"}}]),
            ),
            ("tool_calls", json!({"id": "c"})),
            ("function_call", json!({"name": "f"})),
            ("reasoning_content", json!(["Hm."])),
            ("reasoning_details", json!([{"type": "reasoning.encrypted", "data": "x"}])),
            ("extra_content", json!({"google": {"thought": true}})),
            ("extra_content", json!({"google": {"thought_signature": "EqQB", "new": 1}})),
            ("extra_content", json!({"google": {"thought_signature": "EqQB"}, "new": 1})),
            ("audio", json!({"id": "a"})),
            ("role", json!("tool")),
            ("content", json!([{"type": "text", "text": "x"}])),
            ("content", Value::Null),
            ("new", json!(true)),
        ] {
            let mut other = message.clone();
            other[name] = value;
            assert!(!renderable(&answer(&json!({"message": other, "finish_reason": "stop"}))), "{name}");
        }
        let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
        for content in [json!("Let me see."), Value::Null] {
            let message = json!({"role": "assistant", "content": content, "tool_calls": [call, call]});
            assert!(renderable(&answer(&json!({"message": message, "finish_reason": "tool_calls"}))));
        }
        for (name, value) in [
            ("logprobs", json!({"content": [{"token": "x"}]})),
            ("index", json!(1)),
            ("new", json!(0)),
            ("finish_reason", Value::Null),
            ("finish_reason", json!("")),
        ] {
            let mut choice = json!({"message": message, "finish_reason": "stop"});
            choice[name] = value;
            assert!(!renderable(&answer(&choice)), "{choice}");
        }
        let choice = json!({"message": message, "finish_reason": "stop"});
        for (name, value, expected) in [
            ("metadata", json!({"weight_version": "default"}), true),
            ("metadata", json!({"customer": "ann"}), false),
            ("base_resp", json!({"status_code": 0, "status_msg": "success"}), true),
            ("base_resp", json!({"status_code": 1027, "status_msg": "sensitive"}), false),
            ("stats", json!({"tokens_per_second": 51.4}), true),
            ("request_id", json!("2026"), true),
        ] {
            let body = json!({"choices": [choice], name: value});
            assert_eq!(renderable(&body), expected, "{body}");
        }
        assert!(!renderable(&json!({"choices": [choice, choice]})));
        assert!(!renderable(&json!({"choices": [choice], "citations": ["https://example.org"]})));
    }
}
