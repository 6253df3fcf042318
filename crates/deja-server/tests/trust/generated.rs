//! Generated requests over every path of the OpenAPI document and the formats of applications: no fault of deja's own, no
//! panic, and errors in the published shapes.

use serde_json::{Value, json};

use crate::fuzz::{any_value, operations, run};
use crate::trial::{Goals, Rounds, Trial};
use crate::util::http::{Connection, request};
use crate::util::{Random, Response};
use crate::wire::{CACHED, address, question};
use crate::worlds::{Pair, World};

pub const TRIAL: Trial = Trial {
    name: "generated",
    counts: "requests",
    goals: Goals { few: 2_000, short: 60_000, long: 1_000_000 },
    play,
};

/// Requests of a round to deja's own API, and as many in the formats of applications.
const REQUESTS: usize = 500;
/// Rounds that a pair of servers sees before the next one begins with an empty store.
const ROUNDS_OF_ONE: usize = 100;

fn play(rounds: &mut Rounds<'_>) {
    loop {
        let mut worlds = Pair::new();
        for _ in 0..ROUNDS_OF_ONE {
            let Some(seed) = rounds.next() else { return };
            let (world, key, operations) = &*worlds.turn(seed, |backend| {
                let world = World::start(backend);
                // The slug that the generator knows.
                let (_, key) = world.project("fuzz");
                let operations = operations(&world.deja.get("/openapi.json").json());
                (world, key, operations)
            });
            let statuses = run(world.deja.address(), key, operations, seed, REQUESTS);
            saw(rounds, "own API", &statuses);
            let statuses = formats(world, key, seed);
            saw(rounds, "formats", &statuses);
            world.assert_sound();
            world.provider.forget();
            rounds.done(2 * REQUESTS as u64);
        }
    }
}

/// How many answers there were of each status.
fn saw(rounds: &mut Rounds<'_>, of: &str, statuses: &[usize]) {
    for (status, count) in statuses.iter().enumerate().filter(|(_, count)| **count > 0) {
        rounds.saw(&format!("{of}, {status}"), *count as u64);
    }
}

/// Where a format is asked, with a body that it takes.
fn places() -> Vec<(String, Value)> {
    let mut places = Vec::new();
    for (path, model) in CACHED {
        for stream in [false, true] {
            places.push((address(path, stream), question(path, model, "How do I open it?", stream)));
        }
    }
    let counted = question("/v1/messages", "claude-haiku-4-5", "How long is it?", false);
    let passed = [
        ("/v1/embeddings", json!({"model": "text-embedding-3-small", "input": "text"})),
        ("/v1/completions", json!({"model": "gpt-4o-mini", "prompt": "text"})),
        ("/v1/messages/count_tokens", counted),
    ];
    places.extend(passed.map(|(path, body)| (path.to_owned(), body)));
    places
}

/// Names of members that some format knows, and others.
const NAMES: [&str; 10] =
    ["stream", "tools", "n", "temperature", "store", "system", "seed", "metadata", "x", ""];

/// The bytes of a body near one that is taken.
fn body(random: &mut Random, valid: &Value) -> Vec<u8> {
    let mut value = valid.clone();
    for _ in 0..random.below(4) {
        random.change(&mut value, &NAMES, |random| any_value(random, 0));
    }
    let mut bytes = value.to_string().into_bytes();
    if random.one_in(6) && !bytes.is_empty() {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => bytes[at] = random.bits() as u8,
            1 => bytes.truncate(at),
            2 => bytes.splice(at..at, b"[".repeat(random.below(3000))).for_each(drop),
            _ => bytes.splice(at..at, b"9".repeat(random.below(400))).for_each(drop),
        }
    }
    bytes
}

fn formats(world: &World, key: &str, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let places = places();
    let mut statuses = vec![0; 600];
    let mut connection = Connection::open(world.deja.address()).unwrap();
    for n in 0..REQUESTS {
        let (path, valid) = &places[random.below(places.len())];
        let prefix = if random.one_in(4) { "/p/fuzz" } else { "" };
        let method =
            if random.one_in(20) { random.pick(&["GET", "PUT", "DELETE", "OPTIONS"]) } else { "POST" };
        let path = format!("{prefix}{path}");
        let bytes = body(&mut random, valid);
        let key = if random.one_in(20) { "none" } else { key };
        let authorization = format!("Bearer {key}");
        let control =
            random.pick(&["", "exact", "bypass", "off", "refresh", "\u{fc}", "semantic; threshold=2"]);
        let as_google =
            [("x-goog-api-key", key), ("Content-Type", "application/json"), ("X-Deja-Cache", control)];
        let as_openai = [
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("X-Deja-Cache", control),
        ];
        let headers = if path.contains("v1beta") { as_google } else { as_openai };
        connection.send(&request(method, &path, &headers, &bytes)).unwrap();
        let told = || format!("request {n}: {method} {path} {}", String::from_utf8_lossy(&bytes));
        let response = connection.receive().unwrap_or_else(|error| panic!("{error}; {}", told()));
        check(&path, &response, &told);
        statuses[usize::from(response.status)] += 1;
        if response.header("connection") == Some("close") {
            connection = Connection::open(world.deja.address()).unwrap();
        }
    }
    statuses
}

/// Asserts the shape of an answer. The fake provider always gives one.
fn check(path: &str, response: &Response, told: &dyn Fn() -> String) {
    let status = response.status;
    let busy = matches!(status, 503 | 529) && response.header("retry-after").is_some();
    assert!(status < 500 || busy, "{status} {}; {}", response.text(), told());
    if status < 400 {
        return;
    }
    assert!(response.header("x-request-id").is_some_and(|id| !id.is_empty()), "{response:?}; {}", told());
    let body = response.json();
    assert!(body.get("detail").is_none(), "{body}; {}", told());
    assert!(body["error"]["message"].as_str().is_some_and(|said| !said.is_empty()), "{body}; {}", told());
    let shaped = if path.contains("v1beta") {
        body["error"]["code"] == status && body["error"]["status"].is_string()
    } else if path.contains("/messages") {
        body["type"] == "error" && body["error"]["type"].is_string()
    } else {
        body["error"]["type"].is_string()
    };
    assert!(shaped, "{body}; {}", told());
}
