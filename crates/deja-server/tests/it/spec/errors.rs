//! Section 7: what is refused with which status and words, and that every error body has one form.

use serde_json::json;

use crate::util::World;
use crate::util::http::Connection;
use crate::util::tenant::{MODEL, PATH};

/// A body, and a word that the detail must have: the name of the field.
const BAD: &[(&str, &str)] = &[
    // Required fields.
    ("{}", "prompt"),
    (r#"{"model":"gpt-4o-mini"}"#, "prompt"),
    (r#"{"prompt":"x"}"#, "model"),
    (r#"{"prompt":null,"model":"gpt-4o-mini"}"#, "prompt"),
    (r#"{"prompt":"x","model":null}"#, "model"),
    (r#"{"prompt":"","model":"gpt-4o-mini"}"#, "prompt"),
    (r#"{"prompt":" \n\t ","model":"gpt-4o-mini"}"#, "prompt"),
    ("{\"prompt\":\"\u{2003}\u{3000}\",\"model\":\"gpt-4o-mini\"}", "prompt"),
    (r#"{"prompt":"x","model":""}"#, "model"),
    (r#"{"prompt":"x","model":"  "}"#, "model"),
    // Types.
    (r#"{"prompt":1,"model":"gpt-4o-mini"}"#, "prompt"),
    (r#"{"prompt":["x"],"model":"gpt-4o-mini"}"#, "prompt"),
    (r#"{"prompt":{"text":"x"},"model":"gpt-4o-mini"}"#, "prompt"),
    (r#"{"prompt":true,"model":"gpt-4o-mini"}"#, "prompt"),
    (r#"{"prompt":"x","model":4}"#, "model"),
    (r#"{"prompt":"x","model":["gpt-4o-mini"]}"#, "model"),
    (r#"{"prompt":"x","model":"gpt-4o-mini","similarity_threshold":"0.9"}"#, "similarity_threshold"),
    (r#"{"prompt":"x","model":"gpt-4o-mini","similarity_threshold":true}"#, "similarity_threshold"),
    (r#"{"prompt":"x","model":"gpt-4o-mini","similarity_threshold":[0.9]}"#, "similarity_threshold"),
    (r#"{"prompt":"x","model":"gpt-4o-mini","similarity_threshold":{}}"#, "similarity_threshold"),
    (r#"{"prompt":"x","model":"gpt-4o-mini","context":1}"#, "context"),
    (r#"{"prompt":"x","model":"gpt-4o-mini","context":["a"]}"#, "context"),
    (r#"{"prompt":"x","model":"gpt-4o-mini","context":false}"#, "context"),
    (r#"{"prompt":"x","model":"gpt-4o-mini","include_debug":1}"#, "include_debug"),
    (r#"{"prompt":"x","model":"gpt-4o-mini","include_debug":"true"}"#, "include_debug"),
    (r#"{"prompt":"x","model":"gpt-4o-mini","include_debug":[]}"#, "include_debug"),
    // Twice, so that nobody can tell which one counts.
    (r#"{"prompt":"x","prompt":"y","model":"gpt-4o-mini"}"#, "prompt"),
    (r#"{"prompt":"x","model":"gpt-4o-mini","context":null,"context":"b"}"#, "context"),
    // A text that was cut within an emoji.
    (r#"{"prompt":"\ud800","model":"gpt-4o-mini"}"#, "prompt holds half of a surrogate pair"),
    // A model that nobody knows.
    (r#"{"prompt":"x","model":"no-such-model-7"}"#, "no-such-model-7"),
];

const NOT_JSON: &[&str] = &[
    r#"{"prompt":"x","model":"gpt-4o-mini""#,
    r#"{"prompt":"x","model":"gpt-4o-mini"}}"#,
    r#"{"prompt":"x","model":"gpt-4o-mini"} {}"#,
    r#"{"prompt":"x","model":"gpt-4o-mini",}"#,
    "{'prompt':'x','model':'gpt-4o-mini'}",
    r#"{prompt:"x"}"#,
    r#"{"prompt":"x","model":"gpt-4o-mini","similarity_threshold":NaN}"#,
    r#"{"prompt":"x","model":"gpt-4o-mini","similarity_threshold":Infinity}"#,
    r#"{"prompt":"x","model":"gpt-4o-mini","similarity_threshold":.5}"#,
    r#"{"prompt":"x","model":"gpt-4o-mini","similarity_threshold":0x1}"#,
    r#"{"prompt":"x","model":"gpt-4o-mini","similarity_threshold":01}"#,
    "{\"prompt\":\"raw\nnewline\",\"model\":\"gpt-4o-mini\"}",
    "prompt=x&model=gpt-4o-mini",
    "nul",
    "\u{feff}{\"prompt\":\"x\",\"model\":\"gpt-4o-mini\"}",
];

#[test]
fn what_is_wrong_with_a_field_is_400_and_the_detail_names_it() {
    let tenant = World::shared().tenant("bad-fields");
    for (body, word) in BAD {
        let detail = tenant.post(body.as_bytes()).detail(400);
        assert!(detail.contains(word), "{body}: {detail:?} does not have {word:?}");
    }
}

#[test]
fn the_detail_of_a_threshold_outside_the_scale_is_this_to_the_letter() {
    let tenant = World::shared().tenant("threshold-detail");
    for threshold in [json!(1.5), json!(-0.1), json!(2)] {
        let query = json!({"prompt": "x", "model": MODEL, "similarity_threshold": threshold});
        assert_eq!(tenant.send(&query).body, br#"{"detail":"similarity_threshold must be between 0 and 1"}"#);
    }
}

#[test]
fn what_is_not_json_is_400() {
    let tenant = World::shared().tenant("not-json");
    for body in NOT_JSON {
        let detail = tenant.post(body.as_bytes()).detail(400);
        assert!(detail.to_lowercase().contains("json"), "{body}: {detail:?}");
    }
}

#[test]
fn nesting_deeper_than_any_stack_is_harmless() {
    let tenant = World::shared().tenant("deep");
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(r#"{{"prompt":{deep},"model":"{MODEL}"}}"#);
    assert!(tenant.post(body.as_bytes()).detail(400).contains("prompt"));
    tenant.post(deep.as_bytes()).detail(400);
    tenant.post("{\"prompt\":".repeat(50_000).as_bytes()).detail(400);
    // Unknown fields are ignored, whatever they hold.
    let body = format!(r#"{{"prompt":"Who wrote Faust?","model":"{MODEL}","more":{deep}}}"#);
    assert_eq!(tenant.post(body.as_bytes()).status, 200);
}

#[test]
fn json_that_is_no_object_is_400() {
    let tenant = World::shared().tenant("no-object");
    let bodies = [r#"["x","gpt-4o-mini",0.9]"#, "[]", r#""x""#, "17", "null", "true", r#"[{"prompt":"x"}]"#];
    for body in bodies {
        let detail = tenant.post(body.as_bytes()).detail(400);
        assert!(detail.contains("object"), "{body}: {detail:?}");
    }
}

#[test]
fn bytes_that_are_no_utf8_and_empty_bodies_are_400() {
    let tenant = World::shared().tenant("no-text");
    for body in [
        &b"{\"prompt\":\"\xff\xfe\",\"model\":\"gpt-4o-mini\"}"[..],
        b"\xc3\x28",
        b"\x00\x01\x02",
        b"",
        b"  \n ",
    ] {
        let detail = tenant.post(body).detail(400);
        assert!(!detail.is_empty(), "{body:?}");
    }
}

#[test]
fn another_content_type_is_400_and_named() {
    let tenant = World::shared().tenant("content-types");
    let body = json!({"prompt": "x", "model": MODEL}).to_string();
    let key = format!("Bearer {}", tenant.key);
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonl",
        "json",
        "",
        "application/xml",
    ] {
        let headers = [("Authorization", key.as_str()), ("Content-Type", kind)];
        let detail = tenant.deja.request("POST", PATH, &headers, body.as_bytes()).detail(400);
        assert!(detail.contains("Content-Type"), "{kind}: {detail}");
    }
    let detail = tenant.deja.request("POST", PATH, &[("Authorization", &key)], body.as_bytes()).detail(400);
    assert!(detail.contains("Content-Type"), "{detail}");
}

#[test]
fn a_packed_body_is_400_and_says_what_to_send() {
    let tenant = World::shared().tenant("packed-body");
    let key = format!("Bearer {}", tenant.key);
    for (encoding, body) in [("gzip", &b"\x1f\x8b\x08"[..]), ("br", b"{}")] {
        let headers = [
            ("Authorization", key.as_str()),
            ("Content-Type", "application/json"),
            ("Content-Encoding", encoding),
        ];
        let detail = tenant.deja.request("POST", PATH, &headers, body).detail(400);
        assert!(detail.contains("send no Content-Encoding"), "{encoding}: {detail}");
    }
    let body = json!({"prompt": "Who wrote Faust?", "model": MODEL}).to_string();
    for encoding in ["identity", "Identity"] {
        let headers = [
            ("Authorization", key.as_str()),
            ("Content-Type", "application/json"),
            ("Content-Encoding", encoding),
        ];
        assert_eq!(tenant.deja.request("POST", PATH, &headers, body.as_bytes()).status, 200, "{encoding}");
    }
}

#[test]
fn sizes_have_documented_limits_and_going_over_one_is_400() {
    // The defaults of config.default.toml.
    let (prompt_limit, context_limit, body_limit) = (131_072, 16_384, 1_048_576);
    let tenant = World::shared().tenant("sizes");
    let ask = |prompt: usize, context: usize| {
        let (prompt, context) = ("p ".repeat(prompt / 2), "c".repeat(context));
        tenant.send(&json!({"prompt": prompt, "model": MODEL, "context": context}))
    };
    assert_eq!(ask(prompt_limit, 1).status, 200);
    assert!(ask(prompt_limit + 2, 1).detail(400).contains("prompt"));
    assert_eq!(ask(2, context_limit).status, 200);
    assert!(ask(2, context_limit + 1).detail(400).contains("context"));
    let model = "gpt-".to_owned() + &"m".repeat(300);
    assert!(tenant.send(&json!({"prompt": "x", "model": model})).detail(400).contains("model"));
    // Padding outside the fields counts for the body alone.
    let body = |length: usize| {
        let body = json!({"prompt": "x", "model": MODEL}).to_string();
        format!("{body}{}", " ".repeat(length - body.len()))
    };
    assert_eq!(tenant.post(body(body_limit).as_bytes()).status, 200);
    assert!(tenant.post(body(body_limit + 1).as_bytes()).detail(400).contains(&body_limit.to_string()));
}

#[test]
fn a_body_announced_as_too_large_is_refused_before_it_is_sent() {
    let tenant = World::shared().tenant("announced");
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: 999999999999\r\n\r\n",
        tenant.key
    );
    let mut connection = crate::util::http::Connection::open(tenant.deja.address()).unwrap();
    connection.ask(head.as_bytes()).detail(400);
}

#[test]
fn what_is_not_there_is_404_and_another_method_is_405_in_the_same_form() {
    let deja = &World::shared().deja;
    for path in
        ["/v1/cache", "/v1/cache/query/", "/v2/cache/query", "/p/x/y", "/.env", "/v1/cache/query%2f", "//"]
    {
        deja.request("POST", path, &[], b"{}").detail(404);
        deja.get(path).detail(404);
    }
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"] {
        let response = deja.request(method, PATH, &[], b"");
        response.detail(405);
        assert!(
            response.header("allow").is_some_and(|allow| allow.contains("POST")),
            "{method}: {response:?}"
        );
    }
    deja.request("POST", "/livez", &[], b"").detail(405);
    assert_eq!(deja.request("HEAD", PATH, &[], b"").status, 405);
}

#[test]
fn every_answer_has_a_request_id_of_its_own() {
    let tenant = World::shared().tenant("request-id");
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        for response in [
            tenant.send(&json!({"prompt": "Who wrote Faust?", "model": MODEL})),
            tenant.post(b"{}"),
            tenant.post_as("dj_nonsense", PATH, b"{}"),
            tenant.deja.get("/nowhere"),
            tenant.deja.get("/livez"),
        ] {
            let id = response.header("x-request-id").unwrap_or_else(|| panic!("{response:?}")).to_owned();
            assert!(!id.is_empty() && seen.insert(id.clone()), "{id} came twice");
        }
    }
}

#[test]
fn a_callers_own_request_id_comes_back_if_it_is_harmless() {
    let deja = &World::shared().deja;
    let id = |sent: &str| {
        deja.request("GET", "/livez", &[("X-Request-Id", sent)], b"")
            .header("x-request-id")
            .map(str::to_owned)
    };
    assert_eq!(id("abc-123_X.y").as_deref(), Some("abc-123_X.y"));
    for bad in ["a b", "<script>", "\u{e9}", &"x".repeat(65)] {
        assert_ne!(id(bad).as_deref(), Some(bad), "{bad}");
    }
}

#[test]
fn what_is_not_http_is_refused_in_the_same_form() {
    let world = World::shared();
    let many = "X-Many: 1\r\n".repeat(150);
    let (address, field) = ("a".repeat(70_000), "a".repeat(200_000));
    for (request, status) in [
        ("GARBAGE\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n".to_owned(), 400),
        ("GET /\u{1} HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"), 431),
        (format!("GET /{address} HTTP/1.1\r\nHost: a\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX-Long: {field}\r\n\r\n"), 431),
    ] {
        let mut connection = Connection::open(world.deja.address()).unwrap();
        let response = connection.ask(request.as_bytes());
        let start = &request[..request.len().min(40)];
        assert!(!response.detail(status).is_empty(), "{start:?}");
        assert!(response.header("x-request-id").is_some(), "{start:?}");
        assert_eq!(response.header("content-type"), Some("application/json"), "{start:?}");
    }
}
