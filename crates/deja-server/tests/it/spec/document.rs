//! The OpenAPI document says what is answered: each member and each header, with each status.

use serde_json::{Value, json};

use crate::util::tenant::{MODEL, PATH, Tenant};
use crate::util::{Reaction, Response, World};

const FEEDBACK: &str = "/v1/cache/feedback";

/// What a schema stands for.
fn resolved<'a>(schema: &'a Value, document: &'a Value) -> &'a Value {
    let reference = schema["$ref"].as_str();
    reference.map_or(schema, |name| document.pointer(name.trim_start_matches('#')).unwrap())
}

/// Whether a value is what a schema says; enough of JSON Schema for documents made from Rust types.
fn conforms(value: &Value, schema: &Value, document: &Value) -> Result<(), String> {
    let schema = resolved(schema, document);
    if let Some(choices) = schema["oneOf"].as_array() {
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
    let Some(members) = value.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten() {
        members.get(name.as_str().unwrap()).ok_or_else(|| format!("no {name}"))?;
    }
    members.iter().try_for_each(|(name, member)| {
        let said = conforms(member, &schema["properties"][name], document);
        said.map_err(|why| format!("{name}: {why}"))
    })
}

/// Holds an answer of `path` against the document; gives the status, so that nobody tries another one than was meant.
#[track_caller]
fn held(response: &Response, path: &str, document: &Value) -> u16 {
    let status = response.status.to_string();
    let said = &document["paths"][path]["post"]["responses"][status.as_str()];
    let told = format!("{status} of {path}: {response:?}");
    let schema = &said["content"]["application/json"]["schema"];
    assert_eq!(conforms(&response.json(), schema, document), Ok(()), "{told}");
    let headers = said["headers"].as_object().unwrap_or_else(|| panic!("no headers: {told}"));
    for (name, header) in headers {
        let Some(value) = response.header(&name.to_lowercase()) else {
            let some = ["X-Deja-Entry", "X-Deja-Guard", "Retry-After"];
            assert!(some.contains(&name.as_str()), "no {name}: {told}");
            continue;
        };
        let number = value.parse::<u64>().map(Value::from);
        let value = number.unwrap_or_else(|_| value.into());
        let header = resolved(header, document);
        assert!(header["schema"]["type"] == "string" || value.is_u64(), "{name}: {told}");
    }
    let own = |name: &&String| {
        name.starts_with("x-") || ["retry-after", "www-authenticate"].contains(&name.as_str())
    };
    for name in response.headers.iter().map(|(name, _)| name).filter(own) {
        assert!(headers.keys().any(|known| known.eq_ignore_ascii_case(name)), "{name}: {told}");
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
