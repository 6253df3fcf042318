//! Generated requests: 20,000 a wire, each made of cells of the table and then changed somewhere.

use std::fmt::Write;

use deja_wire::{Identity, Mode, Options, Wire};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use crate::cells::cells;
use crate::requests::{OPTIONS, ask, identity, key, plain, with};

/// A change of a value somewhere in a request.
#[derive(Clone, Debug)]
enum Change {
    Put(Value),
    Add(&'static str, Value),
    Remove,
    Twice,
}

/// Names and values that are known at some place, and some that are known at none.
fn change() -> impl Strategy<Value = Change> {
    let values = || {
        select(vec![
            json!(null),
            json!(true),
            json!(false),
            json!(1),
            json!(2),
            json!(0.5),
            json!(""),
            json!("text"),
            json!("message"),
            json!("user"),
            json!("data:,"),
            json!("https://example.com"),
            json!([]),
            json!({}),
            json!(["text"]),
            json!([{"type": "text", "text": "b"}]),
            json!({"type": "text", "text": "a"}),
            json!({"type": "ephemeral"}),
            json!({"role": "user", "content": "c"}),
            json!({"parts": [{"text": "d"}]}),
            json!({"include_usage": true}),
        ])
    };
    let names = select(vec![
        "type", "text", "role", "content", "parts", "cache_control", "id", "n", "stream", "metadata",
        "user_id", "source", "url", "candidateCount", "candidate_count", "brand_new", "", "*", "\u{1f600}",
        "stream_options", "generationConfig",
    ]);
    prop_oneof![
        values().prop_map(Change::Put),
        (names, values()).prop_map(|(name, value)| Change::Add(name, value)),
        Just(Change::Remove),
        Just(Change::Twice),
    ]
}

/// How many values there are, a value and all that it holds.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum::<usize>(),
        Value::Object(members) => members.values().map(size).sum(),
        _ => 0,
    }
}

/// Changes the value at a place, counted through all that is held.
fn apply(value: &mut Value, at: usize, change: &Change) {
    if at == 0 {
        match (change, value) {
            (Change::Put(new), value) => *value = new.clone(),
            (Change::Add(name, new), Value::Object(members)) => {
                members.insert((*name).into(), new.clone());
            }
            (Change::Add(_, new), Value::Array(items)) => items.push(new.clone()),
            (Change::Add(..), Value::String(text)) => text.push('\n'),
            (Change::Twice, Value::Array(items)) => items.extend(items.clone()),
            (Change::Remove, Value::Array(items)) => drop(items.pop()),
            (Change::Remove, Value::Object(members)) => {
                let last = members.keys().next_back().cloned();
                last.map(|name| members.remove(&name));
            }
            _ => {}
        }
        return;
    }
    let held: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(members) => members.values_mut().collect(),
        _ => Vec::new(),
    };
    let mut before = 1;
    for held in held {
        let size = size(held);
        if at < before + size {
            return apply(held, at - before, change);
        }
        before += size;
    }
}

/// A request, and the same with changes somewhere.
fn requests(wire: Wire) -> impl Strategy<Value = (Value, Value)> {
    let members: Vec<_> = cells(wire).into_iter().map(|(members, _)| members).collect();
    let changes = || proptest::collection::vec((any::<Index>(), change()), 0..3);
    (proptest::collection::vec(select(members), 0..4), changes(), changes()).prop_map(
        move |(members, base, more)| {
            let changed = |mut body: Value, changes: Vec<(Index, Change)>| {
                for (at, change) in changes {
                    let at = at.index(size(&body));
                    // The whole stays an object.
                    if at > 0 || matches!(change, Change::Add(..) | Change::Remove) {
                        apply(&mut body, at, &change);
                    }
                }
                body
            };
            let body = members.iter().fold(plain(wire), with);
            let body = changed(body, base);
            (body.clone(), changed(body, more))
        },
    )
}

/// What a request means, told by other means than its identity: the same form for requests that mean the same.
fn meaning(wire: Wire, mut body: Value) -> Value {
    let Some(members) = body.as_object_mut() else { return body };
    let flag = |value: &Value| value.is_boolean() || value.is_null();
    let object = |value: &Value| value.is_object() || value.is_null();
    let text = |value: &Value| value.is_string() || value.is_null();
    match wire {
        Wire::Chat => {
            drop_if(members, &["stream"], flag);
            drop_if(members, &["stream_options", "metadata", "prediction"], object);
            drop_if(members, &["service_tier"], text);
            drop_if(members, &["prompt_cache_key", "prompt_cache_retention"], |_| true);
            drop_if(members, &["n"], |value| value == &json!(1));
            each(members, "messages", |message| {
                spell_out(message, "content", "text");
                each(message, "content", |part| unmarked(part, "text"));
            });
        }
        Wire::Responses => {
            drop_if(members, &["stream"], flag);
            drop_if(members, &["stream_options", "metadata"], object);
            drop_if(members, &["service_tier"], text);
            drop_if(members, &["prompt_cache_key"], |_| true);
            if members.get("input").is_some_and(Value::is_string) {
                let input = members["input"].take();
                members["input"] = json!([{"role": "user", "content": input}]);
            }
            each(members, "input", |item| {
                let kind = item.get("type").and_then(Value::as_str).unwrap_or("message").to_owned();
                match &*kind {
                    "message" => {
                        drop_if(item, &["type"], Value::is_string);
                        spell_out(item, "content", "input_text");
                        each(item, "content", said);
                    }
                    "function_call_output" | "custom_tool_call_output" => each(item, "output", said),
                    _ => {}
                }
            });
        }
        Wire::Messages => {
            drop_if(members, &["stream"], flag);
            drop_if(members, &["service_tier"], text);
            drop_if(members, &["cache_control"], |_| true);
            if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
                metadata.retain(|name, _| name == "user_id");
                drop_if(members, &["metadata"], |value| value == &json!({}));
            }
            spell_out(members, "system", "text");
            each(members, "system", |block| {
                if block.get("type") == Some(&json!("text")) {
                    drop_if(block, &["cache_control"], |_| true);
                    drop_if(block, &["citations"], Value::is_null);
                }
            });
            each(members, "messages", |message| blocks(message, "content"));
            each(members, "tools", |tool| drop_if(tool, &["cache_control"], |_| true));
        }
        Wire::Gemini => {
            drop_if(members, &["labels"], object);
            drop_if(members, &["serviceTier", "service_tier"], text);
            drop_if(members, &["safetySettings"], |value| value == &json!([]));
            if let Some(Value::Object(config)) = members.get_mut("generationConfig") {
                drop_if(config, &["candidateCount", "candidate_count"], |value| value == &json!(1));
                drop_if(members, &["generationConfig"], |value| value == &json!({}));
            }
        }
    }
    body
}

fn drop_if(members: &mut Map<String, Value>, names: &[&str], drop: impl Fn(&Value) -> bool) {
    members.retain(|name, value| !(names.contains(&&**name) && drop(value)));
}

fn each(members: &mut Map<String, Value>, list: &str, change: impl Fn(&mut Map<String, Value>)) {
    let items = members.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
    items.filter_map(Value::as_object_mut).for_each(change);
}

/// A text as the list of one part that it stands for.
fn spell_out(members: &mut Map<String, Value>, name: &str, kind: &str) {
    if let Some(text) = members.get_mut(name).filter(|value| value.is_string()) {
        *text = json!([{"type": kind, "text": text.take()}]);
    }
}

/// A part that is text, without its mark for the provider's prompt cache.
fn unmarked(part: &mut Map<String, Value>, kind: &str) {
    if part.get("type") == Some(&json!(kind)) {
        drop_if(part, &["prompt_cache_breakpoint", "cache_control"], |_| true);
    }
}

/// A part of Responses, without marks, and without lists that say nothing.
fn said(part: &mut Map<String, Value>) {
    unmarked(part, "input_text");
    unmarked(part, "output_text");
    if part.get("type") == Some(&json!("output_text")) {
        drop_if(part, &["annotations", "logprobs"], |value| value == &json!([]));
    }
}

/// Anthropic's blocks, those that hold blocks too.
fn blocks(members: &mut Map<String, Value>, list: &str) {
    spell_out(members, list, "text");
    each(members, list, |block| {
        let kind = block.get("type").and_then(Value::as_str).unwrap_or("thinking").to_owned();
        if !matches!(&*kind, "thinking" | "redacted_thinking" | "container_upload") {
            drop_if(block, &["cache_control"], |_| true);
        }
        match &*kind {
            "text" => drop_if(block, &["citations"], Value::is_null),
            "tool_use" | "tool_result" => blocks(block, "content"),
            "image" | "document" => {
                let source = block.get_mut("source").and_then(Value::as_object_mut);
                if let Some(source) = source.filter(|source| source.get("type") == Some(&json!("content"))) {
                    blocks(source, "content");
                }
            }
            _ => {}
        }
    });
}

/// Writes members in an order of its own, with white space and escapes here and there.
fn scrambled(value: &Value, chance: &mut u64, text: &mut String) {
    // Knuth's MMIX generator.
    let mut next = |below: usize| {
        *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*chance >> 33) as usize % below
    };
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            for last in (1..members.len()).rev() {
                members.swap(last, next(last + 1));
            }
            text.push_str(["{", "{ ", "{\n"][next(3)]);
            for (at, (name, member)) in members.into_iter().enumerate() {
                text.push_str(if at > 0 { "," } else { "" });
                scrambled(&json!(name), chance, text);
                text.push(':');
                scrambled(member, chance, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push_str(["[", "[\t"][next(2)]);
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at > 0 { ", " } else { "" });
                scrambled(item, chance, text);
            }
            text.push(']');
        }
        Value::String(string) if next(2) == 0 => {
            text.push('"');
            string.encode_utf16().for_each(|unit| write!(text, "\\u{unit:04x}").unwrap());
            text.push('"');
        }
        other => write!(text, "{other}").unwrap(),
    }
}

fn scramble(value: &Value, mut chance: u64) -> String {
    let mut text = String::new();
    scrambled(value, &mut chance, &mut text);
    text
}

/// Whether the cache is asked at all.
fn cached(identity: &Identity) -> bool {
    identity.mode != Mode::Bypass
}

/// All that is to hold for a request and the same with changes.
fn holds(wire: Wire, (one, other): &(Value, Value), chance: u64) -> Result<(), TestCaseError> {
    let options = [
        OPTIONS,
        Options {
            semantic_history: true,
            semantic_tools: true,
            semantic_json: true,
            responses_stateless: true,
            ..OPTIONS
        },
    ];
    for options in options {
        let asked = ask(wire, one.to_string().as_bytes(), &options);
        // The order of members, white space and escapes change nothing.
        let text = scramble(one, chance);
        prop_assert_eq!(&ask(wire, text.as_bytes(), &options), &asked, "{}", text);
        // Requests are the same if and only if they mean the same.
        let changed = ask(wire, other.to_string().as_bytes(), &options);
        if let (Ok(asked), Ok(changed)) = (&asked, &changed)
            && cached(asked)
            && cached(changed)
        {
            let same = meaning(wire, one.clone()) == meaning(wire, other.clone());
            prop_assert_eq!(key(asked) == key(changed), same, "{} {}", one, other);
        }
    }
    // Any bytes have an answer.
    let mut bytes = one.to_string().into_bytes();
    let at = chance as usize % bytes.len();
    bytes[at] = (chance >> 32) as u8;
    let _ = ask(wire, &bytes, &OPTIONS);
    bytes.truncate(at);
    let _ = ask(wire, &bytes, &OPTIONS);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn chat(requests in requests(Wire::Chat), chance in any::<u64>()) {
        holds(Wire::Chat, &requests, chance)?;
    }

    #[test]
    fn responses(requests in requests(Wire::Responses), chance in any::<u64>()) {
        holds(Wire::Responses, &requests, chance)?;
    }

    #[test]
    fn messages(requests in requests(Wire::Messages), chance in any::<u64>()) {
        holds(Wire::Messages, &requests, chance)?;
    }

    #[test]
    fn gemini(requests in requests(Wire::Gemini), chance in any::<u64>()) {
        holds(Wire::Gemini, &requests, chance)?;
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for wire in Wire::ALL {
            let _ = ask(wire, &bytes, &OPTIONS);
        }
    }

    /// Bytes that JSON is made of.
    #[test]
    fn nearly_json(text in r#"[\[\]{}",:\\untrue0-9\-\.eE \u{e4}]{0,60}"#) {
        for wire in Wire::ALL {
            let _ = ask(wire, text.as_bytes(), &OPTIONS);
            let _ = ask(wire, format!(r#"{{"model":"m","messages":{text}}}"#).as_bytes(), &OPTIONS);
        }
    }
}

#[test]
fn a_thousand_shuffles_are_one_request() {
    for wire in Wire::ALL {
        // All that the table has without a reason against it: one request of many members.
        let body = cells(wire).iter().fold(plain(wire), |body, (members, _)| {
            let more = with(body.clone(), members);
            if identity(wire, &more).mode == Mode::Semantic { more } else { body }
        });
        for body in [body.clone(), with(body, &json!({"brand_new": {"z": 1, "a": [{"y": 2, "b": 3}]}}))] {
            let first = identity(wire, &body);
            for chance in 0..1_000 {
                let text = scramble(&body, chance);
                assert_eq!(ask(wire, text.as_bytes(), &OPTIONS).unwrap(), first, "{text}");
            }
        }
    }
}
