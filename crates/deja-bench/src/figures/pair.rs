//! Deja beside the embedding alone, on the same prompts and in turns.

use anyhow::Result;

use crate::Bench;
use crate::deja::Deja;
use crate::load::{CONNECTIONS, Outcome};
use crate::parts::embed;
use crate::process;
use crate::prompts;
use crate::report::Row;

/// Prompts that warm up caches and branch predictors, of deja and of the yardstick.
const WARM_UP: usize = 200;

/// How many prompts a run takes.
pub(super) fn needed(bench: &Bench) -> usize {
    WARM_UP + bench.options.prompts * bench.options.rounds as usize
}

/// One round.
pub(super) struct Pair {
    pub(super) embed: embed::Outcome,
    pub(super) deja: Outcome,
}

/// Asks `deja` the prompts that `prompt` numbers, each once and at its own threshold; `expect` says whether the
/// answers were of the kind that is measured.
pub(super) fn rounds(
    name: &str,
    bench: &Bench,
    mut deja: Deja<'_>,
    prompt: impl Fn(usize) -> String,
    expect: impl Fn(&Outcome) -> Result<()>,
) -> Result<Vec<Pair>> {
    let count = bench.options.prompts;
    let prompts_of =
        |from: usize, count: usize| -> Vec<String> { (from..from + count).map(&prompt).collect() };
    let bodies = |prompts: &[String]| prompts.iter().map(|prompt| prompts::body(prompt, None)).collect();
    let warm_up = prompts_of(0, WARM_UP);
    deja.all(bodies(&warm_up))?;
    bench.rounds(name, |round| {
        let prompts = prompts_of(WARM_UP + round as usize * count, count);
        let asked = bodies(&prompts);
        let job = embed::Job { prompts, warm_up: warm_up.clone(), concurrency: CONNECTIONS };
        let embed = process::job(&bench.me, "embed", &job)?;
        let deja = deja.all(asked)?;
        expect(&deja)?;
        Ok(Pair { embed, deja })
    })
}

/// The figures behind the ratios.
pub(super) fn details(name: &str, pairs: &[Pair]) -> Vec<Row> {
    let row = |what: &str, unit, figure: fn(&Pair) -> f64| {
        Row::plain(format!("{name}: {what}"), unit, pairs.iter().map(figure))
    };
    vec![
        row("deja, server CPU", "us/request", |p| p.deja.cpu_us),
        row("embedding alone, CPU", "us/prompt", |p| p.embed.cpu_us),
        row("deja", "requests/s", |p| p.deja.per_second()),
        row("embedding alone", "prompts/s", |p| p.embed.per_second),
        row("deja, p50", "ms", |p| p.deja.p50_ms),
        row("deja, p99", "ms", |p| p.deja.p99_ms),
        row("share of hits", "", |p| p.deja.hit_share()),
        row("tokens", "a prompt", |p| p.embed.tokens),
    ]
}
