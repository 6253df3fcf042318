//! The command line while a server has the data directory.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::sync::Arc;
use std::thread::{self, sleep};
use std::time::Duration;

use deja_core::api_key::PlainKey;
use deja_core::id::SystemEntropy;
use deja_core::store::Store;
use deja_server::commands::socket;
use deja_server::feeds::prices::PriceFeed;
use deja_server::secrets::vault::Vault;
use deja_server::wiring;
use deja_store::StoreSettings;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Deja, eventually, terminate};

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
    let error = deja.error(1, &["project", "list"]);
    assert!(error.contains("no running server answers") && error.contains("deja-data"), "{error}");
    runtime.block_on(store.close()).unwrap();
    drop(store);
    deja.ok(&["project", "list"]);
}

/// A server's socket over a store that is held; it ends when it is told to.
fn serve(deja: &Deja, runtime: &Runtime, store: &Arc<dyn Store>) -> (CancellationToken, JoinHandle<()>) {
    serve_as(deja, runtime, store, None)
}

/// The same, of a server that says that it works on the PostgreSQL `database`.
fn serve_as(
    deja: &Deja,
    runtime: &Runtime,
    store: &Arc<dyn Store>,
    database: Option<&str>,
) -> (CancellationToken, JoinHandle<()>) {
    let data = deja.path().join("deja-data");
    let settings = StoreSettings::new(&data);
    let vault =
        runtime.block_on(Vault::load(None, &settings, Arc::new(SystemEntropy), &**store, |_| {})).unwrap();
    let prices = Arc::new(PriceFeed::open(None, "nowhere".as_ref()));
    let admin = wiring::admin(store.clone(), vault, prices, "https://deja.example");
    let stop = CancellationToken::new();
    let _context = runtime.enter();
    let socket = socket::OwnDirectory::take(&data).unwrap().listen().unwrap();
    let task = runtime.spawn(socket.serve(Arc::new(admin), database.map(str::to_owned), stop.clone()));
    (stop, task)
}

#[test]
fn a_running_server_does_what_it_is_told() {
    let deja = Deja::new();
    let (runtime, store) = hold(&deja);
    let (stop, task) = serve(&deja, &runtime, &store);
    assert_eq!(deja.last_line(&["project", "create", "a"]), "a");
    let key = deja.key(&["--project", "a", "--name", "k"]);
    let hash = PlainKey::parse(&key).unwrap().hash();
    assert!(runtime.block_on(store.key_by_hash(&hash)).unwrap().is_some());
    deja.ok(&["key", "revoke", &key]);
    assert!(runtime.block_on(store.key_by_hash(&hash)).unwrap().is_none(), "for the very next request");
    assert_eq!(
        deja.error(1, &["key", "list", "--project", "b"]),
        "deja: there is no project 'b' (see deja project list)"
    );
    stop.cancel();
    runtime.block_on(task).unwrap();
    assert!(!socket::path_in(&deja.path().join("deja-data")).exists());
}

#[test]
fn a_command_for_another_database_than_the_servers_is_refused() {
    let mut deja = Deja::new();
    let (runtime, store) = hold(&deja);
    let plain = deja.env.clone();
    let on = |url: &str| [&plain[..], &[("DEJA_DATABASE_URL", url.to_owned())]].concat();
    for (own, shown) in
        [(None, "its embedded database"), (Some("db.invalid:5432/deja"), "db.invalid:5432/deja")]
    {
        let (stop, task) = serve_as(&deja, &runtime, &store, own);
        // The settings name no PostgreSQL: whatever the server works on.
        deja.env = plain.clone();
        deja.ok(&["project", "create", "a"]);
        deja.env = on("postgres://me:hush@db.invalid/other");
        let error = deja.error(2, &["project", "delete", "a", "--yes"]);
        assert!(error.contains(&format!("works on {shown}, not on db.invalid:5432/other")), "{error}");
        assert!(error.contains("DEJA_DATABASE_URL") && !error.contains("hush"), "{error}");
        deja.env = on("postgres://you:hush@db.invalid/deja?sslmode=disable");
        let delete = ["project", "delete", "a", "--yes"];
        match own {
            Some(_) => drop(deja.ok(&delete)),
            None => drop(deja.error(2, &delete)),
        }
        stop.cancel();
        runtime.block_on(task).unwrap();
    }
    let left = runtime.block_on(store.projects()).unwrap();
    assert_eq!(left.iter().map(|project| project.slug.as_str()).collect::<Vec<_>>(), ["a-2"]);
}

#[test]
fn a_command_leaves_the_store_to_a_server_that_starts_again() {
    let deja = Deja::new();
    let export = || String::from_utf8(deja.run(&["export", "--with-projects"]).stdout).unwrap();
    deja.ok(&["project", "create", "b"]);
    let other = export();
    deja.ok(&["project", "delete", "b", "--yes"]);
    deja.ok(&["project", "create", "a"]);
    let line = export();
    // As many lines as are handed over at once. By its first one it is seen that a batch was.
    let batch = other + &line.repeat(499);
    let (runtime, store) = hold(&deja);
    let (stop, task) = serve(&deja, &runtime, &store);
    let mut import =
        deja.command(&["import", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = import.stdin.take().unwrap();
    lines.write_all(batch.as_bytes()).unwrap();
    let projects = || runtime.block_on(store.projects()).unwrap().len();
    eventually("the first batch is in", || projects() == 2);
    stop.cancel();
    runtime.block_on(task).unwrap();
    runtime.block_on(store.close()).unwrap();
    drop(store);
    lines.write_all(batch.as_bytes()).unwrap();
    sleep(Duration::from_secs(1));
    // The import still has lines to come: it would hold the store until then.
    let (runtime, store) = hold(&deja);
    let (stop, task) = serve(&deja, &runtime, &store);
    drop(lines);
    let output = import.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Already there: 0 entries, 999 projects."), "{said}");
    stop.cancel();
    runtime.block_on(task).unwrap();
}

#[test]
fn a_server_waits_for_a_command_that_has_the_store() {
    let deja = Deja::new().env("DEJA_LISTEN", "127.0.0.1:0");
    let (runtime, store) = hold(&deja);
    let mut server = deja.command(&["serve"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    sleep(Duration::from_secs(1));
    assert_eq!(server.try_wait().unwrap(), None, "it gave up");
    runtime.block_on(store.close()).unwrap();
    drop(store);
    deja.until_served_by(&mut server);
    assert_eq!(terminate(server).code(), Some(0));
}

#[test]
fn the_first_link_leads_to_where_the_server_listens() {
    // The port is the kernel's choice, as it is that of a socket that was handed over.
    let deja = Deja::new().env("DEJA_LISTEN", "127.0.0.1:0");
    let mut server = deja.command(&["serve"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let link = lines.by_ref().map(Result::unwrap).find(|line| line.starts_with("http")).unwrap();
    let (address, _) = link.strip_prefix("http://").unwrap().split_once("/console/setup?").unwrap();
    drop(TcpStream::connect(address).unwrap());
    assert_eq!(terminate(server).code(), Some(0));
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
