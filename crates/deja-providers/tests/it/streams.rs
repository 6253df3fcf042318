//! Streamed fixtures over sockets, cut at many places: the same answer wherever a packet ends, and never an
//! answer from a stream that ended early.

use std::io::Write;

use deja_core::provider::{FailureClass, Redacted};
use serde_json::Value;

use crate::fixtures::{adapter, all, body, compare_result};
use crate::server::{FOREVER, Server, custom, http, settings};

fn streams() -> Vec<Value> {
    let stream = |fixture: &Value| body(fixture).contains("data: ") && fixture["http"]["status"] == 200;
    all().into_iter().filter(stream).collect()
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

#[tokio::test]
async fn packets_may_end_anywhere() {
    let streams = streams();
    assert_eq!(streams.len(), 12);
    for fixture in streams {
        let wire = body(&fixture).into_bytes();
        for step in [1, 7, 61, wire.len() / 2] {
            let wire = wire.clone();
            let server = Server::start(move |_, stream| {
                stream.set_nodelay(true).unwrap();
                stream.write_all(format!("{HEAD}transfer-encoding: chunked\r\n\r\n").as_bytes()).unwrap();
                for chunk in wire.chunks(step) {
                    let mut part = format!("{:x}\r\n", chunk.len()).into_bytes();
                    part.extend_from_slice(chunk);
                    part.extend_from_slice(b"\r\n");
                    if stream.write_all(&part).is_err() {
                        return;
                    }
                }
                let _ = stream.write_all(b"0\r\n\r\n");
            });
            let (provider, model) = adapter(&fixture, &server.url);
            let result = provider.complete(model, None, "Hi").await;
            let wrong = compare_result(&result, &fixture["expect"]);
            assert!(wrong.is_empty(), "{} in chunks of {step}: {wrong:?}", fixture["case"]);
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_never_an_answer() {
    let mut cuts = 0;
    for fixture in streams().into_iter().filter(|fixture| fixture["expect"]["kind"] == "success") {
        let wire = body(&fixture).into_bytes();
        // From here on only the blank line after the last event is missing.
        let whole = String::from_utf8(wire.clone()).unwrap().trim_end().len();
        let server = Server::start({
            let wire = wire.clone();
            move |n, stream| {
                let cut = n * 13;
                // Closed without a length, as HTTP/1.0 does: nothing but the stream itself shows the cut.
                let _ = stream.write_all(format!("{HEAD}connection: close\r\n\r\n").as_bytes());
                let _ = stream.write_all(&wire[..cut.min(wire.len())]);
            }
        });
        let (provider, model) = adapter(&fixture, &server.url);
        let mut cut = 0;
        while cut < wire.len() {
            let result = provider.complete(model, None, "Hi").await;
            // The last event of `message_stop` is complete with its closing brace.
            match result {
                Ok(_) => assert!(cut >= whole, "{} cut at {cut} of {whole}", fixture["case"]),
                Err(error) => {
                    assert_eq!(error.class, FailureClass::StreamInterrupted, "{} at {cut}", fixture["case"]);
                }
            }
            cut += 13;
            cuts += 1;
        }
    }
    assert!(cuts > 500, "{cuts}");
}

#[tokio::test]
async fn a_stream_with_a_broken_connection_is_interrupted_and_not_asked_again() {
    let server = Server::start(|_, stream| {
        let part = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n";
        stream.write_all(format!("{HEAD}content-length: 5000\r\n\r\n{part}").as_bytes()).unwrap();
    });
    let provider = custom(&server.url, settings());
    let error = provider.complete("m", None, "Hi").await.unwrap_err();
    assert_eq!(error.class, FailureClass::StreamInterrupted);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn what_came_of_an_answer_that_broke_off_is_known() {
    let plain = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n";
    let stream = format!("{HEAD}content-length: 5000\r\n\r\n");
    let chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"One tw\"}}],\"usage\":{\"prompt_tokens\":70}}\n\n";
    let error = "data: {\"error\":{\"message\":\"no\"}}\n\n";
    let message = r#"{"choices":[{"message":{"content":"One tw"#;
    let (said, untold) = (Some(("One tw", Some(70))), Some(("One tw", None)));
    for (answer, part) in [
        (format!("{stream}{chunk}"), said),
        (format!("{stream}{chunk}{error}"), said),
        (format!("{stream}{error}"), None),
        (stream, None),
        (format!("{plain}{message}"), untold),
        // It has cost its request.
        (format!("{plain}{{"), Some(("", None))),
        (plain.to_owned(), None),
        // All of it, which is no answer.
        (http(200, "", r#"{"usage":{"prompt_tokens":70}}"#), Some(("", Some(70)))),
        (http(200, "", "{}"), None),
        (http(400, "", r#"{"usage":{"prompt_tokens":70}}"#), None),
    ] {
        let server = Server::always(answer.clone());
        let broken = custom(&server.url, settings()).complete("m", None, "Hi").await.unwrap_err();
        assert!(!format!("{broken:?}").contains("One tw"), "{broken:?}");
        let came = broken.part.as_ref().map(|Redacted(part)| part);
        let came = came.map(|part| (&*part.text, part.usage.map(|usage| usage.input_total)));
        assert_eq!(came, part, "{answer}");
    }
}

#[tokio::test]
async fn an_answer_ends_with_its_end_mark_even_if_the_connection_stays_open() {
    let server = Server::start(|_, stream| {
        let part = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        stream.write_all(format!("{HEAD}\r\n{part}").as_bytes()).unwrap();
        std::thread::sleep(FOREVER);
    });
    let provider = custom(&server.url, settings());
    assert_eq!(provider.complete("m", None, "Hi").await.unwrap().text, "x");
}
