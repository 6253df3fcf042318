//! A noisy neighbour: one project asks fifty times as much as its limit lets through, beside one within its limit.
//!
//! What is compared is how long the second one waits, with the first and without it. Generators and server share the
//! cores, so the same noise is sent to a bare server too: what it takes of the cores wherever it goes is not deja's.

use std::thread;

use anyhow::{Context as _, Result};

use crate::Bench;
use crate::deja::Deja;
use crate::load::{self, Job, Outcome, Route};
use crate::parts::bare;
use crate::process::Server;
use crate::prompts;
use crate::report::{Row, Target};

const NAME: &str = "noisy neighbour";
/// Requests a second that its limit lets through, and that it asks.
const LIMIT: u32 = 100;
const TIMES: u32 = 50;
/// Connections of either.
const CONNECTIONS: usize = 64;
/// Requests a second of the project within its limit: a core is not busy with them.
const STEADY: f64 = 400.0;
/// Seconds of each run: 40 requests are above the 99th percentile.
const SECONDS: f64 = 10.0;

/// The project within its limit.
struct Kind {
    name: &'static str,
    alone: Vec<Outcome>,
    /// While the noise goes to the bare server.
    elsewhere: Vec<Outcome>,
    beside: Vec<Outcome>,
}

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let entries = bench.options.entries;
    let mut deja = Deja::with_entries(bench, entries)?;
    let same: Vec<_> = (0..entries).map(|number| prompts::body(&prompts::entry(number), None)).collect();
    let similar = (0..prompts::rewordings(entries)).map(|number| prompts::rewording(number, entries));
    let similar: Vec<_> = similar.map(|prompt| prompts::body(&prompt, None)).collect();
    let noise = Job {
        connections: CONNECTIONS,
        begin_within: 1.0,
        every: CONNECTIONS as f64 / f64::from(LIMIT * TIMES),
        refusals: true,
        ..Job::new(deja.project("noisy", LIMIT)?, vec![same[0].clone()], SECONDS + 2.0)
    };
    let (_bare, address) = Server::part(&bench.me, &["bare"])?;
    let elsewhere = Job { route: Route::query(&address, bare::KEY), ..noise.clone() };
    let mut noises = Vec::new();
    let mut kinds = [("exact hits", same), ("hits by meaning", similar)].map(|(name, bodies)| {
        let every = CONNECTIONS as f64 / STEADY;
        let job = Job { begin_within: 1.0, every, ..Job::new(deja.query(), bodies, SECONDS) };
        (job, Kind { name, alone: Vec::new(), elsewhere: Vec::new(), beside: Vec::new() })
    });
    bench.rounds(NAME, |_| {
        for (job, kind) in &mut kinds {
            kind.alone.push(deja.load(job)?);
            kind.elsewhere.push(amid(bench, &mut deja, job, &elsewhere)?.0);
            let (beside, noise) = amid(bench, &mut deja, job, &noise)?;
            kind.beside.push(beside);
            noises.push(noise);
        }
        Ok(())
    })?;
    let mut rows: Vec<Row> = kinds.iter().flat_map(|(_, kind)| kind.rows()).collect();
    let refused = noises.iter().map(|noise| noise.refused as f64 / noise.seconds);
    rows.push(Row::plain(format!("{NAME}: refused"), "requests/s", refused));
    rows.push(Row::plain(
        format!("{NAME}: refusals p99"),
        "ms",
        noises.iter().filter_map(|noise| noise.refused_p99_ms),
    ));
    Ok(rows)
}

/// What comes of `job` while there is `noise`, and of the noise.
fn amid(bench: &Bench, deja: &mut Deja<'_>, job: &Job, noise: &Job) -> Result<(Outcome, Outcome)> {
    thread::scope(|scope| {
        let noise = scope.spawn(|| load::generate(&bench.me, noise));
        let beside = deja.load(job)?;
        Ok((beside, noise.join().ok().context("the noise ended early")??))
    })
}

impl Kind {
    fn rows(&self) -> [Row; 8] {
        let row = |what: &str, unit, values: &mut dyn Iterator<Item = f64>| {
            Row::plain(format!("{NAME}: {} beside it, {what}", self.name), unit, values)
        };
        let [alone, elsewhere, beside] = [&self.alone, &self.elsewhere, &self.beside];
        let over = |what, noisy: &[Outcome], quiet: &[Outcome], figure: fn(&Outcome) -> f64| {
            let pairs = noisy.iter().zip(quiet);
            row(what, "x", &mut pairs.map(|(noisy, quiet)| figure(noisy) / figure(quiet)))
        };
        let p99 = |what, runs: &[Outcome]| row(what, "ms", &mut runs.iter().map(|o| o.p99_ms));
        [
            over("p99, with / without", beside, alone, |o| o.p99_ms).target(Target::AtMost(1.1)),
            over("p99, the noise elsewhere / without", elsewhere, alone, |o| o.p99_ms),
            over("p99, with / the noise elsewhere", beside, elsewhere, |o| o.p99_ms),
            over("p50, with / without", beside, alone, |o| o.p50_ms),
            p99("p99 without", alone),
            p99("p99, the noise elsewhere", elsewhere),
            p99("p99 with", beside),
            row("asked", "requests/s", &mut beside.iter().map(Outcome::per_second)),
        ]
    }
}
