//! `X-Deja-Error` says the cause of every refusal, in every format: the published texts stand for several each.

use serde_json::{Value, json};

use crate::util::tenant::{MODEL, PATH};
use crate::util::{Deja, FakeProvider, Response, Tenant};

const CHAT: &str = "/v1/chat/completions";

fn query() -> Value {
    json!({"prompt": "Who wrote Faust?", "model": MODEL})
}

fn chat() -> Value {
    json!({"model": MODEL, "messages": [{"role": "user", "content": "Who wrote Faust?"}]})
}

#[track_caller]
fn refused(response: &Response, status: u16, cause: &str) {
    let said = (response.status, response.header("x-deja-error"));
    assert_eq!(said, (status, Some(cause)), "{}", response.text());
}

#[test]
fn each_refusal_names_its_cause() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let (tenant, other) = (Tenant::create(&deja, "causes", &[]), Tenant::create(&deja, "others", &[]));
    let narrow = tenant.new_key(&["--model", "claude-haiku-4-5"]);
    let bodies = [(PATH, query()), (CHAT, chat())];
    for (path, body) in &bodies {
        let body = body.to_string().into_bytes();
        let json = [("Content-Type", "application/json")];
        refused(&deja.request("POST", path, &json, &body), 401, "no_api_key");
        refused(&tenant.post_as("dj_nobody", path, &body), 401, "unknown_api_key");
        refused(
            &tenant.post_as(&tenant.key, &format!("/p/{}{path}", other.slug), &body),
            403,
            "other_project",
        );
        refused(&tenant.post_as(&narrow, path, &body), 403, "model_not_allowed");
        refused(&tenant.post_as(&tenant.key, path, b"{"), 400, "bad_request");
        refused(&tenant.post_as(&tenant.key, &format!("{path}/more"), &body), 404, "not_found");
    }
    let unknown = |body: &Value| {
        let mut body = body.clone();
        body["model"] = "nobody-serves-this".into();
        body.to_string().into_bytes()
    };
    refused(&tenant.post(&unknown(&query())), 400, "model_not_supported");
    refused(&tenant.post_as(&tenant.key, CHAT, &unknown(&chat())), 404, "model_not_supported");
    refused(&deja.get(PATH), 405, "method_not_allowed");

    deja.cli(&["project", "set", &tenant.slug, "--rpm", "1", "--burst", "1"]);
    for (path, body) in &bodies {
        let body = body.to_string().into_bytes();
        // The bucket has one request, and another a minute later.
        let answers = [(); 3].map(|()| tenant.post_as(&tenant.key, path, &body));
        refused(&answers[2], 429, "rate_limited");
    }
    let own = other.new_key(&["--rpm", "1", "--burst", "1"]);
    for (path, body) in &bodies {
        let body = body.to_string().into_bytes();
        let answers = [(); 3].map(|()| other.post_as(&own, path, &body));
        refused(&answers[2], 429, "key_rate_limited");
        assert_eq!(answers[2].header("x-ratelimit-limit"), Some("1"));
        assert_ne!(other.post_as(&other.key, path, &body).status, 429, "the project goes on");
    }
    deja.cli(&["project", "suspend", &other.slug]);
    for (path, body) in &bodies {
        refused(&other.post_as(&other.key, path, body.to_string().as_bytes()), 403, "suspended");
    }
}

#[test]
fn a_debug_object_says_what_was_asked_and_what_was_ignored() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let tenant = Tenant::create(&deja, "asked", &[]);
    let mut body = query();
    body["include_debug"] = true.into();
    body["treshold"] = 0.99.into();
    let fresh = tenant.ask(&body);
    assert_eq!(fresh["debug"]["ignored_fields"], json!(["treshold"]));
    assert_eq!(
        (&fresh["debug"]["threshold_used"], &fresh["debug"]["nearest_similarity"]),
        (&json!(0.85), &Value::Null)
    );

    body.as_object_mut().unwrap().remove("treshold");
    body["similarity_threshold"] = 0.9.into();
    let again = tenant.ask(&body);
    assert_eq!((&again["cache_hit"], &again["debug"]["nearest_similarity"]), (&json!(true), &json!(1.0)));
    assert_eq!(again["debug"]["threshold_used"], 0.9);
    assert!(again["debug"].get("ignored_fields").is_none(), "{again}");

    body["prompt"] = "Who was it that wrote Faust?".into();
    body["similarity_threshold"] = 0.999.into();
    let near = tenant.ask(&body)["debug"]["nearest_similarity"].as_f64().unwrap();
    assert!(near > 0.6 && near < 0.999, "{near}");
}
