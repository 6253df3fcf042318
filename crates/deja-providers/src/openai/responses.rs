//! From a response of the Responses API to a [`Completion`].

use deja_core::provider::{Completion, Finish};
use serde::Deserialize;
use serde_json::Value;

use super::wire;
use crate::format::{Fold, Format, Next, NotAnAnswer};

/// The format of `/responses`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Responses;

impl Format for Responses {
    fn completion(&self, body: Value) -> Result<Completion, NotAnAnswer> {
        let response = wire::Response::deserialize(body).map_err(|_| NotAnAnswer)?;
        let status = response.status.as_deref().ok_or(NotAnAnswer)?;
        let parts =
            || response.output.iter().filter(|item| item.kind == "message").flat_map(|item| &item.content);
        let refused = parts().any(|part| part.kind == "refusal");
        let tools = response
            .output
            .iter()
            .any(|item| item.kind.ends_with("function_call") || item.kind == "custom_tool_call");
        let reason = response.incomplete_details.as_ref().map_or("", |details| details.reason.as_str());
        let finish = match (status, reason) {
            ("completed", _) if refused => Finish::Refusal,
            ("completed", _) if tools => Finish::ToolCalls,
            ("completed", _) => Finish::Stop,
            ("incomplete", "max_output_tokens") => Finish::Length,
            ("incomplete", "content_filter") => Finish::ContentFilter,
            _ => Finish::Unknown,
        };
        let text = parts().filter(|part| part.kind == "output_text").map(|part| part.text.as_str()).collect();
        let usage = response.usage.as_ref().and_then(wire::Counts::shared);
        let model = response.model.filter(|model| !model.is_empty());
        Ok(Completion { text, finish, choices: 1, model, usage })
    }

    fn fold(&self) -> Box<dyn Fold> {
        Box::new(ResponsesFold::default())
    }
}

/// The last event carries the whole response; the ones before it are only its making.
#[derive(Debug, Default)]
struct ResponsesFold {
    response: Option<Value>,
}

impl Fold for ResponsesFold {
    fn event(&mut self, mut event: Value) -> Next {
        match event.get("type").and_then(Value::as_str) {
            Some("response.completed" | "response.incomplete" | "response.failed") => {
                self.response = event.get_mut("response").map(Value::take);
                Next::Done
            }
            _ => Next::More,
        }
    }

    fn completion(self: Box<Self>) -> Option<Completion> {
        Responses.completion(self.response?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn finish(body: Value) -> Finish {
        Responses.completion(body).unwrap().finish
    }

    #[test]
    fn only_a_completed_response_is_whole() {
        assert_eq!(finish(json!({"status": "completed"})), Finish::Stop);
        assert_eq!(
            finish(json!({"status": "completed", "output": [{"type": "function_call"}]})),
            Finish::ToolCalls
        );
        assert_eq!(
            finish(json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}})),
            Finish::ContentFilter
        );
        for status in ["failed", "cancelled", "queued", "in_progress", "incomplete", "new"] {
            assert_eq!(finish(json!({"status": status})), Finish::Unknown, "{status}");
        }
        assert_eq!(Responses.completion(json!({"choices": []})), Err(NotAnAnswer));
    }

    #[test]
    fn a_stream_ends_with_the_whole_response() {
        let mut fold = Responses.fold();
        assert_eq!(fold.event(json!({"type": "response.output_text.delta", "delta": "No"})), Next::More);
        let last = json!({"type": "response.completed", "response": {"status": "completed", "model": "m",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "Now."}]}]}});
        assert_eq!(fold.event(last), Next::Done);
        assert_eq!(fold.completion().unwrap().text, "Now.");
        assert!(Responses.fold().completion().is_none());
    }
}
