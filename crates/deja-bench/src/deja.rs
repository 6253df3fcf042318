//! A deja server with a data directory of its own, its provider, a project and a key.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::Bench;
use crate::fill;
use crate::load::{self, Job, Outcome, Route};
use crate::process::Server;
use crate::prompts;

/// The most that the limiter takes, a minute and at once. An answer 429 would stop the run.
pub(crate) const LIMIT: u32 = 1_000_000;
/// How long an answer may take: deja's own deadlines are shorter, or the figure is worth nothing.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a start may take at most.
const PATIENCE: Duration = Duration::from_mins(5);
/// How long the index of a large store may take from a slow disk.
const LOADING: Duration = Duration::from_mins(30);

/// Where a server keeps its data.
pub(crate) enum Place {
    /// In this directory.
    Directory(PathBuf),
    /// In a directory that goes with it.
    Temporary(TempDir),
    /// In this database; what else it writes goes to a directory of its own.
    Database { url: String, data: TempDir },
}

impl Place {
    pub(crate) fn database(url: &str) -> Result<Self> {
        Ok(Self::Database { url: url.to_owned(), data: tempfile::tempdir()? })
    }

    fn data(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::Temporary(data) | Self::Database { data, .. } => data.path(),
        }
    }
}

/// Default settings but for addresses, the price refresh (no network) and the provider.
fn command(bench: &Bench, place: &Place, address: &str, provider: &str) -> Command {
    let mut command = Command::new(&bench.deja);
    let data = place.data();
    command.env_clear();
    if let Place::Database { url, .. } = place {
        // Replicas seal secrets with one key.
        command.env("DEJA_DATABASE_URL", url).env("DEJA_MASTER_KEY", "00".repeat(32));
    }
    command
        .env("DEJA_LISTEN", address)
        .env("DEJA_DATA_DIR", data)
        .env("DEJA_PRICES_URL", "")
        .env("OPENAI_API_KEY", "sk-bench")
        .env("OPENAI_BASE_URL", format!("http://{provider}/v1"))
        .current_dir(data);
    command
}

/// A server that is ready, and how long that took.
pub(crate) struct Started {
    pub(crate) server: Server,
    pub(crate) address: String,
    pub(crate) took: Duration,
}

/// One of several servers with the same data.
pub(crate) struct Replica {
    pub(crate) server: Server,
    pub(crate) address: String,
    pub(crate) key: String,
    place: Place,
}

/// Starts a server on a store that [`crate::fill`] filled; with a new key, unless there is one.
pub(crate) fn replica(bench: &Bench, place: Place, provider: &str, key: Option<String>) -> Result<Replica> {
    let Started { server, address, .. } = start(bench, &place, provider)?;
    let create = ["key", "create", "--project", fill::SLUG, "--name", "bench"];
    let key = match key {
        Some(key) => key,
        None => last_line(command(bench, &place, &address, provider).args(create))?,
    };
    Ok(Replica { server, address, key, place })
}

/// The same on a database that may be empty, with a project of its own.
pub(crate) fn replica_for(bench: &Bench, place: Place, provider: &str, slug: &str) -> Result<Replica> {
    let Started { server, address, .. } = start(bench, &place, provider)?;
    let key = new_project(bench, &place, &address, provider, slug, [LIMIT; 2])?;
    Ok(Replica { server, address, key, place })
}

/// A key of a new project, with its limits: a minute, and at once.
fn new_project(
    bench: &Bench,
    place: &Place,
    address: &str,
    provider: &str,
    slug: &str,
    limits: [u32; 2],
) -> Result<String> {
    let cli = |arguments: &[&str]| last_line(command(bench, place, address, provider).args(arguments));
    let [minute, burst] = limits.map(|limit| limit.to_string());
    cli(&["project", "create", slug, "--tier", "enterprise", "--rpm", &minute, "--burst", &burst])?;
    cli(&["key", "create", "--project", slug, "--name", "bench"])
}

/// Starts a server and waits for `/readyz`.
pub(crate) fn start(bench: &Bench, place: &Place, provider: &str) -> Result<Started> {
    let address = free_address()?;
    let log = log_of(place, &address);
    let file = File::create(&log)?;
    let began = Instant::now();
    let mut command = command(bench, place, &address, provider);
    let mut server = Server::start(command.arg("serve").stdout(file.try_clone()?).stderr(file))?;
    while !is_ready(&address, "/readyz") {
        server.check().with_context(|| std::fs::read_to_string(&log).unwrap_or_default())?;
        anyhow::ensure!(began.elapsed() < PATIENCE, "not ready after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(Started { server, address, took: began.elapsed() })
}

fn log_of(place: &Place, address: &str) -> PathBuf {
    place.data().join(format!("bench-{}.log", address.replace(':', "-")))
}

/// Free now; that it is still free in a moment is likely enough.
pub(crate) fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Whether the server says so at `path`.
pub(crate) fn is_ready(address: &str, path: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        Ok(status.ends_with(b"200"))
    };
    // Whatever goes wrong, it is not ready.
    ask().unwrap_or(false)
}

/// A server to send load to.
pub(crate) struct Deja<'a> {
    bench: &'a Bench,
    pub(crate) server: Server,
    address: String,
    key: String,
    /// Where its provider is.
    pub(crate) provider: String,
    pub(crate) provider_server: Server,
    pub(crate) place: Place,
}

impl<'a> Deja<'a> {
    /// A server with an empty cache, and a provider that answers at once.
    pub(crate) fn new(bench: &'a Bench) -> Result<Self> {
        Self::behind(bench, &[])
    }

    /// The same with a provider that has these arguments.
    pub(crate) fn behind(bench: &'a Bench, arguments: &[&str]) -> Result<Self> {
        let place = Place::Temporary(tempfile::tempdir()?);
        let (provider_server, provider) = Server::part(&bench.me, &[&["provider"], arguments].concat())?;
        let Started { server, address, .. } = start(bench, &place, &provider)?;
        let key = new_project(bench, &place, &address, &provider, "bench", [LIMIT; 2])?;
        Ok(Self { bench, server, address, key, provider, provider_server, place })
    }

    /// A server on a directory that [`crate::fill`] filled, with a key of its own.
    pub(crate) fn filled(bench: &'a Bench, data: &Path) -> Result<Self> {
        let (provider_server, provider) = Server::part(&bench.me, &["provider"])?;
        let Replica { server, address, key, place } =
            replica(bench, Place::Directory(data.to_owned()), &provider, None)?;
        Ok(Self { bench, server, address, key, provider, provider_server, place })
    }

    /// Waits until all of the index is loaded, which a start with millions of entries does not.
    pub(crate) fn wait_for_index(&self) -> Result<()> {
        let (began, log) = (Instant::now(), log_of(&self.place, &self.address));
        loop {
            let log = std::fs::read_to_string(&log)?;
            if !log.contains("the index is loaded beside requests")
                || log.contains("all of the index is loaded")
            {
                return Ok(());
            }
            anyhow::ensure!(began.elapsed() < LOADING, "the index is not loaded after {LOADING:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Deja's own API.
    pub(crate) fn query(&self) -> Route {
        Route::query(&self.address, &self.key)
    }

    /// Chat completions in OpenAI's format.
    pub(crate) fn chat(&self) -> Route {
        Route::chat(&self.address, &self.key)
    }

    /// As [`Deja::new`], with this many entries: each prompt is asked once. Threshold 1, so that a prompt
    /// which is like an earlier one becomes an entry all the same.
    pub(crate) fn with_entries(bench: &'a Bench, entries: usize) -> Result<Self> {
        anyhow::ensure!(entries <= prompts::ENTRIES, "at most {} entries", prompts::ENTRIES);
        let mut deja = Self::new(bench)?;
        eprintln!("filling {entries} entries");
        let bodies = (0..entries).map(|index| prompts::body(&prompts::entry(index), Some(1.0))).collect();
        let filled = deja.all(bodies)?;
        anyhow::ensure!(filled.hits == 0, "{} of {entries} prompts were not new", filled.hits);
        Ok(deja)
    }

    /// One more project, which may ask so much a second, and no more at once.
    pub(crate) fn project(&self, slug: &str, limit: u32) -> Result<Route> {
        let Self { bench, place, address, provider, .. } = self;
        let key = new_project(bench, place, address, provider, slug, [limit * 60, limit])?;
        Ok(Route::query(address, &key))
    }

    /// Sends every body once.
    pub(crate) fn all(&mut self, bodies: Vec<String>) -> Result<Outcome> {
        self.each(self.query(), bodies)
    }

    /// Sends every body once, there.
    pub(crate) fn each(&mut self, route: Route, bodies: Vec<String>) -> Result<Outcome> {
        self.load(&Job::once(route, bodies))
    }

    /// Sends load.
    pub(crate) fn load(&mut self, job: &Job) -> Result<Outcome> {
        load::against(&self.bench.me, &mut self.server, job)
    }

    /// Waits until the limiter lets this many requests through: it gives back no more than 16,667 a second.
    pub(crate) fn wait_for_limit(&self, requests: u64) -> Result<()> {
        let requests = requests.min(u64::from(LIMIT));
        loop {
            let (head, _) = answer(&self.query(), &prompts::body(&prompts::entry(0), None))?;
            let left = head.to_lowercase();
            let left = left.lines().find_map(|line| line.strip_prefix("x-ratelimit-remaining:"));
            let left: u64 = left.context("no X-RateLimit-Remaining")?.trim().parse()?;
            // The question itself took one.
            if left + 1 >= requests {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis((requests - left) / 16));
        }
    }
}

/// The status of the answer to `body`.
pub(crate) fn status(address: &str, key: &str, body: &str) -> Result<u16> {
    let (head, _) = answer(&Route::query(address, key), body)?;
    Ok(head.split(' ').nth(1).context("no status")?.parse()?)
}

/// The length of the answer to `body`.
pub(crate) fn answer_bytes(route: &Route, body: &str) -> Result<usize> {
    Ok(answer(route, body)?.1.len())
}

/// Head and body of the answer to `body`.
fn answer(route: &Route, body: &str) -> Result<(String, String)> {
    let mut stream = TcpStream::connect(&route.address)?;
    stream.set_read_timeout(Some(SILENCE))?;
    let headers = format!("{}Connection: close\r\n", route.headers);
    stream.write_all(&load::request(&Route { headers, ..route.clone() }, body))?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    Ok((head.to_owned(), body.to_owned()))
}

fn last_line(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    let text = String::from_utf8(output.stdout)?;
    anyhow::ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(text.trim_end().lines().last().context("no output")?.to_owned())
}
