//! `similarity_threshold`: its default, its ends, and where a hit begins.

use serde_json::{Value, json};

use crate::util::World;
use crate::util::tenant::{MODEL, Tenant};

const STORED: &str = "How do I reset my password?";

/// Asks in a context where nothing but `STORED` is known, so that earlier misses do not become matches.
fn similarity_at(tenant: &Tenant<'_>, context: &str, prompt: &str, threshold: Option<f64>) -> Option<f64> {
    tenant.ask(&json!({"prompt": STORED, "model": MODEL, "context": context}));
    let mut query = json!({"prompt": prompt, "model": MODEL, "context": context});
    if let Some(threshold) = threshold {
        query["similarity_threshold"] = json!(threshold);
    }
    let answer = tenant.ask(&query);
    assert_eq!(answer["cache_hit"], answer["similarity_score"].is_number());
    answer["similarity_score"].as_f64()
}

#[test]
fn a_hit_begins_at_the_threshold_itself() {
    let tenant = World::shared().tenant("boundary");
    let paraphrase = "How can I reset my password?";
    let similarity = similarity_at(&tenant, "measure", paraphrase, Some(0.0)).unwrap();
    assert!((0.5..1.0).contains(&similarity), "{similarity}");
    assert_eq!(
        similarity_at(&tenant, "at", paraphrase, Some(similarity)),
        Some(similarity),
        "what was printed is reached"
    );
    assert_eq!(similarity_at(&tenant, "above", paraphrase, Some(similarity + 1e-5)), None);
    assert_eq!(similarity_at(&tenant, "below", paraphrase, Some(similarity - 1e-5)), Some(similarity));
}

#[test]
fn the_default_is_085() {
    let tenant = World::shared().tenant("default");
    // Prompts at falling distance: whichever side of 0.85 one is on, the default decides as 0.85 does.
    let prompts = [
        "How can I reset my password?",
        "How do I change my password?",
        "I forgot my password, what now?",
        "How do I reset my phone?",
        "What is the boiling point of water?",
    ];
    let (mut hits, mut misses) = (0, 0);
    for (n, prompt) in prompts.iter().enumerate() {
        let similarity = similarity_at(&tenant, &format!("measure-{n}"), prompt, Some(0.0)).unwrap();
        let by_default = similarity_at(&tenant, &format!("default-{n}"), prompt, None);
        assert_eq!(by_default, (similarity >= 0.85).then_some(similarity), "{prompt}: {similarity}");
        if by_default.is_some() { hits += 1 } else { misses += 1 }
    }
    assert!(hits > 0 && misses > 0, "{hits} hits and {misses} misses show nothing");
}

#[test]
fn threshold_0_takes_the_nearest_entry_whatever_it_is() {
    let tenant = World::shared().tenant("zero");
    let ask =
        |prompt: &str| tenant.ask(&json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 0}));
    assert_eq!(ask("What is the boiling point of water?")["cache_hit"], false, "there is nothing yet");
    let answer = ask("qwertz uiop");
    assert_eq!(answer["cache_hit"], true);
    assert!((0.0..=1.0).contains(&answer["similarity_score"].as_f64().unwrap()));
}

#[test]
fn threshold_1_takes_only_the_same_prompt() {
    let tenant = World::shared().tenant("one");
    let ask =
        |prompt: &str| tenant.ask(&json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 1.0}));
    ask(STORED);
    assert_eq!(ask("How can I reset my password?")["cache_hit"], false);
    assert_eq!(ask(STORED)["similarity_score"].as_f64(), Some(1.0));
}

#[test]
fn the_threshold_holds_for_the_query_that_names_it() {
    let tenant = World::shared().tenant("per-query");
    tenant.ask_for(STORED);
    let unrelated = "What is the boiling point of water?";
    let at = |threshold: f64| {
        tenant.ask(&json!({"prompt": unrelated, "model": MODEL, "similarity_threshold": threshold}))
    };
    assert_eq!(at(0.0)["cache_hit"], true);
    assert_eq!(at(0.9)["cache_hit"], false);
}

#[test]
fn the_ends_are_allowed_and_nothing_beyond_them() {
    let tenant = World::shared().tenant("ends");
    let with = |raw: &str| {
        let body =
            format!(r#"{{"prompt":"Who wrote Faust?","model":"{MODEL}","similarity_threshold":{raw}}}"#);
        tenant.post(body.as_bytes())
    };
    for raw in ["0", "1", "0.0", "1.0", "-0", "-0.0", "1e0", "5e-1", "0.9999999999999999", "1e-400"] {
        assert_eq!(with(raw).status, 200, "{raw}");
    }
    let query =
        format!(r#"{{"prompt":"x","model":"{MODEL}","similarity_threshold":-0.0,"include_debug":true}}"#);
    let told = tenant.post(query.as_bytes()).json()["debug"]["threshold_used"].as_f64().unwrap();
    assert!(told == 0.0 && told.is_sign_positive(), "{told}");
    for raw in ["-0.0001", "1.0001", "2", "-1", "85", "1e1", "1e308", "1e999", "-1e999", "1.0000000000000002"]
    {
        assert_eq!(with(raw).detail(400), "similarity_threshold must be between 0 and 1", "{raw}");
    }
}

#[test]
fn a_similarity_is_never_outside_the_scale() {
    let tenant = World::shared().tenant("scale");
    for prompt in ["a", "no", "yes", "Never do that.", "Do that always.", "\u{1F600}", "1 + 1", "SELECT 1"] {
        let answer = tenant.ask(&json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 0}));
        match &answer["similarity_score"] {
            Value::Null => assert_eq!(answer["cache_hit"], false),
            score => assert!((0.0..=1.0).contains(&score.as_f64().unwrap()), "{score}"),
        }
    }
}
