//! Reaching the data: through the running server if there is one, else by opening the store itself.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use deja_core::audit::Actor;
use deja_core::id::SystemEntropy;
use deja_store::{OpenError, StoreSettings};

use crate::admin::{AdminContext, Command, Reply, execute, socket};
use crate::config::Config;
use crate::prices::PriceFeed;
use crate::vault::Vault;

/// A server that starts holds the lock before it listens, and another command line holds it for a moment.
const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_millis(100);

/// Has `command` done.
pub(super) async fn execute_somewhere(config: &Config, command: Command) -> anyhow::Result<Reply> {
    let path = socket::path_in(&config.data_dir);
    let mut tries = 1;
    loop {
        // The socket first: asking a server that is not there costs nothing, opening the store reads all of it.
        let (to, asked) = (path.clone(), command.clone());
        let called = tokio::task::spawn_blocking(move || socket::call(&to, &asked)).await?;
        if let Some(reply) = called.with_context(|| unreachable_server(config))? {
            return Ok(reply?);
        }
        match deja_store::open(&settings(config)).await {
            Ok(store) => {
                let done = execute_here(config, store.clone(), command).await;
                store.close().await.context("the store cannot be closed")?;
                return done;
            }
            Err(OpenError::Locked { .. }) if tries < TRIES => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(error @ OpenError::Locked { .. }) => {
                return Err(error).context("no running server answers in the data directory");
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn execute_here(
    config: &Config,
    store: Arc<dyn deja_core::store::Store>,
    command: Command,
) -> anyhow::Result<Reply> {
    let vault = Vault::load(config.master_key.as_ref(), &config.data_dir, Arc::new(SystemEntropy))?;
    vault.verify(&*store).await?;
    let prices = Arc::new(PriceFeed::open(config.prices_url.clone(), &config.data_dir));
    let context = AdminContext::new(store, vault, crate::admin::check_url, prices, &config.public_url);
    Ok(execute(&context, Actor::Cli, command).await?)
}

/// One reader is enough, and no answer is read twice.
fn settings(config: &Config) -> StoreSettings {
    StoreSettings { answer_cache_bytes: 0, readers: 1, ..StoreSettings::new(&config.data_dir) }
}

fn unreachable_server(config: &Config) -> String {
    let path = socket::path_in(&config.data_dir);
    format!("the running server cannot be reached at {} (are you its user?)", path.display())
}

/// What the process was given to read, once.
pub(super) fn read_stdin(limit: u64) -> io::Result<String> {
    let mut text = String::new();
    io::Read::read_to_string(&mut io::Read::take(io::stdin(), limit), &mut text)?;
    Ok(text)
}
