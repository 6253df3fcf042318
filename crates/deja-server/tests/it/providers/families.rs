//! The three families: which provider a model is asked from, and in which form.

use serde_json::{Value, json};

use crate::util::deja::{ANTHROPIC_KEY, GEMINI_KEY, OPENAI_KEY};
use crate::util::provider::{Call, Family, answer_to};
use crate::util::{Deja, Tenant, World};

/// Asks once, with the tag as context, and returns the answer and the one call it made.
fn ask(tenant: &Tenant<'_>, world: &World, model: &str, tag: &str) -> (Value, Call) {
    let answer = tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": model, "context": tag}));
    let mut calls = world.provider.calls(tag);
    assert_eq!(calls.len(), 1, "{calls:?}");
    (answer, calls.remove(0))
}

#[test]
fn openai_models_go_to_openai() {
    let world = World::shared();
    let tenant = world.tenant("openai");
    for (n, model) in ["gpt-4o-mini", "gpt-4.1", "o4-mini", "gpt-6.2-sol"].into_iter().enumerate() {
        let (answer, call) = ask(&tenant, world, model, &format!("Be brief, openai {n}."));
        assert_eq!(answer["llm_provider"], "openai", "{model}");
        assert_eq!(answer["response"], answer_to("Who wrote Faust?"));
        assert_eq!((call.family, call.path.as_str()), (Family::OpenAi, "/v1/chat/completions"));
        assert_eq!(call.header("authorization"), Some(format!("Bearer {OPENAI_KEY}").as_str()));
        assert_eq!(call.model, model);
        assert_eq!(call.system, Some(format!("Be brief, openai {n}.")));
        assert_eq!(call.prompt, "Who wrote Faust?");
        assert_ne!(call.body["stream"], true);
    }
}

#[test]
fn anthropic_models_go_to_anthropic() {
    let world = World::shared();
    let tenant = world.tenant("anthropic");
    for (n, model) in ["claude-haiku-4-5", "claude-opus-5", "claude-3-haiku-20240307"].into_iter().enumerate()
    {
        let (answer, call) = ask(&tenant, world, model, &format!("Be brief, anthropic {n}."));
        assert_eq!(answer["llm_provider"], "anthropic", "{model}");
        assert_eq!((call.family, call.path.as_str()), (Family::Anthropic, "/v1/messages"));
        assert_eq!(call.header("x-api-key"), Some(ANTHROPIC_KEY));
        assert_eq!(call.header("anthropic-version"), Some("2023-06-01"));
        assert_eq!(call.header("authorization"), None);
        assert_eq!(call.model, model);
        assert_eq!(call.system, Some(format!("Be brief, anthropic {n}.")));
        assert!(
            call.body["max_tokens"].as_u64().is_some_and(|n| n > 0),
            "required by Anthropic: {}",
            call.body
        );
    }
}

#[test]
fn gemini_models_go_to_google() {
    let world = World::shared();
    let tenant = world.tenant("google");
    for (n, model) in ["gemini-2.5-flash", "gemini-2.5-pro"].into_iter().enumerate() {
        let (answer, call) = ask(&tenant, world, model, &format!("Be brief, google {n}."));
        assert_eq!(answer["llm_provider"], "google", "{model}");
        assert_eq!(call.family, Family::Gemini);
        assert_eq!(call.path, format!("/v1beta/models/{model}:generateContent"), "no key in the URL");
        assert_eq!(call.header("x-goog-api-key"), Some(GEMINI_KEY));
        assert_eq!(call.header("authorization"), None);
        assert_eq!(call.system, Some(format!("Be brief, google {n}.")));
    }
}

#[test]
fn without_a_context_no_system_text_is_sent() {
    let world = World::shared();
    let tenant = world.tenant("no-system");
    for (n, model) in ["gpt-4o-mini", "claude-haiku-4-5", "gemini-2.5-flash"].into_iter().enumerate() {
        // The prompt is the tag here; the second one has the empty context, which no provider takes as a text.
        for (tag, context) in
            [(format!("providers-none-{n}"), Value::Null), (format!("providers-empty-{n}"), json!(""))]
        {
            tenant.ask(&json!({"prompt": tag, "model": model, "context": context}));
            let calls = world.provider.calls(&tag);
            assert_eq!(calls.len(), 1);
            assert_eq!(calls[0].system, None, "{model} {context}: {}", calls[0].body);
        }
    }
}

#[test]
fn the_callers_key_never_goes_to_a_provider() {
    let world = World::shared();
    let tenant = world.tenant("key-stays");
    for model in ["gpt-4o-mini", "claude-haiku-4-5", "gemini-2.5-flash"] {
        tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": model, "context": "providers-key-stays"}));
    }
    for call in world.provider.calls("providers-key-stays") {
        let all = format!("{:?}{}{}", call.headers, call.body, call.path);
        assert!(!all.contains(&tenant.key), "{all}");
    }
}

#[test]
fn an_unsupported_model_is_400_and_named() {
    let world = World::shared();
    let tenant = world.tenant("unsupported");
    for model in
        ["llama-3.3-70b", "no-such-model", "claude", "gpt", "xgpt-4o", "gpt-oss-120b", "text-embedding-4"]
    {
        let response =
            tenant.send(&json!({"prompt": "x", "model": model, "context": "providers-unsupported"}));
        let detail = response.detail(400);
        assert!(detail.contains(model), "{detail}");
    }
    assert!(world.provider.calls("providers-unsupported").is_empty());
}

#[test]
fn a_family_without_credentials_is_500_and_says_so_in_a_header() {
    let provider = crate::util::FakeProvider::start();
    let deja =
        Deja::builder().provider(&provider).without("ANTHROPIC_API_KEY").without("GEMINI_API_KEY").start();
    let tenant = Tenant::create(&deja, "bare", &[]);
    for model in ["claude-haiku-4-5", "gemini-2.5-flash"] {
        let response = tenant.send(&json!({"prompt": "x", "model": model}));
        assert_eq!(response.detail(500), "Internal server error. Please try again or contact support.");
        assert_eq!(response.header("x-deja-error"), Some("provider_not_configured"), "{model}");
    }
    assert_eq!(tenant.ask_for("Who wrote Faust?")["llm_provider"], "openai", "the others work");
}
