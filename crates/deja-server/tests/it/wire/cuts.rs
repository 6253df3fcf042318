//! Twenty recorded streams that end where they should not, at the sockets: the worst that a cache can do with one is to serve
//! it again for hours. (A cut at every byte of them is tried in deja-wire.)

use deja_wire::{Finish, Wire, record};
use serde_json::{Value, json};

use super::streams::{begin_with, until_end};
use super::{EXACT, address, cache, place, question, said, send};
use crate::recorded::{ALL, Recorded};
use crate::util::http::find;
use crate::util::provider::{chunked, stream_response};
use crate::util::{Reaction, Tenant, World};

/// The events of a stream, each with its blank line.
fn events(recorded: &Recorded) -> Vec<String> {
    let blank = if recorded.body.contains("\r\n\r\n") { "\r\n\r\n" } else { "\n\n" };
    recorded.body.split_inclusive(blank).map(str::to_owned).collect()
}

/// A request whose answer is passed on to its last byte: with the tokens at the end.
fn asked(wire: Wire, text: &str) -> (String, Value) {
    let (path, model) = place(wire);
    let mut body = question(path, model, text, true);
    if wire == Wire::Chat {
        body["stream_options"] = json!({"include_usage": true});
    }
    (address(path, true), body)
}

/// The body of a chunked answer, as far as it came.
fn unchunked(mut bytes: &[u8]) -> String {
    let mut body = Vec::new();
    while let Some(end) = find(bytes, b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        let chunk = &bytes[end + 2..];
        body.extend_from_slice(&chunk[..size.min(chunk.len())]);
        bytes = chunk.get(size + 2..).unwrap_or_default();
    }
    String::from_utf8(body).unwrap()
}

/// Nothing was kept of what came to `text`: the provider is asked again.
#[track_caller]
fn nothing_is_kept(tenant: &Tenant<'_>, wire: Wire, text: &str) {
    let world = World::shared();
    let before = world.provider.calls(text).len();
    world.provider.on(text, Reaction::Text("A whole answer.".into()));
    let (path, body) = asked(wire, text);
    let again = send(tenant, &path, &[EXACT], &body.to_string());
    assert_eq!((cache(&again), said(&path, &again).as_str()), ("miss", "A whole answer."), "{text}");
    assert_eq!(world.provider.calls(text).len(), before + 1, "{text}");
}

#[test]
fn a_connection_that_breaks_after_any_event_is_an_error_for_the_client_and_nothing_is_kept() {
    let world = World::shared();
    let tenant = world.tenant("wire-broken");
    for (number, recorded) in ALL.iter().enumerate() {
        let events = events(recorded);
        // Gemini's streams have no end mark, so what came of one may not be all.
        let cuts = if recorded.wire == Wire::Gemini { events.len() + 1 } else { events.len() };
        for cut in 0..cuts {
            let text = format!("wire-broken {number} after {cut}.");
            world.provider.on(&text, Reaction::Bytes(chunked(&events[..cut])));
            let (path, body) = asked(recorded.wire, &text);
            let seen = until_end(&begin_with(&tenant, &path, &body));
            let head = find(&seen, b"\r\n\r\n").unwrap();
            assert!(seen.starts_with(b"HTTP/1.1 200 "), "{text}");
            assert!(!seen.ends_with(b"0\r\n\r\n"), "a clean end says that this was all: {text}");
            let seen = unchunked(&seen[head + 4..]);
            let told = seen
                .strip_prefix(events[..cut].concat().as_str())
                .unwrap_or_else(|| panic!("{text}: {seen}"));
            let named = match recorded.wire {
                Wire::Chat => "data: {\"error\"",
                Wire::Gemini => "\n\n{\"error\"",
                Wire::Responses | Wire::Messages => "event: error",
            };
            assert!(told.contains(named), "{text}: {told}");
            let error = told.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or_default();
            let error: Value = serde_json::from_str(error).unwrap_or_else(|_| panic!("{text}: {told}"));
            assert!(error["error"]["message"].is_string(), "{text}: {told}");
            nothing_is_kept(&tenant, recorded.wire, &text);
        }
    }
}

#[test]
fn a_connection_that_breaks_behind_the_end_mark_has_given_a_whole_stream() {
    let world = World::shared();
    let tenant = world.tenant("wire-marked");
    for (number, recorded) in ALL.iter().enumerate().filter(|(_, recorded)| recorded.wire != Wire::Gemini) {
        let text = format!("wire-marked {number}.");
        world.provider.on(&text, Reaction::Bytes(chunked(&events(recorded))));
        let (path, body) = asked(recorded.wire, &text);
        let ask = || send(&tenant, &path, &[EXACT], &body.to_string());
        let cold = ask();
        assert_eq!((cache(&cold), cold.text().as_str()), ("miss", recorded.body), "{}", recorded.name);
        if recorded.renderable && recorded.finish == Finish::Stop {
            assert_eq!(cache(&ask()), "hit", "{}", recorded.name);
        }
    }
}

#[test]
fn a_clean_end_after_any_event_but_the_last_passes_and_nothing_is_kept() {
    let world = World::shared();
    let tenant = world.tenant("wire-short");
    for (number, recorded) in ALL.iter().enumerate() {
        let events = events(recorded);
        for cut in 0..events.len() {
            let text = format!("wire-short {number} after {cut}.");
            world.provider.on(&text, Reaction::Bytes(stream_response(&events[..cut])));
            let (path, body) = asked(recorded.wire, &text);
            let response = send(&tenant, &path, &[EXACT], &body.to_string());
            assert_eq!((response.status, response.text()), (200, events[..cut].concat()), "{text}");
            nothing_is_kept(&tenant, recorded.wire, &text);
        }
    }
}

#[test]
fn an_error_among_the_events_passes_and_nothing_is_kept() {
    let world = World::shared();
    let tenant = world.tenant("wire-failed");
    for (number, recorded) in ALL.iter().enumerate() {
        let whole = events(recorded);
        let error = match recorded.wire {
            Wire::Chat | Wire::Gemini => "data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\n\n",
            Wire::Responses | Wire::Messages => {
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"overloaded\"}}\n\n"
            }
        };
        for at in 0..=whole.len() {
            let text = format!("wire-failed {number} at {at}.");
            let mut events = whole.clone();
            events.insert(at, error.to_owned());
            world.provider.on(&text, Reaction::Bytes(stream_response(&events)));
            let (path, body) = asked(recorded.wire, &text);
            let response = send(&tenant, &path, &[EXACT], &body.to_string());
            assert_eq!((response.status, response.text()), (200, events.concat()), "{text}");
            nothing_is_kept(&tenant, recorded.wire, &text);
        }
    }
}

/// What cannot be given again whole (reasoning, signatures, calls of tools) is not kept at all, so no hit lacks it.
#[test]
fn a_whole_stream_is_served_again_as_it_was_said_or_not_at_all() {
    let world = World::shared();
    let tenant = world.tenant("wire-whole");
    let mut kept = 0;
    for (number, recorded) in ALL.iter().enumerate() {
        let text = format!("wire-whole {number}.");
        world.provider.on(&text, Reaction::Bytes(stream_response(&events(recorded))));
        let (path, body) = asked(recorded.wire, &text);
        let cold = send(&tenant, &path, &[EXACT], &body.to_string());
        assert_eq!((cache(&cold), cold.text().as_str()), ("miss", recorded.body), "{}", recorded.name);
        if !recorded.renderable || recorded.finish != Finish::Stop {
            nothing_is_kept(&tenant, recorded.wire, &text);
            continue;
        }
        kept += 1;
        for stream in [true, false] {
            let (path, model) = place(recorded.wire);
            let warm = super::ask(&tenant, path, model, &text, stream);
            let read = record(recorded.wire, stream, &warm.body.clone().into()).unwrap();
            let said = read.completion.text.as_str();
            assert_eq!((cache(&warm), said), ("hit", recorded.text), "{}", recorded.name);
        }
    }
    assert!(kept >= 8, "{kept} of {} streams are kept", ALL.len());
}
