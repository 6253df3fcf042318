//! What the fake provider says in each wire format, plain and streamed, as the providers' references show it.

use serde_json::{Value, json};

use super::provider::{Call, Family, INPUT_TOKENS, OUTPUT_TOKENS, completion};

/// A complete, plain answer to a call.
pub fn whole(call: &Call, text: &str) -> Value {
    let model = &call.model;
    if call.path.ends_with("/responses") {
        return response(model, "completed", &json!([message(text)]));
    }
    if call.path.ends_with("/embeddings") {
        let data = json!([{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}]);
        return json!({"object": "list", "model": model, "data": data, "usage": {"prompt_tokens": 3, "total_tokens": 3}});
    }
    if call.path.ends_with("/count_tokens") {
        return json!({"input_tokens": INPUT_TOKENS});
    }
    if call.path.ends_with("/v1/completions") {
        let choice = json!({"index": 0, "text": text, "finish_reason": "stop", "logprobs": null});
        return json!({"id": "cmpl-1", "object": "text_completion", "model": model, "choices": [choice]});
    }
    completion(call.family, model, text)
}

/// The events of a complete, streamed answer to a call, each with its blank line. The text comes in pieces.
pub fn events(call: &Call, text: &str) -> Vec<String> {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    match call.family {
        _ if call.path.ends_with("/responses") => responses(&call.model, [first, second]),
        Family::OpenAi => chat(call, [first, second]),
        Family::Anthropic => messages(&call.model, [first, second]),
        Family::Gemini => gemini(&call.model, [first, second]),
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn named(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

fn chat(call: &Call, pieces: [&str; 2]) -> Vec<String> {
    let chunk = |choices: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1785500000, "model": call.model,
            "choices": choices})
    };
    let delta =
        |delta: Value, finish: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]));
    let mut events = vec![data(&delta(json!({"role": "assistant", "content": ""}), Value::Null))];
    events.extend(pieces.map(|piece| data(&delta(json!({"content": piece}), Value::Null))));
    events.push(data(&delta(json!({}), json!("stop"))));
    if call.body["stream_options"]["include_usage"] == true {
        let mut usage = chunk(json!([]));
        usage["usage"] = json!({"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS});
        events.push(data(&usage));
    }
    events.push("data: [DONE]\n\n".into());
    events
}

fn messages(model: &str, pieces: [&str; 2]) -> Vec<String> {
    let usage = |output: u64| json!({"input_tokens": INPUT_TOKENS, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": output});
    let start = json!({"id": "msg_01", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage(1)});
    let delta = |text: &str| {
        named(
            &json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        )
    };
    let block = json!({"type": "text", "text": ""});
    let stop = json!({"stop_reason": "end_turn", "stop_sequence": null});
    vec![
        named(&json!({"type": "message_start", "message": start})),
        named(&json!({"type": "content_block_start", "index": 0, "content_block": block})),
        named(&json!({"type": "ping"})),
        delta(pieces[0]),
        delta(pieces[1]),
        named(&json!({"type": "content_block_stop", "index": 0})),
        named(&json!({"type": "message_delta", "delta": stop, "usage": {"output_tokens": OUTPUT_TOKENS}})),
        named(&json!({"type": "message_stop"})),
    ]
}

fn message(text: &str) -> Value {
    let part = json!({"type": "output_text", "text": text, "annotations": []});
    json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [part]})
}

fn response(model: &str, status: &str, output: &Value) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 1785500000, "status": status, "error": null,
        "incomplete_details": null, "instructions": null, "model": model, "output": output, "parallel_tool_calls": true,
        "previous_response_id": null, "store": false, "temperature": 1.0, "text": {"format": {"type": "text"}},
        "tool_choice": "auto", "tools": [], "top_p": 1.0, "truncation": "disabled", "metadata": {},
        "usage": {"input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}})
}

fn responses(model: &str, pieces: [&str; 2]) -> Vec<String> {
    let text = pieces.concat();
    let empty = json!({"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []});
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let at = |kind: &str| json!({"type": kind, "item_id": "msg_1", "output_index": 0, "content_index": 0});
    let with = |mut event: Value, name: &str, value: Value| {
        event[name] = value;
        event
    };
    let delta = |piece: &str| with(at("response.output_text.delta"), "delta", json!(piece));
    let item = |kind: &str, item: Value| json!({"type": kind, "output_index": 0, "item": item});
    let events = [
        json!({"type": "response.created", "response": response(model, "in_progress", &json!([]))}),
        json!({"type": "response.in_progress", "response": response(model, "in_progress", &json!([]))}),
        item("response.output_item.added", empty),
        with(at("response.content_part.added"), "part", part("")),
        delta(pieces[0]),
        delta(pieces[1]),
        with(at("response.output_text.done"), "text", json!(text)),
        with(at("response.content_part.done"), "part", part(&text)),
        item("response.output_item.done", message(&text)),
        json!({"type": "response.completed", "response": response(model, "completed", &json!([message(&text)]))}),
    ];
    let numbered = events.into_iter().enumerate();
    numbered.map(|(n, event)| named(&with(event, "sequence_number", json!(n)))).collect()
}

fn gemini(model: &str, pieces: [&str; 2]) -> Vec<String> {
    let chunk = |text: &str, finish: Value| {
        let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": [{"text": text}]}});
        if !finish.is_null() {
            candidate["finishReason"] = finish;
        }
        data(&json!({"candidates": [candidate], "modelVersion": model, "responseId": "abc",
            "usageMetadata": {"promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS,
                "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS}}))
    };
    vec![chunk(pieces[0], Value::Null), chunk(pieces[1], json!("STOP"))]
}
