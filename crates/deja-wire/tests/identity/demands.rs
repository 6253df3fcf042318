//! What a request demands of its answer.

use deja_wire::{Completion, Finish, Options, Wire};
use serde_json::{Value, json};

use crate::requests::{OPTIONS, ask, identity, plain, with};

fn said(text: &str, finish: Finish) -> Completion {
    Completion { text: text.into(), besides: String::new(), finish, choices: 1, model: None, usage: None }
}

/// Whether an answer with this text, and one that calls a tool, are what the request with these members demands.
fn met(wire: Wire, members: &Value, text: &str) -> [bool; 2] {
    let demand = identity(wire, &with(plain(wire), members)).demand;
    [said(text, Finish::Stop), said("", Finish::ToolCalls)].map(|completion| demand.is_met_by(&completion))
}

#[test]
fn a_choice_that_leaves_no_text_demands_a_call() {
    let function = json!({"type": "function", "function": {"name": "f"}});
    let allowed = |mode: &str| json!({"mode": mode, "tools": [function]});
    let nested = |mode: &str| json!({"type": "allowed_tools", "allowed_tools": allowed(mode)});
    let flat = |mode: &str| json!({"type": "allowed_tools", "mode": mode, "tools": [function]});
    let mode = |mode: &str| json!({"functionCallingConfig": {"mode": mode, "allowedFunctionNames": ["f"]}});
    let cases = [
        (Wire::Chat, "tool_choice", json!("required"), true),
        (Wire::Chat, "tool_choice", json!("any"), true),
        (Wire::Chat, "tool_choice", function.clone(), true),
        (Wire::Chat, "tool_choice", json!({"type": "custom", "custom": {"name": "f"}}), true),
        (Wire::Chat, "tool_choice", nested("required"), true),
        (Wire::Chat, "tool_choice", nested("auto"), false),
        (Wire::Chat, "tool_choice", json!("auto"), false),
        (Wire::Chat, "tool_choice", json!("none"), false),
        (Wire::Chat, "tool_choice", Value::Null, false),
        (Wire::Chat, "function_call", json!({"name": "f"}), true),
        (Wire::Chat, "function_call", json!("auto"), false),
        (Wire::Responses, "tool_choice", json!("required"), true),
        (Wire::Responses, "tool_choice", json!({"type": "function", "name": "f"}), true),
        (Wire::Responses, "tool_choice", flat("required"), true),
        (Wire::Responses, "tool_choice", flat("auto"), false),
        (Wire::Responses, "tool_choice", json!("auto"), false),
        (Wire::Messages, "tool_choice", json!({"type": "any"}), true),
        (Wire::Messages, "tool_choice", json!({"type": "tool", "name": "f"}), true),
        (Wire::Messages, "tool_choice", json!({"type": "auto"}), false),
        (Wire::Messages, "tool_choice", json!({"type": "none"}), false),
        (Wire::Gemini, "toolConfig", mode("ANY"), true),
        (Wire::Gemini, "tool_config", json!({"function_calling_config": {"mode": "ANY"}}), true),
        (Wire::Gemini, "toolConfig", mode("AUTO"), false),
        (Wire::Gemini, "toolConfig", mode("VALIDATED"), false),
        (Wire::Gemini, "toolConfig", json!({}), false),
    ];
    for (wire, name, value, demanded) in cases {
        assert_eq!(met(wire, &json!({name: value}), "Hello."), [!demanded, true], "{wire:?} {name} {value}");
    }
}

#[test]
fn tools_of_the_application_are_told_whatever_the_project_allows() {
    for wire in Wire::ALL {
        let tools = match wire {
            Wire::Chat | Wire::Responses => json!([{"type": "function", "name": "f"}]),
            Wire::Messages => json!([{"name": "f"}]),
            Wire::Gemini => json!([{"functionDeclarations": [{"name": "f"}]}]),
        };
        for semantic_tools in [false, true] {
            let has_tools = |members: &Value| {
                let body = with(plain(wire), members).to_string();
                ask(wire, body.as_bytes(), &Options { semantic_tools, ..OPTIONS }).unwrap().has_tools
            };
            assert!(has_tools(&json!({"tools": tools})), "{wire:?} {semantic_tools}");
            assert!(!has_tools(&json!({"tools": []})) && !has_tools(&json!({})), "{wire:?} {semantic_tools}");
        }
    }
    assert!(identity(Wire::Chat, &with(plain(Wire::Chat), &json!({"functions": [{"name": "f"}]}))).has_tools);
}

#[test]
fn a_format_demands_json() {
    let schema = json!({"type": "json_schema", "name": "n", "schema": {}});
    let config = |kind: &str| json!({"responseMimeType": kind});
    let cases = [
        (Wire::Chat, "response_format", json!({"type": "json_object"}), true),
        (Wire::Chat, "response_format", schema.clone(), true),
        (Wire::Chat, "response_format", json!({"type": "text"}), false),
        (Wire::Chat, "response_format", json!({"type": "grammar"}), false),
        (Wire::Responses, "text", json!({"format": {"type": "json_object"}}), true),
        (Wire::Responses, "text", json!({"format": schema}), true),
        (Wire::Responses, "text", json!({"format": {"type": "text"}}), false),
        (Wire::Messages, "output_config", json!({"format": schema}), true),
        (Wire::Messages, "output_format", schema.clone(), true),
        (Wire::Messages, "output_config", json!({"effort": "low"}), false),
        (Wire::Gemini, "generationConfig", config("application/json"), true),
        (Wire::Gemini, "generation_config", json!({"response_mime_type": "application/json"}), true),
        (Wire::Gemini, "generationConfig", config("text/plain"), false),
        (Wire::Gemini, "generationConfig", config("text/x.enum"), false),
    ];
    for (wire, name, value, demanded) in cases {
        let members = json!({name: value});
        for text in ["Here: {}", "{} {}", "[1, 2", "{\"a\": NaN}"] {
            assert_eq!(met(wire, &members, text), [!demanded, true], "{wire:?} {members} {text}");
        }
        for text in ["{\"a\": 1}", " [1, 2]\n", "\"yes\"", "null"] {
            assert_eq!(met(wire, &members, text), [true, true], "{wire:?} {members} {text}");
        }
    }
}
