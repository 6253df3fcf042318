//! PostgreSQL beside the embedded store: what the network and the database cost, one replica and three, and
//! what the database decides for all replicas: limits, revocations, and how soon all is well after a fault.

mod faults;
mod hits;
mod limits;
mod revocation;
mod server;

use anyhow::Result;

use crate::Bench;
use crate::report::Row;
use server::Postgres;

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut postgres = Postgres::start()?;
    let mut rows = hits::run(bench, &mut postgres)?;
    rows.extend(limits::run(bench, &mut postgres)?);
    rows.extend(revocation::run(bench, &mut postgres)?);
    rows.extend(faults::run(bench, &mut postgres)?);
    Ok(rows)
}
