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

use crate::Bench;
use crate::report::Row;
use server::Postgres;

/// How long filling a database may take. With a disk that waits longer for each sync, take fewer entries.
const FILLING: Duration = Duration::from_mins(5);

type Part = fn(&Bench, &mut Postgres) -> Result<Vec<Row>>;

/// Each is bounded by itself; with five rounds and 100,000 entries all of them end within 20 minutes.
const PARTS: [(&str, Part); 5] = [
    ("hits", hits::run),
    ("projects", projects::run),
    ("limits", limits::run),
    ("revocation", revocation::run),
    ("faults", faults::run),
];

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let began = Instant::now();
    let mut postgres = Postgres::start()?;
    let mut rows = Vec::new();
    for (name, part) in PARTS {
        eprintln!("postgres, {name}: begins after {:.0} s", began.elapsed().as_secs_f64());
        rows.extend(part(bench, &mut postgres)?);
    }
    eprintln!("postgres: done after {:.0} s", began.elapsed().as_secs_f64());
    Ok(rows)
}
