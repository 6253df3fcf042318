//! Feedback: what people say of an answer holds from the next request on.

use serde_json::{Value, json};

use crate::util::deja::free_port;
use crate::util::tenant::{MODEL, Tenant};
use crate::util::{Deja, FakeProvider, Response, World, metrics, provider::answer_to};

pub const FEEDBACK: &str = "/v1/cache/feedback";
const RESET: &str = "How do I reset my password?";
const REWORDED: &str = "How can I reset my password?";

#[track_caller]
fn ask_at(tenant: &Tenant<'_>, prompt: &str, threshold: f64) -> Response {
    let query =
        json!({"prompt": prompt, "model": MODEL, "similarity_threshold": threshold, "include_debug": true});
    let response = tenant.send(&query);
    assert_eq!(response.status, 200, "{}", response.text());
    response
}

fn say(tenant: &Tenant<'_>, body: &Value) -> Response {
    tenant.post_as(&tenant.key, FEEDBACK, body.to_string().as_bytes())
}

/// What came of feedback that must be taken.
#[track_caller]
fn effect(tenant: &Tenant<'_>, body: &Value) -> String {
    let response = say(tenant, body);
    assert_eq!(response.status, 200, "{body}: {}", response.text());
    response.json()["effect"].as_str().unwrap().to_owned()
}

/// The request's name and the matched entry, as header and debug object say.
#[track_caller]
fn names(response: &Response) -> (String, Option<String>) {
    let debug = &response.json()["debug"];
    let (request, entry) = (response.header("x-request-id").unwrap(), response.header("x-deja-entry"));
    assert_eq!(
        (debug["request_id"].as_str(), debug["matched_cache_entry_id"].as_str()),
        (Some(request), entry)
    );
    (request.to_owned(), entry.map(str::to_owned))
}

fn is_hit(response: &Response) -> bool {
    response.json()["cache_hit"] == true
}

#[test]
fn the_name_of_a_request_is_enough_to_block_its_answer() {
    let tenant = World::shared().tenant("feedback-name");
    let (missed, none) = names(&ask_at(&tenant, RESET, 0.85));
    assert_eq!(none, None);
    let (exact, own) = names(&ask_at(&tenant, RESET, 0.85));
    let hit = ask_at(&tenant, REWORDED, 0.85);
    let (request, entry) = names(&hit);
    assert!(is_hit(&hit) && entry == own && entry.is_some());

    let heard = say(&tenant, &json!({"request_id": request, "correct": false, "note": "another password"}));
    assert_eq!((heard.status, heard.json()["effect"].clone()), (200, json!("blocked")), "{}", heard.text());
    assert_eq!(heard.json()["matched_cache_entry_id"].as_str().map(str::to_owned), entry);
    assert_eq!(heard.json()["judged"], "hit");
    assert!(heard.header("x-ratelimit-remaining").is_some());
    // The entry goes on answering its own prompt; what was blocked is answered by the provider.
    assert_eq!(names(&ask_at(&tenant, RESET, 0.85)).1, entry);
    let other = ask_at(&tenant, REWORDED, 0.85);
    assert_eq!((is_hit(&other), &other.json()["response"]), (false, &json!(answer_to(REWORDED))));
    // What was answered by the same prompt, or by the provider, has nothing to judge.
    for request in [exact, missed, names(&other).0, "nobody-s".to_owned(), String::new()] {
        let detail = say(&tenant, &json!({"request_id": request, "correct": false})).detail(404);
        assert!(detail.contains("same prompt"), "{detail}");
    }
}

#[test]
fn rewordings_nearer_to_the_blocked_prompt_than_to_the_entry_are_blocked_with_it() {
    let tenant = World::shared().tenant("feedback-rewordings");
    let entry = ask_at(&tenant, RESET, 0.85);
    assert!(!is_hit(&entry));
    let (blocked, near, far) = ("How do I reset my router?", "How can I reset my router?", REWORDED);
    // So low a threshold that each of them gets the one entry, and no guard.
    for prompt in [blocked, near, far] {
        assert!(is_hit(&ask_at(&tenant, prompt, 0.2)), "{prompt}");
    }
    let own = names(&ask_at(&tenant, RESET, 0.85)).1.unwrap();
    let said = json!({"matched_cache_entry_id": own, "prompt": blocked, "correct": false});
    assert_eq!(effect(&tenant, &said), "blocked");
    assert!(is_hit(&ask_at(&tenant, far, 0.2)), "nearer to the entry");
    assert!(!is_hit(&ask_at(&tenant, near, 0.2)), "nearer to what is blocked");
    assert_eq!(ask_at(&tenant, RESET, 0.2).json()["debug"]["matched_by"], "exact");
}

#[test]
fn the_last_word_counts() {
    let tenant = World::shared().tenant("feedback-last");
    ask_at(&tenant, RESET, 0.85);
    let (request, entry) = names(&ask_at(&tenant, REWORDED, 0.85));
    let by_pair = json!({"matched_cache_entry_id": entry, "prompt": REWORDED, "correct": true});
    for (said, expected) in [
        (json!({"request_id": request, "correct": true}), "recorded"),
        (json!({"request_id": request, "correct": false}), "blocked"),
        (json!({"request_id": request, "correct": false}), "blocked"),
        (by_pair, "allowed"),
        (json!({"request_id": request, "correct": true, "note": "after all"}), "recorded"),
    ] {
        assert_eq!(effect(&tenant, &said), expected, "{said}");
    }
    assert!(is_hit(&ask_at(&tenant, REWORDED, 0.85)));
}

#[test]
fn three_wrong_prompts_within_a_day_put_an_entry_into_quarantine() {
    let tenant = World::shared().tenant("feedback-quarantine");
    ask_at(&tenant, RESET, 0.85);
    let entry = names(&ask_at(&tenant, RESET, 0.85)).1;
    for (prompt, expected) in [
        ("Who wrote Faust?", "blocked"),
        ("Who wrote Faust?", "blocked"),
        ("Why is the sky blue?", "blocked"),
        ("How tall is the Eiffel tower?", "quarantined"),
    ] {
        let said = json!({"matched_cache_entry_id": entry, "prompt": prompt, "correct": false});
        assert_eq!(effect(&tenant, &said), expected, "{prompt}");
    }
    assert_eq!(ask_at(&tenant, RESET, 0.85).json()["debug"]["matched_by"], "exact");
    assert!(!is_hit(&ask_at(&tenant, REWORDED, 0.85)), "it answers its own prompt only");
}

#[test]
fn a_refusal_of_the_guard_is_judged_by_its_request_too() {
    let tenant = World::shared().tenant("feedback-refusal");
    let (stored, asked) = ("How do I enable read receipts?", "How do I disable read receipts?");
    ask_at(&tenant, stored, 0.75);
    let refused = ask_at(&tenant, asked, 0.75);
    assert!(refused.header("x-deja-guard").is_some(), "{}", refused.text());
    let (request, _) = names(&refused);
    for correct in [false, true] {
        let heard = say(&tenant, &json!({"request_id": request, "correct": correct}));
        assert_eq!(heard.status, 200, "{}", heard.text());
        assert_eq!(
            (&heard.json()["judged"], &heard.json()["effect"]),
            (&json!("refusal"), &json!("recorded"))
        );
        assert_eq!(heard.json()["matched_cache_entry_id"], refused.json()["debug"]["guard"]["entry"]);
    }
}

#[test]
fn what_another_project_was_answered_cannot_be_told_from_what_never_was() {
    let world = World::shared();
    let (tenant, other) = (world.tenant("feedback-mine"), world.tenant("feedback-foreign"));
    ask_at(&other, RESET, 0.85);
    let (request, entry) = names(&ask_at(&other, REWORDED, 0.85));
    let of = |request: &str, entry: &str| {
        let by_name = say(&tenant, &json!({"request_id": request, "correct": false}));
        let pair = json!({"matched_cache_entry_id": entry, "prompt": REWORDED, "correct": false});
        [by_name.detail(404), say(&tenant, &pair).detail(404)]
    };
    assert_eq!(of(&request, &entry.unwrap()), of("nobody-s", "00000000-0000-7000-8000-000000000000"));
    assert!(is_hit(&ask_at(&other, REWORDED, 0.85)));
    // Under the base URL of a project its own keys are taken, and no others.
    let said = json!({"request_id": request, "correct": true}).to_string();
    let path = |tenant: &Tenant<'_>| format!("/p/{}{FEEDBACK}", tenant.slug);
    assert_eq!(other.post_as(&other.key, &path(&other), said.as_bytes()).status, 200);
    other.post_as(&tenant.key, &path(&other), said.as_bytes()).detail(403);
    other.post_as("dj_00000000000000000000000000000000", FEEDBACK, said.as_bytes()).detail(401);
}

#[test]
fn feedback_has_a_limit_of_its_own() {
    let world = World::shared();
    let tenant = Tenant::create(&world.deja, "feedback-limit", &["--rpm", "1", "--burst", "2"]);
    for _ in 0..2 {
        say(&tenant, &json!({"request_id": "nobody-s", "correct": true})).detail(404);
    }
    let refused = say(&tenant, &json!({"request_id": "nobody-s", "correct": true}));
    refused.detail(429);
    assert!(refused.number("retry-after") >= 1);
    // None of them was a request for an answer.
    let query = json!({"prompt": RESET, "model": MODEL});
    assert_eq!([(); 3].map(|()| tenant.send(&query).status), [200, 200, 429]);
    say(&tenant, &json!({"request_id": "nobody-s", "correct": true})).detail(429);
}

#[test]
fn what_is_wrong_with_a_body_is_400_and_says_so() {
    let tenant = World::shared().tenant("feedback-bad");
    ask_at(&tenant, RESET, 0.85);
    let entry = names(&ask_at(&tenant, RESET, 0.85)).1.unwrap();
    let long = "x".repeat(1025);
    for (body, word) in [
        (json!({}), "correct is required"),
        (json!({"request_id": "a"}), "correct is required"),
        (json!({"request_id": "a", "correct": "yes"}), "correct must be true or false"),
        (json!({"request_id": 1, "correct": true}), "request_id must be a string"),
        (json!({"request_id": long, "correct": true}), "request_id is longer"),
        (json!({"request_id": "a", "correct": true, "note": long}), "note is longer"),
        (json!({"request_id": "a", "correct": true, "note": 1}), "note must be a string"),
        (json!({"correct": true}), "request_id alone"),
        (json!({"prompt": "a", "correct": true}), "request_id alone"),
        (json!({"request_id": "a", "prompt": "b", "correct": true}), "request_id alone"),
        (json!({"matched_cache_entry_id": entry, "correct": true}), "prompt is required"),
        (
            json!({"matched_cache_entry_id": entry, "prompt": " \n", "correct": true}),
            "prompt must not be empty",
        ),
        (json!({"matched_cache_entry_id": "a", "prompt": "b", "correct": true}), "must be a UUID"),
        (json!({"matched_cache_entry_id": entry, "prompt": RESET, "correct": false}), "own prompt"),
        (
            json!({"matched_cache_entry_id": entry, "prompt": "too long ".repeat(900), "correct": true}),
            "long",
        ),
        (json!([true]), "object"),
    ] {
        let detail = say(&tenant, &body).detail(400);
        assert!(detail.contains(word), "{body}: {detail:?} does not have {word:?}");
    }
    let get = tenant.deja.get(FEEDBACK);
    get.detail(405);
}

#[test]
fn words_are_counted() {
    let (provider, port) = (FakeProvider::start(), free_port());
    let deja =
        Deja::builder().provider(&provider).env("DEJA_METRICS_LISTEN", format!("127.0.0.1:{port}")).start();
    let tenant = Tenant::create(&deja, "counted", &[]);
    ask_at(&tenant, RESET, 0.85);
    let (request, _) = names(&ask_at(&tenant, REWORDED, 0.85));
    assert_eq!(effect(&tenant, &json!({"request_id": request, "correct": false})), "blocked");
    let text = metrics(port);
    let line = text.lines().find(|line| line.contains(r#"effect="blocked""#)).unwrap_or_default();
    for part in ["deja_feedback_total{", r#"source="api""#, r#"judged="hit""#, r#"correct="false""#, "} 1"] {
        assert!(line.contains(part), "no {part} in {line:?} of\n{text}");
    }
}
