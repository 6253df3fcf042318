//! Many streams at once, each of a minute with a token a second: what one of them takes of memory and processor, and that
//! none is cut. The generator ends the run at the first answer that is not whole.

use anyhow::Result;

use crate::Bench;
use crate::deja::Deja;
use crate::load::{Job, Outcome};
use crate::prompts;
use crate::report::{Row, Target};

const NAME: &str = "streams";
/// Asked before, so that what the first request takes for good is not counted as a stream's.
const WARM_UP: usize = 200;
/// The streams begin one after the other within so many seconds.
const BEGIN_WITHIN: f64 = 10.0;

struct Round {
    outcome: Outcome,
    /// Memory in bytes: before, and the peak from then on.
    before: u64,
    peak: u64,
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let (streams, seconds) = (bench.options.streams, bench.options.stream_seconds);
    let rounds = bench.rounds(NAME, |_| {
        let tokens = (seconds + 1).to_string();
        let mut deja = Deja::behind(bench, &["--pause-ms", "1000", "--tokens", &tokens, &tokens])?;
        let body = |number| prompts::chat(&prompts::unlike(number), true);
        let warm_up = (streams..streams + WARM_UP).map(body).collect();
        let warm_up = Job { connections: WARM_UP, ..Job::once(deja.chat(), warm_up) };
        deja.load(&warm_up)?;
        let job = Job::once(deja.chat(), (0..streams).map(body).collect());
        let job = Job { connections: streams, begin_within: BEGIN_WITHIN, ..job };
        let before = deja.server.resident()?;
        deja.server.forget_peak()?;
        let outcome = deja.load(&job)?;
        Ok(Round { outcome, before, peak: deja.server.peak()? })
    })?;
    let row = |what: &str, unit, figure: &dyn Fn(&Round) -> f64| {
        Row::plain(format!("{streams} {NAME} of {seconds} s: {what}"), unit, rounds.iter().map(figure))
    };
    let memory = |r: &Round| r.peak.saturating_sub(r.before) as f64 / 1024.0 / streams as f64;
    // The generator counts only streams that ended whole.
    Ok(vec![
        row("ended whole", "", &|r| r.outcome.requests as f64).target(Target::AtLeast(streams as f64)),
        row("peak memory", "KB/stream", &memory).target(Target::AtMost(64.0)),
        row("server CPU", "us/token", &|r| r.outcome.cpu_us / (seconds + 1) as f64),
        row("server CPU", "% of a core", &|r| {
            r.outcome.cpu_us * r.outcome.requests as f64 / 1e4 / r.outcome.seconds
        }),
        row("first byte p50", "ms", &|r| r.outcome.first_p50_ms),
        row("first byte p99", "ms", &|r| r.outcome.first_p99_ms),
        row("memory before", "MB", &|r| r.before as f64 / 1e6),
    ])
}
