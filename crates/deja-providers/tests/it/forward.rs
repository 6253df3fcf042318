//! Requests that are passed on: what goes to the provider, what comes back, and what does not.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use deja_core::provider::{
    AllowedHeaders, Endpoint, FailureClass, Forward, Forwarded, ProviderError, ProviderKind,
};
use deja_providers::{BuiltIn, HttpSettings, Registry};
use futures::StreamExt;
use secrecy::SecretString;

use crate::server::{
    FOREVER, KEY, SOON, Server, config, custom, custom_of, gzip, http, json, prices, provider, settings,
};

/// A body that no serialiser would write.
const BODY: &str = "{ \"z\":1.0, \"model\" : \"m\",\n\"unknown\": [1e2, \"\\u00e9\"] }";

/// `ping pong ` eight times, packed by zlib.brotliCompressSync of Node.js (brotli 1.1.0).
const BROTLI: [u8; 22] = [
    0x1b, 0x4f, 0x00, 0xf8, 0x8d, 0x54, 0xb5, 0xbf, 0x4e, 0x73, 0x7b, 0x83, 0x53, 0x20, 0x67, 0x01, 0x60,
    0x28, 0x00, 0x18, 0x3b, 0x03,
];

fn request(endpoint: Endpoint, headers: &[(&'static str, &str)]) -> Forward {
    let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    let (model, body) = ("m".to_owned(), Bytes::from_static(BODY.as_bytes()));
    Forward { endpoint, model, body, headers: AllowedHeaders::of(&headers.collect()), query: None }
}

async fn whole(forwarded: Forwarded) -> Result<Vec<u8>, ProviderError> {
    let mut body = Vec::new();
    let mut pieces = forwarded.body;
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece?);
    }
    Ok(body)
}

/// The answer of a server that says `answer`.
async fn answer(answer: impl Into<Vec<u8>>) -> Result<Forwarded, ProviderError> {
    let server = Server::always(answer);
    custom(&server.url, settings()).forward(request(Endpoint::Chat, &[])).await
}

#[tokio::test]
async fn every_endpoint_has_its_path_and_the_body_goes_as_it_is() {
    let server = Server::always(http(200, "content-type: application/json\r\n", "{}"));
    let gemini = |stream| Endpoint::Gemini { stream };
    for (model, base, endpoint, path, header, secret) in [
        ("gpt-4o", "/v1", Endpoint::Chat, "/v1/chat/completions", "authorization", "Bearer "),
        ("gpt-4o", "/v1", Endpoint::Responses, "/v1/responses", "authorization", "Bearer "),
        ("gpt-4o", "/v1", Endpoint::Embeddings, "/v1/embeddings", "authorization", "Bearer "),
        ("gpt-4o", "/v1", Endpoint::Completions, "/v1/completions", "authorization", "Bearer "),
        ("claude-opus-5", "", Endpoint::Messages, "/v1/messages", "x-api-key", ""),
        ("claude-opus-5", "", Endpoint::CountTokens, "/v1/messages/count_tokens", "x-api-key", ""),
        ("gemini-2.5-pro", "", gemini(false), "/v1beta/models/m:generateContent", "x-goog-api-key", ""),
        ("gemini-2.5-pro", "", gemini(true), "/v1beta/models/m:streamGenerateContent", "x-goog-api-key", ""),
        ("gemini-2.5-pro", "", Endpoint::Chat, "/v1beta/openai/chat/completions", "authorization", "Bearer "),
    ] {
        let provider = provider(&format!("{}{base}", server.url), model, settings());
        assert!(provider.serves(endpoint), "{endpoint:?}");
        let answered = provider.forward(request(endpoint, &[])).await.unwrap();
        assert_eq!((answered.status, whole(answered).await.unwrap().as_slice()), (200, &b"{}"[..]));
        let seen = server.requests().pop().unwrap();
        assert_eq!((seen.path(), seen.body.as_str()), (path, BODY), "{endpoint:?}");
        assert_eq!(seen.header(header), Some(format!("{secret}{KEY}").as_str()), "{endpoint:?}");
        assert_eq!(seen.header("accept-encoding"), Some("identity"));
        assert_eq!(seen.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn a_provider_serves_the_wire_of_its_kind() {
    let server = Server::always(http(200, "", "{}"));
    for (kind, endpoint) in [
        (ProviderKind::OpenAi, Endpoint::Messages),
        (ProviderKind::OpenAi, Endpoint::Gemini { stream: false }),
        (ProviderKind::Anthropic, Endpoint::Chat),
        (ProviderKind::Anthropic, Endpoint::Responses),
        (ProviderKind::Gemini, Endpoint::Messages),
        (ProviderKind::Gemini, Endpoint::Chat),
    ] {
        let provider = custom_of(kind, &server.url, settings());
        assert!(!provider.serves(endpoint), "{kind} {endpoint:?}");
        let error = provider.forward(request(endpoint, &[])).await.err().unwrap();
        assert_eq!(error.class, FailureClass::InvalidRequest);
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn headers_pass_by_list_in_both_directions() {
    let sent = [
        ("content-type", "application/json; charset=utf-8"),
        ("accept", "text/event-stream"),
        ("anthropic-version", "2026-10-21"),
        ("anthropic-beta", "a"),
        ("openai-beta", "b"),
        ("idempotency-key", "c"),
        ("traceparent", "00-1-2-01"),
        ("accept-encoding", "gzip, br"),
        ("authorization", "Bearer dj_mine"),
        ("x-api-key", "dj_mine"),
        ("cookie", "mine"),
        ("x-deja-context", "mine"),
        ("openai-organization", "mine"),
        ("x-forwarded-for", "mine"),
    ];
    let headers = "content-type: application/json\r\nretry-after: 7\r\nretry-after-ms: 6820\r\nx-should-retry: true\r\n\
                   x-request-id: req_1\r\nrequest-id: req_2\r\napim-request-id: req_3\r\nx-generation-id: gen-4\r\nset-cookie: theirs\r\nx-ratelimit-limit-requests: 9\r\n\
                   openai-organization: theirs\r\nserver: theirs\r\n";
    let server = Server::always(http(200, headers, "{}"));
    let anthropic = custom_of(ProviderKind::Anthropic, &server.url, settings());
    let answered = anthropic.forward(request(Endpoint::Messages, &sent)).await.unwrap();
    let head = server.requests()[0].head.to_lowercase();
    assert!(!head.contains("mine"), "{head}");
    for (name, value) in &sent[..7] {
        assert!(head.contains(&format!("{name}: {value}")), "{name}: {head}");
    }
    assert!(
        head.contains(&format!("x-api-key: {KEY}")) && head.contains("accept-encoding: identity"),
        "{head}"
    );
    let mut names: Vec<_> = answered.headers.keys().map(reqwest::header::HeaderName::as_str).collect();
    names.sort_unstable();
    let passed = [
        "apim-request-id", "content-type", "request-id", "retry-after", "retry-after-ms", "x-generation-id",
        "x-request-id", "x-should-retry",
    ];
    assert_eq!(names, passed);
    // Who names no version gets the one that deja knows.
    drop(anthropic.forward(request(Endpoint::Messages, &[])).await.unwrap());
    assert_eq!(server.requests()[1].header("anthropic-version"), Some("2023-06-01"));
}

#[tokio::test]
async fn a_query_goes_along() {
    let server = Server::always(http(200, "", "{}"));
    let gemini = custom_of(ProviderKind::Gemini, &server.url, settings());
    let request =
        Forward { query: Some("alt=sse".into()), ..request(Endpoint::Gemini { stream: true }, &[]) };
    drop(gemini.forward(request).await.unwrap());
    assert_eq!(server.requests()[0].path(), "/v1beta/models/m:streamGenerateContent?alt=sse");
}

#[tokio::test]
async fn errors_of_the_request_pass_as_they_are() {
    for (status, class) in [
        (400, FailureClass::InvalidRequest),
        (404, FailureClass::NotFound),
        (408, FailureClass::Timeout),
        (409, FailureClass::Server),
        (413, FailureClass::InvalidRequest),
        (422, FailureClass::InvalidRequest),
        (429, FailureClass::RateLimit),
        (500, FailureClass::Server),
        (503, FailureClass::Overloaded),
        (529, FailureClass::Overloaded),
    ] {
        let body = " {\"error\": {\"message\":\"no\",\"type\":\"x\"}}\n";
        let server = Server::always(http(status, "retry-after: 3\r\n", body));
        let answered = custom(&server.url, settings()).forward(request(Endpoint::Chat, &[])).await.unwrap();
        assert_eq!((answered.status, answered.error), (status, Some(class)));
        assert_eq!(answered.headers["retry-after"], "3");
        assert_eq!(whole(answered).await.unwrap(), body.as_bytes());
        assert_eq!(server.requests().len(), 1, "{status}: asking again is the application's");
    }
}

#[tokio::test]
async fn an_error_of_json_is_named_so() {
    const JSON: &str = "{\"error\":{\"code\":\"context_length_exceeded\"}}\n";
    for (sent, body, passed) in [
        ("text/plain; charset=utf-8", JSON, "application/json"),
        ("text/event-stream", JSON, "application/json"),
        ("text/plain", "[{\"error\":{}}]", "application/json"),
        ("application/problem+json", JSON, "application/problem+json"),
        ("text/plain", "429", "text/plain"),
        ("text/html", "<html>{}</html>", "text/html"),
        ("text/event-stream", "data: {}\n\n", "text/event-stream"),
    ] {
        let answered = answer(http(400, &format!("content-type: {sent}\r\n"), body)).await.unwrap();
        assert_eq!(answered.headers["content-type"], passed, "{sent} {body}");
        assert_eq!(whole(answered).await.unwrap(), body.as_bytes());
    }
}

#[tokio::test]
async fn a_long_error_passes_and_is_not_read() {
    let body = format!("[{}{{}}]", "{},".repeat(100_000));
    let answered = answer(http(400, "content-type: text/plain\r\n", &body)).await.unwrap();
    assert_eq!((answered.status, answered.error), (400, Some(FailureClass::InvalidRequest)));
    assert_eq!(answered.headers["content-type"], "text/plain", "it is JSON, which nobody looked at");
    assert_eq!(whole(answered).await.unwrap(), body.into_bytes());
}

#[tokio::test]
async fn errors_of_the_operators_account_do_not_pass() {
    let quota = r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#;
    let invalid =
        r#"{"error":{"status":"INVALID_ARGUMENT","message":"x","details":[{"reason":"API_KEY_INVALID"}]}}"#;
    let credit = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#;
    let limit = r#"{"error":"Your team has reached its monthly spending limit."}"#;
    let quoted = format!(r#"{{"error":{{"message":"{KEY} has no such model"}}}}"#);
    for (status, body, class) in [
        (401, r#"{"error":{"message":"bad key sk-te***e7"}}"#, FailureClass::Auth),
        (402, "{}", FailureClass::Quota),
        (403, "<html>", FailureClass::Auth),
        (429, quota, FailureClass::Quota),
        (400, credit, FailureClass::Quota),
        (403, limit, FailureClass::Quota),
        (429, limit, FailureClass::Quota),
        (400, invalid, FailureClass::Auth),
        // Such an error is no word about the request: the application cannot be told what it says.
        (400, &quoted, FailureClass::BadResponse),
        (404, &quoted, FailureClass::BadResponse),
        (500, &quoted, FailureClass::BadResponse),
    ] {
        let error = answer(http(status, "", body)).await.err().unwrap();
        assert_eq!(error.class, class, "{status}");
        assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    }
    let headers = format!("x-request-id: {KEY}\r\ncontent-type: application/json\r\n");
    let answered = answer(http(200, &headers, "{}")).await.unwrap();
    assert!(!format!("{:?}", answered.headers).contains(KEY));
    assert_eq!(answered.headers["content-type"], "application/json", "it says how the body is read");
}

/// OpenRouter says with 403, too, that a filter refused the prompt.
#[tokio::test]
async fn what_a_filter_says_of_the_content_passes() {
    let body = r#"{"error":{"code":403,"message":"It requires moderation.","metadata":{"reasons":["violence"],"flagged_input":"How do I"}}}"#;
    let answered = answer(http(403, "", body)).await.unwrap();
    assert_eq!((answered.status, answered.error), (403, Some(FailureClass::ContentFilter)));
    assert_eq!(whole(answered).await.unwrap(), body.as_bytes());
}

#[tokio::test]
async fn a_short_key_is_a_word_that_errors_and_headers_may_have() {
    let body = r#"{"error":{"message":"model 'llama9:latest' not found"}}"#;
    let server = Server::always(http(404, "x-request-id: the-latest\r\n", body));
    let registry = Registry::new(BuiltIn::default(), settings(), prices()).unwrap();
    let own = registry.custom(&config(&server.url, true), Some(SecretString::from("test")));
    let answered = own.forward(request(Endpoint::Chat, &[])).await.unwrap();
    assert_eq!((answered.status, &answered.headers["x-request-id"]), (404, &"the-latest".parse().unwrap()));
    assert_eq!(whole(answered).await.unwrap(), body.as_bytes());
}

#[tokio::test]
async fn what_a_refusal_quotes_says_nothing_of_the_operators_account() {
    for prompt in
        ["How do I raise my spending limit?", "spend limit", "Your credit balance is too low, it says"]
    {
        let body = format!("{{\"error\":{{\"message\":\"messages.0: '{prompt}' is not allowed\"}}}}");
        let answered = answer(http(400, "", &body)).await.unwrap();
        assert_eq!((answered.status, whole(answered).await.unwrap().as_slice()), (400, body.as_bytes()));
    }
}

#[tokio::test]
async fn who_sends_a_request_elsewhere_gives_no_answer() {
    let target = Server::always(http(200, "", "{}"));
    for status in [301, 302, 303, 307, 308] {
        let error = answer(http(status, &format!("location: {}\r\n", target.url), "")).await.err().unwrap();
        assert_eq!(error.class, FailureClass::BadResponse);
    }
    assert!(target.requests().is_empty());
}

#[tokio::test]
async fn who_switches_to_another_protocol_gives_no_answer() {
    let switches = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    let error = answer(switches).await.err().unwrap();
    assert_eq!(error.class, FailureClass::BadResponse);
    assert!(error.message.contains("another protocol"), "{}", error.message);
}

#[tokio::test]
async fn a_refused_connection_is_tried_again_and_nothing_else() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let began = Instant::now();
    let refused =
        custom(&format!("http://{address}"), settings()).forward(request(Endpoint::Chat, &[])).await;
    assert_eq!(refused.err().unwrap().class, FailureClass::Connection);
    assert!(began.elapsed() >= Duration::from_millis(1500), "two waits lie between three attempts");
    for (bytes, class) in [("", FailureClass::Connection), ("SSH-2.0\r\n", FailureClass::BadResponse)] {
        let server = Server::always(bytes);
        let failed = custom(&server.url, settings()).forward(request(Endpoint::Chat, &[])).await;
        assert_eq!(failed.err().unwrap().class, class);
        assert_eq!(server.requests().len(), 1, "the request had been sent, so it may be billed");
    }
    let server = Server::start(|_, _| std::thread::sleep(FOREVER));
    let settings = HttpSettings { idle_timeout: Duration::from_secs(1), ..settings() };
    let silent = custom(&server.url, settings).forward(request(Endpoint::Chat, &[])).await;
    assert_eq!(silent.err().unwrap().class, FailureClass::Timeout);
    assert_eq!(server.requests().len(), 1);
}

/// Nothing was sent, so it may be tried again. The handshake of TLS is part of a connection.
#[tokio::test]
async fn a_connection_that_takes_too_long_is_none() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = HttpSettings { connect_timeout: Duration::from_millis(200), ..settings() };
    let url = format!("https://{}", server.local_addr().unwrap());
    let failed = custom(&url, settings.clone()).forward(request(Endpoint::Chat, &[])).await;
    assert_eq!(failed.err().unwrap().class, FailureClass::Connection);
    server.set_nonblocking(true).unwrap();
    let tries = server.incoming().take_while(Result::is_ok).count();
    assert_eq!(tries, settings.max_attempts);
}

/// The answer may be lost with what the server had not read: that is no silence.
#[tokio::test]
async fn who_refuses_a_request_before_all_of_it_came_is_heard() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = custom(&format!("http://{}", listener.local_addr().unwrap()), settings());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.read_exact(&mut vec![0; 1 << 20]).unwrap();
            stream.write_all(json(413, "{}").as_bytes()).unwrap();
        }
    });
    // One in ten is lost.
    for _ in 0..60 {
        let long = Forward { body: vec![b' '; 4 << 20].into(), ..request(Endpoint::Chat, &[]) };
        match own.forward(long).await {
            Ok(answered) => assert_eq!(answered.status, 413),
            Err(error) => assert_eq!(error.class, FailureClass::RequestInterrupted, "{error}"),
        }
    }
}

#[tokio::test]
async fn pieces_come_as_they_were_sent_and_at_once() {
    let (go, wait) = mpsc::channel();
    let wait = std::sync::Mutex::new(wait);
    let server = Server::start(move |_, stream| {
        stream.set_nodelay(true).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
        for piece in ["data: {\"a\"", ":1}\n\nda", "ta: [DONE]\n\n"] {
            wait.lock().unwrap().recv_timeout(FOREVER).unwrap();
            stream.write_all(piece.as_bytes()).unwrap();
        }
    });
    let mut answered = custom(&server.url, settings()).forward(request(Endpoint::Chat, &[])).await.unwrap();
    for piece in ["data: {\"a\"", ":1}\n\nda", "ta: [DONE]\n\n"] {
        go.send(()).unwrap();
        assert_eq!(answered.body.next().await.unwrap().unwrap(), piece);
    }
    assert!(answered.body.next().await.is_none());
}

#[tokio::test]
async fn a_stream_may_last_longer_than_an_attempt_and_say_more_than_an_answer_may() {
    let server = Server::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(100));
            if stream.write_all(&[b'x'; 1024]).is_err() {
                return;
            }
        }
    });
    let settings = HttpSettings {
        attempt_timeout: Duration::from_secs(1),
        total_deadline: Duration::from_secs(1),
        max_response_bytes: 10 * 1024,
        max_bytes_in_flight: 10 * 1024,
        ..settings()
    };
    let answered = custom(&server.url, settings).forward(request(Endpoint::Chat, &[])).await.unwrap();
    assert_eq!(whole(answered).await.unwrap().len(), 20 * 1024);
}

#[tokio::test]
async fn a_stream_that_breaks_or_falls_silent_is_an_error_at_its_end() {
    let broken = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\ndata: 1\n\n";
    let mut answered = answer(broken).await.unwrap();
    assert_eq!(answered.body.next().await.unwrap().unwrap(), "data: 1\n\n");
    let error = answered.body.next().await.unwrap().unwrap_err();
    assert_eq!(error.class, FailureClass::StreamInterrupted);
    assert!(answered.body.next().await.is_none());

    let server = Server::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
        std::thread::sleep(FOREVER);
    });
    let began = Instant::now();
    let settings = HttpSettings { idle_timeout: Duration::from_secs(1), ..settings() };
    let answered = custom(&server.url, settings).forward(request(Endpoint::Chat, &[])).await.unwrap();
    assert_eq!(whole(answered).await.unwrap_err().class, FailureClass::Timeout);
    assert!(began.elapsed() < SOON);
}

/// What of `body` is passed on, which a server sends in pieces of so many bytes, and how that ends.
async fn passed(body: &str, step: usize) -> (String, Option<FailureClass>) {
    let body = body.to_owned();
    let server = Server::start(move |_, stream| {
        stream.set_nodelay(true).unwrap();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
        for piece in body.as_bytes().chunks(step) {
            let _ = stream.write_all(piece);
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let answered = custom(&server.url, settings()).forward(request(Endpoint::Chat, &[])).await.unwrap();
    let (mut pieces, mut came) = (answered.body, Vec::new());
    loop {
        match pieces.next().await {
            Some(Ok(piece)) => came.extend_from_slice(&piece),
            Some(Err(error)) => return (String::from_utf8(came).unwrap(), Some(error.class)),
            None => return (String::from_utf8(came).unwrap(), None),
        }
    }
}

#[tokio::test]
async fn a_good_answer_passes_up_to_where_it_quotes_the_key() {
    let before = "data: {\"a\":1}\n\ndata: {\"error\":{\"message\":\"bad key sk-";
    for step in [1, 5, 1000] {
        let (came, ended) = passed(&format!("{before}{KEY}\"}}}}\n\n"), step).await;
        assert!(before.starts_with(&came), "{came}");
        assert_eq!(ended, Some(FailureClass::BadResponse));
        // What only begins as the key does passes, at the end too.
        let other = format!("{before}{}-{}", &KEY[..20], &KEY[..KEY.len() - 1]);
        assert_eq!(passed(&other, step).await, (other, None));
    }
}

/// An answer that is packed as `encoding` says, sent in pieces of so many bytes.
async fn packed(encoding: &'static str, body: Vec<u8>, step: usize) -> Result<Vec<u8>, ProviderError> {
    let server = Server::start(move |_, stream| {
        stream.set_nodelay(true).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\nconnection: close\r\n\r\n");
        let _ = stream.write_all(head.as_bytes());
        for piece in body.chunks(step) {
            let _ = stream.write_all(piece);
        }
    });
    let answered = custom(&server.url, settings()).forward(request(Endpoint::Chat, &[])).await?;
    assert!(!answered.headers.contains_key("content-encoding"));
    whole(answered).await
}

#[tokio::test]
async fn packed_answers_are_unpacked() {
    let text = "ping pong ".repeat(8);
    for step in [1, 7, 1000] {
        assert_eq!(packed("gzip", gzip(text.as_bytes()), step).await.unwrap(), text.as_bytes());
        assert_eq!(packed("br", BROTLI.to_vec(), step).await.unwrap(), text.as_bytes());
    }
    assert_eq!(packed("identity", text.clone().into_bytes(), 7).await.unwrap(), text.as_bytes());
    let refusal = gzip(br#"{"error":{"message":"too long"}}"#);
    let mut whole_answer =
        format!("HTTP/1.1 400 X\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", refusal.len())
            .into_bytes();
    whole_answer.extend(refusal);
    let answered = answer(whole_answer).await.unwrap();
    assert_eq!(whole(answered).await.unwrap(), br#"{"error":{"message":"too long"}}"#);
}

#[tokio::test]
async fn what_cannot_be_unpacked_is_an_error() {
    let cut = gzip([b'x'; 1000]);
    for (encoding, body) in [
        ("gzip", cut[..cut.len() - 3].to_vec()),
        ("gzip", b"plain text".to_vec()),
        ("br", BROTLI[..9].to_vec()),
        ("zstd", vec![1]),
    ] {
        let error = packed(encoding, body, 1 << 20).await.unwrap_err();
        assert_eq!(error.class, FailureClass::BadResponse, "{encoding}");
    }
}

#[tokio::test]
async fn however_much_a_few_packed_bytes_unpack_to_no_piece_is_long() {
    const WHOLE: usize = 64 << 20;
    let bomb = gzip(vec![0; WHOLE]);
    let server = Server::start(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n";
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&bomb);
    });
    let answered = custom(&server.url, settings()).forward(request(Endpoint::Chat, &[])).await.unwrap();
    let pieces: Vec<usize> = answered.body.map(|piece| piece.unwrap().len()).collect().await;
    assert_eq!(pieces.iter().sum::<usize>(), WHOLE);
    assert!(*pieces.iter().max().unwrap() <= 64 * 1024);
}
