//! The harness: a server, fake providers, an HTTP client, and tenants to ask with.

pub mod collector;
pub mod deja;
pub mod http;
pub mod metrics;
mod patience;
pub mod provider;
pub mod random;
pub mod server;
pub mod stream;
pub mod tenant;

use std::sync::OnceLock;

pub use deja::Deja;
pub use http::Response;
pub use metrics::metrics;
pub(crate) use patience::{PATIENCE, eventually, within};
pub use provider::{FakeProvider, Gate, Reaction};
pub use random::Random;
pub use tenant::Tenant;

/// A server and its providers.
pub struct World {
    pub deja: Deja,
    pub provider: FakeProvider,
}

impl World {
    /// A server of one's own.
    pub fn start() -> Self {
        let provider = FakeProvider::start();
        Self { deja: Deja::start(&provider), provider }
    }

    /// The server that tests share which change nothing but their own projects.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<World> = OnceLock::new();
        SHARED.get_or_init(|| {
            let provider = FakeProvider::start();
            Self { deja: Deja::builder().provider(&provider).until_exit().start(), provider }
        })
    }

    /// A project of the test's own, with a limit that is out of the way.
    pub fn tenant(&self, name: &str) -> Tenant<'_> {
        self.limited(name, "100000", "100000")
    }

    /// A project of the test's own, with this limit.
    pub fn limited(&self, name: &str, rpm: &str, burst: &str) -> Tenant<'_> {
        Tenant::create(&self.deja, name, &["--tier", "enterprise", "--rpm", rpm, "--burst", burst])
    }
}
