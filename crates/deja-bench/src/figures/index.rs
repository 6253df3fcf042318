//! Nearest neighbour in one large scope, through the store as the request path calls it, and what that takes in
//! memory.

use anyhow::Result;

use crate::Bench;
use crate::fill;
use crate::parts::search::{Job, Outcome, THRESHOLDS};
use crate::process;
use crate::report::{Row, Target};

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &entries in &bench.options.index_entries {
        let data = tempfile::tempdir()?;
        fill::fill(data.path(), entries)?;
        let job = Job { data: data.path().to_owned(), entries };
        let rounds: Vec<Outcome> =
            bench.rounds(&format!("index of {entries}"), |_| process::job(&bench.me, "search", &job))?;
        for (at, threshold) in THRESHOLDS.iter().enumerate() {
            let name = format!("nearest of {entries} at {threshold}");
            rows.push(Row::plain(&name, "ms", rounds.iter().map(|round| round.nearest_ms[at])));
            let agreement = rounds.iter().map(|round| round.agreement[at]);
            rows.push(
                Row::plain(format!("{name}: same as a scan"), "", agreement).target(Target::AtLeast(1.0)),
            );
        }
        let bytes = rounds.iter().map(|round| round.bytes_per_entry);
        rows.push(Row::plain(format!("memory of {entries}"), "bytes/entry", bytes));
    }
    Ok(rows)
}
