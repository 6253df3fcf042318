//! Which provider answers a model, and what exactly is sent to it.

use deja_core::provider::{Endpoint, Keyless, Length, ProviderKind, Route};
use deja_providers::{BuiltIn, Credentials, Registry, RegistryError};
use secrecy::SecretString;
use serde_json::{Value, json as value};

use crate::server::{
    KEY, Server, chat, config, credentials, custom, custom_of, http, json, prices, provider, settings,
};

const MESSAGE: &str =
    r#"{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}"#;
const GENERATED: &str = r#"{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}"#;
const RESPONSE: &str =
    r#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}"#;

#[test]
fn models_find_their_provider() {
    let built_in = BuiltIn { openai: Some(credentials("http://h/v1")), ..BuiltIn::default() };
    let registry = Registry::new(built_in, settings(), prices()).unwrap();
    assert!(
        matches!(registry.built_in("gpt-4o", Some(Endpoint::Chat)), Route::To(p) if p.name() == "openai")
    );
    assert!(matches!(
        registry.built_in("claude-opus-5", Some(Endpoint::Chat)),
        Route::NoCredentials(Keyless::BuiltIn("anthropic"))
    ));
    assert!(matches!(
        registry.built_in("gemini-2.5-pro", Some(Endpoint::Chat)),
        Route::NoCredentials(Keyless::BuiltIn("google"))
    ));
    assert!(matches!(registry.built_in("llama3.2", Some(Endpoint::Chat)), Route::Unsupported));
    // None of these is one segment of Google's path.
    for odd in ["gemini-2.5-flash?key=1", "gemini-2.5#x", "gemini-a%2fb", "gemini-..", "gemini-a:b"] {
        assert!(matches!(registry.built_in(odd, None), Route::Unsupported), "{odd}");
    }
    assert_eq!(registry.custom(&config("https://h/v1", false), None).name(), "acme");
}

#[test]
fn a_base_url_that_is_none_is_an_error_without_the_url() {
    for url in ["h/v1", "ftp://h", "https://u:pa55@", "https://h/?x=pa55"] {
        let built_in = BuiltIn { google: Some(credentials(url)), ..BuiltIn::default() };
        let error = Registry::new(built_in, settings(), prices()).err().unwrap();
        assert!(matches!(error, RegistryError::BaseUrl { provider: "google", .. }), "{url}");
        assert!(!error.to_string().contains("pa55"));
    }
}

#[tokio::test]
async fn openai_chat() {
    let server = Server::always(chat("ok"));
    let provider = provider(&format!("{}/v1/", server.url), "gpt-4o", settings());
    provider.complete("gpt-4o", Some("Be brief."), "Hi").await.unwrap();
    provider.complete("gpt-4o", None, "Hi").await.unwrap();
    provider.complete("gpt-4o", Some(""), "Hi").await.unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].path(), "/v1/chat/completions");
    assert_eq!(requests[0].header("authorization").unwrap(), format!("Bearer {KEY}"));
    let user = value!({"role": "user", "content": "Hi"});
    let system = value!({"role": "system", "content": "Be brief."});
    assert_eq!(requests[0].json(), value!({"model": "gpt-4o", "stream": false, "messages": [system, user]}));
    assert_eq!(requests[1].json()["messages"], value!([user]));
    assert_eq!(requests[2].json()["messages"], value!([user]), "an empty context says nothing");
}

#[tokio::test]
async fn openai_responses() {
    let server = Server::always(json(200, RESPONSE));
    let provider = provider(&format!("{}/v1", server.url), "gpt-5-pro", settings());
    assert_eq!(provider.complete("gpt-5-pro", Some("Be brief."), "Hi").await.unwrap().text, "ok");
    let request = &server.requests()[0];
    assert_eq!(request.path(), "/v1/responses");
    let body = value!({"model": "gpt-5-pro", "input": "Hi", "instructions": "Be brief.", "store": false, "stream": false});
    assert_eq!(request.json(), body);
}

#[tokio::test]
async fn anthropic_messages() {
    let server = Server::always(json(200, MESSAGE));
    for (i, end) in ["", "/", "/v1", "/v1/"].iter().enumerate() {
        let provider = provider(&format!("{}{end}", server.url), "claude-haiku-4-5", settings());
        provider.complete("claude-haiku-4-5", Some("Be brief."), "Hi").await.unwrap();
        assert_eq!(server.requests()[i].path(), "/v1/messages", "{end}");
    }
    let request = &server.requests()[0];
    assert_eq!(request.header("x-api-key"), Some(KEY));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    let body = value!({"model": "claude-haiku-4-5", "max_tokens": 64000, "system": "Be brief.",
        "messages": [{"role": "user", "content": "Hi"}]});
    assert_eq!(request.json(), body);
}

#[tokio::test]
async fn gemini_generate_content() {
    let server = Server::always(json(200, GENERATED));
    for (i, end) in ["", "/", "/v1beta", "/v1/"].iter().enumerate() {
        let provider = provider(&format!("{}{end}", server.url), "gemini-2.5-flash", settings());
        provider.complete("gemini-2.5-flash", Some("Be brief."), "Hi").await.unwrap();
        assert_eq!(server.requests()[i].path(), "/v1beta/models/gemini-2.5-flash:generateContent", "{end}");
    }
    let request = &server.requests()[0];
    assert_eq!(request.header("x-goog-api-key"), Some(KEY));
    assert!(!request.path().contains(KEY));
    let body = value!({"systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]});
    assert_eq!(request.json(), body);
}

#[tokio::test]
async fn a_compatible_server_is_always_asked_for_a_chat() {
    let server = Server::always(chat("ok"));
    let provider = custom(&format!("{}/openai/v1/", server.url), settings());
    provider.complete("acme/x-pro", None, "Hi").await.unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.path(), "/openai/v1/chat/completions");
    assert_eq!(request.json()["model"], "acme/x-pro");
}

#[tokio::test]
async fn a_projects_own_provider_may_speak_anthropics_format() {
    let server = Server::always(json(200, MESSAGE));
    for (i, end) in ["", "/", "/v1", "/v1/"].iter().enumerate() {
        let url = format!("{}/gateway{end}", server.url);
        let provider = custom_of(ProviderKind::Anthropic, &url, settings());
        assert_eq!(provider.name(), "acme");
        assert_eq!(provider.complete("acme/x", Some("Be brief."), "Hi").await.unwrap().text, "ok");
        let request = &server.requests()[i];
        assert_eq!(request.path(), "/gateway/v1/messages", "{end}");
        assert_eq!((request.header("x-api-key"), request.header("authorization")), (Some(KEY), None));
        assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
        let body = request.json();
        assert_eq!((&body["model"], &body["system"]), (&"acme/x".into(), &"Be brief.".into()));
    }
}

#[tokio::test]
async fn a_projects_own_provider_may_speak_geminis_format() {
    let server = Server::always(json(200, GENERATED));
    for (i, end) in ["", "/", "/v1beta", "/v1/"].iter().enumerate() {
        let url = format!("{}/gateway{end}", server.url);
        let provider = custom_of(ProviderKind::Gemini, &url, settings());
        assert_eq!(provider.complete("house-1", None, "Hi").await.unwrap().text, "ok");
        let request = &server.requests()[i];
        assert_eq!(request.path(), "/gateway/v1beta/models/house-1:generateContent", "{end}");
        assert_eq!((request.header("x-goog-api-key"), request.header("authorization")), (Some(KEY), None));
    }
}

/// A model that thinks would spend the few tokens on that.
#[tokio::test]
async fn a_brief_answer_is_bounded_unless_the_model_thinks() {
    for (answer, model, field, limit) in [
        (chat("yes"), "gpt-4o-mini", "/max_completion_tokens", Some(16)),
        (chat("yes"), "gpt-5-mini", "/max_completion_tokens", None),
        (json(200, RESPONSE), "gpt-5-pro", "/max_output_tokens", None),
        (json(200, MESSAGE), "claude-haiku-4-5", "/max_tokens", Some(16)),
        (json(200, GENERATED), "gemini-2.0-flash", "/generationConfig/maxOutputTokens", Some(16)),
        (json(200, GENERATED), "gemini-2.5-flash", "/generationConfig/maxOutputTokens", None),
    ] {
        let server = Server::always(answer);
        let provider = provider(&server.url, model, settings());
        provider.ask(model, Some("Be brief."), "Hi", Length::Brief).await.unwrap();
        let body = server.requests()[0].json();
        assert_eq!(body.pointer(field).and_then(Value::as_u64), limit, "{model}: {body}");
    }
    let server = Server::always(chat("yes"));
    let own = custom(&server.url, settings());
    for (n, (model, limit)) in [("m", Some(16)), ("openai/gpt-oss-20b", None)].into_iter().enumerate() {
        own.ask(model, None, "Hi", Length::Brief).await.unwrap();
        assert_eq!(server.requests()[n].json()["max_tokens"].as_u64(), limit, "{model}");
    }
}

#[tokio::test]
async fn an_empty_key_is_not_sent() {
    let server = Server::always(chat("ok"));
    let key = || Credentials { key: SecretString::from(""), base_url: Some(server.url.clone()) };
    let built_in = BuiltIn { openai: Some(key()), ..BuiltIn::default() };
    let Route::To(provider) =
        Registry::new(built_in, settings(), prices()).unwrap().built_in("gpt-4o", Some(Endpoint::Chat))
    else {
        panic!("no route");
    };
    provider.complete("gpt-4o", None, "Hi").await.unwrap();
    assert_eq!(server.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn a_stream_is_read_whatever_the_case_of_its_type() {
    let event = r#"{"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}"#;
    let body = format!("data: {event}\r\n\r\ndata: [DONE]\r\n\r\n");
    let server = Server::always(http(200, "Content-Type: Text/Event-Stream;charset=UTF-8\r\n", &body));
    assert_eq!(custom(&server.url, settings()).complete("m", None, "Hi").await.unwrap().text, "ok");
}

#[tokio::test]
async fn anthropics_models_are_asked_for_as_much_as_they_can_write() {
    let server = Server::always(json(400, "{}"));
    let built_in = provider(&server.url, "claude-opus-5", settings());
    let own = custom_of(ProviderKind::Anthropic, &server.url, settings());
    for (provider, model, limit) in [
        (&built_in, "claude-haiku-4-5", 64_000),
        (&built_in, "claude-sonnet-5", 128_000),
        (&built_in, "claude-3-opus-20240229", 4096),
        (&own, "claude-opus-4-1", 32_000),
        (&built_in, "claude-of-tomorrow", 8192),
        (&own, "claude-instant-1", 4096),
        (&own, "another-model", 8192),
    ] {
        provider.complete(model, None, "Hi").await.unwrap_err();
        assert_eq!(server.requests().last().unwrap().json()["max_tokens"], limit, "{model}");
    }
}
