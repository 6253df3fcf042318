//! The wiring: what the settings say becomes an engine.

use std::sync::Arc;
use std::time::Duration;

use deja_core::admin::Admin;
use deja_core::cache::Readings;
use deja_core::clock::SystemClock;
use deja_core::embedding::Embedder;
use deja_core::engine::{CallLimits, Engine, Parts, RecordLimits};
use deja_core::id::SystemEntropy;
use deja_core::store::Store;
use deja_embed::{LocalEmbedder, PairReader, PoolConfig};
use deja_providers::{
    BuiltIn, Credentials, HttpSettings, Registry, RemoteEmbedder, RemoteSettings, SpanSender, TokenCounter,
};
use deja_store::{OpenError, StoreSettings};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{Account, Config, EmbedderSource};
use crate::console::Console;
use crate::feeds::prices::PriceFeed;
use crate::feeds::providers::ProviderDirectory;
use crate::readiness::Readiness;
use crate::secrets::passwords::Passwords;
use crate::secrets::vault::Vault;
use crate::state::{App, RequestLimits};
use crate::telemetry::Metrics;
use crate::traces::Traces;

/// How often, and after how long, a store is tried again that another process has: most commands have it for a moment.
pub(crate) const LOCK_TRIES: u32 = 30;
pub(crate) const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// Everything that runs, joined.
pub struct Components {
    /// For handlers.
    pub app: Arc<App>,
    /// For the use cases of operators.
    pub admin: Arc<Admin>,
    /// Storage.
    pub store: Arc<dyn Store>,
    /// The embedding model.
    pub embedder: Arc<dyn Embedder>,
    /// The prices in force.
    pub prices: Arc<PriceFeed>,
    /// The web console.
    pub console: Arc<Console>,
    /// What is counted for Prometheus.
    pub metrics: Arc<Metrics>,
}

/// Joins the parts. Upstream calls run on `tasks`; `leaving` turns readiness off.
pub async fn wire(
    config: &Config,
    tasks: TaskTracker,
    leaving: CancellationToken,
    cut: CancellationToken,
) -> anyhow::Result<Components> {
    let embedder = embedder(config).await?;
    let settings = StoreSettings { embedder: Some(embedder.id().clone()), ..config.store() };
    let store = open(&settings).await?;
    let key = config.master_key.as_ref();
    let vault =
        Vault::load(key, &settings, Arc::new(SystemEntropy), &*store, |text| tracing::warn!("{text}"))
            .await?;
    let prices = Arc::new(PriceFeed::open(config.prices_url.clone(), &config.data_dir));
    let http = HttpSettings {
        connect_timeout: config.upstream.connect_timeout,
        attempt_timeout: config.upstream.timeout,
        idle_timeout: config.upstream.idle_timeout,
        total_deadline: config.upstream.total_timeout,
        max_response_bytes: config.upstream.max_response_bytes,
        max_bytes_in_flight: config.upstream.max_bytes_in_flight,
        max_attempts: config.upstream.max_attempts as usize,
    };
    let registry = Registry::new(
        BuiltIn {
            openai: credentials(&config.credentials.openai),
            anthropic: credentials(&config.credentials.anthropic),
            google: credentials(&config.credentials.google),
        },
        http.clone(),
        prices.book.clone(),
    )?;
    let providers = Arc::new(ProviderDirectory::new(registry, store.clone(), vault.clone()));
    let metrics = Arc::new(Metrics::default());
    let admin = admin(store.clone(), vault.clone(), prices.clone(), &config.public_url);
    let parts = Parts {
        store: store.clone(),
        embedder: embedder.clone(),
        readings: admin.readings.clone(),
        providers: providers.clone(),
        prices: prices.book.clone(),
        tokens: Arc::new(TokenCounter),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        listener: metrics.clone(),
        query_timeout: config.request.timeout,
        calls: CallLimits {
            all: config.upstream.max_in_flight,
            each: config.upstream.max_in_flight_per_project,
        },
        records: RecordLimits {
            each: config.upstream.max_response_bytes,
            all: config.upstream.max_bytes_in_flight,
        },
        hangup_timeout: config.upstream.hangup_timeout,
        cut,
    };
    let limits = RequestLimits {
        body_bytes: config.request.max_body_bytes,
        body_timeout: config.connection.body_timeout,
        prompt_bytes: config.request.max_prompt_bytes,
        context_bytes: config.request.max_context_bytes,
        wire_body_bytes: config.request.wire_max_body_bytes,
        wire_bytes_in_flight: config.request.wire_max_bytes_in_flight,
        wire_body_rate: config.request.wire_min_body_rate,
        keep_alive: config.connection.stream_keep_alive,
    };
    let readiness = Readiness::new(store.clone(), tasks.clone());
    let engine = Engine::new(parts, tasks);
    let traces = match &config.traces_url {
        Some(url) => Some(Traces::start(url, SpanSender::new(&http)?)?),
        None => None,
    };
    let app = Arc::new(App::new(engine, limits, providers.clone(), readiness, leaving, traces));
    let admin =
        Arc::new(Admin { embedder: Some(embedder.id().clone()), providers: Some(providers), ..admin });
    let console = Console::new(admin.clone(), app.clone(), vault, config.trusted_proxies.clone());
    Ok(Components { app, admin, store, embedder, prices, console: Arc::new(console), metrics })
}

/// What use cases work with, over these parts and the machine's clock and random bytes.
pub fn admin(store: Arc<dyn Store>, vault: Vault, prices: Arc<PriceFeed>, public_url: &str) -> Admin {
    Admin {
        store,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        sealer: Arc::new(vault),
        passwords: Arc::new(Passwords::new(Arc::new(SystemEntropy))),
        prices,
        url_check: |url, allow_private| {
            deja_providers::check_url(url, allow_private).map_err(|error| error.to_string())
        },
        public_url: public_url.to_owned(),
        readings: Arc::new(Readings::new(PairReader::default())),
        embedder: None,
        providers: None,
        imported: Arc::default(),
        changes: tokio::sync::Mutex::default(),
    }
}

/// The store, once no command has it.
async fn open(settings: &StoreSettings) -> Result<Arc<dyn Store>, OpenError> {
    for _ in 1..LOCK_TRIES {
        match deja_store::open(settings).await {
            Err(OpenError::Locked { .. }) => tokio::time::sleep(LOCK_PAUSE).await,
            opened => return opened,
        }
    }
    deja_store::open(settings).await
}

/// The embedder that the settings name.
pub(crate) async fn embedder(config: &Config) -> anyhow::Result<Arc<dyn Embedder>> {
    let settings = &config.embedder;
    let pool = PoolConfig { threads: settings.threads, queue: settings.queue, deadline: settings.timeout };
    Ok(match &settings.source {
        EmbedderSource::Builtin => Arc::new(LocalEmbedder::builtin(pool)?),
        EmbedderSource::Directory(path) => Arc::new(LocalEmbedder::from_directory(path, pool)?),
        EmbedderSource::Remote { base_url, model, api_key, dimensions, window } => {
            let remote = RemoteSettings {
                url: base_url.to_string().trim_end_matches('/').to_owned(),
                model: model.clone(),
                key: api_key.clone(),
                dimensions: *dimensions,
                window: *window,
                deadline: settings.timeout,
                queue: settings.queue,
            };
            Arc::new(RemoteEmbedder::connect(remote).await?)
        }
    })
}

/// A base URL without a key is not enough: where a gateway wants none, any word will do as the key.
fn credentials(account: &Account) -> Option<Credentials> {
    let base_url = account.base_url.as_ref().map(|url| url.to_string().trim_end_matches('/').to_owned());
    account.api_key.clone().map(|key| Credentials { key, base_url })
}
