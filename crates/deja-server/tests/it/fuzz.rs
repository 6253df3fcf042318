//! Requests that make no sense, from a generator that reads the served OpenAPI document: never a 5xx, never a
//! panic, and the server goes on.

use std::io;
use std::net::SocketAddr;

use serde_json::{Map, Value, json};

use crate::util::http::{Connection, Response, request};
use crate::util::{Random, World};

const SEED: u64 = 0xf0_0001;
const THREADS: u64 = 2;
const REQUESTS: usize = 20_000;

/// Names of members, and some that are near them.
const NAMES: [&str; 9] =
    ["prompt", "model", "context", "similarity_threshold", "include_debug", "prompts", "model\u{0}", "x", ""];

/// An operation of the document, with a body that it takes.
pub struct Operation {
    method: String,
    path: String,
    pub body: Option<Value>,
}

/// What a schema's example is; enough of JSON Schema for documents made from Rust types.
pub fn example(schema: &Value, document: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return example(document.pointer(reference.trim_start_matches('#')).unwrap(), document);
    }
    if let Some(example) = schema.get("example").or_else(|| schema.get("default")) {
        return example.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find_map(|kind| kind.as_str().filter(|kind| *kind != "null")),
        kind => kind.as_str(),
    };
    match kind {
        Some("object") => {
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            Value::Object(
                properties.iter().map(|(name, schema)| (name.clone(), example(schema, document))).collect(),
            )
        }
        Some("string") => json!("text"),
        Some("number" | "integer") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([example(&schema["items"], document)]),
        _ => Value::Null,
    }
}

/// All that the document describes.
pub fn operations(document: &Value) -> Vec<Operation> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        // The wire formats have errors of their own, and are tried in `wire`.
        // So is the admin API, which wants a token, in `admin_api`.
        let elsewhere = [json!(["wires"]), json!(["admin"])];
        let own =
            item.as_object().unwrap().iter().filter(|(_, operation)| !elsewhere.contains(&operation["tags"]));
        for (method, operation) in own.filter(|(name, _)| *name != "servers") {
            let schema = operation.pointer("/requestBody/content/application~1json/schema");
            let body = schema.map(|schema| example(schema, document));
            found.push(Operation { method: method.to_uppercase(), path: path.clone(), body });
        }
    }
    found
}

/// A value of a random kind.
pub fn any_value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth > 3 { 8 } else { 10 }) {
        0 => Value::Null,
        1 => json!(random.one_in(2)),
        2 => json!(random.bits() as i64),
        3 => json!(random.pick(&[0.0, -0.0, 0.5, 1.0, 1.000_000_1, -1.0, 1e308, -1e308, 5e-324])),
        4 => json!(random.pick(&[
            "", " ", "a", "\u{0}", "\u{feff}", "\u{1F600}", "null", "../../etc/passwd",
            "'; DROP TABLE entries;--"
        ])),
        5 => json!("long ".repeat(random.below(40))),
        6 => json!(char::from_u32(random.bits() as u32 % 0x11_0000).map(String::from).unwrap_or_default()),
        7 => json!(random.pick(&["gpt-4o-mini", "claude-haiku-4-5", "gemini-2.5-flash", "gpt-"])),
        8 => (0..random.below(4)).map(|_| any_value(random, depth + 1)).collect(),
        _ => {
            let members: Map<String, Value> = (0..random.below(4))
                .map(|_| ((random.pick(&NAMES)).to_owned(), any_value(random, depth + 1)))
                .collect();
            Value::Object(members)
        }
    }
}

/// A body near the one in the document.
fn body(random: &mut Random, valid: &Value) -> Vec<u8> {
    let mut value = valid.clone();
    for _ in 0..random.below(4) {
        random.change(&mut value, &NAMES, |random| any_value(random, 0));
    }
    if random.one_in(6) {
        value = any_value(random, 0);
    }
    let mut bytes = value.to_string().into_bytes();
    let times = if random.one_in(4) { random.below(5) } else { 0 };
    random.damage(&mut bytes, times);
    bytes
}

/// A request near one of the document, and whether it is sound HTTP that must get an answer in the published form.
fn make(random: &mut Random, operations: &[Operation], key: &str) -> (Vec<u8>, bool, bool) {
    let operation = &operations[random.below(operations.len())];
    // Most of the paths have nothing to get wrong but the method.
    let queries: Vec<&Operation> = operations.iter().filter(|operation| operation.body.is_some()).collect();
    let operation = if random.one_in(8) { operation } else { random.pick(&queries) };
    let mut method = operation.method.as_str();
    if random.one_in(15) {
        method = random.pick(&["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "FOO"]);
    }
    let slugs = ["a", "fuzz", "fuzz", "%00", "..", "%2e%2e", "\u{1}", "%FF", "%c3%28", "%ED%A0%80", "%66uzz"];
    let mut path = operation.path.replace("{slug}", random.pick(&slugs));
    if random.one_in(15) {
        let more = ["/", "?", "?a=b", "#x", "/..", "//", "%", "%zz", "%00", ";", "?%ff"];
        path.push_str(random.pick(&more));
    }
    path.retain(|c| c > ' ');
    let authorization = match random.below(12) {
        0 => String::new(),
        1 => "Bearer".into(),
        2 => format!("Bearer {}", "0".repeat(random.below(64))),
        3 => format!("bearer  {key}"),
        4 => format!("Basic {key}"),
        _ => format!("Bearer {key}"),
    };
    let kind = if random.one_in(12) {
        random.pick(&["text/plain", "", "application/json;x", "\u{e9}"])
    } else {
        "application/json"
    };
    let odd = random
        .pick(&["Accept", "X-Request-Id", "Cookie", "Origin", "X-Forwarded-For", "Range", "If-None-Match"]);
    let odd_value = random.pick(&["", "*/*", "a,b;c", "\u{fc}", "0", "-1", "<>", "bytes=0-"]);
    let headers = [("Authorization", authorization.as_str()), ("Content-Type", kind), (odd, odd_value)];
    let body = operation.body.as_ref().map(|valid| body(random, valid)).unwrap_or_default();
    let mut bytes = request(method, &path, &headers, &body);
    let sound = !random.one_in(25);
    if !sound {
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = random.bits() as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, random.pick(b"\r\n\0: \xff")),
            }
        }
    }
    (bytes, sound, method == "HEAD")
}

/// Sends requests; returns how many answers of each status came.
pub fn run(
    address: SocketAddr,
    key: &str,
    operations: &[Operation],
    seed: u64,
    requests: usize,
) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut statuses = vec![0; 600];
    let mut connection = Connection::open(address).unwrap();
    for n in 0..requests {
        let (bytes, sound, head) = make(&mut random, operations, key);
        let told = || format!("seed {seed:#x}, request {n}: {:?}", String::from_utf8_lossy(&bytes));
        match exchange(&mut connection, &bytes, sound, head) {
            Ok(response) => {
                check(&response, sound && !head, &told);
                statuses[usize::from(response.status)] += 1;
                if !sound || response.header("connection") == Some("close") {
                    connection = Connection::open(address).unwrap();
                }
            }
            // What is no HTTP may get no answer.
            Err(error) => {
                assert!(!sound, "{error}; {}", told());
                connection = Connection::open(address).unwrap();
            }
        }
    }
    statuses
}

fn exchange(connection: &mut Connection, bytes: &[u8], sound: bool, head: bool) -> io::Result<Response> {
    connection.send(bytes)?;
    if !sound {
        // The server may wait for more of it: tell it that there is none.
        connection.stream().shutdown(std::net::Shutdown::Write)?;
    }
    connection.receive_to(head)
}

fn check(response: &Response, sound: bool, told: &dyn Fn() -> String) {
    let status = response.status;
    let overloaded = status == 503 && response.header("retry-after").is_some();
    assert!(status < 500 || overloaded, "{status} {}; {}", response.text(), told());
    if sound && status >= 400 {
        assert!(response.header("x-request-id").is_some(), "{response:?}; {}", told());
        let body = response.json();
        let members = body.as_object().unwrap_or_else(|| panic!("{body}; {}", told()));
        assert!(members.len() == 1 && members["detail"].is_string(), "{body}; {}", told());
    }
}

#[test]
fn twenty_thousand_requests_that_make_no_sense() {
    let world = World::start();
    let tenant = world.limited("fuzz", "1000000", "1000000");
    let document = world.deja.get("/openapi.json").json();
    let operations = operations(&document);
    assert_eq!(operations.iter().filter(|operation| operation.body.is_some()).count(), 4, "{document}");
    let statuses: Vec<Vec<usize>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|n| {
                let (operations, tenant) = (&operations, &tenant);
                let share = REQUESTS / THREADS as usize;
                scope.spawn(move || run(tenant.deja.address(), &tenant.key, operations, SEED + n, share))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let of = |status: usize| statuses.iter().map(|by_status| by_status[status]).sum::<usize>();
    for status in [200, 400, 401, 403, 404, 405] {
        assert!(of(status) > 20, "only {} answers of {status}: the generator is too tame", of(status));
    }
    let log = world.deja.log();
    assert!(!log.contains("panicked"), "{log}");
    assert_eq!(tenant.ask_for("Who wrote Faust?")["llm_provider"].as_str().map(str::is_empty), Some(false));
    assert_eq!(world.deja.get("/readyz").status, 200);
}
