//! A raw TCP server that says exactly what a test wants, and providers that call it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use deja_core::clock::Timestamp;
use deja_core::id::{ProjectId, ProviderId};
use deja_core::pricing::PriceBook;
use deja_core::provider::{Endpoint, Provider, ProviderConfig, ProviderKind, Route};
use deja_providers::{BuiltIn, Credentials, HttpSettings, Registry};
use flate2::Compression;
use flate2::write::GzEncoder;
use secrecy::SecretString;

pub(crate) const KEY: &str = "sk-test-5ecre7-5ecre7-5ecre7";

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Calls `answer` with the number of the request (from 0) and the connection, once its request was read. Every
    /// connection carries one request.
    pub(crate) fn start(answer: impl Fn(usize, &mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::serve(move |number, _, stream| answer(number, stream))
    }

    /// The answer that `answer` makes of each request.
    pub(crate) fn answering(answer: impl Fn(&Seen) -> String + Send + Sync + 'static) -> Self {
        Self::serve(move |_, request, stream| drop(stream.write_all(answer(request).as_bytes())))
    }

    fn serve(answer: impl Fn(usize, &Seen, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&seen), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let Some(request) = read_request(&mut stream) else { return };
                    let number = {
                        let mut log = log.lock().unwrap();
                        log.push(request.clone());
                        log.len() - 1
                    };
                    answer(number, &request, &mut stream);
                });
            }
        });
        Self { url, seen }
    }

    /// The same bytes for every request, then the connection is closed.
    pub(crate) fn always(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::start(move |_, stream| drop(stream.write_all(&bytes)))
    }

    /// One answer a request, the last one for all further ones.
    pub(crate) fn script(answers: Vec<String>) -> Self {
        Self::start(move |n, stream| drop(stream.write_all(answers[n.min(answers.len() - 1)].as_bytes())))
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn read_request(stream: &mut TcpStream) -> Option<Seen> {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let seen = Seen { head, body: String::new() };
            let length: usize = seen.header("content-length").map_or(0, |n| n.parse().unwrap());
            if bytes.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
                return Some(Seen { body, ..seen });
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

/// `body` as gzip.
pub(crate) fn gzip(body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body.as_ref()).unwrap();
    encoder.finish().unwrap()
}

/// A whole HTTP answer with `headers` (each with its line end) before the body.
pub(crate) fn http(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

pub(crate) fn json(status: u16, body: &str) -> String {
    http(status, "content-type: application/json\r\n", body)
}

/// A good chat completion.
pub(crate) fn chat(text: &str) -> String {
    let choice = serde_json::json!({"index": 0, "finish_reason": "stop", "message": {"content": text}});
    json(200, &serde_json::json!({"model": "m", "choices": [choice]}).to_string())
}

/// What waits for none of the limits of [`settings`] is over by then, however busy the machine.
pub(crate) const SOON: Duration = Duration::from_secs(25);

/// Longer than any test waits.
pub(crate) const FOREVER: Duration = Duration::from_hours(1);

/// Limits that no answer meets by chance; a test of one of them makes it short.
pub(crate) fn settings() -> HttpSettings {
    HttpSettings {
        connect_timeout: Duration::from_secs(30),
        attempt_timeout: Duration::from_secs(30),
        idle_timeout: Duration::from_secs(30),
        total_deadline: Duration::from_secs(50),
        max_response_bytes: 1024 * 1024,
        max_bytes_in_flight: 1 << 30,
        max_attempts: 3,
    }
}

pub(crate) fn one_attempt() -> HttpSettings {
    HttpSettings { max_attempts: 1, ..settings() }
}

/// The prices compiled in.
pub(crate) fn prices() -> Arc<PriceBook> {
    Arc::new(PriceBook::compiled_in())
}

pub(crate) fn credentials(url: &str) -> Credentials {
    Credentials { key: SecretString::from(KEY), base_url: Some(url.to_owned()) }
}

/// All built-in providers at one address.
pub(crate) fn built_in(url: &str, settings: HttpSettings) -> Registry {
    let all = BuiltIn {
        openai: Some(credentials(url)),
        anthropic: Some(credentials(url)),
        google: Some(credentials(url)),
    };
    Registry::new(all, settings, prices()).unwrap()
}

/// The built-in provider of `model`.
pub(crate) fn provider(url: &str, model: &str, settings: HttpSettings) -> Arc<dyn Provider> {
    match built_in(url, settings).built_in(model, Some(Endpoint::Chat)) {
        Route::To(provider) => provider,
        _ => panic!("no provider for {model}"),
    }
}

pub(crate) fn config(url: &str, allow_private: bool) -> ProviderConfig {
    ProviderConfig {
        id: ProviderId::from_bytes([1; 16]),
        project: ProjectId::from_bytes([2; 16]),
        name: "acme".to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: url.to_owned(),
        models: vec!["m".to_owned()],
        sealed_secret: None,
        allow_private,
        created: Timestamp::from_secs(0),
    }
}

/// A project's own provider that speaks OpenAI's format.
pub(crate) fn custom(url: &str, settings: HttpSettings) -> Arc<dyn Provider> {
    custom_of(ProviderKind::OpenAi, url, settings)
}

/// A project's own provider of this kind.
pub(crate) fn custom_of(kind: ProviderKind, url: &str, settings: HttpSettings) -> Arc<dyn Provider> {
    let registry = Registry::new(BuiltIn::default(), settings, prices()).unwrap();
    registry.custom(&ProviderConfig { kind, ..config(url, true) }, Some(SecretString::from(KEY)))
}
