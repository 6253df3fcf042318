//! throwaway
use std::sync::Arc;
use crate::config::{Config, Account};
use crate::app::{All, App, RequestLimits};
use crate::listener::{ListenerLimits, serve as listen};
use deja_core::clock::SystemClock;
use deja_core::engine::{Engine, Parts};
use deja_core::id::SystemEntropy;
use deja_core::pricing::PriceBook;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
fn cred(a: &Account) -> Option<deja_providers::Credentials> {
    let key = a.api_key.clone()?;
    Some(deja_providers::Credentials { key, base_url: a.base_url.as_ref().map(|u| u.to_string().trim_end_matches('/').to_owned()) })
}
pub async fn serve(config: Config) -> anyhow::Result<()> {
    crate::telemetry::init_log(&config.log, crate::telemetry::LogFormat::Text)?;
    let store = deja_store::open(&deja_store::StoreSettings { answer_cache_bytes: config.answer_cache_bytes, ..deja_store::StoreSettings::new(&config.data_dir) }).await?;
    let vault = || crate::vault::Vault::load(config.master_key.as_ref(), &config.data_dir, Arc::new(SystemEntropy));
    vault()?.verify(&*store).await?;
    let prices = Arc::new(PriceBook::compiled_in());
    let u = &config.upstream;
    let registry = deja_providers::Registry::new(
        deja_providers::BuiltIn { openai: cred(&config.credentials.openai), anthropic: cred(&config.credentials.anthropic), google: cred(&config.credentials.google) },
        deja_providers::HttpSettings { connect_timeout: u.connect_timeout, attempt_timeout: u.timeout, total_deadline: u.total_timeout, max_response_bytes: u.max_response_bytes, max_attempts: u.max_attempts as usize, ..Default::default() },
        false)?;
    let embedder = Arc::new(deja_embed::LocalEmbedder::builtin(deja_embed::PoolConfig { queue: config.embedder.queue, deadline: config.embedder.timeout, ..Default::default() })?);
    let tasks = TaskTracker::new();
    let engine = Engine::new(Parts { store: store.clone(), embedder, providers: Arc::new(All { registry, store: store.clone(), vault: vault()? }), prices: prices.clone(), tokens: Arc::new(crate::app::Count), clock: Arc::new(SystemClock), entropy: Arc::new(SystemEntropy), max_upstream_calls: u.max_in_flight }, tasks.clone());
    let (stop, cut) = (CancellationToken::new(), CancellationToken::new());
    let app = Arc::new(App { engine: engine.clone(), limits: RequestLimits { body_bytes: config.request.max_body_bytes, body_timeout: config.connection.body_timeout, prompt_bytes: config.request.max_prompt_bytes, context_bytes: config.request.max_context_bytes }, stop: stop.clone() });
    let context = Arc::new(crate::admin::AdminContext::new(store.clone(), vault()?, crate::admin::check_url, prices));
    tasks.spawn(crate::admin::socket::serve(context, crate::admin::socket::path_in(&config.data_dir), stop.clone()));
    tasks.spawn(crate::background::flush_counts(engine, stop.clone()));
    let listener = tokio::net::TcpListener::bind(config.listen).await.map_err(|e| anyhow::anyhow!("cannot listen on {}: {e}", config.listen))?;
    if let Some(address) = config.metrics_listen {
        let handle = crate::telemetry::init_metrics()?;
        let l = tokio::net::TcpListener::bind(address).await?;
        let r = axum::Router::new().route("/metrics", axum::routing::get(move || async move { handle.render() }));
        let limits = ListenerLimits { connections: 10, head_timeout: config.connection.header_timeout, idle_timeout: config.connection.idle_timeout };
        tasks.spawn(listen(l, r, limits, stop.clone(), cut.clone()));
    }
    let router = crate::routes::router(app)?;
    let limits = ListenerLimits { connections: config.connection.max_connections, head_timeout: config.connection.header_timeout, idle_timeout: config.connection.idle_timeout };
    let s2 = stop.clone(); let c2 = cut.clone(); let t = config.connection.shutdown_timeout;
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tasks.spawn(async move { let mut int = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).expect("x"); tokio::select!{ _ = term.recv() => {}, _ = int.recv() => {} }; s2.cancel(); tokio::time::sleep(t).await; c2.cancel(); });
    listen(listener, router, limits, stop, cut).await;
    store.close().await?;
    Ok(())
}
