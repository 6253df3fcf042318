//! The guard: what is similar enough and asks something else is refused, on every way to an answer.

use serde_json::{Value, json};

use crate::util::deja::free_port;
use crate::util::tenant::{MODEL, Tenant};
use crate::util::{Deja, FakeProvider, Gate, Reaction, Response, World, metrics, provider::answer_to};

const ENABLE: &str = "How do I enable read receipts?";
const DISABLE: &str = "How do I disable read receipts?";

fn query(prompt: &str, threshold: f64, context: &str) -> Value {
    json!({"prompt": prompt, "model": MODEL, "similarity_threshold": threshold, "context": context,
        "include_debug": true})
}

#[track_caller]
fn ask(tenant: &Tenant<'_>, prompt: &str, threshold: f64, context: &str) -> Response {
    let response = tenant.send(&query(prompt, threshold, context));
    assert_eq!(response.status, 200, "{}", response.text());
    response
}

/// Why the guard made a miss of it, as header and debug object say; `None` if it did not.
#[track_caller]
fn refused(response: &Response) -> Option<String> {
    let answer = response.json();
    let told = &answer["debug"]["guard"];
    assert_eq!(response.header("x-deja-guard"), told["reason"].as_str(), "{answer}");
    if told.is_null() {
        return None;
    }
    assert_eq!((&answer["cache_hit"], &answer["similarity_score"]), (&json!(false), &Value::Null));
    assert_eq!(answer["debug"]["matched_by"], "provider");
    told["reason"].as_str().map(str::to_owned)
}

#[test]
fn what_asks_something_else_is_answered_by_the_provider_and_the_answer_says_why() {
    let tenant = World::shared().tenant("guard-reasons");
    for (stored, asked, reason) in [
        (
            "What is the boiling point of water at altitude 1?",
            "What is the boiling point of water at altitude 2?",
            "numbers",
        ),
        ("Which countries require a visa?", "Which countries do not require a visa?", "negation"),
        (ENABLE, DISABLE, "opposite"),
    ] {
        let first = ask(&tenant, stored, 0.75, reason);
        assert_eq!(refused(&first), None, "there was nothing to refuse");
        let other = ask(&tenant, asked, 0.75, reason);
        assert_eq!(refused(&other).as_deref(), Some(reason), "{}", other.text());
        let answer = other.json();
        assert_eq!(answer["response"], answer_to(asked));
        let told = &answer["debug"]["guard"];
        assert_eq!(told["refused"], true);
        assert!((0.75..1.0).contains(&told["similarity"].as_f64().unwrap()), "{told}");
        assert!((0.0..1.0).contains(&told["score"].as_f64().unwrap()), "{told}");
        // It is the entry that answers its own prompt, and each has its own now, which nobody refuses.
        for (prompt, entry) in [(stored, Some(&told["entry"])), (asked, None)] {
            let own = ask(&tenant, prompt, 0.75, reason);
            assert_eq!((refused(&own), &own.json()["debug"]["matched_by"]), (None, &json!("exact")));
            assert!(entry.is_none_or(|entry| own.json()["debug"]["matched_cache_entry_id"] == *entry));
        }
    }
}

#[test]
fn a_refused_entry_makes_way_for_the_next_best() {
    let tenant = World::shared().tenant("guard-next");
    let ask = |prompt, threshold| ask(&tenant, prompt, threshold, "guard-next");
    let reworded = "Where can I switch on read receipts?";
    for stored in [DISABLE, reworded] {
        assert_eq!(ask(stored, 1.0).json()["cache_hit"], false);
    }
    // By its similarity alone the wrong one is best.
    assert_eq!(ask(ENABLE, 0.7).json()["response"], answer_to(DISABLE));
    let guarded = ask(ENABLE, 0.75);
    assert_eq!(guarded.json()["response"], answer_to(reworded), "{}", guarded.text());
    assert_eq!((refused(&guarded), &guarded.json()["cache_hit"]), (None, &json!(true)));
}

#[test]
fn a_project_chooses_how_strict_it_is() {
    let world = World::shared();
    let tenant = world.tenant("guard-setting");
    let set = |guard| world.deja.cli(&["project", "set", &tenant.slug, "--guard", guard]);
    // Standard lets the second pair pass, strict does not.
    let (month, now) = (
        "How do I cancel my travel insurance before the end of the month?",
        "How can I cancel my travel insurance before the end of the month now?",
    );
    for (guard, opposite, added) in [("off", true, true), ("standard", false, true), ("strict", false, false)]
    {
        set(guard);
        for (stored, asked, hit) in [(ENABLE, DISABLE, opposite), (month, now, added)] {
            let context = format!("guard-setting {guard} {asked}");
            ask(&tenant, stored, 0.75, &context);
            let response = ask(&tenant, asked, 0.75, &context);
            assert_eq!(response.json()["cache_hit"], hit, "{guard}: {}", response.text());
            assert_eq!(refused(&response).is_some(), !hit);
        }
        // The same text is never refused, however it is written.
        let context = format!("guard-setting {guard} same");
        ask(&tenant, ENABLE, 0.75, &context);
        for asked in [ENABLE, "how do I enable read receipts"] {
            assert_eq!(ask(&tenant, asked, 0.75, &context).json()["cache_hit"], true, "{guard}: {asked}");
        }
    }
    let output = world.deja.try_cli(&["project", "set", &tenant.slug, "--guard", "loose"]);
    assert!(!output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("use off, standard, strict or thorough"),
        "{output:?}"
    );
}

#[test]
fn below_075_only_what_no_vector_tells_apart_is_refused() {
    let tenant = World::shared().tenant("guard-below");
    ask(&tenant, ENABLE, 0.85, "guard-below");
    let lax = ask(&tenant, DISABLE, 0.74, "guard-below");
    assert_eq!((&lax.json()["cache_hit"], refused(&lax)), (&json!(true), None));
    assert_eq!(refused(&ask(&tenant, DISABLE, 0.75, "guard-below")).as_deref(), Some("opposite"));
    ask(&tenant, "😀😀😀", 0.7, "guard-below");
    assert_eq!(refused(&ask(&tenant, "😁😁😁", 0.7, "guard-below")).as_deref(), Some("words"));
}

#[test]
fn a_call_under_way_is_followed_only_if_its_answer_would_be_one() {
    let world = World::shared();
    let tenant = world.tenant("guard-flight");
    let gate = Gate::default();
    let then = Reaction::Gated(gate.clone(), Box::new(Reaction::Numbered));
    world.provider.on("guard-flight", then);
    let mut enable = tenant.begin(&query(ENABLE, 0.75, "guard-flight"));
    world.provider.wait_for_calls("guard-flight", 1);
    let mut disable = tenant.begin(&query(DISABLE, 0.75, "guard-flight"));
    // It is asked while the first is still held back.
    world.provider.wait_for_calls("guard-flight", 2);
    gate.open();
    let answers = [&mut enable, &mut disable].map(|caller| caller.receive().unwrap().json());
    for answer in &answers {
        assert_eq!(answer["cache_hit"], false, "{answer}");
    }
    assert_ne!(answers[0]["response"], answers[1]["response"]);
}

#[test]
fn refusals_are_counted_by_reason() {
    let provider = FakeProvider::start();
    let port = free_port();
    let deja =
        Deja::builder().provider(&provider).env("DEJA_METRICS_LISTEN", format!("127.0.0.1:{port}")).start();
    let tenant = Tenant::create(&deja, "guard-metrics", &[]);
    // Misses, two of them made by the guard, and a hit.
    let [one, two] = [1, 2].map(|n| format!("What is the boiling point of water at altitude {n}?"));
    for prompt in [ENABLE, DISABLE, DISABLE, &one, &two] {
        ask(&tenant, prompt, 0.75, "guard-metrics");
    }
    let text = metrics(port);
    for reason in ["opposite", "numbers"] {
        let line = format!(r#"deja_guard_refusals_total{{reason="{reason}"}} 1"#);
        assert!(text.lines().any(|said| said == line), "{line} in {text}");
    }
}

#[test]
fn thorough_reads_what_standard_lets_pass() {
    const INSURE: &str = "Can I insure a car with a cracked windscreen?";
    const DRIVE: &str = "Can I drive with a cracked windscreen?";
    const JOIN: &str = "How do I join the gym?";
    const MEMBER: &str = "How do I become a member of the gym?";
    let tenant = World::shared().tenant("guard-thorough");
    let set = |guard: &str| tenant.deja.cli(&["project", "set", &tenant.slug, "--guard", guard]);
    for prompt in [INSURE, JOIN] {
        ask(&tenant, prompt, 0.85, "cars");
    }
    set("thorough");
    let other = ask(&tenant, DRIVE, 0.85, "cars");
    assert_eq!(refused(&other).as_deref(), Some("meaning"), "{}", other.text());
    assert_eq!(other.json()["response"], answer_to(DRIVE));
    assert!(other.json()["debug"]["guard"]["score"].as_f64().unwrap() < 0.12);
    for _ in 0..2 {
        let same = ask(&tenant, MEMBER, 0.85, "cars");
        assert_eq!((&same.json()["cache_hit"], refused(&same)), (&json!(true), None), "{}", same.text());
    }
    // Without it the words alone let it pass.
    ask(&tenant, INSURE, 0.85, "other cars");
    set("standard");
    assert_eq!(ask(&tenant, DRIVE, 0.85, "other cars").json()["cache_hit"], true);
}
