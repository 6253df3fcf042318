//! Nearest neighbour in one large scope, through the store as the request path calls it, what that takes in
//! memory, and hits by meaning there.

use anyhow::Result;

use crate::Bench;
use crate::deja::Deja;
use crate::figures::semantic;
use crate::fill;
use crate::parts::search::{Job, Outcome, THRESHOLDS};
use crate::process;
use crate::prompts;
use crate::report::{Row, Target};

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &entries in &bench.options.index_entries {
        let temporary = tempfile::tempdir()?;
        let kept = bench.options.index_data.as_ref().map(|kept| kept.join(entries.to_string()));
        let data = kept.as_deref().unwrap_or(temporary.path());
        if !data.join("deja.db").exists() {
            // A kept index is complete: it gets its name only when it is filled.
            let filling = data.with_extension("filling");
            if filling.exists() {
                std::fs::remove_dir_all(&filling)?;
            }
            std::fs::create_dir_all(&filling)?;
            fill::fill(&filling, entries)?;
            std::fs::rename(&filling, data)?;
        }
        let job = Job { data: data.to_owned(), entries };
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
        let open = rounds.iter().map(|round| round.open_s);
        rows.push(
            Row::plain(format!("opening the store of {entries}"), "s", open).target(Target::AtMost(10.0)),
        );
        let loaded = rounds.iter().map(|round| round.loaded_s);
        rows.push(Row::plain(format!("all of the index of {entries} loaded"), "s", loaded));
        let bytes = rounds.iter().map(|round| round.bytes_per_entry);
        rows.push(Row::plain(format!("memory of {entries}"), "bytes/entry", bytes));
        // What the server learns must not stay in a store that is kept.
        let copy = tempfile::tempdir()?;
        let served = if kept.is_some() {
            std::fs::copy(data.join("deja.db"), copy.path().join("deja.db"))?;
            copy.path()
        } else {
            data
        };
        let deja = Deja::filled(bench, served)?;
        deja.wait_for_index()?;
        let name = format!("hits by meaning, {entries} entries");
        rows.extend(semantic::measure(bench, &name, deja, prompts::ENTRIES, Target::AtMost(1.5))?);
    }
    Ok(rows)
}
