//! What partitions a cache: context, model, project. Section 1, clause 5; section 4.1, rule 4.

use serde_json::{Value, json};

use crate::util::World;
use crate::util::provider::answer_to;
use crate::util::tenant::MODEL;

#[test]
fn identical_prompts_with_different_contexts_are_cached_separately() {
    let tenant = World::shared().tenant("contexts");
    let contexts = [
        None,
        Some(""),
        Some("a"),
        Some("A"),
        Some("a "),
        Some(" a"),
        Some("a\u{0}"),
        Some("ab"),
        Some("e\u{301}"),
        Some("\u{e9}"),
        Some("null"),
    ];
    // At threshold 0, anything in the segment would do.
    let query = |context: Option<&str>| match context {
        None => json!({"prompt": "Who wrote Faust?", "model": MODEL, "similarity_threshold": 0}),
        Some(context) => {
            json!({"prompt": "Who wrote Faust?", "model": MODEL, "similarity_threshold": 0, "context": context})
        }
    };
    for context in contexts {
        assert_eq!(tenant.ask(&query(context))["cache_hit"], false, "{context:?}");
    }
    for context in contexts {
        assert_eq!(tenant.ask(&query(context))["cache_hit"], true, "{context:?}");
    }
}

#[test]
fn no_context_and_null_are_the_same_and_the_empty_string_is_not() {
    let tenant = World::shared().tenant("null-context");
    let ask = |context: Value| {
        let answer = tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": MODEL, "context": context}));
        answer["cache_hit"].clone()
    };
    assert_eq!(tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": MODEL}))["cache_hit"], false);
    assert_eq!(ask(Value::Null), true);
    assert_eq!(ask(json!("")), false);
    assert_eq!(ask(json!("")), true);
}

#[test]
fn models_do_not_share_answers() {
    let tenant = World::shared().tenant("models");
    for model in ["gpt-4o-mini", "gpt-4o", "claude-haiku-4-5", "gemini-2.5-flash"] {
        let query = json!({"prompt": "Who wrote Faust?", "model": model, "similarity_threshold": 0});
        assert_eq!(tenant.ask(&query)["cache_hit"], false, "{model}");
        assert_eq!(tenant.ask(&query)["cache_hit"], true, "{model}");
    }
}

#[test]
fn projects_do_not_share_answers_and_keys_of_one_project_do() {
    let world = World::shared();
    let (one, two) = (world.tenant("share-one"), world.tenant("share-two"));
    let query = json!({"prompt": "Who wrote Faust?", "model": MODEL, "similarity_threshold": 0});
    assert_eq!(one.ask(&query)["cache_hit"], false);
    assert_eq!(two.ask(&query)["cache_hit"], false);
    let second_key = one.new_key(&[]);
    let response = one.post_as(&second_key, "/v1/cache/query", query.to_string().as_bytes());
    assert_eq!(response.json()["cache_hit"], true);
}

#[test]
fn a_paraphrase_in_another_context_is_a_miss() {
    let tenant = World::shared().tenant("context-paraphrase");
    let ask = |prompt: &str, context: &str| {
        tenant
            .ask(&json!({"prompt": prompt, "model": MODEL, "context": context, "similarity_threshold": 0.5}))
    };
    ask("How do I reset my password?", "shop A");
    let other = ask("How can I reset my password?", "shop B");
    assert_eq!(other["cache_hit"], false);
    assert_eq!(other["response"], answer_to("How can I reset my password?"));
}
