//! Keys from four headers, and from nowhere else.

use serde_json::json;

use super::{EXACT, cache, question};
use crate::util::tenant::MODEL;
use crate::util::{Response, World};

const CHAT: &str = "/v1/chat/completions";

fn body(text: &str) -> Vec<u8> {
    question(CHAT, MODEL, text, false).to_string().into_bytes()
}

#[test]
fn each_header_with_a_key_opens_the_door_and_none_of_them_goes_to_the_provider() {
    let world = World::shared();
    let tenant = world.tenant("wire-keys");
    let bearer = format!("Bearer {}", tenant.key);
    let key = tenant.key.as_str();
    for (n, headers) in [
        &[("Authorization", bearer.as_str())][..],
        &[("x-api-key", key)],
        &[("x-goog-api-key", key)],
        &[("api-key", key)],
        &[("x-api-key", key), ("Authorization", &bearer)],
        &[("x-api-key", key), ("x-goog-api-key", key), ("api-key", key)],
    ]
    .into_iter()
    .enumerate()
    {
        for base in [String::new(), format!("/p/{}", tenant.slug)] {
            let text = format!("wire-keys {n} {base}");
            let headers = [headers, &[EXACT]].concat();
            let response = tenant.deja.request("POST", &format!("{base}{CHAT}"), &headers, &body(&text));
            assert_eq!(response.status, 200, "{headers:?} {}", response.text());
            let call = &world.provider.calls(&text)[0];
            assert!(!format!("{:?}", call.headers).contains(key), "{:?}", call.headers);
            assert_eq!(
                call.header("x-api-key").or(call.header("api-key")).or(call.header("x-goog-api-key")),
                None
            );
        }
    }
}

#[test]
fn no_key_a_wrong_one_or_two_that_differ_are_401() {
    let tenant = World::shared().tenant("wire-no-key");
    let (bearer, other) = (format!("Bearer {}", tenant.key), format!("dj_{}", "0".repeat(32)));
    let basic = format!("Basic {}", tenant.key);
    let key = tenant.key.as_str();
    for headers in [
        &[][..],
        &[("Authorization", basic.as_str())],
        &[("x-api-key", other.as_str())],
        &[("x-api-key", "sk-ant-of-their-own")],
        &[("x-api-key", other.as_str()), ("Authorization", &bearer)],
        &[("x-api-key", key), ("x-api-key", &other)],
        &[("x-api-key", key), ("Authorization", &basic)],
    ] {
        let response = tenant.deja.request("POST", CHAT, headers, &body("x"));
        assert_eq!(response.status, 401, "{headers:?}");
        assert_eq!(response.header("www-authenticate"), Some("Bearer"), "{headers:?}");
        assert_eq!(response.json()["error"]["code"], "invalid_api_key");
        assert_eq!(response.header("x-ratelimit-limit"), None);
        let response = tenant.deja.request("POST", "/v1/messages", headers, b"{}");
        assert_eq!(
            (response.status, &response.json()["error"]["type"]),
            (401, &json!("authentication_error"))
        );
    }
}

#[test]
fn a_key_in_the_address_is_refused_with_the_reason() {
    let world = World::shared();
    let tenant = world.tenant("wire-query-key");
    let key = &tenant.key;
    for (path, message) in [
        (format!("{CHAT}?key={key}"), "/error/message"),
        (format!("/v1/messages?beta=true&key={key}"), "/error/message"),
        (format!("/v1beta/models/gemini-2.5-flash:generateContent?key={key}"), "/error/message"),
    ] {
        let response = tenant.deja.request("POST", &path, &[("x-api-key", key)], &body("wire-query-key"));
        assert_eq!(response.status, 400, "{path}: {}", response.text());
        assert!(response.json().pointer(message).unwrap().as_str().unwrap().contains("header"), "{path}");
    }
    assert!(world.provider.calls("wire-query-key").is_empty());
}

#[test]
fn what_a_key_is_not_for_is_403_and_says_what_it_is() {
    let world = World::shared();
    let (tenant, other) = (world.tenant("wire-mine"), world.tenant("wire-theirs"));
    let refused = "What a foreign key asks";
    let path = format!("/p/{}{CHAT}", other.slug);
    let response = tenant.deja.request("POST", &path, &[("x-api-key", &tenant.key)], &body(refused));
    let told = |response: &Response| {
        let error = response.json()["error"].take();
        (response.status, error["code"].clone(), error["message"].as_str().unwrap().to_owned())
    };
    let (status, code, message) = told(&response);
    assert_eq!((status, code), (403, json!("other_project")));
    assert_eq!(message, "API key does not have permission to access this project");
    let narrow = tenant.new_key(&["--model", "gpt-4o"]);
    let response = tenant.deja.request("POST", CHAT, &[("x-api-key", &narrow)], &body(refused));
    let (status, code, message) = told(&response);
    assert_eq!((status, code), (403, json!("model_not_allowed")));
    assert!(message.contains("GET /v1/models"), "{message}");
    tenant.deja.cli(&["project", "suspend", &tenant.slug]);
    let response = tenant.deja.request("POST", CHAT, &[("x-api-key", &tenant.key)], &body(refused));
    let (status, code, message) = told(&response);
    assert_eq!((status, code), (403, json!("suspended")));
    assert!(message.contains("suspended"), "{message}");
    assert!(world.provider.calls(refused).is_empty());
}

#[test]
fn tenants_do_not_see_each_other() {
    let world = World::shared();
    let (one, other) = (world.tenant("wire-one"), world.tenant("wire-other"));
    for tenant in [&one, &other] {
        let response = super::ask(tenant, CHAT, MODEL, "Who wrote wire-tenants?", false);
        assert_eq!(cache(&response), "miss");
    }
    assert_eq!(world.provider.calls("Who wrote wire-tenants?").len(), 2);
}
