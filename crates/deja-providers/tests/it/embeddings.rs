//! Embeddings from servers of every kind, with what each does with a text that is too long.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use deja_core::embedding::{EmbedError, Embedded, Embedder as _, Embedding};
use deja_core::id::ProjectId;
use deja_providers::{ConnectError, RemoteEmbedder, RemoteSettings};
use futures::poll;
use secrecy::SecretString;
use serde_json::{Value, json as value};
use tokio::task::JoinSet;

use crate::fixtures::{answer, compare_error};
use crate::server::{FOREVER, KEY, Seen, Server, json};

/// Tokens that the models of these servers read. A token is a word here.
const WINDOW: usize = 64;

/// What a server does with a text of more than its window.
#[derive(Clone, Copy, Debug)]
enum Long {
    /// This status and body.
    Refuse(u16, &'static str),
    /// Reads so many words of it.
    Cut(usize),
    /// Reads it.
    Read,
}

/// What a server says about tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Counts {
    No,
    /// Those of the whole text.
    Whole,
    /// Those that it read.
    Read,
    /// This number, whatever the text.
    Same(usize),
}

/// A model for which a text is the set of its words, in the format that the path asks for.
fn model(asked: &Seen, long: Long, counts: Counts) -> String {
    let body = asked.json();
    let text = [
        body["input"][0].as_str(),
        body["inputs"][0].as_str(),
        body.pointer("/contents/0/parts/0/text").and_then(Value::as_str),
        body.pointer("/requests/0/content/parts/0/text").and_then(Value::as_str),
    ];
    let words: Vec<&str> = text.into_iter().flatten().next().unwrap().split_whitespace().collect();
    if asked.path().ends_with(":countTokens") {
        return json(200, &value!({"totalTokens": words.len()}).to_string());
    }
    let read = match long {
        Long::Refuse(status, body) if words.len() > WINDOW => return json(status, body),
        Long::Cut(at) => &words[..words.len().min(at)],
        _ => &words[..],
    };
    let mut vector = [1.0f32; 16];
    for word in read {
        let mut hasher = DefaultHasher::new();
        word.hash(&mut hasher);
        vector[hasher.finish() as usize % 16] += 1.0;
    }
    let tokens = match counts {
        Counts::No => Value::Null,
        Counts::Whole => words.len().into(),
        Counts::Read => read.len().into(),
        Counts::Same(number) => number.into(),
    };
    let answer = match asked.path() {
        "/api/embed" => value!({"embeddings": [vector], "prompt_eval_count": tokens}),
        "/embed" => value!([vector]),
        path if path.ends_with(":batchEmbedContents") => value!({"embeddings": [{"values": vector}]}),
        _ => value!({"data": [{"embedding": vector}], "usage": {"prompt_tokens": tokens}}),
    };
    json(200, &answer.to_string())
}

fn server(long: Long, counts: Counts) -> Server {
    Server::answering(move |asked| model(asked, long, counts))
}

fn remote(url: String) -> RemoteSettings {
    RemoteSettings {
        url,
        model: "m".to_owned(),
        key: Some(SecretString::from(KEY)),
        dimensions: None,
        window: WINDOW as u32,
        deadline: Duration::from_secs(30),
        queue: 4,
    }
}

async fn connect(server: &Server, path: &str) -> Result<RemoteEmbedder, ConnectError> {
    RemoteEmbedder::connect(remote(format!("{}{path}", server.url))).await
}

fn words(count: usize) -> String {
    (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
}

fn vector(embedded: &Embedded) -> &Embedding {
    match embedded {
        Embedded::Vector { embedding, .. } => embedding,
        Embedded::TooLong { .. } => panic!("too long"),
    }
}

fn is_too_long(embedded: &Embedded) -> bool {
    matches!(embedded, Embedded::TooLong { tokens, window } if tokens > window)
}

/// Texts up to the window have vectors of their own, all longer ones have none.
async fn assert_never_cut(embedder: &RemoteEmbedder, readable: usize) {
    for count in [1, readable / 2, readable] {
        let found = embedder.embed(&words(count)).await.unwrap();
        assert!(matches!(found, Embedded::Vector { .. }), "{count}: {found:?}");
    }
    for count in [WINDOW + 1, WINDOW + 2, 1000] {
        let found = embedder.embed(&words(count)).await.unwrap();
        assert!(is_too_long(&found), "{count}: {found:?}");
    }
}

const TOO_LONG: [(&str, u16, &str); 6] = [
    (
        "/v1",
        400,
        r#"{"error":{"message":"This model's maximum context length is 64 tokens, however you requested 65 tokens","type":"invalid_request_error","code":null}}"#,
    ),
    ("/v1", 400, r#"{"error":{"message":"no, thanks","type":"invalid_request_error","code":null}}"#),
    (
        "/v1",
        413,
        r#"{"message":"Input validation error: `inputs` must have less than 64 tokens. Given: 65","code":413,"type":"Validation"}"#,
    ),
    (
        "/v1",
        500,
        r#"{"error":{"code":500,"message":"input (65 tokens) is too large to process. increase the physical batch size (current batch size: 64)","type":"server_error"}}"#,
    ),
    (
        "/embed",
        413,
        r#"{"error":"Input validation error: `inputs` must have less than 64 tokens. Given: 65","error_type":"Validation"}"#,
    ),
    ("/api", 400, r#"{"error":"the input length exceeds the context length"}"#),
];

/// As OpenAI does.
const REFUSED: Long = Long::Refuse(TOO_LONG[0].1, TOO_LONG[0].2);

#[tokio::test]
async fn what_a_server_refuses_as_too_long_has_no_vector_and_is_no_failure() {
    for (path, status, body) in TOO_LONG {
        let server = server(Long::Refuse(status, body), Counts::Read);
        let embedder = connect(&server, path).await.unwrap();
        assert_never_cut(&embedder, WINDOW).await;
    }
}

#[tokio::test]
async fn the_numbers_of_a_refusal_are_told() {
    let (path, status, body) = TOO_LONG[0];
    let server = server(Long::Refuse(status, body), Counts::No);
    let found = connect(&server, path).await.unwrap().embed(&words(100)).await.unwrap();
    assert!(matches!(found, Embedded::TooLong { tokens: 65, window: 64 }), "{found:?}");
}

#[tokio::test]
async fn a_server_that_cuts_silently_is_refused() {
    // Its model's window, and less than that: servers exist that cut at 512 whatever the model reads.
    for at in [WINDOW, WINDOW / 2] {
        for (path, counts) in [
            ("/v1", Counts::No),
            ("/v1", Counts::Whole),
            ("/embed", Counts::No),
            ("/api", Counts::Whole),
            ("/v1", Counts::Same(0)),
            ("/api", Counts::Same(1)),
        ] {
            let server = server(Long::Cut(at), counts);
            let error = connect(&server, path).await.unwrap_err();
            assert!(matches!(error, ConnectError::Cuts(64)), "{path} {at} {counts:?}: {error}");
            assert!(error.to_string().contains("/api") && error.to_string().contains("/embed"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_server_that_cuts_and_counts_what_it_read_is_believed() {
    for at in [WINDOW, WINDOW / 2] {
        let server = server(Long::Cut(at), Counts::Read);
        let embedder = connect(&server, "/v1").await.unwrap();
        // A text of exactly so many tokens cannot be told from one that was cut.
        assert_never_cut(&embedder, at - 1).await;
        assert!(is_too_long(&embedder.embed(&words(at)).await.unwrap()));
    }
}

#[tokio::test]
async fn a_server_that_reads_more_than_the_window_is_asked_for_no_more() {
    for counts in [Counts::Read, Counts::No, Counts::Same(0)] {
        let server = server(Long::Read, counts);
        let embedder = connect(&server, "/v1").await.unwrap();
        // Without a count only the bytes are known: 18 words of two or three.
        assert_never_cut(&embedder, if counts == Counts::Read { WINDOW } else { 18 }).await;
    }
}

#[tokio::test]
async fn gemini_is_asked_for_the_tokens_of_a_long_text() {
    let server = server(Long::Cut(WINDOW), Counts::No);
    let embedder = connect(&server, "/v1beta/").await.unwrap();
    assert_never_cut(&embedder, WINDOW).await;
    let asked = server.requests();
    assert_eq!(asked[0].path(), "/v1beta/models/m:batchEmbedContents");
    assert_eq!(asked[0].header("x-goog-api-key"), Some(KEY));
    assert_eq!(asked[0].json()["requests"][0]["content"]["parts"][0]["text"], "deja");
    assert_eq!(asked[1].path(), "/v1beta/models/m:countTokens");
    let long = asked.last().unwrap();
    assert_eq!(long.path(), "/v1beta/models/m:countTokens", "what is too long is not sent to be embedded");
    // A short text costs one call.
    embedder.embed("Hi").await.unwrap();
    assert_eq!(server.requests().len(), asked.len() + 1);
}

#[tokio::test]
async fn without_a_proof_only_short_texts_are_sent() {
    let long = Long::Refuse(503, r#"{"error":{"message":"busy","code":"x"}}"#);
    let server = server(long, Counts::No);
    let embedder = connect(&server, "/v1").await.unwrap();
    let asked = server.requests().len();
    assert!(is_too_long(&embedder.embed(&"x".repeat(WINDOW)).await.unwrap()));
    assert_eq!(server.requests().len(), asked);
    assert!(matches!(embedder.embed(&"x".repeat(WINDOW / 2)).await.unwrap(), Embedded::Vector { .. }));
}

#[tokio::test]
async fn the_text_of_the_proof_is_longer_than_the_window() {
    let server = server(REFUSED, Counts::No);
    let settings = RemoteSettings { window: 8191, ..remote(format!("{}/v1", server.url)) };
    RemoteEmbedder::connect(settings).await.unwrap();
    let probe = server.requests()[1].json()["input"][0].as_str().unwrap().split(' ').count();
    assert!(probe > 8191, "{probe}");
}

#[tokio::test]
async fn each_format_has_its_own_request() {
    let server = server(REFUSED, Counts::Read);
    for (path, whole, body) in [
        (
            "/v1",
            "/v1/embeddings",
            value!({"model": "m", "input": ["deja"], "encoding_format": "float", "dimensions": 16}),
        ),
        (
            "/v1/embeddings/",
            "/v1/embeddings/",
            value!({"model": "m", "input": ["deja"], "encoding_format": "float", "dimensions": 16}),
        ),
        (
            "/api/",
            "/api/embed",
            value!({"model": "m", "input": ["deja"], "truncate": false, "dimensions": 16}),
        ),
        (
            "/api/embed",
            "/api/embed",
            value!({"model": "m", "input": ["deja"], "truncate": false, "dimensions": 16}),
        ),
        ("/embed", "/embed", value!({"inputs": ["deja"], "truncate": false, "dimensions": 16})),
    ] {
        let before = server.requests().len();
        let settings = RemoteSettings { dimensions: Some(16), ..remote(format!("{}{path}", server.url)) };
        RemoteEmbedder::connect(settings).await.unwrap();
        let request = &server.requests()[before];
        assert_eq!((request.path(), request.json()), (whole, body));
        assert_eq!(request.header("authorization").unwrap(), format!("Bearer {KEY}"));
    }
    // Only what was set is asked for: many servers refuse `dimensions`.
    let before = server.requests().len();
    connect(&server, "/v1").await.unwrap();
    assert_eq!(server.requests()[before].json().get("dimensions"), None);
}

#[tokio::test]
async fn another_dimension_than_asked_for_is_refused() {
    let server = server(REFUSED, Counts::No);
    let settings = RemoteSettings { dimensions: Some(8), ..remote(format!("{}/v1", server.url)) };
    let error = RemoteEmbedder::connect(settings).await.unwrap_err();
    assert!(matches!(error, ConnectError::Dimensions { asked: 8, given: 16 }), "{error}");
}

#[tokio::test]
async fn a_model_is_known_by_its_address_name_and_dimension() {
    let server = server(REFUSED, Counts::Read);
    let embedder = connect(&server, "/team/v1/").await.unwrap();
    let address = server.url.strip_prefix("http://").unwrap();
    assert_eq!(embedder.id().as_str(), format!("remote:{address}/team/v1/m/16"));
    let Embedded::Vector { tokens, .. } = embedder.embed("one two three").await.unwrap() else {
        panic!("too long")
    };
    assert_eq!(tokens, 3);
}

/// What is wrong with the way a fixture is read. It answers the third call: a good vector and a refusal of the text that
/// is too long come before.
pub(crate) async fn check_fixture(fixture: &Value) -> Vec<String> {
    let expect = &fixture["expect"];
    let gemini = fixture["provider"] == "gemini";
    let path = if gemini { "/v1beta" } else { "/v1" };
    if expect["kind"] == "error" {
        let server = Server::always(answer(fixture));
        return match connect(&server, path).await {
            Err(ConnectError::Call(error)) => compare_error(&error, &expect["error"]),
            other => vec![format!("{other:?}")],
        };
    }
    let row: Vec<f32> = serde_json::from_value(expect["vectors"][0].clone()).unwrap();
    let first = if gemini {
        value!({"embeddings": [{"values": row}]})
    } else {
        value!({"data": [{"index": 0, "embedding": row}]})
    };
    let second = if gemini { json(200, r#"{"totalTokens":1}"#) } else { json(400, TOO_LONG[0].2) };
    let server = Server::script(vec![json(200, &first.to_string()), second, answer(fixture)]);
    let embedder = connect(&server, path).await.unwrap();
    let found = embedder.embed("a").await.unwrap();
    let mut wrong = Vec::new();
    if embedder.dimension() as u64 != expect["dim"].as_u64().unwrap() {
        wrong.push(format!("dimension {}", embedder.dimension()));
    }
    let (found, expected) = (vector(&found), Embedding::new(row).unwrap());
    if found.similarity(&expected).get() < 0.999_999 {
        wrong.push(format!("{:?}, not {:?}", found.as_slice(), expected.as_slice()));
    }
    wrong
}

/// A good vector, a refusal of the text that is too long, then this answer.
fn then(answer: String) -> Server {
    Server::script(vec![json(200, r#"{"data":[{"embedding":[1.0,0.0]}]}"#), json(400, TOO_LONG[0].2), answer])
}

/// A server that takes texts, and answers one for each word on a channel.
fn held() -> (Server, mpsc::Sender<()>) {
    let (release, released) = mpsc::channel();
    let released = Mutex::new(released);
    let server = Server::start(move |n, stream| {
        if n > 1 {
            let _until_the_test_ends = released.lock().unwrap().recv();
        }
        let good = json(200, r#"{"data":[{"embedding":[1.0,0.0]}]}"#);
        let answer = if n == 1 { json(400, TOO_LONG[0].2) } else { good };
        drop(std::io::Write::write_all(stream, answer.as_bytes()));
    });
    (server, release)
}

#[tokio::test]
async fn more_texts_than_may_wait_are_refused() {
    let (server, release) = held();
    let settings = RemoteSettings { queue: 1, ..remote(server.url.clone()) };
    let embedder = RemoteEmbedder::connect(settings).await.unwrap();
    let [mut first, mut second, third] = ["a", "b", "c"].map(|text| embedder.embed(text));
    assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
    assert!(matches!(third.await, Err(EmbedError::Overloaded)));
    for _ in 0..2 {
        release.send(()).unwrap();
    }
    assert!(first.await.is_ok() && second.await.is_ok());
}

#[tokio::test]
async fn projects_take_turns_at_a_server() {
    const AT_ONCE: usize = 16;
    let (server, release) = held();
    let settings = RemoteSettings { queue: 1_000, ..remote(server.url.clone()) };
    let embedder = Arc::new(RemoteEmbedder::connect(settings).await.unwrap());
    let [one, two, three] = [1, 2, 3].map(|number| ProjectId::from_bytes([number; 16]));
    let many = (0..10 * AT_ONCE).map(|n| (one, format!("one {n}")));
    let mut asking = JoinSet::new();
    for (project, text) in many.chain([(two, "two".to_owned()), (three, "three".to_owned())]) {
        let embedder = Arc::clone(&embedder);
        asking.spawn(async move { embedder.embed_for(project, &text).await });
    }
    // Both calls of the start, and the texts that the server has.
    let first = 2 + AT_ONCE;
    until(&server, first).await;
    // It is no slower with these than with few, so it gets two for each.
    for _ in 0..3 {
        release.send(()).unwrap();
    }
    until(&server, first + 6).await;
    let next = server.requests().into_iter().skip(first);
    let mut next: Vec<_> = next.map(|seen| seen.json()["input"][0].as_str().unwrap().to_owned()).collect();
    next.sort();
    assert_eq!(next, ["one 16", "one 17", "one 18", "one 19", "three", "two"]);
}

/// Waits until the server has seen so many requests.
async fn until(server: &Server, requests: usize) {
    while server.requests().len() < requests {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn failures_are_told_apart() {
    let slow = Server::start(move |n, stream| {
        if n > 1 {
            std::thread::sleep(FOREVER);
        }
        let good = json(200, r#"{"data":[{"embedding":[1.0,0.0]}]}"#);
        let answer = if n == 1 { json(400, TOO_LONG[0].2) } else { good };
        drop(std::io::Write::write_all(stream, answer.as_bytes()));
    });
    let settings = RemoteSettings { deadline: Duration::from_secs(1), ..remote(slow.url.clone()) };
    let embedder = RemoteEmbedder::connect(settings).await.unwrap();
    assert!(matches!(embedder.embed("x").await, Err(EmbedError::Timeout)));
    for odd in
        [r#"{"data":[]}"#, r#"{"data":[{"embedding":[1.0]}]}"#, r#"{"data":[{"embedding":[0.0,0.0]}]}"#, "{}"]
    {
        let server = then(json(200, odd));
        let failed = connect(&server, "").await.unwrap().embed("my private question").await.unwrap_err();
        assert!(matches!(failed, EmbedError::Failed(_)), "{odd}: {failed}");
        assert!(!failed.to_string().contains("private"));
    }
    // A short text that is refused is refused for another reason than its length.
    let server = then(json(400, r#"{"error":{"message":"no","type":"invalid_request_error"}}"#));
    assert!(matches!(connect(&server, "").await.unwrap().embed("x").await, Err(EmbedError::Failed(_))));
    for url in ["", "ftp://h", "h/v1"] {
        let error = RemoteEmbedder::connect(remote(url.to_owned())).await.unwrap_err();
        assert!(matches!(error, ConnectError::Settings), "{url}");
    }
}
