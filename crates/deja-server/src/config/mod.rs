//! The settings in force: defaults, then `deja.toml`, then the environment, then flags.
//!
//! Every setting stands with its meaning in `config.default.toml`, which is compiled in as the defaults.
//! [`layers`] puts the four together, [`check`] turns them into a [`Config`] or says in one line what is wrong.
//! Nothing here reads the environment of the process: it comes in as a map.

mod check;
mod layers;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use deja_store::{PostgresSettings, StoreSettings};
use ipnet::IpNet;
use secrecy::SecretString;
use url::Url;

pub use layers::{Settings, Sources};
pub(crate) use layers::{is_known, usual_prices_url, without_secrets};

/// The settings, checked. Empty texts are `None`, times are durations, sizes are bytes.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the API listens.
    pub listen: SocketAddr,
    /// Where everything is kept. Not necessarily there yet.
    pub data_dir: PathBuf,
    /// The PostgreSQL that keeps the data instead, if one does.
    pub database: Option<PostgresSettings>,
    /// The URL that clients reach deja under; no slash at its end.
    pub public_url: String,
    /// Whether the settings say it; otherwise it is where deja listens.
    pub public_url_is_set: bool,
    /// Networks of proxies that are believed when they say whom they speak for.
    pub trusted_proxies: Vec<IpNet>,
    /// Where the metrics listen, if they do.
    pub metrics_listen: Option<SocketAddr>,
    /// Where spans are sent, if they are.
    pub traces_url: Option<Url>,
    /// The key for stored secrets; `None` means the file in the data directory.
    pub master_key: Option<SecretString>,
    /// What is logged, as a filter of tracing-subscriber.
    pub log: String,
    /// How a log line looks.
    pub log_format: LogFormat,
    /// Where fresh prices come from, if they do.
    pub prices_url: Option<Url>,
    /// How often they are fetched.
    pub prices_refresh: Duration,
    /// What turns prompts into vectors.
    pub embedder: EmbedderSettings,
    /// Bounds of requests.
    pub request: RequestSettings,
    /// Memory for answers that were served lately, in bytes; 0 for none.
    pub answer_cache_bytes: u64,
    /// Longest time of a search by text.
    pub search_timeout: Duration,
    /// Connections to the API.
    pub connection: ConnectionSettings,
    /// Calls to LLM providers.
    pub upstream: UpstreamSettings,
    /// The operator's accounts at LLM providers.
    pub credentials: Credentials,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What turns prompts into vectors.
#[derive(Clone, Debug)]
pub struct EmbedderSettings {
    /// Which one.
    pub source: EmbedderSource,
    /// Threads that embed, at least one.
    pub threads: usize,
    /// Prompts that may wait.
    pub queue: usize,
    /// Longest wait for a vector.
    pub timeout: Duration,
}

/// Which embedder.
#[derive(Clone, Debug)]
pub enum EmbedderSource {
    /// The model inside deja.
    Builtin,
    /// Another model, in this directory.
    Directory(PathBuf),
    /// A server.
    Remote {
        /// What its path ends in says which format it speaks.
        base_url: Url,
        /// The model to ask for.
        model: String,
        /// The key, if the server wants one.
        api_key: Option<SecretString>,
        /// Components of a vector, where they are asked for.
        dimensions: Option<u32>,
        /// The longest text that the model reads, in tokens.
        window: u32,
    },
}

/// Bounds of requests; sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSettings {
    /// Longest prompt.
    pub max_prompt_bytes: usize,
    /// Longest context.
    pub max_context_bytes: usize,
    /// Longest body.
    pub max_body_bytes: usize,
    /// Longest time of a query.
    pub timeout: Duration,
    /// Longest body of a request in a wire format.
    pub wire_max_body_bytes: usize,
    /// What the bodies of all such requests that are under way take together.
    pub wire_max_bytes_in_flight: usize,
    /// How fast such a body must come, in bytes a second.
    pub wire_min_body_rate: u32,
}

/// Connections to the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// Longest time for the head of a request to arrive.
    pub header_timeout: Duration,
    /// Longest time for its body to arrive; for one in a wire format, longest silence within it.
    pub body_timeout: Duration,
    /// How long a connection without a request stays open.
    pub idle_timeout: Duration,
    /// How long a client may take nothing of its answer.
    pub write_timeout: Duration,
    /// How long a stream may be silent before a comment goes out.
    pub stream_keep_alive: Duration,
    /// How long it goes on answering after SIGTERM, not ready any more, for load balancers to notice.
    pub shutdown_delay: Duration,
    /// How long requests may take to end after a signal to stop.
    pub shutdown_timeout: Duration,
    /// Connections at once.
    pub max_connections: usize,
}

/// Calls to LLM providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// Longest time to connect.
    pub connect_timeout: Duration,
    /// Longest time of one attempt; of an answer that is passed on, until it begins.
    pub timeout: Duration,
    /// Longest silence within an answer.
    pub idle_timeout: Duration,
    /// Longest time of all attempts together.
    pub total_timeout: Duration,
    /// Attempts at most, at least one.
    pub max_attempts: u32,
    /// How long an answer is read on that no client waits for any more.
    pub hangup_timeout: Duration,
    /// Longest answer that is read, in bytes.
    pub max_response_bytes: usize,
    /// Bytes of all answers that are being read at once.
    pub max_bytes_in_flight: usize,
    /// Calls under way at once.
    pub max_in_flight: usize,
    /// Calls of one project under way at once.
    pub max_in_flight_per_project: usize,
}

/// The operator's accounts at LLM providers, from the environment under the names that other tools use.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// `OPENAI_API_KEY`, `OPENAI_BASE_URL`.
    pub openai: Account,
    /// `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`.
    pub anthropic: Account,
    /// `GEMINI_API_KEY` or `GOOGLE_API_KEY`, `GEMINI_BASE_URL`.
    pub google: Account,
}

/// An account at a provider.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The key; without it the provider is not called.
    pub api_key: Option<SecretString>,
    /// Another address than the provider's own.
    pub base_url: Option<Url>,
}

/// What is wrong with the settings, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl Config {
    /// Tells where deja listens in the end: the port may be 0 in the settings, and a socket that was handed over has an
    /// address of its own.
    pub fn listens_on(&mut self, address: SocketAddr) {
        if !self.public_url_is_set {
            self.public_url = check::url_of(address);
        }
    }

    /// What is valid, and most likely not meant: a line each.
    pub fn warnings(&self) -> Vec<String> {
        let (query, call) = (self.request.timeout.as_secs(), self.upstream.total_timeout.as_secs());
        let late = (call >= query).then(|| {
            format!(
                "upstream_total_timeout_s ({call}) is not below query_timeout_s ({query}): queries end with query_timeout \
                 before deja gives up a call of their provider"
            )
        });
        let all = self.trusted_proxies.iter().filter(|network| network.prefix_len() == 0);
        let all = all.map(|network| {
            format!("trusted_proxies has {network}: whoever reaches deja can pretend to have any address")
        });
        late.into_iter().chain(all).collect()
    }

    /// Where the data is kept.
    pub fn store(&self) -> StoreSettings {
        StoreSettings {
            answer_cache_bytes: self.answer_cache_bytes,
            search_timeout: self.search_timeout,
            postgres: self.database.clone(),
            ..StoreSettings::new(&self.data_dir)
        }
    }

    /// Puts the sources together and checks every value.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        Settings::load(sources)?.check()
    }
}
