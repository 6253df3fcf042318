//! The bound on what all answers that are being read take together: nobody waits for ever, nothing is asked twice, and
//! the room comes back.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use deja_core::id::ProjectId;
use deja_core::provider::{
    Completion, Endpoint, FailureClass, Provider, ProviderConfig, ProviderError, Route,
};
use deja_providers::{BuiltIn, HttpSettings, Registry};
use serde_json::json;
use tokio::task::JoinSet;

use crate::server::{FOREVER, Server, config, credentials, prices, settings};

/// Both answers together take more.
const ROOM: usize = 16 << 20;
const LONG: usize = 14 << 20;
const END: usize = 1 << 20;
const TRIES: usize = 30;

/// An answer of about so many bytes, plain or as a stream of pieces.
fn answer(bytes: usize, streamed: bool) -> Vec<u8> {
    let (kind, body) = if streamed {
        let piece = json!({"choices": [{"index": 0, "delta": {"content": "y".repeat(900)}}]});
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        let pieces = format!("data: {piece}\n\n").repeat(bytes / 1000);
        ("text/event-stream", format!("{pieces}data: {end}\n\ndata: [DONE]\n\n"))
    } else {
        let message = json!({"content": "y".repeat(bytes)});
        let choice = json!({"index": 0, "finish_reason": "stop", "message": message});
        ("application/json", json!({"choices": [choice]}).to_string())
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// A server whose answers end when it has sent nearly all of two of them, or was hung up on.
fn server(streamed: bool) -> Server {
    let (bytes, sent) = (answer(LONG, streamed), Arc::new((Mutex::new(0), Condvar::new())));
    Server::start(move |_, stream| {
        let (first, last) = bytes.split_at(bytes.len() - END);
        let _ = stream.write_all(first);
        *sent.0.lock().unwrap() += 1;
        sent.1.notify_all();
        drop(sent.1.wait_timeout_while(sent.0.lock().unwrap(), FOREVER, |sent| *sent < 2).unwrap());
        let _ = stream.write_all(last);
    })
}

/// The operator's provider and a project's own one, at the same address.
fn providers(url: &str) -> [Arc<dyn Provider>; 2] {
    let settings = HttpSettings {
        attempt_timeout: Duration::from_mins(5),
        idle_timeout: Duration::from_mins(5),
        total_deadline: Duration::from_mins(10),
        max_response_bytes: ROOM,
        max_bytes_in_flight: ROOM,
        ..settings()
    };
    let built_in = BuiltIn { openai: Some(credentials(url)), ..BuiltIn::default() };
    let registry = Registry::new(built_in, settings, prices()).unwrap();
    let Route::To(openai) = registry.built_in("gpt-4o", Some(Endpoint::Chat)) else { panic!("no provider") };
    [openai, registry.custom(&config(url, true), None)]
}

/// How many of two answers at once are whole, and how many found no room.
async fn both(providers: &[Arc<dyn Provider>; 2]) -> (usize, usize) {
    let mut both = JoinSet::new();
    for provider in providers.clone() {
        both.spawn(async move { provider.complete("gpt-4o", None, "Long?").await });
    }
    let (mut whole, mut refused) = (0, 0);
    for ended in both.join_all().await {
        match ended {
            Ok(completion) => whole += usize::from(completion.text.len() > LONG / 2),
            Err(error) => {
                assert_eq!(error.class, FailureClass::NoRoom, "{error}");
                refused += 1;
            }
        }
    }
    (whole, refused)
}

#[tokio::test]
async fn two_answers_that_hold_what_each_of_them_lacks_do_not_wait_for_ever() {
    for streamed in [false, true] {
        // Where the reader gets no processor for a while, the kernel keeps so much of one answer that the other one is read
        // whole before: then nobody lacks room, and it is tried again.
        let mut tries = 0;
        let (server, providers, whole, refused) = loop {
            let server = server(streamed);
            let providers = providers(&server.url);
            let (whole, refused) = both(&providers).await;
            tries += 1;
            if (whole, refused) != (2, 0) || tries == TRIES {
                break (server, providers, whole, refused);
            }
        };
        assert_eq!((whole, refused), (1, 1), "one makes way for the other, streamed: {streamed}");
        assert_eq!(server.requests().len(), 2, "an answer that was begun is paid for: not again");
        // All that was held is free again.
        for provider in &providers {
            assert!(provider.complete("gpt-4o", None, "Long?").await.unwrap().text.len() > LONG / 2);
        }
    }
}

/// The longest answer.
const EACH: usize = 1 << 20;

/// The longest answer where all are short.
const SHORT: usize = 16 << 10;

/// How many answers that nearly end are under way in [`silent`].
const SILENT: usize = 4;

/// Answers of one project's provider that fall silent before their end, with room for so many of the longest ones. Whatever is
/// asked then is answered with `then`.
fn silent(
    longest: usize,
    rooms: usize,
    then: Vec<u8>,
) -> (Registry, Server, JoinSet<Result<Completion, ProviderError>>) {
    let long = answer(longest - 1024, false);
    let server = Server::start(move |number, stream| {
        if number >= SILENT {
            let _ = stream.write_all(&then);
            return;
        }
        let _ = stream.write_all(&long[..long.len() - 1]);
        std::thread::sleep(FOREVER);
    });
    let settings = HttpSettings {
        attempt_timeout: Duration::from_mins(5),
        idle_timeout: Duration::from_mins(5),
        total_deadline: Duration::from_mins(10),
        max_response_bytes: longest,
        max_bytes_in_flight: rooms * longest,
        max_attempts: 1,
        ..settings()
    };
    let registry = Registry::new(BuiltIn::default(), settings, prices()).unwrap();
    let mut silent = JoinSet::new();
    for _ in 0..SILENT {
        let provider = registry.custom(&config(&server.url, true), None);
        silent.spawn(async move { provider.complete("gpt-4o", None, "Long?").await });
    }
    (registry, server, silent)
}

#[tokio::test]
async fn long_answers_that_fall_silent_leave_room_for_short_ones() {
    let (registry, server, mut silent) = silent(EACH, 3, answer(1000, false));
    // Those that find no room are given up; the others hold it.
    let refused = silent.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(refused.class, FailureClass::NoRoom);
    let provider = registry.custom(&config(&server.url, true), None);
    assert_eq!(provider.complete("gpt-4o", None, "Short?").await.unwrap().text.len(), 1000);
}

#[tokio::test]
async fn long_answers_that_fall_silent_leave_room_for_long_ones_of_other_projects() {
    let (registry, server, mut silent) = silent(EACH, 4, answer(EACH - 1024, false));
    // One project's answers find no more room than for one of them.
    for _ in 1..SILENT {
        let refused = silent.join_next().await.unwrap().unwrap().unwrap_err();
        assert_eq!(refused.class, FailureClass::NoRoom);
    }
    let other = ProviderConfig { project: ProjectId::from_bytes([3; 16]), ..config(&server.url, true) };
    let whole = registry.custom(&other, None).complete("gpt-4o", None, "Long?").await.unwrap();
    assert!(whole.text.len() > EACH / 2);
}

#[tokio::test]
async fn short_answers_that_fall_silent_take_no_more_room_than_there_is() {
    let (_registry, _server, mut silent) = silent(SHORT, 2, Vec::new());
    let refused = silent.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(refused.class, FailureClass::NoRoom);
}
