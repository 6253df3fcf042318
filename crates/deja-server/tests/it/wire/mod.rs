//! The surfaces that existing applications speak to: what goes to the provider, what comes back, and that `{"detail"}` never
//! does.

mod controls;
mod errors;
mod gemini;
mod hits;
mod keys;
mod models;
mod passing;
mod streams;

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::util::http::PATIENCE;
use crate::util::{Response, Tenant};

/// Where each cached format is asked ([`address`]), and a model of it.
const CACHED: [(&str, &str); 4] = [
    ("/v1/chat/completions", "gpt-4o-mini"),
    ("/v1/responses", "gpt-4o-mini"),
    ("/v1/messages", "claude-haiku-4-5"),
    ("/v1beta/models/gemini-2.5-flash", "gemini-2.5-flash"),
];

/// Where an answer of this rendering is asked for: Gemini's clients say it in the path.
fn address(path: &str, stream: bool) -> String {
    match (path.contains("/models/"), stream) {
        (false, _) => path.into(),
        (true, false) => format!("{path}:generateContent"),
        (true, true) => format!("{path}:streamGenerateContent?alt=sse"),
    }
}

/// One question in the format of `path`.
fn question(path: &str, model: &str, text: &str, stream: bool) -> Value {
    match path {
        "/v1/responses" => json!({"model": model, "input": text, "store": false, "stream": stream}),
        "/v1/messages" => {
            json!({"model": model, "max_tokens": 500, "messages": [{"role": "user", "content": text}], "stream": stream})
        }
        _ if path.contains("/models/") => json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
        _ => json!({"model": model, "messages": [{"role": "user", "content": text}], "stream": stream}),
    }
}

/// Sends `body` with the tenant's key and more headers.
fn send(tenant: &Tenant<'_>, path: &str, more: &[(&str, &str)], body: &str) -> Response {
    let key = format!("Bearer {}", tenant.key);
    let mut headers = vec![("Authorization", key.as_str()), ("Content-Type", "application/json")];
    headers.extend(more);
    tenant.deja.request("POST", path, &headers, body.as_bytes())
}

/// So that texts which are only names of tests are not found similar.
const EXACT: (&str, &str) = ("X-Deja-Cache", "exact");

/// Asks a question, which is compared as it is.
#[track_caller]
fn ask(tenant: &Tenant<'_>, path: &str, model: &str, text: &str, stream: bool) -> Response {
    ask_with(tenant, path, model, text, stream, &[EXACT])
}

/// Asks a question, which is compared by meaning.
#[track_caller]
fn ask_freely(tenant: &Tenant<'_>, path: &str, model: &str, text: &str, stream: bool) -> Response {
    ask_with(tenant, path, model, text, stream, &[])
}

#[track_caller]
fn ask_with(
    tenant: &Tenant<'_>,
    path: &str,
    model: &str,
    text: &str,
    stream: bool,
    more: &[(&str, &str)],
) -> Response {
    let body = question(path, model, text, stream).to_string();
    let response = send(tenant, &address(path, stream), more, &body);
    assert_eq!(response.status, 200, "{path}: {}\n{}", response.text(), tenant.deja.log());
    response
}

/// What was counted of a tenant's requests, as soon as there are so many of them.
#[track_caller]
fn counted(tenant: &Tenant<'_>, requests: u64) -> Value {
    let began = Instant::now();
    loop {
        let stats = tenant.deja.try_cli(&["cache", "stats", "--project", &tenant.slug, "--json"]).stdout;
        let week = serde_json::from_slice::<Value>(&stats).unwrap()["week"].take();
        if week["requests"].as_u64() >= Some(requests) {
            assert_eq!(week["requests"], requests, "{week}");
            return week;
        }
        assert!(began.elapsed() < PATIENCE, "{week}");
        sleep(Duration::from_millis(100));
    }
}

/// What the cache did.
fn cache(response: &Response) -> &str {
    response.header("x-deja-cache").unwrap_or("-")
}

/// The `data` of the events of a stream that are JSON.
fn events(response: &Response) -> Vec<Value> {
    assert!(response.header("content-type").unwrap().starts_with("text/event-stream"), "{response:?}");
    let text = response.text();
    text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect()
}

/// The text of an answer, plain or streamed.
fn said(path: &str, response: &Response) -> String {
    let streamed = response.header("content-type").unwrap().starts_with("text/event-stream");
    let text = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned()
    };
    let (whole, piece) = match path {
        "/v1/responses" => ("/output/0/content/0/text", "/delta"),
        "/v1/messages" => ("/content/0/text", "/delta/text"),
        _ if path.contains("/models/") => {
            ("/candidates/0/content/parts/0/text", "/candidates/0/content/parts/0/text")
        }
        _ => ("/choices/0/message/content", "/choices/0/delta/content"),
    };
    if streamed {
        events(response).iter().map(|event| text(event, piece)).collect()
    } else {
        text(&response.json(), whole)
    }
}

/// The id of an answer, plain or streamed.
fn id(path: &str, response: &Response) -> String {
    let streamed = response.header("content-type").unwrap().starts_with("text/event-stream");
    let body = if streamed { events(response).remove(0) } else { response.json() };
    let within = match path {
        "/v1/responses" if streamed => &body["response"],
        "/v1/messages" if streamed => &body["message"],
        _ => &body,
    };
    let name = if path.contains("/models/") { "responseId" } else { "id" };
    within[name].as_str().unwrap().to_owned()
}
