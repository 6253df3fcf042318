//! Generated requests, 20,000 a wire format: valid ones, changed, cut, deep, with huge numbers. Never a 5xx of deja's own, never
//! a panic, and each error in the shape of its format. What may be the same is tried in `deja-wire`, without sockets.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};

use deja_wire::Wire;
use serde_json::{Value, json};

use super::{CACHED, address};
use crate::util::http::{Connection, request};
use crate::util::server::Asked;
use crate::util::{Deja, Random, Response, Tenant};

const SEED: u64 = 0xf0_0010;
const REQUESTS: usize = 20_000;

/// What a provider says to anything. Connections stay open: tens of thousands would use all ports up.
fn provider() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.set_nodelay(true).unwrap();
            std::thread::spawn(move || {
                while let Some(asked) = Asked::read(&mut stream) {
                    let body = said(&asked.path);
                    let length = body.len();
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:";
                    if stream.write_all(format!("{head} {length}\r\n\r\n{body}").as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn said(path: &str) -> String {
    let text = json!({"type": "text", "text": "Well."});
    if path.contains("/messages") {
        json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [text], "stop_reason": "end_turn",
            "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}})
    } else if path.contains("/responses") {
        let part = json!({"type": "output_text", "text": "Well.", "annotations": []});
        let item = json!({"id": "i", "type": "message", "status": "completed", "role": "assistant", "content": [part]});
        json!({"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [item],
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}})
    } else if path.contains(':') {
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Well."}]}, "finishReason": "STOP"}]})
    } else {
        let message = json!({"role": "assistant", "content": "Well."});
        json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    }
    .to_string()
}

/// Valid bodies with much in them.
fn valid(wire: Wire, model: &str) -> Value {
    let image = "data:image/png;base64,AAAA";
    match wire {
        Wire::Chat => json!({"model": model, "temperature": 0.5, "max_tokens": 5, "stream": false,
            "stream_options": {"include_usage": true}, "n": 1, "metadata": {"a": "b"}, "user": "u", "stop": ["x"],
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [
                {"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": image}}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
                    "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "x"}, {"role": "user", "content": "b"}],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
            "response_format": {"type": "json_object"}}),
        Wire::Responses => {
            json!({"model": model, "instructions": "Be brief.", "store": false, "stream": false,
            "temperature": 1, "max_output_tokens": 9, "include": [], "previous_response_id": null, "metadata": {},
            "text": {"format": {"type": "text"}}, "reasoning": {"effort": "low"}, "truncation": "auto",
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "a"},
                {"type": "input_image", "image_url": image}]}, {"type": "function_call", "call_id": "c", "name": "f",
                "arguments": "{}"}, {"type": "function_call_output", "call_id": "c", "output": "x"},
                {"type": "message", "role": "user", "content": "b"}],
            "tools": [{"type": "function", "name": "f", "parameters": {}}]})
        }
        Wire::Messages => {
            json!({"model": model, "max_tokens": 9, "stream": false, "temperature": 0.5, "stop_sequences": ["x"],
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "metadata": {"user_id": "u"}, "thinking": {"type": "disabled"},
            "messages": [{"role": "user", "content": [{"type": "text", "text": "a"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]}],
            "tools": [{"name": "f", "input_schema": {"type": "object"}}]})
        }
        Wire::Gemini => json!({"systemInstruction": {"parts": [{"text": "Be brief."}]}, "labels": {"a": "b"},
            "contents": [{"role": "user", "parts": [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}],
            "generationConfig": {"temperature": 0.5, "maxOutputTokens": 9, "stopSequences": ["x"], "candidateCount": 1},
            "safetySettings": [{"category": "c", "threshold": "t"}], "tools": [{"functionDeclarations": [{"name": "f"}]}]}),
    }
}

/// A question alone, which may be matched by meaning.
fn plain(wire: Wire, model: &str, text: &str) -> Value {
    let path = CACHED[wire as usize].0;
    super::question(path, model, text, false)
}

/// Names of members, and texts that mean something in one place or another.
const TEXTS: [&str; 14] = [
    "", "type", "text", "role", "content", "parts", "model", "stream", "n", "id", "tools", "new", "\u{e9}",
    "cache_control",
];

fn any_value(random: &mut Random) -> Value {
    match random.below(9) {
        0 => Value::Null,
        1 => json!(random.one_in(2)),
        2 => json!(random.bits() as i64),
        3 => json!(random.pick(&[0.0, -0.0, 0.1, 1e308, 5e-324])),
        4 => json!(random.pick(&[
            "", "a", "user", "assistant", "text", "function", "\u{0}", "\u{feff}", "\u{1f600}", "data:,"
        ])),
        5 => json!([any_text(random)]),
        6 => json!({any_text(random): any_text(random)}),
        7 => json!("long ".repeat(random.below(400))),
        _ => json!([{"role": "user", "content": "x"}]),
    }
}

fn any_text(random: &mut Random) -> &'static str {
    random.pick(&TEXTS)
}

/// The bytes of a body: of JSON, and then what no serialiser writes.
fn bytes(random: &mut Random, value: &Value) -> Vec<u8> {
    let mut text = value.to_string();
    let odd = match random.below(12) {
        0 => format!("1{}", "0".repeat(random.below(3000))),
        1 => format!("-1e{}", random.bits()),
        2 => format!("0.{}1", "0".repeat(random.below(3000))),
        3 => {
            let levels = random.pick(&[1, 100, 127, 128, 129, 5000, 50_000]);
            let (open, close) = if random.one_in(2) { ("[", "]") } else { ("{\"a\":", "}") };
            format!("{}1{}", open.repeat(levels), close.repeat(levels))
        }
        4 => format!("\"{}\"", random.pick(&["\\ud800", "\\udc00\\ud800", "\\u0000", "\\x", "\u{7f}"])),
        5 => format!("1,\"{}\":2", any_text(random)),
        _ => String::new(),
    };
    if !odd.is_empty() {
        // In the place of a value, or as a member at the top.
        let at = text.match_indices(':').map(|(at, _)| at + 1).nth(random.below(12));
        match at.filter(|_| random.one_in(2)) {
            Some(at) => text.insert_str(at, &format!("{odd},\"x\":")),
            None => text.insert_str(1.min(text.len()), &format!("\"odd\":{odd},")),
        }
    }
    let mut bytes = text.into_bytes();
    let times = if random.one_in(4) { 1 + random.below(4) } else { 0 };
    random.damage(&mut bytes, times);
    bytes
}

/// The bytes of a request.
fn make(random: &mut Random, wire: Wire, key: &str) -> Vec<u8> {
    let (path, model) = CACHED[wire as usize];
    let name = random
        .pick(&[model, model, model, "no-such-model", "", "claude-x", "gemini-..", "gpt-4o\u{0}", "\u{e9}"]);
    let mut value = if random.one_in(3) {
        plain(wire, name, random.pick(&["Who wrote Faust?", "", " ", "\u{0}", "x\ty\n"]))
    } else {
        valid(wire, name)
    };
    if wire != Wire::Gemini && random.one_in(2) {
        value["stream"] = json!(true);
    }
    for _ in 0..random.below(4) {
        random.change(&mut value, &TEXTS, any_value);
    }
    let mut path = address(path, random.one_in(2));
    if wire == Wire::Gemini && random.one_in(4) {
        path = path.replace(
            model,
            random.pick(&[
                "no-such", "gemini-%2e%2e", "gemini-%2F", "gemini-%00", "%FF", "gemini-x%3Fy", "a:b",
            ]),
        );
    }
    if random.one_in(20) {
        path += random.pick(&["?", "?x=y", "?beta=true", "?%ff", "&alt=sse", "?alt=json", "?key=x"]);
    }
    let controls = [
        ("X-Deja-Cache", random.pick(&["exact", "exact", "off", "refresh", "on", "maybe", ""])),
        (
            random.pick(&[
                "X-Deja-Threshold", "X-Deja-Context", "X-Deja-TTL", "X-Deja-Pace", "X-Deja-Debug",
                "Cache-Control",
            ]),
            random.pick(&[
                "", "1", "0.9", "-1", "1e999", "\u{e9}", "99999999999999999999", "no-cache",
                "max-age=99999999999",
            ]),
        ),
    ];
    let mut headers = vec![("x-api-key", key), ("Content-Type", "application/json")];
    headers.extend(controls.into_iter().filter(|_| random.one_in(3)));
    if !headers.iter().any(|(name, _)| *name == "X-Deja-Cache") && !random.one_in(8) {
        headers.push(("X-Deja-Cache", "exact"));
    }
    let body = bytes(random, &value);
    request("POST", &path, &headers, &body)
}

fn check(wire: Wire, response: &Response, told: &dyn Fn() -> String) {
    let status = response.status;
    // Of 5xx only those that say that there is too much to do, which there may be on a busy machine.
    let busy = matches!(status, 503 | 529) && response.header("retry-after").is_some();
    assert!(status < 500 || busy, "{status} {}; {}", response.text(), told());
    let kind = response.header("content-type").unwrap_or_default();
    if status < 400 {
        let known = kind == "application/json" || kind.starts_with("text/event-stream");
        assert!(status == 200 && known, "{response:?}; {}", told());
        return;
    }
    assert_eq!(kind, "application/json", "{}", told());
    let body = response.json();
    let members = |value: &Value| {
        value.as_object().map(|members| members.keys().cloned().collect::<Vec<_>>().join(" "))
    };
    let shape = (members(&body), members(&body["error"]));
    let (outer, inner) = match wire {
        Wire::Chat | Wire::Responses => ("error", "code message param type"),
        Wire::Messages => ("error type", "message type"),
        Wire::Gemini => ("error", "code message status"),
    };
    assert_eq!(shape, (Some(outer.into()), Some(inner.into())), "{body}; {}", told());
    assert!(
        body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()),
        "{body}; {}",
        told()
    );
}

/// Sends requests; returns how many answers of each status came.
fn run(deja: SocketAddr, wire: Wire, key: &str) -> Vec<usize> {
    let mut random = Random::new(SEED + wire as u64);
    let mut statuses = vec![0; 600];
    let mut connection = Connection::open(deja).unwrap();
    for n in 0..REQUESTS {
        let bytes = make(&mut random, wire, key);
        let told = || format!("{wire:?}, request {n}: {:?}", String::from_utf8_lossy(&bytes));
        connection.send(&bytes).unwrap_or_else(|error| panic!("{error}; {}", told()));
        let response = connection.receive().unwrap_or_else(|error| panic!("{error}; {}", told()));
        check(wire, &response, &told);
        statuses[usize::from(response.status)] += 1;
        if response.header("connection") == Some("close") {
            connection = Connection::open(deja).unwrap();
        }
    }
    statuses
}

#[test]
fn twenty_thousand_bodies_of_each_format_that_make_no_sense() {
    let url = format!("http://{}", provider());
    let deja = Deja::builder()
        .env("OPENAI_BASE_URL", format!("{url}/v1"))
        .env("ANTHROPIC_BASE_URL", url.clone())
        .env("GEMINI_BASE_URL", url)
        .env("OPENAI_API_KEY", "sk-test")
        .env("ANTHROPIC_API_KEY", "sk-test")
        .env("GEMINI_API_KEY", "sk-test")
        .start();
    let unlimited = ["--tier", "enterprise", "--rpm", "1000000", "--burst", "1000000"];
    let tenant = Tenant::create(&deja, "wire-fuzz", &unlimited);
    std::thread::scope(|scope| {
        let (address, key) = (deja.address(), tenant.key.as_str());
        let runs = Wire::ALL.map(|wire| (wire, scope.spawn(move || run(address, wire, key))));
        for (wire, statuses) in runs {
            let statuses = statuses.join().unwrap();
            for status in [200, 400, 404] {
                assert!(statuses[status] > 500, "{wire:?}: only {} answers of {status}", statuses[status]);
            }
        }
    });
    let log = deja.log();
    assert!(!log.contains("panicked"), "{log}");
    assert_eq!(deja.get("/readyz").status, 200);
}
