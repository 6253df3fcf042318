//! Streams as they come over a network: wherever a chunk ends the answer is the same, and reading ends with the end mark.

use bytes::Bytes;
use deja_wire::{StreamError, Unrecorded, Wire, is_error, read, record, so_far};
use futures::{FutureExt as _, StreamExt as _, stream};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::streams::ALL;

#[derive(Debug, thiserror::Error)]
#[error("the connection broke")]
struct Broken;

/// The text of the answer in a body of these chunks, or why there is none.
fn text(wire: Wire, chunks: &[&[u8]]) -> Result<String, String> {
    let chunks = chunks.iter().map(|chunk| Ok(Bytes::copy_from_slice(chunk)));
    // A connection that stays open behind the body would have to be waited for.
    let chunks = stream::iter(chunks.collect::<Vec<Result<_, Broken>>>());
    let read = read(wire, chunks).now_or_never().unwrap();
    read.map(|record| record.completion.text).map_err(|cut| format!("{:?}", cut.why))
}

#[test]
fn a_chunk_may_end_anywhere() {
    for recorded in ALL {
        let body = recorded.body.as_bytes();
        for step in [1, 2, 3, 7, 61, body.len() / 2] {
            let chunks: Vec<&[u8]> = body.chunks(step).collect();
            assert_eq!(text(recorded.wire, &chunks).unwrap(), recorded.text, "{} by {step}", recorded.name);
        }
    }
}

#[test]
fn nothing_is_read_behind_the_end_mark() {
    for recorded in ALL.iter().filter(|recorded| recorded.wire != Wire::Gemini) {
        let body = Bytes::from_static(recorded.body.as_bytes());
        let open = stream::iter([Ok(body), Ok(Bytes::from_static(b"\n\ndata: <html>\n\n"))])
            .chain(stream::pending());
        let read = read::<Broken>(recorded.wire, open).now_or_never();
        assert_eq!(read.unwrap().unwrap().completion.text, recorded.text, "{}", recorded.name);
    }
}

#[test]
fn a_broken_connection_is_told_as_it_is() {
    for recorded in ALL {
        let (half, _) = recorded.body.as_bytes().split_at(recorded.body.len() / 2);
        let chunks = stream::iter([Ok(Bytes::from_static(half)), Err(Broken)]);
        let cut = read(recorded.wire, chunks).now_or_never().unwrap().unwrap_err();
        assert!(matches!(cut.why, StreamError::Read(Broken)), "{}", recorded.name);
        let said = so_far(recorded.wire, true, &Bytes::from_static(half));
        assert_eq!(cut.part.map(|part| *part), said, "{}", recorded.name);
    }
}

#[test]
fn an_event_that_is_not_json_in_the_middle_is_not_the_cut_of_a_stream() {
    for body in [&b"data: <html>\n\ndata: [DONE]\n\n"[..], b"data: \"\xff\"\n\ndata: [DONE]\n\n"] {
        let why = text(Wire::Chat, &[body]).unwrap_err();
        assert_eq!(why, format!("{:?}", StreamError::<Broken>::Unrecorded(Unrecorded::NotJson)));
    }
}

#[test]
fn an_event_may_have_several_lines_and_much_beside_its_data() {
    let body = "\u{feff}: hello\n\nevent: ping\nid: 7\nretry: 10\nodd: 1\ndata:{\"choices\":[{\"index\":0,\ndata: \"delta\":\
                {\"content\":\"Ün ☃\"},\"finish_reason\":\"stop\"}]}\n\ndata\n\nid: 8\n\ndata: [DONE]\n";
    for chunks in [vec![body.as_bytes()], body.as_bytes().chunks(1).collect()] {
        assert_eq!(text(Wire::Chat, &chunks).unwrap(), "Ün ☃");
    }
}

#[test]
fn errors_are_seen_whatever_their_shape() {
    for body in [
        json!({"error": {"message": "x"}}),
        json!({"error": "x"}),
        json!([{"error": {"code": 400}}]),
        json!({"object": "error", "message": "x"}),
        json!({"type": "error", "error": {}}),
    ] {
        assert!(is_error(&body), "{body}");
        let why = text(Wire::Chat, &[format!("data: {body}\n\n").as_bytes()]).unwrap_err();
        assert_eq!(why, "Unrecorded(Failed)");
    }
    for body in [json!({"error": null}), json!({"error": {}}), json!({"error": ""}), json!([]), json!({})] {
        assert!(!is_error(&body), "{body}");
    }
}

/// The calls of tools in a streamed chat completion, a list of calls for each chunk, and whether it may be stored.
fn calls(chunks: &[Value]) -> (Value, bool) {
    let event = |delta: Value, finish: Value| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    };
    let chunks = chunks.iter().map(|calls| event(json!({"tool_calls": calls}), Value::Null));
    let end = [event(json!({}), "tool_calls".into()), "data: [DONE]\n\n".into()];
    let record = record(Wire::Chat, true, &chunks.chain(end).collect::<String>().into()).unwrap();
    let body: Value = serde_json::from_slice(&record.body).unwrap();
    (body["choices"][0]["message"]["tool_calls"].clone(), record.renderable)
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn calls_of_tools_are_told_apart_by_their_ids_where_their_numbers_do_not() {
    let [one, other] = [call("a", "f", r#"{"city":"Oslo"}"#), call("b", "g", "{}")];
    let numbered = |call: &Value| {
        let mut numbered = call.clone();
        numbered["index"] = 0.into();
        numbered
    };
    let both = (json!([one, other]), true);
    // Gemini's compatible endpoint leaves the number out, other servers always say 0.
    assert_eq!(calls(&[json!([one]), json!([other])]), both);
    assert_eq!(calls(&[json!([numbered(&one)]), json!([numbered(&other)])]), both);
    assert_eq!(calls(&[json!([one, other])]), both);
    // The arguments of each in pieces, which have no id, the empty one or that of their call.
    let piece =
        |id: Value, arguments: &str| json!([{"index": 0, "id": id, "function": {"arguments": arguments}}]);
    let pieces = [
        json!([numbered(&call("a", "f", ""))]),
        piece(Value::Null, r#"{"city":"#),
        piece("".into(), r#""Os"#),
        piece("a".into(), r#"lo"}"#),
        json!([numbered(&call("b", "g", "{"))]),
        piece(Value::Null, "}"),
    ];
    assert_eq!(calls(&pieces), both);
}

#[test]
fn calls_of_tools_that_cannot_be_told_apart_are_not_stored() {
    for (one, other) in [
        // Two without ids, and one with a new id in each piece.
        (call("", "f", "{}"), call("", "f", "{}")),
        (call("", "f", "{}"), call("", "g", "")),
        (call("a", "f", "{\"x\":"), call("b", "f", "1}")),
    ] {
        let (found, renderable) = calls(&[json!([one]), json!([other])]);
        assert!(!renderable, "{found}");
    }
    assert!(!calls(&[json!([call("a", "f", "{\"x\":")])]).1, "its arguments are no JSON");
    assert!(calls(&[json!([call("a", "f", "")])]).1);
}

proptest! {
    #[test]
    fn bounds_of_chunks_change_nothing(
        body in "((data: ?|: |event:|id|é|\u{feff})?(\\[DONE\\]|\"[a-zü ]{0,4}\"|[a-z1 ]{0,3})(\r\n|\n|\r)){0,20}",
        cuts in prop::collection::vec(0usize..300, 0..8),
    ) {
        let body = body.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]).collect();
        prop_assert_eq!(text(Wire::Chat, &chunks), text(Wire::Chat, &[body]));
    }
}
