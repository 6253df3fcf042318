//! Faults that were reported of other caches, in each format: whatever an answer depends on keeps requests apart, whatever it
//! does not depend on brings them together, and what is not an answer is not kept. (Cut streams are in `cuts`, turns of tools
//! and white space in `hits`, errors of the provider in `passing`.)

use std::collections::{BTreeSet, HashSet};
use std::io::Write as _;

use deja_wire::Wire;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::streams::call;
use super::{EXACT, address, cache, id, place, question, said, send};
use crate::util::stream::{events, whole};
use crate::util::{Random, Reaction, World};

/// A question with these members beside it, those of the same name instead.
fn with(wire: Wire, text: &str, more: Value) -> Value {
    let (path, model) = place(wire);
    let mut body = question(path, model, text, false);
    let Value::Object(more) = more else { panic!("{more}") };
    body.as_object_mut().unwrap().extend(more);
    body
}

/// Turns of a talk: the user's and the assistant's, one after the other.
fn talk(wire: Wire, turns: &[&str]) -> Value {
    let turn = |(number, text): (usize, &&str)| {
        let theirs = number % 2 == 1;
        if wire == Wire::Gemini {
            let role = if theirs { "model" } else { "user" };
            return json!({"role": role, "parts": [{"text": text}]});
        }
        json!({"role": if theirs { "assistant" } else { "user" }, "content": text})
    };
    let turns: Value = turns.iter().enumerate().map(turn).collect();
    let name = match wire {
        Wire::Chat | Wire::Messages => "messages",
        Wire::Responses => "input",
        Wire::Gemini => "contents",
    };
    with(wire, "", json!({name: turns}))
}

/// Each of these requests has an answer of its own: each is a miss, and a hit the second time.
#[track_caller]
fn all_differ(name: &str, wire: Wire, bodies: &[Value]) {
    let world = World::shared();
    let tenant = world.tenant(&format!("{name} {wire:?}"));
    world.provider.on(name, Reaction::Numbered);
    let (path, _) = place(wire);
    let ask = |body: &Value, expected: &str| {
        let response = send(&tenant, &address(path, false), &[], &body.to_string());
        assert_eq!((response.status, cache(&response)), (200, expected), "{body}\n{}", response.text());
        said(path, &response)
    };
    let cold: Vec<String> = bodies.iter().map(|body| ask(body, "miss")).collect();
    assert_eq!(cold.iter().collect::<HashSet<_>>().len(), bodies.len(), "{cold:?}");
    let warm: Vec<String> = bodies.iter().map(|body| ask(body, "hit")).collect();
    assert_eq!(cold, warm);
}

/// "How old is he?" is not answered for another company.
#[test]
fn the_same_last_message_after_other_turns_is_another_question() {
    for wire in Wire::ALL {
        let company = |company: &str, leader: &str| {
            talk(wire, &[&format!("trap-turns: who leads {company}?"), leader, "How old is he?"])
        };
        let bodies = [
            company("Acme", "Somebody."),
            company("Umbrella", "Somebody."),
            company("Acme", "Somebody else."),
            talk(wire, &["trap-turns: how old is he?"]),
        ];
        all_differ("trap-turns", wire, &bodies);
    }
}

/// Instructions are part of the question, wherever a format has them.
#[test]
fn other_instructions_are_another_question() {
    for wire in Wire::ALL {
        let bodies = [None, Some("Answer in Greek."), Some("Answer in Norse."), Some("Answer in Norse. ")]
            .map(|told| {
                let Some(told) = told else { return with(wire, "trap-instructions", json!({})) };
                let more = match wire {
                    Wire::Chat => json!({"messages": [{"role": "system", "content": told},
                    {"role": "user", "content": "trap-instructions"}]}),
                    Wire::Responses => json!({"instructions": told}),
                    Wire::Messages => json!({"system": told}),
                    Wire::Gemini => json!({"systemInstruction": {"parts": [{"text": told}]}}),
                };
                with(wire, "trap-instructions", more)
            });
        all_differ("trap-instructions", wire, &bodies);
    }
}

/// Headers that change the answer are part of the question, whatever bytes they have and however often they come.
#[test]
fn other_headers_are_another_question() {
    let world = World::shared();
    let tenant = world.tenant("trap-headers");
    world.provider.on("trap-headers", Reaction::Numbered);
    for (wire, name) in [
        (Wire::Chat, "OpenAI-Beta"),
        (Wire::Messages, "anthropic-beta"),
        (Wire::Messages, "anthropic-version"),
    ] {
        let (path, model) = place(wire);
        let body = question(path, model, &format!("trap-headers {name}"), false).to_string();
        let headers: [&[(&str, &str)]; 5] = [
            &[],
            &[(name, "mode=a;\u{e9}")],
            &[(name, "mode=a;\u{ea}")],
            &[(name, "mode=a")],
            &[(name, "mode=a"), (name, "\u{e9}")],
        ];
        for expected in ["miss", "hit"] {
            for more in headers {
                let response = send(&tenant, path, more, &body);
                assert_eq!((response.status, cache(&response)), (200, expected), "{more:?}");
            }
        }
    }
}

/// Tools, the choice among them and the shape of the answer are part of the question.
#[test]
fn other_tools_another_choice_and_another_schema_are_another_question() {
    let schema = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}});
    for wire in Wire::ALL {
        let tool = |name: &str, argument: &str| match wire {
            Wire::Chat => {
                json!({"type": "function", "function": {"name": name, "parameters": schema(argument)}})
            }
            Wire::Responses => json!({"type": "function", "name": name, "parameters": schema(argument)}),
            Wire::Messages => json!({"name": name, "input_schema": schema(argument)}),
            Wire::Gemini => json!({"functionDeclarations": [{"name": name, "parameters": schema(argument)}]}),
        };
        let (look, choose) = (tool("look", "at"), |mode: &str| match wire {
            Wire::Chat | Wire::Responses => json!({"tool_choice": mode}),
            Wire::Messages => json!({"tool_choice": {"type": mode}}),
            Wire::Gemini => json!({"toolConfig": {"functionCallingConfig": {"mode": mode}}}),
        });
        let shaped = |name: &str| match wire {
            Wire::Chat => json!({"response_format": {"type": "json_schema",
                "json_schema": {"name": "shape", "schema": schema(name)}}}),
            Wire::Responses => {
                json!({"text": {"format": {"type": "json_schema", "name": "shape", "schema": schema(name)}}})
            }
            Wire::Messages => {
                json!({"output_config": {"format": {"type": "json_schema", "schema": schema(name)}}})
            }
            Wire::Gemini => json!({"generationConfig": {"responseMimeType": "application/json",
                "responseSchema": schema(name)}}),
        };
        let chosen = |mode: &str| {
            let mut more = choose(mode);
            more["tools"] = json!([look]);
            more
        };
        let bodies = [
            json!({}),
            json!({"tools": [look]}),
            json!({"tools": [tool("look", "behind")]}),
            json!({"tools": [tool("listen", "at")]}),
            json!({"tools": [look, tool("listen", "at")]}),
            json!({"tools": [tool("listen", "at"), look]}),
            chosen("auto"),
            chosen("none"),
            shaped("one"),
            shaped("two"),
        ];
        all_differ("trap-tools", wire, &bodies.map(|more| with(wire, "trap-tools", more)));
    }
}

/// The same JSON with its members in another order, at every depth.
fn shuffled(value: &Value, random: &mut Random) -> String {
    match value {
        Value::Object(members) => {
            let mut left: Vec<(&String, &Value)> = members.iter().collect();
            let mut written = Vec::new();
            while !left.is_empty() {
                let (name, value) = left.swap_remove(random.below(left.len()));
                let blank = random.pick(&["", " ", "\n\t"]);
                written.push(format!("{}:{blank}{}", json!(name), shuffled(value, random)));
            }
            format!("{{{}}}", written.join(random.pick(&[",", ", ", ",\r\n"])))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| shuffled(item, random)).collect();
            format!("[{}]", items.join(","))
        }
        plain => plain.to_string(),
    }
}

/// Requests that are equal hit, whatever order a client's maps have today.
#[test]
fn a_thousand_orders_of_members_are_one_question_and_one_entry() {
    let world = World::shared();
    let mut random = Random::new(9);
    for wire in Wire::ALL {
        let tenant = world.tenant(&format!("trap-order {wire:?}"));
        let text = format!("trap-order {wire:?}");
        let sampling = match wire {
            Wire::Gemini => {
                json!({"generationConfig": {"temperature": 0.5, "topP": 0.9, "maxOutputTokens": 50}})
            }
            _ => json!({"temperature": 0.5, "top_p": 0.9, "metadata": {"a": "1", "b": "2"}}),
        };
        let body = with(wire, &text, sampling);
        let (path, _) = place(wire);
        let (mut orders, mut entries) = (HashSet::new(), BTreeSet::new());
        for number in 0..250 {
            let body = shuffled(&body, &mut random);
            let response = send(&tenant, &address(path, false), &[EXACT], &body);
            assert_eq!(cache(&response), if number == 0 { "miss" } else { "hit" }, "{body}");
            entries.extend(response.header("x-deja-entry").map(str::to_owned));
            orders.insert(body);
        }
        assert!(orders.len() > 100, "{} orders", orders.len());
        assert_eq!((entries.len(), world.provider.calls(&text).len()), (1, 1), "{wire:?}");
    }
}

/// An error that comes with status 200 is passed on, and no hit for anybody.
#[test]
fn an_error_with_status_200_is_not_kept_and_the_answer_behind_it_is() {
    let world = World::shared();
    let tenant = world.tenant("trap-200");
    for wire in Wire::ALL {
        for stream in [false, true] {
            let (path, model) = place(wire);
            let text = format!("trap-200 {wire:?} {stream}.");
            let asked = question(path, model, &text, stream).to_string();
            let ask = || send(&tenant, &address(path, stream), &[EXACT], &asked);
            let error = json!({"error": {"message": "overloaded", "code": 503}});
            world.provider.on(&text, Reaction::Json(200, error.clone()));
            for _ in 0..2 {
                let response = ask();
                assert_eq!((response.status, response.json()), (200, error.clone()), "{text}");
            }
            world.provider.on(&text, Reaction::Text("An answer.".into()));
            let (cold, warm) = (ask(), ask());
            assert_eq!((cache(&cold), cache(&warm)), ("miss", "hit"), "{text}");
            assert_eq!(said(path, &warm), "An answer.", "{text}");
            assert_eq!(world.provider.calls(&text).len(), 3, "{text}");
        }
    }
}

/// What OpenAI keeps may be named by the next request, so a hit has its id. Other hits have ids of their own.
#[test]
fn a_response_that_openai_keeps_has_its_id_on_every_hit() {
    let world = World::shared();
    let tenant = world.tenant("trap-stored");
    let (path, _) = place(Wire::Responses);
    for store in [json!(true), Value::Null, json!(false)] {
        let text = format!("trap-stored {store}");
        let mut body = with(Wire::Responses, &text, json!({"store": store}));
        if store.is_null() {
            body.as_object_mut().unwrap().remove("store");
        }
        // OpenAI's answer says whether it is kept.
        let mut answer = whole(&call(path, "gpt-4o-mini", &text), "Kept there.");
        answer["store"] = json!(store != json!(false));
        world.provider.on(&text, Reaction::Json(200, answer));
        let mut ids = HashSet::new();
        for number in 0..4 {
            body["stream"] = json!(number % 2 == 1);
            let response = send(&tenant, path, &[EXACT], &body.to_string());
            assert_eq!(cache(&response), if number == 0 { "miss" } else { "hit" }, "{text}");
            ids.insert(id(path, &response));
        }
        assert_eq!(ids.len(), if store == json!(false) { 4 } else { 1 }, "{text}: {ids:?}");
        assert!(ids.contains("resp_1"));
    }
}

/// The stream format of RFC 7932 with one block that is not packed, of at most 64 KiB.
fn brotli(text: &[u8]) -> Vec<u8> {
    let head = ((text.len() as u32 - 1) << 4 | 1 << 20).to_le_bytes();
    [&head[..3], text, &[3]].concat()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

/// An answer that is packed, though nobody asked for that, is read by every client: unpacked, with no header that says
/// otherwise, at once and from the cache.
#[test]
fn packed_answers_are_read_plain_and_streamed_cold_and_warm() {
    let world = World::shared();
    let tenant = world.tenant("trap-packed");
    for wire in Wire::ALL {
        for encoding in ["gzip", "br"] {
            for stream in [false, true] {
                let (path, model) = place(wire);
                let text = format!("trap-packed {wire:?} {encoding} {stream}");
                let as_call = call(path, model, &text);
                let words = "Once packed: h\u{e9}llo.";
                let (kind, plain) = if stream {
                    ("text/event-stream", events(&as_call, words).concat())
                } else {
                    ("application/json", whole(&as_call, words).to_string())
                };
                let body = if encoding == "br" { brotli(plain.as_bytes()) } else { gzip(plain.as_bytes()) };
                let head = format!(
                    "HTTP/1.1 200 X\r\nContent-Type: {kind}\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n",
                    body.len()
                );
                world.provider.on(&text, Reaction::Bytes([head.as_bytes(), &body].concat()));
                for expected in ["miss", "hit"] {
                    let asked = question(path, model, &text, stream).to_string();
                    let accepted = [EXACT, ("Accept-Encoding", "gzip, br")];
                    let response = send(&tenant, &address(path, stream), &accepted, &asked);
                    assert_eq!(
                        (cache(&response), said(path, &response).as_str()),
                        (expected, words),
                        "{text}"
                    );
                    assert_eq!(response.header("content-encoding"), None, "{text}");
                    if expected == "miss" {
                        assert_eq!(response.text(), plain, "{text}");
                    }
                }
                assert_eq!(world.provider.calls(&text).len(), 1, "{text}");
            }
        }
    }
}
