//! The gateways, each started with what it needs to answer chat completions from memory.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::json;
use tempfile::TempDir;

use crate::Bench;
use crate::deja::{self, Deja, Place};
use crate::load::Route;
use crate::parts::provider::MODEL;
use crate::process::Server;

/// LiteLLM takes a while.
const START: Duration = Duration::from_mins(2);
const KEY: &str = "sk-bench";

/// A gateway that is ready.
pub(super) struct Gateway {
    pub(super) server: Server,
    pub(super) route: Route,
    pub(super) provider: Option<Server>,
    pub(super) provider_address: String,
    _place: Place,
}

type Start = fn(&Bench, &[&str]) -> Result<Gateway>;

/// Each with the arguments of its provider.
pub(super) const STARTS: [(&str, Start); 3] =
    [("deja", deja), ("LiteLLM", litellm), ("litellm-rs", litellm_rs)];

fn deja(bench: &Bench, provider: &[&str]) -> Result<Gateway> {
    let deja = Deja::behind(bench, provider)?;
    let route = deja.chat();
    let Deja { server, provider: provider_address, provider_server, place, .. } = deja;
    Ok(Gateway { server, route, provider: Some(provider_server), provider_address, _place: place })
}

/// LiteLLM's proxy, one worker: each worker has a cache of its own.
fn litellm(bench: &Bench, provider: &[&str]) -> Result<Gateway> {
    let config = |provider: &str, _: &str| {
        json!({
            "model_list": [{"model_name": MODEL, "litellm_params": {
                "model": format!("openai/{MODEL}"), "api_base": format!("http://{provider}/v1"), "api_key": KEY,
            }}],
            "litellm_settings": {"cache": true, "cache_params": {"type": "local"}},
            "general_settings": {"master_key": KEY},
        })
    };
    let command = |program: &Path, config: &Path, address: &str| {
        let (host, port) = address.split_once(':').unwrap_or((address, ""));
        let mut command = Command::new(program.join("litellm/bin/litellm"));
        // Its prices come from a file of its own, and not from the network.
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("LITELLM_LOG", "ERROR");
        command.arg("--config").arg(config).args(["--host", host, "--port", port, "--num_workers", "1"]);
        command
    };
    start(bench, provider, config, command, "/health/liveliness")
}

/// litellm-rs: a worker a core; no key, since its keys need a database.
fn litellm_rs(bench: &Bench, provider: &[&str]) -> Result<Gateway> {
    let cores = std::thread::available_parallelism()?.get();
    let config = |provider: &str, address: &str| {
        let (host, port) = address.split_once(':').unwrap_or((address, ""));
        let port: u16 = port.parse().unwrap_or_default();
        let off = json!({"enabled": false});
        json!({
            "schema_version": "1.0",
            "server": {"host": host, "port": port, "workers": cores, "max_connections": 10_000, "dev_mode": true},
            "providers": [{
                "name": "bench", "provider_type": "openai", "api_key": KEY, "base_url": format!("http://{provider}/v1"),
                "endpoint_access": "private_network", "rpm": 100_000_000, "tpm": 1_000_000_000,
                "max_concurrent_requests": 10_000, "timeout": 300, "models": [MODEL], "enabled": true,
            }],
            "storage": {
                "database": {"url": "sqlite::memory:", "enabled": false},
                "redis": {"url": "redis://127.0.0.1:1", "enabled": false}, "vector_db": null,
            },
            "auth": {"enable_jwt": false, "enable_api_key": false, "allow_anonymous": true, "jwt_secret": ""},
            "guardrails": off, "rate_limit": off, "cache": {"enabled": true, "ttl": 3600, "max_size": 10_000},
        })
    };
    let command = |program: &Path, config: &Path, _: &str| {
        let mut command = Command::new(program.join("bin/gateway"));
        command.arg("--config").arg(config).args(["--log-level", "error"]);
        command
    };
    start(bench, provider, config, command, "/health")
}

/// Starts a gateway from `peers` with a configuration file, in JSON, which is YAML too, and waits until it answers at
/// `ready`. `config` gets the addresses of the provider and of the gateway.
fn start(
    bench: &Bench,
    provider: &[&str],
    config: impl FnOnce(&str, &str) -> serde_json::Value,
    command: impl FnOnce(&Path, &Path, &str) -> Command,
    ready: &str,
) -> Result<Gateway> {
    let peers: PathBuf = std::path::absolute(&bench.options.peers)?;
    let (provider, provider_address) = Server::part(&bench.me, &[&["provider"], provider].concat())?;
    let address = deja::free_address()?;
    let data = TempDir::new()?;
    let (file, log) = (data.path().join("config.yaml"), data.path().join("log"));
    std::fs::write(&file, config(&provider_address, &address).to_string())?;
    let output = File::create(&log)?;
    let mut command = command(&peers, &file, &address);
    let program = command.get_program().to_owned();
    anyhow::ensure!(Path::new(&program).is_file(), "{} is not there: docs/benchmarks.md", program.display());
    command.current_dir(data.path()).env("HOME", data.path()).stdout(output.try_clone()?).stderr(output);
    let mut server = Server::start(&mut command)?;
    let began = Instant::now();
    while !deja::is_ready(&address, ready) {
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        server.check().with_context(said)?;
        anyhow::ensure!(began.elapsed() < START, "not ready after {START:?}: {}", said());
        std::thread::sleep(Duration::from_millis(20));
    }
    let route = Route::chat(&address, KEY);
    Ok(Gateway { server, route, provider: Some(provider), provider_address, _place: Place::Temporary(data) })
}
