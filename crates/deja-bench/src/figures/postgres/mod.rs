//! PostgreSQL beside the embedded store: what the network and the database cost, one replica and three, and
//! what the database decides for all replicas: limits, revocations, and how soon all is well after a fault.

mod faults;
mod hits;
mod limits;
mod projects;
mod revocation;
mod server;

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;

use crate::Bench;
use crate::report::Row;
use server::Postgres;

/// How long filling a database may take. With a disk that waits longer for each sync, take fewer entries.
const FILLING: Duration = Duration::from_mins(5);

/// Each is bounded by itself; with five rounds and 100,000 entries all of them end within 20 minutes.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Part {
    /// Hits, beside the embedded store.
    Hits,
    /// Replicas that serve a project each.
    Projects,
    /// Decisions of the limiter.
    Limits,
    /// From a revocation to the refusal on another replica.
    Revocation,
    /// A database that is stopped, killed and frozen.
    Faults,
}

impl Part {
    fn run(self, bench: &Bench, postgres: &mut Postgres) -> Result<Vec<Row>> {
        match self {
            Self::Hits => hits::run(bench, postgres),
            Self::Projects => projects::run(bench, postgres),
            Self::Limits => limits::run(bench, postgres),
            Self::Revocation => revocation::run(bench, postgres),
            Self::Faults => faults::run(bench, postgres),
        }
    }
}

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let began = Instant::now();
    let mut postgres = Postgres::start()?;
    let mut rows = Vec::new();
    for part in &bench.options.postgres_parts {
        eprintln!("postgres, {part:?}: begins after {:.0} s", began.elapsed().as_secs_f64());
        rows.extend(part.run(bench, &mut postgres)?);
    }
    eprintln!("postgres: done after {:.0} s", began.elapsed().as_secs_f64());
    Ok(rows)
}
