//! What goes to the provider goes as it came, and what comes back comes as it was said.

use serde_json::{Value, json};

use super::streams::{begin_with, until_end};
use super::{CACHED, EXACT, address, ask, cache, question, send};
use crate::util::deja::{ANTHROPIC_KEY, OPENAI_KEY};
use crate::util::provider::stream_response;
use crate::util::tenant::MODEL;
use crate::util::{FakeProvider, Reaction, World};

const CHAT: &str = "/v1/chat/completions";
const CLAUDE: &str = "claude-haiku-4-5";

/// A whole answer with these headers, each with its line end.
fn answer(status: u16, headers: &str, body: &[u8]) -> Reaction {
    let head = format!(
        "HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    Reaction::Bytes([head.as_bytes(), body].concat())
}

#[test]
fn bodies_go_up_byte_for_byte() {
    let world = World::shared();
    let tenant = world.tenant("wire-bytes");
    for (n, (path, model)) in CACHED.into_iter().enumerate() {
        let text = format!("wire-bytes {n}");
        let (stream, path) = (n % 2 == 0, address(path, n % 2 == 0));
        let asked = question(&path, model, &text, stream).to_string();
        // White space, numbers and members that no serialiser would write.
        let body = format!(
            "{{ \"temperature\" : 1.00,\n\t\"new_member\": {{\"z\":1e0,\"a\":\"\\u00e9\"}}, {}",
            &asked[1..]
        );
        assert_eq!(send(&tenant, &path, &[EXACT], &body).status, 200);
        let call = &world.provider.calls(&text)[0];
        assert_eq!((&call.path, String::from_utf8_lossy(&call.raw).as_ref()), (&path, body.as_str()));
    }
}

#[test]
fn a_long_request_goes_up_whole_and_is_found_again() {
    let world = World::shared();
    let tenant = world.tenant("wire-long");
    for (path, model) in CACHED {
        let text = format!("wire-long {path} {}", "word and word ".repeat(100_000));
        let first = ask(&tenant, path, model, &text, false);
        assert_eq!((cache(&first), first.header("x-deja-reason")), ("miss", Some("too_long")));
        assert_eq!(cache(&ask(&tenant, path, model, &text, false)), "hit");
        let calls = world.provider.calls(&text);
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0].raw, question(path, model, &text, false).to_string().into_bytes());
    }
}

#[test]
fn answers_come_back_byte_for_byte() {
    let world = World::shared();
    let tenant = world.tenant("wire-back");
    let body = br#" {"choices":[{"finish_reason":"stop","index":0,"message":{"content":"a","role":"assistant"}}],  "x":1.0}"#;
    world.provider.on("wire-back", answer(200, "Content-Type: application/json\r\n", body));
    let response = send(&tenant, CHAT, &[], &question(CHAT, MODEL, "wire-back", false).to_string());
    assert_eq!((response.status, response.body.as_slice()), (200, &body[..]));
}

#[test]
fn headers_pass_by_list_in_both_directions() {
    let world = World::shared();
    let tenant = world.tenant("wire-headers");
    let theirs = "Content-Type: application/json\r\nrequest-id: req_theirs\r\nset-cookie: secret=1\r\nx-ratelimit-limit-requests: 9\r\n\
                  openai-organization: secret\r\nserver: secret\r\ncontent-encoding: identity\r\n";
    let message = json!({"type": "message", "content": [], "stop_reason": "max_tokens"}).to_string();
    world.provider.on("wire-headers", answer(200, theirs, message.as_bytes()));
    let mine = [
        ("anthropic-version", "2026-10-21"),
        ("anthropic-beta", "a-2026"),
        ("idempotency-key", "k"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("Cookie", "mine"),
        ("X-Forwarded-For", "mine"),
        ("X-Deja-Context", "mine"),
        ("X-Stainless-Lang", "mine"),
        ("OpenAI-Organization", "mine"),
    ];
    let body = question("/v1/messages", CLAUDE, "wire-headers", false).to_string();
    let response = send(&tenant, "/v1/messages?beta=true&x=mine", &mine, &body);
    assert_eq!(response.status, 200, "{}", response.text());
    let call = &world.provider.calls("wire-headers")[0];
    let sent = format!("{:?}", call.headers);
    assert!(!sent.contains("mine") && !sent.contains(&tenant.key), "{sent}");
    for (name, value) in &mine[..4] {
        assert_eq!(call.header(name), Some(*value));
    }
    assert_eq!(
        (call.header("x-api-key"), call.header("accept-encoding")),
        (Some(ANTHROPIC_KEY), Some("identity"))
    );
    assert_eq!(call.path, "/v1/messages?beta=true");
    assert_eq!(response.header("x-deja-upstream-id"), Some("req_theirs"));
    assert_eq!(response.header("request-id"), response.header("x-request-id"));
    assert_eq!(response.header("cache-control"), Some("private, no-store"));
    assert!(!format!("{:?}", response.headers).contains("secret"), "{:?}", response.headers);
    assert!(
        response.header("x-ratelimit-limit-requests").is_none()
            && response.header("content-encoding").is_none()
    );
    assert!(response.number("x-ratelimit-limit") > 0, "the project's own limit");
}

#[test]
fn a_providers_own_name_of_a_request_is_told_whatever_its_header() {
    let world = World::shared();
    let tenant = world.tenant("wire-named");
    for (n, (headers, id)) in [
        ("x-request-id: req_1\r\n", Some("req_1")),
        ("request-id: req_2\r\n", Some("req_2")),
        ("apim-request-id: azure-3\r\nx-request-id: req_3\r\n", Some("azure-3")),
        ("x-request-id: req_4\r\nx-generation-id: gen-4\r\n", Some("gen-4")),
        ("", None),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("wire-named {n}");
        world.provider.on(&text, answer(200, &format!("Content-Type: application/json\r\n{headers}"), b"{}"));
        let response = send(&tenant, CHAT, &[], &question(CHAT, MODEL, &text, false).to_string());
        assert_eq!(response.header("x-deja-upstream-id"), id, "{headers}");
        assert!(["x-generation-id", "apim-request-id"].iter().all(|name| response.header(name).is_none()));
    }
}

#[test]
fn endpoints_that_are_not_cached_are_passed_on_every_time() {
    let world = World::shared();
    let tenant = world.tenant("wire-passed");
    for (path, body) in [
        ("/v1/embeddings", json!({"model": "text-embedding-3-small", "input": "wire-passed 1"})),
        ("/v1/completions", json!({"model": "gpt-3.5-turbo-instruct", "prompt": "wire-passed 2"})),
        (
            "/v1/messages/count_tokens",
            json!({"model": CLAUDE, "messages": [{"role": "user", "content": "wire-passed 3"}]}),
        ),
    ] {
        for base in [String::new(), format!("/p/{}", tenant.slug)] {
            let response = send(&tenant, &format!("{base}{path}"), &[], &body.to_string());
            assert_eq!((response.status, cache(&response)), (200, "bypass"), "{path}: {}", response.text());
            assert!(response.header("x-deja-provider").is_some());
        }
    }
    for n in 1..=3 {
        assert_eq!(world.provider.calls(&format!("wire-passed {n}")).len(), 2);
    }
}

#[test]
fn what_is_not_cached_passes_in_whichever_rendering_it_comes() {
    let world = World::shared();
    let tenant = world.tenant("wire-uncached");
    let completion = json!({"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "gpt-3.5-turbo-instruct",
        "choices": [{"index": 0, "text": "Their words.", "finish_reason": "stop"}]});
    let stream = format!("data: {completion}\n\ndata: [DONE]\n\n");
    let plain = completion.to_string();
    for (stream, kind, body) in [(true, "application/json", &plain), (false, "text/event-stream", &stream)] {
        let text = format!("wire-uncached {stream}");
        world.provider.on(&text, answer(200, &format!("Content-Type: {kind}\r\n"), body.as_bytes()));
        let asked = json!({"model": "gpt-3.5-turbo-instruct", "prompt": text, "stream": stream}).to_string();
        let response = send(&tenant, "/v1/completions", &[], &asked);
        assert_eq!((response.status, response.header("content-type")), (200, Some(kind)));
        assert_eq!(&response.text(), body);
    }
}

#[test]
fn errors_of_the_request_pass_and_are_not_kept() {
    let world = World::shared();
    let tenant = world.tenant("wire-errors");
    for (n, (path, model)) in CACHED.into_iter().enumerate() {
        for (status, cause) in [
            (400, "provider_invalid_request"),
            (404, "provider_model_not_found"),
            (408, "provider_timeout"),
            (409, "provider_server_error"),
            (413, "provider_invalid_request"),
            (422, "provider_invalid_request"),
            (429, "provider_rate_limit"),
            (500, "provider_server_error"),
            (503, "provider_overloaded"),
            (529, "provider_overloaded"),
        ] {
            let text = format!("wire-errors {n} {status}");
            let body = format!(" {{\"error\": {{\"message\": \"their own\", \"n\": {status}}}}}");
            let headers = "Content-Type: application/json\r\nRetry-After: 3\r\nx-should-retry: false\r\n";
            world.provider.on(&text, answer(status, headers, body.as_bytes()));
            let asked = question(path, model, &text, true).to_string();
            let path = address(path, true);
            for _ in 0..2 {
                let response = send(&tenant, &path, &[EXACT], &asked);
                assert_eq!((response.status, response.text()), (status, body.clone()));
                assert_eq!(response.header("x-deja-error"), Some(cause));
                let again = (response.header("retry-after"), response.header("x-should-retry"));
                assert_eq!(again, (Some("3"), Some("false")));
            }
            world.provider.on(&text, Reaction::Text("well".into()));
            assert_eq!(send(&tenant, &path, &[EXACT], &asked).status, 200);
            assert_eq!(
                world.provider.calls(&text).len(),
                3,
                "no error is kept, and none is asked for again by deja"
            );
        }
    }
}

#[test]
fn errors_of_the_operators_account_are_told_without_their_words() {
    let world = World::shared();
    let tenant = world.tenant("wire-account");
    let quota = json!({"error": {"code": "insufficient_quota", "message": "their own"}});
    for (status, body, code, told) in [
        (401, json!({"error": {"message": format!("bad key {}", &OPENAI_KEY[..9])}}), "provider_auth", 502),
        (402, json!({}), "provider_quota", 429),
        (403, json!({"error": "their own"}), "provider_auth", 502),
        (429, quota, "provider_quota", 429),
    ] {
        let text = format!("wire-account {status}");
        world.provider.on(&text, Reaction::Json(status, body));
        let response = send(&tenant, CHAT, &[], &question(CHAT, MODEL, &text, false).to_string());
        assert_eq!(
            (response.status, response.header("x-deja-error")),
            (told, Some(code)),
            "{}",
            response.text()
        );
        let error = &response.json()["error"];
        assert!(!response.text().contains("their own") && !response.text().contains("sk-"), "{error}");
        let named = if told == 429 {
            ["insufficient_quota", "insufficient_quota"]
        } else {
            ["server_error", "provider_auth"]
        };
        assert_eq!([&error["type"], &error["code"]], named);
        assert_eq!(response.header("x-should-retry"), Some("false"));
    }
}

#[test]
fn a_provider_that_cannot_be_reached_is_told_in_the_wires_shape() {
    let world = World::shared();
    let tenant = world.tenant("wire-gone");
    for reaction in [Reaction::Reset, Reaction::Bytes(b"SSH-2.0\r\n".to_vec())] {
        world.provider.on("wire-gone", reaction);
        let response = send(&tenant, CHAT, &[], &question(CHAT, MODEL, "wire-gone", false).to_string());
        assert_eq!((response.status, &response.json()["error"]["type"]), (502, &json!("server_error")));
        let body = question("/v1/messages", CLAUDE, "wire-gone", false).to_string();
        let response = send(&tenant, "/v1/messages", &[], &body);
        assert_eq!((response.status, &response.json()["error"]["type"]), (500, &json!("api_error")));
    }
}

#[test]
fn a_page_for_people_becomes_an_error_of_the_wire() {
    let world = World::shared();
    let tenant = world.tenant("wire-html");
    world.provider.on("wire-html", answer(502, "Content-Type: text/html\r\n", b"<html>Bad gateway</html>"));
    let response = send(&tenant, CHAT, &[], &question(CHAT, MODEL, "wire-html", false).to_string());
    assert_eq!((response.status, response.header("content-type")), (502, Some("application/json")));
    assert_eq!(response.json()["error"]["type"], "server_error");
    // Without a type, too; and deja says of it what it says of every answer.
    for body in [&b"upstream connect error"[..], b""] {
        let text = format!("wire-html bare {}", body.len());
        world.provider.on(&text, answer(503, "x-request-id: req_1\r\n", body));
        let response = send(&tenant, CHAT, &[], &question(CHAT, MODEL, &text, false).to_string());
        assert_eq!((response.status, response.header("content-type")), (503, Some("application/json")));
        assert_eq!(response.json()["error"]["code"], "provider_bad_response");
        let told = ["x-deja-cache", "x-deja-provider", "x-deja-upstream-id", "x-deja-error"];
        let told = told.map(|name| response.header(name));
        assert_eq!(told, [Some("miss"), Some("openai"), Some("req_1"), Some("provider_bad_response")]);
    }
    let headers = "Content-Type: text/html\r\nRetry-After: 7\r\nretry-after-ms: 6820\r\nx-should-retry: true\r\nserver: cdn\r\n";
    for status in [429, 503] {
        let text = format!("wire-html {status}");
        world.provider.on(&text, answer(status, headers, b"<html>Later</html>"));
        let response = send(&tenant, CHAT, &[], &question(CHAT, MODEL, &text, false).to_string());
        assert_eq!((response.status, response.header("content-type")), (status, Some("application/json")));
        let told = ["retry-after", "retry-after-ms", "x-should-retry"].map(|name| response.header(name));
        assert_eq!(told, [Some("7"), Some("6820"), Some("true")], "{status}");
        assert_eq!(response.header("server"), None);
    }
    // What is JSON is for programs, whatever it is called.
    let body = r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#;
    for kind in ["text/plain; charset=utf-8", "text/event-stream"] {
        let text = format!("wire-html {kind}");
        world.provider.on(&text, answer(400, &format!("Content-Type: {kind}\r\n"), body.as_bytes()));
        let response = send(&tenant, CHAT, &[], &question(CHAT, MODEL, &text, false).to_string());
        assert_eq!((response.status, response.text().as_str()), (400, body), "{kind}");
        assert_eq!(response.header("content-type"), Some("application/json"), "{kind}");
    }
}

#[test]
fn an_answer_that_quotes_the_operators_key_does_not_pass() {
    let world = World::shared();
    let tenant = world.tenant("wire-quoted");
    let error = json!({"error": {"message": format!("bad key {OPENAI_KEY}")}});
    for status in [400, 404, 429, 500] {
        let text = format!("wire-quoted {status}");
        world.provider.on(&text, Reaction::Json(status, error.clone()));
        let response = send(&tenant, CHAT, &[], &question(CHAT, MODEL, &text, false).to_string());
        let told = (response.status, response.header("x-deja-error"));
        assert_eq!(told, (502, Some("provider_bad_response")), "{status}: {}", response.text());
    }
    for stream in [false, true] {
        let text = format!("wire-quoted stream {stream}");
        let events = ["data: {\"choices\":[]}\n\n".to_owned(), format!("data: {error}\n\n")];
        let reaction = if stream {
            Reaction::Bytes(stream_response(&events))
        } else {
            Reaction::Json(200, error.clone())
        };
        world.provider.on(&text, reaction);
        let connection = begin_with(&tenant, CHAT, &question(CHAT, MODEL, &text, stream));
        let seen = String::from_utf8_lossy(&until_end(&connection)).into_owned();
        assert!(!seen.contains("bad key"), "{seen}");
        assert!(!seen.ends_with("0\r\n\r\n"), "the transfer is broken off: {seen}");
        assert_eq!(seen.contains("broke off"), stream, "{seen}");
    }
}

#[test]
fn two_hundred_with_an_error_in_it_passes_and_is_not_kept() {
    let world = World::shared();
    let tenant = world.tenant("wire-200");
    let body = json!({"error": {"message": "overloaded", "code": 502}});
    world.provider.on("wire-200", Reaction::Json(200, body.clone()));
    let asked = question(CHAT, MODEL, "wire-200", false).to_string();
    for _ in 0..2 {
        let response = send(&tenant, CHAT, &[], &asked);
        assert_eq!((response.status, response.json()), (200, body.clone()));
    }
    assert_eq!(world.provider.calls("wire-200").len(), 2);
}

#[test]
fn answers_that_are_packed_all_the_same_are_unpacked() {
    let world = World::shared();
    let tenant = world.tenant("wire-packed");
    // `{"packed":true}` by Python's gzip, level 9, no time.
    let gzip = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xab, 0x56, 0x2a, 0x48, 0x4c, 0xce, 0x4e, 0x4d, 0x51, 0xb2, 0x2a,
        0x29, 0x2a, 0x4d, 0xad, 5, 0, 0x89, 0xe0, 0xb5, 0xdc, 0x0f, 0, 0, 0,
    ];
    let headers = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    world.provider.on("wire-packed", answer(200, headers, &gzip));
    let asked = question(CHAT, MODEL, "wire-packed", false).to_string();
    let response = send(&tenant, CHAT, &[("Accept-Encoding", "gzip, br")], &asked);
    assert_eq!((response.status, response.text().as_str()), (200, r#"{"packed":true}"#));
    assert_eq!(response.header("content-encoding"), None);
}

#[test]
fn a_plain_answer_that_breaks_off_before_its_first_byte_is_an_error() {
    let world = World::shared();
    let tenant = world.tenant("wire-empty");
    // Anthropic's and Google's errors have no 502.
    for (n, ((path, model), status)) in CACHED.into_iter().zip([502, 502, 500, 503]).enumerate() {
        let text = format!("wire-empty {n}");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n";
        world.provider.on(&text, Reaction::Bytes(head.into()));
        let response =
            send(&tenant, &address(path, false), &[], &question(path, model, &text, false).to_string());
        assert_eq!(response.status, status, "{path}: {}", response.text());
        assert_eq!(response.header("x-deja-error"), Some("provider_stream_interrupted"), "{path}");
        assert!(response.json()["error"].is_object(), "{path}");
    }
}

#[test]
fn a_projects_own_provider_serves_the_wire_of_its_kind() {
    let world = World::shared();
    let tenant = world.tenant("wire-own");
    let own = FakeProvider::start();
    tenant.deja.cli(&tenant.provider_add(
        "house",
        &format!("{}/v1", own.url()),
        "house-1",
        &["--allow-private"],
    ));
    let more = ["--kind", "anthropic", "--allow-private"];
    tenant.deja.cli(&tenant.provider_add("hut", &own.url(), "hut-1", &more));
    for (path, model) in [(CHAT, "house-1"), ("/v1/responses", "house-1"), ("/v1/messages", "hut-1")] {
        let response = super::ask(&tenant, path, model, &format!("wire-own {path}"), false);
        let provider = if model == "hut-1" { "hut" } else { "house" };
        assert_eq!(response.header("x-deja-provider"), Some(provider));
        let call = &own.calls(&format!("wire-own {path}"))[0];
        assert!(!format!("{:?}", call.headers).contains("sk-"), "the operator's keys stay at home");
    }
    for (path, model) in [("/v1/messages", "house-1"), (CHAT, "hut-1")] {
        let response = send(&tenant, path, &[], &question(path, model, "x", false).to_string());
        assert_eq!(response.status, 404, "{path} {model}");
    }
}

#[test]
fn answers_with_sound_or_images_pass_and_are_not_kept() {
    let world = World::shared();
    let tenant = world.tenant("wire-senses");
    let sound = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o-audio-preview", "choices": [{"index": 0,
        "finish_reason": "stop", "message": {"role": "assistant", "content": null, "audio": {"id": "a", "data": "AAAA"}}}]});
    let part = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    let image = json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}]});
    let mut asked = question(CHAT, "gpt-4o-audio-preview", "wire-senses sound", false);
    (asked["modalities"], asked["audio"]) =
        (json!(["text", "audio"]), json!({"voice": "a", "format": "wav"}));
    let drawn = "/v1beta/models/gemini-2.5-flash-image:generateContent";
    let drawing = question(drawn, "", "wire-senses image", false);
    for (path, body, text, answer) in
        [(CHAT, asked, "wire-senses sound", sound), (drawn, drawing, "wire-senses image", image)]
    {
        world.provider.on(text, Reaction::Json(200, answer.clone()));
        for _ in 0..2 {
            let response = send(&tenant, path, &[EXACT], &body.to_string());
            assert_eq!((response.status, response.json()), (200, answer.clone()), "{path}");
            assert_ne!(cache(&response), "hit", "{path}");
        }
        assert_eq!(world.provider.calls(text).len(), 2, "{path}");
    }
    // deja's own API reads text only.
    tenant.send(&json!({"prompt": "wire-senses", "model": "gpt-4o-audio-preview"})).detail(400);
}

#[test]
fn large_bodies_pass() {
    let world = World::shared();
    let tenant = world.tenant("wire-large-body");
    let mut body = question(CHAT, MODEL, "wire-large-body", false);
    let image = format!("data:image/png;base64,{}", "A".repeat(9 << 20));
    let parts = json!([{"type": "text", "text": "wire-large-body"}, {"type": "image_url", "image_url": {"url": image}}]);
    body["messages"][0]["content"] = parts;
    let body = body.to_string();
    let response = send(&tenant, CHAT, &[], &body);
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(world.provider.calls("wire-large-body")[0].raw.len(), body.len());
    let value: Value = serde_json::from_slice(&world.provider.calls("wire-large-body")[0].raw).unwrap();
    assert_eq!(value["model"], MODEL);
}
