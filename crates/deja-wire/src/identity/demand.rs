//! What a request demands of its answer, besides that it is one.

use serde::de::IgnoredAny;

use super::document::{Kind, Value};
use super::gemini::member;
use crate::{Completion, Finish, Wire};

/// What a request demands of its answer. Some providers, and many servers that speak like them, answer in another way all the
/// same. The application fails with such an answer, and asks again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// A call of a tool.
    pub call: bool,
    /// JSON, where it is a text.
    pub json: bool,
}

impl Demand {
    pub(super) fn of(wire: Wire, body: Value<'_>) -> Self {
        Self { call: forces_call(wire, body), json: wants_json(wire, body) }
    }

    /// Whether a whole answer is as the request demands.
    pub fn is_met_by(self, completion: &Completion) -> bool {
        let is_call = completion.finish == Finish::ToolCalls;
        let is_json = || serde_json::from_str::<IgnoredAny>(&completion.text).is_ok();
        is_call || !self.call && (!self.json || is_json())
    }
}

/// Whether the answer has to be a call: of some tool, of one of several, or of this one.
fn forces_call(wire: Wire, body: Value<'_>) -> bool {
    if wire == Wire::Gemini {
        let config = member(body, "toolConfig").and_then(|config| member(config, "functionCallingConfig"));
        return config.and_then(|config| config.get("mode")).is_some_and(|mode| mode.is_text("ANY"));
    }
    let function = body.get("function_call").filter(|_| wire == Wire::Chat);
    function.is_some_and(|function| function.kind() == Kind::Object)
        || body.get("tool_choice").is_some_and(forces)
}

/// Whether this choice of tools leaves no text. `any` is the word of Anthropic and of Mistral for OpenAI's `required`.
fn forces(choice: Value<'_>) -> bool {
    let required = |word: Value<'_>| word.is_text("required") || word.is_text("any");
    let Some(kind) = choice.get("type") else { return required(choice) };
    if kind.is_text("allowed_tools") {
        // In chat the choice stands one level deeper than in Responses.
        let allowed = choice.get("allowed_tools").unwrap_or(choice);
        return allowed.get("mode").is_some_and(required);
    }
    !kind.is_text("auto") && !kind.is_text("none")
}

/// Whether the text has to be JSON, with a schema or without.
fn wants_json(wire: Wire, body: Value<'_>) -> bool {
    let format = match wire {
        Wire::Chat => body.get("response_format"),
        Wire::Responses => body.get("text").and_then(|text| text.get("format")),
        Wire::Messages => {
            let config = body.get("output_config").and_then(|config| config.get("format"));
            config.or_else(|| body.get("output_format"))
        }
        Wire::Gemini => {
            let config = member(body, "generationConfig");
            let kind = config.and_then(|config| member(config, "responseMimeType"));
            return kind.is_some_and(|kind| kind.is_text("application/json"));
        }
    };
    let kind = format.and_then(|format| format.get("type"));
    kind.is_some_and(|kind| kind.is_text("json_object") || kind.is_text("json_schema"))
}
