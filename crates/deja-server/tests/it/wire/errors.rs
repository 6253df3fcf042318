//! Errors of deja's own, in the shape of each wire.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{CACHED, question, send};
use crate::util::deja::Deja;
use crate::util::http::Connection;
use crate::util::tenant::MODEL;
use crate::util::{FakeProvider, PATIENCE, Response, Tenant, World, eventually, within};

const CHAT: &str = "/v1/chat/completions";

/// The formats with the model in the body.
const NAMED: [(&str, &str); 3] = [CACHED[0], CACHED[1], CACHED[2]];

/// The type of an error, after checking its shape.
#[track_caller]
fn kind(path: &str, response: &Response) -> String {
    let body = response.json();
    assert_eq!(response.header("content-type"), Some("application/json"), "{response:?}");
    assert!(response.header("x-request-id").is_some_and(|id| !id.is_empty()), "{response:?}");
    assert!(body.get("detail").is_none(), "{body}");
    let members: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let error = body["error"].as_object().unwrap();
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    if path.contains("/messages") {
        assert_eq!((members, &body["type"]), (vec!["error", "type"], &json!("error")));
        assert_eq!(response.header("request-id"), response.header("x-request-id"));
        return error["type"].as_str().unwrap().into();
    }
    assert_eq!(members, ["error"]);
    if path.contains("v1beta") {
        assert_eq!(error["code"], json!(response.status));
        return error["status"].as_str().unwrap().into();
    }
    assert!(error.contains_key("param") && error.contains_key("code"), "{body}");
    error["type"].as_str().unwrap().into()
}

#[test]
fn what_is_wrong_with_a_request_is_400_and_names_the_member() {
    let tenant = World::shared().tenant("wire-bad");
    for (path, _) in NAMED {
        for body in
            ["", "{", "[]", "nul", "{\"model\":7}", "{}", "\u{feff}{}", "{\"model\":\"m\",\"model\":\"n\"}"]
        {
            let response = send(&tenant, path, &[], body);
            assert_eq!(
                (response.status, kind(path, &response).as_str()),
                (400, "invalid_request_error"),
                "{body}"
            );
            assert!(response.header("x-ratelimit-remaining").is_some());
        }
    }
    let long = json!({"model": "m".repeat(257)}).to_string();
    for (path, _) in NAMED {
        let response = send(&tenant, path, &[], &long);
        let told = (response.status, kind(path, &response));
        assert_eq!(told, (400, "invalid_request_error".to_owned()), "{path}");
    }
    for body in ["{\"model\":7}", &long] {
        assert_eq!(send(&tenant, CHAT, &[], body).json()["error"]["param"], "model");
    }
}

#[test]
fn a_model_that_nobody_knows_and_one_of_another_wire_are_404() {
    let tenant = World::shared().tenant("wire-unknown");
    for (path, model, code) in [
        (CHAT, "no-such-model", "model_not_found"),
        (CHAT, "claude-haiku-4-5", "wrong_endpoint"),
        ("/v1/responses", "gemini-2.5-flash", "wrong_endpoint"),
    ] {
        let response = send(&tenant, path, &[], &question(path, model, "x", false).to_string());
        assert_eq!(response.status, 404, "{model}: {}", response.text());
        kind(path, &response);
        assert_eq!(response.json()["error"]["code"], code);
    }
    let response =
        send(&tenant, "/v1/messages", &[], &question("/v1/messages", MODEL, "x", false).to_string());
    assert_eq!((response.status, kind("/v1/messages", &response).as_str()), (404, "not_found_error"));
    let message = response.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("/v1/chat/completions"), "it names the path to use: {message}");
}

#[test]
fn what_is_not_there_is_404_and_says_what_is() {
    let deja = &World::shared().deja;
    for path in [
        "/v1/files", "/v1/audio/speech", "/v1/responses/resp_1", "/v1/nothing", "/p/x/v1/batches",
        "/v1/chat", // The base URL lacks its version.
        "/chat/completions", "/responses", "/p/x/embeddings",
    ] {
        for method in ["GET", "POST", "DELETE"] {
            let response = deja.request(method, path, &[], b"");
            assert_eq!(
                (response.status, kind(path, &response).as_str()),
                (404, "invalid_request_error"),
                "{path}"
            );
            // Clients take another model where the code says that there is no such one.
            assert_eq!(response.json()["error"]["code"], "unknown_url", "{path}");
            assert!(response.text().contains("/v1/chat/completions"));
        }
    }
    for path in ["/v1", "/v1/", "/v1beta", "/v1beta/", "/v1/chat/completions/"] {
        for base in ["", "/p/x"] {
            let path = format!("{base}{path}");
            let response = deja.get(&path);
            let name = if path.contains("v1beta") { "NOT_FOUND" } else { "invalid_request_error" };
            assert_eq!((response.status, kind(&path, &response).as_str()), (404, name), "{path}");
            assert!(response.text().contains("/v1/chat/completions"));
        }
    }
    for path in ["/v1", "/messages"] {
        let bare = deja.request("GET", path, &[("anthropic-version", "2023-06-01")], b"");
        assert_eq!((bare.status, kind("/v1/messages", &bare).as_str()), (404, "not_found_error"));
    }
    let response = deja.request("POST", "/v1beta/cachedContents", &[], b"");
    assert_eq!((response.status, kind("/v1beta", &response).as_str()), (404, "NOT_FOUND"));
    let response = deja.request("POST", "/v1beta/models/m:embedContent", &[], b"");
    assert_eq!((response.status, kind("/v1beta", &response).as_str()), (404, "NOT_FOUND"));
    let response = deja.request("GET", "/v1/messages/batches", &[], b"");
    assert_eq!(kind("/v1/messages", &response), "not_found_error");
    // deja's own API keeps its own form.
    deja.request("POST", "/v1/cache/nothing", &[], b"").detail(404);
    deja.request("GET", "/v1/cache/query", &[], b"").detail(405);
    for path in ["/nowhere", "/v1x", "/v1betax/models", "/p/v1", "/modelsx", "/v1/cache"] {
        deja.get(path).detail(404);
    }
}

#[test]
fn another_method_is_405() {
    let deja = &World::shared().deja;
    for path in [
        CHAT, "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/v1/embeddings",
        "/p/x/v1/completions",
    ] {
        for method in ["GET", "PUT", "DELETE"] {
            let response = deja.request(method, path, &[], b"");
            assert_eq!((response.status, kind(path, &response).as_str()), (405, "invalid_request_error"));
            assert!(response.header("allow").is_some_and(|allow| allow.contains("POST")));
        }
    }
}

#[test]
fn a_body_that_is_too_large_is_413_and_a_packed_one_415() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).env("DEJA_WIRE_MAX_BODY_BYTES", "4096").start();
    let tenant = Tenant::create(&deja, "wire-large", &[]);
    for (path, model, name) in
        [(CHAT, MODEL, "invalid_request_error"), ("/v1/messages", "claude-haiku-4-5", "request_too_large")]
    {
        let fits = question(path, model, "x", false).to_string();
        let padded = |length: usize| format!("{fits}{}", " ".repeat(length - fits.len()));
        assert_eq!(send(&tenant, path, &[], &padded(4096)).status, 200);
        let response = send(&tenant, path, &[], &padded(4097));
        assert_eq!((response.status, kind(path, &response).as_str()), (413, name));
        // Announced or not.
        let chunk = format!("1001\r\n{}\r\n0\r\n\r\n", padded(4097));
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nx-api-key: {}\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}",
            tenant.key
        );
        let mut connection = Connection::open(deja.address()).unwrap();
        let response = connection.ask(head.as_bytes());
        assert_eq!((response.status, kind(path, &response).as_str()), (413, name));
        for encoding in ["gzip", "br", "deflate"] {
            let response = send(&tenant, path, &[("Content-Encoding", encoding)], &fits);
            assert_eq!((response.status, kind(path, &response).as_str()), (415, "invalid_request_error"));
        }
        assert_eq!(send(&tenant, path, &[("Content-Encoding", "identity")], &fits).status, 200);
    }
}

#[test]
fn a_body_that_comes_slowly_gets_through_and_one_that_drips_or_stops_does_not() {
    // Longer than a pause between two pieces can be on a busy machine, and much shorter than all pieces take.
    const BOUND: Duration = Duration::from_secs(6);
    let provider = FakeProvider::start();
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_BODY_TIMEOUT_MS", BOUND.as_millis().to_string())
        .env("DEJA_WIRE_MIN_BODY_BYTES_PER_S", "100")
        .start();
    let tenant = Tenant::create(&deja, "wire-slow", &[]);
    let body = question(CHAT, MODEL, "wire-slow", false).to_string();
    let body = format!("{body}{}", " ".repeat(20_000 - body.len()));
    let body = body.as_bytes();
    // Sends the body in pieces of so many bytes, one a second, up to `most` bytes, until the answer is there. Gives the bytes too
    // that were sent by then.
    let send = |piece: usize, most: usize| {
        let (key, length) = (&tenant.key, body.len());
        let head = format!(
            "POST {CHAT} HTTP/1.1\r\nHost: x\r\nx-api-key: {key}\r\nContent-Length: {length}\r\n\r\n"
        );
        let mut connection = Connection::open(deja.address()).unwrap();
        connection.send(head.as_bytes()).unwrap();
        let (mut writer, began) = (connection.stream().try_clone().unwrap(), Instant::now());
        let (sent, answered) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for piece in body[..most].chunks(piece) {
                    if answered.load(Ordering::SeqCst) || writer.write_all(piece).is_err() {
                        return;
                    }
                    sent.fetch_add(piece.len(), Ordering::SeqCst);
                    sleep(Duration::from_secs(1));
                }
            });
            let answer = connection.receive().unwrap();
            answered.store(true, Ordering::SeqCst);
            (answer, began.elapsed(), sent.load(Ordering::SeqCst))
        })
    };
    std::thread::scope(|scope| {
        let steady = scope.spawn(|| send(2_000, body.len()));
        let drips = scope.spawn(|| send(1, 40));
        let stops = scope.spawn(|| send(10_000, 10_000));
        let (answered, took, _) = steady.join().unwrap();
        assert_eq!(answered.status, 200, "{}", answered.text());
        assert!(took > BOUND, "{took:?}");
        let (drips, stops) = (drips.join().unwrap(), stops.join().unwrap());
        assert!(drips.2 < 40, "it was refused while it dripped, not when it had stopped");
        for (refused, ..) in [drips, stops] {
            assert_eq!((refused.status, kind(CHAT, &refused).as_str()), (400, "invalid_request_error"));
            assert!(refused.text().contains("too slowly"), "{}", refused.text());
        }
    });
    assert_eq!(provider.calls("wire-slow").len(), 1);
}

#[test]
fn all_bodies_together_have_one_budget() {
    let provider = FakeProvider::start();
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_WIRE_MAX_BODY_BYTES", "65536")
        .env("DEJA_WIRE_MAX_BYTES_IN_FLIGHT", "65536")
        .start();
    let tenant = Tenant::create(&deja, "wire-budget", &["--tier", "enterprise"]);
    // A body that came but for its last byte holds its room, one that is announced does not.
    let announced = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: x\r\nx-api-key: {}\r\nContent-Length: 65536\r\n\r\n",
        tenant.key
    );
    let head = format!("{announced}{}", " ".repeat(65535));
    let ask =
        |path: &str, model: &str| send(&tenant, path, &[], &question(path, model, "x", false).to_string());
    let mut silent = Connection::open(deja.address()).unwrap();
    silent.send(announced.as_bytes()).unwrap();
    sleep(Duration::from_millis(50));
    assert_eq!(ask(CHAT, MODEL).status, 200);
    let refused = within(PATIENCE, || {
        let mut first = Connection::open(deja.address()).unwrap();
        first.send(head.as_bytes()).unwrap();
        sleep(Duration::from_millis(50));
        let response = ask(CHAT, MODEL);
        // Otherwise it came before the announced body.
        (response.status != 200).then_some((first, response))
    });
    let (first, refused) = refused.expect("a body that came takes all the room");
    assert_eq!((refused.status, kind(CHAT, &refused).as_str()), (503, "service_unavailable_error"));
    assert!(refused.header("retry-after").is_some());
    let refused = ask("/v1/messages", "claude-haiku-4-5");
    assert_eq!((refused.status, kind("/v1/messages", &refused).as_str()), (529, "overloaded_error"));
    drop(first);
    eventually("its room comes back", || ask(CHAT, MODEL).status == 200);
}

#[test]
fn the_bodies_of_one_project_leave_room_for_those_of_others() {
    let provider = FakeProvider::start();
    // Half of all is for one project: two bodies.
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_WIRE_MAX_BODY_BYTES", "32768")
        .env("DEJA_WIRE_MAX_BYTES_IN_FLIGHT", "131072")
        .start();
    let [greedy, other] =
        ["wire-greedy", "wire-other"].map(|name| Tenant::create(&deja, name, &["--tier", "enterprise"]));
    let ask = |tenant: &Tenant<'_>, blanks: usize| {
        let body = question(CHAT, MODEL, "x", false).to_string() + &" ".repeat(blanks);
        send(tenant, CHAT, &[], &body)
    };
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: x\r\nx-api-key: {}\r\nContent-Length: 32768\r\n\r\n{}",
        greedy.key,
        " ".repeat(32_767)
    );
    let hold = || {
        let mut connection = Connection::open(deja.address()).unwrap();
        connection.send(head.as_bytes()).unwrap();
        connection
    };
    // Where it comes before the others, or between them, there is room: then again.
    let (held, refused) = within(PATIENCE, || {
        let held = [hold(), hold()];
        sleep(Duration::from_millis(50));
        let response = ask(&greedy, 0);
        (response.status != 200).then_some((held, response))
    })
    .expect("one project takes no more than its half");
    assert_eq!((refused.status, kind(CHAT, &refused).as_str()), (503, "service_unavailable_error"));
    assert_eq!(ask(&other, 30_000).status, 200);
    drop(held);
    eventually("its room comes back", || ask(&greedy, 0).status == 200);
}

#[test]
fn over_the_limit_is_429_with_when_to_come_back() {
    let world = World::shared();
    let tenant =
        Tenant::create(&world.deja, "wire-limit", &["--tier", "enterprise", "--rpm", "1", "--burst", "1"]);
    let ask =
        |path: &str, model: &str| send(&tenant, path, &[], &question(path, model, "x", false).to_string());
    assert_eq!(ask(CHAT, MODEL).status, 200);
    for (path, name) in
        [(CHAT, "requests"), ("/v1/responses", "requests"), ("/v1/messages", "rate_limit_error")]
    {
        let response = ask(path, MODEL);
        assert_eq!((response.status, kind(path, &response).as_str()), (429, name));
        assert!(response.number("retry-after") > 0);
        assert_eq!(response.number("x-ratelimit-remaining"), 0);
    }
}
