//! What a request demands of its answer, besides that it is one.

use super::document::{Kind, Value};
use super::gemini::camel;
use crate::{Completion, Finish, Wire};

/// What a request demands of its answer. Some providers, and many servers that speak like them, answer in another way all the
/// same. The application fails with such an answer, and asks again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// A call of a tool.
    pub call: bool,
}

impl Demand {
    pub(super) fn of(wire: Wire, body: Value<'_>) -> Self {
        Self { call: forces_call(wire, body) }
    }

    /// Whether a whole answer is as the request demands.
    pub fn is_met_by(self, completion: &Completion) -> bool {
        !self.call || completion.finish == Finish::ToolCalls
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

/// A member of Gemini's, in either spelling.
fn member<'a>(object: Value<'a>, name: &str) -> Option<Value<'a>> {
    object.members().find(|(own, _)| camel(own) == name).map(|(_, value)| value)
}
