//! Streams cut at every byte: wherever a chunk ends the answer is the same, and a body that ends early is never
//! taken for an answer.

use super::*;
use crate::failure::is_error;
use serde_json::json;

const EVENTS: &[&str] = &[
    r#"{"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"Ün ☃"},"finish_reason":null}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":" end."},"finish_reason":"stop"}]}"#,
    "[DONE]",
];

/// Joins text deltas; done at the end mark.
#[derive(Default)]
struct Joined(String, bool);

struct Plain;

impl Format for Plain {
    fn completion(&self, _: Value) -> Result<Completion, NotAnAnswer> {
        Err(NotAnAnswer)
    }

    fn fold(&self) -> Box<dyn Fold> {
        Box::new(Joined::default())
    }
}

impl Fold for Joined {
    fn event(&mut self, event: Value) -> Next {
        if event == "[DONE]" {
            self.1 = true;
            return Next::Done;
        }
        self.0.push_str(event.pointer("/choices/0/delta/content").and_then(Value::as_str).unwrap_or(""));
        Next::More
    }

    fn completion(self: Box<Self>) -> Option<Completion> {
        let finish = deja_core::provider::Finish::Stop;
        self.1.then_some(Completion { text: self.0, finish, choices: 1, model: None, usage: None })
    }
}

fn wire(end: &str) -> Vec<u8> {
    EVENTS.iter().flat_map(|data| format!(": note{end}data: {data}{end}{end}").into_bytes()).collect()
}

fn text(chunks: &[&[u8]]) -> Result<String, StreamError> {
    let mut stream = Stream::new(&Plain);
    for chunk in chunks {
        if stream.push(chunk)? == Next::Done {
            break;
        }
    }
    stream.finish().map(|completion| completion.text)
}

#[test]
fn a_chunk_may_end_anywhere() {
    for end in ["\n", "\r\n"] {
        let wire = wire(end);
        for cut in 0..=wire.len() {
            assert_eq!(text(&[&wire[..cut], &wire[cut..]]).unwrap(), "Ün ☃ end.", "{cut}");
        }
        let bytes: Vec<&[u8]> = wire.chunks(1).collect();
        assert_eq!(text(&bytes).unwrap(), "Ün ☃ end.");
    }
}

#[test]
fn a_body_that_ends_early_is_no_answer() {
    let wire = wire("\n");
    let marks = wire.windows(6).position(|window| window == b"[DONE]").unwrap() + 6;
    for cut in 0..marks {
        assert_eq!(text(&[&wire[..cut]]), Err(StreamError::Interrupted), "{cut}");
    }
    assert_eq!(text(&[&wire[..marks]]).unwrap(), "Ün ☃ end.");
}

#[test]
fn an_event_that_is_not_json_in_the_middle_is_a_bad_response() {
    assert_eq!(text(&[b"data: <html>\n\ndata: [DONE]\n\n"]), Err(StreamError::NotJson));
}

#[test]
fn errors_are_seen_whatever_their_shape() {
    for body in [
        json!({"error": {"message": "x"}}),
        json!({"error": "x"}),
        json!([{"error": {"code": 400}}]),
        json!({"object": "error", "message": "x"}),
        json!({"type": "error", "error": {}}),
    ] {
        assert!(is_error(&body), "{body}");
    }
    for body in [json!({"error": null}), json!({"error": {}}), json!({"error": ""}), json!([]), json!({})] {
        assert!(!is_error(&body), "{body}");
    }
}
