//! The command line while a server has the data directory.

use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::thread;

use deja_core::api_key::PlainKey;
use deja_core::id::SystemEntropy;
use deja_core::store::Store;
use deja_server::admin::{self, socket};
use deja_server::feeds::prices::PriceFeed;
use deja_server::secrets::vault::Vault;
use deja_store::StoreSettings;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Deja;

/// A server's store, held by this process.
fn hold(deja: &Deja) -> (Runtime, Arc<dyn Store>) {
    let runtime = Runtime::new().unwrap();
    let settings = StoreSettings::new(deja.path().join("deja-data"));
    let store = runtime.block_on(deja_store::open(&settings)).unwrap();
    (runtime, store)
}

#[test]
fn a_server_that_does_not_answer() {
    let deja = Deja::new();
    let (runtime, store) = hold(&deja);
    let error = deja.error(2, &["project", "list"]);
    assert!(error.contains("no running server answers") && error.contains("deja-data"), "{error}");
    runtime.block_on(store.close()).unwrap();
    drop(store);
    deja.ok(&["project", "list"]);
}

#[test]
fn a_running_server_does_what_it_is_told() {
    let deja = Deja::new();
    let (runtime, store) = hold(&deja);
    let data = deja.path().join("deja-data");
    let vault = Vault::load(None, &data, Arc::new(SystemEntropy)).unwrap();
    let prices = Arc::new(PriceFeed::open(None, "nowhere".as_ref()));
    let admin = admin::over(store.clone(), vault, prices, "https://deja.example");
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let (directory, shutdown) = (data.clone(), stop.clone());
    let served = async move {
        let socket = socket::OwnDirectory::take(&directory).unwrap().listen().unwrap();
        socket.serve(Arc::new(admin), shutdown).await;
    };
    let task = tasks.spawn_on(served, runtime.handle());
    assert_eq!(deja.last_line(&["project", "create", "a"]), "a");
    let key = deja.key(&["--project", "a", "--name", "k"]);
    let hash = PlainKey::parse(&key).unwrap().hash();
    assert!(runtime.block_on(store.admit(&hash)).unwrap().is_some());
    deja.ok(&["key", "revoke", &key]);
    assert!(runtime.block_on(store.admit(&hash)).unwrap().is_none(), "for the very next request");
    assert_eq!(deja.error(1, &["key", "list", "--project", "b"]), "deja: there is no project 'b'");
    stop.cancel();
    runtime.block_on(task).unwrap();
    assert!(!socket::path_in(&data).exists());
}

#[test]
fn a_server_that_ends_before_it_reads_has_done_nothing() {
    let deja = Deja::new();
    let data = deja.path().join("deja-data");
    std::fs::create_dir(&data).unwrap();
    let listener = UnixListener::bind(socket::path_in(&data)).unwrap();
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.shutdown(Shutdown::Read).unwrap();
        stream
    });
    // More than a socket holds once it is JSON: the command is still being written when the server ends.
    let error = deja.error(1, &["key", "revoke", &"\u{1}".repeat(100_000)]);
    assert!(error.contains("the server ended before it answered"), "{error}");
    drop(server.join().unwrap());
}
