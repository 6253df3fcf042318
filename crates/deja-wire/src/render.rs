//! A record as the answer to another request.

mod chat;
mod gemini;
mod messages;
mod responses;

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::identity::{LABELS, OWN_ID};
use crate::json::{Object, Writer, json};
use crate::record::SIGNED;
use crate::splice::spliced;
use crate::{Rendering, Wire};

/// Characters of text in an event. One event with all of it works too, but people see it jump.
const SLICE: usize = 64;
/// Events that a text comes in, about at most: each takes some 200 bytes besides, so that 64 characters an event would make a
/// long answer five times as long.
const MOST: usize = 2_000;

/// The values that are new in an answer from the cache.
#[derive(Clone, Copy, Debug)]
pub struct NewValues<'a> {
    /// Random bytes: the answer's id is made of them.
    pub seed: [u8; 16],
    /// The time of the answer, in seconds since 1970.
    pub created: i64,
    /// The tokens of the call as deja counted them, for an answer that tells none.
    pub input_tokens: u64,
    /// Tokens of the output.
    pub output_tokens: u64,
    /// Whether it tells that no tokens were used: the same members, all zero.
    pub zero_usage: bool,
    /// Whether an answer of Responses stays under the id by which the provider keeps it.
    pub keeps_id: bool,
    /// The body of the request, where it has labels that an answer of Responses repeats.
    pub labelled: Option<&'a [u8]>,
}

/// A stored answer that cannot be given: it is not of its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored answer is not of the form of {}", .0.as_str())]
pub struct Unrenderable(pub Wire);

/// The body of an answer that says what the `record` says, as JSON or as server-sent events.
pub fn render(
    wire: Wire,
    record: &[u8],
    rendering: &Rendering,
    fresh: &NewValues<'_>,
) -> Result<Bytes, Unrenderable> {
    let refuse = |_| Unrenderable(wire);
    let object = Object::parse(record).ok_or(Unrenderable(wire))?;
    let answer = match wire {
        Wire::Chat => "choices",
        Wire::Responses => "output",
        Wire::Messages => "content",
        Wire::Gemini => "candidates",
    };
    if !object.get(answer).is_some_and(|answer| answer.get().starts_with('[')) {
        return Err(Unrenderable(wire));
    }
    let hex = hex::encode(fresh.seed);
    // Few answers have what a hit leaves out. The others are not parsed any deeper.
    let with = |name: &str| may_hold(record, name).then_some(&object);
    let mut edits: Vec<(&str, String)> = match wire {
        Wire::Chat => {
            let new = [("id", json(&format!("chatcmpl-{hex}"))), ("created", fresh.created.to_string())];
            let unsigned = with(SIGNED).and_then(chat::unsigned).map(|choices| ("choices", choices));
            new.into_iter().chain(unsigned).collect()
        }
        Wire::Responses => responses_edits(&object, &hex, fresh),
        Wire::Messages => {
            let said =
                with("thinking").and_then(messages::without_thoughts).map(|content| ("content", content));
            [("id", json(&format!("msg_{hex}")))].into_iter().chain(said).collect()
        }
        Wire::Gemini => {
            let unsigned = with(gemini::SIGNATURE)
                .and_then(gemini::unsigned)
                .map(|candidates| ("candidates", candidates));
            [("responseId", json(&hex))].into_iter().chain(unsigned).collect()
        }
    };
    let usage = if wire == Wire::Gemini { "usageMetadata" } else { "usage" };
    match object.get(usage) {
        Some(stored) if fresh.zero_usage => edits.push((usage, zeroed(stored))),
        // At the end of a stream they stand only if its request asked for them.
        None if wire == Wire::Chat => edits.push((usage, counted(fresh))),
        _ => {}
    }
    let edits: Vec<(&str, &str)> = edits.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let plain = spliced(record, &object, &edits).map_err(refuse)?;
    if rendering.stream { json_as_stream(wire, &plain, rendering) } else { Ok(plain) }
}

/// Whether a JSON text may hold a string of this `name`: as it is, or spelled with escapes, which may spell any string.
fn may_hold(record: &[u8], name: &str) -> bool {
    [name.as_bytes(), br"\u"].iter().any(|sought| memchr::memmem::find(record, sought).is_some())
}

/// What is new in a response. A response that the provider keeps keeps its id: a next request may name it.
fn responses_edits(response: &Object<'_>, hex: &str, fresh: &NewValues<'_>) -> Vec<(&'static str, String)> {
    // The provider may say that it keeps nothing, whatever was asked.
    let kept = fresh.keeps_id && response.get("store").is_none_or(|store| store.get() != "false");
    let mut edits = vec![("created_at", fresh.created.to_string())];
    if response.get("completed_at").is_some() {
        edits.push(("completed_at", fresh.created.to_string()));
    }
    // What another caller wrote on its request is not for this one, which has its own. Two requests may differ in it and share
    // an answer.
    let request = fresh.labelled.and_then(Object::parse).unwrap_or_default();
    for label in LABELS {
        if response.members().any(|(name, _)| name == label) {
            let none = if label == "metadata" { "{}" } else { "null" };
            edits.push((label, request.get(label).map_or(none, RawValue::get).to_owned()));
        }
    }
    if !kept {
        edits.push(("id", json(&format!("{OWN_ID}{hex}"))));
    }
    edits
}

/// A plain answer as the stream that was asked for; its id, its time and its tokens stay.
pub fn json_as_stream(wire: Wire, body: &[u8], rendering: &Rendering) -> Result<Bytes, Unrenderable> {
    let mut body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).to_vec();
    // Line feeds end a line of an event. Raw line feeds stand only between the values of JSON, as OpenAI and Gemini write it.
    body.retain(|byte| !matches!(byte, b'\n' | b'\r'));
    let object = Object::parse(&body).ok_or(Unrenderable(wire))?;
    let stream = match wire {
        Wire::Chat => chat::stream(&object, rendering.usage),
        Wire::Responses => responses::stream(&object),
        Wire::Messages => messages::stream(&object),
        Wire::Gemini => gemini::stream(&object),
    };
    stream.map(Bytes::from).ok_or(Unrenderable(wire))
}

/// The tokens that deja counted, as chat completions tell them.
fn counted(fresh: &NewValues<'_>) -> String {
    let NewValues { input_tokens, output_tokens, zero_usage, .. } = *fresh;
    let [input, output] = if zero_usage { [0, 0] } else { [input_tokens, output_tokens] };
    let mut usage = Writer::new();
    usage.value("prompt_tokens", &input).value("completion_tokens", &output);
    usage.value("total_tokens", &input.saturating_add(output)).end()
}

/// The list `name` of `object` with each item in the form that `change` gives it; `None` if `change` gives none of them another.
fn changed_items(
    object: &Object<'_>,
    name: &str,
    change: impl Fn(&Object<'_>) -> Option<String>,
) -> Option<String> {
    let mut any = false;
    let mut item = |raw: &RawValue| {
        let changed = Object::of(raw).and_then(|item| change(&item));
        any |= changed.is_some();
        changed.unwrap_or_else(|| raw.get().to_owned())
    };
    let items: Vec<String> = object.items(name).into_iter().map(&mut item).collect();
    any.then(|| format!("[{}]", items.join(",")))
}

/// `object` with `other` in the place of a member, or without it.
fn edited(object: &Object<'_>, member: &str, other: Option<&str>) -> String {
    let mut written = Writer::new();
    for (name, value) in object.members() {
        let value = if name == member { other } else { Some(value.get()) };
        if let Some(value) = value {
            written.raw(name, value);
        }
    }
    written.end()
}

/// `raw` with 0 for each number.
fn zeroed(raw: &RawValue) -> String {
    let (mut zeroed, mut quoted, mut escaped, mut number) = (String::new(), false, false, false);
    for c in raw.get().chars() {
        let part = !quoted
            && (c.is_ascii_digit() || (number && matches!(c, '.' | 'e' | 'E' | '+' | '-')) || c == '-');
        if part && !number {
            zeroed.push('0');
        }
        number = part;
        if !part {
            zeroed.push(c);
        }
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
    }
    zeroed
}

/// `text` in pieces of [`SLICE`] characters, of more if those were more than [`MOST`]; none of no text.
fn slices(text: &str) -> impl Iterator<Item = &str> {
    let (mut rest, size) = (text, SLICE.max(text.len() / MOST));
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (slice, after) = rest.split_at(end);
        rest = after;
        (!slice.is_empty()).then_some(slice)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_become_zero_and_nothing_else() {
        let raw = r#"{"a":12, "b-1":{"c":-1.5e+3,"d":"x1\"2"},"e":[0.25,null,true]}"#;
        let raw: &RawValue = serde_json::from_str(raw).unwrap();
        assert_eq!(zeroed(raw), r#"{"a":0, "b-1":{"c":0,"d":"x1\"2"},"e":[0,null,true]}"#);
    }

    #[test]
    fn a_long_text_comes_in_no_more_events_than_a_person_can_follow() {
        let text = "Grüße. ".repeat(100_000);
        assert_eq!(slices(&text).collect::<String>(), text);
        assert!((MOST / 2..=MOST).contains(&slices(&text).count()), "{}", slices(&text).count());
    }

    proptest! {
        #[test]
        fn slices_join_to_the_text(text in "\\PC{0,300}|[\t\n 😀é☃a]{0,300}") {
            let all: Vec<&str> = slices(&text).collect();
            prop_assert_eq!(all.concat(), text.as_str());
            prop_assert!(all.iter().all(|slice| (1..=SLICE).contains(&slice.chars().count())));
            prop_assert!(all.iter().rev().skip(1).all(|slice| slice.chars().count() == SLICE));
        }
    }
}
