//! What means the same is the same; the rest of what is asked for.

use deja_wire::{Asked, Endpoint, Mode, Options, Rendering, Wire, identify, passed_text};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::requests::{OPTIONS, ask, identity, key, plain, with};

/// Clients write the same in different ways.
#[test]
fn same_meaning_same_key() {
    let turn = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let input = |item: Value| json!({"input": [item]});
    let message = json!({"role": "user", "content": "q"});
    let typed = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]});
    let part = json!([{"type": "text", "text": "q"}]);
    let cases = [
        (Wire::Chat, turn(json!("q")), turn(part.clone())),
        (Wire::Messages, turn(json!("q")), turn(part.clone())),
        (Wire::Messages, json!({"system": "s"}), json!({"system": [{"type": "text", "text": "s"}]})),
        (Wire::Responses, json!({"input": "q"}), input(message)),
        (Wire::Responses, json!({"input": "q"}), input(typed)),
        (Wire::Chat, json!({}), json!({"stream": false, "n": 1})),
        (Wire::Gemini, json!({}), json!({"generationConfig": {"candidateCount": 1}, "safetySettings": []})),
        (Wire::Gemini, json!({}), json!({"generationConfig": {}})),
    ];
    for (wire, one, other) in cases {
        // The seed makes the same requests exact-only.
        for more in [json!({}), json!({"brand_new": 7})] {
            let key = |members| key(&identity(wire, &with(with(plain(wire), &members), &more)));
            assert_eq!(key(one.clone()), key(other.clone()), "{wire:?} {one} {other}");
        }
    }
}

/// Nothing is rounded, trimmed or folded.
#[test]
fn another_spelling_of_a_value_is_another_request() {
    let with_temperature = |number: &str| {
        let body =
            format!(r#"{{"model":"m","temperature":{number},"messages":[{{"role":"user","content":"q"}}]}}"#);
        key(&ask(Wire::Chat, body.as_bytes(), &OPTIONS).unwrap())
    };
    let numbers = ["1", "1.0", "1e0", "0.70", "0.7", "1e999", "18446744073709551617", "18446744073709551618"];
    let keys: std::collections::BTreeSet<_> =
        numbers.iter().map(|number| format!("{:?}", with_temperature(number))).collect();
    assert_eq!(keys.len(), numbers.len());
    let texts = ["q", "q ", " q", "Q", "q\n"];
    let keys: std::collections::BTreeSet<_> = texts
        .iter()
        .map(|text| {
            identity(Wire::Chat, &json!({"model": "m", "messages": [{"role": "user", "content": text}]})).hash
        })
        .collect();
    assert_eq!(keys.len(), texts.len());
}

/// A text may be written with escapes or without.
#[test]
fn escapes_and_white_space_are_no_part_of_it() {
    for more in ["", r#","seed":1"#] {
        let one =
            format!(r#"{{"model":"m","messages":[{{"role":"user","content":"a/ä\n\u001b😀"}}]{more}}}"#);
        let other = format!(
            "\n{{ \"\\u006dodel\" : \"m\"{more},\t\"messages\":[ {{\"content\":\"a\\/\\u00e4\\u000a\\u001B\\ud83d\\ude00\",\"role\":\"user\"}} ] }} "
        );
        let [one, other] = [one, other].map(|body| ask(Wire::Chat, body.as_bytes(), &OPTIONS).unwrap());
        assert_eq!(one, other);
    }
}

#[test]
fn the_question_is_its_text() {
    for wire in Wire::ALL {
        let plain = identity(wire, &plain(wire));
        assert_eq!(plain.text, "Why is the sky blue?");
        assert_eq!(plain.hash[..], Sha256::digest("Why is the sky blue?")[..]);
        assert_eq!(plain.instructions.as_deref(), Some("Be short."));
        assert_eq!(plain.model, "m");
    }
    let parts = |parts: &[&str]| {
        let parts: Vec<_> = parts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        identity(Wire::Chat, &json!({"model": "m", "messages": [{"role": "user", "content": parts}]}))
    };
    let [one, two, three] = [parts(&["a\nb"]), parts(&["a", "b"]), parts(&["a", "b", ""])];
    assert_eq!((&*one.text, &*two.text, &*three.text), ("a\nb", "a\nb", "a\nb\n"));
    assert_eq!(one.parameters, two.parameters, "a paraphrase is found however it is split");
    assert_ne!(one.hash, two.hash);
    assert_ne!(two.hash, three.hash);
}

#[test]
fn headers_and_query_are_part_of_it() {
    let ask = |headers: &[(&str, &str)], query, more: &Value| {
        let body = with(plain(Wire::Messages), more).to_string();
        let asked =
            Asked { endpoint: Endpoint::Messages, model: None, body: body.as_bytes(), headers, query };
        identify(&asked, &OPTIONS).unwrap()
    };
    for (more, mode) in [(json!({}), Mode::Semantic), (json!({"thinking": {}}), Mode::Exact)] {
        let asked = [
            ask(&[], None, &more),
            ask(&[("anthropic-version", "2023-06-01")], None, &more),
            ask(&[("anthropic-version", "2026-10-21")], None, &more),
            ask(&[("anthropic-beta", "a"), ("anthropic-beta", "b")], None, &more),
            ask(&[], Some("beta=true"), &more),
        ];
        for (at, one) in asked.iter().enumerate() {
            assert_eq!(one.mode, mode);
            assert!(asked[..at].iter().all(|other| key(one) != key(other)), "{at}");
        }
        assert_eq!(asked[3], ask(&[("anthropic-beta", "a, b")], None, &more));
    }
    let odd = ask(&[], Some("beta=true&debug=1"), &json!({}));
    assert_eq!((odd.mode, &*odd.reasons), (Mode::Exact, &["unknown_member"][..]));
    assert_ne!(odd.hash, ask(&[], Some("debug=2"), &json!({})).hash);
}

/// A provider may read another body, or say the same in another form, which is for nobody else.
#[test]
fn what_is_not_json_is_not_cached() {
    let ask = |headers: &[(&str, &str)], query| {
        let body = plain(Wire::Gemini).to_string();
        let endpoint = Endpoint::Gemini { stream: false };
        identify(&Asked { endpoint, model: Some("m"), body: body.as_bytes(), headers, query }, &OPTIONS)
            .unwrap()
    };
    let usual = ask(&[], None);
    for (headers, query) in [
        (&[("content-type", "application/json; charset=utf-8")][..], None),
        (&[("accept", "application/json, text/plain, */*")], None),
        (&[("accept", "Text/Event-Stream")], None),
        (&[("content-type", "application/json"), ("accept", "*/*")], Some("alt=json")),
        (&[], Some("alt=sse")),
    ] {
        assert_eq!(ask(headers, query), usual, "{headers:?} {query:?}");
    }
    for (headers, query, reason) in [
        (&[][..], Some("alt=proto"), "other_output"),
        (&[], Some("alt=json&alt=proto"), "other_output"),
        (&[], Some("alt"), "other_output"),
        (&[("accept", "application/x-protobuf")], None, "other_output"),
        (&[("accept", "*/*"), ("accept", "text/html")], None, "other_output"),
        (&[("content-type", "application/x-protobuf")], None, "ambiguous"),
        (&[("content-type", "application/json"), ("content-type", "text/plain")], None, "ambiguous"),
    ] {
        let found = ask(headers, query);
        assert_eq!((found.mode, &*found.reasons), (Mode::Bypass, &[reason][..]), "{headers:?} {query:?}");
    }
}

#[test]
fn how_an_answer_is_wanted() {
    let rendering = |endpoint, model, query, body: Value| {
        let body = body.to_string();
        let identity =
            identify(&Asked { endpoint, model, body: body.as_bytes(), headers: &[], query }, &OPTIONS)
                .unwrap();
        (identity.rendering, key(&identity))
    };
    let usage = with(plain(Wire::Chat), &json!({"stream": true, "stream_options": {"include_usage": true}}));
    let (found, streamed) = rendering(Endpoint::Chat, None, None, usage);
    assert_eq!(found, Rendering { stream: true, usage: true });
    let (found, whole) = rendering(Endpoint::Chat, None, None, plain(Wire::Chat));
    assert_eq!((found, streamed), (Rendering::default(), whole));
    let router = with(plain(Wire::Chat), &json!({"stream": true, "usage": {"include": true}}));
    assert_eq!(rendering(Endpoint::Chat, None, None, router).0, Rendering { stream: true, usage: true });
    let gemini =
        |stream, query| rendering(Endpoint::Gemini { stream }, Some("m"), query, plain(Wire::Gemini));
    assert_eq!(gemini(true, Some("alt=sse")).0, Rendering { stream: true, usage: false });
    assert_eq!(gemini(true, Some("alt=sse")).1, gemini(false, None).1);
}

#[test]
fn what_is_passed_on_is_not_cached() {
    for endpoint in [Endpoint::CountTokens, Endpoint::Embeddings, Endpoint::Completions] {
        let body = br#"{"model":"m","prompt":"q","stream":true}"#;
        let identity =
            identify(&Asked { endpoint, model: None, body, headers: &[], query: None }, &OPTIONS).unwrap();
        assert_eq!((identity.mode, &*identity.reasons), (Mode::Bypass, &["not_cached"][..]));
        assert_eq!((&*identity.model, identity.rendering.stream), ("m", true));
    }
}

/// Nobody may tell how many tokens it had.
#[test]
fn of_what_is_passed_on_the_text_for_the_model_is_known() {
    let tools = json!([{"type": "function", "function": {"name": "look"}}]);
    let asked = json!({"role": "user", "content": [{"type": "text", "text": "Who?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]});
    let turns =
        json!([{"role": "system", "content": "Be brief."}, {"role": "assistant", "content": "Yes."}, asked]);
    let chat = json!({"model": "m", "n": 2, "messages": turns, "tools": tools, "metadata": {"a": "b"}});
    let gemini = json!({"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [{"parts": [{"text": "Who?"}]}]});
    for (endpoint, body, text) in [
        (
            Endpoint::Chat,
            chat,
            "Be brief.\nYes.\nWho?\n[image_url]\n[{\"function\":{\"name\":\"look\"},\"type\":\"function\"}]",
        ),
        (Endpoint::Gemini { stream: true }, gemini, "Be brief.\nWho?"),
        (Endpoint::Completions, json!({"model": "m", "prompt": "One", "suffix": "two"}), "One\ntwo\n"),
        (Endpoint::Embeddings, json!({"model": "m", "input": ["One", "two"]}), "\nOne\ntwo\n"),
        (Endpoint::Embeddings, json!({"model": "m", "input": [[17, 4]]}), "\n\n17\n4\n"),
    ] {
        assert_eq!(passed_text(endpoint, body.to_string().as_bytes()), text);
    }
    assert_eq!(passed_text(Endpoint::Chat, b"{"), "");
}

#[test]
fn a_long_text_is_matched_byte_for_byte() {
    let options = Options { max_text_bytes: 8, ..OPTIONS };
    let mode = |question: &str, instructions: &str| {
        let body = json!({"model": "m", "max_tokens": 1, "system": instructions, "messages": [{"role": "user", "content": question}]});
        let identity = ask(Wire::Messages, body.to_string().as_bytes(), &options).unwrap();
        (identity.mode, identity.reasons)
    };
    assert_eq!(mode("12345678", "12345678"), (Mode::Semantic, vec![]));
    assert_eq!(mode("123456789", "1"), (Mode::Exact, vec!["too_long"]));
    assert_eq!(mode("1", "123456789"), (Mode::Exact, vec!["too_long"]));
}

/// People read the turns of what is matched byte for byte, the newest first to fit.
#[test]
fn turns_are_shown_to_people() {
    let body = json!({"model": "m", "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "ä"}, {"type": "image_url", "image_url": {"url": "data:,"}}]},
        {"role": "assistant", "content": null, "tool_calls": []},
        {"role": "tool", "content": "42", "tool_call_id": "c"},
    ]}).to_string();
    let text = |max_text_bytes| {
        ask(Wire::Chat, body.as_bytes(), &Options { max_text_bytes, ..OPTIONS }).unwrap().text
    };
    let all =
        json!([["system", "s"], ["user", "ä\n[image_url]"], ["assistant", "[tool_calls]"], ["tool", "42"]]);
    assert_eq!(text(1_000), all.to_string());
    assert_eq!(text(15), json!([["user", ""], ["assistant", "[tool_calls]"], ["tool", "42"]]).to_string());
    assert_eq!(text(1), json!([["tool", "4"]]).to_string());
}

#[test]
fn people_see_which_tool_was_called_and_what_it_gave() {
    let shown = |wire, body: serde_json::Value| {
        let text = ask(wire, body.to_string().as_bytes(), &OPTIONS).unwrap().text;
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let call = json!({"type": "function", "id": "1", "function": {"name": "weather", "arguments": "{\"at\": \"Oslo\"}"}});
    let chat = json!({"model": "m", "messages": [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "content": "7", "tool_call_id": "1"},
    ]});
    let called = "[tool_calls]\nweather({\"at\": \"Oslo\"})";
    assert_eq!(shown(Wire::Chat, chat), json!([["user", "?"], ["assistant", called], ["tool", "7"]]));
    let responses = json!({"model": "m", "store": false, "input": [
        {"type": "function_call", "call_id": "1", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "7"},
    ]});
    let call = ["function_call", "[arguments] {}\n[call_id]\n[name] weather"];
    let output = ["function_call_output", "[call_id]\n[output] 7"];
    assert_eq!(shown(Wire::Responses, responses), json!([call, output]));
    let messages = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "weather", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "7"}]}]},
    ]});
    let turns = json!([["assistant", "[tool_use] weather"], ["user", "[tool_result]\n7"]]);
    assert_eq!(shown(Wire::Messages, messages), turns);
    let gemini = json!({"contents": [
        {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"at": 7}}}]},
    ]});
    let turns = json!([["model", "[functionCall] weather"], ["user", "[functionResponse] weather"]]);
    assert_eq!(shown(Wire::Gemini, gemini), turns);
}

#[test]
fn every_reason_is_explained() {
    let page = include_str!("../../../../docs/topics/same-requests.md");
    let words: Vec<_> = include_str!("../../src/identity/reason.rs")
        .lines()
        .filter_map(|line| line.split_once("&str = \"")?.1.strip_suffix("\";"))
        .collect();
    assert!(words.len() > 20);
    for word in words {
        assert!(page.contains(&format!("\n| `{word}` |")), "{word}");
    }
}
