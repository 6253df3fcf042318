//! Section 2.1: the fields of a query, their defaults, and what is ignored.

use serde_json::{Value, json};

use crate::util::World;
use crate::util::tenant::MODEL;

#[test]
fn prompt_and_model_are_enough() {
    let tenant = World::shared().tenant("enough");
    let first = tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": MODEL}));
    assert_eq!(first["cache_hit"], false);
    let second = tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": MODEL}));
    assert_eq!(second["cache_hit"], true);
}

#[test]
fn null_means_the_default_of_every_optional_field() {
    let tenant = World::shared().tenant("nulls");
    let query = json!({"prompt": "Who wrote Faust?", "model": MODEL,
        "similarity_threshold": null, "context": null, "include_debug": null});
    let first = tenant.ask(&query);
    assert_eq!(first["cache_hit"], false);
    assert_eq!(first.get("debug"), None);
    // The null context is the absent one.
    assert_eq!(tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": MODEL}))["cache_hit"], true);
    // The null threshold is 0.85: this paraphrase is above it, as the next test shows for the absent one.
    tenant.ask_for("How do I reset my password?");
    let paraphrase =
        json!({"prompt": "How can I reset my password?", "model": MODEL, "similarity_threshold": null});
    assert_eq!(tenant.ask(&paraphrase)["cache_hit"], true);
}

#[test]
fn unknown_fields_are_ignored() {
    let tenant = World::shared().tenant("unknown-fields");
    let query = json!({"prompt": "Who wrote Faust?", "model": MODEL, "temperature": 0.3, "Prompt": 1,
        "messages": [{"role": "user"}], "": null, "project": "another", "nested": {"prompt": [1, {"a": null}]}});
    assert_eq!(tenant.ask(&query)["cache_hit"], false);
    assert_eq!(tenant.ask(&json!({"prompt": "Who wrote Faust?", "model": MODEL}))["cache_hit"], true);
}

#[test]
fn a_prompt_is_taken_byte_for_byte() {
    let world = World::shared();
    let tenant = world.tenant("bytes");
    let prompts = [
        "  leading and trailing  ",
        "línea\r\nsegunda\tлиния\u{0}NUL \u{1F600} e\u{301}",
        "\"quotes\" \\ and </script> {{braces}}",
        "\u{feff}bom",
    ];
    for prompt in prompts {
        // An exact look-up only, or prompts this odd might answer each other.
        let query =
            json!({"prompt": prompt, "model": MODEL, "similarity_threshold": 1, "context": "spec-bytes"});
        assert_eq!(tenant.ask(&query)["cache_hit"], false, "{prompt:?}");
        let again = tenant.ask(&query);
        assert_eq!(
            (&again["cache_hit"], &again["similarity_score"]),
            (&json!(true), &json!(1.0)),
            "{prompt:?}"
        );
    }
    let sent: Vec<String> = world.provider.calls("spec-bytes").into_iter().map(|call| call.prompt).collect();
    assert_eq!(sent, prompts);
}

#[test]
fn a_body_may_be_escaped_spaced_and_typed_in_any_valid_way() {
    let tenant = World::shared().tenant("escapes");
    tenant.ask_for("Who wrote Faust?");
    let body = " \r\n\t{\"pr\\u006fmpt\" :\"Who wr\\u006Fte Faust?\",\n\"model\":\"gpt-4o\\u002dmini\"}  \n";
    let key = format!("Bearer {}", tenant.key);
    for kind in
        ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/json ;v=1"]
    {
        let headers = [("authorization", key.as_str()), ("CONTENT-TYPE", kind)];
        let response = tenant.deja.request("POST", "/v1/cache/query", &headers, body.as_bytes());
        assert_eq!(response.status, 200, "{kind}: {}", response.text());
        assert_eq!(response.json()["cache_hit"], true, "{kind}");
    }
}

#[test]
fn a_chunked_body_is_read() {
    let tenant = World::shared().tenant("chunked");
    let body = json!({"prompt": "Who wrote Faust?", "model": MODEL}).to_string();
    let (a, b) = body.split_at(9);
    let request = format!(
        "POST /v1/cache/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{a}\r\n{:x};ext=1\r\n{b}\r\n0\r\n\r\n",
        tenant.key,
        a.len(),
        b.len()
    );
    let mut connection = crate::util::http::Connection::open(tenant.deja.address()).unwrap();
    assert_eq!(connection.ask(request.as_bytes()).status, 200);
}

#[test]
fn one_connection_carries_many_queries() {
    let tenant = World::shared().tenant("kept-alive");
    let mut connection = tenant.begin(&json!({"prompt": "Who wrote Faust?", "model": MODEL}));
    let hits: Vec<Value> = (0..5)
        .map(|n| {
            if n > 0 {
                connection
                    .send(&tenant.request(&json!({"prompt": "Who wrote Faust?", "model": MODEL})))
                    .unwrap();
            }
            connection.receive().unwrap().json()["cache_hit"].clone()
        })
        .collect();
    assert_eq!(hits, [false, true, true, true, true]);
}

#[test]
fn a_client_that_waits_for_leave_to_send_the_body_gets_it() {
    use std::io::Read;
    let tenant = World::shared().tenant("expect");
    let body = json!({"prompt": "Who wrote Faust?", "model": MODEL}).to_string();
    let head = format!(
        "POST /v1/cache/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        tenant.key,
        body.len()
    );
    let mut connection = crate::util::http::Connection::open(tenant.deja.address()).unwrap();
    connection.send(head.as_bytes()).unwrap();
    let mut leave = [0; 25];
    connection.stream().read_exact(&mut leave).unwrap();
    assert_eq!(String::from_utf8_lossy(&leave), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(connection.ask(body.as_bytes()).status, 200);
}
