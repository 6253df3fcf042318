//! The table of members, cell by cell.

use deja_wire::{Mode, Options, Wire};
use serde_json::{Value, json};

use crate::requests::{OPTIONS, ask, identity, key, plain, with};

/// What a member makes of a plain question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    /// Matched by meaning, apart from the plain question.
    Semantic,
    /// The same as the plain question.
    Ignored,
    /// Matched byte for byte, for this reason.
    Exact(&'static str),
    /// Not cached, for this reason.
    Bypass(&'static str),
}

use Cell::{Bypass, Exact, Ignored, Semantic};

/// Members and what they make of [`plain`], one on a line.
pub(crate) fn cells(wire: Wire) -> Vec<(Value, Cell)> {
    let table = match wire {
        Wire::Chat => include_str!("cells/chat.txt"),
        Wire::Responses => include_str!("cells/responses.txt"),
        Wire::Messages => include_str!("cells/messages.txt"),
        Wire::Gemini => include_str!("cells/gemini.txt"),
    };
    let cell = |line: &'static str| {
        let (cell, members) = line.split_once(": ").unwrap();
        let cell = match cell.split_once(' ').unwrap_or((cell, "")) {
            ("semantic", "") => Semantic,
            ("ignored", "") => Ignored,
            ("exact", reason) => Exact(reason),
            ("bypass", reason) => Bypass(reason),
            _ => panic!("{line}"),
        };
        (serde_json::from_str(members).unwrap(), cell)
    };
    table.lines().map(cell).collect()
}

#[test]
fn every_cell_of_the_table() {
    for wire in Wire::ALL {
        let base = identity(wire, &plain(wire));
        assert_eq!(base.mode, Mode::Semantic, "{wire:?}");
        for (members, cell) in cells(wire) {
            let found = identity(wire, &with(plain(wire), &members));
            let told = format!("{wire:?} {members}: {found:?}");
            match cell {
                Semantic => {
                    assert_eq!(found.mode, Mode::Semantic, "{told}");
                    assert_ne!(key(&found), key(&base), "{told}");
                }
                Ignored => assert_eq!(key(&found), key(&base), "{told}"),
                Exact(reason) => {
                    assert_eq!(found.mode, Mode::Exact, "{told}");
                    assert!(found.reasons.contains(&reason), "{told}");
                }
                Bypass(reason) => {
                    assert_eq!(found.mode, Mode::Bypass, "{told}");
                    assert_eq!(found.reasons, [reason], "{told}");
                }
            }
        }
    }
}

/// What a project may allow, and what it makes of which request.
#[test]
fn every_opt_in() {
    let turns = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]);
    let tool = json!([{"type": "function", "function": {"name": "f"}}]);
    let cases = [
        (Wire::Chat, json!({"messages": turns}), Options { semantic_history: true, ..OPTIONS }),
        (Wire::Messages, json!({"messages": turns}), Options { semantic_history: true, ..OPTIONS }),
        (
            Wire::Chat,
            json!({"tools": tool, "tool_choice": "auto"}),
            Options { semantic_tools: true, ..OPTIONS },
        ),
        (Wire::Messages, json!({"tools": [{"name": "f"}]}), Options { semantic_tools: true, ..OPTIONS }),
        (
            Wire::Gemini,
            json!({"tools": [{"functionDeclarations": [{"name": "f"}]}]}),
            Options { semantic_tools: true, ..OPTIONS },
        ),
        (
            Wire::Chat,
            json!({"response_format": {"type": "json_object"}}),
            Options { semantic_json: true, ..OPTIONS },
        ),
        (
            Wire::Responses,
            json!({"text": {"format": {"type": "json_object"}}}),
            Options { semantic_json: true, ..OPTIONS },
        ),
        (
            Wire::Gemini,
            json!({"generationConfig": {"responseMimeType": "application/json"}}),
            Options { semantic_json: true, ..OPTIONS },
        ),
        (Wire::Responses, json!({"store": true}), Options { responses_stateless: true, ..OPTIONS }),
    ];
    for (wire, members, options) in cases {
        let body = with(plain(wire), &members).to_string();
        let without = ask(wire, body.as_bytes(), &OPTIONS).unwrap();
        assert_eq!(without.mode, Mode::Exact, "{members}");
        let allowed = ask(wire, body.as_bytes(), &options).unwrap();
        assert_eq!((allowed.mode, &*allowed.reasons), (Mode::Semantic, &[][..]), "{members}");
        let plain = ask(wire, plain(wire).to_string().as_bytes(), &options).unwrap();
        assert_ne!(allowed.parameters, plain.parameters, "{members}: a frame of its own");
    }
}

#[test]
fn what_is_no_talk_is_no_history() {
    let options = Options { semantic_history: true, semantic_tools: true, ..OPTIONS };
    let turns = |middle: Value| {
        let body = with(
            plain(Wire::Chat),
            &json!({"messages": [{"role": "user", "content": "a"}, middle, {"role": "user", "content": "c"}]}),
        );
        ask(Wire::Chat, body.to_string().as_bytes(), &options).unwrap()
    };
    let one = turns(json!({"role": "assistant", "content": "b"}));
    let other = turns(json!({"role": "assistant", "content": "x"}));
    assert_eq!((one.mode, &*one.text), (Mode::Semantic, "c"));
    assert_ne!(one.parameters, other.parameters);
    assert_eq!(turns(json!({"role": "tool", "tool_call_id": "t", "content": "b"})).mode, Mode::Exact);
    assert_eq!(turns(json!({"role": "critic", "content": "b"})).reasons, ["multi_turn"]);
}

/// Libraries put the answer into the next request as they got it.
#[test]
fn an_answer_that_is_sent_back_is_talk() {
    let options = Options { semantic_history: true, ..OPTIONS };
    let chat = json!({"role": "assistant", "content": "b", "refusal": null, "annotations": [], "audio": null,
        "function_call": null, "tool_calls": null});
    let message = json!({"role": "assistant", "content": [{"type": "text", "text": "b", "citations": null}]});
    let item = json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": "b", "annotations": [], "logprobs": []}]});
    for (wire, turns, answer) in [
        (Wire::Chat, "messages", chat),
        (Wire::Messages, "messages", message),
        (Wire::Responses, "input", item),
    ] {
        let talk = json!([{"role": "user", "content": "a"}, answer, {"role": "user", "content": "c"}]);
        let body = with(plain(wire), &json!({turns: talk})).to_string();
        let reasons = |options| ask(wire, body.as_bytes(), options).unwrap().reasons;
        assert_eq!((reasons(&OPTIONS), reasons(&options)), (vec!["multi_turn"], vec![]), "{wire:?}");
    }
}

#[test]
fn end_users_share_answers_where_the_project_says_so() {
    let share = Options { share_end_users: true, ..OPTIONS };
    let cases = [
        (Wire::Chat, json!({"user": "eve"}), json!({"user": "bob", "safety_identifier": "b"})),
        (Wire::Responses, json!({"user": "eve"}), json!({"safety_identifier": "bob"})),
        (Wire::Messages, json!({"metadata": {"user_id": "eve"}}), json!({"metadata": {"user_id": "bob"}})),
    ];
    for (wire, eve, bob) in cases {
        let ask = |members: &Value, options| {
            key(&ask(wire, with(plain(wire), members).to_string().as_bytes(), options).unwrap())
        };
        assert_ne!(ask(&eve, &OPTIONS), ask(&bob, &OPTIONS));
        assert_eq!(ask(&eve, &share), ask(&bob, &share));
        assert_eq!(ask(&eve, &share), ask(&json!({}), &share));
    }
}

#[test]
fn what_responses_repeat_of_a_request_is_told_apart() {
    let labels = |wire, members: &Value| identity(wire, &with(plain(wire), members)).labels;
    let mut all = std::collections::BTreeSet::new();
    for name in ["metadata", "user", "safety_identifier", "prompt_cache_key"] {
        for value in ["eve", "bob"] {
            let value = if name == "metadata" { json!({"who": value, "job": 1}) } else { json!(value) };
            let members = json!({name: value});
            assert!(all.insert(labels(Wire::Responses, &members).unwrap()), "{members}");
            assert_eq!(labels(Wire::Chat, &members), None, "{members}");
        }
        assert_eq!(labels(Wire::Responses, &json!({name: null})), None);
    }
    let [one, other] = [r#"{"a":1,"b":2}"#, r#"{"b": 2, "a": 1}"#].map(|members| {
        labels(Wire::Responses, &json!({"metadata": serde_json::from_str::<Value>(members).unwrap()}))
    });
    assert_eq!(one, other);
}
