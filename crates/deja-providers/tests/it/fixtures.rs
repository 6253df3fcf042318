//! Every known shape of an answer, served over a real socket to the real adapters.
//!
//! `data` holds one file a case, written for this project from the providers' documentation and their SDKs' types:
//! `{case, provider, api, as_of, note?, http: {status, headers, body | body_text}, expect}`. `body_text` are the bytes
//! as they are sent, `expect` is what deja makes of them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use deja_core::cache::policy::may_store;
use deja_core::provider::{Completion, FailureClass, Provider, ProviderError, TokenUsage};
use serde_json::{Value, json};

use crate::server::{Server, custom, http, one_attempt, provider};

/// How many fixtures there are. A test that finds fewer tests nothing.
const COUNT: usize = 78;

pub(crate) fn all() -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/data");
    let files = std::fs::read_dir(&folder).unwrap();
    let paths =
        files.map(|file| file.unwrap().path()).filter(|path| path.extension() == Some("json".as_ref()));
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    assert_eq!(paths.len(), COUNT, "provider fixtures in {}", folder.display());
    paths.iter().map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
}

pub(crate) fn body(fixture: &Value) -> String {
    let http = &fixture["http"];
    http["body_text"].as_str().map_or_else(|| http["body"].to_string(), str::to_owned)
}

pub(crate) fn answer(fixture: &Value) -> String {
    let mut headers = String::new();
    for (name, value) in fixture["http"]["headers"].as_object().unwrap() {
        write!(headers, "{name}: {}\r\n", value.as_str().unwrap()).unwrap();
    }
    http(fixture["http"]["status"].as_u64().unwrap() as u16, &headers, &body(fixture))
}

pub(crate) fn is_embedding(fixture: &Value) -> bool {
    matches!(fixture["api"].as_str().unwrap(), "embeddings" | "batch_embed_contents")
}

/// The adapter that a fixture is meant for, and the model to ask.
pub(crate) fn adapter(fixture: &Value, url: &str) -> (Arc<dyn Provider>, &'static str) {
    let text = |name: &str| fixture[name].as_str().unwrap();
    let model = match (text("provider"), text("api")) {
        ("openai", "responses") => "gpt-5-pro",
        ("openai", _) => "gpt-4o-mini",
        ("anthropic", _) => "claude-haiku-4-5",
        ("gemini", "generate_content" | "stream_generate_content") => "gemini-2.5-flash",
        _ => return (custom(url, one_attempt()), "m"),
    };
    (provider(url, model, one_attempt()), model)
}

fn usage(usage: Option<TokenUsage>) -> Value {
    usage.map_or(Value::Null, |usage| {
        json!({
            "input_total": usage.input_total,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "output_total": usage.output_total,
            "reasoning": usage.reasoning,
        })
    })
}

pub(crate) fn class(class: FailureClass) -> Value {
    serde_json::to_value(class).unwrap()
}

fn compare(found: &Value, expected: &Value, what: &str, wrong: &mut Vec<String>) {
    if found != expected {
        wrong.push(format!("{what}: {found}, not {expected}"));
    }
}

pub(crate) fn compare_error(error: &ProviderError, expect: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let wait = error.retry_after.map(|wait| wait.as_millis() as u64);
    compare(&class(error.class), &expect["class"], "class", &mut wrong);
    compare(&json!(wait), &expect["retry_after_ms"], "retry_after_ms", &mut wrong);
    compare(&json!(error.code), &expect["code"], "code", &mut wrong);
    let part = expect["message_contains"].as_str().unwrap_or("");
    if !error.message.contains(part) {
        wrong.push(format!("message {:?} has no {part:?}", error.message));
    }
    wrong
}

fn compare_completion(found: &Completion, expect: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    // No text at all is an empty text here.
    let text = expect["text"].as_str().unwrap_or("");
    compare(&json!(found.text), &json!(text), "text", &mut wrong);
    compare(&json!(found.finish), &expect["finish"], "finish", &mut wrong);
    compare(&json!(may_store(found).is_ok()), &expect["cacheable"], "cacheable", &mut wrong);
    compare(&json!(found.model), &expect["model"], "model", &mut wrong);
    compare(&usage(found.usage), &expect["usage"], "usage", &mut wrong);
    if let Some(choices) = expect.get("choices") {
        compare(&json!(found.choices), choices, "choices", &mut wrong);
    }
    wrong
}

pub(crate) fn compare_result(result: &Result<Completion, ProviderError>, expect: &Value) -> Vec<String> {
    match (result, expect["kind"].as_str().unwrap()) {
        (Ok(found), "success") => compare_completion(found, expect),
        (Err(error), "error") => compare_error(error, &expect["error"]),
        (result, _) => vec![format!("{result:?}")],
    }
}

#[tokio::test]
async fn every_fixture_is_read_as_expected() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for fixture in all() {
        count += 1;
        let found = if is_embedding(&fixture) {
            crate::embeddings::check_fixture(&fixture).await
        } else {
            let server = Server::always(answer(&fixture));
            let (provider, model) = adapter(&fixture, &server.url);
            let result = provider.complete(model, Some("Be brief."), "Hi").await;
            compare_result(&result, &fixture["expect"])
        };
        wrong.extend(found.into_iter().map(|what| format!("{}: {what}", fixture["case"])));
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(count, COUNT);
}
