//! Faults: how long until requests are served again once the database is back, and how long the slowest answer
//! took meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::FILLING;
use super::server::Postgres;
use crate::Bench;
use crate::deja::{self, Place};
use crate::fill;
use crate::process::Server;
use crate::prompts;
use crate::report::Row;

/// What is done to the database, what brings it back, and what it is called.
const FAULTS: [(&str, &str, &str); 3] = [
    ("stop", "start", "stopped and started"),
    ("kill", "start", "killed and started"),
    ("pause", "resume", "frozen and thawed"),
];
const DOWN: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(30);

struct Seen {
    at: Instant,
    took: Duration,
    status: u16,
}

pub(super) fn run(bench: &Bench, postgres: &mut Postgres) -> Result<Vec<Row>> {
    let url = postgres.database("faults")?;
    fill::fill_store(&fill::in_database(&url), 1, FILLING)?;
    let (_provider, provider) = Server::part(&bench.me, &["provider"])?;
    let replica = deja::replica(bench, Place::database(&url)?, &provider, None)?;
    let body = prompts::body(&fill::prompt(0), None);
    let mut rows = Vec::new();
    for (harm, cure, name) in FAULTS {
        let (mut recoveries, mut slowest) = (Vec::new(), Vec::new());
        for round in 1..=bench.options.rounds {
            eprintln!("{name}: round {round} of {}", bench.options.rounds);
            let stop = AtomicBool::new(false);
            let (back, seen) = std::thread::scope(|scope| {
                let probe = scope.spawn(|| probe(&replica.address, &replica.key, &body, &stop));
                let harmed = (|| -> Result<Instant> {
                    postgres.tell(harm)?;
                    std::thread::sleep(DOWN);
                    postgres.tell(cure)?;
                    let back = Instant::now();
                    let well = || deja::status(&replica.address, &replica.key, &body).is_ok_and(|s| s == 200);
                    while !well() {
                        anyhow::ensure!(back.elapsed() < PATIENCE, "{name}: not well after {PATIENCE:?}");
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    std::thread::sleep(Duration::from_secs(1));
                    Ok(back)
                })();
                stop.store(true, Ordering::Relaxed);
                let seen = probe.join().map_err(|_| anyhow::anyhow!("the probe panicked"))?;
                anyhow::Ok((harmed?, seen?))
            })?;
            anyhow::ensure!(
                seen.iter().all(|seen| matches!(seen.status, 200 | 503)),
                "{name}: an answer was neither 200 nor 503"
            );
            let first_well = seen.iter().filter(|seen| seen.status == 200 && seen.at > back);
            let first =
                first_well.map(|seen| seen.at + seen.took).min().context("no answer after the fault")?;
            recoveries.push((first - back).as_secs_f64());
            slowest.push(seen.iter().map(|seen| seen.took.as_secs_f64()).fold(0.0, f64::max));
        }
        rows.push(Row::plain(format!("{name}: first answer after its return"), "s", recoveries));
        rows.push(Row::plain(format!("{name}: slowest answer meanwhile"), "s", slowest));
    }
    Ok(rows)
}

/// Asks all the time, and says what came of it.
fn probe(address: &str, key: &str, body: &str, stop: &AtomicBool) -> Result<Vec<Seen>> {
    let mut seen = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let at = Instant::now();
        let status = deja::status(address, key, body)?;
        seen.push(Seen { at, took: at.elapsed(), status });
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(seen)
}
