//! Single-flight: one call to the provider for a prompt and its paraphrases, however many wait and whoever leaves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::util::http::Connection;
use crate::util::tenant::MODEL;
use crate::util::{Gate, Reaction, Tenant, World};

/// Gives requests that were sent before time to reach the engine: as much as one takes that is answered after them, by
/// way of the embedding model and the provider, and some more.
fn settle(world: &World) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let tenant = world.tenant("settle");
    for part in ["first", "second"] {
        let prompt = format!("Are they there, {number}, {part}?");
        tenant.ask(&json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 1}));
    }
    std::thread::sleep(Duration::from_millis(300));
}

/// A tag whose calls wait at a gate.
fn gated(world: &World, tag: &str, then: Reaction) -> Gate {
    let gate = Gate::default();
    world.provider.on(tag, Reaction::Gated(gate.clone(), Box::new(then)));
    gate
}

fn query(prompt: &str, context: &str) -> Value {
    json!({"prompt": prompt, "model": MODEL, "context": context, "include_debug": true})
}

#[test]
fn of_1000_callers_900_hang_up_and_100_get_the_one_answer() {
    let world = World::start();
    let tenant = world.tenant("stampede");
    let gate = gated(&world, "flight-stampede", Reaction::Text("Goethe.".into()));
    let query = query("Who wrote Faust?", "flight-stampede");
    let mut callers: Vec<Connection> = (0..1000).map(|_| tenant.begin(&query)).collect();
    world.provider.wait_for_calls("flight-stampede", 1);
    settle(&world);
    // The first caller, which began the call, is among those who leave.
    drop(callers.drain(..900).collect::<Vec<_>>());
    settle(&world);
    gate.open();
    let (mut misses, mut entries) = (0, std::collections::HashSet::new());
    for caller in &mut callers {
        let response = caller.receive().unwrap();
        assert_eq!(response.status, 200, "{}", response.text());
        let answer = response.json();
        assert_eq!(answer["response"], "Goethe.");
        assert_eq!(answer["debug"]["cache_entry_count"], 1);
        if answer["cache_hit"] == true {
            entries.insert(answer["debug"]["matched_cache_entry_id"].as_str().unwrap().to_owned());
        } else {
            misses += 1;
        }
    }
    assert!(misses <= 1, "{misses} of the 100 say that they paid");
    assert_eq!(entries.len(), 1);
    assert_eq!(world.provider.calls("flight-stampede").len(), 1);
    assert_eq!(tenant.ask(&query)["cache_hit"], true);
}

#[test]
fn a_paraphrase_of_a_prompt_in_flight_waits_for_it() {
    let world = World::shared();
    let tenant = world.tenant("paraphrase");
    let gate = gated(world, "flight-paraphrase", Reaction::Text("Click 'forgot'.".into()));
    let mut leader = tenant.begin(&query("How do I reset my password?", "flight-paraphrase"));
    world.provider.wait_for_calls("flight-paraphrase", 1);
    let mut follower = tenant.begin(&query("How can I reset my password?", "flight-paraphrase"));
    settle(world);
    gate.open();
    let (led, followed) = (leader.receive().unwrap().json(), follower.receive().unwrap().json());
    assert_eq!((&led["cache_hit"], &led["llm_provider"]), (&json!(false), &json!("openai")));
    assert_eq!((&followed["cache_hit"], &followed["llm_provider"]), (&json!(true), &json!("cache")));
    assert_eq!(followed["response"], "Click 'forgot'.");
    let joined = [&led, &followed].map(|answer| answer["debug"]["joined_request_in_flight"] == true);
    assert_eq!(joined, [false, true]);
    let similarity = followed["similarity_score"].as_f64().unwrap();
    assert!((0.85..1.0).contains(&similarity), "{similarity}");
    assert_eq!(world.provider.calls("flight-paraphrase").len(), 1);
}

#[test]
fn a_paraphrase_below_its_threshold_makes_its_own_call() {
    let world = World::shared();
    let tenant = world.tenant("strict");
    let gate = gated(world, "flight-strict", Reaction::Text("Click 'forgot'.".into()));
    let mut leader = tenant.begin(&query("How do I reset my password?", "flight-strict"));
    world.provider.wait_for_calls("flight-strict", 1);
    let mut strict = query("How can I reset my password?", "flight-strict");
    strict["similarity_threshold"] = json!(0.9999);
    let mut other = tenant.begin(&strict);
    // It arrives while the first is still held back.
    world.provider.wait_for_calls("flight-strict", 2);
    gate.open();
    for caller in [&mut leader, &mut other] {
        assert_eq!(caller.receive().unwrap().json()["cache_hit"], false);
    }
}

#[test]
fn the_same_prompt_in_another_context_model_or_project_is_another_flight() {
    let world = World::shared();
    let (tenant, other) = (world.tenant("scopes"), world.tenant("scopes-other"));
    let gate = gated(world, "flight-scopes", Reaction::Text("Goethe.".into()));
    let ask = |tenant: &Tenant<'_>, model: &str, context: &str| {
        tenant.begin(
            &json!({"prompt": "Who wrote Faust?", "model": model, "context": context, "similarity_threshold": 0}),
        )
    };
    let mut callers = [
        ask(&tenant, MODEL, "flight-scopes"),
        ask(&tenant, MODEL, "flight-scopes 2"),
        ask(&tenant, "gpt-4o", "flight-scopes"),
        ask(&other, MODEL, "flight-scopes"),
    ];
    world.provider.wait_for_calls("flight-scopes", 4);
    gate.open();
    for caller in &mut callers {
        assert_eq!(caller.receive().unwrap().json()["cache_hit"], false);
    }
}

#[test]
fn the_caller_that_began_hangs_up_and_the_others_are_answered() {
    let world = World::shared();
    let tenant = world.tenant("leader");
    let gate = gated(world, "flight-leader", Reaction::Text("Goethe.".into()));
    let query = query("Who wrote Faust?", "flight-leader");
    let leader = tenant.begin(&query);
    world.provider.wait_for_calls("flight-leader", 1);
    let mut follower = tenant.begin(&query);
    settle(world);
    drop(leader);
    settle(world);
    gate.open();
    assert_eq!(follower.receive().unwrap().json()["response"], "Goethe.");
    assert_eq!(world.provider.calls("flight-leader").len(), 1);
}

#[test]
fn an_answer_nobody_waits_for_any_more_is_kept() {
    let world = World::shared();
    let tenant = world.tenant("alone");
    let gate = gated(world, "flight-alone", Reaction::Text("Goethe.".into()));
    let query = query("Who wrote Faust?", "flight-alone");
    let caller = tenant.begin(&query);
    world.provider.wait_for_calls("flight-alone", 1);
    drop(caller);
    settle(world);
    gate.open();
    // Whether it is still under way or stored by now: no second call.
    let answer = tenant.ask(&query);
    assert_eq!((&answer["cache_hit"], &answer["response"]), (&json!(true), &json!("Goethe.")));
    assert_eq!(world.provider.calls("flight-alone").len(), 1);
}

#[test]
fn a_failure_is_an_error_for_all_who_wait_and_for_nobody_after() {
    let world = World::shared();
    let tenant = world.tenant("failure");
    let error = json!({"error": {"message": "No.", "code": "invalid_api_key"}});
    let gate = gated(world, "flight-failure", Reaction::Json(401, error));
    let query = query("Who wrote Faust?", "flight-failure");
    let paraphrase = self::query("Who is the author of Faust?", "flight-failure");
    let mut callers: Vec<Connection> = (0..20).map(|_| tenant.begin(&query)).collect();
    world.provider.wait_for_calls("flight-failure", 1);
    callers.push(tenant.begin(&paraphrase));
    settle(world);
    gate.open();
    for caller in &mut callers {
        let response = caller.receive().unwrap();
        response.detail(500);
        assert_eq!(response.header("x-deja-error"), Some("provider_auth"));
    }
    assert!(
        world.provider.calls("flight-failure").len() <= 2,
        "one for the prompt, one if the paraphrase is too far off"
    );
    world.provider.on("flight-failure", Reaction::Text("Goethe.".into()));
    assert_eq!(tenant.ask(&query)["response"], "Goethe.");
}

#[test]
fn an_answer_that_is_not_kept_still_answers_all_who_waited_with_the_same_prompt() {
    let world = World::shared();
    let tenant = world.tenant("cut");
    let mut cut =
        crate::util::provider::completion(crate::util::provider::Family::OpenAi, MODEL, "Half an ans");
    cut["choices"][0]["finish_reason"] = json!("length");
    let gate = gated(world, "flight-cut", Reaction::Json(200, cut));
    let query = query("Who wrote Faust?", "flight-cut");
    let mut callers: Vec<Connection> = (0..10).map(|_| tenant.begin(&query)).collect();
    world.provider.wait_for_calls("flight-cut", 1);
    settle(world);
    gate.open();
    for caller in &mut callers {
        let answer = caller.receive().unwrap().json();
        assert_eq!((&answer["cache_hit"], &answer["response"]), (&json!(false), &json!("Half an ans")));
        assert_eq!(answer["debug"]["not_stored"], "truncated");
    }
    let calls = world.provider.calls("flight-cut").len();
    assert!((1..10).contains(&calls), "{calls} calls for 10 callers");
}

#[test]
fn paraphrases_of_an_answer_that_is_not_kept_wait_for_one_call_and_then_ask_all_at_once() {
    let world = World::shared();
    let tenant = world.tenant("unkept");
    let cut = |text: &str| {
        let family = crate::util::provider::Family::OpenAi;
        let mut cut = crate::util::provider::completion(family, MODEL, text);
        cut["choices"][0]["finish_reason"] = json!("length");
        Reaction::Json(200, cut)
    };
    let others_gate = gated(world, "flight-unkept", cut("Half an ans"));
    let first_gate = gated(world, "my password, please?", cut("Half"));
    let prompts: Vec<String> =
        (2..13).map(|n| format!("How do I reset my password{}", "?".repeat(n))).collect();
    let mut first = tenant.begin(&query("How can I reset my password, please?", "flight-unkept"));
    world.provider.wait_for_calls("flight-unkept", 1);
    let mut others: Vec<Connection> =
        prompts.iter().map(|prompt| tenant.begin(&query(prompt, "flight-unkept"))).collect();
    settle(world);
    first_gate.open();
    assert_eq!(first.receive().unwrap().json()["response"], "Half");
    // Nobody is answered yet: whoever waited a second time would wait for ever.
    world.provider.wait_for_calls("flight-unkept", 1 + prompts.len());
    others_gate.open();
    for caller in &mut others {
        let response = caller.receive().unwrap();
        assert_eq!((response.status, &response.json()["response"]), (200, &json!("Half an ans")));
    }
}
