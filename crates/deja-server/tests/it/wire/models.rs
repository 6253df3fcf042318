//! `GET /v1/models` in both shapes.

use serde_json::Value;

use crate::util::{FakeProvider, Response, Tenant, World, eventually};

fn get(tenant: &Tenant<'_>, key: &str, path: &str, more: &[(&str, &str)]) -> Response {
    let headers = [&[("x-api-key", key)], more].concat();
    tenant.deja.request("GET", path, &headers, b"")
}

fn ids(response: &Response) -> Vec<String> {
    let data = response.json()["data"].as_array().unwrap().clone();
    data.iter().map(|model| model["id"].as_str().unwrap().to_owned()).collect()
}

const ANTHROPIC: [(&str, &str); 1] = [("anthropic-version", "2023-06-01")];

#[test]
fn models_are_listed_for_the_wire_that_asks() {
    let world = World::shared();
    let tenant = world.tenant("wire-models");
    let own = FakeProvider::start();
    tenant.deja.cli(&tenant.provider_add(
        "house",
        &format!("{}/v1", own.url()),
        "house/model-1",
        &["--allow-private"],
    ));
    let of = ["--kind", "anthropic", "--allow-private"];
    tenant.deja.cli(&tenant.provider_add("hut", &own.url(), "hut-1", &of));
    // A name that a built-in provider has too: the own one is asked, which has no chat completions.
    let of = ["--kind", "gemini", "--allow-private", "--model", "gpt-4o"];
    tenant.deja.cli(&tenant.provider_add("shed", &own.url(), "shed-1", &of));
    for base in [String::new(), format!("/p/{}", tenant.slug)] {
        let openai = get(&tenant, &tenant.key, &format!("{base}/v1/models"), &[]);
        assert_eq!((openai.status, &openai.json()["object"]), (200, &Value::from("list")));
        let listed = ids(&openai);
        for model in ["gpt-4o-mini", "gemini-2.5-flash", "house/model-1"] {
            assert!(listed.iter().any(|id| id == model), "{model}: {listed:?}");
        }
        assert!(
            !listed.iter().any(|id| id.starts_with("claude") || id == "hut-1" || id.contains("embedding"))
        );
        assert!(!listed.iter().any(|id| id == "shed-1" || id == "gpt-4o"), "{listed:?}");
        let gemini = get(&tenant, &tenant.key, &format!("{base}/v1beta/models"), &[]).text();
        assert!(gemini.contains("shed-1") && gemini.contains("gemini-2.5-flash"), "{gemini}");
        assert!(listed.is_sorted());
        let anthropic = get(&tenant, &tenant.key, &format!("{base}/v1/models"), &ANTHROPIC);
        assert_eq!(anthropic.json()["has_more"], false);
        let listed = ids(&anthropic);
        assert!(listed.iter().any(|id| id == "hut-1") && listed.iter().any(|id| id.starts_with("claude-")));
        assert!(!listed.iter().any(|id| id.starts_with("gpt-") || id == "house/model-1"));
    }
    for id in ["house/model-1", "house%2Fmodel-1", "gpt-4o-mini"] {
        let one = get(&tenant, &tenant.key, &format!("/v1/models/{id}"), &[]);
        assert_eq!(one.json()["id"], id.replace("%2F", "/"));
        assert_eq!(one.json()["object"], "model");
    }
    let one = get(&tenant, &tenant.key, "/v1/models/hut-1", &ANTHROPIC);
    assert_eq!((&one.json()["type"], &one.json()["display_name"]), (&"model".into(), &"hut-1".into()));
    assert!(one.json()["created_at"].as_str().unwrap().ends_with('Z'));
    let other = world.tenant("wire-models-other");
    assert!(!ids(&get(&other, &other.key, "/v1/models", &[])).contains(&"house/model-1".to_owned()));
}

#[test]
fn a_key_for_some_models_sees_those_and_a_stranger_none() {
    let world = World::shared();
    let tenant = world.tenant("wire-models-key");
    let narrow = tenant.new_key(&["--model", "gpt-4o-mini"]);
    assert_eq!(ids(&get(&tenant, &narrow, "/v1/models", &[])), ["gpt-4o-mini"]);
    // Whoever looks for keys that nobody uses finds that this one is used. It is counted within a second or so.
    eventually("a key was used", || {
        let listed = tenant.deja.try_cli(&["key", "list", "--project", &tenant.slug, "--json"]).stdout;
        let keys: Vec<Value> = serde_json::from_slice(&listed).unwrap();
        keys.iter().any(|key| key["requests"] == 1 && key["last_used"].is_string())
    });
    assert_eq!(get(&tenant, "dj_nobody", "/v1/models", &[]).status, 401);
    for (id, headers) in [("gpt-4o", &[][..]), ("no-such", &[]), ("claude-haiku-4-5", &ANTHROPIC)] {
        let response = get(&tenant, &narrow, &format!("/v1/models/{id}"), headers);
        assert_eq!(response.status, 404, "{id}");
        assert!(response.json()["error"]["message"].is_string());
    }
    // Bytes that are no text name no model, and no project.
    let own = format!("/p/{}", tenant.slug);
    for (base, status) in [("", 404), (own.as_str(), 404), ("/p/%FF", 403)] {
        for path in ["/v1/models/%FF", "/v1beta/models/%FF"] {
            assert_eq!(get(&tenant, &narrow, &format!("{base}{path}"), &[]).status, status, "{base}{path}");
        }
    }
}
