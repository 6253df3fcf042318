//! Requests to ask about.

use std::collections::BTreeMap;

use deja_wire::{Asked, Endpoint, Identity, Malformed, Mode, Options, Wire, identify};
use serde_json::{Value, json};

pub(crate) const OPTIONS: Options = Options {
    share_end_users: false,
    semantic_history: false,
    semantic_tools: false,
    semantic_json: false,
    responses_stateless: false,
    max_text_bytes: 131_072,
};

pub(crate) const fn endpoint(wire: Wire) -> Endpoint {
    match wire {
        Wire::Chat => Endpoint::Chat,
        Wire::Responses => Endpoint::Responses,
        Wire::Messages => Endpoint::Messages,
        Wire::Gemini => Endpoint::Gemini { stream: false },
    }
}

/// One question with instructions.
pub(crate) fn plain(wire: Wire) -> Value {
    match wire {
        Wire::Chat => json!({"model": "m", "messages": [
            {"role": "system", "content": "Be short."}, {"role": "user", "content": "Why is the sky blue?"}]}),
        Wire::Responses => {
            json!({"model": "m", "store": false, "instructions": "Be short.", "input": "Why is the sky blue?"})
        }
        Wire::Messages => json!({"model": "m", "max_tokens": 100, "system": "Be short.", "messages": [
            {"role": "user", "content": "Why is the sky blue?"}]}),
        Wire::Gemini => json!({"systemInstruction": {"parts": [{"text": "Be short."}]}, "contents": [
            {"role": "user", "parts": [{"text": "Why is the sky blue?"}]}]}),
    }
}

pub(crate) fn ask(wire: Wire, body: &[u8], options: &Options) -> Result<Identity, Malformed> {
    let model = (wire == Wire::Gemini).then_some("m");
    identify(&Asked { endpoint: endpoint(wire), model, body, headers: &[], query: None }, options)
}

pub(crate) fn identity(wire: Wire, body: &Value) -> Identity {
    ask(wire, body.to_string().as_bytes(), &OPTIONS).unwrap()
}

/// With members that take the place of those that are there.
pub(crate) fn with(mut body: Value, members: &Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// What two requests that share answers have in common.
pub(crate) type Key = (Mode, String, Option<String>, BTreeMap<Box<str>, Box<str>>, [u8; 32]);

pub(crate) fn key(identity: &Identity) -> Key {
    let Identity { mode, model, instructions, parameters, hash, .. } = identity.clone();
    (mode, model, instructions, parameters, hash)
}
