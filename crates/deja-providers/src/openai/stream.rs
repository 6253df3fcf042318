//! A chat completion that comes as a stream.

use deja_core::provider::Completion;
use serde::Deserialize;
use serde_json::Value;

use super::convert::Seen;
use super::wire;
use crate::exchange::{Fold, Next};

/// The chunks so far.
#[derive(Debug, Default)]
pub(super) struct ChatFold {
    seen: Seen,
    choices: u32,
    model: Option<String>,
    usage: Option<wire::Usage>,
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
