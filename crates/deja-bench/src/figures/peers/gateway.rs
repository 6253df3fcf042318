//! The gateways, each started with what it needs to answer chat completions from memory.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::json;
use tempfile::TempDir;

use crate::Bench;
use crate::deja::{self, Deja};
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
    pub(super) provider: Server,
    pub(super) provider_address: String,
    _place: deja::Place,
}

/// One kind of gateway.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Whether it keeps answers.
    pub(super) is_cache: bool,
    /// Starts one with these arguments for its provider.
    pub(super) start: fn(&Bench, &[&str]) -> Result<Gateway>,
}

pub(super) const KINDS: [Kind; 3] = [
    Kind { name: "deja", is_cache: true, start: deja },
    Kind { name: "LiteLLM", is_cache: true, start: litellm },
    Kind { name: "smg", is_cache: false, start: smg },
];

fn deja(bench: &Bench, provider: &[&str]) -> Result<Gateway> {
    let deja = Deja::behind(bench, provider)?;
    let route = deja.chat();
    let Deja { server, provider: provider_address, provider_server, place, .. } = deja;
    Ok(Gateway { server, route, provider: provider_server, provider_address, _place: place })
}

/// LiteLLM's proxy, with one worker: a cache in memory belongs to one.
fn litellm(bench: &Bench, provider: &[&str]) -> Result<Gateway> {
    start(bench, provider, "/health/liveliness", |Place { peers, provider, host, port, data }| {
        let config = json!({
            "model_list": [{"model_name": MODEL, "litellm_params": {
                "model": format!("openai/{MODEL}"), "api_base": format!("http://{provider}/v1"), "api_key": KEY,
            }}],
            "litellm_settings": {"cache": true, "cache_params": {"type": "local"}},
            "general_settings": {"master_key": KEY},
        });
        let file = data.join("config.yaml");
        // JSON is YAML.
        std::fs::write(&file, config.to_string())?;
        let mut command = Command::new(peers.join("litellm/bin/litellm"));
        // Its prices come from a file of its own, and not from the network.
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("LITELLM_LOG", "ERROR");
        command.args(["--host", host, "--port", port, "--num_workers", "1", "--config"]).arg(file);
        Ok(command)
    })
}

/// Shepherd Model Gateway.
fn smg(bench: &Bench, provider: &[&str]) -> Result<Gateway> {
    start(bench, provider, "/readiness", |Place { peers, provider, host, port, .. }| {
        let mut command = Command::new(peers.join("smg/bin/smg"));
        command.args(["launch", "--backend", "openai", "--worker-urls", &format!("http://{provider}")]);
        command.args(["--host", host, "--port", port, "--api-key", KEY, "--log-level", "error"]);
        let metrics = deja::free_address()?;
        command.args(["--prometheus-port", metrics.split_once(':').map_or("", |(_, port)| port)]);
        command.args(["--max-concurrent-requests", "-1"]);
        Ok(command)
    })
}

/// Where a gateway is started.
struct Place<'a> {
    /// What was installed.
    peers: &'a Path,
    /// The provider's address.
    provider: &'a str,
    host: &'a str,
    port: &'a str,
    data: &'a Path,
}

/// Starts a gateway and waits until it answers 200 at `ready`.
fn start(
    bench: &Bench,
    provider: &[&str],
    ready: &str,
    command: impl FnOnce(Place<'_>) -> Result<Command>,
) -> Result<Gateway> {
    let peers = std::path::absolute(&bench.options.peers)?;
    let (provider, provider_address) = Server::part(&bench.me, &[&["provider"], provider].concat())?;
    let address = deja::free_address()?;
    let (host, port) = address.split_once(':').context("no port")?;
    let data = TempDir::new()?;
    let place = Place { peers: &peers, provider: &provider_address, host, port, data: data.path() };
    let mut command = command(place)?;
    let program = command.get_program().to_owned();
    anyhow::ensure!(
        Path::new(&program).is_file(),
        "{} is not there: run benches/peers first",
        program.display()
    );
    let log = data.path().join("log");
    let output = File::create(&log)?;
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
    Ok(Gateway { server, route, provider, provider_address, _place: deja::Place::Temporary(data) })
}
