//! Hits by meaning: what deja costs on top of the embedding, which nobody can avoid.
//!
//! Compared is processor time, not speed: at 64 connections both would keep all cores busy, and generator and
//! server share them. Each round embeds and asks the same prompts, rewordings that were never seen before.

use anyhow::Result;

use crate::Bench;
use crate::deja::Deja;
use crate::figures::pair;
use crate::prompts;
use crate::report::{Row, Target};

const NAME: &str = "hits by meaning";
/// With fewer hits it would be something else that is measured.
const HITS: f64 = 0.95;

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let entries = bench.options.entries;
    enough(bench, entries)?;
    measure(bench, NAME, Deja::with_entries(bench, entries)?, entries, Target::AtMost(1.35))
}

/// An error if prompts would come twice, and be exact hits.
fn enough(bench: &Bench, entries: usize) -> Result<()> {
    anyhow::ensure!(
        pair::needed(bench) <= prompts::rewordings(entries),
        "not enough prompts: choose fewer rounds, fewer prompts or more entries"
    );
    Ok(())
}

/// Asks `deja` rewordings of the prompts of the first `entries` entries.
pub(super) fn measure(
    bench: &Bench,
    name: &str,
    deja: Deja<'_>,
    entries: usize,
    target: Target,
) -> Result<Vec<Row>> {
    enough(bench, entries)?;
    let prompt = |number| prompts::rewording(number, entries);
    let pairs = pair::rounds(name, bench, deja, prompt, |outcome| {
        let share = outcome.hit_share();
        anyhow::ensure!(share >= HITS, "only {:.1} % of the rewordings were hits", share * 100.0);
        Ok(())
    })?;
    let cpu = pairs.iter().map(|pair| pair.deja.cpu_us / pair.embed.cpu_us);
    let mut rows =
        vec![Row::plain(format!("{name}: server CPU, deja / embedding alone"), "x", cpu).target(target)];
    rows.extend(pair::details(name, &pairs));
    Ok(rows)
}
