//! What a request asks of the cache, and what a project allows.

use std::time::{Duration, Instant};

use super::{CACHED, EXACT, ask, ask_freely, ask_with, cache, question, said, send};
use crate::util::tenant::MODEL;
use crate::util::{Reaction, Tenant, World, eventually};

const CHAT: &str = CACHED[0].0;

fn with(tenant: &Tenant<'_>, text: &str, headers: &[(&str, &str)]) -> crate::util::Response {
    send(tenant, CHAT, headers, &question(CHAT, MODEL, text, false).to_string())
}

#[test]
fn a_request_says_how_far_it_is_cached() {
    let world = World::shared();
    let tenant = world.tenant("wire-control");
    let (asked, close) = ("How do I open the wire-control door?", "How can I open the wire-control door?");
    let cached = |text: &str, word: &str| {
        let response = with(&tenant, text, &[("X-Deja-Cache", word)]);
        assert_eq!(response.status, 200, "{word}: {}", response.text());
        cache(&response).to_owned()
    };
    let only = with(&tenant, asked, &[("X-Deja-Cache", "only")]);
    assert_eq!((only.status, only.header("x-should-retry")), (504, Some("false")));
    assert_eq!(cached(asked, "off"), "bypass");
    assert_eq!(cached(asked, "on"), "miss");
    assert_eq!(cached(asked, "only"), "hit");
    assert_eq!(cached(asked, "off"), "bypass");
    assert_eq!(cached(asked, "exact"), "hit");
    assert_eq!(cached(close, "on"), "hit");
    assert_eq!(cached(asked, "refresh"), "refresh");
    assert_eq!(cached(close, "exact"), "miss");
    assert_eq!(world.provider.calls("wire-control").len(), 5);
}

#[test]
fn cache_control_says_the_same() {
    let world = World::shared();
    let tenant = world.tenant("wire-cache-control");
    let asked = "wire-cache-control";
    let by = |value: &str| with(&tenant, asked, &[("Cache-Control", value)]);
    assert_eq!(by("only-if-cached").status, 504);
    assert_eq!(cache(&by("no-store")), "miss");
    assert_eq!(cache(&by("max-age=60")), "miss", "no-store stored nothing");
    assert_eq!(cache(&by("max-age=60, x=y")), "hit");
    assert_eq!(cache(&by("no-cache")), "refresh");
    assert_eq!(cache(&by("junk, max-age=junk")), "hit");
    let both = with(&tenant, asked, &[("Cache-Control", "no-cache"), ("X-Deja-Cache", "on")]);
    assert_eq!(cache(&both), "hit", "deja's own header wins");
    assert_eq!(world.provider.calls(asked).len(), 3);
}

#[test]
fn a_context_segments_and_is_not_sent() {
    let world = World::shared();
    let tenant = world.tenant("wire-context");
    for context in ["eu-shop", "us-shop", ""] {
        for expected in ["miss", "hit"] {
            let response = with(&tenant, "wire-context", &[("X-Deja-Context", context)]);
            assert_eq!(cache(&response), expected, "{context:?}");
        }
    }
    assert_eq!(cache(&with(&tenant, "wire-context", &[])), "miss", "no context is one of its own");
    for call in world.provider.calls("wire-context") {
        assert!(
            !String::from_utf8_lossy(&call.raw).contains("shop") && call.header("x-deja-context").is_none()
        );
    }
}

#[test]
fn a_threshold_and_a_time_to_live() {
    let world = World::shared();
    let tenant = world.tenant("wire-threshold");
    ask_freely(&tenant, CHAT, MODEL, "How do I open the wire-threshold door?", false);
    let close = |threshold: &str| {
        let response =
            with(&tenant, "How can I open the wire-threshold door?", &[("X-Deja-Threshold", threshold)]);
        (response.status, cache(&response).to_owned())
    };
    assert_eq!(close("0.8"), (200, "hit".into()));
    assert_eq!(close("0.9999"), (200, "miss".into()));
    let short = [("X-Deja-TTL", "1")];
    assert_eq!(cache(&with(&tenant, "wire-threshold short", &short)), "miss");
    eventually("it ends after a second", || {
        cache(&with(&tenant, "wire-threshold short", &[("X-Deja-Cache", "only")])) != "hit"
    });
}

#[test]
fn values_that_say_nothing_are_400_and_named() {
    let tenant = World::shared().tenant("wire-bad-control");
    for (name, value) in [
        ("X-Deja-Cache", "maybe"),
        ("X-Deja-Cache", ""),
        ("X-Deja-Threshold", "1.5"),
        ("X-Deja-Threshold", "high"),
        ("X-Deja-TTL", "0"),
        ("X-Deja-TTL", "-1"),
        ("X-Deja-TTL", "1h"),
        ("X-Deja-Debug", "yes"),
        ("X-Deja-Pace", "0"),
        ("X-Deja-Pace", "1001"),
        ("X-Deja-Pace", "fast"),
        ("X-Deja-Context", &"x".repeat(20_000)),
    ] {
        let response = with(&tenant, "x", &[(name, value)]);
        assert_eq!(response.status, 400, "{name}: {}", response.text());
        let error = response.json()["error"].take();
        assert_eq!(error["param"], name.to_lowercase());
        let message = error["message"].as_str().unwrap().to_lowercase();
        assert!(message.contains(&name.to_lowercase()), "{message}");
        assert!(value.len() < 20_000 || message.contains("at most 16384 bytes"), "{message}");
    }
}

#[test]
fn a_header_that_the_project_forbids_is_400_and_a_cache_control_is_ignored() {
    let tenant = World::shared().tenant("wire-forbidden");
    let allow = |controls: &str| {
        tenant.deja.cli(&["project", "set", &tenant.slug, "--client-controls", controls]);
    };
    let ask = |name, value| with(&tenant, "wire-forbidden", &[(name, value)]);
    assert_eq!(cache(&with(&tenant, "wire-forbidden", &[])), "miss");
    let all = [
        ("cache", "X-Deja-Cache", "on"),
        ("threshold", "X-Deja-Threshold", "0.9"),
        ("context", "X-Deja-Context", "eu-shop"),
        ("ttl", "X-Deja-TTL", "60"),
        ("debug", "X-Deja-Debug", "1"),
        ("pace", "X-Deja-Pace", "1000"),
    ];
    for (control, name, value) in all {
        let others: Vec<_> = all.iter().map(|(other, ..)| *other).filter(|other| *other != control).collect();
        allow(&others.join(","));
        let refused = ask(name, value);
        assert_eq!(refused.status, 400, "{name}: {}", refused.text());
        assert_eq!(refused.json()["error"]["param"], name.to_lowercase());
        allow(control);
        assert_eq!(ask(name, value).status, 200, "{name}");
    }
    allow("none");
    for value in ["no-cache", "no-store", "only-if-cached", "max-age=0"] {
        assert_eq!(cache(&ask("Cache-Control", value)), "hit", "{value}");
    }
}

#[test]
fn debug_tells_times_in_a_header() {
    let tenant = World::shared().tenant("wire-debug");
    let response = with(&tenant, "wire-debug", &[("X-Deja-Debug", "1")]);
    let timing = response.header("server-timing").unwrap();
    assert!(timing.contains("embedding;dur=") && timing.contains("total;dur="), "{timing}");
    assert!(with(&tenant, "wire-debug", &[]).header("server-timing").is_none());
}

#[test]
fn a_pace_makes_a_streamed_hit_take_its_time_and_changes_nothing_else() {
    let world = World::shared();
    let tenant = world.tenant("wire-pace");
    let long = "A word and a word and a word. ".repeat(20);
    world.provider.on("wire-pace", Reaction::Text(long.clone()));
    for (n, (path, model)) in CACHED.into_iter().enumerate() {
        let text = format!("wire-pace {n}");
        ask(&tenant, path, model, &text, false);
        let timed = |stream: bool, pace: Option<&str>| {
            let headers: Vec<_> = pace.map(|pace| ("X-Deja-Pace", pace)).into_iter().chain([EXACT]).collect();
            let began = Instant::now();
            let response = ask_with(&tenant, path, model, &text, stream, &headers);
            assert_eq!((cache(&response), said(path, &response)), ("hit", long.clone()), "{path}");
            (events_of(&response), began.elapsed())
        };
        // The answer counts 500 tokens, but its 600 bytes can hardly be more than 200: half a second, of which the last event's
        // share is not waited for.
        let (paced, took) = timed(true, Some("400"));
        assert!(took >= Duration::from_millis(400), "{path}: {took:?}");
        assert_eq!(paced, timed(true, None).0);
        timed(false, Some("1"));
    }
}

/// How many events a stream has.
fn events_of(response: &crate::util::Response) -> usize {
    response.text().matches("\n\n").count()
}
