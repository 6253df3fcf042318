//! Embeddings from a server, in both formats.

use std::sync::Arc;
use std::time::Duration;

use deja_core::embedding::{EmbedError, Embedded, Embedder as _, Embedding};
use deja_providers::{ConnectError, RemoteEmbedder, RemoteSettings};
use secrecy::SecretString;
use serde_json::{Value, json as value};

use crate::fixtures::{answer, compare_error};
use crate::server::{FOREVER, KEY, Server, json};

fn remote(url: String, model: &str) -> RemoteSettings {
    RemoteSettings {
        url,
        model: model.to_owned(),
        key: Some(SecretString::from(KEY)),
        dimensions: None,
        deadline: Duration::from_secs(10),
        max_in_flight: 4,
    }
}

fn vector(embedded: &Embedded) -> &Embedding {
    match embedded {
        Embedded::Vector { embedding, .. } => embedding,
        Embedded::TooLong { .. } => panic!("too long"),
    }
}

/// What is wrong with the way a fixture is read. The first answer of the server is one good vector, for the
/// probe; then comes the fixture, whose two rows answer two texts.
pub(crate) async fn check_fixture(fixture: &Value) -> Vec<String> {
    let expect = &fixture["expect"];
    let gemini = fixture["provider"] == "gemini";
    if expect["kind"] == "error" {
        let server = Server::always(answer(fixture));
        return match RemoteEmbedder::connect(remote(server.url.clone(), "m")).await {
            Err(ConnectError::Call(error)) => compare_error(&error, &expect["error"]),
            other => vec![format!("{other:?}")],
        };
    }
    let rows: Vec<Vec<f32>> = serde_json::from_value(expect["vectors"].clone()).unwrap();
    let probe = if gemini {
        value!({"embeddings": [{"values": rows[0]}]})
    } else {
        value!({"data": [{"index": 0, "embedding": rows[0]}]})
    };
    let server = Server::script(vec![json(200, &probe.to_string()), answer(fixture)]);
    let url = if gemini { format!("{}/v1beta", server.url) } else { format!("{}/v1", server.url) };
    let embedder = RemoteEmbedder::connect(remote(url, "m")).await.unwrap();
    let found = embedder.embed_many(&["a", "b"]).await.unwrap();
    let expected: Vec<Embedding> = rows.into_iter().map(|row| Embedding::new(row).unwrap()).collect();
    let mut wrong = Vec::new();
    if embedder.dimension() as u64 != expect["dim"].as_u64().unwrap() {
        wrong.push(format!("dimension {}", embedder.dimension()));
    }
    for (found, expected) in found.iter().map(vector).zip(&expected) {
        if found.similarity(expected).get() < 0.999_999 {
            wrong.push(format!("{:?}, not {:?}", found.as_slice(), expected.as_slice()));
        }
    }
    wrong
}

#[tokio::test]
async fn a_model_is_known_by_its_host_name_and_dimension() {
    let server =
        Server::always(json(200, r#"{"data":[{"embedding":[3.0,4.0]}],"usage":{"prompt_tokens":5}}"#));
    let settings = RemoteSettings { dimensions: Some(2), ..remote(format!("{}/v1", server.url), "text-x") };
    let embedder = RemoteEmbedder::connect(settings).await.unwrap();
    assert_eq!(embedder.id().as_str(), "remote:127.0.0.1/text-x/2");
    let Embedded::Vector { embedding, tokens } = embedder.embed("Hi").await.unwrap() else {
        panic!("too long")
    };
    assert_eq!((embedding.as_slice(), tokens), (&[0.6, 0.8][..], 5));
    let request = &server.requests()[1];
    assert_eq!(request.path(), "/v1/embeddings");
    assert_eq!(request.header("authorization").unwrap(), format!("Bearer {KEY}"));
    let body = value!({"model": "text-x", "input": ["Hi"], "encoding_format": "float", "dimensions": 2});
    assert_eq!(request.json(), body);
}

#[tokio::test]
async fn gemini_is_asked_in_its_own_format() {
    let server = Server::always(json(200, r#"{"embeddings":[{"values":[1.0,0.0]}]}"#));
    let url = format!("{}/v1beta/", server.url);
    let embedder = RemoteEmbedder::connect(remote(url, "models/gemini-embedding-001")).await.unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.path(), "/v1beta/models/gemini-embedding-001:batchEmbedContents");
    assert_eq!(request.header("x-goog-api-key"), Some(KEY));
    assert_eq!(request.json()["requests"][0]["content"]["parts"][0]["text"], "deja");
    // The server would cut this silently, so it is not sent.
    let found = embedder.embed(&"word ".repeat(3000)).await.unwrap();
    assert!(matches!(found, Embedded::TooLong { window: 2048, .. }), "{found:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_text_that_is_too_long_is_said_to_be() {
    let long = r#"{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 10000 tokens","type":"invalid_request_error","code":null}}"#;
    let good = json(200, r#"{"data":[{"embedding":[1.0]}]}"#);
    let server = Server::script(vec![good, json(400, long)]);
    let embedder = RemoteEmbedder::connect(remote(server.url.clone(), "m")).await.unwrap();
    let found = embedder.embed("x").await.unwrap();
    assert!(matches!(found, Embedded::TooLong { tokens: 10_000, window: 8192 }), "{found:?}");
}

#[tokio::test]
async fn more_texts_than_allowed_are_refused() {
    let server = Server::start(|n, stream| {
        if n > 0 {
            std::thread::sleep(Duration::from_millis(600));
        }
        let good = json(200, r#"{"data":[{"embedding":[1.0]}]}"#);
        drop(std::io::Write::write_all(stream, good.as_bytes()));
    });
    let settings = RemoteSettings { max_in_flight: 1, ..remote(server.url.clone(), "m") };
    let embedder = Arc::new(RemoteEmbedder::connect(settings).await.unwrap());
    let (first, second) = tokio::join!(embedder.embed("a"), embedder.embed("b"));
    assert!(first.is_ok());
    assert!(matches!(second, Err(EmbedError::Overloaded)));
    assert!(embedder.embed("c").await.is_ok(), "the place is free again");
}

#[tokio::test]
async fn failures_are_told_apart() {
    let good = || json(200, r#"{"data":[{"embedding":[1.0,0.0]}]}"#);
    let slow = Server::start(move |n, stream| {
        if n > 0 {
            std::thread::sleep(FOREVER);
        }
        drop(std::io::Write::write_all(stream, good().as_bytes()));
    });
    let settings = RemoteSettings { deadline: Duration::from_secs(1), ..remote(slow.url.clone(), "m") };
    let embedder = RemoteEmbedder::connect(settings).await.unwrap();
    assert!(matches!(embedder.embed("x").await, Err(EmbedError::Timeout)));
    for odd in
        [r#"{"data":[]}"#, r#"{"data":[{"embedding":[1.0]}]}"#, r#"{"data":[{"embedding":[0.0,0.0]}]}"#, "{}"]
    {
        let server = Server::script(vec![json(200, r#"{"data":[{"embedding":[1.0,0.0]}]}"#), json(200, odd)]);
        let embedder = RemoteEmbedder::connect(remote(server.url.clone(), "m")).await.unwrap();
        let failed = embedder.embed("my private question").await.unwrap_err();
        assert!(matches!(failed, EmbedError::Failed(_)), "{odd}: {failed}");
        assert!(!failed.to_string().contains("private"));
    }
    for url in ["", "ftp://h", "h/v1"] {
        let error = RemoteEmbedder::connect(remote(url.to_owned(), "m")).await.unwrap_err();
        assert!(matches!(error, ConnectError::Settings), "{url}");
    }
}
