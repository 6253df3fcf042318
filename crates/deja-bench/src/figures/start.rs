//! Start and rest: how long until deja answers with a full store, and what it holds in memory then.
//!
//! The files are in the page cache, having just been written: this is a restart, not the first start after the
//! machine's own.

use std::time::Duration;

use anyhow::Result;

use crate::Bench;
use crate::deja::{self, Place};
use crate::fill;
use crate::process::Server;
use crate::report::{Row, Target};

/// What it does at start beside serving has ended by then.
const SETTLE: Duration = Duration::from_secs(2);
const MB: f64 = 1e6;

struct Rest {
    seconds: f64,
    resident: u64,
}

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let (_provider, provider) = Server::part(&bench.me, &["provider"])?;
    let (some, many) = (bench.options.entries, bench.options.start_entries);
    let measure = |entries: usize| -> Result<Vec<Rest>> {
        let data = tempfile::tempdir()?;
        fill::fill(data.path(), entries)?;
        let place = Place::Temporary(data);
        bench.rounds("start", |_| {
            let started = deja::start(bench, &place, &provider)?;
            std::thread::sleep(SETTLE);
            Ok(Rest { seconds: started.took.as_secs_f64(), resident: started.server.resident()? })
        })
    };
    let (empty, some_rest, full) = (measure(0)?, measure(some)?, measure(many)?);
    let seconds = |rounds: &[Rest]| -> Vec<f64> { rounds.iter().map(|rest| rest.seconds).collect() };
    let resident =
        |rounds: &[Rest]| -> Vec<f64> { rounds.iter().map(|rest| rest.resident as f64 / MB).collect() };
    Ok(vec![
        Row::plain(format!("start to ready, {many} entries"), "s", seconds(&full))
            .target(Target::AtMost(1.0)),
        Row::plain("start to ready, no entries", "s", seconds(&empty)),
        Row::plain(format!("idle resident memory, {some} entries"), "MB", resident(&some_rest))
            .target(Target::AtMost(200.0)),
        Row::plain("idle resident memory, no entries", "MB", resident(&empty)).target(Target::AtMost(200.0)),
        Row::plain(format!("idle resident memory, {many} entries"), "MB", resident(&full)),
    ])
}
