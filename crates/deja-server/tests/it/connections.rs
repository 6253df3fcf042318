//! Clients that read slowly, not at all, or only when they have written all: who is waited for, and for how long.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_LENGTH;
use axum::routing::get;
use deja_server::listener::{self, ListenerLimits};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::util::deja::wait;
use crate::util::http::{self, Connection, post, request};
use crate::util::tenant::{MODEL, PATH};
use crate::util::{Deja, FakeProvider, PATIENCE, Reaction, Tenant, World, eventually};

/// Near the longest answer that is read from a provider: far more than the kernel holds for a socket.
const LONG: usize = 7_500_000;
/// A body far beyond all limits, which no socket holds either.
const BIG: usize = 20_000_000;

/// A query whose answer is long and stored.
fn long_answer(provider: &FakeProvider, tenant: &Tenant<'_>) -> Value {
    provider.on("connections-long", Reaction::Text("a".repeat(LONG)));
    let query = json!({"prompt": "connections-long", "model": MODEL});
    assert_eq!(tenant.ask(&query)["cache_hit"], false);
    query
}

/// A connection for which the kernel keeps little.
fn narrow(address: SocketAddr) -> Connection {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    socket.connect(&address.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    Connection::from(stream)
}

#[test]
fn an_answer_is_whole_however_slowly_it_is_read() {
    let provider = FakeProvider::start();
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_IDLE_TIMEOUT_S", "1")
        .env("DEJA_HEADER_TIMEOUT_MS", "500")
        .start();
    let tenant = Tenant::create(&deja, "slow-reader", &[]);
    let query = long_answer(&provider, &tenant);
    let mut connection = narrow(deja.address());
    connection.send(&tenant.request(&query)).unwrap();
    // Several times as long as the connection may be idle.
    let mut pauses = 0;
    let response = connection
        .receive_slowly(50_000, || {
            std::thread::sleep(Duration::from_millis(30));
            pauses += 1;
        })
        .unwrap();
    assert!(pauses >= LONG / 50_000 - 1, "{pauses}");
    assert_eq!(response.json()["response"].as_str().map(str::len), Some(LONG));
    // Only now it is idle.
    ends(&connection);
}

#[test]
fn a_client_that_takes_little_and_steadily_is_waited_for() {
    let long = || async { vec![b'a'; LONG] };
    let bound = Duration::from_secs(1);
    let limits = ListenerLimits { write_timeout: bound, ..LIMITS };
    let serving = Serving::within(limits, Router::new().route("/", get(long)));
    let mut connection = narrow(serving.address);
    connection.send(&request("GET", "/", &[], b"")).unwrap();
    // Far less in the time of the bound than the kernel holds for a socket.
    let began = Instant::now();
    let response = connection.receive_slowly(20_000, || {
        if began.elapsed() < 4 * bound {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    assert_eq!(response.unwrap().body.len(), LONG);
}

#[test]
fn a_client_that_takes_nothing_of_its_answer_does_not_keep_its_connection() {
    let provider = FakeProvider::start();
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_MAX_CONNECTIONS", "1")
        .env("DEJA_WRITE_TIMEOUT_S", "1")
        .start();
    let tenant = Tenant::create(&deja, "no-reader", &[]);
    let query = long_answer(&provider, &tenant);
    let mut connection = narrow(deja.address());
    // Whole requests behind the first, and the first byte of one more.
    connection.send(&[tenant.request(&query), tenant.request(&query), b"P".to_vec()].concat()).unwrap();
    // There is one slot for a connection: this waits until the other one is given up.
    assert_eq!(deja.get("/livez").status, 200);
    drop(connection);
}

#[test]
fn answers_that_one_projects_clients_do_not_take_leave_room_for_others() {
    let provider = FakeProvider::start();
    // Room for two long answers, one of them a project's.
    let deja = Deja::builder()
        .provider(&provider)
        .env("DEJA_UPSTREAM_MAX_RESPONSE_BYTES", "8000000")
        .env("DEJA_UPSTREAM_MAX_BYTES_IN_FLIGHT", "16000000")
        .start();
    let [tenant, other] = ["no-room", "has-room"].map(|name| Tenant::create(&deja, name, &[]));
    let query = long_answer(&provider, &tenant);
    let chat = |tenant: &Tenant<'_>| {
        let body = json!({"model": MODEL, "stream": true, "messages": [{"role": "user", "content": "connections-long"}]});
        post(&tenant.key, "/v1/chat/completions", &body.to_string())
    };
    let answered = |request: &[u8]| {
        let mut connection = Connection::open(deja.address()).unwrap();
        connection.ask(request)
    };
    assert_eq!(answered(&chat(&tenant)).header("x-deja-cache"), Some("miss"));
    for hit in [tenant.request(&query), chat(&tenant)] {
        // The room of an answer comes back a moment after its client has it.
        let taken = || {
            let mut unread = narrow(deja.address());
            unread.send(&hit).unwrap();
            let mut head = [0; 12];
            unread.stream().read_exact(&mut head).unwrap();
            (head == *b"HTTP/1.1 200").then_some(unread)
        };
        let unread = std::iter::repeat_with(taken).flatten().next();
        for more in [tenant.request(&query), chat(&tenant)] {
            let refused = answered(&more);
            assert_eq!(refused.status, 503, "{}", refused.text());
            assert_eq!(refused.header("x-deja-error"), Some("overloaded"));
        }
        assert_eq!(answered(&other.request(&query)).status, 200, "others have their own");
        drop(unread);
        eventually("room comes back", || answered(&hit).status == 200);
    }
}

/// Serves a router in this process, until it is dropped.
struct Serving {
    _runtime: Runtime,
    address: SocketAddr,
    stop: CancellationToken,
}

/// Short where nothing is sent, and long where something is.
const LIMITS: ListenerLimits = ListenerLimits {
    connections: 64,
    head_timeout: Duration::from_millis(200),
    idle_timeout: Duration::from_millis(200),
    write_timeout: PATIENCE,
    rest_timeout: PATIENCE,
};

impl Serving {
    fn start(router: Router) -> Self {
        Self::within(LIMITS, router)
    }

    fn within(limits: ListenerLimits, router: Router) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, never) = (CancellationToken::new(), CancellationToken::new());
        runtime.spawn(listener::serve(listener, router, limits, stop.clone(), never));
        Self { _runtime: runtime, address, stop }
    }
}

/// Nothing more comes, and the connection ends in time.
fn ends(connection: &Connection) {
    assert_eq!(connection.stream().read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn a_head_that_stops_is_waited_for_less_long_than_a_request() {
    let limits = ListenerLimits { idle_timeout: 10 * PATIENCE, ..LIMITS };
    let serving = Serving::within(limits, Router::new());
    let mut connection = Connection::open(serving.address).unwrap();
    connection.send(b"GET / HTTP/1.1\r\n").unwrap();
    ends(&connection);
}

#[test]
fn a_connection_whose_body_is_read_on_is_not_idle_before_its_end() {
    let serving = Serving::start(Router::new());
    let mut connection = Connection::open(serving.address).unwrap();
    assert_eq!(connection.ask(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n").status, 404);
    for byte in [b"a", b"b"] {
        // Each pause alone is longer than a connection may be idle.
        std::thread::sleep(Duration::from_millis(600));
        connection.send(byte).unwrap();
    }
    assert_eq!(connection.ask(&request("GET", "/", &[], b"")).status, 404);
    ends(&connection);
}

#[test]
fn who_connected_a_moment_before_the_stop_is_answered() {
    let limits = ListenerLimits { idle_timeout: PATIENCE, head_timeout: PATIENCE, ..LIMITS };
    let serving = Serving::within(limits, Router::new());
    let [mut early, mut late] = [(); 2].map(|()| Connection::open(serving.address).unwrap());
    // They are taken in their order.
    assert_eq!(late.ask(&request("GET", "/", &[], b"")).status, 404);
    serving.stop.cancel();
    ends(&late);
    assert_eq!(early.ask(&request("GET", "/", &[], b"")).status, 404);
    ends(&early);
}

#[test]
fn an_answer_that_comes_now_and_then_is_not_idle() {
    let stream = || async {
        let chunks = futures::stream::iter(0..5).then(|n| async move {
            // Each pause alone is longer than a connection may be idle.
            tokio::time::sleep(Duration::from_millis(600)).await;
            Ok::<_, std::io::Error>(Bytes::from(format!("chunk {n}\n")))
        });
        Body::from_stream(chunks)
    };
    let serving = Serving::start(Router::new().route("/", get(stream)));
    let mut connection = Connection::open(serving.address).unwrap();
    let response = connection.ask(&request("GET", "/", &[], b""));
    assert_eq!(response.text(), "chunk 0\nchunk 1\nchunk 2\nchunk 3\nchunk 4\n");
    // Idle from then on.
    ends(&connection);
}

#[test]
fn the_text_of_an_answer_may_look_like_a_refusal() {
    const TEXT: &str = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    let stream = || async {
        let chunks = futures::stream::iter(0..5).then(|_| async move {
            // Each chunk is a write of its own.
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok::<_, std::io::Error>(Bytes::from_static(TEXT.as_bytes()))
        });
        ([(CONTENT_LENGTH, TEXT.len() * 5)], Body::from_stream(chunks))
    };
    let serving = Serving::start(Router::new().route("/", get(stream)));
    let mut connection = Connection::open(serving.address).unwrap();
    for _ in 0..2 {
        assert_eq!(connection.ask(&request("GET", "/", &[], b"")).text(), TEXT.repeat(5));
    }
    // What is none is still told in the published form, behind answers too.
    assert_eq!(
        connection.ask(&[request("GET", "/", &[], b""), b"GARBAGE\r\n\r\n".to_vec()].concat()).text(),
        TEXT.repeat(5)
    );
    connection.receive().unwrap().detail(400);
}

#[test]
fn who_writes_all_before_reading_is_told_why_it_was_refused() {
    let provider = FakeProvider::start();
    let deja = Deja::start(&provider);
    let tenant = Tenant::create(&deja, "writer", &["--tier", "enterprise", "--rpm", "1", "--burst", "3"]);
    let key = format!("Bearer {}", tenant.key);
    let json = ("Content-Type", "application/json");
    let body = vec![b'x'; BIG];
    let mut connection = Connection::open(deja.address()).unwrap();
    let elsewhere = "/p/elsewhere/v1/cache/query";
    for (path, head, status) in [
        (PATH, &[json][..], 401),
        ("/v1/nowhere", &[json], 404),
        ("/livez", &[json], 405),
        ("/console/sign-in", &[json], 403),
        (PATH, &[json, ("Authorization", &key)], 400),
        (PATH, &[("Content-Type", "text/plain"), ("Authorization", &key)], 400),
        (elsewhere, &[json, ("Authorization", &key)], 403),
        (PATH, &[json, ("Authorization", &key)], 429),
    ] {
        // All of them over one connection: what was refused is out of the way of what comes next. Many clients write all of a
        // request before they read.
        let response = connection.ask(&request("POST", path, head, &body));
        assert_eq!(response.status, status, "{path}: {}", response.text());
    }
    // Without a length told in advance.
    let mut chunk = format!("{BIG:x}\r\n").into_bytes();
    chunk.extend_from_slice(&body);
    chunk.extend_from_slice(b"\r\n0\r\n\r\n");
    connection.send(b"POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    connection.ask(&chunk).detail(404);
    // A head without end is none, and told so as well.
    connection.send(b"GET / HTTP/1.1\r\nX-Long: ").unwrap();
    connection.ask(&body).detail(431);
}

#[test]
fn a_request_has_one_host_and_in_http_1_0_perhaps_none() {
    let deja = &World::shared().deja;
    let ask = |head: &str| {
        let mut connection = Connection::open(deja.address()).unwrap();
        connection.ask(format!("{head}\r\n\r\n").as_bytes())
    };
    for head in [
        "GET /livez HTTP/1.1",
        "GET /livez HTTP/1.1\r\nHost: a\r\nHost: b",
        "GET /livez HTTP/1.0\r\nHost: a\r\nHost: b",
        "GET /console HTTP/1.1",
        "GET /admin/v1/projects HTTP/1.1",
        "POST /v1/cache/query HTTP/1.1\r\nContent-Length: 0",
    ] {
        let refused = ask(head);
        assert!(refused.detail(400).contains("Host"), "{head}");
        assert_eq!(refused.header("x-deja-error"), Some("bad_request"), "{head}");
    }
    let wire = ask("POST /v1/messages HTTP/1.1\r\nContent-Length: 0");
    assert_eq!((wire.status, &wire.json()["error"]["type"]), (400, &"invalid_request_error".into()));
    for head in ["GET /livez HTTP/1.0", "GET /readyz HTTP/1.0\r\nHost: a", "GET /livez HTTP/1.1\r\nHost:"] {
        assert_eq!(ask(head).status, 200, "{head}");
    }
}

#[test]
fn pythons_own_client_sees_a_refusal() {
    const SCRIPT: &str = "\
import http.client, sys
connection = http.client.HTTPConnection(sys.argv[1], timeout=60)
connection.request('POST', sys.argv[2], b'x' * int(sys.argv[3]),
                   {'Content-Type': 'application/json', 'Authorization': sys.argv[4]})
response = connection.getresponse()
print(response.status, response.read().decode())
";
    let world = World::shared();
    let tenant = world.tenant("python");
    let key = format!("Bearer {}", tenant.key);
    let limit = r#"{"detail":"the body is larger than the limit of 1048576 bytes"}"#;
    let unauthorized = r#"{"detail":"Invalid or missing API key"}"#;
    for (key, wanted) in [(key.as_str(), format!("400 {limit}")), ("none", format!("401 {unauthorized}"))] {
        let (address, size) = (world.deja.address().to_string(), BIG.to_string());
        let mut python = Command::new("python3");
        python.args(["-c", SCRIPT, &address, PATH, &size, key]).stdin(Stdio::null());
        let mut python = python.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("python3");
        assert!(wait(&mut python, 2 * PATIENCE).is_some(), "it does not end");
        let output = python.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), wanted, "{error}");
    }
}

#[test]
fn the_rest_of_a_refused_request_is_not_read_for_ever() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).env("DEJA_BODY_TIMEOUT_MS", "500").start();
    let mut connection = Connection::open(deja.address()).unwrap();
    connection
        .send(b"POST /v1/cache/query HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n")
        .unwrap();
    connection.receive().unwrap().detail(401);
    eventually("a body that drips is not read for ever", || connection.send(b"x").is_err());
    // Who waits to be asked for the body hears that it is not wanted, and is asked for nothing.
    let mut careful = Connection::open(deja.address()).unwrap();
    let head =
        "POST /v1/cache/query HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    careful.send(head.as_bytes()).unwrap();
    let mut answer = String::new();
    let _reset = careful.stream().read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert_eq!(http::once(deja.address(), "GET", "/livez", &[], b"").unwrap().status, 200);
    let _gone = careful.stream().write(b"x");
}

/// Each connection is an open file, and so is one to the provider.
#[test]
fn clients_leave_files_for_providers() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).open_files(200).start();
    let tenant = Tenant::create(&deja, "open-files", &[]);
    let mut first = Connection::open(deja.address()).unwrap();
    let mut exchange = |asked: &[u8]| first.ask(asked).status;
    assert_eq!(exchange(&request("GET", "/livez", &[], b"")), 200);
    let _idle: Vec<_> = (0..180).map(|_| TcpStream::connect(deja.address()).unwrap()).collect();
    let open = || fs::read_dir(format!("/proc/{}/fd", deja.pid())).unwrap().count();
    eventually("the server has taken all that it takes", || open() > 100);
    assert_eq!(exchange(&tenant.request(&json!({"prompt": "open-files", "model": MODEL}))), 200);
    assert!(deja.log().contains("raise its limit"), "{}", deja.log());
}

/// Callers of the admin socket have no bound of their own.
#[test]
fn that_no_file_is_left_for_a_connection_is_logged_once() {
    let provider = FakeProvider::start();
    let deja = Deja::builder().provider(&provider).open_files(200).start();
    let socket = deja.data().join("deja.sock");
    let held: Vec<_> = (0..220).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    deja.until_logged("connections cannot be accepted", 1);
    let _client = TcpStream::connect(deja.address()).unwrap();
    deja.until_logged("connections cannot be accepted", 2);
    // Each listener tries again twenty times a second. While callers leave, the files may run out once more.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(deja.log().matches("cannot be accepted").count(), 2, "{}", deja.log());
    drop(held);
    // With the last file the first client may have been accepted already, and nobody have waited when the listener failed.
    let _next = TcpStream::connect(deja.address()).unwrap();
    deja.until_logged("connections are accepted again", 2);
}
