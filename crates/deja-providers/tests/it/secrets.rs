//! Keys appear in no text that anybody could log.

use deja_core::provider::{Provider, ProviderKind};
use deja_providers::{BuiltIn, RemoteEmbedder, RemoteSettings};
use secrecy::SecretString;
use std::time::Duration;

use crate::server::{KEY, Server, credentials, custom, custom_of, http, json, provider, settings};

fn assert_silent(text: &str) {
    assert!(!text.contains(KEY) && !text.contains("5ecre7"), "{text}");
}

#[test]
fn settings_do_not_show_keys() {
    let built_in = BuiltIn { openai: Some(credentials("https://h/v1")), ..BuiltIn::default() };
    assert_silent(&format!("{built_in:?} {:?}", built_in.clone().openai));
    let remote = RemoteSettings {
        url: "https://h/v1".to_owned(),
        model: "m".to_owned(),
        key: Some(SecretString::from(KEY)),
        dimensions: None,
        window: 512,
        deadline: Duration::from_secs(1),
        queue: 1,
    };
    assert_silent(&format!("{remote:?}"));
}

async fn assert_error_silent(provider: &dyn Provider, model: &str) {
    let error = provider.complete(model, None, "Hi").await.unwrap_err();
    assert_silent(&format!("{error} {error:?}"));
}

#[tokio::test]
async fn errors_do_not_show_keys_even_if_the_server_quotes_them() {
    let quoted = format!("{{\"error\":{{\"message\":\"bad key {KEY}\",\"code\":\"{KEY}\"}}}}");
    for status in [200, 401, 500] {
        let server = Server::always(http(status, "retry-after: 0\r\n", &quoted));
        for model in ["gpt-4o", "gpt-5-pro", "claude-opus-5", "gemini-2.5-flash"] {
            assert_error_silent(&*provider(&server.url, model, settings()), model).await;
        }
        for kind in ProviderKind::ALL {
            assert_error_silent(&*custom_of(kind, &server.url, settings()), "m").await;
        }
    }
    // A message is cut, but never within a key.
    for filler in 270..310 {
        let quoted = format!("{{\"error\":{{\"message\":\"{} {KEY}\"}}}}", "x".repeat(filler));
        let server = Server::always(http(401, "", &quoted));
        let error = custom(&server.url, settings()).complete("m", None, "Hi").await.unwrap_err();
        assert!(!error.message.contains("sk-t") && error.message.chars().count() <= 300, "{error}");
    }
    let closed = Server::always("");
    assert_error_silent(&*provider(&closed.url, "gemini-2.5-flash", settings()), "gemini-2.5-flash").await;
}

#[tokio::test]
async fn a_remote_embedder_does_not_show_its_key() {
    let refused = json(400, r#"{"error":{"message":"input is too long"}}"#);
    let server = Server::script(vec![json(200, r#"{"data":[{"embedding":[1.0,0.0]}]}"#), refused]);
    let settings = RemoteSettings {
        url: server.url.clone(),
        model: "m".to_owned(),
        key: Some(SecretString::from(KEY)),
        dimensions: None,
        window: 512,
        deadline: Duration::from_secs(2),
        queue: 1,
    };
    let embedder = RemoteEmbedder::connect(settings).await.unwrap();
    assert_silent(&format!("{embedder:?}"));
}

#[tokio::test]
async fn prompts_are_not_quoted_by_connection_errors() {
    let closed = Server::always("");
    let error = custom(&closed.url, settings()).complete("m", None, "my private question").await.unwrap_err();
    assert!(!format!("{error:?}").contains("private question"));
}
