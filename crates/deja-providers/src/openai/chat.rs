//! The format of chat completions, whole or streamed.

use deja_core::provider::Completion;
use serde::Deserialize;
use serde_json::Value;

use super::convert::Seen;
use super::wire;
use crate::format::{Fold, Format, Next, NotAnAnswer};

/// The format of `/chat/completions`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chat;

impl Format for Chat {
    fn completion(&self, body: Value) -> Result<Completion, NotAnAnswer> {
        let answer = wire::Answer::deserialize(body).map_err(|_| NotAnAnswer)?;
        let choices = answer.choices.len() as u32;
        let first = answer.choices.into_iter().min_by_key(|choice| choice.index).ok_or(NotAnAnswer)?;
        let mut seen = Seen::default();
        seen.add(first);
        Ok(seen.completion(choices, answer.model, answer.usage.as_ref()))
    }

    fn fold(&self) -> Box<dyn Fold> {
        Box::new(ChatFold::default())
    }
}

/// The chunks so far.
#[derive(Debug, Default)]
struct ChatFold {
    seen: Seen,
    choices: u32,
    model: Option<String>,
    usage: Option<wire::Counts>,
    done: bool,
}

impl Fold for ChatFold {
    fn event(&mut self, event: Value) -> Next {
        if event == "[DONE]" {
            self.done = true;
            return Next::Done;
        }
        let Ok(chunk) = wire::Answer::deserialize(event) else { return Next::More };
        // Azure's first chunk has an empty model.
        self.model = chunk.model.filter(|model| !model.is_empty()).or(self.model.take());
        self.usage = chunk.usage.or(chunk.x_groq.and_then(|groq| groq.usage)).or(self.usage.take());
        for choice in chunk.choices {
            self.choices = self.choices.max(choice.index.saturating_add(1));
            if choice.index == 0 {
                self.seen.add(choice);
            }
        }
        Next::More
    }

    fn completion(self: Box<Self>) -> Option<Completion> {
        // Without the end mark the connection may have been cut anywhere.
        let complete = self.done && self.choices > 0;
        complete.then(|| self.seen.completion(self.choices, self.model, self.usage.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deja_core::provider::Finish;
    use serde_json::json;

    #[test]
    fn answers_of_other_shapes_are_refused_or_not_stored() {
        for body in [json!({}), json!({"choices": []}), json!({"choices": null}), json!([]), json!("x")] {
            assert_eq!(Chat.completion(body.clone()), Err(NotAnAnswer), "{body}");
        }
        for choice in
            [json!({}), json!({"message": {"content": "x"}}), json!({"finish_reason": 7, "message": 1})]
        {
            let finish = Chat.completion(json!({"choices": [choice]})).unwrap().finish;
            assert_eq!(finish, Finish::Unknown, "{choice}");
        }
        let tool =
            json!({"choices": [{"finish_reason": "stop", "message": {"content": "x", "tool_calls": [{}]}}]});
        assert_eq!(Chat.completion(tool).unwrap().finish, Finish::ToolCalls);
    }
}
