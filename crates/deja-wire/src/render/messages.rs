//! A message as the events that it could have come in.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::{slices, zeroed};
use crate::json::{Object, Writer, is_null, json, text};

/// The content of a `message` without its thoughts: they are of the conversation that they came in. `None` if there are none.
pub(super) fn without_thoughts(message: &Object<'_>) -> Option<String> {
    let is_thought = |block: &&RawValue| {
        let kind = Object::of(block).and_then(|block| block.text("type"));
        matches!(kind.as_deref(), Some("thinking" | "redacted_thinking"))
    };
    let (thoughts, said): (Vec<&RawValue>, Vec<&RawValue>) =
        message.items("content").into_iter().partition(is_thought);
    let said: Vec<&str> = said.into_iter().map(RawValue::get).collect();
    (!thoughts.is_empty()).then(|| format!("[{}]", said.join(",")))
}

/// The server-sent events of a plain `message`.
pub(super) fn stream(message: &Object<'_>) -> Option<String> {
    let mut events = Events::default();
    events.push("message_start", |event| event.raw("message", &start(message)));
    for (index, block) in message.items("content").into_iter().enumerate() {
        events.block(index, &Object::of(block)?);
    }
    let mut delta = Writer::new();
    for name in ["stop_reason", "stop_sequence"] {
        delta.raw(name, message.get(name).map_or("null", RawValue::get));
    }
    delta.some("stop_details", message.get("stop_details"));
    let delta = delta.end();
    events.push("message_delta", |event| {
        event.raw("delta", &delta).raw("usage", &totals(&message.object("usage").unwrap_or_default()))
    });
    events.push("message_stop", |event| event);
    Some(events.0)
}

/// The message before its first block.
fn start(message: &Object<'_>) -> String {
    let mut start = Writer::new();
    for (name, value) in message.members() {
        match name {
            "content" => start.raw(name, "[]"),
            "stop_reason" | "stop_sequence" | "stop_details" => start.raw(name, "null"),
            "usage" => start.raw(name, &at_first(value)),
            _ => start.raw(name, value.get()),
        };
    }
    start.end()
}

/// The tokens before anything was written. Some clients add what they are told last to what they are told first.
fn at_first(usage: &RawValue) -> String {
    let Some(usage) = Object::of(usage) else { return usage.get().to_owned() };
    let mut first = Writer::new();
    for (name, value) in usage.members() {
        match name {
            "output_tokens" | "output_tokens_details" => first.raw(name, &zeroed(value)),
            _ => first.raw(name, value.get()),
        };
    }
    first.end()
}

/// The tokens at the end, those of the input once more: langchain-anthropic reads them only here.
fn totals(usage: &Object<'_>) -> String {
    let mut totals = Writer::new();
    for (name, value) in usage.members() {
        let number = value.get().starts_with(|c: char| c.is_ascii_digit());
        if number || matches!(name, "output_tokens_details" | "server_tool_use") && !is_null(value) {
            totals.raw(name, value.get());
        }
    }
    totals.end()
}

/// Events as they are written.
#[derive(Default)]
struct Events(String);

impl Events {
    fn push(&mut self, kind: &str, fill: impl FnOnce(&mut Writer) -> &mut Writer) {
        let data = fill(Writer::new().value("type", kind)).end();
        // Writing to a string cannot fail.
        let _ = write!(self.0, "event: {kind}\ndata: {data}\n\n");
    }

    /// One block of the content: empty, its parts, its end.
    fn block(&mut self, index: usize, block: &Object<'_>) {
        let empty = |name: &str| match name {
            "text" | "thinking" | "signature" => Some("\"\""),
            "input" => Some("{}"),
            "citations" => Some("[]"),
            _ => None,
        };
        let whole_at_once = !matches!(
            block.text("type").as_deref(),
            Some("text" | "thinking" | "tool_use" | "server_tool_use" | "mcp_tool_use")
        );
        let mut first = Writer::new();
        for (name, value) in block.members() {
            let hollow = empty(name).filter(|_| !whole_at_once && !is_null(value));
            first.raw(name, hollow.unwrap_or(value.get()));
        }
        let first = first.end();
        self.push("content_block_start", |event| event.value("index", &index).raw("content_block", &first));
        if !whole_at_once {
            self.deltas(index, block);
        }
        self.push("content_block_stop", |event| event.value("index", &index));
    }

    fn deltas(&mut self, index: usize, block: &Object<'_>) {
        for (name, value) in block.members() {
            let whole = text(value);
            match (name, whole.as_deref()) {
                ("text" | "thinking", Some(text)) => {
                    for slice in slices(text) {
                        self.delta(index, &format!("{name}_delta"), name, &json(slice));
                    }
                }
                ("signature", Some(_)) => self.delta(index, "signature_delta", name, value.get()),
                ("input", _) => self.delta(index, "input_json_delta", "partial_json", &json(value.get())),
                ("citations", _) => {
                    for citation in block.items(name) {
                        self.delta(index, "citations_delta", "citation", citation.get());
                    }
                }
                _ => {}
            }
        }
    }

    fn delta(&mut self, index: usize, kind: &str, name: &str, value: &str) {
        let delta = Writer::new().value("type", kind).raw(name, value).end();
        self.push("content_block_delta", |event| event.value("index", &index).raw("delta", &delta));
    }
}
