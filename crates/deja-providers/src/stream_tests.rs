//! Streams cut at every byte: wherever a chunk ends the answer is the same, and a body that ends early is never
//! taken for an answer.

use super::*;
use crate::format::{Format, NotAnAnswer};
use futures::FutureExt as _;
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

/// The answer in a body of these chunks.
fn text(chunks: &[&[u8]]) -> Result<String, StreamError> {
    let chunks = chunks.iter().map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect::<Vec<_>>();
    let answer = completion(stream::iter(chunks), Plain.fold());
    answer.now_or_never().unwrap().map(|completion| completion.text)
}

/// What is wrong with a body that gives no answer.
fn refusal(chunks: &[&[u8]]) -> String {
    format!("{:?}", text(chunks).unwrap_err())
}

#[test]
fn a_chunk_may_end_anywhere() {
    for end in ["\n", "\r\n", "\r"] {
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
        assert_eq!(refusal(&[&wire[..cut]]), "Interrupted", "{cut}");
    }
    assert_eq!(text(&[&wire[..marks]]).unwrap(), "Ün ☃ end.");
}

#[test]
fn an_event_that_is_not_json_in_the_middle_is_a_bad_response() {
    assert_eq!(refusal(&[b"data: <html>\n\ndata: [DONE]\n\n"]), "NotJson");
    assert_eq!(
        refusal(&[b"data: \"\xff\"\n\ndata: [DONE]\n\n"]),
        "NotJson",
        "nothing is put in place of bytes"
    );
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

#[test]
fn an_event_may_have_several_lines_and_much_beside_its_data() {
    let (head, tail) = EVENTS[1].split_once(',').unwrap();
    let beside = "\u{feff}: hello\n\nevent: ping\nid: 7\nretry: 10\nodd: 1\n";
    let body = format!("{beside}data:{head},\ndata: {tail}\n\ndata\n\nid: 8\n\ndata: [DONE]\n");
    for chunks in [vec![body.as_bytes()], body.as_bytes().chunks(1).collect()] {
        assert_eq!(text(&chunks).unwrap(), "Ün ☃");
    }
}

#[test]
fn nothing_is_read_behind_the_end_mark() {
    assert_eq!(text(&[b"data: [DONE]\n\n", b"data: <html>\n\n"]).unwrap(), "");
}

proptest::proptest! {
    #[test]
    fn bounds_of_chunks_change_nothing(
        body in "((data: ?|: |event:|id|é|\u{feff})?(\\[DONE\\]|\"[a-zü ]{0,4}\"|[a-z1 ]{0,3})(\r\n|\n|\r)){0,20}",
        cuts in proptest::collection::vec(0usize..300, 0..8),
    ) {
        let body = body.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]).collect();
        let whole = format!("{:?}", text(&[body]));
        proptest::prop_assert_eq!(format!("{:?}", text(&chunks)), whole);
    }

    #[test]
    fn no_body_makes_the_reader_panic(body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let _ = text(&[&body]);
    }
}
