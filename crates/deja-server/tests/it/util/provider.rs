//! A fake of all three LLM providers on one socket. Tests script it by a text that a call contains, so that many
//! tests share one fake, and it keeps what it was sent.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::PATIENCE;
use super::server::Asked;

/// Input tokens that the fake reports for every answer of its own making.
pub const INPUT_TOKENS: u64 = 1000;
/// Output tokens that the fake reports for every answer of its own making.
pub const OUTPUT_TOKENS: u64 = 500;

/// A provider family, recognised by the path of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    OpenAi,
    Anthropic,
    Gemini,
}

/// A call that arrived.
#[derive(Clone, Debug)]
pub struct Call {
    pub family: Family,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// The body's bytes.
    pub raw: Vec<u8>,
    pub model: String,
    /// The system text.
    pub system: Option<String>,
    pub prompt: String,
}

impl Call {
    /// The header called `name` (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Whether the answer is to be JSON.
    fn wants_json(&self) -> bool {
        let body = self.body.to_string();
        ["json_object", "json_schema", "application/json"].iter().any(|word| body.contains(word))
    }

    /// Whether the answer is to come as a stream.
    pub fn wants_stream(&self) -> bool {
        self.body["stream"] == true || self.path.contains(":streamGenerateContent")
    }

    fn mentions(&self, text: &str) -> bool {
        self.model == text
            || self.prompt.contains(text)
            || self.system.as_ref().is_some_and(|s| s.contains(text))
    }
}

/// What the fake does with a call.
#[derive(Clone)]
pub enum Reaction {
    /// A complete answer with this text, as a stream if the call asks for one.
    Text(String),
    /// A complete answer that no other call gets: a number, the model and the system text. As JSON if that is asked for.
    Numbered,
    /// A JSON body with this status.
    Json(u16, Value),
    /// This whole answer, head included, then the end of the connection.
    Bytes(Vec<u8>),
    /// This whole answer, a byte at a time with a pause after each.
    Drip(Vec<u8>, Duration),
    /// The head of an answer, then so many megabytes of white space.
    Huge(usize),
    /// The connection is reset.
    Reset,
    /// Nothing, for a long time.
    Hang,
    /// The first half of this whole answer, and the second one when the gate opens.
    Halves(Gate, Vec<u8>),
    /// So many bytes of this whole answer, and the rest when the gate opens.
    Split(Gate, Vec<u8>, usize),
    /// This beginning of an answer, then the second piece again and again if there is one. Opens the gate when the
    /// caller hangs up.
    UntilHungUp(Vec<u8>, Vec<u8>, Gate),
    /// Waits for the gate to open, then does the other thing.
    Gated(Gate, Box<Reaction>),
}

impl Reaction {
    /// A 200 with a body that is announced longer than it is.
    pub fn cut() -> Self {
        Self::Bytes(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4096\r\n\r\n{\"id\":\"c1\",\"choices\":[{\"ind".to_vec())
    }
}

/// Holds answers back until it is opened.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Lets all through, from now on.
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Waits until it is opened, and says whether it was.
    pub fn pass(&self) -> bool {
        let open = self.0.0.lock().unwrap();
        !self.0.1.wait_timeout_while(open, PATIENCE, |open| !*open).unwrap().1.timed_out()
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        *self.0.0.lock().unwrap()
    }
}

#[derive(Default)]
struct State {
    rules: Mutex<Vec<(String, Reaction)>>,
    calls: Mutex<Vec<Call>>,
    arrived: Condvar,
}

/// The fake. Its threads end with the test process.
pub struct FakeProvider {
    address: SocketAddr,
    state: Arc<State>,
}

impl FakeProvider {
    /// Begins to listen.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        Self { address, state }
    }

    /// `http://address`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on, calls whose prompt or system text contains `text`, or whose model is `text`, get `reaction`.
    /// The latest rule wins.
    pub fn on(&self, text: &str, reaction: Reaction) {
        self.state.rules.lock().unwrap().insert(0, (text.to_owned(), reaction));
    }

    /// The calls so far that mention `text` as [`FakeProvider::on`] has it.
    pub fn calls(&self, text: &str) -> Vec<Call> {
        self.state.calls.lock().unwrap().iter().filter(|call| call.mentions(text)).cloned().collect()
    }

    /// Forgets the calls so far, which a run of hours cannot keep.
    pub fn forget(&self) {
        self.state.calls.lock().unwrap().clear();
    }

    /// Waits until `count` such calls have arrived.
    #[track_caller]
    pub fn wait_for_calls(&self, text: &str, count: usize) {
        let arrived = |calls: &Vec<Call>| calls.iter().filter(|call| call.mentions(text)).count();
        let calls = self.state.calls.lock().unwrap();
        let waited =
            self.state.arrived.wait_timeout_while(calls, PATIENCE, |calls| arrived(calls) < count).unwrap();
        assert!(!waited.1.timed_out(), "{} of {count} calls with {text:?} arrived", arrived(&waited.0));
    }
}

fn serve(mut stream: TcpStream, state: &State) {
    stream.set_nodelay(true).unwrap();
    let Some(asked) = Asked::read(&mut stream) else { return };
    let Some(call) = serde_json::from_slice(&asked.body).ok().and_then(|body| call(asked, body)) else {
        // What is no question is told so, as each provider would.
        let error = json!({"message": "no such question", "type": "invalid_request_error", "code": 400,
            "status": "INVALID_ARGUMENT"});
        let _gone = write_json(&mut stream, 400, &json!({"type": "error", "error": error}));
        return;
    };
    let rule =
        state.rules.lock().unwrap().iter().find(|(text, _)| call.mentions(text)).map(|(_, r)| r.clone());
    let reaction = rule.unwrap_or_else(|| Reaction::Text(answer_to(&call.prompt)));
    state.calls.lock().unwrap().push(call.clone());
    state.arrived.notify_all();
    // A caller that hangs up is none of the fake's business.
    let _ = react(&mut stream, &call, reaction);
}

/// What the fake says to `prompt` unless told otherwise.
pub fn answer_to(prompt: &str) -> String {
    format!("The answer to <{prompt}>.")
}

fn react(stream: &mut TcpStream, call: &Call, reaction: Reaction) -> std::io::Result<()> {
    match reaction {
        Reaction::Text(text) if call.wants_stream() => {
            stream.write_all(&stream_response(&super::stream::events(call, &text)))
        }
        Reaction::Text(text) => write_json(stream, 200, &super::stream::whole(call, &text)),
        Reaction::Numbered => {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            let system = call.system.as_deref().unwrap_or_default();
            let text = format!("#{} {} {system}", NEXT.fetch_add(1, Ordering::Relaxed), call.model);
            let text = if call.wants_json() { json!(text).to_string() } else { text };
            write_json(stream, 200, &super::stream::whole(call, &text))
        }
        Reaction::Json(status, body) => write_json(stream, status, &body),
        Reaction::Bytes(bytes) => stream.write_all(&bytes),
        Reaction::Drip(bytes, pause) => {
            for byte in bytes {
                stream.write_all(&[byte])?;
                std::thread::sleep(pause);
            }
            Ok(())
        }
        Reaction::Halves(gate, bytes) => {
            let half = bytes.len() / 2;
            react(stream, call, Reaction::Split(gate, bytes, half))
        }
        Reaction::Split(gate, bytes, at) => {
            let (first, second) = bytes.split_at(at);
            stream.write_all(first)?;
            gate.pass();
            stream.write_all(second)
        }
        Reaction::Huge(megabytes) => {
            stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
            )?;
            let megabyte = vec![b' '; 1 << 20];
            (0..megabytes).try_for_each(|_| stream.write_all(&megabyte))
        }
        Reaction::Reset => socket2::SockRef::from(&*stream).set_linger(Some(Duration::ZERO)),
        Reaction::Hang => hang(stream).map(drop),
        Reaction::UntilHungUp(begin, more, gone) => {
            stream.write_all(&begin)?;
            if more.is_empty() && !hang(stream)? {
                return Ok(());
            }
            while !more.is_empty() && stream.write_all(&more).is_ok() {}
            gone.open();
            Ok(())
        }
        Reaction::Gated(gate, then) => {
            gate.pass();
            react(stream, call, *then)
        }
    }
}

/// Waits until the caller hangs up, and says whether it did.
fn hang(stream: &mut TcpStream) -> std::io::Result<bool> {
    let began = Instant::now();
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    while began.elapsed() < 10 * PATIENCE {
        match stream.read(&mut [0; 64]) {
            Ok(0) => return Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return Ok(true),
            _ => {}
        }
    }
    Ok(false)
}

fn write_json(stream: &mut TcpStream, status: u16, body: &Value) -> std::io::Result<()> {
    stream.write_all(&json_response(status, body))
}

/// A whole answer with a JSON body.
pub fn json_response(status: u16, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A whole answer that is a stream of these events, each in a chunk of its own.
pub fn stream_response(events: &[String]) -> Vec<u8> {
    let mut bytes = chunked(events);
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// The same without its end: a transfer that broke.
pub fn chunked(events: &[String]) -> Vec<u8> {
    let mut bytes =
        b"HTTP/1.1 200 Scripted\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\
                      Connection: close\r\n\r\n"
            .to_vec();
    for event in events {
        bytes.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
    }
    bytes
}

/// A complete, normal answer of a family.
pub fn completion(family: Family, model: &str, text: &str) -> Value {
    match family {
        Family::OpenAi => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1785500000, "model": model,
            "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null,
                "message": {"role": "assistant", "content": text, "refusal": null, "annotations": []}}],
            "usage": {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
                "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}}),
        Family::Anthropic => json!({
            "id": "msg_01", "type": "message", "role": "assistant", "model": model,
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": INPUT_TOKENS, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                "output_tokens": OUTPUT_TOKENS}}),
        Family::Gemini => json!({
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS,
                "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS},
            "modelVersion": model, "responseId": "abc"}),
    }
}

fn call(asked: Asked, body: Value) -> Option<Call> {
    let Asked { path, headers, body: raw } = asked;
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(|part| part["text"].as_str()).collect()),
        _ => None,
    };
    let model = body["model"].as_str().map(str::to_owned);
    let (family, model, system, prompt) = if path.ends_with("/chat/completions") {
        let messages = body["messages"].as_array()?;
        let of = |roles: &[&str]| {
            messages
                .iter()
                .find(|m| m["role"].as_str().is_some_and(|role| roles.contains(&role)))
                .map(|m| text(&m["content"]))
        };
        (Family::OpenAi, model?, of(&["system", "developer"]).flatten(), of(&["user"]).flatten()?)
    } else if ["/responses", "/embeddings", "/completions"].iter().any(|end| path.ends_with(end)) {
        let asked = if body["prompt"].is_string() { &body["prompt"] } else { &body["input"] };
        let prompt = text(asked).unwrap_or_default() + &text(&asked[0]["content"]).unwrap_or_default();
        (Family::OpenAi, model?, text(&body["instructions"]), prompt)
    } else if path.contains("/v1/messages") {
        (Family::Anthropic, model?, text(&body["system"]), text(&body["messages"][0]["content"])?)
    } else {
        let model = path.split("/models/").nth(1)?.split(':').next()?.to_owned();
        let system = text(&body["systemInstruction"]["parts"]);
        (Family::Gemini, model, system, text(&body["contents"][0]["parts"])?)
    };
    Some(Call { family, path, headers, body, raw, model, system, prompt })
}
