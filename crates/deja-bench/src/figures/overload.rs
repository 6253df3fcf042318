//! Overload: hits by meaning, whose embedding keeps all cores busy, at ten times the rate that the server reaches.
//!
//! Connections that each ask so often bring that rate, however fast refusals are. Generator and server share the
//! cores, so what refusing and asking cost comes off what is still answered. Answers for a second of the server's own
//! processor time leave the generator out: what is missing of them is what refusals cost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::Bench;
use crate::deja::{self, Deja};
use crate::load::{Job, Outcome};
use crate::prompts;
use crate::report::{Row, Target};

const NAME: &str = "overload";
/// How many times the rate that is reached is asked for.
const TIMES: f64 = 10.0;
/// Each has one request under way at most, so fewer could not bring the rate while answers are slow.
const CONNECTIONS: usize = 2_000;
/// Seconds of the runs before and after, at the usual number of connections.
const CALM: f64 = 5.0;
/// Time between two questions whether the server is alive.
const PULSE: Duration = Duration::from_millis(100);

struct Round {
    before: Outcome,
    during: Outcome,
    after: Outcome,
    /// The longest wait for `/livez`.
    alive: Duration,
    grown: u64,
}

impl Round {
    /// What the server spent beyond its answers, for each refusal; `None` without one.
    fn refusal_us(&self) -> Option<f64> {
        let beyond = (self.during.cpu_us - self.before.cpu_us) * self.during.requests as f64;
        (self.during.refused > 0).then(|| beyond / self.during.refused as f64)
    }
}

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let entries = bench.options.entries;
    let rewordings = (0..prompts::rewordings(entries)).map(|number| prompts::rewording(number, entries));
    let bodies: Vec<String> = rewordings.map(|prompt| prompts::body(&prompt, None)).collect();
    let mut deja = Deja::with_entries(bench, entries)?;
    let rounds = bench.rounds(NAME, |_| round(bench, &mut deja, &bodies))?;
    let some = |what: &str, unit, figure: fn(&Round) -> Option<f64>| {
        Row::plain(format!("{NAME}, {TIMES} times: {what}"), unit, rounds.iter().filter_map(figure))
    };
    let row = |what: &str, unit, figure: fn(&Round) -> f64| {
        Row::plain(format!("{NAME}, {TIMES} times: {what}"), unit, rounds.iter().map(figure))
    };
    let cores = std::thread::available_parallelism()?.get() as f64;
    let generator = rounds.iter().map(|r| r.during.generator_s / r.during.seconds / cores);
    let generator =
        Row::plain(format!("{NAME}, {TIMES} times: generator's share of all cores"), "", generator);
    Ok(vec![
        row("answers/s, during / before", "", |r| r.during.per_second() / r.before.per_second())
            .target(Target::AtLeast(0.9)),
        row("answers for server CPU, during / before", "", |r| r.before.cpu_us / r.during.cpu_us)
            .target(Target::AtLeast(0.9)),
        row("answers/s, after / before", "", |r| r.after.per_second() / r.before.per_second())
            .target(Target::AtLeast(0.9)),
        some("refusals p99", "ms", |r| r.during.refused_p99_ms).target(Target::AtMost(10.0)),
        some("refusals p50", "ms", |r| r.during.refused_p50_ms),
        some("server CPU of a refusal", "us", Round::refusal_us),
        generator,
        row("longest wait for /livez", "ms", |r| r.alive.as_secs_f64() * 1e3).target(Target::AtMost(50.0)),
        row("answers p50", "ms", |r| r.during.p50_ms),
        row("answers p99", "ms", |r| r.during.p99_ms),
        row("peak memory over what it was before", "MB", |r| r.grown as f64 / 1e6),
        row("answers before", "requests/s", |r| r.before.per_second()),
        row("answers during", "requests/s", |r| r.during.per_second()),
        row("refusals", "requests/s", |r| r.during.refused as f64 / r.during.seconds),
        row("for so long", "s", |r| r.during.seconds),
    ])
}

fn round(bench: &Bench, deja: &mut Deja<'_>, bodies: &[String]) -> Result<Round> {
    let calm = Job::new(deja.query(), bodies.to_vec(), CALM);
    let before = deja.load(&calm)?;
    deja.server.forget_peak()?;
    let resident = deja.server.resident()?;
    let heavy = Job {
        connections: CONNECTIONS,
        begin_within: 1.0,
        every: CONNECTIONS as f64 / (TIMES * before.per_second()),
        refusals: true,
        seconds: bench.options.overload_seconds,
        ..calm.clone()
    };
    let address = &calm.route.address;
    let over = AtomicBool::new(false);
    let (during, alive) = thread::scope(|scope| {
        let pulse = scope.spawn(|| pulse(address, &over));
        let during = deja.load(&heavy);
        over.store(true, Ordering::Relaxed);
        let alive = pulse.join().ok().context("the pulse ended early");
        anyhow::Ok((during?, alive??))
    })?;
    let grown = deja.server.peak()?.saturating_sub(resident);
    let after = deja.load(&calm)?;
    Ok(Round { before, during, after, alive, grown })
}

/// Asks whether the server is alive until it is `over`; the longest wait for the answer.
fn pulse(address: &str, over: &AtomicBool) -> Result<Duration> {
    let mut longest = Duration::ZERO;
    while !over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        anyhow::ensure!(deja::is_ready(address, "/livez"), "/livez says no");
        longest = longest.max(asked.elapsed());
        thread::sleep(PULSE);
    }
    Ok(longest)
}
