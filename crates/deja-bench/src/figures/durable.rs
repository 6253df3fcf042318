//! Misses that are stored: embedding, search, the provider's call, and the answer on disk before it is sent.
//!
//! The provider answers at once, so the embedding bounds the speed. Its process and the load generator's run
//! on the same cores as deja and take from the ratio of speeds; the ratio of processor time, deja's own, does
//! not know them.

use anyhow::Result;

use crate::Bench;
use crate::deja::Deja;
use crate::figures::pair;
use crate::prompts;
use crate::report::{Row, Target};

const NAME: &str = "durable misses";
/// At most this share may be hits by chance.
const HITS: f64 = 0.01;

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let deja = Deja::new(bench)?;
    let pairs = pair::rounds("durable", bench, deja, prompts::unlike, |outcome| {
        let share = outcome.hit_share();
        anyhow::ensure!(share <= HITS, "{:.1} % of the prompts were hits", share * 100.0);
        Ok(())
    })?;
    let rate = pairs.iter().map(|pair| pair.deja.per_second() / pair.embed.per_second);
    let cpu = pairs.iter().map(|pair| pair.deja.cpu_us / pair.embed.cpu_us);
    let mut rows = vec![
        Row::plain(format!("{NAME}: rate, deja / embedding alone"), "", rate).target(Target::AtLeast(0.7)),
        Row::plain(format!("{NAME}: server CPU, deja / embedding alone"), "x", cpu),
    ];
    rows.extend(pair::details(NAME, &pairs));
    Ok(rows)
}
