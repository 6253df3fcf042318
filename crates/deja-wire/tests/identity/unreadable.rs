//! Bodies that are wrong, odd or hostile.

use deja_wire::{Asked, Mode, Wire, identify};

use crate::requests::{OPTIONS, ask, endpoint};

#[test]
fn what_nobody_can_read_is_an_error() {
    let cases: [(&[u8], Option<&str>, &str); 13] = [
        (b"", None, "the body is empty: send a JSON object"),
        (b" \n", None, "the body is empty: send a JSON object"),
        (b"\xff", None, "the body is not valid UTF-8"),
        (b"{", None, "invalid JSON at line 1 column 1"),
        (b"{\"model\":\"m\",}", None, "invalid JSON at line 1 column 14"),
        (b"[1]", None, "the body must be a JSON object"),
        (b"null", None, "the body must be a JSON object"),
        (b"{}", Some("model"), "`model` is required"),
        (b"{\"model\":7}", Some("model"), "`model` must be a string"),
        (b"{\"model\":\"m\",\"n\":1,\"n\":1}", Some("n"), "`n` is there twice: send it once"),
        (b"{\"model\":\"m\",\"\\u006dodel\":\"x\"}", Some("model"), "`model` is there twice: send it once"),
        (b"{\"model\":\"m\",\"Model\":\"x\"}", Some("Model"), "`Model` is there twice: send it once"),
        (
            b"{\"MODEL\":\"x\",\"stream\":true,\"model\":\"m\"}",
            Some("model"),
            "`model` is there twice: send it once",
        ),
    ];
    for (body, param, message) in cases {
        let error = ask(Wire::Chat, body, &OPTIONS).unwrap_err();
        assert_eq!((error.param.as_deref(), &*error.message), (param, message));
    }
    for wire in Wire::ALL {
        let asked = |model: &str| {
            // Gemini has the model in its path.
            let in_path = Asked {
                endpoint: endpoint(wire),
                model: Some(model),
                body: b"{}",
                headers: &[],
                query: None,
            };
            let body = format!(r#"{{"model":"{model}"}}"#);
            let in_body = Asked { model: None, body: body.as_bytes(), ..in_path };
            identify(if wire == Wire::Gemini { &in_path } else { &in_body }, &OPTIONS)
        };
        assert_eq!(asked(&"ä".repeat(128)).unwrap().model.len(), 256);
        let error = asked(&"m".repeat(257)).unwrap_err();
        assert_eq!(error.param.as_deref(), Some("model"), "{wire:?}");
        assert_eq!(error.message, "`model` is longer than 256 bytes", "{wire:?}");
    }
    let long = format!(r#"{{"{0}":1,"{0}":2}}"#, "ä".repeat(1_000));
    let error = ask(Wire::Chat, long.as_bytes(), &OPTIONS).unwrap_err();
    assert!(error.message.len() < 200, "an error does not repeat the body");
}

/// Whoever reads it may read something else than the next one.
#[test]
fn what_can_be_read_in_two_ways_is_not_cached() {
    let bodies = [
        r#"{"model":"m","messages":[{"role":"user","content":"a","content":"b"}]}"#,
        r#"{"model":"m","metadata":{"a":1,"\u0061":2},"messages":[{"role":"user","content":"a"}]}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"\ud83d"}]}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"\ude00\ud83d"}]}"#,
        r#"{"model":"m","tools":[{"type":"function","function":{"a":[{"b":1,"b":1}]}}],"messages":[]}"#,
    ];
    for body in bodies {
        let identity = ask(Wire::Chat, body.as_bytes(), &OPTIONS).unwrap();
        assert_eq!((identity.mode, &*identity.reasons), (Mode::Bypass, &["ambiguous"][..]), "{body}");
    }
    let whole = r#"{"model":"m","messages":[{"role":"user","content":"\ud83d\ude00"}]}"#;
    assert_eq!(ask(Wire::Chat, whole.as_bytes(), &OPTIONS).unwrap().text, "😀");
}

#[test]
fn nesting_has_a_bound() {
    let nested = |levels: usize, inner: &str| {
        let body = format!(r#"{{"x":{}{inner}{},"model":"m"}}"#, "[".repeat(levels), "]".repeat(levels));
        let identity = ask(Wire::Chat, body.as_bytes(), &OPTIONS).unwrap();
        assert_eq!(identity.model, "m");
        (identity.mode, identity.reasons)
    };
    assert_eq!(nested(127, "7"), (Mode::Exact, vec!["unknown_member"]));
    for inner in ["", "7", r#"{"a":"b","c":[1]}"#] {
        assert_eq!(nested(128, inner), (Mode::Bypass, vec!["too_deep"]));
    }
    assert_eq!(nested(1_000_000, ""), (Mode::Bypass, vec!["too_deep"]));
    let objects = format!(r#"{{"model":"m","x":{}1{}}}"#, r#"{"a":"#.repeat(300), "}".repeat(300));
    assert_eq!(ask(Wire::Chat, objects.as_bytes(), &OPTIONS).unwrap().reasons, ["too_deep"]);
}

/// Blocks hold blocks: the tables go as deep as the document.
#[test]
fn blocks_within_blocks_have_the_same_bound() {
    let nested = |levels: usize, url: &str| {
        let open = r#"{"type":"tool_result","content":["#.repeat(levels);
        let image = format!(
            r#"{{"type":"image","source":{{"type":"{url}","cache_control":1}},"cache_control":{{}}}}"#
        );
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":[{open}{image}{}]}}]}}"#,
            "]}".repeat(levels)
        );
        ask(Wire::Messages, body.as_bytes(), &OPTIONS).unwrap()
    };
    assert_eq!(nested(61, "base64").reasons, ["media", "tools"]);
    assert_eq!(nested(61, "url").reasons, ["remote_media"]);
    assert_eq!(nested(62, "url").reasons, ["too_deep"]);
}

#[test]
fn a_response_that_only_deja_knows_cannot_be_continued() {
    let body = |id: &str| format!(r#"{{"model":"m","input":"x","previous_response_id":{id}}}"#);
    let refused = ask(Wire::Responses, body(r#""resp_deja_00ff""#).as_bytes(), &OPTIONS).unwrap_err();
    assert_eq!(refused.code, Some("previous_response_not_found"));
    assert_eq!(refused.param.as_deref(), Some("previous_response_id"));
    for id in [r#""resp_1""#, "null", "7"] {
        ask(Wire::Responses, body(id).as_bytes(), &OPTIONS).unwrap();
    }
}
