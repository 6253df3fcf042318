//! Responses of OpenAI's Responses API, plain and streamed. Source: OpenAI's OpenAPI description 2.3.0.

use serde::Deserialize;
use serde_json::Value;

use super::counts::Counts;
use super::{Event, Fold, Folded, Next, is_arguments, is_direct, joined, only};
use crate::json::Writer;
use crate::lenient::{items, or_default};
use crate::{Completion, Finish};

/// What `body` says; `None` if it is no response.
pub(super) fn completion(body: Value) -> Option<Completion> {
    let response = Response::deserialize(body).ok()?;
    let status = response.status.as_deref()?;
    let parts =
        || response.output.iter().filter(|item| item.kind == "message").flat_map(|item| &item.content);
    let refused = parts().any(|part| part.kind == "refusal");
    let call = |item: &Item| item.kind.ends_with("function_call") || item.kind == "custom_tool_call";
    let reason = response.incomplete_details.as_ref().map_or("", |details| details.reason.as_str());
    let finish = match (status, reason) {
        ("completed", _) if refused => Finish::Refusal,
        ("completed", _) if response.output.iter().any(call) => Finish::ToolCalls,
        ("completed", _) => Finish::Stop,
        ("incomplete", "max_output_tokens") => Finish::Length,
        ("incomplete", "content_filter") => Finish::ContentFilter,
        _ => Finish::Unknown,
    };
    let text = parts().filter(|part| part.kind == "output_text").map(|part| part.text.as_str()).collect();
    let besides = response.output.iter().flat_map(|item| {
        let said = item.content.iter().chain(&item.summary).filter(|part| part.kind != "output_text");
        let said = said.flat_map(|part| [part.text.clone(), part.refusal.clone()]);
        said.chain([joined([&item.name, &item.arguments, &item.input])])
    });
    let besides = besides.collect();
    let usage = response.usage.as_ref().and_then(Counts::shared);
    let model = response.model.filter(|model| !model.is_empty());
    Some(Completion { text, besides, finish, choices: 1, model, usage })
}

/// Whether the output of `body` is text, calls of functions, and marks of reasoning without content. All other members stand in the last event
/// of a stream as they do in a plain answer.
pub(super) fn renderable(body: &Value) -> bool {
    let text = |part: &Value| {
        part["type"] == "output_text" && part["text"].is_string() && only(part, &[&["type", "text"]])
    };
    let item = |item: &Value| match item["type"].as_str() {
        Some("message") => {
            only(item, &[&["id", "type", "status", "role", "content", "phase"]])
                && item["role"] == "assistant"
                && item["content"].as_array().is_some_and(|parts| parts.iter().all(text))
        }
        Some("reasoning") => only(item, &[&["id", "type", "status"]]),
        Some("function_call") => {
            let names = ["call_id", "name"];
            names.iter().all(|name| item[*name].is_string())
                && is_arguments(&item["arguments"])
                && is_direct(item)
                && only(item, &[&["id", "type", "status", "caller", "arguments"], &names])
        }
        _ => false,
    };
    body["object"] == "response" && body["output"].as_array().is_some_and(|items| items.iter().all(item))
}

/// The last event carries the whole response; the ones before it are only its making.
#[derive(Debug, Default)]
pub(super) struct ResponsesFold {
    response: Option<String>,
    /// The text of the events before it.
    text: Option<String>,
    /// What the model wrote besides.
    besides: String,
}

impl Fold for ResponsesFold {
    fn event(&mut self, event: Event<'_>) -> Next {
        let Event::Object(event) = event else { return Next::More };
        match event.text("type").as_deref() {
            Some("response.completed" | "response.incomplete" | "response.failed") => {
                self.response = event.get("response").map(|response| response.get().to_owned());
                Next::Last
            }
            Some("response.output_text.delta") => {
                let text = self.text.get_or_insert_default();
                text.push_str(event.text("delta").as_deref().unwrap_or(""));
                Next::More
            }
            Some(
                "response.function_call_arguments.delta"
                | "response.custom_tool_call_input.delta"
                | "response.reasoning_text.delta"
                | "response.reasoning_summary_text.delta"
                | "response.refusal.delta",
            ) => {
                self.text.get_or_insert_default();
                self.besides.push_str(event.text("delta").as_deref().unwrap_or(""));
                Next::More
            }
            Some("response.created") => {
                self.text.get_or_insert_default();
                Next::More
            }
            _ => Next::More,
        }
    }

    fn is_whole(&self) -> bool {
        self.response.is_some()
    }

    fn plain(&self) -> Folded {
        let body = match (&self.response, &self.text) {
            (Some(response), _) => response.clone(),
            (None, None) => "null".into(),
            (None, Some(text)) => {
                let part = |kind: &str, text: &str| Writer::new().raw("type", kind).value("text", text).end();
                let parts = [part("\"output_text\"", text), part("\"reasoning_text\"", &self.besides)];
                let item = Writer::new()
                    .raw("type", "\"message\"")
                    .raw("content", &format!("[{}]", parts.join(",")))
                    .end();
                Writer::new().raw("status", "\"in_progress\"").raw("output", &format!("[{item}]")).end()
            }
        };
        Folded { body: body.into(), faithful: true }
    }
}

#[derive(Debug, Deserialize)]
struct Response {
    #[serde(default, deserialize_with = "or_default")]
    status: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    model: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    incomplete_details: Option<Incomplete>,
    #[serde(default, deserialize_with = "items")]
    output: Vec<Item>,
    #[serde(default, deserialize_with = "or_default")]
    usage: Option<Counts>,
}

#[derive(Debug, Deserialize)]
struct Incomplete {
    #[serde(default, deserialize_with = "or_default")]
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Item {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    kind: String,
    #[serde(default, deserialize_with = "items")]
    content: Vec<Part>,
    #[serde(default, deserialize_with = "items")]
    summary: Vec<Part>,
    #[serde(default)]
    name: Value,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    input: Value,
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    kind: String,
    #[serde(default, deserialize_with = "or_default")]
    text: String,
    #[serde(default, deserialize_with = "or_default")]
    refusal: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_completed_response_is_whole() {
        let finish = |body| completion(body).unwrap().finish;
        assert_eq!(finish(json!({"status": "completed"})), Finish::Stop);
        let call = json!({"status": "completed", "output": [{"type": "function_call"}]});
        assert_eq!(finish(call), Finish::ToolCalls);
        let filtered = json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}});
        assert_eq!(finish(filtered), Finish::ContentFilter);
        for status in ["failed", "cancelled", "queued", "in_progress", "incomplete", "new"] {
            assert_eq!(finish(json!({"status": status})), Finish::Unknown, "{status}");
        }
        assert_eq!(completion(json!({"choices": []})), None);
    }

    #[test]
    fn only_text_is_given_again() {
        let response = |item: Value| json!({"object": "response", "status": "completed", "output": [item]});
        let message = |part: Value| {
            response(
                json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [part]}),
            )
        };
        let text = json!({"type": "output_text", "text": "x", "annotations": [], "logprobs": []});
        assert!(renderable(&message(text.clone())));
        assert!(renderable(&response(json!({"id": "rs_1", "type": "reasoning", "summary": []}))));
        let call = json!({"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "c", "name": "f", "arguments": "{}"});
        assert!(renderable(&response(call.clone())));
        let more = |name: &str, value: Value| {
            let mut more = call.clone();
            more[name] = value;
            more
        };
        assert!(renderable(&response(more("caller", json!({"type": "direct"})))));
        for item in [
            more("namespace", json!("x")),
            more("arguments", json!("{\"x\":")),
            more("caller", json!({"type": "program", "caller_id": "p"})),
            json!({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"}),
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}]}),
            json!({"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}),
            json!({"type": "function_call", "name": "f", "arguments": "{}"}),
            json!({"type": "web_search_call"}),
            json!({"type": "message", "role": "user", "content": [text]}),
        ] {
            assert!(!renderable(&response(item.clone())), "{item}");
        }
        for part in [
            json!({"type": "refusal", "refusal": "No."}),
            json!({"type": "output_text", "text": "x", "annotations": [{"type": "url_citation"}]}),
            json!({"type": "output_text", "text": "x", "logprobs": [{"token": "x"}]}),
            json!({"type": "output_text", "text": "x", "new": 1}),
            json!({"type": "output_text"}),
        ] {
            assert!(!renderable(&message(part.clone())), "{part}");
        }
    }
}
