//! Only a complete, normal answer is kept. All others are returned, and the next query asks the provider again.

use serde_json::{Value, json};

use crate::util::provider::{Family, completion};
use crate::util::{Reaction, World};

const MODELS: [(Family, &str); 3] = [
    (Family::OpenAi, "gpt-4o-mini"),
    (Family::Anthropic, "claude-haiku-4-5"),
    (Family::Gemini, "gemini-2.5-flash"),
];

/// Asks twice for what `body` answers; returns the answers and how often the provider was asked.
fn twice(tag: &str, model: &str, body: Value) -> (Value, Value, usize) {
    let world = World::shared();
    let tenant = world.tenant("storable");
    world.provider.on(tag, Reaction::Json(200, body));
    let query = json!({"prompt": "Who wrote Faust?", "model": model, "context": tag, "include_debug": true});
    let (first, second) = (tenant.ask(&query), tenant.ask(&query));
    (first, second, world.provider.calls(tag).len())
}

#[track_caller]
fn is_not_stored(tag: &str, model: &str, body: Value, text: &str, why: &str) {
    let (first, second, calls) = twice(tag, model, body);
    for answer in [&first, &second] {
        assert_eq!(answer["cache_hit"], false, "{tag}");
        assert_eq!(answer["response"], text, "{tag}");
        assert_eq!(answer["cost_saved"].as_f64(), Some(0.0));
        assert_eq!(answer["debug"]["not_stored"], why, "{tag}");
        assert_eq!(answer["debug"]["cache_entry_count"], 0, "{tag}");
    }
    assert_eq!(calls, 2, "{tag}");
}

fn with(family: Family, change: impl Fn(&mut Value)) -> Value {
    let mut body = completion(family, "m", "Half an ans");
    change(&mut body);
    body
}

#[test]
fn a_complete_answer_is_kept() {
    for (family, model) in MODELS {
        let (first, second, calls) =
            twice(&format!("kept-{model}"), model, completion(family, model, "Goethe."));
        assert_eq!(first["debug"]["not_stored"], Value::Null);
        assert_eq!(
            (&second["cache_hit"], &second["response"], calls),
            (&json!(true), &json!("Goethe."), 1),
            "{model}"
        );
    }
}

#[test]
fn an_openai_answer_that_is_not_a_normal_end_is_not_kept() {
    let openai = |tag: &str, text: &str, why: &str, change: &dyn Fn(&mut Value)| {
        is_not_stored(tag, "gpt-4o-mini", with(Family::OpenAi, change), text, why);
    };
    let finish = |reason: Value| move |body: &mut Value| body["choices"][0]["finish_reason"] = reason.clone();
    openai("openai-length", "Half an ans", "truncated", &finish(json!("length")));
    openai("openai-filter", "Half an ans", "content_filter", &finish(json!("content_filter")));
    openai("openai-odd", "Half an ans", "unknown_finish_reason", &finish(json!("load")));
    openai("openai-null", "Half an ans", "unknown_finish_reason", &finish(Value::Null));
    openai("openai-tools", "", "tool_calls", &|body| {
        body["choices"][0]["finish_reason"] = json!("tool_calls");
        body["choices"][0]["message"] = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    });
    openai("openai-empty", "", "empty", &|body| body["choices"][0]["message"]["content"] = json!(""));
    openai("openai-blank", " \n", "empty", &|body| body["choices"][0]["message"]["content"] = json!(" \n"));
}

#[test]
fn a_refusal_is_not_kept() {
    let world = World::shared();
    let tenant = world.tenant("refusal");
    let body = with(Family::OpenAi, |body| {
        body["choices"][0]["message"] =
            json!({"role": "assistant", "content": null, "refusal": "I cannot help."});
    });
    world.provider.on("storable-refusal", Reaction::Json(200, body));
    let query =
        json!({"prompt": "x", "model": "gpt-4o-mini", "context": "storable-refusal", "include_debug": true});
    for _ in 0..2 {
        let answer = tenant.ask(&query);
        assert_eq!(
            (&answer["cache_hit"], &answer["debug"]["not_stored"]),
            (&json!(false), &json!("refusal"))
        );
    }
    assert_eq!(world.provider.calls("storable-refusal").len(), 2);
}

#[test]
fn an_anthropic_answer_that_is_not_a_normal_end_is_not_kept() {
    let cases = [
        ("max_tokens", "truncated"),
        ("model_context_window_exceeded", "truncated"),
        ("tool_use", "tool_calls"),
        ("refusal", "refusal"),
        ("pause_turn", "unknown_finish_reason"),
        ("something_new", "unknown_finish_reason"),
    ];
    for (reason, why) in cases {
        let body = with(Family::Anthropic, |body| body["stop_reason"] = json!(reason));
        is_not_stored(&format!("anthropic-{reason}"), "claude-haiku-4-5", body, "Half an ans", why);
    }
    let body = with(Family::Anthropic, |body| body["content"] = json!([]));
    is_not_stored("anthropic-empty", "claude-haiku-4-5", body, "", "empty");
    let (_, second, _) = twice(
        "anthropic-stop-sequence",
        "claude-haiku-4-5",
        with(Family::Anthropic, |b| b["stop_reason"] = json!("stop_sequence")),
    );
    assert_eq!(second["cache_hit"], true, "a stop sequence is a normal end");
}

#[test]
fn a_gemini_answer_that_is_not_a_normal_end_is_not_kept() {
    let cases = [
        ("MAX_TOKENS", "truncated"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("OTHER", "unknown_finish_reason"),
        ("SOMETHING_NEW", "unknown_finish_reason"),
    ];
    for (reason, why) in cases {
        let body = with(Family::Gemini, |body| body["candidates"][0]["finishReason"] = json!(reason));
        is_not_stored(&format!("gemini-{reason}"), "gemini-2.5-flash", body, "Half an ans", why);
    }
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 3}});
    is_not_stored("gemini-blocked", "gemini-2.5-flash", blocked, "", "content_filter");
    let call = with(Family::Gemini, |body| {
        body["candidates"][0]["content"]["parts"] = json!([{"functionCall": {"name": "f", "args": {}}}]);
    });
    is_not_stored("gemini-call", "gemini-2.5-flash", call, "", "tool_calls");
}

#[test]
fn thinking_is_not_part_of_the_answer() {
    let anthropic = with(Family::Anthropic, |body| {
        body["content"] = json!([{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Goe"},
            {"type": "new_kind", "x": 1}, {"type": "text", "text": "the."}]);
    });
    let (first, second, _) = twice("thinking-anthropic", "claude-haiku-4-5", anthropic);
    assert_eq!((&first["response"], &second["cache_hit"]), (&json!("Goethe."), &json!(true)));
    let gemini = with(Family::Gemini, |body| {
        body["candidates"][0]["content"]["parts"] =
            json!([{"text": "Hm.", "thought": true}, {"text": "Goe"}, {"text": "the."}]);
    });
    let (first, second, _) = twice("thinking-gemini", "gemini-2.5-flash", gemini);
    assert_eq!((&first["response"], &second["cache_hit"]), (&json!("Goethe."), &json!(true)));
}

#[test]
fn an_answer_without_usage_is_kept_and_its_tokens_are_estimated() {
    let mut body = completion(Family::OpenAi, "gpt-4o-mini", "Johann Wolfgang von Goethe.");
    body.as_object_mut().unwrap().remove("usage");
    let (_, second, calls) = twice("storable-no-usage", "gpt-4o-mini", body);
    assert_eq!((&second["cache_hit"], calls), (&json!(true), 1));
    assert_eq!(second["debug"]["tokens_estimated"], true);
    assert!(second["cost_saved"].as_f64().unwrap() > 0.0);
}
