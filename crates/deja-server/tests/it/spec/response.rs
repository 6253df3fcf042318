//! Sections 2.2 and 4.1: the fields of an answer, on a miss and on a hit.

use serde_json::{Value, json};

use crate::util::World;
use crate::util::provider::{INPUT_TOKENS, OUTPUT_TOKENS, Reaction, answer_to};
use crate::util::tenant::MODEL;

/// USD per million tokens of `MODEL`: input and output.
const PRICE: (f64, f64) = (0.15, 0.60);

#[track_caller]
fn members(answer: &Value) -> Vec<&str> {
    answer.as_object().unwrap().keys().map(String::as_str).collect()
}

const MEMBERS: [&str; 5] = ["cache_hit", "cost_saved", "llm_provider", "response", "similarity_score"];

#[track_caller]
fn same_money(actual: &Value, expected: f64) {
    let actual = actual.as_f64().unwrap();
    assert!((actual - expected).abs() < 1e-12, "{actual} is not {expected}");
}

#[test]
fn a_miss_has_the_published_fields() {
    let tenant = World::shared().tenant("miss");
    let answer = tenant.ask(&json!({"prompt": "What is the capital of Portugal?", "model": MODEL}));
    assert_eq!(members(&answer), MEMBERS);
    assert_eq!(answer["cache_hit"], false);
    assert_eq!(answer["response"], answer_to("What is the capital of Portugal?"));
    assert_eq!(answer["similarity_score"], Value::Null);
    assert_eq!(answer["cost_saved"].as_f64(), Some(0.0));
    assert_eq!(answer["llm_provider"], "openai");
}

#[test]
fn a_hit_by_the_same_prompt_has_the_published_fields() {
    let tenant = World::shared().tenant("exact-hit");
    let query = json!({"prompt": "What is the capital of Portugal?", "model": MODEL});
    tenant.ask(&query);
    let answer = tenant.ask(&query);
    assert_eq!(members(&answer), MEMBERS);
    assert_eq!(answer["cache_hit"], true);
    assert_eq!(answer["response"], answer_to("What is the capital of Portugal?"));
    assert_eq!(answer["similarity_score"].as_f64(), Some(1.0));
    assert_eq!(answer["llm_provider"], "cache");
    // The provider reported these tokens for this very prompt.
    let saved = (INPUT_TOKENS as f64 * PRICE.0 + OUTPUT_TOKENS as f64 * PRICE.1) / 1e6;
    same_money(&answer["cost_saved"], saved);
}

#[test]
fn a_hit_by_a_paraphrase_has_the_published_fields() {
    let tenant = World::shared().tenant("semantic-hit");
    tenant.until_tokens_are_counted();
    tenant.ask(&json!({"prompt": "How do I reset my password?", "model": MODEL}));
    let answer = tenant.ask(&json!({"prompt": "How can I reset my password?", "model": MODEL}));
    assert_eq!(members(&answer), MEMBERS);
    assert_eq!(answer["cache_hit"], true);
    assert_eq!(
        answer["response"],
        answer_to("How do I reset my password?"),
        "the stored answer, byte for byte"
    );
    assert_eq!(answer["llm_provider"], "cache");
    let similarity = answer["similarity_score"].as_f64().unwrap();
    assert!((0.85..1.0).contains(&similarity), "{similarity}");
    // This prompt's own tokens are counted: 7 of o200k_base and 7 of the chat around it, as OpenAI bills them.
    // The answer's are those reported.
    same_money(&answer["cost_saved"], (14.0 * PRICE.0 + OUTPUT_TOKENS as f64 * PRICE.1) / 1e6);
}

#[test]
fn the_context_counts_among_the_tokens_saved() {
    let tenant = World::shared().tenant("context-tokens");
    tenant.until_tokens_are_counted();
    let ask = |prompt, context| {
        tenant.ask(&json!({"prompt": prompt, "model": MODEL, "context": context, "include_debug": true}))
    };
    let mut tokens = Vec::new();
    for context in ["Be brief.", "Be brief. Be polite. Be quick."] {
        ask("How do I reset my password?", context);
        let answer = ask("How can I reset my password?", context);
        assert_eq!(answer["cache_hit"], true);
        let input = answer["debug"]["prompt_tokens"].as_u64().unwrap();
        same_money(&answer["cost_saved"], (input as f64 * PRICE.0 + OUTPUT_TOKENS as f64 * PRICE.1) / 1e6);
        tokens.push(input);
    }
    // 14 for the prompt, 3 for the shorter context, 6 more for the longer one, and what the chat adds.
    assert!((17..=24).contains(&tokens[0]), "{tokens:?}");
    assert_eq!(tokens[1] - tokens[0], 6, "{tokens:?}");
}

#[test]
fn an_unrelated_prompt_is_a_miss() {
    let tenant = World::shared().tenant("unrelated");
    tenant.ask_for("How do I reset my password?");
    for prompt in ["What is the boiling point of water?", "Write a poem about autumn.", "password"] {
        assert_eq!(tenant.ask_for(prompt)["cache_hit"], false, "{prompt}");
    }
}

#[test]
fn later_similar_queries_are_hits_and_do_not_reach_the_provider() {
    let world = World::shared();
    let tenant = world.tenant("later");
    let ask = |prompt| tenant.ask(&json!({"prompt": prompt, "model": MODEL, "context": "spec-later"}));
    ask("How do I reset my password?");
    for _ in 0..3 {
        assert_eq!(ask("How can I reset my password?")["cache_hit"], true);
    }
    assert_eq!(world.provider.calls("spec-later").len(), 1);
}

#[test]
fn an_answer_comes_back_byte_for_byte() {
    let world = World::shared();
    let tenant = world.tenant("answer-bytes");
    let text = "  \u{1F600} <script>alert(1)</script>\r\n\t\"quoted\" \\n e\u{301}\u{0} end  ";
    world.provider.on("spec-answer-bytes", Reaction::Text(text.into()));
    let query = json!({"prompt": "Anything odd?", "model": MODEL, "context": "spec-answer-bytes"});
    assert_eq!(tenant.ask(&query)["response"], text);
    assert_eq!(tenant.ask(&query)["response"], text);
}

#[test]
fn answers_are_json_that_nobody_in_between_keeps() {
    let tenant = World::shared().tenant("content-type");
    let response = tenant.send(&json!({"prompt": "Who wrote Faust?", "model": MODEL}));
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.header("cache-control"), Some("private, no-store"));
}
