//! A chat completion as the chunks that it could have come in.

use serde_json::value::RawValue;

use super::{changed_items, edited, slices};
use crate::json::{Object, Writer};
use crate::record::{SIGNED, THOUGHTS};

/// The choices of an `answer` without the signatures of Gemini: they are of the conversation that they came in. `None` if there are
/// none.
pub(super) fn unsigned(answer: &Object<'_>) -> Option<String> {
    changed_items(answer, "choices", |choice| {
        let message = choice.object("message").filter(|message| message.get(SIGNED).is_some())?;
        Some(edited(choice, "message", Some(&edited(&message, SIGNED, None))))
    })
}

/// The server-sent events of a plain `answer`, with the tokens in a chunk of their own if they are `wanted`.
pub(super) fn stream(answer: &Object<'_>, wanted: bool) -> Option<String> {
    let mut chunks = Chunks::new(answer, wanted);
    for (position, choice) in answer.items("choices").into_iter().enumerate() {
        let choice = Object::of(choice)?;
        let index = choice.get("index").map_or_else(|| position.to_string(), |raw| raw.get().to_owned());
        let message = choice.object("message").unwrap_or_default();
        let content = message.text("content");
        let logprobs =
            choice.members().find(|(name, _)| *name == "logprobs").map(|(_, logprobs)| logprobs.get());
        chunks.push(&index, &first(&message, content.is_some()), logprobs, "null");
        // Where they belong to pieces of text, all stand in the first chunk.
        let logprobs = logprobs.map(|_| "null");
        let thoughts = THOUGHTS.iter().filter_map(|name| Some((*name, message.text(name)?)));
        for (name, text) in thoughts.chain(content.map(|content| ("content", content))) {
            for slice in slices(&text) {
                chunks.push(&index, &Writer::new().value(name, slice).end(), logprobs, "null");
            }
        }
        let finish = choice.get("finish_reason").map_or("null", RawValue::get);
        chunks.push(&index, "{}", logprobs, finish);
    }
    Some(chunks.end(answer.get("usage").filter(|_| wanted)))
}

/// The first delta: all of the message but its text and its thoughts.
fn first(message: &Object<'_>, text: bool) -> String {
    let mut delta = Writer::new();
    delta.value("role", message.text("role").as_deref().unwrap_or("assistant"));
    if text {
        delta.raw("content", "\"\"");
    }
    for (name, value) in message.members() {
        match name {
            "role" => {}
            "content" if text => {}
            _ if THOUGHTS.contains(&name) && message.text(name).is_some() => {}
            "tool_calls" => {
                let calls = message.items(name);
                let calls: Vec<String> =
                    calls.iter().enumerate().map(|(n, call)| numbered(n, call)).collect();
                if !calls.is_empty() {
                    delta.raw(name, &format!("[{}]", calls.join(",")));
                }
            }
            _ => {
                delta.raw(name, value.get());
            }
        }
    }
    delta.end()
}

/// A call of a tool with its number, which only streams have.
fn numbered(n: usize, call: &RawValue) -> String {
    let mut numbered = Writer::new();
    numbered.value("index", &n);
    for (name, value) in Object::of(call).unwrap_or_default().members().filter(|(name, _)| *name != "index") {
        numbered.raw(name, value.get());
    }
    numbered.end()
}

/// Chunks as they are written.
struct Chunks {
    out: String,
    /// What each one begins with.
    head: String,
    /// What each one with a choice ends with.
    tail: &'static str,
}

impl Chunks {
    fn new(answer: &Object<'_>, wanted: bool) -> Self {
        let mut head = Writer::new();
        head.some("id", answer.get("id"));
        head.raw("object", r#""chat.completion.chunk""#);
        for (name, value) in answer.members() {
            let known = matches!(name, "id" | "object" | "choices" | "usage");
            // Members with reports of servers are in some chunks only.
            if !known && !value.get().starts_with(['{', '[']) {
                head.raw(name, value.get());
            }
        }
        let head = head.end();
        let head = format!("data: {},\"choices\":[", head.trim_end_matches('}'));
        Self { out: String::new(), head, tail: if wanted { "],\"usage\":null}\n\n" } else { "]}\n\n" } }
    }

    fn push(&mut self, index: &str, delta: &str, logprobs: Option<&str>, finish: &str) {
        self.out.push_str(&self.head);
        for part in ["{\"index\":", index, ",\"delta\":", delta] {
            self.out.push_str(part);
        }
        if let Some(logprobs) = logprobs {
            self.out.push_str(",\"logprobs\":");
            self.out.push_str(logprobs);
        }
        for part in [",\"finish_reason\":", finish, "}"] {
            self.out.push_str(part);
        }
        self.out.push_str(self.tail);
    }

    fn end(mut self, usage: Option<&RawValue>) -> String {
        if let Some(usage) = usage {
            self.out.push_str(&self.head);
            self.out.push_str("],\"usage\":");
            self.out.push_str(usage.get());
            self.out.push_str("}\n\n");
        }
        self.out.push_str("data: [DONE]\n\n");
        self.out
    }
}
