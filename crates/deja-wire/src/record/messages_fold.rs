//! A streamed message, event by event.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Event, Fold, Folded, MOST_NAMES, Next};
use crate::json::{Object, Writer, is_empty, is_null, json, text};

/// The events so far.
#[derive(Debug, Default)]
pub(super) struct MessageFold {
    /// The message's members, as JSON, in the order in which they came.
    message: Vec<(String, String)>,
    usage: Vec<(String, String)>,
    blocks: BTreeMap<u64, Block>,
    stopped: bool,
    done: bool,
    lossy: bool,
}

/// One block of the content.
#[derive(Debug, Default)]
struct Block {
    /// Its members as it began.
    members: Vec<(String, String)>,
    /// What the deltas added to which member.
    added: BTreeMap<&'static str, String>,
    stopped: bool,
}

impl Fold for MessageFold {
    fn event(&mut self, event: Event<'_>) -> Next {
        let Event::Object(event) = event else { return Next::More };
        let index = event.get("index").and_then(|index| index.get().parse::<u64>().ok());
        match event.text("type").as_deref() {
            Some("message_start") => self.start(&event.object("message").unwrap_or_default()),
            Some("content_block_start") => {
                let members = event.object("content_block").unwrap_or_default();
                let index = index.unwrap_or(self.blocks.len() as u64);
                let block = Block { members: owned(&members), ..Block::default() };
                self.lossy |= self.blocks.insert(index, block).is_some();
            }
            Some("content_block_delta") => {
                let block = self.block(index);
                let taken = block.is_some_and(|block| block.add(&event.object("delta").unwrap_or_default()));
                self.lossy |= !taken;
            }
            Some("content_block_stop") => {
                if let Some(block) = self.block(index) {
                    block.stopped = true;
                }
            }
            Some("message_delta") => self.delta(event),
            Some("message_stop") => {
                self.done = true;
                return Next::Last;
            }
            Some("ping") => {}
            _ => self.lossy = true,
        }
        Next::More
    }

    fn is_whole(&self) -> bool {
        let stopped = self.stopped && self.blocks.values().all(|block| block.stopped);
        self.done && stopped && !self.message.is_empty()
    }

    fn plain(&self) -> Folded {
        let mut faithful = !self.lossy;
        let mut body = Writer::new();
        for (name, value) in &self.message {
            match name.as_str() {
                "content" => {
                    let blocks: Vec<String> =
                        self.blocks.values().map(|block| block.plain(&mut faithful)).collect();
                    body.raw(name, &format!("[{}]", blocks.join(",")));
                }
                "usage" => {
                    let mut usage = Writer::new();
                    for (name, value) in &self.usage {
                        usage.raw(name, value);
                    }
                    body.raw(name, &usage.end());
                }
                _ => {
                    body.raw(name, value);
                }
            }
        }
        Folded { body: body.end().into(), faithful }
    }
}

impl MessageFold {
    fn start(&mut self, message: &Object<'_>) {
        let begun = message.get("content").is_some_and(|content| !is_empty(content));
        self.lossy |= begun || !self.message.is_empty();
        self.message = owned(message);
        self.lossy |= self.message.len() > MOST_NAMES;
        self.message.truncate(MOST_NAMES);
        // They are written where they stand; without a place they would be lost.
        for name in ["content", "usage"] {
            self.lossy |= !replace(&mut self.message, name, "null");
        }
        for (name, value) in message.object("usage").unwrap_or_default().members() {
            self.lossy |= !replace(&mut self.usage, name, value.get());
        }
    }

    /// What is known at the end: why it ended, and the tokens. Each number is a total that replaces the one before.
    fn delta(&mut self, event: &Object<'_>) {
        for (name, value) in event.object("delta").unwrap_or_default().members() {
            self.stopped |= name == "stop_reason" && text(value).is_some_and(|reason| !reason.is_empty());
            self.lossy |= !replace(&mut self.message, name, value.get());
        }
        let usage = event.object("usage").unwrap_or_default();
        for (name, value) in usage.members().filter(|(_, value)| !is_null(value)) {
            self.lossy |= !replace(&mut self.usage, name, value.get());
        }
        let known = |name: &str| matches!(name, "type" | "delta" | "usage");
        self.lossy |= !event.members().all(|(name, value)| known(name) || is_empty(value));
    }

    /// The block with this number; of an event without one the last.
    fn block(&mut self, index: Option<u64>) -> Option<&mut Block> {
        match index {
            Some(index) => self.blocks.get_mut(&index),
            None => self.blocks.values_mut().next_back(),
        }
    }
}

impl Block {
    /// Takes a delta; whether all of it is kept.
    fn add(&mut self, delta: &Object<'_>) -> bool {
        let (member, part) = match delta.text("type").as_deref() {
            Some("text_delta") => ("text", "text"),
            Some("input_json_delta") => ("input", "partial_json"),
            Some("thinking_delta") => ("thinking", "thinking"),
            Some("signature_delta") => ("signature", "signature"),
            _ => return false,
        };
        let text = delta.text(part);
        let known = delta.members().all(|(name, value)| name == "type" || name == part || is_empty(value));
        self.added.entry(member).or_default().push_str(text.as_deref().unwrap_or(""));
        text.is_some() && known && !self.stopped
    }

    /// The block of a plain message. What does not fit together makes the answer no longer `faithful`.
    fn plain(&self, faithful: &mut bool) -> String {
        let mut members = self.members.clone();
        for (member, added) in &self.added {
            let first = members.iter().find(|(name, _)| name == member).map(|(_, value)| value.as_str());
            if *member == "input" {
                let whole = serde_json::from_str::<&RawValue>(added).is_ok();
                *faithful &= whole || added.is_empty();
                if whole {
                    *faithful &= replace(&mut members, member, added);
                } else if !added.is_empty() {
                    // The tokens of a part are counted, too.
                    *faithful &= replace(&mut members, member, &json(added));
                }
            } else {
                let first: String =
                    first.and_then(|first| serde_json::from_str(first).ok()).unwrap_or_default();
                *faithful &= replace(&mut members, member, &json(&(first + added)));
            }
        }
        let mut block = Writer::new();
        for (name, value) in &members {
            block.raw(name, value);
        }
        block.end()
    }
}

fn owned(object: &Object<'_>) -> Vec<(String, String)> {
    object.members().map(|(name, value)| (name.to_owned(), value.get().to_owned())).collect()
}

/// Sets a member in its place, or at the end; whether there is room for it.
fn replace(members: &mut Vec<(String, String)>, name: &str, value: &str) -> bool {
    let is_full = members.len() >= MOST_NAMES;
    match members.iter_mut().find(|(found, _)| found == name) {
        Some((_, known)) => value.clone_into(known),
        None if !is_full => members.push((name.to_owned(), value.to_owned())),
        None => return false,
    }
    true
}
