//! From a message of the Messages API, whole or streamed, to a [`Completion`].

use deja_core::provider::{Completion, Finish, TokenUsage};
use serde::Deserialize;
use serde_json::Value;

use super::wire;
use crate::format::{Fold, Format, Next, NotAnAnswer};

/// The format of `/v1/messages`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Messages;

impl Format for Messages {
    fn completion(&self, body: Value) -> Result<Completion, NotAnAnswer> {
        let message = wire::Message::deserialize(body).map_err(|_| NotAnAnswer)?;
        if message.kind != "message" && message.content.is_empty() && message.stop_reason.is_none() {
            return Err(NotAnAnswer);
        }
        Ok(completion(message))
    }

    fn fold(&self) -> Box<dyn Fold> {
        Box::new(MessageFold::default())
    }
}

fn completion(message: wire::Message) -> Completion {
    let finish = match message.stop_reason.as_deref() {
        // Asking for a tool never ends a turn, but a gateway may say so.
        Some("end_turn" | "stop_sequence") if message.content.iter().any(|b| b.kind == "tool_use") => {
            Finish::ToolCalls
        }
        Some("end_turn" | "stop_sequence") => Finish::Stop,
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("tool_use") => Finish::ToolCalls,
        Some("refusal") => Finish::Refusal,
        _ => Finish::Unknown,
    };
    let text = message.content.iter().filter(|block| block.kind == "text").map(|block| block.text.as_str());
    let (text, model) = (text.collect(), message.model.filter(|model| !model.is_empty()));
    Completion { text, finish, choices: 1, model, usage: message.usage.and_then(wire::Counts::shared) }
}

impl wire::Counts {
    /// In the terms that all providers share; `None` if there is no number in it.
    fn shared(self) -> Option<TokenUsage> {
        if self.input_tokens.is_none() && self.output_tokens.is_none() {
            return None;
        }
        let cache_read = self.cache_read_input_tokens.unwrap_or(0);
        let cache_write = self.cache_creation_input_tokens.unwrap_or(0);
        Some(TokenUsage {
            input_total: self
                .input_tokens
                .unwrap_or(0)
                .saturating_add(cache_read)
                .saturating_add(cache_write),
            cache_read,
            cache_write,
            output_total: self.output_tokens.unwrap_or(0),
            reasoning: self.output_tokens_details.thinking_tokens,
        })
    }

    /// Takes the numbers of a later event, which are totals, not additions.
    fn update(&mut self, later: Self) {
        let details = &mut self.output_tokens_details;
        details.thinking_tokens = later.output_tokens_details.thinking_tokens.or(details.thinking_tokens);
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.cache_creation_input_tokens =
            later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = later.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
    }
}

/// The events so far.
#[derive(Debug, Default)]
struct MessageFold {
    message: wire::Message,
    done: bool,
}

impl Fold for MessageFold {
    fn event(&mut self, event: Value) -> Next {
        let Ok(event) = wire::Event::deserialize(event) else { return Next::More };
        match event.kind.as_str() {
            "message_start" => self.message = event.message,
            "content_block_start" => self.message.content.push(event.content_block),
            // Blocks come one after the other, so that a delta belongs to the last.
            "content_block_delta" if event.delta.kind == "text_delta" => {
                if let Some(block) = self.message.content.last_mut() {
                    block.text.push_str(&event.delta.text);
                }
            }
            "message_delta" => {
                self.message.stop_reason = event.delta.stop_reason.or(self.message.stop_reason.take());
                if let Some(later) = event.usage {
                    self.message.usage.get_or_insert_default().update(later);
                }
            }
            "message_stop" => {
                self.done = true;
                return Next::Done;
            }
            _ => {}
        }
        Next::More
    }

    fn completion(self: Box<Self>) -> Option<Completion> {
        self.done.then(|| completion(self.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn stop_reasons_follow_the_table() {
        for (reason, finish) in [
            ("end_turn", Finish::Stop),
            ("stop_sequence", Finish::Stop),
            ("model_context_window_exceeded", Finish::Length),
            ("pause_turn", Finish::Unknown),
            ("something_new", Finish::Unknown),
        ] {
            let body = json!({"content": [{"type": "text", "text": "x"}], "stop_reason": reason});
            assert_eq!(Messages.completion(body).unwrap().finish, finish, "{reason}");
        }
        assert_eq!(Messages.completion(json!({"ok": true})), Err(NotAnAnswer));
        let nothing = json!({"type": "message", "content": null, "stop_reason": null, "usage": null});
        assert_eq!(Messages.completion(nothing).unwrap().finish, Finish::Unknown);
    }
}
