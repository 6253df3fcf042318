//! Section 5, and 401 and 403 of section 7: who may ask.

use serde_json::json;

use crate::util::World;
use crate::util::tenant::{MODEL, PATH};

const UNAUTHORIZED: &str = "Invalid or missing API key";
const FORBIDDEN: &str = "API key does not have permission to access this project";

fn body() -> Vec<u8> {
    json!({"prompt": "Who wrote Faust?", "model": MODEL}).to_string().into_bytes()
}

#[test]
fn a_key_has_the_published_form() {
    let tenant = World::shared().tenant("key-form");
    let hex = tenant.key.strip_prefix("dj_").expect("two letters and an underscore");
    assert_eq!(hex.len(), 32);
    assert!(hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{hex}");
}

#[test]
fn missing_malformed_unknown_and_revoked_keys_give_the_same_bytes() {
    let tenant = World::shared().tenant("unauthorized");
    let revoked = tenant.new_key(&[]);
    assert_eq!(tenant.post_as(&revoked, PATH, &body()).status, 200);
    tenant.revoke(&revoked);
    let good = &tenant.key;
    let mut headers: Vec<Option<String>> = vec![None];
    let unknown = format!("dj_{}", "0".repeat(32));
    for token in [
        &revoked,
        &unknown,
        &good[..34],
        &good.to_uppercase(),
        &format!("{good}0"),
        "",
        "dj_",
        "sk-1",
        &good[3..],
    ] {
        headers.push(Some(format!("Bearer {token}")));
    }
    for value in [
        format!("Basic {good}"),
        good.clone(),
        format!("Bearer{good}"),
        format!("Bearer {good} x"),
        "Bearer".into(),
    ] {
        headers.push(Some(value));
    }
    for value in headers {
        let mut sent = vec![("Content-Type", "application/json")];
        if let Some(value) = &value {
            sent.push(("Authorization", value));
        }
        let response = tenant.deja.request("POST", PATH, &sent, &body());
        assert_eq!(response.detail(401), UNAUTHORIZED, "{value:?}");
        assert_eq!(response.header("www-authenticate"), Some("Bearer"), "{value:?}");
        let mut names: Vec<&str> = response.headers.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert!(!names.iter().any(|name| name.starts_with("x-ratelimit")), "{value:?}: {names:?}");
        assert_eq!(response.body, format!(r#"{{"detail":"{UNAUTHORIZED}"}}"#).into_bytes(), "{value:?}");
    }
}

#[test]
fn two_authorization_headers_are_none() {
    let tenant = World::shared().tenant("two-headers");
    let good = format!("Bearer {}", tenant.key);
    let headers = [("Content-Type", "application/json"), ("Authorization", &good), ("Authorization", &good)];
    assert_eq!(tenant.deja.request("POST", PATH, &headers, &body()).detail(401), UNAUTHORIZED);
}

#[test]
fn the_key_is_checked_before_anything_else_is_looked_at() {
    let tenant = World::shared().tenant("order");
    // All of this would be 400, 403 or 404 with a key.
    for path in [PATH, "/p/no-such-project/v1/cache/query", "/p/%FF/v1/cache/query"] {
        let response = tenant.deja.request("POST", path, &[], b"\xff not json");
        assert_eq!(response.detail(401), UNAUTHORIZED, "{path}");
    }
}

#[test]
fn the_base_url_of_the_keys_own_project_works() {
    let tenant = World::shared().tenant("own-base");
    let response = tenant.post_as(&tenant.key, &format!("/p/{}/v1/cache/query", tenant.slug), &body());
    assert_eq!(response.status, 200, "{}", response.text());
    // It is the same cache as that of the root.
    assert_eq!(tenant.post(&body()).json()["cache_hit"], true);
}

#[test]
fn another_project_and_one_that_does_not_exist_are_403_with_the_same_bytes() {
    let world = World::shared();
    let (tenant, other) = (world.tenant("foreign"), world.tenant("foreign-other"));
    let mut bodies = Vec::new();
    for slug in [other.slug.as_str(), "no-such-project", "NO", "a%20b", "..%2f", "%FF", "%c3%28", "%00"] {
        let response = tenant.post_as(&tenant.key, &format!("/p/{slug}/v1/cache/query"), &body());
        assert_eq!(response.detail(403), FORBIDDEN, "{slug}");
        assert!(response.header("x-ratelimit-limit").is_some(), "{slug}");
        bodies.push(response.body);
    }
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_suspended_project_is_403_until_it_is_resumed() {
    let tenant = World::shared().tenant("suspended");
    assert_eq!(tenant.post(&body()).status, 200);
    tenant.deja.cli(&["project", "suspend", &tenant.slug]);
    let response = tenant.post(&body());
    assert_eq!(response.detail(403), FORBIDDEN);
    assert!(response.header("x-ratelimit-remaining").is_some());
    tenant.deja.cli(&["project", "resume", &tenant.slug]);
    assert_eq!(tenant.post(&body()).json()["cache_hit"], true, "its cache is still there");
}

#[test]
fn a_key_restricted_to_models_may_not_ask_for_others() {
    let world = World::shared();
    let tenant = world.tenant("restricted");
    let key = tenant.new_key(&["--model", "gpt-4o", "--model", "claude-haiku-4-5"]);
    let ask = |model: &str| {
        let body = json!({"prompt": "Who wrote Faust?", "model": model, "context": "spec-restricted"});
        tenant.post_as(&key, PATH, body.to_string().as_bytes())
    };
    assert_eq!(ask("gpt-4o").status, 200);
    assert_eq!(ask("claude-haiku-4-5").status, 200);
    for model in ["gpt-4o-mini", "gpt-4o ", "GPT-4o", "gemini-2.5-flash", "no-such-model"] {
        assert_eq!(ask(model).detail(403), FORBIDDEN, "{model}");
    }
    assert_eq!(world.provider.calls("spec-restricted").len(), 2);
}

#[test]
fn a_revoked_key_stays_revoked_and_its_sisters_work() {
    let tenant = World::shared().tenant("sisters");
    let key = tenant.new_key(&[]);
    // By what listings show, as people do it.
    tenant.deja.cli(&["key", "revoke", &key[..7], "--project", &tenant.slug]);
    let again = tenant.deja.try_cli(&["key", "revoke", &key]);
    assert!(!again.status.success(), "there is no active key to revoke");
    assert_eq!(tenant.post_as(&key, PATH, &body()).detail(401), UNAUTHORIZED);
    assert_eq!(tenant.post(&body()).status, 200);
}
