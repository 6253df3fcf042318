//! Servers to try things on: one that keeps its data in SQLite, one in PostgreSQL.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::util::deja::{Builder, free_port, new_database};
use crate::util::{Deja, FakeProvider, Tenant};
use crate::util::{eventually, http};

/// A limit that is out of the way.
pub const UNLIMITED: [&str; 6] = ["--tier", "enterprise", "--rpm", "1000000", "--burst", "1000000"];

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Postgres,
    Sqlite,
}

impl Backend {
    pub const ALL: [Self; 2] = [Self::Postgres, Self::Sqlite];

    /// The one whose turn it is.
    pub fn of(seed: u64) -> Self {
        Self::ALL[usize::try_from(seed % 2).unwrap()]
    }
}

/// A server of each kind with what belongs to it, begun when its turn comes.
pub struct Pair<T>([Option<T>; 2]);

impl<T> Pair<T> {
    pub const fn new() -> Self {
        Self([None, None])
    }

    /// The one whose turn it is.
    pub fn turn(&mut self, seed: u64, begin: impl FnOnce(Backend) -> T) -> &mut T {
        let backend = Backend::of(seed);
        self.0[backend as usize].get_or_insert_with(|| begin(backend))
    }
}

/// A server that can be asked how it is.
pub struct World {
    pub deja: Deja,
    pub provider: FakeProvider,
    /// Where its database is, if that is PostgreSQL.
    pub database: Option<String>,
    metrics: u16,
}

impl World {
    /// One with an empty store.
    pub fn start(backend: Backend) -> Self {
        Self::start_with(backend, |builder| builder)
    }

    /// The same with other settings.
    pub fn start_with(backend: Backend, change: impl FnOnce(Builder) -> Builder) -> Self {
        Self::start_on((backend == Backend::Postgres).then(new_database), change)
    }

    /// One on the PostgreSQL database at this URL, or on SQLite.
    pub fn start_on(database: Option<String>, change: impl FnOnce(Builder) -> Builder) -> Self {
        let provider = FakeProvider::start();
        let metrics = free_port();
        // Set in any case: which backend it is does not come from the environment here.
        let builder = Deja::builder_on(database.as_deref().unwrap_or_default(), &provider)
            .env("DEJA_LOG", "warn")
            .env("DEJA_METRICS_LISTEN", format!("127.0.0.1:{metrics}"));
        Self { deja: change(builder).start(), provider, database, metrics }
    }

    /// One on a copy of this database file.
    pub fn start_on_file(file: &Path) -> Self {
        let mut world = Self::start(Backend::Sqlite);
        world.deja.stop();
        for kept in std::fs::read_dir(world.deja.data()).unwrap() {
            std::fs::remove_file(kept.unwrap().path()).unwrap();
        }
        std::fs::copy(file, world.deja.data().join("deja.db")).unwrap();
        world.deja.restart();
        world
    }

    /// The slug and a key of a new project without a limit.
    pub fn project(&self, name: &str) -> (String, String) {
        let tenant = Tenant::create(&self.deja, name, &UNLIMITED);
        (tenant.slug, tenant.key)
    }

    /// The sum of a metric over its labels; 0 if there is none yet.
    pub fn metric(&self, name: &str) -> f64 {
        let address = SocketAddr::from(([127, 0, 0, 1], self.metrics));
        let text = http::once(address, "GET", "/metrics", &[], b"").unwrap().text();
        let of = |line: &str| {
            let rest = line.strip_prefix(name)?;
            let value = rest
                .strip_prefix(' ')
                .or_else(|| rest.strip_prefix('{')?.split_once("} ").map(|(_, v)| v))?;
            value.parse::<f64>().ok()
        };
        text.lines().filter_map(of).sum()
    }

    /// Open files and sockets of the server.
    pub fn descriptors(&self) -> u64 {
        std::fs::read_dir(format!("/proc/{}/fd", self.deja.pid())).unwrap().count() as u64
    }

    /// Waits until nobody is served: no provider call, no more descriptors than `most`, nothing under way in the database.
    #[track_caller]
    pub fn wait_until_idle(&self, most: u64) {
        eventually("no call to a provider is under way", || self.metric("deja_upstream_calls") == 0.0);
        eventually("connections are closed", || self.descriptors() <= most);
        if let Some(database) = &self.database {
            eventually("no transaction is open in PostgreSQL", || open_transactions(database) == 0);
        }
    }

    /// Asserts that nothing in the log is a panic, and that it still serves.
    #[track_caller]
    pub fn assert_sound(&self) {
        let log = self.deja.log();
        assert!(!log.contains("panicked"), "{log}");
        assert_eq!(self.deja.get("/readyz").status, 200, "{log}");
    }
}

/// Statements and transactions under way, apart from the one that asks.
fn open_transactions(database: &str) -> i64 {
    const BUSY: &str = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()";
    in_runtime(async {
        let client = crate::postgres::connect(database).await;
        client.query_one(BUSY, &[]).await.unwrap().get(0)
    })
}

/// Says stop when it goes, however that comes about: a scope waits for its threads even while it panics.
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs what is async to its end.
pub fn in_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}
