//! Connections that fail in every way: each ends in a clear error, in time and without filling the memory.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use deja_core::provider::{FailureClass, ProviderError};
use deja_providers::HttpSettings;
use serde_json::json;

use crate::server::{FOREVER, SOON, Server, custom, gzip, http, json, one_attempt, settings};

async fn fail(url: &str, settings: HttpSettings) -> ProviderError {
    custom(url, settings).complete("m", None, "Hi").await.unwrap_err()
}

#[tokio::test]
async fn refused() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let start = Instant::now();
    let error = fail(&format!("http://{address}"), settings()).await;
    assert_eq!(error.class, FailureClass::Connection);
    assert!(start.elapsed() >= Duration::from_millis(1500), "two waits lie between three attempts");
}

#[tokio::test]
async fn closed_before_the_header_ends() {
    for part in ["", "HTTP/1.1 200 OK\r\ncontent-ty"] {
        let server = Server::always(part);
        let error = fail(&server.url, settings()).await;
        assert_eq!(error.class, FailureClass::Connection, "{part:?}: {error}");
        assert_eq!(server.requests().len(), 1, "the request had been sent, so it may be billed: {part:?}");
    }
}

/// A server that takes the whole request and lets the connection be reset: it is closed with bytes unread.
#[tokio::test]
async fn reset_after_the_request_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let taken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&taken);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let mut bytes = [0; 4096];
            let sent = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("\"stream\":false");
            while stream.peek(&mut bytes).is_ok_and(|n| n > 0 && !sent(&bytes[..n])) {
                std::thread::sleep(Duration::from_millis(5));
            }
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let error = fail(&format!("http://{address}"), settings()).await;
    assert_eq!(error.class, FailureClass::Connection, "{error}");
    assert_eq!(taken.load(Ordering::SeqCst), 1, "the request had been sent, so it may be billed: {error}");
}

/// An answer that was never asked for twice: a kept connection that the server has closed is not one to send on.
#[tokio::test]
async fn a_connection_that_was_closed_while_nobody_used_it_costs_no_call() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (closed, closing) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 4096];
            // One write each: the whole request is there once the first bytes of its body are.
            while stream.peek(&mut bytes).is_ok_and(|n| !bytes[..n].ends_with(b"}")) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = std::io::Read::read(&mut stream, &mut bytes);
            let answer = crate::server::chat("x").replace("connection: close\r\n", "");
            let _ = stream.write_all(answer.as_bytes());
            drop(stream);
            let _ = closed.send(());
        }
    });
    let provider = custom(&format!("http://{address}"), one_attempt());
    for _ in 0..3 {
        assert_eq!(provider.complete("m", None, "Hi").await.unwrap().text, "x");
        closing.recv_timeout(FOREVER).unwrap();
        // The client learns of the end when it next runs.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn cut_within_the_body() {
    let cut = json(200, &format!("{{\"x\": \"{}\"}}", "y".repeat(500)));
    let server = Server::always(&cut.as_bytes()[..cut.len() - 100]);
    let error = fail(&server.url, settings()).await;
    assert_eq!(error.class, FailureClass::Connection, "{error}");
    assert_eq!(server.requests().len(), 1, "part of the answer had come, so it may have been billed");
}

#[tokio::test]
async fn silent_before_the_header() {
    let server = Server::start(|_, _| std::thread::sleep(FOREVER));
    let start = Instant::now();
    let settings = HttpSettings { attempt_timeout: Duration::from_secs(1), ..settings() };
    let error = fail(&server.url, settings).await;
    assert_eq!(error.class, FailureClass::Timeout);
    assert!(start.elapsed() < SOON, "the limit of an attempt holds: {:?}", start.elapsed());
    assert_eq!(server.requests().len(), 1, "a call that timed out may have been billed");
}

#[tokio::test]
async fn a_model_may_think_longer_than_the_idle_limit() {
    let server = Server::start(|_, stream| {
        std::thread::sleep(Duration::from_millis(1100));
        let _ = stream.write_all(crate::server::chat("Well.").as_bytes());
    });
    let settings = HttpSettings { idle_timeout: Duration::from_millis(500), ..settings() };
    let answer = custom(&server.url, settings).complete("m", None, "Hi").await.unwrap();
    assert_eq!(answer.text, "Well.");
}

#[tokio::test]
async fn silent_within_the_body() {
    let server = Server::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
        std::thread::sleep(FOREVER);
    });
    let start = Instant::now();
    let settings = HttpSettings { idle_timeout: Duration::from_secs(1), ..settings() };
    let error = fail(&server.url, settings).await;
    assert_eq!(error.class, FailureClass::Timeout);
    assert!(start.elapsed() < SOON, "the idle limit holds: {:?}", start.elapsed());
}

#[tokio::test]
async fn one_byte_at_a_time() {
    for headers in ["content-length: 1000\r\n", "content-type: text/event-stream\r\n"] {
        let server = Server::start(move |_, stream| {
            let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n{headers}\r\n").as_bytes());
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let start = Instant::now();
        let settings = HttpSettings { attempt_timeout: Duration::from_millis(1500), ..settings() };
        let error = fail(&server.url, settings).await;
        assert_eq!(error.class, FailureClass::Timeout);
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn garbage() {
    for bytes in ["SSH-2.0-OpenSSH_9.9\r\n", "\0\u{1}\u{2}\r\n\r\n", "HTTP/9 200\r\n\r\n"] {
        let server = Server::always(bytes);
        let error = fail(&server.url, settings()).await;
        assert_eq!(error.class, FailureClass::BadResponse, "{bytes:?}: {error}");
        assert_eq!(server.requests().len(), 1, "{bytes:?}");
    }
}

#[tokio::test]
async fn good_status_without_an_answer() {
    for body in ["", "<html>hello</html>", "{}", "null", "[1]", "{\"choices\": []}", "{\"choices\": [{\"mess"]
    {
        let server = Server::always(json(200, body));
        let error = fail(&server.url, settings()).await;
        assert_eq!(error.class, FailureClass::BadResponse, "{body:?}: {error}");
    }
    let deep = json(200, &"[".repeat(200_000));
    assert_eq!(fail(&Server::always(deep).url, settings()).await.class, FailureClass::BadResponse);
}

#[tokio::test]
async fn a_huge_answer_is_cut_off() {
    let claimed = "content-length: 1073741824\r\n";
    let unclaimed = "";
    for (headers, status) in
        [(claimed, 200), (unclaimed, 200), (unclaimed, 500), ("content-type: text/event-stream\r\n", 200)]
    {
        let sent_in_all = Arc::new(AtomicU64::new(u64::MAX));
        let taken = Arc::clone(&sent_in_all);
        let server = Server::start(move |_, stream| {
            let _ = stream.write_all(format!("HTTP/1.1 {status} X\r\n{headers}\r\n").as_bytes());
            let block = vec![b'x'; 64 * 1024];
            let mut sent = 0u64;
            while sent < 1 << 30 && stream.write_all(&block).is_ok() {
                sent += block.len() as u64;
            }
            taken.store(sent, Ordering::SeqCst);
        });
        let settings = HttpSettings {
            attempt_timeout: Duration::from_secs(20),
            total_deadline: Duration::from_secs(20),
            ..one_attempt()
        };
        let error = fail(&server.url, settings).await;
        let expected = if status == 200 { FailureClass::BadResponse } else { FailureClass::Server };
        assert_eq!(error.class, expected, "{headers:?}: {error}");
        // The server's thread notices a moment later that nobody reads any more.
        let mut waited = 0;
        while sent_in_all.load(Ordering::SeqCst) == u64::MAX && waited < 500 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            waited += 1;
        }
        let sent = sent_in_all.load(Ordering::SeqCst);
        assert!(sent < 32 << 20, "{sent} bytes were taken");
    }
    assert!(peak_memory_mb() < 400, "{} MB", peak_memory_mb());
}

/// The most memory that the process ever had, in MB.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let target = Server::always(crate::server::chat("secret"));
    for status in [301, 302, 303, 307, 308] {
        let server =
            Server::always(http(status, &format!("location: {}/chat/completions\r\n", target.url), ""));
        let error = fail(&server.url, settings()).await;
        assert_eq!(error.class, FailureClass::BadResponse, "{status}");
    }
    assert!(target.requests().is_empty());
}

#[tokio::test]
async fn packed_answers_are_not_asked_for_and_read_all_the_same() {
    let plain = json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "Hello."}}]});
    let streamed =
        json!({"choices": [{"index": 0, "finish_reason": "stop", "delta": {"content": "Hello."}}]});
    let streamed = format!("data: {streamed}\n\ndata: [DONE]\n\n");
    let bodies = [("application/json", gzip(plain.to_string())), ("text/event-stream", gzip(streamed))];
    let server = Server::start(move |number, stream| {
        let (kind, body) = &bodies[number];
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-encoding: gzip\r\n");
        let _ = stream.write_all(format!("{head}content-length: {}\r\n\r\n", body.len()).as_bytes());
        let _ = stream.write_all(body);
    });
    for _ in 0..2 {
        let answer = custom(&server.url, settings()).complete("m", None, "Hi").await.unwrap();
        assert_eq!(answer.text, "Hello.");
    }
    let requests = server.requests();
    assert_eq!(requests[0].header("accept-encoding"), None);
    assert_eq!(requests[0].header("user-agent").unwrap(), concat!("deja/", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn what_a_packed_answer_unpacks_to_is_bounded() {
    let settings = settings();
    let bomb = gzip(vec![b' '; settings.max_response_bytes + 1]);
    let server = Server::start(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n";
        let _ = stream.write_all(format!("{head}content-length: {}\r\n\r\n", bomb.len()).as_bytes());
        let _ = stream.write_all(&bomb);
    });
    let error = fail(&server.url, settings).await;
    assert_eq!(error.class, FailureClass::BadResponse);
    assert!(error.message.contains("larger than the limit"), "{error}");
}
