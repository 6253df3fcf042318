//! The OpenAPI document says what is answered: each member and each header, with each status.

use serde_json::{Map, Value, json};

use crate::admin_api::Caller;
use crate::util::tenant::{MODEL, PATH, Tenant};
use crate::util::{Deja, FakeProvider, Reaction, Response, World};
use crate::wire::{CACHED, address, question};

const FEEDBACK: &str = "/v1/cache/feedback";

/// What a schema stands for.
fn resolved<'a>(schema: &'a Value, document: &'a Value) -> &'a Value {
    let reference = schema["$ref"].as_str();
    reference.map_or(schema, |name| document.pointer(name.trim_start_matches('#')).unwrap())
}

/// Whether a value is what a schema says; enough of JSON Schema for documents made from Rust types.
fn conforms(value: &Value, schema: &Value, document: &Value) -> Result<(), String> {
    let schema = resolved(schema, document);
    if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        let fits = choices.iter().any(|choice| conforms(value, choice, document).is_ok());
        return if fits { Ok(()) } else { Err(format!("{value} is none of {choices:?}")) };
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    if !kinds.iter().any(|wanted| wanted == kind || (wanted == "number" && kind == "integer")) {
        return Err(format!("{value} is no {kinds:?}"));
    }
    let number = value.as_f64().unwrap_or_default();
    let bound = |name: &str| schema[name].as_f64().unwrap_or(number);
    if value.is_number() && !(bound("minimum")..=bound("maximum")).contains(&number) {
        return Err(format!("{value} is out of bounds"));
    }
    let all: Vec<Value> = value.as_array().cloned().unwrap_or_default();
    all.iter().try_for_each(|one| conforms(one, &schema["items"], document))?;
    let (Some(members), true) = (value.as_object(), schema["properties"].is_object()) else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten() {
        members.get(name.as_str().unwrap()).ok_or_else(|| format!("no {name}"))?;
    }
    members.iter().try_for_each(|(name, member)| {
        let said = conforms(member, &schema["properties"][name], document);
        said.map_err(|why| format!("{name}: {why}"))
    })
}

/// Holds an answer against the document: its body, and that each of deja's headers is there. Gives the headers that may come.
#[track_caller]
fn told<'a>(response: &Response, method: &str, path: &str, document: &'a Value) -> &'a Map<String, Value> {
    let status = response.status.to_string();
    let said = &document["paths"][path][method]["responses"];
    let said = resolved(said.get(&status).unwrap_or(&said["default"]), document);
    let told = format!("{status} of {method} {path}: {response:?}");
    if response.header("content-type") == Some("application/json") {
        let schema = &said["content"]["application/json"]["schema"];
        assert_eq!(conforms(&response.json(), schema, document), Ok(()), "{told}");
    }
    let headers = said["headers"].as_object().unwrap_or_else(|| panic!("no headers: {told}"));
    let own = |name: &&String| {
        name.starts_with("x-")
            || ["age", "request-id", "retry-after", "server-timing", "www-authenticate"]
                .contains(&name.as_str())
    };
    for name in response.headers.iter().map(|(name, _)| name).filter(own) {
        assert!(headers.keys().any(|known| known.eq_ignore_ascii_case(name)), "{name}: {told}");
    }
    headers
}

/// Holds an answer of `path` against the document; gives the status, so that nobody tries another one than was meant.
#[track_caller]
fn held(response: &Response, path: &str, document: &Value) -> u16 {
    for (name, header) in told(response, "post", path, document) {
        let Some(value) = response.header(&name.to_lowercase()) else {
            let some = ["X-Deja-Entry", "X-Deja-Guard", "Retry-After"];
            assert!(some.contains(&name.as_str()), "no {name} of {path}: {response:?}");
            continue;
        };
        let number = value.parse::<u64>().map(Value::from);
        let value = number.unwrap_or_else(|_| value.into());
        let header = resolved(header, document);
        assert!(header["schema"]["type"] == "string" || value.is_u64(), "{name} of {path}: {response:?}");
    }
    response.status
}

/// Members of an object that need not be there.
fn optional<'a>(schema: &'a Value, document: &'a Value) -> Vec<&'a str> {
    let schema = resolved(schema, document);
    let required = schema["required"].as_array().unwrap();
    let names = schema["properties"].as_object().unwrap().keys();
    names.map(String::as_str).filter(|name| !required.contains(&json!(name))).collect()
}

#[test]
fn every_answer_is_what_the_document_says() {
    let world = World::shared();
    let document = world.deja.get("/openapi.json").json();
    let (tenant, other) = (world.tenant("document"), world.tenant("document-other"));
    world.provider.on("spec-document-500", Reaction::Json(401, json!({"error": {"message": "no"}})));
    let ask = |prompt: &str| {
        tenant.send(&json!({"prompt": prompt, "model": MODEL, "include_debug": true, "odd": 1}))
    };
    let own = format!("/p/{}{PATH}", tenant.slug);
    let plain = json!({"prompt": "Who wrote Faust?", "model": MODEL}).to_string();
    let held = |response: &Response, path: &str| held(response, path, &document);

    assert_eq!(held(&ask("How do I enable read receipts?"), PATH), 200);
    let hit = ask("How can I enable read receipts?");
    assert_eq!((held(&hit, PATH), hit.header("x-deja-entry").is_some()), (200, true));
    let refused = ask("How do I disable read receipts?");
    assert_eq!((held(&refused, PATH), refused.header("x-deja-guard").is_some()), (200, true));
    assert_eq!(held(&tenant.post(plain.as_bytes()), PATH), 200);
    let below = tenant.post_as(&tenant.key, &own, plain.as_bytes());
    assert_eq!(held(&below, "/p/{slug}/v1/cache/query"), 200);
    assert_eq!(held(&tenant.post(b"{}"), PATH), 400);
    assert_eq!(held(&tenant.post_as("dj_nobody", PATH, b"{}"), PATH), 401);
    let foreign = other.post_as(&other.key, &own, plain.as_bytes());
    assert_eq!(held(&foreign, "/p/{slug}/v1/cache/query"), 403);
    let narrow = Tenant::create(&world.deja, "document-429", &["--rpm", "1", "--burst", "1"]);
    narrow.post(b"{}");
    assert_eq!(held(&narrow.post(b"{}"), PATH), 429);
    assert_eq!(held(&ask("spec-document-500"), PATH), 500);

    let say = |request: &str| {
        let said = json!({"request_id": request, "correct": true}).to_string();
        tenant.post_as(&tenant.key, FEEDBACK, said.as_bytes())
    };
    assert_eq!(held(&say(hit.header("x-request-id").unwrap()), FEEDBACK), 200);
    assert_eq!(held(&say("nobody-s"), FEEDBACK), 404);
    assert_eq!(held(&tenant.post_as(&tenant.key, FEEDBACK, b"{}"), FEEDBACK), 400);
}

#[test]
fn answers_in_wire_formats_are_what_the_document_says() {
    let world = World::shared();
    let document = world.deja.get("/openapi.json").json();
    let tenant = world.tenant("document-wires");
    let key = format!("Bearer {}", tenant.key);
    let error = json!({"message": "slow down", "type": "requests"});
    let google = json!({"error": {"message": "slow down", "code": 429, "status": "RESOURCE_EXHAUSTED"}});
    world.provider.on("document-429-openai", Reaction::Json(429, json!({"error": error})));
    world
        .provider
        .on("document-429-anthropic", Reaction::Json(429, json!({"type": "error", "error": error})));
    world.provider.on("document-429-google", Reaction::Json(429, google));
    for (path, model) in CACHED {
        let gemini = path.contains("/models/");
        let of_document = |stream| {
            let path = address(path, stream).replace("gemini-2.5-flash", "{model}");
            path.trim_end_matches("?alt=sse").to_owned()
        };
        let send = |headers: &[(&str, &str)], stream, body: &str| {
            let response = world.deja.request("POST", &address(path, stream), headers, body.as_bytes());
            told(&response, "post", &of_document(stream), &document);
            response.status
        };
        let known = [("Authorization", key.as_str()), ("Content-Type", "application/json")];
        let debugged = [known[0], known[1], ("X-Deja-Debug", "1")];
        let ask =
            |text: &str, stream| send(&debugged, stream, &question(path, model, text, stream).to_string());
        assert_eq!(ask("How do I enable read receipts?", false), 200);
        assert_eq!(ask("How can I enable read receipts?", false), 200);
        assert_eq!(ask("How do I enable read receipts?", true), 200);
        assert_eq!(ask("How do I disable read receipts?", true), 200);
        let full = match path {
            "/v1/messages" => "document-429-anthropic",
            _ if gemini => "document-429-google",
            _ => "document-429-openai",
        };
        assert_eq!(ask(full, false), 429);
        assert_eq!(send(&known, false, "{"), 400);
        assert_eq!(send(&known[1..], false, "{}"), 401);
        let never = [known[0], known[1], ("X-Deja-Cache", "only")];
        assert_eq!(send(&never, false, &question(path, model, "document-504", false).to_string()), 504);
        if !gemini {
            assert_eq!(send(&known, false, &question(path, "nobody-s", "a", false).to_string()), 404);
        }
    }
    // Headers decide the shape, that of errors too.
    for shape in [None, Some(("anthropic-version", "2023-06-01")), Some(("x-goog-api-key", &*tenant.key))] {
        let headers: Vec<_> = [("Authorization", key.as_str())].into_iter().chain(shape).collect();
        for path in ["/v1/models", "/v1beta/models"] {
            let list = world.deja.request("GET", path, &headers, b"");
            told(&list, "get", path, &document);
            assert_eq!(list.status, 200);
            let none = world.deja.request("GET", &format!("{path}/nobody-s"), &headers, b"");
            told(&none, "get", &format!("{path}/{{model}}"), &document);
            assert_eq!(none.status, 404);
        }
    }
    told(&world.deja.get("/readyz"), "get", "/readyz", &document);
}

#[test]
fn answers_of_the_admin_api_are_what_the_document_says() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let document = deja.get("/openapi.json").json();
    let ada = Caller::new(&deja, "ada@example.com", "owner", &[]);
    let held = |method: &str, path: &str, body: &str| {
        let response = ada.send(method, path, body.as_bytes());
        told(&response, &method.to_lowercase(), &format!("/admin/v1{path}"), &document);
        response.status
    };
    assert_eq!(held("POST", "/projects", r#"{"name": "Shop"}"#), 201);
    assert_eq!(held("POST", "/projects", "{"), 400);
    assert_eq!(held("GET", "/projects", ""), 200);
    assert_eq!(held("GET", "/audit", ""), 200);
    let stranger = deja.get("/admin/v1/projects");
    told(&stranger, "get", "/admin/v1/projects", &document);
    assert_eq!(stranger.status, 401);
    let none = ada.send("DELETE", "/projects/none", b"");
    told(&none, "delete", "/admin/v1/projects/{slug}", &document);
    assert_eq!(none.status, 404);
    let gone = ada.send("DELETE", "/projects/shop", b"");
    told(&gone, "delete", "/admin/v1/projects/{slug}", &document);
    assert_eq!(gone.status, 204);
}

#[test]
fn what_is_always_there_is_required_in_the_document() {
    let document = World::shared().deja.get("/openapi.json").json();
    let answer = "/paths/~1v1~1cache~1query/post/responses/200/content/application~1json/schema";
    let answer = document.pointer(answer).unwrap();
    assert_eq!(optional(answer, &document), ["debug"]);
    // Neither is ever null.
    let debug = &answer["properties"]["debug"];
    assert!(conforms(&Value::Null, debug, &document).is_err(), "{debug}");
    assert_eq!(optional(debug, &document), ["cache_entry_count", "ignored_fields"]);
}
