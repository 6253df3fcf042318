//! Reaching the data: through the running server if there is one, else by opening the store itself.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use deja_core::admin::Admin;
use deja_core::audit::Actor;
use deja_core::id::SystemEntropy;
use deja_core::store::Store;
use deja_store::{OpenError, StoreSettings};

use crate::commands::{Command, Reply, execute, socket};
use crate::config::Config;
use crate::feeds::prices::PriceFeed;
use crate::secrets::vault::Vault;
use crate::wiring::{self, LOCK_PAUSE, LOCK_TRIES};

/// How often, and after how long, a server is tried again that went away: it reads all of its store before it answers.
const RESTART_TRIES: u32 = 600;
const RESTART_PAUSE: Duration = Duration::from_millis(100);

/// Has `command` done.
pub(super) async fn execute_somewhere(config: &Config, command: Command) -> anyhow::Result<Reply> {
    let mut reach = Reach::new(config)?;
    let done = reach.execute(command).await;
    reach.close().await?;
    done
}

/// Whoever does what is asked: the running server, or this process with the store open.
pub(super) struct Reach<'a> {
    config: &'a Config,
    here: Option<Admin>,
    /// The PostgreSQL that a server has to work on, if the settings name one.
    database: Option<String>,
    /// Whether the server did something already.
    served: bool,
}

impl<'a> Reach<'a> {
    /// Looks for nothing yet.
    pub(super) fn new(config: &'a Config) -> Result<Self, OpenError> {
        Ok(Self { config, here: None, database: config.store().database()?, served: false })
    }

    /// This process, with a store that is open already.
    pub(super) const fn here(config: &'a Config, admin: Admin) -> Self {
        Self { config, here: Some(admin), database: None, served: false }
    }

    /// Has `command` done. A store that was opened stays open for the next one.
    pub(super) async fn execute(&mut self, command: Command) -> anyhow::Result<Reply> {
        let command = Arc::new(command);
        let path = socket::path_in(&self.config.data_dir);
        let mut tries = 1;
        while self.here.is_none() {
            // The socket first: asking a server that is not there costs nothing, opening the store reads all of it.
            let (to, database, asked) = (path.clone(), self.database.clone(), command.clone());
            let called = tokio::task::spawn_blocking(move || socket::call(&to, database, &asked)).await?;
            if let Some(reply) = called? {
                self.served = true;
                return Ok(reply?);
            }
            let settings = settings(self.config);
            // A server that starts again needs its store: a long command must not have it meanwhile.
            if self.served && settings.postgres.is_none() {
                anyhow::ensure!(
                    tries < RESTART_TRIES,
                    "the server went away and does not come back: run this again once it serves"
                );
                tries += 1;
                tokio::time::sleep(RESTART_PAUSE).await;
                continue;
            }
            if !command.begins() {
                ensure_there(&settings).await?;
            }
            match deja_store::open(&settings).await {
                Ok(store) => self.here = Some(admin_over(self.config, &settings, store).await?),
                // A server that starts holds the lock before it listens.
                Err(OpenError::Locked { .. }) if tries < LOCK_TRIES => {
                    tries += 1;
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                Err(error @ OpenError::Locked { .. }) => {
                    return Err(error).context("no running server answers in the data directory");
                }
                Err(error) => return Err(error.into()),
            }
        }
        let here = self.here.as_ref().context("the store is not open")?;
        Ok(execute(&here.acting(Actor::Cli), Arc::unwrap_or_clone(command)).await?)
    }

    /// The store, if it was opened here.
    pub(super) fn store(&self) -> Option<&dyn Store> {
        self.here.as_ref().map(|here| &*here.store)
    }

    /// Closes the store, if it was opened.
    pub(super) async fn close(self) -> anyhow::Result<()> {
        match self.here {
            Some(here) => here.store.close().await.context("the store cannot be closed"),
            None => Ok(()),
        }
    }
}

/// Refuses a place without a deja: what is in a wrong one must not look like an empty deja.
pub(super) async fn ensure_there(settings: &StoreSettings) -> anyhow::Result<()> {
    if deja_store::schema_version(settings).await?.found > 0 {
        return Ok(());
    }
    match settings.database()? {
        Some(server) => {
            anyhow::bail!("there is no deja in {server}: name its database with DEJA_DATABASE_URL")
        }
        None => anyhow::bail!(
            "there is no deja in {}: name its data directory with --data-dir or DEJA_DATA_DIR",
            settings.data_dir.display()
        ),
    }
}

async fn admin_over(
    config: &Config,
    settings: &StoreSettings,
    store: Arc<dyn Store>,
) -> anyhow::Result<Admin> {
    let key = config.master_key.as_ref();
    let vault = Vault::load(key, settings, Arc::new(SystemEntropy), &*store, super::say).await?;
    let prices = Arc::new(PriceFeed::open(config.prices_url.clone(), &config.data_dir));
    Ok(wiring::admin(store, vault, prices, &config.public_url))
}

/// One reader is enough, and no answer is read twice. The schema is left to `deja serve` and `deja db migrate`: servers of the
/// version before may be on it, and go back to it.
pub(super) fn settings(config: &Config) -> StoreSettings {
    StoreSettings { answer_cache_bytes: 0, readers: 1, migrates: false, ..config.store() }
}
