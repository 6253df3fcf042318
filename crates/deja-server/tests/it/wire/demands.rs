//! Answers that are not what their request demands: they pass, and are not kept.

use deja_wire::Wire;
use serde_json::{Value, json};

use super::hangups::with_tool;
use super::{address, cache, place, question, said, send};
use crate::util::{Reaction, Tenant, World};

/// Asks twice, as a stream or not: what the cache did the second time. Both times the application gets the answer.
#[track_caller]
fn asked_twice(tenant: &Tenant<'_>, wire: Wire, stream: bool, mut body: Value, answer: &str) -> String {
    let (path, _) = place(wire);
    if wire != Wire::Gemini {
        body["stream"] = json!(stream);
    }
    let ask = || {
        let response = send(tenant, &address(path, stream), &[], &body.to_string());
        assert_eq!((response.status, said(path, &response).as_str()), (200, answer), "{body}");
        cache(&response).to_owned()
    };
    assert_eq!(ask(), "miss", "{body}");
    ask()
}

#[test]
fn a_text_where_a_call_was_demanded_is_not_kept() {
    let world = World::shared();
    let tenant = world.tenant("wire-forced");
    for wire in Wire::ALL {
        let (name, forced, free) = match wire {
            Wire::Chat | Wire::Responses => ("tool_choice", json!("required"), json!("auto")),
            Wire::Messages => ("tool_choice", json!({"type": "any"}), json!({"type": "auto"})),
            Wire::Gemini => (
                "toolConfig",
                json!({"functionCallingConfig": {"mode": "ANY"}}),
                json!({"functionCallingConfig": {"mode": "AUTO"}}),
            ),
        };
        for stream in [false, true] {
            for (choice, expected) in [(&forced, "miss"), (&free, "hit")] {
                let text = format!("wire-forced {wire:?} {stream} {expected}");
                world.provider.on(&text, Reaction::Text("I would rather talk.".into()));
                let mut body = with_tool(wire, &text);
                body[name] = choice.clone();
                let second = asked_twice(&tenant, wire, stream, body, "I would rather talk.");
                assert_eq!(second, expected, "{text}");
            }
        }
    }
}

#[test]
fn a_text_that_is_no_json_where_json_was_demanded_is_not_kept() {
    let world = World::shared();
    let tenant = world.tenant("wire-json");
    for wire in Wire::ALL {
        let (name, format) = match wire {
            Wire::Chat => ("response_format", json!({"type": "json_object"})),
            Wire::Responses => ("text", json!({"format": {"type": "json_object"}})),
            Wire::Messages => ("output_config", json!({"format": {"type": "json_schema", "schema": {}}})),
            Wire::Gemini => ("generationConfig", json!({"responseMimeType": "application/json"})),
        };
        let answers = [
            ("Here it is: {}", "miss"),
            ("```json\n{}\n```", "miss"),
            ("{\"a\": [1, 2", "miss"),
            ("{\"a\": 1}\n", "hit"),
        ];
        for stream in [false, true] {
            for (n, (answer, expected)) in answers.into_iter().enumerate() {
                let text = format!("wire-json {wire:?} {stream} {n}");
                world.provider.on(&text, Reaction::Text(answer.into()));
                let (path, model) = place(wire);
                let mut body = question(path, model, &text, false);
                body[name] = format.clone();
                assert_eq!(asked_twice(&tenant, wire, stream, body, answer), expected, "{text}");
            }
        }
    }
}
