//! A streamed chat completion, chunk by chunk.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::chat::{CHOICE_REPORTS, REPORTS, SIGNED, THOUGHTS, is_report, is_signature};
use super::{Event, Fold, Folded, MOST_NAMES, Next};
use crate::json::{Object, Writer, is_empty, is_null, json, text};
use crate::lenient::joined_text;

/// The chunks so far.
#[derive(Debug, Default)]
pub(super) struct ChatFold {
    /// Members of the chunks themselves, as JSON, in the order in which they came.
    head: Vec<(String, String)>,
    choices: BTreeMap<u64, Choice>,
    usage: Option<String>,
    done: bool,
    lossy: bool,
}

/// What one choice has said.
#[derive(Debug, Default)]
struct Choice {
    role: Option<String>,
    content: Option<String>,
    /// What older completions have in the place of deltas.
    text: Option<String>,
    /// Other members of the deltas.
    others: Vec<(String, Other)>,
    /// By number; more than one where the server gives all the same.
    calls: BTreeMap<u64, Vec<Call>>,
    logprobs: Option<String>,
    finish: Option<String>,
}

#[derive(Debug)]
enum Other {
    /// Text comes in pieces.
    Text(String),
    /// Anything else is kept as it came first; of null and empty values nothing is lost.
    Json(String),
}

/// One call of a tool.
#[derive(Debug, Default)]
struct Call {
    id: Option<String>,
    kind: Option<String>,
    name: Option<String>,
    arguments: String,
}

impl Fold for ChatFold {
    fn event(&mut self, event: Event<'_>) -> Next {
        let Event::Object(chunk) = event else {
            self.done = true;
            return Next::Last;
        };
        for (name, value) in chunk.members() {
            match name {
                "choices" => {}
                "usage" if is_null(value) => {}
                "usage" => self.usage = Some(value.get().to_owned()),
                "x_groq" => {
                    let usage = Object::of(value).and_then(|groq| groq.get("usage"));
                    self.usage = usage.map(|usage| usage.get().to_owned()).or(self.usage.take());
                }
                _ if REPORTS.contains(&name) => {}
                "metadata" | "base_resp"
                    if serde_json::from_str(value.get()).is_ok_and(|value| is_report(name, &value)) => {}
                _ => self.member(name, value),
            }
        }
        for choice in chunk.items("choices").into_iter().filter_map(Object::of) {
            let index = choice.get("index").and_then(|index| index.get().parse().ok()).unwrap_or(0);
            self.lossy |= !self.choices.entry(index).or_default().add(&choice);
        }
        Next::More
    }

    fn is_whole(&self) -> bool {
        // Neither mark is enough alone: servers end a stream that broke behind them with `[DONE]` all the same.
        let finished =
            !self.choices.is_empty() && self.choices.values().all(|choice| choice.finish.is_some());
        self.done && finished
    }

    fn plain(&self) -> Folded {
        let mut body = Writer::new();
        for (name, value) in self.head.iter().filter(|(name, _)| name != "object") {
            body.raw(name, value);
        }
        body.raw("object", r#""chat.completion""#);
        let choices: Vec<String> = self.choices.iter().map(|(index, choice)| choice.plain(*index)).collect();
        body.raw("choices", &format!("[{}]", choices.join(",")));
        if let Some(usage) = &self.usage {
            body.raw("usage", usage);
        }
        Folded { body: body.end().into(), faithful: !self.lossy }
    }
}

impl ChatFold {
    /// Takes a member of a chunk. Later chunks may carry null or an empty value again, as Azure's first does.
    fn member(&mut self, name: &str, value: &RawValue) {
        let json = value.get();
        self.lossy |= json.starts_with(['{', '[']) && !is_empty(value);
        let hollow = is_empty(value) || json == "0";
        let is_full = self.head.len() >= MOST_NAMES;
        match self.head.iter_mut().find(|(found, _)| found == name) {
            Some(_) if hollow => {}
            Some((_, known)) => json.clone_into(known),
            None if !is_full => self.head.push((name.to_owned(), json.to_owned())),
            None => self.lossy = true,
        }
    }
}

impl Choice {
    /// Takes what a chunk says of the choice; whether all of it can be given again.
    fn add(&mut self, choice: &Object<'_>) -> bool {
        let mut faithful = true;
        if let Some(delta) = choice.object("delta") {
            for (name, value) in delta.members() {
                // What comes behind the end of a choice was not meant to be seen.
                faithful &= self.finish.is_none() || name == "role" || is_empty(value);
                faithful &= self.delta(name, value);
            }
        }
        for (name, value) in choice.members() {
            match name {
                "delta" | "index" => {}
                "finish_reason" => {
                    if let Some(reason) = text(value).filter(|reason| !reason.is_empty()) {
                        faithful &= self.finish.as_ref().is_none_or(|before| *before == reason);
                        self.finish = Some(reason);
                    }
                }
                "logprobs" => {
                    faithful &= is_null(value);
                    self.logprobs = Some(value.get().to_owned());
                }
                "text" if choice.get("delta").is_none() => {
                    self.text.get_or_insert_default().push_str(&text(value).unwrap_or_default());
                    faithful &= is_empty(value);
                }
                _ => faithful &= CHOICE_REPORTS.contains(&name) || is_empty(value),
            }
        }
        faithful
    }

    fn delta(&mut self, name: &str, value: &RawValue) -> bool {
        match name {
            "role" => {
                self.role = text(value).filter(|role| !role.is_empty()).or(self.role.take());
                true
            }
            "content" if is_null(value) => true,
            "content" => {
                let content = self.content.get_or_insert_default();
                if let Some(text) = text(value) {
                    content.push_str(&text);
                    return true;
                }
                let parts: Value = serde_json::from_str(value.get()).unwrap_or_default();
                content.push_str(&joined_text(&parts));
                false
            }
            "tool_calls" => self.calls(value),
            _ => self.other(name, value),
        }
    }

    fn other(&mut self, name: &str, value: &RawValue) -> bool {
        let is_full = self.others.len() >= MOST_NAMES;
        let known = self.others.iter_mut().find(|(found, _)| found == name).map(|(_, known)| known);
        match (known, text(value)) {
            (Some(Other::Text(known)), Some(more)) => known.push_str(&more),
            (Some(known @ Other::Json(_)), Some(first)) => *known = Other::Text(first),
            (None, _) if is_full => return false,
            (None, Some(first)) => self.others.push((name.to_owned(), Other::Text(first))),
            (None, None) => self.others.push((name.to_owned(), Other::Json(value.get().to_owned()))),
            (Some(_), None) => {}
        }
        is_empty(value)
            || THOUGHTS.contains(&name) && text(value).is_some()
            || name == SIGNED && serde_json::from_str(value.get()).is_ok_and(|value| is_signature(&value))
    }

    fn calls(&mut self, value: &RawValue) -> bool {
        let calls: Vec<Object<'_>> = serde_json::from_str(value.get()).unwrap_or_default();
        let mut faithful = is_empty(value) || !calls.is_empty();
        for (position, part) in calls.iter().enumerate() {
            let index = part.get("index").and_then(|index| index.get().parse().ok());
            let calls = self.calls.entry(index.unwrap_or(position as u64)).or_default();
            let id = part.text("id").filter(|id| !id.is_empty());
            // Gemini's compatible endpoint gives no numbers, and other servers 0 to all: there a new id is a new call.
            let call = match calls.last_mut() {
                Some(last)
                    if id.is_none() || last.id == id || last.id.as_deref().is_none_or(str::is_empty) =>
                {
                    last
                }
                _ => calls.push_mut(Call::default()),
            };
            call.id = id.or_else(|| call.id.take()).or_else(|| part.text("id"));
            call.kind = call.kind.take().or_else(|| part.text("type"));
            faithful &= part
                .members()
                .all(|(name, value)| matches!(name, "index" | "id" | "type" | "function") || is_empty(value));
            if let Some(function) = part.object("function") {
                let name = function.text("name").filter(|name| !name.is_empty());
                faithful &= call.name.is_none() || name.is_none() || call.name == name;
                call.name = call.name.take().or(name);
                faithful &= function
                    .members()
                    .all(|(name, value)| matches!(name, "name" | "arguments") || is_empty(value));
                call.arguments.push_str(&function.text("arguments").unwrap_or_default());
            }
        }
        faithful
    }

    /// The choice of a plain answer.
    fn plain(&self, index: u64) -> String {
        let mut message = Writer::new();
        message.value("role", self.role.as_deref().unwrap_or("assistant"));
        message.value("content", &self.content);
        for (name, other) in &self.others {
            match other {
                Other::Text(text) => message.value(name, text),
                Other::Json(json) => message.raw(name, json),
            };
        }
        if !self.calls.is_empty() {
            let calls: Vec<String> = self.calls.values().flatten().map(Call::plain).collect();
            message.raw("tool_calls", &format!("[{}]", calls.join(",")));
        }
        let mut choice = Writer::new();
        choice.value("index", &index).raw("message", &message.end());
        if let Some(text) = &self.text {
            choice.value("text", text);
        }
        if let Some(logprobs) = &self.logprobs {
            choice.raw("logprobs", logprobs);
        }
        choice.value("finish_reason", &self.finish).end()
    }
}

impl Call {
    fn plain(&self) -> String {
        let mut function = Writer::new();
        function.value("name", &self.name).value("arguments", &self.arguments);
        let mut call = Writer::new();
        call.value("id", &self.id).raw("type", &json(self.kind.as_deref().unwrap_or("function")));
        call.raw("function", &function.end()).end()
    }
}
