//! What is looked up while a request is admitted, on PostgreSQL: a replica takes a project for what it was when its key was
//! let in last, and answers by what it is.

use serde_json::{Value, json};

use crate::util::deja::new_database;
use crate::util::http::{Connection, post};
use crate::util::tenant::{MODEL, PATH};
use crate::util::{Deja, FakeProvider, Tenant};
use crate::wire::{counted, question};

const CHAT: &str = "/v1/chat/completions";
const OTHER: &str = "gpt-4o";

fn query(model: &str) -> Value {
    json!({"prompt": "Who wrote Faust?", "model": model, "similarity_threshold": 1, "include_debug": true})
}

fn chat() -> Value {
    question(CHAT, MODEL, "Who wrote Faust?", false)
}

fn two(provider: &FakeProvider) -> [Deja; 2] {
    let url = new_database();
    [(); 2].map(|()| Deja::on(&url, provider))
}

/// Changes the tenant's project on another replica than its own.
fn set(elsewhere: &Deja, tenant: &Tenant<'_>, change: &[&str]) {
    elsewhere.cli(&[&["project", "set", &tenant.slug], change].concat());
}

/// The entry of a hit.
#[track_caller]
fn entry(tenant: &Tenant<'_>, model: &str) -> Option<String> {
    let response = tenant.send(&query(model));
    let entry = response.header("x-deja-entry").map(str::to_owned);
    assert_eq!(response.json()["cache_hit"], entry.is_some(), "{}", response.text());
    entry
}

#[test]
fn a_project_that_another_replica_changed_is_asked_as_it_is() {
    let provider = FakeProvider::start();
    let [deja, elsewhere] = two(&provider);
    let tenant = Tenant::create(&deja, "changed", &[]);
    assert_eq!([MODEL, OTHER].map(|model| entry(&tenant, model)), [None, None]);
    let own = [MODEL, OTHER].map(|model| entry(&tenant, model));
    assert!(own[0].is_some() && own[1].is_some() && own[0] != own[1]);

    set(&elsewhere, &tenant, &["--share-models", "true"]);
    assert_eq!(entry(&tenant, MODEL), None, "models share answers, and there is none of that kind");
    let shared = entry(&tenant, OTHER);
    assert!(shared.is_some() && !own.contains(&shared));
    assert_eq!(entry(&tenant, MODEL), shared);
    set(&elsewhere, &tenant, &["--share-models", "false"]);
    assert_eq!([MODEL, OTHER].map(|model| entry(&tenant, model)), own);

    let asked = json!({"prompt": "Who wrote Faust?", "model": MODEL, "include_debug": true});
    for threshold in ["0.95", "0.9"] {
        set(&elsewhere, &tenant, &["--threshold", threshold]);
        let used = &tenant.ask(&asked)["debug"]["threshold_used"];
        assert_eq!(used.to_string(), threshold);
    }
}

#[test]
fn what_a_wire_format_may_ask_of_the_cache_is_what_the_project_says_now() {
    let provider = FakeProvider::start();
    let [deja, elsewhere] = two(&provider);
    let tenant = Tenant::create(&deja, "controlled", &[]);
    let key = format!("Bearer {}", tenant.key);
    let ask = || {
        let headers = [
            ("Authorization", key.as_str()),
            ("Content-Type", "application/json"),
            ("X-Deja-Context", "a shop"),
        ];
        let response = deja.request("POST", CHAT, &headers, chat().to_string().as_bytes());
        (response.status, response.header("x-deja-cache").map(str::to_owned))
    };
    let answered = |how: &str| (200, Some(how.to_owned()));
    assert_eq!([ask(), ask()], [answered("miss"), answered("hit")]);
    set(&elsewhere, &tenant, &["--client-controls", "none"]);
    assert_eq!(ask().0, 400, "the project does not let its keys send it");
    set(&elsewhere, &tenant, &["--client-controls", "context"]);
    assert_eq!(ask(), answered("hit"));
}

#[test]
fn what_cannot_be_read_is_refused_and_counted_as_ever() {
    let provider = FakeProvider::start();
    let deja = Deja::on(&new_database(), &provider);
    let tenant = Tenant::create(&deja, "unreadable", &[]);
    let stranger =
        Tenant { key: "dj_000102030405060708090a0b0c0d0e0f".into(), slug: String::new(), deja: &deja };
    let mut requests = 0;
    for (path, good) in [(PATH, query(MODEL)), (CHAT, chat())] {
        let known = tenant.post_as(&tenant.key, path, good.to_string().as_bytes());
        assert_eq!(known.status, 200);
        requests += 1;
        for bad in [&b"{"[..], b"[]", b"", b"\xff", b"{\"prompt\": 1, \"model\": []}"] {
            let refused = tenant.post_as(&tenant.key, path, bad);
            assert_eq!((refused.status, refused.header("x-deja-error")), (400, Some("bad_request")));
            requests += 1;
            assert_eq!(stranger.post_as(&stranger.key, path, bad).status, 401);
        }
    }
    let week = counted(&tenant, requests);
    assert_eq!((&week["misses"], &week["refused"], &week["errors"]), (&json!(2), &json!(10), &json!(0)));
}

#[test]
fn a_key_that_is_revoked_while_its_request_comes_is_refused_and_a_strangers_from_then_on() {
    let provider = FakeProvider::start();
    let url = new_database();
    // Whoever waited for a body would wait for longer than the test.
    let patient = || Deja::builder_on(&url, &provider).env("DEJA_BODY_TIMEOUT_MS", "600000").start();
    let (deja, elsewhere) = (patient(), patient());
    let tenant = Tenant::create(&deja, "revoked", &[]);
    for (path, good) in [(PATH, query(MODEL)), (CHAT, chat())] {
        let key = tenant.new_key(&[]);
        let body = good.to_string();
        let request = post(&key, path, &body);
        let begun = |bytes: usize| {
            let mut connection = Connection::open(deja.address()).unwrap();
            connection.send(&request[..bytes]).unwrap();
            connection
        };
        assert_eq!([(); 2].map(|()| tenant.post_as(&key, path, body.as_bytes()).status), [200; 2]);
        let half = request.len() - 9;
        let mut connection = begun(half);
        elsewhere.cli(&["key", "revoke", &key]);
        assert_eq!(connection.ask(&request[half..]).status, 401, "{path}");
        let head = request.len() - body.len();
        assert_eq!(begun(head).receive().unwrap().status, 401, "{path}, without its body");
    }
}

#[test]
fn requests_that_drip_hold_no_connection_to_the_database() {
    let provider = FakeProvider::start();
    let deja = Deja::builder_on(&new_database(), &provider)
        .env("DEJA_DATABASE_POOL_SIZE", "1")
        .env("DEJA_BODY_TIMEOUT_MS", "60000")
        .start();
    let tenant = Tenant::create(&deja, "dripping", &[]);
    assert_eq!(entry(&tenant, MODEL), None);
    assert!(entry(&tenant, MODEL).is_some());
    let request = tenant.request(&query(MODEL));
    let (first, rest) = request.split_at(request.len() - 9);
    let mut dripping: Vec<Connection> = (0..5)
        .map(|_| {
            let mut connection = Connection::open(deja.address()).unwrap();
            connection.send(first).unwrap();
            connection
        })
        .collect();
    assert!(entry(&tenant, MODEL).is_some(), "the only connection is free");
    for connection in &mut dripping {
        assert!(connection.ask(rest).header("x-deja-entry").is_some());
    }
}
