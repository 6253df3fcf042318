//! Runs the built binary: a server with a data directory of its own, and the command line against it.

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::Socket;

use super::http::{self, Response};
use super::provider::FakeProvider;
use super::{PATIENCE, within};

/// The binary under test.
pub const DEJA: &str = env!("CARGO_BIN_EXE_deja");

/// What a server wrote so far, both streams in one.
type Log = Arc<Mutex<Vec<u8>>>;

/// How to start a server.
pub struct Builder {
    env: Vec<(String, String)>,
    below: Option<&'static str>,
    inside: Option<(u32, PathBuf)>,
    outlives_tests: bool,
    socket: Option<Socket>,
    open_files: Option<u32>,
}

impl Builder {
    /// Lets the server have no more files open than so many.
    pub fn open_files(mut self, most: u32) -> Self {
        self.open_files = Some(most);
        self
    }

    /// Runs the server and the command line in the user and mount namespace of this process, with their data in this
    /// directory, which is to be seen there.
    pub fn inside(mut self, process: u32, directory: PathBuf) -> Self {
        self.inside = Some((process, directory));
        self
    }

    /// Has the server take over a socket, as systemd would; it stays open while the server starts again.
    pub fn on_socket(mut self, socket: Socket) -> Self {
        self.socket = Some(socket);
        self
    }

    /// Sets an environment variable, for the server and the command line.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.retain(|(n, _)| n != name);
        self.env.push((name.into(), value.into()));
        self
    }

    /// Leaves an environment variable out.
    pub fn without(mut self, name: &str) -> Self {
        self.env.retain(|(n, _)| n != name);
        self
    }

    /// Has all three families answered by `provider`.
    pub fn provider(self, provider: &FakeProvider) -> Self {
        let url = provider.url();
        self.env("OPENAI_BASE_URL", format!("{url}/v1"))
            .env("OPENAI_API_KEY", OPENAI_KEY)
            .env("ANTHROPIC_BASE_URL", url.clone())
            .env("ANTHROPIC_API_KEY", ANTHROPIC_KEY)
            .env("GEMINI_BASE_URL", url)
            .env("GEMINI_API_KEY", GEMINI_KEY)
    }

    /// For a server in a `static`, which is never dropped: it ends when the test process does.
    pub fn until_exit(mut self) -> Self {
        self.outlives_tests = true;
        self
    }

    /// Keeps its data in this directory below its own, which is not there yet.
    pub fn below(mut self, path: &'static str) -> Self {
        self.below = Some(path);
        self
    }

    /// Starts the server and waits until it is ready.
    pub fn start(self) -> Deja {
        let data = tempfile::tempdir().unwrap();
        let bound = |socket: &Socket| socket.local_addr().unwrap().as_socket_ipv4().unwrap().port();
        let port = self.socket.as_ref().map_or_else(free_port, bound);
        let directory = match (&self.inside, self.below) {
            (Some((_, directory)), _) => directory.clone(),
            (None, Some(below)) => data.path().join(below),
            (None, None) => data.path().to_owned(),
        };
        let env = [("DEJA_LISTEN", format!("127.0.0.1:{port}")), ("DEJA_DATA_DIR", path(&directory))];
        let mut builder = self;
        if std::env::var("DEJA_TEST_BACKEND").is_ok_and(|backend| backend == "postgres")
            && !builder.env.iter().any(|(name, _)| name == "DEJA_DATABASE_URL")
        {
            builder = builder.env("DEJA_DATABASE_URL", new_database());
            if !builder.env.iter().any(|(name, _)| name == "DEJA_MASTER_KEY") {
                builder = builder.env("DEJA_MASTER_KEY", MASTER_KEY);
            }
        }
        for (name, value) in env {
            builder = builder.env(name, value);
        }
        let mut deja = Deja {
            process: None,
            port,
            data,
            env: builder.env,
            inside: builder.inside.map(|(process, _)| process),
            outlives_tests: builder.outlives_tests,
            socket: builder.socket,
            open_files: builder.open_files,
            log: Log::default(),
        };
        deja.launch("/readyz");
        deja
    }
}

/// A master key that all replicas have.
const MASTER_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
pub const OPENAI_KEY: &str = "sk-test-openai-5f1e0c7a";
pub const ANTHROPIC_KEY: &str = "sk-ant-test-9b2d44e1";
pub const GEMINI_KEY: &str = "AIza-test-c03f77d2";

struct Process {
    child: Child,
    pid: u32,
    readers: Vec<JoinHandle<()>>,
}

/// A server.
pub struct Deja {
    process: Option<Process>,
    port: u16,
    data: tempfile::TempDir,
    env: Vec<(String, String)>,
    inside: Option<u32>,
    outlives_tests: bool,
    socket: Option<Socket>,
    open_files: Option<u32>,
    log: Log,
}

impl Deja {
    /// A server with defaults: nothing of the caller's environment, no price refresh, quiet.
    pub fn builder() -> Builder {
        Builder {
            env: Vec::new(),
            below: None,
            inside: None,
            outlives_tests: false,
            socket: None,
            open_files: None,
        }
        .env("DEJA_PRICES_URL", "")
        .env("DEJA_LOG", "info")
        .env("RUST_BACKTRACE", "1")
        // The machine that runs the tests may be busy; how long things may take has its own tests.
        .env("DEJA_EMBED_TIMEOUT_MS", "60000")
        .env("DEJA_DATABASE_CONNECT_TIMEOUT_MS", "60000")
        .env("DEJA_DATABASE_ACQUIRE_TIMEOUT_MS", "60000")
        .env("DEJA_DATABASE_TIMEOUT_MS", "60000")
    }

    /// A server whose providers are `provider`.
    pub fn start(provider: &FakeProvider) -> Self {
        Self::builder().provider(provider).start()
    }

    /// A replica on the database at `url`, or a server on SQLite if that is empty; all of them have one master key.
    pub fn on(url: &str, provider: &FakeProvider) -> Self {
        Self::builder_on(url, provider).start()
    }

    /// The same, to be changed before it starts.
    pub fn builder_on(url: &str, provider: &FakeProvider) -> Builder {
        Self::builder().provider(provider).env("DEJA_DATABASE_URL", url).env("DEJA_MASTER_KEY", MASTER_KEY)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Its data directory.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("the server runs").pid
    }

    /// All it wrote to standard output and standard error, over all its starts.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&self.log.lock().unwrap()).into_owned()
    }

    /// The binary with this server's environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = match self.inside {
            None => Command::new(DEJA),
            Some(process) => {
                let mut enter = Command::new("nsenter");
                enter.args(["--target", &process.to_string(), "--user", "--mount", "--preserve-credentials"]);
                enter.arg(DEJA);
                enter
            }
        };
        command
            .args(arguments)
            .env_clear()
            .envs(self.env.iter().map(|(n, v)| (n, v)))
            .current_dir(self.data.path());
        command
    }

    /// Runs the command line against the same data directory.
    pub fn try_cli(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs the command line, which must succeed, and returns its last line.
    #[track_caller]
    pub fn cli(&self, arguments: &[&str]) -> String {
        let output = self.try_cli(arguments);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(
            output.status.success(),
            "deja {arguments:?}: {}\n{out}\n{err}\nserver:\n{}",
            output.status,
            self.log()
        );
        out.trim_end().lines().last().unwrap_or_default().to_owned()
    }

    /// Sends a request.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        http::once(self.address(), method, path, headers, body)
            .unwrap_or_else(|error| panic!("{method} {path}: {error}; log:\n{}", self.log()))
    }

    /// Posts JSON with a key.
    pub fn post(&self, key: &str, path: &str, body: &[u8]) -> Response {
        let authorization = format!("Bearer {key}");
        let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
        self.request("POST", path, &headers, body)
    }

    /// Sends a GET request.
    pub fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[], b"")
    }

    /// Sends SIGTERM and waits for the end.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }

    /// Sends a signal, by its name without `SIG`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end of the process.
    pub fn wait(&mut self) -> ExitStatus {
        let mut process = self.process.take().expect("the server runs");
        let status = wait(&mut process.child, PATIENCE).unwrap_or_else(|| {
            let _ = process.child.kill();
            panic!("the server did not end; log:\n{}", self.log())
        });
        process.readers.into_iter().for_each(|reader| reader.join().unwrap());
        status
    }

    /// Sets an environment variable for the next start.
    pub fn set(&mut self, name: &str, value: &str) {
        self.env.retain(|(n, _)| n != name);
        self.env.push((name.into(), value.into()));
    }

    /// Starts the server again, with the same data directory and port.
    pub fn restart(&mut self) {
        self.launch("/readyz");
    }

    /// The same, where it cannot become ready.
    pub fn restart_unready(&mut self) {
        self.launch("/livez");
    }

    /// A shell that runs `script`, to which the program is `$0`.
    fn shell(&self, shell: &str, script: &str, argument: &str) -> Command {
        let mut command = Command::new(shell);
        command
            .args(["-c", script, DEJA, argument])
            .env_clear()
            .envs(self.env.iter().map(|(n, v)| (n, v)))
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.data.path());
        command
    }

    fn launch(&mut self, well: &str) {
        assert!(self.process.is_none(), "the server still runs");
        let mut command = if self.outlives_tests {
            // A static is never dropped. The shell cleans up when the pipe from this process breaks.
            let script = r#""$0" serve & server=$!; echo "pid=$server"; cat >/dev/null; kill -9 $server; rm -rf "$DEJA_DATA_DIR""#;
            self.shell("/bin/sh", script, "")
        } else if let Some(socket) = &self.socket {
            // The first socket that is handed over is number 3, and the variables say whom it is for. Not /bin/sh: dash
            // knows numbers below 10 only.
            let script = r#"exec 3<&"$1"; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve"#;
            self.shell("bash", script, &socket.as_raw_fd().to_string())
        } else if let Some(most) = self.open_files {
            self.shell("/bin/sh", r#"ulimit -n "$1" && exec "$0" serve"#, &most.to_string())
        } else {
            self.command(&["serve"])
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let err = child.stderr.take().unwrap();
        let readers = vec![collect(out, self.log.clone()), collect(err, self.log.clone())];
        let pid = child.id();
        self.process = Some(Process { child, pid, readers });
        self.wait_until(well);
        if self.outlives_tests {
            let log = self.log();
            let line =
                log.lines().find_map(|line| line.strip_prefix("pid=")).expect("the shell tells the pid");
            self.process.as_mut().unwrap().pid = line.parse().unwrap();
        }
    }

    fn wait_until(&mut self, well: &str) {
        let began = within(PATIENCE, || {
            let said = http::once(self.address(), "GET", well, &[], b"").ok();
            let began = said.filter(|response| response.status == 200);
            if began.is_none() {
                let ended = self.process.as_mut().unwrap().child.try_wait().unwrap();
                assert!(ended.is_none(), "the server ended ({ended:?}); log:\n{}", self.log());
            }
            began
        });
        assert!(began.is_some(), "the server is not ready; log:\n{}", self.log());
    }

    /// Waits until it has logged `text` so many times.
    #[track_caller]
    pub fn until_logged(&self, text: &str, times: usize) {
        let logged = within(PATIENCE, || (self.log().matches(text).count() >= times).then_some(()));
        assert!(logged.is_some(), "no {text:?} in the log:\n{}", self.log());
    }

    /// A number of kilobytes from `/proc/<pid>/status`, such as `VmRSS` or `VmHWM`.
    pub fn memory_kb(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).expect("a field of /proc/pid/status");
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Deja {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _already_gone = process.child.kill();
            let _ = process.child.wait();
        }
    }
}

/// Waits for a child's end; `None` if it does not come in time.
pub fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    within(patience, || child.try_wait().unwrap())
}

fn collect(mut from: impl Read + Send + 'static, log: Log) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut chunk = [0; 8192];
        while let Ok(n) = from.read(&mut chunk) {
            if n == 0 {
                return;
            }
            log.lock().unwrap().extend_from_slice(&chunk[..n]);
        }
    })
}

/// The URL of an empty database. The server that it is in is thrown away after the tests.
pub fn new_database() -> String {
    // A thread of its own: the caller may be in a runtime already.
    let creating = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(crate::postgres::Database::create()).keep()
    });
    creating.join().unwrap()
}

fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A port that nobody listens on, below the range that outgoing connections take theirs from.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = std::process::id().wrapping_mul(61) as u16 % 10_000;
    loop {
        let port = 20_000 + (base + NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
