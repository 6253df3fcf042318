//! The limiter: decisions a second on one project, the hottest row there is.

use std::time::{Duration, Instant};

use anyhow::Result;
use deja_core::clock::{Clock as _, SystemClock};
use deja_core::rate_limit::Quota;
use deja_store::StoreSettings;

use super::FILLING;
use super::server::Postgres;
use crate::Bench;
use crate::fill;
use crate::report::Row;

const AT_ONCE: usize = 16;

pub(super) fn run(bench: &Bench, postgres: &mut Postgres) -> Result<Vec<Row>> {
    let settings = fill::in_database(&postgres.database("limits")?);
    fill::fill_store(&settings, 0, FILLING)?;
    let rates = measure(bench, &settings)?;
    Ok(vec![Row::plain("limiter, one project: decisions", "/s", rates)])
}

#[tokio::main]
async fn measure(bench: &Bench, settings: &StoreSettings) -> Result<Vec<f64>> {
    let store = deja_store::open(settings).await?;
    let project = fill::scope(&*store).await?.project();
    let quota = Quota::new(1_000_000, 1_000_000)?;
    let mut rates = Vec::new();
    for round in 1..=bench.options.rounds {
        eprintln!("limiter: round {round} of {}", bench.options.rounds);
        let began = Instant::now();
        let span = Duration::from_secs_f64(bench.options.seconds);
        let taking = (0..AT_ONCE).map(|_| async {
            let mut taken = 0_u64;
            while began.elapsed() < span {
                store.take(project, quota, SystemClock.now()).await?;
                taken += 1;
            }
            anyhow::Ok(taken)
        });
        let taken: u64 = futures::future::try_join_all(taking).await?.into_iter().sum();
        rates.push(taken as f64 / began.elapsed().as_secs_f64());
    }
    store.close().await?;
    Ok(rates)
}
