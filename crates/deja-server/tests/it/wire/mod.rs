//! The surfaces that existing applications speak to: what goes to the provider, what comes back, and that `{"detail"}` never
//! does.

mod controls;
mod cuts;
mod demands;
mod errors;
mod fuzz;
mod gemini;
mod hangups;
mod hits;
mod keys;
mod models;
mod passing;
mod streams;
mod traps;

use deja_wire::Wire;
use serde_json::{Value, json};

use crate::util::provider::answer_to;
use crate::util::{FakeProvider, Response, Tenant, eventually};

/// Where each cached format is asked ([`address`]), and a model of it.
pub const CACHED: [(&str, &str); 4] = [
    ("/v1/chat/completions", "gpt-4o-mini"),
    ("/v1/responses", "gpt-4o-mini"),
    ("/v1/messages", "claude-haiku-4-5"),
    ("/v1beta/models/gemini-2.5-flash", "gemini-2.5-flash"),
];

/// Where each format is asked, and a model of it.
fn place(wire: Wire) -> (&'static str, &'static str) {
    match wire {
        Wire::Chat => CACHED[0],
        Wire::Responses => CACHED[1],
        Wire::Messages => CACHED[2],
        Wire::Gemini => CACHED[3],
    }
}

/// Where an answer of this rendering is asked for: Gemini's clients say it in the path.
pub fn address(path: &str, stream: bool) -> String {
    match (path.contains("/models/"), stream) {
        (false, _) => path.into(),
        (true, false) => format!("{path}:generateContent"),
        (true, true) => format!("{path}:streamGenerateContent?alt=sse"),
    }
}

/// One question in the format of `path`.
pub fn question(path: &str, model: &str, text: &str, stream: bool) -> Value {
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
pub const EXACT: (&str, &str) = ("X-Deja-Cache", "exact");

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
pub fn counted(tenant: &Tenant<'_>, requests: u64) -> Value {
    let mut week = Value::Null;
    eventually("they are counted", || {
        let stats = tenant.deja.try_cli(&["cache", "stats", "--project", &tenant.slug, "--json"]).stdout;
        week = serde_json::from_slice::<Value>(&stats).unwrap()["week"].take();
        week["requests"].as_u64() >= Some(requests)
    });
    assert_eq!(week["requests"], requests, "{week}");
    week
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
pub fn said(path: &str, response: &Response) -> String {
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

/// What is asked in each format by [`fill`]: stored plain, and stored streamed.
const FILLED: [(&str, bool); 2] =
    [("How do I reset my password?", false), ("How do I open the garage door?", true)];

/// Entries that [`fill`] makes.
pub const FILLING: usize = FILLED.len() * Wire::ALL.len();

/// Has answers stored in every format.
#[track_caller]
pub fn fill(tenant: &Tenant<'_>) {
    for wire in Wire::ALL {
        for (text, stream) in FILLED {
            let (path, model) = place(wire);
            assert_eq!(cache(&ask_freely(tenant, path, model, text, stream)), "miss", "{wire:?} {text}");
        }
    }
}

/// All that [`fill`] stored is served, plain and streamed, to the same and to a similar question, and nobody else is asked.
#[track_caller]
pub fn serves_what_was_filled(tenant: &Tenant<'_>, provider: &FakeProvider) {
    let similar =
        [("How can I reset my password?", FILLED[0].0), ("How can I open the garage door?", FILLED[1].0)];
    let same = FILLED.map(|(text, _)| (text, text));
    let before = provider.calls("").len();
    for wire in Wire::ALL {
        for (text, stored) in [same, similar].concat() {
            for stream in [false, true] {
                let (path, model) = place(wire);
                let warm = ask_freely(tenant, path, model, text, stream);
                let expected = if text == stored { "exact" } else { "semantic" };
                assert_eq!(
                    (cache(&warm), warm.header("x-deja-match")),
                    ("hit", Some(expected)),
                    "{wire:?} {text}"
                );
                assert_eq!(said(path, &warm), answer_to(stored), "{wire:?} {text} {stream}");
            }
        }
    }
    assert_eq!(provider.calls("").len(), before);
}
