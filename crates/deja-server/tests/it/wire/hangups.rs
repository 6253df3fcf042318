//! Clients that hang up while the provider still answers, and providers that are silent meanwhile.

use std::thread;
use std::time::Duration;

use deja_wire::Wire;
use serde_json::{Value, json};

use super::streams::{begin, begin_with, call, until, until_end};
use super::{CACHED, EXACT, address, cache, place, question, said, send};
use crate::util::http::find;
use crate::util::provider::{chunked, json_response, stream_response};
use crate::util::stream::{events, whole};
use crate::util::{Deja, FakeProvider, Gate, Reaction, Tenant, World, eventually};

/// The first event of an answer; then the provider waits until deja hangs up, which opens the gate.
fn begun(path: &str, model: &str, gone: &Gate) -> Reaction {
    let all = events(&call(path, model, "x"), "Never whole.");
    Reaction::UntilHungUp(chunked(&all[..1]), Vec::new(), gone.clone())
}

/// What stands in the first event of each format.
fn opening(wire: Wire) -> &'static str {
    match wire {
        Wire::Chat => "\"assistant\"",
        Wire::Responses => "response.created",
        Wire::Messages => "message_start",
        Wire::Gemini => "candidates",
    }
}

/// A question with a tool that may be called.
pub(super) fn with_tool(wire: Wire, text: &str) -> Value {
    let (path, model) = place(wire);
    let mut body = question(path, model, text, true);
    let schema = json!({"type": "object", "properties": {}});
    let tool = match wire {
        Wire::Chat => json!({"type": "function", "function": {"name": "look", "parameters": schema}}),
        Wire::Responses => json!({"type": "function", "name": "look", "parameters": schema}),
        Wire::Messages => json!({"name": "look", "input_schema": schema}),
        Wire::Gemini => json!({"functionDeclarations": [{"name": "look", "parameters": schema}]}),
    };
    body["tools"] = json!([tool]);
    body
}

/// Whether the answer to `text` is kept, once it is.
#[track_caller]
fn until_kept(tenant: &Tenant<'_>, path: &str, model: &str, text: &str) {
    let body = question(path, model, text, false).to_string();
    let only = || send(tenant, &address(path, false), &[("X-Deja-Cache", "only")], &body).status;
    eventually("the answer is kept", || only() == 200);
}

#[test]
fn a_call_whose_answer_would_not_be_kept_ends_with_its_last_client() {
    let world = World::shared();
    let tenant = world.tenant("wire-leave");
    let aborting = world.tenant("wire-leave-abort");
    tenant.deja.cli(&["project", "set", &aborting.slug, "--on-hangup", "abort"]);
    let similar = world.tenant("wire-leave-similar");
    tenant.deja.cli(&["project", "set", &similar.slug, "--opt-ins", "semantic_tools"]);
    for wire in Wire::ALL {
        let (path, model) = place(wire);
        let text = format!("wire-leave {wire:?}");
        let mut bypass = with_tool(wire, &text);
        bypass["tools"] = match wire {
            Wire::Gemini => json!([{"googleSearch": {}}]),
            _ => json!([{"type": "web_search_20250305", "name": "web_search"}]),
        };
        let plain = question(path, model, &text, true);
        let tool = with_tool(wire, &text);
        for (tenant, body) in
            [(&tenant, tool.clone()), (&similar, tool), (&tenant, bypass), (&aborting, plain)]
        {
            let gone = Gate::default();
            world.provider.on(&text, begun(path, model, &gone));
            let client = begin_with(tenant, &address(path, true), &body);
            until(&client, opening(wire));
            assert!(!gone.is_open(), "{text}");
            drop(client);
            assert!(gone.pass(), "the call goes on: {text} {body}");
        }
    }
}

#[test]
fn a_stop_that_cuts_streams_does_not_blame_the_provider() {
    let provider = FakeProvider::start();
    let mut deja = Deja::builder().provider(&provider).env("DEJA_SHUTDOWN_TIMEOUT_S", "0").start();
    let streams: Vec<_> = {
        let tenant = Tenant::create(&deja, "wire-stop", &[]);
        let begin = |wire| {
            let (path, model) = place(wire);
            let text = format!("wire-stop {wire:?}");
            provider.on(&text, begun(path, model, &Gate::default()));
            let stream = begin_with(&tenant, &address(path, true), &question(path, model, &text, true));
            until(&stream, opening(wire));
            stream
        };
        Wire::ALL.map(begin).into_iter().collect()
    };
    deja.signal("TERM");
    for stream in &streams {
        let told = String::from_utf8_lossy(&until_end(stream)).into_owned();
        assert!(told.contains("deja stops") && !told.contains("provider"), "{told}");
        assert!(!told.ends_with("0\r\n\r\n"), "the transfer is broken off: {told}");
    }
    deja.wait();
}

#[test]
fn a_follower_keeps_a_call_going_until_it_leaves_too() {
    let world = World::shared();
    let tenant = world.tenant("wire-both");
    for wire in Wire::ALL {
        let (path, model) = place(wire);
        let (text, gone) = (format!("wire-both {wire:?}"), Gate::default());
        world.provider.on(&text, begun(path, model, &gone));
        let body = with_tool(wire, &text);
        let leader = begin_with(&tenant, &address(path, true), &body);
        until(&leader, opening(wire));
        let follower = begin_with(&tenant, &address(path, true), &body);
        let head = until(&follower, opening(wire));
        assert!(find(&head, b"x-deja-cache: joined").is_some(), "{}", String::from_utf8_lossy(&head));
        drop(leader);
        // The third finds the call still under way.
        let third = begin_with(&tenant, &address(path, true), &body);
        let head = until(&third, opening(wire));
        assert!(find(&head, b"x-deja-cache: joined").is_some() && !gone.is_open());
        drop((follower, third));
        assert!(gone.pass(), "{text}");
        assert_eq!(world.provider.calls(&text).len(), 1);
    }
}

#[test]
fn a_plain_answer_that_nobody_waits_for_any_more_is_kept() {
    let world = World::shared();
    let tenant = world.tenant("wire-plain-alone");
    for wire in Wire::ALL {
        let (path, model) = place(wire);
        let (text, gate) = (format!("wire-plain-alone {wire:?}"), Gate::default());
        let answer = whole(&call(path, model, &text), "Paid for.");
        let answer = Reaction::Bytes(json_response(200, &answer));
        world.provider.on(&text, Reaction::Gated(gate.clone(), Box::new(answer)));
        let client = begin_with(&tenant, &address(path, false), &question(path, model, &text, false));
        world.provider.wait_for_calls(&text, 1);
        drop(client);
        gate.open();
        until_kept(&tenant, path, model, &text);
        assert_eq!(world.provider.calls(&text).len(), 1);
    }
}

#[test]
fn an_answer_without_end_is_not_read_on_for_nobody() {
    let world = World::shared();
    let tenant = world.tenant("wire-endless");
    let (path, model) = CACHED[0];
    let gone = Gate::default();
    let all = events(&call(path, model, "x"), &"More and more of it. ".repeat(1000));
    let more = format!("{:x}\r\n{}\r\n", all[1].len(), all[1]).into_bytes();
    world.provider.on("wire-endless", Reaction::UntilHungUp(chunked(&all[..1]), more, gone.clone()));
    let client = begin(&tenant, path, model, "wire-endless");
    until(&client, opening(Wire::Chat));
    drop(client);
    assert!(gone.pass(), "1 MiB is the most that is read for nobody");
    world.provider.on("wire-endless", Reaction::Text("Whole.".into()));
    assert_eq!(cache(&super::ask(&tenant, path, model, "wire-endless", true)), "miss");
}

#[test]
fn an_answer_that_does_not_come_is_not_waited_for_beyond_the_bound() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).env("DEJA_HANGUP_TIMEOUT_S", "1").start();
    let tenant = Tenant::create(&deja, "wire-late", &[]);
    for wire in Wire::ALL {
        let (path, model) = place(wire);
        let (text, gone) = (format!("wire-late {wire:?}"), Gate::default());
        provider.on(&text, begun(path, model, &gone));
        let client = begin(&tenant, path, model, &text);
        until(&client, opening(wire));
        drop(client);
        assert!(gone.pass(), "{text}");
        // Nothing of it is kept.
        provider.on(&text, Reaction::Text("Whole.".into()));
        let again = super::ask(&tenant, path, model, &text, true);
        assert_eq!((cache(&again), said(path, &again).as_str()), ("miss", "Whole."), "{text}");
    }
}

#[test]
fn a_silent_provider_does_not_make_a_silent_stream() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).env("DEJA_STREAM_KEEP_ALIVE_MS", "50").start();
    let tenant = Tenant::create(&deja, "wire-silent", &[]);
    for wire in Wire::ALL.into_iter().filter(|wire| *wire != Wire::Gemini) {
        let (path, model) = place(wire);
        let all = events(&call(path, model, "x"), "At last.");
        let (text, gate) = (format!("wire-silent {wire:?}"), Gate::default());
        let begun = chunked(&all[..1]).len();
        provider.on(&text, Reaction::Split(gate.clone(), stream_response(&all), begun));
        let client = begin(&tenant, path, model, &text);
        until(&client, ":\n\n");
        // Who reads along hears them, too.
        let follower = begin(&tenant, path, model, &text);
        let head = until(&follower, ":\n\n");
        assert!(find(&head, b"x-deja-cache: joined").is_some(), "{text}");
        gate.open();
        until(&client, "0\r\n\r\n");
        until(&follower, "0\r\n\r\n");
        let warm = super::ask(&tenant, path, model, &text, true);
        assert_eq!((cache(&warm), said(path, &warm).as_str()), ("hit", "At last."), "{text}");
        assert!(!warm.text().contains(":\n\n"), "comments are not kept");
    }
}

/// Google's library for Go takes each line that is no `data` for an error.
#[test]
fn a_client_of_gemini_gets_not_one_byte_that_the_provider_did_not_send() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).env("DEJA_STREAM_KEEP_ALIVE_MS", "10").start();
    let tenant = Tenant::create(&deja, "wire-quiet", &[]);
    let (path, model) = place(Wire::Gemini);
    let all = events(&call(path, model, "x"), "At last.");
    let gate = Gate::default();
    let begun = chunked(&all[..1]).len();
    provider.on("wire-quiet", Reaction::Split(gate.clone(), stream_response(&all), begun));
    let body = question(path, model, "wire-quiet", true).to_string();
    let response = thread::scope(|scope| {
        let asked = scope.spawn(|| send(&tenant, &address(path, true), &[EXACT], &body));
        provider.wait_for_calls("wire-quiet", 1);
        // Long enough for many comments.
        thread::sleep(Duration::from_millis(300));
        gate.open();
        asked.join().unwrap()
    });
    assert_eq!((response.status, response.text()), (200, all.concat()));
}

#[test]
fn a_blank_line_that_comes_alone_ends_an_event() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).env("DEJA_STREAM_KEEP_ALIVE_MS", "50").start();
    let tenant = Tenant::create(&deja, "wire-apart", &[]);
    // Gemini, the last, has no comments to wait for.
    for (n, (path, model)) in CACHED.into_iter().take(3).enumerate() {
        for end in ["\n", "\r\n"] {
            let all = events(&call(path, model, "x"), "In pieces.").concat().replace('\n', end);
            let (first, rest) = all.split_once(&end.repeat(2)).unwrap();
            let pieces = [format!("{first}{end}"), end.to_owned(), rest.to_owned()];
            let (text, gate) = (format!("wire-apart {n} {end:?}"), Gate::default());
            let begun = chunked(&pieces[..2]).len();
            provider.on(&text, Reaction::Split(gate.clone(), stream_response(&pieces), begun));
            let mut body = question(path, model, &text, true);
            if n == 0 {
                // Who does not want the tokens gets each event when it is whole.
                body["stream_options"] = json!({"include_usage": true});
            }
            let client = begin_with(&tenant, &address(path, true), &body);
            until(&client, ":\n\n");
            gate.open();
            until(&client, "0\r\n\r\n");
        }
    }
}

#[test]
fn no_comment_stands_within_an_event() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).env("DEJA_STREAM_KEEP_ALIVE_MS", "10").start();
    let tenant = Tenant::create(&deja, "wire-within", &[]);
    for wire in Wire::ALL {
        let (path, model) = place(wire);
        let all = events(&call(path, model, "x"), "In two pieces.");
        let half = all[0].len() / 2;
        let pieces = [vec![all[0][..half].to_owned(), all[0][half..].to_owned()], all[1..].to_vec()].concat();
        let (text, gate) = (format!("wire-within {wire:?}"), Gate::default());
        let begun = chunked(&pieces[..1]).len();
        provider.on(&text, Reaction::Split(gate.clone(), stream_response(&pieces), begun));
        let body = question(path, model, &text, true).to_string();
        let response = thread::scope(|scope| {
            let asked = scope.spawn(|| send(&tenant, &address(path, true), &[EXACT], &body));
            provider.wait_for_calls(&text, 1);
            // Long enough for many comments.
            thread::sleep(Duration::from_millis(300));
            gate.open();
            asked.join().unwrap()
        });
        let seen = response.text();
        let events: Vec<&str> = seen.split_inclusive("\n\n").filter(|event| *event != ":\n\n").collect();
        assert_eq!(events.concat(), all.concat(), "{text}");
    }
}
