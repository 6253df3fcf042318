//! What is stored plain is served as a stream and the reverse, and says the same.

use bytes::Bytes;
use deja_wire::{Completion, NewValues, Record, Rendering, TokenUsage, Wire, json_as_stream, record, render};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::streams::ALL;

const FRESH: NewValues<'static> = NewValues {
    seed: [0xab; 16],
    created: 1_790_000_999,
    input_tokens: 3,
    output_tokens: 2,
    zero_usage: false,
    keeps_id: false,
    labelled: None,
};

fn rendered(wire: Wire, body: &[u8], stream: bool, usage: bool, fresh: &NewValues<'_>) -> Bytes {
    render(wire, body, &Rendering { stream, usage }, fresh).unwrap()
}

/// A stream that deja wrote, read again.
fn again(wire: Wire, stream: &Bytes) -> Record {
    record(wire, true, stream).unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(stream)))
}

fn parsed(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

/// The data of each event.
fn events(stream: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(stream).unwrap();
    let data =
        text.split("\n\n").filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")));
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect()
}

#[test]
fn a_recorded_stream_is_served_plain_and_streamed_with_the_same_content() {
    for recorded in ALL.iter().filter(|recorded| recorded.renderable) {
        let wire = recorded.wire;
        let first = record(wire, true, &Bytes::from_static(recorded.body.as_bytes())).unwrap();
        let plain = rendered(wire, &first.body, false, false, &FRESH);
        let stream = rendered(wire, &first.body, true, true, &FRESH);
        let second = again(wire, &stream);
        assert_eq!(parsed(&second.body), parsed(&plain), "{}", recorded.name);
        // Where no tokens were told, they are those that were counted.
        let usage = first.completion.usage.or(Some(TokenUsage {
            input_total: 3,
            output_total: 2,
            ..TokenUsage::default()
        }));
        assert_eq!(second.completion, Completion { usage, ..first.completion }, "{}", recorded.name);
        assert!(second.renderable, "{}", recorded.name);
    }
}

/// `value` over many lines, as OpenAI and Gemini send it; the other ends of lines are those of servers on Windows.
fn pretty(value: &Value, line: &str) -> Vec<u8> {
    serde_json::to_string_pretty(value).unwrap().replace('\n', line).into_bytes()
}

#[test]
fn an_answer_over_many_lines_is_streamed_as_one_on_a_line() {
    let tool = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"city": "Oslo", "days": [1, 2]}}],
        "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 5}});
    let call = json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {"city": "Oslo"}}}],
        "role": "model"}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1}});
    let texts = Wire::ALL.map(|wire| (wire, plain(wire, "One.\n\nTwo.\r\n")));
    for (wire, answer) in texts.into_iter().chain([(Wire::Messages, tool), (Wire::Gemini, call)]) {
        let compact = rendered(wire, &serde_json::to_vec(&answer).unwrap(), true, true, &FRESH);
        for line in ["\n", "\r\n", "\r"] {
            let stream = rendered(wire, &pretty(&answer, line), true, true, &FRESH);
            assert!(!stream.contains(&b'\r'), "{wire:?}");
            let (found, expected) = (events(&stream), events(&compact));
            assert_eq!(found.len(), expected.len(), "{wire:?}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!(found.is_object() || found == "[DONE]", "{wire:?}: {found}");
                // What an input of a tool is in is a text, in which white space stays.
                if found["delta"]["partial_json"].is_string() {
                    let input =
                        |event: &Value| parsed(event["delta"]["partial_json"].as_str().unwrap().as_bytes());
                    assert_eq!(input(found), input(expected));
                } else {
                    assert_eq!(found, expected, "{wire:?}");
                }
            }
            assert_eq!(parsed(&again(wire, &stream).body), parsed(&again(wire, &compact).body), "{wire:?}");
        }
    }
}

#[test]
fn every_hit_has_an_id_of_its_own_and_keeps_all_other_bytes() {
    let stored = Bytes::from_static(
        br#"{ "id" : "chatcmpl-1", "x_groq":{"id":"req"}, "created":1, "model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","id":"inner"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"total_time":0.0210,"completion_tokens":1e0}}"#,
    );
    let plain = rendered(Wire::Chat, &stored, false, false, &FRESH);
    let expected = String::from_utf8(stored.to_vec())
        .unwrap()
        .replace("\"chatcmpl-1\"", &format!("\"chatcmpl-{}\"", "ab".repeat(16)))
        .replace("\"created\":1,", "\"created\":1790000999,");
    assert_eq!(plain, expected.as_bytes());
    let other = NewValues { seed: [1; 16], zero_usage: true, ..FRESH };
    let other = parsed(&rendered(Wire::Chat, &stored, false, false, &other));
    assert_ne!(other["id"], parsed(&plain)["id"]);
    assert_eq!(other["usage"], json!({"prompt_tokens": 0, "total_time": 0, "completion_tokens": 0}));
}

#[test]
fn a_chat_completion_without_tokens_has_those_that_were_counted() {
    let stored = |usage: &str| {
        format!(
            r#"{{"id":"x","choices":[{{"index":0,"message":{{"role":"assistant","content":"Hi"}},"finish_reason":"stop"}}]{usage}}}"#
        )
    };
    for usage in ["", r#","usage":null"#] {
        let stored = stored(usage);
        for (zero_usage, usage) in [
            (false, json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5})),
            (true, json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})),
        ] {
            let fresh = NewValues { zero_usage, ..FRESH };
            let plain = rendered(Wire::Chat, stored.as_bytes(), false, false, &fresh);
            assert_eq!(parsed(&plain)["usage"], usage);
            let told = |wanted: bool| {
                let events = events(&rendered(Wire::Chat, stored.as_bytes(), true, wanted, &fresh));
                events.iter().rev().find_map(|event| event.get("usage").cloned())
            };
            assert_eq!((told(true), told(false)), (Some(usage), None));
        }
    }
}

#[test]
fn a_chat_stream_has_the_chunks_that_clients_check() {
    let text = "é".repeat(100);
    let stored = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "service_tier": "default",
        "system_fingerprint": null, "choices": [{"index": 0, "message": {"role": "assistant", "content": text, "refusal": null},
        "logprobs": null, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}});
    let stored = serde_json::to_vec(&stored).unwrap();
    let chunk = |delta: Value, finish: Value| {
        json!({"id": format!("chatcmpl-{}", "ab".repeat(16)), "object": "chat.completion.chunk", "created": 1_790_000_999,
            "model": "m", "service_tier": "default", "system_fingerprint": null,
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]})
    };
    let mut expected = vec![
        chunk(json!({"role": "assistant", "content": "", "refusal": null}), Value::Null),
        chunk(json!({"content": "é".repeat(64)}), Value::Null),
        chunk(json!({"content": "é".repeat(36)}), Value::Null),
        chunk(json!({}), "stop".into()),
    ];
    let without = rendered(Wire::Chat, &stored, true, false, &FRESH);
    let mut bare = expected.clone();
    bare.push("[DONE]".into());
    assert_eq!(events(&without), bare);
    for chunk in &mut expected {
        chunk["usage"] = Value::Null;
    }
    let mut usage = expected[0].clone();
    usage["choices"] = json!([]);
    usage["usage"] = json!({"prompt_tokens": 3});
    expected.extend([usage, "[DONE]".into()]);
    assert_eq!(events(&rendered(Wire::Chat, &stored, true, true, &FRESH)), expected);
}

/// DeepSeek and others tell the tokens in the last chunk with a choice, vLLM on request in each; OpenAI in a chunk of their own.
#[test]
fn tokens_that_came_with_content_stand_where_openai_has_them() {
    let chunk = |delta: &str, finish: &str, usage: &str| {
        format!(
            r#"data: {{"id":"1","object":"chat.completion.chunk","created":5,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]{usage}}}"#
        ) + "\n\n"
    };
    let usage = |output: u64| format!(r#","usage":{{"prompt_tokens":5,"completion_tokens":{output}}}"#);
    for at_first in [String::new(), usage(1)] {
        let first = chunk(r#"{"role":"assistant","content":"Hi"}"#, "null", &at_first);
        let body =
            Bytes::from(first + &chunk(r#"{"content":""}"#, "\"stop\"", &usage(9)) + "data: [DONE]\n\n");
        let stored = record(Wire::Chat, true, &body).unwrap();
        let told = json!({"prompt_tokens": 5, "completion_tokens": 9});
        assert_eq!(parsed(&rendered(Wire::Chat, &stored.body, false, false, &FRESH))["usage"], told);
        let stream = events(&rendered(Wire::Chat, &stored.body, true, true, &FRESH));
        let [rest @ .., last, done] = stream.as_slice() else { panic!("{stream:?}") };
        assert_eq!((&last["choices"], &last["usage"], done), (&json!([]), &told, &json!("[DONE]")));
        assert!(rest.iter().all(|chunk| chunk["usage"].is_null() && chunk["choices"][0].is_object()));
        let unasked = events(&rendered(Wire::Chat, &stored.body, true, false, &FRESH));
        assert!(unasked.iter().all(|chunk| chunk.get("usage").is_none()), "{unasked:?}");
    }
}

#[test]
fn a_plain_answer_to_a_request_for_a_stream_loses_nothing() {
    let calls = json!([{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]);
    let answer = json!({"id": "x", "object": "chat.completion", "created": 5, "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": calls}, "finish_reason": "tool_calls"},
            {"index": 1, "message": {"role": "assistant", "content": "Hm.", "reasoning_content": "Why?"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
    let body = serde_json::to_vec(&answer).unwrap();
    let stream = json_as_stream(Wire::Chat, &body, &Rendering { stream: true, usage: true }).unwrap();
    assert_eq!(parsed(&again(Wire::Chat, &stream).body), answer);
}

/// What each format says of `text`, plain.
fn plain(wire: Wire, text: &str) -> Value {
    match wire {
        Wire::Chat => json!({"id": "x", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "logprobs": null, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}}),
        Wire::Responses => {
            json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "error": null,
            "incomplete_details": null, "model": "m", "store": false, "metadata": {},
            "output": [{"id": "rs_1", "type": "reasoning", "summary": []}, {"id": "msg_1", "type": "message", "status": "completed",
            "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]}],
            "usage": {"input_tokens": 3, "output_tokens": 0}})
        }
        Wire::Messages => json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": text}, {"type": "text", "text": "!"}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 3, "cache_read_input_tokens": 0, "output_tokens": 5, "service_tier": "standard"}}),
        Wire::Gemini => {
            json!({"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": "STOP",
            "index": 0, "avgLogprobs": -0.25}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 0},
            "modelVersion": "m", "responseId": "r"})
        }
    }
}

/// The kinds of the events, and their numbers in order where there are any.
fn kinds(events: &[Value]) -> Vec<&str> {
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "{numbers:?}");
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

#[test]
fn a_message_stream_has_the_events_that_clients_check() {
    let stored = serde_json::to_vec(&plain(Wire::Messages, &"é".repeat(65))).unwrap();
    let stream = rendered(Wire::Messages, &stored, true, false, &FRESH);
    let events = events(&stream);
    let text = std::str::from_utf8(&stream).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(kinds(&events), names, "clients go by the event lines");
    let expected = "message_start content_block_start content_block_delta content_block_delta content_block_stop \
        content_block_start content_block_delta content_block_stop message_delta message_stop";
    assert_eq!(names.join(" "), expected);
    let id = format!("msg_{}", "ab".repeat(16));
    let message = json!({"id": id, "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null,
        "stop_sequence": null, "usage": {"input_tokens": 3, "cache_read_input_tokens": 0, "output_tokens": 0, "service_tier": "standard"}});
    assert_eq!(events[0]["message"], message);
    assert_eq!(
        events[1],
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    );
    assert_eq!(
        events[3],
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "é"}})
    );
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 0, "output_tokens": 5}});
    assert_eq!(events[8], delta);
}

#[test]
fn a_responses_stream_has_the_events_that_clients_check() {
    let stored = serde_json::to_vec(&plain(Wire::Responses, &"é".repeat(65))).unwrap();
    let events = events(&rendered(Wire::Responses, &stored, true, false, &FRESH));
    let expected = "created in_progress output_item.added output_item.done output_item.added content_part.added \
        output_text.delta output_text.delta output_text.done content_part.done output_item.done completed";
    let kinds: Vec<&str> =
        kinds(&events).iter().map(|kind| kind.strip_prefix("response.").unwrap()).collect();
    assert_eq!(kinds.join(" "), expected);
    for event in &events[..2] {
        assert_eq!(event["response"]["output"], json!([]));
        assert_eq!(event["response"]["status"], "in_progress");
        assert_eq!(event["response"]["usage"], Value::Null);
    }
    let id = format!("resp_deja_{}", "ab".repeat(16));
    assert!([0, 1, 11].iter().all(|n| events[*n]["response"]["id"] == id.as_str()));
    assert!(events[5..10].iter().all(|event| event["item_id"] == "msg_1" && event["content_index"] == 0));
    assert!(events[2..4].iter().all(|event| event["output_index"] == 0));
    assert!(events[4..11].iter().all(|event| event["output_index"] == 1));
    assert_eq!(
        events[4]["item"],
        json!({"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []})
    );
    assert_eq!(
        events[5]["part"],
        json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []})
    );
    assert_eq!(events[7]["delta"], "é");
    assert_eq!(events[8]["text"], "é".repeat(65));
    assert_eq!(events[10]["item"], events[11]["response"]["output"][1]);
    assert_eq!(events[11]["response"]["created_at"], 1_790_000_999);
}

#[test]
fn a_response_that_is_left_with_the_provider_stays_under_its_id() {
    let id = |store: Option<bool>, keeps_id: bool| {
        let mut stored = plain(Wire::Responses, "x");
        stored.as_object_mut().unwrap().remove("store");
        if let Some(store) = store {
            stored["store"] = store.into();
        }
        let body = serde_json::to_vec(&stored).unwrap();
        let fresh = NewValues { keeps_id, ..FRESH };
        parsed(&rendered(Wire::Responses, &body, false, false, &fresh))["id"].as_str().unwrap().to_owned()
    };
    let own = format!("resp_deja_{}", "ab".repeat(16));
    let stores = [None, Some(true), Some(false)];
    assert_eq!(stores.map(|store| id(store, true)), ["resp_1", "resp_1", &own]);
    assert_eq!(stores.map(|store| id(store, false)), [&*own; 3]);
}

#[test]
fn what_another_caller_wrote_on_its_request_is_not_given_again() {
    let mut stored = plain(Wire::Responses, "x");
    for label in ["user", "safety_identifier", "prompt_cache_key"] {
        stored[label] = "ann@example.org".into();
    }
    stored["metadata"] = json!({"customer": "ann@example.org"});
    let body = serde_json::to_vec(&stored).unwrap();
    for stream in [false, true] {
        let given = rendered(Wire::Responses, &body, stream, true, &FRESH);
        assert!(!std::str::from_utf8(&given).unwrap().contains("ann@example.org"));
    }
    let given = parsed(&rendered(Wire::Responses, &body, false, false, &FRESH));
    assert_eq!((&given["metadata"], &given["user"]), (&json!({}), &Value::Null));
    // Who has labels gets its own, also where the stored answer has none.
    stored["user"] = Value::Null;
    let body = serde_json::to_vec(&stored).unwrap();
    let request = br#"{"input": "x", "metadata": {"customer": "bob"}, "user": "bob"}"#;
    let given =
        rendered(Wire::Responses, &body, false, false, &NewValues { labelled: Some(request), ..FRESH });
    let given = parsed(&given);
    assert_eq!((&given["metadata"], &given["user"]), (&json!({"customer": "bob"}), &json!("bob")));
    assert_eq!(given["prompt_cache_key"], Value::Null);
}

#[test]
fn a_gemini_stream_ends_with_its_finish_reason_and_no_mark() {
    let stored = serde_json::to_vec(&plain(Wire::Gemini, &"é".repeat(65))).unwrap();
    let stream = rendered(Wire::Gemini, &stored, true, false, &FRESH);
    let events = events(&stream);
    let id = "ab".repeat(16);
    assert_eq!(
        events,
        [
            json!({"candidates": [{"content": {"parts": [{"text": "é".repeat(64)}], "role": "model"}, "index": 0}],
                "modelVersion": "m", "responseId": id}),
            json!({"candidates": [{"content": {"parts": [{"text": "é"}], "role": "model"}, "index": 0, "finishReason": "STOP",
                "avgLogprobs": -0.25}], "modelVersion": "m", "responseId": id,
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 0}}),
        ]
    );
}

/// Gemini 3 signs texts too, mostly in an empty last part. A signature is of the conversation that it came in.
#[test]
fn a_text_of_gemini_is_given_again_without_its_signature() {
    let stream = [
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Yes."}]},"index":0}],"modelVersion":"m","responseId":"r"}"#,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"","thoughtSignature":"EqQB"}]},"index":0,"finishReason":"STOP"}]}"#,
    ]
    .map(|piece| format!("data: {piece}\n\n"))
    .concat();
    let streamed = record(Wire::Gemini, true, &stream.into()).unwrap();
    let plain = br#"{ "candidates": [{"content": {"parts": [{"text": "Yes.", "thoughtSignature": "EqQB"}], "role": "model"}, "finishReason": "STOP"}]}"#;
    let plain = record(Wire::Gemini, false, &Bytes::from_static(plain)).unwrap();
    for stored in [streamed, plain] {
        assert!(stored.renderable && stored.body.windows(4).any(|bytes| bytes == b"EqQB"));
        let given = rendered(Wire::Gemini, &stored.body, false, false, &FRESH);
        let parts = parsed(&given)["candidates"][0]["content"]["parts"].take();
        assert!(parts.as_array().unwrap().iter().all(|part| part.as_object().unwrap().len() == 1), "{parts}");
        assert_eq!(parts[0]["text"], "Yes.");
        let given = again(Wire::Gemini, &rendered(Wire::Gemini, &stored.body, true, false, &FRESH));
        assert_eq!((&*given.completion.text, given.renderable), ("Yes.", true));
        assert!(!given.body.windows(4).any(|bytes| bytes == b"EqQB"));
    }
}

/// So are they on chat completions, and the thoughts that Claude shows to nobody.
#[test]
fn what_belongs_to_another_conversation_is_not_given_again() {
    let claude = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "thinking", "thinking": "", "signature": "EqQB"}, {"type": "redacted_thinking", "data": "EqQB"},
            {"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 5}});
    let gemini = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes.",
            "extra_content": {"google": {"thought_signature": "EqQB"}}}, "finish_reason": "stop"}]});
    // A name may be spelled with escapes.
    let escaped = |answer: &Value, name: &str| {
        let (first, rest) = name.split_at(1);
        let other = format!("\"\\u{:04x}{rest}\"", u32::from(first.as_bytes()[0]));
        answer.to_string().replace(&format!("\"{name}\""), &other)
    };
    for (wire, answer) in [
        (Wire::Messages, claude.to_string()),
        (
            Wire::Messages,
            escaped(&claude, "thinking").replace("redacted_thinking", "redacted_thin\\u006bing"),
        ),
        (Wire::Chat, gemini.to_string()),
        (Wire::Chat, escaped(&gemini, "extra_content")),
    ] {
        let stored = record(wire, false, &answer.into()).unwrap();
        assert!(stored.renderable && stored.body.windows(4).any(|bytes| bytes == b"EqQB"), "{wire:?}");
        for stream in [false, true] {
            let given = rendered(wire, &stored.body, stream, false, &FRESH);
            assert!(!given.windows(4).any(|bytes| bytes == b"EqQB"), "{wire:?}");
            let given = record(wire, stream, &given).unwrap();
            assert_eq!(given.completion.text, "Yes.", "{wire:?}");
        }
    }
}

/// Thoughts come before the text, a few words at a time, as from a server.
#[test]
fn thoughts_as_text_are_streamed_in_pieces() {
    let thoughts = "é".repeat(65);
    let mut answer = plain(Wire::Chat, "Yes.");
    answer["choices"][0]["message"]["reasoning_content"] = json!(thoughts);
    let stream = rendered(Wire::Chat, &serde_json::to_vec(&answer).unwrap(), true, false, &FRESH);
    let events = events(&stream);
    let deltas: Vec<&Value> = events.iter().map(|chunk| &chunk["choices"][0]["delta"]).collect();
    assert_eq!(deltas[0], &json!({"role": "assistant", "content": ""}));
    let [first, rest] = ["é".repeat(64), "é".into()];
    assert_eq!(
        deltas[1..4],
        [
            &json!({"reasoning_content": first}),
            &json!({"reasoning_content": rest}),
            &json!({"content": "Yes."})
        ]
    );
}

#[test]
fn tools_and_thoughts_in_a_plain_answer_are_streamed_where_a_stream_was_asked_for() {
    let answers = [
        (
            Wire::Messages,
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "EqQ="},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t", "name": "f", "input": {"city": "Oslo"}},
                {"type": "tool_use", "id": "u", "name": "g", "input": {}}], "stop_reason": "tool_use", "stop_sequence": null,
                "usage": {"input_tokens": 3, "output_tokens": 5}}),
        ),
        (
            Wire::Responses,
            json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [
                {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
                {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "c", "name": "f", "arguments": "{\"x\":1}"},
                {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
                    "content": [{"type": "refusal", "refusal": "No."}]}]}),
        ),
        (
            Wire::Gemini,
            json!({"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": true}, {"text": "Yes."},
                {"functionCall": {"name": "f", "args": {"city": "Oslo"}}}], "role": "model"}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 1}}),
        ),
        (
            Wire::Gemini,
            json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 1}}),
        ),
    ];
    for (wire, answer) in answers {
        let body = serde_json::to_vec(&answer).unwrap();
        let stream = json_as_stream(wire, &body, &Rendering { stream: true, usage: true }).unwrap();
        let record = again(wire, &stream);
        assert_eq!(parsed(&record.body), answer, "{wire:?}");
        assert!(!record.renderable);
    }
}

/// A fold keeps no citations.
#[test]
fn a_streamed_text_with_citations_is_not_given_again() {
    let streamed = |delta: &Value| {
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": null, "usage": {"input_tokens": 3, "output_tokens": 1}});
        let events = [
            json!({"type": "message_start", "message": message}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Blue."}}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ];
        let stream = events.map(|event| format!("data: {event}\n\n")).concat();
        again(Wire::Messages, &stream.into()).renderable
    };
    assert!(streamed(&json!({"type": "text_delta", "text": ""})));
    assert!(!streamed(&json!({"type": "citations_delta", "citation": {"type": "char_location"}})));
}

#[test]
fn why_a_message_ended_stands_at_its_end() {
    let details = json!({"type": "refusal", "category": "cyber", "explanation": null});
    let answer = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": "refusal", "stop_sequence": null, "stop_details": details,
        "usage": {"input_tokens": 3, "output_tokens": 5}});
    let body = serde_json::to_vec(&answer).unwrap();
    let stream = json_as_stream(Wire::Messages, &body, &Rendering { stream: true, usage: false }).unwrap();
    let events = events(&stream);
    assert_eq!(events[0]["message"]["stop_details"], Value::Null);
    assert_eq!(
        events[1]["delta"],
        json!({"stop_reason": "refusal", "stop_sequence": null, "stop_details": details})
    );
    assert_eq!(parsed(&again(Wire::Messages, &stream).body), answer);
}

/// Text with all that renderings of others have lost.
const TEXT: &str = "([ \t\n\r\"\\\\{}:,a-c]|\n\n|data: |\\[DONE\\]|[é☃]|👩‍🔧|\u{2028}|\u{0}){0,200}";

proptest! {
    #[test]
    fn what_is_rendered_as_a_stream_is_read_as_the_same_answer(text in TEXT, wire in prop::sample::select(Wire::ALL.to_vec())) {
        let stored = serde_json::to_vec(&plain(wire, &text)).unwrap();
        let first = record(wire, false, &stored.clone().into()).unwrap();
        prop_assert!(first.renderable);
        prop_assert_eq!(&first.body, &stored);
        prop_assert!(first.completion.text.starts_with(&text));
        let answer = rendered(wire, &stored, false, false, &FRESH);
        let second = again(wire, &rendered(wire, &stored, true, true, &FRESH));
        prop_assert_eq!(&second.completion, &first.completion);
        prop_assert!(second.renderable);
        if !text.is_empty() {
            prop_assert_eq!(parsed(&second.body), parsed(&answer));
        }
    }

    #[test]
    fn no_record_makes_the_renderer_panic(body in prop::collection::vec(any::<u8>(), 0..200), stream: bool) {
        for wire in Wire::ALL {
            let rendering = Rendering { stream, usage: true };
            prop_assert!(render(wire, &body, &rendering, &FRESH).is_err());
        }
    }
}
