//! Section 2.3: the debug object, there if and only if it is asked for.

use serde_json::{Value, json};

use crate::util::World;
use crate::util::provider::{INPUT_TOKENS, OUTPUT_TOKENS};
use crate::util::tenant::{MODEL, Tenant};

fn ask(tenant: &Tenant<'_>, prompt: &str) -> Value {
    let answer = tenant.ask_for(prompt);
    assert!(answer["debug"].is_object(), "{answer}");
    answer
}

#[track_caller]
fn check_times(debug: &Value) {
    for name in ["embedding_time_ms", "search_time_ms", "total_time_ms"] {
        assert!(debug[name].as_f64().is_some_and(|ms| ms >= 0.0), "{name} in {debug}");
    }
    let [embedding, search, total] =
        ["embedding_time_ms", "search_time_ms", "total_time_ms"].map(|name| debug[name].as_f64().unwrap());
    assert!(embedding + search <= total + 0.002, "{debug}");
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[test]
fn debug_is_there_if_and_only_if_asked_for() {
    let tenant = World::shared().tenant("debug-iff");
    for prompt in ["Who wrote Faust?", "Who wrote Faust?"] {
        for (asked, there) in [(json!(true), true), (json!(false), false), (Value::Null, false)] {
            let answer = tenant.ask(&json!({"prompt": prompt, "model": MODEL, "include_debug": asked}));
            assert_eq!(answer.get("debug").is_some(), there, "{asked}: {answer}");
        }
        assert_eq!(tenant.ask(&json!({"prompt": prompt, "model": MODEL})).get("debug"), None);
    }
}

#[test]
fn debug_of_a_miss_names_no_entry() {
    let tenant = World::shared().tenant("debug-miss");
    let answer = ask(&tenant, "Who wrote Faust?");
    let debug = &answer["debug"];
    check_times(debug);
    assert_eq!(debug.get("matched_cache_entry_id"), Some(&Value::Null));
    assert!(debug["embedding_time_ms"].as_f64().unwrap() > 0.0, "{debug}");
    assert_eq!(debug["cache_entry_count"].as_u64(), Some(1), "the new entry is stored before the answer");
    assert_eq!(debug["matched_by"], "provider");
    assert!(debug["provider_time_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{debug}");
    let tokens = (debug["prompt_tokens"].as_u64(), debug["completion_tokens"].as_u64());
    assert_eq!(tokens, (Some(INPUT_TOKENS), Some(OUTPUT_TOKENS)));
    assert_eq!((&debug["price_source"], &debug["not_stored"]), (&json!("table"), &Value::Null));
}

#[test]
fn debug_of_a_hit_names_the_entry() {
    let tenant = World::shared().tenant("debug-hit");
    ask(&tenant, "How do I reset my password?");
    ask(&tenant, "Why is the sky blue?");
    let exact = ask(&tenant, "How do I reset my password?");
    let semantic = ask(&tenant, "How can I reset my password?");
    for (answer, by) in [(&exact, "exact"), (&semantic, "semantic")] {
        let debug = &answer["debug"];
        check_times(debug);
        assert!(is_uuid(debug["matched_cache_entry_id"].as_str().unwrap()), "{debug}");
        assert_eq!(debug["cache_entry_count"].as_u64(), Some(2));
        assert_eq!(debug["matched_by"], by);
        assert_eq!(debug["provider_time_ms"], Value::Null, "none was asked");
    }
    assert_eq!(exact["debug"]["embedding_time_ms"].as_f64(), Some(0.0), "none was needed");
    assert_eq!(exact["debug"]["matched_cache_entry_id"], semantic["debug"]["matched_cache_entry_id"]);
    let other = ask(&tenant, "Why is the sky blue?");
    assert_ne!(other["debug"]["matched_cache_entry_id"], exact["debug"]["matched_cache_entry_id"]);
}

#[test]
fn the_entry_count_is_that_of_the_project() {
    let world = World::shared();
    let (tenant, other) = (world.tenant("count"), world.tenant("count-other"));
    for (n, prompt) in ["Who wrote Faust?", "Why is the sky blue?", "How tall is Everest?"].iter().enumerate()
    {
        assert_eq!(ask(&tenant, prompt)["debug"]["cache_entry_count"].as_u64(), Some(n as u64 + 1));
    }
    assert_eq!(ask(&other, "Who wrote Faust?")["debug"]["cache_entry_count"].as_u64(), Some(1));
}

#[test]
fn an_unknown_price_is_shown_as_unknown_and_saves_nothing() {
    let tenant = World::shared().tenant("no-price");
    let query =
        json!({"prompt": "Who wrote Faust?", "model": "gpt-4o-mini-of-no-price-list", "include_debug": true});
    tenant.ask(&query);
    let hit = tenant.ask(&query);
    assert_eq!(hit["cache_hit"], true);
    assert_eq!(hit["cost_saved"].as_f64(), Some(0.0));
    assert_eq!(hit["debug"]["price_source"], "unknown");
}

#[test]
fn a_prompt_too_long_to_embed_matches_only_itself_and_debug_says_so() {
    let tenant = World::shared().tenant("too-long");
    let base = "The quick brown fox jumps over the lazy dog, again and again. ".repeat(400);
    let first = tenant.ask_for(&base);
    assert_eq!(first["cache_hit"], false);
    assert!(first["debug"]["not_searched"].as_str().is_some_and(|why| !why.is_empty()), "{}", first["debug"]);
    let almost =
        tenant.ask(&json!({"prompt": format!("{base}Why?"), "model": MODEL, "similarity_threshold": 0}));
    assert_eq!(almost["cache_hit"], false, "a cut prompt would match");
    let again = tenant.ask_for(&base);
    assert_eq!(again["cache_hit"], true);
    assert_eq!(again["similarity_score"].as_f64(), Some(1.0));
}
