//! Revocation: from the word on one replica to the refusal on another.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use deja_core::api_key::{ApiKey, PlainKey};
use deja_core::audit::{Actor, Change};
use deja_core::clock::{Clock as _, SystemClock};
use deja_core::id::{KeyId, SystemEntropy};
use deja_store::StoreSettings;

use super::FILLING;
use super::server::Postgres;
use crate::Bench;
use crate::deja::{self, Place};
use crate::fill;
use crate::process::Server;
use crate::prompts;
use crate::report::Row;

const TRIALS: usize = 1_000;
/// Fewer trials if they take longer: each waits for the disk twice.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) fn run(bench: &Bench, postgres: &mut Postgres) -> Result<Vec<Row>> {
    let url = postgres.database("revocation")?;
    let settings = fill::in_database(&url);
    fill::fill_store(&settings, 1, FILLING)?;
    let (_provider, provider) = Server::part(&bench.me, &["provider"])?;
    let replica = deja::replica(bench, Place::database(&url)?, &provider, None)?;
    let (times, accepted) = measure(&settings, &replica.address)?;
    let trials = times.len();
    Ok(vec![
        Row::plain("revocation here to refusal on another replica", "ms", times),
        Row::plain(format!("accepted after its revocation, of {trials}"), "", [accepted as f64]),
    ])
}

#[tokio::main]
async fn measure(settings: &StoreSettings, address: &str) -> Result<(Vec<f64>, usize)> {
    let store = deja_store::open(settings).await?;
    let project = fill::scope(&*store).await?.project();
    let body = prompts::body(&fill::prompt(0), None);
    let (mut times, mut accepted) = (Vec::new(), 0);
    let start = Instant::now();
    for trial in 0..TRIALS {
        if start.elapsed() > PATIENCE {
            break;
        }
        if trial.is_multiple_of(250) {
            eprintln!("revocation: trial {trial} of {TRIALS}");
        }
        let now = SystemClock.now();
        let (plain, id) = (PlainKey::generate(&SystemEntropy)?, KeyId::generate(now, &SystemEntropy)?);
        let key = ApiKey {
            id,
            project,
            name: format!("trial {trial}"),
            shown: plain.shown(),
            hash: plain.hash(),
            models: None,
            created: now,
            quota: None,
            expires: None,
            revoked: None,
        };
        let change = |action| Change::new(SystemClock.now(), Actor::System, action).within(project);
        store.create_key(&key, &change("key.create")).await?;
        let status = || deja::status(address, plain.reveal(), &body);
        anyhow::ensure!(status()? == 200, "a new key is refused");
        let began = Instant::now();
        anyhow::ensure!(store.revoke_key(project, id, &change("key.revoke")).await?, "nothing was revoked");
        accepted += usize::from(status()? != 401);
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    store.close().await.context("closing")?;
    Ok((times, accepted))
}
