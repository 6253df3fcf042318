//! A response as the events that it could have come in.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::slices;
use crate::json::{Object, Writer, json};

/// The server-sent events of a plain `response`.
pub(super) fn stream(response: &Object<'_>) -> Option<String> {
    let mut events = Events::default();
    let begun = begun(response);
    for kind in ["response.created", "response.in_progress"] {
        events.push(kind, &[("response", &begun)]);
    }
    for (index, item) in response.items("output").into_iter().enumerate() {
        events.item(&index.to_string(), item)?;
    }
    let last = match response.text("status").as_deref() {
        Some("incomplete") => "response.incomplete",
        Some("failed" | "cancelled") => "response.failed",
        _ => "response.completed",
    };
    let mut whole = Writer::new();
    for (name, value) in response.members() {
        whole.raw(name, value.get());
    }
    events.push(last, &[("response", &whole.end())]);
    Some(events.out)
}

/// The response before there is any output.
fn begun(response: &Object<'_>) -> String {
    let mut begun = Writer::new();
    for (name, value) in response.members() {
        match name {
            "status" => begun.raw(name, "\"in_progress\""),
            "output" => begun.raw(name, "[]"),
            "usage" | "completed_at" | "incomplete_details" | "error" => begun.raw(name, "null"),
            _ => begun.raw(name, value.get()),
        };
    }
    begun.end()
}

/// `object` with other values for some of its members.
fn with(object: &Object<'_>, edits: &[(&str, &str)]) -> String {
    let mut edited = Writer::new();
    for (name, value) in object.members() {
        let other = edits.iter().find(|(edit, _)| *edit == name);
        edited.raw(name, other.map_or(value.get(), |(_, other)| other));
    }
    edited.end()
}

/// Events as they are written.
#[derive(Default)]
struct Events {
    out: String,
    sequence: u64,
}

impl Events {
    fn push(&mut self, kind: &str, members: &[(&str, &str)]) {
        let mut data = Writer::new();
        data.value("type", kind).value("sequence_number", &self.sequence);
        for (name, value) in members {
            data.raw(name, value);
        }
        // Writing to a string cannot fail.
        let _ = write!(self.out, "event: {kind}\ndata: {}\n\n", data.end());
        self.sequence += 1;
    }

    fn item(&mut self, index: &str, raw: &RawValue) -> Option<()> {
        let item = Object::of(raw)?;
        let id = item.get("id").map_or("\"\"", RawValue::get);
        let place = [("item_id", id), ("output_index", index)];
        let begun = with(&item, &[("status", "\"in_progress\""), ("content", "[]"), ("arguments", "\"\"")]);
        let kind = item.text("type").unwrap_or_default();
        let in_parts = matches!(kind.as_str(), "message" | "function_call");
        let begun = if in_parts { &begun } else { raw.get() };
        self.push("response.output_item.added", &[("output_index", index), ("item", begun)]);
        if kind == "message" {
            for (number, part) in item.items("content").into_iter().enumerate() {
                self.part(&place, &number.to_string(), part)?;
            }
        }
        if kind == "function_call"
            && let Some(arguments) = item.get("arguments")
        {
            let name = item.get("name").map_or("null", RawValue::get);
            let kind = "response.function_call_arguments";
            self.push(&format!("{kind}.delta"), &[&place[..], &[("delta", arguments.get())]].concat());
            let done = [("name", name), ("arguments", arguments.get())];
            self.push(&format!("{kind}.done"), &[&place[..], &done].concat());
        }
        self.push("response.output_item.done", &[("output_index", index), ("item", raw.get())]);
        Some(())
    }

    /// One part of a message: empty, its text in pieces, its end.
    fn part(&mut self, item: &[(&str, &str)], number: &str, raw: &RawValue) -> Option<()> {
        let part = Object::of(raw)?;
        let place = [item, &[("content_index", number)]].concat();
        let (name, kind) = match part.text("type").as_deref() {
            Some("output_text") => ("text", "response.output_text"),
            Some("refusal") => ("refusal", "response.refusal"),
            _ => ("", ""),
        };
        let whole = part.text(name);
        let empty = with(&part, &[(name, "\"\""), ("annotations", "[]"), ("logprobs", "[]")]);
        let added = if whole.is_some() { &empty } else { raw.get() };
        self.push("response.content_part.added", &[&place[..], &[("part", added)]].concat());
        if let Some(whole) = whole {
            let logprobs: &[(&str, &str)] = if name == "text" { &[("logprobs", "[]")] } else { &[] };
            for slice in slices(&whole) {
                let delta = json(slice);
                let members = [&place[..], &[("delta", delta.as_str())], logprobs].concat();
                self.push(&format!("{kind}.delta"), &members);
            }
            for (n, annotation) in part.items("annotations").into_iter().enumerate() {
                let n = n.to_string();
                let members = [("annotation_index", n.as_str()), ("annotation", annotation.get())];
                self.push("response.output_text.annotation.added", &[&place[..], &members].concat());
            }
            let text = json(&whole);
            let members = [&place[..], &[(name, text.as_str())], logprobs].concat();
            self.push(&format!("{kind}.done"), &members);
        }
        self.push("response.content_part.done", &[&place[..], &[("part", raw.get())]].concat());
        Some(())
    }
}
