//! Start and end of the server: bind, wire, serve, drain, write what is left, close.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::routing::get;
use deja_core::admin::operators::{self, Setup};
use deja_core::clock::{Clock, SystemClock};
use deja_core::engine::Engine;
use deja_core::store::{Store, StoreError};
use listenfd::ListenFd;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::error::ApiError;
use crate::commands::socket::OwnDirectory;
use crate::config::{Config, ConnectionSettings};
use crate::descriptors;
use crate::format::to_second;
use crate::listener::{self, ListenerLimits};
use crate::state::App;
use crate::telemetry::{Metrics, Present};
use crate::wiring::{self, Components};
use crate::{jobs, routes, telemetry};

/// How often gauges are set that nothing sets as their value changes.
const OBSERVE_EVERY: Duration = Duration::from_secs(5);
/// How long requests that are cut may take to be counted.
const CUT: Duration = Duration::from_secs(2);

/// Serves until SIGTERM or SIGINT.
pub async fn serve(config: Config) -> anyhow::Result<()> {
    // Before the server is ready: whoever sees that may send a signal at once.
    let mut signals = Signals::catch()?;
    let server = tokio::select! {
        started = Server::start(config) => started?,
        _ = signals.next() => {
            tracing::info!("stopped by a signal before it served");
            return Ok(());
        }
    };
    let setup = server.greet().await;
    if signals.next().await == Caught::Term {
        tokio::select! {
            () = server.leave() => {}
            _ = signals.next() => {}
        }
    }
    if let Some(Setup::Link(_, token)) = setup
        && let Err(error) = operators::withdraw(&server.wired.admin, &token).await
    {
        tracing::warn!(%error, "the link for the first operator still works");
    }
    server.stop(&mut signals).await
}

/// A server that runs.
pub struct Server {
    /// Its parts.
    pub wired: Components,
    /// Where it listens.
    pub address: std::net::SocketAddr,
    config: Config,
    leaving: CancellationToken,
    stop: CancellationToken,
    cut: CancellationToken,
    listeners: TaskTracker,
    background: TaskTracker,
    upstream: TaskTracker,
}

impl Server {
    /// Starts everything; requests are answered when this returns.
    pub async fn start(mut config: Config) -> anyhow::Result<Self> {
        let (stop, cut) = (CancellationToken::new(), CancellationToken::new());
        // A stop ends readiness, too.
        let leaving = stop.child_token();
        let (listeners, background, upstream) = (TaskTracker::new(), TaskTracker::new(), TaskTracker::new());
        // The port first: with a wrong one nothing else has to be undone.
        let listener = match handed_over()? {
            Some(listener) => listener,
            None => bind(config.listen, "DEJA_LISTEN").await?,
        };
        let address = listener.local_addr()?;
        config.listens_on(address);
        config.connection.max_connections = descriptors::for_clients(config.connection.max_connections);
        let limits = limits(&config.connection);
        let metrics = match config.metrics_listen {
            Some(address) => Some((bind(address, "DEJA_METRICS_LISTEN").await?, telemetry::init_metrics()?)),
            None => None,
        };
        let directory = OwnDirectory::take(&config.data_dir)?;
        let wired = wiring::wire(&config, upstream.clone(), leaving.clone(), cut.clone()).await?;
        let collected = metrics.as_ref().map(|(_, handle)| handle.clone());
        if let Some((metrics, handle)) = metrics {
            let (counted, app) = (wired.metrics.clone(), wired.app.clone());
            let text = move || scraped(handle.clone(), counted.clone(), app.clone());
            let router = Router::new()
                .route("/metrics", get(text))
                .fallback(async || ApiError::NotFound)
                .method_not_allowed_fallback(async || ApiError::MethodNotAllowed);
            listeners.spawn(listener::serve(metrics, router, limits, stop.clone(), cut.clone()));
        }
        let router = routes::router(wired.app.clone(), wired.console.clone())?;

        let database = config.store().database()?;
        background.spawn(directory.listen()?.serve(wired.admin.clone(), database, stop.clone()));
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        background.spawn(jobs::sweep::entries(wired.store.clone(), clock.clone(), stop.clone()));
        background.spawn(jobs::sweep::history(wired.store.clone(), clock.clone(), stop.clone()));
        let imported = wired.admin.imported.clone();
        background.spawn(jobs::reembed::run(
            wired.store.clone(),
            wired.embedder.clone(),
            clock.clone(),
            imported,
            stop.clone(),
        ));
        let (engine, book) = (wired.app.engine().clone(), wired.prices.book.clone());
        // What is answered while the server stops is counted, too.
        background.spawn(jobs::counts::flush(engine.clone(), cut.clone()));
        background.spawn(observe(engine, book, collected, stop.clone()));
        background.spawn(wired.prices.clone().run(config.prices_refresh, clock, stop.clone()));
        listeners.spawn(listener::serve(listener, router, limits, stop.clone(), cut.clone()));
        Ok(Self { wired, address, config, leaving, stop, cut, listeners, background, upstream })
    }

    /// Serves one more router until the server stops.
    pub fn also_serve(&self, listener: TcpListener, router: Router) {
        let limits = ListenerLimits { connections: 64, ..limits(&self.config.connection) };
        self.listeners.spawn(listener::serve(listener, router, limits, self.stop.clone(), self.cut.clone()));
    }

    /// Says where it listens, and on first start what to do next.
    async fn greet(&self) -> Option<Setup> {
        tracing::info!(address = %self.address, data_dir = %self.config.data_dir.display(), "deja serves");
        if self.config.public_url.starts_with("https://") && self.config.trusted_proxies.is_empty() {
            tracing::warn!(
                "public_url is https, so a proxy stands in front: name it in DEJA_TRUSTED_PROXIES, or whoever fails to \
                 sign in shuts out all others for a while"
            );
        }
        let setup = operators::set_up(&self.wired.admin).await.unwrap_or_else(|error| {
            // Storage that cannot be written now answers from what it has all the same.
            tracing::warn!(%error, "the link for the first operator could not be stored: run deja operator create EMAIL when the database takes writes");
            None
        });
        match &setup {
            Some(Setup::Link(link, _)) => {
                // Not into the log: whoever has the link becomes the owner. Past the buffer of standard output, which would
                // keep what cannot be written, and fail at the end.
                let said = format!(
                    "The console has no operator yet. This link makes the first one, once, until {}:\n{}\n",
                    to_second(link.expires),
                    link.url.expose()
                );
                let out = std::io::stdout().as_fd().try_clone_to_owned();
                let _nobody_reads = out.and_then(|out| File::from(out).write_all(said.as_bytes()));
            }
            Some(Setup::MadeElsewhere { at, expires }) => tracing::info!(
                "the console has no operator yet; the link that makes the first one, until {}, is in what another \
                 replica printed at {}; without it: deja operator create EMAIL",
                to_second(*expires),
                to_second(*at)
            ),
            None => {}
        }
        // If they cannot be read now, deja serves all the same.
        if self.wired.store.projects().await.is_ok_and(|projects| projects.is_empty()) {
            tracing::info!("1. make a project:  deja project create my-team");
            tracing::info!("2. make a key:      deja key create --project my-team --name first");
            tracing::info!("3. send a query:    POST http://{}/v1/cache/query (see /docs)", self.address);
        }
        setup
    }

    /// Not ready from now on, while requests are answered as before, for as long as load balancers take to notice.
    pub async fn leave(&self) {
        self.leaving.cancel();
        let delay = self.config.connection.shutdown_delay;
        if !delay.is_zero() {
            tracing::info!(
                delay_s = delay.as_secs(),
                "leaving: deja answers requests until load balancers have noticed"
            );
            tokio::time::sleep(delay).await;
        }
    }

    /// Stops: no new connections, requests under way get until the deadline or another signal, counts are written.
    pub async fn stop(self, signals: &mut Signals) -> anyhow::Result<()> {
        tracing::info!("shutting down");
        self.stop.cancel();
        self.listeners.close();
        self.upstream.close();
        self.background.close();
        let drained = async || {
            self.listeners.wait().await;
            self.upstream.wait().await;
        };
        tokio::select! {
            biased;
            () = drained() => {}
            () = tokio::time::sleep(self.config.connection.shutdown_timeout) => {
                tracing::warn!("the shutdown deadline passed; requests under way are cut");
            }
            _ = signals.next() => tracing::warn!("another signal; requests under way are cut"),
        }
        self.cut.cancel();
        if tokio::time::timeout(CUT, drained()).await.is_err() {
            tracing::warn!("cut requests did not end in time; they are not counted");
        }
        let rest = tokio::time::timeout(Duration::from_secs(5), self.background.wait()).await;
        if rest.is_err() {
            tracing::warn!("background work did not end in time");
        }
        let flush = self.wired.app.engine().flush_counts();
        match tokio::time::timeout(Duration::from_secs(5), flush).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(error = %error, "the last counts could not be written"),
            Err(_) => tracing::error!("the last counts could not be written in time"),
        }
        if let Some(traces) = self.wired.app.traces().cloned() {
            traces.stop().await;
        }
        self.wired.store.close().await?;
        Ok(())
    }
}

fn limits(settings: &ConnectionSettings) -> ListenerLimits {
    ListenerLimits {
        connections: settings.max_connections,
        head_timeout: settings.header_timeout,
        idle_timeout: settings.idle_timeout,
        write_timeout: settings.write_timeout,
        rest_timeout: settings.body_timeout,
    }
}

/// All metrics, as text. The database knows how far an index is, and whether it works: it is asked when somebody reads the
/// metrics.
async fn scraped(metrics: PrometheusHandle, counted: Arc<Metrics>, app: Arc<App>) -> String {
    let (engine, store) = (app.engine(), app.engine().store());
    telemetry::ready(!app.is_leaving() && app.readiness().storage_works().await);
    match store.index_build().await {
        Ok(done) => telemetry::index_build(done),
        Err(error) => tracing::debug!(error = %error, "how far an index is cannot be read"),
    }
    let entries = entries_by_project(&**store)
        .await
        .inspect_err(|error| tracing::debug!(error = %error, "entries cannot be counted"))
        .ok();
    let mut down = BTreeMap::new();
    for provider in engine.providers_down() {
        *down.entry(provider.name).or_default() += 1;
    }
    telemetry::render(&metrics, &counted, &Present { entries, down })
}

/// Entries of each project, by its slug.
async fn entries_by_project(store: &dyn Store) -> Result<BTreeMap<String, u64>, StoreError> {
    let counts = store.count_by_project().await?;
    let entries = |id| counts.get(&id).copied().unwrap_or(0);
    Ok(store
        .projects()
        .await?
        .into_iter()
        .map(|project| (project.slug.to_string(), entries(project.id)))
        .collect())
}

async fn observe(
    engine: Engine,
    prices: Arc<deja_core::pricing::PriceBook>,
    collected: Option<PrometheusHandle>,
    stop: CancellationToken,
) {
    loop {
        let age = prices.current().age(engine.clock().now()).unwrap_or_default();
        telemetry::observe(engine.upstream_calls(), age);
        if let Some(collected) = &collected {
            telemetry::merge_samples(collected);
        }
        if stop.run_until_cancelled(tokio::time::sleep(OBSERVE_EVERY)).await.is_none() {
            return;
        }
    }
}

/// The socket that a service manager holds for deja (`sd_listen_fds(3)`): while deja starts again, whoever connects waits
/// instead of being refused.
fn handed_over() -> anyhow::Result<Option<TcpListener>> {
    let failed =
        "the socket that was handed over (LISTEN_FDS) is no TCP socket that listens: see deploy/deja.socket";
    let Some(listener) = ListenFd::from_env().take_tcp_listener(0).context(failed)? else { return Ok(None) };
    listener.set_nonblocking(true)?;
    tracing::info!(address = %listener.local_addr()?, "listening on the socket that was handed over; DEJA_LISTEN is not used");
    Ok(Some(TcpListener::from_std(listener)?))
}

async fn bind(address: std::net::SocketAddr, setting: &str) -> anyhow::Result<TcpListener> {
    let refused =
        |error| anyhow::anyhow!("cannot listen on {address}: {error}; choose another with {setting}");
    TcpListener::bind(address).await.map_err(refused)
}

/// A signal to end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Caught {
    /// From a supervisor.
    Term,
    /// From a terminal.
    Int,
}

/// SIGTERM and SIGINT, caught from when it is made.
pub struct Signals {
    term: Signal,
    int: Signal,
}

impl Signals {
    /// Catches them from now on.
    pub fn catch() -> anyhow::Result<Self> {
        Ok(Self { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> Caught {
        tokio::select! {
            _ = self.term.recv() => Caught::Term,
            _ = self.int.recv() => Caught::Int,
        }
    }
}
