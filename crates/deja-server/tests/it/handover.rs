//! A restart that refuses nobody: a service manager holds the socket meanwhile.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use socket2::{Domain, Socket, Type};

use crate::util::http::{Connection, post, request};
use crate::util::tenant::{MODEL, PATH};
use crate::util::{Deja, FakeProvider, Tenant, eventually};

const CLIENTS: usize = 4;
const RESTARTS: usize = 3;

/// A socket that listens, and that processes started from here have too.
pub fn held() -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    socket.listen(1024).unwrap();
    socket.set_cloexec(false).unwrap();
    socket
}

#[test]
fn whoever_connects_during_a_restart_waits_and_is_answered() {
    let provider = FakeProvider::start();
    let mut deja = Deja::builder().provider(&provider).on_socket(held()).start();
    let tenant = Tenant::create(&deja, "held", &["--rpm", "1000000", "--burst", "1000000"]);
    tenant.ask_for("Who wrote Faust?");
    let body = json!({"prompt": "Who wrote Faust?", "model": MODEL}).to_string();
    let bytes = post(&tenant.key, PATH, &body);
    let (address, stop, answers) = (deja.address(), AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let mut connection = Connection::open(address).expect("nobody is refused");
                    // A client that was kept from sending for seconds finds its connection closed, and opens another.
                    let Ok(response) = connection.send(&bytes).and_then(|()| connection.receive()) else {
                        continue;
                    };
                    assert_eq!(response.status, 200, "{}", response.text());
                    assert_eq!(response.json()["cache_hit"], true);
                    answers.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let restarts = || {
            for _ in 0..RESTARTS {
                let before = answers.load(Ordering::SeqCst);
                eventually("there are answers", || answers.load(Ordering::SeqCst) >= before + 50);
                deja.stop();
                deja.restart();
            }
        };
        // The clients end whatever happens here: the scope waits for them.
        let restarted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(restarts));
        stop.store(true, Ordering::SeqCst);
        restarted.unwrap();
    });
    assert!(deja.log().contains("the socket that was handed over"), "{}", deja.log());
}

#[test]
fn who_connected_just_before_the_stop_is_answered() {
    let provider = FakeProvider::start();
    let mut deja = Deja::start(&provider);
    // A machine may be so busy that the request is sent seconds later.
    let answered = (0..5).any(|attempt| {
        let mut connection = Connection::open(deja.address()).unwrap();
        // It is accepted once a later one has its answer.
        deja.get("/livez");
        deja.signal("TERM");
        deja.until_logged("shutting down", attempt + 1);
        let answer = connection.send(&request("GET", "/livez", &[], b"")).and_then(|()| connection.receive());
        drop(connection);
        deja.wait();
        deja.restart();
        answer.is_ok_and(|answer| answer.status == 200)
    });
    assert!(answered, "{}", deja.log());
}

#[test]
fn what_is_handed_over_and_is_no_socket_is_told_in_one_line() {
    let mut command = std::process::Command::new("bash");
    command.args([
        "-c",
        r#"exec 3</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve"#,
        crate::util::deja::DEJA,
    ]);
    let data = tempfile::tempdir().unwrap();
    let output = command.env("DEJA_DATA_DIR", data.path()).env("DEJA_PRICES_URL", "").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("LISTEN_FDS") && !said.contains("panicked"), "{said}");
}
