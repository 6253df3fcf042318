//! What a request demands of its answer.

use deja_wire::{Completion, Finish, Wire};
use serde_json::{Value, json};

use crate::requests::{identity, plain, with};

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
