//! The body of a request in a wire format, from the fields of a form.

use std::collections::BTreeMap;

use deja_core::provider::Endpoint;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::console::form::Problem;

/// The version of Anthropic's API that is asked for where a form names none.
pub(super) const VERSION: &str = "2023-06-01";
/// Messages must say how long an answer may be.
const MAX_TOKENS: u32 = 1024;

/// A wire format that a form offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    #[default]
    Chat,
    Responses,
    Messages,
    Gemini,
}

impl Format {
    pub(super) const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Messages, Self::Gemini];

    pub(super) const fn as_str(self) -> &'static str {
        self.endpoint().wire().as_str()
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Chat => "OpenAI: chat completions",
            Self::Responses => "OpenAI: Responses",
            Self::Messages => "Anthropic: Messages",
            Self::Gemini => "Gemini: generateContent",
        }
    }

    /// The format in which a model of this name is mostly asked.
    pub(super) fn of_model(model: &str) -> Self {
        match model {
            claude if claude.starts_with("claude") => Self::Messages,
            gemini if gemini.starts_with("gemini") => Self::Gemini,
            _ => Self::Chat,
        }
    }

    pub(super) const fn endpoint(self) -> Endpoint {
        match self {
            Self::Chat => Endpoint::Chat,
            Self::Responses => Endpoint::Responses,
            Self::Messages => Endpoint::Messages,
            Self::Gemini => Endpoint::Gemini { stream: false },
        }
    }

    /// Whether the model stands in the path, and not in the body.
    pub(super) const fn model_in_path(self) -> bool {
        matches!(self, Self::Gemini)
    }

    pub(super) fn path(self, model: &str) -> String {
        match self {
            Self::Chat => "/v1/chat/completions".into(),
            Self::Responses => "/v1/responses".into(),
            Self::Messages => "/v1/messages".into(),
            Self::Gemini => format!("/v1beta/models/{model}:generateContent"),
        }
    }
}

/// What a body is made of.
pub(super) struct Parts<'a> {
    pub(super) model: &'a str,
    /// Empty for none.
    pub(super) instructions: &'a str,
    pub(super) question: &'a str,
    /// More members, as JSON; empty for none. They win over the others.
    pub(super) members: &'a str,
}

/// The body. Numbers and texts of `members` stay as they are written.
pub(super) fn body(format: Format, parts: &Parts<'_>) -> Result<String, Problem> {
    let mut body: BTreeMap<String, Box<RawValue>> = BTreeMap::new();
    for (name, value) in usual(format, parts) {
        body.insert(
            name.into(),
            to_raw_value(&value).map_err(|error| Problem::of("form", error.to_string()))?,
        );
    }
    if !parts.members.trim().is_empty() {
        let more: BTreeMap<String, Box<RawValue>> = serde_json::from_str(parts.members).map_err(|error| {
            Problem::of(
                "members",
                format!("More members must be an object of JSON, such as {{\"temperature\": 0}}: {error}."),
            )
        })?;
        body.extend(more);
    }
    if parts.model.is_empty() && !body.contains_key("model") {
        return Err(Problem::of("model", "Name a model."));
    }
    let turns = body.keys().any(|name| ["messages", "input", "contents"].contains(&name.as_str()));
    if !turns {
        return Err(Problem::of("question", "Type a question."));
    }
    serde_json::to_string_pretty(&body).map_err(|error| Problem::of("form", error.to_string()))
}

/// The members that the form has fields for. Without a question there are no turns.
fn usual(format: Format, parts: &Parts<'_>) -> Vec<(&'static str, Value)> {
    let Parts { model, instructions, question, .. } = parts;
    let has_instructions = !instructions.trim().is_empty();
    let text = |text: &str| json!({"parts": [{"text": text}]});
    let mut turns = Vec::new();
    if has_instructions && format == Format::Chat {
        turns.push(json!({"role": "system", "content": instructions}));
    }
    turns.push(match format {
        Format::Gemini => json!({"role": "user", "parts": [{"text": question}]}),
        _ => json!({"role": "user", "content": question}),
    });
    let mut members = match format {
        Format::Chat => vec![("messages", Value::from(turns))],
        Format::Responses => {
            vec![("input", json!(question)), ("instructions", json!(instructions)), ("store", json!(false))]
        }
        Format::Messages => vec![
            ("messages", Value::from(turns)),
            ("system", json!(instructions)),
            ("max_tokens", json!(MAX_TOKENS)),
        ],
        Format::Gemini => vec![("contents", Value::from(turns)), ("systemInstruction", text(instructions))],
    };
    if !format.model_in_path() && !model.is_empty() {
        members.push(("model", json!(model)));
    }
    let is_there = |name: &str| match name {
        "instructions" | "system" | "systemInstruction" => has_instructions,
        "messages" | "input" | "contents" => !question.trim().is_empty(),
        _ => true,
    };
    members.retain(|(name, _)| is_there(name));
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(format: Format, instructions: &str, question: &str, members: &str) -> Result<Value, Problem> {
        let parts = Parts { model: "m", instructions, question, members };
        body(format, &parts).map(|body| serde_json::from_str(&body).unwrap())
    }

    #[test]
    fn bodies_are_what_applications_send() {
        let user = json!({"role": "user", "content": "How?"});
        for (format, body) in [
            (
                Format::Chat,
                json!({"model": "m", "messages": [{"role": "system", "content": "Be brief."}, user]}),
            ),
            (
                Format::Responses,
                json!({"model": "m", "instructions": "Be brief.", "input": "How?", "store": false}),
            ),
            (
                Format::Messages,
                json!({"model": "m", "system": "Be brief.", "max_tokens": 1024, "messages": [user]}),
            ),
            (
                Format::Gemini,
                json!({
                    "systemInstruction": {"parts": [{"text": "Be brief."}]},
                    "contents": [{"role": "user", "parts": [{"text": "How?"}]}],
                }),
            ),
        ] {
            assert_eq!(of(format, "Be brief.", "How?", "").unwrap(), body);
            let plain = of(format, " ", "How?", "{\"x\": 1}").unwrap();
            assert!(!plain.to_string().contains("system") && plain["x"] == 1, "{plain}");
        }
    }

    #[test]
    fn members_win_stay_as_written_and_may_be_all_of_it() {
        let parts = |members| Parts { model: "", instructions: "", question: "", members };
        let whole = r#"{"model": "n", "temperature": 0.20, "messages": []}"#;
        let body = body(Format::Chat, &parts(whole)).unwrap();
        assert!(body.contains("0.20") && body.contains("\"n\""), "{body}");
        for (format, members, field) in [
            (Format::Chat, "", "model"),
            (Format::Chat, "{\"model\": \"m\"}", "question"),
            (Format::Chat, "[1]", "members"),
            (Format::Messages, "{", "members"),
            (Format::Gemini, "{\"contents\": []}", "model"),
        ] {
            assert_eq!(super::body(format, &parts(members)).unwrap_err().field, field, "{members}");
        }
    }
}
