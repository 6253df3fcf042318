//! Hits: an answer that was stored plain is served streamed and the reverse, with new ids and with headers that say what it is.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{CACHED, address, ask, ask_freely, cache, counted, events, id, question, said, send};
use crate::util::provider::{answer_to, stream_response};
use crate::util::{FakeProvider, Reaction, Tenant, World};

/// White space and characters that renderings have lost elsewhere.
const TEXT: &str = "  fn main() {\n\tprintln!(\"h\u{e9}llo \u{1f980}\");\n\n}\t\n and a tail that is longer than one piece of a stream is, twice over, to be sure \n ";

#[test]
fn an_answer_is_served_in_both_renderings_whatever_it_was_stored_as() {
    let world = World::shared();
    for (n, (path, model)) in CACHED.into_iter().enumerate() {
        for stream in [false, true] {
            let tenant = world.tenant(&format!("wire-renderings-{n}-{stream}"));
            let text = format!("wire-renderings {n} {stream}");
            world.provider.on(&text, Reaction::Text(TEXT.into()));
            let cold = ask(&tenant, path, model, &text, stream);
            assert_eq!((cache(&cold), said(path, &cold).as_str()), ("miss", TEXT), "{path}");
            for warm_stream in [stream, !stream] {
                let warm = ask(&tenant, path, model, &text, warm_stream);
                assert_eq!(
                    (cache(&warm), said(path, &warm).as_str()),
                    ("hit", TEXT),
                    "{path} {stream} {warm_stream}"
                );
                assert_eq!(warm.header("x-deja-match"), Some("exact"));
            }
            assert_eq!(world.provider.calls(&text).len(), 1, "{path}");
        }
    }
}

#[test]
fn a_hit_says_what_it_is_in_headers() {
    let world = World::shared();
    let tenant = world.tenant("wire-evidence");
    let (path, model) = CACHED[0];
    let cold = ask_freely(&tenant, path, model, "How do I reset my wire-evidence password?", false);
    assert_eq!(cold.header("x-deja-provider"), Some("openai"));
    assert!(cold.header("x-deja-entry").is_none() && cold.header("age").is_none());
    for stream in [false, true] {
        let text = "How do I reset my wire-evidence password?";
        let warm = ask_freely(&tenant, path, model, text, stream);
        assert_eq!((cache(&warm), warm.header("x-deja-match")), ("hit", Some("exact")));
        assert_eq!(warm.header("x-deja-similarity"), Some("1.0000"));
        assert_eq!(warm.header("x-deja-entry").map(str::len), Some(36));
        assert!(warm.number("age") >= 0);
        let saved: f64 = warm.header("x-deja-saved").unwrap().parse().unwrap();
        assert!(saved > 0.0);
        assert_eq!(warm.header("cache-control"), Some("private, no-store"));
        assert_eq!(warm.header("x-accel-buffering"), stream.then_some("no"));
    }
    let close = ask_freely(&tenant, path, model, "How can I reset my wire-evidence password?", true);
    assert_eq!((cache(&close), close.header("x-deja-match")), ("hit", Some("semantic")));
    let similarity: f64 = close.header("x-deja-similarity").unwrap().parse().unwrap();
    assert!((0.85..1.0).contains(&similarity));
    assert_eq!(world.provider.calls("wire-evidence").len(), 1);
}

#[test]
fn a_hit_whose_price_is_not_known_says_nothing_of_savings() {
    let world = World::shared();
    let (tenant, own) = (world.tenant("wire-unpriced"), FakeProvider::start());
    let url = format!("{}/v1", own.url());
    tenant.deja.cli(&tenant.provider_add("house", &url, "house/model-1", &["--allow-private"]));
    for expected in ["miss", "hit"] {
        let response = ask(&tenant, CACHED[0].0, "house/model-1", "wire-unpriced", false);
        assert_eq!((cache(&response), response.header("x-deja-saved")), (expected, None));
    }
}

#[test]
fn every_hit_has_an_id_of_its_own_and_one_entry() {
    let world = World::shared();
    let tenant = world.tenant("wire-ids");
    for (path, model) in CACHED {
        let cold = ask(&tenant, path, model, "wire-ids", false);
        let (mut ids, mut entries) = (HashSet::from([id(path, &cold)]), HashSet::new());
        for n in 0..100 {
            let warm = ask(&tenant, path, model, "wire-ids", n % 2 == 0);
            assert!(ids.insert(id(path, &warm)), "{path}");
            entries.insert(warm.header("x-deja-entry").unwrap().to_owned());
        }
        assert_eq!(entries.len(), 1, "{path}");
    }
}

#[test]
fn the_order_of_members_makes_no_difference_and_other_turns_do() {
    let world = World::shared();
    let tenant = world.tenant("wire-order");
    let chat = CACHED[0].0;
    let one =
        r#"{"model":"gpt-4o-mini","temperature":0.5,"messages":[{"role":"user","content":"wire-order"}]}"#;
    let other = r#"{"messages":[{"content":"wire-order","role":"user"}],"stream":false,"temperature":0.5,"model":"gpt-4o-mini"}"#;
    assert_eq!(cache(&send(&tenant, chat, &[], one)), "miss");
    assert_eq!(cache(&send(&tenant, chat, &[], other)), "hit");
    // "How old is he" of two companies.
    let turns = |company: &str| {
        json!({"model": "gpt-4o-mini", "messages": [
            {"role": "user", "content": format!("wire-order: who leads {company}?")},
            {"role": "assistant", "content": "Somebody."},
            {"role": "user", "content": "How old is he?"}]})
        .to_string()
    };
    for company in ["Acme", "Umbrella"] {
        let response = send(&tenant, chat, &[], &turns(company));
        assert_eq!((cache(&response), response.header("x-deja-reason")), ("miss", Some("multi_turn")));
    }
    assert_eq!(cache(&send(&tenant, chat, &[], &turns("Acme"))), "hit");
}

#[test]
fn formats_do_not_share_answers() {
    let world = World::shared();
    let tenant = world.tenant("wire-formats");
    for (path, model) in [CACHED[0], CACHED[1]] {
        assert_eq!(cache(&ask(&tenant, path, model, "wire-formats", false)), "miss");
    }
    assert_eq!(tenant.ask_for("wire-formats")["cache_hit"], false);
    assert_eq!(world.provider.calls("wire-formats").len(), 3);
}

#[test]
fn a_loop_of_tools_gets_each_turn_its_own_answer() {
    let world = World::shared();
    let tenant = world.tenant("wire-tools");
    let chat = CACHED[0].0;
    let tools = json!([{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]);
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "look", "arguments": "{}"}}]});
    let user = json!({"role": "user", "content": "wire-tools"});
    let result = |text: &str| json!({"role": "tool", "tool_call_id": "c1", "content": text});
    let turns = [
        json!([user]),
        json!([user, call, result("one")]),
        json!([user, call, result("one"), call, result("two")]),
    ];
    world.provider.on("wire-tools", Reaction::Numbered);
    let ask = |messages: &serde_json::Value| {
        let body = json!({"model": "gpt-4o-mini", "messages": messages, "tools": tools}).to_string();
        send(&tenant, chat, &[], &body).json()["choices"][0]["message"]["content"].clone()
    };
    let cold: Vec<_> = turns.iter().map(ask).collect();
    let warm: Vec<_> = turns.iter().map(ask).collect();
    assert_eq!(cold, warm);
    assert_eq!(cold.iter().map(ToString::to_string).collect::<HashSet<_>>().len(), 3);
}

#[test]
fn feedback_takes_a_wrong_hit_away() {
    let world = World::shared();
    let tenant = world.tenant("wire-feedback");
    let (path, model) = CACHED[0];
    ask_freely(&tenant, path, model, "How do I open the wire-feedback door?", false);
    let asked = "How can I open the wire-feedback door?";
    let warm = ask_freely(&tenant, path, model, asked, true);
    assert_eq!(warm.header("x-deja-match"), Some("semantic"));
    let name = warm.header("x-request-id").unwrap();
    let body = json!({"request_id": name, "correct": false}).to_string();
    let heard = tenant.post_as(&tenant.key, "/v1/cache/feedback", body.as_bytes());
    assert_eq!((heard.status, &heard.json()["effect"]), (200, &json!("blocked")), "{}", heard.text());
    assert_eq!(cache(&ask_freely(&tenant, path, model, asked, true)), "miss");
}

#[test]
fn usage_stands_at_the_end_of_a_stream_where_it_is_asked_for() {
    let world = World::shared();
    let tenant = world.tenant("wire-usage");
    let (chat, model) = CACHED[0];
    ask(&tenant, chat, model, "wire-usage", false);
    let mut body = question(chat, model, "wire-usage", true);
    let counted = |body: &serde_json::Value| {
        let response = send(&tenant, chat, &[], &body.to_string());
        assert_eq!(cache(&response), "hit");
        events(&response).iter().filter(|event| event["usage"].is_object()).count()
    };
    assert_eq!(counted(&body), 0);
    body["stream_options"] = json!({"include_usage": true});
    assert_eq!(counted(&body), 1);
}

#[test]
fn a_hit_on_a_stream_without_tokens_tells_those_that_deja_counted() {
    let world = World::shared();
    let tenant = world.tenant("wire-uncounted");
    let (chat, model) = CACHED[0];
    let text = "How do I count the wire-uncounted sheep?";
    // As servers stream that were not asked for the tokens.
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!(
            "data: {}\n\n",
            json!({"id": "c", "object": "chat.completion.chunk", "model": model, "choices": [choice]})
        )
    };
    let stream = [
        chunk(json!({"role": "assistant", "content": "One by one."}), Value::Null),
        chunk(json!({}), "stop".into()),
        "data: [DONE]\n\n".into(),
    ];
    world.provider.on("wire-uncounted", Reaction::Bytes(stream_response(&stream)));
    assert_eq!(cache(&ask_freely(&tenant, chat, model, text, true)), "miss");
    let plain = ask_freely(&tenant, chat, model, text, false);
    assert_eq!(cache(&plain), "hit");
    let usage = &plain.json()["usage"];
    let [input, output, total] =
        ["prompt_tokens", "completion_tokens", "total_tokens"].map(|name| usage[name].as_u64().unwrap());
    assert!(input > 0 && output > 0 && total == input + output, "{usage}");
    let mut body = question(chat, model, text, true);
    body["stream_options"] = json!({"include_usage": true});
    let streamed = send(&tenant, chat, &[], &body.to_string());
    assert_eq!(cache(&streamed), "hit");
    assert_eq!(&events(&streamed).last().unwrap()["usage"], usage);
}

#[test]
fn a_response_stays_under_its_id_only_where_the_request_leaves_it_with_the_provider() {
    let world = World::shared();
    let tenant = world.tenant("wire-kept");
    let (path, model) = CACHED[1];
    // Compatible servers do not repeat whether they keep it.
    let answer = json!({"id": "resp_theirs", "object": "response", "created_at": 1, "status": "completed", "model": model,
        "output": [{"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": "Turn it.", "annotations": []}]}],
        "usage": {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}});
    world.provider.on("wire-kept", Reaction::Json(200, answer));
    let asked = "How do I turn the wire-kept key?";
    let hit = |text: &str, store: Value, matched: &str| {
        let mut body = question(path, model, text, false);
        body["store"] = store;
        let response = send(&tenant, path, &[], &body.to_string());
        assert_eq!((cache(&response), response.header("x-deja-match")), ("hit", Some(matched)));
        id(path, &response)
    };
    for store in [json!(false), json!(true), Value::Null] {
        let mut body = question(path, model, asked, false);
        body["store"] = store;
        assert_eq!(cache(&send(&tenant, path, &[], &body.to_string())), "miss");
    }
    let ids = [
        "resp_theirs".to_owned(),
        hit(asked, json!(false), "exact"),
        hit(asked, json!(false), "exact"),
        hit(&asked.replace("do I", "can I"), json!(false), "semantic"),
    ];
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{ids:?}");
    for store in [json!(true), Value::Null] {
        assert_eq!(hit(asked, store, "exact"), "resp_theirs");
    }
}

/// Exports the only entry of a tenant, deletes it, and imports it with another record.
fn spoil(tenant: &Tenant<'_>, record: &str) {
    let file = tenant.deja.data().join(format!("{}.jsonl", tenant.slug));
    let name = file.to_str().unwrap();
    tenant.deja.cli(&["export", name, "--project", &tenant.slug]);
    let mut entry: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(entry["answer"]["record"].is_string(), "{entry}");
    entry["answer"]["record"] = json!(record);
    std::fs::write(&file, format!("{entry}\n")).unwrap();
    tenant.deja.cli(&["cache", "purge", "--project", &tenant.slug, "--yes"]);
    tenant.deja.cli(&["import", name]);
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn an_entry_whose_record_cannot_be_given_is_replaced_by_a_fresh_answer() {
    // A server of its own: its data directory is read and written here.
    let world = World::start();
    for (n, (path, model)) in CACHED.into_iter().enumerate() {
        for stream in [false, true] {
            let tenant = world.tenant(&format!("wire-spoilt-{n}-{stream}"));
            let asked = format!("How do I mend the wire-spoilt door {n} {stream}?");
            assert_eq!(cache(&ask_freely(&tenant, path, model, &asked, stream)), "miss");
            // `{}` in Base64.
            spoil(&tenant, "e30=");
            for expected in ["miss", "hit"] {
                let response = ask_freely(&tenant, path, model, &asked, stream);
                assert_eq!(
                    (cache(&response), said(path, &response)),
                    (expected, answer_to(&asked)),
                    "{path}"
                );
            }
            // One that a similar question would get.
            spoil(&tenant, "e30=");
            let close = asked.replace("do I", "can I");
            for expected in ["miss", "hit"] {
                assert_eq!(cache(&ask_freely(&tenant, path, model, &close, stream)), expected, "{path}");
            }
            assert_eq!(world.provider.calls(&format!("wire-spoilt door {n} {stream}")).len(), 3);
            let week = counted(&tenant, 5);
            assert_eq!(
                (&week["misses"], &week["exact_hits"], &week["errors"]),
                (&json!(3), &json!(2), &json!(0))
            );
        }
    }
}

/// A question with a tool in the format of `path`, and an answer that calls it.
fn with_tool(path: &str, model: &str, text: &str, stream: bool) -> (Value, Value) {
    let mut asked = question(path, model, text, stream);
    let schema = json!({"type": "object", "properties": {}});
    let (tools, answer) = match path {
        "/v1/responses" => (
            json!([{"type": "function", "name": "look", "parameters": schema}]),
            json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": model,
                "output": [{"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "c", "name": "look",
                    "arguments": "{\"at\":1}"}], "store": false,
                "usage": {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}}),
        ),
        "/v1/messages" => (
            json!([{"name": "look", "input_schema": schema}]),
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": model, "stop_reason": "tool_use",
                "stop_sequence": null, "content": [{"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "c", "name": "look", "input": {"at": 1}}],
                "usage": {"input_tokens": 3, "output_tokens": 5}}),
        ),
        _ if path.contains("/models/") => (
            json!([{"functionDeclarations": [{"name": "look"}]}]),
            json!({"candidates": [{"index": 0, "finishReason": "STOP",
                "content": {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"at": 1}}}]}}],
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 5}, "modelVersion": model, "responseId": "r"}),
        ),
        _ => (
            json!([{"type": "function", "function": {"name": "look", "parameters": schema}}]),
            json!({"id": "c-1", "object": "chat.completion", "created": 1, "model": model,
                "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{\"at\":1}"}}]}}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}}),
        ),
    };
    asked["tools"] = tools;
    (asked, answer)
}

#[test]
fn an_answer_that_calls_tools_is_kept_only_where_a_project_wants_it_and_for_the_same_request() {
    let world = World::shared();
    let tenant = world.tenant("wire-calls");
    for opt_ins in ["none", "store_tool_calls", "store_tool_calls,semantic_tools"] {
        tenant.deja.cli(&["project", "set", &tenant.slug, "--opt-ins", opt_ins]);
        for (n, (path, model)) in CACHED.into_iter().enumerate() {
            let asked = format!("How do I find the wire-calls thing {n} {opt_ins}?");
            let (first, answer) = with_tool(path, model, &asked, false);
            world.provider.on(&format!("wire-calls thing {n} {opt_ins}"), Reaction::Json(200, answer));
            let ask = |stream: bool, asked: &str| {
                let body = with_tool(path, model, asked, stream).0.to_string();
                let response = send(&tenant, &address(path, stream), &[], &body);
                assert_eq!(response.status, 200, "{path}: {}", response.text());
                response
            };
            let cold = send(&tenant, &address(path, false), &[], &first.to_string());
            assert_eq!(cache(&cold), "miss", "{path}: {}", cold.text());
            let expected = if opt_ins == "none" { "miss" } else { "hit" };
            let warm = ask(false, &asked);
            assert_eq!(cache(&warm), expected, "{path} {opt_ins}");
            let stream = ask(true, &asked);
            assert_eq!(cache(&stream), expected, "{path} {opt_ins}");
            assert!(stream.text().contains("look") && stream.text().contains("at"), "{}", stream.text());
            // What is matched by meaning may be a question for another call.
            assert_eq!(cache(&ask(false, &asked.replace("do I", "can I"))), "miss", "{path} {opt_ins}");
        }
    }
}

#[test]
fn a_hit_of_responses_cannot_be_continued_at_the_provider_and_says_so() {
    let world = World::shared();
    let tenant = world.tenant("wire-continued");
    let (path, model) = CACHED[1];
    ask(&tenant, path, model, "wire-continued", false);
    let hit = ask(&tenant, path, model, "wire-continued", false);
    let mut next = question(path, model, "wire-continued, and then?", false);
    next["previous_response_id"] = json!(id(path, &hit));
    let refused = send(&tenant, path, &[], &next.to_string());
    let error = &refused.json()["error"];
    assert_eq!((refused.status, &error["code"]), (400, &json!("previous_response_not_found")));
    assert_eq!(error["param"], "previous_response_id");
    assert_eq!(world.provider.calls("wire-continued").len(), 1);
}
