//! Live streams: passed on as they come, shared, and never kept unless they are whole.

use std::io::Read;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{CACHED, EXACT, address, ask, cache, counted, question, said, send};
use crate::util::http::{Connection, find, request};
use crate::util::provider::{Call, Family, chunked, stream_response};
use crate::util::stream::events;
use crate::util::{Deja, FakeProvider, Gate, Reaction, Response, Tenant, World, eventually};

/// A call such as the fake gets, to make its answers beforehand.
pub(super) fn call(path: &str, model: &str, text: &str) -> Call {
    let family = match path {
        "/v1/messages" => Family::Anthropic,
        path if path.contains("/models/") => Family::Gemini,
        _ => Family::OpenAi,
    };
    Call {
        family,
        path: path.into(),
        headers: Vec::new(),
        body: question(path, model, text, true),
        raw: Vec::new(),
        model: model.into(),
        system: None,
        prompt: text.into(),
    }
}

/// Begins a streamed request.
pub(super) fn begin(tenant: &Tenant<'_>, path: &str, model: &str, text: &str) -> Connection {
    begin_with(tenant, &address(path, true), &question(path, model, text, true))
}

/// Begins a request at this very address.
pub(super) fn begin_with(tenant: &Tenant<'_>, path: &str, body: &Value) -> Connection {
    let headers = [("x-api-key", tenant.key.as_str()), ("Content-Type", "application/json"), EXACT];
    let body = body.to_string();
    let mut connection = Connection::open(tenant.deja.address()).unwrap();
    connection.send(&request("POST", path, &headers, body.as_bytes())).unwrap();
    connection
}

/// All bytes of a connection up to its end, which deja brings about.
pub(super) fn until_end(connection: &Connection) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset is an end too.
    let _ = connection.stream().read_to_end(&mut bytes);
    bytes
}

/// Reads until `text` has come.
pub(super) fn until(connection: &Connection, text: &str) -> Vec<u8> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    while find(&bytes, text.as_bytes()).is_none() {
        let read = connection.stream().read(&mut chunk).unwrap();
        assert!(read > 0, "it ended before {text:?}: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&chunk[..read]);
    }
    bytes
}

#[test]
fn a_stream_passes_byte_for_byte_and_says_before_it_begins_what_it_is() {
    let world = World::shared();
    let tenant = world.tenant("wire-stream");
    for (n, (path, model)) in CACHED.into_iter().enumerate() {
        let text = format!("wire-stream {n}");
        let all = events(&call(path, model, &text), "Well, well.");
        world.provider.on(&text, Reaction::Bytes(stream_response(&all)));
        let mut asked = question(path, model, &text, true);
        if n == 0 {
            asked["stream_options"] = serde_json::json!({"include_usage": true});
        }
        let response = send(&tenant, &address(path, true), &[], &asked.to_string());
        assert_eq!((response.status, response.text()), (200, all.concat()), "{path}");
        assert_eq!((cache(&response), response.header("x-accel-buffering")), ("miss", Some("no")));
        assert_eq!(response.header("content-type"), Some("text/event-stream"));
    }
}

#[test]
fn the_first_bytes_come_while_the_provider_still_writes() {
    let world = World::shared();
    let tenant = world.tenant("wire-first");
    let (path, model) = CACHED[0];
    let gate = Gate::default();
    let whole = stream_response(&events(&call(path, model, "x"), &"A long answer. ".repeat(20)));
    world.provider.on("wire-first", Reaction::Halves(gate.clone(), whole));
    let connection = begin(&tenant, path, model, "wire-first");
    let head = until(&connection, "\"role\":\"assistant\"");
    assert!(find(&head, b"x-deja-cache: miss").is_some());
    gate.open();
    until(&connection, "[DONE]");
}

#[test]
fn a_stream_without_a_finish_is_not_kept_though_its_end_mark_came() {
    let world = World::shared();
    let tenant = world.tenant("wire-marks");
    let (path, model) = CACHED[0];
    let mut without = events(&call(path, model, "x"), "A whole answer.");
    without.retain(|event| !event.contains("\"stop\""));
    world.provider.on("wire-marks done", Reaction::Bytes(stream_response(&without)));
    for _ in 0..2 {
        assert_eq!(cache(&ask(&tenant, path, model, "wire-marks done", true)), "miss");
    }
}

#[test]
fn a_hundred_equal_streams_are_one_call() {
    let world = World::shared();
    let tenant = world.tenant("wire-hundred");
    let (path, model) = CACHED[0];
    let gate = Gate::default();
    let all = events(&call(path, model, "x"), "One for all.");
    world.provider.on("wire-hundred", Reaction::Halves(gate.clone(), stream_response(&all)));
    let answers: Vec<Response> = thread::scope(|scope| {
        let asked: Vec<_> =
            (0..100).map(|_| scope.spawn(|| ask(&tenant, path, model, "wire-hundred", true))).collect();
        world.provider.wait_for_calls("wire-hundred", 1);
        thread::sleep(Duration::from_millis(500));
        gate.open();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    assert_eq!(world.provider.calls("wire-hundred").len(), 1);
    for answer in &answers {
        assert_eq!(said(path, answer), "One for all.");
        assert!(matches!(cache(answer), "miss" | "joined" | "hit"));
    }
    let count = |what| answers.iter().filter(|answer| cache(answer) == what).count();
    assert_eq!(count("miss"), 1);
    assert!(count("joined") > 0, "all came too late to join");
}

/// The chunk with the tokens of a stream is left out only for who reads it along with somebody that asked for it.
#[test]
fn tokens_pass_unless_another_reader_asked_for_them() {
    let world = World::shared();
    let tenant = world.tenant("wire-tokens");
    let (path, model) = CACHED[0];
    let mut all = events(&call(path, model, "x"), "It takes ten.");
    let tokens =
        "data: {\"id\":\"x\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":7}}\n\n";
    all.insert(all.len() - 1, tokens.into());
    let completion = json!({"model": "gpt-3.5-turbo-instruct", "prompt": "wire-tokens 4", "stream": true});
    let chat = |n: u8, more: Value| {
        let mut body = question(path, model, &format!("wire-tokens {n}"), true);
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (n, path, body, expected) in [
        (1, path, chat(1, json!({})), "miss"),
        (2, path, chat(2, json!({"usage": {"include": true}})), "miss"),
        (3, path, chat(3, json!({"logprobs": true})), "bypass"),
        (4, "/v1/completions", completion, "bypass"),
    ] {
        world.provider.on(&format!("wire-tokens {n}"), Reaction::Bytes(stream_response(&all)));
        let response = send(&tenant, path, &[], &body.to_string());
        assert_eq!((cache(&response), response.text()), (expected, all.concat()), "{body}");
        let again = send(&tenant, path, &[], &body.to_string());
        assert_eq!(cache(&again), if expected == "miss" { "hit" } else { expected }, "{body}");
        assert_eq!(again.text().contains("\"completion_tokens\":7"), n > 1, "{body}");
    }
    let gate = Gate::default();
    world.provider.on("wire-tokens 5", Reaction::Halves(gate.clone(), stream_response(&all)));
    let leader = begin_with(&tenant, path, &chat(5, json!({"stream_options": {"include_usage": true}})));
    until(&leader, "\"role\":\"assistant\"");
    let follower = begin_with(&tenant, path, &chat(5, json!({})));
    let head = until(&follower, "\"role\":\"assistant\"");
    assert!(find(&head, b"x-deja-cache: joined").is_some());
    gate.open();
    for (reader, tokens) in [(leader, true), (follower, false)] {
        let rest = until(&reader, "[DONE]");
        assert_eq!(find(&rest, b"completion_tokens").is_some(), tokens);
    }
}

#[test]
fn a_leader_that_hangs_up_takes_nothing_from_its_follower() {
    let world = World::shared();
    let tenant = world.tenant("wire-hangup");
    let (path, model) = CACHED[0];
    let gate = Gate::default();
    let all = events(&call(path, model, "x"), "It goes on.");
    world.provider.on("wire-hangup", Reaction::Halves(gate.clone(), stream_response(&all)));
    let leader = begin(&tenant, path, model, "wire-hangup");
    until(&leader, "\"role\":\"assistant\"");
    let follower = begin(&tenant, path, model, "wire-hangup");
    let head = until(&follower, "\"role\":\"assistant\"");
    assert!(find(&head, b"x-deja-cache: joined").is_some(), "{}", String::from_utf8_lossy(&head));
    drop(leader);
    gate.open();
    until(&follower, "[DONE]");
    assert_eq!(cache(&ask(&tenant, path, model, "wire-hangup", false)), "hit");
    assert_eq!(world.provider.calls("wire-hangup").len(), 1);
}

#[test]
fn an_answer_that_nobody_waits_for_any_more_is_kept() {
    let world = World::shared();
    let tenant = world.tenant("wire-alone");
    let (path, model) = CACHED[0];
    let gate = Gate::default();
    let all = events(&call(path, model, "x"), "Paid for.");
    world.provider.on("wire-alone", Reaction::Halves(gate.clone(), stream_response(&all)));
    let leader = begin(&tenant, path, model, "wire-alone");
    until(&leader, "\"role\":\"assistant\"");
    drop(leader);
    gate.open();
    let only = || {
        let body = question(path, model, "wire-alone", false).to_string();
        send(&tenant, path, &[("X-Deja-Cache", "only")], &body).status
    };
    eventually("the answer is kept", || only() == 200);
    assert_eq!(world.provider.calls("wire-alone").len(), 1);
}

#[test]
fn json_in_answer_to_a_stream_becomes_one_and_a_stream_in_answer_to_json_becomes_json() {
    let world = World::shared();
    let tenant = world.tenant("wire-other");
    for (n, (path, model)) in CACHED.into_iter().enumerate() {
        let text = format!("wire-other {n}");
        let as_call = call(path, model, &text);
        let whole: Value = crate::util::stream::whole(&as_call, "Not as asked.");
        world.provider.on(&text, Reaction::Json(200, whole));
        let streamed = ask(&tenant, path, model, &text, true);
        assert_eq!((cache(&streamed), said(path, &streamed).as_str()), ("miss", "Not as asked."), "{path}");
        assert!(streamed.header("content-type").unwrap().starts_with("text/event-stream"));
        let text = format!("wire-other plain {n}");
        let all = events(&as_call, "Not as asked.");
        world.provider.on(&text, Reaction::Bytes(stream_response(&all)));
        let plain = ask(&tenant, path, model, &text, false);
        assert_eq!((cache(&plain), said(path, &plain).as_str()), ("miss", "Not as asked."), "{path}");
        assert_eq!(plain.header("content-type"), Some("application/json"));
    }
}

#[test]
fn a_stream_that_falls_silent_is_ended_as_one_that_broke() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).env("DEJA_UPSTREAM_IDLE_TIMEOUT_S", "1").start();
    let tenant = Tenant::create(&deja, "wire-stalls", &[]);
    for (n, (path, model)) in CACHED.into_iter().enumerate() {
        let text = format!("wire-stalls {n}");
        let all = events(&call(path, model, &text), "It never ends.");
        let begun = chunked(&all[..1]).len();
        provider.on(&text, Reaction::Split(Gate::default(), stream_response(&all), begun));
        let seen = until_end(&begin(&tenant, path, model, &text));
        let seen = String::from_utf8_lossy(&seen);
        assert!(seen.contains("\"error\"") && !seen.ends_with("0\r\n\r\n"), "{path}: {seen}");
    }
    assert_eq!(counted(&tenant, CACHED.len() as u64)["errors"], CACHED.len());
}
