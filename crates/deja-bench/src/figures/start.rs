//! Start and rest: how long until deja answers with a full store, and what it holds in memory then.
//!
//! The files are in the page cache, having just been written: this is a restart, not the first start after the
//! machine's own.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::Bench;
use crate::deja::{self, Place};
use crate::fill;
use crate::process::Server;
use crate::report::{Row, Spread, Target};

/// What it does at start beside serving has ended by then.
const SETTLE: Duration = Duration::from_secs(2);
const MB: f64 = 1e6;

/// How a server started with this data, and what it held.
#[derive(Default)]
struct Rests {
    seconds: Vec<f64>,
    resident: Vec<f64>,
}

impl Rests {
    /// Starts a server in each round on what `fill` makes.
    fn measure(bench: &Bench, fill: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        let (_provider, provider) = Server::part(&bench.me, &["provider"])?;
        let data = tempfile::tempdir()?;
        fill(data.path())?;
        let place = Place::Temporary(data);
        let mut rests = Self::default();
        bench.rounds("start", |_| {
            let started = deja::start(bench, &place, &provider)?;
            std::thread::sleep(SETTLE);
            rests.seconds.push(started.took.as_secs_f64());
            rests.resident.push(started.server.resident()? as f64 / MB);
            Ok(())
        })?;
        Ok(rests)
    }
}

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let (some, many) = (bench.options.entries, bench.options.start_entries);
    let of = |entries: usize| Rests::measure(bench, |data| fill::fill(data, entries));
    let (empty, some_rest, full) = (of(0)?, of(some)?, of(many)?);
    Ok(vec![
        Row::plain(format!("start to ready, {many} entries"), "s", full.seconds).target(Target::AtMost(1.0)),
        Row::plain("start to ready, no entries", "s", empty.seconds),
        Row::plain(format!("idle resident memory, {some} entries"), "MB", some_rest.resident),
        Row::plain("idle resident memory, no entries", "MB", empty.resident).target(Target::AtMost(70.0)),
        Row::plain(format!("idle resident memory, {many} entries"), "MB", full.resident)
            .target(Target::AtMost(180.0)),
    ])
}

/// The same where each entry has a scope of its own.
pub(crate) fn scopes(bench: &Bench) -> Result<Vec<Row>> {
    let scopes = bench.options.scopes;
    let empty = Rests::measure(bench, |data| fill::fill(data, 0))?;
    let full = Rests::measure(bench, |data| fill::fill_own_scopes(data, scopes))?;
    let base = Spread::of(empty.resident).context("no rounds")?.median();
    let each = full.resident.iter().map(|resident| (resident - base) * MB / scopes as f64);
    Ok(vec![
        Row::plain(format!("start to ready, {scopes} scopes of one entry"), "s", full.seconds)
            .target(Target::AtMost(5.0)),
        Row::plain(format!("memory of {scopes} scopes of one entry"), "bytes/scope", each)
            .target(Target::AtMost(1_500.0)),
    ])
}
