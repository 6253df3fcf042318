//! The admin API: each route over a socket, what a token may, and requests made from the OpenAPI document.

use serde_json::{Value, json};

use crate::fuzz::{any_value, example};
use crate::util::{Deja, FakeProvider, Random, Response};

const PASSWORD: &str = "correct horse battery staple";

/// An operator's token.
pub struct Caller<'a> {
    deja: &'a Deja,
    token: String,
}

impl<'a> Caller<'a> {
    pub fn new(deja: &'a Deja, email: &str, role: &str, more: &[&str]) -> Self {
        let made = deja.command(&["operator", "create", email, "--role", role, "--password-stdin"]);
        assert!(with_input(made, PASSWORD), "{}", deja.log());
        Self::again(deja, email, more)
    }

    /// Another token of the same operator.
    fn again(deja: &'a Deja, email: &str, more: &[&str]) -> Self {
        let create = ["token", "create", "--operator", email, "--name", "tests"];
        Self { deja, token: deja.cli(&[&create[..], more].concat()) }
    }

    pub fn send(&self, method: &str, path: &str, body: &[u8]) -> Response {
        let authorization = format!("Bearer {}", self.token);
        let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
        self.deja.request(method, &format!("/admin/v1{path}"), &headers, body)
    }

    #[track_caller]
    fn ok(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let answer = self.send(method, path, &bytes);
        let expected = match (method, body) {
            ("POST", _) => 201,
            ("DELETE", _) => 204,
            _ => 200,
        };
        assert_eq!(answer.status, expected, "{method} {path}: {}", answer.text());
        if expected == 204 { Value::Null } else { answer.json() }
    }

    #[track_caller]
    fn refused(&self, method: &str, path: &str, body: &Value, status: u16, cause: &str) -> String {
        let answer = self.send(method, path, body.to_string().as_bytes());
        let said = (answer.status, answer.header("x-deja-error"));
        assert_eq!(said, (status, Some(cause)), "{method} {path} {body}: {}", answer.text());
        answer.detail(status)
    }
}

pub fn with_input(mut command: std::process::Command, input: &str) -> bool {
    use std::io::Write as _;
    let pipe = std::process::Stdio::piped;
    let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap().status.success()
}

#[test]
fn what_the_console_does_is_done_over_the_admin_api_with_the_same_audit_rows() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let ada = Caller::new(&deja, "ada@example.com", "owner", &[]);
    let made = ada.ok("POST", "/projects", Some(&json!({"name": "My team", "tier": "pro"})));
    assert_eq!((&made["slug"], &made["requests_per_minute"]), (&json!("my-team"), &json!(1000)));
    assert!(made.get("week").is_none(), "what it did was not looked up: {made}");
    assert_eq!(ada.ok("GET", "/projects", None)["data"][0]["slug"], "my-team");

    let settings = json!({"default_threshold": 0.9, "minimum_threshold": 0.8, "ttl_seconds": null, "guard": "strict",
        "requests_per_minute": 50, "opt_ins": ["semantic_json"], "guard_model": "m", "guard_budget_usd": 0.5});
    let set = ada.ok("PATCH", "/projects/my-team", Some(&settings));
    for (name, value) in settings.as_object().unwrap() {
        assert_eq!(&set[name], value, "{name}");
    }
    // What is not given stays, and null takes a setting away.
    let set =
        ada.ok("PATCH", "/projects/my-team", Some(&json!({"default_threshold": null, "guard_model": ""})));
    assert_eq!((&set["default_threshold"], &set["minimum_threshold"]), (&Value::Null, &json!(0.8)));
    assert_eq!((&set["guard_model"], &set["guard"]), (&Value::Null, &json!("strict")));
    for none in [json!(null), json!("")] {
        let set = ada.ok("PATCH", "/projects/my-team", Some(&json!({"guard_model": "m", "guard": "off"})));
        assert_eq!(set["guard_model"], "m");
        let set =
            ada.ok("PATCH", "/projects/my-team", Some(&json!({"guard_model": none, "guard": "strict"})));
        assert_eq!((&set["guard_model"], &set["guard"]), (&Value::Null, &json!("strict")), "{none}");
    }

    let odd = json!({"guard_model": "a\u{0}b"});
    ada.refused("PATCH", "/projects/my-team", &odd, 400, "bad_request");

    let wish = json!({"name": "ci", "requests_per_minute": 5, "expires": "2035-01-31T00:00:00Z"});
    let key = ada.ok("POST", "/projects/my-team/keys", Some(&wish));
    assert_eq!((&key["burst"], &key["status"]), (&json!(6), &json!("Active")));
    let plain = key["key"].as_str().unwrap();
    let ask = || deja.post(plain, "/v1/cache/query", b"{}").status;
    assert_eq!(ask(), 400, "the key works");
    ada.ok("PUT", "/projects/my-team/state", Some(&json!({"state": "suspended"})));
    assert_eq!(ask(), 403);
    let active = ada.ok("PUT", "/projects/my-team/state", Some(&json!({"state": "active"})));
    assert_eq!(active["state"], "active");
    ada.ok("DELETE", &format!("/projects/my-team/keys/{}", key["id"].as_str().unwrap()), None);
    assert_eq!(ask(), 401);
    assert_eq!(ada.ok("GET", "/projects/my-team/keys", None)["data"][0]["status"], "Revoked");

    let new = json!({"name": "house", "base_url": "http://127.0.0.1:9/v1", "models": ["m"], "secret": "hush-1",
        "allow_private": true});
    let added = ada.ok("POST", "/projects/my-team/providers", Some(&new));
    assert_eq!((&added["has_secret"], added.get("secret")), (&json!(true), None));
    let moved = json!({"models": ["m", "n"]});
    let changed = ada.ok("PATCH", "/projects/my-team/providers/house", Some(&moved));
    assert_eq!((&changed["models"], &changed["allow_private"]), (&json!(["m", "n"]), &json!(true)));
    assert_eq!(changed["has_secret"], true, "what is not given stays");
    let odd = json!({"kind": "gemini", "models": ["a:b"]});
    ada.refused("PATCH", "/projects/my-team/providers/house", &odd, 400, "bad_request");
    let open = ada.ok("PATCH", "/projects/my-team/providers/house", Some(&json!({"secret": null})));
    assert_eq!((&open["has_secret"], &open["models"]), (&json!(false), &json!(["m", "n"])));
    ada.ok("DELETE", "/projects/my-team/providers/house", None);
    assert_eq!(ada.ok("GET", "/projects/my-team/providers", None), json!({"data": []}));

    let rows = ada.ok("GET", "/audit?project=my-team&limit=100", None);
    let rows = rows["data"].as_array().unwrap();
    let actions: Vec<_> = rows.iter().map(|row| row["action"].as_str().unwrap()).collect();
    let expected = [
        "provider.remove", "provider.set", "provider.set", "provider.add", "key.revoke", "project.resume",
        "project.suspend", "key.create", "project.set", "project.set", "project.set", "project.set",
        "project.set", "project.set", "project.create",
    ];
    assert_eq!(actions, expected);
    assert!(rows.iter().all(|row| row["actor"] == "ada@example.com"), "{rows:?}");
    let found = |filter: &str| {
        let rows = ada.ok("GET", &format!("/audit?project=my-team&{filter}"), None);
        rows["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["action"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("action=key.revoke"), ["key.revoke"]);
    assert_eq!(found("actor=ada@example.com&action=provider.set"), ["provider.set"; 2]);
    assert_eq!(found("actor=cli"), [""; 0]);
    assert_eq!(found("from=2099-01-01T00:00:00Z"), [""; 0]);
    assert_eq!(found("until=2020-01-01T00:00:00%2B02:00"), [""; 0]);
    assert_eq!(found("from=2020-01-01T00:00:00Z&until=2099-01-01T00:00:00Z&limit=100"), expected);
    assert_eq!(found(&format!("limit=2&before={}", rows[1]["number"])), expected[2..4]);
    ada.ok("DELETE", "/projects/my-team", None);
    ada.refused("GET", "/projects/my-team", &json!({}), 404, "not_found");
    for secret in ["hush-1", plain, &ada.token] {
        assert!(!deja.log().contains(secret));
    }
}

#[test]
fn a_member_cannot_do_what_is_an_owners() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let ada = Caller::new(&deja, "ada@example.com", "owner", &[]);
    let bob = Caller::new(&deja, "bob@example.com", "member", &[]);
    bob.ok("POST", "/projects", Some(&json!({"name": "Shop"})));
    let private =
        json!({"name": "own", "base_url": "http://10.0.0.1/v1", "models": ["m"], "allow_private": true});
    let none = json!({});
    for (method, path, body) in [
        ("POST", "/projects", &json!({"name": "Rich", "tier": "enterprise"})),
        ("POST", "/projects", &json!({"name": "Rich", "requests_per_minute": 9000})),
        ("POST", "/projects", &json!({"name": "Rich", "burst": 9000})),
        ("PATCH", "/projects/shop", &json!({"tier": "pro"})),
        ("PATCH", "/projects/shop", &json!({"requests_per_minute": 9000})),
        ("PATCH", "/projects/shop", &json!({"name": "Shop 2", "burst": 9000})),
        ("POST", "/projects/shop/providers", &private),
        ("GET", "/audit", &none),
    ] {
        bob.refused(method, path, body, 403, "owners_only");
    }
    assert_eq!(bob.ok("GET", "/projects", None)["data"].as_array().unwrap().len(), 1);
    bob.ok("PATCH", "/projects/shop", Some(&json!({"guard": "off"})));
    // The permission is for one server: pointed elsewhere by a member, the provider has none.
    ada.ok("POST", "/projects/shop/providers", Some(&private));
    let place = "/projects/shop/providers/own";
    bob.refused("PATCH", place, &json!({"base_url": "http://10.0.0.2/v1"}), 400, "bad_request");
    bob.refused(
        "PATCH",
        place,
        &json!({"base_url": "http://10.0.0.2/v1", "allow_private": true}),
        400,
        "bad_request",
    );
    bob.refused("PATCH", place, &json!({"allow_private": false}), 403, "owners_only");
    assert_eq!(bob.ok("PATCH", place, Some(&json!({"models": ["n"]})))["allow_private"], true);
}

/// Addresses of a project's routes, filled in.
fn at(route: &Route, slug: &str) -> String {
    let path = route.path.replace("{slug}", slug).replace("{name}", "own");
    path.replace("{id}", "djk_1").replace("{email}", "bob@example.com")
}

#[test]
fn a_project_is_there_for_its_members_alone() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let ada = Caller::new(&deja, "ada@example.com", "owner", &[]);
    let bob = Caller::new(&deja, "bob@example.com", "member", &[]);
    let eve = Caller::new(&deja, "eve@example.com", "member", &[]);
    bob.ok("POST", "/projects", Some(&json!({"name": "Shop"})));
    let routes = routes(&deja.get("/openapi.json").json());
    let mut tried = 0;
    for route in routes.iter().filter(|route| route.path.contains("{slug}")) {
        let body = route.body.as_ref().map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let [theirs, none] = ["shop", "nope"].map(|slug| eve.send(&route.method, &at(route, slug), &body));
        let told = format!("{} {}: {}", route.method, route.path, theirs.text());
        assert_eq!((theirs.status, theirs.header("x-deja-error")), (404, Some("not_found")), "{told}");
        assert_eq!(theirs.text().replace("shop", "nope"), none.text(), "{told}: as where there is none");
        tried += 1;
    }
    assert!(tried >= 14, "{tried}");
    assert_eq!(eve.ok("GET", "/projects", None), json!({"data": []}));

    let (rank, none) = ("/projects/shop/members/eve@example.com", json!({}));
    bob.ok("PUT", rank, Some(&json!({"rank": "viewer"})));
    assert_eq!(eve.ok("GET", "/projects", None)["data"].as_array().unwrap().len(), 1);
    eve.ok("GET", "/projects/shop/keys", None);
    for (method, path, body) in [
        ("GET", "/projects/shop/providers", &none),
        ("GET", "/projects/shop/members", &none),
        ("POST", "/projects/shop/keys", &json!({"name": "ci"})),
        ("PATCH", "/projects/shop", &json!({"guard": "off"})),
    ] {
        eve.refused(method, path, body, 403, "rank_too_low");
    }
    bob.ok("PUT", rank, Some(&json!({"rank": "editor"})));
    eve.ok("PATCH", "/projects/shop", Some(&json!({"guard": "off"})));
    for (method, path, body) in [
        ("PUT", rank, &json!({"rank": "owner"})),
        ("DELETE", rank, &none),
        ("PUT", "/projects/shop/state", &json!({"state": "suspended"})),
        ("DELETE", "/projects/shop", &none),
    ] {
        eve.refused(method, path, body, 403, "rank_too_low");
    }
    let members = json!({"data": [{"email": "bob@example.com", "rank": "owner"}, {"email": "eve@example.com", "rank": "editor"}]});
    assert_eq!(ada.ok("GET", "/projects/shop/members", None), members);
    bob.refused(
        "PUT",
        "/projects/shop/members/who@example.com",
        &json!({"rank": "editor"}),
        404,
        "not_found",
    );
    bob.refused("PUT", rank, &json!({"rank": "king"}), 400, "bad_request");
    bob.ok("DELETE", rank, None);
    bob.refused("DELETE", rank, &none, 404, "not_found");
    eve.refused("GET", "/projects/shop", &none, 404, "not_found");
    bob.ok("PUT", "/projects/shop/state", Some(&json!({"state": "suspended"})));
    bob.ok("DELETE", "/projects/shop", None);
}

#[test]
fn a_token_is_its_operators_until_it_expires_is_revoked_or_they_are_disabled() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let ada = Caller::new(&deja, "ada@example.com", "owner", &[]);
    let key = {
        let slug = deja.cli(&["project", "create", "shop"]);
        deja.cli(&["key", "create", "--project", &slug, "--name", "k"])
    };
    let none = json!({});
    let anonymous = deja.get("/admin/v1/projects");
    assert_eq!((anonymous.status, anonymous.header("x-deja-error")), (401, Some("no_access_token")));
    for foreign in [&key, &format!("djt_{}", "0".repeat(64)), "x"] {
        let stranger = Caller { deja: &deja, token: foreign.to_owned() };
        stranger.refused("GET", "/projects", &none, 401, "unknown_access_token");
    }
    // An access token is no key.
    assert_eq!(deja.post(&ada.token, "/v1/cache/query", b"{}").status, 401);

    let brief = Caller::again(&deja, "ada@example.com", &["--expires", "1s"]);
    std::thread::sleep(std::time::Duration::from_secs(1));
    brief.refused("GET", "/projects", &none, 401, "expired_access_token");
    let other = Caller::again(&deja, "ada@example.com", &[]);
    other.ok("GET", "/projects", None);
    deja.cli(&["token", "revoke", "--operator", "ada@example.com", &other.token]);
    other.refused("GET", "/projects", &none, 401, "unknown_access_token");
    ada.ok("GET", "/projects", None);
    let listed: Value = serde_json::from_slice(
        &deja.try_cli(&["token", "list", "--operator", "ada@example.com", "--json"]).stdout,
    )
    .unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert!(listed[0]["last_used"].is_string() && !listed.to_string().contains(&ada.token));
}

#[test]
fn an_address_that_sends_tokens_that_are_none_has_to_wait() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let ada = Caller::new(&deja, "ada@example.com", "owner", &[]);
    let guess = Caller { deja: &deja, token: format!("djt_{}", "0".repeat(64)) };
    for _ in 0..30 {
        guess.refused("GET", "/projects", &json!({}), 401, "unknown_access_token");
    }
    for caller in [&guess, &ada] {
        let refused = caller.send("GET", "/projects", b"");
        let said = (refused.status, refused.header("x-deja-error"));
        assert_eq!(said, (429, Some("too_many_attempts")));
        assert!(refused.number("retry-after") > 0);
    }
    assert_eq!(deja.get("/console/sign-in").status, 200, "sign-in counts for itself");
}

/// What a request of the document may get.
struct Route {
    method: String,
    path: String,
    body: Option<Value>,
    statuses: Vec<u16>,
}

fn routes(document: &Value) -> Vec<Route> {
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(path) = path.strip_prefix("/admin/v1") else { continue };
            let schema = operation.pointer("/requestBody/content/application~1json/schema");
            routes.push(Route {
                method: method.to_uppercase(),
                path: path.to_owned(),
                body: schema.map(|schema| example(schema, document)),
                statuses: operation["responses"]
                    .as_object()
                    .unwrap()
                    .keys()
                    .map(|s| s.parse().unwrap())
                    .collect(),
            });
        }
    }
    routes
}

#[test]
fn what_is_wrong_with_a_member_is_told_in_words_of_the_document() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let ada = Caller::new(&deja, "ada@example.com", "owner", &[]);
    ada.ok("POST", "/projects", Some(&json!({"name": "My team"})));
    let (projects, project, keys) = ("/projects", "/projects/my-team", "/projects/my-team/keys");
    for (method, path, body, told) in [
        ("POST", projects, r#"{"name": 1}"#, "name must be a string"),
        ("POST", projects, r#"{"name": "a", "name": "b"}"#, "name is there twice"),
        ("POST", projects, "{}", "name is required"),
        ("POST", projects, r#"{"name": x}"#, "invalid JSON at line 1 column 10"),
        (
            "POST",
            projects,
            r#"{"nam": "a"}"#,
            "there is no member `nam`: known are `name`, `tier`, `requests_per_minute`, `burst`",
        ),
        (
            "PATCH",
            project,
            r#"{"requests_per_minute": -1}"#,
            "requests_per_minute must be a whole number, 0 or more",
        ),
        ("PATCH", project, r#"{"burst": 1.5}"#, "burst must be a whole number, 0 or more"),
        ("PATCH", project, r#"{"burst": 4294967296}"#, "burst must be a smaller whole number"),
        ("PATCH", project, r#"{"burst": 0}"#, "the burst, requests at once, must lie between 1 and 1000000"),
        ("PATCH", project, r#"{"samples": 1e20}"#, "samples must be a smaller whole number"),
        ("PATCH", project, r#"{"samples": "1, expected u32"}"#, "samples must be a whole number, 0 or more"),
        ("PATCH", project, r#"{"default_threshold": []}"#, "default_threshold must be a number"),
        (
            "PATCH",
            project,
            r#"{"default_threshold": 2}"#,
            "default_threshold: a threshold must be between 0 and 1",
        ),
        ("PATCH", project, r#"{"share_models": 1}"#, "share_models must be true or false"),
        ("PATCH", project, r#"{"opt_ins": "a"}"#, "opt_ins must be a list"),
        ("PATCH", project, r#"{"client_controls": ["ttl", {}]}"#, "client_controls[1] must be a string"),
        ("PATCH", project, r#"{"tier": 5}"#, "tier must be a string"),
        ("PATCH", project, r#"{"tier": "a"}"#, "tier must be one of `free`, `pro`, `enterprise`"),
        ("PUT", "/projects/my-team/state", r#"{"state": "a"}"#, "state must be `active` or `suspended`"),
        ("POST", keys, r#"{"name": "a", "models": [null]}"#, "models[0] must be a string"),
        (
            "POST",
            keys,
            r#"{"name": "a", "expires": 5}"#,
            "expires must be a time such as 2035-01-31T00:00:00Z",
        ),
        (
            "POST",
            keys,
            r#"{"name": "a", "expires": "2035-02-30"}"#,
            "expires must be a time such as 2035-01-31T00:00:00Z",
        ),
        ("POST", keys, r#"{"name": "a\ud83d"}"#, "name holds half of a surrogate pair"),
        ("GET", "/audit?limit=-1", "", "limit must be a whole number from 1 to 10000"),
        ("GET", "/audit?limit=0", "", "the limit must be from 1 to 10000"),
        ("GET", "/audit?limit=10001", "", "the limit must be from 1 to 10000"),
        ("GET", "/audit?before=x", "", "before must be a whole number, 0 or more"),
        ("GET", "/audit?from=yesterday", "", "from must be a time such as 2035-01-31T00:00:00Z"),
        ("GET", "/audit?until=2035-01-31", "", "until must be a time such as 2035-01-31T00:00:00Z"),
        (
            "GET",
            "/audit?from=2035-01-31T00:00:00Z&until=2035-01-31T00:00:00Z",
            "",
            "until must be later than from",
        ),
        (
            "GET",
            "/audit?actor=ada",
            "",
            "the actor must be an operator's e-mail address, cli, system, key for all API keys, or one of them as rows name it, \
             such as 'key dj_0123abcd'",
        ),
        (
            "GET",
            "/audit?limt=1",
            "",
            "there is no member `limt`: known are `project`, `action`, `actor`, `from`, `until`, `before`, `limit`",
        ),
    ] {
        let answer = ada.send(method, path, body.as_bytes());
        assert_eq!((answer.status, &*answer.detail(400)), (400, told), "{body}");
    }
    let unknown = ada.send("GET", "/audit?action=key.remove", b"").detail(400);
    assert!(unknown.starts_with("there is no action 'key.remove': known are cache.export, "), "{unknown}");
    assert!(unknown.ends_with(", token.create, token.revoke"), "{unknown}");
}

#[test]
fn generated_requests_get_what_the_document_says() {
    const REQUESTS: usize = 3_000;
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let callers = [
        Caller::new(&deja, "ada@example.com", "owner", &[]),
        Caller::new(&deja, "bob@example.com", "member", &[]),
    ];
    let routes = routes(&deja.get("/openapi.json").json());
    assert_eq!(routes.len(), 17);
    let mut random = Random::new(0xad_0001);
    let mut seen = std::collections::BTreeMap::<u16, usize>::new();
    let names = [
        "my-team", "my-team-2", "own", "house", "no", "%00", "%FF", "..", "a b", "djt_", "\u{e9}",
        "bob@example.com",
    ];
    for number in 0..REQUESTS {
        let (route, caller) = (&routes[random.below(routes.len())], &callers[random.below(2)]);
        // Projects live long enough for something to be there twice.
        if (&*route.method, &*route.path) == ("DELETE", "/projects/{slug}") && !random.one_in(10) {
            continue;
        }
        let mut path = route.path.clone();
        for part in ["{slug}", "{name}", "{id}", "{email}"] {
            path = path.replace(part, random.pick(&names));
        }
        if random.one_in(10) {
            path.push_str(
                random.pick(&["?limit=1", "?limit=-1", "?project=my-team", "?x=1", "?project=%FF"]),
            );
        }
        path.retain(|c| c > ' ' && c.is_ascii());
        let mut body = route.body.clone().unwrap_or(Value::Null);
        for _ in 0..random.below(3) {
            random.change(&mut body, &["name", "names", "x"], |random| any_value(random, 0));
        }
        if random.one_in(20) {
            body = any_value(&mut random, 0);
        }
        let mut bytes = if route.body.is_some() { body.to_string().into_bytes() } else { Vec::new() };
        let damage = if random.one_in(8) { random.below(4) } else { 0 };
        random.damage(&mut bytes, damage);
        let answer = caller.send(&route.method, &path, &bytes);
        let told =
            || format!("request {number}: {} {path} {}", route.method, String::from_utf8_lossy(&bytes));
        // A path that was made odd may be none of this route.
        let known = route.statuses.contains(&answer.status) || answer.status == 405 && path.contains("..");
        assert!(known && answer.status < 500, "{}: {}; {}", answer.status, answer.text(), told());
        if answer.status >= 400 {
            let body = answer.json();
            assert!(
                body["detail"].is_string() && answer.header("x-deja-error").is_some(),
                "{body}; {}",
                told()
            );
            let ours = ["u32", "u64", "f64", "variant", "field", "sequence", "deserialize", "integer"];
            let detail = body["detail"].as_str().unwrap_or_default();
            assert!(!ours.iter().any(|word| detail.contains(word)), "{detail}; {}", told());
        }
        *seen.entry(answer.status).or_default() += 1;
    }
    for status in [200, 201, 204, 400, 403, 404, 409] {
        assert!(seen.contains_key(&status), "no answer of {status}: {seen:?}");
    }
    assert!(!deja.log().contains("panicked"));
}
