//! PostgreSQL for the tests: `make test` starts it and names it in the environment; without that, each test
//! binary starts one of its own by the same script, which ends with the binary.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use deja_core::store::Store;
use deja_store::{OpenError, PostgresSettings, StoreSettings, open};
use tokio_postgres::{Client, NoTls};

/// A server that was started here. It ends when its standard input closes, with this process or before.
pub(crate) struct Server {
    pub(crate) url: String,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    script: Child,
}

impl Server {
    /// Starts one.
    pub(crate) fn start() -> Self {
        let mut script = script("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 runs; the tests of PostgreSQL need it (see CONTRIBUTING.md)");
        let mut output = BufReader::new(script.stdout.take().expect("an output")).lines();
        let url = output.next().and_then(Result::ok).expect("scripts/postgres.py starts PostgreSQL");
        Self { url, input: script.stdin.take(), output, script }
    }

    /// Has the script `stop`, `kill`, `start`, `pause` or `resume` it.
    pub(crate) fn tell(&mut self, command: &str) {
        let input = self.input.as_mut().expect("it runs");
        writeln!(input, "{command}").expect("the script reads");
        assert_eq!(self.output.next().and_then(Result::ok).as_deref(), Some("done"), "{command}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ended = self.script.wait();
    }
}

/// The script that has PostgreSQL, told to do `what`.
fn script(what: &str) -> Command {
    let mut python = Command::new("python3");
    python.arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres.py")).arg(what);
    python
}

/// One of PostgreSQL's own programs.
pub(crate) fn program(name: &str) -> Command {
    let output = script("bin").output().expect("python3 runs");
    let folder = String::from_utf8(output.stdout).expect("a path");
    Command::new(PathBuf::from(folder.trim_end()).join(name))
}

/// The server that all cases share.
fn shared() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| match std::env::var("DEJA_TEST_POSTGRES_URL") {
        Ok(url) => url,
        // Statics are not dropped: the script ends when this process does and the pipe closes.
        Err(_) => std::mem::ManuallyDrop::new(Server::start()).url.clone(),
    })
}

/// A database for one case; gone when it is dropped.
pub(crate) struct Database {
    pub(crate) url: String,
    server: String,
    name: String,
}

impl Database {
    /// An empty one on the shared server.
    pub(crate) async fn create() -> Self {
        Self::create_on(shared()).await
    }

    /// An empty one.
    pub(crate) async fn create_on(server: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("deja_{}_{number}", std::process::id());
        let admin = connect(server).await;
        admin.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
        let (base, _) = server.rsplit_once('/').expect("a database in the URL");
        Self { url: format!("{base}/{name}"), server: server.to_owned(), name }
    }

    /// A client of its own.
    pub(crate) async fn client(&self) -> Client {
        connect(&self.url).await
    }

    /// A deja store on it: a replica.
    pub(crate) async fn store(&self) -> Arc<dyn Store> {
        open_store(settings(&self.url)).await
    }

    /// Its URL. It goes with its server, which is thrown away after the tests.
    pub(crate) fn keep(self) -> String {
        std::mem::ManuallyDrop::new(self).url.clone()
    }
}

/// Removes it, with whoever is connected.
impl Drop for Database {
    fn drop(&mut self) {
        let (server, drop) =
            (self.server.clone(), format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
        // A thread of its own: this one may be in a runtime.
        let removing = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async { connect(&server).await.batch_execute(&drop).await })
        });
        // Of a server that is away nothing can be removed.
        let _gone = removing.join();
    }
}

/// Longer than a statement takes on a busy machine.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

/// Settings of a small replica.
pub(crate) fn settings(url: &str) -> PostgresSettings {
    PostgresSettings {
        pool_size: 8,
        connect_timeout: PATIENCE,
        acquire_timeout: PATIENCE,
        call_timeout: PATIENCE,
        ..PostgresSettings::new(url)
    }
}

/// The store with these settings.
pub(crate) async fn open_store(postgres: PostgresSettings) -> Arc<dyn Store> {
    try_store(postgres).await.unwrap_or_else(|error| panic!("{error}"))
}

/// The same, where it may fail.
pub(crate) async fn try_store(postgres: PostgresSettings) -> Result<Arc<dyn Store>, OpenError> {
    open(&StoreSettings { postgres: Some(postgres), ..StoreSettings::new("/nowhere") }).await
}

/// A client beside deja.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("PostgreSQL answers");
    #[expect(clippy::disallowed_methods, reason = "it ends with the client")]
    tokio::task::spawn(connection);
    client
}
