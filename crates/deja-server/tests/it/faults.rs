//! A provider that breaks in every way it can: an error in the published form, bounded in time and memory, never
//! kept, and the server goes on.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::util::provider::{Family, answer_to, completion, json_response};
use crate::util::tenant::MODEL;
use crate::util::{Deja, FakeProvider, Reaction, Tenant, World};

/// Far more than two attempts of two seconds with a pause between, for a slow machine.
const BOUND: Duration = Duration::from_secs(45);

/// A server that loses patience soon.
fn hasty() -> &'static World {
    static HASTY: OnceLock<World> = OnceLock::new();
    HASTY.get_or_init(|| {
        let provider = FakeProvider::start();
        let deja = Deja::builder()
            .provider(&provider)
            .env("DEJA_UPSTREAM_CONNECT_TIMEOUT_MS", "1000")
            .env("DEJA_UPSTREAM_TIMEOUT_S", "2")
            .env("DEJA_UPSTREAM_TOTAL_TIMEOUT_S", "5")
            .env("DEJA_UPSTREAM_MAX_ATTEMPTS", "2")
            .until_exit()
            .start();
        World { deja, provider }
    })
}

/// Asks twice while the provider is broken, once after: two errors with this code, then a fresh answer.
#[track_caller]
fn fails(tag: &str, model: &str, reaction: Reaction, codes: &[&str]) {
    let world = hasty();
    let tenant = world.tenant("faults");
    world.provider.on(tag, reaction);
    let query = json!({"prompt": "Who wrote Faust?", "model": model, "context": tag});
    for _ in 0..2 {
        let began = Instant::now();
        let response = tenant.send(&query);
        assert_eq!(
            response.detail(500),
            "Internal server error. Please try again or contact support.",
            "{tag}"
        );
        let code = response.header("x-deja-error").unwrap_or_else(|| panic!("{tag}: no X-Deja-Error"));
        assert!(codes.contains(&code), "{tag}: {code}");
        assert!(response.header("x-ratelimit-limit").is_some());
        assert!(began.elapsed() < BOUND, "{tag} took {:?}", began.elapsed());
    }
    world.provider.on(tag, Reaction::Text("Goethe.".into()));
    let answer = tenant.ask(&query);
    assert_eq!(
        (&answer["cache_hit"], &answer["response"]),
        (&json!(false), &json!("Goethe.")),
        "{tag}: an error was kept"
    );
}

#[test]
fn a_connection_that_is_reset() {
    fails("fault-reset", MODEL, Reaction::Reset, &["provider_connection"]);
}

#[test]
fn a_provider_that_never_answers() {
    fails("fault-hang", MODEL, Reaction::Hang, &["provider_timeout"]);
}

#[test]
fn a_provider_that_drips() {
    let whole = json_response(200, &completion(Family::OpenAi, MODEL, &"x".repeat(2000)));
    fails("fault-drip", MODEL, Reaction::Drip(whole, Duration::from_millis(200)), &["provider_timeout"]);
}

#[test]
fn an_answer_that_is_cut() {
    fails("fault-cut", MODEL, Reaction::cut(), &["provider_connection", "provider_bad_response"]);
    let cut_head = Reaction::Bytes(b"HTTP/1.1 200 OK\r\nContent-Ty".to_vec());
    fails("fault-head-cut", MODEL, cut_head, &["provider_connection", "provider_bad_response"]);
    fails(
        "fault-closed",
        MODEL,
        Reaction::Bytes(Vec::new()),
        &["provider_connection", "provider_bad_response"],
    );
}

#[test]
fn an_answer_that_is_not_http() {
    fails(
        "fault-smtp",
        MODEL,
        Reaction::Bytes(b"220 mail.example ESMTP\r\n".to_vec()),
        &["provider_connection", "provider_bad_response"],
    );
    fails(
        "fault-tls",
        MODEL,
        Reaction::Bytes(vec![0x15, 3, 3, 0, 2, 2, 40]),
        &["provider_connection", "provider_bad_response"],
    );
}

#[test]
fn a_body_that_is_not_what_the_provider_documents() {
    let bodies: [&[u8]; 8] = [
        b"",
        b"<html><body>502 Bad Gateway</body></html>",
        b"{\"id\":\"c1\",\"choices\":[{",
        b"[]",
        b"null",
        b"\"Goethe.\"",
        b"{\"choices\":\"none\"}",
        b"\xff\xfe\x00\x01",
    ];
    for (n, body) in bodies.into_iter().enumerate() {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let whole = [head.as_bytes(), body].concat();
        fails(&format!("fault-body-{n}."), MODEL, Reaction::Bytes(whole), &["provider_bad_response"]);
    }
}

#[test]
fn a_200_that_carries_an_error() {
    let error = json!({"error": {"message": "Provider returned error", "code": 502}});
    let world = hasty();
    let tenant = world.tenant("faults");
    for (n, body) in [error.clone(), json!([error])].into_iter().enumerate() {
        let tag = format!("fault-200-{n}.");
        world.provider.on(&tag, Reaction::Json(200, body));
        let response = tenant.send(&json!({"prompt": "Who wrote Faust?", "model": MODEL, "context": tag}));
        response.detail(500);
        assert!(response.header("x-deja-error").is_some_and(|code| code.starts_with("provider_")));
    }
}

#[test]
fn errors_of_providers_are_told_apart_in_the_header() {
    let openai = |code: &str| json!({"error": {"message": "No.", "type": "t", "param": null, "code": code}});
    let cases: [(u16, Value, &str); 10] = [
        (400, openai("unsupported_value"), "provider_invalid_request"),
        (400, openai("context_length_exceeded"), "provider_context_length"),
        (401, openai("invalid_api_key"), "provider_auth"),
        (404, openai("model_not_found"), "provider_model_not_found"),
        (429, openai("rate_limit_exceeded"), "provider_rate_limit"),
        (429, openai("insufficient_quota"), "provider_quota"),
        (500, openai("server_error"), "provider_server_error"),
        (503, openai("server_is_overloaded"), "provider_overloaded"),
        (502, json!("<html>"), "provider_server_error"),
        (418, json!({"error": null}), "provider_invalid_request"),
    ];
    for (n, (status, body, code)) in cases.into_iter().enumerate() {
        fails(&format!("fault-status-{n}."), MODEL, Reaction::Json(status, body), &[code]);
    }
}

#[test]
fn errors_of_anthropic_and_google_are_understood() {
    let anthropic = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "No."}, "request_id": "req_1"});
    fails(
        "fault-anthropic-1",
        "claude-haiku-4-5",
        Reaction::Json(529, anthropic("overloaded_error")),
        &["provider_overloaded"],
    );
    fails(
        "fault-anthropic-2",
        "claude-haiku-4-5",
        Reaction::Json(401, anthropic("authentication_error")),
        &["provider_auth"],
    );
    let google =
        |code: u16, status: &str| json!({"error": {"code": code, "message": "No.", "status": status}});
    fails(
        "fault-google-1",
        "gemini-2.5-flash",
        Reaction::Json(503, google(503, "UNAVAILABLE")),
        &["provider_overloaded", "provider_server_error"],
    );
    fails(
        "fault-google-2",
        "gemini-2.5-flash",
        Reaction::Json(403, google(403, "PERMISSION_DENIED")),
        &["provider_auth"],
    );
}

#[test]
fn what_may_be_retried_is_and_what_may_not_is_not() {
    let world = hasty();
    let tenant = world.tenant("retries");
    for (n, (status, attempts)) in [(500, 2), (429, 2), (401, 1), (400, 1)].into_iter().enumerate() {
        let tag = format!("fault-attempts-{n}.");
        world.provider.on(&tag, Reaction::Json(status, json!({"error": {"message": "No."}})));
        tenant.send(&json!({"prompt": "Who wrote Faust?", "model": MODEL, "context": tag})).detail(500);
        assert_eq!(world.provider.calls(&tag).len(), attempts, "{status}");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let world = hasty();
    let tenant = world.tenant("redirect");
    let elsewhere = FakeProvider::start();
    let head = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {}/v1/chat/completions\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        elsewhere.url()
    );
    world.provider.on("fault-redirect", Reaction::Bytes(head.into_bytes()));
    tenant
        .send(&json!({"prompt": "Who wrote Faust?", "model": MODEL, "context": "fault-redirect"}))
        .detail(500);
    assert!(elsewhere.calls("Faust").is_empty());
}

#[test]
fn nobody_listening_at_the_providers_address() {
    let provider = FakeProvider::start();
    // Below the ports that other tests, or another run of them, take.
    let deja = Deja::builder()
        .provider(&provider)
        .env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
        .env("DEJA_UPSTREAM_MAX_ATTEMPTS", "2")
        .start();
    let tenant = Tenant::create(&deja, "refused", &[]);
    let response = tenant.send(&json!({"prompt": "x", "model": MODEL}));
    response.detail(500);
    assert_eq!(response.header("x-deja-error"), Some("provider_connection"));
    // The server's output is read by another thread.
    deja.until_logged("provider_connection from openai", 1);
    deja.until_logged("Connection refused", 1);
    let other = tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": "claude-haiku-4-5"}));
    assert_eq!(other["response"], answer_to("Who wrote Faust?"), "the other families work");
}

#[test]
fn after_ten_calls_without_an_answer_misses_are_refused_at_once() {
    let provider = FakeProvider::start();
    let port = crate::util::deja::free_port();
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_UPSTREAM_MAX_ATTEMPTS", "1")
        .env("DEJA_METRICS_LISTEN", format!("127.0.0.1:{port}"))
        .start();
    let tenant = Tenant::create(&deja, "silent", &[]);
    tenant.ask_for("Who wrote Faust?");
    provider.on("fault-silent", Reaction::Reset);
    let ask = |n: usize| {
        tenant.send(&json!({"prompt": "x", "model": MODEL, "context": format!("fault-silent {n}")}))
    };
    for n in 0..10 {
        assert_eq!(ask(n).header("x-deja-error"), Some("provider_connection"), "{n}");
    }
    // The rest is of five seconds, and a slow machine may take as long for a request: then one more call is made.
    let refused = (10..30).map(ask).find(|response| response.header("x-deja-error") == Some("provider_down"));
    let refused = refused.expect("no request was refused at once");
    refused.detail(500);
    assert!((1..=60).contains(&refused.number("retry-after")));
    let down = crate::util::metrics(port);
    assert!(down.contains(r#"deja_providers_down{provider="openai"} 1"#), "{down}");
    // In a wire format the refusal says it in words.
    let chat = |n: usize| {
        let messages = json!([{"role": "user", "content": format!("fault-silent chat {n}")}]);
        tenant.post_as(
            &tenant.key,
            "/v1/chat/completions",
            json!({"model": MODEL, "messages": messages}).to_string().as_bytes(),
        )
    };
    let refused = (0..20).map(chat).find(|response| response.header("x-deja-error") == Some("provider_down"));
    let said = refused.expect("no request was refused at once").text();
    assert!(said.contains("openai had no answer to the last calls. deja asks it again in "), "{said}");
    assert_eq!(tenant.ask_for("Who wrote Faust?")["cache_hit"], true);
    let other = tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": "claude-haiku-4-5"}));
    assert_eq!(other["response"], answer_to("Who wrote Faust?"), "the other families work");
    let log = deja.log();
    assert_eq!(log.matches("calls in a row failed").count(), 1, "{log}");
    assert!(!log.contains("provider_down"), "refusals have no lines of their own: {log}");
}

#[test]
fn a_provider_that_was_mended_is_asked_at_once() {
    let provider = FakeProvider::start();
    let port = crate::util::deja::free_port();
    let deja = Deja::builder().provider(&provider).env("DEJA_UPSTREAM_MAX_ATTEMPTS", "1").start();
    let tenant = Tenant::create(&deja, "moved", &[]);
    let (nobody, there) = (format!("http://127.0.0.1:{port}/v1"), format!("{}/v1", provider.url()));
    deja.cli(&tenant.provider_add("house", &nobody, "m", &["--allow-private"]));
    let ask = |n: usize| {
        tenant.send(&json!({"prompt": "Who wrote Faust?", "model": "m", "context": n.to_string()}))
    };
    let refused = (0..60).map(ask).find(|response| response.header("x-deja-error") == Some("provider_down"));
    refused.expect("no request was refused at once").detail(500);
    let made =
        deja.command(&["operator", "create", "ada@example.com", "--role", "owner", "--password-stdin"]);
    assert!(crate::admin_api::with_input(made, "correct horse battery staple"), "{}", deja.log());
    let token = deja.cli(&["token", "create", "--operator", "ada@example.com", "--name", "tests"]);
    let authorization = format!("Bearer {token}");
    let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    let place = format!("/admin/v1/projects/{}/providers/house", tenant.slug);
    let moved = deja.request("PATCH", &place, &headers, json!({"base_url": there}).to_string().as_bytes());
    assert_eq!(moved.status, 200, "{}", moved.text());
    let answered = ask(100);
    assert_eq!(answered.status, 200, "the very next request asks it: {}", answered.text());
}

#[test]
fn an_answer_without_end_takes_bounded_memory() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).env("DEJA_UPSTREAM_MAX_ATTEMPTS", "1").start();
    let tenant = Tenant::create(&deja, "huge", &[]);
    tenant.ask_for("Who wrote Faust?");
    let before = deja.memory_kb("VmHWM");
    provider.on("fault-huge", Reaction::Huge(400));
    let ask =
        |n: usize| json!({"prompt": format!("fault-huge {n}"), "model": MODEL, "context": n.to_string()});
    let mut connections: Vec<_> = (0..4).map(|n| tenant.begin(&ask(n))).collect();
    for connection in &mut connections {
        let response = connection.receive().unwrap();
        response.detail(500);
        assert_eq!(response.header("x-deja-error"), Some("provider_bad_response"));
    }
    let grown = (deja.memory_kb("VmHWM") - before) / 1024;
    assert!(grown < 200, "grew by {grown} MB for four answers of 400 MB each");
    assert_eq!(tenant.ask_for("Who wrote Faust?")["cache_hit"], true);
}

#[test]
fn a_hit_needs_no_provider() {
    let world = hasty();
    let tenant = world.tenant("no-provider");
    let query = json!({"prompt": "How do I reset my password?", "model": MODEL, "context": "fault-later"});
    tenant.ask(&query);
    world.provider.on("fault-later", Reaction::Hang);
    assert_eq!(tenant.ask(&query)["cache_hit"], true);
}
