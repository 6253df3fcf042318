//! What is not complete has no record.

use bytes::Bytes;
use deja_wire::{Finish, TAIL, Unrecorded, Wire, may_have_ended, record, so_far, usage_in};
use proptest::prelude::*;
use serde_json::Value;

use crate::streams::{ALL, Recorded};

fn read(wire: Wire, body: &str) -> Result<deja_wire::Record, Unrecorded> {
    record(wire, true, &Bytes::copy_from_slice(body.as_bytes()))
}

fn whole(recorded: &Recorded, body: &str) -> Value {
    let record = read(recorded.wire, body).unwrap_or_else(|why| panic!("{}: {why}", recorded.name));
    assert_eq!(record.completion.text, recorded.text, "{}", recorded.name);
    assert_eq!(record.completion.finish, recorded.finish, "{}", recorded.name);
    assert_eq!(record.renderable, recorded.renderable, "{}", recorded.name);
    assert_eq!(record.completion.choices, 1, "{}", recorded.name);
    serde_json::from_slice(&record.body).unwrap()
}

/// The stream's events, without blank lines.
fn events(body: &str) -> Vec<String> {
    let body = body.replace("\r\n", "\n");
    body.split("\n\n").filter(|event| !event.trim().is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_whole_stream_is_the_plain_answer() {
    for wire in Wire::ALL {
        assert!(ALL.iter().filter(|recorded| recorded.wire == wire).count() >= 5, "{wire:?}");
    }
    for recorded in ALL {
        let body = whole(recorded, recorded.body);
        let lines = recorded.body.replace("\r\n", "\n");
        for other in [
            lines.replace('\n', "\r\n"),
            lines.replace('\n', "\r"),
            lines.replace("data: ", "data:"),
            format!("\u{feff}{lines}"),
            lines.trim_end().to_owned(),
            lines.replace("\n\n", "\n: ping\n\n: ping\n\n"),
        ] {
            assert_eq!(whole(recorded, &other), body, "{}: {other}", recorded.name);
        }
    }
}

#[test]
fn what_has_come_to_its_end_mark_looks_so_and_what_has_not_does_not() {
    for recorded in ALL.iter().filter(|recorded| recorded.wire != Wire::Gemini) {
        let lines = recorded.body.replace("\r\n", "\n");
        for body in [lines.clone(), lines.replace('\n', "\r"), lines.replace('\n', "\r\n")] {
            let looks_whole = |body: &str| {
                let tail = &body.as_bytes()[body.len().saturating_sub(TAIL)..];
                may_have_ended(recorded.wire, tail)
            };
            assert!(looks_whole(&body), "{}", recorded.name);
            assert!(looks_whole(&format!("{body}data: [DONE]\n\n")), "{}", recorded.name);
        }
        let events = events(recorded.body);
        let begun = (2..events.len()).map(|end| format!("{}\n\n", events[..end].join("\n\n")));
        for begun in begun.filter(|begun| read(recorded.wire, begun).is_err()) {
            let tail = &begun.as_bytes()[begun.len().saturating_sub(TAIL)..];
            assert!(!may_have_ended(recorded.wire, tail), "{}: {begun}", recorded.name);
        }
    }
    // The last event of Responses has all of the answer in it.
    let long = format!("{}\"}}}}\n\n", "x".repeat(TAIL));
    assert!(may_have_ended(Wire::Responses, &long.as_bytes()[long.len() - TAIL..]));
}

#[test]
fn of_a_stream_that_is_cut_after_any_byte_is_known_what_it_said_so_far() {
    for recorded in ALL {
        let body = Bytes::from_static(recorded.body.as_bytes());
        let (mut longest, mut usage) = (0, None);
        for cut in 0..=body.len() {
            let Some(said) = so_far(recorded.wire, true, &body.slice(..cut)) else {
                assert_eq!(longest, 0, "{} cut at {cut}", recorded.name);
                continue;
            };
            assert!(recorded.text.starts_with(&said.text), "{} cut at {cut}: {}", recorded.name, said.text);
            assert!(said.text.len() >= longest, "{} cut at {cut}", recorded.name);
            assert_eq!(said.finish, Finish::Unknown);
            (longest, usage) = (said.text.len(), said.usage);
        }
        let whole = read(recorded.wire, recorded.body).unwrap().completion;
        assert_eq!((longest, usage), (whole.text.len(), whole.usage), "{}", recorded.name);
    }
    for nothing in
        ["", "data: [DONE]\n\n", "data: {}\n\n", "nonsense", "data: nonsense\n\n", "{\"choices\":[]}"]
    {
        for wire in Wire::ALL {
            assert_eq!(so_far(wire, true, &Bytes::from_static(nothing.as_bytes())), None, "{nothing}");
        }
    }
    let failed = recorded_text("One") + "data: {\"error\":{\"message\":\"no\"}}\n\n" + &recorded_text("Two");
    assert_eq!(so_far(Wire::Chat, true, &failed.into()).unwrap().text, "One");
}

#[test]
fn of_a_plain_answer_that_is_cut_after_any_byte_is_known_what_it_said_so_far() {
    for recorded in ALL {
        let whole = read(recorded.wire, recorded.body).unwrap();
        let all = whole.completion.written();
        let mut longest = 0;
        for cut in 0..=whole.body.len() {
            let said = so_far(recorded.wire, false, &whole.body.slice(..cut));
            let (written, text) = said.map(|said| (said.written(), said.text)).unwrap_or_default();
            // Whether a text of Gemini's is a thought stands behind it.
            assert!(all.contains(&text), "{} cut at {cut}: {text}", recorded.name);
            assert!(written.len() >= longest, "{} cut at {cut}: {written}", recorded.name);
            longest = written.len();
        }
        assert_eq!(longest, all.len(), "{}", recorded.name);
    }
}

/// Members that wrap nothing, and reports of servers, lose nothing of a stream.
#[test]
fn a_stream_with_members_that_say_nothing_is_given_again() {
    let chat = |first: &str, more: &str| {
        let delta = format!(r#"{{"role":"assistant","content":"Yes.",{first}}}"#);
        format!(
            "data: {{\"id\":\"x\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}],{more}}}\n\n\
             data: {{\"id\":\"x\",\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
        )
    };
    let messages = |edits: &str| {
        let events = [
            r#"{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"context_management":null}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Yes."}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            &format!(
                r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"context_management":{{"applied_edits":{edits}}}}}"#
            ),
            r#"{"type":"message_stop"}"#,
        ];
        events.map(|event| format!("data: {event}\n\n")).concat()
    };
    for (wire, stream, expected) in [
        (Wire::Chat, chat(r#""provider_specific_fields":{"refusal":null}"#, r#""stats":{"n":1}"#), true),
        (Wire::Chat, chat(r#""provider_specific_fields":{"refusal":"No."}"#, r#""stats":{}"#), false),
        (Wire::Chat, chat(r#""x":[]"#, r#""metadata":{"weight_version":"default"}"#), true),
        (Wire::Chat, chat(r#""x":[]"#, r#""metadata":{"customer":"ann"}"#), false),
        (Wire::Chat, chat(r#""x":[{}]"#, r#""base_resp":{"status_code":0,"status_msg":"success"}"#), true),
        (Wire::Messages, messages("[]"), true),
        (Wire::Messages, messages(r#"[{"type":"clear_tool_uses_20250919"}]"#), false),
    ] {
        assert_eq!(read(wire, &stream).unwrap().renderable, expected, "{stream}");
    }
}

/// Thoughts and calls of tools are paid for as text is. Where nobody tells the tokens they are counted.
#[test]
fn what_a_model_wrote_besides_its_text_is_known() {
    let chat = |delta: &str, finish: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n")
    };
    let chat = [
        chat(r#"{"role":"assistant","reasoning_content":"Hm","reasoning":"Hm"}"#, "null"),
        chat(r#"{"reasoning_content":".","reasoning":"."}"#, "null"),
        chat(r#"{"content":"Yes."}"#, "null"),
        chat(
            r#"{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{\"at"}}]}"#,
            "null",
        ),
        chat(r#"{"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}}]}"#, "\"tool_calls\""),
        "data: [DONE]\n\n".into(),
    ];
    let event = |event: &str| format!("data: {event}\n\n");
    let messages = [
        r#"{"type":"message_start","message":{"type":"message","role":"assistant","content":[]}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Yes."}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"at\":1"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"}"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
        r#"{"type":"message_stop"}"#,
    ]
    .map(event);
    let gemini = [event(
        r#"{"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true},{"text":"Yes."},{"functionCall":{"name":"look","args":{"at":1}}}]},"finishReason":"STOP"}]}"#,
    )];
    let responses = [event(
        r#"{"type":"response.completed","response":{"object":"response","status":"completed","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]},{"type":"message","content":[{"type":"output_text","text":"Yes."}]},{"type":"function_call","name":"look","arguments":"{\"at\":1}"}]}}"#,
    )];
    for (wire, events) in [
        (Wire::Chat, &chat[..]),
        (Wire::Messages, &messages[..]),
        (Wire::Gemini, &gemini[..]),
        (Wire::Responses, &responses[..]),
    ] {
        let said = read(wire, &events.concat()).unwrap().completion;
        assert_eq!((&*said.text, &*said.besides), ("Yes.", r#"Hm.look{"at":1}"#), "{wire:?}");
    }
    // So far as it came.
    let part = so_far(Wire::Messages, true, &messages[..8].concat().into()).unwrap();
    assert_eq!((&*part.text, &*part.besides), ("Yes.", r#"Hm.look{"at":1"#));
    let deltas = [
        r#"{"type":"response.reasoning_summary_text.delta","delta":"Hm."}"#,
        r#"{"type":"response.output_text.delta","delta":"Yes."}"#,
        r#"{"type":"response.function_call_arguments.delta","delta":"{\"at\""}"#,
    ]
    .map(event);
    let part = so_far(Wire::Responses, true, &deltas.concat().into()).unwrap();
    assert_eq!((&*part.text, &*part.besides), ("Yes.", r#"Hm.{"at""#));
}

/// OpenAI's older completions have a text in the place of a message, and as many as there are prompts.
#[test]
fn the_texts_of_older_completions_are_known() {
    let chunk = |index: u32, text: &str, finish: &str| {
        let choice =
            format!(r#"{{"text":"{text}","index":{index},"logprobs":null,"finish_reason":{finish}}}"#);
        format!("data: {{\"id\":\"cmpl-1\",\"object\":\"text_completion\",\"choices\":[{choice}]}}\n\n")
    };
    let events = [
        chunk(0, "Their", "null"),
        chunk(1, " And", "null"),
        chunk(0, " words.", "\"stop\""),
        chunk(1, " more.", "\"stop\""),
        "data: [DONE]\n\n".into(),
    ];
    let whole = read(Wire::Chat, &events.concat()).unwrap();
    assert_eq!((&*whole.completion.text, &*whole.completion.besides), ("", "Their words. And more."));
    assert!(!whole.renderable);
    let part = so_far(Wire::Chat, true, &events[..2].concat().into()).unwrap();
    assert_eq!(part.written(), "Their And");
    let plain =
        r#"{"choices":[{"text":"Their words.","index":0,"finish_reason":"stop"},{"text":" And","index":1}]}"#;
    let plain = Bytes::from_static(plain.as_bytes());
    assert_eq!(record(Wire::Chat, false, &plain).unwrap().completion.written(), "Their words. And");
    assert_eq!(so_far(Wire::Chat, false, &plain.slice(..26)).unwrap().written(), "Their");
    // Together's chat completions have the same text twice.
    let twice =
        r#"data: {"choices":[{"index":0,"text":"Yes","delta":{"content":"Yes"},"finish_reason":"stop"}]}"#;
    let twice = format!("{twice}\n\ndata: [DONE]\n\n");
    assert_eq!(read(Wire::Chat, &twice).unwrap().completion.written(), "Yes");
    let twice = Bytes::from_static(br#"{"choices":[{"index":0,"text":"Yes","message":{"content":"Yes"}}]}"#);
    assert_eq!(record(Wire::Chat, false, &twice).unwrap().completion.written(), "Yes");
}

#[test]
fn the_tokens_of_an_answer_are_read_from_parts_of_it() {
    for recorded in ALL {
        let record = read(recorded.wire, recorded.body).unwrap();
        for parts in [recorded.body.as_bytes(), &record.body, &recorded.body.as_bytes()[1..]] {
            assert_eq!(usage_in(recorded.wire, parts), record.completion.usage, "{}", recorded.name);
        }
    }
    // Without its middle, and with a text that says the same.
    let begun = r#"data: {"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1}}}"#;
    let quoted = r#""text":"{\"usage\":{\"output_tokens\":99}}"}}"#;
    let ended =
        r#"data: {"type":"message_delta","delta":{},"usage": {"output_tokens":30,"input_tokens":null}}"#;
    let usage = usage_in(Wire::Messages, format!("{begun}\n\nda{quoted}\n\n{ended}").as_bytes()).unwrap();
    assert_eq!((usage.input_total, usage.output_total), (7, 30));
    // Of what was written to its prompt cache Anthropic tells for how long.
    let written = r#""usage":{"input_tokens":3,"cache_read_input_tokens":90,"cache_creation_input_tokens":10,
        "cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":6},"output_tokens":30}"#;
    let usage = usage_in(Wire::Messages, written.as_bytes()).unwrap();
    assert_eq!(
        (usage.input_total, usage.cache_read, usage.cache_write, usage.cache_write_1h),
        (103, 90, 10, 6)
    );
    for nothing in
        ["", "\"usage\"", "\"usage\":", "\"usage\":{\"prompt_tokens\":7", "\"usage\":null", "\"usage\":[7]"]
    {
        assert_eq!(usage_in(Wire::Chat, nothing.as_bytes()), None, "{nothing}");
    }
}

/// A chunk of a chat completion.
fn recorded_text(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

#[test]
fn a_stream_that_is_cut_after_any_byte_has_no_record() {
    let mut cuts = 0;
    for recorded in ALL {
        let end = recorded.body.trim_end().len();
        for cut in 0..end {
            let part = Bytes::copy_from_slice(&recorded.body.as_bytes()[..cut]);
            let why = record(recorded.wire, true, &part).err();
            assert_eq!(why, Some(Unrecorded::Unfinished), "{} cut at {cut}", recorded.name);
            cuts += 1;
        }
    }
    assert!(cuts > 5_000, "{cuts}");
}

#[test]
fn a_stream_without_one_of_its_marks_has_no_record() {
    for recorded in ALL.iter().filter(|recorded| recorded.wire == Wire::Chat) {
        for left_out in ["finish", "[DONE]"] {
            let body: Vec<String> = events(recorded.body)
                .into_iter()
                .map(|event| match left_out {
                    "finish" => event
                        .replace("\"finish_reason\":\"stop\"", "\"finish_reason\":null")
                        .replace("\"finish_reason\":\"tool_calls\"", "\"finish_reason\":\"\""),
                    _ => event,
                })
                .filter(|event| !event.contains(left_out) || left_out == "finish")
                .collect();
            let why = read(recorded.wire, &(body.join("\n\n") + "\n\n")).err();
            assert_eq!(why, Some(Unrecorded::Unfinished), "{} without {left_out}", recorded.name);
        }
    }
}

#[test]
fn an_error_anywhere_leaves_no_record() {
    for recorded in ALL {
        let events = events(recorded.body);
        let error = match recorded.wire {
            Wire::Chat | Wire::Gemini => "data: {\"error\":{\"message\":\"broken\",\"code\":500}}",
            Wire::Responses | Wire::Messages => {
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"x\"}}"
            }
        };
        for at in 0..=events.len() {
            let mut broken = events.clone();
            broken.insert(at, error.to_owned());
            let why = read(recorded.wire, &(broken.join("\n\n") + "\n\n")).unwrap_err();
            assert!(
                matches!(why, Unrecorded::Failed(_) | Unrecorded::Overrun),
                "{} at {at}: {why:?}",
                recorded.name
            );
            assert!(!format!("{why:?} {why}").contains("broken"), "what a provider says is not for logs");
        }
    }
}

#[test]
fn a_second_end_leaves_no_record() {
    for recorded in ALL.iter().filter(|recorded| recorded.wire != Wire::Gemini) {
        let mut events = events(recorded.body);
        events.push(events.last().unwrap().clone());
        let why = read(recorded.wire, &(events.join("\n\n") + "\n\n")).err();
        assert_eq!(why, Some(Unrecorded::Overrun), "{}", recorded.name);
    }
}

#[test]
fn what_is_no_stream_of_its_format_has_no_record() {
    for wire in Wire::ALL {
        for body in ["", "\n\n", ": ping\n\n", "data: {}\n\n", "data: 3\n\ndata: []\n\n", "event: end\n\n"] {
            assert_eq!(read(wire, body).err(), Some(Unrecorded::Unfinished), "{wire:?} {body:?}");
        }
        let html = read(wire, "data: <html>\n\ndata: [DONE]\n\n").err();
        assert_eq!(html, Some(Unrecorded::NotJson), "{wire:?}");
        for body in ["<html>", "", "{", "\"\\ud800", "[[["] {
            let why = record(wire, false, &Bytes::from(body)).err();
            assert_eq!(why, Some(Unrecorded::NotJson), "{wire:?} {body:?}");
        }
        for body in ["{}", "[]", "3", "{\"object\":\"list\",\"data\":[]}", "{\"choices\":[],\"output\":3}"] {
            let why = record(wire, false, &Bytes::from(body)).err();
            assert_eq!(why, Some(Unrecorded::NotAnAnswer), "{wire:?} {body:?}");
        }
        let failed =
            record(wire, false, &Bytes::from_static(b"{\"error\":{\"message\":\"x\"}}")).unwrap_err();
        assert!(matches!(failed, Unrecorded::Failed(_)), "{failed}");
    }
}

/// Streams with a piece taken out, doubled or written over.
fn bent() -> impl Strategy<Value = (Wire, bool, Vec<u8>)> {
    let pieces =
        (0..ALL.len(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3u8, any::<bool>());
    let bent = pieces.prop_map(|(n, a, b, how, streamed)| {
        let body = ALL[n].body.as_bytes();
        let (a, b) = (a.index(body.len()), b.index(body.len()));
        let (a, b) = (a.min(b), a.max(b));
        let bent = match how {
            0 => [&body[..a], &body[b..]].concat(),
            1 => [&body[..b], &body[a..]].concat(),
            _ => [&body[..a], b"null", &body[b..]].concat(),
        };
        (ALL[n].wire, streamed, bent)
    });
    let wire = prop::sample::select(Wire::ALL.to_vec());
    let noise = (wire, any::<bool>(), prop::collection::vec(any::<u8>(), 0..300));
    prop_oneof![3 => bent, 1 => noise]
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic((wire, streamed, body) in bent()) {
        let body = Bytes::from(body);
        if let Ok(record) = record(wire, streamed, &body) {
            prop_assert!(serde_json::from_slice::<Value>(&record.body).is_ok());
        }
    }
}
