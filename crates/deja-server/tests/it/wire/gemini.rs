//! Google's format where it differs from the others: the model and the rendering stand in the path, a stream has no end mark.
//! What all formats have in common is tried with all of them, in the tests beside this one.

use serde_json::{Value, json};

use super::{CACHED, ask, cache, counted, events, question, said, send};
use crate::util::provider::{chunked, stream_response};
use crate::util::{Reaction, Response, World};

const MODEL: &str = "gemini-2.5-flash";
const PATH: &str = CACHED[3].0;

fn body(text: &str) -> String {
    question(PATH, MODEL, text, false).to_string()
}

#[test]
fn each_way_to_write_the_path_leads_to_the_same_answer() {
    let world = World::shared();
    let tenant = world.tenant("gemini-paths");
    let mut expected = "miss";
    for base in [String::new(), format!("/p/{}", tenant.slug)] {
        // Google's SDKs up to 2 and the AI SDK; Google's SDK 3; LiteLLM with a base URL.
        for version in ["/v1beta", "/v1", ""] {
            for method in ["generateContent", "generateContent?alt=json", "streamGenerateContent?alt=sse"] {
                let path = format!("{base}{version}/models/{MODEL}:{method}");
                let headers = [("x-goog-api-key", tenant.key.as_str()), ("Content-Type", "application/json")];
                let asked = body("How does a gemini-paths window open?");
                let response = tenant.deja.request("POST", &path, &headers, asked.as_bytes());
                assert_eq!(
                    (response.status, cache(&response)),
                    (200, expected),
                    "{path}: {}",
                    response.text()
                );
                assert_eq!(
                    said(PATH, &response),
                    "The answer to <How does a gemini-paths window open?>.",
                    "{path}"
                );
                expected = "hit";
            }
        }
    }
    let calls = world.provider.calls("gemini-paths");
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].path, format!("/v1beta/models/{MODEL}:generateContent"));
    let week = counted(&tenant, 18);
    assert_eq!((&week["misses"], &week["exact_hits"], &week["errors"]), (&json!(1), &json!(17), &json!(0)));
}

#[test]
fn a_stream_has_its_tokens_and_finish_at_the_end_and_no_end_mark() {
    let world = World::shared();
    let tenant = world.tenant("gemini-stream");
    let text = "A long answer, in more than one piece of a stream, with \u{e9} and \t tabs.\n\n".repeat(4);
    world.provider.on("gemini-stream", Reaction::Text(text.clone()));
    for stored_streamed in [true, false] {
        let asked = format!("gemini-stream {stored_streamed}");
        assert_eq!(cache(&ask(&tenant, PATH, MODEL, &asked, stored_streamed)), "miss");
        let hit = ask(&tenant, PATH, MODEL, &asked, true);
        assert_eq!((cache(&hit), said(PATH, &hit)), ("hit", text.clone()));
        assert!(!hit.text().contains("[DONE]"), "Google's SDKs take it for an error");
        let events = events(&hit);
        let (last, before) = events.split_last().unwrap();
        assert!(before.len() > 2, "{events:?}");
        assert_eq!(last["candidates"][0]["finishReason"], "STOP");
        assert_eq!(last["usageMetadata"]["candidatesTokenCount"], 500);
        assert!(before.iter().all(|event| event["candidates"][0].get("finishReason").is_none()));
        let plain = ask(&tenant, PATH, MODEL, &asked, false);
        assert_eq!((cache(&plain), said(PATH, &plain)), ("hit", text.clone()));
        assert_eq!(plain.json()["usageMetadata"]["totalTokenCount"], 1500);
    }
}

#[test]
fn a_stream_as_an_array_is_passed_on() {
    let world = World::shared();
    let tenant = world.tenant("gemini-array");
    let array = json!([{"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "STOP"}]}]);
    world.provider.on("gemini-array", Reaction::Json(200, array.clone()));
    for _ in 0..2 {
        let response = send(&tenant, &format!("{PATH}:streamGenerateContent"), &[], &body("gemini-array"));
        assert_eq!((response.status, cache(&response), response.json()), (200, "bypass", array.clone()));
        assert_eq!(response.header("x-deja-reason"), Some("json_array"));
    }
    assert_eq!(world.provider.calls("gemini-array").len(), 2);
    assert_eq!(counted(&tenant, 2)["passed"], 2);
}

#[test]
fn what_may_not_be_stored_is_not() {
    let world = World::shared();
    let tenant = world.tenant("gemini-odd");
    let candidate = |part: Value, finish: &str| json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": finish}]});
    for (n, answer) in [
        candidate(json!({"text": "half"}), "MAX_TOKENS"),
        candidate(json!({"text": "no"}), "SAFETY"),
        candidate(json!({"functionCall": {"name": "f", "args": {}}}), "STOP"),
        candidate(json!({"text": "x", "thought": true, "thoughtSignature": "Eq=="}), "STOP"),
        candidate(json!({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "Eq=="}), "STOP"),
        json!({"promptFeedback": {"blockReason": "SAFETY"}}),
    ]
    .into_iter()
    .enumerate()
    {
        for stream in [false, true] {
            let text = format!("gemini-odd {n} {stream}");
            world.provider.on(
                &text,
                if stream {
                    Reaction::Bytes(stream_response(&[format!("data: {answer}\n\n")]))
                } else {
                    Reaction::Json(200, answer.clone())
                },
            );
            for _ in 0..2 {
                assert_eq!(cache(&ask(&tenant, PATH, MODEL, &text, stream)), "miss", "{answer}");
            }
            assert_eq!(world.provider.calls(&text).len(), 2, "{answer}");
        }
    }
}

#[test]
fn a_stream_without_its_finish_is_asked_for_again_and_a_broken_one_is_an_error() {
    let world = World::shared();
    let tenant = world.tenant("gemini-cut");
    let piece =
        json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "half"}]}}]});
    let events = [format!("data: {piece}\n\n")];
    world.provider.on("gemini-cut clean", Reaction::Bytes(stream_response(&events)));
    for _ in 0..2 {
        let response = ask(&tenant, PATH, MODEL, "gemini-cut clean", true);
        assert_eq!((cache(&response), response.text()), ("miss", events[0].clone()));
    }
    world.provider.on("gemini-cut plain", Reaction::Bytes(chunked(&events)));
    let response = send(&tenant, &format!("{PATH}:generateContent"), &[], &body("gemini-cut plain"));
    assert_eq!(error(&response), (503, "UNAVAILABLE".into()), "a stream for JSON that breaks off");
    assert_eq!(counted(&tenant, 3)["errors"], 3);
}

/// The status and its word of an error, after checking its shape.
#[track_caller]
fn error(response: &Response) -> (u16, String) {
    let body = response.json();
    let members: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let inner: Vec<&str> = body["error"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((members, inner), (vec!["error"], vec!["code", "message", "status"]), "{body}");
    assert_eq!(body["error"]["code"], json!(response.status));
    (response.status, body["error"]["status"].as_str().unwrap().to_owned())
}

#[test]
fn errors_have_googles_shape() {
    let world = World::shared();
    let tenant = world.tenant("gemini-errors");
    let path = format!("{PATH}:generateContent");
    for odd in ["", "{", "[]", "nul", "{\"contents\":[],\"contents\":[]}"] {
        assert_eq!(error(&send(&tenant, &path, &[], odd)), (400, "INVALID_ARGUMENT".into()), "{odd}");
    }
    let long = format!("/v1beta/models/{}:generateContent", "m".repeat(257));
    assert_eq!(error(&send(&tenant, &long, &[], &body("x"))), (400, "INVALID_ARGUMENT".into()));
    let bad = send(&tenant, &path, &[("X-Deja-Threshold", "2")], &body("x"));
    assert_eq!(error(&bad), (400, "INVALID_ARGUMENT".into()));
    let only = send(&tenant, &path, &[("X-Deja-Cache", "only")], &body("gemini-errors only"));
    assert_eq!(error(&only), (504, "DEADLINE_EXCEEDED".into()));
    let packed = send(&tenant, &path, &[("Content-Encoding", "gzip")], &body("x"));
    assert_eq!(error(&packed), (415, "INVALID_ARGUMENT".into()));
    let stranger = tenant.deja.request("POST", &path, &[("x-goog-api-key", "AIza-theirs")], b"{}");
    assert_eq!(error(&stranger), (401, "UNAUTHENTICATED".into()));
    let narrow = tenant.new_key(&["--model", "gpt-4o"]);
    let refused = tenant.deja.request("POST", &path, &[("x-goog-api-key", &narrow)], body("x").as_bytes());
    assert_eq!(error(&refused), (403, "PERMISSION_DENIED".into()));
    for model in ["no-such-model", "gpt-4o-mini", "claude-haiku-4-5"] {
        let response = send(&tenant, &format!("/v1beta/models/{model}:generateContent"), &[], &body("x"));
        assert_eq!(error(&response), (404, "NOT_FOUND".into()), "{model}");
    }
    for path in [
        format!("{PATH}:countTokens"),
        format!("{PATH}:embedContent"),
        "/models/m:predict".into(),
        "/v1/models/m".into(),
        "/v1beta/models/%FF:generateContent".into(),
        "/p/%FF/v1beta/models/m:generateContentX".into(),
    ] {
        let response = send(&tenant, &path, &[], "{}");
        assert_eq!(error(&response), (404, "NOT_FOUND".into()), "{path}");
        assert!(response.text().contains(":generateContent"), "it names what is there: {}", response.text());
    }
    let read = tenant.deja.request("GET", &format!("/models/{MODEL}"), &[], b"");
    assert_eq!(error(&read).0, 405);
    for base in ["/v1beta/models", "/v1/models", "/models", "/p/x/v1beta/models"] {
        for (method, called) in
            [("GET", "generateContent"), ("PUT", "generateContent"), ("GET", "streamGenerateContent")]
        {
            let path = format!("{base}/{MODEL}:{called}");
            let response = tenant.deja.request(method, &path, &[], b"");
            assert_eq!(error(&response).0, 405, "{method} {path}");
            assert_eq!(response.header("allow"), Some("POST"), "{method} {path}");
        }
        let path = format!("{base}/{MODEL}:generateContent");
        assert_eq!(tenant.deja.request("HEAD", &path, &[], b"").status, 405, "{path}");
    }
    assert!(world.provider.calls("gemini-errors").is_empty());
}

#[test]
fn models_are_listed_as_google_lists_them() {
    let world = World::shared();
    let tenant = world.tenant("gemini-models");
    let get = |key: &str, path: &str| tenant.deja.request("GET", path, &[("x-goog-api-key", key)], b"");
    for base in [String::new(), format!("/p/{}", tenant.slug)] {
        // Google's SDK 3 lists below /v1; a query such as pageSize changes nothing.
        for path in ["/v1beta/models", "/v1/models", "/v1beta/models?pageSize=5"] {
            let listed = get(&tenant.key, &format!("{base}{path}")).json();
            let models = listed["models"].as_array().unwrap();
            let named = |name: &str| models.iter().find(|model| model["name"] == name);
            let one = named("models/gemini-2.5-flash").unwrap();
            assert_eq!(one["displayName"], MODEL);
            let methods = one["supportedGenerationMethods"].as_array().unwrap();
            assert!(methods.contains(&json!("generateContent")));
            assert!(models.iter().all(|model| model["name"].as_str().unwrap().starts_with("models/")));
            assert!(named("models/gpt-4o-mini").is_none() && named("models/claude-haiku-4-5").is_none());
        }
        let one = get(&tenant.key, &format!("{base}/v1beta/models/{MODEL}"));
        assert_eq!((one.status, &one.json()["name"]), (200, &json!("models/gemini-2.5-flash")));
    }
    let narrow = tenant.new_key(&["--model", "gemini-2.0-flash"]);
    assert_eq!(get(&narrow, "/v1beta/models").json()["models"].as_array().unwrap().len(), 1);
    assert_eq!(error(&get(&narrow, &format!("/v1beta/models/{MODEL}"))), (404, "NOT_FOUND".into()));
    assert_eq!(error(&get("dj_nobody", "/v1beta/models")), (401, "UNAUTHENTICATED".into()));
    assert_eq!(error(&get(&tenant.key, "/v1beta/models/gpt-4o-mini")), (404, "NOT_FOUND".into()));
}
