//! A URL with several hosts: the one that works is used, whatever the others do.

use std::net::SocketAddr;

use deja_store::PostgresSettings;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::faults::{HANG, RECOVERY, assert_recovers, behind_proxy, fill, filled, impatient};
use crate::postgres::{Database, Server, connect, open_store, try_store};
use crate::proxy::Weather;

/// The database at `live`, named after `other` as the operators' guide says.
fn after(other: SocketAddr, live: &str) -> PostgresSettings {
    let (user, rest) = live.split_once('@').unwrap();
    impatient(&format!("{user}@{other},{rest}?target_session_attrs=read-write"))
}

/// Asserts that the first host, which is silent, keeps nobody from the second.
async fn assert_passed_by(silent: SocketAddr) {
    let database = Database::create().await;
    let store = timeout(RECOVERY, open_store(after(silent, &database.url))).await.expect("it opens soon");
    fill(&*store).await;
    assert_recovers(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_host_that_takes_connections_and_is_silent_is_passed_by() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    assert_passed_by(silent.local_addr().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_host_that_takes_no_connections_and_is_silent_is_passed_by() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(0).unwrap();
    let address = full.local_addr().unwrap();
    // Nobody accepts it. The next ones do not even get that far.
    let _waits = TcpStream::connect(address).await.unwrap();
    assert_passed_by(address).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_host_is_used_when_the_one_in_use_fails() {
    let database = Database::create().await;
    let (first, _) = behind_proxy(&database).await;
    let (second, url) = behind_proxy(&database).await;
    let store = filled(after(first.address, &url)).await;
    for weather in [Weather::Cut, Weather::Reset, Weather::HalfOpen, Weather::Blackhole] {
        for (dead, live) in [(&first, &second), (&second, &first)] {
            live.set(Weather::Fair);
            dead.set(weather);
            assert_recovers(&store).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_are_all_silent_are_named() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let refused = timeout(HANG, try_store(after(address, &format!("postgres://deja@{address}/deja")))).await;
    let Err(error) = refused.expect("no hang") else { panic!("it opened") };
    let reason = format!("{address}: it does not answer; {address}: it does not answer");
    assert!(error.to_string().contains(&reason), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_host_that_takes_writes_is_used() {
    let database = Database::create().await;
    let (_, rest) = database.url.split_once('@').unwrap();
    let (primary, name) = rest.split_once('/').unwrap();
    let mut other = Server::start();
    other.tell(&format!("create {name}"));
    let (address, _) = other.url.rsplit_once('/').unwrap();
    let read_only = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
    connect(&other.url).await.batch_execute(&read_only).await.unwrap();
    let store =
        open_store(impatient(&format!("{address},{primary}/{name}?target_session_attrs=read-write"))).await;
    fill(&*store).await;
    assert_recovers(&store).await;
}
